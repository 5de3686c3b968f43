//! Random plans over integers, run with and without [`crate::narrow`]: both engines hold the same
//! rows in the same order, and what the oracle says.

use std::fmt::Write;

use super::tests::Bench;
use super::*;
use tidemill_stdx::rng::Rng;

/// Four tables of three columns: p0 and p1 hold facts, rules fill p2 and p3.
const TABLES: &str = r#"
relation p0 "a" at 0 (any, any, any)
  table key(0, 1, 2) index(1) index(2) index(1, 2) ordered(1) ordered(1, 2)
relation p1 "b" at 0 (any, any, any)
  table key(0, 1, 2) index(1) index(2) index(1, 2) ordered(1) ordered(1, 2)
relation p2 "c" at 0 (any, any, any)
  table key(0, 1, 2) index(1) index(2) index(1, 2) ordered(1) ordered(1, 2)
relation p3 "d" at 0 (any, any, any)
  table key(0, 1, 2) index(1) index(2) index(1, 2) ordered(1) ordered(1, 2)
"#;

/// The column sets of the indexes.
const INDEXES: [&[usize]; 3] = [&[1], &[2], &[1, 2]];

#[derive(Clone)]
struct Atom {
    relation: u64,
    negated: bool,
    /// Numbers of registers; 0 is the location's.
    columns: [u64; 3],
}

/// A condition: a register, and another or a constant.
struct Filter {
    operator: &'static str,
    left: u64,
    right: Result<u64, i64>,
}

impl Filter {
    /// The text of its right operand.
    fn right(&self) -> String {
        self.right.map_or_else(|value| value.to_string(), |reg| format!("v{reg}"))
    }

    /// The bound of the column in `reg` that it is, where `is_known` says which registers are.
    fn bound(&self, reg: u64, is_known: impl Fn(u64) -> bool) -> Option<String> {
        let orders = ["<", "<=", ">", ">="];
        let at = orders.iter().position(|order| *order == self.operator)?;
        if self.left == reg && self.right.ok().is_none_or(&is_known) {
            return Some(format!("({} _ {})", self.operator, self.right()));
        }
        let is_turned = self.right == Ok(reg) && is_known(self.left);
        is_turned.then(|| format!("({} _ v{})", [">", ">=", "<", "<="][at], self.left))
    }
}

struct Rule {
    body: Vec<Atom>,
    filter: Option<Filter>,
    /// Registers, or constants.
    head: (u64, [Result<u64, i64>; 3]),
}

/// Writes strands of a rule, keeping in mind which registers are bound.
struct Writer<'r> {
    random: &'r mut Rng,
    bound: Vec<u64>,
    text: String,
}

