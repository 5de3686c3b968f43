//! The monitor: mutual exclusion, conditions, fairness, under seeded schedules.
//!
//! The bounded buffer of the producers and consumers, a server process for each, with AWAIT; and
//! readers with writers.

use crate::support::*;
use tidemill_proc::Worker;
use tidemill_proc::entry::operations as op;
use tidemill_proc::fault::Ended;
use tidemill_proc::layout::{
    Frame, NEXT_FREE, PORT_OFFERED, PORT_REQUIRED, Process, port as port_number,
};
use tidemill_proc::program::{ComponentType, Direction, Key, Program, Shape, WordKind};

const ROOM: u64 = 10;

// The buffer's words: a ring of 10, first, count, and what tests check.
const RING: u32 = slot_at(0);
const FIRST: u32 = RING + 80;
const COUNT: u32 = RING + 88;
const INSIDE: u32 = RING + 96;
const LONGEST: u32 = RING + 104;
const BUFFER_SIZE: u32 = RING + 112;

code!(is_not_full(f, p, w) { u32::from(*variable(p, COUNT) < ROOM) });
code!(is_not_empty(f, p, w) { u32::from(*variable(p, COUNT) > 0) });

/// Enters what must be exclusive; leaves it with `leave`.
fn enter(process: *mut Process) {
    let inside = variable(process, INSIDE);
    // SAFETY: a word of the running process's component.
    unsafe {
        assert_eq!(*inside, 0, "two processes in an exclusive section");
        *inside = 1;
    }
}

fn leave(process: *mut Process) {
    // SAFETY: as in `enter`.
    unsafe { *variable(process, INSIDE) = 0 };
}

// IMPLEMENTATION Put: WHILE ?Item DO ?Item(x); BEGIN {EXCLUSIVE} AWAIT(count < 10); put END END
code!(serve_put(f, p, w) {
    let x = local(f, 0);
    loop {
        if (*f).resume == 0 {
            wait!(f, 0, op::server_peek(f, p, w, 0, 0));
            if (*f).result == 0 {
                return 0;
            }
            wait!(f, 0, op::server_receive(f, p, w, 0, x, 0));
        }
        if (*f).resume <= 1 {
            wait!(f, 1, op::lock_exclusive(f, p, w));
        }
        wait!(f, 2, op::await_condition(f, p, w, is_not_full as *const u8, 0));
        enter(p);
        let place = (*variable(p, FIRST) + *variable(p, COUNT)) % ROOM;
        *variable(p, RING + 8 * place as u32) = *x;
        *variable(p, COUNT) += 1;
        *variable(p, LONGEST) = (*variable(p, LONGEST)).max(*variable(p, COUNT));
        leave(p);
        if op::unlock(f, p, w) == 2 {
            return 2;
        }
        (*f).resume = 0;
    }
});

// IMPLEMENTATION Get: WHILE ?Want DO ?Want; BEGIN {EXCLUSIVE} AWAIT(count > 0); get END; !Have(x)
code!(serve_get(f, p, w) {
    let x = local(f, 0);
    loop {
        if (*f).resume == 0 {
            wait!(f, 0, op::server_peek(f, p, w, 0, 0));
            if (*f).result == 0 {
                return 0;
            }
            wait!(f, 0, op::server_receive(f, p, w, 0, x, 0));
        }
        if (*f).resume <= 1 {
            wait!(f, 1, op::lock_exclusive(f, p, w));
        }
        if (*f).resume <= 2 {
            wait!(f, 2, op::await_condition(f, p, w, is_not_empty as *const u8, 0));
            enter(p);
            let first = variable(p, FIRST);
            *x = *variable(p, RING + 8 * *first as u32);
            *first = (*first + 1) % ROOM;
            *variable(p, COUNT) -= 1;
            leave(p);
            if op::unlock(f, p, w) == 2 {
                return 2;
            }
        }
        wait!(f, 3, op::server_send(f, p, w, 1, x, 0));
        (*f).resume = 0;
    }
});

// A client's words: its slot, how many items, their sum.
const ITEMS: u32 = slot_at(1);
const SUM: u32 = ITEMS + 8;

// ACTIVITY of a producer: FOR i := 1 TO items DO BEGIN {EXCLUSIVE} buffer!Item(i) END END
code!(produce(f, p, w) {
    let (i, payload) = (local(f, 0), local(f, 1));
    while *i < *variable(p, ITEMS) {
        *payload = *i + 1;
        wait!(f, 0, op::client_send(f, p, w, slot(p, slot_at(0)), 0, payload, 0));
        *i += 1;
    }
    0
});

// ACTIVITY of a consumer: FOR i := 1 TO items DO buffer!Want; buffer?Have(x); sum := sum + x END
code!(consume(f, p, w) {
    let (i, x) = (local(f, 0), local(f, 1));
    while *i < *variable(p, ITEMS) {
        if (*f).resume == 0 {
            wait!(f, 0, op::client_send(f, p, w, slot(p, slot_at(0)), 0, x, 0));
        }
        wait!(f, 1, op::client_receive(f, p, w, slot(p, slot_at(0)), 1, x, 0));
        (*f).resume = 0;
        *variable(p, SUM) += *x;
        *i += 1;
    }
    0
});

