//! Conditions of AWAIT: each release of the monitor evaluates them, in any process, so they change
//! nothing and never wait. Nor do they loop, as an evaluation cannot be interrupted.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::id::IdVec;
use tidemill_stdx::scc::{Graph, components};

use crate::check::checker::Checker;
use crate::check::names::RoutineId;
use crate::check::walk::{Act, Speech, Walk, root};
use crate::ir::{Storage, Type};
use crate::tree::{ByReference, PlaceKind, ProcedureId, Routine};

/// A forbidden act of a condition, and its place.
type Effect = (String, Span);

impl<'a> Checker<'a> {
    /// Checks the conditions of all routines.
    pub(super) fn conditions(&mut self) {
        let effects = self.effects();
        for id in self.routines.ids() {
            if self.routines[id].broken {
                continue;
            }
            let Some(body) = self.body(id) else { continue };
            let mut found: Vec<(Effect, Option<ProcedureId>, Span)> = Vec::new();
            let mut inside = false;
            let mut visit = |act: Act<'_>| match act {
                Act::Await(_) => inside = true,
                Act::Awaited => inside = false,
                Act::Call(call) if inside => {
                    if let Some(effect) = &effects[call.procedure] {
                        found.push((effect.clone(), Some(call.procedure), call.span));
                    }
                }
                act if inside => {
                    if let Some(effect) = effect_of(act, None, &|_| false) {
                        let span = effect.1;
                        found.push((effect, None, span));
                    }
                }
                _ => {}
            };
            Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
            for ((what, at), by, span) in found {
                self.effect_in_condition(&what, at, by, span);
            }
        }
    }

    fn effect_in_condition(&mut self, what: &str, at: Span, by: Option<ProcedureId>, span: Span) {
        let help = "other processes evaluate the condition: it must change nothing and not wait";
        let error = match by {
            None => {
                Diagnostic::error("await", span, format!("a condition of AWAIT must not {what}"))
            }
            Some(procedure) => {
                let name = &self.procedures[procedure].ast.name.text;
                let message = format!("a condition of AWAIT must not {what}, as {name} does");
                Diagnostic::error("await", span, message).label(at, "here")
            }
        };
        self.report(error.help(help));
    }

    /// For each procedure what a condition must not do, with those that it calls.
    fn effects(&self) -> IdVec<ProcedureId, Option<Effect>> {
        let mut effects: IdVec<ProcedureId, Option<Effect>> = IdVec::new();
        let mut callers = IdVec::<ProcedureId, Vec<(ProcedureId, Span)>>::filled(
            Vec::new(),
            self.procedures.len(),
        );
        for (id, info) in self.procedures.iter_enumerated() {
            let mut effect = self.owned_components(info.routine);
            let parameters = &self.tree.procedures[id].parameters;
            let by_reference =
                |local| parameters.iter().any(|it| it.0 == local && it.1 == ByReference::Yes);
            let mut visit = |act: Act<'_>| match act {
                Act::Call(call) => callers[call.procedure].push((id, call.span)),
                act => {
                    let own = Some(Routine::Procedure(id));
                    effect = effect.take().or_else(|| effect_of(act, own, &by_reference));
                }
            };
            if let Some(body) = self.body(info.routine) {
                Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
            }
            effects.push(effect);
        }
        let mut changed: Vec<ProcedureId> =
            effects.iter_enumerated().filter(|it| it.1.is_some()).map(|it| it.0).collect();
        // A procedure that can reach itself by calls may run without bound.
        let calls =
            || callers.iter_enumerated().flat_map(|(to, all)| all.iter().map(move |it| (*it, to)));
        let edges: Vec<(u32, u32)> =
            calls().map(|((from, _), to)| (from.raw(), to.raw())).collect();
        let circles = components(&Graph::new(self.procedures.len(), &edges));
        for ((from, span), to) in calls() {
            let is_circle = circles.component_of(from.raw()) == circles.component_of(to.raw());
            if is_circle && effects[from].is_none() {
                effects[from] = Some(("call itself".into(), span));
                changed.push(from);
            }
        }
        while let Some(callee) = changed.pop() {
            for (caller, _) in &callers[callee] {
                if effects[*caller].is_none() {
                    effects[*caller] = effects[callee].clone();
                    changed.push(*caller);
                }
            }
        }
        effects
    }

    /// Components of a procedure are deleted at its end, which waits for them.
    fn owned_components(&self, routine: RoutineId) -> Option<Effect> {
        let info = &self.routines[routine];
        let holds = |storage: Storage| match storage {
            Storage::One(element)
            | Storage::Array { element, .. }
            | Storage::Collection { element, .. } => element == Type::Component,
        };
        let owned = info
            .locals
            .iter()
            .find(|it| it.parameter != Some(ByReference::Yes) && holds(it.shape.storage()));
        owned.map(|it| ("delete components of its own".into(), it.name.span))
    }
}

/// The forbidden act, if the act is one; locals of `own` may change.
fn effect_of(
    act: Act<'_>,
    own: Option<Routine>,
    by_reference: &dyn Fn(crate::tree::LocalId) -> bool,
) -> Option<Effect> {
    match act {
        Act::Write(place, _) => match root(place).kind {
            PlaceKind::Local(routine, local) if Some(routine) == own && !by_reference(local) => {
                None
            }
            _ => Some(("change variables".into(), place.span)),
        },
        Act::Speak(_, Speech::Input(_), _) => None,
        Act::Speak(_, Speech::Send(_), span) => Some(("send messages".into(), span)),
        Act::Speak(_, Speech::Receive(_), span) => Some(("receive messages".into(), span)),
        Act::Speak(_, Speech::Test(_), span) => {
            Some(("wait for messages (INPUT asks without waiting)".into(), span))
        }
        Act::Port(_, "COUNT", _) => None,
        Act::Port(_, verb, span) | Act::Other(verb, span) => Some((format!("use {verb}"), span)),
        Act::Enter(_, span) => Some(("take the monitor".into(), span)),
        Act::Await(span) => Some(("use AWAIT".into(), span)),
        Act::Loop(span) => Some(("loop".into(), span)),
        Act::Read(_) | Act::Leave | Act::Awaited | Act::Call(_) => None,
    }
}
