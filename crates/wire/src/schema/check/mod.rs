//! What `protoc` refuses.

use super::draft::Draft;
use super::problem::Problem;

/// Checks a linked draft whose options are interpreted and whose features are resolved.
pub fn check(_draft: &Draft, _problems: &mut Vec<Problem>) {}
