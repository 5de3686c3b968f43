//! From the graph that runs to another, by difference.
//!
//! Apps of the same name, type and config continue unchanged; those with another config are offered
//! it, and made anew if they decline; the others end or begin. Links of the same name keep their
//! ring with all that is queued in it. All new apps are made before anything is changed, and those
//! with another config check that they can have what it names, so a graph that cannot run leaves
//! the old one running.

use std::fmt;
use std::rc::Rc;

use super::plan::{Fate, Origin, Plan, Shape};
use super::slot::{LinkSlot, Slot};
use super::{Engine, by_name, construct, ports_of};
use crate::app::{Direction, Fault, Input, Instance, Io, Output, Pacing, Ports, Reconfigured};
use crate::compiled::{BreathStep, Native};
use crate::engine::meters::{AppMeters, LinkMeters};
use crate::flags::Flag;
use crate::graph::{AppSpec, Graph, Problem};
use crate::kernel::table::Table;
use crate::link::Link;
use tidemill_stdx::hash::Map;

/// What a change of graphs did, by the names of apps and links.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Changes {
    /// Apps that begin.
    pub started: Vec<String>,
    /// Apps that continue unchanged.
    pub kept: Vec<String>,
    /// Apps that continue with another config.
    pub reconfigured: Vec<String>,
    /// Apps that were made anew.
    pub restarted: Vec<String>,
    /// Apps that end.
    pub stopped: Vec<String>,
    /// Links that begin.
    pub links_added: Vec<String>,
    /// Links that end, with what was queued in them.
    pub links_removed: Vec<String>,
}

/// Why a graph was not taken. The old one continues.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is wrong.
    Invalid(Vec<Problem>),
    /// Apps could not start: their names, and why.
    Faults(Vec<(String, Fault)>),
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = match self {
            Refused::Invalid(problems) => problems.iter().map(Problem::to_string).collect(),
            Refused::Faults(faults) => {
                faults.iter().map(|(app, fault)| format!("{app}: {fault}")).collect()
            }
        };
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for Refused {}

impl Engine {
    /// Runs `graph` from now on. Code for it is made first, while nothing runs: see
    /// [`Engine::prepare`] for a way that does not wait.
    ///
    /// # Errors
    /// The graph is wrong, or an app could not start: nothing has changed then.
    pub fn configure(&mut self, graph: Graph) -> Result<Changes, Refused> {
        self.next = None;
        let plan = self.plan(graph)?;
        let code = self.compile_plan(&plan);
        Ok(self.apply(plan, code))
    }

    /// All that can be done for a graph without touching the one that runs.
    pub(super) fn plan(&self, graph: Graph) -> Result<Plan, Refused> {
        let problems = graph.verify();
        if !problems.is_empty() {
            return Err(Refused::Invalid(problems));
        }
        let fates = self.fates(&graph)?;
        let io =
            |fate: &Fate| fate.place().is_none().then(|| Box::new(Io::new(self.common.clone())));
        let ios = fates.iter().map(io).collect();
        let names = by_name(&self.graph);
        let links = graph.links.iter().map(|link| {
            let name = graph.link_name(link);
            match names.get(&name) {
                Some(&at) => Origin::Was(at),
                None => {
                    let meters = LinkMeters::new(&self.registry, &name);
                    Origin::New(LinkSlot { link: Link::new(), meters })
                }
            }
        });
        let links = links.collect();
        let shape = Shape::of(&graph);
        Ok(Plan { graph, fates, ios, links, shape })
    }

    /// Changes to what was planned, between two breaths.
    pub(super) fn apply(&mut self, plan: Plan, code: Option<Native>) -> Changes {
        let Plan { graph, fates, ios, links, shape } = plan;
        let mut changes = Changes::default();
        self.flush_ending(&fates);
        let old = std::mem::replace(&mut self.graph, graph);
        self.detach();
        self.change_links(&old, links, &mut changes);
        self.change_apps(&old, fates, ios, &mut changes);
        (self.code, self.coming) = (code, None);
        self.attach(shape);
        self.check_code();
        self.descriptors_changed = true;
        self.due_ns = 0;
        changes
    }

    /// Decides for each app of the new graph, and makes those that begin.
    fn fates(&self, graph: &Graph) -> Result<Vec<Fate>, Refused> {
        let old: Map<&str, usize> =
            self.graph.apps.iter().enumerate().map(|(at, app)| (app.name.as_str(), at)).collect();
        let (mut fates, mut faults) = (Vec::new(), Vec::new());
        for spec in &graph.apps {
            let before = old.get(spec.name.as_str()).copied();
            let same = before.filter(|&at| self.graph.apps[at].kind == spec.kind);
            match same {
                Some(at) if self.graph.apps[at].config == spec.config => {
                    fates.push(Fate::Keep(at));
                }
                _ => match self.changed(spec, before, same) {
                    Ok(fate) => fates.push(fate),
                    Err(fault) => faults.push((spec.name.clone(), fault)),
                },
            }
        }
        if faults.is_empty() { Ok(fates) } else { Err(Refused::Faults(faults)) }
    }

