//! A graph that is ready to run, and does not run yet.

use std::sync::mpsc::Receiver;

use tidemill_jit::Error;

use super::slot::LinkSlot;
use crate::app::{Instance, Io};
use crate::compiled::{BreathStep, Native};
use crate::flags::{Flags, flags};
use crate::graph::Graph;

/// What becomes of an app of the new graph.
pub(super) enum Fate {
    /// It was at this position and stays.
    Keep(usize),
    /// It was at this position and is offered its new config.
    Offer(usize),
    /// It begins, in the place of the one at this position if there was one of its name.
    Begin(Instance, Option<usize>),
}

impl Fate {
    /// The position of its predecessor.
    pub fn place(&self) -> Option<usize> {
        match self {
            Fate::Keep(at) | Fate::Offer(at) | Fate::Begin(_, Some(at)) => Some(*at),
            Fate::Begin(_, None) => None,
        }
    }
}

/// A graph that is ready to run: its new apps, links and ports are made, and nothing of the running
/// graph has changed. All addresses in it are known.
pub(super) struct Plan {
    pub graph: Graph,
    pub fates: Vec<Fate>,
    /// By app: the ports of those that have no place yet.
    pub ios: Vec<Option<Box<Io>>>,
    /// By link.
    pub links: Vec<Origin>,
    pub shape: Shape,
}

/// The origin of a link of the new graph.
pub(super) enum Origin {
    /// It was at this position and stays.
    Was(usize),
    /// It begins.
    New(LinkSlot),
}

/// What follows from a graph alone.
pub(super) struct Shape {
    pub order: Vec<usize>,
    pub pulls: Vec<usize>,
    /// The steps of a breath, in order; a flag for each.
    pub steps: Vec<BreathStep>,
    pub flags: Flags,
}

impl Shape {
    pub fn of(graph: &Graph) -> Shape {
        let order = graph.order();
        let pulls = order.iter().copied().filter(|&at| graph.apps[at].kind.pulls);
        let pulls: Vec<usize> = pulls.collect();
        let pushes = order.iter().copied().filter(|&at| graph.apps[at].kind.pushes());
        let steps =
            pulls.iter().map(|&at| BreathStep::Pull(at)).chain(pushes.map(BreathStep::Push));
        let steps: Vec<BreathStep> = steps.collect();
        let flags = flags(steps.len());
        Shape { order, pulls, steps, flags }
    }

    /// That of a graph that runs.
    pub fn again(graph: &Graph, flags: &Flags) -> Shape {
        Shape { flags: flags.clone(), ..Shape::of(graph) }
    }
}

/// A graph that is being compiled.
pub(super) struct Next {
    pub plan: Plan,
    pub made: Receiver<Result<Native, Error>>,
}
