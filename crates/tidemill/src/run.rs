//! Running nodes of a program on this machine and the network.
//!
//! The run goes on until its time is over, until the descriptor given as [`RunOptions::stop`] can
//! be read (a signal, say), until a tuple of `violation` appears, or until its data cannot be
//! written any more.

use std::io::{self, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tidemill_event::{Handlers, Host, Interest, Loop, Os, Outcome, Time, WatchId};
use tidemill_fabric::token::Token;
use tidemill_overlog::control::{End, Status};
use tidemill_overlog::fleet::{self, Call, Extra, Fleet, NodeId, Ports, Seal, Takes, World};
use tidemill_overlog::net::mail::Fabric;
use tidemill_overlog::node::{Identity, Program};
use tidemill_overlog::program::Compiled;
use tidemill_overlog::query::{AskerId, Shown};
use tidemill_overlog::stage;
use tidemill_stat::Registry;
use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use crate::console::Console;
use crate::control::{self, Controlled, Server, Snapshot, Whom};
use crate::ended::Ended;
use crate::journal::{Journal, SharedJournal};
use crate::keys::{KeyFiles, KeyWatch};
use crate::meters::Meters;
use crate::reach::Reach;
use crate::service::Service;
use crate::summary::Summary;

/// How long data may wait before it is written.
const FLUSH_AFTER: Duration = Duration::from_millis(20);

/// What this file says at most.
const CEILING: Level = Level::Info;

/// Ports that are tried until datagrams and connections can have the same.
const PORTS_TRIED: u32 = 32;

/// How often the counters are shown.
const METER_EVERY: Duration = Duration::from_secs(1);

/// How long a run goes on, after [`RunOptions::drain`] can be read, to finish what it has begun.
pub const DRAIN_MAX: Duration = Duration::from_secs(3);

/// How often a run that is to end looks whether it is done.
const DRAINED_EVERY: Duration = Duration::from_millis(5);

/// How often a run looks whether the files of its keys have changed.
const KEYS_EVERY: Duration = Duration::from_secs(2);

/// Which nodes are started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Listen {
    /// One node of this address.
    Address(String),
    /// So many, on loopback ports that the system chooses; each is noted as `INDEX ADDR`.
    Nodes(u32),
}

/// Whether a node without a key may be reached from other hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposure {
    /// It does not start then.
    Refused,
    /// Its owner knows that everyone there can change what it holds.
    Accepted,
}

/// How a program is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The nodes.
    pub listen: Listen,
    /// What the one node of [`Listen::Address`] is called, if not as it listens.
    pub address: Option<String>,
    /// Whether nodes may believe everyone on the network.
    pub exposure: Exposure,
    /// When the run ends, nanoseconds after its start; `None`: when it is stopped.
    pub end_ns: Option<u64>,
    /// What random numbers follow from; `None`: from chance.
    pub seed: Option<u64>,
    /// How tuples travel.
    pub fabric: Fabric,
    /// How what nodes send each other is sealed.
    pub seal: Option<Seal>,
    /// What `LANDMARK` is, if not the first of several nodes, or the only node.
    pub landmark: Option<String>,
    /// Tuples for the nodes where they are located, after the facts of the program.
    pub extra: Vec<Extra>,
    /// The operators that the program was loaded with.
    pub operators: Arc<stage::Registry>,
    /// See [`Node::limit_turns`](tidemill_overlog::node::Node::limit_turns); a turn that derives
    /// more is given up.
    pub turn_tuples_max: Option<u64>,
    /// The run ends when this can be read. Its owner keeps it open until then.
    pub stop: Option<RawFd>,
    /// True once `stop` can be read: then it ends in the middle of a turn, too.
    pub stop_flag: Option<Arc<AtomicBool>>,
    /// What tools on other hosts have to have to ask the nodes, at their own addresses; none is
    /// listened to without it.
    pub token: Option<Token>,
    /// The nodes take no new work when this can be read, and the run ends when they are done or
    /// after [`DRAIN_MAX`]. Its owner keeps it open until then.
    pub drain: Option<RawFd>,
    /// Where keys came from: read again when the files change.
    pub key_files: Option<KeyFiles>,
    /// The files of keys are read again, changed or not, when this can be read.
    pub reload: Option<Arc<UnixStream>>,
    /// What it is to a service manager.
    pub service: Service,
    /// Where the counters are shown. They go when the run and all others who hold it do. In their
    /// folder is the socket for tools of this host.
    pub registry: Registry,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            listen: Listen::Address("localhost:10000".to_owned()),
            address: None,
            exposure: Exposure::Refused,
            end_ns: None,
            seed: None,
            fabric: Fabric::Udp,
            seal: None,
            landmark: None,
            extra: Vec::new(),
            operators: Arc::default(),
            turn_tuples_max: None,
            stop: None,
            stop_flag: None,
            token: None,
            drain: None,
            key_files: None,
            reload: None,
            service: Service::default(),
            registry: Registry::in_memory(),
        }
    }
}

