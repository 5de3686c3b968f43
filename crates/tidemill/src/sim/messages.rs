//! Applies actions of a script to single datagrams.

use tidemill_event::{Act, Loop, Meant};
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::net::envelope;
use tidemill_relation::Value;
use tidemill_relation::text::Pattern;

use crate::machine::Machine;
use crate::tuples::Parameters;

/// Applies an action to the datagram from one node to another that has such a tuple, or to any;
/// returns false if the action needs one in flight, and there is none.
pub(super) fn act(
    machine: &Machine,
    events: &mut Loop<Machine>,
    act: Act,
    (from, to): (u32, u32),
    tuple: Option<&Pattern>,
) -> bool {
    let identity = |node: u32| machine.fleet.identity(NodeId(node)).clone();
    let (sender, receiver) = (identity(from), identity(to));
    let (from, to) = (sender.address, receiver.address.clone());
    let post = machine.fleet.program().post().clone();
    let tuple = tuple.cloned();
    let is_meant: Meant = Box::new(move |bytes| {
        let Some(pattern) = &tuple else { return true };
        let name = pattern.name.trim_start_matches("::");
        envelope::tuples(post.schema(), bytes).iter().any(|(relation, columns)| {
            let columns: Vec<Value<'_>> = columns.as_seq().iter().collect();
            relation == name && pattern.matches(&columns, |param| Parameters(&receiver).get(param))
        })
    });
    let Some(sim) = events.host().sim() else { return false };
    sim.order(act, &from, &to, is_meant) || act != Act::Deliver
}
