//! Marks on the way of something from one part of a program to another, for benchmarks.
//!
//! ```text
//! sender          | queues, dispatch                    | receiver
//!           leave()                           arrive("rules/turn")
//! ```
//! [`leave`] is called where the way begins, [`arrive`] where a stretch of it ends: in a queue, or
//! at the first instruction of the receiver. So a stretch between two marks is the way alone,
//! without the work of either side. Marks count cycles of the processor only on a thread that
//! [records](record), and only in builds with the feature `marks`, which one benchmark has; in
//! others they compile to nothing. No program can see them.

use std::cell::{Cell, RefCell};

thread_local! {
    static IS_ON: Cell<bool> = const { Cell::new(false) };
    /// When the way began; 0: nothing is on its way.
    static SINCE: Cell<u64> = const { Cell::new(0) };
    static STRETCHES: RefCell<Vec<Stretches>> = const { RefCell::new(Vec::new()) };
}

/// The stretches measured up to one mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stretches {
    /// The name of the mark.
    pub name: &'static str,
    /// The cycles of each stretch.
    pub cycles: Vec<u32>,
}

/// Whether marks are compiled.
pub const ARE_THERE: bool = cfg!(feature = "marks");

/// Something leaves for another part.
#[inline(always)]
pub fn leave() {
    if ARE_THERE && IS_ON.get() {
        SINCE.set(cycles());
    }
}

/// It has come to a place of this name, if something is on its way.
#[inline(always)]
pub fn arrive(name: &'static str) {
    if ARE_THERE && IS_ON.get() {
        note(cycles(), name);
    }
}

/// Drops the measurement: nothing has crossed to another part.
#[inline(always)]
pub fn stay() {
    if ARE_THERE && IS_ON.get() {
        SINCE.set(0);
    }
}

#[cold]
fn note(now: u64, name: &'static str) {
    let since = SINCE.replace(0);
    if since == 0 {
        return;
    }
    // Half a second and more is no stretch of work.
    let cycles = u32::try_from(now.saturating_sub(since)).unwrap_or(u32::MAX);
    STRETCHES.with_borrow_mut(|all| match all.iter_mut().find(|it| it.name == name) {
        Some(stretches) => stretches.cycles.push(cycles),
        None => all.push(Stretches { name, cycles: vec![cycles] }),
    });
}

/// Records what happens on this thread meanwhile.
pub fn record<T>(work: impl FnOnce() -> T) -> (T, Vec<Stretches>) {
    STRETCHES.take();
    SINCE.set(0);
    IS_ON.set(true);
    let result = work();
    IS_ON.set(false);
    (result, STRETCHES.take())
}

/// Cycles since the machine was started, at a constant rate; elsewhere nanoseconds.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub fn cycles() -> u64 {
    // SAFETY: the instruction is part of every x86-64; it reads a counter and nothing else.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Cycles since the machine was started, at a constant rate; elsewhere nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
pub fn cycles() -> u64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64 + 1
}

#[cfg(all(test, feature = "marks"))]
mod tests {
    use super::*;

    #[test]
    fn stretches_lie_between_marks_and_only_while_recorded() {
        let way = || {
            arrive("nowhere");
            for _ in 0..3 {
                leave();
                arrive("queue");
                arrive("queue");
            }
            leave();
            stay();
            arrive("queue");
            leave();
            std::hint::black_box((0..1000u64).sum::<u64>());
            arrive("turn");
        };
        way();
        let ((), all) = record(way);
        let counts: Vec<_> = all.iter().map(|it| (it.name, it.cycles.len())).collect();
        assert_eq!(counts, [("queue", 3), ("turn", 1)]);
        way();
        assert_eq!(record(|| ()).1, []);
    }
}
