//! Memory that is left to the end of the process.
//!
//! Freeing the memory of a large run may take longer than its user should wait. So a process that
//! ends after a run may leave that to the system; others get it back.

use std::sync::Mutex;
use std::sync::PoisonError;

/// The addresses of what was left: tools that look for leaks find it here.
static LEFT: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Leaves a value to the end of the process, if that `ends` soon; else drops it.
pub(crate) fn leave<T: 'static>(value: T, ends: bool) {
    if ends {
        let left = std::ptr::from_mut(Box::leak(Box::new(value))).expose_provenance();
        LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::rc::Rc;

    #[test]
    fn what_is_not_left_is_freed() {
        let value = Rc::new(());
        leave(value.clone(), false);
        assert_eq!(Rc::strong_count(&value), 1);
        leave(value.clone(), true);
        assert_eq!(Rc::strong_count(&value), 2);
    }
}
