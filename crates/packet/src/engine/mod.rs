//! A graph that runs.
//!
//! A *breath* pulls every source that is awake, then lets every app push that has packets waiting,
//! in topological order. Ticks, restarts and ends of sleeps whose time has come are done before the
//! first breath of a batch. There are two ways to breathe: a
//! plain loop that calls apps one after the other, and native code made of the whole graph (see
//! `compiled`), which is compared with the loop. Both do the same, and either may take over from
//! the other between two breaths.
//!
//! ```
//! use tidemill_packet::engine::{Engine, EngineKind, Options, Rest};
//! use tidemill_packet::graph::Graph;
//!
//! let mut engine = Engine::new(Options { kind: EngineKind::Compiled, ..Options::default() });
//! engine.configure(Graph::new())?;
//! // A million breaths, whether anything moves or not; or until nothing moves any more.
//! assert_eq!(engine.breathe_times(1_000_000), Rest::Finished);
//! let (rest, breaths) = engine.breathe_while_busy(1_000_000, u64::MAX);
//! assert_eq!((rest, breaths), (Rest::Finished, 1));
//! # Ok::<(), tidemill_packet::engine::Refused>(())
//! ```
//!
//! | part | holds |
//! |---|---|
//! | `breathe` | breaths by the loop and by the code, and what follows them |
//! | `native` | from the graph to code, beside the running engine if requested; calls of the code |
//! | `configure` | from one graph to the next, by difference |
//! | `flush` | what apps hold back, sent before they end |
//! | `plan` | a graph that is ready to run |
//! | `notify` | which app is woken by packets on which link, bound when the graph is configured |
//! | `supervise` | apps that failed: back-off and restart |
//! | `tables` | tables of kernels, for the program around the graph |
//! | `meters` | counters in mapped files |
//! | `times`, `stopwatch` | the time of each app, while it is read |
//!
//! An engine knows no clock: its driver ([`drive`](crate::drive)) passes it the time before each
//! batch of breaths.

mod breathe;
mod configure;
mod flush;
mod meters;
mod native;
mod note;
mod notify;
mod outside;
mod plan;
mod slot;
mod stopwatch;
mod supervise;
mod tables;
mod times;

use std::any::Any;
use std::cell::Cell;
use std::os::fd::RawFd;
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::mpsc::Receiver;

use tidemill_stat::Registry;
use tidemill_stdx::hash::Map;
use tidemill_stdx::keyed::Secret;

pub use crate::app::CaptureTime;
use crate::app::{Bell, Common, Count, Direction, Fault, Instance};
use crate::compiled::{Frame, Native};
use crate::fanout::Fanout;
use crate::flags::{Flags, flags};
use crate::graph::Graph;
use crate::kernel::Memory;
use crate::kernel::table::Table;
use crate::link::{LinkStats, Targets};
use crate::packet::{Packet, Pool, PoolStats};

pub use configure::{Changes, Refused};
pub use meters::EngineStats;
pub use native::ListingError;
pub use note::Note;
pub use tables::TablePlace;

use meters::Meters;
use plan::Next;
use slot::{LinkSlot, Slot};
use stopwatch::Stopwatch;

/// How breaths are taken.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EngineKind {
    /// By native code made of the graph.
    #[default]
    Compiled,
    /// By a loop that calls one app after the other.
    Dispatch,
}

/// How an engine is made.
#[derive(Clone, Debug)]
pub struct Options {
    /// How breaths are taken.
    pub kind: EngineKind,
    /// Keep the text of native code, for [`Engine::listing`].
    pub listing: bool,
    /// Packets there are at most.
    pub packets_max: usize,
    /// What random numbers of apps follow from.
    pub seed: u64,
    /// The seed of hashes in tables of kernels, whose keys come from outside.
    pub hash_secret: Secret,
    /// Packets of captures are due at their times; without it, as fast as they are taken.
    pub captures: Option<CaptureTime>,
    /// The part of the flows that this instance of the graph has.
    pub fanout: Fanout,
    /// Where its counters are.
    pub registry: Registry,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kind: EngineKind::default(),
            listing: false,
            packets_max: 1 << 20,
            seed: 1,
            hash_secret: Secret::of_process(),
            captures: None,
            fanout: Fanout::default(),
            registry: Registry::in_memory(),
        }
    }
}

/// The state of an engine after a breath.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rest {
    /// Packets moved, or a source may have more.
    Busy,
    /// Nothing moved, but a source must be polled; no later than the time, if any.
    Poll(Option<u64>),
    /// Nothing will move before this time, unless something arrives from outside.
    Until(u64),
    /// Nothing will move unless something arrives from outside.
    Asleep,
    /// All sources are done, all links are empty.
    Finished,
}

/// A packet from outside met no port.
#[derive(Debug)]
pub struct NoSuchPort(pub Packet);

