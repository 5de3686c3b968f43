//! Why a simulation can use one worker only.

use super::options::SimOptions;
use super::settle;
use super::setup::{Setup, has_leases};
use crate::script::{Cue, CueAction};

/// System tables whose rows cover all nodes of a process.
const OF_ALL: [&str; 3] = ["sys::counter", "sys::log", "sys::turn"];

/// The reason, if there is one.
pub(super) fn reason(setup: &Setup) -> Option<String> {
    let (common, options) = (&setup.common, &setup.common.options);
    let plan = common.rules.plan();
    if !common.is_in_order() || setup.parts.borders.have_files() {
        return Some("the program has more than rules".to_owned());
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
