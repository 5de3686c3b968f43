//! Packet graphs: loading, running, drawing.
//!
//! ```
//! use tidemill::packets::{self, RunOptions};
//! use tidemill_packet::flow;
//! use tidemill_diag::Sources;
//!
//! let text = "src :: Source { packets: 1000 }\nend :: Sink\nsrc -> end";
//! let options = flow::Options::default();
//! let loaded =
//!     flow::load_text("a.flow", text, &options, &packets::catalogue(), &mut Sources::new());
//! let graph = loaded.graph.ok_or("the graph is right")?;
//! let ended = packets::run(graph, RunOptions::default(), Box::new(|note| eprintln!("{note}")))?;
//! assert_eq!(ended.links[0].1.rx_packets, 1000);
//! assert!(ended.is_well());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod rules;
pub mod script;

use std::fmt;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_event::{Handlers, Host, Interest, Loop, Os, Outcome};
use tidemill_packet::app::{Catalogue, Declared};
use tidemill_packet::drive::{self, Driver, World};
pub use tidemill_packet::engine::EngineKind;
use tidemill_packet::engine::{self, Changes, Engine, EngineStats, Note, Refused, Rest};
use tidemill_packet::flow;
use tidemill_packet::graph::Graph;
use tidemill_packet::link::LinkStats;
use tidemill_packet::packet::PoolStats;
use tidemill_stat::Registry;

use crate::control::{self, Controlled, Server, Snapshot};
use crate::graph;
use crate::service::Service;

/// All app types there are.
pub fn catalogue() -> Catalogue {
    let mut all = tidemill_apps::catalogue();
    all.add(rules::Rules::declaration());
    all.add(script::Script::declaration());
    all
}

/// A loaded graph.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The texts that spans point into.
    pub sources: Sources,
    /// The graph; `None` if there are errors.
    pub graph: Option<Graph>,
    /// What was found, errors and warnings.
    pub diagnostics: Vec<Diagnostic>,
}

/// Loads the files of one graph. Whatever is wrong is a diagnostic.
pub fn load(files: &[PathBuf], options: &flow::Options) -> Loaded {
    let mut sources = Sources::new();
    let flow::Loaded { graph, diagnostics } =
        flow::load(files, options, &catalogue(), &mut sources);
    Loaded { sources, graph, diagnostics }
}

/// The machine code of the graph's breath, as text; nothing is run for it.
///
/// # Errors
/// No code can be made.
pub fn listing(packets: &Graph) -> Result<String, String> {
    Engine::listing_of(packets)
}

/// The graph as a drawing takes it.
pub fn drawing(packets: &Graph) -> graph::Graph {
    let node = |app: &tidemill_packet::graph::AppSpec| graph::Node {
        kind: graph::NodeKind::App,
        name: format!("{} :: {}", app.name, app.kind.name),
        hidden: false,
    };
    let edge = |link: &tidemill_packet::graph::LinkSpec| graph::Edge {
        from: link.from.app,
        to: link.to.app,
        kind: graph::EdgeKind::Carries,
    };
    let mut edges: Vec<graph::Edge> = packets.links.iter().map(edge).collect();
    edges.sort();
    edges.dedup();
    graph::Graph { nodes: packets.apps.iter().map(node).collect(), edges }
}

/// What `reload` gives: the new graph, or nothing if it is not to be had, which has been told.
pub type Reload = Box<dyn FnMut() -> Option<Graph>>;

/// The wish to read a graph again.
pub struct Signal {
    /// A byte that comes here is the wish.
    pub stream: UnixStream,
    /// What fulfils it.
    pub reload: Reload,
}

impl fmt::Debug for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("stream", &self.stream).finish_non_exhaustive()
    }
}

