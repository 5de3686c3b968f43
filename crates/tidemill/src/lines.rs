//! Output of the nodes of a simulation, in an order that does not depend on scheduling: by time, at
//! one time by node, and for one node in the order of writing. Lines of the script at a time
//! precede those of nodes.
//!
//! ```text
//! time 3   script   cue 0, cue 1 ...   [end]
//!          n0:1     line, line ...
//!          n1:1     line, violation, line ... [end]     the turn that found it is over
//!          n2:1     ...                                 not written any more
//!          SIM      rules about all nodes
//! ```
//! Lines are kept until those of their time are complete, and then written to a [`Console`].

use std::fmt;
use std::io::Write;

use tidemill_overlog::global::SIM;

use crate::console::Console;
use crate::identities::number;

/// The writer of a line.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Writer {
    /// A cue of the script, about a node.
    Cue(u32, u32),
    /// The script, after all its cues of that time.
    Script,
    /// A node.
    Node(u32),
    /// Rules about all nodes, after the nodes.
    All,
}

impl Writer {
    /// The node of an address in a simulation: `n12:1` is node 12, `SIM` means all.
    pub(crate) fn of(address: &str) -> Writer {
        if address == SIM {
            return Writer::All;
        }
        // In a run without simulated addresses nodes have no order.
        Writer::Node(number(address).unwrap_or(0))
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LineKind {
    Data,
    Note,
    /// A note on something that fails the run.
    Failure,
    /// A note about a tuple of the relation `violation`.
    Violation,
    /// The end of the run: later lines are not written.
    End,
}

impl LineKind {
    /// Writes a line of this kind.
    pub(crate) fn write(self, text: impl fmt::Display, console: &mut Console) {
        match self {
            LineKind::Data => console.line(text),
            LineKind::Failure | LineKind::Violation => console.failing(text),
            LineKind::Note | LineKind::End => console.note(text),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Line {
    /// In nanoseconds; `None` until the turn that writes it has ended.
    at_ns: Option<u64>,
    writer: Writer,
    kind: LineKind,
    /// The end of its text, which begins at the end of the previous line's.
    end: usize,
}

/// Pending lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lines {
    text: Vec<u8>,
    lines: Vec<Line>,
    /// The number of lines that have a time.
    settled: usize,
}

/// The lines written so far.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct WrittenLines {
    /// The number of lines and notes.
    pub(crate) lines: u64,
    /// The number of notes about violations.
    pub(crate) violations: u64,
    /// The end has been written.
    pub(crate) is_over: bool,
}

impl Lines {
    /// Adds a line.
    pub(crate) fn push(
        &mut self,
        at_ns: Option<u64>,
        (writer, kind): (Writer, LineKind),
        text: impl fmt::Display,
    ) {
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{text}");
        self.end_line(at_ns, (writer, kind));
    }

    /// Adds a line of data that need not be UTF-8.
    pub(crate) fn push_bytes(&mut self, at_ns: Option<u64>, writer: Writer, line: &[u8]) {
        self.text.extend_from_slice(line);
        self.end_line(at_ns, (writer, LineKind::Data));
    }

    fn end_line(&mut self, at_ns: Option<u64>, (writer, kind): (Writer, LineKind)) {
        self.lines.push(Line { at_ns, writer, kind, end: self.text.len() });
    }

    /// Sets the time of lines that have none yet: their turn has ended.
    pub(crate) fn settle(&mut self, now_ns: u64) {
        for line in &mut self.lines[self.settled..] {
            line.at_ns.get_or_insert(now_ns);
        }
        self.settled = self.lines.len();
    }

    /// The time of the first line.
    pub(crate) fn first(&self) -> Option<u64> {
        self.lines.first().and_then(|line| line.at_ns)
    }

    /// Writes the lines of some parts, whose times are all over, except for the first `skip`, which
    /// have been written before. Nothing is written after an end.
    pub(crate) fn write(
        parts: &mut [Lines],
        console: &mut Console,
        skip: u64,
        so_far: &mut WrittenLines,
    ) {
        let mut order: Vec<(u64, Writer, usize, usize)> = Vec::new();
        for (part, Lines { lines, .. }) in parts.iter().enumerate() {
            order.extend(
                lines.iter().enumerate().map(|(index, line)| {
                    (line.at_ns.unwrap_or(u64::MAX), line.writer, part, index)
                }),
            );
        }
        order.sort_unstable();
        for (_, _, part, index) in order {
            if so_far.is_over {
                break;
            }
            let Lines { text, lines, .. } = &parts[part];
            let begin = index.checked_sub(1).map_or(0, |before| lines[before].end);
            let (text, kind) = (&text[begin..lines[index].end], lines[index].kind);
            if kind == LineKind::End {
                so_far.is_over = true;
                continue;
            }
            so_far.lines += 1;
            so_far.violations += u64::from(kind == LineKind::Violation);
            if so_far.lines > skip {
                match kind {
                    LineKind::Data => console.line_of(text),
                    kind => kind.write(String::from_utf8_lossy(text), console),
                }
            }
        }
        parts.iter_mut().for_each(Lines::clear);
    }

    fn clear(&mut self) {
        self.text.clear();
        self.lines.clear();
        self.settled = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::console::Form;
    use crate::tape::Tape;

    fn written(parts: &mut [Lines], skip: u64) -> (String, String, WrittenLines) {
        let (data, notes) = (Tape::default(), Tape::default());
        let mut console = Console::new(Form::Text, Box::new(data.clone()), Box::new(notes.clone()));
        let mut so_far = WrittenLines::default();
        Lines::write(parts, &mut console, skip, &mut so_far);
        console.flush();
        (data.text(), notes.text(), so_far)
    }

    fn lines(of: &[(u64, u32, &str)]) -> Lines {
        let mut lines = Lines::default();
        for &(at_ns, node, text) in of {
            lines.push(Some(at_ns), (Writer::Node(node), LineKind::Data), text);
        }
        lines
    }

    #[test]
    fn lines_are_in_the_order_of_time_and_node_whoever_has_them() {
        let one = [(1, 2, "c"), (1, 0, "a"), (1, 2, "d"), (2, 1, "e"), (2, 0, "f"), (3, 1, "g")];
        let of = |nodes: &[u32]| {
            let some = one.iter().filter(|(_, node, _)| nodes.contains(node));
            lines(&some.copied().collect::<Vec<_>>())
        };
        for mut parts in
            [vec![of(&[0, 1, 2])], vec![of(&[0, 2]), of(&[1])], vec![of(&[1]), of(&[0, 2])]]
        {
            assert_eq!(written(&mut parts, 0).0, "a\nc\nd\nf\ne\ng\n");
            assert_eq!(written(&mut parts, 0).0, "");
        }
        assert_eq!(written(&mut [of(&[0, 1, 2])], 4).0, "e\ng\n");
    }

    #[test]
    fn nothing_is_written_after_the_end_of_the_least_node() {
        let mut one = lines(&[(1, 3, "three"), (2, 3, "later")]);
        let mut other = lines(&[(1, 1, "one"), (1, 2, "two")]);
        other.push(None, (Writer::Node(2), LineKind::Violation), "wrong");
        other.push(None, (Writer::Node(2), LineKind::Data), "rest of the turn");
        other.settle(1);
        other.push(Some(1), (Writer::Node(2), LineKind::End), "");
        other.push(Some(1), (Writer::Node(2), LineKind::Data), "another turn");
        one.push(Some(1), (Writer::Cue(0, 3), LineKind::Note), "cue");
        let (data, notes, so_far) = written(&mut [one, other], 0);
        assert_eq!((&*data, &*notes), ("one\ntwo\nrest of the turn\n", "cue\nwrong\n"));
        assert_eq!(so_far, WrittenLines { lines: 5, violations: 1, is_over: true });
    }

    #[test]
    fn the_script_ends_a_time_before_nodes_write() {
        let mut one = lines(&[(1, 0, "zero")]);
        one.push(Some(1), (Writer::Cue(1, 0), LineKind::Note), "second");
        one.push(Some(1), (Writer::Cue(0, 9), LineKind::Note), "first");
        one.push(Some(1), (Writer::Script, LineKind::End), "");
        assert_eq!(written(&mut [one], 0).1, "first\nsecond\n");
    }

    #[test]
    fn an_address_names_its_node() {
        assert_eq!(Writer::of("n0:1"), Writer::Node(0));
        assert_eq!(Writer::of("n4711:1"), Writer::Node(4711));
        assert_eq!(Writer::of("SIM"), Writer::All);
    }
}
