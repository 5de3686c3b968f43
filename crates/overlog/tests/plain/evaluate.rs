//! A minimal evaluator: derives rows layer by layer until nothing is new.

use std::collections::{BTreeMap, BTreeSet};

use super::program::{Atom, Function, Program, Rule, Term, node};

/// Columns in printed form; the first is the node of the row.
pub type Row = Vec<String>;
pub type State = BTreeMap<String, BTreeSet<Row>>;

/// A rule by number, with its variables.
pub type Derivation = (usize, Vec<String>);

fn value(term: Term, vars: &[Option<String>]) -> Option<String> {
    match term {
        Term::Var(var) => vars[var].clone(),
        Term::Node(number) => Some(node(number)),
    }
}

fn matches(atom: &Atom, row: &Row, vars: &mut [Option<String>]) -> bool {
    atom.terms.iter().zip(row).all(|(term, column)| match (value(*term, vars), term) {
        (Some(value), _) => value == *column,
        (None, Term::Var(var)) => {
            vars[*var] = Some(column.clone());
            true
        }
        (None, Term::Node(_)) => false,
    })
}

/// Every binding that satisfies a body.
fn bindings(rule: &Rule, state: &State) -> Vec<Vec<Option<String>>> {
    let none = BTreeSet::new();
    let rows = |atom: &Atom| state.get(&atom.relation).unwrap_or(&none);
    let mut found = vec![vec![None; 16]];
    for atom in &rule.body {
        let mut next = Vec::new();
        for vars in &found {
            for row in rows(atom) {
                let mut vars = vars.clone();
                if matches(atom, row, &mut vars) {
                    next.push(vars);
                }
            }
        }
        found = next;
    }
    found.retain(|vars| {
        let absent = rule
            .negated
            .as_ref()
            .is_none_or(|atom| !rows(atom).iter().any(|row| matches(atom, row, &mut vars.clone())));
        let differ = rule.different.is_none_or(|(a, b)| value(a, vars) != value(b, vars));
        absent && differ
    });
    found
}

fn head(rule: &Rule, vars: &[Option<String>]) -> Row {
    rule.head.terms.iter().map(|term| value(*term, vars).expect("bound")).collect()
}

/// The derivations of a rule in a state, each with the rows that it uses.
pub fn heads(rule: &Rule, state: &State) -> Vec<(Row, Vec<(String, Row)>)> {
    let used = |vars: &[Option<String>], atom: &Atom| {
        let row = atom.terms.iter().map(|term| value(*term, vars).expect("bound")).collect();
        (atom.relation.clone(), row)
    };
    let uses = |vars: &[Option<String>]| rule.body.iter().map(|atom| used(vars, atom)).collect();
    bindings(rule, state).iter().map(|vars| (head(rule, vars), uses(vars))).collect()
}

/// All derivations that hold in a state.
pub fn derivations(program: &Program, state: &State) -> BTreeSet<Derivation> {
    let rules = program.rules.iter().enumerate().filter(|(_, rule)| rule.aggregate.is_none());
    rules
        .flat_map(|(number, rule)| {
            let known = |vars: Vec<Option<String>>| vars.into_iter().flatten().collect();
            bindings(rule, state).into_iter().map(move |vars| (number, known(vars)))
        })
        .collect()
}

/// The state with these asserted rows; derivations that `supports` rejects do not count.
pub fn evaluate(
    program: &Program,
    asserted: &State,
    supports: &dyn Fn(&Derivation, &str, &Row) -> bool,
) -> State {
    let mut state = State::new();
    for layer in &program.layers {
        let of_layer = |rule: &&Rule| layer.iter().any(|(name, _)| *name == rule.head.relation);
        for (name, _) in layer {
            state.insert(name.clone(), asserted.get(name).cloned().unwrap_or_default());
        }
        for rule in program.rules.iter().filter(of_layer) {
            if let Some(function) = rule.aggregate {
                state.insert(rule.head.relation.clone(), aggregate(rule, function, &state));
            }
        }
        loop {
            let mut changed = false;
            for (number, rule) in program.rules.iter().enumerate() {
                if rule.aggregate.is_some() || !of_layer(&rule) {
                    continue;
                }
                for vars in bindings(rule, &state) {
                    let row = head(rule, &vars);
                    let derivation = (number, vars.into_iter().flatten().collect());
                    let name = &rule.head.relation;
                    if supports(&derivation, name, &row) {
                        changed |= state.entry(name.clone()).or_default().insert(row);
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }
    state
}

fn aggregate(rule: &Rule, function: Function, state: &State) -> BTreeSet<Row> {
    let mut groups: BTreeMap<Row, Vec<String>> = BTreeMap::new();
    for vars in bindings(rule, state) {
        let mut row = head(rule, &vars);
        let last = row.pop().expect("a column");
        groups.entry(row).or_default().push(last);
    }
    let row = |(mut row, values): (Row, Vec<String>)| {
        row.push(match function {
            Function::Min => values.into_iter().min().expect("not empty"),
            Function::Max => values.into_iter().max().expect("not empty"),
            Function::Count => values.len().to_string(),
        });
        row
    };
    groups.into_iter().map(row).collect()
}
