//! Protocols, as far as they can be decided before a program runs: a message that cannot follow in
//! any state that a communication may be in is an error.
//!
//! For each party that a routine communicates with, the possible states of the communication are
//! propagated through the statements: states are joined where control flow meets, and loops are
//! iterated to a fixed point. A party without known states is not followed: calls of procedures
//! that communicate, and other processes while the monitor is not held, make a party unknown.

use tidemill_diag::{Diagnostic, Span};
use tidemill_stdx::id::{Id, IdVec};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::check::checker::Checker;
use crate::check::names::RoutineId;
use crate::check::walk::{Act, Speech, Walk, root};
use crate::ir::protocol::Protocol;
use crate::ir::{Constant, InterfaceId, MessageId, Pattern, Storage, Type, Unary};
use crate::tree::{
    Body, Expression, ExpressionKind, Party, Place, PlaceKind, ProcedureId, Program, Routine,
    Sequence, Statement,
};

/// Statements visited in one routine before the analysis of it is abandoned.
const STEPS_MAX: usize = 20_000;

/// A party that a routine communicates with; variables only, as elements may be the same or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Client(InterfaceId),
    Required(InterfaceId),
    Variable(usize, InterfaceId),
    Local(usize, InterfaceId),
}

/// The possible states of a communication: the start, then after each message.
type States = Vec<bool>;

/// The states at the current statement; `None` if it is unreachable.
type Known = Option<SortedMap<Key, States>>;

struct Order<'t> {
    program: &'t Program,
    routine: Routine,
    /// Procedures that do not communicate and move no component.
    quiet: &'t IdVec<ProcedureId, bool>,
    known: Known,
    /// All parties of the routine.
    keys: SortedSet<Key>,
    /// The errors, by place: the last visit of a place counts.
    errors: SortedMap<(u32, u32), OrderError>,
    steps: usize,
}

struct OrderError {
    span: Span,
    interface: InterfaceId,
    message: MessageId,
    states: States,
}

impl<'a> Checker<'a> {
    /// Follows the communications of all routines.
    pub(super) fn order(&mut self) {
        let quiet = self.quiet();
        let mut all = Vec::new();
        for id in self.routines.ids() {
            let Some(body) = self.body(id).filter(|_| !self.routines[id].broken) else { continue };
            let (known, keys) = self.at_the_start(id, body);
            let mut order = Order {
                program: &self.tree,
                routine: self.routines[id].id,
                quiet: &quiet,
                known: Some(known),
                keys,
                errors: SortedMap::new(),
                steps: 0,
            };
            order.sequence(&body.code);
            if order.steps < STEPS_MAX {
                all.extend(order.errors.into_values());
            }
        }
        for error in all {
            self.report_order(&error);
        }
    }

    fn report_order(&mut self, error: &OrderError) {
        let interface = &self.tree.interfaces[error.interface];
        let name = |message: MessageId| interface.messages[message].name.as_str();
        let mut after: Vec<&str> = Vec::new();
        let mut can: Vec<&str> = Vec::new();
        for state in (0..error.states.len()).filter(|it| error.states[*it]) {
            if let Some(last) = state.checked_sub(1) {
                after.push(name(MessageId::from_index(last)));
            }
            can.extend(interface.protocol.states[state].next.iter().map(|it| name(*it)));
        }
        can.sort_unstable();
        can.dedup();
        let text = match after.is_empty() {
            true => format!("{} cannot come first in {}", name(error.message), interface.name),
            false => format!("{} cannot follow {}", name(error.message), after.join(" or ")),
        };
        let help = match (can.is_empty(), after.is_empty()) {
            (true, _) => "nothing can follow: the communication has ended".into(),
            (_, true) => format!("it begins with {}", can.join(" or ")),
            _ => format!("what can follow is {}", can.join(" or ")),
        };
        self.report(Diagnostic::error("protocol", error.span, text).help(help));
    }

