//! Protocols, as far as they can be decided before a program runs: a message that cannot follow in
//! any state that a communication may be in is an error.
//!
//! For each party that a routine communicates with, the possible states of the communication are
//! propagated through the statements: states are joined where control flow meets, and loops are
//! iterated to a fixed point. A party without known states is not followed: calls of procedures
//! that communicate, and other processes while the monitor is not held, make a party unknown.
//!
//! The time is nearly proportional to the size of a routine and of its protocols: states are sets
//! of bits (`states`), branches share what they do not change (`known`), and the states before a
//! message are found once for each interface (`followers`).

mod followers;
mod known;
mod states;

use std::ops::Range;

use tidemill_diag::{Diagnostic, MORE_FINDINGS, Span};
use tidemill_stdx::id::{Id, IdVec};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use followers::{Again, Followers};
use known::Facts;
use states::States;

use crate::check::checker::Checker;
use crate::check::names::RoutineId;
use crate::check::walk::{Act, Speech, Walk, root};
use crate::ir::{Constant, InterfaceId, MessageId, Pattern, Storage, Type, Unary};
use crate::tree::{
    Body, Expression, ExpressionKind, Party, Place, PlaceKind, ProcedureId, Program, Routine,
    Sequence, Statement,
};

/// Visits of statements in one routine before the analysis of it is abandoned: some for each
/// statement, as loops are iterated, and some for small routines with loops in loops.
const VISITS_PER_STATEMENT: usize = 64;
const VISITS_MIN: usize = 20_000;

/// A party that a routine communicates with; variables only, as elements may be the same or not.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Client(InterfaceId),
    Required(InterfaceId),
    Variable(usize, InterfaceId),
    Local(usize, InterfaceId),
}

/// The states at the current statement; `None` if it is unreachable.
type Known = Option<Facts>;

