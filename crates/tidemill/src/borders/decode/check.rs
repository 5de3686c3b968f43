//! Apps that decode messages in packets, checked when the program is loaded.

use tidemill_diag::{Diagnostic, Span, nearest};
use tidemill_overlog::Given;
use tidemill_overlog::exports::first_use;
use tidemill_overlog::stage;
use tidemill_packet::app::{Config, Value};
use tidemill_packet::fields::Fields;
use tidemill_packet::graph::AppSpec;
use tidemill_relation::plan::RelationId;
use tidemill_relation::{Type, TypeSet};
use tidemill_wire::{MessageId, Schema};

use super::border::{DECODE, DecodeBorder, Target};
use crate::borders::fields::types_of;
use crate::borders::files::{Column, FileForm};
use crate::borders::schemas::{Selection, all_columns};
use crate::borders::sinks::file_name;
use crate::program::{FileKind, Program};

/// An app that decodes, as declared in the graph.
struct Written {
    name: String,
    message: String,
    from: String,
    select: String,
    fields: String,
    event: String,
    output: String,
    config: Config,
    span: Span,
}

impl Program {
    /// The events of decoded messages.
    pub(crate) fn events_of_messages(&self) -> impl Iterator<Item = String> {
        self.decoders().map(|written| written.event).filter(|event| !event.is_empty())
    }

    /// The types of their columns, as far as the config of the app is valid.
    pub(crate) fn messages_given(&self) -> impl Iterator<Item = Given> {
        self.decoders().filter(|written| !written.event.is_empty()).filter_map(|written| {
            let (schema, message) = self.border.message(&written.message).ok()?;
            let fields = Fields::parse(&written.fields).ok()?;
            let spans = self.border.spans();
            let selected = match written.select.trim() {
                "" => all_columns(schema, message, spans),
                select => Selection::parse(schema, message, select).ok()?.columns(schema, spans),
            };
            let span = written.span;
            let of_packet = fields.types().map(|(_, kind)| (types_of(kind), span));
            let of_message = selected.iter().map(|it| (it.types, it.source.unwrap_or(span)));
            let location = std::iter::once((TypeSet::TEXT, span));
            let columns = location.chain(of_packet).chain(of_message).collect();
            Some(Given { relation: written.event, columns })
        })
    }

    /// Checks the destinations of decoded messages, as far as all sides were parsed.
    pub(crate) fn check_decoders(&mut self) {
        let written: Vec<Written> = self.decoders().collect();
        for written in written {
            match self.decoder(&written) {
                Ok(checked) => self.borders.decoders.extend(checked),
                Err(error) => self.diagnostics.push(*error),
            }
        }
    }

