//! Tuples of rules in files: `sink("FILE", name).`
//!
//! Each tuple of an event, and each row inserted into a table, becomes a record of the file when
//! its turn has committed. Each of several nodes writes into a folder of its own. Columns are named
//! `a1` and so on, as in the messages between nodes.

mod border;
mod check;
mod state;

use tidemill_event::Loop;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::Crossing;
use tidemill_relation::TupleBuf;

use crate::machine::Machine;
pub use border::SinkBorder;
pub(crate) use check::file_name;
pub use check::sinks_of;
pub(crate) use state::Sinks;

/// Writes the tuples derived in a turn.
pub(super) fn take(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    node: NodeId,
    tuples: &TupleBuf<Crossing>,
) {
    if machine.sinks.is_empty() {
        return;
    }
    let faults = machine.sinks.take(node, events.wall(), tuples);
    faults.iter().for_each(|fault| machine.remark(fault));
}
