//! The parts that nodes are made from: a compiled program, and the options of its parts.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tidemill_event::{Host, Loop};
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::Program as Rules;
use tidemill_packet::drive::Driver;
use tidemill_packet::engine::{self, CaptureTime, Engine};
use tidemill_packet::fanout::Fanout;
use tidemill_packet::graph::Graph;
use tidemill_proc::console::Sink;
use tidemill_proc::program::Executable;
use tidemill_stat::Registry;
use tidemill_stdx::hash::combine;
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::sorted::SortedMap;

use super::components::{self, Making, Outputs, Seeds};
use super::node::Node;
use crate::borders::Checked;
use crate::borders::files::{Existing, node_folder};
use crate::components::system::disk::{Disk, Overlay};
use crate::error::Error;
use crate::journal::SharedJournal;
use crate::program::{Program, Rules as Loaded};
use crate::run::{ComponentOptions, Engine as Chosen, EngineKind};

/// The engines of nodes, except for rules, and how to start them.
#[derive(Clone)]
pub(crate) struct Parts {
    /// The code of its processes.
    pub(crate) components: Option<Executable>,
    /// Whether it has an entry component, with which the others end.
    pub(crate) has_entry: bool,
    /// Its packet graph.
    pub(crate) graph: Option<Graph>,
    /// The borders between them and the rules.
    pub(crate) borders: Checked,
}

/// The rules of a program in the form for nodes, if it has some.
///
/// # Errors
/// Two of its relations have messages of the same name.
pub(crate) fn rules_of(
    rules: Loaded,
    borders: &Checked,
    engine: Chosen,
) -> Result<Option<Rules>, Error> {
    let Loaded { program, operators, .. } = rules;
    let Some(program) = program else { return Ok(None) };
    let mut rules = Rules::with_operators(program, operators).map_err(Error::program)?;
    borders.crossing().for_each(|relation| rules.cross(relation));
    if engine == Chosen::Interpreter {
        rules.interpret();
    }
    Ok(Some(rules))
}

/// A compiled program.
pub(crate) struct Compiled {
    /// Its rules, if it has some.
    pub(crate) rules: Option<Rules>,
    /// The rest.
    pub(crate) parts: Parts,
}

impl Compiled {
    /// Compiles a program.
    ///
    /// # Errors
    /// It has errors, or the code generator does not support this machine.
    pub(crate) fn new(
        program: Program,
        making: &Making,
        engine: Chosen,
    ) -> Result<Compiled, Error> {
        if program.has_errors() {
            return Err(Error::program("the program has errors"));
        }
        let components = making.first(&program)?;
        let has_entry = program.components.program.as_ref().is_some_and(|it| it.entry.is_some());
        let Program { rules, packets, borders, .. } = program;
        let rules = rules_of(rules, &borders, engine)?;
        Ok(Compiled { rules, parts: Parts { components, has_entry, graph: packets, borders } })
    }

    /// The engines that have work.
    pub(crate) fn has(&self) -> Has {
        Has {
            nodes: self.rules.is_some(),
            components: self.parts.components.is_some(),
            entry: self.parts.has_entry,
            packets: self.parts.graph.is_some(),
        }
    }
}

/// Makes the engines of each of several nodes.
pub(crate) struct Maker {
    pub(crate) parts: Parts,
    pub(crate) components: Choices,
    pub(crate) engine: EngineKind,
    /// The seed of all random numbers, if there is one.
    pub(crate) seed: Option<u64>,
    /// The arrival times of packets from captures.
    pub(crate) captures: Option<CaptureTime>,
    /// The counters of all nodes.
    pub(crate) registry: Registry,
    /// Makes the sink of a node's output, given the name to prefix to each line.
    pub(crate) output: Rc<dyn Fn(String) -> Box<dyn Sink>>,
    /// What to do with existing files.
    pub(crate) existing: Existing,
    /// Whether fault reports name their node.
    pub(crate) names: bool,
    /// The disks of nodes, if in memory, which outlive crashes.
    pub(crate) disks: Option<RefCell<SortedMap<NodeId, Rc<Overlay>>>>,
}

/// The options for the components of each node.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choices {
    pub(crate) memory_max: Option<u64>,
    pub(crate) stack_max: Option<u64>,
    pub(crate) root: Option<PathBuf>,
    pub(crate) arguments: Vec<String>,
    /// There are several nodes, each with a folder below `root`.
    pub(crate) are_several: bool,
}