// The entry component's words.
const BUFFER: u32 = slot_at(0);
const CLIENTS: u32 = BUFFER + 8;
const TOTAL: u32 = BUFFER + 16;
const PRODUCERS: u64 = 3;
const CONSUMERS: u64 = 4;
const EACH: u64 = 40;

// BEGIN NEW(buffer); FOR each client DO NEW(client[i]); connect END; join all and add the sums
code!(main(f, p, w) {
    let key = local(f, 0);
    if (*f).resume == 0 {
        if op::component_new(f, p, w, variable(p, BUFFER), 1, 0, 0) == 2 {
            return 2;
        }
        for n in 0..PRODUCERS + CONSUMERS {
            *key = n;
            let word = op::collection_at(f, p, w, variable(p, CLIENTS), 0, key, 0);
            let kind = if n < PRODUCERS { 2 } else { 3 };
            if op::component_new(f, p, w, word, kind, 0, 0) == 2 {
                return 2;
            }
            let client = component(word);
            let items = if n < PRODUCERS { EACH * CONSUMERS } else { EACH * PRODUCERS };
            *client.cast::<u64>().wrapping_byte_add(ITEMS as usize) = items;
            let interface = u32::from(n >= PRODUCERS);
            let from = port_number(PORT_REQUIRED, interface, NEXT_FREE);
            let to = port_number(PORT_OFFERED, interface, 1);
            if op::connect(f, p, w, client, from, component(variable(p, BUFFER)), to, 0) == 2 {
                return 2;
            }
        }
        *key = 0;
    }
    join(f, p, w.cast())
});

code!(again(f, p, w) {
    (*f).resume = 2;
    op::pause(f, p, w)
});

// Waits for the clients by looking, then deletes them.
code!(main_again(f, p, w) {
    if (*f).resume == 2 {
        (*f).resume = 0;
        // Made: continue with the clients.
        *local(f, 0) = *local(f, 1);
        return join(f, p, w.cast());
    }
    if (*f).resume == 1 {
        return join(f, p, w.cast());
    }
    main(f, p, w.cast())
});

code!(join(f, p, w) {
    let key = local(f, 0);
    while *key < PRODUCERS + CONSUMERS {
        if (*f).resume == 0 {
            let client = op::collection_find(f, p, w, *variable(p, CLIENTS), key);
            if (*component(client)).process_count > 0 {
                *local(f, 1) = *key;
                return again(f, p, w.cast());
            }
            *variable(p, TOTAL) +=
                *component(client).cast::<u64>().wrapping_byte_add(SUM as usize);
        }
        wait!(f, 1, op::collection_delete(f, p, w, *variable(p, CLIENTS), key));
        (*f).resume = 0;
        *key += 1;
    }
    op::write_integer(f, p, w, *variable(p, TOTAL) as i64);
    0
});

fn program() -> Program {
    let mut b = Builder::new();
    let scalar = &[WordKind::Scalar];
    let item = message("Item", Direction::In, scalar, true, &[0], false);
    let put = b.interface("Put", vec![item]);
    let want = message("Want", Direction::In, &[], true, &[1], false);
    let have = message("Have", Direction::Out, scalar, false, &[0], false);
    let get = b.interface("Get", vec![want, have]);
    let begin = b.function("BEGIN", main_again, 2, &[]);
    let serve_put = b.function("Put", serve_put, 1, &[]);
    let serve_get = b.function("Get", serve_get, 1, &[]);
    let produce = b.function("producer", produce, 2, &[]);
    let consume = b.function("consumer", consume, 2, &[]);
    b.program.shapes = vec![Shape::Collection {
        keys: vec![Key::Integer],
        element: WordKind::Component,
        pinned: true,
    }];
    b.component(ComponentType {
        name: "Main".into(),
        size: TOTAL + 8,
        variables: vec![
            owned("buffer", BUFFER, WordKind::Component, 0),
            owned("client", CLIENTS, WordKind::Collection, 0),
        ],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Buffer".into(),
        size: BUFFER_SIZE,
        offered: vec![offered(put, serve_put), offered(get, serve_get)],
        ..ComponentType::default()
    });
    for (name, interface, function) in [("Producer", put, produce), ("Consumer", get, consume)] {
        b.component(ComponentType {
            name: name.into(),
            size: SUM + 8,
            required: vec![port(interface, 0, None)],
            activity: Some(function),
            ..ComponentType::default()
        });
    }
    b.program
}

#[test]
fn a_bounded_buffer_loses_nothing_under_any_schedule() {
    let items = EACH * CONSUMERS;
    let expected = PRODUCERS * items * (items + 1) / 2;
    for seed in 0..60 {
        let (mut options, recorded) = recording();
        options.schedule_seed = (seed > 0).then_some(seed);
        let mut worker = worker_for(program(), options);
        let ended = run(&mut worker);
        assert_eq!(ended, Ended::Finished, "seed {seed}: {:?}", recorded.borrow().faults);
        assert_eq!(recorded.borrow().output, expected.to_string().as_bytes(), "seed {seed}");
        assert!(recorded.borrow().faults.is_empty(), "{:?}", recorded.borrow().faults);
        assert_empty(&worker);
    }
}

#[test]
fn producers_and_consumers_that_are_broken_off_leave_nothing() {
    break_off_everywhere(program, 400);
}

#[test]
fn producers_and_consumers_without_memory_leave_nothing() {
    starve(program);
}
