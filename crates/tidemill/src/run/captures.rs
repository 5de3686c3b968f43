//! Programs with captures as input: if they have no other input, time is that of the captures.

use std::path::Path;

use tidemill_apps::pcap_reader::first_time_ns;
use tidemill_cl::system::System;
use tidemill_event::{Input, Os, SharedTime, Time};
use tidemill_packet::app::Value;
use tidemill_packet::engine::CaptureTime;
use tidemill_packet::graph::{AppSpec, Graph};
use tidemill_proc::program::Executable;

use super::Clock;

/// Steps and checkpoints per slice, where slices are counted.
pub(super) const SLICE_STEPS: u64 = 10_000;

/// The app that reads captures.
const READER: &str = "PcapReader";

/// Its replacement in simulations.
const SIMULATED: &str = "SimulatedCapture";

/// The app through which rules send packets, which they do in the time of the program.
const RULES: &str = "Rules";

/// System components through which a program has other input.
const OUTSIDE: [System; 4] = [System::Input, System::Network, System::Pore, System::Xenstore];

/// The captures of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Captures {
    /// The time of the first packet, in nanoseconds since the epoch.
    pub(super) wall_ns: i64,
    /// The clock that packets follow: that of the captures, or the system's.
    pub(super) clock: Clock,
}

impl Captures {
    /// Starts the captures now.
    pub(super) fn begin(self, now: Time) -> CaptureTime {
        CaptureTime { wall_ns: self.wall_ns, loop_ns: now.0 }
    }
}

/// The captures whose packets arrive at their times; `None` if there are none, or other sources
/// beside them: then packets arrive as fast as they are taken.
pub(super) fn captures(
    graph: Option<&Graph>,
    components: Option<&Executable>,
    clock: Clock,
) -> Option<Captures> {
    let graph = graph?;
    let is_fed_otherwise = clock == Clock::Own && !only_captures_feed(graph, components);
    let wall_ns = first_ns(graph).filter(|_| !is_fed_otherwise)?;
    Some(Captures { wall_ns, clock })
}

/// Whether a graph reads captures.
pub(super) fn has_readers(graph: &Graph) -> bool {
    graph.apps.iter().any(|app| app.kind.name == READER)
}

/// Why a graph cannot be simulated: an app reads what comes as it is written.
pub(crate) fn live_capture(graph: &Graph) -> Option<String> {
    let mut readers = graph.apps.iter().filter(|app| app.kind.name == READER);
    readers.find_map(|app| match app.config.get("file") {
        Some(Value::Text(file)) if Input::is_live_at(Path::new(file)) => Some(format!(
            "app `{}` reads a pipe, `{file}`, which a simulation cannot repeat: write it to a file",
            app.name
        )),
        _ => None,
    })
}

/// The time of the first packet of the captures of a graph.
pub(crate) fn first_ns(graph: &Graph) -> Option<i64> {
    let readers = graph.apps.iter().filter(|app| [READER, SIMULATED].contains(&app.kind.name));
    let file = |app: &AppSpec| match app.config.get("file") {
        Some(Value::Text(file)) => first_time_ns(file),
        _ => None,
    };
    readers.filter_map(file).min()
}

fn only_captures_feed(graph: &Graph, components: Option<&Executable>) -> bool {
    let is_source = |at: usize| graph.links.iter().all(|link| link.to.app != at);
    let are_readers = graph.apps.iter().enumerate().all(|(at, app)| {
        let is_in_time = [READER, RULES].contains(&app.kind.name) || !app.kind.pulls;
        !app.kind.device && (is_in_time || !is_source(at))
    });
    let interfaces = components.into_iter().flat_map(|program| &program.interfaces);
    are_readers && !interfaces.into_iter().any(|it| OUTSIDE.iter().any(|of| of.name() == it.name))
}

/// The host of a run whose time is that of captures, if there are some; the clock may be shared
/// with the hosts of other workers.
pub(super) fn in_time_of(
    captures: Option<Captures>,
    shared: Option<(SharedTime, u32)>,
    host: Os,
) -> Os {
    match (captures, shared) {
        (Some(Captures { wall_ns, clock: Clock::Own }), Some(shared)) => {
            host.with_shared_time(shared, wall_ns, SLICE_STEPS)
        }
        (Some(Captures { wall_ns, clock: Clock::Own }), None) => {
            host.with_skipped_time(wall_ns, SLICE_STEPS)
        }
        _ => host,
    }
}