impl Choices {
    /// The options of a run.
    pub(crate) fn of(options: &mut ComponentOptions) -> Choices {
        Choices {
            memory_max: options.memory_max,
            stack_max: options.stack_max,
            root: options.root.clone(),
            arguments: std::mem::take(&mut options.arguments),
            are_several: true,
        }
    }

    /// The options of each of several workers that run components of flows.
    pub(crate) fn of_flows(options: &ComponentOptions, workers: u32) -> Choices {
        Choices {
            memory_max: options.memory_max.map(|max| max / u64::from(workers)),
            stack_max: options.stack_max,
            root: options.root.clone(),
            arguments: options.arguments.clone(),
            are_several: false,
        }
    }

    /// The folder of the files that the graph of a node writes.
    pub(crate) fn graph_folder(&self, id: NodeId) -> Result<PathBuf, Error> {
        self.folder(self.root.as_deref().unwrap_or(Path::new(".")), id)
    }

    /// The folder of a node; each of several nodes has its own.
    fn folder(&self, root: &Path, NodeId(id): NodeId) -> Result<PathBuf, Error> {
        if !self.are_several {
            return Ok(root.to_owned());
        }
        node_folder(root, id)
    }

    pub(crate) fn of_node(&self, id: NodeId) -> Result<ComponentOptions, Error> {
        let root = self.root.as_deref().map(|root| self.folder(root, id)).transpose()?;
        Ok(ComponentOptions {
            memory_max: self.memory_max,
            stack_max: self.stack_max,
            root,
            arguments: self.arguments.clone(),
            ..ComponentOptions::default()
        })
    }
}

impl Maker {
    fn disk_of(&self, id: NodeId) -> Disk {
        match &self.disks {
            None => Disk::System,
            Some(disks) => Disk::Memory(disks.borrow_mut().entry(id).or_default().clone()),
        }
    }

    /// Makes the engines of a node for one of its lives, without starting them.
    ///
    /// # Errors
    /// The folder for its files cannot be made, or there are no random numbers.
    pub(crate) fn make<W: 'static>(
        &self,
        journal: &SharedJournal,
        events: &mut Loop<W>,
        (id, life): (NodeId, u64),
        address: &str,
    ) -> Result<Node, Error> {
        let name = if self.names { address.to_owned() } else { String::new() };
        let seed = self.seed.map(|seed| match (id, life) {
            (NodeId(0), 0) => seed,
            (NodeId(id), life) => combine(seed, life << 32 | u64::from(id)),
        });
        let program = self.parts.components.clone().unwrap_or_else(Executable::empty);
        let sink = (self.output)(name.clone());
        let mut outputs = Outputs::of(sink, journal, name);
        outputs.disk = self.disk_of(id);
        let seeds = Seeds::of(seed, events.host())?;
        let mut options = self.components.of_node(id)?;
        let (runner, systems) = components::engine(program, &mut options, seeds, outputs)?;
        let mut node = Node::new(id, runner, systems);
        let graph = self.parts.graph.as_ref();
        node.join(&self.parts.borders, graph, &self.registry, events.host())?;
        if graph.is_some() {
            let seed = seed.unwrap_or_else(|| events.host().random());
            // Captures begin with the life of the node.
            let now_ns = events.now().0;
            let captures = self.captures.map(|it| CaptureTime { loop_ns: now_ns, ..it });
            let secret = secret_of(events.host())?;
            let registry = self.registry.clone();
            let all = Fanout::default();
            node.driver = driver(self.engine, (seed, captures), registry, (secret, all));
        }
        Ok(node)
    }
}

/// The engines that have work in this program.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Has {
    pub(crate) nodes: bool,
    pub(crate) components: bool,
    /// There is an entry component, with which the others end.
    pub(crate) entry: bool,
    pub(crate) packets: bool,
}

/// The driver of a graph.
pub(crate) fn driver(
    kind: EngineKind,
    (seed, captures): (u64, Option<CaptureTime>),
    registry: Registry,
    (hash_secret, fanout): (Secret, Fanout),
) -> Driver {
    let default = engine::Options::default();
    let options =
        engine::Options { kind, seed, captures, registry, hash_secret, fanout, ..default };
    Driver::new(Engine::new(options))
}

/// The secret with which the tables of a graph hash keys.
pub(crate) fn secret_of(host: &mut dyn Host) -> Result<Secret, Error> {
    host.hash_secret().map_err(Error::no_random)
}
