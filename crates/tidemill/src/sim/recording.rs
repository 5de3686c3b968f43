//! A run as a script: all that was drawn from its seed becomes actions, each of which can be left
//! out.

use tidemill_event::{Act, Sent, Time};
use tidemill_overlog::net::envelope;
use tidemill_overlog::node::Program as Rules;
use tidemill_relation::OwnedValue;
use tidemill_relation::text::{Pattern, Term};

use super::common::{Common, Recorded};
use super::{drawn, settle};
use crate::script::{Cue, CueAction, When};

/// The maximum number of times of one `every` that become single actions.
const TIMES_MAX: usize = 10_000;

/// The messages of a run that become actions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Messages {
    /// Those that were lost, duplicated or reordered.
    Faults,
    /// All, with their delays.
    All,
}

/// The actions of a run of `elapsed_ns`, in the order of their times.
pub(super) fn cues(
    common: &Common,
    recorded: &Recorded,
    which: Messages,
    elapsed_ns: u64,
) -> Vec<Cue> {
    let options = &common.options;
    let mut cues: Vec<Cue> = Vec::new();
    if which == Messages::Faults && options.faults.has_latency() {
        cues.push(at(0, drawn::latency(&options.faults)));
    }
    common.cues.iter().for_each(|cue| cues.extend(times(cue, elapsed_ns)));
    let (_, faults_end) = settle::calm(common);
    cues.extend(drawn::cues(options, faults_end));
    cues.extend(recorded.lives.iter().map(|&(ns, node, alive)| {
        if alive {
            at(ns, CueAction::Restart(vec![node]))
        } else {
            at(ns, CueAction::Crash(vec![node]))
        }
    }));
    cues.extend(
        recorded
            .kills
            .iter()
            .map(|(ns, node, victim)| at(*ns, CueAction::Kill(vec![*node], victim.clone()))),
    );
    for sent in &recorded.sent {
        cues.extend(message(common, sent, which));
    }
    cues.retain(|cue| cue.when.first() <= elapsed_ns && cue.action != CueAction::End);
    cues.sort_by_key(|cue| cue.when.first());
    cues.into_iter().flat_map(single).collect()
}

fn at(ns: u64, action: CueAction) -> Cue {
    Cue { when: When::At(ns), action, place: "recorded".to_owned() }
}

/// An action at each of its times.
fn times(cue: &Cue, elapsed_ns: u64) -> impl Iterator<Item = Cue> {
    let times = cue.when.times().take_while(move |ns| *ns <= elapsed_ns).take(TIMES_MAX);
    times.map(|ns| Cue { when: When::At(ns), ..cue.clone() })
}

/// A separate action for each of its nodes.
fn single(mut cue: Cue) -> Vec<Cue> {
    let actions: Vec<CueAction> = if let CueAction::Put(tuples) = &cue.action {
        tuples.iter().map(|one| CueAction::Put(vec![one.clone()])).collect()
    } else if let CueAction::Delete(tuples) = &cue.action {
        tuples.iter().map(|one| CueAction::Delete(vec![one.clone()])).collect()
    } else if let Some(nodes) = cue.action.nodes_mut().map(std::mem::take) {
        let of = |node| {
            let mut action = cue.action.clone();
            action.nodes_mut().into_iter().for_each(|nodes| nodes.push(node));
            action
        };
        nodes.into_iter().map(of).collect()
    } else {
        return vec![cue];
    };
    actions.into_iter().map(|action| Cue { action, ..cue.clone() }).collect()
}

/// The action that repeats the fate of a message.
fn message(common: &Common, sent: &Sent, which: Messages) -> Option<Cue> {
    let node = |address: &str| {
        common.identities.iter().find(|one| one.address == address).map(|one| one.index)
    };
    let (from, to) = (node(&sent.from)?, node(&sent.to)?);
    let after = |at: Time| at.since(sent.at);
    // One action per message: of two faults, the visible one.
    let act = match (sent.arrival, sent.double) {
        (None, None) => Act::Drop,
        (None, Some(at)) => Act::Delay { after: after(at) },
        (Some(_), Some(at)) => Act::Duplicate { after: after(at) },
        (Some(at), None) if sent.is_overtaken || which == Messages::All => {
            Act::Delay { after: after(at) }
        }
        (Some(_), None) => return None,
    };
    let tuple = pattern(&common.rules, &sent.bytes);
    Some(at(sent.at.0, CueAction::Message { act, from, to, tuple }))
}

/// The first tuple of a message.
fn pattern(rules: &Rules, bytes: &[u8]) -> Option<Pattern> {
    let (name, columns) = envelope::tuples(rules.post().schema(), bytes).into_iter().next()?;
    let terms = columns.as_seq().iter().map(|value| Term::Value(OwnedValue::new(value)));
    Some(Pattern { name, terms: terms.collect(), location: None })
}
