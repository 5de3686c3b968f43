//! Mutants: programs with one mistake, which tests should find.
//!
//! A mutant is a program in which one rule lacks a term, has a reversed comparison or another
//! bound, has two columns swapped, or is missing. Rules that state properties (those of
//! `violation`, `unsettled`, `history`) are not mutated: they are part of the test.

use std::fmt;

use tidemill_diag::Span;

use crate::ast::{
    Arg, BinaryOp, Expr, ExprKind, Functor, Program, Range, Rule, Source, Statement, Term,
};
use crate::check::rule::name_of;

/// The relations that properties derive.
const PROPERTIES: [&str; 3] = ["violation", "unsettled", "history"];

/// A change of one rule.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutant {
    /// The rule, by its label or one made from its position.
    pub rule: String,
    /// The place of the rule.
    pub span: Span,
    /// The difference.
    pub change: Change,
    /// The position of the rule among all.
    position: usize,
    /// The changed rule; `None` if it is removed.
    instead: Option<Rule>,
}

/// The difference of a mutant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// The rule is removed.
    Rule,
    /// A term is removed.
    Dropped(String),
    /// A term is replaced.
    Replaced(String, String),
    /// The head is replaced.
    Head(String, String),
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Rule => f.write_str("without the rule"),
            Change::Dropped(term) => write!(f, "without {term}"),
            Change::Replaced(term, other) => write!(f, "{other} instead of {term}"),
            Change::Head(head, other) => write!(f, "head {other} instead of {head}"),
        }
    }
}

impl Mutant {
    /// Applies the mutation to a program.
    pub fn apply(&self, program: &mut Program) {
        let mut position = 0;
        change(&mut program.statements, self, &mut position);
    }
}

