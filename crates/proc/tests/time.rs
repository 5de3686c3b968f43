//! Virtual time, system components, the event loop and interpreters.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::support::*;
use tidemill_event::{Loop, Os, Outcome, Sim, Slice};
use tidemill_proc::Worker;
use tidemill_proc::entry::Operation;
use tidemill_proc::entry::operations as op;
use tidemill_proc::fault::Ended;
use tidemill_proc::interpret::{Activation, Interpreter, Status, interpret};
use tidemill_proc::layout::{FRAME_HEADER, Frame, Process, WorkerHead};
use tidemill_proc::program::{ComponentType, Direction, Executable, Key, Program, Shape, WordKind};
use tidemill_proc::{Communication, Home, Paused, ProcessState, Request, Runner, arm};
use tidemill_support::cpu;

// --- Virtual time: sleepers below one clock, and one clock that is not theirs.

const CHILDREN: u32 = slot_at(0);
const PERIOD: u32 = slot_at(0);

// ACTIVITY WHILE TIME < 12 DO PASSIVATE(period); WRITE(period); WRITE(":"); WRITE(TIME) END
code!(sleep_often(f, p, w) {
    let period = *variable(p, PERIOD) as i64;
    while (*f).resume == 1 || op::time(f, p, w) < 12 {
        wait!(f, 1, op::passivate(f, p, w, period, 0));
        (*f).resume = 0;
        op::write_integer(f, p, w, period);
        op::write_character(f, p, w, u64::from(b':'));
        op::write_integer(f, p, w, op::time(f, p, w));
        op::write_character(f, p, w, u64::from(b' '));
    }
    0
});

// BEGIN NEW(c[i]) for periods 3, 4, 6; PASSIVATE(100)
code!(make_sleepers(f, p, w) {
    if (*f).resume == 0 {
        let synchronous = u32::from(*local(f, 1) == 0);
        for (n, period) in [3u64, 4, 6].into_iter().enumerate() {
            *local(f, 0) = n as u64;
            let word = op::collection_at(f, p, w, variable(p, CHILDREN), 0, local(f, 0), 0);
            if op::component_new(f, p, w, word, 1, synchronous, 0) == 2 {
                return 2;
            }
            *component(word).cast::<u64>().wrapping_byte_add(PERIOD as usize) = period;
        }
    }
    wait!(f, 1, op::passivate(f, p, w, 100, 0));
    op::write_integer(f, p, w, op::time(f, p, w));
    0
});

code!(make_own_clocks(f, p, w) {
    *local(f, 1) = 1;
    make_sleepers(f, p, w.cast())
});

