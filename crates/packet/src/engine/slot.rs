//! The places of apps and links in an engine.

use std::any::Any;
use std::os::fd::RawFd;
use std::rc::Rc;

use tidemill_stat::Registry;

use super::meters::{AppMeters, LinkMeters};
use crate::app::{Bell, Instance, Io};
use crate::compiled::KernelPart;
use crate::flags::Flag;
use crate::graph::AppSpec;
use crate::kernel::table::Table;
use crate::kernel::table::spec::TableWriter;
use crate::kernel::{Memory, Running};
use crate::link::{Link, Ring};

/// The place of one app: outlives the instances that fail in it.
pub(super) struct Slot {
    pub name: String,
    /// Nothing while it waits for its restart.
    pub instance: Option<Instance>,
    /// The empty place of the one that failed: the next has the same address.
    pub vacant: Option<Instance>,
    /// The tables of a failed app that the program writes: its successor takes them over.
    pub kept: Vec<Rc<Table>>,
    /// What an app that was killed has left for its successor.
    pub left: Option<Box<dyn Any>>,
    /// Boxed, as generated code knows its address.
    pub io: Box<Io>,
    /// The bell of a source that has one.
    pub bell: Option<Bell>,
    /// The app is to be pulled. Shared with its notifiers.
    pub wake: Flag,
    /// Packets wait for the app; set by links as long as it runs.
    pub waiting: Flag,
    /// The links that notify it.
    pub feeds: Vec<usize>,
    /// Packets are pushed into it.
    pub pushes: bool,
    /// It pulls from inputs of its own.
    pub takes: bool,
    /// It has no outputs.
    pub is_sink: bool,
    /// It will never bring a packet again.
    pub done: bool,
    /// That is because of a fault.
    pub is_broken: bool,
    /// The end of its sleep; `MAX`: none. So too the next two.
    pub wake_at_ns: u64,
    pub tick_at_ns: u64,
    pub restart_at_ns: u64,
    pub tick_every_ns: u64,
    pub started_ns: u64,
    /// Faults in a row.
    pub faults_in_a_row: u32,
    pub restarts: u64,
    /// The counters of apps that have ended here.
    pub counts_before: Vec<(String, u64)>,
    /// Packets of former links.
    pub packets_before: u64,
    /// The time it took in the breath that is being measured, and in all.
    pub breath_ns: u64,
    pub spent_ns: u64,
    pub meters: AppMeters,
}

impl Slot {
    pub fn new(spec: &AppSpec, io: Box<Io>, meters: AppMeters) -> Slot {
        Slot {
            name: spec.name.clone(),
            instance: None,
            vacant: None,
            kept: Vec::new(),
            left: None,
            bell: None,
            io,
            wake: Flag::spare(),
            waiting: Flag::spare(),
            feeds: Vec::new(),
            pushes: false,
            takes: false,
            is_sink: false,
            done: false,
            is_broken: false,
            wake_at_ns: u64::MAX,
            tick_at_ns: u64::MAX,
            restart_at_ns: u64::MAX,
            tick_every_ns: 0,
            started_ns: 0,
            faults_in_a_row: 0,
            restarts: 0,
            counts_before: Vec::new(),
            packets_before: 0,
            breath_ns: 0,
            spent_ns: 0,
            meters,
        }
    }

    /// Whether the app is not out of order.
    pub fn runs(&self) -> bool {
        self.instance.is_some() && !self.is_broken
    }

    /// Whether it brings nothing by itself any more: it has returned so, or it sleeps until packets
    /// arrive for it.
    pub fn is_done(&self) -> bool {
        let sleeps = !self.wake.is_set() && self.wake_at_ns == u64::MAX;
        self.done || self.takes && sleeps && self.instance.is_some() && self.descriptor().is_none()
    }

    /// Reads the tick period of the app, from now on.
    pub fn set_ticks(&mut self, now_ns: u64) {
        let every = self.instance.as_ref().and_then(Instance::tick_every);
        let every_ns = every.map_or(0, |every| every.as_nanos() as u64).max(1);
        if every.is_some() && every_ns == self.tick_every_ns && self.tick_at_ns != u64::MAX {
            // The row of faults continues.
            return;
        }
        self.tick_every_ns = every_ns;
        self.tick_at_ns = match every {
            Some(_) => now_ns.saturating_add(self.tick_every_ns),
            None => u64::MAX,
        };
    }

    /// Takes in an app that has just been made.
    pub fn install(&mut self, instance: Instance, now_ns: u64) {
        self.tick_at_ns = u64::MAX;
        self.wake_at_ns = u64::MAX;
        self.restart_at_ns = u64::MAX;
        self.started_ns = now_ns;
        self.kept.clear();
        self.left = None;
        (self.done, self.is_broken) = (false, false);
        self.bell = instance.bell();
        let seat = self.vacant.take();
        self.instance = Some(match seat {
            Some(mut seat) => match seat.adopt(instance) {
                Ok(()) => seat,
                Err(instance) => instance,
            },
            None => instance,
        });
        self.set_ticks(now_ns);
    }

