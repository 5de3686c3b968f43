//! From the parsed tree to the checked one: everything that can be known before a program runs.
//!
//! The work has three parts:
//!
//! 1. *Declarations*. All names are collected first, so that the order of declarations does not
//!    matter; then types, interfaces and limits are resolved, and constants folded on demand.
//! 2. *Bodies*. Every routine is checked and written out as a [`tree`]: each name is resolved, each
//!    value has its type, what the source leaves implicit is explicit.
//! 3. *Rules over whole routines*, computed from the checked tree: where the monitor must be held,
//!    what a condition of AWAIT may do, which messages can follow which, what is unreachable or
//!    unused.
//!
//! | file | holds |
//! |---|---|
//! | `checker.rs` | the state of the checker, and the diagnostics; the other files add to it |
//! | `limit.rs` | how many of them are shown |
//! | `info.rs` | facts about each declaration |
//! | `names.rs`, `lookup.rs` | scopes: what a name means where |
//! | `declarations.rs` | collects components, interfaces, variables, procedures |
//! | `resolve.rs` | their types and limits; the entry component |
//! | `types.rs`, `fit.rs`, `any.rs` | types, what fits what |
//! | `interfaces.rs`, `protocols.rs`, `system.rs` | messages, their automata, those of the system |
//! | `constants.rs` | folding |
//! | `designators.rs`, `expressions.rs`, `builtins.rs` | values |
//! | `statements.rs`, `messages.rs`, `connect.rs` | statements |
//! | `walk.rs` | what a checked routine does, in order |
//! | `locks.rs`, `effects.rs`, `order.rs`, `flow.rs` | the rules over whole routines |
//!
//! An expression in error has no value here (`None`), and whatever contains it has none either, so
//! one mistake gives one diagnostic. The rules over whole routines leave out those with errors.

mod any;
mod builtins;
mod checker;
mod connect;
mod constants;
mod declarations;
mod designators;
mod effects;
mod expressions;
mod fit;
mod flow;
mod info;
mod interfaces;
mod limit;
mod locks;
mod lookup;
mod messages;
mod names;
mod order;
mod protocols;
mod resolve;
mod statements;
mod system;
mod types;
mod walk;

use tidemill_diag::Diagnostic;
use tidemill_stdx::sorted::SortedSet;

use crate::system::Interfaces;
use crate::{ast, tree};
use checker::Checker;
pub use system::RULES;

/// Checks a program. The tree is complete only if no diagnostic is an error.
pub fn check(program: &ast::Program) -> (tree::Program, Vec<Diagnostic>) {
    check_with(program, &SortedSet::new())
}

/// Checks a program some of whose outermost components are also made from outside, by these names.
/// Its entry component is then none of these, none that offers anything, and none that others make,
/// unless it is marked; there may be none.
pub fn check_with(
    program: &ast::Program,
    outside: &SortedSet<String>,
) -> (tree::Program, Vec<Diagnostic>) {
    let system = Interfaces::default();
    let mut checker = Checker::new(&system, outside);
    checker.collect(program);
    checker.resolve();
    checker.bodies();
    checker.locks();
    checker.conditions();
    checker.order();
    checker.flow();
    checker.finish(program)
}
