//! Facts about each routine, computed before any is lowered: which locals must live in memory,
//! which locals of the routines around it a procedure reaches, which procedures are recursive.
//!
//! A nested procedure gets the addresses of the outer locals that it reaches, or that procedures
//! it calls reach, as parameters after its own: its *captures*.

use tidemill_stdx::id::{Id, IdSet, IdVec};
use tidemill_stdx::scc::{Graph, components};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::lower::walk::{self, Met};
use crate::tree::{
    Body, ByReference, ExpressionKind, LocalId, Place, PlaceKind, ProcedureId, Program, Routine,
};

/// A local of some routine.
pub(super) type Owned = (Routine, LocalId);

/// The procedures that each procedure calls.
type Calls = IdVec<ProcedureId, SortedSet<ProcedureId>>;

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Routines {
    /// Locals that others see.
    in_memory: SortedSet<Key>,
    /// The captures of each procedure, in order.
    captures: SortedMap<ProcedureId, Vec<Owned>>,
    /// Routines with an AWAIT: their frames keep the addresses that they get.
    waiting: SortedSet<RoutineKey>,
    recursive: IdSet<ProcedureId>,
}

pub(super) type RoutineKey = (u8, usize, usize);
pub(super) type Key = (RoutineKey, LocalId);

/// Routines in an order.
pub(super) fn key(routine: Routine) -> RoutineKey {
    match routine {
        Routine::Activity(component) => (0, component.index(), 0),
        Routine::Finally(component) => (1, component.index(), 0),
        Routine::Implementation(component, interface) => (2, component.index(), interface.index()),
        Routine::Procedure(procedure) => (3, procedure.index(), 0),
        Routine::Begin(component) => (5, component.index(), 0),
        Routine::Component(component) => (4, component.index(), 0),
    }
}

/// All bodies of the program with their routines.
pub(super) fn bodies(program: &Program) -> Vec<(Routine, &Body)> {
    let mut bodies = Vec::new();
    for (id, component) in program.components.iter_enumerated() {
        bodies.extend(component.begin.iter().map(|body| (Routine::Begin(id), body)));
        bodies.extend(component.activity.iter().map(|body| (Routine::Activity(id), body)));
        bodies.extend(component.finally.iter().map(|body| (Routine::Finally(id), body)));
        for it in &component.implementations {
            bodies.push((Routine::Implementation(id, it.interface), &it.body));
        }
    }
    for (id, procedure) in program.procedures.iter_enumerated() {
        bodies.push((Routine::Procedure(id), &procedure.body));
    }
    bodies
}

impl Routines {
    pub(super) fn of(program: &Program) -> Routines {
        let mut routines = Routines::default();
        let count = program.procedures.len();
        let mut reached =
            IdVec::<ProcedureId, SortedMap<Key, Owned>>::filled(SortedMap::new(), count);
        let mut calls = Calls::filled(SortedSet::new(), count);
        for (routine, body) in bodies(program) {
            walk::sequence(&body.code, &mut |met| match met {
                Met::Place(Place { kind: PlaceKind::Local(of, local), .. }) if *of != routine => {
                    routines.in_memory.insert((key(*of), *local));
                    if let Routine::Procedure(procedure) = routine {
                        reached[procedure].insert((key(*of), *local), (*of, *local));
                    }
                }
                Met::Place(_) => {}
                Met::Call(call) => {
                    if let Routine::Procedure(procedure) = routine {
                        calls[procedure].insert(call.procedure);
                    }
                    let parameters = &program.procedures[call.procedure].parameters;
                    for (argument, (_, by)) in call.arguments.iter().zip(parameters) {
                        if let (ByReference::Yes, ExpressionKind::Place(place)) =
                            (by, &argument.kind)
                            && let PlaceKind::Local(of, local) = place.kind
                        {
                            routines.in_memory.insert((key(of), local));
                        }
                    }
                }
                Met::Condition(condition) => {
                    routines.waiting.insert(key(routine));
                    walk::expression(condition, &mut |met| {
                        if let Met::Place(Place { kind: PlaceKind::Local(of, local), .. }) = met {
                            routines.in_memory.insert((key(*of), *local));
                        }
                    });
                }
            });
        }
        routines.close(&calls, reached);
        routines
    }

    /// Adds what callees reach, up to the routine that owns it: callees come before their callers,
    /// and only procedures that call each other are visited again.
    fn close(&mut self, calls: &Calls, mut reached: IdVec<ProcedureId, SortedMap<Key, Owned>>) {
        let edges: Vec<(u32, u32)> = calls
            .iter_enumerated()
            .flat_map(|(from, callees)| callees.iter().map(move |to| (from.raw(), to.raw())))
            .collect();
        let circles = components(&Graph::new(calls.len(), &edges));
        for members in circles.iter() {
            let members: Vec<ProcedureId> =
                members.iter().map(|it| ProcedureId::new(*it)).collect();
            let is_circle = members.len() > 1 || calls[members[0]].contains(&members[0]);
            if is_circle {
                self.recursive.extend(members.iter().copied());
                close_circle(calls, &members, &mut reached);
            } else {
                add_callees(calls, members[0], &mut reached);
            }
        }
        for (procedure, all) in reached.into_iter_enumerated() {
            if !all.is_empty() {
                self.captures.insert(procedure, all.into_values().collect());
            }
        }
    }

    /// Whether the local must live in memory though it may be a scalar.
    pub(super) fn in_memory(&self, routine: Routine, local: LocalId) -> bool {
        self.in_memory.contains(&(key(routine), local))
    }

    /// Outer locals whose addresses the procedure gets.
    pub(super) fn captures(&self, routine: Routine) -> &[Owned] {
        let Routine::Procedure(procedure) = routine else { return &[] };
        self.captures.get(&procedure).map_or(&[], |captures| captures)
    }

    /// Whether there is an AWAIT in the routine.
    pub(super) fn waits(&self, routine: Routine) -> bool {
        self.waiting.contains(&key(routine))
    }

    /// Whether the procedure may call itself.
    pub(super) fn is_recursive(&self, procedure: ProcedureId) -> bool {
        self.recursive.contains(procedure)
    }
}

/// Adds to what the procedure reaches what its callees reach outside of it; returns whether there
/// was anything.
fn add_callees(
    calls: &Calls,
    procedure: ProcedureId,
    reached: &mut IdVec<ProcedureId, SortedMap<Key, Owned>>,
) -> bool {
    let own = Routine::Procedure(procedure);
    let mut all = std::mem::take(&mut reached[procedure]);
    let before = all.len();
    for callee in &calls[procedure] {
        let of_callee = reached[*callee].iter().filter(|(_, owned)| owned.0 != own);
        all.extend(of_callee.map(|(key, owned)| (*key, *owned)));
    }
    let more = all.len() > before;
    reached[procedure] = all;
    more
}

/// The same for procedures that call each other, until nothing is added.
fn close_circle(
    calls: &Calls,
    members: &[ProcedureId],
    reached: &mut IdVec<ProcedureId, SortedMap<Key, Owned>>,
) {
    let mut callers: SortedMap<ProcedureId, Vec<ProcedureId>> =
        members.iter().map(|it| (*it, Vec::new())).collect();
    for caller in members {
        for callee in &calls[*caller] {
            if let Some(callers) = callers.get_mut(callee) {
                callers.push(*caller);
            }
        }
    }
    let mut open: Vec<ProcedureId> = members.to_vec();
    while let Some(procedure) = open.pop() {
        if add_callees(calls, procedure, reached) {
            open.extend(callers.get(&procedure).into_iter().flatten());
        }
    }
}