fn change(statements: &mut Vec<Statement>, mutant: &Mutant, position: &mut usize) {
    let mut at = 0;
    while at < statements.len() {
        match &mut statements[at] {
            Statement::Namespace(inner) => change(&mut inner.statements, mutant, position),
            Statement::Rule(rule) => {
                *position += 1;
                if *position == mutant.position + 1 {
                    match &mutant.instead {
                        Some(instead) => *rule = instead.clone(),
                        None => drop(statements.remove(at)),
                    }
                    return;
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// All mutants of a program, in the order of its rules. Some do not compile: a variable may have no
/// value any more.
pub fn mutants(program: &Program) -> Vec<Mutant> {
    let rules: Vec<&Rule> = program
        .flat()
        .filter_map(|it| if let Statement::Rule(rule) = it { Some(rule) } else { None })
        .collect();
    let mut all = Vec::new();
    for (position, rule) in rules.iter().enumerate() {
        if PROPERTIES.contains(&rule.head.name.resolved.as_str()) {
            continue;
        }
        let name = name_of(rule, position);
        let mutant = |change, instead| {
            let (rule, span) = (name.clone(), rule.span);
            Mutant { rule, span, change, position, instead }
        };
        all.extend(of_rule(rule).into_iter().map(|(change, instead)| mutant(change, instead)));
    }
    all
}

/// The changes of a rule, each with the changed rule.
fn of_rule(rule: &Rule) -> Vec<(Change, Option<Rule>)> {
    let mut all = vec![(Change::Rule, None)];
    for at in 0..rule.body.len() {
        if rule.body.len() > 1 {
            let mut less = rule.clone();
            let term = less.body.remove(at);
            all.push((Change::Dropped(Source(&term).to_string()), Some(less)));
        }
        for other in others(&rule.body[at]) {
            let (term, text) = (Source(&rule.body[at]).to_string(), Source(&other).to_string());
            let mut instead = rule.clone();
            instead.body[at] = other;
            all.push((Change::Replaced(term, text), Some(instead)));
        }
    }
    for head in swapped(&rule.head) {
        let (own, other) = (Source(&rule.head).to_string(), Source(&head).to_string());
        let instead = Rule { head, ..rule.clone() };
        all.push((Change::Head(own, other), Some(instead)));
    }
    all
}

/// The mutations of a term: another comparison, or two columns swapped.
fn others(term: &Term) -> Vec<Term> {
    match term {
        Term::Predicate(it) => swapped(&it.functor)
            .into_iter()
            .map(|functor| {
                let mut other = it.clone();
                other.functor = functor;
                Term::Predicate(other)
            })
            .collect(),
        Term::Condition(it) => flipped(it).into_iter().map(Term::Condition).collect(),
        Term::Assign(_) | Term::AggView(_) => Vec::new(),
    }
}

/// Copies with two neighbouring variables swapped; locations stay.
fn swapped(functor: &Functor) -> Vec<Functor> {
    let location = functor.location.unwrap_or(usize::MAX);
    let variable = |at: usize| match &functor.args.get(at)? {
        Arg::Expr(it) if at != location => it.as_var(),
        _ => None,
    };
    let pairs = (1..functor.args.len())
        .filter(|&at| variable(at - 1).zip(variable(at)).is_some_and(|(one, other)| one != other));
    pairs
        .map(|at| {
            let mut other = functor.clone();
            other.args.swap(at - 1, at);
            other
        })
        .collect()
}

/// The condition with one of its comparisons flipped, for each of these.
fn flipped(expr: &Expr) -> Vec<Expr> {
    let with = |kind| Expr { kind, span: expr.span };
    match &expr.kind {
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or), a, b) => {
            let left = flipped(a).into_iter().map(|it| (it, (**b).clone()));
            let right = flipped(b).into_iter().map(|it| ((**a).clone(), it));
            let sides = left.chain(right);
            sides.map(|(a, b)| with(ExprKind::Binary(*op, Box::new(a), Box::new(b)))).collect()
        }
        ExprKind::Binary(op, a, b) => {
            let other = match op {
                BinaryOp::Eq => BinaryOp::Ne,
                BinaryOp::Ne => BinaryOp::Eq,
                BinaryOp::Lt => BinaryOp::Le,
                BinaryOp::Le => BinaryOp::Lt,
                BinaryOp::Gt => BinaryOp::Ge,
                BinaryOp::Ge => BinaryOp::Gt,
                _ => return Vec::new(),
            };
            vec![with(ExprKind::Binary(other, a.clone(), b.clone()))]
        }
        ExprKind::Unary(op, inner) => flipped(inner)
            .into_iter()
            .map(|inner| with(ExprKind::Unary(*op, Box::new(inner))))
            .collect(),
        ExprKind::In(value, range) => {
            let ends = [(true, false), (false, true)].map(|(low, high)| Range {
                low_closed: range.low_closed != low,
                high_closed: range.high_closed != high,
                ..(**range).clone()
            });
            ends.map(|it| with(ExprKind::In(value.clone(), Box::new(it)))).to_vec()
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use tidemill_diag::Sources;

    use super::*;
    use crate::parse::parse_text;
    use crate::pre::{self, MemoryFiles};

    fn parsed(text: &str) -> Program {
        let (files, options) = (MemoryFiles::default(), pre::Options::default());
        parse_text("a.olg", text, &options, &files, &mut Sources::new()).0
    }

    #[test]
    fn each_place_is_wrong_once() {
        let text = "namespace a {\n\
                    r1 p(@X, Y, Z) :- q(@X, Y, Z), Y < Z || Y == 3, Y in (1, Z].\n\
                    }\n\
                    r2 seen(@X, Y) :- a::p(@X, Y, _).\n\
                    v1 violation(@X, Y) :- seen(@X, Y), Y > 7.\n";
        let program = parsed(text);
        let all = mutants(&program);
        let shown: Vec<String> =
            all.iter().map(|it| format!("{}: {}", it.rule, it.change)).collect();
        let expected = [
            "a::r1: without the rule",
            "a::r1: without q(@X, Y, Z)",
            "a::r1: q(@X, Z, Y) instead of q(@X, Y, Z)",
            "a::r1: without Y < Z || Y == 3",
            "a::r1: Y <= Z || Y == 3 instead of Y < Z || Y == 3",
            "a::r1: Y < Z || Y != 3 instead of Y < Z || Y == 3",
            "a::r1: without Y in (1, Z]",
            "a::r1: Y in [1, Z] instead of Y in (1, Z]",
            "a::r1: Y in (1, Z) instead of Y in (1, Z]",
            "a::r1: head a::p(@X, Z, Y) instead of a::p(@X, Y, Z)",
            "r2: without the rule",
        ];
        let shown: Vec<String> = shown.into_iter().map(|it| it.replace("a::q(", "q(")).collect();
        assert_eq!(shown, expected);
        // Each is one change of the program.
        let mut trees: Vec<String> = all
            .iter()
            .map(|mutant| {
                let mut changed = program.clone();
                mutant.apply(&mut changed);
                changed.to_string()
            })
            .collect();
        trees.push(program.to_string());
        trees.sort();
        trees.dedup();
        assert_eq!(trees.len(), expected.len() + 1);
    }
}
