//! Rules at `@SIM`: properties of all nodes of a simulation together.
//!
//! ```text
//! g1 violation(@SIM, T) :- leader(@X, T, A), leader(@Y, T, B), A != B.
//! ```
//! becomes a rule of a program of its own, whose one node has the rows of all nodes, each with the
//! node that holds it and the place of that one node as columns of their own:
//!
//! ```text
//! g1 violation#g1(@SIM, T) :- leader(X, T, A, _, @SIM), leader(Y, T, B, _, @SIM), A != B.
//! ```
//! So they are views like all others, and their cost is in proportion to the changes. Each rule has
//! a table of its own, as a view does not record which rule has derived a row.

use tidemill_diag::{Diagnostic, Sources, has_errors};
use tidemill_stdx::sorted::SortedSet;

use crate::ast::{Arg, Expr, ExprKind, Functor, Materialize, Name, Program, Rule};
use crate::ast::{Statement, Term};
use crate::check::rule::unlabelled;
use crate::check::symbols::{Symbol, Symbols};
use crate::node::Stages;
use crate::options::Options;
use crate::program::{Compiled, Global, GlobalHead, GlobalRead};

/// The location that means all nodes together.
pub const SIM: &str = "SIM";

/// The relations that rules at `@SIM` may derive.
const HEADS: [&str; 3] = ["violation", "unsettled", "history"];

/// Compiles a program as [`crate::compile`] does, which has no rules at `@SIM`.
pub(crate) type CompilePart =
    fn(&Program, &Sources, &Options) -> (Option<Compiled>, Vec<Diagnostic>);

/// A program without its rules at `@SIM`, and those.
pub(crate) struct Split {
    /// The program of the nodes.
    pub local: Program,
    rules: Vec<Rule>,
    /// The watched heads.
    watched: Vec<(String, Stages)>,
}

/// Splits the rules at `@SIM` from a program; `None` if it has none.
pub(crate) fn split(program: &Program) -> Option<Split> {
    let is_global = |statement: &Statement| as_global(statement).is_some();
    if !program.flat().any(is_global) {
        return None;
    }
    let mut local = program.clone();
    label(&mut local.statements, &mut 0);
    let rules: Vec<Rule> = local.flat().filter_map(as_global).cloned().collect();
    local.statements = without(local.statements, &is_global);
    let watched: Vec<(String, Stages)> = local.flat().filter_map(watch_of_head).collect();
    // The program of the nodes does not have heads that only rules at `@SIM` derive.
    let known: SortedSet<String> = local.flat().filter_map(derived).map(str::to_owned).collect();
    let is_unknown = |statement: &Statement| {
        watch_of_head(statement).is_some_and(|(name, _)| !known.contains(&name))
    };
    local.statements = without(local.statements, &is_unknown);
    Some(Split { local, rules, watched })
}

/// The rule, if its head is at `@SIM`.
fn as_global(statement: &Statement) -> Option<&Rule> {
    let Statement::Rule(rule) = statement else { return None };
    let place = rule.head.args.get(rule.head.location?)?.as_expr()?;
    (place.as_var() == Some(SIM)).then_some(rule)
}

/// The relation that a statement declares or derives.
fn derived(statement: &Statement) -> Option<&str> {
    match statement {
        Statement::Rule(rule) => Some(&rule.head.name.resolved),
        Statement::Fact(fact) => Some(&fact.tuple.name.resolved),
        Statement::Materialize(it) => Some(&it.name.resolved),
        _ => None,
    }
}

fn watch_of_head(statement: &Statement) -> Option<(String, Stages)> {
    let (name, stages) = match statement {
        Statement::Watch(it) => (&it.name.resolved, Stages::ALL),
        Statement::WatchMod(it) => (&it.name.resolved, Stages::parse(&it.modes.text).ok()?),
        _ => return None,
    };
    HEADS.contains(&name.as_str()).then(|| (name.clone(), stages))
}

/// Gives rules without a label the one that they have by their number among all rules.
fn label(statements: &mut [Statement], position: &mut usize) {
    for statement in statements {
        match statement {
            Statement::Namespace(inner) => label(&mut inner.statements, position),
            Statement::Rule(rule) => {
                let resolved = unlabelled(*position);
                let written = resolved.clone();
                rule.label.get_or_insert(Name { written, resolved, span: rule.head.span });
                *position += 1;
            }
            _ => {}
        }
    }
}

fn without(statements: Vec<Statement>, is_out: &impl Fn(&Statement) -> bool) -> Vec<Statement> {
    let kept = statements.into_iter().filter(|statement| !is_out(statement));
    kept.map(|statement| match statement {
        Statement::Namespace(mut inner) => {
            inner.statements = without(inner.statements, is_out);
            Statement::Namespace(inner)
        }
        other => other,
    })
    .collect()
}

