//! Random programs of views, and changes to the tables below them.
//!
//! Every generated program compiles and has a fixed point: variables are bound, values are of a
//! small domain, negation and aggregates read lower layers only.

use std::fmt;

use tidemill_stdx::rng::Rng;

/// Values of the stored tables lie below this.
const DOMAIN: u64 = 4;

const VARS: [&str; 4] = ["X", "Y", "Z", "W"];

/// A program and the changes to its tables.
#[derive(Clone, Debug)]
pub struct Case {
    /// `materialize` statements.
    tables: Vec<String>,
    rules: Vec<String>,
    /// Changes, by the commit in which they are made.
    pub commits: Vec<Vec<Change>>,
}

/// A change of a table; the columns are those after the location.
#[derive(Clone, Debug)]
pub enum Change {
    /// A row is inserted.
    Insert(String, Vec<i64>),
    /// The row with this key is deleted.
    Delete(String, Vec<i64>),
}

/// A table that rules may read.
#[derive(Clone, Debug)]
struct Source {
    name: String,
    /// Columns after the location.
    arity: usize,
    layer: usize,
    /// True if it may be changed: a stored table, or a view that may have asserted rows.
    stored: bool,
    /// True if rules of its own layer may read it.
    recursive: bool,
    /// True if its rows, or those that it is derived from, expire.
    soft: bool,
}

impl Case {
    /// A random case.
    pub fn random(random: &mut Rng) -> Case {
        let mut maker =
            Maker { random, tables: Vec::new(), rules: Vec::new(), sources: Vec::new() };
        maker.stored_tables();
        if maker.random.chance(0.25) {
            maker.shortest_paths();
        }
        if maker.random.chance(0.2) {
            maker.soft_table();
        }
        for layer in 1..=maker.random.range(1..=3) as usize {
            maker.layer(layer);
        }
        let Maker { tables, rules, sources, .. } = maker;
        let stored: Vec<Source> = sources.into_iter().filter(|source| source.stored).collect();
        let mut inserted = Vec::new();
        let commits = (0..random.range(2..=14))
            .map(|index| {
                let count = random.range(if index == 0 { 5..=50 } else { 1..=8 });
                (0..count).map(|_| change(random, &stored, &mut inserted)).collect()
            })
            .collect();
        Case { tables, rules, commits }
    }

    /// The same case with something left out, the greatest parts first.
    pub fn smaller(&self) -> Vec<Case> {
        let mut all = Vec::new();
        for index in (0..self.commits.len()).rev() {
            let mut case = self.clone();
            case.commits.remove(index);
            all.push(case);
        }
        for index in (0..self.rules.len()).rev() {
            let mut case = self.clone();
            case.rules.remove(index);
            all.push(case);
        }
        for (commit, changes) in self.commits.iter().enumerate() {
            for index in (0..changes.len()).rev() {
                let mut case = self.clone();
                case.commits[commit].remove(index);
                all.push(case);
            }
        }
        for index in 1..self.commits.len() {
            let mut case = self.clone();
            let joined = case.commits.remove(index);
            case.commits[index - 1].extend(joined);
            all.push(case);
        }
        for index in (0..self.tables.len()).rev() {
            let mut case = self.clone();
            case.tables.remove(index);
            all.push(case);
        }
        all
    }
}

/// The source, with the changes as comments.
impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.tables.iter().chain(&self.rules);
        lines.into_iter().try_for_each(|line| writeln!(f, "{line}"))?;
        for changes in &self.commits {
            writeln!(f, "// commit")?;
            for change in changes {
                match change {
                    Change::Insert(table, row) => writeln!(f, "//   + {table} {row:?}")?,
                    Change::Delete(table, row) => writeln!(f, "//   - {table} {row:?}")?,
                }
            }
        }
        Ok(())
    }
}

