//! Facts about each routine, computed before any is lowered: which locals must live in memory,
//! which locals of the routines around it a procedure reaches, which procedures are recursive.
//!
//! A nested procedure gets the addresses of the outer locals that it reaches, or that procedures
//! it calls reach, as parameters after its own: its *captures*.

use tidemill_stdx::id::{Id, IdVec};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

use crate::lower::walk::{self, Met};
use crate::tree::{
    Body, ByReference, ExpressionKind, LocalId, Place, PlaceKind, ProcedureId, Program, Routine,
};

/// A local of some routine.
pub(super) type Owned = (Routine, LocalId);

/// See the [module](self).
#[derive(Debug, Default)]
pub(super) struct Routines {
    /// Locals that others see.
    in_memory: SortedSet<Key>,
    /// The captures of each procedure, in order.
    captures: SortedMap<ProcedureId, Vec<Owned>>,
    /// Routines with an AWAIT: their frames keep the addresses that they get.
    waiting: SortedSet<RoutineKey>,
    recursive: SortedSet<ProcedureId>,
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
        let mut reached = SortedMap::<ProcedureId, SortedMap<Key, Owned>>::new();
        let mut calls = IdVec::<ProcedureId, SortedSet<ProcedureId>>::filled(
            SortedSet::new(),
            program.procedures.len(),
        );
        for (routine, body) in bodies(program) {
            walk::sequence(&body.code, &mut |met| match met {
                Met::Place(Place { kind: PlaceKind::Local(of, local), .. }) if *of != routine => {
                    routines.in_memory.insert((key(*of), *local));
                    if let Routine::Procedure(procedure) = routine {
                        let all = reached.entry(procedure).or_default();
                        all.insert((key(*of), *local), (*of, *local));
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

    /// Adds what callees reach, up to the routine that owns it.
    fn close(
        &mut self,
        calls: &IdVec<ProcedureId, SortedSet<ProcedureId>>,
        mut reached: SortedMap<ProcedureId, SortedMap<Key, Owned>>,
    ) {
        let mut changed = true;
        while changed {
            changed = false;
            for (procedure, callees) in calls.iter_enumerated() {
                let own = Routine::Procedure(procedure);
                for callee in callees {
                    let of_callee = reached.get(callee).cloned().unwrap_or_default();
                    let outer = of_callee.into_iter().filter(|(_, owned)| owned.0 != own);
                    let all = reached.entry(procedure).or_default();
                    let before = all.len();
                    all.extend(outer);
                    changed |= all.len() > before;
                }
            }
        }
        for (procedure, all) in reached {
            self.captures.insert(procedure, all.into_values().collect());
        }
        self.recursive = calls.ids().filter(|start| reaches(calls, *start)).collect();
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
        self.recursive.contains(&procedure)
    }
}

/// Whether a chain of calls leads from the procedure back to it.
fn reaches(calls: &IdVec<ProcedureId, SortedSet<ProcedureId>>, start: ProcedureId) -> bool {
    let mut seen = SortedSet::new();
    let mut next: Vec<ProcedureId> = calls[start].iter().copied().collect();
    while let Some(procedure) = next.pop() {
        if procedure == start {
            return true;
        }
        if seen.insert(procedure) {
            next.extend(&calls[procedure]);
        }
    }
    false
}
