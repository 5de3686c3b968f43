//! Bells: whether a source that is polled has anything, in one word.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word that is not 0 while there is something to bring. Who brings it rings: the app itself, or
/// another thread, which is why the word is atomic. Clones are of one bell.
///
/// ```
/// use tidemill_packet::app::Bell;
///
/// let bell = Bell::silent();
/// let rope = bell.clone();
/// rope.ring();
/// assert!(bell.rings());
/// bell.hush();
/// assert!(!bell.rings());
/// ```
#[derive(Clone, Debug)]
pub struct Bell(Arc<AtomicU64>);

impl Bell {
    /// A bell that does not ring.
    pub fn silent() -> Bell {
        Bell(Arc::new(AtomicU64::new(0)))
    }

    /// There is something to bring.
    pub fn ring(&self) {
        // Pairs with `rings`: what was put there before is seen by the app that is called for it.
        self.0.store(1, Ordering::Release);
    }

    /// There is nothing, until it rings again. Look for what has come meanwhile only after this.
    pub fn hush(&self) {
        // A swap: what the app looks at next is not looked at earlier.
        self.0.swap(0, Ordering::AcqRel);
    }

    /// Whether it rings.
    pub fn rings(&self) -> bool {
        // Pairs with `ring`.
        self.0.load(Ordering::Acquire) != 0
    }

    /// Where the word is; it stays there as long as any clone.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ptr() as usize
    }
}
