//! The tree as text: one parenthesised form per node, operators before their operands, so that
//! grouping shows. Names print resolved; spans do not print, so two sources that mean the same
//! print the same.
//!
//! ```text
//! (rule r1
//!   (head (pong @X (+ E 1)))
//!   (periodic @Y E 5)
//!   (:= Z (f_now))
//!   (if (in K (range ( A B ]))))
//! ```

use super::*;
use std::fmt::{self, Display, Formatter, Write};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.statements.iter().try_for_each(|one| write_statement(f, one, 0))
    }
}

fn write_statement(f: &mut Formatter<'_>, statement: &Statement, indent: usize) -> fmt::Result {
    write!(f, "{:indent$}", "")?;
    match statement {
        Statement::Materialize(it) => {
            write!(f, "(materialize {} ", it.name.resolved)?;
            write_limit(f, it.lifetime)?;
            f.write_char(' ')?;
            write_limit(f, it.size)?;
            writeln!(f, " {})", it.keys)
        }
        Statement::Index(it) => {
            writeln!(f, "(index {} {:?} {})", it.name.resolved, it.hint.text, it.keys)
        }
        Statement::Watch(it) => writeln!(f, "(watch {})", it.name.resolved),
        Statement::Trace(it) => writeln!(f, "(trace {})", it.name.resolved),
        Statement::TraceTable(it) => writeln!(f, "(traceTable {})", it.name.resolved),
        Statement::WatchMod(it) => {
            writeln!(f, "(watchmod {} {:?})", it.name.resolved, it.modes.text)
        }
        Statement::Export(it) => {
            let deletions = if it.delete { " delete" } else { "" };
            writeln!(f, "(export {}{deletions})", it.name.resolved)
        }
        Statement::Stage(it) => {
            let (input, output) = (&it.input.resolved, &it.output.resolved);
            let keys = it.keys.iter().map(|keys| format!(" {keys}")).collect::<String>();
            writeln!(f, "(stage {:?} {input} {output}{keys})", it.operator.text)
        }
        Statement::Sink(it) => writeln!(f, "(sink {:?} {})", it.file.text, it.name.resolved),
        Statement::Namespace(it) => {
            write!(f, "(namespace {}", it.name.resolved)?;
            f.write_str(if it.statements.is_empty() { "" } else { "\n" })?;
            it.statements.iter().try_for_each(|one| write_statement(f, one, indent + 2))?;
            if !it.statements.is_empty() {
                write!(f, "{:indent$}", "")?;
            }
            f.write_str(")\n")
        }
        Statement::Fact(it) => {
            f.write_str("(fact ")?;
            write_label(f, it.label.as_ref())?;
            writeln!(f, "{})", it.tuple)
        }
        Statement::Rule(it) => write_rule(f, it, indent),
        Statement::Query(it) => writeln!(f, "(query {})", it.pattern),
    }
}

fn write_rule(f: &mut Formatter<'_>, rule: &Rule, indent: usize) -> fmt::Result {
    let pad = indent + 2;
    f.write_str("(rule")?;
    if let Some(label) = &rule.label {
        write!(f, " {}", label.resolved)?;
    }
    let head = if rule.delete { "delete" } else { "head" };
    write!(f, "\n{:pad$}({head} {})", "", rule.head)?;
    for term in &rule.body {
        write!(f, "\n{:pad$}{term}", "")?;
    }
    f.write_str(")\n")
}

fn write_label(f: &mut Formatter<'_>, label: Option<&Name>) -> fmt::Result {
    match label {
        Some(label) => write!(f, "{} ", label.resolved),
        None => Ok(()),
    }
}

fn write_limit<T: Display>(f: &mut Formatter<'_>, limit: Option<T>) -> fmt::Result {
    match limit {
        Some(limit) => write!(f, "{limit}"),
        None => f.write_str("infinity"),
    }
}

/// `(open a b)`; only `open` where there are no items: `(open)`.
fn write_form<T: Display>(f: &mut Formatter<'_>, open: &str, items: &[T]) -> fmt::Result {
    write!(f, "({open}")?;
    items.iter().try_for_each(|item| write!(f, " {item}"))?;
    f.write_char(')')
}

impl Display for Keys {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write_form(f, "keys", &self.columns)
    }
}

