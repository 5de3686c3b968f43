//! The observer of a run: prints watched tuples, and records what ends a run.
//!
//! ```text
//! <seconds since start, 6 decimals> <node> <letter> <rule or -> <tuple>
//! {"t":0.000123,"node":"localhost:10000","event":"s","rule":"r1","tuple":["ping",...]}
//! ```

use std::cell::{Ref, RefCell, RefMut};
use std::fmt::{self, Write as _};
use std::io;
use std::rc::Rc;

use tidemill_event::SimClock;
use tidemill_overlog::fleet::NodeId;
use tidemill_overlog::node::{Execution, GivenUp, Kept, Limit, Observer, Receipt, Sighting};
use tidemill_relation::json::JsonWriter;
use tidemill_relation::text::DisplayTuple;
use tidemill_relation::view::Overrun;

use crate::console::{Console, Form};
use crate::history::History;
use crate::lines::{LineKind, Lines, Writer, WrittenLines};
pub use crate::seconds::Seconds;
use crate::why::Explaining;

/// The output and the findings of a run.
#[derive(Debug)]
pub struct Journal {
    /// Its output.
    pub console: Console,
    /// The number of tuples of the relation `violation`.
    pub violations: u64,
    /// The number of expectations of the script that held.
    pub expectations_met: u64,
    /// The number of expectations of the script that did not.
    pub expectations_failed: u64,
    /// The number of turns abandoned as endless.
    pub given_up: u64,
    json: JsonWriter,
    /// Lines to be written in the order of time and node, if that is the order.
    lines: Option<Lines>,
    /// The clock of a simulation, for lines that no turn writes.
    clock: Option<SimClock>,
    /// Another journal writes its lines.
    is_part: bool,
    /// The number of lines that have been written before.
    skip: u64,
    /// The lines written in order.
    written: WrittenLines,
    /// The node that has derived a violation in its current turn.
    violated: Option<Writer>,
    /// Derivations, if they are to be explained.
    pub(crate) explaining: Option<Box<Explaining>>,
    /// Operations of clients, if they are to be checked.
    history: Option<History>,
}

impl Journal {
    /// A journal without findings.
    pub fn new(console: Console) -> Journal {
        Journal {
            console,
            violations: 0,
            expectations_met: 0,
            expectations_failed: 0,
            given_up: 0,
            json: JsonWriter::new(),
            lines: None,
            clock: None,
            is_part: false,
            skip: 0,
            written: WrittenLines::default(),
            violated: None,
            explaining: None,
            history: None,
        }
    }

    /// A journal for the nodes of a simulation: it writes in the order of [`Lines`], except for the
    /// first `skip` lines, which have been written before.
    pub(crate) fn in_order(console: Console, skip: u64) -> Journal {
        Journal { lines: Some(Lines::default()), skip, ..Journal::new(console) }
    }

    /// A journal whose lines are [taken](Self::take_lines) and written by another.
    pub(crate) fn of_part(form: Form) -> Journal {
        let console = Console::new(form, Box::new(io::sink()), Box::new(io::sink()));
        Journal { is_part: true, ..Journal::in_order(console, 0) }
    }

    /// Lines that no turn writes have the time of this clock; without one they come last.
    pub(crate) fn set_clock(&mut self, clock: Option<SimClock>) {
        self.clock = clock;
    }

    fn now_ns(&self) -> Option<u64> {
        self.clock.as_ref().map(|clock| clock.now().0)
    }

    /// Records the tuples of `history` from now on.
    pub(crate) fn keep_history(&mut self) {
        self.history.get_or_insert_default();
    }

    /// Takes the recorded history.
    pub(crate) fn take_history(&mut self) -> History {
        self.history.take().unwrap_or_default()
    }

    /// Whether it writes in the order of time and node. Then the run ends when everything of a time
    /// has happened, not before.
    pub(crate) fn is_in_order(&self) -> bool {
        self.lines.is_some()
    }

    /// The turn of a node has ended.
    pub(crate) fn turned(&mut self, NodeId(node): NodeId, now_ns: u64) {
        self.settle(Writer::Node(node), now_ns);
    }

    /// Rules about all nodes have been evaluated.
    pub(crate) fn all_turned(&mut self, now_ns: u64) {
        self.settle(Writer::All, now_ns);
    }

    /// A row of `unsettled` is present that must be gone.
    pub(crate) fn unsettled(&mut self, now_ns: u64, (node, row): (&str, &str), since_ns: u64) {
        if let Some(explaining) = &mut self.explaining {
            explaining.unsettled(now_ns, node, row);
        }
        if self.violations > 0 {
            return;
        }
        self.violations += 1;
        let (at, since) = (Seconds(now_ns), Seconds(since_ns));
        let note = format!("tidemill: {at} {node}: {row} since {since}");
        let writer = Writer::of(node);
        self.note(node, LineKind::Violation, note);
        self.violated = Some(writer);
        self.settle(writer, now_ns);
    }

