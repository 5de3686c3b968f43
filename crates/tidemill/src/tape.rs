//! A stream into memory, for programs that embed a run and read its output.

use std::cell::RefCell;
use std::io::{self, Write};
use std::rc::Rc;

use crate::console::{Console, Form};

/// The written bytes, shared by all clones: one is given to the run, another is read.
///
/// ```
/// use std::io::Write;
/// use tidemill::tape::Tape;
///
/// let tape = Tape::default();
/// writeln!(tape.clone(), "hello")?;
/// assert_eq!(tape.text(), "hello\n");
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Default, Debug)]
pub struct Tape(Rc<RefCell<Vec<u8>>>);

impl Tape {
    /// All that was written; invalid UTF-8 is replaced by U+FFFD.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.borrow()).into_owned()
    }
}

/// A console that writes text to tapes: one for data, and one for notes.
pub fn taped() -> (Console, Tape, Tape) {
    let (data, notes) = (Tape::default(), Tape::default());
    let console = Console::new(Form::Text, Box::new(data.clone()), Box::new(notes.clone()));
    (console, data, notes)
}

impl Write for Tape {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
