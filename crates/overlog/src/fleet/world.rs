//! The callbacks of a program that runs a fleet.

use std::sync::Arc;

use tidemill_event::{Endpoint, Loop};
use tidemill_relation::{OwnedValue, TupleBuf};
use tidemill_stdx::sorted::SortedSet;

use super::state::{Fleet, NodeId};
use crate::node::{Crossing, Emptied, Program};
use crate::query::AskerId;

/// The world of a loop that runs a fleet.
pub trait World: Sized + 'static {
    /// The fleet.
    fn fleet(&mut self) -> &mut Fleet;

    /// Called after each turn of a node, to observe it or to stop the loop.
    fn turned(&mut self, events: &mut Loop<Self>, node: NodeId) {
        let _ = (events, node);
    }

    /// Called before all nodes switch to another program, with the tables that start anew.
    fn replacing(&mut self, events: &mut Loop<Self>, emptied: &SortedSet<Emptied>) {
        let _ = (events, emptied);
    }

    /// Called when all nodes have switched to another program, before anything else happens.
    fn replaced(&mut self, events: &mut Loop<Self>, switched: Switched) {
        let _ = (events, switched);
    }

    /// Takes the event tuples and changes of a turn that its program
    /// [crosses](crate::node::Program::cross), in order, after the commit.
    fn crossed(&mut self, events: &mut Loop<Self>, node: NodeId, tuples: &TupleBuf<Crossing>) {
        let _ = (events, node, tuples);
    }

    /// The rows of a table of the system at a node, without the location, for tables that the fleet
    /// does not keep: `sys::app`, `sys::component` and the like.
    fn system_rows(
        &mut self,
        events: &mut Loop<Self>,
        node: NodeId,
        name: &str,
    ) -> Vec<Vec<OwnedValue>> {
        let _ = (events, node, name);
        Vec::new()
    }

    /// `Ns` of `sys::app` is read: measures for a few seconds the time that the apps of a node
    /// take. Does nothing where a program may not see the time of work, as in a simulation.
    fn measure_apps(&mut self, events: &mut Loop<Self>, node: NodeId) {
        let _ = (events, node);
    }

    /// The present rows of a table of another part at a node, without the location; `None` if there
    /// is no such table.
    fn foreign_rows(&mut self, node: NodeId, name: &str) -> Option<Vec<Vec<OwnedValue>>> {
        let _ = (node, name);
        None
    }

    /// Takes a message that answers an asker of [`ask`](super::ask), an encoded
    /// [`Control`](crate::control::Control).
    fn answered(&mut self, events: &mut Loop<Self>, asker: AskerId, message: &[u8]) -> Takes {
        let _ = (events, asker, message);
        Takes::More
    }

    /// Takes a connection from a tool to the port of a node; nothing watches it yet.
    fn called(&mut self, events: &mut Loop<Self>, node: NodeId, call: Call<'_>) {
        let _ = node;
        events.host().close(call.endpoint);
    }
}

/// The switch of all nodes to another program, which is now the fleet's.
#[derive(Debug)]
pub struct Switched {
    /// The old program.
    pub old: Arc<Program>,
    /// The differences in the tables of each node that cross to other parts of the program.
    pub crossings: Vec<(NodeId, TupleBuf<Crossing>)>,
}

/// Whether an asker takes more of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// Immediately.
    More,
    /// Not before [`resume`](super::resume).
    Later,
}

/// A connection that a tool began.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The connection.
    pub endpoint: Endpoint,
    /// Its origin.
    pub from: &'a str,
    /// The bytes read so far.
    pub bytes: &'a [u8],
}