impl Writer<'_> {
    /// A column that is bound must be equal, one that is not becomes so.
    fn column(&mut self, reg: u64) -> String {
        if self.bound.contains(&reg) {
            format!("=v{reg}")
        } else {
            self.bound.push(reg);
            format!("v{reg}")
        }
    }

    fn columns(&mut self, regs: &[u64; 3], except: &[usize]) -> String {
        let column =
            |at: usize| if except.contains(&at) { "_".to_owned() } else { self.column(regs[at]) };
        (0..3).map(column).collect::<Vec<_>>().join(", ")
    }

    /// A step that looks an atom up in one of the ways that the bound registers allow.
    fn lookup(&mut self, step: &str, at: usize, atom: &Atom, filter: Option<&Filter>) {
        let known = |column: &usize| self.bound.contains(&atom.columns[*column]);
        let mut ways = vec![("scan".to_owned(), vec![])];
        for (number, columns) in INDEXES.iter().enumerate() {
            if columns.iter().all(known) {
                ways.push((format!("index {number}"), columns.to_vec()));
            }
        }
        if (0..3).all(|column| known(&column)) {
            ways.push(("primary".to_owned(), vec![0, 1, 2]));
        }
        for (access, column, key) in [("ordered 0", 1, vec![]), ("ordered 1", 2, vec![1])] {
            let bound = filter
                .and_then(|it| it.bound(atom.columns[column], |reg| self.bound.contains(&reg)));
            if let Some(bound) = bound
                && !known(&column)
                && key.iter().all(known)
                && atom.columns[1] != atom.columns[2]
            {
                // Rarely possible, so it is likely then.
                (0..4).for_each(|_| ways.push((format!("{access} where {bound}"), key.clone())));
            }
        }
        let (access, key) = ways.swap_remove(self.random.below(ways.len() as u64) as usize);
        let values: Vec<String> = key.iter().map(|&c| format!("v{}", atom.columns[c])).collect();
        let columns = self.columns(&atom.columns, &key);
        let (relation, values) = (atom.relation, values.join(", "));
        let (access, bounds) = match access.split_once(" where ") {
            Some((access, bound)) => (access, format!(" where [{bound}]")),
            None => (&*access, String::new()),
        };
        let _ = writeln!(
            self.text,
            "      {step} p{relation} {access} [{values}]{bounds} atom {at} ({columns})"
        );
    }

    fn strand(&mut self, rule: &Rule, trigger: Option<usize>) {
        let positive = rule.body.iter().enumerate().filter(|(_, atom)| !atom.negated);
        for (at, atom) in positive.filter(|(at, _)| Some(*at) != trigger) {
            self.lookup("join", at, atom, rule.filter.as_ref());
        }
        if let Some(filter) = &rule.filter {
            let (operator, left, right) = (filter.operator, filter.left, filter.right());
            let _ = writeln!(self.text, "      filter ({operator} v{left} {right})");
        }
        for (at, atom) in rule.body.iter().enumerate().filter(|(_, atom)| atom.negated) {
            self.lookup("absent", at, atom, None);
        }
        let column = |column: &Result<u64, i64>| match column {
            Ok(reg) => format!("v{reg}"),
            Err(value) => value.to_string(),
        };
        let columns: Vec<String> = rule.head.1.iter().map(column).collect();
        let _ = writeln!(self.text, "      insert p{} ({})", rule.head.0, columns.join(", "));
    }
}

fn random_rule(random: &mut Rng, heads: u64) -> Rule {
    let reg = |random: &mut Rng| 1 + random.below(4);
    let atom = |random: &mut Rng, relations: u64| Atom {
        relation: random.below(relations),
        negated: false,
        columns: [0, reg(random), reg(random)],
    };
    let mut body: Vec<Atom> = (0..1 + random.below(3)).map(|_| atom(random, 2 + heads)).collect();
    let bound: Vec<u64> = body.iter().flat_map(|atom| atom.columns).collect();
    let one = |random: &mut Rng| bound[random.below(bound.len() as u64) as usize];
    if random.below(3) == 0 {
        let columns = [0, one(random), one(random)];
        body.push(Atom { relation: random.below(2), negated: true, columns });
    }
    let filter = (random.below(3) == 0).then(|| {
        let operator = ["==", "!=", "<", "<=", ">", ">="][random.below(6) as usize];
        let right = if random.below(2) == 0 { Ok(one(random)) } else { Err(2) };
        Filter { operator, left: one(random), right }
    });
    let head = |random: &mut Rng| match random.below(8) {
        0 => Err([3, 1 << 40][random.below(2) as usize]),
        _ => Ok(one(random)),
    };
    let head = (2 + random.below(heads), [Ok(0), head(random), head(random)]);
    Rule { body, filter, head }
}

fn write_rule(number: usize, rule: &Rule, random: &mut Rng) -> String {
    let body: Vec<String> = rule
        .body
        .iter()
        .map(|atom| format!("{}p{}", if atom.negated { "not " } else { "" }, atom.relation))
        .collect();
    let mut writer = Writer { random, bound: Vec::new(), text: String::new() };
    let name = format!("r{number}");
    let _ = writeln!(
        writer.text,
        "  view {name} maintained p{} from {}\n    scan {name} on scan p{0} () regs 5",
        rule.head.0,
        body.join(", ")
    );
    writer.strand(rule, None);
    for (at, atom) in rule.body.iter().enumerate() {
        writer.bound.clear();
        let columns = writer.columns(&atom.columns, &[]);
        let _ = writeln!(
            writer.text,
            "    delta {name} on delta p{} ({columns}) regs 5",
            atom.relation
        );
        writer.strand(rule, Some(at));
    }
    writer.bound.clear();
    let columns: Vec<String> = rule
        .head
        .1
        .iter()
        .map(|column| match column {
            Ok(reg) => writer.column(*reg),
            Err(value) => format!("={value}"),
        })
        .collect();
    let _ = writeln!(
        writer.text,
        "    check {name} on head p{} ({}) regs 5",
        rule.head.0,
        columns.join(", ")
    );
    writer.strand(rule, None);
    writer.text
}

