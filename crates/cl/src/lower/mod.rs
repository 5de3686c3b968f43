//! From the checked tree to the IR: control flow becomes blocks, owned temporaries become locals,
//! AWAIT conditions become functions, nested procedures get the addresses that they reach.
//!
//! It cannot fail: the checker has turned down what has no meaning.
//!
//! * Scalars that only their own routine sees are registers; all else lives in the frame.
//! * A VARIABLE argument that is an element goes into a temporary for the time of the call and
//!   back after it, as elements may move meanwhile.
//! * Loops end in a checkpoint, FOR of short rounds in one of 32, and recursive procedures begin
//!   with one; so no process runs for long without passing one.

use crate::ir::{self, ComponentId, FunctionKind};
use crate::tree::{Body, Component, Program, Routine};
use tidemill_stdx::sorted::SortedMap;

mod builder;
mod call;
mod context;
mod count;
mod expression;
mod lent;
mod place;
mod promote;
mod routine;
mod routines;
mod statement;
mod strides;
mod walk;

use context::Context;
use routines::Routines;

/// Lowers a program without errors.
pub fn lower(tree: &Program) -> ir::Program {
    let program = ir::Program {
        interfaces: tree.interfaces.clone(),
        entry: tree.entry,
        ..ir::Program::default()
    };
    let (routines, procedures, counted) = (Routines::of(tree), SortedMap::new(), Vec::new());
    let mut context = Context { tree, routines, procedures, program, counted };
    for (id, procedure) in tree.procedures.iter_enumerated() {
        let name = procedure.name.clone();
        let function = context.reserve(name, procedure.component, FunctionKind::Procedure);
        context.procedures.insert(id, function);
    }
    for (id, component) in tree.components.iter_enumerated() {
        self::component(&mut context, id, component);
    }
    for (id, procedure) in tree.procedures.iter_enumerated() {
        let function = context.procedures[&id];
        routine::lower(&mut context, function, Routine::Procedure(id), &procedure.body);
    }
    promote::run(&mut context.program, &mut context.counted);
    strides::run(&mut context.program, &context.counted);
    context.program
}

/// Lowers what a component offers and does.
fn component(context: &mut Context<'_>, id: ComponentId, component: &Component) {
    let mut offers = component.offers.clone();
    for it in &component.implementations {
        let interface = it.interface;
        let name = format!("{}.{}", component.name, context.tree.interfaces[interface].name);
        let function = context.reserve(name, id, FunctionKind::Implementation(interface));
        routine::lower(context, function, Routine::Implementation(id, interface), &it.body);
        match offers.iter_mut().find(|offer| offer.interface == interface) {
            Some(offer) => offer.implementation = Some(function),
            // For its own sub-components only.
            None => offers.push(ir::Offer {
                interface,
                count: (0, Some(1)),
                implementation: Some(function),
            }),
        }
    }
    let mut part = |body: &Option<Body>, name, kind, routine| {
        body.as_ref().map(|body| {
            let function = context.reserve(format!("{}.{name}", component.name), id, kind);
            routine::lower(context, function, routine, body);
            function
        })
    };
    let begin = part(&component.begin, "BEGIN", FunctionKind::Begin, Routine::Begin(id));
    let activity =
        part(&component.activity, "ACTIVITY", FunctionKind::Activity, Routine::Activity(id));
    let finally = part(&component.finally, "FINALLY", FunctionKind::Finally, Routine::Finally(id));
    context.program.components.push(ir::Component {
        name: component.name.clone(),
        offers,
        requires: component.requires.clone(),
        variables: component.variables.clone(),
        begin,
        activity,
        finally,
        span: component.span,
    });
}
