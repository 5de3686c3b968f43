//! Packets to events of rules and back: the app `Rules`.
//!
//! ```text
//! packet in  ->  packet(@NODE, Input, Bytes)  ->  rules  ->  send(@NODE, Output, Bytes)  ->  out
//! ```
//! The app holds one node of a program of rules, on a loop of its own whose clock is that of the
//! packet engine: it stands still during a breath, and timers of the program fire at ticks. So a
//! run with a seed repeats. Input and output are names of ports, which are those of the apps at
//! the other end. The node has no network; all it hears and says are packets.
//!
//! ```
//! use tidemill::packets::{self, RunOptions};
//! use tidemill_packet::flow;
//! use tidemill_diag::Sources;
//!
//! let file = std::env::temp_dir().join(format!("tidemill-rules-{}.olg", std::process::id()));
//! std::fs::write(&file, "r1 send(@N, \"end\", Bytes) :- packet(@N, \"src\", Bytes).")?;
//! let text = format!(
//!     "src :: Source {{ packets: 3 }}\nrules :: Rules {{ file: \"{}\" }}\nend :: Sink
//!      src -> rules -> end",
//!     file.display()
//! );
//! let catalogue = packets::catalogue();
//! let mut sources = Sources::new();
//! let loaded =
//!     flow::load_text("a.flow", &text, &flow::Options::default(), &catalogue, &mut sources);
//! let graph = loaded.graph.ok_or("the graph is right")?;
//! let ended = packets::run(graph, RunOptions::default(), Box::new(|note| eprintln!("{note}")))?;
//! assert_eq!(ended.links[1].1.rx_packets, 3);
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidemill_event::{Loop, Outcome, Sim, Time};
use tidemill_overlog::fleet::{self, Fleet, NodeId, World};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Event, Identity, Observer, Program, Sighting, Stages};
use tidemill_overlog::program::{Compiled, Watch};
use tidemill_packet::app::{App, Fault, Io, Ports, Reconfigured, Start, Wrong};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{OwnedValue, Value};

use crate::load::{LoadOptions, load};

/// The events of packets that come, and of those to be sent.
const PACKET: &str = "packet";
const SEND: &str = "send";

/// Location, port, bytes.
const COLUMNS: usize = 3;

/// What the node is called.
const ADDRESS: &str = "n0:1";

tidemill_packet::declare! {
    /// Hands packets to a program of rules as events `packet(@N, Input, Bytes)`, and sends what it
    /// derives as `send(@N, Output, Bytes)`. Ports are called after the apps at the other end.
    ///
    /// Derived packets for outputs that are not there are dropped as `no_output`, those that are
    /// no bytes as `no_bytes`.
    app Rules {
        config RulesConfig {
            /// The program, a file of rules.
            file: String,
            /// How often its timers are looked at, in milliseconds.
            tick_ms: u64 = 10,
        }
        ports {
            /// Packets for the rules.
            input: Input(Push, Many),
            /// Packets of the rules.
            output: Output(Push, Many),
        }
        traits { }
    }
}

/// A packet that rules have derived.
struct Sent {
    output: String,
    bytes: Vec<u8>,
}

/// What rules say, as far as it has not been sent.
#[derive(Default)]
struct Heard {
    sent: VecDeque<Result<Sent, &'static str>>,
    /// Rules that failed, and violations.
    troubles: u64,
    trouble: Option<String>,
}

/// Listens to the node.
struct Listener(Rc<RefCell<Heard>>);

impl Observer for Listener {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        if sighting.relation != SEND {
            return;
        }
        let sent = match sighting.columns {
            [_, Value::Str(output), Value::Bytes(bytes)] => {
                Ok(Sent { output: (*output).to_owned(), bytes: bytes.to_vec() })
            }
            [_, Value::Str(_), _] => Err("no_bytes"),
            _ => Err("no_output"),
        };
        self.0.borrow_mut().sent.push_back(sent);
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        let mut heard = self.0.borrow_mut();
        let columns: Vec<String> = sighting.columns.iter().map(Value::to_string).collect();
        heard.troubles += 1;
        heard.trouble = Some(format!("{}({})", sighting.relation, columns.join(", ")));
    }

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {
        self.0.borrow_mut().troubles += 1;
    }
}

/// What the loop of the node works on.
struct Alone(Fleet);

impl World for Alone {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.0
    }
}

/// See [`Rules::declaration`](tidemill_packet::app::Declared::declaration).
pub struct Rules {
    file: String,
    world: Alone,
    events: Loop<Alone>,
    node: NodeId,
    packet: RelationId,
    heard: Rc<RefCell<Heard>>,
    started_ns: u64,
    tick: Duration,
    inputs: Vec<String>,
    outputs: Vec<String>,
    taken: u64,
    sent: u64,
}

