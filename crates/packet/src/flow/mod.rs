//! The language of `.flow` files.
//!
//! ```text
//! file    = { item }
//! item    = "#include" text
//!         | "#define" NAME value               a parameter; -D NAME=VALUE on the command line wins
//!         | stop { "->" stop }
//! stop    = name [ "." port ] [ "::" Type [ "{" [ entry { "," entry } [ "," ] ] "}" ] ]
//! entry   = key ":" value
//! value   = integer | double | text | "true" | "false" | "$" NAME | list
//! list    = "[" [ value { "," value } [ "," ] ] "]"
//! comment = "// ..." | "/* ... */"
//! ```
//! A stop with `::` declares an app; where it stands in a chain it is linked too. A link whose end
//! names no port takes the one that fits: the only one of its direction, or the only one that must
//! be linked, or, where a type has any number of them, one called after the app at the other end.
//!
//! | part | does |
//! |---|---|
//! | [`lex`] | text to tokens |
//! | [`parse`] | tokens to a tree, whatever is wrong |
//! | [`load`](mod@load) | files to a graph |
//! | [`fmt`] | the common layout |

pub mod fmt;
pub mod lex;
pub mod load;
pub mod parse;

pub use fmt::format;
pub use load::{Loaded, Options, load, load_text};
