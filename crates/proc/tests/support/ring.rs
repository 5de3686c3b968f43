//! The token ring as generated code would be: a node passes on what it receives, the fast paths of
//! send and receive inlined.

use tidemill_proc::Worker;
use tidemill_proc::entry::operations as op;
use tidemill_proc::layout::{
    CHANNEL_ENTRIES, CLIENT_FINISHED, CLIENT_WAITS, CLIENT_WATCHES, Channel, FROM_CLIENT, Frame,
    NEXT_FREE, PORT_OFFERED, PORT_REQUIRED, PROCESS_CHANNEL, Process, SERVER_WAITS, SERVER_WATCHES,
    SYSTEM, WORKER_READY, WORKER_READY_HEAD, WORKER_READY_MASK, WORKER_READY_TAIL,
    port as port_number, tag,
};
use tidemill_proc::program::{ComponentType, Direction, Key, Program, Shape, WordKind};

use super::*;
use crate::{code, wait};

const PASS: u16 = 0;
/// The node's slot and the variable after it.
const NEXT: u32 = slot_at(0);

fn entry_word(channel: *mut Channel, entry: u8) -> *mut u64 {
    channel.cast::<u64>().wrapping_byte_add(CHANNEL_ENTRIES as usize + 8 * usize::from(entry))
}

/// ?Pass(x) inlined; false when the operation has to be called.
unsafe fn receive_fast(process: *mut Process, to: *mut u64) -> bool {
    let channel = process.wrapping_byte_add(PROCESS_CHANNEL as usize).cast::<Channel>();
    // SAFETY: the process is a server process, so it has a channel.
    unsafe {
        let head = (*channel).head;
        let known = (*channel).count > 0
            && (*channel).tags[usize::from(head & 3)] == tag(PASS, FROM_CLIENT)
            && (*channel).flags & (CLIENT_WAITS | CLIENT_WATCHES) == 0;
        if known {
            *to = *entry_word(channel, head);
            (*channel).head = (head + 1) & 3;
            (*channel).count -= 1;
        }
        known
    }
}

/// next!Pass(x) inlined; false when the operation has to be called.
unsafe fn send_fast(process: *mut Process, worker: *mut Worker, x: u64) -> bool {
    // SAFETY: the component has a slot there; a channel above 1 is open.
    unsafe {
        let channel = (*slot(process, NEXT)).channel;
        if channel.addr() <= 1 || (*channel).count >= 4 || (*channel).state != PASS {
            return false;
        }
        let flags = (*channel).flags;
        if flags & (SERVER_WATCHES | SYSTEM | CLIENT_FINISHED) != 0 {
            return false;
        }
        let place = ((*channel).head + (*channel).count) & 3;
        *entry_word(channel, place) = x;
        (*channel).tags[usize::from(place)] = tag(PASS, FROM_CLIENT);
        (*channel).count += 1;
        if flags & SERVER_WAITS != 0 {
            (*channel).flags = flags & !SERVER_WAITS;
            let tail = worker_word(worker, WORKER_READY_TAIL);
            let mask = *worker_word(worker, WORKER_READY_MASK);
            let full = *tail - *worker_word(worker, WORKER_READY_HEAD) > mask;
            assert!(!full, "generated code calls the operation then");
            let server = channel.wrapping_byte_sub(PROCESS_CHANNEL as usize).cast::<Process>();
            let ready = *worker_word(worker, WORKER_READY).cast::<*mut *mut Process>();
            *ready.add((*tail & mask) as usize) = server;
            *tail += 1;
        }
        true
    }
}

/// A word of the worker at the offset that generated code uses.
fn worker_word(worker: *mut Worker, offset: i32) -> *mut u64 {
    worker.cast::<u64>().wrapping_byte_add(offset as usize)
}

// IMPLEMENTATION Token:
//   WHILE ?Pass DO
//     ?Pass(x);
//     IF x > 0 THEN next!Pass(x - 1) ELSE BEGIN {EXCLUSIVE} done := TRUE END END
//   END;
//   IF ?Wait THEN ?Wait; BEGIN {EXCLUSIVE} AWAIT(done) END; !Done END
code!(node(f, p, w) {
    let x = local(f, 0);
    let payload = local(f, 1);
    let done = variable(p, slot_at(1));
    match (*f).resume {
        1 => wait!(f, 1, op::client_send(f, p, w, slot(p, NEXT), 0, payload, 0)),
        2 => return set_done(f, p, w.cast()),
        3.. => return wait_done(f, p, w.cast()),
        _ => {}
    }
    loop {
        if !receive_fast(p, x) {
            wait!(f, 0, op::server_peek(f, p, w, 0, 0));
            if (*f).result == 0 {
                (*f).resume = 3;
                return wait_done(f, p, w.cast());
            }
            wait!(f, 0, op::server_receive(f, p, w, 0, x, 0));
        }
        if *x == 0 {
            return set_done(f, p, w.cast());
        }
        if !send_fast(p, w, *x - 1) {
            *payload = *x - 1;
            wait!(f, 1, op::client_send(f, p, w, slot(p, NEXT), 0, payload, 0));
        }
    }
});

