//! The tree as text: one parenthesised form per node, operators before their operands, so that
//! grouping shows. Spans do not print, so two sources that mean the same print the same.
//!
//! ```text
//! (component Counter offers (Count 1 *)
//!   (variable (n) INTEGER)
//!   (implementation Count
//!     (begin
//!       (while (receive - ANY)
//!         (do {EXCLUSIVE}
//!           (:= n (+ n 1)))))))
//! ```

use super::*;
use std::fmt::{self, Display, Formatter, Write};

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for definition in self.definitions() {
            match definition {
                Definition::Component(it) => component(f, it, 0)?,
                Definition::Interface(it) => interface(f, it, 0)?,
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}

/// Begins a line.
fn line(f: &mut Formatter<'_>, indent: usize) -> fmt::Result {
    write!(f, "\n{:indent$}", "")
}

/// Items with a blank before each.
fn each<T: Display>(f: &mut Formatter<'_>, items: &[T]) -> fmt::Result {
    items.iter().try_for_each(|item| write!(f, " {item}"))
}

fn attributes(f: &mut Formatter<'_>, attributes: Option<&Attributes>) -> fmt::Result {
    attributes.map_or(Ok(()), |it| write!(f, " {it}"))
}

fn component(f: &mut Formatter<'_>, it: &Component, indent: usize) -> fmt::Result {
    f.write_str("(component")?;
    attributes(f, it.attributes.as_ref())?;
    write!(f, " {}", it.name.text)?;
    for (word, list) in [("offers", &it.offers), ("requires", &it.requires)] {
        if !list.is_empty() {
            write!(f, " {word}")?;
            each(f, list)?;
        }
    }
    declarations(f, &it.declarations, indent + 2)?;
    section(f, "begin", it.begin.as_ref(), indent + 2)?;
    section(f, "activity", it.activity.as_ref(), indent + 2)?;
    section(f, "finally", it.finally.as_ref(), indent + 2)?;
    f.write_char(')')
}

fn interface(f: &mut Formatter<'_>, it: &Interface, indent: usize) -> fmt::Result {
    write!(f, "(interface {}", it.name.text)?;
    if let Some(protocol) = &it.protocol {
        line(f, indent + 2)?;
        write!(f, "{protocol}")?;
    }
    f.write_char(')')
}

fn declarations(f: &mut Formatter<'_>, all: &[Declaration], indent: usize) -> fmt::Result {
    for one in all {
        line(f, indent)?;
        match one {
            Declaration::Component(it) => component(f, it, indent)?,
            Declaration::Interface(it) => interface(f, it, indent)?,
            Declaration::Constant(it) => write!(f, "(constant {} {})", it.name.text, it.value)?,
            Declaration::Variables(it) => {
                f.write_str("(variable (")?;
                let names: Vec<String> = it.names.iter().map(ToString::to_string).collect();
                write!(f, "{}) {}", names.join(" "), it.ty)?;
                attributes(f, it.attributes.as_ref())?;
                f.write_char(')')?;
            }
            Declaration::Procedure(it) => {
                write!(f, "(procedure {}", it.name.text)?;
                each(f, &it.parameters)?;
                if let Some(result) = &it.result {
                    write!(f, " : {result}")?;
                }
                declarations(f, &it.declarations, indent + 2)?;
                section(f, "begin", it.begin.as_ref(), indent + 2)?;
                f.write_char(')')?;
            }
            Declaration::Implementation(it) => {
                write!(f, "(implementation {}", it.name.text)?;
                declarations(f, &it.declarations, indent + 2)?;
                section(f, "begin", it.begin.as_ref(), indent + 2)?;
                f.write_char(')')?;
            }
        }
    }
    Ok(())
}

fn section(f: &mut Formatter<'_>, word: &str, it: Option<&Sequence>, indent: usize) -> fmt::Result {
    let Some(it) = it else { return Ok(()) };
    line(f, indent)?;
    write!(f, "({word}")?;
    attributes(f, it.attributes.as_ref())?;
    for one in &it.statements {
        line(f, indent + 2)?;
        statement(f, one, indent + 2)?;
    }
    f.write_char(')')
}

// One piece: a short arm for each kind of statement.
fn statement(f: &mut Formatter<'_>, it: &Statement, indent: usize) -> fmt::Result {
    let body = |f: &mut Formatter<'_>, it: &Sequence| section(f, "do", Some(it), indent + 2);
    match &it.kind {
        StatementKind::Assign { target, value } => write!(f, "(:= {target} {value})"),
        StatementKind::New { target, arguments } => {
            write!(f, "(new {target}")?;
            each(f, arguments)?;
            f.write_char(')')
        }
        StatementKind::Connect { required, offered } => {
            write!(f, "(connect {required} {offered})")
        }
        StatementKind::Disconnect(it) => write!(f, "(disconnect {it})"),
        StatementKind::Delete(it) => write!(f, "(delete {it})"),
        StatementKind::Move { source, target } => write!(f, "(move {source} {target})"),
        StatementKind::Send { to, message, arguments } => {
            write!(f, "(send {} {}", peer(to.as_ref()), message.text)?;
            each(f, arguments)?;
            f.write_char(')')
        }
        StatementKind::Receive { from, message, targets } => {
            write!(f, "(receive {} {}", peer(from.as_ref()), message.text)?;
            each(f, targets)?;
            f.write_char(')')
        }
        StatementKind::Await(it) => write!(f, "(await {it})"),
        StatementKind::Call(it) => write!(f, "{it}"),
        StatementKind::Return(None) => f.write_str("(return)"),
        StatementKind::Return(Some(it)) => write!(f, "(return {it})"),
        StatementKind::If { branches, otherwise } => {
            f.write_str("(if")?;
            for branch in branches {
                write!(f, " {}", branch.condition)?;
                section(f, "then", Some(&branch.body), indent + 2)?;
            }
            section(f, "else", otherwise.as_ref(), indent + 2)?;
            f.write_char(')')
        }
        StatementKind::While { condition, body: inner } => {
            write!(f, "(while {condition}")?;
            body(f, inner)?;
            f.write_char(')')
        }
        StatementKind::Repeat { body: inner, until } => {
            f.write_str("(repeat")?;
            body(f, inner)?;
            write!(f, " until {until})")
        }
        StatementKind::For { variable, from, to, by, body: inner } => {
            write!(f, "(for {variable} {from} {to}")?;
            by.as_ref().map_or(Ok(()), |by| write!(f, " by {by}"))?;
            body(f, inner)?;
            f.write_char(')')
        }
        StatementKind::ForEach { variables, of, body: inner } => {
            f.write_str("(foreach")?;
            each(f, variables)?;
            write!(f, " of {of}")?;
            body(f, inner)?;
            f.write_char(')')
        }
        StatementKind::Block(inner) => {
            f.write_str("(block")?;
            body(f, inner)?;
            f.write_char(')')
        }
    }
}

/// The other side of a message; `-` is the client.
fn peer(designator: Option<&Designator>) -> String {
    designator.map_or_else(|| "-".to_string(), ToString::to_string)
}

impl Display for Attributes {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(|it| &*it.text).collect();
        write!(f, "{{{}}}", names.join(", "))
    }
}