struct Order<'t> {
    program: &'t Program,
    routine: Routine,
    /// Procedures that do not communicate and move no component.
    quiet: &'t IdVec<ProcedureId, bool>,
    /// The protocols of all parties.
    followers: &'t SortedMap<InterfaceId, Followers>,
    known: Known,
    /// All parties of the routine, by number.
    keys: &'t [Key],
    /// The errors, by place: the last visit of a place counts.
    errors: SortedMap<(u32, u32), OrderError>,
    visits: usize,
    visits_max: usize,
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
        let (mut errors, mut abandoned) = (Vec::new(), Vec::new());
        let mut followers: SortedMap<InterfaceId, Followers> = SortedMap::new();
        for id in self.routines.ids() {
            let Some(body) = self.body(id).filter(|_| !self.routines[id].broken) else { continue };
            let keys = self.parties(id, body);
            for interface in keys.iter().copied().map(interface_of) {
                let protocol = &self.tree.interfaces[interface].protocol;
                followers.entry(interface).or_insert_with(|| Followers::new(protocol));
            }
            let mut order = Order {
                program: &self.tree,
                routine: self.routines[id].id,
                quiet: &quiet,
                followers: &followers,
                known: Some(self.at_the_start(id, keys.as_slice(), &followers)),
                keys: keys.as_slice(),
                errors: SortedMap::new(),
                visits: 0,
                visits_max: VISITS_MIN.max(VISITS_PER_STATEMENT * size(&body.code)),
            };
            order.sequence(&body.code);
            if order.is_abandoned() {
                let first = body.code.statements.first();
                abandoned.extend(first.map(|(_, span)| *span));
            } else {
                errors.extend(order.errors.into_values());
            }
        }
        for error in errors {
            self.report_order(&error);
        }
        for span in abandoned {
            let message = "the order of messages is not checked here: there are too many loops in \
                           loops";
            let warning = Diagnostic::warning(MORE_FINDINGS, span, message);
            self.report(warning.help("move inner loops to procedures"));
        }
    }

    fn report_order(&mut self, error: &OrderError) {
        let interface = &self.tree.interfaces[error.interface];
        let name = |message: MessageId| interface.messages[message].name.as_str();
        let mut after: Vec<&str> = Vec::new();
        let mut can: Vec<&str> = Vec::new();
        for state in error.states.iter() {
            if let Some(last) = state.checked_sub(1) {
                after.push(name(MessageId::from_index(last)));
            }
            can.extend(interface.protocol.states[state].next.iter().map(|it| name(*it)));
        }
        can.sort_unstable();
        can.dedup();
        let text = if after.is_empty() {
            format!("{} cannot come first in {}", name(error.message), interface.name)
        } else {
            format!("{} cannot follow {}", name(error.message), after.join(" or "))
        };
        let help = match (can.is_empty(), after.is_empty()) {
            (true, _) => "nothing can follow: the communication has ended".into(),
            (_, true) => format!("it begins with {}", can.join(" or ")),
            _ => format!("what can follow is {}", can.join(" or ")),
        };
        self.report(Diagnostic::error("protocol", error.span, text).help(help));
    }

    /// All parties of a routine.
    fn parties(&self, id: RoutineId, body: &Body) -> SortedSet<Key> {
        let (mut keys, routine) = (Vec::new(), self.routines[id].id);
        let mut visit = |act: Act<'_>| {
            if let Act::Speak(party, ..) = act {
                keys.extend(key(party, routine));
            }
        };
        Walk { program: &self.tree, visit: &mut visit }.sequence(&body.code);
        keys.into_iter().collect()
    }

    /// The states when a routine starts.
    fn at_the_start(
        &self,
        id: RoutineId,
        keys: &[Key],
        followers: &SortedMap<InterfaceId, Followers>,
    ) -> Facts {
        let mut known = Facts::nothing(keys.len());
        let routine = self.routines[id].id;
        let own = |local: usize| {
            let local = self.routines[id].locals.iter().nth(local);
            local.is_some_and(|it| it.parameter.is_none())
        };
        for (party, key) in keys.iter().enumerate() {
            // A process starts without communications; the caller of a procedure may have some.
            let fresh = match (routine, *key) {
                (Routine::Begin(_), _) => true,
                (Routine::Implementation(..), Key::Required(_)) => false,
                (Routine::Implementation(..), _) => true,
                (Routine::Procedure(_), Key::Local(local, _)) => own(local),
                _ => false,
            };
            let followers = followers.get(&interface_of(*key)).filter(|_| fresh);
            known.set(party, followers.map(Followers::start));
        }
        known
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
            self.visits += 1;
            if self.known.is_none() || self.is_abandoned() {
                return;
            }
            self.statement(statement, *span);
        }
        if it.lock.is_some() {
            self.others_run();
        }
    }

    /// Whether it takes too long.
    fn is_abandoned(&self) -> bool {
        self.visits >= self.visits_max
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
            if next == before || self.is_abandoned() {
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
                self.forget(0..self.keys.len());
            }
            Act::Await(_) | Act::Enter(..) | Act::Leave | Act::Other("PASSIVATE", _) => {
                self.others_run();
            }
            _ => {}
        }
    }

    /// The parties after those before, as far as they are in.
    fn range(
        &self,
        is_before: impl Fn(&Key) -> bool,
        is_in: impl Fn(&Key) -> bool,
    ) -> Range<usize> {
        let start = self.keys.partition_point(is_before);
        start..start + self.keys[start..].partition_point(is_in)
    }

    /// The parties that a place may be.
    fn parties_of(&self, place: &Place) -> Range<usize> {
        match place.kind {
            PlaceKind::Variable(id) => self.range(
                |key| {
                    matches!(key, Key::Client(_) | Key::Required(_))
                        || matches!(key, Key::Variable(it, _) if *it < id.index())
                },
                |key| matches!(key, Key::Variable(it, _) if *it == id.index()),
            ),
            PlaceKind::Local(routine, id) if routine == self.routine => self.range(
                |key| !matches!(key, Key::Local(it, _) if *it >= id.index()),
                |key| matches!(key, Key::Local(it, _) if *it == id.index()),
            ),
            _ => 0..0,
        }
    }

    fn forget(&mut self, parties: Range<usize>) {
        if let Some(known) = &mut self.known {
            known.forget(parties);
        }
    }

    /// Other processes may use what belongs to the component. During BEGIN there are none.
    fn others_run(&mut self) {
        if matches!(self.routine, Routine::Begin(_)) {
            return;
        }
        let is_client = |key: &Key| matches!(key, Key::Client(_));
        self.forget(self.range(is_client, |key| matches!(key, Key::Required(_))));
        let is_before = |key: &Key| matches!(key, Key::Client(_) | Key::Required(_));
        let variables = self.range(is_before, |key| matches!(key, Key::Variable(..)));
        let Some(known) = &self.known else { return };
        let is_open = known.any(variables.clone(), |party, states| {
            self.followers_of(party).is_some_and(|it| *states != it.start())
        });
        if is_open {
            self.forget(variables);
        }
    }

    /// The protocol with a party.
    fn followers_of(&self, party: usize) -> Option<&'t Followers> {
        self.followers.get(&interface_of(*self.keys.get(party)?))
    }

    /// A component has been moved into the place, or out of it.
    fn lose(&mut self, place: &Place) {
        self.forget(self.parties_of(root(place)));
    }

    /// The component in the place is new: it has had no communication.
    fn fresh(&mut self, place: &Place) {
        for party in self.parties_of(place) {
            let start = self.followers_of(party).map(Followers::start);
            if let Some(known) = &mut self.known {
                known.set(party, start);
            }
        }
    }

    /// A party of this routine, by number, with its protocol.
    fn find(&self, party: &Party) -> Option<(Key, usize, &'t Followers)> {
        let key = key(party, self.routine)?;
        let party = self.keys.binary_search(&key).ok()?;
        Some((key, party, self.followers_of(party)?))
    }

    fn message(&mut self, party: &Party, message: MessageId, span: Span) {
        let Some((key, party, followers)) = self.find(party) else { return };
        let Some(known) = &mut self.known else { return };
        let place = (span.start, span.end);
        let states = known.set(party, Some(followers.after(message)));
        self.errors.remove(&place);
        if let Some(states) = states
            && !states.meets(&followers.before(message, again(key)))
        {
            let interface = interface_of(key);
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
                self.narrow(party, |key, followers, states| {
                    states.intersect(&followers.before(*message, again(key)));
                });
            }
            ExpressionKind::Test(party, Pattern::Message(message)) => {
                self.narrow(party, |_, followers, states| {
                    states.subtract(followers.forcing(*message));
                });
            }
            ExpressionKind::Test(party, Pattern::Finish) if truth => {
                self.narrow(party, |_, followers, states| states.intersect(followers.idle()));
            }
            _ => {}
        }
    }

    fn narrow(&mut self, party: &Party, to: impl FnOnce(Key, &Followers, &mut States)) {
        let Some((key, party, followers)) = self.find(party) else { return };
        let Some(known) = &mut self.known else { return };
        let Some(mut states) = known.get(party).cloned() else { return };
        to(key, followers, &mut states);
        // The condition never turns out so, or the other side breaks the protocol.
        let is_possible = !states.is_empty();
        known.set(party, Some(states));
        if !is_possible {
            self.known = None;
        }
    }
}

/// Whether a communication that may have ended may begin again.
fn again(key: Key) -> Again {
    if matches!(key, Key::Client(_)) { Again::No } else { Again::Yes }
}

/// The states where control flow meets: a party must be known on both sides.
fn join(a: Known, b: Known) -> Known {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.join(&b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// The number of statements.
fn size(it: &Sequence) -> usize {
    let statement = |it: &Statement| match it {
        Statement::If { branches, otherwise } => {
            let branches = branches.iter().map(|(_, body)| size(body));
            branches.chain(otherwise.iter().map(size)).sum()
        }
        Statement::While { body, .. }
        | Statement::Repeat { body, .. }
        | Statement::For { body, .. }
        | Statement::ForEach { body, .. } => size(body),
        Statement::Block(body) => size(body),
        _ => 0,
    };
    it.statements.iter().map(|(it, _)| 1 + statement(it)).sum()
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
