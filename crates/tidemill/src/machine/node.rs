//! A node: the unit of deployment. Its rules are in the fleet, by its number; the rest is here.
//!
//! ```text
//! Machine.node      the node whose turn it is
//! Machine.others    [idle] [0] [1] [2] ...    the others; the slot of that one is empty
//! ```
//! A run of one node has just that, in the scope of the loop. Of several, each has a scope of its
//! own for each of its lives, and the loop turns the machine to it before anything of it runs; what
//! concerns no node, such as a script, finds a node that is idle.

use tidemill_event::{Host, Loop, Scope};
use tidemill_overlog::fleet::NodeId;
use tidemill_packet::drive::{self, Driver};
use tidemill_packet::engine::{self, Engine};
use tidemill_packet::graph::Graph;
use tidemill_proc::fault::Ended;
use tidemill_proc::{Runner, arm};
use tidemill_stat::Registry;

use super::{Machine, components, packets};
use crate::borders::{self, Borders, Checked};
use crate::components::system::Systems;
use crate::script::Victim;

/// The engines of one node, but for rules.
pub(crate) struct Node {
    /// Its number in the fleet.
    pub(crate) id: NodeId,
    /// Its processes.
    pub(crate) runner: Runner,
    /// What the system offers to its components.
    pub(crate) systems: Systems,
    /// Its packet graph.
    pub(crate) driver: Driver,
    /// What goes from one engine to another.
    pub(crate) borders: Borders,
    /// Its main part has come to its end.
    pub(crate) is_over: bool,
    /// How its entry component did, once the run is over; `None` if it was stopped.
    pub(crate) how: Option<Ended>,
}

impl Node {
    /// A node without a graph.
    pub(crate) fn new(id: NodeId, runner: Runner, systems: Systems) -> Node {
        Node {
            id,
            runner,
            systems,
            driver: Driver::new(Engine::new(engine::Options::default())),
            borders: Borders::default(),
            is_over: false,
            how: None,
        }
    }

    /// Joins its engines: what components reach of schemas and rules, and packets of rules.
    ///
    /// # Errors
    /// No random numbers.
    pub(crate) fn join(
        &mut self,
        borders: &Checked,
        graph: Option<&Graph>,
        registry: &Registry,
        host: &mut dyn Host,
    ) -> Result<(), String> {
        let secret = host.hash_secret().map_err(|error| format!("no random numbers: {error}"))?;
        self.systems.know(&borders.schemas);
        self.borders = Borders::new(borders, graph, registry, secret);
        self.borders.offer(self.runner.worker());
        Ok(())
    }
}

/// Where a node is when its turn is not.
#[derive(Default)]
struct Slot {
    node: Option<Box<Node>>,
    /// The scope of its life, while it lives.
    scope: Option<Scope>,
}

/// The nodes whose turn it is not.
pub(super) struct Others {
    /// The first is that of what is no node.
    slots: Vec<Slot>,
    /// The slot of the node whose turn it is.
    current: usize,
    /// The slot of each scope; `None` if that has ended.
    scopes: Vec<Option<usize>>,
}

impl Others {
    /// None.
    pub(super) fn none() -> Others {
        Others { slots: vec![Slot::default()], current: 0, scopes: vec![Some(0)] }
    }
}

fn slot(NodeId(id): NodeId) -> usize {
    id as usize + 1
}

impl Machine {
    /// Has the loop turn the machine to the node that something is about.
    pub(crate) fn follow(events: &mut Loop<Machine>) {
        events.on_switch(|machine: &mut Machine, Scope(scope)| {
            let slot = machine.others.scopes.get(scope as usize).copied().flatten();
            slot.inspect(|&slot| machine.turn_to(slot)).is_some()
        });
    }

    fn turn_to(&mut self, slot: usize) {
        let Others { slots, current, .. } = &mut self.others;
        if let Some(node) = slots.get_mut(slot).and_then(|slot| slot.node.take()) {
            slots[*current].node = Some(std::mem::replace(&mut self.node, node));
            *current = slot;
        }
    }

    /// Adds a node, or a new life of one; the scope of that.
    pub(crate) fn add_node(&mut self, node: Node) -> Scope {
        let slot = slot(node.id);
        let Others { slots, scopes, .. } = &mut self.others;
        if slots.len() <= slot {
            slots.resize_with(slot + 1, Slot::default);
        }
        let scope = Scope(scopes.len() as u32);
        scopes.push(Some(slot));
        slots[slot] = Slot { node: Some(Box::new(node)), scope: Some(scope) };
        scope
    }

