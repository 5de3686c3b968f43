//! From the graph to code, and what code calls.
//!
//! [`Engine::configure`] waits for the code. [`Engine::prepare`] does not: the running graph goes
//! on with its own code while another thread makes that of the next, and [`Engine::switch`] changes
//! over between two breaths. [`Engine::begin`] runs the graph itself meanwhile, dispatched. These
//! are the threads here; they get plain data and give code back.

use std::fmt;
use std::ptr::NonNull;
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use tidemill_jit::Error;
use tidemill_stdx::internet;

use super::plan::{Fate, Next, Origin, Plan, Shape};
use super::slot::{Slot, kernel_of};
use super::{Changes, Engine, EngineKind, Note, Refused, notify, ports_of};
use crate::app::{Direction, Fault, Instance, Io, Status};
use crate::compiled::{
    AppPart, Blueprint, Frame, Helpers, KernelPart, LinkPart, Native, PoolPart, compile,
};
use crate::graph::{Graph, Problem};
use crate::kernel::table::Table;
use crate::link::Ring;
use crate::packet::{Buffer, Freelist, Packet};

/// Why the code of a graph cannot be listed.
#[derive(Debug)]
pub enum ListingError {
    /// The graph is wrong.
    Invalid(Vec<Problem>),
    /// An app that is given as code cannot be made.
    Fault(Fault),
    /// No code can be made.
    Code(Error),
}