    /// The states when a routine starts, and all its parties.
    fn at_the_start(&self, id: RoutineId, body: &Body) -> (SortedMap<Key, States>, SortedSet<Key>) {
        let (mut known, mut keys) = (SortedMap::new(), SortedSet::new());
        let routine = self.routines[id].id;
        let own = |local: usize| {
            let local = self.routines[id].locals.iter().nth(local);
            local.is_some_and(|it| it.parameter.is_none())
        };
        let mut visit = |act: Act<'_>| {
            let Act::Speak(party, ..) = act else { return };
            let Some(key) = key(party, routine) else { return };
            keys.insert(key);
            // A process starts without communications; the caller of a procedure may have some.
            let fresh = match (routine, key) {
                (Routine::Begin(_), _) => true,
                (Routine::Implementation(..), Key::Required(_)) => false,
                (Routine::Implementation(..), _) => true,
                (Routine::Procedure(_), Key::Local(local, _)) => own(local),
                _ => false,
            };
            if fresh {
                let protocol = &self.tree.interfaces[interface_of(key)].protocol;
                known.insert(key, only(protocol, 0));
            }
        };
        Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
        (known, keys)
    }

    fn quiet(&self) -> IdVec<ProcedureId, bool> {
        let mut quiet = IdVec::filled(true, self.procedures.len());
        let mut callers =
            IdVec::<ProcedureId, Vec<ProcedureId>>::filled(Vec::new(), self.procedures.len());
        for (id, info) in self.procedures.iter_enumerated() {
            let own: &mut bool = &mut quiet[id];
            let mut visit = |act: Act<'_>| match act {
                Act::Speak(_, Speech::Send(_) | Speech::Receive(_), _)
                | Act::Await(_)
                | Act::Enter(..)
                | Act::Other("PASSIVATE", _) => *own = false,
                Act::Write(place, _) if holds_component(place) => *own = false,
                Act::Call(call) => callers[call.procedure].push(id),
                _ => {}
            };
            match self.body(info.routine) {
                Some(body) => {
                    Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
                }
                None => *own = false,
            }
        }
        let mut changed: Vec<ProcedureId> = quiet.ids().filter(|id| !quiet[*id]).collect();
        while let Some(callee) = changed.pop() {
            for caller in &callers[callee] {
                if std::mem::replace(&mut quiet[*caller], false) {
                    changed.push(*caller);
                }
            }
        }
        quiet
    }
}

impl<'t> Order<'t> {
    fn sequence(&mut self, it: &'t Sequence) {
        if it.lock.is_some() {
            self.others_run();
        }
        for (statement, span) in &it.statements {
            self.steps += 1;
            if self.known.is_none() || self.steps >= STEPS_MAX {
                return;
            }
            self.statement(statement, *span);
        }
        if it.lock.is_some() {
            self.others_run();
        }
    }

    fn statement(&mut self, it: &'t Statement, span: Span) {
        match it {
            Statement::If { branches, otherwise } => {
                let mut ends: Known = None;
                for (condition, body) in branches {
                    self.expression(condition);
                    let before = self.known.clone();
                    self.refine(condition, true);
                    self.sequence(body);
                    ends = join(ends, self.known.take());
                    self.known = before;
                    self.refine(condition, false);
                }
                otherwise.iter().for_each(|body| self.sequence(body));
                self.known = join(ends, self.known.take());
            }
            Statement::While { condition, body } => {
                self.repeat(|order| {
                    order.expression(condition);
                    let before = order.known.clone();
                    order.refine(condition, true);
                    order.sequence(body);
                    let again = std::mem::replace(&mut order.known, before);
                    order.refine(condition, false);
                    (again, order.known.take())
                });
                if is(condition, true) {
                    self.known = None;
                }
            }
            Statement::Repeat { body, until } => {
                self.repeat(|order| {
                    order.sequence(body);
                    order.expression(until);
                    let before = order.known.clone();
                    order.refine(until, false);
                    let again = std::mem::replace(&mut order.known, before);
                    order.refine(until, true);
                    (again, order.known.take())
                });
                if is(until, false) {
                    self.known = None;
                }
            }
            Statement::For { body, .. } | Statement::ForEach { body, .. } => {
                self.head(it, span);
                self.repeat(|order| {
                    let before = order.known.clone();
                    order.sequence(body);
                    (order.known.take(), before)
                });
            }
            Statement::Block(body) => self.sequence(body),
            _ => self.head(it, span),
        }
    }

