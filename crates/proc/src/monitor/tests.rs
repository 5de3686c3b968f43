//! The laws of the monitor, for random processes under random schedules:
//!
//! * a writer is alone inside;
//! * the lock queue is first in, first out: a process that had to wait is not let in before an
//!   earlier request, unless both read;
//! * a condition holds when its waiter continues (*signal and pass*);
//! * every process ends.

use std::cell::RefCell;

use proptest::prelude::*;

use super::*;
use crate::Options;
use crate::component;
use crate::handle::ComponentRef;
use crate::handle::Words;
use crate::layout::{CLOSED, DONE, FRAME_HEADER, Frame, OK, Process, SUSPENDED, WorkerHead};
use crate::machine::{Context, Worker};
use crate::paused::Paused;
use crate::process;
use crate::process::ProcessState;
use crate::program::{ComponentType, Function, FunctionCode, Interface, Program};

/// What a process does, in order.
#[derive(Copy, Clone, Debug)]
enum Act {
    Read,
    Write,
    /// Awaits this number of writes, then writes.
    Await(u64),
}

#[derive(Default)]
struct Trace {
    acts: Vec<Vec<Act>>,
    readers: u32,
    writers: u32,
    writes: u64,
    /// The number of writes that all waiters await; none if each has its own number.
    common: Option<u64>,
    /// Processes that had to wait for the lock, in order, and whether they write.
    queue: Vec<(u64, bool)>,
}

thread_local!(static TRACE: RefCell<Trace> = RefCell::default());

/// Locals: the process's number, its act, where it is in it.
fn locals(frame: *mut Frame) -> Words {
    crate::handle::FrameRef(frame).word(FRAME_HEADER as u32)
}

unsafe extern "C" fn enough(frame: *mut Frame, _: *mut Process, _: *mut Worker) -> u32 {
    let own = locals(frame);
    let wanted = own.get(3);
    TRACE.with_borrow(|trace| u32::from(trace.writes >= wanted))
}

/// The same for all: a condition about the component alone.
unsafe extern "C" fn all_written(_: *mut Frame, _: *mut Process, _: *mut Worker) -> u32 {
    TRACE.with_borrow(|trace| u32::from(trace.common.is_some_and(|common| trace.writes >= common)))
}

unsafe extern "C" fn act(frame: *mut Frame, process: *mut Process, worker: *mut WorkerHead) -> u32 {
    let own = locals(frame);
    let number = own.get(0);
    loop {
        let acts = TRACE.with_borrow(|trace| trace.acts[number as usize].clone());
        let Some(&now) = acts.get(own.get(1) as usize) else { return DONE };
        // SAFETY: called by the scheduler.
        let mut cx = unsafe { Context::new(frame, process, worker.cast()) };
        let writes = !matches!(now, Act::Read);
        if own.get(2) == 0 {
            let status = if writes { lock_exclusive(&mut cx) } else { lock_shared(&mut cx) };
            if status == SUSPENDED {
                // It may also have yielded before it requests the lock.
                if ProcessState::of(cx.process) == ProcessState::Lock {
                    TRACE.with_borrow_mut(|trace| trace.queue.push((number, writes)));
                }
                return SUSPENDED;
            }
            enter(number, writes);
            own.set(2, 1);
            if let Act::Await(wanted) = now {
                leave(writes);
                own.set(3, TRACE.with_borrow(|trace| trace.common.unwrap_or(wanted)));
                own.set(2, 2);
            } else {
                return process::pause(&mut cx);
            }
        }
        if own.get(2) == 2 {
            let is_common = TRACE.with_borrow(|trace| trace.common.is_some());
            let (code, number) = if is_common {
                (all_written as *const u8, CLOSED)
            } else {
                (enough as *const u8, 0)
            };
            match await_condition(&mut cx, code, number) {
                OK => {}
                status => return status,
            }
            TRACE.with_borrow(|trace| assert!(trace.writes >= own.get(3), "signal and pass"));
            go_in(true);
            own.set(2, 1);
            return process::pause(&mut cx);
        }
        leave(writes);
        if writes {
            TRACE.with_borrow_mut(|trace| trace.writes += 1);
        }
        assert_eq!(unlock(&mut cx), OK);
        own.set(1, own.get(1) + 1);
        own.set(2, 0);
    }
}

