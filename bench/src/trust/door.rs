//! Datagrams between two nodes of this process over the loopback, as in a fleet: through the peers
//! of `fabric`, the guard, if there is a key, and the host's sockets.

use tidemill_event::{Endpoint as Socket, Host, Os, Transport};
use tidemill_fabric::counters::{Count, Counters};
use tidemill_fabric::endpoint::{Config, Endpoint};
use tidemill_fabric::peer::Mode;
use tidemill_fabric::reliable::Limits;
use tidemill_fabric::seal::{Context, DATAGRAM_BYTES_MAX, Guard, NoEntropy, Port, SEAL_BYTES};

use super::node::{KEY, guard};
use crate::clock::cpu_time;

const PROGRAM: u64 = 7;

/// Whether datagrams are sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seal {
    Without,
    With,
}

impl Seal {
    pub fn name(self) -> &'static str {
        match self {
            Seal::Without => "open",
            Seal::With => "key",
        }
    }
}

struct HostPort<'a> {
    host: &'a mut Os,
    socket: Socket,
}

impl Port for HostPort<'_> {
    fn send(&mut self, route: &str, datagram: &[u8]) {
        // A lost datagram is detected at the end.
        let _ = self.host.send(self.socket, route, datagram);
    }

    fn fill_entropy(&mut self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        self.host.fill_entropy(bytes).map_err(|_| NoEntropy)
    }
}

struct Node {
    socket: Socket,
    name: String,
    endpoint: Endpoint,
    guard: Option<Guard>,
    counters: Counters,
}

impl Node {
    fn new(host: &mut Os, seal: Seal, number: u64) -> Result<Node, String> {
        let failed = |error: std::io::Error| error.to_string();
        let socket = host.bind("127.0.0.1:0").map_err(failed)?;
        let name = host.local_addr(socket).map_err(failed)?;
        let limits =
            Limits { datagram_bytes: DATAGRAM_BYTES_MAX - SEAL_BYTES, ..Limits::default() };
        let endpoint = Endpoint::new(PROGRAM, Config { limits, ..Config::default() });
        let guard = match seal {
            Seal::With => Some(guard(&name, KEY, number)?),
            Seal::Without => None,
        };
        Ok(Node { socket, name, endpoint, guard, counters: Counters::new() })
    }

    fn send(&mut self, host: &mut Os, to: &str, field: &[u8]) {
        let now_ns = host.now().0;
        self.endpoint.post(to, Mode::BestEffort, now_ns, |_| Some(field.to_vec()));
        let mut port = HostPort { host, socket: self.socket };
        let Node { endpoint, guard, counters, .. } = self;
        let mut cx = Context { now_ns, port: &mut port, counters };
        endpoint.flush(now_ns, &mut |to, datagram| match guard {
            Some(guard) => guard.send(to, datagram, &mut cx),
            None => cx.port.send(to, datagram),
        });
    }

    /// Receives pending datagrams; adds up the bytes of their messages.
    fn receive(&mut self, host: &mut Os, buffer: &mut [u8], sum: &mut u64) -> Result<(), String> {
        loop {
            let now_ns = host.now().0;
            let received = host.recv(self.socket, buffer).map_err(|error| error.to_string())?;
            let Some((length, from)) = received else { return Ok(()) };
            let from = host.name_of(from).into_owned();
            let Node { socket, endpoint, guard, counters, .. } = self;
            let (from, bytes) = match guard {
                None => (&*from, &buffer[..length]),
                Some(guard) => {
                    let mut port = HostPort { host, socket: *socket };
                    let mut cx = Context { now_ns, port: &mut port, counters };
                    match guard.receive(&from, &mut buffer[..length], &mut cx) {
                        Some(content) => (content.name, content.bytes),
                        None => continue,
                    }
                }
            };
            endpoint.receive(from, bytes, now_ns, &mut |message, counters| {
                counters.count(Count::Delivered);
                *sum += message.bytes.last().map_or(0, |&byte| u64::from(byte));
            });
        }
    }
}

/// Datagrams per CPU second out and in.
///
/// # Errors
/// A message does not arrive, or not as it was sent.
pub fn measure(bytes: usize, seal: Seal, bursts: u64, burst: u64) -> Result<[f64; 2], String> {
    let mut host = Os::new().map_err(|error| error.to_string())?;
    let mut from = Node::new(&mut host, seal, 1)?;
    let mut to = Node::new(&mut host, seal, 2)?;
    let mut buffer = vec![0; 1 << 16];
    let (name, mut field, mut sum) = (to.name.clone(), field(bytes), 0);
    // Establishes the session first.
    from.send(&mut host, &name, &field);
    for _ in 0..8 {
        to.receive(&mut host, &mut buffer, &mut sum)?;
        from.receive(&mut host, &mut buffer, &mut sum)?;
    }
    let (mut out_s, mut in_s, mut sent_sum, last) = (0.0, 0.0, sum, field.len() - 1);
    for number in 0..bursts {
        let start = cpu_time();
        for number in number..number + burst {
            field[last] = number as u8;
            sent_sum += u64::from(number as u8);
            from.send(&mut host, &name, &field);
        }
        let sent = cpu_time();
        to.receive(&mut host, &mut buffer, &mut sum)?;
        out_s += (sent - start).as_secs_f64();
        in_s += (cpu_time() - sent).as_secs_f64();
    }
    let (count, arrived) = (bursts * burst, to.endpoint.counters().get(Count::Delivered));
    if arrived != count + 1 || sum != sent_sum {
        return Err(format!("{} {bytes}: {arrived} of {} arrived", seal.name(), count + 1));
    }
    Ok([out_s, in_s].map(|cpu_s| count as f64 / cpu_s))
}

/// The field of an envelope that holds a content.
fn field(bytes: usize) -> Vec<u8> {
    let mut field = vec![3 << 3 | 2];
    let mut length = bytes;
    while length > 0x7f {
        field.push(length as u8 | 0x80);
        length >>= 7;
    }
    field.push(length as u8);
    field.resize(field.len() + bytes, 0x5a);
    field
}
