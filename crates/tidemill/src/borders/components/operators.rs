//! The components of a program as operators of stages, and why a stage cannot name one.

use tidemill_cl::ast::{self, Definition};
use tidemill_cl::ir::{self, ComponentId, Direction, MessageId};
use tidemill_diag::{Span, nearest};
use tidemill_overlog::ast::{Program as Tree, Statement};
use tidemill_overlog::stage::{Column, Columns, Declaration, Family, Missing, Operator};
use tidemill_relation::plan::Relation;
use tidemill_stdx::id::Id;
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use super::border::InterfaceIds;
use crate::borders::parameters::{Declared, Parameter, declared};

/// The prefix of operator names of components.
pub(super) const PREFIX: &str = "cl:";

/// The required form of the interface.
const FORM: &str = "`{ IN A(..) { OUT B(..) } OUT Done }`";

/// The components of a program as operators of stages.
#[derive(Clone, Default, Debug)]
pub(crate) struct Operators {
    /// Each outermost component, or why a stage cannot name it.
    known: SortedMap<String, Result<Offered, Unusable>>,
}

/// A component that a stage can name.
#[derive(Clone, Debug)]
pub(super) struct Offered {
    pub(super) talk: InterfaceIds,
    pub(super) inputs: Vec<Declared>,
    pub(super) outputs: Vec<Declared>,
    /// Where its interface is declared.
    span: Span,
}

/// Why a stage cannot name a component, and where to show that.
#[derive(Clone, Debug)]
struct Unusable {
    missing: Missing,
    span: Span,
}

impl Operators {
    /// Collects the operators of a program without errors.
    pub(crate) fn new(program: &ir::Program, tree: &ast::Program) -> Operators {
        let components = tree.definitions().filter_map(|it| match it {
            Definition::Component(it) => Some(it),
            Definition::Interface(_) => None,
        });
        let known = components.map(|it| (it.name.text.clone(), offered(program, tree, it)));
        Operators { known: known.collect() }
    }

    pub(super) fn find(&self, name: &str) -> Result<&Offered, Missing> {
        let component = name.strip_prefix(PREFIX).unwrap_or(name);
        if let Some(known) = self.known.get(component) {
            return known.as_ref().map_err(|wrong| wrong.missing.clone());
        }
        let message = format!("the program has no component `{component}`");
        let names = || self.known.keys().map(String::as_str);
        let help = match (nearest(component, names()), names().next()) {
            (Some(close), _) => format!("there is `{close}`"),
            (None, Some(_)) => format!("there are {}", names().collect::<Vec<_>>().join(", ")),
            (None, None) => "give the file of the component, .com, beside the rules".to_owned(),
        };
        Err(Missing { message, help })
    }
}

impl Family for Operators {
    fn prefix(&self) -> &str {
        PREFIX
    }

    fn declaration(&self, name: &str) -> Result<Declaration, Missing> {
        let Offered { inputs, outputs, span, .. } = self.find(name)?;
        let mut declaration = Declaration::new(name.to_owned()).works_outside();
        let column =
            |it: &Declared, types| Column { name: it.name.clone().into(), types, source: it.span };
        declaration.inputs = inputs.iter().map(|it| column(it, it.kind.takes())).collect();
        let outputs = outputs.iter().map(|it| column(it, it.kind.gives()));
        declaration.outputs = Columns::Fixed(outputs.collect());
        declaration.source = Some(*span);
        Ok(declaration.doc("A component of the program."))
    }

    fn construct(&self, _: &str) -> Option<Box<dyn Operator>> {
        None
    }

    fn source(&self, name: &str) -> Option<Span> {
        let known = self.known.get(name.strip_prefix(PREFIX)?)?;
        Some(known.as_ref().map_or_else(|wrong| wrong.span, |known| known.span))
    }
}