impl Display for InterfaceDeclaration {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match (self.limits, self.high) {
            (None, _) => f.write_str(&self.name.text),
            (_, Some(high)) => write!(f, "({} {} {high})", self.name.text, self.low),
            (_, None) => write!(f, "({} {} *)", self.name.text, self.low),
        }
    }
}

impl Display for Protocol {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.terms {
            return write!(f, "{one}");
        }
        f.write_str("(|")?;
        each(f, &self.terms)?;
        f.write_char(')')
    }
}

impl Display for ProtocolTerm {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let [one] = &*self.factors {
            return write!(f, "{one}");
        }
        f.write_str("(then")?;
        each(f, &self.factors)?;
        f.write_char(')')
    }
}

impl Display for ProtocolFactor {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            ProtocolFactor::Message(it) => {
                let way = if it.direction == Direction::In { "in" } else { "out" };
                write!(f, "({way} {}", it.name.text)?;
                each(f, &it.parameters)?;
                f.write_char(')')
            }
            ProtocolFactor::Optional(it, _) => write!(f, "(optional {it})"),
            ProtocolFactor::Repeated(it, _) => write!(f, "(repeated {it})"),
            ProtocolFactor::Group(it, _) => write!(f, "(group {it})"),
        }
    }
}

impl Display for Parameters {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.names.iter().map(|it| &*it.text).collect();
        let variable = if self.passing == Passing::Variable { "variable " } else { "" };
        write!(f, "({variable}{} : {})", names.join(" "), self.ty)
    }
}