impl RunOptions {
    /// Whether nodes run without a key where others than this host reach them.
    ///
    /// # Errors
    /// They may not, or would have a name that nobody can reach, as text.
    pub fn check_reach(&self) -> Result<Exposed, String> {
        let Listen::Address(address) = &self.listen else { return Ok(Exposed::No) };
        let reach = Reach::of(address);
        if reach == Reach::Wildcard && self.address.is_none() {
            return Err(format!(
                "{address} stands for all addresses of this host, and a node has one: say which \
                 with --address HOST:PORT"
            ));
        }
        match (reach, &self.seal, self.exposure) {
            (Reach::Loopback, ..) => Ok(Exposed::No),
            (_, Some(_), _) => Ok(Exposed::No),
            (.., Exposure::Accepted) => Ok(Exposed::Yes),
            (.., Exposure::Refused) => Err(format!(
                "other hosts can reach {address}, and a node without a key believes everyone: \
                 give it a key with --key FILE (`tidemill key FILE` makes one), or say --open"
            )),
        }
    }
}

/// Whether anyone can change what the nodes hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exposed {
    /// Members of the fleet and this host only.
    No,
    /// Whoever reaches them.
    Yes,
}

/// Runs a program.
///
/// # Errors
/// What keeps it from running, as text: a port in use, most often, or what
/// [`RunOptions::check_reach`] says.
pub fn run(program: Compiled, options: RunOptions, console: Console) -> Result<Ended, String> {
    options.check_reach()?;
    let program = Arc::new(Program::with_operators(program, options.operators.clone())?);
    let host = match options.seed {
        Some(seed) => Os::with_seed(seed),
        None => Os::new(),
    };
    let mut host = host.map_err(|error| format!("the system gives no event queue: {error}"))?;
    let seed = options.seed.unwrap_or_else(|| host.random());
    let mut events = Loop::new(Box::new(host));
    let journal = SharedJournal::new(Journal::new(console));
    let mut fleet = Fleet::new(program, options.fabric, seed, Box::new(journal.clone()));
    options.extra.iter().for_each(|extra| fleet.add_extra(extra.clone()));
    options.turn_tuples_max.into_iter().for_each(|most| fleet.limit_turns(most));
    options.seal.iter().for_each(|seal| fleet.seal_with(seal.clone()));
    if let Some(stop) = &options.stop_flag {
        events.stop_when(stop.clone());
        fleet.interrupt_by(stop.clone());
    }
    let meters = Meters::new(options.registry.clone());
    let registry = options.registry.clone();
    fleet.show(Shown::new(move || registry.snapshot().counters.into_iter().collect()));
    let control = Server::new(&options.registry, options.token.clone());
    let registry = options.registry.clone();
    let control = Some(control);
    let mut world = RunWorld {
        fleet,
        journal,
        meters,
        flush_is_set: false,
        control,
        registry,
        is_ending: false,
        keys: None,
    };
    start(&mut world, &mut events, &options)?;
    show_counters(&mut world, &mut events);
    if let Some(stop) = options.stop {
        let handlers = Handlers::new().read(|_: &mut RunWorld, events: &mut Loop<RunWorld>, _| {
            events.stop();
        });
        let watched = events.watch(stop, Interest::Read, handlers);
        watched.map_err(|error| format!("cannot wait for signals: {error}"))?;
    }
    if let Some(drain) = options.drain {
        watch_drain(&mut events, drain, options.service.clone())
            .map_err(|error| format!("cannot wait for signals: {error}"))?;
    }
    if let Some(files) = &options.key_files {
        world.keys = Some(KeyWatch::new(files.clone()));
        watch_keys(&mut events, options.reload.clone())
            .map_err(|error| format!("cannot wait for signals: {error}"))?;
    }
    options.service.ready(&mut events, Some(&options.registry))?;
    say!(Info, "fleet", "{} nodes by {:?}, seed {seed}", world.fleet.ids().count(), options.fabric);
    let outcome = match options.end_ns {
        Some(end) => {
            let end = events.now() + Duration::from_nanos(end);
            events.run_until(&mut world, end)
        }
        None => events.run(&mut world),
    };
    if let Outcome::Failed(error) = outcome {
        return Err(format!("the system fails to wait: {error}"));
    }
    say!(Info, "fleet", "the run is over: {outcome:?}");
    if !world.is_ending {
        options.service.stopping();
    }
    let ended = world.finish(&mut events);
    // Its files go whatever becomes of the rest.
    world.control = None;
    // Relaxed: a wish, which nothing else is published with.
    if world.is_ending || options.stop_flag.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
        // To free what a large run holds may take longer than its user should wait.
        std::mem::forget((world, events));
    }
    Ok(ended)
}

