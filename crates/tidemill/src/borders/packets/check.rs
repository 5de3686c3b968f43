//! Apps that hand packets to rules, checked when the program is loaded.

use tidemill_diag::nearest;
use tidemill_diag::{Diagnostic, Span};
use tidemill_overlog::Given;
use tidemill_overlog::exports::first_use;
use tidemill_overlog::program::Compiled;
use tidemill_packet::app::Value;
use tidemill_packet::fields::Fields;
use tidemill_packet::graph::{AppSpec, LinkSpec};
use tidemill_relation::plan::RelationId;
use tidemill_relation::{Type, TypeSet};
use tidemill_stdx::sorted::SortedMap;

use super::border::PacketBorder;
use crate::borders::fields::types_of;
use crate::program::{FileKind, Program};

/// The columns of a packet in rules: location and port, then its bytes, or its number.
const PACKET_COLUMNS: usize = 3;

/// The event that holds a packet: location, port, number, seconds.
const HOLD: &str = "hold";
const HOLD_COLUMNS: usize = 4;

/// The key of the event that sends packets.
const VERDICT: &str = "verdict";

/// The type of the apps that hand packets to rules.
const RULES: &str = "Rules";

/// An app that is a border, as declared in the graph.
struct Written {
    name: String,
    event: String,
    verdict: String,
    /// The graph names the verdict.
    names_verdict: bool,
    fields: String,
    span: Span,
}

impl Program {
    /// The events of packets.
    pub(crate) fn events_of_packets(&self) -> impl Iterator<Item = String> {
        self.written().map(|border| border.event)
    }

    /// The types of their columns.
    pub(crate) fn packets_given(&self) -> impl Iterator<Item = Given> {
        self.written().filter_map(|written| {
            let fields = Fields::parse(&written.fields).ok()?;
            let span = written.span;
            let mut columns = vec![(TypeSet::TEXT, span); 2];
            if fields.is_empty() {
                columns.push((TypeSet::BYTES, span))
            } else {
                columns.push((TypeSet::INT, span));
                columns.extend(fields.types().map(|(_, kind)| (types_of(kind), span)));
            }
            Some(Given { relation: written.event, columns })
        })
    }

    /// Checks that both sides of each border fit, as far as both sides were parsed.
    pub(crate) fn check_packet_borders(&mut self) {
        let written: Vec<Written> = self.written().collect();
        for border in written {
            match self.packet_border(&border) {
                Ok(checked) => self.borders.packets.extend(checked),
                Err(error) => self.diagnostics.push(error),
            }
        }
        self.check_ports_of_verdicts();
    }

    /// Checks the ports that rules name by constants; several apps may have one verdict.
    fn check_ports_of_verdicts(&mut self) {
        let mut apps: SortedMap<String, Vec<(String, Span)>> = SortedMap::new();
        for border in self.written() {
            let is_checked = self.borders.packets.iter().any(|checked| checked.app == border.name);
            if is_checked {
                apps.entry(border.verdict).or_default().push((border.name, border.span));
            }
        }
        for (verdict, apps) in &apps {
            let apps: Vec<_> = apps.iter().map(|(name, span)| (name.as_str(), *span)).collect();
            let wrong = self.wrong_ports(verdict, &apps);
            self.diagnostics.extend(wrong);
        }
    }