impl Display for VariableName {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.indices.is_empty() {
            return f.write_str(&self.name.text);
        }
        write!(f, "({}", self.name.text)?;
        each(f, &self.indices)?;
        f.write_char(')')
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            TypeKind::Name(name) => f.write_str(name),
            TypeKind::Error => f.write_str("<error>"),
            TypeKind::Any { offers, requires } => {
                f.write_str("(any")?;
                each(f, offers)?;
                if !requires.is_empty() {
                    f.write_str(" |")?;
                    each(f, requires)?;
                }
                f.write_char(')')
            }
        }
    }
}

impl Display for Call {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "(call {}", self.name.text)?;
        each(f, &self.arguments)?;
        f.write_char(')')
    }
}

impl Display for Designator {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DesignatorKind::Name(name) => f.write_str(name),
            DesignatorKind::Index { base, indices } => {
                write!(f, "(index {base}")?;
                each(f, indices)?;
                f.write_char(')')
            }
            DesignatorKind::Of { base, argument } => match &**argument {
                Argument::Designator(it) => write!(f, "(of {base} {it})"),
                Argument::Type(it) => write!(f, "(of {base} {it})"),
            },
        }
    }
}

impl Display for Pattern {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Pattern::Message(name) => &name.text,
            Pattern::Any(_) => "ANY",
            Pattern::Finish(_) => "FINISH",
        })
    }
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let tested = |f: &mut Formatter<'_>, word, it, list: &[InterfaceDeclaration]| {
            write!(f, "({word} {it}")?;
            each(f, list)?;
            f.write_char(')')
        };
        match &self.kind {
            ExprKind::Literal(it) => write!(f, "{it}"),
            ExprKind::Designator(it) => write!(f, "{it}"),
            ExprKind::Call(it) => write!(f, "{it}"),
            ExprKind::Unary(operator, it) => write!(f, "({} {it})", operator.symbol()),
            ExprKind::Binary(operator, a, b) => write!(f, "({} {a} {b})", operator.symbol()),
            ExprKind::Is(it, ty) => write!(f, "(is {it} {ty})"),
            ExprKind::Offers(it, list) => tested(f, "offers", it, list),
            ExprKind::Requires(it, list) => tested(f, "requires", it, list),
            ExprKind::Receive { from, pattern } => {
                write!(f, "(receive {} {pattern})", peer(from.as_ref()))
            }
            ExprKind::Input { from, pattern } => {
                write!(f, "(input {} {pattern})", peer(from.as_ref()))
            }
            ExprKind::Exists(it) => write!(f, "(exists {it})"),
            ExprKind::Attributed(attributes, it) => write!(f, "({attributes} {it})"),
            ExprKind::Error => f.write_str("<error>"),
        }
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Literal::Integer(it) => write!(f, "{it}"),
            Literal::Real(it) => write!(f, "{it:?}"),
            Literal::Character(it) => write!(f, "{it:02X}X"),
            Literal::Text(it) => write!(f, "\"{it}\""),
            Literal::Boolean(it) => f.write_str(if *it { "TRUE" } else { "FALSE" }),
        }
    }
}
