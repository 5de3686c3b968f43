//! The declarations as the checker reads them.

use std::cell::OnceCell;

use tidemill_diag::FileId;

use super::System;
use crate::ast::{self, Definition};
use crate::parse::parse_file;

/// They have no file that a diagnostic could show.
const FILE: FileId = FileId(u32::MAX);

/// All of them, each parsed when a program first names it.
#[derive(Default)]
pub(crate) struct Interfaces {
    parsed: [OnceCell<ast::Program>; System::ALL.len()],
}

impl Interfaces {
    /// The one of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&ast::Interface> {
        let system = System::named(name)?;
        let program = self.parsed[system as usize].get_or_init(|| {
            let (file, diagnostics) = parse_file(FILE, system.text());
            debug_assert!(diagnostics.is_empty(), "{diagnostics:?}");
            ast::Program { files: vec![file] }
        });
        program.definitions().find_map(|it| match it {
            Definition::Interface(it) => Some(it),
            Definition::Component(_) => None,
        })
    }
}
