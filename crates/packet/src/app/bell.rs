//! Bells: whether a source that is polled has packets, in one word.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A word that is not 0 while there is something to pull. The app itself rings, or another thread,
/// which is why the word is atomic. Clones share one bell.
///
/// ```
/// use tidemill_packet::app::Bell;
///
/// let bell = Bell::silent();
/// let rope = bell.clone();
/// rope.ring();
/// assert!(bell.rings());
/// bell.drain();
/// assert!(!bell.rings());
/// ```
#[derive(Clone, Debug)]
pub struct Bell(Arc<AtomicU64>);

impl Bell {
    /// A bell that does not ring.
    pub fn silent() -> Bell {
        Bell(Arc::new(AtomicU64::new(0)))
    }

    /// There is something to pull.
    pub fn ring(&self) {
        // Pairs with `rings`: an app that is called for it sees what was written before.
        self.0.store(1, Ordering::Release);
    }

    /// There is nothing, until it rings again. Check for new arrivals only after this.
    pub fn drain(&self) {
        // A swap: the app's later reads are not moved before it.
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