    /// Iterates a loop to a fixed point. A round returns the states before the next one and after
    /// the loop.
    fn repeat(&mut self, mut round: impl FnMut(&mut Self) -> (Known, Known)) {
        let mut before = self.known.clone();
        loop {
            let (again, after) = round(self);
            let next = join(before.clone(), again);
            if next == before || self.steps >= STEPS_MAX {
                self.known = after;
                return;
            }
            self.known = next.clone();
            before = next;
        }
    }

    fn head(&mut self, it: &'t Statement, span: Span) {
        self.acts(|walk| walk.head(it, span));
        match it {
            Statement::NewComponent { target, .. } => self.fresh(target),
            Statement::Return(_) | Statement::Halt(_) => self.known = None,
            _ => {}
        }
    }

    fn expression(&mut self, it: &'t Expression) {
        self.acts(|walk| walk.expression(it));
    }

    fn acts(&mut self, work: impl FnOnce(&mut Walk<'t, '_>)) {
        let program = self.program;
        let mut acts = Vec::new();
        let mut visit = |act: Act<'t>| acts.push(act);
        work(&mut Walk { program, visit: &mut visit });
        acts.into_iter().for_each(|act| self.act(act));
    }

    fn act(&mut self, act: Act<'t>) {
        match act {
            Act::Speak(party, Speech::Send(message) | Speech::Receive(message), span) => {
                self.message(party, message, span);
            }
            Act::Write(place, _) if holds_component(place) => self.lose(place),
            Act::Call(call) if !self.quiet[call.procedure] => {
                if let Some(known) = &mut self.known {
                    known.clear();
                }
            }
            Act::Await(_) | Act::Enter(..) | Act::Leave | Act::Other("PASSIVATE", _) => {
                self.others_run();
            }
            _ => {}
        }
    }

    /// Other processes may use what belongs to the component. During BEGIN there are none.
    fn others_run(&mut self) {
        let Some(known) = &mut self.known else { return };
        if matches!(self.routine, Routine::Begin(_)) {
            return;
        }
        known.retain(|key, _| !matches!(key, Key::Required(_)));
        let program = self.program;
        let is_open = known.iter().any(|(key, states)| {
            let start = only(&program.interfaces[interface_of(*key)].protocol, 0);
            matches!(key, Key::Variable(..)) && *states != start
        });
        if is_open {
            known.retain(|key, _| !matches!(key, Key::Variable(..)));
        }
    }

    /// A component has been moved into the place, or out of it.
    fn lose(&mut self, place: &Place) {
        let Some(known) = &mut self.known else { return };
        match root(place).kind {
            PlaceKind::Variable(id) => {
                known.retain(|key, _| !matches!(key, Key::Variable(it, _) if *it == id.index()));
            }
            PlaceKind::Local(routine, id) if routine == self.routine => {
                known.retain(|key, _| !matches!(key, Key::Local(it, _) if *it == id.index()));
            }
            _ => {}
        }
    }

    /// The component in the place is new: it has had no communication.
    fn fresh(&mut self, place: &Place) {
        let Some(known) = &mut self.known else { return };
        for key in &self.keys {
            let is_there = match (&place.kind, *key) {
                (PlaceKind::Variable(id), Key::Variable(it, _)) => it == id.index(),
                (PlaceKind::Local(routine, id), Key::Local(it, _)) => {
                    *routine == self.routine && it == id.index()
                }
                _ => false,
            };
            if is_there {
                let protocol = &self.program.interfaces[interface_of(*key)].protocol;
                known.insert(*key, only(protocol, 0));
            }
        }
    }

    fn message(&mut self, party: &Party, message: MessageId, span: Span) {
        let Some(key) = key(party, self.routine) else { return };
        let interface = interface_of(key);
        let protocol = &self.program.interfaces[interface].protocol;
        let Some(known) = &mut self.known else { return };
        let place = (span.start, span.end);
        let states = known.insert(key, only(protocol, message.index() + 1));
        self.errors.remove(&place);
        if let Some(states) = states
            && !states.iter().enumerate().any(|(at, is)| *is && follows(protocol, key, at, message))
        {
            self.errors.insert(place, OrderError { span, interface, message, states });
        }
    }