    fn settle(&mut self, writer: Writer, now_ns: u64) {
        let Some(lines) = &mut self.lines else { return };
        lines.settle(now_ns);
        if self.violated.take_if(|violated| *violated == writer).is_some() {
            lines.push(Some(now_ns), (writer, LineKind::End), "");
        }
    }

    /// The script's actions of a time are done.
    pub(crate) fn cued(&mut self, now_ns: u64) {
        if let Some(lines) = self.lines.as_mut().filter(|_| self.expectations_failed > 0) {
            lines.push(Some(now_ns), (Writer::Script, LineKind::End), "");
        }
    }

    /// Writes a note of a script.
    pub(crate) fn cue_note(
        &mut self,
        now_ns: u64,
        by: (Writer, LineKind),
        text: impl fmt::Display,
    ) {
        self.write_note(Some(now_ns), by, text);
    }

    /// Writes a note that no turn of rules writes.
    pub(crate) fn remark(&mut self, by: (Writer, LineKind), text: impl fmt::Display) {
        self.write_note(self.now_ns(), by, text);
    }

    fn write_note(&mut self, at_ns: Option<u64>, by: (Writer, LineKind), text: impl fmt::Display) {
        match &mut self.lines {
            Some(lines) => lines.push(at_ns, by, text),
            None => by.1.write(text, &mut self.console),
        }
    }

    /// Writes output of components and apps: a whole line of a node, given its name; else bytes as
    /// they are.
    pub(crate) fn output(&mut self, node: Option<&str>, bytes: &[u8]) {
        if self.console.drops_data() && !self.is_part {
            return;
        }
        let now_ns = self.now_ns();
        now_ns.into_iter().for_each(|now_ns| self.write_lines_before(now_ns));
        match self.lines.as_mut().zip(node) {
            Some((lines, node)) => {
                let line = bytes.strip_suffix(b"\n").unwrap_or(bytes);
                lines.push_bytes(now_ns, Writer::of(node), line);
            }
            None => self.console.write(bytes),
        }
    }

    /// Writes the pending lines if they are of an earlier time.
    fn write_lines_before(&mut self, at_ns: u64) {
        let is_later = |lines: &Lines| lines.first().is_some_and(|first| first < at_ns);
        if self.lines.as_ref().is_some_and(is_later) && !self.is_part {
            self.write_lines();
        }
    }

    /// Takes the pending lines.
    pub(crate) fn take_lines(&mut self) -> Lines {
        self.lines.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Writes the pending lines, whose times are all over.
    pub(crate) fn write_lines(&mut self) {
        if let Some(lines) = &mut self.lines {
            let parts = std::slice::from_mut(lines);
            Lines::write(parts, &mut self.console, self.skip, &mut self.written);
        }
    }

    /// The run is over: writes what its parts report at their end, too.
    pub(crate) fn write_last_lines(&mut self) {
        self.written.is_over = false;
        self.write_lines();
    }

    /// The lines written in order; `None` if that is not the order.
    pub(crate) fn written(&self) -> Option<WrittenLines> {
        self.lines.as_ref().map(|_| self.written)
    }

    /// Whether the run has no reason to continue.
    pub fn is_over(&self) -> bool {
        self.violations > 0 || self.expectations_failed > 0 || self.console.has_failed()
    }

    fn sighted(&mut self, sighting: &Sighting<'_>) {
        // The lines of a part are written by another journal.
        if self.console.drops_data() && !self.is_part {
            return;
        }
        match self.console.form() {
            Form::Text => self.data(sighting, WatchLine(sighting)),
            Form::Json => {
                let mut json = std::mem::take(&mut self.json);
                write_json(&mut json, sighting);
                self.data(sighting, json.as_str());
                json.clear();
                self.json = json;
            }
        }
    }

    /// Writes a line of data.
    fn data(&mut self, Sighting { at_ns, node, .. }: &Sighting<'_>, line: impl fmt::Display) {
        self.write_lines_before(*at_ns);
        match &mut self.lines {
            Some(lines) => lines.push(Some(*at_ns), (Writer::of(node), LineKind::Data), line),
            None => self.console.line(line),
        }
    }

    /// Writes a note of a node whose turn continues.
    fn note(&mut self, node: &str, kind: LineKind, text: impl fmt::Display) {
        self.write_note(None, (Writer::of(node), kind), text);
    }
}

/// A sighting as a watch line.
struct WatchLine<'s>(&'s Sighting<'s>);

impl fmt::Display for WatchLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sighting { at_ns, node, stage, rule, relation, columns } = *self.0;
        let (letter, rule) = (stage.letter(), rule.unwrap_or("-"));
        write!(f, "{} {node} {letter} {rule} ", Seconds(at_ns))?;
        DisplayTuple::new(relation, columns.iter().copied()).fmt(f)
    }
}

