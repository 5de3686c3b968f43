//! A closure to be run once, kept without an allocation when it captures at most three words.
//!
//! ```text
//! word 0..3   the closure itself, or a box of it when it is larger or needs more alignment
//! word 3      the function that takes it out, and runs or drops it
//! ```
//! One function serves both ends of a closure's life, so a task is 32 bytes and not 40.

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit, align_of, size_of};

/// Room for the captured values.
type Slot = MaybeUninit<[usize; 3]>;

/// The arguments of a task; absent when it is only dropped.
type Call<'a, W, L> = Option<(&'a mut W, &'a mut L)>;

/// The type of closures that a task may hold.
type Held<W, L> = Box<dyn FnOnce(&mut W, &mut L)>;

/// A stored `FnOnce(&mut W, &mut L)`: of a world and its loop.
pub(crate) struct Task<W, L> {
    slot: Slot,
    finish: unsafe fn(*mut Slot, Call<'_, W, L>),
    /// Makes a task neither `Send` nor `Sync`, like the closures that it may hold.
    holds: PhantomData<Held<W, L>>,
}

impl<W: 'static, L: 'static> Task<W, L> {
    /// Stores `f`, in place if it fits.
    pub(crate) fn new<F: FnOnce(&mut W, &mut L) + 'static>(f: F) -> Task<W, L> {
        if fits::<F>() { Task::store(f) } else { Task::store(Box::new(f)) }
    }

    fn store<F: FnOnce(&mut W, &mut L) + 'static>(f: F) -> Task<W, L> {
        assert!(fits::<F>());
        let mut slot = Slot::uninit();
        // SAFETY: the slot is large and aligned enough, as just checked, and holds nothing yet.
        unsafe { slot.as_mut_ptr().cast::<F>().write(f) };
        Task { slot, finish: finish::<W, L, F>, holds: PhantomData }
    }

    /// Runs the closure.
    pub(crate) fn run(self, world: &mut W, lp: &mut L) {
        let mut this = ManuallyDrop::new(self);
        let finish = this.finish;
        // SAFETY: `finish` was chosen for the type in the slot, which is taken out here for the
        // only time: `ManuallyDrop` keeps `drop` from doing it again, even if the closure panics.
        unsafe { finish(&mut this.slot, Some((world, lp))) }
    }
}

impl<W, L> Drop for Task<W, L> {
    fn drop(&mut self) {
        // SAFETY: a task that is dropped has not been run, so the slot still holds its closure.
        unsafe { (self.finish)(&mut self.slot, None) }
    }
}

const fn fits<F>() -> bool {
    size_of::<F>() <= size_of::<Slot>() && align_of::<F>() <= align_of::<Slot>()
}

/// Takes the closure out of `slot`, and runs it if there is something to run it with.
///
/// # Safety
/// `slot` holds an `F`, which is not used again after this call.
unsafe fn finish<W, L, F: FnOnce(&mut W, &mut L)>(slot: *mut Slot, call: Call<'_, W, L>) {
    // SAFETY: the caller guarantees that `slot` holds an `F` and that this is its last use.
    let f = unsafe { slot.cast::<F>().read() };
    if let Some((world, lp)) = call {
        f(world, lp);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::{Loop, Sim};

    struct Bell(Rc<Cell<u32>>);
    impl Drop for Bell {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
        }
    }

    fn try_out(make: impl Fn(Bell, Rc<Cell<u32>>) -> Task<u64, Loop<u64>>) {
        let (dropped, ran) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let mut lp = Loop::new(Box::new(Sim::new(1)));
        drop(make(Bell(dropped.clone()), ran.clone()));
        assert_eq!((dropped.get(), ran.get()), (1, 0), "dropped without being run");
        make(Bell(dropped.clone()), ran.clone()).run(&mut 7, &mut lp);
        assert_eq!((dropped.get(), ran.get()), (2, 7), "run, and its captures dropped once");
    }

    #[test]
    fn small_closures_stay_inline() {
        assert_eq!(size_of::<Task<u64, Loop<u64>>>(), 32);
        assert!(fits::<[usize; 3]>());
        assert!(!fits::<[usize; 4]>());
        assert!(!fits::<u128>() || align_of::<u128>() <= align_of::<usize>());
        try_out(|bell, ran| {
            Task::new(move |world: &mut u64, _: &mut _| {
                let _bell = &bell;
                ran.set(*world as u32);
            })
        });
    }

    #[test]
    fn large_closures_are_boxed() {
        try_out(|bell, ran| {
            let bulk = [1u64; 16];
            Task::new(move |world: &mut u64, _: &mut _| {
                let _bell = &bell;
                assert_eq!(bulk.iter().sum::<u64>(), 16);
                ran.set(*world as u32);
            })
        });
    }

    #[test]
    fn a_panicking_closure_is_dropped_once() {
        let dropped = Rc::new(Cell::new(0));
        let bell = Bell(dropped.clone());
        let task = Task::new(move |_: &mut u64, _: &mut Loop<u64>| {
            let _bell = &bell;
            panic!("on purpose");
        });
        let mut lp = Loop::new(Box::new(Sim::new(1)));
        let run = std::panic::AssertUnwindSafe(|| task.run(&mut 0, &mut lp));
        assert!(std::panic::catch_unwind(run).is_err());
        assert_eq!(dropped.get(), 1);
    }
}
