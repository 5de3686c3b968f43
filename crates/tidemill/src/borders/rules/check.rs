//! Interfaces by which components reach rules, checked when the program is loaded.

use tidemill_cl::ast::{self, Definition};
use tidemill_cl::check::RULES;
use tidemill_cl::ir::{self, Direction, MessageId};
use tidemill_diag::{Diagnostic, Span, nearest};
use tidemill_overlog::exports::first_use;
use tidemill_overlog::program::Compiled;
use tidemill_relation::TypeSet;
use tidemill_relation::plan;
use tidemill_relation::table::Key;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::border::{Meaning, Relation, RulesBorder};
use super::form::{self, END, NEXT, TAKEN};
use crate::borders::components::{interface_of, messages, parameters};
use crate::borders::parameters::{Declared, Parameter, ParameterKind, declared};
use crate::program::{FileKind, Program};

/// An interface being checked.
struct Written<'p> {
    interface: &'p ir::Interface,
    /// Its messages as they are declared.
    messages: Vec<&'p ast::Message>,
    /// Where it is declared.
    span: Span,
}

impl Written<'_> {
    fn name(&self) -> &str {
        &self.interface.name
    }

    /// The declaration of a message.
    fn message(&self, id: MessageId) -> Option<&ast::Message> {
        let name = &self.interface.messages[id].name;
        self.messages.iter().copied().find(|it| it.name.text == *name)
    }

    /// The parameters of a message that are columns: without the CHARACTER for the kind of change.
    fn columns(&self, id: MessageId) -> Result<Vec<Declared>, Diagnostic> {
        let message = &self.interface.messages[id];
        let mut own = declared(message, self.message(id)).map_err(|parameter| {
            let message = format!("`{parameter}` of `{}` can be no column of rules", message.name);
            let help = "columns are INTEGER, REAL, BOOLEAN, CHARACTER or TEXT";
            self.error(Some(id), message).help(help)
        })?;
        if message.direction == Direction::Out {
            match own.first() {
                Some(Declared { kind: ParameterKind::Character, .. }) => own.remove(0),
                _ => {
                    let message =
                        format!("the first parameter of `{}` is no CHARACTER", message.name);
                    let help = "it says what has happened: \"+\" an event or a row that has come, \
                                \"-\" a row that has gone";
                    return Err(self.error(Some(id), message).help(help));
                }
            };
        }
        Ok(own)
    }

    fn error(&self, id: Option<MessageId>, message: String) -> Diagnostic {
        let span = id.and_then(|id| self.message(id)).map_or(self.span, |it| it.name.span);
        Diagnostic::error("border", span, message)
    }
}