fn sleeping(code: tidemill_proc::layout::Code) -> Program {
    let mut b = Builder::new();
    let begin = b.function("BEGIN", code, 2, &[]);
    let activity = b.function("ACTIVITY", sleep_often, 0, &[]);
    b.program.shapes = vec![Shape::Collection {
        keys: vec![Key::Integer],
        element: WordKind::Component,
        pinned: true,
    }];
    b.component(ComponentType {
        name: "Main".into(),
        size: CHILDREN + 8,
        variables: vec![owned("c", CHILDREN, WordKind::Collection, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Sleeper".into(),
        size: PERIOD + 8,
        activity: Some(activity),
        ..ComponentType::default()
    });
    b.program
}

#[test]
fn sleepers_wake_in_the_order_of_their_times() {
    let (options, recorded) = recording();
    let mut worker = worker_for(sleeping(make_sleepers), options);
    assert_eq!(run(&mut worker), Ended::Finished);
    let output = String::from_utf8(recorded.borrow().output.clone()).unwrap();
    // At 12 all three wake, in the order in which they began to sleep: 6 at 6, 4 at 8, 3 at 9.
    assert_eq!(output, "3:3 4:4 6:6 3:6 4:8 3:9 6:12 4:12 3:12 100");
    assert_empty(&worker);
}

#[test]
fn clocks_of_their_own_run_beside_the_outer_one() {
    let (options, recorded) = recording();
    let mut worker = worker_for(sleeping(make_own_clocks), options);
    assert_eq!(run(&mut worker), Ended::Finished);
    let output = String::from_utf8(recorded.borrow().output.clone()).unwrap();
    assert!(output.contains("1003:") || output.contains(" 100"), "the outer clock: {output}");
    assert!(output.contains("3:12") && output.contains("4:12") && output.contains("6:12"));
    assert_empty(&worker);
}

// --- A system component that answers after a timer.

// ACTIVITY FOR n := 1 TO 3 DO time!Wait(n * 10); time?Passed; WRITE(n) END
code!(wait_often(f, p, w) {
    let (n, payload) = (local(f, 0), local(f, 1));
    while *n < 3 {
        if (*f).resume == 0 {
            *payload = (*n + 1) * 10;
            wait!(f, 0, op::client_send(f, p, w, slot(p, slot_at(0)), 0, payload, 0));
        }
        wait!(f, 1, op::client_receive(f, p, w, slot(p, slot_at(0)), 1, payload, 0));
        (*f).resume = 0;
        *n += 1;
        op::write_integer(f, p, w, *n as i64);
    }
    0
});

fn waiting() -> Program {
    let mut b = Builder::new();
    let wait = message("Wait", Direction::In, &[WordKind::Scalar], true, &[], false);
    let passed = message("Passed", Direction::Out, &[], false, &[0], true);
    let interface = b.interface("SystemTime", vec![wait, passed]);
    let activity = b.function("ACTIVITY", wait_often, 2, &[]);
    b.component(ComponentType {
        name: "Main".into(),
        size: slot_at(1),
        required: vec![port(interface, 0, None)],
        activity: Some(activity),
        ..ComponentType::default()
    });
    b.program
}

struct World {
    runner: Runner,
    requests: Vec<Request>,
}

impl Home for World {
    fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    fn request(&mut self, lp: &mut Loop<World>, request: Request) {
        let Request { communication, message, ref values, .. } = request;
        if let Some(message) = message {
            assert_eq!(message, 0);
            let at = lp.now() + Duration::from_millis(values.word());
            lp.timer(at, move |world, lp| {
                world.runner.worker().answer(communication, 1, &[]).unwrap();
                arm(world, lp);
            });
        }
        self.requests.push(request);
    }

    fn ended(&mut self, lp: &mut Loop<World>) {
        lp.stop();
    }
}

#[test]
fn a_system_component_answers_later() {
    let (options, recorded) = recording();
    let mut worker = worker_for(waiting(), options);
    worker.offer("SystemTime", 7);
    worker.start().unwrap();
    let mut world = World { runner: Runner::new(worker), requests: Vec::new() };
    let mut lp = Loop::new(Box::new(Sim::new(1)));
    arm(&mut world, &mut lp);
    assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    assert_eq!(world.runner.worker().ended(), Some(&Ended::Finished));
    assert_eq!(recorded.borrow().output, b"123");
    assert_eq!(lp.now().0, 60_000_000);
    // Three communications, each with a message and its end.
    assert!(world.requests.iter().all(|request| request.system == 7));
    assert_empty(world.runner.worker());
}

/// The protocol of [`waiting`] as one communication: Wait may follow Passed.
fn waiting_on() -> Program {
    let mut program = waiting();
    let [wait, passed] = &mut program.interfaces[0].messages[..] else { panic!("two messages") };
    wait.after = vec![1 << 1];
    wait.may_end = false;
    passed.must_end = false;
    program
}

#[test]
fn what_remembers_nothing_has_no_communication_between_exchanges() {
    for is_stateless in [false, true] {
        let mut worker = worker_for(waiting_on(), recording().0);
        if is_stateless {
            worker.offer_stateless("SystemTime", 7)
        } else {
            worker.offer("SystemTime", 7)
        }
        worker.start().unwrap();
        let mut world = World { runner: Runner::new(worker), requests: Vec::new() };
        let mut lp = Loop::new(Box::new(Sim::new(1)));
        arm(&mut world, &mut lp);
        assert!(matches!(lp.run(&mut world), Outcome::Stopped));
        let messages: Vec<_> = world.requests.iter().map(|request| request.message).collect();
        let worker = world.runner.worker();
        assert_eq!(worker.ended(), Some(&Ended::Finished));
        // One communication and its end, or three whose ends are not reported.
        let (ends, channels) = if is_stateless { (0, 3) } else { (1, 1) };
        assert_eq!(messages.iter().filter(|message| message.is_some()).count(), 3);
        assert_eq!(messages.iter().filter(|message| message.is_none()).count(), ends);
        assert_eq!(worker.counts().channels.created, channels);
        assert_eq!(worker.communications().count(), 0);
        assert_empty(worker);
    }
}

#[test]
fn requests_come_with_the_mark_of_their_communication() {
    let mut worker = worker_for(waiting_on(), recording().0);
    worker.offer("SystemTime", 7);
    worker.start().unwrap();
    let mut marks = Vec::new();
    for mark in 1..=3 {
        assert_eq!(worker.run(i64::MAX), Paused::Requests);
        let request = worker.take_request().unwrap();
        assert!(worker.take_request().is_none());
        marks.push(request.mark);
        worker.mark(request.communication, mark);
        worker.answer(request.communication, 1, &[]).unwrap();
        // A hint for an existing communication or none.
        worker.prefetch(request.communication);
        worker.prefetch_client(request.communication);
    }
    worker.prefetch(Communication::NONE);
    worker.prefetch_client(Communication::NONE);
    assert_eq!(marks, [0, 1, 2]);
}

#[test]
fn answers_for_which_there_is_no_room_wait() {
    let mut program = waiting_on();
    program.interfaces[0].messages.iter_mut().for_each(|message| message.after = vec![0b11]);
    let (options, recorded) = recording();
    let mut worker = worker_for(program, options);
    worker.offer("SystemTime", 7);
    worker.start().unwrap();
    let mut answers = 9;
    while worker.run(i64::MAX) != Paused::Ended {
        while let Some(request) = worker.take_request() {
            for _ in 0..std::mem::take(&mut answers) {
                worker.answer(request.communication, 1, &[]).unwrap();
            }
        }
    }
    // It takes three; the others are dropped with the communication.
    let last: Vec<_> = std::iter::from_fn(|| worker.take_request()).collect();
    assert!(last.last().is_some_and(|request| request.message.is_none()));
    assert_eq!(worker.ended(), Some(&Ended::Finished));
    assert_eq!(recorded.borrow().output, b"123");
    assert_empty(&worker);
}

// --- Hot loops on a real clock are cut off, and others get their turn.

// ACTIVITY WHILE ~stop DO END, where another process of the entry sets stop
code!(spin(f, p, w) {
    while *variable(p, slot_at(0)) == 0 {
        let head = w.cast::<WorkerHead>();
        if (*head).flag.load(Ordering::Relaxed) != 0 {
            return op::pause(f, p, w);
        }
    }
    op::write_boolean(f, p, w, 1);
    0
});

#[test]
fn a_hot_loop_lets_timers_through() {
    let mut b = Builder::new();
    let activity = b.function("ACTIVITY", spin, 0, &[]);
    b.component(ComponentType {
        name: "Main".into(),
        size: slot_at(0) + 8,
        activity: Some(activity),
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    worker.start().unwrap();
    let mut world = World { runner: Runner::new(worker), requests: Vec::new() };
    let mut lp = Loop::new(Box::new(Os::with_seed(1).unwrap()));
    lp.timer(lp.now() + Duration::from_millis(20), |world: &mut World, _| {
        let process = world.runner.worker().current();
        // SAFETY: the process is between two slices, and its component has the word.
        unsafe { *variable(process, slot_at(0)) = 1 };
    });
    arm(&mut world, &mut lp);
    assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    assert_eq!(recorded.borrow().output, b"TRUE");
    let longest = lp.stats().kinds.iter().find(|kind| kind.kind == "processes").unwrap().longest;
    assert!(longest < Duration::from_millis(500), "a slice took {longest:?}");
}

#[test]
fn listings_are_made_while_loops_run() {
    for workers in [1, 2] {
        let mut b = Builder::new();
        let activity = b.function("ACTIVITY", spin, 0, &[]);
        b.component(ComponentType {
            name: "Main".into(),
            size: slot_at(0) + 8,
            activity: Some(activity),
            ..ComponentType::default()
        });
        let (options, _recorded) = recording();
        let worker = worker_for(b.program, options);
        let runner = Runner::with_workers(worker, workers);
        let mut world = World { runner, requests: Vec::new() };
        world.runner.worker().start().unwrap();
        let mut lp = Loop::new(Box::new(Os::with_seed(1).unwrap()));
        lp.timer(lp.now() + Duration::from_millis(5), |world: &mut World, _| {
            let (views, next) = world.runner.worker().components(0, 10);
            assert_eq!((views.len(), next), (1, None));
            assert_eq!((views[0].path.as_str(), views[0].kind.as_str()), ("Main", "Main"));
            let [process] = &views[0].processes[..] else { panic!("{views:?}") };
            assert_eq!((process.name.as_str(), process.state), ("ACTIVITY", ProcessState::Ready));
            assert!(world.runner.worker().components(1, 10).0.is_empty());
            assert_eq!(world.runner.worker().components(0, 0), (Vec::new(), Some(0)));
            let process = world.runner.worker().current();
            // SAFETY: the process is between two slices, and its component has the word.
            unsafe { *variable(process, slot_at(0)) = 1 };
        });
        arm(&mut world, &mut lp);
        assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    }
}

/// Starts a timer of a millisecond, and the next when it fires; records how late each was.
fn tick(lp: &mut Loop<World>, late: Rc<RefCell<Vec<Duration>>>) {
    const PERIOD: Duration = Duration::from_millis(1);
    let start = cpu::of_thread();
    lp.timer(lp.now() + PERIOD, move |world: &mut World, lp| {
        late.borrow_mut().push((cpu::of_thread() - start).saturating_sub(PERIOD));
        if late.borrow().len() < 101 {
            return tick(lp, late);
        }
        let process = world.runner.worker().current();
        // SAFETY: the process is between two slices, and its component has the word.
        unsafe { *variable(process, slot_at(0)) = 1 };
    });
}

#[test]
fn a_hot_loop_delays_a_timer_by_two_slices_at_most() {
    let mut seen = Vec::new();
    let kept = (0..5).any(|_| {
        let (typical, slice) = typical_lateness();
        seen.push(format!("{typical:?} late, slices are {slice:?}"));
        typical <= 2 * slice
    });
    assert!(kept, "{seen:?}");
}

/// How late a timer beside a loop without end is in most cases, and how long slices are.
fn typical_lateness() -> (Duration, Duration) {
    let mut b = Builder::new();
    let activity = b.function("ACTIVITY", spin, 0, &[]);
    b.component(ComponentType {
        name: "Main".into(),
        size: slot_at(0) + 8,
        activity: Some(activity),
        ..ComponentType::default()
    });
    let (options, _recorded) = recording();
    let mut worker = worker_for(b.program, options);
    worker.start().unwrap();
    let mut world = World { runner: Runner::new(worker), requests: Vec::new() };
    let mut lp = Loop::new(Box::new(Os::with_seed(1).unwrap()));
    let Slice::Span(slice) = lp.slice() else { panic!("slices of the system are spans") };
    let late = Rc::new(RefCell::new(Vec::new()));
    tick(&mut lp, late.clone());
    arm(&mut world, &mut lp);
    assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    // The median: the thread that ends slices has to wait for a core, too.
    let mut late = late.borrow().clone();
    late.sort();
    (late[late.len() / 2], slice)
}

// --- An interpreter on the same processes.

/// Runs function 0: calls function 1 with 1 to 5 and writes the sum of the results; function 1
/// awaits that a variable is 0, takes a checkpoint, and squares.
struct Squares(AtomicU32);

const ARGUMENT: u64 = FRAME_HEADER as u64;

// SAFETY: it keeps to the frames of the test's functions, which own nothing.
unsafe impl Interpreter for Squares {
    fn resume(&self, a: &mut Activation<'_>) -> Status {
        if a.function() == 1 { self.square(a) } else { self.sum(a) }
    }

    fn condition(&self, a: &mut Activation<'_>, number: u32) -> Option<bool> {
        assert_eq!(number, 5);
        self.0.fetch_add(1, Ordering::Relaxed);
        Some(load(a, a.component() + u64::from(slot_at(0))) == 0)
    }
}

fn load(a: &Activation<'_>, address: u64) -> u64 {
    // SAFETY: the test's addresses are of words of the frame, a callee or the component.
    unsafe { a.load(address) }
}

fn store(a: &mut Activation<'_>, address: u64, value: u64) {
    // SAFETY: as of `load`; the words own nothing.
    unsafe { a.store(address, value) }
}

fn perform(a: &mut Activation<'_>, operation: Operation, arguments: &[u64]) -> u64 {
    // SAFETY: the operations of these tests get numbers.
    unsafe { a.perform(operation, arguments) }
}

impl Squares {
    fn square(&self, a: &mut Activation<'_>) -> Status {
        if a.resume_point() == 0 {
            match a.await_condition(5) {
                Status::Done => {}
                status => return status,
            }
            a.set_resume_point(1);
            return Status::of(perform(a, Operation::pause, &[]));
        }
        let n = load(a, a.frame() + ARGUMENT);
        // SAFETY: the result is a number.
        unsafe { a.set_result(n * n) };
        Status::Done
    }

    fn sum(&self, a: &mut Activation<'_>) -> Status {
        let (sum, n) = (a.frame() + ARGUMENT, a.frame() + ARGUMENT + 8);
        if a.resume_point() == 1 {
            store(a, sum, load(a, sum) + a.result());
        }
        while load(a, n) < 5 {
            store(a, n, load(a, n) + 1);
            let callee = perform(a, Operation::frame_new, &[1, 0]);
            store(a, callee + ARGUMENT, load(a, n));
            a.set_resume_point(1);
            // SAFETY: the frame was made for this call.
            match unsafe { a.call(callee) } {
                Status::Done => store(a, sum, load(a, sum) + a.result()),
                status => return status,
            }
        }
        let total = load(a, sum);
        perform(a, Operation::write_integer, &[total]);
        Status::Done
    }
}

#[test]
fn an_interpreter_runs_on_the_same_processes() {
    let mut b = Builder::new();
    let sum = b.function("BEGIN", interpret, 2, &[]);
    b.function("Square", interpret, 1, &[]);
    b.component(ComponentType {
        name: "Main".into(),
        size: slot_at(0) + 8,
        begin: Some(sum),
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let squares = Arc::new(Squares(AtomicU32::new(0)));
    // SAFETY: the interpreter is that of these functions.
    let program = unsafe { Executable::new(b.program, Some(squares.clone())) };
    let mut worker = Worker::new(program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    assert_eq!(recorded.borrow().output, b"55");
    assert_eq!(squares.0.load(Ordering::Relaxed), 5);
    assert_empty(&worker);
}

#[test]
fn a_deadlock_names_its_processes() {
    let mut program = waiting();
    program.components[0].name = "Lonely".into();
    let (options, recorded) = recording();
    let mut worker = worker_for(program, options);
    assert_eq!(run(&mut worker), Ended::Deadlock { waiting: 1 });
    assert_eq!(recorded.borrow().deadlocks, ["Lonely, ACTIVITY, waits to be connected"]);
    assert_empty(&worker);
}

// --- The end of very many components delays nothing else.

const MANY: u64 = 500_000;
const FEW: u64 = 3000;
/// Texts beside the components.
const NAMES: u32 = CHILDREN + 8;
const OWNER: u32 = NAMES + 8;

// FOR i := 0 TO n - 1 DO NEW(c[i]); names[i] := "name" END, where n is in local 1
code!(make_many(f, p, w) {
    let n = local(f, 0);
    while *n < *local(f, 1) {
        let word = op::collection_at(f, p, w, variable(p, CHILDREN), 0, n, 0);
        if op::component_new(f, p, w, word, 1, 0, 0) == 2 {
            return 2;
        }
        let name = op::collection_at(f, p, w, variable(p, NAMES), 1, n, 0);
        if op::text_literal(f, p, w, b"name".as_ptr(), 4, 0) == 2 {
            return 2;
        }
        *name = (*f).result;
        *n += 1;
        if (*n).is_multiple_of(16) {
            return op::pause(f, p, w);
        }
    }
    0
});

// The same, then DELETE(c); DELETE(names)
code!(make_and_delete(f, p, w) {
    wait!(f, 0, make_many(f, p, w.cast()));
    wait!(f, 0, op::delete(f, p, w, variable(p, CHILDREN), WordKind::Collection as u32));
    op::delete(f, p, w, variable(p, NAMES), WordKind::Collection as u32)
});

code!(delete_many(f, p, w) {
    *local(f, 1) = MANY;
    make_and_delete(f, p, w.cast())
});

code!(delete_few(f, p, w) {
    *local(f, 1) = FEW;
    make_and_delete(f, p, w.cast())
});

// They are dropped with the component.
code!(leave_many(f, p, w) {
    *local(f, 1) = MANY;
    make_many(f, p, w.cast())
});

code!(leave_few(f, p, w) {
    *local(f, 1) = FEW;
    make_many(f, p, w.cast())
});

// NEW(owner); DELETE(owner)
code!(delete_owner(f, p, w) {
    if *local(f, 0) == 0 {
        *local(f, 0) = 1;
        if op::component_new(f, p, w, variable(p, OWNER), 2, 0, 0) == 2 {
            return 2;
        }
    }
    op::delete(f, p, w, variable(p, OWNER), WordKind::Component as u32)
});

code!(nothing(f, p, w) {
    0
});

/// A component has many more, which it deletes; or another one has them, and is deleted.
fn with_many(code: tidemill_proc::layout::Code, is_owner_deleted: bool) -> Program {
    let mut b = Builder::new();
    let many = b.function("BEGIN", code, 2, &[]);
    let nothing = b.function("BEGIN", nothing, 0, &[]);
    let root = b.function("BEGIN", delete_owner, 1, &[]);
    let collection =
        |element| Shape::Collection { keys: vec![Key::Integer], element, pinned: true };
    b.program.shapes = vec![collection(WordKind::Component), collection(WordKind::Text)];
    let mut component = |name: &str, begin, variables| {
        b.component(ComponentType {
            name: name.into(),
            size: OWNER + 8,
            variables,
            begin: Some(begin),
            ..ComponentType::default()
        })
    };
    component("Root", root, vec![owned("owner", OWNER, WordKind::Component, 0)]);
    component("One", nothing, vec![]);
    let all = vec![
        owned("c", CHILDREN, WordKind::Collection, 0),
        owned("names", NAMES, WordKind::Collection, 1),
    ];
    component("Owner", many, all);
    b.program.entry = if is_owner_deleted { 0 } else { 2 };
    b.program
}

/// Keeps how late timers of a millisecond are, as long as the run lasts.
fn watch(lp: &mut Loop<World>, late: Rc<RefCell<Vec<Duration>>>) {
    const PERIOD: Duration = Duration::from_millis(1);
    let start = cpu::of_thread();
    lp.timer(lp.now() + PERIOD, move |_: &mut World, lp| {
        late.borrow_mut().push((cpu::of_thread() - start).saturating_sub(PERIOD));
        watch(lp, late);
    });
}

/// How late the timers of a run of such a program are, in order, and how long slices are.
fn lateness(program: Program) -> (Vec<Duration>, Duration) {
    let (options, _recorded) = recording();
    let mut worker = worker_for(program, options);
    worker.start().unwrap();
    let mut lp = Loop::new(Box::new(Os::with_seed(1).unwrap()));
    let Slice::Span(slice) = lp.slice() else { panic!("slices of the system are spans") };
    let mut world = World { runner: Runner::new(worker), requests: Vec::new() };
    let late = Rc::new(RefCell::new(Vec::new()));
    watch(&mut lp, late.clone());
    arm(&mut world, &mut lp);
    assert!(matches!(lp.run(&mut world), Outcome::Stopped));
    assert!(world.runner.worker().counts().components.created > MANY);
    assert_empty(world.runner.worker());
    let mut late = late.take();
    late.sort();
    (late, slice)
}

#[test]
fn the_end_of_very_many_delays_timers_by_two_slices_at_most() {
    // The thread that ends slices has to wait for a core, and a machine may be suspended for a
    // while: an end in one piece would be late in every run, an incremental one only in some.
    const RUNS: usize = 5;
    for (code, is_owner_deleted) in [(delete_many as _, false), (leave_many as _, true)] {
        let mut seen = Vec::new();
        let kept = (0..RUNS).any(|_| {
            let (late, slice) = lateness(with_many(code, is_owner_deleted));
            let (typical, longest) = (late[late.len() / 2], late[late.len() - 1]);
            seen.push(format!("{typical:?}, at most {longest:?} late, slices are {slice:?}"));
            typical <= 2 * slice && longest <= 10 * slice
        });
        assert!(kept, "{seen:?}");
    }
}

#[test]
fn the_end_of_very_many_can_be_broken_off() {
    for (code, is_owner_deleted) in [(delete_few as _, false), (leave_few as _, true)] {
        for slices in 0..120 {
            // Without a limit to a slice memory is left to be freed.
            for budget in [20, i64::MAX] {
                let (options, _recorded) = recording();
                let mut worker = worker_for(with_many(code, is_owner_deleted), options);
                worker.start().unwrap();
                while worker.counts().components.created < FEW {
                    worker.run(20);
                }
                for _ in 0..slices.min(if budget == 20 { slices } else { 6 }) {
                    worker.run(budget);
                }
                worker.clear();
                assert_empty(&worker);
            }
        }
    }
}
