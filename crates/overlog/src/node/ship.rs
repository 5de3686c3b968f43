//! Shipping rows of views to other nodes, and holding them back.
//!
//! Rows with trails ([`crate::rewrite`]) may depend on rows that another node is about to retract.
//! Shipped immediately, each would be answered by the next best one, and in a dense graph that
//! explores all its paths. As in BGP (RFC 4271, MinRouteAdvertisementInterval) *bad news goes at
//! once, the rest waits*: when a row is removed, or its trail gets longer, the node announces
//! nothing for [`HOLD_NS`] and then the rows at that time. So rows are explored in rounds, all ways
//! of one length at a time: a row goes to a peer once per round, and the rounds are at most the
//! shipments on the longest trail.
//!
//! ```text
//! row goes, trail gets longer     --> deletion goes now, hold begins
//! row comes, trail changes        --> now; during a hold into `waiting`
//! end of the hold                 --> what of `waiting` still stands goes
//! ```
//! A network without removals has no hold.

use tidemill_relation::plan::RelationId;
use tidemill_relation::view::{Change, ChangeKind};
use tidemill_relation::{TupleBuf, Value};

use super::Node;
use super::event::Event;
use super::program::Program;
use super::shipping::HOLD_NS;
use super::tuples::Send;
use crate::net::address::is_address;
use crate::program::Export;

impl Node {
    /// When rows that are held back may go: [`Node::release`] is to be called then.
    pub fn next_release_ns(&self) -> Option<u64> {
        self.shipping.until_ns.filter(|_| !self.shipping.due)
    }

    /// Queues the event that ends the hold.
    pub fn release(&mut self) {
        self.shipping.due = true;
        self.enqueue(Event::Release);
    }

    pub(super) fn begin_release(&mut self) {
        self.shipping.due = false;
        self.shipping.release = true;
    }

    /// Ships the changes of exported views; returns the number of rows for this node, each of which
    /// becomes an event of a later turn as on other nodes.
    pub(super) fn ship(&mut self, program: &Program, changes: &TupleBuf<Change>) -> usize {
        if program.compiled.exports.is_empty() {
            return 0;
        }
        let mut local = 0;
        if std::mem::take(&mut self.shipping.release) {
            self.shipping.until_ns = None;
            let mut waiting = std::mem::take(&mut self.shipping.waiting);
            // Rows that this turn changes are shipped as changes.
            for (out, columns) in waiting.iter() {
                let columns: Vec<Value<'_>> = columns.iter().collect();
                let table = self.database.table(out);
                if table.find_equal(&columns).is_some()
                    && let Some(export) = find(program, out)
                {
                    local += self.send_row(program, export, false, &columns);
                }
            }
            waiting.clear();
            self.shipping.waiting = waiting;
        }
        if self.shipping.until_ns.is_none() && self.is_bad_news(program, changes) {
            self.shipping.until_ns = Some(self.turn.now_ns + HOLD_NS);
        }
        for (change, columns) in changes.iter() {
            let Some(export) = find(program, change.relation) else { continue };
            let columns: Vec<Value<'_>> = columns.iter().collect();
            local += match change.kind {
                ChangeKind::Refresh => 0,
                ChangeKind::Insert
                    if export.trail.is_some() && self.shipping.until_ns.is_some() =>
                {
                    self.shipping.waiting.push(export.out, &columns);
                    0
                }
                ChangeKind::Insert => self.send_row(program, export, false, &columns),
                // The row that replaces it here replaces it there, too.
                ChangeKind::Delete if self.database.table(export.out).find(&columns).is_some() => 0,
                ChangeKind::Delete => self.send_row(program, export, true, &columns),
            };
        }
        local
    }

    /// Whether a row with a trail was removed or has a longer trail.
    fn is_bad_news(&self, program: &Program, changes: &TupleBuf<Change>) -> bool {
        let mut columns = Vec::new();
        changes.iter().any(|(change, row)| {
            let Some(trail) = find(program, change.relation).and_then(|export| export.trail) else {
                return false;
            };
            if change.kind != ChangeKind::Delete {
                return false;
            }
            columns.clear();
            columns.extend(row.iter());
            let table = self.database.table(change.relation);
            match (table.find(&columns), columns.get(trail as usize)) {
                (Some(new), Some(old)) => table.value(new, trail).compare(old).is_gt(),
                _ => true,
            }
        })
    }

    /// Sends a row, or its deletion, to the node of its location column; 1 if that is this node.
    fn send_row(
        &mut self,
        program: &Program,
        export: Export,
        delete: bool,
        columns: &[Value<'_>],
    ) -> usize {
        let relation = export.into;
        let location = program.plan().relation(relation).location;
        match columns.get(location as usize).and_then(Value::as_str) {
            Some(address) if address == self.identity.address => {
                let mut row = self.spare_row();
                columns.iter().for_each(|&column| row.push(column));
                self.inbox.push(Event::Tuple { relation, row, delete, received: false });
                return 1;
            }
            Some(address) if is_address(address) => {
                let send = Send { relation, delete, view: true, location };
                self.turn.sends.push(send, columns);
            }
            _ => self.counters.dropped_unaddressed += 1,
        }
        0
    }
}

fn find(program: &Program, out: RelationId) -> Option<Export> {
    program.compiled.exports.iter().find(|export| export.out == out).copied()
}
