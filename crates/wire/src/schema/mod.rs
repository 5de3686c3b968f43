//! Definitions of messages, loaded at run time.
//!
//! ```text
//! .proto texts --parse, link, check--.
//! descriptors  --read,  link, check--+--> Draft --freeze--> Schema --> descriptors
//! SchemaBuilder ---------------------'     |
//!                                    can be changed        immutable, shared
//! ```
//! A [`Schema`] holds the definitions of some files. Messages, fields, enums and so on are named by
//! typed 32-bit ids that index its arrays. The definitions themselves are nodes of an immutable
//! graph whose circles share one count: see [`defs`].
//!
//! | part | holds |
//! |---|---|
//! | `draft` | mutable definitions |
//! | `descriptor` | reading and writing of serialized descriptors |
//! | `link` | imports, names, types, inheritance of features |
//! | `check` | the checks of `protoc` |
//! | `freeze` | turns drafts into schemas |
//! | `defs`, `definitions`, `table` | immutable definitions and their lookup |
//! | `shared` | the schema: shared definitions, with the tables derived from them |
//! | `name` | short texts, stored inline in the definitions |
//! | `named` | the numbers that an enum names, for decoders |
//! | `build` | schemas made by a program |

pub mod build;
pub mod check;
pub mod default;
mod definitions;
pub mod defs;
pub mod descriptor;
pub mod draft;
pub mod features;
mod freeze;
mod ids;
mod kinds;
pub mod link;
mod load;
mod name;
mod named;
mod print;
pub mod problem;
pub mod raw;
mod shared;
mod table;
pub mod uninterpreted;

pub use build::{SchemaBuilder, SchemaError};
pub use definitions::{Definitions, Named};
pub(crate) use definitions::{SchemaMark, WireField};
pub use defs::{
    Def, DefaultValue, Enum, EnumValue, ExtensionRange, Field, File, Message, Method, Oneof,
    Options, Service, SharedDef,
};
pub use draft::{Draft, ImportKind, Visibility};
pub use features::{Edition, Features};
pub use freeze::freeze;
pub use ids::{EnumId, FieldId, FileId, MessageId, OneofId, ServiceId};
pub(crate) use kinds::Tag;
pub use kinds::{FIELD_NUMBER_MAX, FieldType, Label, Scalar, WireType};
pub use load::LoadError;
pub use name::Name;
pub(crate) use named::NamedNumbers;
pub use raw::{RawFields, RawValue};
pub use shared::Schema;

/// The default name of a field in JSON: without underscores, with the letters after them in upper
/// case.
pub fn json_name(name: &str) -> Name {
    if name.contains('_') {
        Name::collect(json_name_bytes(name)).unwrap_or_default()
    } else {
        name.into()
    }
}

/// The bytes of [`json_name`] of the name.
pub(crate) fn json_name_bytes(name: &str) -> impl Iterator<Item = u8> {
    let mut bytes = name.bytes();
    std::iter::from_fn(move || match bytes.next()? {
        b'_' => loop {
            match bytes.next()? {
                b'_' => {}
                byte => return Some(byte.to_ascii_uppercase()),
            }
        },
        byte => Some(byte),
    })
}

/// Appends [`json_name`] of the name.
pub(crate) fn push_json_name(out: &mut Vec<u8>, name: &str) {
    let start = out.len();
    out.extend_from_slice(name.as_bytes());
    let bytes = &mut out[start..];
    let Some(first) = bytes.iter().position(|&byte| byte == b'_') else { return };
    let (mut length, mut capital) = (first, false);
    for from in first..bytes.len() {
        let byte = bytes[from];
        if byte != b'_' {
            bytes[length] = if capital { byte.to_ascii_uppercase() } else { byte };
            length += 1;
        }
        capital = byte == b'_';
    }
    out.truncate(start + length);
}

/// True if `json` is [`json_name`] of the name.
pub(crate) fn is_json_name(json: &[u8], name: &str) -> bool {
    if json.len() == name.len() {
        return json == name.as_bytes() && !json.contains(&b'_');
    }
    let mut rest = json.iter();
    json_name_bytes(name).all(|byte| rest.next() == Some(&byte)) && rest.as_slice().is_empty()
}
