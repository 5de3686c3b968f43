//! Reduces a path to the steps that caused its last one.
//!
//! Independent steps of different nodes can be left out of a run. What remains are the turns from
//! which the last one follows, and their causes. A property of all nodes also follows from what the
//! other nodes hold: of their turns, as few as possible are kept.

use std::collections::VecDeque;

use tidemill_stdx::hash::Map;

use super::locals::Failure;
use super::row::State;
use super::search::Walked;
use super::steps::{Step, StepKind, Steps, Transition};
use super::turns::MessageId;

/// The part of a path from which its last step follows, as a path that was replayed. If the replay
/// fails, which it should not, the whole path.
pub(super) fn cause(steps: &mut Steps, path: Vec<Walked>) -> Vec<Walked> {
    let needs = needs(steps, &path);
    steps.take_all();
    let mut others = Vec::new();
    if path.last().is_some_and(|last| matches!(last.failure, Some(Failure::Property(_)))) {
        let shown = shown(steps, &path);
        others = shown.iter().filter_map(|shown| shown.last().copied()).collect();
        // Keeps the shortest sufficient prefix of each node.
        for shown in &shown {
            let Some(last) = shown.last() else { continue };
            let without: Vec<usize> = others.iter().filter(|it| *it != last).copied().collect();
            let fewer = std::iter::once(None).chain(shown.iter().copied().map(Some));
            let mut fewer = fewer.map(|least| without.iter().copied().chain(least).collect());
            let least =
                fewer.find(|others: &Vec<usize>| again(steps, &path, &needs, others).is_some());
            others = least.unwrap_or(others);
        }
    }
    again(steps, &path, &needs, &others).unwrap_or(path)
}

/// Replays the last step of a path and the steps `others`, with all that they need.
fn again(
    steps: &mut Steps,
    path: &[Walked],
    needs: &[Vec<usize>],
    others: &[usize],
) -> Option<Vec<Walked>> {
    let mut kept = vec![false; path.len()];
    kept.last_mut().into_iter().for_each(|last| *last = true);
    others.iter().for_each(|other| kept[*other] = true);
    for at in (0..path.len()).rev() {
        if kept[at] {
            needs[at].iter().for_each(|need| kept[*need] = true);
        }
    }
    let mut again: Vec<Walked> = Vec::new();
    let mut state = path.first()?.before.clone();
    for (walked, _) in path.iter().zip(kept).filter(|(_, kept)| *kept) {
        let next = take(steps, &state, walked)?;
        state.clone_from(&next.after);
        again.push(next);
    }
    Some(again)
}

/// By node: the steps before the last that change its projection for properties of all nodes.
fn shown(steps: &Steps, path: &[Walked]) -> Vec<Vec<usize>> {
    let nodes = 0..steps.locals.turns.identities.len() as u32;
    let before_last = &path[..path.len().saturating_sub(1)];
    let is_shown = |node: u32, Walked { before, after, .. }: &Walked| {
        let [before, after] = [before, after].map(|state| steps.local(state, node));
        steps.locals.projection(before) != steps.locals.projection(after)
    };
    let of_node = |node| {
        let all = before_last.iter().enumerate();
        all.filter(|(_, walked)| is_shown(node, walked)).map(|(at, _)| at).collect()
    };
    nodes.map(of_node).collect()
}

/// Repeats a step in a state with fewer waiting events and messages in flight.
fn take(steps: &mut Steps, state: &State, walked: &Walked) -> Option<Walked> {
    let tables = |steps: &Steps, state: &State| {
        let node = steps.node_of(walked.step)?;
        Some(steps.locals.get(steps.local(state, node)).tables)
    };
    let wanted = tables(steps, &walked.after);
    let which = match walked.step {
        Step::Turn(_) => StepKind::Turns,
        _ => StepKind::Outside,
    };
    let mut found = None;
    steps.each(state, which, &mut |steps, Transition { step, state: after, failure }| {
        let is_it =
            step == walked.step && failure == walked.failure && tables(steps, after) == wanted;
        if is_it {
            let (before, after) = (state.to_vec(), after.to_vec());
            found = Some(Walked { step, before, after, failure });
        }
        !is_it
    });
    found
}

