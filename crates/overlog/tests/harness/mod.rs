//! Programs on a simulated network: compile, run, read tables.
#![allow(dead_code, reason = "not every test that shares this module uses all of it")]

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tidemill_diag::{Sources, has_errors};
use tidemill_event::{Conditions, Host, Loop, Os, Sim, Time};
use tidemill_overlog::control::Control;
use tidemill_overlog::fleet::{self, Fleet, NodeId, Ports, Seal, Takes, World};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Event, Identity, Kept, Observer, Program, Sighting};
use tidemill_overlog::pre::MemoryFiles;
use tidemill_overlog::query::AskerId;
use tidemill_overlog::{Options, compile, parse, pre};
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::{OwnedValue, SeqBuilder};

/// The observed events, one line each.
pub type Lines = Rc<RefCell<Vec<String>>>;

struct Recorder(Lines);

impl Recorder {
    fn note(&self, what: &str, sighting: &Sighting<'_>) {
        let tuple = DisplayTuple::new(sighting.relation, sighting.columns.iter().copied());
        let rule = sighting.rule.unwrap_or("-");
        self.0.borrow_mut().push(format!("{what} {rule} {tuple}"));
    }
}

impl Observer for Recorder {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        self.note(&sighting.stage.letter().to_string(), &sighting);
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        self.note("VIOLATION", &sighting);
    }

    fn kept(&mut self, why: Kept) {
        self.0.borrow_mut().push(format!("KEPT {why:?}"));
    }

    fn rule_failed(&mut self, _: &str, rule: &str, place: &str, reason: &str) {
        self.0.borrow_mut().push(format!("FAILED {rule} {place} {reason}"));
    }
}

pub struct Worldlet {
    fleet: Fleet,
    /// The answers to askers, in order.
    pub answers: Vec<(AskerId, Control)>,
    /// Askers that accept one message at a time.
    pub slow: Vec<AskerId>,
}

impl Worldlet {
    /// The fleet, for inspection.
    pub fn fleet_ref(&self) -> &Fleet {
        &self.fleet
    }
}

impl World for Worldlet {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn answered(&mut self, _: &mut Loop<Worldlet>, asker: AskerId, message: &[u8]) -> Takes {
        let message = Control::decode(message).expect("a message");
        self.answers.push((asker, message));
        if self.slow.contains(&asker) { Takes::Later } else { Takes::More }
    }
}

/// A fleet of nodes `n0:1`, `n1:1`, ... on a simulation.
pub struct Network {
    pub events: Loop<Worldlet>,
    pub world: Worldlet,
    pub lines: Lines,
}

/// Compiles `source`, which must have no errors.
pub fn program(source: &str) -> Program {
    let mut sources = Sources::new();
    let files = MemoryFiles::default();
    let (tree, mut diagnostics) =
        parse::parse_text("test.olg", source, &pre::Options::default(), &files, &mut sources);
    let mut compiled = None;
    if !has_errors(&diagnostics) {
        let (result, more) = compile(&tree, &sources, &Options::default());
        compiled = result;
        diagnostics.extend(more);
    }
    let text: String = diagnostics.iter().map(|one| sources.render(one)).collect();
    assert!(!has_errors(&diagnostics), "{text}");
    let mut program = Program::new(compiled.expect("no errors")).expect("different names");
    // Short programs would never run often enough to be compiled.
    program.compile().expect("code can be made here");
    program
}

/// A port for datagrams and one for connections, of the same number.
pub fn open_both(host: &mut dyn Host) -> (Ports, String) {
    loop {
        let datagrams = host.bind("127.0.0.1:0").unwrap();
        let address = host.local_addr(datagrams).unwrap();
        match host.listen(&address) {
            Ok(listener) => return (Ports { datagrams, listener: Some(listener) }, address),
            Err(_) => host.close(datagrams),
        }
    }
}

impl Network {
    pub fn new(source: &str, nodes: u32, seed: u64) -> Network {
        Network::under(Conditions::default(), source, nodes, seed)
    }

    /// A network that loses, duplicates or delays messages.
    pub fn under(conditions: Conditions, source: &str, nodes: u32, seed: u64) -> Network {
        Network::on(Sim::new(seed).with_conditions(conditions), source, nodes, seed)
    }

    /// Nodes on a simulation that has been set up.
    pub fn on(sim: Sim, source: &str, nodes: u32, seed: u64) -> Network {
        let mut events = Loop::new(Box::new(sim));
        let ports = Network::ports(&mut events, nodes);
        Network::start(events, Fabric::Udp, source, ports, seed)
    }

    /// Nodes on the loopback of this machine that talk by TCP.
    pub fn of_streams(source: &str, nodes: u32) -> Network {
        let mut events = Loop::new(Box::new(Os::with_seed(1).unwrap()));
        let ports = (0..nodes).map(|_| open_both(events.host())).collect();
        Network::start(events, Fabric::Tcp, source, ports, 1)
    }

    /// The same with a key.
    pub fn of_sealed_streams(source: &str, nodes: u32, seal: Seal) -> Network {
        let mut events = Loop::new(Box::new(Os::with_seed(1).unwrap()));
        let ports = (0..nodes).map(|_| open_both(events.host())).collect();
        Network::start_with(events, Fabric::Tcp, source, ports, 1, Some(seal))
    }

