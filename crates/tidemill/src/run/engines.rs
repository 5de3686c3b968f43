//! What makes the engines of several nodes, at each worker that runs some of them.

use std::rc::Rc;

use tidemill_packet::engine::CaptureTime;
use tidemill_stat::Registry;

use super::options::{EngineKind, RunOptions};
use crate::borders::files::Existing;
use crate::components::output::{self, Tap};
use crate::machine::parts::{Choices, Maker, Parts};

/// The engines of the nodes of a run, except for rules.
#[derive(Clone)]
pub(super) struct NodeEngines {
    parts: Parts,
    components: Choices,
    engine: EngineKind,
    registry: Registry,
}

impl NodeEngines {
    /// As chosen for a run.
    pub(super) fn new(parts: Parts, options: &mut RunOptions) -> NodeEngines {
        NodeEngines {
            parts,
            components: Choices::of(&mut options.components),
            engine: options.packets.engine,
            registry: options.registry.clone(),
        }
    }

    /// What makes the engines of a node when it starts, with their output.
    pub(super) fn maker(
        self,
        (seed, captures): (Option<u64>, Option<CaptureTime>),
        output: impl Fn() -> Tap + 'static,
    ) -> Maker {
        let NodeEngines { parts, components, engine, registry } = self;
        Maker {
            parts,
            components,
            engine,
            seed,
            captures,
            registry,
            output: Rc::new(move |name| output::sink(Some(name), output())),
            names: true,
            existing: Existing::Kept,
            disks: None,
        }
    }
}
