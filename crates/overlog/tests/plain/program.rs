//! Random programs over a few node names, and changes of their tables.
//!
//! All values are node names, so that any column may be a location; a count is the only number.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use tidemill_stdx::rng::Rng;

pub const NODES: usize = 3;

/// A variable or the name of a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Term {
    Var(usize),
    Node(usize),
}

#[derive(Clone, Debug)]
pub struct Atom {
    pub relation: String,
    pub terms: Vec<Term>,
}

/// The aggregate in the last column of a head.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Function {
    Min,
    Max,
    Count,
}

#[derive(Clone, Debug)]
pub struct Rule {
    pub head: Atom,
    pub aggregate: Option<Function>,
    pub body: Vec<Atom>,
    pub negated: Option<Atom>,
    pub different: Option<(Term, Term)>,
}

#[derive(Clone, Debug)]
pub struct Program {
    /// Relations with their number of columns: stored ones, then the layers of views.
    pub layers: Vec<Vec<(String, usize)>>,
    pub rules: Vec<Rule>,
    /// The lifetime of rows of soft tables: this number of seconds, and a half.
    pub lifetimes: BTreeMap<String, u32>,
}

/// The locations of heads and bodies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// On one node.
    Local,
    /// Heads may be at other nodes than bodies.
    Nodes,
}

impl Program {
    pub fn random(random: &mut Rng, reach: Reach) -> Program {
        let mut layers = vec![vec![("e0".to_owned(), 2), ("e1".to_owned(), 3)]];
        let mut rules = Vec::new();
        for layer in 1..=random.range(1..=2) {
            let arity = |random: &mut Rng| random.range(2..=3) as usize;
            let heads: Vec<(String, usize)> = (0..random.range(1..=2))
                .map(|number| (format!("v{layer}{number}"), arity(random)))
                .collect();
            let lower: Vec<(String, usize)> = layers.iter().flatten().cloned().collect();
            for head in &heads {
                for number in 0..random.range(1..=3) {
                    // The first rule of a view reads lower layers only.
                    let mut from = lower.clone();
                    if number > 0 {
                        from.extend(heads.iter().cloned());
                        from.extend(heads.iter().cloned());
                    }
                    rules.push(rule(random, head, &from, &lower, reach));
                }
            }
            let mut next = heads;
            if random.chance(0.5) {
                let (of, arity) = random.pick(&lower).cloned().expect("stored tables");
                next.push((format!("g{layer}"), arity));
                rules.push(aggregate(random, format!("g{layer}"), of, arity));
            }
            layers.push(next);
        }
        Program { layers, rules, lifetimes: BTreeMap::new() }
    }

    pub fn relations(&self) -> impl Iterator<Item = &(String, usize)> {
        self.layers.iter().flatten()
    }
}

fn rule(
    random: &mut Rng,
    head: &(String, usize),
    from: &[(String, usize)],
    lower: &[(String, usize)],
    reach: Reach,
) -> Rule {
    let mut vars = vec![0];
    let atom = |random: &mut Rng, source: &(String, usize), vars: &mut Vec<usize>, new: bool| {
        let mut terms = vec![Term::Var(0)];
        for _ in 1..source.1 {
            terms.push(match random.below(if new { 6 } else { 4 }) {
                0 => Term::Node(random.below(NODES as u64) as usize),
                1..=3 => Term::Var(vars[random.below(vars.len() as u64) as usize]),
                _ => {
                    vars.push(vars.len());
                    Term::Var(vars.len() - 1)
                }
            });
        }
        Atom { relation: source.0.clone(), terms }
    };
    let pick = |random: &mut Rng, from: &[(String, usize)]| {
        random.pick(from).cloned().expect("something to pick from")
    };
    let mut body = Vec::new();
    for _ in 0..random.range(1..=2) {
        let source = pick(random, from);
        body.push(atom(random, &source, &mut vars, true));
    }
    let negated = random.chance(0.25).then(|| {
        let source = pick(random, lower);
        atom(random, &source, &mut vars, false)
    });
    let var = |random: &mut Rng, vars: &[usize]| {
        Term::Var(vars[random.below(vars.len() as u64) as usize])
    };
    let different = random.chance(0.2).then(|| (var(random, &vars), var(random, &vars)));
    let mut terms = vec![Term::Var(0)];
    if reach == Reach::Nodes && random.chance(0.5) {
        terms[0] = var(random, &vars);
    }
    for _ in 1..head.1 {
        terms.push(match random.below(6) {
            0 => Term::Node(random.below(NODES as u64) as usize),
            _ => var(random, &vars),
        });
    }
    let head = Atom { relation: head.0.clone(), terms };
    Rule { head, aggregate: None, body, negated, different }
}

fn aggregate(random: &mut Rng, name: String, of: String, arity: usize) -> Rule {
    let terms: Vec<Term> = (0..arity).map(Term::Var).collect();
    let head = Atom { relation: name, terms: terms.clone() };
    let function = [Function::Min, Function::Max, Function::Count];
    let function = random.pick(&function).copied();
    let body = vec![Atom { relation: of, terms }];
    Rule { head, aggregate: function, body, negated: None, different: None }
}

/// The name of a node as a value prints.
pub fn node(number: usize) -> String {
    format!("\"n{number}:1\"")
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Term::Var(var) => write!(f, "V{var}"),
            Term::Node(number) => f.write_str(&node(*number)),
        }
    }
}

impl fmt::Display for Atom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let terms: Vec<String> = self.terms.iter().map(Term::to_string).collect();
        write!(f, "{}(@{})", self.relation, terms.join(", "))
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut head = self.head.to_string();
        if let Some(function) = self.aggregate
            && let Some(last) = self.head.terms.last()
        {
            let function = match function {
                Function::Min => "a_MIN",
                Function::Max => "a_MAX",
                Function::Count => "a_COUNT",
            };
            head.truncate(head.len() - last.to_string().len() - 1);
            write!(head, "{function}<{last}>)")?;
        }
        let mut body: Vec<String> = self.body.iter().map(Atom::to_string).collect();
        body.extend(self.negated.iter().map(|atom| format!("notin {atom}")));
        body.extend(self.different.iter().map(|(a, b)| format!("{a} != {b}")));
        write!(f, "{head} :- {}.", body.join(", "))
    }
}

/// The source. In a turn that `go` starts, all staged inserts and deletes of a table are made.
impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, arity) in self.relations() {
            let keys: Vec<String> = (1..=*arity).map(|column| column.to_string()).collect();
            // The value of an aggregate is no part of its key.
            let part = if name.starts_with('g') { &keys[..arity - 1] } else { &keys[..] };
            let life = self.lifetimes.get(name).map(|life| format!("{life}.5"));
            let life = life.unwrap_or_else(|| "infinity".to_owned());
            writeln!(f, "materialize({name}, {life}, infinity, keys({})).", part.join(", "))?;
            if name.starts_with('g') {
                continue;
            }
            let columns: Vec<String> = (1..*arity).map(|column| format!("C{column}")).collect();
            let columns = columns.join(", ");
            for (staged, action) in [("put", ""), ("cut", "delete ")] {
                let keys = keys.join(", ");
                writeln!(f, "materialize({staged}_{name}, infinity, infinity, keys({keys})).")?;
                let staged = format!("{staged}_{name}(@N, {columns})");
                writeln!(f, "{action}{name}(@N, {columns}) :- go(@N), {staged}.")?;
                writeln!(f, "delete {staged} :- clear(@N), {staged}.")?;
            }
        }
        self.rules.iter().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}