    /// Nodes on a simulation that seal their messages to each other.
    pub fn sealed(sim: Sim, source: &str, nodes: u32, seed: u64, seal: Seal) -> Network {
        let mut events = Loop::new(Box::new(sim));
        let ports = Network::ports(&mut events, nodes);
        Network::start_with(events, Fabric::Udp, source, ports, seed, Some(seal))
    }

    /// Replaces the program of all nodes.
    pub fn replace(&mut self, source: &str) -> &mut Network {
        let program = Arc::new(program(source));
        if let Err(why) = fleet::replace(&mut self.world, &mut self.events, program) {
            self.world.fleet.observer().kept(why);
        }
        self
    }

    /// Replaces the keys of all nodes.
    pub fn replace_keys(&mut self, seal: &Seal) {
        fleet::replace_keys(&mut self.world, &mut self.events, seal);
    }

    fn ports(events: &mut Loop<Worldlet>, nodes: u32) -> Vec<(Ports, String)> {
        let open = |index| {
            let address = format!("n{index}:1");
            (events.host().bind(&address).unwrap().into(), address)
        };
        (0..nodes).map(open).collect()
    }

    fn start(
        events: Loop<Worldlet>,
        fabric: Fabric,
        source: &str,
        ports: Vec<(Ports, String)>,
        seed: u64,
    ) -> Network {
        Network::start_with(events, fabric, source, ports, seed, None)
    }

    fn start_with(
        mut events: Loop<Worldlet>,
        fabric: Fabric,
        source: &str,
        ports: Vec<(Ports, String)>,
        seed: u64,
        seal: Option<Seal>,
    ) -> Network {
        let lines = Lines::default();
        let program = Arc::new(program(source));
        let observer = Box::new(Recorder(lines.clone()));
        let mut fleet = Fleet::new(program, fabric, seed, observer);
        seal.into_iter().for_each(|seal| fleet.seal_with(seal));
        let mut world = Worldlet { fleet, answers: Vec::new(), slow: Vec::new() };
        let count = ports.len() as u32;
        let landmark = ports[0].1.clone();
        for (index, (ports, address)) in (0..).zip(ports) {
            let identity = Identity { address, index, count, landmark: landmark.clone() };
            fleet::start(&mut world, &mut events, ports, identity).unwrap();
        }
        Network { events, world, lines }
    }

    /// Runs until `seconds` of virtual time.
    pub fn run_to(&mut self, seconds: f64) -> &mut Network {
        self.run_until(Time::from_secs_f64(seconds))
    }

    /// Runs `seconds` more.
    pub fn run_for(&mut self, seconds: f64) -> &mut Network {
        let end = self.events.now() + Duration::from_secs_f64(seconds);
        self.run_until(end)
    }

    /// The tables of the record have all rows when it has run.
    fn run_until(&mut self, end: Time) -> &mut Network {
        self.events.run_until(&mut self.world, end);
        if let Some(table) = self.world.fleet.program().plan().find("sys::ruleExec") {
            for node in self.world.fleet.ids().collect::<Vec<_>>() {
                self.world.fleet.write_record(node, table, end.0);
            }
        }
        self
    }

    /// Injects a tuple in text form at node `node`.
    pub fn inject(&mut self, node: u32, tuple: &str) -> &mut Network {
        self.give(node, tuple, false)
    }

    /// Deletes the row with the key of a tuple at node `node`.
    pub fn delete(&mut self, node: u32, tuple: &str) -> &mut Network {
        self.give(node, tuple, true)
    }

    fn give(&mut self, node: u32, tuple: &str, delete: bool) -> &mut Network {
        let (name, columns): (String, Vec<OwnedValue>) = parse_tuple(tuple).unwrap();
        let relation = self.world.fleet.program().plan().find(&name).expect("a known relation");
        let row = SeqBuilder::from(&columns[..]);
        let event = Event::Tuple { relation, row, delete, received: false };
        assert!(fleet::inject(&mut self.world, &mut self.events, NodeId(node), event));
        self
    }

    /// The rows of a table at a node, as sorted text.
    pub fn rows(&self, node: u32, table: &str) -> Vec<String> {
        let mut rows = Vec::new();
        fleet::rows(&self.world.fleet, NodeId(node), table, |row| {
            rows.push(DisplayTuple::new(table, row.iter().copied()).to_string());
        });
        rows.sort();
        rows
    }
}

impl Network {
    /// Ends a node without notice.
    pub fn crash(&mut self, node: u32) -> &mut Network {
        let endpoint = fleet::crash(&mut self.world, &mut self.events, NodeId(node));
        self.events.host().close(endpoint.expect("the node is alive"));
        self
    }

    /// Starts a crashed node again, empty.
    pub fn restart(&mut self, node: u32) -> &mut Network {
        let endpoint = self.events.host().bind(&format!("n{node}:1")).unwrap();
        fleet::restart(&mut self.world, &mut self.events, endpoint, NodeId(node)).unwrap();
        self
    }
}