fn write_json(json: &mut JsonWriter, sighting: &Sighting<'_>) {
    json.object(|json| {
        json.key("t").number(Seconds(sighting.at_ns));
        json.key("node").string(sighting.node);
        let mut letter = [0; 4];
        json.key("event").string(sighting.stage.letter().encode_utf8(&mut letter));
        json.key("rule").string(sighting.rule.unwrap_or("-"));
        json.key("tuple").tuple(sighting.relation, sighting.columns.iter().copied());
    });
}

const COMPUTING: &str = "views that compute values as they recurse";

/// An abandoned turn, as an error at the first rule of its cycle.
struct GivenUpNote<'g>(&'g GivenUp<'g>);

impl fmt::Display for GivenUpNote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GivenUp { node, start, times, limit, rules } = self.0;
        let place = rules.first().map_or("tidemill", |(_, place)| place);
        write!(f, "{place}: error[turn-limit]: ")?;
        match limit {
            Limit::Tuples(most) => write!(f, "a turn derives more than {most} event tuples")?,
            Limit::Cycle(most) => {
                write!(f, "a turn derives more than {most} tuples in a cycle of rules")?;
            }
            Limit::Looked(most) => {
                write!(f, "a turn looks at more than {most} rows in a cycle of rules")?;
            }
            Limit::Chain(most) => {
                write!(f, "a turn follows {most} others, each started by a change of the last,")?;
            }
            Limit::Changes(most) => write!(f, "a turn derives more than {most} changes")?,
            Limit::Views(Overrun::Changed(most)) => {
                write!(f, "a commit changes more than {most} rows of views")?;
            }
            Limit::Views(Overrun::Computed(most)) => {
                write!(f, "a commit changes more than {most} rows of {COMPUTING}")?;
            }
            Limit::Views(Overrun::Bytes(most)) => {
                write!(f, "a commit takes more than {most} bytes for {COMPUTING}")?;
            }
            Limit::Views(Overrun::Rounds(most)) => {
                write!(f, "a commit takes more than {most} rounds of recursive views")?;
            }
        }
        let names: Vec<&str> = rules.iter().map(|(name, _)| *name).collect();
        let names = names.join(", ");
        write!(
            f,
            " and is given up; the rules of its cycle: {names} ({node}, the turn of {start})"
        )?;
        match times {
            1 => Ok(()),
            times => write!(f, "; turns of this node given up so far: {times}"),
        }
    }
}

/// A journal shared between the nodes that write it and the run that reads it.
#[derive(Clone, Debug)]
pub struct SharedJournal(Rc<RefCell<Journal>>);

impl SharedJournal {
    /// Shares a journal.
    pub fn new(journal: Journal) -> SharedJournal {
        SharedJournal(Rc::new(RefCell::new(journal)))
    }

    /// Borrows the journal, for no longer than a statement.
    pub fn get(&self) -> Ref<'_, Journal> {
        self.0.borrow()
    }

    /// Borrows the journal mutably, for no longer than a statement.
    pub fn get_mut(&self) -> RefMut<'_, Journal> {
        self.0.borrow_mut()
    }
}

impl Observer for SharedJournal {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        self.get_mut().sighted(&sighting);
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        let mut journal = self.get_mut();
        journal.violations += 1;
        let tuple = DisplayTuple::new(sighting.relation, sighting.columns.iter().copied());
        let (at, node) = (Seconds(sighting.at_ns), sighting.node);
        let mut note = format!("tidemill: {at} {node}: {tuple}");
        if let Some(rule) = sighting.rule {
            // Writing to a string cannot fail.
            let _ = write!(note, " (rule {rule})");
        }
        journal.note(sighting.node, LineKind::Violation, note);
        journal.violated.get_or_insert(Writer::of(sighting.node));
        if let Some(explaining) = &mut journal.explaining {
            let is_earlier = |one: &str, other: &str| Writer::of(one) < Writer::of(other);
            explaining.violated(&sighting, is_earlier);
        }
    }

    fn executed(&mut self, execution: Execution<'_>) {
        if let Some(explaining) = &mut self.get_mut().explaining {
            explaining.executed(execution);
        }
    }

    fn received(&mut self, receipt: Receipt<'_>) {
        if let Some(explaining) = &mut self.get_mut().explaining {
            explaining.received(receipt);
        }
    }

    fn recorded(&mut self, sighting: Sighting<'_>) {
        if let Some(history) = &mut self.get_mut().history {
            history.record(sighting.columns);
        }
    }

    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, reason: &str) {
        let note = format!("{place}: fault[rule-failed]: {reason} ({rule}, {node})");
        self.get_mut().note(node, LineKind::Note, note);
    }

    fn kept(&mut self, why: Kept) {
        self.get_mut().console.note(format!("the old rules go on: {why}"));
    }

    fn given_up(&mut self, given_up: GivenUp<'_>) {
        let mut journal = self.get_mut();
        journal.given_up += 1;
        // A turn that is retried again and again is reported ever more rarely.
        if !given_up.times.is_power_of_two() {
            return;
        }
        journal.note(given_up.node, LineKind::Failure, GivenUpNote(&given_up));
    }
}