    /// The condition has this value: applies what that implies for messages.
    fn refine(&mut self, condition: &Expression, truth: bool) {
        match &condition.kind {
            ExpressionKind::Unary(Unary::Not, a) => self.refine(a, !truth),
            ExpressionKind::And(a, b) if truth => {
                self.refine(a, true);
                self.refine(b, true);
            }
            ExpressionKind::Or(a, b) if !truth => {
                self.refine(a, false);
                self.refine(b, false);
            }
            ExpressionKind::Locked(_, a) => self.refine(a, truth),
            ExpressionKind::Test(party, Pattern::Message(message))
            | ExpressionKind::Input(party, Pattern::Message(message))
                if truth =>
            {
                self.narrow(party, |protocol, key, at| follows(protocol, key, at, *message));
            }
            ExpressionKind::Test(party, Pattern::Message(message)) => {
                self.narrow(party, |protocol, _, at| {
                    let state = &protocol.states[at];
                    state.may_end || state.next != [*message]
                });
            }
            ExpressionKind::Test(party, Pattern::Finish) if truth => {
                self.narrow(party, |protocol, _, at| at == 0 || protocol.states[at].may_end);
            }
            _ => {}
        }
    }

    fn narrow(&mut self, party: &Party, possible: impl Fn(&Protocol, Key, usize) -> bool) {
        let Some(key) = key(party, self.routine) else { return };
        let protocol = &self.program.interfaces[interface_of(key)].protocol;
        let Some(known) = &mut self.known else { return };
        if let Some(states) = known.get_mut(&key) {
            for (at, is) in states.iter_mut().enumerate() {
                *is = *is && possible(protocol, key, at);
            }
            // The condition never turns out so, or the other side breaks the protocol.
            if !states.contains(&true) {
                self.known = None;
            }
        }
    }
}

/// Whether the message can follow in the state; a communication that may have ended may begin
/// again, but not that of a server with its client.
fn follows(protocol: &Protocol, key: Key, at: usize, message: MessageId) -> bool {
    let state = &protocol.states[at];
    let again = state.may_end && !matches!(key, Key::Client(_));
    state.allows(message) || again && protocol.states[0].allows(message)
}

fn only(protocol: &Protocol, state: usize) -> States {
    (0..protocol.states.len()).map(|at| at == state).collect()
}

/// The states where control flow meets: a party must be known on both sides.
fn join(a: Known, b: Known) -> Known {
    let (Some(mut a), Some(b)) = (a.clone(), b.clone()) else { return a.or(b) };
    a.retain(|key, states| {
        let other = b.get(key);
        for (state, other) in states.iter_mut().zip(other.into_iter().flatten()) {
            *state |= *other;
        }
        other.is_some()
    });
    Some(a)
}

fn key(party: &Party, routine: Routine) -> Option<Key> {
    match party {
        Party::Client => match routine {
            Routine::Implementation(_, interface) => Some(Key::Client(interface)),
            _ => None,
        },
        Party::Required { interface, index: None } => Some(Key::Required(*interface)),
        Party::Sub { place, interface, index: None } => match place.kind {
            PlaceKind::Variable(id) => Some(Key::Variable(id.index(), *interface)),
            PlaceKind::Local(of, id) if of == routine => Some(Key::Local(id.index(), *interface)),
            _ => None,
        },
        _ => None,
    }
}

fn interface_of(key: Key) -> InterfaceId {
    match key {
        Key::Client(it) | Key::Required(it) | Key::Variable(_, it) | Key::Local(_, it) => it,
    }
}

fn holds_component(place: &Place) -> bool {
    match &place.storage {
        Storage::One(element)
        | Storage::Array { element, .. }
        | Storage::Collection { element, .. } => *element == Type::Component,
    }
}

/// Whether the condition is this constant.
fn is(condition: &Expression, truth: bool) -> bool {
    matches!(condition.kind, ExpressionKind::Constant(Constant::Boolean(it)) if it == truth)
}
