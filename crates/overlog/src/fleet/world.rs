//! What a program that runs a fleet does of its own.

use std::sync::Arc;

use tidemill_event::{Endpoint, Loop};
use tidemill_relation::{OwnedValue, TupleBuf};

use super::state::{Fleet, NodeId};
use crate::node::{Crossing, Program};
use crate::query::AskerId;

/// The world of a loop that runs a fleet.
pub trait World: Sized + 'static {
    /// The fleet.
    fn fleet(&mut self) -> &mut Fleet;

    /// Called after each turn of a node, to look at what it did or to stop the loop.
    fn turned(&mut self, events: &mut Loop<Self>, node: NodeId) {
        let _ = (events, node);
    }

    /// Called when all nodes have gone on with another program, before anything else happens.
    fn replaced(&mut self, events: &mut Loop<Self>, switched: Switched) {
        let _ = (events, switched);
    }

    /// Takes the event tuples and changes of a turn that its program
    /// [crosses](crate::node::Program::cross), in order, after the commit.
    fn crossed(&mut self, events: &mut Loop<Self>, node: NodeId, tuples: &TupleBuf<Crossing>) {
        let _ = (events, node, tuples);
    }

    /// The rows of a table of the system at a node, without the location, of tables that are not of
    /// the fleet: `sys::app`, `sys::component` and the like.
    fn system_rows(
        &mut self,
        events: &mut Loop<Self>,
        node: NodeId,
        name: &str,
    ) -> Vec<Vec<OwnedValue>> {
        let _ = (events, node, name);
        Vec::new()
    }

    /// The rows that a table of another part has now at a node, without the location; nothing, if
    /// there is no such table.
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

/// Nodes have gone on with another program, which is that of the fleet now.
#[derive(Debug)]
pub struct Switched {
    /// The one that they had before.
    pub old: Arc<Program>,
    /// What the tables of each node that others than nodes see hold now and did not before, and the
    /// other way round.
    pub crossings: Vec<(NodeId, TupleBuf<Crossing>)>,
}

/// Whether an asker takes more of its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Takes {
    /// At once.
    More,
    /// Not before [`resume`](super::resume).
    Later,
}

/// A connection that a tool began.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The connection.
    pub endpoint: Endpoint,
    /// Where it comes from.
    pub from: &'a str,
    /// What was read of it.
    pub bytes: &'a [u8],
}
