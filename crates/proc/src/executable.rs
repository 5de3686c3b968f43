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
    pub unsafe fn new(program: Program, interpreter: Option<Arc<dyn Interpreter>>) -> Executable {
        Executable { program: Arc::new(program), interpreter }
    }

    /// A program without components, for a worker that is never [started](crate::Worker::start).
    pub fn empty() -> Executable {
        Executable { program: Arc::default(), interpreter: None }
    }
}

impl Deref for Executable {
    type Target = Program;

    fn deref(&self) -> &Program {
        &self.program
    }
}