impl fmt::Display for ListingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListingError::Invalid(problems) => {
                let lines: Vec<String> = problems.iter().map(Problem::to_string).collect();
                f.write_str(&lines.join("\n"))
            }
            ListingError::Fault(fault) => fault.fmt(f),
            ListingError::Code(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ListingError {}

impl Engine {
    /// Gets a graph ready to run, while the running one continues; code for it is made on a thread
    /// beside. [`Engine::switch`] changes over when it is done.
    ///
    /// # Errors
    /// As [`Engine::configure`].
    pub fn prepare(&mut self, graph: Graph) -> Result<(), Refused> {
        let plan = self.plan(graph)?;
        let made = self.compile_beside(&plan);
        self.next = Some(Next { plan, made });
        Ok(())
    }

    /// Runs `graph` from now on, dispatched until its code is made on a thread beside and
    /// [`Engine::switch`] takes it: for graphs whose code takes long.
    ///
    /// # Errors
    /// As [`Engine::configure`].
    pub fn begin(&mut self, graph: Graph) -> Result<Changes, Refused> {
        self.next = None;
        let plan = self.plan(graph)?;
        let made = self.compile_beside(&plan);
        let changes = self.apply(plan, None);
        self.coming = Some(made);
        Ok(changes)
    }

    /// Makes the code of a plan on a thread beside. Nothing comes of it if the engine dispatches,
    /// or there can be no thread.
    fn compile_beside(&self, plan: &Plan) -> Receiver<Result<Native, Error>> {
        let (send, made) = channel();
        if self.kind == EngineKind::Compiled {
            let blueprint = self.blueprint_of(plan);
            let work = move || {
                // If the engine has ended meanwhile, the code is not needed.
                let _ = send.send(compile(&blueprint));
            };
            let name = "packets-compile".to_owned();
            // Without a thread the channel is closed, and the graph is dispatched.
            let _ = std::thread::Builder::new().name(name).spawn(work);
        }
        made
    }

    /// Whether a graph has been prepared that does not run yet.
    pub fn is_preparing(&self) -> bool {
        self.next.is_some()
    }

    /// Whether code of the running graph is being made.
    pub fn is_compiling(&self) -> bool {
        self.coming.is_some()
    }

    /// Takes the code of a graph that has [begun](Engine::begin), if it is ready.
    fn take_code(&mut self) {
        let Some(coming) = &self.coming else { return };
        let made = match coming.try_recv() {
            Ok(made) => made,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => return self.coming = None,
        };
        self.coming = None;
        self.code = self.unless_failed(made);
        // Apps may have been made anew meanwhile.
        self.check_code();
    }

    /// Changes over to the graph that was prepared, if its code is ready, or takes the code of the
    /// one that runs: to be called between breaths.
    pub fn switch(&mut self) -> Option<Changes> {
        self.take_code();
        let code = match self.next.as_ref()?.made.try_recv() {
            Ok(made) => self.unless_failed(made),
            Err(TryRecvError::Empty) => return None,
            // Nothing was to be compiled.
            Err(TryRecvError::Disconnected) => None,
        };
        let plan = self.next.take()?.plan;
        Some(self.apply(plan, code))
    }

    fn unless_failed(&mut self, made: Result<Native, Error>) -> Option<Native> {
        made.map_err(|error| self.note(Note::Dispatched { reason: error.to_string() })).ok()
    }

    /// Whether breaths are taken by native code now.
    pub fn is_compiled(&self) -> bool {
        self.code.is_some()
    }

    /// The code of the breath as text, if [`Options::listing`](super::Options::listing) requested
    /// it: names replace addresses.
    pub fn listing(&self) -> Option<String> {
        (self.listing).then(|| self.code.as_ref().map(Native::listing)).flatten()
    }

    /// The code of a graph as text, without running it: apps that are given as code are made, the
    /// others are calls.
    ///
    /// # Errors
    /// The graph is wrong, or no code can be made.
    pub fn listing_of(graph: &Graph) -> Result<String, ListingError> {
        let problems = graph.verify();
        if !problems.is_empty() {
            return Err(ListingError::Invalid(problems));
        }
        let engine = Engine::new(super::Options { listing: true, ..super::Options::default() });
        let make = |spec: &crate::graph::AppSpec| {
            let make = || super::construct(spec, &engine.common, (Vec::new(), None));
            spec.kind.kernel.then(make).transpose()
        };
        let made: Result<Vec<Option<Instance>>, _> = graph.apps.iter().map(make).collect();
        let made = made.map_err(ListingError::Fault)?;
        let ios: Vec<Io> = made.iter().map(|_| Io::new(engine.common.clone())).collect();
        let places: Vec<PlannedApp<'_>> = made
            .iter()
            .zip(&ios)
            .map(|(instance, io)| {
                let instance = instance.as_ref();
                PlannedApp { instance, kernel: instance.and_then(kernel_of), io }
            })
            .collect();
        let links: Vec<crate::link::Link> =
            graph.links.iter().map(|_| crate::link::Link::new()).collect();
        let rings: Vec<usize> = links.iter().map(|link| link.address().as_ptr() as usize).collect();
        let shape = Shape::of(graph);
        let code = compile(&engine.blueprint(graph, &shape, &places, &rings));
        Ok(code.map_err(ListingError::Code)?.listing())
    }

    /// What each function of the code cost, as a table.
    pub fn code_report(&self) -> Option<String> {
        self.code.as_ref().map(Native::report)
    }

    pub(super) fn compile_plan(&mut self, plan: &Plan) -> Option<Native> {
        if self.kind == EngineKind::Dispatch {
            return None;
        }
        let made = compile(&self.blueprint_of(plan));
        self.unless_failed(made)
    }

    /// An app was made anew: the code is good if it is given as code by the same kernel, or not at
    /// all.
    pub(super) fn code_fits(&mut self, index: usize) {
        if let Some(code) = &self.code
            && !code.fits(index, &self.slots[index].known())
        {
            self.code = None;
            self.is_stale = true;
        }
    }

    /// As [`Engine::code_fits`], for all apps: the running apps may differ from the compiled ones.
    pub(super) fn check_code(&mut self) {
        for index in 0..self.slots.len() {
            self.code_fits(index);
        }
        self.hold();
    }

    /// Keeps what code knows the addresses of.
    fn hold(&mut self) {
        self.held = self.slots.iter().filter_map(Slot::memory).collect();
        self.held_bells = self.slots.iter().filter_map(|slot| slot.bell.clone()).collect();
    }

    /// Makes code of the current graph.
    #[cold]
    pub(super) fn renew_code(&mut self) {
        self.is_stale = false;
        let shape = Shape::again(&self.graph, &self.flags);
        let places: Vec<PlannedApp<'_>> = self
            .slots
            .iter()
            .map(|slot| PlannedApp { instance: slot.place(), kernel: slot.kernel(), io: &slot.io })
            .collect();
        let rings: Vec<usize> =
            self.links.iter().map(|slot| slot.link.address().as_ptr() as usize).collect();
        let blueprint = self.blueprint(&self.graph, &shape, &places, &rings);
        let made = compile(&blueprint);
        self.code = self.unless_failed(made);
        self.hold();
    }

    fn blueprint_of(&self, plan: &Plan) -> Blueprint {
        let places: Vec<PlannedApp<'_>> = plan
            .fates
            .iter()
            .zip(&plan.ios)
            .map(|(fate, io)| {
                let slot = |at: &usize| &self.slots[*at];
                let own = |at: &usize| io.as_deref().unwrap_or_else(|| &slot(at).io);
                match fate {
                    Fate::Keep(at) | Fate::Offer(at) => PlannedApp {
                        instance: slot(at).place(),
                        kernel: slot(at).kernel(),
                        io: own(at),
                    },
                    Fate::Begin(instance, at) => {
                        let io = at.as_ref().map(own).or(io.as_deref());
                        let io = io.expect("an app without a place has new ports");
                        PlannedApp { instance: Some(instance), kernel: kernel_of(instance), io }
                    }
                }
            })
            .collect();
        let ring = |link: &Origin| {
            let link = match link {
                Origin::Was(at) => &self.links[*at].link,
                Origin::New(slot) => &slot.link,
            };
            link.address().as_ptr() as usize
        };
        let rings: Vec<usize> = plan.links.iter().map(ring).collect();
        self.blueprint(&plan.graph, &plan.shape, &places, &rings)
    }

    /// The pool as code sees it: the buffers of the largest packets that a source makes.
    fn pool_part(&self, places: &[PlannedApp<'_>]) -> PoolPart {
        let kernels = places.iter().filter_map(|place| place.kernel.as_ref());
        let supplies = kernels.filter_map(|part| part.kernel.supply.as_ref());
        let supplied = supplies.map(|supply| supply.bytes as usize).max().unwrap_or(0);
        let [itself, free, allocated, freed] = self.common.pool.addresses(supplied);
        PoolPart { itself, free, allocated, freed, limit: self.common.pool.limit() }
    }

    fn blueprint(
        &self,
        graph: &Graph,
        shape: &Shape,
        places: &[PlannedApp<'_>],
        rings: &[usize],
    ) -> Blueprint {
        let notified = notify::notified(graph);
        let count = graph.apps.len();
        let (mut inputs, mut outputs) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for (at, link) in graph.links.iter().enumerate() {
            inputs[link.to.app].push(at);
            outputs[link.from.app].push(at);
        }
        let links = |app: usize, direction, links: &[usize]| {
            let ports = ports_of(graph, app, direction, links).into_iter();
            ports.map(|(_, link)| link).collect::<Vec<Option<usize>>>()
        };
        let app = |(at, place): (usize, &PlannedApp<'_>)| {
            // An app that is not there has addresses that are never called: the code is only read.
            let nowhere = (NOWHERE + at * 64, NOWHERE, NOWHERE);
            let (state, pull, push) = place.instance.map_or(nowhere, |instance| {
                let state = instance.state().as_ptr() as usize;
                (state, instance.pull as usize, instance.push as usize)
            });
            AppPart {
                name: graph.apps[at].name.clone(),
                state,
                pull,
                push,
                io: std::ptr::from_ref(place.io) as usize,
                oldest: (&raw const place.io.oldest_ns) as usize,
                inputs: links(at, Direction::Input, &inputs[at]),
                outputs: links(at, Direction::Output, &outputs[at]),
                bell: place.instance.and_then(Instance::bell).map(|bell| bell.address()),
                is_sink: graph.apps[at].kind.ports(Direction::Output).next().is_none(),
                kernel: place.kernel.clone(),
            }
        };
        let pool = self.pool_part(places);
        let link = |(at, link): (usize, &crate::graph::LinkSpec)| LinkPart {
            name: graph.link_name(link),
            ring: rings[at],
            from: link.from.app,
            to: link.to.app,
            is_watched: !notified[at].is_empty(),
        };
        Blueprint {
            apps: places.iter().enumerate().map(app).collect(),
            links: graph.links.iter().enumerate().map(link).collect(),
            steps: shape.steps.clone(),
            frame: self.frame.as_ptr() as usize,
            now: (&raw const self.common.now_ns) as usize,
            pool,
            helpers: helpers(),
            listing: self.listing,
        }
    }
}

/// Addresses that nothing has, for code that is only read.
const NOWHERE: usize = 1 << 62;

/// An app as code sees it.
struct PlannedApp<'a> {
    instance: Option<&'a Instance>,
    kernel: Option<KernelPart>,
    io: &'a Io,
}

fn helpers() -> Helpers {
    Helpers {
        pulled: pulled as *const () as usize,
        failed: failed as *const () as usize,
        oldest: oldest as *const () as usize,
        waits: waits as *const () as usize,
        notify: notify_ring as *const () as usize,
        free: free as *const () as usize,
        no_packet: no_packet as *const () as usize,
        grow: grow as *const () as usize,
        duplicate: duplicate as *const () as usize,
        copy: copy as *const () as usize,
        clear: clear as *const () as usize,
        sum: sum as *const () as usize,
        prepend: prepend as *const () as usize,
        find: find as *const () as usize,
        ahead: ahead as *const () as usize,
        insert: insert as *const () as usize,
        delete: delete as *const () as usize,
    }
}

/// A source was pulled and is not ready.
unsafe extern "C" fn pulled(frame: NonNull<Frame<Engine>>, app: u32, status: u32) {
    // SAFETY: code calls this with its frame, whose engine waits for it.
    let engine = unsafe { &mut *frame.as_ref().engine };
    engine.put_to_sleep(app as usize, Status::of(status));
    engine.stop_if_due();
}

/// An app failed.
unsafe extern "C" fn failed(frame: NonNull<Frame<Engine>>, app: u32) {
    // SAFETY: as for `pulled`.
    let engine = unsafe { &mut *frame.as_ref().engine };
    engine.failed(app as usize);
    engine.stop_if_due();
}

impl Engine {
    /// Something is to be done before the next breath.
    fn stop_if_due(&mut self) {
        if self.due_ns <= self.common.now_ns.get() {
            // SAFETY: the running code reads its frame after the call only.
            unsafe { self.frame.as_mut() }.stop = 1;
        }
    }
}

/// The first packets of a batch wait for a sink.
unsafe extern "C" fn oldest(mut io: NonNull<Io>) {
    // SAFETY: code calls this with the ports of an app that is not running.
    unsafe { io.as_mut() }.note_oldest();
}

/// Whether packets wait for an app.
unsafe extern "C" fn waits(io: NonNull<Io>) -> u8 {
    // SAFETY: as for `oldest`.
    let inputs = &unsafe { io.as_ref() }.inputs;
    u8::from(inputs.iter().filter_map(|input| input.ring()).any(|ring| !ring.is_empty()))
}

/// A link is no longer empty.
unsafe extern "C" fn notify_ring(ring: NonNull<Ring>) {
    // SAFETY: code calls this with a link of its graph.
    unsafe { ring.as_ref() }.notify();
}

/// A packet ends.
unsafe extern "C" fn free(buffer: NonNull<Buffer>) {
    // SAFETY: code calls this with a packet that it has taken from a link and gives up.
    drop(unsafe { Packet::from_raw(buffer) });
}

/// There was no packet for an app.
unsafe extern "C" fn no_packet(mut io: NonNull<Io>) {
    // SAFETY: as for `oldest`.
    unsafe { io.as_mut() }.count_drop("no_packet");
}

/// More for a freelist that is empty.
unsafe extern "C" fn grow(pool: NonNull<Freelist>) -> Option<NonNull<Buffer>> {
    // SAFETY: code calls this with the pool of its graph.
    unsafe { pool.as_ref() }.grow()
}

/// A copy of a packet, from the pool that owns it.
unsafe extern "C" fn duplicate(buffer: NonNull<Buffer>) -> Option<NonNull<Buffer>> {
    // SAFETY: code calls this with a packet that it has, and keeps it.
    let packet = std::mem::ManuallyDrop::new(unsafe { Packet::from_raw(buffer) });
    packet.duplicate().map(Packet::into_raw)
}

/// Copies bytes from packet to packet.
unsafe extern "C" fn copy(to: NonNull<u8>, from: NonNull<u8>, bytes: usize) {
    // SAFETY: code calls this with two packets that have `bytes` bytes there.
    unsafe { to.copy_from_nonoverlapping(from, bytes) }
}

/// Zeros in a packet.
unsafe extern "C" fn clear(to: NonNull<u8>, bytes: usize) {
    // SAFETY: code calls this with a packet that has `bytes` bytes there.
    unsafe { to.write_bytes(0, bytes) }
}

/// The sum of the words of a packet's bytes.
unsafe extern "C" fn sum(bytes: NonNull<u8>, length: usize) -> u64 {
    // SAFETY: code calls this with a packet that has `length` bytes there.
    let bytes = unsafe { NonNull::slice_from_raw_parts(bytes, length).as_ref() };
    internet::sum(bytes, 0).into()
}

/// Puts zeros before a packet, which may move to another buffer; none, and the packet is as it was,
/// if there is no room.
unsafe extern "C" fn prepend(buffer: NonNull<Buffer>, bytes: u64) -> Option<NonNull<Buffer>> {
    // SAFETY: code calls this with a packet that it has taken from a link; it keeps that, or the
    // one that it is given.
    let mut packet = unsafe { Packet::from_raw(buffer) };
    let zeros = [0; crate::kernel::HEADER_MAX as usize];
    let is_done = packet.prepend(&zeros[..(bytes as usize).min(zeros.len())]).is_ok();
    let buffer = packet.into_raw();
    is_done.then_some(buffer)
}

/// The entry of the key that code has put into a table; 0: there is none.
unsafe extern "C" fn find(table: NonNull<Table>) -> u64 {
    // SAFETY: code calls this with a table of a kernel of its graph.
    unsafe { table.as_ref() }.find_query().into()
}

/// Fetches what the look-ups in a table will read that code has put there.
unsafe extern "C" fn ahead(table: NonNull<Table>, count: u64) {
    // SAFETY: as for `find`.
    unsafe { table.as_ref() }.prefetch(count as usize);
}

/// Takes the draft of a table in; 0: there was no room.
unsafe extern "C" fn insert(table: NonNull<Table>, now_ns: u64) -> u64 {
    // SAFETY: as for `find`.
    unsafe { table.as_ref() }.insert(now_ns).into()
}

/// Deletes an entry that exists.
unsafe extern "C" fn delete(table: NonNull<Table>, entry: u64) {
    // SAFETY: as for `find`.
    unsafe { table.as_ref() }.delete(entry as u32);
}
