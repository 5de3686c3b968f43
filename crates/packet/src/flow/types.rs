//! App types whose definitions are part of a program.

use tidemill_diag::{Diagnostic, FileId};

use super::code::app::built_in;
use super::parse::{Item, parse};
use crate::app::Declaration;

/// The app types that a text defines, and its errors. A program has them for as long as it lives,
/// so it asks once.
///
/// ```
/// let text = "
///     /// Drops what is longer than a length.
///     app Short(
///         /// The greatest length.
///         limit: u16 from 14,
///     ) {
///         ports {
///             /// All packets.
///             input in;
///             /// The short ones.
///             output out;
///         }
///         on packet(in) {
///             if length > limit { drop too_long; }
///             send out;
///         }
///     }
/// ";
/// let (types, errors) = tidemill_packet::flow::types(text);
/// assert!(errors.is_empty());
/// assert_eq!(types[0].summary(), "Drops what is longer than a length.");
/// ```
pub fn types(text: &str) -> (Vec<&'static Declaration>, Vec<Diagnostic>) {
    let parsed = parse(FileId(0), text);
    let (mut types, mut found) = (Vec::new(), parsed.diagnostics);
    for (_, item) in parsed.items {
        if let Item::App(definition) = item {
            let (declaration, errors) = built_in(*definition);
            types.push(declaration);
            found.extend(errors);
        }
    }
    (types, found)
}
