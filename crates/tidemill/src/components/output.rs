//! The output of a program, and what happens when it cannot be written.
//!
//! The run-time buffers the program's output and passes it to a [`Tap`]. The first failure (a
//! closed pipe, a full disk) is kept, and the loop is woken through a [`Bell`]: a program that only
//! writes reaches no other point at which the loop could check for it.

use std::io::{PipeWriter, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tidemill_proc::console::Sink;
use tidemill_relation::json::JsonWriter;

use crate::console::Form;
use crate::journal::SharedJournal;

/// Signals a write failure.
pub(crate) enum Bell {
    /// For a loop that waits in the kernel: a byte is written to a pipe that it watches.
    Pipe(PipeWriter),
    /// For a loop that does not wait.
    Flag(Arc<AtomicBool>),
}

/// The sink of a program's output, which passes it to the data of the run.
pub(crate) struct Tap {
    to: SharedJournal,
    bell: Bell,
}

impl Tap {
    /// Writes to the console of `to`; rings `bell` on a failure.
    pub(crate) fn new(to: SharedJournal, bell: Bell) -> Tap {
        Tap { to, bell }
    }

    fn form(&self) -> Form {
        self.to.get().console.form()
    }

    /// Writes a whole line of a node, given its name, or bytes as they are.
    fn put(&mut self, node: Option<&str>, bytes: &[u8]) {
        let mut journal = self.to.get_mut();
        if journal.console.has_failed() {
            return;
        }
        journal.output(node, bytes);
        if journal.console.has_failed() {
            // If ringing fails, the run ends when the program does.
            match &mut self.bell {
                Bell::Pipe(pipe) => drop(pipe.write_all(&[1])),
                // Relaxed: the flag publishes no other data.
                Bell::Flag(flag) => flag.store(true, Ordering::Relaxed),
            }
        }
    }
}

/// The sink of a node that writes whole lines: with the name of the node if there are several, and
/// as an object each if the data of the run is JSON.
struct WholeLines {
    name: Option<String>,
    line: Vec<u8>,
    to: Tap,
}

/// The maximum length of a line; longer ones are split.
const LINE_BYTES_MAX: usize = 1 << 16;

/// The sink of a node, of that name if there are several.
pub(crate) fn sink(name: Option<String>, to: Tap) -> Box<dyn Sink> {
    if name.is_none() && to.form() == Form::Text {
        return Box::new(to);
    }
    Box::new(WholeLines { name, line: Vec::new(), to })
}

impl WholeLines {
    fn end_line(&mut self) {
        let mut whole = match self.to.form() {
            Form::Text => {
                let name = self.name.iter().flat_map(|name| [name.as_str(), ": "]);
                let mut whole: Vec<u8> = name.flat_map(str::bytes).collect();
                whole.append(&mut self.line);
                whole
            }
            Form::Json => self.object().into_bytes(),
        };
        self.line.clear();
        whole.push(b'\n');
        self.to.put(self.name.as_deref(), &whole);
    }

    /// The line as an object. Bytes that are no UTF-8 are replaced.
    fn object(&self) -> String {
        let mut json = JsonWriter::new();
        json.object(|json| {
            if let Some(name) = &self.name {
                json.key("node").string(name);
            }
            json.key("line").string(&String::from_utf8_lossy(&self.line));
        });
        json.finish()
    }
}

impl Sink for WholeLines {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line(),
                byte => self.line.push(byte),
            }
            if self.line.len() >= LINE_BYTES_MAX {
                self.end_line();
            }
        }
    }
}

impl Drop for WholeLines {
    fn drop(&mut self) {
        if !self.line.is_empty() {
            self.end_line();
        }
    }
}

impl Sink for Tap {
    fn write(&mut self, bytes: &[u8]) {
        self.put(None, bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Console;
    use crate::journal::Journal;
    use crate::tape::Tape;

    #[test]
    fn lines_are_whole_and_say_what_they_are() {
        let named = || Some("n1:1".to_owned());
        let cases = [
            (Form::Text, None, "a \u{fffd}\"\nb"),
            (Form::Text, named(), "n1:1: a \u{fffd}\"\nn1:1: b\n"),
            (Form::Json, None, "{\"line\":\"a \u{fffd}\\\"\"}\n{\"line\":\"b\"}\n"),
            (
                Form::Json,
                named(),
                "{\"node\":\"n1:1\",\"line\":\"a \u{fffd}\\\"\"}\n\
                 {\"node\":\"n1:1\",\"line\":\"b\"}\n",
            ),
        ];
        for (form, name, expected) in cases {
            let (data, notes) = (Tape::default(), Tape::default());
            let console = Console::new(form, Box::new(data.clone()), Box::new(notes));
            let journal = SharedJournal::new(Journal::new(console));
            let mut sink = sink(name, Tap::new(journal, Bell::Flag(Arc::default())));
            for piece in [&b"a "[..], b"\xff\"", b"\nb"] {
                sink.write(piece);
            }
            drop(sink);
            assert_eq!(data.text(), expected);
        }
    }
}
