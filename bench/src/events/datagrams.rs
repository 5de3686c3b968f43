//! Events that arrive as datagrams over the loopback: one tuple each, as a node of the same program
//! sends it, to a node of a fleet.
//!
//! ```text
//! socket --burst--> socket | recv -> envelope -> body -> inbox -> turn     counted
//!        not counted       | recv -> envelope -> body -> sum               `upb-c`, in C
//! ```
//! Sender and receiver are in one process and alternate, a burst each, so that each is measured
//! separately. The kernel does its receiving part as datagrams are sent, so it is in neither
//! figure. An incomplete burst ends the run.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Endpoint, Loop, Os, Outcome};
use tidemill_overlog::fleet::{self, Fleet, NodeId, World};
use tidemill_overlog::net::envelope::{Content, append_tuple};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Identity, Program};
use tidemill_relation::Value;
use tidemill_wire::proto::{Texts, compile};

use super::rules::{ONE_RULE, RATE, ROWS};
use crate::clock::cpu_time;
use crate::extent::Extent;
use crate::program::{Blind, compiled};
use crate::report::{Better, Report, Row};
use crate::tool;

/// Datagrams sent before their receiver runs: fewer than a socket buffers.
const BURST: u64 = 64;

/// The time limit of a burst.
const BURST_TIME_MAX: Duration = Duration::from_secs(10);

/// The address of the C program's node; ours is chosen by the system.
const ADDRESS: &str = "127.0.0.1:10000";

pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let bursts = if extent.small { 20 } else { 4_000 };
    let runs = if extent.small { 1 } else { 5 };
    let peer = match extent.peers.then(Peer::build).transpose() {
        Ok(peer) => peer,
        Err(reason) => {
            report.note(&format!("upb-c: absent: {reason}"));
            None
        }
    };
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(rate(bursts)?);
        if let Some(peer) = &peer {
            theirs.push(peer.rate(bursts)?);
        }
    }
    let row = |who, rates| Row::median("events", "datagrams", who, RATE, rates);
    let mut rows = vec![row("tidemill", ours)];
    if peer.is_some() {
        rows.push(row("upb-c", theirs));
    }
    report.case(&rows, Better::High);
    Ok(())
}

/// Receives datagrams and does nothing else: `count`, rounded down to whole bursts.
///
/// # Errors
/// Some are missing.
pub fn receive(count: u32) -> Result<(), String> {
    rate(u64::from(count) / BURST).map(drop)
}

/// A fleet of one node that stops the loop when a burst has been processed.
struct Door {
    fleet: Fleet,
    turns_left: u64,
}

impl World for Door {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn turned(&mut self, events: &mut Loop<Door>, _: NodeId) {
        self.turns_left = self.turns_left.saturating_sub(1);
        if self.turns_left == 0 {
            events.stop();
        }
    }
}

/// Events per CPU second, from the socket to settled tables.
fn rate(bursts: u64) -> Result<f64, String> {
    let failed = |error: std::io::Error| error.to_string();
    let program = Arc::new(program()?);
    let mut door =
        Door { fleet: Fleet::new(program.clone(), Fabric::Udp, 1, Box::new(Blind)), turns_left: 0 };
    let mut events = Loop::new(Box::new(Os::new().map_err(failed)?));
    let [from, to] = [(); 2].map(|()| events.host().bind("127.0.0.1:0"));
    let (from, to) = (from.map_err(failed)?, to.map_err(failed)?);
    let address = events.host().local_addr(to).map_err(failed)?;
    let landmark = address.clone();
    let identity = Identity { address: address.clone(), index: 0, count: 1, landmark };
    let id = fleet::start(&mut door, &mut events, to, identity).map_err(failed)?;
    let sent: Vec<Vec<u8>> = datagrams(&program, &address)?;
    let mut cpu = Duration::ZERO;
    for burst in 0..bursts {
        send(&mut events, from, &address, burst, &sent).map_err(failed)?;
        door.turns_left = BURST;
        let start = cpu_time();
        let end = events.host().now() + BURST_TIME_MAX;
        let outcome = events.run_until(&mut door, end);
        cpu += cpu_time() - start;
        if !matches!(outcome, Outcome::Stopped) {
            let left = door.turns_left;
            return Err(format!("datagrams: {left} of burst {burst} are missing: {outcome:?}"));
        }
    }
    let node = door.fleet.node(id).ok_or("the node does not live")?;
    let (count, derived) = (bursts * BURST, node.counters().rules[0].derived);
    if derived == count && node.counters().received == count {
        Ok(count as f64 / cpu.as_secs_f64())
    } else {
        Err(format!("datagrams: {derived} tuples from {count} events"))
    }
}

