//! Sources of the rule language, from the preprocessor to a running node: a program or
//! diagnostics, and never a panic.

use std::borrow::Cow;
use std::sync::Arc;

use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::absent::{Known, KnownTable, Rules, Wanted};
use tidemill_overlog::node::{Event, Identity, Node, Observer, Program, Sighting, Started};
use tidemill_overlog::parse::parse_text;
use tidemill_overlog::pre::{MemoryFiles, Options as ParseOptions};
use tidemill_overlog::program::Compiled;
use tidemill_overlog::stage::{Memory, Registry};
use tidemill_overlog::{Options, compile};
use tidemill_relation::plan::{self, Relation, RelationId};
use tidemill_relation::view::Progress;
use tidemill_relation::{Id, OwnedValue, Seq, SeqBuilder, Type, TypeSet, Value};
use tidemill_stdx::keyed::Secret;

use super::front;

/// Turns that a program runs.
const TURNS_MAX: usize = 60;
/// Event tuples of one turn, in tens; rounds of its views.
const STEPS_MAX: usize = 100;
/// The bytes of a program that is compiled and run.
const BYTES_MAX: usize = 1 << 14;

/// Panics if any part of the system panics on the source `input`; true if it is a valid program.
pub fn check(input: &[u8]) -> bool {
    front::check(&text(input));
    let compiled = compiled(input);
    let is_right = compiled.is_some();
    compiled.iter().for_each(check_absent);
    compiled.into_iter().for_each(run);
    is_right
}

/// Asks, on an empty node, why each derived relation is empty.
fn check_absent(compiled: &Compiled) {
    const ASKED_MAX: usize = 4;
    let rules = Rules::read(&compiled.written).expect("what was printed");
    let relations = compiled.plan.relations.iter().filter(|it| !it.hidden && it.arity() > 0);
    for relation in relations.take(ASKED_MAX) {
        let columns = vec![None; relation.arity()];
        let wanted = Wanted { relation: relation.name.clone(), columns };
        let tables = rules.reads(&relation.name).into_iter();
        let tables = tables.map(|name| KnownTable { name, rows: Vec::new() }).collect();
        let mut known = Known::new(tables, Arc::default());
        assert!(!rules.why_not(&mut known, wanted).to_string().is_empty());
    }
}

fn text(input: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(&input[..input.len().min(BYTES_MAX)])
}

/// Compiles `input`, and checks the result.
pub fn compiled(input: &[u8]) -> Option<Compiled> {
    let text = text(input);
    let mut files = MemoryFiles::default();
    files.add("self.olg", "p(@N, 1).\n#include \"self.olg\"\n");
    let mut sources = Sources::default();
    let (tree, found) = parse_text("p.olg", &text, &ParseOptions::default(), &files, &mut sources);
    front::check_diagnostics(&found, &sources);
    if has_errors(&found) {
        return None;
    }
    let (compiled, found) = compile(&tree, &sources, &Options::default());
    front::check_diagnostics(&found, &sources);
    assert_eq!(compiled.is_some(), !has_errors(&found));
    let compiled = compiled?;
    assert_eq!(plan::verify(&compiled.plan), Ok(()));
    let printed = plan::print(&compiled.plan);
    assert_eq!(plan::parse(&printed).as_ref(), Ok(&compiled.plan), "{printed}");
    Some(compiled)
}

/// The actions of a node, one line each.
#[derive(Default)]
struct Log(Vec<String>);

impl Observer for Log {
    fn sighted(&mut self, sighting: Sighting<'_>) {
        self.0.push(format!("{sighting:?}"));
    }

    fn violated(&mut self, sighting: Sighting<'_>) {
        self.0.push(format!("violated {sighting:?}"));
    }

    fn rule_failed(&mut self, node: &str, rule: &str, place: &str, error: &str) {
        self.0.push(format!("{node} {rule} {place}: {error}"));
    }
}

/// Runs a program at one node, interpreted and as machine code, with turns in parts and with short
/// turns in one go, which must all do the same.
fn run(compiled: Compiled) {
    let files = Memory::default().with("a.csv", "1,\"two\",3.5\n\n\"\n");
    let registry = Arc::new(Registry::new(Arc::new(files)));
    let Ok(program) = Program::with_operators(compiled, registry) else { return };
    let mut native = program.clone();
    native.compile().expect("code can be made here");
    let expected = run_one(program.clone(), Turns::InParts);
    assert_eq!(expected, run_one(native.clone(), Turns::InParts));
    assert_eq!(expected, run_one(program, Turns::InOneGo));
    assert_eq!(expected, run_one(native, Turns::InOneGo));
}

