//! Untrusted datagrams, to a node that replies to their sender.
//!
//! An input is a conversation, so that the effect of a datagram depends on those before it:
//!
//! ```text
//! input = { chunk }      chunk = control u8, length u16 (little endian), bytes
//! control: bits 0-1 which stranger, bits 2-7 tenths of a second since the chunk before
//! ```

use std::sync::Arc;

use tidemill_fabric::endpoint::Config;
use tidemill_fabric::peer::Mode;
use tidemill_fabric::stream::FrameReader;
use tidemill_overlog::net::admission::Admission;
use tidemill_overlog::net::endpoint::{Endpoint, Received};
use tidemill_overlog::net::envelope::Envelope;
use tidemill_overlog::net::schema::{ColumnType, ProgramSchema};
use tidemill_relation::{Id, SeqBuilder, Value};

const PEERS_MAX: usize = 3;
const TENTH_NS: u64 = 100_000_000;
/// Timers that may fire after the end of one conversation: leases, retransmissions with back-off.
const TIMEOUTS_MAX: usize = 10_000;

const RELATIONS: &[(&str, &[ColumnType])] = &[
    ("any", &[ColumnType::Str, ColumnType::Value]),
    (
        "every",
        &[
            ColumnType::Str,
            ColumnType::Int,
            ColumnType::Double,
            ColumnType::Bool,
            ColumnType::Bytes,
            ColumnType::Id,
            ColumnType::Time,
            ColumnType::Interval,
        ],
    ),
    ("ping", &[ColumnType::Str, ColumnType::Int]),
];

fn endpoint(package: &str) -> Endpoint {
    let schema = ProgramSchema::new(package, RELATIONS.iter().copied()).unwrap();
    let config = Config { peers_max: PEERS_MAX, memory_bytes: 1 << 20, ..Config::default() };
    Endpoint::new(Arc::new(schema), Admission::everything(), config)
}

/// Panics if a conversation breaks a guarantee.
pub fn check(input: &[u8]) {
    check_counting(input);
}

/// [`check`]; returns the number of delivered tuples.
pub fn check_counting(input: &[u8]) -> usize {
    let mut endpoint = endpoint("p");
    let (mut now_ns, mut delivered) = (0, 0);
    for (control, bytes) in chunks(input) {
        let _ = Envelope::decode(bytes);
        now_ns += u64::from(control >> 2) * TENTH_NS;
        pass_time(&mut endpoint, now_ns);
        let schema = endpoint.schema().clone();
        let peer = format!("n{}:1", control & 3);
        endpoint.receive(&peer, bytes, now_ns, &mut |received: Received<'_>| {
            assert_eq!(schema.columns(received.relation), Some(received.columns.len()));
            delivered += 1;
        });
        // With a message in flight, forged acknowledgements have an effect.
        let number = schema.number("ping").unwrap();
        let columns = [Value::Str(&peer), Value::Int(now_ns as i64)];
        endpoint.post(&peer, number, &columns, false, Mode::Reliable, now_ns);
        pass_time(&mut endpoint, now_ns);
        assert!(endpoint.peers() <= PEERS_MAX);
    }
    for _ in 0..TIMEOUTS_MAX {
        let Some(at_ns) = endpoint.next_timeout() else { break };
        now_ns = now_ns.max(at_ns);
        pass_time(&mut endpoint, now_ns);
    }
    assert_eq!(endpoint.next_timeout(), None, "timers go on for ever");
    check_frames(input);
    delivered
}

/// Runs everything that is due; the next timer must be in the future.
fn pass_time(endpoint: &mut Endpoint, now_ns: u64) {
    endpoint.on_time(now_ns);
    endpoint.flush(now_ns, &mut |_, datagram| assert!(datagram.len() <= 1500));
    while let Some((address, _)) = endpoint.poll_event() {
        endpoint.release_lease(&address);
    }
    assert!(endpoint.next_timeout().is_none_or(|at_ns| at_ns > now_ns));
}

/// The same bytes as a stream of frames.
fn check_frames(input: &[u8]) {
    let mut reader = FrameReader::new(1 << 12);
    for bytes in input.chunks(100) {
        reader.push(bytes);
        while let Ok(Some(frame)) = reader.next_frame() {
            let _ = Envelope::decode(frame);
        }
    }
}

fn chunks(mut input: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[control, low, high], rest) = input.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (bytes, rest) = rest.split_at(length);
        input = rest;
        Some((control, bytes))
    })
}

/// The datagrams that endpoints of this program and of another one send to a stranger's address, as
/// inputs.
pub fn conversations() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("best-effort", conversation("p", Mode::BestEffort)),
        ("reliable", conversation("p", Mode::Reliable)),
        ("other-program", conversation("q", Mode::Reliable)),
    ]
}

fn conversation(package: &str, mode: Mode) -> Vec<u8> {
    let mut sender = endpoint(package);
    let number = |name| sender.schema().number(name).unwrap();
    let (any, every, ping) = (number("any"), number("every"), number("ping"));
    let mut list = SeqBuilder::new();
    list.push(Value::Id(Id::from_int(5)));
    list.push(Value::Null);
    let long = "long ".repeat(800);
    let here = Value::Str("n1:1");
    let tuples: Vec<(u32, Vec<Value<'_>>)> = vec![
        (ping, vec![here, Value::Int(-7)]),
        (any, vec![here, Value::List(list.as_seq())]),
        (
            every,
            vec![
                here,
                Value::Int(1),
                Value::Double(2.5),
                Value::Bool(true),
                Value::Bytes(&[0, 255]),
                Value::Id(Id::from_int(-1)),
                Value::Time(3),
                Value::Interval(-4),
            ],
        ),
        (any, vec![here, Value::Str(&long)]),
    ];
    let mut input = Vec::new();
    for step in 0..2u64 {
        let now_ns = step * TENTH_NS;
        for (number, columns) in &tuples {
            sender.post("n1:1", *number, columns, step == 1, mode, now_ns);
        }
        sender.on_time(now_ns);
        sender.flush(now_ns, &mut |_, datagram| {
            input.push(1 << 2);
            input.extend_from_slice(&(datagram.len() as u16).to_le_bytes());
            input.extend_from_slice(datagram);
        });
    }
    input
}
