//! Borders between the parts of a program, checked when it is loaded.

use std::collections::BTreeSet;

use tidemill_overlog::exports::first_use;
use tidemill_overlog::program::Compiled;
use tidemill_packet::app::Value;
use tidemill_packet::flow::similar;
use tidemill_packet::graph::AppSpec;
use tidemill_relation::plan::RelationId;
use tidemill_stdx::diag::{Diagnostic, Span};

use super::Program;

/// Location, port, bytes: the columns of packets in rules.
const PACKET_COLUMNS: usize = 3;

/// The type of the apps that hand packets to rules.
const RULES: &str = "Rules";

/// An app of the graph that hands packets to the rules of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBorder {
    /// The app.
    pub app: String,
    /// What a packet is to the rules: `event(@N, Port, Bytes)`.
    pub event: RelationId,
    /// What sends a packet: `verdict(@N, Port, Bytes)`. Without it, the app is a sink.
    pub verdict: Option<RelationId>,
}

/// An app that is a border, as it stands in the graph.
struct Written {
    name: String,
    event: String,
    verdict: String,
    span: Span,
}

impl Program {
    /// The events that come from the graph.
    pub(super) fn events_of_packets(&self) -> BTreeSet<String> {
        self.written().map(|border| border.event).collect()
    }

    /// Checks that both sides of each border fit; as far as both sides could be read.
    pub(super) fn check_borders(&mut self) {
        let written: Vec<Written> = self.written().collect();
        for border in written {
            match self.packet_border(&border) {
                Ok(checked) => self.borders.extend(checked),
                Err(error) => self.diagnostics.push(error),
            }
        }
    }

    /// The apps that are borders.
    fn written(&self) -> impl Iterator<Item = Written> {
        let apps = self.packets.iter().flat_map(|graph| &graph.apps).zip(&self.apps);
        let text = |app: &AppSpec, key: &str, default: &str| match app.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => default.to_owned(),
        };
        apps.filter(|(app, _)| app.kind.name == RULES).filter_map(move |(app, &span)| {
            text(app, "file", "").is_empty().then(|| Written {
                name: app.name.clone(),
                event: text(app, "event", "packet"),
                verdict: text(app, "verdict", "send"),
                span,
            })
        })
    }

    /// Both sides of a border; nothing, if the rules have errors.
    fn packet_border(&self, written: &Written) -> Result<Option<PacketBorder>, Diagnostic> {
        let Written { name, event, verdict, span } = written;
        if !self.kinds.has(super::FileKind::Rules) {
            let message =
                format!("`{name}` hands packets to the rules of the program, which has none");
            let help = "add a file of rules to the program, or give the app rules of its own with \
                        `file`";
            return Err(Diagnostic::error("border", *span, message).help(help));
        }
        let Some(rules) = &self.rules.program else { return Ok(None) };
        let Some(event) = self.relation(rules, written, event)? else {
            let message =
                format!("`{name}` hands packets to the rules as `{event}`, which they do not have");
            let error = Diagnostic::error("border", *span, message);
            let known = rules.plan.relations.iter().map(|relation| relation.name.as_str());
            let help = match similar(event, known) {
                Some(meant) => format!("is `{meant}` meant? `event` names it"),
                None => format!("write a rule with `{event}(@N, Port, Bytes)` in its body"),
            };
            return Err(error.help(help));
        };
        let verdict = self.relation(rules, written, verdict)?;
        Ok(Some(PacketBorder { app: name.clone(), event, verdict }))
    }

    /// A relation of packets.
    fn relation(
        &self,
        rules: &Compiled,
        written: &Written,
        name: &str,
    ) -> Result<Option<RelationId>, Diagnostic> {
        let Some(id) = rules.plan.find(name) else { return Ok(None) };
        let relation = rules.plan.relation(id);
        let problem = match (relation.table().is_some(), relation.arity()) {
            (true, _) => "is a table, and packets are events".to_owned(),
            (false, PACKET_COLUMNS) => return Ok(Some(id)),
            (false, count) => {
                format!("has {count} columns, and packets have {PACKET_COLUMNS}")
            }
        };
        let message = format!("`{name}`, by which `{}` reaches the rules, {problem}", written.name);
        let mut error = Diagnostic::error("border", written.span, message);
        if let Some(place) = first_use(&self.rules.tree, name) {
            error = error.label(place, "used here");
        }
        Err(error.help(format!("packets are `{name}(@N, Port, Bytes)`")))
    }
}
