//! Random strands, with their tables and the tuples that start them: machine code and interpreter
//! agree.

use std::cell::Cell;

use tidemill_relation::aggregate::Aggregate;
use tidemill_relation::database::Database;
use tidemill_relation::expr::{Ambient, EvalError, Expr, Param, Reg, Scope};
use tidemill_relation::function::FunctionId;
use tidemill_relation::native::{self, Native, Options};
use tidemill_relation::operator::{Binary, End, Unary};
use tidemill_relation::plan::{
    self, Action, Bind, Bound, HeadColumn, Lookup, On, Output, Pattern, Plan, Relation, RelationId,
    Rule, RuleId, Step, Storage, Strand, Trigger,
};
use tidemill_relation::strand::{self, JoinedRow, Reading, Sink, TypeProfile};
use tidemill_relation::table::{Access, Key, TableSpec};
use tidemill_relation::{Id, SeqBuilder, TypeSet, Value};
use tidemill_stdx::keyed::Secret;
use tidemill_stdx::region::Bump;
use tidemill_support::draw;

/// Panics if the code and the interpreter differ for the strand drawn from `input`.
pub fn check(input: &[u8]) {
    let mut draw = Draw { choices: draw::Draw::new(input) };
    let plan = Plan {
        relations: relations(),
        rules: vec![Rule { name: "r".into(), place: "f:1:1".into() }],
        strands: vec![draw.strand()],
        strata: Vec::new(),
    };
    if plan::verify(&plan).is_err() {
        return;
    }
    let mut database = Database::new(&plan, Secret::FIXED);
    for table in [TABLE, INDEXED, BAG, NUMBERS] {
        for _ in 0..draw.below(12) {
            let row = if table == NUMBERS { draw.numbers() } else { draw.row() };
            let row: Vec<Value<'_>> = row.as_seq().iter().collect();
            let _ = database.table_mut(RelationId(table)).insert(&row, 0);
        }
    }
    database.prepare(&plan.strands[0]);
    let triggers: Vec<SeqBuilder> = (0..1 + draw.below(6)).map(|_| draw.row()).collect();
    let looks = draw.below(triggers.len() + 1);
    let derived_max = if draw.below(8) == 0 { draw.below(4) } else { usize::MAX };

    let profile = TypeProfile::new(&plan.strands[0]);
    let run = |strand: &Strand,
               profile: Option<&TypeProfile>,
               triggers: &[SeqBuilder],
               native: Option<&Native>| {
        let (scratch, ambient) = (Bump::new(), Still::default());
        let mut log = Log::new(derived_max);
        for trigger in triggers {
            let scope = Scope { scratch: &scratch, ambient: &ambient };
            let reading = Reading { profile, ..Reading::present(&database) };
            let trigger = trigger.as_seq();
            match native {
                None => strand::run(strand, trigger, reading, scope, &mut log),
                Some(native) => native::run(native, 0, trigger, &database, scope, &mut log),
            }
        }
        log.lines.push(format!("drawn {}", ambient.drawn.get()));
        log.lines
    };
    let strand = &plan.strands[0];
    run(strand, Some(&profile), &triggers[..looks], None);
    let types = match draw.below(4) {
        // The results do not depend on which registers are assumed to be integers.
        0 => vec![TypeSet::INT; plan.strands[0].regs as usize],
        _ => profile.types(),
    };
    let name = |_: usize| "strand".to_owned();
    let native =
        Native::compile(&plan.strands, |_| Some(types.clone()), name, Options::named("strands"));
    let native = native.unwrap_or_else(|error| panic!("{error}\n{}", plan::print(&plan)));
    let interpreted = run(strand, None, &triggers, None);
    let compiled = run(strand, None, &triggers, Some(&native));
    assert_eq!(interpreted, compiled, "{}\n{triggers:?}", plan::print(&plan));

    let derived = |lines: Vec<String>| -> Vec<String> {
        lines.into_iter().filter(|line| !line.starts_with("looked")).collect()
    };
    let without = Plan { strands: vec![unbounded(&plan.strands[0])], ..plan.clone() };
    if derived_max == usize::MAX && without != plan {
        let scanned = run(&without.strands[0], None, &triggers, None);
        assert_eq!(derived(interpreted), derived(scanned), "{}\n{triggers:?}", plan::print(&plan));
    }
}