/// A change; `inserted` has the inserted rows, which may be deleted.
fn change(random: &mut Rng, stored: &[Source], inserted: &mut Vec<(String, Vec<i64>)>) -> Change {
    if random.chance(0.35)
        && let Some((name, row)) = random.pick(inserted).cloned()
    {
        return Change::Delete(name, row);
    }
    let source = random.pick(stored).expect("every program has a stored table");
    let row: Vec<i64> = (0..source.arity).map(|_| random.below(DOMAIN) as i64).collect();
    // A derived row that a change deletes stays deleted until it is derived again, which the oracle
    // does not model.
    if source.layer == 0 {
        inserted.push((source.name.clone(), row.clone()));
    }
    Change::Insert(source.name.clone(), row)
}

struct Maker<'r> {
    random: &'r mut Rng,
    tables: Vec<String>,
    rules: Vec<String>,
    sources: Vec<Source>,
}

impl Maker<'_> {
    fn chance(&mut self, probability: f64) -> bool {
        self.random.chance(probability)
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        self.random.pick(from).expect("something to pick from")
    }

    fn materialize(&mut self, name: &str, size: &str, key: impl IntoIterator<Item = usize>) {
        let key: Vec<String> = key.into_iter().map(|column| column.to_string()).collect();
        let key = key.join(", ");
        self.tables.push(format!("materialize({name}, infinity, {size}, keys({key}))."));
    }

    fn stored_tables(&mut self) {
        for index in 0..self.random.range(2..=3) {
            let name = format!("e{index}");
            let arity = *self.pick(&[1, 2, 2, 2, 3]);
            match self.random.below(5) {
                0 => self.materialize(&name, "infinity", [1, 2]),
                1 => self.materialize(&name, "5", 1..=arity + 1),
                _ => self.materialize(&name, "infinity", 1..=arity + 1),
            }
            self.sources.push(Source {
                name,
                arity,
                layer: 0,
                stored: true,
                recursive: false,
                soft: false,
            });
        }
    }

    /// A table whose rows live for three commits.
    fn soft_table(&mut self) {
        self.tables.push("materialize(soft, 3, infinity, keys(1, 2, 3)).".to_owned());
        self.sources.push(Source {
            name: "soft".to_owned(),
            arity: 2,
            layer: 0,
            stored: true,
            recursive: false,
            soft: true,
        });
    }

    /// A cycle of rules through MIN.
    fn shortest_paths(&mut self) {
        self.materialize("cost", "infinity", 1..=3);
        self.materialize("path", "infinity", 1..=4);
        self.materialize("best", "infinity", 1..=3);
        self.rules.extend(
            [
                "path(@N, X, Y, C + 1) :- cost(@N, X, Y, C).",
                "path(@N, X, Z, C + D + 1) :- cost(@N, X, Y, C), best(@N, Y, Z, D), C + D < 30.",
                "best(@N, X, Y, a_MIN<C>) :- path(@N, X, Y, C).",
            ]
            .map(str::to_owned),
        );
        let source = |name: &str, layer, stored| Source {
            name: name.to_owned(),
            arity: 3,
            layer,
            stored,
            recursive: false,
            soft: false,
        };
        self.sources.push(source("cost", 0, true));
        self.sources.push(source("best", 0, false));
    }

    /// One or two views that may read each other.
    fn layer(&mut self, layer: usize) {
        let first = self.sources.len();
        let mut kinds = Vec::new();
        for index in 0..self.random.range(1..=2) {
            let name = format!("v{layer}{index}");
            let arity = *self.pick(&[1, 2, 2, 2, 3]);
            let kind = self.random.below(10);
            kinds.push((name.clone(), arity, kind));
            if kind >= 3 {
                self.materialize(&name, "infinity", 1..=arity + 1);
                let stored = self.chance(0.2);
                self.sources.push(Source {
                    name,
                    arity,
                    layer,
                    stored,
                    recursive: true,
                    soft: false,
                });
            }
        }
        let end = self.sources.len();
        for (name, arity, kind) in kinds {
            match kind {
                0 | 1 => self.aggregate(&name, first, layer),
                2 => self.keyed(&name, arity, first),
                _ => {
                    for _ in 0..self.random.range(1..=3) {
                        let body = self.body(end, first);
                        self.rule(&name, arity, body);
                    }
                }
            }
        }
    }

    /// A view with a key that several derivations share; nothing reads it.
    fn keyed(&mut self, name: &str, arity: usize, lower: usize) {
        self.materialize(name, "infinity", 1..=arity);
        // Rows of soft state displace derivations, which the oracle does not model.
        let all = self.sources.clone();
        self.sources.truncate(lower);
        self.sources.retain(|source| !source.soft);
        for _ in 0..self.random.range(1..=3) {
            let count = self.sources.len();
            let body = self.body(count, count);
            self.rule(name, arity, body);
        }
        self.sources = all;
    }

    fn rule(&mut self, head: &str, arity: usize, body: Body) {
        let columns: Vec<String> = (0..arity).map(|_| self.head_column(&body)).collect();
        let terms = body.terms.join(", ");
        self.rules.push(format!("{head}(@N, {}) :- {terms}.", columns.join(", ")));
    }

    /// A view of one value per group, over lower layers.
    fn aggregate(&mut self, name: &str, lower: usize, layer: usize) {
        let body = self.body(lower, lower);
        let groups = self.random.range(0..=2) as usize;
        let (function, readable) = *self.pick(&[
            ("a_MIN", true),
            ("a_MAX", true),
            ("a_COUNT", true),
            ("a_SUM", true),
            ("a_COUNTDISTINCT", true),
            ("a_AVG", false),
            ("a_MKSET", false),
        ]);
        let of = match function {
            "a_COUNT" if self.chance(0.5) => "*".to_owned(),
            _ => self.pick(&body.vars).clone(),
        };
        let mut columns = vec!["@N".to_owned()];
        columns.extend((0..groups).map(|_| self.head_column(&body)));
        columns.push(format!("{function}<{of}>"));
        // By its group, or by the whole row, which is equivalent.
        let key = if self.chance(0.5) { 1..=groups + 1 } else { 1..=groups + 2 };
        self.materialize(name, "infinity", key);
        self.rules.push(format!("{name}({}) :- {}.", columns.join(", "), body.terms.join(", ")));
        if readable {
            let name = name.to_owned();
            let arity = groups + 1;
            self.sources.push(Source {
                name,
                arity,
                layer,
                stored: false,
                recursive: false,
                soft: false,
            });
        }
    }

    fn head_column(&mut self, body: &Body) -> String {
        let var = self.pick(&body.vars).clone();
        match self.random.below(10) {
            0 => self.random.below(DOMAIN).to_string(),
            1 => format!("({var} + 1) % {DOMAIN}"),
            2 => {
                let other = self.pick(&body.vars).clone();
                format!("({var} + {other}) % {DOMAIN}")
            }
            _ => var,
        }
    }

    /// Terms over the sources before `end`; negated ones over those before `lower`.
    fn body(&mut self, end: usize, lower: usize) -> Body {
        let mut body = Body::default();
        let positive: Vec<Source> = self.sources[..end].to_vec();
        // A rule that reads only its own head derives nothing, so the first atom is of a lower
        // layer.
        let grounded: Vec<Source> = self.sources[..lower].to_vec();
        let count = *self.pick(&[1, 1, 2, 2, 2, 3]);
        for index in 0..count {
            let from = if index == 0 && self.chance(0.8) { &grounded } else { &positive };
            let recursive: Vec<Source> =
                from.iter().filter(|source| source.recursive).cloned().collect();
            let source = if recursive.is_empty() || self.chance(0.5) {
                self.pick(from).clone()
            } else {
                self.pick(&recursive).clone()
            };
            self.atom(&source, &mut body);
        }
        if body.vars.is_empty() {
            body.terms.push("X := 1".to_owned());
            body.vars.push("X".to_owned());
        }
        if self.chance(0.3) {
            self.negation(&grounded, &mut body);
        }
        if self.chance(0.2) {
            self.aggregate_term(&grounded, &mut body);
        }
        if self.chance(0.3) {
            let (a, b) = (self.pick(&body.vars).clone(), self.pick(&body.vars).clone());
            let condition = match self.random.below(8) {
                4 => format!("{a} == {b}"),
                5 => format!("{a} == {b} + 1"),
                6 => format!("{} - {a} == 3 - {b}", self.pick(&body.vars)),
                7 => format!("{} == {a}", self.random.below(DOMAIN)),
                0 => format!("{a} <= {b}"),
                1 => format!("{a} + 1 != {b}"),
                2 => format!("{a} + {b} < {DOMAIN}"),
                _ => format!("{a} != {}", self.random.below(DOMAIN)),
            };
            body.terms.push(condition);
        }
        if self.chance(0.2) {
            let var = self.pick(&body.vars).clone();
            body.terms.push(format!("U := ({var} * 2) % {DOMAIN}"));
            body.vars.push("U".to_owned());
        }
        body
    }

    fn atom(&mut self, source: &Source, body: &mut Body) {
        let mut columns = vec!["@N".to_owned()];
        let mut new = Vec::new();
        for _ in 0..source.arity {
            columns.push(match self.random.below(12) {
                0 => "_".to_owned(),
                1 => self.random.below(DOMAIN).to_string(),
                2 if !body.vars.is_empty() => {
                    format!("({} + 1) % {DOMAIN}", self.pick(&body.vars))
                }
                _ => {
                    // Most bodies are chains.
                    let near =
                        [body.terms.len(), body.terms.len() + 1][self.random.below(2) as usize];
                    let var = match self.random.below(4) {
                        0 => self.pick(&VARS),
                        _ => VARS[near % VARS.len()],
                    };
                    let var = var.to_owned();
                    if !body.vars.contains(&var) && !new.contains(&var) {
                        new.push(var.clone());
                    }
                    var
                }
            });
        }
        body.vars.append(&mut new);
        body.terms.push(format!("{}({})", source.name, columns.join(", ")));
    }

    fn negation(&mut self, from: &[Source], body: &mut Body) {
        let source = self.pick(from).clone();
        let columns: Vec<String> = (0..source.arity)
            .map(|_| match self.random.below(6) {
                0 => "_".to_owned(),
                1 => self.random.below(DOMAIN).to_string(),
                2 => format!("({} + 1) % {DOMAIN}", self.pick(&body.vars)),
                _ => self.pick(&body.vars).clone(),
            })
            .collect();
        body.terms.push(format!("notin {}(@N, {})", source.name, columns.join(", ")));
    }

    /// `a_F((G), (R), p(...))`.
    fn aggregate_term(&mut self, from: &[Source], body: &mut Body) {
        let source = self.pick(from).clone();
        let group = self.pick(&body.vars).clone();
        let function = self.pick(&["a_MIN", "a_MAX", "a_COUNT", "a_SUM"]).to_string();
        let mut columns = vec!["_".to_owned(); source.arity];
        let at = self.random.below(source.arity as u64) as usize;
        let input = self.random.below(source.arity as u64) as usize;
        columns[input] = "R".to_owned();
        let grouped = at != input;
        if grouped {
            columns[at] = group.clone();
        }
        let group = if grouped { group } else { String::new() };
        let columns = columns.join(", ");
        body.terms.push(format!("{function}(({group}), (R), {}(@N, {columns}))", source.name));
        body.vars.push("R".to_owned());
    }
}

/// A body under construction.
#[derive(Clone, Debug, Default)]
struct Body {
    terms: Vec<String>,
    /// Variables that are bound.
    vars: Vec<String>,
}
