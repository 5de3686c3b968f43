//! An app whose two sides fit.

use std::time::Duration;

use tidemill_cl::ir::ComponentId;
use tidemill_cl::ir::succession::Succession;
use tidemill_packet::app::{Config, Value};
use tidemill_packet::fields::{Fields, UnknownField};
use tidemill_packet::graph::AppSpec;

/// The type of the apps.
const SCRIPT: &str = "Script";

/// The default idle time.
pub(crate) const IDLE_SECONDS: u64 = 60;
pub(crate) const FLOWS_MAX: u64 = 100_000;
pub(crate) const QUEUE_MAX: u64 = 64;

/// An app of the graph that runs a component of the program for each flow.
#[derive(Clone, Debug)]
pub struct FlowBorder {
    /// The app.
    pub app: String,
    /// Its config in the graph.
    pub(super) config: Config,
    /// The type of the component: its number in the program.
    pub(super) kind: u32,
    /// The fields that distinguish flows; without any, all packets are one flow.
    pub(super) per: Fields,
    /// The idle time after which a flow ends.
    pub(super) idle: Option<Duration>,
    /// The maximum number of flows.
    pub(super) flows_max: usize,
    /// The maximum number of packets queued for a flow.
    pub(super) queue_max: usize,
}

impl FlowBorder {
    /// The number of the component in the program.
    pub(crate) fn number(&self) -> usize {
        self.kind as usize
    }

    /// Renumbers the component for a succession of programs.
    pub(in crate::borders) fn renumber(&mut self, succession: &Succession) {
        self.kind = succession.components[ComponentId::new(self.kind)].raw();
    }

    /// The border of a program that is an app itself and has one instance of `kind` per flow.
    pub(crate) fn own(app: &str, kind: u32, per: Fields, limits: Limits) -> FlowBorder {
        let Limits { idle, flows_max, queue_max } = limits;
        FlowBorder {
            app: app.to_owned(),
            config: Config::new(),
            kind,
            idle: idle_of(&per, idle),
            flows_max: usize::try_from(flows_max).unwrap_or(usize::MAX),
            queue_max: usize::try_from(queue_max).unwrap_or(usize::MAX),
            per,
        }
    }
}

/// The idle time of flows, and the maxima of flows and queued packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In seconds; 0: no limit.
    pub(crate) idle: u64,
    pub(crate) flows_max: u64,
    pub(crate) queue_max: u64,
}

/// The one flow of all packets never ends as idle.
fn idle_of(per: &Fields, seconds: u64) -> Option<Duration> {
    (!per.is_empty() && seconds > 0).then(|| Duration::from_secs(seconds))
}

/// The fields of `per`, with the names that ports also go by.
///
/// # Errors
/// The first name that is no field.
pub(crate) fn per(text: &str) -> Result<Fields, UnknownField> {
    let name = |name: &str| match name.split_whitespace().collect::<Vec<_>>()[..] {
        ["src", "port"] => "sport".to_owned(),
        ["dst", "port"] => "dport".to_owned(),
        _ => name.to_owned(),
    };
    Fields::parse(&text.split(',').map(name).collect::<Vec<_>>().join(","))
}

/// Whether an app runs a component of the program.
pub(in crate::borders) fn is_of_program(app: &AppSpec) -> bool {
    let has = |key| app.config.get(key).is_some_and(|it| *it != Value::Text(String::new()));
    app.kind.name == SCRIPT && has("component") && !has("file")
}
