//! Steps from many states by several threads, with the result of one thread.
//!
//! A round is divided into chunks, which threads take in order. The results of chunks are put
//! together in order, up to the first in which the search ends: what later chunks have found is
//! dropped, as one thread would not have come to them. So neither the number of threads nor their
//! speed is visible.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use tidemill_stdx::hash::Set;

use super::digest::Digest;
use super::layer::{Layer, code};
use super::locals::{Failure, Void};
use super::sharded::{Place, Reached, Sharded};
use super::steps::{StepKind, Steps};

/// The number of states of a chunk.
const CHUNK: usize = 32;

/// A round: the states of a layer from which steps of a kind are taken.
pub(super) struct Round<'r> {
    pub(super) layer: &'r Layer,
    pub(super) states: Range<usize>,
    pub(super) which: StepKind,
    pub(super) seen: &'r Sharded,
    /// Whether the search has to end, given the memory that the round has taken so far.
    pub(super) is_over: &'r (dyn Fn(usize) -> bool + Sync),
}

/// What a chunk leads to.
#[derive(Default)]
pub(super) struct Chunk {
    number: usize,
    /// The number of steps taken.
    pub(super) steps: u64,
    /// New states, numbered by their order in `reached`.
    pub(super) found: Layer,
    /// By new state: the step that leads to it, and its digest, if it counts.
    pub(super) reached: Vec<(Place, Option<Digest>)>,
    /// The first step that fails.
    pub(super) failed: Option<(Place, Failure)>,
    /// Why the search has to be repeated, if it has.
    pub(super) void: Option<Void>,
}

/// The results of a round.
pub(super) struct Results {
    /// In order, up to the first in which the search ends.
    pub(super) chunks: Vec<Chunk>,
    /// Steps that lead to new states which an earlier step reaches, too.
    pub(super) late: Set<Place>,
    /// The round was ended early.
    pub(super) is_cut: bool,
}

/// What threads share.
struct Shared {
    next: AtomicUsize,
    /// The first chunk in which the search ends.
    last: AtomicUsize,
    bytes: AtomicUsize,
    is_cut: AtomicBool,
}

impl Round<'_> {
    /// Takes all steps of the round: by this thread, and one for each of `others` if it is large.
    pub(super) fn run(&self, first: &mut Steps, others: &mut [Steps]) -> Results {
        let shared = Shared {
            next: AtomicUsize::new(0),
            last: AtomicUsize::new(usize::MAX),
            bytes: AtomicUsize::new(0),
            is_cut: AtomicBool::new(false),
        };
        // To start a thread takes as long as some chunks.
        let count = (self.states.len() / CHUNK / 2).min(others.len());
        let mut parts = thread::scope(|scope| {
            let shared = &shared;
            let others = others[..count]
                .iter_mut()
                .map(|steps| scope.spawn(move || self.work(steps, shared)));
            let others: Vec<_> = others.collect();
            let mut parts = vec![self.work(first, shared)];
            parts.extend(others.into_iter().map(|other| match other.join() {
                Ok(part) => part,
                Err(panic) => std::panic::resume_unwind(panic),
            }));
            parts
        });
        let late = parts.iter_mut().flat_map(|(_, late)| late.drain(..)).collect();
        let mut chunks: Vec<Chunk> = parts.into_iter().flat_map(|(chunks, _)| chunks).collect();
        chunks.sort_unstable_by_key(|chunk| chunk.number);
        // Relaxed: the threads have ended.
        let last = shared.last.load(Ordering::Relaxed);
        let wanted = (0..).zip(&chunks).take_while(|(at, it)| *at == it.number && *at <= last);
        let wanted = wanted.count();
        chunks.truncate(wanted);
        Results { chunks, late, is_cut: shared.is_cut.load(Ordering::Relaxed) }
    }

    /// Works on chunks as long as there are any.
    fn work(&self, steps: &mut Steps, shared: &Shared) -> (Vec<Chunk>, Vec<Place>) {
        let (mut chunks, mut late) = (Vec::new(), Vec::new());
        loop {
            // Relaxed: these numbers publish no other data.
            let number = shared.next.fetch_add(1, Ordering::Relaxed);
            let start = self.states.start + number * CHUNK;
            let is_cut = shared.is_cut.load(Ordering::Relaxed);
            let is_after = number > shared.last.load(Ordering::Relaxed);
            if is_cut || is_after || start >= self.states.end {
                return (chunks, late);
            }
            let states = start..self.states.end.min(start + CHUNK);
            let chunk = Chunk { number, ..self.chunk(states, steps, &mut late) };
            if chunk.void.is_some() || chunk.failed.is_some() {
                shared.last.fetch_min(number, Ordering::Relaxed);
            }
            let bytes = chunk.found.bytes()
                + chunk.reached.capacity() * size_of::<(Place, Option<Digest>)>();
            let taken = shared.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
            if (self.is_over)(taken) {
                shared.is_cut.store(true, Ordering::Relaxed);
            }
            let is_void = chunk.void.is_some();
            chunks.push(chunk);
            if is_void {
                return (chunks, late);
            }
        }
    }

    /// Takes all steps from the states of a chunk.
    fn chunk(&self, states: Range<usize>, steps: &mut Steps, late: &mut Vec<Place>) -> Chunk {
        let mut chunk = Chunk::default();
        for at in states {
            let Some((_, state)) = self.layer.get(at) else { break };
            let (mut ordinal, before) = (0, (state, steps.hash_before(state)));
            steps.each(state, self.which, &mut |steps, taken| {
                let place = Place { at: at as u32, step: code(ordinal, self.which) };
                ordinal += 1;
                chunk.steps += 1;
                if let Some(failure) = taken.failure {
                    chunk.failed = Some((place, failure));
                    return false;
                }
                let reached = self.seen.reach(steps.hash_after(before, taken.state), place);
                if let Reached::After(later) = reached {
                    late.push(later);
                }
                if reached != Reached::Before {
                    let number = chunk.reached.len() as u32;
                    chunk.reached.push((place, steps.counted(taken.state)));
                    chunk.found.push(number, taken.state);
                }
                true
            });
            chunk.void = steps.locals.void();
            if chunk.void.is_some() || chunk.failed.is_some() {
                break;
            }
        }
        chunk
    }
}
