//! Lives of components: deep and wide trees, faults and what they leave, ends, messages that
//! carry components.

use crate::support::*;
use tidemill_proc::Worker;
use tidemill_proc::entry::operations as op;
use tidemill_proc::fault::{Ended, Reason};
use tidemill_proc::layout::{Frame, Process};
use tidemill_proc::program::{ComponentType, Direction, Key, Program, Shape, WordKind};

const CHILD: u32 = slot_at(0);
const LEFT: u32 = CHILD + 8;

// BEGIN IF left > 0 THEN NEW(child); child.left := left - 1 END
code!(nest(f, p, w) {
    let left = *variable(p, LEFT);
    if left == 0 {
        return 0;
    }
    if op::component_new(f, p, w, variable(p, CHILD), 0, 0, 0) == 2 {
        return 2;
    }
    *component(variable(p, CHILD)).cast::<u64>().wrapping_byte_add(LEFT as usize) = left - 1;
    0
});

const DEPTH: u64 = 300_000;

// The same for the entry component, which waits until the tree has grown, then ends or fails.
code!(grow(f, p, w) {
    if (*f).resume == 0 {
        *variable(p, LEFT) = DEPTH;
        if nest(f, p, w.cast()) == 2 {
            return 2;
        }
        (*f).resume = 1;
    }
    *local(f, 0) += 1;
    if *local(f, 0) < DEPTH {
        return op::pause(f, p, w);
    }
    0
});

code!(grow_and_fail(f, p, w) {
    match grow(f, p, w.cast()) {
        0 => op::fault(f, p, w, Reason::Assertion as u32, 7, 0),
        status => status,
    }
});

fn nested(code: tidemill_proc::layout::Code) -> Program {
    let mut b = Builder::new();
    let begin = b.function("BEGIN", nest, 0, &[]);
    let first = b.function("BEGIN", code, 1, &[]);
    for begin in [begin, first] {
        b.component(ComponentType {
            name: "Nest".into(),
            size: LEFT + 8,
            variables: vec![owned("child", CHILD, WordKind::Component, 0)],
            begin: Some(begin),
            ..ComponentType::default()
        });
    }
    b.program.entry = 1;
    b.program
}

#[test]
fn a_deep_tree_ends() {
    let (options, _) = recording();
    let mut worker = worker_for(nested(grow), options);
    assert_eq!(run(&mut worker), Ended::Finished);
    assert_eq!(worker.counts().components.created, DEPTH + 1);
    assert_empty(&worker);
}

#[test]
fn a_deep_tree_is_torn_down() {
    let (options, recorded) = recording();
    let mut worker = worker_for(nested(grow_and_fail), options);
    assert_eq!(run(&mut worker), Ended::Failed { code: None });
    assert_eq!(worker.counts().components.created, DEPTH + 1);
    assert_empty(&worker);
    assert_eq!(recorded.borrow().faults.len(), 1);
    assert!(recorded.borrow().faults[0].entry);
}

// BEGIN NEW(child); REPEAT UNTIL FAILED(child)
code!(look_on(f, p, w) {
    if (*f).resume == 0 {
        if op::component_new(f, p, w, variable(p, CHILD), 1, 0, 0) == 2 {
            return 2;
        }
        (*f).resume = 1;
    }
    if op::failed(f, p, w, component(variable(p, CHILD))) == 0 {
        return op::pause(f, p, w);
    }
    0
});

