//! Names of message types in calls of `f_decode` and `f_encode`.

use tidemill_diag::Diagnostic;

use crate::ast::{Arg, Expr, ExprKind, Functor, Literal, Program, Statement, Term};
use crate::stage::Registry;

/// Reports types that no schema of the program declares, where they are written out.
pub(super) fn check(program: &Program, operators: &Registry, found: &mut Vec<Diagnostic>) {
    let mut names = Names { operators, found };
    for statement in program.flat() {
        match statement {
            Statement::Fact(fact) => names.functor(&fact.tuple),
            Statement::Rule(rule) => {
                names.functor(&rule.head);
                rule.body.iter().for_each(|term| names.term(term));
            }
            _ => {}
        }
    }
}

struct Names<'a, 'd> {
    operators: &'a Registry,
    found: &'d mut Vec<Diagnostic>,
}

impl Names<'_, '_> {
    fn term(&mut self, term: &Term) {
        match term {
            Term::Predicate(predicate) => self.functor(&predicate.functor),
            Term::Assign(assign) => self.expr(&assign.expr),
            Term::Condition(condition) => self.expr(condition),
            Term::AggView(view) => self.functor(&view.of),
        }
    }

    fn functor(&mut self, functor: &Functor) {
        functor.args.iter().filter_map(Arg::as_expr).for_each(|arg| self.expr(arg));
    }

    fn expr(&mut self, expr: &Expr) {
        let Names { operators, found } = self;
        expr.walk(&mut |inner| {
            let ExprKind::Call(name, arguments) = &inner.kind else { return };
            if !matches!(name.text.as_str(), "f_decode" | "f_encode") {
                return;
            }
            let Some(messages) = operators.messages() else {
                let text =
                    format!("`{}` needs a schema, and none belongs to the program", name.text);
                let help = "give the file of the schema, .proto or .fds, beside the rules";
                return found.push(Diagnostic::error("no-schema", name.span, text).help(help));
            };
            let Some(written) = arguments.first() else { return };
            if let ExprKind::Literal(Literal::Str(message)) = &written.kind
                && let Some((text, help)) = messages.missing(message)
            {
                found.push(Diagnostic::error("unknown-message", written.span, text).help(help));
            }
        });
    }
}