impl Split {
    /// Compiles the rules at `@SIM`; `symbols` are those of the nodes' program, and `compiled` is
    /// the compiled one.
    pub(crate) fn compile(
        &self,
        symbols: &Symbols<'_>,
        compiled: Option<&Compiled>,
        sources: &Sources,
        compile: CompilePart,
    ) -> (Option<Global>, Vec<Diagnostic>) {
        let mut found = Vec::new();
        let rules: Vec<Rule> =
            self.rules.iter().filter_map(|rule| rewritten(rule, symbols, &mut found)).collect();
        let mut read = SortedSet::new();
        for rule in &rules {
            read.extend(
                rule.body.iter().filter_map(Term::functor).map(|it| it.name.resolved.clone()),
            );
        }
        let tables = read.iter().filter_map(|name| table(symbols.get(name)?));
        let heads = rules.iter().map(|rule| declaration(&rule.head.name, Vec::new()));
        let mut statements: Vec<Statement> = tables.chain(heads).collect();
        statements.extend(rules.into_iter().map(Statement::Rule));
        let program = Program {
            files: self.local.files.clone(),
            statements,
            macro_uses: self.local.macro_uses.clone(),
        };
        let (global, more) = compile(&program, sources, &Options::default());
        found.extend(more);
        let (Some(mut global), Some(compiled), false) = (global, compiled, has_errors(&found))
        else {
            return (None, found);
        };
        // Its tuples stay where they are.
        global.wire.clear();
        let read = read.iter().filter_map(|name| {
            Some(GlobalRead { here: compiled.plan.find(name)?, there: global.plan.find(name)? })
        });
        let reads = read.collect();
        let heads = self.rules.iter().filter_map(|rule| {
            let (name, label) = (&rule.head.name.resolved, &rule.label.as_ref()?.resolved);
            let relation = global.plan.find(&table_of(name, label))?;
            let watched = self.watched.iter().filter(|(watched, _)| watched == name);
            let stages = watched.fold(Stages::default(), |all, (_, more)| all.union(*more));
            let names = rule.body.iter().filter_map(Term::functor).map(|it| &it.name.resolved);
            let reads = names.filter_map(|name| compiled.plan.find(name)).collect();
            let (name, rule) = (name.clone(), label.clone());
            Some(GlobalHead { relation, name, rule, reads, stages })
        });
        let heads = heads.collect();
        (Some(Global { compiled: global, reads, heads }), found)
    }
}

/// The separator of the names of head and rule in the name of the rule's table.
const DIVIDER: char = '#';

/// The head whose rows are in a table of these rules.
pub fn head_of(table: &str) -> &str {
    table.split_once(DIVIDER).map_or(table, |(head, _)| head)
}

/// The name of the table of a rule.
fn table_of(head: &str, label: &str) -> String {
    format!("{head}{DIVIDER}{label}")
}

/// A table that nodes have, in the program of the one node: each row there once, with its node.
fn table(symbol: &Symbol<'_>) -> Option<Statement> {
    let declared = symbol.declared?;
    let columns = (1..=symbol.columns() as u32 + 2).collect();
    Some(declaration(&declared.name, columns))
}

fn declaration(name: &Name, columns: Vec<u32>) -> Statement {
    Statement::Materialize(Materialize::endless(name.clone(), columns))
}

/// The rule over the rows of all nodes; `None` if it is not allowed at `@SIM`.
fn rewritten(rule: &Rule, symbols: &Symbols<'_>, found: &mut Vec<Diagnostic>) -> Option<Rule> {
    let before = found.len();
    let head = &rule.head.name;
    if !HEADS.contains(&head.resolved.as_str()) {
        let message = format!("`{}` cannot be at `@{SIM}`", head.written);
        let help = format!("rules at `@{SIM}` derive `violation`, `unsettled` and `history` alone");
        found.push(Diagnostic::error("sim-head", head.span, message).help(help));
    } else if rule.delete {
        let message = format!("a rule at `@{SIM}` deletes nothing");
        found
            .push(Diagnostic::error("sim-head", rule.head.span, message).help(
                "a row is there as long as the body holds: say in the body when it does not",
            ));
    }
    let mut rule = rule.clone();
    for term in &mut rule.body {
        let Some(functor) = term.functor_mut() else { continue };
        if check(functor, symbols, found) {
            everywhere(functor, symbols);
        }
    }
    let label = rule.label.as_ref()?;
    rule.head.name.resolved = table_of(&rule.head.name.resolved, &label.resolved);
    (found.len() == before).then_some(rule)
}

