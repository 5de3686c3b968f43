//! Reading the text form of a plan; see [`super::print`] for the grammar.

use tidemill_diag::text::ir::{IrError, IrReader, Layout, Read};

use super::{
    Action, Atom, Bind, Bound, HeadColumn, Lookup, On, Output, Pattern, Plan, Relation, RelationId,
    Rule, RuleId, Step, Storage, Strand, Stratum, Trigger, ViewKind, ViewRule,
};
use crate::aggregate::Aggregate;
use crate::eval::Param;
use crate::expr::{End, Expr, Reg};
use crate::flat::OwnedValue;
use crate::function::FunctionId;
use crate::operator::{Binary, Unary};
use crate::table::{Access, Key, TableSpec};
use crate::text::TextReader;
use crate::types::TypeSet;
use crate::value::{Type, Value};

/// The maximal nesting of expressions and patterns: more than any planner produces.
const DEPTH_MAX: usize = 1000;

/// What stands before the operands of an expression in parentheses.
enum Head<'a> {
    In(End, End),
    Call(FunctionId),
    Symbol(&'a str),
}

/// Reads the text form of a plan; [`super::verify`] checks whether it makes sense.
///
/// # Errors
/// The first place where the text is no plan.
pub fn parse(text: &str) -> Result<Plan, IrError> {
    let mut reader = PlanReader { text: IrReader::new(text, Layout::Free), depth: 0 };
    let plan = reader.plan()?;
    if reader.text.at_end() {
        Ok(plan)
    } else {
        reader.text.expected("relation, rule, strand or stratum")
    }
}

struct PlanReader<'a> {
    text: IrReader<'a>,
    depth: usize,
}

impl<'a> PlanReader<'a> {
    fn fail<T>(&self, message: &str) -> Read<T> {
        self.text.fail(message)
    }

    fn relation_id(&mut self) -> Read<RelationId> {
        self.text.id("p").map(RelationId)
    }

    fn rule_id(&mut self) -> Read<RuleId> {
        self.text.id("r").map(RuleId)
    }

    fn value(&mut self) -> Read<OwnedValue> {
        let mut reader = TextReader::starting(self.text.cursor());
        let value = reader.value().or_else(|error| self.text.fail(error.message))?;
        self.text.resume(reader.cursor());
        Ok(value)
    }

    fn quoted(&mut self) -> Read<String> {
        let before = self.text;
        match self.value()?.get() {
            Value::Str(text) => Ok(text.to_owned()),
            _ => before.expected("a text in quotes"),
        }
    }

    /// `(`, items with commas between, `)`.
    fn list<T>(&mut self, open: &str, close: &str, one: fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.text.expect(open)?;
        let mut items = Vec::new();
        while !self.text.eat(close) {
            if !items.is_empty() {
                self.text.expect(",")?;
            }
            items.push(one(self)?);
        }
        Ok(items)
    }

    fn plan(&mut self) -> Read<Plan> {
        let mut plan = Plan::default();
        loop {
            if self.text.eat("relation") {
                self.text.in_order("p", plan.relations.len())?;
                plan.relations.push(self.relation()?);
            } else if self.text.eat("rule") {
                self.text.in_order("r", plan.rules.len())?;
                plan.rules.push(self.rule()?);
            } else if self.text.eat("strand") {
                plan.strands.push(self.strand()?);
            } else if self.text.eat("stratum") {
                plan.strata.push(self.stratum()?);
            } else {
                return Ok(plan);
            }
        }
    }

    fn rule(&mut self) -> Read<Rule> {
        let name = self.quoted()?;
        self.text.expect("at")?;
        Ok(Rule { name, place: self.quoted()? })
    }

    fn relation(&mut self) -> Read<Relation> {
        let name = self.quoted()?;
        self.text.expect("at")?;
        let location = self.text.number()?;
        let columns = self.list("(", ")", Self::types)?;
        let arity = columns.len() as u32;
        let mut storage = Storage::Event;
        if self.text.eat("table") {
            storage = self.table(arity)?;
        }
        let hidden = self.text.eat("hidden");
        let candidates = if self.text.eat("candidates") { Some(self.relation_id()?) } else { None };
        Ok(Relation { name, columns, location, storage, hidden, candidates })
    }