#[cfg(test)]
mod tests {
    use tidemill_overlog::node::Stage;
    use tidemill_relation::{Id, Value};

    use super::*;
    use crate::tape::Tape;

    fn journal(form: Form) -> (SharedJournal, Tape, Tape) {
        let (data, notes) = (Tape::default(), Tape::default());
        let console = Console::new(form, Box::new(data.clone()), Box::new(notes.clone()));
        (SharedJournal::new(Journal::new(console)), data, notes)
    }

    const COLUMNS: [Value<'static>; 3] =
        [Value::Str("n1:1"), Value::Double(2.0), Value::Interval(1_500_000_000)];

    fn sighting(rule: Option<&'static str>) -> Sighting<'static> {
        Sighting {
            at_ns: 1_000_123_999,
            node: "n0:1",
            stage: Stage::Sent,
            rule,
            relation: "ping",
            columns: &COLUMNS,
        }
    }

    #[test]
    fn watch_lines_are_as_documented() {
        let (mut journal, data, _) = journal(Form::Text);
        journal.sighted(sighting(Some("r1")));
        journal.sighted(sighting(None));
        journal.get_mut().console.flush();
        assert_eq!(
            data.text(),
            "1.000123 n0:1 s r1 ping(\"n1:1\", 2.0, 1.500000000s)\n\
             1.000123 n0:1 s - ping(\"n1:1\", 2.0, 1.500000000s)\n"
        );
    }

    #[test]
    fn json_lines_are_as_documented() {
        let (mut journal, data, _) = journal(Form::Json);
        let columns = [Value::Id(Id::from_int(1))];
        journal.sighted(Sighting { columns: &columns, ..sighting(Some("r1")) });
        journal.get_mut().console.flush();
        assert_eq!(
            data.text(),
            "{\"t\":1.000123,\"node\":\"n0:1\",\"event\":\"s\",\"rule\":\"r1\",\"tuple\":[\"ping\",\
             \"0x0000000000000000000000000000000000000001I\"]}\n"
        );
    }

    #[test]
    fn a_violation_is_reported_and_ends_the_run() {
        let (mut journal, data, notes) = journal(Form::Text);
        assert!(!journal.get().is_over());
        journal.violated(sighting(Some("bad")));
        assert!(journal.get().is_over());
        assert_eq!(data.text(), "");
        assert_eq!(
            notes.text(),
            "tidemill: 1.000123 n0:1: ping(\"n1:1\", 2.0, 1.500000000s) (rule bad)\n"
        );
    }

    #[test]
    fn a_turn_that_is_given_up_names_its_rules() {
        let (mut journal, _, notes) = journal(Form::Text);
        for times in 1..=3 {
            let (rules, limit) = (vec![("r1", "a.olg:3:1"), ("r2", "a.olg:4:1")], Limit::Cycle(7));
            journal.given_up(GivenUp { node: "n0:1", start: "p(1)", times, limit, rules });
        }
        let wanted = "a.olg:3:1: error[turn-limit]: a turn derives more than 7 tuples in a \
                      cycle of rules and is given up; the rules of its cycle: r1, r2 (n0:1, the \
                      turn of p(1))";
        let again = "; turns of this node given up so far: 2";
        assert_eq!(notes.text(), format!("{wanted}\n{wanted}{again}\n"));
        assert_eq!(journal.get().given_up, 3);
    }

    #[test]
    fn a_failing_rule_has_its_place() {
        let (mut journal, _, notes) = journal(Form::Text);
        journal.rule_failed("n0:1", "r1", "a.olg:3:1", "division by zero");
        assert_eq!(notes.text(), "a.olg:3:1: fault[rule-failed]: division by zero (r1, n0:1)\n");
    }
}
