//! Datagrams become events of a node, and sends of its turns go to its mail.

use std::sync::Arc;

use tidemill_stdx::log::Level;
use tidemill_stdx::say;

use super::state::{Alive, INBOX_MAX};
use crate::net::address::spelled_like;
use crate::net::mail::Fate;
use crate::node::{Event, Received, Traced};

/// The most verbose level of this file's log lines.
const CEILING: Level = Level::Trace;

impl Alive {
    /// Logs why something of a peer was dropped, if there are more drops than `drops`.
    pub(super) fn log_drop(&mut self, from: &str, bytes: usize, drops: u64) {
        let Some(reason) = self.mail.counters().dropped_since(drops) else { return };
        let (name, text) = (&self.node.identity().address, reason.name());
        say!(Debug, "net", "{name}: dropped of {bytes} bytes from {from}: {text}");
        if reason.is_refusal()
            && let Some(whom) = self.refusals.first(from, text)
        {
            say!(Warn, "net", "{name}: {whom} is refused: {text}");
        }
    }

    /// Takes a datagram; returns how many events came of it.
    pub(super) fn take_in(&mut self, from: &str, datagram: &[u8], now_ns: u64) -> usize {
        let (bytes, drops) = (datagram.len(), self.mail.counters().drops());
        let name = &self.node.identity().address;
        say!(Trace, "net", "{name}: {bytes} bytes from {from}");
        let (mut arrived, node) = (std::mem::take(&mut self.arrived), &mut self.node);
        self.mail.receive(from, datagram, now_ns, &mut |delivery| {
            let mut row = node.spare_row();
            row.extend(delivery.columns);
            arrived.push((delivery.relation, row, delivery.delete));
        });
        self.log_drop(from, bytes, drops);
        // Events about a peer's earlier life come before those of its new one.
        let mut count = self.settle_fates();
        let has_origins = self.node.program().has_origins();
        let own = &self.node.identity().address;
        let sender: Option<Arc<str>> = has_origins.then(|| spelled_like(own, from).into());
        for (relation, row, delete) in arrived.drain(..) {
            if self.node.waiting() >= INBOX_MAX {
                self.node.counters_mut().dropped_queue_full += 1;
                self.node.reuse_row(row);
                continue;
            }
            self.node.enqueue(match &sender {
                Some(sender) if self.node.program().records_origin(relation) => {
                    let sender = sender.clone();
                    let received = Received { relation, row, delete, sender };
                    Event::Traced(Box::new(Traced::Received(received)))
                }
                _ => Event::Tuple { relation, row, delete, received: true },
            });
            count += 1;
        }
        self.arrived = arrived;
        count
    }

    /// Retracts what lost peers supported and sends again to those that have forgotten us; returns
    /// how many events came of it.
    pub(super) fn settle_fates(&mut self) -> usize {
        let mut count = 0;
        for fate in self.mail.fates() {
            let name = &self.node.identity().address;
            match fate {
                Fate::Gone(peer) => {
                    say!(Info, "net", "{name}: {peer} is gone, and what it supports here");
                    self.node.enqueue(Event::Lost { sender: peer });
                    count += 1;
                }
                Fate::Forgot(peer) => {
                    say!(Info, "net", "{name}: {peer} has lost the rows that it was sent");
                    self.node.enqueue(Event::Forgotten { peer });
                    count += 1;
                }
            }
        }
        count
    }

    /// Gives the node's sends to its mail; whether there were some.
    pub(super) fn hand_over(&mut self, now_ns: u64) -> bool {
        let (mail, mut has_sent) = (&mut self.mail, false);
        self.node.take_sends(|send, columns| {
            mail.post(send, columns, now_ns);
            has_sent = true;
        });
        has_sent
    }
}