#[test]
fn a_deep_tree_is_torn_down_in_pieces() {
    let mut program = nested(grow_and_fail);
    let mut b = Builder { program: std::mem::take(&mut program) };
    let begin = b.function("BEGIN", look_on, 0, &[]);
    b.program.entry = b.component(ComponentType {
        name: "Main".into(),
        size: LEFT + 8,
        variables: vec![owned("child", CHILD, WordKind::Component, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    worker.start().unwrap();
    let mut pieces = 0;
    while worker.ended().is_none() {
        let before = worker.counts().components.alive;
        worker.run(100);
        let gone = before.saturating_sub(worker.counts().components.alive);
        assert!(gone < 5000, "{gone} at a stretch");
        pieces += u64::from(gone > 0);
    }
    assert_eq!(worker.ended(), Some(&Ended::Finished));
    assert!(pieces > DEPTH / 5000, "{pieces}");
    assert_eq!(recorded.borrow().faults.len(), 1);
    assert_empty(&worker);
}

#[test]
fn a_tree_that_is_dropped_while_it_grows_leaves_nothing() {
    let (options, _) = recording();
    let mut worker = worker_for(nested(grow), options);
    worker.start().unwrap();
    worker.run(1000);
    assert!(worker.counts().components.alive > 100);
    worker.clear();
    assert_empty(&worker);
}

#[test]
fn memory_runs_out_in_the_component_that_asks() {
    let (mut options, recorded) = recording();
    options.memory_max = 1 << 20;
    let mut worker = worker_for(nested(grow), options);
    run(&mut worker);
    assert_eq!(recorded.borrow().faults[0].reason, Reason::OutOfMemory);
    assert!(worker.peak_bytes() <= 1 << 20);
    assert_empty(&worker);
}

// --- A server that fails, its client, their owner.

const SERVER: u32 = slot_at(0);
const CLIENT: u32 = SERVER + 8;
const SEEN: u32 = SERVER + 16;

// IMPLEMENTATION Ask: ?Question(n); t := "..."; ASSERT(n < 2, n); !Answer(n)
code!(serve(f, p, w) {
    let (n, text) = (local(f, 0), local(f, 1));
    if (*f).resume == 0 {
        wait!(f, 0, op::server_receive(f, p, w, 0, n, 0));
        if op::text_literal(f, p, w, b"remember".as_ptr(), 8, 0) == 2 {
            return 2;
        }
        *text = (*f).result;
        if *n >= 2 {
            return op::fault(f, p, w, Reason::Assertion as u32, *n as i64, 1);
        }
    }
    wait!(f, 1, op::server_send(f, p, w, 1, n, 0));
    op::drop_word(f, p, w, text, WordKind::Text as u32);
    0
});

// ACTIVITY FOR n := 0 TO 9 DO ask!Question(n); ask?Answer(x) END
code!(ask(f, p, w) {
    let (n, x) = (local(f, 0), local(f, 1));
    while *n < 10 {
        if (*f).resume == 0 {
            *x = *n;
            wait!(f, 0, op::client_send(f, p, w, slot(p, slot_at(0)), 0, x, 2));
        }
        wait!(f, 1, op::client_receive(f, p, w, slot(p, slot_at(0)), 1, x, 3));
        (*f).resume = 0;
        *n += 1;
    }
    0
});

// BEGIN NEW(server); NEW(client); CONNECT; wait until both have failed; DELETE both
code!(own_both(f, p, w) {
    use tidemill_proc::layout::{PORT_OFFERED, PORT_REQUIRED, port as port_number};
    if (*f).resume == 0 {
        for (word, kind) in [(SERVER, 1), (CLIENT, 2)] {
            if op::component_new(f, p, w, variable(p, word), kind, 0, 0) == 2 {
                return 2;
            }
        }
        let (from, to) = (component(variable(p, CLIENT)), component(variable(p, SERVER)));
        let (out, into) = (port_number(PORT_REQUIRED, 0, 1), port_number(PORT_OFFERED, 0, 1));
        if op::connect(f, p, w, from, out, to, into, 0) == 2 {
            return 2;
        }
        (*f).resume = 1;
    }
    if (*f).resume == 1 {
        *local(f, 0) += 1;
        assert!(*local(f, 0) < 1000, "both fail");
        let failed = |word| op::failed(f, p, w, component(variable(p, word))) == 1;
        if !(failed(SERVER) && failed(CLIENT)) {
            return op::pause(f, p, w);
        }
    }
    if (*f).resume <= 2 {
        wait!(f, 2, op::delete(f, p, w, variable(p, SERVER), WordKind::Component as u32));
    }
    wait!(f, 3, op::delete(f, p, w, variable(p, CLIENT), WordKind::Component as u32));
    op::write_boolean(f, p, w, u64::from(*variable(p, SERVER) == 0));
    0
});

fn asking() -> Program {
    let mut b = Builder::new();
    let scalar = &[WordKind::Scalar];
    let question = message("Question", Direction::In, scalar, true, &[], false);
    let answer = message("Answer", Direction::Out, scalar, false, &[0], true);
    let interface = b.interface("Ask", vec![question, answer]);
    let begin = b.function("BEGIN", own_both, 1, &[]);
    let serve = b.function("Ask", serve, 2, &[(1, WordKind::Text)]);
    let ask = b.function("ACTIVITY", ask, 2, &[]);
    b.component(ComponentType {
        name: "Main".into(),
        size: SEEN + 8,
        variables: vec![
            owned("server", SERVER, WordKind::Component, 0),
            owned("client", CLIENT, WordKind::Component, 0),
        ],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Server".into(),
        size: slot_at(0),
        offered: vec![offered(interface, serve)],
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Client".into(),
        size: slot_at(1),
        required: vec![port(interface, 0, None)],
        activity: Some(ask),
        ..ComponentType::default()
    });
    b.program
}

#[test]
fn a_fault_stays_in_its_component_and_its_client_learns_of_it() {
    for seed in 0..30 {
        let (mut options, recorded) = recording();
        options.schedule_seed = (seed > 0).then_some(seed);
        let mut worker = worker_for(asking(), options);
        assert_eq!(run(&mut worker), Ended::Finished);
        let recorded = recorded.borrow();
        let seen: Vec<(Reason, &str, &str)> = recorded
            .faults
            .iter()
            .map(|fault| (fault.reason, fault.path.as_str(), fault.process.as_str()))
            .collect();
        assert_eq!(
            seen,
            [
                (Reason::Assertion, "Main/server", "Ask"),
                (Reason::PartnerFailed, "Main/client", "ACTIVITY"),
            ]
        );
        assert_eq!(recorded.output, b"TRUE");
        assert_empty(&worker);
    }
}

// --- Protocols.

// IMPLEMENTATION Ask: ?Question(n); ?Question(n): the client waits for the answer meanwhile.
code!(serve_deadlock(f, p, w) {
    if (*f).resume == 0 {
        wait!(f, 0, op::server_receive(f, p, w, 0, local(f, 0), 0));
    }
    wait!(f, 1, op::server_receive(f, p, w, 0, local(f, 0), 0));
    0
});

// IMPLEMENTATION Ask: !Answer before any question.
code!(serve_out_of_turn(f, p, w) {
    if (*f).resume == 0 {
        wait!(f, 0, op::server_receive(f, p, w, 0, local(f, 0), 0));
    }
    wait!(f, 1, op::server_send(f, p, w, 1, local(f, 0), 0));
    wait!(f, 2, op::server_send(f, p, w, 1, local(f, 0), 0));
    0
});

#[test]
fn waiting_for_each_other_is_a_fault() {
    for seed in 0..20 {
        let mut program = asking();
        program.functions[1].code = code_of(serve_deadlock);
        let (mut options, recorded) = recording();
        options.schedule_seed = (seed > 0).then_some(seed);
        let mut worker = worker_for(program, options);
        assert_eq!(run(&mut worker), Ended::Finished);
        let recorded = recorded.borrow();
        assert_eq!(recorded.faults[0].reason, Reason::ProtocolDeadlock);
        assert_eq!(recorded.faults.len(), 2, "{:?}", recorded.faults);
        assert_empty(&worker);
    }
}

#[test]
fn the_sender_checks_the_protocol() {
    let mut program = asking();
    program.functions[1].code = code_of(serve_out_of_turn);
    let (options, recorded) = recording();
    let mut worker = worker_for(program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    assert_eq!(recorded.borrow().faults[0].reason, Reason::Protocol);
    assert_empty(&worker);
}

// --- Width: NEW of many, end of the owner; FINALLY of each; join by DELETE.

const MANY: u64 = 200_000;

// BEGIN FOR i := 0 TO many - 1 DO NEW(c[i]) END; DELETE(c); WRITE(ended)
code!(widen(f, p, w) {
    let i = local(f, 0);
    if (*f).resume == 0 {
        while *i < MANY {
            let word = op::collection_at(f, p, w, variable(p, SERVER), 0, i, 0);
            if word.is_null() || op::component_new(f, p, w, word, 1, 0, 0) == 2 {
                return 2;
            }
            *i += 1;
        }
    }
    wait!(f, 1, op::delete(f, p, w, variable(p, SERVER), WordKind::Collection as u32));
    op::write_line(f, p, w);
    0
});

code!(write_dot(f, p, w) {
    op::write_character(f, p, w, u64::from(b'.'));
    0
});

#[test]
fn deleting_many_waits_for_all_of_them() {
    let mut b = Builder::new();
    let begin = b.function("BEGIN", widen, 1, &[]);
    let dot = b.function("FINALLY", write_dot, 0, &[]);
    b.program.shapes = vec![Shape::Collection {
        keys: vec![Key::Integer],
        element: WordKind::Component,
        pinned: true,
    }];
    b.component(ComponentType {
        name: "Wide".into(),
        size: SERVER + 8,
        variables: vec![owned("c", SERVER, WordKind::Collection, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "One".into(),
        size: slot_at(0),
        finally: Some(dot),
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    let output = &recorded.borrow().output;
    assert_eq!(output.len() as u64, MANY + 1);
    assert_eq!(output.last(), Some(&b'\n'), "DELETE comes back when the last has ended");
    assert_empty(&worker);
}

// --- A component in a message.

// BEGIN NEW(parcel); NEW(client); client!Take(parcel): the parcel's end shows where it is.
code!(hand_over(f, p, w) {
    if (*f).resume == 0
        && (op::component_new(f, p, w, variable(p, SERVER), 1, 0, 0) == 2
            || op::component_new(f, p, w, variable(p, CLIENT), 2, 0, 0) == 2)
    {
        return 2;
    }
    let line = op::slot_offered(f, p, w, component(variable(p, CLIENT)), 0, 1, 0);
    wait!(f, 1, op::client_send(f, p, w, line, 0, variable(p, SERVER), 0));
    assert_eq!(*variable(p, SERVER), 0, "the source is empty");
    0
});

// IMPLEMENTATION Take: ?Take(own)
code!(take_over(f, p, w) {
    wait!(f, 0, op::server_receive(f, p, w, 0, variable(p, SERVER), 0));
    let parcel = component(variable(p, SERVER));
    assert_eq!((*parcel).owner, own(p));
    op::write_character(f, p, w, u64::from(b't'));
    0
});

#[test]
fn a_component_goes_with_the_message() {
    let mut b = Builder::new();
    let take = message("Take", Direction::In, &[WordKind::Component], true, &[], true);
    let interface = b.interface("Take", vec![take]);
    let begin = b.function("BEGIN", hand_over, 1, &[]);
    let dot = b.function("FINALLY", write_dot, 0, &[]);
    let take = b.function("Take", take_over, 1, &[]);
    let variables = vec![
        owned("a", SERVER, WordKind::Component, 0),
        owned("b", CLIENT, WordKind::Component, 0),
    ];
    b.component(ComponentType {
        name: "Main".into(),
        size: SEEN,
        variables: variables.clone(),
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Parcel".into(),
        size: slot_at(0),
        finally: Some(dot),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Taker".into(),
        size: SEEN,
        variables,
        offered: vec![offered(interface, take)],
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    assert_eq!(recorded.borrow().output, b"t.");
    assert!(recorded.borrow().faults.is_empty());
    assert_empty(&worker);
}

#[test]
fn faults_that_are_broken_off_leave_nothing() {
    break_off_everywhere(asking, 60);
}
