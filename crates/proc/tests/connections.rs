//! Connections: sets, redirections inward and outward, late connections, INPUT.

use crate::support::*;
use tidemill_proc::Worker;
use tidemill_proc::entry::operations as op;
use tidemill_proc::fault::{Ended, Reason};
use tidemill_proc::layout::{
    ANY, FINISH, Frame, PORT_IMPLEMENTATION, PORT_OFFERED, PORT_REQUIRED, Process,
    port as port_number,
};
use tidemill_proc::program::{ComponentType, Direction, Key, Port, Program, Shape, WordKind};

const A: u32 = slot_at(2);
const B: u32 = A + 8;
const SIZE: u32 = A + 16;

fn new(f: *mut Frame, p: *mut Process, w: *mut Worker, word: u32, kind: u32) {
    // SAFETY: called by running code with its own addresses.
    assert_eq!(unsafe { op::component_new(f, p, w, variable(p, word), kind, 0, 0) }, 0);
}

// IMPLEMENTATION Say: ?Say(n); WRITE(n)
code!(serve_say(f, p, w) {
    wait!(f, 0, op::server_receive(f, p, w, 0, local(f, 0), 0));
    op::write_integer(f, p, w, *local(f, 0) as i64);
    0
});

// ACTIVITY FOR i := 1 TO 3 DO say[i]!Say(i) END
code!(say_to_set(f, p, w) {
    let (i, n) = (local(f, 0), local(f, 1));
    while *i < 3 {
        *n = *i + 1;
        let slot = op::slot_required(f, p, w, 0, *n as i64, 0);
        if slot.is_null() {
            return 2;
        }
        wait!(f, 0, op::client_send(f, p, w, slot, 0, n, 0));
        *i += 1;
    }
    0
});

fn say(b: &mut Builder) -> (u32, u32) {
    let say = message("Say", Direction::In, &[WordKind::Scalar], true, &[], true);
    let interface = b.interface("Say", vec![say]);
    let serve = b.function("Say", serve_say, 1, &[]);
    (interface, serve)
}