impl Signal {
    /// Has `reload` called when the wish comes.
    pub(crate) fn watch<W: 'static>(
        &self,
        events: &mut Loop<W>,
        reload: fn(&mut W, &mut Loop<W>),
    ) -> std::io::Result<()> {
        self.stream.set_nonblocking(true)?;
        let handlers = Handlers::new().read(move |world, events, _| reload(world, events));
        events.watch(self.stream.as_raw_fd(), Interest::Read, handlers).map(drop)
    }

    /// Takes all wishes that have come; what fulfils them.
    pub(crate) fn graph(&mut self) -> Option<Graph> {
        let mut bytes = [0; 64];
        while match self.stream.read(&mut bytes) {
            Ok(count) => count > 0,
            Err(error) => error.kind() == ErrorKind::Interrupted,
        } {}
        (self.reload)()
    }
}

/// What is told while a graph runs, a line each.
pub type Tell = Box<dyn FnMut(String)>;

/// How a graph is run.
pub struct RunOptions {
    /// By native code, or by a loop.
    pub kind: EngineKind,
    /// When the run ends, nanoseconds after its start; `None`: when all is done, or it is stopped.
    pub end_ns: Option<u64>,
    /// What random numbers follow from; `None`: from chance.
    pub seed: Option<u64>,
    /// Without pauses when nothing moves.
    pub busy_wait: bool,
    /// Where the counters are shown.
    pub registry: Registry,
    /// The run ends when this can be read. Its owner keeps it open until then.
    pub stop: Option<RawFd>,
    /// What replaces the graph, and when.
    pub signal: Option<Signal>,
    /// What it is to a service manager.
    pub service: Service,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            kind: EngineKind::default(),
            end_ns: None,
            seed: None,
            busy_wait: false,
            registry: Registry::in_memory(),
            stop: None,
            signal: None,
            service: Service::default(),
        }
    }
}

/// What a run amounts to.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Links by name, in the order of the graph.
    pub links: Vec<(String, LinkStats)>,
    /// What apps counted, in the order of the graph.
    pub apps: Vec<(String, Vec<(String, u64)>)>,
    /// What the engine did.
    pub engine: EngineStats,
    /// Packets that were made, and freed.
    pub packets: PoolStats,
    /// Apps that were out of order at the end.
    pub out_of_order: Vec<String>,
}

/// What happened to an app, as it is told.
pub(crate) fn noted(note: &Note) -> String {
    match note {
        Note::Failed { .. } => format!("app {note}"),
        Note::Restarted { .. } | Note::Dispatched { .. } => note.to_string(),
    }
}

impl Ended {
    /// Stops an engine, and says what its run amounts to.
    pub(crate) fn of(engine: &mut Engine) -> Ended {
        let out_of_order = engine.out_of_order();
        let graph = engine.graph().clone();
        let names = graph.links.iter().map(|link| graph.link_name(link));
        let links = names.filter_map(|name| {
            let stats = engine.link_stats(&name)?;
            Some((name, stats))
        });
        let links = links.collect();
        let apps = graph
            .apps
            .iter()
            .filter_map(|app| Some((app.name.clone(), engine.app_stats(&app.name)?)));
        let apps = apps.collect();
        engine.stop();
        let (stats, packets) = (engine.stats(), engine.pool_stats());
        Ended { links, apps, engine: stats, packets, out_of_order }
    }

    /// Whether all apps were in order at the end.
    pub fn is_well(&self) -> bool {
        self.out_of_order.is_empty()
    }
}

struct RunWorld {
    driver: Driver,
    tell: Tell,
    signal: Option<Signal>,
    control: Option<Server>,
    registry: Registry,
}

impl Controlled for RunWorld {
    fn control(&mut self) -> Option<&mut Server> {
        self.control.as_mut()
    }

    fn snapshot(&mut self) -> Snapshot {
        let counters = self.registry.snapshot().counters.into_iter().collect();
        Snapshot { counters, tree: String::new() }
    }
}

impl World for RunWorld {
    fn driver(&mut self) -> &mut Driver {
        &mut self.driver
    }

    fn switched(&mut self, changes: &Changes) {
        (self.tell)(reloaded(changes));
    }

