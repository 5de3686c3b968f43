//! A case, or noise in its place: every decoder tells the same of it.

use crate::case;
use crate::check::Engines;

/// Panics if decoders differ on a case; what is no case is nothing.
pub fn check(input: &[u8]) {
    let Ok(case) = case::read(&String::from_utf8_lossy(input)) else { return };
    if case.bytes.len() > 4096 {
        return;
    }
    let mut engines = Engines::new(&case.schema, &case.tables);
    engines.depth_max = case.depth_max.unwrap_or(engines.depth_max);
    let _told = engines.check(case.message, &case.bytes);
}
