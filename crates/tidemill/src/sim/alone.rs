//! Why a simulation can use one worker only.

use tidemill_cl::system::System;
use tidemill_proc::program::Executable;

use super::options::SimOptions;
use super::settle;
use super::setup::{Setup, has_leases};
use crate::script::{Cue, CueAction};
use crate::switch::Plug;

/// System tables whose rows cover all nodes of a process.
const OF_ALL: [&str; 3] = ["sys::counter", "sys::log", "sys::turn"];

/// The reason, if there is one.
pub(super) fn reason(setup: &Setup) -> Option<String> {
    let (common, options) = (&setup.common, &setup.common.options);
    let plan = common.rules.plan();
    if options.nodes <= 1 {
        return Some("there is one node".to_owned());
    }
    let of_parts = of_parts(setup);
    if of_parts.is_some() {
        return of_parts;
    }
    if common.properties.is_some() {
        return Some("rules at @SIM look at all nodes".to_owned());
    }
    if common.options.settle.is_some() {
        return Some("rows of `unsettled` at all nodes are looked at".to_owned());
    }
    let is_of_one = |cue: &Cue| matches!(cue.action, CueAction::Message { .. } | CueAction::Manual);
    if common.cues.iter().any(is_of_one) {
        return Some("the script acts on single messages".to_owned());
    }
    if least_latency_ns(setup) == 0 {
        return Some("datagrams may take no time".to_owned());
    }
    if options.seal.is_some() {
        return Some("keys are drawn from one stream for all nodes".to_owned());
    }
    if settle::end_ns(&common.cues, options.end_ns).is_none() && has_leases(&common.rules) {
        return Some("a run without an end waits for all nodes to rest".to_owned());
    }
    let read = OF_ALL.into_iter().find(|name| plan.find(name).is_some());
    read.map(|name| format!("the program reads {name}, which is of all nodes"))
}

/// The reason for which the components, graphs and files of nodes need a single worker.
fn of_parts(setup: &Setup) -> Option<String> {
    let Setup { common, parts, plugs, .. } = setup;
    let mut apps = parts.graph.iter().flat_map(|graph| &graph.apps);
    if parts.borders.have_files() || apps.any(|app| app.kind.exclusive && !app.kind.device) {
        return Some("the program writes files".to_owned());
    }
    if let Some(Plug { device, link, .. }) = plugs.first() {
        return Some(format!("link {link} joins the devices {device} of all nodes"));
    }
    if let Some(component) = parts.components.as_ref().and_then(user_of_network) {
        return Some(format!("component {component} uses Network, which is of all nodes"));
    }
    let ends_by_itself = !common.has_rules_only() && !common.lasts();
    ends_by_itself.then(|| "a run without an end ends with the main parts of all nodes".to_owned())
}

/// The first component that requires Network.
fn user_of_network(program: &Executable) -> Option<&str> {
    let is_network = |interface: u32| {
        let interface = program.interfaces.get(interface as usize);
        interface.is_some_and(|interface| interface.name == System::Network.name())
    };
    let mut components = program.components.iter();
    let user = components
        .find(|component| component.required.iter().any(|port| is_network(port.interface)));
    user.map(|component| component.name.as_str())
}

/// The minimum latency of a datagram, at the start or later.
pub(super) fn least_latency_ns(setup: &Setup) -> u64 {
    let SimOptions { faults, then, .. } = &setup.common.options;
    let phases = then.iter().map(|phase| phase.faults.latency_ns().0);
    let first = phases.fold(faults.latency_ns().0, u64::min);
    let later = setup.common.cues.iter().filter_map(|cue| match cue.action {
        CueAction::Latency { least, .. } => Some(least),
        _ => None,
    });
    later.fold(first, u64::min)
}