    fn breathed(&mut self, events: &mut Loop<RunWorld>, rest: Rest) {
        self.tell_notes();
        if rest == Rest::Finished && !self.driver.engine.is_preparing() {
            events.stop();
        }
    }
}

impl RunWorld {
    fn tell_notes(&mut self) {
        for note in self.driver.engine.take_notes() {
            (self.tell)(noted(&note));
        }
    }

    fn ended(&mut self) -> Ended {
        let ended = Ended::of(&mut self.driver.engine);
        self.tell_notes();
        ended
    }
}

/// Runs a graph until all sources are done and all links are empty, or it is ended.
///
/// # Errors
/// What keeps it from running, as text: a file that is not there, most often.
pub fn run(graph: Graph, options: RunOptions, tell: Tell) -> Result<Ended, String> {
    let host = match options.seed {
        Some(seed) => Os::with_seed(seed),
        None => Os::new(),
    };
    let mut host = host.map_err(|error| format!("the system gives no event queue: {error}"))?;
    let seed = options.seed.unwrap_or_else(|| host.random());
    let mut events = Loop::new(Box::new(host));
    let (kind, registry) = (options.kind, options.registry);
    let control = Some(Server::new(&registry, None));
    let shown = registry.clone();
    let engine = engine::Options { kind, seed, registry, ..engine::Options::default() };
    let driver = Driver::new(Engine::new(engine));
    let driver = if options.busy_wait { driver.busy_wait() } else { driver };
    let mut world = RunWorld { driver, tell, signal: options.signal, control, registry: shown };
    drive::configure(&mut world, &mut events, graph).map_err(|refused| refused.to_string())?;
    if let Some(folder) = world.registry.directory().map(Path::to_owned) {
        // Without it the run is the same, and cannot be asked.
        let _ = control::open(&mut world, &mut events, &folder);
    }
    watch(&mut world, &mut events, options.stop)
        .map_err(|error| format!("cannot wait for signals: {error}"))?;
    options.service.ready(&mut events, Some(&world.registry))?;
    let outcome = match options.end_ns {
        Some(end) => {
            let end = events.now() + Duration::from_nanos(end);
            events.run_until(&mut world, end)
        }
        None => events.run(&mut world),
    };
    options.service.stopping();
    match outcome {
        Outcome::Failed(error) => Err(format!("the system fails to wait: {error}")),
        _ => Ok(world.ended()),
    }
}

/// Waits for the wishes to end and to read the graph again.
fn watch(
    world: &mut RunWorld,
    events: &mut Loop<RunWorld>,
    stop: Option<RawFd>,
) -> std::io::Result<()> {
    if let Some(stop) = stop {
        let handlers =
            Handlers::new().read(|_: &mut RunWorld, events: &mut Loop<RunWorld>, _| events.stop());
        events.watch(stop, Interest::Read, handlers)?;
    }
    world.signal.as_ref().map_or(Ok(()), |signal| signal.watch(events, reload))
}

fn reload(world: &mut RunWorld, events: &mut Loop<RunWorld>) {
    let Some(graph) = world.signal.as_mut().and_then(Signal::graph) else { return };
    if let Err(refused) = drive::prepare(world, events, graph) {
        (world.tell)(kept(&refused));
    }
}

/// Why what ran goes on, as it is told.
pub(crate) fn kept(refused: &Refused) -> String {
    format!("the old graph goes on: {refused}")
}

/// What a new graph has changed, as it is told.
pub(crate) fn reloaded(changes: &Changes) -> String {
    let count = |names: &[String]| names.len();
    format!(
        "reloaded: {} apps kept, {} reconfigured, {} restarted, {} started, {} stopped; \
         {} links added, {} removed",
        count(&changes.kept),
        count(&changes.reconfigured),
        count(&changes.restarted),
        count(&changes.started),
        count(&changes.stopped),
        count(&changes.links_added),
        count(&changes.links_removed),
    )
}
