//! Linking: imports become files, names become ids.
//!
//! ```text
//! imports  -->  which files each file sees       `imports`
//! names    -->  one table of scopes, duplicates  `names`
//! types    -->  by the scoping rules             `types`
//! features -->  parent to child                  `inherit`
//! ```
//! A draft that was linked without errors has all its `Option`al ids set and all its type names in
//! full, with a leading dot.

mod imports;
mod inherit;
mod names;
mod types;

pub use imports::{Imports, InOptions, link_imports};
pub use inherit::{feature_set, inherit_features};
pub use names::{Entity, Names, Scope};
pub use types::{Lookup, NotFound, Wanted, link_types};

use super::draft::Draft;
use super::problem::Problem;

/// The results of linking, for the lookup of more names.
#[derive(Debug)]
pub struct Linked {
    /// The visibility between files.
    pub imports: Imports,
    /// All names.
    pub names: Names,
}

/// Links everything but options and features.
pub fn link(draft: &mut Draft, problems: &mut Vec<Problem>) -> Linked {
    let mut imports = link_imports(draft, problems);
    let names = Names::declare(draft, problems);
    link_types(draft, &mut imports, &names, problems);
    Linked { imports, names }
}