/// By step: the steps that it needs.
fn needs(steps: &Steps, path: &[Walked]) -> Vec<Vec<usize>> {
    let count = path.first().map_or(0, |first| first.before.len());
    // By node: its last turn, timer and crash, and the step that put each waiting event there.
    let mut turns: Vec<Option<usize>> = vec![None; count];
    let mut timers = turns.clone();
    let mut inboxes = inboxes(steps, path, count);
    // By message: the steps that sent it.
    let mut sent: Map<MessageId, VecDeque<usize>> = Map::default();
    let mut script = None;
    let mut all = Vec::with_capacity(path.len());
    for (at, Walked { step, before, after, .. }) in path.iter().enumerate() {
        let mut needs: Vec<usize> = Vec::new();
        let node = steps.node_of(*step).unwrap_or_default() as usize;
        match step {
            Step::Turn(_) => needs.extend(turns[node]),
            Step::Deliver(message) => {
                needs.extend(sent.get_mut(message).and_then(VecDeque::pop_front));
            }
            Step::Duplicate(message) => {
                needs.extend(sent.get(message).and_then(VecDeque::front));
            }
            Step::Timer(..) => {
                needs.extend(timers[node].replace(at));
                needs.extend(turns[node]);
            }
            Step::Script(_) => needs.extend(script.replace(at)),
            Step::Crash(_) if steps.locals.remembers() => needs.extend(turns[node]),
            Step::Crash(_) | Step::Drop(_) => {}
        }
        let runs = matches!(step, Step::Turn(_)) || steps.is_atomic();
        if runs && steps.locals.follows_clock() {
            needs.extend(timers[node]);
        }
        let inbox = &mut inboxes[node];
        let waiting = |state: &State| steps.locals.get(steps.local(state, node as u32)).inbox.len();
        if steps.is_crash(*step) {
            inbox.clear();
            inbox.extend((0..waiting(after)).map(|_| Some(at)));
            turns[node] = Some(at);
        } else if steps.is_atomic() && !matches!(step, Step::Drop(_)) {
            needs.extend(turns[node].replace(at));
        } else if let Step::Turn(_) = step {
            needs.extend(inbox.pop_front().flatten());
            inbox.extend((inbox.len()..waiting(after)).map(|_| Some(at)));
            turns[node] = Some(at);
        } else if !matches!(step, Step::Drop(_)) {
            inbox.push_back(Some(at));
        }
        for message in sent_in(steps, *step, before, after) {
            sent.entry(message).or_default().push_back(at);
        }
        all.push(needs);
    }
    all
}

/// By node: the events that wait at the beginning of the path, which no step put there.
fn inboxes(steps: &Steps, path: &[Walked], count: usize) -> Vec<VecDeque<Option<usize>>> {
    let mut inboxes = vec![VecDeque::new(); count];
    if let Some(first) = path.first() {
        let nodes = steps.locals.turns.identities.len();
        for (node, inbox) in (0..).zip(inboxes.iter_mut().take(nodes)) {
            let local = steps.local(&first.before, node);
            *inbox = steps.locals.get(local).inbox.iter().map(|_| None).collect();
        }
    }
    inboxes
}

/// The messages sent by a step.
pub(super) fn sent_in(steps: &Steps, step: Step, before: &State, after: &State) -> Vec<MessageId> {
    let mut left = steps.messages(before).to_vec();
    let mut take = |message: &MessageId| {
        let at = left.iter().position(|other| other == message);
        at.map(|at| left.swap_remove(at)).is_some()
    };
    if let Step::Deliver(message) | Step::Drop(message) = step {
        take(&message);
    }
    steps.messages(after).iter().filter(|message| !take(message)).copied().collect()
}