    fn types(&mut self) -> Read<TypeSet> {
        let mut types = TypeSet::NONE;
        loop {
            let word = self.text.word();
            types = types.union(match word {
                "any" => TypeSet::ANY,
                "none" => TypeSet::NONE,
                _ => match Type::ALL.into_iter().find(|one| one.name() == word) {
                    Some(one) => TypeSet::of(one),
                    None => return self.fail("expected a type"),
                },
            });
            if !self.text.eat("|") {
                return Ok(types);
            }
        }
    }

    fn table(&mut self, arity: u32) -> Read<Storage> {
        let key = if self.text.eat("bag") {
            Key::Bag
        } else {
            self.text.expect("key")?;
            Key::Columns(self.numbers()?)
        };
        let mut spec = TableSpec {
            arity,
            key,
            lifetime_ns: None,
            size_max: None,
            indexes: Vec::new(),
            ordered: Vec::new(),
        };
        if self.text.eat("lifetime") {
            spec.lifetime_ns = Some(self.text.number()?);
        }
        if self.text.eat("size") {
            spec.size_max = Some(self.text.number()?);
        }
        while self.text.eat("index") {
            spec.indexes.push(self.numbers()?);
        }
        while self.text.eat("ordered") {
            spec.ordered.push(self.numbers()?);
        }
        Ok(Storage::Table { spec, soft: self.text.eat("soft") })
    }

    fn numbers<T: std::str::FromStr>(&mut self) -> Read<Vec<T>> {
        self.text.list(("(", ")"), IrReader::number)
    }

    fn stratum(&mut self) -> Read<Stratum> {
        self.text.expect("heads")?;
        let heads = self.list("(", ")", Self::relation_id)?;
        self.text.expect("selected")?;
        let selected = self.list("(", ")", Self::relation_id)?;
        let mut rules = Vec::new();
        while self.text.eat("view") {
            rules.push(self.view()?);
        }
        Ok(Stratum { heads, rules, selected })
    }

    fn view(&mut self) -> Read<ViewRule> {
        let rule = self.rule_id()?;
        let kind = match self.text.word() {
            "maintained" => ViewKind::Maintained,
            "plain" => ViewKind::Plain,
            "grouped" => ViewKind::Grouped,
            _ => return self.fail("expected `maintained`, `plain` or `grouped`"),
        };
        let head = self.relation_id()?;
        self.text.expect("from")?;
        let mut body = vec![self.atom()?];
        while self.text.eat(",") {
            body.push(self.atom()?);
        }
        self.text.expect("scan")?;
        let scan = self.strand()?;
        let mut deltas = Vec::new();
        while self.text.eat("delta") {
            deltas.push(self.strand()?);
        }
        let check = if self.text.eat("check") { Some(self.strand()?) } else { None };
        Ok(ViewRule { rule, kind, head, body, scan, deltas, check })
    }

    fn atom(&mut self) -> Read<Atom> {
        let negated = self.text.eat("not");
        Ok(Atom { relation: self.relation_id()?, negated })
    }

    fn strand(&mut self) -> Read<Strand> {
        let rule = self.rule_id()?;
        self.text.expect("on")?;
        let on = match self.text.word() {
            "event" => On::Event,
            "change" => On::Change,
            "delta" => On::Delta,
            "head" => On::Head,
            "scan" => On::Scan,
            "periodic" => {
                let period = self.expr()?;
                let has_count = !self.text.peek().starts_with('p');
                let count = if has_count { Some(self.expr()?) } else { None };
                On::Periodic { period, count }
            }
            _ => return self.fail("expected what starts the strand"),
        };
        let relation = self.relation_id()?;
        let columns = self.list("(", ")", Self::bind)?;
        self.text.expect("regs")?;
        let regs = self.text.number()?;
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        let trigger = Trigger { relation, on, columns };
        Ok(Strand { rule, trigger, steps, output: self.output()?, regs })
    }

    fn reg(&mut self) -> Read<Reg> {
        self.text.id("v").map(Reg)
    }

    fn bind(&mut self) -> Read<Bind> {
        if self.text.eat("_") {
            return Ok(Bind::Ignore);
        }
        if self.text.eat("=") { self.expr().map(Bind::Equal) } else { self.reg().map(Bind::Reg) }
    }

    fn step(&mut self) -> Read<Option<Step>> {
        Ok(Some(if self.text.eat("join") {
            Step::Join(self.lookup()?)
        } else if self.text.eat("exists") {
            Step::Exists(self.lookup()?)
        } else if self.text.eat("absent") {
            Step::Absent(self.lookup()?)
        } else if self.text.eat("let") {
            Step::Let(self.reg()?, self.expr()?)
        } else if self.text.eat("match") {
            Step::Match(self.reg()?, self.pattern()?)
        } else if self.text.eat("filter") {
            Step::Filter(self.expr()?)
        } else {
            return Ok(None);
        }))
    }