/// Whether nodes have a table that a term of a body may read.
fn check(functor: &Functor, symbols: &Symbols<'_>, found: &mut Vec<Diagnostic>) -> bool {
    let (name, count) = (&functor.name, functor.args.len());
    let symbol = symbols.get(&name.resolved);
    let error = |code, message: String| Diagnostic::error(code, functor.span, message);
    let wrong = match symbol {
        Some(symbol) if symbol.system.is_some() => {
            let message =
                format!("`{}` is the system's: rules at `@{SIM}` cannot read it", name.written);
            Some(error("sim-table", message).help("keep what they need of it in a table"))
        }
        Some(symbol) if symbol.is_table() => {
            symbol.arity.filter(|(arity, _)| *arity != count).map(|(arity, place)| {
                let message = format!("`{}` has {arity} columns, not {count}", name.written);
                error("arity", message).label(place, "as here")
            })
        }
        _ => {
            let message = format!("`{}` is no table: rules at `@{SIM}` join tables", name.written);
            let help = format!("materialize `{}`, or keep what it brings in a table", name.written);
            Some(error("sim-table", message).help(help))
        }
    };
    let is_right = wrong.is_none();
    found.extend(wrong);
    is_right
}

/// Makes a predicate about a node's table one about the rows of all nodes.
fn everywhere(functor: &mut Functor, symbols: &Symbols<'_>) {
    let span = functor.span;
    let column = symbols.location_of(functor);
    let is_moving = symbols.get(&functor.name.resolved).is_some_and(Symbol::is_moving);
    // If rows are located at the address in a column, the node is the value of that column.
    let node = match functor.args.get(column) {
        Some(Arg::Expr(place)) if is_moving => place.clone(),
        _ => Expr { kind: ExprKind::Fresh, span },
    };
    let sim = Expr { kind: ExprKind::Var(SIM.to_owned()), span };
    functor.args.extend([Arg::Expr(node), Arg::Expr(sim)]);
    functor.location = Some(functor.args.len() - 1);
}

#[cfg(test)]
mod tests {
    use crate::compile::testing::{compiled, errors};

    const LEADERS: &str = "materialize(leader, infinity, infinity, keys(1, 2)).\n\
                           r1 leader(@N, T, A) :- elected(@N, T, A).\n";

    #[test]
    fn nodes_do_not_know_rules_at_sim() {
        let text = format!(
            "{LEADERS}violation(@SIM, T) :- leader(@X, T, A), leader(@Y, T, B), A != B.\n\
             r3 other(@N) :- leader(@N, _, _).\nwatch(violation)."
        );
        let all = compiled(&text);
        let names = |rules: &[tidemill_relation::plan::Rule]| {
            rules.iter().map(|rule| rule.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&all.plan.rules), ["r1", "r3"]);
        assert!(all.plan.find("violation").is_none() && all.watches.is_empty());
        let global = all.global.expect("a rule at SIM");
        assert_eq!(names(&global.compiled.plan.rules), ["rule2"]);
        let head = &global.heads[0];
        assert_eq!((head.name.as_str(), head.rule.as_str()), ("violation", "rule2"));
        assert!(head.stages.contains(crate::node::Stage::Inserted));
        let read = global.reads[0];
        assert_eq!(head.reads, [read.here, read.here]);
        assert_eq!(all.plan.relation(read.here).name, "leader");
        assert_eq!(global.compiled.plan.relation(read.there).arity(), 5);
        // Elsewhere it is the name of a variable.
        assert!(compiled("p(@X, SIM) :- q(@X, SIM).").global.is_none());
    }

    #[test]
    fn what_rules_at_sim_cannot_say_is_an_error() {
        let cases = [
            ("violation(@SIM, T) :- elected(@X, T, _).", "sim-table"),
            ("leader(@SIM, T, T) :- leader(@X, T, _).", "sim-head"),
            ("delete violation(@SIM, T) :- leader(@X, T, _).", "sim-head"),
            ("violation(@SIM, T) :- leader(@X, T).", "arity"),
            ("violation(@SIM, Z) :- leader(@X, T, _).", "unbound-variable"),
            ("violation(@SIM, A) :- sim::node(@X, A, _, true).", "sim-table"),
        ];
        for (rule, code) in cases {
            let found = errors(&format!("{LEADERS}g1 {rule}"));
            let codes: Vec<&str> = found.iter().map(|one| one.code).collect();
            assert_eq!(codes, [code], "{rule}: {found:?}");
        }
    }
}
