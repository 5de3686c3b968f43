//! A program with what runs its interpreted functions.

use std::ops::Deref;
use std::sync::Arc;

use crate::interpreter::Interpreter;
use crate::program::Program;

/// A program that a worker may run.
#[derive(Clone)]
pub struct Executable {
    pub(crate) program: Arc<Program>,
    pub(crate) interpreter: Option<Arc<dyn Interpreter>>,
    /// The program that it succeeds.
    before: Option<Arc<Program>>,
    pub(crate) is_observed: bool,
}

impl Executable {
    /// Takes a program, with what runs its [interpreted] functions.
    ///
    /// [interpreted]: crate::program::FunctionCode::interpreted
    ///
    /// # Safety
    /// Descriptors and code agree:
    /// * numbers are places in the program's lists, and names in them that others rely on, as those
    ///   of equal interfaces, are of the same things;
    /// * offsets are multiples of 8 after the headers of [`crate::layout`], do not overlap and are
    ///   within the sizes given; every word that owns something is listed with its kind and shape;
    /// * code and interpreter use frames, components and messages as they are described here, and
    ///   the operations of [`crate::entry`] as these prescribe.
    pub unsafe fn new(
        mut program: Program,
        interpreter: Option<Arc<dyn Interpreter>>,
    ) -> Executable {
        program.latest = (0..program.components.len() as u32).collect();
        for (number, component) in (0..).zip(&mut program.components) {
            component.origin = number;
        }
        Executable { program: Arc::new(program), interpreter, before: None, is_observed: false }
    }

    /// Takes a program that succeeds another, which may be running. Its lists begin with those of
    /// the predecessor, so old components continue with old code. Of each pair of component types,
    /// which offer and require the same, instantiation from then on makes the second in place of
    /// the first, and a component of the second counts as one of the first.
    ///
    /// # Safety
    /// As of [`Executable::new`]; and addresses that code of the predecessor uses stay valid.
    pub unsafe fn after(
        before: &Executable,
        mut program: Program,
        interpreter: Option<Arc<dyn Interpreter>>,
        successors: &[(u32, u32)],
    ) -> Executable {
        program.latest.clone_from(&before.latest);
        for number in before.components.len()..program.components.len() {
            program.latest.push(number as u32);
            program.components[number].origin = number as u32;
        }
        for &(from, to) in successors {
            program.latest[from as usize] = to;
            // The first is the oldest.
            let origin = program.components[from as usize].origin;
            let component = &mut program.components[to as usize];
            component.origin = component.origin.min(origin);
        }
        let before = Some(before.program.clone());
        Executable { program: Arc::new(program), interpreter, before, is_observed: false }
    }

    /// The same, whose workers note what processes do. Its code must leave messages to the
    /// run-time, or they are not counted.
    pub fn observed(mut self) -> Executable {
        self.is_observed = true;
        self
    }

    /// What runs its interpreted functions.
    pub fn interpreter(&self) -> Option<Arc<dyn Interpreter>> {
        self.interpreter.clone()
    }

    /// Whether it succeeds this program.
    pub(crate) fn goes_on_from(&self, program: &Arc<Program>) -> bool {
        self.before.as_ref().is_some_and(|before| Arc::ptr_eq(before, program))
    }

    /// A program that another worker runs, too, without an interpreter.
    pub(crate) fn shared(program: &Arc<Program>) -> Executable {
        let program = program.clone();
        Executable { program, interpreter: None, before: None, is_observed: false }
    }

    /// A program without components, for a worker that is never [started](crate::Worker::start).
    pub fn empty() -> Executable {
        Executable::shared(&Arc::default())
    }
}

impl Deref for Executable {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}