/// Ends the run in order once `drain` can be read.
fn watch_drain(events: &mut Loop<RunWorld>, drain: RawFd, service: Service) -> io::Result<WatchId> {
    let handlers =
        Handlers::new().read(move |world: &mut RunWorld, events: &mut Loop<RunWorld>, watch| {
            events.unwatch(watch);
            service.stopping();
            world.is_ending = true;
            say!(Info, "fleet", "takes no new work, and ends when it is done");
            fleet::drain(world, events);
            let end = events.now() + DRAIN_MAX;
            events.every(DRAINED_EVERY, move |world: &mut RunWorld, events, _| {
                let is_drained = world.fleet.is_drained();
                if !is_drained && events.now() >= end {
                    say!(Warn, "fleet", "ends with work left or tuples not delivered");
                }
                if is_drained || events.now() >= end {
                    events.stop();
                }
            });
        });
    events.watch(drain, Interest::Read, handlers)
}

/// Looks at the files of keys now and then, and reads them when asked to.
fn watch_keys(events: &mut Loop<RunWorld>, reload: Option<Arc<UnixStream>>) -> io::Result<()> {
    events.every(KEYS_EVERY, |world: &mut RunWorld, events, _| {
        let changed = world.keys.as_mut().and_then(KeyWatch::look);
        changed.into_iter().for_each(|read| world.replace_keys(events, read));
    });
    let Some(reload) = reload else { return Ok(()) };
    reload.set_nonblocking(true)?;
    let fd = reload.as_raw_fd();
    let handlers =
        Handlers::new().read(move |world: &mut RunWorld, events: &mut Loop<RunWorld>, _| {
            // Several requests are one; an error would only come back.
            let _ = (&*reload).read(&mut [0; 64]);
            let read = world.keys.as_mut().map(KeyWatch::read);
            read.into_iter().for_each(|read| world.replace_keys(events, read));
        });
    events.watch(fd, Interest::Read, handlers).map(drop)
}

/// Shows the counters now and from now on.
fn show_counters(world: &mut RunWorld, events: &mut Loop<RunWorld>) {
    world.meters.update(&world.fleet, events.stats());
    events.every(METER_EVERY, |world: &mut RunWorld, events: &mut Loop<RunWorld>, _| {
        world.meters.update(&world.fleet, events.stats());
    });
}

/// Opens all ports, then starts all nodes: the first one's address is the others' landmark.
fn start(
    world: &mut RunWorld,
    events: &mut Loop<RunWorld>,
    options: &RunOptions,
) -> Result<(), String> {
    let (count, address) = match &options.listen {
        Listen::Address(address) => (1, address.as_str()),
        Listen::Nodes(count) => (*count, "localhost:0"),
    };
    let listens = options.fabric == Fabric::Tcp || options.token.is_some();
    let mut ports: Vec<(Ports, String)> = Vec::new();
    for _ in 0..count {
        let opened = open(events.host(), address, listens);
        ports.push(opened.map_err(|error| format!("cannot listen on {address}: {error}"))?);
    }
    let first = || options.address.clone().or_else(|| Some(ports.first()?.1.clone()));
    let landmark = options.landmark.clone().or_else(first);
    let landmark = landmark.unwrap_or_default();
    let name = |listens: &String| options.address.clone().unwrap_or_else(|| listens.clone());
    let listed: Vec<_> = ports.iter().map(|(_, at)| (name(at), at.clone())).collect();
    control(world, events, &listed, options);
    for (index, (ports, address)) in (0..).zip(ports) {
        if matches!(options.listen, Listen::Nodes(_)) {
            world.journal.get_mut().console.note(format_args!("{index} {address}"));
        }
        let landmark = landmark.clone();
        let identity = Identity { address: name(&address), index, count, landmark };
        let id = fleet::start(world, events, ports, identity)
            .map_err(|error| format!("cannot start node {index}: {error}"))?;
        if let Some(listener) = ports.listener.filter(|_| options.fabric != Fabric::Tcp) {
            control::listen(events, listener, id)
                .map_err(|error| format!("node {index} cannot be asked: {error}"))?;
        }
    }
    Ok(())
}

/// Opens the run for tools of this host. Without that it is the same, and cannot be asked.
fn control(
    world: &mut RunWorld,
    events: &mut Loop<RunWorld>,
    nodes: &[(String, String)],
    options: &RunOptions,
) {
    let Some(folder) = options.registry.directory() else { return };
    let opened = control::open(world, events, folder)
        .and_then(|()| world.control.as_ref().map_or(Ok(()), |control| control.list_nodes(nodes)));
    if let Err(error) = opened {
        let note = format!("tidemill: warning: tools cannot ask this run: {error}");
        world.journal.get_mut().console.note(note);
    }
}