impl App for Rules {
    fn validate(config: &RulesConfig) -> Result<(), Wrong> {
        match config.tick_ms {
            0 => Err(Wrong::new("tick_ms", "it must be 1 at least")),
            _ => Ok(()),
        }
    }

    fn new(config: RulesConfig, start: &mut Start) -> Result<Rules, Fault> {
        let mut compiled = program(&config.file)?;
        let packet = find(&compiled, &config.file, PACKET)?;
        let relation = find(&compiled, &config.file, SEND)?;
        let stages = Stages::parse("c").unwrap_or(Stages::ALL);
        compiled.watches.retain(|watch| watch.relation != relation);
        compiled.watches.push(Watch { relation, stages });
        let program = Arc::new(Program::new(compiled).map_err(Fault::new)?);
        let seed = start.rng().next_u64();
        let heard = Rc::new(RefCell::new(Heard::default()));
        let observer = Box::new(Listener(heard.clone()));
        let mut world = Alone(Fleet::new(program, Fabric::Udp, seed, observer));
        let mut events = Loop::new(Box::new(Sim::new(seed)));
        let address = ADDRESS.to_owned();
        let identity = Identity { address: address.clone(), index: 0, count: 1, landmark: address };
        let endpoint = events.host().bind(ADDRESS)?;
        let node = fleet::start(&mut world, &mut events, endpoint, identity)?;
        Ok(Rules {
            file: config.file,
            world,
            events,
            node,
            packet,
            heard,
            started_ns: start.now_ns(),
            tick: Duration::from_millis(config.tick_ms),
            inputs: Vec::new(),
            outputs: Vec::new(),
            taken: 0,
            sent: 0,
        })
    }

    /// Another clock for the same program leaves its tables as they are.
    fn reconfigure(&mut self, config: RulesConfig) -> Reconfigured {
        if config.file != self.file {
            return Reconfigured::Restart;
        }
        self.tick = Duration::from_millis(config.tick_ms);
        Reconfigured::Kept
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        (self.inputs, self.outputs) = (ports.inputs.to_vec(), ports.outputs.to_vec());
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                let port = self.inputs.get(input).map_or("", String::as_str);
                let columns = [Value::Str(ADDRESS), Value::Str(port), Value::Bytes(packet.bytes())];
                let columns = columns.map(OwnedValue::new).to_vec();
                let (relation, received) = (self.packet, true);
                let event = Event::Tuple { relation, columns, delete: false, received };
                drop(packet);
                match fleet::inject(&mut self.world, &mut self.events, self.node, event) {
                    true => self.taken += 1,
                    false => io.count_drop("inbox_full"),
                }
            }
        }
        self.run(io)
    }

    fn tick_every(&self) -> Option<Duration> {
        Some(self.tick)
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.run(io)
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let troubles = self.heard.borrow().troubles;
        vec![("packets_taken", self.taken), ("packets_sent", self.sent), ("troubles", troubles)]
    }
}

impl Rules {
    /// Lets the node do all that is due, and sends what came of it.
    fn run(&mut self, io: &mut Io) -> Result<(), Fault> {
        let now = Time(io.now_ns().saturating_sub(self.started_ns));
        if let Outcome::Failed(error) = self.events.run_until(&mut self.world, now) {
            return Err(Fault::new(error.to_string()));
        }
        let Heard { sent, trouble, .. } = &mut *self.heard.borrow_mut();
        for sent in sent.drain(..) {
            match sent {
                Err(reason) => io.count_drop(reason),
                Ok(Sent { output, bytes }) => {
                    match self.outputs.iter().position(|name| *name == output) {
                        None => io.count_drop("no_output"),
                        Some(at) => {
                            if let Some(packet) = io.packet_of(&bytes) {
                                io.send(at, packet);
                                self.sent += 1;
                            }
                        }
                    }
                }
            }
        }
        match trouble.take() {
            Some(violation) => Err(Fault::new(violation)),
            None => Ok(()),
        }
    }
}

/// The program of a file.
fn program(file: &str) -> Result<Compiled, Fault> {
    let loaded = load(&[PathBuf::from(file)], &LoadOptions::default());
    loaded.program.ok_or_else(|| {
        let found = loaded.diagnostics.iter().map(|one| loaded.sources.render(one));
        Fault::new(found.collect::<String>().trim_end().to_owned())
    })
}

/// A relation that every program for packets has.
fn find(compiled: &Compiled, file: &str, name: &str) -> Result<RelationId, Fault> {
    let plan = &compiled.plan;
    let found = plan.find(name);
    let fits = |id: &RelationId| plan.relation(*id).arity() == COLUMNS;
    found
        .filter(fits)
        .ok_or_else(|| Fault::new(format!("{file} has no relation {name} of {COLUMNS} columns")))
}