    /// Decides for an app that is new or has another config; `same` is the one of its name if that
    /// has its type.
    fn changed(
        &self,
        spec: &AppSpec,
        before: Option<usize>,
        same: Option<usize>,
    ) -> Result<Fate, Fault> {
        if let Some(at) = same
            && let Some(instance) = &self.slots[at].instance
        {
            return instance.can_take(&spec.config).map(|()| Fate::Offer(at));
        }
        let instance = construct(spec, &self.common, (self.tables_of(before), None))?;
        Ok(Fate::Begin(instance, before))
    }

    /// The tables of an app, for the one that takes its place. Both have them until that begins.
    fn tables_of(&self, app: Option<usize>) -> Vec<Rc<Table>> {
        app.map_or_else(Vec::new, |at| self.slots[at].tables().to_vec())
    }

    /// Lets apps that end send what they hold back, while their links are there.
    fn flush_ending(&mut self, fates: &[Fate]) {
        for at in 0..self.order.len() {
            let index = self.order[at];
            let goes_on = |fate: &Fate| match *fate {
                Fate::Keep(place) | Fate::Offer(place) => place == index,
                Fate::Begin(..) => false,
            };
            if !fates.iter().any(goes_on) {
                self.flush_app(index);
            }
        }
    }

    /// Takes the rings out of all ports.
    fn detach(&mut self) {
        for slot in &mut self.slots {
            slot.packets_before = slot.packets();
            slot.io.inputs.clear();
            slot.io.outputs.clear();
        }
    }

    fn change_links(&mut self, old: &Graph, links: Vec<Origin>, changes: &mut Changes) {
        let mut before: Vec<Option<LinkSlot>> = self.links.drain(..).map(Some).collect();
        for (at, link) in links.into_iter().enumerate() {
            self.links.push(match link {
                Origin::Was(at) => before[at].take().expect("each link has one name"),
                Origin::New(slot) => {
                    changes.links_added.push(self.graph.link_name(&self.graph.links[at]));
                    slot
                }
            });
        }
        for (at, slot) in before.into_iter().enumerate() {
            if let Some(slot) = slot {
                self.stats.dropped_unlinked += slot.link.ring().len();
                changes.links_removed.push(old.link_name(&old.links[at]));
            }
        }
    }

    /// Stops apps that are not in the new graph, or are made anew.
    fn stop_apps(&mut self, old: &Graph, fates: &[Fate], changes: &mut Changes) {
        let mut is_kept = vec![false; old.apps.len()];
        fates.iter().filter_map(Fate::place).for_each(|at| is_kept[at] = true);
        for (at, _) in is_kept.iter().enumerate().filter(|(_, kept)| !**kept) {
            self.stop_app(at, |_| {});
            changes.stopped.push(old.apps[at].name.clone());
        }
        let replaced = |fate: &Fate| match fate {
            Fate::Begin(_, before) => *before,
            _ => None,
        };
        fates.iter().filter_map(replaced).for_each(|at| self.stop_app(at, |_| {}));
    }

    fn change_apps(
        &mut self,
        old: &Graph,
        fates: Vec<Fate>,
        ios: Vec<Option<Box<Io>>>,
        changes: &mut Changes,
    ) {
        self.stop_apps(old, &fates, changes);
        let mut before: Vec<Option<Slot>> = self.slots.drain(..).map(Some).collect();
        let now_ns = self.common.now_ns.get();
        for (index, (fate, io)) in fates.into_iter().zip(ios).enumerate() {
            let spec = &self.graph.apps[index];
            let place = fate.place().and_then(|at| before[at].take());
            let mut slot = place.unwrap_or_else(|| {
                let io = io.unwrap_or_else(|| Box::new(Io::new(self.common.clone())));
                Slot::new(spec, io, AppMeters::new(&self.registry, &spec.name))
            });
            settle(&mut slot, spec, fate, now_ns, changes);
            slot.pushes = spec.kind.pushes();
            slot.takes = takes(spec.kind);
            slot.is_sink = spec.kind.ports(Direction::Output).next().is_none();
            if slot.is_sink {
                slot.meters.measure_latency(&self.registry, &slot.name);
            }
            self.slots.push(slot);
        }
    }