/// Entry 0 with words A and B, a speaker 1 with a set of Say, a listener 2, a wrapper 3 that
/// passes Say on to its own listener, and 4 that passes it on outward.
fn program(entry: tidemill_proc::layout::Code) -> Program {
    let mut b = Builder::new();
    let (say, serve) = say(&mut b);
    let begin = b.function("BEGIN", entry, 3, &[]);
    let speak = b.function("ACTIVITY", say_to_set, 2, &[]);
    let wrap = b.function("BEGIN", wrap, 1, &[]);
    let set = Port { interface: say, low: 1, high: None, slot: slot_at(0), implementation: None };
    let variables =
        vec![owned("a", A, WordKind::Component, 0), owned("b", B, WordKind::Component, 0)];
    b.component(ComponentType {
        name: "Main".into(),
        size: SIZE,
        variables: variables.clone(),
        offered: vec![offered(say, serve)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Speaker".into(),
        size: SIZE,
        required: vec![set],
        activity: Some(speak),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Listener".into(),
        size: slot_at(0),
        offered: vec![offered(say, serve)],
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Wrapper".into(),
        size: SIZE,
        variables,
        offered: vec![port(say, 0, None)],
        begin: Some(wrap),
        ..ComponentType::default()
    });
    b.program
}

// BEGIN NEW(a: Listener); CONNECT(Say, a)
code!(wrap(f, p, w) {
    new(f, p, w, A, 2);
    let (from, to) = (port_number(PORT_OFFERED, 0, 1), port_number(PORT_OFFERED, 0, 1));
    op::connect(f, p, w, own(p), from, component(variable(p, A)), to, 0)
});

// BEGIN NEW(a: Speaker); NEW(b: Wrapper); CONNECT(Say[1](a), b); wait;
// CONNECT(Say[2](a), Say); wait; CONNECT(Say[3](a), b); wait; WRITE(COUNT(Say(a))); DELETE(a)
code!(connect_late(f, p, w) {
    if (*f).resume == 0 {
        new(f, p, w, A, 1);
        new(f, p, w, B, 3);
        (*f).resume = 1;
    }
    let (step, turns) = (local(f, 0), local(f, 1));
    if *turns > 0 && (*f).resume == 1 {
        *turns -= 1;
        return op::pause(f, p, w);
    }
    if *step < 3 {
        *step += 1;
        *turns = 20;
        op::write_character(f, p, w, u64::from(b'c'));
        let from = port_number(PORT_REQUIRED, 0, *step as u32);
        let speaker = component(variable(p, A));
        let status = if *step == 2 {
            op::connect(f, p, w, speaker, from, own(p), port_number(PORT_IMPLEMENTATION, 0, 1), 0)
        } else {
            let wrapper = component(variable(p, B));
            op::connect(f, p, w, speaker, from, wrapper, port_number(PORT_OFFERED, 0, 1), 0)
        };
        return if status == 0 { op::pause(f, p, w) } else { status };
    }
    if (*f).resume == 1 {
        let count = op::count(f, p, w, component(variable(p, A)), port_number(PORT_REQUIRED, 0, 0));
        op::write_character(f, p, w, u64::from(b'='));
        op::write_integer(f, p, w, count);
    }
    wait!(f, 2, op::delete(f, p, w, variable(p, A), WordKind::Component as u32));
    0
});

#[test]
fn what_is_connected_late_waits_without_spinning() {
    let (options, recorded) = recording();
    let mut worker = worker_for(program(connect_late), options);
    // The entry's own implementation serves only after its BEGIN: 2 comes when BEGIN is done.
    let ended = run(&mut worker);
    assert_eq!(String::from_utf8_lossy(&recorded.borrow().output), "c1cc3=32");
    assert_eq!(ended, Ended::Finished, "{:?}", recorded.borrow().deadlocks);
    assert!(recorded.borrow().faults.is_empty(), "{:?}", recorded.borrow().faults);
    assert_empty(&worker);
}

// CONNECT of a component that is not owned.
code!(connect_self(f, p, w) {
    new(f, p, w, A, 1);
    let from = port_number(PORT_REQUIRED, 0, 1);
    op::connect(f, p, w, component(variable(p, A)), from, component(variable(p, A)), from, 0)
});

#[test]
fn connections_that_make_no_sense_are_faults() {
    let (options, recorded) = recording();
    let mut worker = worker_for(program(connect_self), options);
    assert_eq!(run(&mut worker), Ended::Failed { code: None });
    assert_eq!(recorded.borrow().faults[0].reason, Reason::Interface);
    assert_empty(&worker);
}

// --- AWAIT(INPUT(...)), ANY, FINISH: a server that listens to its client only when there is
// something, and sees its end.

code!(has_input(f, p, w) {
    match op::server_input(f, p, w, ANY, 0) {
        0 if (*f).result == 1 => 1,
        0 => match op::server_input(f, p, w, FINISH, 0) {
            0 => (*f).result as u32,
            _ => 2,
        },
        _ => 2,
    }
});

// IMPLEMENTATION Talk: REPEAT BEGIN {EXCLUSIVE} AWAIT(INPUT(ANY) OR INPUT(FINISH)) END;
//   IF INPUT(ANY) THEN ?Word(x); WRITE(x) END UNTIL INPUT(FINISH)
code!(listen(f, p, w) {
    loop {
        if (*f).resume == 0 {
            wait!(f, 0, op::lock_exclusive(f, p, w));
        }
        wait!(f, 1, op::await_condition(f, p, w, has_input as *const u8, 0));
        if op::unlock(f, p, w) == 2 {
            return 2;
        }
        (*f).resume = 0;
        if op::server_input(f, p, w, FINISH, 0) != 0 {
            return 2;
        }
        if (*f).result == 1 {
            op::write_character(f, p, w, u64::from(b'.'));
            return 0;
        }
        assert_eq!(op::server_receive(f, p, w, 0, local(f, 0), 0), 0, "a message is there");
        op::write_integer(f, p, w, *local(f, 0) as i64);
    }
});

// BEGIN NEW(a); FOR i := 1 TO 9 DO a!Word(i) END
code!(talk(f, p, w) {
    let (i, x) = (local(f, 0), local(f, 1));
    if *i == 0 && (*f).resume == 0 {
        new(f, p, w, A, 1);
    }
    while *i < 9 {
        *x = *i + 1;
        let line = op::slot_offered(f, p, w, component(variable(p, A)), 0, 1, 0);
        wait!(f, 1, op::client_send(f, p, w, line, 0, x, 0));
        *i += 1;
    }
    0
});

#[test]
fn conditions_on_input_are_looked_at_when_messages_come() {
    for seed in 0..20 {
        let mut b = Builder::new();
        let word = message("Word", Direction::In, &[WordKind::Scalar], true, &[0], false);
        let interface = b.interface("Talk", vec![word]);
        let begin = b.function("BEGIN", talk, 2, &[]);
        let serve = b.function("Talk", listen, 1, &[]);
        b.component(ComponentType {
            name: "Main".into(),
            size: SIZE,
            variables: vec![owned("a", A, WordKind::Component, 0)],
            begin: Some(begin),
            ..ComponentType::default()
        });
        b.component(ComponentType {
            name: "Listener".into(),
            size: slot_at(0),
            offered: vec![offered(interface, serve)],
            awaits_input: true,
            ..ComponentType::default()
        });
        let (mut options, recorded) = recording();
        options.schedule_seed = (seed > 0).then_some(seed);
        let mut worker = worker_for(b.program, options);
        assert_eq!(run(&mut worker), Ended::Finished);
        assert_eq!(String::from_utf8_lossy(&recorded.borrow().output), "123456789.");
        assert_empty(&worker);
    }
}

// --- NEW again after a failure, many times: nothing is left of those that failed.

code!(fail(f, p, w) {
    if op::text_literal(f, p, w, b"lost".as_ptr(), 4, 0) == 2 {
        return 2;
    }
    *local(f, 0) = (*f).result;
    op::fault(f, p, w, Reason::Overflow as u32, 0, 0)
});

// BEGIN FOR i := 1 TO 50 DO NEW(a); WHILE ~FAILED(a) DO END; DELETE(a) END
code!(retry(f, p, w) {
    let i = local(f, 0);
    loop {
        match (*f).resume {
            0 => new(f, p, w, A, 1),
            1 => {}
            _ => {
                wait!(f, 2, op::delete(f, p, w, variable(p, A), WordKind::Component as u32));
                *i += 1;
                (*f).resume = 0;
                if *i == 50 {
                    return 0;
                }
                continue;
            }
        }
        if op::failed(f, p, w, component(variable(p, A))) == 0 {
            (*f).resume = 1;
            return op::pause(f, p, w);
        }
        (*f).resume = 2;
    }
});

#[test]
fn what_failed_can_be_made_again() {
    let mut b = Builder::new();
    let begin = b.function("BEGIN", retry, 1, &[]);
    let fail = b.function("BEGIN", fail, 1, &[(0, WordKind::Text)]);
    b.component(ComponentType {
        name: "Main".into(),
        size: SIZE,
        variables: vec![owned("a", A, WordKind::Component, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Weak".into(),
        size: slot_at(0),
        begin: Some(fail),
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    assert_eq!(recorded.borrow().faults.len(), 50);
    assert_eq!(recorded.borrow().faults[0].path, "Main/a");
    assert_eq!(worker.counts().texts.created, 50);
    assert_empty(&worker);
}

// --- A process with many open lines.

const LINES: u64 = 100;

// BEGIN FOR i := 0 TO 99 DO NEW(a[i]) END; FOR n := 0 TO 299 DO a[n MOD 100]!Word(1) END
code!(talk_to_many(f, p, w) {
    let (n, x, key) = (local(f, 0), local(f, 1), local(f, 2));
    if (*f).resume == 0 {
        for i in 0..LINES {
            *key = i;
            let word = op::collection_at(f, p, w, variable(p, A), 0, key, 0);
            if op::component_new(f, p, w, word, 1, 0, 0) == 2 {
                return 2;
            }
        }
    }
    while *n < 3 * LINES {
        (*x, *key) = (1, *n % LINES);
        let to = component(op::collection_find(f, p, w, *variable(p, A), key));
        let line = op::slot_offered(f, p, w, to, 0, 1, 0);
        wait!(f, 1, op::client_send(f, p, w, line, 0, x, 0));
        *n += 1;
    }
    0
});

#[test]
fn a_process_may_have_many_lines() {
    let mut b = Builder::new();
    let word = message("Word", Direction::In, &[WordKind::Scalar], true, &[0], false);
    let interface = b.interface("Talk", vec![word]);
    let begin = b.function("BEGIN", talk_to_many, 3, &[]);
    let serve = b.function("Talk", listen, 1, &[]);
    b.program.shapes = vec![Shape::Collection {
        keys: vec![Key::Integer],
        element: WordKind::Component,
        pinned: true,
    }];
    b.component(ComponentType {
        name: "Main".into(),
        size: SIZE,
        variables: vec![owned("a", A, WordKind::Collection, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Listener".into(),
        size: slot_at(0),
        offered: vec![offered(interface, serve)],
        awaits_input: true,
        ..ComponentType::default()
    });
    let (options, recorded) = recording();
    let mut worker = worker_for(b.program, options);
    assert_eq!(run(&mut worker), Ended::Finished);
    let output = String::from_utf8_lossy(&recorded.borrow().output).into_owned();
    assert_eq!(output.matches('1').count() as u64, 3 * LINES);
    assert_eq!(output.matches('.').count() as u64, LINES, "each line is one communication");
    assert_eq!(worker.counts().channels.created, LINES);
    assert_empty(&worker);
}