/// The strand without the bounds of its look-ups, which then scan.
fn unbounded(strand: &Strand) -> Strand {
    let mut strand = strand.clone();
    for step in &mut strand.steps {
        if let Step::Join(lookup) = step
            && lookup.access == Access::Ordered(0)
        {
            (lookup.access, lookup.bounds) = (Access::Scan, Vec::new());
        }
    }
    strand
}

pub const EVENT: u32 = 0;
pub const TABLE: u32 = 1;
const INDEXED: u32 = 2;
pub const BAG: u32 = 3;
pub const HEAD: u32 = 4;
const NUMBERS: u32 = 5;
const COLUMNS: usize = 3;

/// An event, four tables and a head, of three columns each.
pub fn relations() -> Vec<Relation> {
    let relation = |name: &str, storage: Storage| Relation {
        name: name.to_owned(),
        columns: vec![TypeSet::ANY; COLUMNS],
        location: 0,
        storage,
        hidden: false,
        candidates: None,
    };
    let table = |key: Key, indexes: Vec<Vec<u32>>| {
        let ordered = vec![vec![1], vec![0, 2]];
        let spec = TableSpec {
            arity: COLUMNS as u32,
            key,
            lifetime_ns: None,
            size_max: None,
            indexes,
            ordered,
        };
        Storage::Table { spec, soft: false }
    };
    let numbers = table(Key::Columns(vec![0, 1, 2]), Vec::new());
    vec![
        relation("event", Storage::Event),
        relation("table", table(Key::Columns(vec![1]), vec![vec![2]])),
        relation("indexed", table(Key::Columns(vec![1, 2]), vec![vec![1], vec![0, 2]])),
        relation("bag", table(Key::Bag, vec![vec![0], vec![1]])),
        relation("head", Storage::Event),
        Relation { columns: vec![TypeSet::INT; COLUMNS], ..relation("numbers", numbers) },
    ]
}

/// The source of choices; when it is used up, every choice is the first.
struct Draw<'i> {
    choices: draw::Draw<'i>,
}