/// A plan of one stratum that fills `heads` tables.
fn random_plan(random: &mut Rng, heads: u64) -> String {
    let rules: Vec<Rule> = (0..1 + random.below(4)).map(|_| random_rule(random, heads)).collect();
    let mut text = TABLES.to_owned();
    for number in 0..rules.len() {
        let _ = writeln!(text, "rule r{number} \"{number}\" at \"t:{number}:1\"");
    }
    let heads = if heads == 1 { "p2" } else { "p2, p3" };
    let _ = writeln!(text, "stratum heads({heads}) selected()");
    for (number, rule) in rules.iter().enumerate() {
        text += &write_rule(number, rule, random);
    }
    text
}

/// The rows of a table in the order of their insertion.
fn rows_of(bench: &Bench, relation: u32) -> Vec<Vec<String>> {
    let table = bench.database.table(RelationId(relation));
    let row = |row| (0..3).map(|column| table.value(row, column).to_string()).collect();
    table.rows(Access::Scan, &[], Visible::Live).map(row).collect()
}

#[test]
fn random_plans_run_alike_on_words_and_on_values() {
    let (mut on_words, mut reordered, mut stayed, mut bounded) = (0, 0, 0, 0);
    let seeds = if cfg!(miri) { 4 } else { 600 };
    for seed in 0..seeds {
        let mut random = Rng::new(seed);
        let text = random_plan(&mut random, 1 + seed % 3 / 2);
        bounded += text.matches(" where ").count();
        let (mut words, mut values) = (Bench::new(&text), Bench::new(&text));
        words.views.narrow_from = 0;
        values.views.narrow_from = usize::MAX;
        // In half of the runs, whatever can start from another atom does.
        if seed % 2 == 0 {
            for views in [&mut words.views, &mut values.views] {
                views.reorder_better = 0.0;
            }
        }
        let mut before = Contents::new();
        // Some runs hold wide integers, some several locations, some texts: all but the first
        // kind of run change how tables lie in memory on the way.
        let kind = random.below(4);
        for _ in 0..6 {
            for _ in 0..random.below(12) {
                let relation = random.below(2) as u32;
                let mut row = [0, random.below(5) as i64, random.below(5) as i64];
                match kind {
                    1 if random.below(4) == 0 => row[1] <<= 40,
                    2 => row[0] = random.below(2) as i64,
                    _ => {}
                }
                let text = [Value::Str("n"), Value::Int(row[1]), Value::Int(row[2])];
                let row = row.map(Value::Int);
                let row = if kind == 3 { &text } else { &row };
                let delete = random.below(4) == 0;
                for bench in [&mut words, &mut values] {
                    bench.change(relation, row, delete);
                }
            }
            let now = words.commit(&before);
            assert_eq!(now, values.commit(&before), "seed {seed}\n{text}");
            before = now;
            for relation in 0..4 {
                let (a, b) = (rows_of(&words, relation), rows_of(&values, relation));
                assert_eq!(a, b, "seed {seed}, p{relation}\n{text}");
            }
        }
        assert_eq!(values.views.ran_on_words, 0);
        on_words += words.views.ran_on_words;
        reordered += words.views.reordered;
        stayed += words.views.stayed;
    }
    if cfg!(miri) {
        return; // A few plans have not everything.
    }
    assert!(on_words > 1000, "only {on_words} batches ran on words");
    assert!(bounded > 150, "only {bounded} look-ups had bounds");
    assert!(reordered > 200, "only {reordered} deltas were reordered");
    assert!(stayed > 200, "only {stayed} rows stayed");
}