impl Display for Functor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "({}", self.name.resolved)?;
        for (index, arg) in self.args.iter().enumerate() {
            f.write_str(if self.location == Some(index) { " @" } else { " " })?;
            write!(f, "{arg}")?;
        }
        f.write_char(')')
    }
}

impl Display for Arg {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Expr(it) => it.fmt(f),
            Arg::Aggregate(it) => it.fmt(f),
        }
    }
}

impl Display for Aggregate {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "(aggregate {} ", self.func.text)?;
        match &self.over {
            AggregateOver::Star => f.write_char('*')?,
            AggregateOver::Var(var) => f.write_str(&var.name)?,
        }
        if let Some(limit) = &self.limit {
            write!(f, " {limit}")?;
        }
        f.write_char(')')
    }
}

impl Display for Term {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Term::Predicate(it) if it.negated => write!(f, "(notin {})", it.functor),
            Term::Predicate(it) => it.functor.fmt(f),
            Term::Assign(it) => write!(f, "(:= {} {})", it.var.name, it.expr),
            Term::Condition(it) => write!(f, "(if {it})"),
            Term::AggView(it) => {
                write!(f, "(aggview {} ", it.func.text)?;
                write_form(f, "group", &it.group)?;
                f.write_char(' ')?;
                write_form(f, "result", &it.result)?;
                write!(f, " {})", it.of)
            }
        }
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ExprKind::Literal(it) => it.fmt(f),
            ExprKind::Var(name) => f.write_str(name),
            ExprKind::Fresh => f.write_char('_'),
            ExprKind::Unary(op, a) => write!(f, "({} {a})", op.symbol()),
            ExprKind::Binary(op, a, b) => write!(f, "({} {a} {b})", op.symbol()),
            ExprKind::In(a, range) => write!(f, "(in {a} {range})"),
            ExprKind::Call(function, args) => write_form(f, &function.text, args),
            ExprKind::Conditional(a, b, c) => write!(f, "(? {a} {b} {c})"),
            ExprKind::List(items) => write_form(f, "list", items),
            ExprKind::ListPattern(items, tail) => {
                f.write_str("(pattern")?;
                items.iter().try_for_each(|item| write!(f, " {item}"))?;
                write!(f, " | {tail})")
            }
            ExprKind::Matrix(rows) => {
                f.write_str("(matrix")?;
                for row in rows {
                    f.write_char(' ')?;
                    write_form(f, "row", row)?;
                }
                f.write_char(')')
            }
            ExprKind::VectorIndex(a, i) => write!(f, "(vector {a} {i})"),
            ExprKind::MatrixIndex(a, i, j) => write!(f, "(matrix-at {a} {i} {j})"),
        }
    }
}

impl Display for Range {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let open = if self.low_closed { '[' } else { '(' };
        let close = if self.high_closed { ']' } else { ')' };
        write!(f, "(range {open} {} {} {close})", self.low, self.high)
    }
}

/// Literals print as they are written in a source.
impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Int(it) => write!(f, "{it}"),
            // Always with a point or exponent, and with the digits that it takes.
            Literal::Double(it) => write!(f, "{it:?}"),
            Literal::Str(it) => write_quoted(f, it),
            Literal::Id(bytes) => {
                f.write_str("0x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_char('I')
            }
            Literal::Bool(it) => write!(f, "{it}"),
            Literal::Null => f.write_str("null"),
            Literal::Infinity => f.write_str("infinity"),
            Literal::Bytes(bytes) => {
                f.write_str("b\"")?;
                bytes.iter().try_for_each(|byte| write!(f, "\\x{byte:02x}"))?;
                f.write_char('"')
            }
            Literal::Time(ns) => write_seconds(f, *ns, 't'),
            Literal::Interval(ns) => write_seconds(f, *ns, 's'),
        }
    }
}

fn write_quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_char('"')?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\u{c}' => f.write_str("\\f")?,
            c if c.is_control() => write!(f, "\\x{:02x}", c as u32)?,
            c => f.write_char(c)?,
        }
    }
    f.write_char('"')
}

fn write_seconds(f: &mut Formatter<'_>, ns: i64, unit: char) -> fmt::Result {
    let sign = if ns < 0 { "-" } else { "" };
    let ns = ns.unsigned_abs();
    write!(f, "{sign}{}.{:09}{unit}", ns / 1_000_000_000, ns % 1_000_000_000)
}