impl Program {
    /// The interfaces to rules of components that the system connects: the entry component, and
    /// those made by stages and apps.
    fn written_rules(&self) -> Vec<Written<'_>> {
        let Some(program) = &self.components.program else { return Vec::new() };
        let tree = &self.components.tree;
        let is_connected = |(id, it): &(ir::ComponentId, &ir::Component)| {
            program.entry == Some(*id)
                || self.made_by_rules.contains(&it.name)
                || self.made_by_apps.contains(&it.name)
        };
        let connected = program.components.iter_enumerated().filter(is_connected);
        let required = connected.flat_map(|(_, it)| &it.requires).map(|it| it.interface);
        let ids: SortedSet<ir::InterfaceId> = required.collect();
        let interfaces = ids.into_iter().map(|id| &program.interfaces[id]);
        let of_rules = interfaces.filter(|it| !it.system && it.name.starts_with(RULES));
        let written = of_rules.filter_map(|interface| {
            let declared = interface_of(tree, &interface.name);
            let span = declared.map(|it| it.name.span).or_else(|| requirement(tree, interface))?;
            let messages = declared.map(messages).unwrap_or_default();
            Some(Written { interface, messages, span })
        });
        written.collect()
    }

    /// The events and facts that components put.
    pub(in crate::borders) fn events_of_components(&self) -> impl Iterator<Item = String> {
        let written = self.written_rules().into_iter();
        let names = written.flat_map(|it| {
            let given = it.interface.messages.iter();
            let given = given.filter(|it| it.direction == Direction::In && it.name != NEXT);
            given.map(|it| relation_name(&it.name)).collect::<Vec<_>>()
        });
        names.collect::<SortedSet<_>>().into_iter()
    }

    /// The types of the columns, without the location, of relations that components put.
    pub(crate) fn given_by_components(&self) -> SortedMap<String, Vec<TypeSet>> {
        let mut given: SortedMap<String, Vec<TypeSet>> = SortedMap::new();
        for written in self.written_rules() {
            let messages = written.interface.messages.iter();
            for message in messages.filter(|it| it.direction == Direction::In && it.name != NEXT) {
                let Ok(own) = declared(message, None) else { continue };
                let types = own.iter().map(|it| it.kind.gives());
                // Two interfaces may put tuples of one relation.
                let known = given.entry(relation_name(&message.name));
                let known = known.or_insert_with(|| vec![TypeSet::NONE; own.len()]);
                known.iter_mut().zip(types).for_each(|(known, types)| *known = known.union(types));
            }
        }
        given
    }

    /// Checks that both sides of each border fit, as far as both sides were parsed.
    pub(in crate::borders) fn check_rules_borders(&mut self) {
        let (mut checked, mut found) = (Vec::new(), Vec::new());
        for written in self.written_rules() {
            match self.rules_border(&written) {
                Ok(border) => checked.extend(border),
                Err(mut errors) => found.append(&mut errors),
            }
        }
        self.borders.rules = checked;
        self.diagnostics.extend(found);
    }

    /// A border, or the errors of all its messages.
    fn rules_border(&self, written: &Written<'_>) -> Result<Option<RulesBorder>, Vec<Diagnostic>> {
        let name = written.name();
        if !self.kinds.has(FileKind::Rules) {
            let message = format!("`{name}` leads to the rules of the program, which has none");
            let help = "add a file of rules to the program";
            return Err(vec![written.error(None, message).help(help)]);
        }
        form::check(written.interface).map_err(|(id, message)| {
            vec![written.error(id, message).help(format!("the form is {}", form::FORM))]
        })?;
        let Some(rules) = &self.rules.program else { return Ok(None) };
        let messages = written.interface.messages.iter_enumerated();
        let meaning = |(id, message): (MessageId, &ir::Message)| {
            Ok(match (message.direction, message.name.as_str()) {
                (Direction::In, NEXT) => Meaning::Next,
                (Direction::Out, TAKEN) => Meaning::Taken,
                (Direction::Out, END) => Meaning::End,
                (Direction::In, _) => Meaning::Put(self.relation_of(rules, written, id)?),
                (Direction::Out, _) => Meaning::Change(self.relation_of(rules, written, id)?),
            })
        };
        let (mut meanings, mut found) = (Vec::new(), Vec::new());
        for message in messages {
            match meaning(message) {
                Ok(meaning) => meanings.push(meaning),
                Err(error) => found.push(error),
            }
        }
        if !found.is_empty() {
            return Err(found);
        }
        Ok(Some(RulesBorder { interface: name.to_owned(), messages: meanings }))
    }

    /// The relation of a message.
    fn relation_of(
        &self,
        rules: &Compiled,
        written: &Written<'_>,
        id: MessageId,
    ) -> Result<Relation, Diagnostic> {
        let own = written.columns(id)?;
        let name = relation_name(&written.interface.messages[id].name);
        let Some(found) = rules.plan.find(&name) else {
            let message = format!("the rules have no relation `{name}`");
            let known = rules.plan.relations.iter().filter(|it| !it.hidden);
            let help = match nearest(&name, known.map(|it| it.name.as_str())) {
                Some(close) => format!("is `{close}` meant?"),
                None => format!("use {} in a rule", shape(&name, &own)),
            };
            return Err(written.error(Some(id), message).help(help));
        };
        let relation = rules.plan.relation(found);
        let parameters = self.matched((written, id), &own, relation)?;
        Ok(Relation {
            id: found,
            is_certain: parameters.iter().all(|it| it.is_certain()),
            parameters,
            location: relation.location as usize,
            key: relation.table().and_then(|table| match &table.key {
                Key::Columns(columns) => Some(columns.iter().map(|&it| it as usize).collect()),
                Key::Bag => None,
            }),
        })
    }

    /// The parameters of a message, matched with the columns of its relation.
    fn matched(
        &self,
        (written, id): (&Written<'_>, MessageId),
        own: &[Declared],
        relation: &plan::Relation,
    ) -> Result<Vec<Parameter>, Diagnostic> {
        let name = &relation.name;
        let place = first_use(&self.rules.tree, name);
        let here = |error: Diagnostic| match place {
            Some(place) => error.label(place, "used here"),
            None => error,
        };
        if !relation.takes(own.len() + 1) {
            let message = format!(
                "`{name}` has {} columns, and not {}: the location and {} parameters",
                relation.arity(),
                own.len() + 1,
                own.len()
            );
            let error = here(written.error(Some(id), message));
            return Err(error.help(format!(
                "`{}` is {}",
                message_name(written, id),
                shape(name, own)
            )));
        }
        let parameters = parameters(own, relation);
        let pairs = own.iter().zip(&parameters);
        let wrong = pairs.enumerate().find(|(_, (_, it))| !it.kind.fits(it.column));
        if let Some((at, (declared, parameter))) = wrong {
            let location = relation.location as usize;
            let column = at + 1 + usize::from(at >= location);
            let what = if parameter.column.meets(parameter.kind.takes()) { "mixed, " } else { "" };
            let message = format!(
                "column {column} of `{name}` is {what}{}, and `{}` of `{}` is {}",
                parameter.column,
                declared.name,
                message_name(written, id),
                parameter.kind.name()
            );
            let span = declared.span.unwrap_or(written.span);
            return Err(here(Diagnostic::error("border", span, message)));
        }
        Ok(parameters)
    }
}

fn message_name<'w>(written: &'w Written<'_>, id: MessageId) -> &'w str {
    &written.interface.messages[id].name
}

/// The span of a requirement of an interface that is not declared outermost.
fn requirement(tree: &ast::Program, interface: &ir::Interface) -> Option<Span> {
    let components = tree.definitions().filter_map(|it| match it {
        Definition::Component(it) => Some(it),
        Definition::Interface(_) => None,
    });
    let mut required = components.flat_map(|it| &it.requires);
    required.find(|it| it.name.text == interface.name).map(|it| it.span)
}

/// The relation of a message: `a__b` is `a::b`, as in messages between nodes.
fn relation_name(message: &str) -> String {
    message.replace("__", "::")
}

/// The form of a relation in rules.
fn shape(name: &str, parameters: &[Declared]) -> String {
    let column = |it: &Declared| {
        let mut letters = it.name.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let columns: Vec<String> = parameters.iter().map(column).collect();
    if columns.is_empty() {
        format!("`{name}(@N)`")
    } else {
        format!("`{name}(@N, {})`", columns.join(", "))
    }
}
