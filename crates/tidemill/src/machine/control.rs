//! Requests of tools to a run: to its nodes, for its counters and its component tree.

use tidemill_event::Loop;
use tidemill_overlog::control::{End, Status};
use tidemill_overlog::fleet;
use tidemill_overlog::query::AskerId;

use super::{Machine, others, posts, reload};
use crate::components::listing;
use crate::control::{Controlled, QueriedNode, Server, Snapshot};

impl Machine {
    /// The component trees of all nodes.
    fn tree(&mut self) -> String {
        if !self.has_scopes() {
            return listing(self.node.runner.worker());
        }
        let mut trees = String::new();
        for id in self.fleet.ids() {
            let tree = self.at_node(id, |machine| listing(machine.node.runner.worker()));
            let address = self.fleet.address(id).unwrap_or_default();
            trees.push_str(&format!("{address}\n{}", tree.unwrap_or_default()));
        }
        trees
    }
}

impl Controlled for Machine {
    fn control(&mut self) -> Option<&mut Server> {
        self.control.as_mut()
    }

    fn snapshot(&mut self) -> Snapshot {
        let counters = self.registry.counters("").into_iter().collect();
        let tree = if self.has.components { self.tree() } else { String::new() };
        Snapshot { counters, tree }
    }

    fn measure(&mut self, events: &mut Loop<Machine>) {
        fleet::look_at_costs(self, events);
        posts::all(self, fleet::look_at_costs);
    }

    fn query(
        &mut self,
        events: &mut Loop<Machine>,
        whom: QueriedNode<'_>,
        question: (AskerId, u64),
        text: &str,
    ) -> Result<(), End> {
        if !self.has.nodes {
            return Err(End::refusal(Status::Unsupported, "this run has no nodes of rules to ask"));
        }
        let mut ids = self.fleet.ids();
        let node = match whom {
            QueriedNode::Node(node) => node,
            QueriedNode::Name("") => match (ids.next(), ids.next()) {
                (Some(only), None) => only,
                _ => {
                    let reason = "the run has several nodes: say which";
                    return Err(End::refusal(Status::Wrong, reason));
                }
            },
            QueriedNode::Name(name) => self.fleet.find(name).ok_or_else(|| {
                End::refusal(Status::Wrong, format!("the run has no node {name}"))
            })?,
        };
        if self.share.has(node) {
            fleet::ask(self, events, node, question, text)
        } else {
            others::ask(self, node, question, text)
        }
    }

    fn install(
        &mut self,
        events: &mut Loop<Machine>,
        name: &str,
        text: Option<String>,
    ) -> Result<(), End> {
        reload::install(self, events, name, text)
    }

    fn gone(&mut self, events: &mut Loop<Machine>, asker: AskerId) {
        fleet::forget(self, events, asker);
        others::forget(self, asker);
    }

    fn resume(&mut self, events: &mut Loop<Machine>, asker: AskerId) {
        fleet::resume(self, events, asker);
        others::resume(self, asker);
    }

    fn is_asking(&mut self, asker: AskerId) -> bool {
        self.fleet.is_asking(asker) || others::is_asking(self, asker)
    }
}