/// A graph that runs.
pub struct Engine {
    common: Rc<Common>,
    graph: Graph,
    /// By position in the graph.
    slots: Vec<Slot>,
    /// By position in the graph.
    links: Vec<LinkSlot>,
    /// Apps in the order of a breath.
    order: Vec<usize>,
    /// Sources in that order.
    pulls: Vec<usize>,
    /// Sinks, whose latency is measured.
    sinks: Vec<usize>,
    /// Flags of what has something to do, in the order of a breath.
    flags: Flags,
    /// How breaths are taken, and what code is made with.
    kind: EngineKind,
    listing: bool,
    /// The graph as code; without it the loop is used.
    code: Option<Native>,
    /// The memory of kernels that the code knows: it outlives the code, whatever their apps do.
    held: Vec<Rc<Memory>>,
    held_bells: Vec<Bell>,
    /// An app is no longer what the code was made of.
    is_stale: bool,
    /// A graph that is being compiled, to run next.
    next: Option<Next>,
    /// Code of the running graph that is being made.
    coming: Option<Receiver<Result<Native, tidemill_jit::Error>>>,
    /// What code and engine share; its address is in the code.
    frame: NonNull<Frame<Engine>>,
    /// The flags of the apps that links notify.
    #[allow(clippy::vec_box, reason = "rings point into the boxes, which must not move")]
    targets: Vec<Box<Targets>>,
    /// The earliest tick, restart or end of a sleep.
    due_ns: u64,
    notes: Vec<Note>,
    stats: EngineStats,
    meters: Meters,
    /// Measures the time of apps, while it is read.
    stopwatch: Option<Stopwatch>,
    registry: Registry,
    /// Descriptors may have been added or removed.
    descriptors_changed: bool,
}

impl Engine {
    /// An engine without apps.
    pub fn new(options: Options) -> Engine {
        let common = Common {
            pool: Pool::new(options.packets_max),
            now_ns: Cell::new(0),
            wall_ns: Cell::new(0),
            seed: options.seed,
            hash_secret: options.hash_secret,
            captures: options.captures,
            fanout: options.fanout,
        };
        Engine {
            common: Rc::new(common),
            graph: Graph::new(),
            slots: Vec::new(),
            links: Vec::new(),
            order: Vec::new(),
            pulls: Vec::new(),
            sinks: Vec::new(),
            flags: flags(0),
            kind: options.kind,
            listing: options.listing,
            code: None,
            held: Vec::new(),
            held_bells: Vec::new(),
            is_stale: false,
            next: None,
            coming: None,
            frame: NonNull::from(Box::leak(Box::new(Frame::new()))),
            targets: Vec::new(),
            due_ns: u64::MAX,
            notes: Vec::new(),
            stats: EngineStats::default(),
            meters: Meters::new(&options.registry),
            stopwatch: None,
            registry: options.registry,
            descriptors_changed: false,
        }
    }

    /// The graph it runs.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The time of the batch of breaths that begins.
    pub fn set_time(&mut self, now_ns: u64, wall_ns: i64) {
        self.common.now_ns.set(now_ns);
        self.common.wall_ns.set(wall_ns);
        self.common.pool.set_now(now_ns);
    }

    /// The batch has ended: notes how long packets took to their sinks.
    pub fn end_batch(&mut self, now_ns: u64) {
        for &index in &self.sinks {
            let slot = &mut self.slots[index];
            let oldest_ns = std::mem::replace(&mut slot.io.oldest_ns, u64::MAX);
            if oldest_ns != u64::MAX {
                slot.meters.latency(now_ns.saturating_sub(oldest_ns));
            }
        }
    }

    /// Puts a packet on the link to an input, as if the app at its other end had sent it, and
    /// notifies the apps it is for. The driver must be woken too: see
    /// [`drive::inject`](crate::drive::inject).
    ///
    /// # Errors
    /// There is no such link; the packet is returned.
    pub fn inject(&mut self, app: &str, port: &str, packet: Packet) -> Result<(), NoSuchPort> {
        let at = self.graph.find(app).and_then(|app| {
            self.graph.links.iter().position(|link| link.to.app == app && link.to.port == port)
        });
        match at {
            Some(at) => {
                self.links[at].link.ring().send(packet);
                Ok(())
            }
            None => Err(NoSuchPort(packet)),
        }
    }

    /// The descriptor of an app became ready: it is pulled again.
    pub(crate) fn wake(&mut self, index: usize) {
        if let Some(slot) = self.slots.get_mut(index)
            && !slot.done
        {
            slot.wake.set(true);
        }
    }

    /// The descriptors by which apps are woken, if they may have changed.
    pub(crate) fn take_descriptors(&mut self) -> Option<Vec<(usize, RawFd)>> {
        if !std::mem::take(&mut self.descriptors_changed) {
            return None;
        }
        let of = |(index, slot): (usize, &Slot)| Some((index, slot.descriptor()?));
        Some(self.slots.iter().enumerate().filter_map(of).collect())
    }

    /// Gives packets, for [`Engine::inject`] and for tests.
    pub fn pool(&self) -> &Pool {
        &self.common.pool
    }

    /// Packets given and taken back.
    pub fn pool_stats(&self) -> PoolStats {
        self.common.pool.stats()
    }