/// Enters through the lock: overtakes no waiter, unless all of them read.
fn enter(number: u64, writes: bool) {
    TRACE.with_borrow_mut(|trace| {
        let known = trace.queue.iter().position(|&(waiting, _)| waiting == number);
        let before = &trace.queue[..known.unwrap_or(trace.queue.len())];
        let jumped = before.iter().any(|&(_, other)| other || writes);
        assert!(!jumped, "{number} came before {before:?}");
        if let Some(at) = known {
            trace.queue.remove(at);
        }
    });
    go_in(writes);
}

fn go_in(writes: bool) {
    TRACE.with_borrow_mut(|trace| {
        assert_eq!(trace.writers, 0, "a writer is inside");
        assert!(!writes || trace.readers == 0, "a reader is inside");
        if writes { trace.writers += 1 } else { trace.readers += 1 }
    });
}

fn leave(writes: bool) {
    TRACE.with_borrow_mut(|trace| if writes { trace.writers -= 1 } else { trace.readers -= 1 });
}

/// Processes of one component, started by hand.
fn run_all(acts: Vec<Vec<Act>>, seed: Option<u64>, common: Option<u64>) {
    let count = acts.len();
    TRACE.set(Trace { acts, common, ..Trace::default() });
    let function = Function {
        name: "act".into(),
        frame_size: FRAME_HEADER as u32 + 32,
        owned: Vec::new(),
        // SAFETY: it keeps to the rules of generated code.
        code: unsafe { FunctionCode::native(act) },
        ignored: 0,
    };
    let kind = ComponentType { size: 96, ..ComponentType::default() };
    let program = Program {
        components: vec![kind],
        interfaces: vec![Interface::default()],
        functions: vec![function],
        ..Program::default()
    };
    let mut worker = Worker::for_test(program, Options { schedule_seed: seed, ..Options::quiet() });
    let component = component::create(&mut worker, 0, ComponentRef::NULL, false).unwrap();
    for number in 0..count {
        let process = process::create_server(&mut worker, component, 0, 0).unwrap();
        // As if their clients had finished: they end when their code does.
        process.channel().raise(crate::layout::CLIENT_FINISHED);
        locals(process.frame().0).set(0, number as u64);
        worker.wake(process);
    }
    while worker.run(100) == Paused::Slice {}
    assert_eq!(component.process_count(), 0, "a process waits for ever");
    assert_eq!(component.lock(), 0);
    component::release(&mut worker, component);
    assert_eq!(worker.counts().processes.alive, 0);
}

/// Acts of some processes; conditions that hold as soon as all plain writes have happened.
fn acts() -> impl Strategy<Value = Vec<Vec<Act>>> {
    let one = prop_oneof![Just(0u8), Just(1), Just(2)];
    prop::collection::vec(prop::collection::vec(one, 0..6), 1..8).prop_map(|plan| {
        let plain = plan.iter().flatten().filter(|&&act| act == 1).count() as u64;
        let last_waits = |acts: &[u8]| acts.iter().position(|&act| act == 2);
        // A write after an await could be what another await waits for: count those before.
        let sure: u64 = plan
            .iter()
            .flat_map(|acts| &acts[..last_waits(acts).unwrap_or(acts.len())])
            .filter(|&&act| act == 1)
            .count() as u64;
        let act = |(i, act): (usize, &u8)| match act {
            0 => Act::Read,
            1 => Act::Write,
            _ => Act::Await((i as u64 * 3 + plain).min(sure)),
        };
        plan.iter().map(|acts| acts.iter().enumerate().map(act).collect()).collect()
    })
}

proptest! {
    #[test]
    fn the_laws_hold(acts in acts(), seed in prop::option::of(any::<u64>())) {
        run_all(acts, seed, None);
    }

    #[test]
    fn the_laws_hold_where_all_await_the_same(
        acts in acts(), seed in prop::option::of(any::<u64>())
    ) {
        let wanted = acts.iter().flatten().filter_map(|act| match act {
            Act::Await(wanted) => Some(*wanted),
            _ => None,
        });
        let common = wanted.max().unwrap_or(0);
        run_all(acts, seed, Some(common));
    }
}
