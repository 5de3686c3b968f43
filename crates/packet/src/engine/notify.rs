//! Which apps are notified of packets on a link: bound once, when the graph is configured.
//!
//! Apps that are pushed need no notification, the breath sees their packets. An app that *pulls*
//! from an input sleeps when there is nothing, and the first packet must wake it. If the callback
//! were passed with each pull, an app that has never pulled could not be notified; so each link
//! has its targets from the start. And as apps that merely pass packets on declare that, the
//! targets of a link are those behind such apps: the notification skips them.
//!
//! ```text
//! src -> tee -> shaper (pulls)       link src->tee notifies shaper, so does link tee->shaper
//! ```

use super::Engine;
use crate::app::{Direction, Pacing};
use crate::graph::Graph;
use crate::link::Targets;

/// The apps that packets on a link are for, at their own pace, in the order of the graph.
fn pullers(graph: &Graph, outputs: &[Vec<usize>], link: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut seen = vec![false; graph.apps.len()];
    let mut open = vec![link];
    while let Some(link) = open.pop() {
        let to = &graph.links[link].to;
        let kind = graph.apps[to.app].kind;
        let port = kind.port(Direction::Input, &to.port);
        if port.is_some_and(|port| port.pacing == Pacing::Pull) {
            found.push(to.app);
        } else if kind.passes && !std::mem::replace(&mut seen[to.app], true) {
            open.extend(&outputs[to.app]);
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// By link, the apps that it notifies.
pub(super) fn notified(graph: &Graph) -> Vec<Vec<usize>> {
    let pulls = |app: &crate::graph::AppSpec| {
        app.kind.ports(Direction::Input).any(|port| port.pacing == Pacing::Pull)
    };
    if !graph.apps.iter().any(pulls) {
        return vec![Vec::new(); graph.links.len()];
    }
    let mut outputs: Vec<Vec<usize>> = vec![Vec::new(); graph.apps.len()];
    for (at, link) in graph.links.iter().enumerate() {
        outputs[link.from.app].push(at);
    }
    (0..graph.links.len()).map(|link| pullers(graph, &outputs, link)).collect()
}

impl Engine {
    /// Binds the notifications of all links.
    pub(super) fn bind_notifications(&mut self) {
        let notified = notified(&self.graph);
        self.slots.iter_mut().for_each(|slot| slot.feeds.clear());
        let mut bound = Vec::new();
        for (at, found) in notified.into_iter().enumerate() {
            let ring = self.links[at].link.ring();
            if found.is_empty() {
                ring.bind(std::ptr::null());
                continue;
            }
            let wakes = found.iter().map(|&app| self.slots[app].wake.clone());
            let targets: Box<Targets> = Box::new(wakes.collect());
            ring.bind(&raw const *targets);
            if !ring.is_empty() {
                ring.notify();
            }
            bound.push(targets);
            for app in found {
                self.slots[app].feeds.push(at);
            }
        }
        self.targets = bound;
    }
}