/// The interface by which a stage uses a component.
fn offered(
    program: &ir::Program,
    tree: &ast::Program,
    component: &ast::Component,
) -> Result<Offered, Unusable> {
    let name = &component.name.text;
    let wrong = |span, message: String, help: String| {
        Err(Unusable { missing: Missing { message, help }, span })
    };
    let [offer] = component.offers.as_slice() else {
        let count = component.offers.len();
        let message = format!("`{name}` offers {count} interfaces, and a stage talks by one");
        return wrong(component.name.span, message, format!("offer one interface, {FORM}"));
    };
    let Some((kind, port)) = port_of(program, name, &offer.name.text) else {
        let message = format!("`{name}` has no interface `{}`", offer.name.text);
        return wrong(offer.span, message, format!("offer one interface, {FORM}"));
    };
    if port.implementation.is_none() || port.count != (1, Some(1)) {
        let message = format!("`{name}` does not implement `{}` itself, once", offer.name.text);
        let help = format!("write `IMPLEMENTATION {}; ...` in it", offer.name.text);
        return wrong(offer.span, message, help);
    }
    let interface = &program.interfaces[port.interface];
    let written = interface_of(tree, &offer.name.text);
    let span = written.map_or(offer.span, |it| it.name.span);
    let Some([input, output, done]) = form(interface) else {
        let message =
            format!("`{}` of `{name}` has another form than stages talk by", interface.name);
        return wrong(span, message, format!("it has to be {FORM}, by any names"));
    };
    let messages = written.map(messages).unwrap_or_default();
    let parameters = |id: MessageId| {
        let written = messages.iter().find(|it| it.name.text == interface.messages[id].name);
        declared(&interface.messages[id], written.copied())
    };
    let (inputs, outputs) = match (parameters(input), parameters(output)) {
        (Ok(inputs), Ok(outputs)) => (inputs, outputs),
        (Err(name), _) | (_, Err(name)) => {
            let message = format!("`{name}` of `{}` can be no column of rules", interface.name);
            let help = "columns are INTEGER, REAL, BOOLEAN, CHARACTER or TEXT";
            return wrong(span, message, help.to_owned());
        }
    };
    let number = |id: MessageId| id.index() as u32;
    let talk = InterfaceIds {
        kind: kind.index() as u32,
        interface: port.interface.index() as u32,
        input: number(input),
        output: number(output),
        done: number(done),
    };
    Ok(Offered { talk, inputs, outputs, span })
}

/// The component type, and its offer of an interface.
fn port_of<'p>(
    program: &'p ir::Program,
    component: &str,
    interface: &str,
) -> Option<(ComponentId, &'p ir::Offer)> {
    let (id, it) = program.components.iter_enumerated().find(|(_, it)| it.name == component)?;
    let mut offers = it.offers.iter();
    let offer = offers.find(|it| program.interfaces[it.interface].name == interface)?;
    Some((id, offer))
}

/// The messages for input, output and end, if the interface has the form for stages.
fn form(interface: &ir::Interface) -> Option<[MessageId; 3]> {
    let of = |direction| -> Vec<MessageId> {
        let all = interface.messages.iter_enumerated();
        all.filter(|(_, it)| it.direction == direction).map(|(id, _)| id).collect()
    };
    let (ins, outs) = (of(Direction::In), of(Direction::Out));
    let [input] = ins[..] else { return None };
    let after = |last| &interface.protocol.after(last).next;
    let (&output, &done) = match &outs[..] {
        [one, other] if after(Some(*one)).contains(one) => (one, other),
        [one, other] => (other, one),
        _ => return None,
    };
    let fits = *after(None) == ins
        && *after(Some(input)) == outs
        && *after(Some(output)) == outs
        && *after(Some(done)) == ins
        && interface.messages[done].parameters.is_empty();
    fits.then_some([input, output, done])
}

/// The declaration of an outermost interface.
pub(in crate::borders) fn interface_of<'t>(
    tree: &'t ast::Program,
    name: &str,
) -> Option<&'t ast::Interface> {
    tree.definitions().find_map(|it| match it {
        Definition::Interface(it) if it.name.text == name => Some(it),
        _ => None,
    })
}

/// The messages of an interface.
pub(in crate::borders) fn messages(interface: &ast::Interface) -> Vec<&ast::Message> {
    interface.protocol.as_ref().map_or(Vec::new(), ast::Protocol::messages)
}

/// The components that stages of rules name.
pub(crate) fn named(rules: &Tree) -> SortedSet<String> {
    let operators = rules.flat().filter_map(|statement| match statement {
        Statement::Stage(stage) => stage.operator.text.strip_prefix(PREFIX),
        _ => None,
    });
    operators.map(str::to_owned).collect()
}

/// Parameters with the columns of a relation that they correspond to.
pub(in crate::borders) fn parameters(declared: &[Declared], relation: &Relation) -> Vec<Parameter> {
    let location = relation.location as usize;
    let columns = relation.columns.iter().enumerate().filter(|(at, _)| *at != location);
    let columns = columns.map(|(_, &types)| types);
    let parameter = |(it, column): (&Declared, _)| Parameter::new(it.kind, column);
    if relation.is_open() {
        declared.iter().map(|it| parameter((it, it.kind.gives()))).collect()
    } else {
        declared.iter().zip(columns).map(parameter).collect()
    }
}