    fn lookup(&mut self) -> Read<Lookup> {
        let relation = self.relation_id()?;
        let access = match self.text.word() {
            "scan" => Access::Scan,
            "primary" => Access::Primary,
            "index" => Access::Index(self.text.number()?),
            "ordered" => Access::Ordered(self.text.number()?),
            _ => return self.fail("expected `scan`, `primary`, `index` or `ordered`"),
        };
        let key = self.list("[", "]", Self::expr)?;
        let is_bounded = self.text.eat("where");
        let bounds = if is_bounded { self.list("[", "]", Self::bound)? } else { Vec::new() };
        self.text.expect("atom")?;
        let atom = self.text.number()?;
        let columns = self.list("(", ")", Self::bind)?;
        Ok(Lookup { relation, atom, access, key, bounds, columns })
    }

    fn bound(&mut self) -> Read<Bound> {
        self.text.expect("(")?;
        let head = self.head()?;
        let is_sum = self.text.eat("(");
        if is_sum {
            self.text.expect("+")?;
        }
        self.text.expect("_")?;
        let added = if is_sum { Some(self.expr()?) } else { None };
        if is_sum {
            self.text.expect(")")?;
        }
        let bound = match (head, added) {
            (Head::In(low, high), None) => {
                Bound::Within { from: self.expr()?, to: self.expr()?, low, high }
            }
            (Head::Symbol(symbol), added) => match Binary::from_symbol(symbol) {
                Some(operator) => Bound::Compare { operator, added, value: self.expr()? },
                None => return self.fail("unknown operator with two operands"),
            },
            _ => return self.fail("expected a comparison or an interval"),
        };
        self.text.expect(")")?;
        Ok(bound)
    }

