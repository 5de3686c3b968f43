//! Handshakes, and the cost of the first message of a stranger.

use tidemill_fabric::counters::Count;
use tidemill_fabric::seal::{COOKIE_FROM, INITIATION_BYTES};
use tidemill_stdx::rng::Rng;

use super::node::{KEY, Node, OTHER_KEY, fill};
use crate::clock::cpu_seconds;
use crate::extent::Extent;
use crate::report::{Report, Row};

const SERVER: &str = "server:1";

/// Measures all of it.
///
/// # Errors
/// A handshake does not complete, or a stranger is accepted.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let (count, messages, runs) = if extent.small { (20, 200, 1) } else { (1000, 20_000, 7) };
    for (case, decoys) in [("handshake", 0), ("handshake cookie", COOKIE_FROM)] {
        let rates: Result<Vec<f64>, String> = (0..runs).map(|_| rate(count, decoys)).collect();
        report.row(&Row::median("trust", case, "tidemill", ("per_cpu_s", "1/s"), rates?));
    }
    let kinds = [
        ("garbage", Count::Unsealed),
        ("no session", Count::UnknownSession),
        ("wrong mac", Count::BadMac),
        ("no cookie", Count::CookieSent),
    ];
    for (kind, counted) in kinds {
        let costs: Result<Vec<f64>, String> =
            (0..runs).map(|_| cost(kind, counted, messages)).collect();
        let case = format!("stranger {kind}");
        report.row(&Row::median("trust", &case, "tidemill", ("ns", "ns"), costs?));
    }
    Ok(())
}

/// A node with this number of half-open handshakes.
fn server(decoys: usize) -> Result<Node, String> {
    let mut server = Node::new(SERVER, KEY, 1)?;
    for number in 0..decoys {
        let mut first = first_message(KEY, 1000 + number as u64)?;
        server.receive("decoy:1", &mut first);
    }
    server.wire.sent.clear();
    let half_open = server.guard.half_open();
    if half_open == decoys { Ok(server) } else { Err(format!("{half_open} of {decoys} decoys")) }
}

fn first_message(key: &str, number: u64) -> Result<Vec<u8>, String> {
    let mut member = Node::new(&format!("m{number}:1"), key, number)?;
    member.send(SERVER, b"hello");
    member.wire.sent.pop().ok_or_else(|| "it sends nothing".to_owned())
}

/// Handshakes per CPU second, counting both sides.
fn rate(count: u64, decoys: usize) -> Result<f64, String> {
    let mut server = server(decoys)?;
    let names: Vec<String> = (0..count).map(|number| format!("c{number}:1")).collect();
    let clients: Result<Vec<Node>, String> =
        names.iter().zip(1 << 20..).map(|(name, number)| Node::new(name, KEY, number)).collect();
    let mut clients = clients?;
    let (cpu_s, arrived) = cpu_seconds(|| {
        let pairs = names.iter().zip(&mut clients);
        pairs.map(|(name, client)| u64::from(shake(name, client, &mut server))).sum::<u64>()
    });
    let made = server.count(Count::Handshakes);
    let cookies = server.count(Count::CookieSent);
    if arrived != count || made != count || (decoys > 0) != (cookies == count) {
        return Err(format!("{arrived} contents, {made} handshakes, {cookies} cookies of {count}"));
    }
    Ok(count as f64 / cpu_s)
}

/// Sends a content from an unknown client to the server; returns whether it arrives.
fn shake(name: &str, client: &mut Node, server: &mut Node) -> bool {
    client.send(SERVER, b"hello");
    let mut arrived = false;
    while !client.wire.sent.is_empty() {
        for mut datagram in client.wire.sent.drain(..) {
            arrived |= server.receive(name, &mut datagram);
        }
        let answers: Vec<Vec<u8>> = server.wire.sent.drain(..).collect();
        answers.into_iter().for_each(|mut datagram| _ = client.receive(SERVER, &mut datagram));
    }
    arrived
}

/// Nanoseconds per message of this kind.
fn cost(kind: &str, counted: Count, count: u64) -> Result<f64, String> {
    let mut server = server(COOKIE_FROM)?;
    let mut message = match kind {
        "wrong mac" => first_message(OTHER_KEY, 7)?,
        "no cookie" => first_message(KEY, 7)?,
        _ => vec![0; INITIATION_BYTES],
    };
    match kind {
        "garbage" => message[0] = 9,
        "no session" => {
            fill(&mut Rng::new(5), &mut message);
            message[..4].copy_from_slice(&[4, 0, 0, 0]);
        }
        _ => {}
    }
    let (cpu_s, ()) = cpu_seconds(|| {
        for _ in 0..count {
            server.receive("127.0.0.9:9", &mut message);
            server.wire.sent.clear();
        }
    });
    let (refused, half_open) = (server.count(counted), server.guard.half_open());
    if refused != count || half_open != COOKIE_FROM {
        return Err(format!("{kind}: {refused} of {count} refused, {half_open} half open"));
    }
    Ok(cpu_s * 1e9 / count as f64)
}
