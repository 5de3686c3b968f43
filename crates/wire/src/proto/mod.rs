//! `.proto` texts: syntaxes `proto2` and `proto3`, editions 2023 and 2024.
//!
//! ```text
//! text --lex--> tokens --parse--> draft      for each file and all that it imports
//!   draft --link--> names are ids --options--> options are bytes, features are known
//!     --check--> what protoc refuses --freeze--> Schema
//! ```
//! Errors are diagnostics with positions, several per run; there is a schema if there are none.
//! Well-known files are built in.
//!
//! ```
//! use tidemill_wire::proto::{Texts, compile};
//!
//! let text = r#"edition = "2023"; package a; message M { repeated int32 id = 1; }"#;
//! let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", text)]));
//! let schema = compiled.schema.unwrap();
//! let message = schema.message_by_name("a.M").unwrap();
//! assert!(schema.message(message).field_by_name("id").unwrap().is_packed());
//! ```

mod compile;
mod files;
mod format;
mod hint;
mod lex;
mod load;
mod options;
mod parse;
mod places;
mod spans;
mod wellknown;

pub use compile::{Compiled, compile, compile_with};
pub use files::{Files, Folders, Texts};
pub use format::format;
pub use load::load;
pub use spans::Spans;
pub use wellknown::names as well_known_files;
