//! The compiled engine and the loop, side by side.

use tidemill_packet::engine::{Engine, EngineKind, Options, Rest};
use tidemill_packet::graph::Graph;
use tidemill_stdx::keyed::Secret;

/// An engine that keeps its listing. Each kind hashes with a secret of its own: nothing may follow
/// it.
pub fn engine(kind: EngineKind) -> Engine {
    let hash_secret = Secret::new(kind as u64);
    Engine::new(Options { kind, listing: true, hash_secret, ..Options::default() })
}

/// Both ways to breathe, with the same graph.
pub struct Both {
    /// Native code.
    pub compiled: Engine,
    /// The loop.
    pub dispatched: Engine,
}

impl Both {
    /// Without a graph.
    pub fn new() -> Both {
        Both { compiled: engine(EngineKind::Compiled), dispatched: engine(EngineKind::Dispatch) }
    }

    /// Gives both a graph that starts.
    pub fn configure(&mut self, graph: &Graph) {
        assert!(self.try_to_configure(graph));
    }

    /// Gives both a graph; false if it does not start, in either.
    pub fn try_to_configure(&mut self, graph: &Graph) -> bool {
        let changes = self.compiled.configure(graph.clone());
        assert_eq!(self.dispatched.configure(graph.clone()), changes, "{graph}");
        changes.is_ok()
    }

    /// One breath of each.
    pub fn breathe(&mut self, now_ns: u64) -> Rest {
        for engine in [&mut self.compiled, &mut self.dispatched] {
            engine.set_time(now_ns, 0);
        }
        let rest = self.compiled.breathe();
        assert_eq!(self.dispatched.breathe(), rest, "{}", self.compiled.graph());
        self.compare();
        rest
    }

    /// Whatever can be seen.
    pub fn compare(&self) {
        let graph = self.compiled.graph();
        for link in &graph.links {
            let name = graph.link_name(link);
            let (one, other) = (self.compiled.link_stats(&name), self.dispatched.link_stats(&name));
            assert_eq!(
                one,
                other,
                "{name}\n{graph}\n{}",
                self.compiled.listing().unwrap_or_default()
            );
        }
        for app in &graph.apps {
            let (one, other) =
                (self.compiled.app_stats(&app.name), self.dispatched.app_stats(&app.name));
            assert_eq!(one, other, "{}\n{graph}", app.name);
        }
        assert_eq!(self.compiled.stats(), self.dispatched.stats(), "{graph}");
        let (one, other) = (self.compiled.pool_stats(), self.dispatched.pool_stats());
        assert_eq!((one.allocated, one.freed), (other.allocated, other.freed));
    }

    /// Puts a packet into both, as if it had arrived over this link.
    pub fn inject(&mut self, app: &str, port: &str, bytes: &[u8]) {
        for engine in [&mut self.compiled, &mut self.dispatched] {
            let packet = engine.pool().packet_of(bytes).unwrap();
            engine.inject(app, port, packet).unwrap();
        }
    }
}