    fn decoders(&self) -> impl Iterator<Item = Written> {
        let apps = self.packets.iter().flat_map(|graph| &graph.apps).zip(&self.apps);
        let text = |app: &AppSpec, key: &str, default: &str| match app.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => default.to_owned(),
        };
        apps.filter(|(app, _)| app.kind.name == DECODE).map(move |(app, &span)| Written {
            name: app.name.clone(),
            message: text(app, "type", ""),
            from: text(app, "from", "udp.payload"),
            select: text(app, "select", ""),
            fields: text(app, "fields", ""),
            event: text(app, "event", ""),
            output: text(app, "output", ""),
            config: app.config.clone(),
            span,
        })
    }

    /// The border of an app; `None` if one side has errors of its own.
    fn decoder(&self, written: &Written) -> Result<Option<DecodeBorder>, Box<Diagnostic>> {
        let Written { name, span, .. } = written;
        if self.schema.is_none() && self.kinds.has(FileKind::Schemas) {
            return Ok(None);
        }
        let found = self.border.message(&written.message);
        let (schema, message) = found
            .map_err(|(message, help)| Diagnostic::error("border", *span, message).help(help))?;
        // The check of the app has reported invalid names.
        let (Ok(from), Ok(fields)) = (Fields::parse(&written.from), Fields::parse(&written.fields))
        else {
            return Ok(None);
        };
        let selection = match written.select.trim() {
            "" => None,
            select => Some(self.selection(written, (schema, message), select)?),
        };
        let spans = self.border.spans();
        let selected = match &selection {
            None => all_columns(schema, message, spans),
            Some(selection) => selection.columns(schema, spans),
        };
        let target = match written.output.as_str() {
            "" => match self.event(written, &fields, &selected)? {
                Some(event) => Target::Event(event),
                None => return Ok(None),
            },
            output => self.file(written, output, &fields, &selected)?,
        };
        let (schemas, schema) = (self.border.clone(), schema.clone());
        Ok(Some(DecodeBorder {
            app: name.clone(),
            config: written.config.clone(),
            schemas,
            schema,
            message,
            from,
            fields,
            selection,
            target,
        }))
    }

    fn selection(
        &self,
        written: &Written,
        (schema, message): (&Schema, MessageId),
        select: &str,
    ) -> Result<Selection, Box<Diagnostic>> {
        Selection::parse(schema, message, select).map_err(|wrong| {
            let text = format!("`select` of `{}`: {}", written.name, wrong.message);
            let error = Diagnostic::error("border", written.span, text).help(wrong.help);
            Box::new(match self.border.spans().message(wrong.at) {
                Some(place) => error.label(place, "declared here"),
                None => error,
            })
        })
    }

    /// The event in the rules, if these were parsed.
    fn event(
        &self,
        written: &Written,
        fields: &Fields,
        selected: &[stage::Column],
    ) -> Result<Option<RelationId>, Box<Diagnostic>> {
        let Written { name, event, span, .. } = written;
        if !self.kinds.has(FileKind::Rules) {
            let message = format!("`{name}` hands messages to rules, and the program has none");
            let help = "add a file of rules to the program, or write a file with `output`";
            return Err(Box::new(Diagnostic::error("border", *span, message).help(help)));
        }
        let Some(rules) = &self.rules.program else { return Ok(None) };
        let Some(id) = rules.plan.find(event) else {
            let message = format!(
                "`{name}` hands messages to the rules as `{event}`, which they do not have"
            );
            let known = rules.plan.relations.iter().filter(|relation| !relation.hidden);
            let help = match nearest(event, known.map(|relation| relation.name.as_str())) {
                Some(meant) => format!("is `{meant}` meant? `event` names it"),
                None => format!("write a rule with {} in its body", form(event, fields, selected)),
            };
            return Err(Box::new(Diagnostic::error("border", *span, message).help(help)));
        };
        let (relation, columns) = (rules.plan.relation(id), 1 + fields.len() + selected.len());
        let problem = match relation.table() {
            Some(_) => Some("is a table, and messages are events".to_owned()),
            None if relation.takes(columns) => None,
            None => Some(format!("has {} columns, and not {columns}", relation.arity())),
        };
        if let Some(problem) = problem {
            let message = format!("`{event}`, by which `{name}` reaches the rules, {problem}");
            let error = self.both_sides(written, message);
            return Err(Box::new(error.help(format!("it is {}", form(event, fields, selected)))));
        }
        let of_packet = fields.types().map(|(name, kind)| (name.to_owned(), types_of(kind), None));
        let of_message =
            selected.iter().map(|column| (column.name.to_string(), column.types, column.source));
        let known = relation.columns.iter().enumerate().skip(1);
        for ((at, known), (field, types, source)) in known.zip(of_packet.chain(of_message)) {
            // Null alone, from an optional field, does not make the types meet.
            let types = types.without(TypeSet::of(Type::Null));
            if known.is_empty() || known.meets(types) {
                continue;
            }
            let message = format!(
                "column {} of `{event}` is {known}, and field `{field}` of `{name}` is {types}",
                at + 1
            );
            let error = self.both_sides(written, message);
            return Err(Box::new(match source {
                Some(source) => error.label(source, "declared here"),
                None => error,
            }));
        }
        Ok(Some(id))
    }

    /// The file, and its columns.
    fn file(
        &self,
        written: &Written,
        output: &str,
        fields: &Fields,
        selected: &[stage::Column],
    ) -> Result<Target, Box<Diagnostic>> {
        let error = |message: String, help: &str| {
            Box::new(Diagnostic::error("border", written.span, message).help(help))
        };
        let file = file_name(output, written.span, "border")?;
        if file.form() == FileForm::Pcap {
            let message = format!("`{}` writes fields, and `{output}` holds frames", written.name);
            return Err(error(message, "`.jsonl`, `.csv` and `.parquet` hold fields"));
        }
        let others = self.borders.decoders.iter().filter_map(|one| match &one.target {
            Target::File(file, _) => Some(file),
            Target::Event(_) => None,
        });
        let mut others = others.chain(self.borders.sinks.iter().map(|sink| &sink.file));
        if others.any(|other| other.is(&file)) {
            let message = format!("`{output}`, which `{}` writes, is written twice", written.name);
            return Err(error(message, "give each a file of its own"));
        }
        let of_packet = fields.types().map(|(name, kind)| {
            let types = types_of(kind);
            Column { name: name.to_owned(), types }
        });
        let of_message = selected
            .iter()
            .map(|column| Column { name: column.name.to_string(), types: column.types });
        let columns: Vec<Column> = of_packet.chain(of_message).collect();
        for (at, column) in columns.iter().enumerate() {
            if columns[..at].iter().any(|other| other.name == column.name) {
                let message = format!("`{output}` would have two columns `{}`", column.name);
                return Err(error(message, "name it once"));
            }
        }
        Ok(Target::File(file, columns))
    }

    /// An error that shows the app and where the rules use its event.
    fn both_sides(&self, written: &Written, message: String) -> Diagnostic {
        let error = Diagnostic::error("border", written.span, message);
        match first_use(&self.rules.tree, &written.event) {
            Some(place) => error.label(place, "used here"),
            None => error,
        }
    }
}

/// The expected form of the event of messages.
fn form(event: &str, fields: &Fields, selected: &[stage::Column]) -> String {
    let names = fields.types().map(|(name, _)| variable(name));
    let names = names.chain(selected.iter().map(|column| variable(&column.name)));
    let columns: Vec<String> = std::iter::once("@N".to_owned()).chain(names).collect();
    format!("`{event}({})`", columns.join(", "))
}

/// A variable for a field: `ip.src` is `IpSrc`, `sent_at` is `SentAt`.
fn variable(field: &str) -> String {
    let part = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    field.split(['.', '_']).map(part).collect()
}