    /// Its counts.
    pub fn stats(&self) -> EngineStats {
        self.stats
    }

    /// The counts of a link, by name: `src.output->acl.input`.
    pub fn link_stats(&self, name: &str) -> Option<LinkStats> {
        let at = self.graph.links.iter().position(|link| self.graph.link_name(link) == name)?;
        Some(self.links[at].link.ring().stats())
    }

    /// The counts of an app: its own counters, then `drop_<reason>` by reason.
    pub fn app_stats(&self, name: &str) -> Option<Vec<(String, u64)>> {
        let slot = &self.slots[self.graph.find(name)?];
        Some(slot.counts())
    }

    /// The names of apps that failed and have not been started again.
    pub fn out_of_order(&self) -> Vec<String> {
        let failed = self.slots.iter().filter(|slot| !slot.runs());
        failed.map(|slot| slot.name.clone()).collect()
    }

    /// Whether packets of captures are due at their times.
    pub fn has_capture_time(&self) -> bool {
        self.common.captures.is_some()
    }

    /// The number of restarts of an app after a failure.
    pub fn restarts(&self, app: &str) -> u64 {
        let slot = self.slots.iter().find(|slot| slot.name == app);
        slot.map_or(0, |slot| slot.restarts)
    }

    /// The names of sources that have given all they have.
    pub fn done(&self) -> Vec<String> {
        let done = self.slots.iter().filter(|slot| slot.done && slot.runs());
        done.map(|slot| slot.name.clone()).collect()
    }

    /// The notes about apps since the last call.
    pub fn take_notes(&mut self) -> Vec<Note> {
        std::mem::take(&mut self.notes)
    }

    /// Writes all counters to where others can read them.
    pub fn publish(&mut self) {
        self.meters.publish(&self.stats, &self.common.pool.stats());
        for slot in &mut self.slots {
            slot.publish(&self.registry);
        }
        for slot in &mut self.links {
            slot.meters.publish(&slot.link.ring().stats());
        }
    }

    /// Stops all apps in order, after they have sent what they held back; none runs again. Packets
    /// on links are freed when the engine is dropped.
    pub fn stop(&mut self) {
        self.flush();
        for at in 0..self.order.len() {
            let index = self.order[at];
            self.stop_app(index, Slot::keep_counts);
        }
        self.publish();
    }

    /// Stops an app; `last` is called before it is dropped.
    fn stop_app(&mut self, index: usize, last: fn(&mut Slot)) {
        let slot = &mut self.slots[index];
        let Some(instance) = &mut slot.instance else { return };
        let stopped = instance.stop(&mut slot.io);
        last(slot);
        slot.vacate();
        slot.wake.set(false);
        if let Err(fault) = stopped {
            let name = slot.name.clone();
            self.stats.faults += 1;
            self.notes.push(Note::Failed { app: name, fault, restart_in_ns: None });
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        self.stop();
        // Apps let go of rings before links go.
        self.slots.clear();
        self.next = None;
        // SAFETY: made from a box by `Engine::new`; the code that knows it does not run any more.
        drop(unsafe { Box::from_raw(self.frame.as_ptr()) });
    }
}

/// Starts an app, which may take over `tables`, and what its predecessor has left; panics of its
/// constructor are faults too.
fn construct(
    spec: &crate::graph::AppSpec,
    common: &Common,
    (tables, left): (Vec<Rc<Table>>, Option<Box<dyn Any>>),
) -> Result<Instance, Fault> {
    let mut start = crate::app::Start {
        name: spec.name.clone(),
        seed: common.seed,
        now_ns: common.now_ns.get(),
        captures: common.captures,
        fanout: common.fanout.clone(),
        hash_secret: common.hash_secret,
        tables,
        left,
    };
    crate::app::contained(|| (spec.kind.construct)(spec.kind, &spec.config, &mut start))
        .and_then(|made| made)
}

/// The ports of an app by name and what is linked to them: those declared, then those the graph has
/// named. `links` are the links of the app in this direction.
fn ports_of(
    graph: &Graph,
    app: usize,
    direction: Direction,
    links: &[usize],
) -> Vec<(String, Option<usize>)> {
    let kind = graph.apps[app].kind;
    let fixed = kind.ports(direction).filter(|port| port.count != Count::Many);
    let mut ports: Vec<(String, Option<usize>)> =
        fixed.map(|port| (port.name.to_owned(), None)).collect();
    let declared = ports.len();
    for &at in links {
        let link = &graph.links[at];
        let end = if direction == Direction::Input { &link.to } else { &link.from };
        match ports[..declared].iter_mut().find(|(name, _)| *name == end.port) {
            Some((_, linked)) => *linked = Some(at),
            None => ports.push((end.port.clone(), Some(at))),
        }
    }
    ports
}

/// Positions of links by name.
fn by_name(graph: &Graph) -> Map<String, usize> {
    graph.links.iter().enumerate().map(|(at, link)| (graph.link_name(link), at)).collect()
}
