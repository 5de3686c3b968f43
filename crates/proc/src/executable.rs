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
    /// What it goes on from.
    before: Option<Arc<Program>>,
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
    /// * offsets are multiples of 8 behind the headers of [`crate::layout`], do not overlap and are
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
        Executable { program: Arc::new(program), interpreter, before: None }
    }

    /// Takes a program that goes on from another, which may be running: its lists begin with those
    /// of that one, and so old components go on with old code. Of each pair of component types,
    /// which offer and require the same, the second is made from then on where the first is asked
    /// for, and passes for it.
    ///
    /// # Safety
    /// As of [`Executable::new`]; and code of the program before finds all of it where it was.
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
        Executable { program: Arc::new(program), interpreter, before }
    }

    /// What runs its interpreted functions.
    pub fn interpreter(&self) -> Option<Arc<dyn Interpreter>> {
        self.interpreter.clone()
    }

    /// Whether it goes on from this program.
    pub(crate) fn goes_on_from(&self, program: &Arc<Program>) -> bool {
        self.before.as_ref().is_some_and(|before| Arc::ptr_eq(before, program))
    }

    /// A program that another worker runs, too, without an interpreter.
    pub(crate) fn shared(program: &Arc<Program>) -> Executable {
        Executable { program: program.clone(), interpreter: None, before: None }
    }

    /// A program without components, for a worker that is never [started](crate::Worker::start).
    pub fn empty() -> Executable {
        Executable { program: Arc::default(), interpreter: None, before: None }
    }
}

impl Deref for Executable {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}
