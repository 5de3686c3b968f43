//! Packets to events of rules and back: the app `Rules`.
//!
//! ```text
//! packet in  ->  packet(@NODE, Input, Bytes)  ->  rules  ->  send(@NODE, Output, Bytes)  ->  out
//! ```
//! Without a `file` the rules are those of the graph's program: the app is a border
//! (`borders/packets`), and does nothing itself. With a `file` the app holds one node with rules of
//! its own, on a loop whose clock is that of the packet engine: time does not advance during a
//! breath, and timers of the program fire at ticks. So a run with a seed repeats. Input and output
//! are names of ports, which are named after the apps at the other end. The node has no network;
//! its only input and output are packets.
//!
//! ```
//! use tidemill::console::Console;
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::run::RunOptions;
//!
//! let file = std::env::temp_dir().join(format!("tidemill-rules-{}.olg", std::process::id()));
//! std::fs::write(&file, "r1 send(@N, \"end\", Bytes) :- packet(@N, \"src\", Bytes).")?;
//! let text = format!(
//!     "src :: Source {{ packets: 3 }}\nrules :: Rules {{ file: \"{}\" }}\nend :: Sink
//!      src -> rules -> end",
//!     file.display()
//! );
//! let program = Program::of_text("a.flow", &text, &LoadOptions::default());
//! let report = program.run(RunOptions::default(), Console::silent())?;
//! let packets = report.packets.ok_or("no graph")?;
//! assert_eq!(packets.links[1].1.rx_packets, 3);
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
use tidemill_packet::app::{App, ConfigError, Fault, Io, Ports, Progress, Reconfigured, Start};
use tidemill_packet::fields::Fields;
use tidemill_relation::Value;
use tidemill_relation::plan::RelationId;

use crate::program::{LoadOptions, Program as Loaded};

/// Location, port, bytes.
const COLUMNS: usize = 3;

/// The address of the node.
const ADDRESS: &str = "n0:1";

tidemill_packet::declare! {
    /// Hands packets to rules as events `packet(@N, Input, Bytes)`, and sends what they derive as
    /// `send(@N, Output, Bytes)`. Ports are called after the apps at the other end.
    ///
    /// Without `file` these are the rules of the program; while many events of their node wait,
    /// packets stay on the links. With `file` the app has a node of its own, without a network.
    ///
    /// With `fields` a packet is `packet(@N, Input, Id, FIELD, ...)`: a column for each field, null
    /// where the packet has none. `send(@N, Output, Id)` sends the packet itself, also several
    /// times, in the turn of its event. After `hold(@N, Input, Id, Seconds)` later turns can send
    /// it, too, for so long. What is sent later counts as `stale`. Without links to it the app
    /// only sends.
    ///
    /// Derived packets for outputs that are not there are dropped as `no_output`, those that are
    /// no bytes as `no_bytes`.
    app Rules {
        config RulesConfig {
            /// A file of rules of its own; without it, the rules of the program.
            file: String = String::new(),
            /// The event that a packet is.
            event: String = "packet".to_owned(),
            /// The event that sends a packet. Without an output there need be none: then the app is
            /// a sink, by an empty name also beside a `send` that is for another app.
            verdict: String = "send".to_owned(),
            /// What of a packet is handed to the rules of the program in place of its bytes: names
            /// such as `ip.src, tcp.dport, len`.
            fields: String = String::new(),
            /// The period at which timers of its own rules run, in milliseconds.
            tick_ms: u64 = 10,
        }
        ports {
            /// Packets for the rules.
            input: Input(Pull, Many),
            /// Packets of the rules.
            output: Output(Push, Many),
        }
        traits { pulls }
    }
}

/// A packet derived by rules.
struct Sent {
    output: String,
    bytes: Vec<u8>,
}

/// Derived packets that have not been sent yet.
#[derive(Default)]
struct Observed {
    sent: VecDeque<Result<Sent, &'static str>>,
    /// The number of failed rules and violations.
    failures: u64,
    violation: Option<String>,
}

/// The observer of the node.
struct Listener {
    verdict: String,
    observed: Rc<RefCell<Observed>>,
}

impl Observer for Listener {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        if sighting.relation != self.verdict {
            return;
        }
        let sent = match sighting.columns {
            [_, Value::Str(output), Value::Bytes(bytes)] => {
                Ok(Sent { output: (*output).to_owned(), bytes: bytes.to_vec() })
            }
            [_, Value::Str(_), _] => Err("no_bytes"),
            _ => Err("no_output"),
        };
        self.observed.borrow_mut().sent.push_back(sent);
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        let mut observed = self.observed.borrow_mut();
        let columns: Vec<String> = sighting.columns.iter().map(Value::to_string).collect();
        observed.failures += 1;
        observed.violation = Some(format!("{}({})", sighting.relation, columns.join(", ")));
    }

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {
        self.observed.borrow_mut().failures += 1;
    }
}

/// The world of the node's loop.
struct Alone(Fleet);

impl World for Alone {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.0
    }
}

/// See [`Rules::declaration`](tidemill_packet::app::Declared::declaration).
pub enum Rules {
    /// The rules of the program: the machine moves packets between the links and the rules.
    Border,
    /// Rules of its own.
    Own(Box<OwnNode>),
}

/// A node with rules of its own, its loop, and its output.
pub struct OwnNode {
    config: RulesConfig,
    world: Alone,
    events: Loop<Alone>,
    node: NodeId,
    packet: RelationId,
    observed: Rc<RefCell<Observed>>,
    started_ns: u64,
    inputs: Vec<String>,
    outputs: Vec<String>,
    taken: u64,
    sent: u64,
}

