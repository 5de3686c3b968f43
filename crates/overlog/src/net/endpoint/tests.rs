//! Endpoints that exchange datagrams by hand.

use proptest::prelude::*;
use proptest::sample::Index;
use tidemill_fabric::head::Head;
use tidemill_fabric::reliable::Limits;
use tidemill_relation::Id;

use super::*;
use crate::net::schema::ColumnType;

const PING: &[ColumnType] = &[ColumnType::Str, ColumnType::Int];
const ANY: &[ColumnType] = &[ColumnType::Str, ColumnType::Value];
const MS: u64 = 1_000_000;

fn endpoint(file: &str, relations: &[(&str, &[ColumnType])]) -> Endpoint {
    let schema = ProgramSchema::new(file, relations.iter().copied()).unwrap();
    Endpoint::new(Arc::new(schema), Admission::everything(), Config::default())
}

fn lone() -> Endpoint {
    endpoint("p.olg", &[("ping", PING), ("any", ANY)])
}

fn pair() -> [Endpoint; 2] {
    [lone(), lone()]
}

fn address(index: usize) -> String {
    format!("n{index}:1")
}

fn outgoing(endpoint: &mut Endpoint, now_ns: u64) -> Vec<Vec<u8>> {
    let mut datagrams = Vec::new();
    endpoint.flush(now_ns, &mut |_, datagram| datagrams.push(datagram.to_vec()));
    datagrams
}

/// Carries everything from one to the other; what was delivered, as text.
fn carry(pair: &mut [Endpoint; 2], from: usize, now_ns: u64) -> Vec<String> {
    let datagrams = outgoing(&mut pair[from], now_ns);
    let mut delivered = Vec::new();
    for datagram in datagrams {
        receive(&mut pair[1 - from], &address(from), &datagram, now_ns, &mut delivered);
    }
    delivered
}

fn receive(
    endpoint: &mut Endpoint,
    from: &str,
    datagram: &[u8],
    now_ns: u64,
    delivered: &mut Vec<String>,
) {
    let schema = endpoint.schema().clone();
    endpoint.receive(from, datagram, now_ns, &mut |received| {
        let name = schema.name(received.relation).unwrap();
        let sign = if received.delete { "-" } else { "" };
        let columns: Vec<String> =
            received.columns.iter().map(|value| format!("{value:?}")).collect();
        delivered.push(format!("{sign}{name}({}) {:?}", columns.join(", "), received.mode));
    });
}

fn ping(endpoint: &mut Endpoint, number: i64, mode: Mode, now_ns: u64) {
    let relation = endpoint.schema().number("ping").unwrap();
    let columns = [Value::Str("x"), Value::Int(number)];
    assert!(endpoint.post(&address(1), relation, &columns, false, mode, now_ns));
}

#[test]
fn a_peer_is_sent_bodies_once_its_program_is_known() {
    let mut pair = pair();
    let expected = ["ping(Str(\"x\"), Int(7)) BestEffort"];
    ping(&mut pair[0], 7, Mode::BestEffort, 0);
    let first = outgoing(&mut pair[0], 0);
    let read = Envelope::decode(&first[0]).unwrap();
    assert_eq!((read.tuples[0].name, read.tuples[0].relation), ("ping", 0));
    assert_eq!(read.program, pair[0].schema().program());
    let mut delivered = Vec::new();
    receive(&mut pair[1], &address(0), &first[0], 0, &mut delivered);
    assert_eq!(delivered, expected);
    // Any message of the other side is enough to know its program.
    let relation = pair[1].schema().number("any").unwrap();
    let columns = [Value::Null, Value::Null];
    pair[1].post(&address(0), relation, &columns, true, Mode::BestEffort, 0);
    assert_eq!(carry(&mut pair, 1, 0), ["-any(Null, Null) BestEffort"]);
    ping(&mut pair[0], 7, Mode::BestEffort, 0);
    let second = outgoing(&mut pair[0], 0);
    let read = Envelope::decode(&second[0]).unwrap();
    assert_eq!((read.tuples[0].name, read.tuples[0].relation), ("", 2));
    assert_eq!(Head::decode(&second[0]).map(|head| head.sequence), Ok(2));
    delivered.clear();
    receive(&mut pair[1], &address(0), &second[0], 0, &mut delivered);
    assert_eq!(delivered, expected);
}

