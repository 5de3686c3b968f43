//! Stages on a node: outputs join the turn, long ones continue in later turns, and invalid ones are
//! dropped, counted and reported once.

use std::sync::Arc;

use tidemill_diag::Sources;
use tidemill_overlog::node::{Event, Identity, Node, Observer, Program, Sighting, Stages};
use tidemill_overlog::node::{INPUTS_AT_WORK_MAX, ROWS_PER_TURN_MAX, StageCounters};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{self, MemoryFiles};
use tidemill_overlog::program::{Compiled, StageUse, Watch, WorkedBy};
use tidemill_overlog::stage::{Memory, Registry};
use tidemill_overlog::{Options, compile};
use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::view::Progress;
use tidemill_relation::{OwnedValue, SeqBuilder, TypeSet, plan};
use tidemill_stdx::keyed::Secret;

/// `word` has its location in the second column; `seen` keeps all arrivals.
const PLAN: &str = r#"
relation p0 "line" at 0 (string, string, string)
relation p1 "word" at 1 (string, string)
relation p2 "load" at 0 (string, string)
relation p3 "row" at 0 (string, any)
relation p4 "seen" at 0 (string, any)
  table key(0, 1)
rule r0 "r0" at "f:1:1"
rule r1 "r1" at "f:2:1"
strand r0 on event p1 (v0, v1) regs 2
  emit p2 (v1, v0)
strand r1 on event p3 (v0, v1) regs 2
  insert p4 (v0, v1)
"#;

#[derive(Default)]
struct Log(Vec<String>);

impl Observer for Log {
    fn sighted(&mut self, it: Sighting<'_>) {
        let tuple = DisplayTuple::new(it.relation, it.columns.iter().copied());
        self.0.push(format!("{} {} {tuple}", it.stage.letter(), it.rule.unwrap_or("-")));
    }

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, reason: &str) {
        self.0.push(format!("{node} {rule} {place} {reason}"));
    }
}

struct World {
    node: Node,
    log: Log,
}

impl World {
    fn new(files: Memory, letters: &str) -> World {
        let plan = plan::parse(PLAN).unwrap();
        plan::verify(&plan).unwrap();
        let id = |name| plan.find(name).unwrap();
        let stage = |operator: &str, input, output| StageUse {
            operator: operator.to_owned(),
            input: id(input),
            output: id(output),
            by: WorkedBy::Node,
            place: "f:3:1".to_owned(),
        };
        let stages = vec![stage("TOKENIZER", "line", "word"), stage("CSV", "load", "row")];
        let stages_of_life = Stages::parse(letters).unwrap();
        let watches = (0..plan.relations.len() as u32)
            .map(|index| Watch { relation: plan::RelationId(index), stages: stages_of_life })
            .collect();
        let compiled = Compiled { plan, stages, watches, ..Compiled::default() };
        let registry = Arc::new(Registry::new(Arc::new(files)));
        let program = Arc::new(Program::with_operators(compiled, registry).unwrap());
        let address = "n0:1".to_owned();
        let identity = Identity { landmark: address.clone(), address, index: 0, count: 1 };
        World { node: Node::new(program, identity, 1, Secret::FIXED), log: Log::default() }
    }

    fn inject(&mut self, tuple: &str) {
        let (name, columns) = parse_tuple(tuple).unwrap();
        let relation = self.node.program().plan().find(&name).unwrap();
        let row = SeqBuilder::from(&columns[..]);
        self.node.enqueue(Event::Tuple { relation, row, delete: false, received: false });
    }

    /// Runs one turn; false if nothing waits.
    fn turn(&mut self) -> bool {
        if !self.node.begin(0, 0, &mut self.log) {
            return false;
        }
        while self.node.derive(10, &mut self.log) == Progress::More {}
        self.node.commit(&mut self.log);
        while self.node.refine(&mut self.log) == Progress::More {}
        self.node.finish(&mut self.log);
        true
    }

    fn run(&mut self) -> usize {
        (0..).take_while(|_| self.turn()).count()
    }

    fn rows(&self) -> Vec<OwnedValue> {
        let mut rows = Vec::new();
        let seen = self.node.program().plan().find("seen").unwrap();
        self.node.rows(seen, |row| rows.push(OwnedValue::new(row[1])));
        rows
    }

    fn counters(&self, stage: usize) -> StageCounters {
        self.node.counters().stages[stage]
    }
}

