//! Race freedom: where the monitor must be held, and where it must not be taken again.
//!
//! The callers of a procedure must hold what it requires, and must not hold what it takes. Both are
//! computed over the calls of all procedures to a fixed point, then every routine is checked.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::id::IdVec;

use crate::check::checker::Checker;
use crate::check::names::RoutineId;
use crate::check::walk::{Act, Walk, root};
use crate::ir::{Variable, VariableId};
use crate::tree::{Lock, Party, PlaceKind, Port, ProcedureId, Routine};

/// How much of the monitor something needs: more than `None`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Level {
    Shared,
    Exclusive,
}

/// Something that needs the monitor.
#[derive(Clone)]
struct Need {
    level: Level,
    /// What needs it: `writing n`.
    what: String,
    span: Span,
    is_await: bool,
}

/// What a routine does with the monitor; each with what the routine itself holds there.
#[derive(Default)]
struct Summary {
    needs: Vec<(Option<Lock>, Need)>,
    calls: Vec<(Option<Lock>, ProcedureId, Span)>,
    /// Of those the ones in conditions of AWAIT, which may not take the monitor at all.
    in_conditions: Vec<Span>,
    takes: Vec<(Option<Lock>, Lock, Span)>,
}

/// What callers must know of a procedure.
#[derive(Clone, Default)]
struct Contract {
    need: Option<Need>,
    takes: Option<(Lock, Span)>,
}

/// A summary in the making, between two acts of the routine.
struct Summing<'c, 'a> {
    checker: &'c Checker<'a>,
    /// Those of the component.
    variables: &'c IdVec<VariableId, Variable>,
    summary: Summary,
    held: Vec<Lock>,
    /// Whether the acts are those of a condition of AWAIT.
    waits: bool,
}

impl Summing<'_, '_> {
    fn need(&mut self, level: Level, what: String, span: Span) {
        // AWAIT itself has requested SHARED.
        if !self.waits || level == Level::Exclusive {
            let need = Need { level, what, span, is_await: false };
            self.summary.needs.push((self.held.last().copied(), need));
        }
    }

    fn act(&mut self, act: Act<'_>) {
        let now = self.held.last().copied();
        match act {
            Act::Read(place) => {
                if let PlaceKind::Variable(id) = root(place).kind {
                    let what = format!("reading `{}`", self.variables[id].name);
                    self.need(Level::Shared, what, place.span);
                }
            }
            Act::Write(place, verb) => {
                if let PlaceKind::Variable(id) = root(place).kind {
                    let what = verb.replace('@', &format!("`{}`", self.variables[id].name));
                    self.need(Level::Exclusive, what, place.span);
                }
            }
            Act::Speak(Party::Required { interface, .. }, _, span) => {
                let name = self.checker.interface_name(*interface);
                self.need(Level::Exclusive, format!("using the required {name}"), span);
            }
            Act::Port(port, verb, span) if is_own(port) => {
                let level = if verb == "COUNT" { Level::Shared } else { Level::Exclusive };
                self.need(level, verb.into(), span);
            }
            Act::Await(span) => {
                let what = "AWAIT".into();
                let need = Need { level: Level::Shared, what, span, is_await: true };
                self.summary.needs.push((now, need));
                self.waits = true;
            }
            Act::Awaited => self.waits = false,
            // Reported as an effect of the condition.
            Act::Enter(..) | Act::Leave if self.waits => {}
            Act::Enter(lock, span) => {
                self.summary.takes.push((now, lock, span));
                self.held.push(lock);
            }
            Act::Leave => {
                self.held.pop();
            }
            Act::Call(call) => {
                self.summary.calls.push((now, call.procedure, call.span));
                if self.waits {
                    self.summary.in_conditions.push(call.span);
                }
            }
            Act::Speak(..) | Act::Port(..) | Act::Loop(_) | Act::Other(..) => {}
        }
    }
}

/// Whether a port belongs to the component itself, or to what one of its variables holds.
fn is_own(port: &Port) -> bool {
    match port {
        Port::OwnRequired { .. } | Port::OwnOffered { .. } => true,
        Port::SubRequired { place, .. } | Port::SubOffered { place, .. } => {
            matches!(root(place).kind, PlaceKind::Variable(_))
        }
    }
}

impl<'a> Checker<'a> {
    /// Checks all routines.
    pub(super) fn locks(&mut self) {
        let summaries: IdVec<RoutineId, Summary> =
            self.routines.ids().map(|id| self.summary(id)).collect();
        let contracts = self.contracts(&summaries);
        for (id, summary) in summaries.iter_enumerated() {
            if self.routines[id].broken {
                continue;
            }
            let (base, name) = match self.routines[id].id {
                Routine::Begin(_) => (Some(Lock::Exclusive), "BEGIN of a component"),
                Routine::Finally(_) => (Some(Lock::Exclusive), "FINALLY"),
                _ => (None, ""),
            };
            self.check_takes(summary, base, name);
            self.check_needs(id, summary, base);
            self.check_calls(id, summary, base, &contracts);
        }
    }

    fn summary(&self, id: RoutineId) -> Summary {
        let Some(body) = self.body(id) else { return Summary::default() };
        let component = self.routines[id].component;
        let variables = &self.tree.components[component].variables;
        let (summary, held) = (Summary::default(), Vec::new());
        let mut summed = Summing { checker: self, variables, summary, held, waits: false };
        let mut visit = |act: Act<'_>| summed.act(act);
        Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
        summed.summary
    }