#[test]
fn programs_that_differ_speak_by_name() {
    let mut pair = [
        endpoint("a.olg", &[("ping", PING), ("only_here", PING), ("wide", ANY)]),
        endpoint("b.olg", &[("ping", PING), ("wide", PING)]),
    ];
    for round in 0..2 {
        for name in ["ping", "only_here"] {
            let relation = pair[0].schema().number(name).unwrap();
            let columns = [Value::Str("x"), Value::Int(1)];
            pair[0].post(&address(1), relation, &columns, false, Mode::BestEffort, 0);
        }
        assert_eq!(carry(&mut pair, 0, 0), ["ping(Str(\"x\"), Int(1)) BestEffort"], "{round}");
        ping(&mut pair[1], 1, Mode::BestEffort, 0);
        carry(&mut pair, 1, 0);
    }
    assert_eq!(pair[1].counters().get(Count::UnknownRelation), 2);
}

#[test]
fn what_cannot_be_read_is_counted_by_reason() {
    let mut endpoint = endpoint("p.olg", &[("ping", PING)]);
    let program = endpoint.schema().program();
    let body = |relation, body| Content::Body { relation, body };
    let cases: [(u64, Content<'_>, Count); 6] = [
        (program, body(9, b""), Count::UnknownRelation),
        (program, body(1, b"\x0a\xff"), Count::BadBody),
        (program + 1, body(1, b""), Count::BadProgramBody),
        (0, Content::Columns { name: "nope", columns: &[] }, Count::UnknownRelation),
        (0, Content::Columns { name: "ping", columns: &[Value::Null] }, Count::BadArity),
        (0, Content::Columns { name: "", columns: &[Value::Null] }, Count::NoRelation),
    ];
    for (program, content, reason) in cases {
        let before = endpoint.counters().get(reason);
        let mut datagram = Vec::new();
        Head { program, ..Head::default() }.append(&mut datagram);
        envelope::append_tuple(&mut datagram, content, false);
        let mut delivered = Vec::new();
        receive(&mut endpoint, "x:1", &datagram, 0, &mut delivered);
        assert_eq!(delivered, [] as [String; 0]);
        assert_eq!(endpoint.counters().get(reason), before + 1, "{reason:?}");
    }
    receive(&mut endpoint, "x:1", b"\xff\xff", 0, &mut Vec::new());
    assert_eq!(endpoint.counters().get(Count::Malformed), 1);
    assert_eq!(endpoint.counters().get(Count::Received), 7);
}

#[test]
fn tuples_share_datagrams_and_large_ones_are_split() {
    for mode in [Mode::BestEffort, Mode::Reliable] {
        let mut pair = pair();
        (0..100).for_each(|number| ping(&mut pair[0], number, mode, 0));
        let relation = pair[0].schema().number("any").unwrap();
        let text = "ä".repeat(3000);
        let columns = [Value::Str("x"), Value::Str(&text)];
        pair[0].post(&address(1), relation, &columns, false, mode, 0);
        let mut delivered = Vec::new();
        for round in 0..20 {
            let now_ns = round * 20 * MS;
            pair.iter_mut().for_each(|endpoint| endpoint.on_time(now_ns));
            delivered.extend(carry(&mut pair, 0, now_ns));
            carry(&mut pair, 1, now_ns);
        }
        assert_eq!(delivered.len(), 101, "{mode:?}");
        assert!(delivered[100].contains(&text));
        let sent = pair[0].counters().get(Count::Sent);
        assert!((6..15).contains(&sent), "{sent} datagrams");
        assert_eq!(pair[0].next_timeout(), None);
    }
}

#[test]
fn what_no_peer_could_read_is_not_sent() {
    let mut endpoint = lone();
    let relation = endpoint.schema().number("any").unwrap();
    let mut list = SeqBuilder::new();
    for _ in 0..=values::NESTING_MAX {
        let mut outer = SeqBuilder::new();
        outer.push(Value::List(list.as_seq()));
        list = outer;
    }
    let huge = "x".repeat(MESSAGE_BYTES_MAX);
    for bad in [Value::List(list.as_seq()), Value::Str(&huge)] {
        let columns = [Value::Str("x"), bad];
        assert!(!endpoint.post("y:1", relation, &columns, false, Mode::BestEffort, 0));
    }
    assert!(!endpoint.post("y:1", 99, &[], false, Mode::BestEffort, 0));
    assert_eq!(endpoint.counters().get(Count::Unsendable), 3);
    assert_eq!(outgoing(&mut endpoint, 0), [] as [Vec<u8>; 0]);
}

#[test]
fn queues_to_a_peer_are_bounded() {
    let mut endpoint = lone();
    for number in 0..400_000 {
        ping(&mut endpoint, number, Mode::BestEffort, 0);
    }
    let dropped = endpoint.counters().get(Count::QueueFull);
    assert!(dropped > 0);
    let bytes: usize = outgoing(&mut endpoint, 0).iter().map(Vec::len).sum();
    assert!(bytes <= Limits::default().queue_bytes + Limits::default().datagram_bytes);
}

#[test]
fn idle_peers_make_room() {
    let mut pair = pair();
    let config = Config { peers_max: 2, ..Config::default() };
    pair[1] = Endpoint::new(pair[1].schema().clone(), Admission::everything(), config);
    ping(&mut pair[0], 1, Mode::BestEffort, 0);
    let datagram = outgoing(&mut pair[0], 0).remove(0);
    let mut delivered = Vec::new();
    for (now_ns, from) in ["a:1", "b:1", "c:1", "a:1"].into_iter().enumerate() {
        receive(&mut pair[1], from, &datagram, now_ns as u64, &mut delivered);
    }
    assert_eq!((delivered.len(), pair[1].peers()), (4, 2));
    // A peer that something waits for stays.
    for to in ["d:1", "e:1"] {
        assert!(pair[1].post(to, 1, &[Value::Null; 2], false, Mode::Reliable, 9));
    }
    assert!(!pair[1].post("f:1", 1, &[Value::Null; 2], false, Mode::Reliable, 9));
    receive(&mut pair[1], "a:1", &datagram, 9, &mut delivered);
    assert_eq!(pair[1].counters().get(Count::TooManyPeers), 2);
    assert_eq!(pair[1].peers(), 2);
}

#[test]
fn a_lost_peer_is_reported() {
    let mut pair = pair();
    pair[0].hold_lease(&address(1), 0);
    let mut now_ns = 0;
    let mut spoken = 0;
    let mut event = None;
    while now_ns < 60_000 * MS && event.is_none() {
        spoken += outgoing(&mut pair[0], now_ns).len();
        now_ns = pair[0].next_timeout().unwrap();
        pair[0].on_time(now_ns);
        event = pair[0].poll_event();
    }
    assert_eq!(event, Some((address(1).into(), PeerEvent::Lost)));
    assert_eq!((now_ns, spoken), (30_000 * MS, 14));
    pair[0].release_lease(&address(1));
    outgoing(&mut pair[0], now_ns);
    assert_eq!(pair[0].next_timeout(), None);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Changed and random datagrams: no panic, and what is delivered has the relation's columns.
    #[test]
    fn hostile_datagrams_do_no_harm(
        changes in prop::collection::vec(
            (any::<Index>(), any::<Index>(), any::<u8>(), any::<bool>()),
            1..60,
        ),
        noise in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..60), 0..10),
    ) {
        let mut pair = pair();
        let relation = pair[0].schema().number("any").unwrap();
        let mut list = SeqBuilder::new();
        list.push(Value::Id(Id::from_int(5)));
        let long = "y".repeat(4000);
        for value in [Value::List(list.as_seq()), Value::Str(&long), Value::Null] {
            for mode in [Mode::BestEffort, Mode::Reliable] {
                pair[0].post(&address(1), relation, &[Value::Str("x"), value], false, mode, 0);
            }
        }
        let sent = outgoing(&mut pair[0], 0);
        let mut deliver = |received: Received<'_>| assert_eq!(received.columns.len(), 2);
        for (step, (which, place, byte, cut)) in changes.into_iter().enumerate() {
            let now_ns = step as u64 * 1000 * MS;
            let mut datagram = sent[which.index(sent.len())].clone();
            let place = place.index(datagram.len());
            datagram[place] = byte;
            datagram.truncate(if cut { place } else { usize::MAX });
            pair[1].on_time(now_ns);
            pair[1].receive(&address(0), &datagram, now_ns, &mut deliver);
            outgoing(&mut pair[1], now_ns);
        }
        for datagram in noise {
            pair[1].receive("x:9", &datagram, 0, &mut deliver);
        }
        prop_assert!(pair[1].peers() <= 2);
    }
}