code!(set_done(f, p, w) {
    wait!(f, 2, op::lock_exclusive(f, p, w));
    *variable(p, slot_at(1)) = 1;
    if op::unlock(f, p, w) == 2 {
        return 2;
    }
    (*f).resume = 0;
    node(f, p, w.cast())
});

code!(is_done(f, p, w) { u32::from(*variable(p, slot_at(1)) != 0) });

code!(wait_done(f, p, w) {
    if (*f).resume == 3 {
        wait!(f, 3, op::server_peek(f, p, w, 1, 0));
        if (*f).result == 0 {
            return 0;
        }
        wait!(f, 3, op::server_receive(f, p, w, 1, local(f, 1), 0));
    }
    if (*f).resume <= 4 {
        wait!(f, 4, op::lock_exclusive(f, p, w));
    }
    if (*f).resume <= 5 {
        wait!(f, 5, op::await_condition(f, p, w, is_done as *const u8, 0));
        if op::unlock(f, p, w) == 2 {
            return 2;
        }
    }
    wait!(f, 6, op::server_send(f, p, w, 2, local(f, 1), 0));
    0
});

/// Words of the entry component, after no slots.
const NODES: u32 = slot_at(0);
const SIZE: u32 = NODES + 8;
const HOPS: u32 = NODES + 16;

// BEGIN FOR i := 0 TO size - 1 DO NEW(node[i]) END; connect all;
// node[0]!Pass(hops); node[0]!Wait; node[0]?Done
code!(main(f, p, w) {
    let (i, key, payload) = (local(f, 0), local(f, 1), local(f, 2));
    let size = *variable(p, SIZE);
    if (*f).resume == 0 {
        let at = |key: *mut u64| op::collection_at(f, p, w, variable(p, NODES), 0, key, 0);
        while *i < size {
            let word = at(i);
            if word.is_null() || op::component_new(f, p, w, word, 1, 0, 0) == 2 {
                return 2;
            }
            *i += 1;
        }
        for n in 0..size {
            *key = n;
            let from = component(at(key));
            *key = (n + 1) % size;
            let to = component(at(key));
            let (out, into) =
                (port_number(PORT_REQUIRED, 0, NEXT_FREE), port_number(PORT_OFFERED, 0, 1));
            if op::connect(f, p, w, from, out, to, into, 0) == 2 {
                return 2;
            }
        }
        *payload = *variable(p, HOPS);
    }
    *key = 0;
    let first = component(op::collection_find(f, p, w, *variable(p, NODES), key));
    let line = op::slot_offered(f, p, w, first, 0, 1, 0);
    if line.is_null() {
        return 2;
    }
    if (*f).resume < 2 {
        wait!(f, 1, op::client_send(f, p, w, line, 0, payload, 0));
    }
    if (*f).resume < 3 {
        wait!(f, 2, op::client_send(f, p, w, line, 1, payload, 0));
    }
    wait!(f, 3, op::client_receive(f, p, w, line, 2, payload, 0));
    0
});

/// A ring of `size` nodes with a token of `hops` hops, a multiple of the nodes.
pub fn program(size: u64, hops: u64) -> Program {
    // The parameters are constants of the program: BEGIN's first act.
    thread_local!(static PARAMETERS: std::cell::Cell<(u64, u64)> =
        const { std::cell::Cell::new((0, 0)) });
    PARAMETERS.set((size, hops));
    code!(begin(f, p, w) {
        if (*f).resume == 0 {
            let (size, hops) = PARAMETERS.get();
            *variable(p, SIZE) = size;
            *variable(p, HOPS) = hops;
        }
        main(f, p, w.cast())
    });
    let mut b = Builder::new();
    let pass = message("Pass", Direction::In, &[WordKind::Scalar], true, &[0], false);
    let wait = message("Wait", Direction::In, &[], false, &[0], false);
    let done = message("Done", Direction::Out, &[], false, &[1], true);
    let token = b.interface("Token", vec![pass, wait, done]);
    let serve = b.function("Token", node, 2, &[]);
    let begin = b.function("BEGIN", begin, 3, &[]);
    b.program.shapes = vec![Shape::Collection {
        keys: vec![Key::Integer],
        element: WordKind::Component,
        pinned: true,
    }];
    b.component(ComponentType {
        name: "Ring".into(),
        size: HOPS + 8,
        variables: vec![owned("node", NODES, WordKind::Collection, 0)],
        begin: Some(begin),
        ..ComponentType::default()
    });
    b.component(ComponentType {
        name: "Node".into(),
        size: slot_at(1) + 8,
        offered: vec![offered(token, serve)],
        required: vec![port(token, 0, None)],
        ..ComponentType::default()
    });
    b.program
}
