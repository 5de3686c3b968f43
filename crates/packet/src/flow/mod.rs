//! The language of `.flow` files.
//!
//! ```text
//! file    = { item }
//! item    = "#include" text
//!         | "#define" NAME value               a parameter; -D NAME=VALUE on the command line wins
//!         | "app" Name ...                     an app type of the file's own: docs/book/kernels.md
//!         | stop { "->" stop }
//! stop    = name [ "." port ] [ "::" Type [ "{" [ entry { "," entry } [ "," ] ] "}" ] ]
//! entry   = key ":" value
//! value   = integer | double | text | "true" | "false" | "$" NAME | list
//! list    = "[" [ value { "," value } [ "," ] ] "]"
//! comment = "// ..." | "/* ... */"
//! ```
//! A stop with `::` declares an app; in a chain it is linked too. A link whose end
//! names no port takes the one that fits: the only one of its direction, or the only one that must
//! be linked, or, where a type has any number of them, one called after the app at the other end.
//!
//! | part | does |
//! |---|---|
//! | [`lex`] | text to tokens |
//! | [`parse`] | tokens to a tree, with errors |
//! | `definition`, `definition_key`, `definition_table` | the same for definitions of apps |
//! | `statement`, `expression`, `literal` | the same for their programs |
//! | [`code`] | apps that a file defines |
//! | [`load`](mod@load) | files to a graph |
//! | `types` | a text to app types that are part of a program |
//! | [`fmt`] | the common layout |
//! | `fmt_body` | the same for definitions of apps |

pub mod code;
mod definition;
mod definition_function;
mod definition_key;
mod definition_table;
mod expression;
pub mod fmt;
mod fmt_body;
pub mod lex;
mod literal;
pub mod load;
pub mod parse;
mod statement;
mod types;

pub use fmt::format;
pub use load::{AppTable, Loaded, Options, load, load_text};
pub use types::types;
