//! Mutated inputs for everything in this crate that reads sources or datagrams.

mod connections;
mod control;
mod datagram;
pub mod front;
use tidemill_support::{golden, mutate, root};
mod program;
mod seal;

use std::cell::Cell;

use tidemill_fabric::counters::{Count, Counters};

#[test]
fn mutated_datagrams_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/datagram", &[]), 5000, datagram::check);
}

#[test]
fn mutated_control_messages_do_no_harm() {
    let seeds = mutate::seeds("tests/corpora/control", &[]);
    for (path, bytes) in &seeds {
        assert!(control::check(bytes) > 0, "nothing in {path:?} is understood");
    }
    let understood = Cell::new(0);
    mutate::bombard(&seeds, 5000, |input| {
        understood.set(understood.get() + control::check(input));
    });
    assert!(understood.get() > 1000, "{} understood", understood.get());
}

#[test]
fn mutated_attacks_on_sealed_datagrams_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/seal", &[]), 300, seal::check);
}

/// Each script reaches its purpose; `BLESS=1` rewrites them.
#[test]
fn attacks_on_sealed_datagrams_reach_what_they_attack() {
    let mut all = Counters::new();
    for (name, bytes) in seal::scripts() {
        is_recorded("seal", name, &bytes);
        let (delivered, counters) = seal::check_counting(&bytes);
        assert!(delivered > 2, "{name}: {delivered}");
        all.merge(&counters);
    }
    let refused = [
        Count::BadMac,
        Count::BadSeal,
        Count::Replayed,
        Count::Duplicate,
        Count::UnknownSession,
        Count::Malformed,
        Count::HandshakeTimeout,
        Count::CookieSent,
    ];
    for count in refused {
        assert!(all.get(count) > 0, "no script comes to {}", count.name());
    }
}

#[test]
fn mutated_attacks_on_connections_do_no_harm() {
    mutate::bombard(&mutate::seeds("tests/corpora/connections", &[]), 300, connections::check);
}

/// Each script reaches its purpose; `BLESS=1` rewrites them.
#[test]
fn attacks_on_connections_reach_what_they_attack() {
    let mut all = Counters::new();
    for (name, bytes) in connections::scripts() {
        is_recorded("connections", name, &bytes);
        let (delivered, counters) = connections::check_counting(&bytes);
        assert!(delivered > 2, "{name}: {delivered}");
        all.merge(&counters);
    }
    let counted = [
        Count::BadMac,
        Count::ConnectionBroken,
        Count::ConnectionEvicted,
        Count::FrameFull,
        Count::FrameTooLong,
        Count::HandshakeTimeout,
        Count::NoSession,
        Count::OutOfOrder,
        Count::PeerLost,
        Count::QueueFull,
        Count::Replayed,
        Count::TooManyPeers,
        Count::UnknownSession,
        Count::Unsealed,
        Count::WrongIdentity,
    ];
    for count in counted {
        assert!(all.get(count) > 0, "no script comes to {}", count.name());
    }
}

/// Each mutated program is parsed, formatted, compiled and run as far as possible.
#[test]
fn mutated_programs_do_no_harm() {
    let (right, wrong) = (Cell::new(0), Cell::new(0));
    let check = |input: &[u8]| {
        let count = if program::check(input) { &right } else { &wrong };
        count.set(count.get() + 1);
    };
    let mut seeds = mutate::seeds("tests/corpora/program", &["olg"]);
    mutate::bombard(&seeds, 3000, check);
    seeds.extend(mutate::seeds("tests/overlog", &["olg"]));
    seeds.extend(mutate::seeds("examples", &["olg"]));
    mutate::bombard(&seeds, 1000, check);
    // Both invalid and valid programs occur.
    let (right, wrong) = (right.get(), wrong.get());
    assert!(right > 500 && wrong > 1500, "{right} right, {wrong} wrong");
}

/// A seed that does not compile would only test diagnostics.
#[test]
fn programs_compile() {
    for (path, bytes) in mutate::seeds("tests/corpora/program", &["olg"]) {
        assert!(program::compiled(&bytes).is_some(), "{path:?}");
    }
}

/// Compares a seed with the messages of this version.
fn is_recorded(target: &str, name: &str, bytes: &[u8]) {
    golden::check(&root().join("tests/corpora").join(target).join(name), bytes);
}

#[test]
fn recorded_conversations_are_those_of_today() {
    for (name, bytes) in control::recorded() {
        is_recorded("control", name, &bytes);
    }
    for (name, bytes) in datagram::conversations() {
        is_recorded("datagram", name, &bytes);
        assert!(datagram::check_counting(&bytes) > 0, "nothing in {name} is delivered");
    }
}
