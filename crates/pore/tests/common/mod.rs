//! What tests of kinds that need rights or features of the kernel share.

use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};

/// Reports on standard error that a test is skipped, why, and how many have been by then.
pub fn skipped(what: &str, reason: &str) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed) + 1;
    // Not through the macros: the harness keeps to itself what they print.
    let _ = writeln!(std::io::stderr(), "skipped ({count} in all so far): {what}: {reason}");
}