impl Draw<'_> {
    fn below(&mut self, limit: usize) -> usize {
        self.choices.below(limit)
    }

    fn row(&mut self) -> SeqBuilder {
        let mut row = SeqBuilder::new();
        for _ in 0..COLUMNS {
            self.put(&mut row);
        }
        row
    }

    /// A row of integers, sometimes far apart.
    fn numbers(&mut self) -> SeqBuilder {
        let mut row = SeqBuilder::new();
        for _ in 0..COLUMNS {
            row.push(Value::Int(match self.below(8) {
                0 => [i64::MIN, i64::MAX, i64::MAX - 1, -1][self.below(4)],
                _ => self.below(12) as i64,
            }));
        }
        row
    }

    /// Appends a value, most often a small integer.
    fn put(&mut self, row: &mut SeqBuilder) {
        match self.below(24) {
            0 => row.push(Value::Null),
            1 => row.push(Value::Bool(self.below(2) == 1)),
            2 => row.push(Value::Int([i64::MIN, i64::MAX, -1, 1 << 40][self.below(4)])),
            3 => row.push(Value::Double(self.below(5) as f64 / 2.0)),
            4 | 5 => row.push(Value::Str(["", "n1", "a text that is longer"][self.below(3)])),
            6 => row.push(Value::Id(Id::from_int(self.below(9) as i64 - 3))),
            7 => row.push(Value::Interval(self.below(3) as i64 * 1_000_000_000)),
            8 => {
                let mut list = SeqBuilder::new();
                (0..self.below(4)).for_each(|at| list.push(Value::Int(at as i64)));
                row.push(Value::List(list.as_seq()));
            }
            _ => row.push(Value::Int(self.below(6) as i64)),
        }
    }

    fn constant(&mut self) -> Expr {
        let mut one = SeqBuilder::new();
        self.put(&mut one);
        one.as_seq().get(0).map_or(Expr::Param(Param::Node), Expr::constant)
    }

    fn strand(&mut self) -> Strand {
        let mut bound = Vec::new();
        let trigger = self.binds(&mut bound, false);
        let aggregates = self.below(4) == 0;
        let mut steps: Vec<Step> = Vec::new();
        let group_at = if aggregates { self.below(3) } else { 0 };
        for _ in 0..group_at {
            let step = self.binding(&mut bound);
            steps.push(step);
        }
        let group = bound.clone();
        for _ in 0..self.below(5) {
            if self.below(4) == 0 {
                self.ranged(&mut bound, &mut steps);
                continue;
            }
            let step = self.step(&mut bound);
            steps.push(step);
        }
        let mut columns: Vec<HeadColumn> = Vec::new();
        for at in 0..COLUMNS {
            columns.push(match aggregates && at > 0 {
                false if aggregates => HeadColumn::Value(self.expr(&group, 2)),
                false => HeadColumn::Value(self.expr(&bound, 2)),
                true => {
                    let function =
                        [Aggregate::Count, Aggregate::Max, Aggregate::Sum][self.below(3)];
                    let star = function == Aggregate::Count && self.below(2) == 0;
                    let input = (!star).then(|| self.expr(&bound, 2));
                    HeadColumn::Aggregate { function, input }
                }
            });
        }
        Strand {
            rule: RuleId(0),
            trigger: Trigger { relation: RelationId(EVENT), on: On::Event, columns: trigger },
            steps,
            output: Output {
                relation: RelationId(HEAD),
                columns,
                action: Action::Emit,
                location: None,
                group_at: group_at as u16,
            },
            regs: self.registers(&bound),
        }
    }

    /// Registers are numbered in the order of binding; those of tests are not read later.
    fn registers(&self, bound: &[Reg]) -> u16 {
        bound.iter().map(|reg| reg.0 + 1).max().unwrap_or(0).max(64)
    }

    fn another(&mut self, bound: &mut Vec<Reg>) -> Reg {
        let reg = Reg(bound.iter().map(|reg| reg.0 + 1).max().unwrap_or(0));
        bound.push(reg);
        reg
    }

    fn binds(&mut self, bound: &mut Vec<Reg>, compare: bool) -> Vec<Bind> {
        let mut binds = Vec::new();
        for _ in 0..COLUMNS {
            binds.push(match self.below(8) {
                0 | 1 => Bind::Ignore,
                2 if compare || self.below(4) == 0 => {
                    let depth = self.below(2);
                    Bind::Equal(self.expr(bound, depth))
                }
                _ => Bind::Reg(self.another(bound)),
            });
        }
        binds
    }

    /// A step that may precede a group.
    fn binding(&mut self, bound: &mut Vec<Reg>) -> Step {
        if self.below(3) == 0
            && let Some(&reg) = bound.get(self.below(bound.len()))
        {
            let pattern = self.pattern(bound);
            return Step::Match(reg, pattern);
        }
        let expr = self.expr(bound, 3);
        Step::Let(self.another(bound), expr)
    }

    fn pattern(&mut self, bound: &mut Vec<Reg>) -> Pattern {
        match self.below(4) {
            0 => Pattern::Any,
            1 => Pattern::Equal(self.expr(bound, 1)),
            2 => Pattern::Reg(self.another(bound)),
            _ => {
                let elements = (0..self.below(3)).map(|_| Pattern::Reg(self.another(bound)));
                let elements = elements.collect();
                let tail = (self.below(2) == 0).then(|| Box::new(Pattern::Any));
                Pattern::List { elements, tail }
            }
        }
    }

    fn step(&mut self, bound: &mut Vec<Reg>) -> Step {
        match self.below(8) {
            0..=2 => Step::Join(self.lookup(bound)),
            3 => {
                let mut own = bound.clone();
                Step::Exists(self.kept(bound, |draw| draw.lookup(&mut own)))
            }
            4 => {
                let mut own = bound.clone();
                Step::Absent(self.kept(bound, |draw| draw.lookup(&mut own)))
            }
            5 => Step::Filter(self.expr(bound, 3)),
            _ => self.binding(bound),
        }
    }

    /// A look-up whose registers nothing else reads; they get distant numbers.
    fn kept(&mut self, bound: &[Reg], draw: impl FnOnce(&mut Self) -> Lookup) -> Lookup {
        let mut lookup = draw(self);
        let first = bound.iter().map(|reg| reg.0 + 1).max().unwrap_or(0);
        let moved = |reg: &mut Reg| {
            if reg.0 >= first {
                reg.0 += 32;
            }
        };
        for bind in &mut lookup.columns {
            match bind {
                Bind::Reg(reg) | Bind::Equal(Expr::Reg(reg)) => moved(reg),
                Bind::Equal(expr) if reads_from(expr, first) => *bind = Bind::Ignore,
                Bind::Equal(_) | Bind::Ignore => {}
            }
        }
        lookup
    }

    fn lookup(&mut self, bound: &mut Vec<Reg>) -> Lookup {
        let (relation, access, keys) = [
            (TABLE, Access::Scan, 0),
            (TABLE, Access::Primary, 1),
            (TABLE, Access::Index(0), 1),
            (INDEXED, Access::Primary, 2),
            (INDEXED, Access::Index(0), 1),
            (INDEXED, Access::Index(1), 2),
            (BAG, Access::Scan, 0),
            (BAG, Access::Index(1), 1),
        ][self.below(8)];
        let key = (0..keys).map(|_| self.expr(bound, 1)).collect();
        let columns = self.binds(bound, true);
        Lookup { relation: RelationId(relation), atom: 1, access, key, bounds: Vec::new(), columns }
    }

    /// A join by an ordered index, and the conditions that bound it.
    fn ranged(&mut self, bound: &mut Vec<Reg>, steps: &mut Vec<Step>) {
        let relation = [TABLE, INDEXED, NUMBERS, NUMBERS][self.below(4)];
        let (number, column) = [(0, 1), (1, 2)][self.below(2)];
        let keys = if number == 0 { 0 } else { 1 };
        let key: Vec<Expr> = (0..keys).map(|_| self.expr(bound, 1)).collect();
        let known = bound.clone();
        let reg = self.another(bound);
        let mut conditions = Vec::new();
        for _ in 0..1 + self.below(3) {
            let operator = [Binary::Less, Binary::LessEqual, Binary::Greater, Binary::GreaterEqual]
                [self.below(4)];
            let mut side = Expr::Reg(reg);
            if relation == NUMBERS && self.below(2) == 0 {
                let added = self.expr(&known, 1);
                let operator = [Binary::Add, Binary::Subtract][self.below(2)];
                side = Expr::Binary(operator, Box::new([side, added]));
            }
            let value = self.expr(&known, 2);
            let end = |draw: &mut Self| [End::Open, End::Closed][draw.below(2)];
            conditions.push(match self.below(4) {
                0 => Expr::Binary(operator, Box::new([value, side])),
                1 => {
                    let operands = Box::new([Expr::Reg(reg), value, self.expr(&known, 2)]);
                    Expr::In { operands, low: end(self), high: end(self) }
                }
                _ => Expr::Binary(operator, Box::new([side, value])),
            });
        }
        let of = |condition: &Expr| Bound::of(condition, reg, &|_| true);
        let bounds = conditions.iter().filter_map(of).collect();
        let mut columns = vec![Bind::Ignore; COLUMNS];
        columns[column] = Bind::Reg(reg);
        let (relation, access) = (RelationId(relation), Access::Ordered(number));
        steps.push(Step::Join(Lookup { relation, atom: 1, access, key, bounds, columns }));
        steps.extend(conditions.into_iter().map(Step::Filter));
    }

    fn expr(&mut self, bound: &[Reg], depth: usize) -> Expr {
        let mut part = |draw: &mut Self| draw.expr(bound, depth - 1);
        if depth == 0 || self.below(3) == 0 {
            return match bound.get(self.below(bound.len() + 2)) {
                Some(reg) => Expr::Reg(*reg),
                None => self.constant(),
            };
        }
        match self.below(16) {
            0 => Expr::Unary(Unary::ALL[self.below(3)], Box::new(part(self))),
            1 => Expr::And(Box::new([part(self), part(self)])),
            2 => Expr::Or(Box::new([part(self), part(self)])),
            3 => {
                let end = |draw: &mut Self| [End::Open, End::Closed][draw.below(2)];
                let operands = Box::new([part(self), part(self), part(self)]);
                Expr::In { operands, low: end(self), high: end(self) }
            }
            4 => Expr::If(Box::new([part(self), part(self), part(self)])),
            5 => self.call(&mut part),
            6 => Expr::List(vec![part(self), part(self)]),
            7 => Expr::Param([Param::Node, Param::NodeIndex][self.below(2)]),
            _ => Expr::Binary(Binary::ALL[self.below(18)], Box::new([part(self), part(self)])),
        }
    }

    fn call(&mut self, part: &mut impl FnMut(&mut Self) -> Expr) -> Expr {
        let (name, arguments) =
            [("abs", 1), ("strlen", 1), ("max", 2), ("rand", 0), ("now", 0)][self.below(5)];
        let arguments: Vec<Expr> = (0..arguments).map(|_| part(self)).collect();
        match FunctionId::from_name(name) {
            Some(function) => Expr::Call(function, arguments),
            None => panic!("there is a function {name}"),
        }
    }
}