#[test]
fn outputs_join_the_turn_in_order() {
    let mut world = World::new(Memory::default().with("a", "1\n").with("b", "2\n"), "sc");
    world.inject(r#"line("n0:1", " ", "a b")"#);
    // The files are opened after the turn that names them.
    assert!(world.turn() && world.rows().is_empty());
    assert_eq!(world.run(), 2);
    let wanted = [
        r#"s - word("a", "n0:1")"#,
        r#"s - word("b", "n0:1")"#,
        r#"c - word("a", "n0:1")"#,
        r#"s r0 load("n0:1", "a")"#,
        r#"c - word("b", "n0:1")"#,
        r#"s r0 load("n0:1", "b")"#,
        r#"c r0 load("n0:1", "a")"#,
        r#"c r0 load("n0:1", "b")"#,
        r#"s - row("n0:1", 1)"#,
        r#"c - row("n0:1", 1)"#,
        r#"s - row("n0:1", 2)"#,
        r#"c - row("n0:1", 2)"#,
    ];
    assert_eq!(world.log.0, wanted);
    assert_eq!(world.rows().len(), 2);
    assert!(!world.turn());
}

#[test]
fn long_files_take_several_turns() {
    let lines = 5 * ROWS_PER_TURN_MAX / 2;
    let text = |start: usize| -> String {
        (start..start + lines).map(|line| format!("{line}\n")).collect()
    };
    let files = Memory::default().with("a", text(0)).with("b", text(lines));
    let mut world = World::new(files, "");
    world.inject(r#"load("n0:1", "a")"#);
    world.inject(r#"load("n0:1", "b")"#);
    world.inject(r#"row("n0:1", "between")"#);
    // The tuple that arrived before the rows is processed before them.
    assert!(world.turn() && world.turn() && world.turn());
    assert_eq!(world.rows().len(), 1);
    assert!(world.turn() && world.turn());
    assert_eq!(world.rows().len(), 2 * ROWS_PER_TURN_MAX + 1);
    assert_eq!(world.run(), 4);
    assert_eq!(world.rows().len(), 2 * lines + 1);
    assert_eq!(world.counters(1).outputs, 2 * lines as u64);
    assert!(world.log.0.is_empty());
}

#[test]
fn turns_take_a_bounded_number_of_bytes() {
    let line = format!("{}\n", "x".repeat(1000));
    let mut world = World::new(Memory::default().with("a", line.repeat(3000)), "");
    world.inject(r#"load("n0:1", "a")"#);
    assert_eq!(world.run(), 4);
    assert_eq!(world.counters(1).outputs, 3000);
}

#[test]
fn what_is_wrong_is_counted_and_reported_once() {
    let mut world = World::new(Memory::default().with("a", "1\n\"\n").with("b", "1,2\n"), "");
    for file in ["a", "b", "c", "a"] {
        world.inject(&format!(r#"load("n0:1", "{file}")"#));
    }
    world.run();
    world.inject(r#"load("n0:1", 7)"#);
    world.run();
    let wanted = StageCounters { inputs: 5, refused: 1, outputs: 2, failed: 3, misfits: 1 };
    assert_eq!(world.counters(1), wanted);
    let report = "n0:1 stage CSV f:3:1 a:2: a quoted field without its end";
    assert_eq!(world.log.0, [report]);
}

#[test]
fn operators_work_on_a_bounded_number_of_inputs() {
    let mut world = World::new(Memory::default().with("a", "1\n".repeat(2000)), "");
    for _ in 0..INPUTS_AT_WORK_MAX + 3 {
        world.inject(r#"load("n0:1", "a")"#);
    }
    world.run();
    assert_eq!(world.counters(1).refused, 3);
    assert_eq!(world.counters(1).outputs, 2000 * INPUTS_AT_WORK_MAX as u64);
    assert_eq!(world.log.0.len(), 1);
}

/// Compiles a source; the plain form of the diagnostics.
fn diagnostics(source: &str) -> (Option<Compiled>, String) {
    let mut sources = Sources::new();
    let (options, files) = (pre::Options::default(), MemoryFiles::default());
    let (tree, mut found) = parse_text("s.olg", source, &options, &files, &mut sources);
    let (compiled, more) = compile(&tree, &sources, &Options::default());
    found.extend(more);
    (compiled, found.iter().map(|one| sources.render(one)).collect())
}

#[test]
fn what_an_operator_yields_has_its_types() {
    let source = r#"
        stage("TOKENIZER", line, word).
        stage("CSV", load, row).
        r1 words(@N, W) :- word(@N, W).
        r2 fields(@N, A, B) :- row(@N, A, B).
        r3 line(@N, " ", T) :- say(@N, T).
        r4 load(@N, F) :- say(@N, F).
    "#;
    let (compiled, found) = diagnostics(source);
    let plan = compiled.unwrap_or_else(|| panic!("{found}")).plan;
    let columns = |name| plan.relation(plan.find(name).unwrap()).columns.clone();
    assert_eq!(columns("words"), [TypeSet::TEXT, TypeSet::TEXT]);
    assert_eq!(columns("fields"), [TypeSet::TEXT, TypeSet::ANY, TypeSet::ANY]);
    assert_eq!(found, "");
}

#[test]
fn stages_are_checked() {
    let cases = [
        (
            r#"stage("TOKENISER", a, b)."#,
            "s.olg:1:7: error[unknown-stage]: there is no operator \"TOKENISER\"",
            "there is \"TOKENIZER\"",
        ),
        (
            r#"stage("tide", a, b)."#,
            "s.olg:1:7: error[unknown-stage]: there is no operator \"tide\"",
            "there are \"TOKENIZER\", \"CSVtuple\", \"CSV\"",
        ),
        (
            r#"stage("TOKENIZER", a, b). r1 a(@N, X) :- in(@N, X)."#,
            "s.olg:1:20: error[arity]: \"TOKENIZER\" needs 3 columns here, but `a` has 2",
            "the operator is TOKENIZER(location, delimiters: string, text: string)",
        ),
        (
            r#"stage("TOKENIZER", a, b). r1 c(@N, X, Y) :- b(@N, X, Y)."#,
            "s.olg:1:23: error[arity]: \"TOKENIZER\" needs 2 columns here, but `b` has 3",
            "-> (location, token: string)",
        ),
        (
            r#"stage("CSV", a, b). materialize(b, infinity, infinity, keys(1))."#,
            "s.olg:1:17: error[stage-table]: the output of a stage is an event",
            "name an event",
        ),
    ];
    for (source, first, help) in cases {
        let (compiled, found) = diagnostics(source);
        assert!(compiled.is_none() && found.starts_with(first), "{source}\n{found}");
        assert!(found.contains(help), "{source}\n{found}");
    }
}