    /// What each procedure needs and takes, with what those that it calls need and take.
    fn contracts(&self, summaries: &IdVec<RoutineId, Summary>) -> IdVec<ProcedureId, Contract> {
        let mut contracts = IdVec::filled(Contract::default(), self.procedures.len());
        let mut callers =
            IdVec::<ProcedureId, Vec<ProcedureId>>::filled(Vec::new(), self.procedures.len());
        for (id, info) in self.procedures.iter_enumerated() {
            let summary = &summaries[info.routine];
            let own: &mut Contract = &mut contracts[id];
            own.takes = summary.takes.first().map(|it| (it.1, it.2));
            let outside = summary.needs.iter().filter(|it| it.0.is_none()).map(|it| &it.1);
            own.need = outside.fold(None, greater);
            for (_, callee, _) in &summary.calls {
                callers[*callee].push(id);
            }
        }
        let mut changed: Vec<ProcedureId> = contracts.ids().collect();
        while let Some(callee) = changed.pop() {
            let from = contracts[callee].clone();
            for caller in &callers[callee] {
                let summary = &summaries[self.procedures[*caller].routine];
                let open = summary.calls.iter().any(|it| it.1 == callee && it.0.is_none());
                let to: &mut Contract = &mut contracts[*caller];
                let before = (to.need.as_ref().map(|it| it.level), to.takes.is_some());
                if let Some(need) = from.need.as_ref().filter(|_| open) {
                    to.need = greater(to.need.take(), need);
                }
                to.takes = to.takes.or(from.takes);
                if before != (to.need.as_ref().map(|it| it.level), to.takes.is_some()) {
                    changed.push(*caller);
                }
            }
        }
        contracts
    }

    fn check_takes(&mut self, summary: &Summary, base: Option<Lock>, base_name: &str) {
        for (held, lock, span) in &summary.takes {
            let message = match (held, base) {
                (Some(held), _) => format!("{} inside {}", word(*lock), word(*held)),
                (None, Some(_)) => format!("{base_name} counts as EXCLUSIVE"),
                (None, None) => continue,
            };
            let help = "the monitor is held already: leave the attribute out";
            self.report(Diagnostic::error("nested-lock", *span, message).help(help));
        }
    }

    fn check_needs(&mut self, id: RoutineId, summary: &Summary, base: Option<Lock>) {
        let is_procedure = matches!(self.routines[id].id, Routine::Procedure(_));
        let mut reported: Vec<(Option<Lock>, &str)> = Vec::new();
        for (held, need) in &summary.needs {
            let holds = held.or(base);
            if has(holds, need.level) || is_procedure && holds.is_none() {
                continue;
            }
            // Once per routine and variable is enough.
            if reported.contains(&(holds, &need.what)) {
                continue;
            }
            reported.push((holds, &need.what));
            let code = if need.is_await { "await" } else { "unlocked" };
            let mut message = format!("{} needs {}", need.what, wanted(need.level));
            if holds.is_some() {
                message += "; SHARED is not enough";
            }
            let help = format!("write `{{{}}}` before the statements", least(need.level));
            self.report(Diagnostic::error(code, need.span, message).help(help));
        }
    }

    fn check_calls(
        &mut self,
        id: RoutineId,
        summary: &Summary,
        base: Option<Lock>,
        contracts: &IdVec<ProcedureId, Contract>,
    ) {
        let is_procedure = matches!(self.routines[id].id, Routine::Procedure(_));
        for (held, callee, span) in &summary.calls {
            let holds = held.or(base);
            let name = &self.procedures[*callee].ast.name.text;
            let contract = &contracts[*callee];
            if let (Some(_), Some((lock, at))) = (holds, contract.takes)
                && !summary.in_conditions.contains(span)
            {
                let message = format!("{name} takes {}, and the monitor is held here", word(lock));
                let error = Diagnostic::error("nested-lock", *span, message);
                self.report(error.label(at, "taken here"));
            }
            let Some(need) = &contract.need else { continue };
            if has(holds, need.level) || is_procedure && holds.is_none() {
                continue;
            }
            let mut message = format!("{name} needs {} of its caller", least(need.level));
            if holds.is_some() {
                message += "; SHARED is not enough";
            }
            let help = format!("write `{{{}}}` before the statements", least(need.level));
            let error = Diagnostic::error("unlocked", *span, message);
            self.report(error.label(need.span, format!("for {}", need.what)).help(help));
        }
    }
}

fn greater(most: Option<Need>, other: &Need) -> Option<Need> {
    match most {
        Some(most) if most.level >= other.level => Some(most),
        _ => Some(other.clone()),
    }
}

fn has(held: Option<Lock>, level: Level) -> bool {
    match held {
        Some(Lock::Exclusive) => true,
        Some(Lock::Shared) => level == Level::Shared,
        None => false,
    }
}

fn word(lock: Lock) -> &'static str {
    match lock {
        Lock::Exclusive => "EXCLUSIVE",
        Lock::Shared => "SHARED",
    }
}

fn wanted(level: Level) -> &'static str {
    match level {
        Level::Exclusive => "EXCLUSIVE",
        Level::Shared => "SHARED or EXCLUSIVE",
    }
}

fn least(level: Level) -> &'static str {
    match level {
        Level::Exclusive => "EXCLUSIVE",
        Level::Shared => "SHARED",
    }
}