fn send(
    events: &mut Loop<Door>,
    from: Endpoint,
    to: &str,
    burst: u64,
    datagrams: &[Vec<u8>],
) -> std::io::Result<()> {
    let first = burst * BURST;
    (first..first + BURST).try_for_each(|number| {
        let datagram = &datagrams[number as usize % datagrams.len()];
        events.host().send(from, to, datagram)
    })
}

fn program() -> Result<Program, String> {
    let compiled = compiled("events.olg", &format!("export(in). {ONE_RULE}"))?;
    Program::new(compiled).map_err(|error| error.to_string())
}

/// The datagrams of the distinct events, as a node of this program sends them to this address.
fn datagrams(program: &Program, address: &str) -> Result<Vec<Vec<u8>>, String> {
    let schema = program.post().schema();
    let relation = schema.number("in").ok_or("events do not travel")?;
    let datagram = |key| {
        let columns = [Value::Str(address), Value::Int(key)];
        let body = schema.encode_body(relation, &columns).ok_or("an event has no body")?;
        // Envelope.program, a fixed64.
        let mut datagram = vec![1 << 3 | 1];
        datagram.extend_from_slice(&schema.program().to_le_bytes());
        append_tuple(&mut datagram, Content::Body { relation, body: &body }, false);
        Ok(datagram)
    };
    (0..ROWS).map(datagram).collect()
}

/// The program in C, and its input: the descriptors of the program's messages, and the datagrams,
/// each after its length in 32 bits.
struct Peer {
    program: PathBuf,
    set: PathBuf,
    datagrams: PathBuf,
}

impl Peer {
    fn build() -> Result<Peer, String> {
        let folder = tool::target("upb-c")?;
        let rules = program()?;
        let text = rules.post().schema().text();
        let compiled = compile(&["events.proto"], &Texts::from_iter([("events.proto", text)]));
        let schema = compiled.schema.ok_or("the schema of the program does not compile")?;
        let mut bytes = Vec::new();
        for datagram in datagrams(&rules, ADDRESS)? {
            bytes.extend_from_slice(&(datagram.len() as u32).to_le_bytes());
            bytes.extend_from_slice(&datagram);
        }
        let [set, datagrams] = ["events.fds", "events.datagrams"].map(|name| folder.join(name));
        let failed = |error: std::io::Error| error.to_string();
        std::fs::write(&set, schema.descriptor_set()).map_err(failed)?;
        std::fs::write(&datagrams, bytes).map_err(failed)?;
        let program = tool::upb("datagrams", "c/datagrams.c")?;
        Ok(Peer { program, set, datagrams })
    }

    fn rate(&self, bursts: u64) -> Result<f64, String> {
        let mut command = Command::new(&self.program);
        command.arg(&self.set).arg(&self.datagrams);
        command.args([bursts.to_string(), BURST.to_string()]);
        let printed = tool::stdout_of(&mut command, "upb-c")?;
        let count = bursts * BURST;
        let sum: u64 = (0..count).map(|number| number % ROWS as u64).sum();
        let mut words = printed.split_whitespace();
        let seconds = words.next().and_then(|word| word.parse::<f64>().ok());
        let results: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        match seconds {
            Some(seconds) if results == [count, sum] => Ok(count as f64 / seconds),
            _ => Err(format!("upb-c says `{}`, not {count} {sum}", printed.trim())),
        }
    }
}