    /// Ends an app that has failed, or declined its config: no packet wakes it any more.
    pub fn vacate(&mut self) {
        let is_kept = |table: &Rc<Table>| table.spec().writer == TableWriter::Program;
        self.kept = self.tables().iter().filter(|table| is_kept(table)).cloned().collect();
        if let Some(mut instance) = self.instance.take() {
            instance.vacate();
            self.vacant = Some(instance);
        }
        self.bell = None;
        self.rings().for_each(|ring| ring.bind_waiting(None));
        self.waiting.set(false);
    }

    /// From now on packets on its links wait for it.
    pub fn arm(&self) {
        let is_armed = self.pushes && self.instance.is_some();
        self.rings().for_each(|ring| ring.bind_waiting(is_armed.then_some(&self.waiting)));
        self.waiting.set(is_armed && self.waits());
    }

    /// Whether packets lie on any of its links.
    pub fn waits(&self) -> bool {
        self.rings().any(|ring| !ring.is_empty())
    }

    fn rings(&self) -> impl Iterator<Item = &Ring> {
        self.io.inputs.iter().filter_map(|input| input.ring())
    }

    /// The instance, or the place that its successor will have.
    pub fn place(&self) -> Option<&Instance> {
        self.instance.as_ref().or(self.vacant.as_ref())
    }

    /// The memory of the kernel of an app that is given as code.
    pub fn memory(&self) -> Option<Rc<Memory>> {
        Some(self.instance.as_ref()?.kernel()?.memory().clone())
    }

    /// Its tables: those of the running app, or those that its successor takes over.
    pub fn tables(&self) -> &[Rc<Table>] {
        let running = self.instance.as_ref().and_then(Instance::kernel);
        running.map_or(&self.kept, |running| &running.memory().tables)
    }

    /// The kernel of an app that is given as code, and where its memory is.
    pub fn kernel(&self) -> Option<KernelPart> {
        kernel_of(self.instance.as_ref()?)
    }

    /// What generated code must know of an app that is made anew.
    pub fn known(&self) -> crate::compiled::KnownApp {
        (self.kernel(), self.bell.as_ref().map(Bell::address))
    }

    pub fn due_ns(&self) -> u64 {
        self.wake_at_ns.min(self.tick_at_ns).min(self.restart_at_ns)
    }

    pub fn descriptor(&self) -> Option<RawFd> {
        if self.done { None } else { self.instance.as_ref()?.descriptor() }
    }

    /// The app's own counters, with those of its predecessors, and its drops.
    pub fn counts(&self) -> Vec<(String, u64)> {
        let own = self.instance.as_ref().and_then(|instance| instance.report().ok());
        let own = own.unwrap_or_default().into_iter().map(|(name, n)| (name.to_owned(), n));
        let code = self.instance.as_ref().and_then(Instance::kernel);
        let code = code.map(Running::counts).unwrap_or_default();
        let mut counts: Vec<(String, u64)> = own.chain(code).collect();
        add(&mut counts, self.counts_before.iter().cloned());
        let drops = self.io.drops.iter().map(|(why, count)| (format!("drop_{why}"), *count));
        counts.extend(drops);
        counts
    }

    /// Keeps the counters of an app that is about to end: all but those of what ends with it.
    pub fn keep_counts(&mut self) {
        let Some(instance) = &self.instance else { return };
        let gauges = instance.gauges();
        let own = instance.report().unwrap_or_default();
        let own = own.into_iter().filter(|(name, _)| !gauges.contains(name));
        let code = instance.kernel().map(Running::lasting_counts).unwrap_or_default();
        let ended = own.map(|(name, count)| (name.to_owned(), count)).chain(code);
        add(&mut self.counts_before, ended);
    }

    /// Packets it took in, or, if it has no inputs, those it sent.
    pub fn packets(&self) -> u64 {
        self.packets_before + self.packets_of_links()
    }

    /// Packets of the present links.
    pub fn packets_of_links(&self) -> u64 {
        if self.io.inputs.is_empty() {
            let rings = self.io.outputs.iter().filter_map(|output| output.ring());
            rings.map(|ring| ring.written()).sum()
        } else {
            let rings = self.io.inputs.iter().filter_map(|input| input.ring());
            rings.map(|ring| ring.written() - ring.len()).sum()
        }
    }

    pub fn publish(&mut self, registry: &Registry) {
        let counts = self.counts();
        let packets = self.packets();
        self.meters.publish(registry, &self.name, packets, self.restarts, &counts);
    }
}

/// Adds counts by name.
fn add(sums: &mut Vec<(String, u64)>, more: impl Iterator<Item = (String, u64)>) {
    for (name, count) in more {
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => sums.push((name, count)),
        }
    }
}

/// The kernel of an app that is given as code, and where its memory is.
pub(super) fn kernel_of(instance: &Instance) -> Option<KernelPart> {
    let running = instance.kernel()?;
    let memory = running.memory();
    Some(KernelPart {
        kernel: running.kernel().clone(),
        words: memory.words.as_ptr() as usize,
        tables: memory.tables.iter().map(|table| table.addresses()).collect(),
    })
}

/// A link of the graph and its counters.
pub(super) struct LinkSlot {
    pub link: Link,
    pub meters: LinkMeters,
}
