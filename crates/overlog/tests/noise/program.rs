//! Sources of the rule language: a program or diagnostics, and never a panic.

use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options};
use tidemill_stdx::diag::Sources;

/// Panics if `input`, taken as a source, makes any part of the front end do so.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let mut files = MemoryFiles::default();
    files.add("self.olg", "p(@N, 1).\n#include \"self.olg\"\n");
    let mut sources = Sources::default();
    let (_, found) = parse_text("p.olg", &text, &Options::default(), &files, &mut sources);
    for diagnostic in &found {
        sources.render(diagnostic);
    }
}
