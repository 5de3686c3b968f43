//! All memory of messages and encoders is released, also after errors; decoding and encoding with
//! kept memory allocates nothing.

#[path = "common/random.rs"]
mod random;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};

use random::{fill, message_type, schema};
use tidemill_stdx::rng::Rng;
use tidemill_wire::Message;

struct Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: forwards every call to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        CALLS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The only test of its program, because it counts all allocations of the process.
#[test]
fn memory_comes_back() {
    // Everything that the program makes once and keeps is made here.
    round(0);
    let before = BYTES.load(Ordering::Relaxed);
    for seed in 1..40 {
        round(seed);
    }
    assert_eq!(BYTES.load(Ordering::Relaxed), before);
}

fn round(seed: u64) {
    let mut rng = Rng::new(seed);
    let schema = schema(&mut rng);
    let of = message_type(&mut rng, &schema);
    let mut message = Message::new(&schema, of).unwrap();
    fill(&mut rng, &schema, message.as_mut(), 3);
    let mut bytes = message.encode().unwrap();
    let mut reused = Message::new(&schema, of).unwrap();
    let mut clone = message.clone();
    clone.merge(message.as_ref()).unwrap();
    #[cfg(feature = "native")]
    let mut encoder = tidemill_wire::Encoder::new().compile(&schema, of).unwrap();
    for _ in 0..3 {
        reused.decode_copied(&bytes).unwrap();
        #[cfg(feature = "native")]
        encoder.encode(reused.as_ref()).unwrap();
    }
    // The extensions of a record go through the table encoder, which allocates.
    if schema.extensions().len() == 0 {
        let calls = CALLS.load(Ordering::Relaxed);
        for _ in 0..10 {
            reused.clear();
            #[cfg(feature = "native")]
            encoder.encode(reused.as_ref()).unwrap();
        }
        assert_eq!(CALLS.load(Ordering::Relaxed), calls, "seed {seed}");
    }
    bytes.push(0x0f);
    assert!(reused.decode_copied(&bytes).is_err());
}