/// How turns are driven.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Turns {
    InParts,
    /// Those that are short.
    InOneGo,
}

/// The actions of one node: with its facts, its timers, and a few tuples of each relation.
fn run_one(program: Program, turns: Turns) -> Vec<String> {
    let mut log = Log::default();
    let address = "n0:1".to_owned();
    let identity = Identity { landmark: address.clone(), address, index: 0, count: 2 };
    let mut node = Node::new(Arc::new(program), identity, 1, Secret::FIXED);
    node.facts().into_iter().for_each(|fact| node.enqueue(fact));
    for timer in 0..node.periodics().len() {
        node.fire(timer);
    }
    let plan = node.program().plan().clone();
    for round in 0..3 {
        for (index, relation) in (0..).zip(&plan.relations).filter(|(_, it)| !it.hidden) {
            node.enqueue(Event::Tuple {
                relation: RelationId(index),
                row: columns(relation, round),
                delete: round == 2,
                received: true,
            });
        }
    }
    node.enqueue(Event::Expiry);
    for turn in 0..TURNS_MAX {
        if !run_turn(&mut node, turns, turn as u64 * 1_000_000_000, &mut log) {
            break;
        }
    }
    for (index, _) in (0..).zip(&plan.relations) {
        node.rows(RelationId(index), |row| log.0.push(format!("{index}: {row:?}")));
    }
    log.0.push(format!("{:?}", node.counters()));
    log.0
}

/// One turn; false if nothing waits, or if the turn takes too long for a test.
fn run_turn(node: &mut Node, turns: Turns, now_ns: u64, log: &mut Log) -> bool {
    let started = match turns {
        Turns::InParts if node.begin(now_ns, now_ns as i64, log) => Started::Begun,
        Turns::InParts => Started::Nothing,
        Turns::InOneGo => node.start(now_ns, now_ns as i64, log),
    };
    match started {
        Started::Nothing => return false,
        Started::Begun => {}
        Started::Ended => return true,
    }
    if (0..STEPS_MAX).all(|_| node.derive(10, log) == Progress::More) {
        return false;
    }
    node.commit(log);
    let refined = (0..STEPS_MAX).map(|_| node.refine(log));
    match refined.into_iter().find(|progress| *progress != Progress::More) {
        Some(Progress::Done) => {}
        _ => {
            node.abandon();
            return true;
        }
    }
    node.finish(log);
    let program = node.program().clone();
    node.take_sends(|send, columns| {
        let relation = program.plan().relation(send.relation);
        assert_eq!(columns.len(), relation.arity(), "{}", relation.name);
        log.0.push(format!("{send:?} {:?}", columns.iter().collect::<Vec<_>>()));
    });
    true
}

/// A tuple for a relation: of the types that it may hold, and in later rounds of others too.
fn columns(relation: &Relation, round: usize) -> SeqBuilder {
    let column = |(index, types): (usize, &TypeSet)| {
        if index == relation.location as usize {
            return OwnedValue::new(Value::Str("n0:1"));
        }
        let types: Vec<Type> = types.iter().collect();
        let wanted = types.get((index + round) % types.len().max(1)).copied();
        let mut list = SeqBuilder::new();
        list.push(Value::Int(round as i64));
        list.push(Value::Str("n1:1"));
        OwnedValue::new(match wanted.unwrap_or(Type::Null) {
            Type::Null => Value::Null,
            Type::Bool => Value::Bool(round == 0),
            Type::Int => Value::Int([1, 0, i64::MAX][round % 3]),
            Type::Double => Value::Double([0.5, -1e300, f64::NAN][round % 3]),
            Type::Str => Value::Str(["n0:1", "a.csv", ""][round % 3]),
            Type::Bytes => Value::Bytes(&[0, 255]),
            Type::Id => Value::Id(Id::from_int([7, 0, -1][round % 3])),
            Type::Time => Value::Time(round as i64),
            Type::Interval => Value::Interval(1_000_000_000),
            Type::List => Value::List(list.as_seq()),
            Type::Vector => Value::Vector(list.as_seq()),
            Type::Matrix => Value::Matrix(Seq::EMPTY),
        })
    };
    let columns: Vec<OwnedValue> = relation.columns.iter().enumerate().map(column).collect();
    SeqBuilder::from(&columns[..])
}