/// Opens what a node needs under one address, which has the port that it really got; for
/// connections too, if it listens to any.
fn open(host: &mut dyn Host, address: &str, listens: bool) -> io::Result<(Ports, String)> {
    let mut attempts = 0;
    loop {
        attempts += 1;
        let datagrams = host.bind(address)?;
        let name = host.local_addr(datagrams)?;
        if !listens {
            return Ok((datagrams.into(), name));
        }
        match host.listen(&name) {
            Ok(listener) => return Ok((Ports { datagrams, listener: Some(listener) }, name)),
            // Of a port that the system chose only one half may be free: then another.
            Err(error) if name == address || attempts == PORTS_TRIED => return Err(error),
            Err(_) => host.close(datagrams),
        }
    }
}

/// What the loop of a run works on.
struct RunWorld {
    fleet: Fleet,
    journal: SharedJournal,
    meters: Meters,
    /// A timer will write what waits.
    flush_is_set: bool,
    /// Who asks; nobody, once the run is over.
    control: Option<Server>,
    registry: Registry,
    /// It takes no new work.
    is_ending: bool,
    /// The files that its keys came from.
    keys: Option<KeyWatch>,
}

impl Controlled for RunWorld {
    fn control(&mut self) -> Option<&mut Server> {
        self.control.as_mut()
    }

    fn snapshot(&mut self) -> Snapshot {
        let counters = self.registry.snapshot().counters.into_iter().collect();
        Snapshot { counters, tree: String::new() }
    }

    fn query(
        &mut self,
        events: &mut Loop<RunWorld>,
        whom: Whom<'_>,
        question: (AskerId, u64),
        text: &str,
    ) -> Result<(), End> {
        let mut ids = self.fleet.ids();
        let node = match whom {
            Whom::Node(node) => node,
            Whom::Name("") => match (ids.next(), ids.next()) {
                (Some(only), None) => only,
                _ => {
                    let reason = "the run has several nodes: say which";
                    return Err(End::refusal(Status::Wrong, reason));
                }
            },
            Whom::Name(name) => self.fleet.find(name).ok_or_else(|| {
                End::refusal(Status::Wrong, format!("the run has no node {name}"))
            })?,
        };
        fleet::ask(self, events, node, question, text)
    }

    fn gone(&mut self, events: &mut Loop<RunWorld>, asker: AskerId) {
        fleet::forget(self, events, asker);
    }

    fn resume(&mut self, events: &mut Loop<RunWorld>, asker: AskerId) {
        fleet::resume(self, events, asker);
    }

    fn is_asking(&mut self, asker: AskerId) -> bool {
        self.fleet.is_asking(asker)
    }
}

impl World for RunWorld {
    fn fleet(&mut self) -> &mut Fleet {
        &mut self.fleet
    }

    fn answered(&mut self, events: &mut Loop<RunWorld>, asker: AskerId, part: &[u8]) -> Takes {
        control::reply(self, events, asker, part)
    }

    fn called(&mut self, events: &mut Loop<RunWorld>, node: NodeId, call: Call<'_>) {
        control::adopt(self, events, call.endpoint, (node, call.from), call.bytes);
    }

    fn turned(&mut self, events: &mut Loop<RunWorld>) {
        if self.journal.get().is_over() {
            events.stop();
        }
        if !self.flush_is_set && self.journal.get().console.is_dirty() {
            self.flush_is_set = true;
            let at: Time = events.now() + FLUSH_AFTER;
            events.timer(at, |world: &mut RunWorld, events: &mut Loop<RunWorld>| {
                world.flush_is_set = false;
                world.journal.get_mut().console.flush();
                if world.journal.get().is_over() {
                    events.stop();
                }
            });
        }
    }
}

impl RunWorld {
    /// Takes other keys; if they cannot be read, the old ones go on.
    fn replace_keys(&mut self, events: &mut Loop<RunWorld>, read: Result<Seal, String>) {
        match read {
            Ok(seal) => {
                say!(Info, "keys", "the files of keys have been read again");
                fleet::replace_keys(self, events, &seal);
            }
            Err(message) => {
                say!(Warn, "keys", "the old keys go on: {message}");
                self.fleet.keep_keys();
            }
        }
    }

    /// Writes what waits and sums up.
    fn finish(&mut self, events: &mut Loop<RunWorld>) -> Ended {
        self.meters.update(&self.fleet, events.stats());
        let mut summary = Summary::of(&self.fleet, events);
        let mut journal = self.journal.get_mut();
        summary.violations = journal.violations;
        summary.given_up = journal.given_up;
        journal.console.flush();
        Ended { summary, failure: journal.console.take_failure() }
    }
}