    /// Gives all ports their rings, and binds what follows from the graph.
    fn attach(&mut self, shape: Shape) {
        let Shape { order, pulls, steps, flags } = shape;
        for (at, step) in steps.iter().enumerate() {
            let flag = Flag::new(&flags, at);
            match *step {
                BreathStep::Pull(app) => {
                    flag.set(self.slots[app].wake.is_set());
                    self.slots[app].wake = flag;
                }
                BreathStep::Push(app) => self.slots[app].waiting = flag,
            }
        }
        (self.order, self.pulls, self.flags) = (order, pulls, flags);
        let count = self.graph.apps.len();
        let mut inputs: Vec<Vec<usize>> = vec![Vec::new(); count];
        let mut outputs = inputs.clone();
        for (at, link) in self.graph.links.iter().enumerate() {
            inputs[link.to.app].push(at);
            outputs[link.from.app].push(at);
        }
        for index in 0..count {
            let ring =
                |port: &(String, Option<usize>)| port.1.map(|link| self.links[link].link.address());
            let into = ports_of(&self.graph, index, Direction::Input, &inputs[index]);
            let out = ports_of(&self.graph, index, Direction::Output, &outputs[index]);
            let into: Vec<_> = into.iter().map(|port| Input { ring: ring(port), end: 0 }).collect();
            let out: Vec<_> = out.iter().map(|port| Output { ring: ring(port) }).collect();
            let slot = &mut self.slots[index];
            (slot.io.inputs, slot.io.outputs) = (into, out);
            slot.packets_before = slot.packets_before.saturating_sub(slot.packets_of_links());
        }
        self.sinks = (0..count).filter(|&at| self.slots[at].is_sink).collect();
        self.bind_notifications();
        self.slots.iter().for_each(Slot::arm);
        for index in 0..count {
            let Some(mut instance) = self.slots[index].instance.take() else { continue };
            let linked = self.link_up(index, &mut instance, &inputs[index], &outputs[index]);
            self.slots[index].instance = Some(instance);
            if let Err(fault) = linked {
                self.slots[index].io.fault = Some(fault);
                self.failed(index);
            }
        }
    }

    /// Gives an app its links.
    pub(super) fn link_up(
        &self,
        index: usize,
        instance: &mut Instance,
        inputs: &[usize],
        outputs: &[usize],
    ) -> Result<(), Fault> {
        let names = |direction, links: &[usize]| -> Vec<String> {
            let ports = ports_of(&self.graph, index, direction, links).into_iter();
            ports.map(|(name, link)| link.map_or(String::new(), |_| name)).collect()
        };
        let inputs = names(Direction::Input, inputs);
        let outputs = names(Direction::Output, outputs);
        instance.linked(&Ports { inputs: &inputs, outputs: &outputs })
    }
}

/// Continues or begins an app of the new graph in its slot, and records which.
fn settle(slot: &mut Slot, spec: &AppSpec, fate: Fate, now_ns: u64, changes: &mut Changes) {
    let name = spec.name.clone();
    match fate {
        Fate::Keep(_) => changes.kept.push(name),
        Fate::Offer(_) => match offer(slot, &spec.config) {
            Reconfigured::Kept => {
                // With a new config a source that was done may have more.
                (slot.done, slot.is_broken) = (false, false);
                slot.set_ticks(now_ns);
                slot.wake.set(first_wake(spec.kind));
                changes.reconfigured.push(name);
            }
            Reconfigured::Restart => {
                // Its files and sockets are free before it takes them again; if it cannot
                // start now although it could, it is treated like any app that failed.
                slot.restart_at_ns = now_ns;
                changes.restarted.push(name);
            }
        },
        Fate::Begin(instance, at) => {
            // It has an address of its own already, which code may know.
            slot.vacant = None;
            slot.install(instance, now_ns);
            let list = if at.is_some() { &mut changes.restarted } else { &mut changes.started };
            list.push(name);
            slot.wake.set(first_wake(spec.kind));
        }
    }
}

/// Whether an app takes what it brings from inputs of its own.
fn takes(kind: &crate::app::Declaration) -> bool {
    kind.pulls && kind.ports(Direction::Input).any(|port| port.pacing == Pacing::Pull)
}

/// Whether an app is pulled before anything has arrived for it.
fn first_wake(kind: &crate::app::Declaration) -> bool {
    kind.pulls && (kind.begins || !takes(kind))
}

/// Offers a new config; an app that declines ends here.
fn offer(slot: &mut Slot, config: &crate::app::Config) -> Reconfigured {
    let Some(instance) = &mut slot.instance else { return Reconfigured::Restart };
    match instance.reconfigure(config) {
        Ok(Reconfigured::Kept) => Reconfigured::Kept,
        Ok(Reconfigured::Restart) => {
            // A panic while it ends changes nothing: it ends.
            let _ = instance.stop(&mut slot.io);
            slot.vacate();
            Reconfigured::Restart
        }
        Err(_) => {
            slot.vacate();
            Reconfigured::Restart
        }
    }
}