    /// Counts how deep `inner` is nested.
    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEPTH_MAX {
            return self.fail("nested too deep");
        }
        self.depth += 1;
        let read = inner(self);
        self.depth -= 1;
        read
    }

    fn pattern(&mut self) -> Read<Pattern> {
        match self.text.peek() {
            "_" => {
                self.text.word();
                Ok(Pattern::Any)
            }
            "=" => {
                self.text.word();
                self.expr().map(Pattern::Equal)
            }
            "[" => self.deeper(Self::list_pattern),
            _ => self.reg().map(Pattern::Reg),
        }
    }

    fn list_pattern(&mut self) -> Read<Pattern> {
        self.text.expect("[")?;
        let mut elements = Vec::new();
        loop {
            if self.text.eat("]") {
                return Ok(Pattern::List { elements, tail: None });
            }
            if self.text.eat("|") {
                let tail = Some(Box::new(self.pattern()?));
                self.text.expect("]")?;
                return Ok(Pattern::List { elements, tail });
            }
            if !elements.is_empty() {
                self.text.expect(",")?;
            }
            elements.push(self.pattern()?);
        }
    }

    fn output(&mut self) -> Read<Output> {
        let action = match self.text.word() {
            "emit" => Action::Emit,
            "insert" => Action::Insert,
            "delete" => Action::Delete,
            _ => return self.fail("expected a step or what is derived"),
        };
        let relation = self.relation_id()?;
        let columns = self.list("(", ")", Self::head_column)?;
        let mut output = Output { relation, columns, action, location: None, group_at: 0 };
        if self.text.eat("at") {
            output.location = Some(self.text.number()?);
        }
        if output.aggregates() && self.text.eat("group") {
            output.group_at = self.text.number()?;
        }
        Ok(output)
    }

    fn head_column(&mut self) -> Read<HeadColumn> {
        let mut ahead = self.text;
        let Some(function) = Aggregate::from_plan_name(ahead.word()).filter(|_| ahead.eat("<"))
        else {
            return self.expr().map(HeadColumn::Value);
        };
        self.text = ahead;
        let input = if self.text.eat("*") { None } else { Some(self.expr()?) };
        self.text.expect(">")?;
        Ok(HeadColumn::Aggregate { function, input })
    }

    fn expr(&mut self) -> Read<Expr> {
        match self.text.peek() {
            "(" => self.deeper(Self::compound),
            word if word.starts_with('v') => self.reg_or_vector(),
            word => match Param::ALL.into_iter().find(|param| param.name() == word) {
                Some(param) => {
                    self.text.word();
                    Ok(Expr::Param(param))
                }
                None => self.value().map(Expr::Const),
            },
        }
    }

    fn reg_or_vector(&mut self) -> Read<Expr> {
        if !self.text.eat("vector") {
            return self.reg().map(Expr::Reg);
        }
        let value = self.value()?;
        match value.get() {
            Value::List(elements) => Ok(Expr::Const(OwnedValue::new(Value::Vector(elements)))),
            _ => self.fail("expected the elements of a vector"),
        }
    }

    fn compound(&mut self) -> Read<Expr> {
        self.text.expect("(")?;
        let expr = if self.text.eat("list") {
            Expr::List(self.elements_until(")")?)
        } else if self.text.eat("matrix") {
            self.matrix()?
        } else {
            let head = self.head()?;
            let operands = self.operands()?;
            self.applied(head, operands)?
        };
        self.text.expect(")")?;
        Ok(expr)
    }

    fn head(&mut self) -> Read<Head<'a>> {
        if !self.text.peek().starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Ok(Head::Symbol(self.text.until_blank()));
        }
        match self.text.word() {
            "in" => self.ring_interval(),
            word => match word.strip_prefix("f_").and_then(FunctionId::from_name) {
                Some(function) => Ok(Head::Call(function)),
                None => self.fail("unknown function"),
            },
        }
    }

    fn ring_interval(&mut self) -> Read<Head<'a>> {
        let low = match (self.text.eat("["), self.text.eat("(")) {
            (true, _) => End::Closed,
            (_, true) => End::Open,
            _ => return self.fail("expected `[` or `(`"),
        };
        let high = match (self.text.eat("]"), self.text.eat(")")) {
            (true, _) => End::Closed,
            (_, true) => End::Open,
            _ => return self.fail("expected `]` or `)`"),
        };
        Ok(Head::In(low, high))
    }

    /// Not inlined: its locals would be in each frame of nested expressions.
    #[inline(never)]
    fn applied(&self, head: Head<'_>, operands: Vec<Expr>) -> Read<Expr> {
        match head {
            Head::Call(function) => Ok(Expr::Call(function, operands)),
            Head::In(low, high) => match <[Expr; 3]>::try_from(operands) {
                Ok(operands) => Ok(Expr::In { operands: Box::new(operands), low, high }),
                Err(_) => self.fail("`in` takes a value and two ends"),
            },
            Head::Symbol(symbol) => self.operator(symbol, operands),
        }
    }

    fn operator(&self, symbol: &str, operands: Vec<Expr>) -> Read<Expr> {
        match (symbol, <[Expr; 2]>::try_from(operands)) {
            ("&&", Ok(operands)) => Ok(Expr::And(Box::new(operands))),
            ("||", Ok(operands)) => Ok(Expr::Or(Box::new(operands))),
            (_, Ok(operands)) => match Binary::from_symbol(symbol) {
                Some(operator) => Ok(Expr::Binary(operator, Box::new(operands))),
                None => self.fail("unknown operator with two operands"),
            },
            ("?", Err(operands)) => match <[Expr; 3]>::try_from(operands) {
                Ok(branches) => Ok(Expr::If(Box::new(branches))),
                Err(_) => self.fail("`?` takes three operands"),
            },
            (_, Err(mut operands)) => match (Unary::from_symbol(symbol), operands.pop()) {
                (Some(operator), Some(operand)) if operands.is_empty() => {
                    Ok(Expr::Unary(operator, Box::new(operand)))
                }
                _ => self.fail("unknown operator, or a wrong number of operands"),
            },
        }
    }

    fn operands(&mut self) -> Read<Vec<Expr>> {
        let mut operands = Vec::new();
        while !matches!(self.text.peek(), ")" | "") {
            operands.push(self.expr()?);
        }
        Ok(operands)
    }

    fn elements_until(&mut self, close: &str) -> Read<Vec<Expr>> {
        let mut elements = Vec::new();
        while !self.text.at_end() && self.text.peek() != close {
            elements.push(self.expr()?);
            self.text.eat(",");
        }
        Ok(elements)
    }

    fn matrix(&mut self) -> Read<Expr> {
        let mut rows = Vec::new();
        while self.text.eat("[") {
            rows.push(self.elements_until("]")?);
            self.text.expect("]")?;
        }
        Ok(Expr::Matrix(rows))
    }
}