fn reads_from(expr: &Expr, first: u16) -> bool {
    let mut reads = false;
    expr.for_each_reg(&mut |reg| reads |= reg.0 >= first);
    reads
}

/// Everything that a sink receives.
pub struct Log {
    pub lines: Vec<String>,
    derived: usize,
    derived_max: usize,
}

impl Log {
    /// An empty log; it is full when it holds more than `derived_max` tuples.
    pub fn new(derived_max: usize) -> Log {
        Log { lines: Vec::new(), derived: 0, derived_max }
    }
}

impl Sink for Log {
    fn derive(&mut self, output: &Output, columns: &[Value<'_>], results: u64) {
        self.derived += 1;
        self.lines.push(format!("{:?} {columns:?} {results}", output.action));
    }

    fn failed(&mut self, rule: RuleId, error: EvalError) {
        self.lines.push(format!("{rule:?} {error}"));
    }

    fn gathered(&mut self, inputs: &[Value<'_>]) {
        self.lines.push(format!("gathered {inputs:?}"));
    }

    fn looked(&mut self, rows: u32) {
        self.lines.push(format!("looked {rows}"));
    }

    fn is_full(&self) -> bool {
        self.derived > self.derived_max
    }

    fn joined(&mut self, rule: RuleId, rows: &[JoinedRow]) {
        self.lines.push(format!("{rule:?} joined {}", rows.len()));
    }
}

/// A fixed time, and random numbers that count up from 0.
#[derive(Default)]
pub struct Still {
    drawn: Cell<u64>,
}

impl Ambient for Still {
    fn now_ns(&self) -> i64 {
        1_500_000_000
    }

    fn random(&self) -> u64 {
        self.drawn.replace(self.drawn.get() + 1)
    }

    fn param(&self, param: Param) -> Value<'_> {
        match param {
            Param::NodeIndex => Value::Int(2),
            _ => Value::Str("n1"),
        }
    }
}