    /// The scope of a node that has one of its own, and lives.
    pub(super) fn scope_of(&self, id: NodeId) -> Option<Scope> {
        self.others.slots.get(slot(id))?.scope
    }

    /// Whether nothing is under way between the engines of all nodes.
    pub(super) fn borders_are_idle(&self) -> bool {
        let others = self.others.slots.iter().filter_map(|slot| slot.node.as_ref());
        others.chain([&self.node]).all(|node| node.borders.are_idle())
    }

    /// Whether nodes have scopes of their own.
    pub(crate) fn has_scopes(&self) -> bool {
        self.others.scopes.len() > 1
    }

    /// Calls `f` with the machine turned to a node; `None` if that has no engines but rules, or
    /// does not live.
    pub(crate) fn at_node<R>(
        &mut self,
        id: NodeId,
        f: impl FnOnce(&mut Machine) -> R,
    ) -> Option<R> {
        if !self.has_scopes() {
            return (self.node.id == id).then(|| f(self));
        }
        self.scope_of(id)?;
        let before = self.others.current;
        self.turn_to(slot(id));
        let result = f(self);
        self.turn_to(before);
        Some(result)
    }

    /// Whether the main parts of all nodes that live have ended, and there are some.
    pub(super) fn all_are_over(&self) -> bool {
        let others = self.others.slots.iter().skip(1).filter_map(|slot| slot.node.as_ref());
        let current = (self.others.current > 0).then_some(&self.node);
        let mut living = others.chain(current).peekable();
        living.peek().is_some() && living.all(|node| node.is_over)
    }
}

/// Starts the graph and the components of the node whose turn it is.
///
/// # Errors
/// The graph does not start here.
pub(crate) fn begin(machine: &mut Machine, events: &mut Loop<Machine>) -> Result<(), String> {
    let Some(maker) = machine.maker.clone() else { return Ok(()) };
    if machine.node.borders.have_files() {
        let folder = maker.components.graph_folder(machine.node.id)?;
        borders::open_node_files(machine, events, Some(&folder), maker.existing)?;
    }
    if let Some(graph) = &maker.parts.graph {
        borders::devices::open(machine, events)?;
        packets::configure(machine, events, graph.clone())?;
    }
    // What is wrong at the start has been reported, and is how the node ended.
    if maker.parts.components.is_some() {
        match maker.parts.has_entry.then(|| machine.node.runner.worker().start()) {
            None | Some(Ok(())) => arm(machine, events),
            Some(Err(_)) => machine.node.is_over = true,
        }
    }
    Ok(())
}

/// Has a component or an app of a node fail.
///
/// # Errors
/// The node has none of that name, as text.
pub(crate) fn kill(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    id: NodeId,
    victim: &Victim,
) -> Result<(), String> {
    let scope = machine.scope_of(id).ok_or("is not alive, or has rules only")?;
    let killed = events.within(machine, scope, |machine, events| match victim {
        Victim::Component(path) => {
            let is_killed = machine.node.runner.worker().kill(path);
            arm(machine, events);
            is_killed
        }
        Victim::App(name) => {
            let is_killed = machine.node.driver.engine.kill(name);
            drive::wake(machine, events);
            is_killed
        }
    });
    match (killed, victim) {
        (Some(true), _) => Ok(()),
        (_, Victim::Component(path)) => Err(format!("has no component {path}")),
        (_, Victim::App(name)) => Err(format!("has no app {name} that runs")),
    }
}

/// Ends a node without notice. What it had open is closed; packets that it had are counted as lost.
pub(crate) fn crash(machine: &mut Machine, events: &mut Loop<Machine>, id: NodeId) {
    let Some(scope) = machine.scope_of(id) else { return };
    events.within(machine, scope, |machine, events| {
        components::clear(machine, events);
        machine.lose_packets();
        borders::devices::close(machine, events);
        // Files have what was written until then.
        borders::finish_node_files(machine);
    });
    events.end(scope);
    let Others { slots, scopes, .. } = &mut machine.others;
    scopes[scope.0 as usize] = None;
    slots[slot(id)] = Slot::default();
}