    /// The apps that are borders.
    fn written(&self) -> impl Iterator<Item = Written> {
        let apps = self.packets.iter().flat_map(|graph| &graph.apps).zip(&self.apps);
        let text = |app: &AppSpec, key: &str, default: &str| match app.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => default.to_owned(),
        };
        let is_border =
            move |app: &AppSpec| app.kind.name == RULES && text(app, "file", "").is_empty();
        apps.filter(move |(app, _)| is_border(app)).map(move |(app, &span)| Written {
            name: app.name.clone(),
            event: text(app, "event", "packet"),
            verdict: text(app, VERDICT, "send"),
            names_verdict: app.config.get(VERDICT).is_some(),
            fields: text(app, "fields", ""),
            span,
        })
    }

    /// The border of an app; `None` if the rules have errors of their own.
    fn packet_border(&self, written: &Written) -> Result<Option<PacketBorder>, Diagnostic> {
        let Written { name, event, fields, span, .. } = written;
        if !self.kinds.has(FileKind::Rules) {
            let message =
                format!("`{name}` hands packets to the rules of the program, which has none");
            let help = "add a file of rules to the program, or give the app rules of its own with \
                        `file`";
            return Err(Diagnostic::error("border", *span, message).help(help));
        }
        let Some(rules) = &self.rules.program else { return Ok(None) };
        // The check of the app has reported invalid names.
        let fields = Fields::parse(fields).ok().filter(|fields| !fields.is_empty());
        let columns = PACKET_COLUMNS + fields.as_ref().map_or(0, Fields::len);
        let found = self.relation(rules, written, event, columns)?;
        if found.is_none() && self.is_linked(name, |link| link.to.app) {
            let message =
                format!("`{name}` hands packets to the rules as `{event}`, which they do not have");
            let rule = || format!("write a rule with {} in its body", form(event, fields.as_ref()));
            return Err(self.unknown(rules, written, ("event", event), message, rule));
        }
        if let (Some(fields), Some(event)) = (&fields, found) {
            self.check_types(rules, written, event, fields)?;
        }
        let verdict = self.verdict(rules, written, fields.as_ref())?;
        let hold = match &fields {
            Some(_) => self.relation(rules, written, HOLD, HOLD_COLUMNS)?,
            None => None,
        };
        let packet = match &fields {
            Some(_) => ("the number of a packet", TypeSet::INT),
            None => ("the bytes of a packet", TypeSet::BYTES),
        };
        let port = ("the name of a port", TypeSet::TEXT);
        let seconds = ("a number of seconds", TypeSet::NUMBER.union(TypeSet::INTERVAL));
        if let Some(verdict) = verdict {
            self.check_taken(rules, written, verdict, &[port, packet])?;
        }
        if let Some(hold) = hold {
            self.check_taken(rules, written, hold, &[port, packet, seconds])?;
        }
        Ok(Some(PacketBorder { app: name.clone(), event: found, verdict, hold, fields }))
    }

    /// The event that sends packets. An app whose graph does not name it, and that has no output,
    /// is a sink without it.
    fn verdict(
        &self,
        rules: &Compiled,
        written: &Written,
        fields: Option<&Fields>,
    ) -> Result<Option<RelationId>, Diagnostic> {
        let Written { name, verdict, names_verdict, .. } = written;
        let found = self.relation(rules, written, verdict, PACKET_COLUMNS)?;
        let is_needed = *names_verdict || self.is_linked(name, |link| link.from.app);
        // An empty name says that there is none.
        if found.is_some() || verdict.is_empty() || !is_needed {
            return Ok(found);
        }
        let message =
            format!("`{name}` sends the packets of `{verdict}`, which the rules do not have");
        let rule = || match fields {
            Some(_) => format!("write a rule with `{verdict}(@N, Port, Id)` as its head"),
            None => format!("write a rule with {} as its head", form(verdict, None)),
        };
        Err(self.unknown(rules, written, (VERDICT, verdict), message, rule))
    }

    /// The error for a relation that the rules do not have, by the key that names it.
    fn unknown(
        &self,
        rules: &Compiled,
        written: &Written,
        (key, relation): (&str, &str),
        message: String,
        rule: impl FnOnce() -> String,
    ) -> Diagnostic {
        let known = rules.plan.relations.iter().filter(|relation| !relation.hidden);
        match nearest(relation, known.map(|relation| relation.name.as_str())) {
            Some(meant) => {
                let error = self.error_at(written, meant, message);
                error.help(format!("is `{meant}` meant? `{key}` names it"))
            }
            None => Diagnostic::error("border", written.span, message).help(rule()),
        }
    }

    /// Whether a link has the app at this end. Rules only send packets by an app that no link
    /// leads to.
    fn is_linked(&self, app: &str, end: impl Fn(&LinkSpec) -> usize) -> bool {
        self.packets
            .as_ref()
            .is_some_and(|graph| graph.links.iter().any(|link| graph.apps[end(link)].name == app))
    }

    /// Checks that the columns of an event can hold the fields.
    fn check_types(
        &self,
        rules: &Compiled,
        written: &Written,
        event: RelationId,
        fields: &Fields,
    ) -> Result<(), Diagnostic> {
        let relation = rules.plan.relation(event);
        let columns = relation.columns.iter().enumerate().skip(PACKET_COLUMNS);
        for ((at, known), (field, kind)) in columns.zip(fields.types()) {
            let types = types_of(kind).without(TypeSet::of(Type::Null));
            if !known.meets(types) {
                let message = format!(
                    "column {} of `{}` is {known}, and field `{field}` of `{}` is {types}",
                    at + 1,
                    relation.name,
                    written.name
                );
                return Err(self.error_at(written, &relation.name, message));
            }
        }
        Ok(())
    }

    /// Checks that the columns of an event after its location hold what the app takes from it.
    fn check_taken(
        &self,
        rules: &Compiled,
        written: &Written,
        event: RelationId,
        taken: &[(&str, TypeSet)],
    ) -> Result<(), Diagnostic> {
        let relation = rules.plan.relation(event);
        let columns = relation.columns.iter().zip(1..).skip(1);
        for ((known, at), (what, types)) in columns.zip(taken) {
            if !known.meets(*types) {
                let name = &relation.name;
                let message = format!(
                    "column {at} of `{name}` is {known}, and `{}` takes {what} there: {types}",
                    written.name
                );
                return Err(self.error_at(written, name, message));
            }
        }
        Ok(())
    }

    /// A relation of packets with the given number of columns.
    fn relation(
        &self,
        rules: &Compiled,
        written: &Written,
        name: &str,
        columns: usize,
    ) -> Result<Option<RelationId>, Diagnostic> {
        let Some(id) = rules.plan.find(name) else { return Ok(None) };
        let relation = rules.plan.relation(id);
        let problem = match relation.table() {
            Some(_) => "is a table, and packets are events".to_owned(),
            None if relation.takes(columns) => return Ok(Some(id)),
            None => format!("has {} columns, and not {columns}", relation.arity()),
        };
        let message = format!("`{name}`, by which `{}` reaches the rules, {problem}", written.name);
        let fields = Fields::parse(&written.fields).ok().filter(|fields| !fields.is_empty());
        let form = match name {
            HOLD => "`hold(@N, Port, Id, Seconds)`".to_owned(),
            _ if name == written.event => form(name, fields.as_ref()),
            _ if fields.is_some() => format!("`{name}(@N, Port, Id)`"),
            _ => form(name, None),
        };
        Err(self.error_at(written, name, message).help(format!("it is {form}")))
    }

    /// An error with the spans of both sides.
    fn error_at(&self, written: &Written, relation: &str, message: String) -> Diagnostic {
        let error = Diagnostic::error("border", written.span, message);
        match first_use(&self.rules.tree, relation) {
            Some(place) => error.label(place, "used here"),
            None => error,
        }
    }
}

/// The expected form of the event of packets.
fn form(event: &str, fields: Option<&Fields>) -> String {
    match fields {
        None => format!("`{event}(@N, Port, Bytes)`"),
        Some(fields) => {
            let columns: Vec<String> = fields.types().map(|(name, _)| column(name)).collect();
            format!("`{event}(@N, Port, Id, {})`", columns.join(", "))
        }
    }
}

/// A variable for a field: `ip.src` is `IpSrc`.
fn column(field: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    field.split('.').map(part).collect()
}
