//! Checks that a program keeps the rules of the IR: numbers exist, types fit, addresses of elements
//! do not outlive a suspension or a change of what they point into.
//!
//! The rules of instructions are in a file for each [`Group`](crate::ir::Group), what is kept
//! across instructions in `kept.rs`.

mod component;
mod function;
mod kept;
mod message;
mod owned;
mod scalar;

use tidemill_diag::text::verify::{Findings, Verified};
use tidemill_stdx::id::Id;

use crate::ir::Program;
use crate::ir::memory::Effects;
use function::Verifier;

/// What the generator and the interpreter rely on.
///
/// # Panics
/// The program is not verified.
pub(crate) fn expect_verified(program: &Program) {
    if let Err(errors) = verify(program) {
        panic!("the program breaks rules of the IR: {errors:?}");
    }
}

/// Checks all of the program.
///
/// # Errors
/// All that is wrong with it.
pub fn verify(program: &Program) -> Verified {
    let mut findings = Findings::new();
    interfaces(program, &mut findings);
    components(program, &mut findings);
    for id in program.functions.ids() {
        Verifier::new(program, id, &mut findings).function();
    }
    if findings.count() == 0 {
        let effects = Effects::of(program);
        for id in program.functions.ids() {
            Verifier::new(program, id, &mut findings).views(&effects);
        }
    }
    if program.entry.is_some_and(|entry| program.components.get(entry).is_none()) {
        findings.at("");
        findings.fail("the entry is no component");
    }
    findings.finish()
}

fn interfaces(program: &Program, findings: &mut Findings) {
    for (id, interface) in program.interfaces.iter_enumerated() {
        findings.at(id);
        let states = interface.protocol.states.len();
        if states != interface.messages.len() + 1 {
            findings.fail(format!("{states} states for {} messages", interface.messages.len()));
        }
        for state in &interface.protocol.states {
            let known = state.next.iter().all(|it| it.index() < interface.messages.len());
            if !known || !state.next.is_sorted() {
                findings.fail("what may follow is no ascending list of its messages");
            }
        }
    }
}

fn components(program: &Program, findings: &mut Findings) {
    for (id, component) in program.components.iter_enumerated() {
        findings.at(id);
        let functions = component.offers.iter().filter_map(|offer| offer.implementation);
        for function in
            functions.chain(component.begin).chain(component.activity).chain(component.finally)
        {
            match program.functions.get(function) {
                Some(it) if it.component == id => {}
                _ => findings.fail(format!("{function} is none of its functions")),
            }
        }
    }
}