impl App for Rules {
    fn validate(config: &RulesConfig) -> Result<(), ConfigError> {
        if let Err(unknown) = Fields::parse(&config.fields) {
            return Err(ConfigError::new("fields", unknown.to_string()));
        }
        if !config.fields.is_empty() && !config.file.is_empty() {
            return Err(ConfigError::new("fields", "rules of its own take the bytes of packets"));
        }
        match config.tick_ms {
            0 => Err(ConfigError::new("tick_ms", "it must be 1 at least")),
            _ => Ok(()),
        }
    }

    fn new(config: RulesConfig, start: &mut Start) -> Result<Rules, Fault> {
        if config.file.is_empty() {
            Ok(Rules::Border)
        } else {
            Ok(Rules::Own(Box::new(OwnNode::new(config, start)?)))
        }
    }

    /// A new clock for the same program keeps its tables.
    fn reconfigure(&mut self, config: RulesConfig) -> Reconfigured {
        match self {
            Rules::Border if config.file.is_empty() => Reconfigured::Kept,
            Rules::Own(own) if own.has_rules_of(&config) => {
                own.config = config;
                Reconfigured::Kept
            }
            _ => Reconfigured::Restart,
        }
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        if let Rules::Own(own) = self {
            (own.inputs, own.outputs) = (ports.inputs.to_vec(), ports.outputs.to_vec());
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if let Rules::Own(own) = self {
            own.take(io);
            own.run(io)?;
        }
        Ok(Progress::Asleep)
    }

    fn tick_every(&self) -> Option<Duration> {
        match self {
            Rules::Border => None,
            Rules::Own(own) => Some(Duration::from_millis(own.config.tick_ms)),
        }
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        match self {
            Rules::Border => Ok(()),
            Rules::Own(own) => own.run(io),
        }
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let Rules::Own(own) = self else { return Vec::new() };
        let failures = own.observed.borrow().failures;
        vec![("packets_taken", own.taken), ("packets_sent", own.sent), ("errors", failures)]
    }
}

impl OwnNode {
    fn new(config: RulesConfig, start: &mut Start) -> Result<OwnNode, Fault> {
        let mut compiled = program(&config.file)?;
        let packet = find(&compiled, &config.file, &config.event)?;
        let relation = find(&compiled, &config.file, &config.verdict)?;
        let stages = Stages::parse("c").unwrap_or(Stages::ALL);
        compiled.watches.retain(|watch| watch.relation != relation);
        compiled.watches.push(Watch { relation, stages });
        let program =
            Arc::new(Program::new(compiled).map_err(|error| Fault::new(error.to_string()))?);
        let seed = start.rng().next_u64();
        let observed = Rc::new(RefCell::new(Observed::default()));
        let observer =
            Box::new(Listener { verdict: config.verdict.clone(), observed: observed.clone() });
        let mut world = Alone(Fleet::new(program, Fabric::Udp, seed, observer));
        let mut events = Loop::new(Box::new(Sim::new(seed)));
        let address = ADDRESS.to_owned();
        let identity = Identity { address: address.clone(), index: 0, count: 1, landmark: address };
        let endpoint = events.host().bind(ADDRESS)?;
        let node = fleet::start(&mut world, &mut events, endpoint, identity)?;
        Ok(OwnNode {
            config,
            world,
            events,
            node,
            packet,
            observed,
            started_ns: start.now_ns(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            taken: 0,
            sent: 0,
        })
    }

    /// Whether another config has the same rules.
    fn has_rules_of(&self, config: &RulesConfig) -> bool {
        let RulesConfig { file, event, verdict, .. } = &self.config;
        (file, event, verdict) == (&config.file, &config.event, &config.verdict)
    }

    /// Takes packets from the links.
    fn take(&mut self, io: &mut Io) {
        for input in 0..io.inputs() {
            while let Some(packet) = io.receive(input) {
                let port = self.inputs.get(input).map_or("", String::as_str);
                let columns = [Value::Str(ADDRESS), Value::Str(port), Value::Bytes(packet.bytes())];
                let (relation, row) = (self.packet, columns.into_iter().collect());
                let event = Event::Tuple { relation, row, delete: false, received: true };
                drop(packet);
                if fleet::inject(&mut self.world, &mut self.events, self.node, event) {
                    self.taken += 1
                } else {
                    io.count_drop("inbox_full")
                }
            }
        }
    }

    /// Runs the node until nothing is due, and sends the derived packets.
    fn run(&mut self, io: &mut Io) -> Result<(), Fault> {
        let now = Time(io.now_ns().saturating_sub(self.started_ns));
        if let Outcome::Failed(error) = self.events.run_until(&mut self.world, now) {
            return Err(Fault::new(error.to_string()));
        }
        let Observed { sent, violation, .. } = &mut *self.observed.borrow_mut();
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
        match violation.take() {
            Some(violation) => Err(Fault::new(violation)),
            None => Ok(()),
        }
    }
}

/// Loads the program of a file.
fn program(file: &str) -> Result<Compiled, Fault> {
    let loaded = Loaded::load(&[PathBuf::from(file)], &LoadOptions::default());
    loaded.rules.program.ok_or_else(|| {
        let found = loaded.diagnostics.iter().map(|one| loaded.sources.render(one));
        Fault::new(found.collect::<String>().trim_end().to_owned())
    })
}

/// A relation required of every program for packets.
fn find(compiled: &Compiled, file: &str, name: &str) -> Result<RelationId, Fault> {
    let plan = &compiled.plan;
    let found = plan.find(name);
    let fits = |id: &RelationId| plan.relation(*id).arity() == COLUMNS;
    found
        .filter(fits)
        .ok_or_else(|| Fault::new(format!("{file} has no relation {name} of {COLUMNS} columns")))
}
