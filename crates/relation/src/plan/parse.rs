//! Reading the text form of a plan; see [`super::print`] for the grammar.

use super::{
    Action, Atom, Bind, HeadColumn, Lookup, On, Output, Pattern, Plan, Relation, RelationId, Rule,
    RuleId, Step, Storage, Strand, Stratum, Trigger, ViewKind, ViewRule,
};
use crate::aggregate::Aggregate;
use crate::expr::{End, Expr, Param, Reg};
use crate::flat::OwnedValue;
use crate::function::FunctionId;
use crate::operator::{Binary, Unary};
use crate::table::{Access, Key, TableSpec};
use crate::text::{TextError, TextReader};
use crate::types::TypeSet;
use crate::value::{Type, Value};

type Read<T> = Result<T, TextError>;

/// Expressions and patterns nest at most so deep: more than what any planner makes of a source.
const DEPTH_MAX: usize = 1000;

/// Reads the text form of a plan; [`super::verify`] tells whether it makes sense.
///
/// # Errors
/// The first place where the text is no plan.
pub fn parse(text: &str) -> Read<Plan> {
    let mut reader = Reader { text: TextReader::new(text), depth: 0 };
    let plan = reader.plan()?;
    reader.text.end()?;
    Ok(plan)
}

struct Reader<'a> {
    text: TextReader<'a>,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn fail<T>(&self, message: &str) -> Read<T> {
        self.text.error(message)
    }

    /// Reads `word` if it comes next as a whole word.
    fn eat_word(&mut self, word: &str) -> bool {
        let mut ahead = self.text.clone();
        let found = ahead.word() == word;
        if found {
            self.text = ahead;
        }
        found
    }

    fn number<T: std::str::FromStr>(&mut self) -> Read<T> {
        self.text.skip_space();
        let rest = self.text.rest();
        let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let digits = &rest[..length];
        match digits.parse() {
            Ok(number) if self.text.eat(digits) => Ok(number),
            _ => self.fail("expected a number"),
        }
    }

    /// `p7`, `r7` or `v7`.
    fn numbered<T: std::str::FromStr>(&mut self, letter: &str) -> Read<T> {
        self.text.expect(letter)?;
        self.number()
    }

    fn relation_id(&mut self) -> Read<RelationId> {
        self.numbered("p").map(RelationId)
    }

    fn rule_id(&mut self) -> Read<RuleId> {
        self.numbered("r").map(RuleId)
    }

    fn quoted(&mut self) -> Read<String> {
        let value = self.text.value()?;
        match value.get() {
            Value::Str(text) => Ok(text.to_owned()),
            _ => self.fail("expected a text in quotes"),
        }
    }

    /// `(`, items with commas between, `)`.
    fn list<T>(&mut self, open: &str, close: &str, one: fn(&mut Self) -> Read<T>) -> Read<Vec<T>> {
        self.text.expect(open)?;
        let mut items = Vec::new();
        if self.text.eat(close) {
            return Ok(items);
        }
        loop {
            items.push(one(self)?);
            if self.text.eat(close) {
                return Ok(items);
            }
            self.text.expect(",")?;
        }
    }

    fn plan(&mut self) -> Read<Plan> {
        let mut plan = Plan::default();
        loop {
            if self.eat_word("relation") {
                let id: RelationId = self.relation_id()?;
                self.in_order(id.index(), plan.relations.len())?;
                plan.relations.push(self.relation()?);
            } else if self.eat_word("rule") {
                let id = self.rule_id()?;
                self.in_order(id.index(), plan.rules.len())?;
                plan.rules.push(self.rule()?);
            } else if self.eat_word("strand") {
                plan.strands.push(self.strand()?);
            } else if self.eat_word("stratum") {
                plan.strata.push(self.stratum()?);
            } else {
                return Ok(plan);
            }
        }
    }

    fn in_order(&self, number: usize, expected: usize) -> Read<()> {
        match number == expected {
            true => Ok(()),
            false => self.fail("numbers go up one by one from 0"),
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
        let location = self.number()?;
        let columns = self.list("(", ")", Self::types)?;
        let arity = columns.len() as u32;
        let mut storage = Storage::Event;
        if self.eat_word("table") {
            storage = self.table(arity)?;
        }
        let hidden = self.eat_word("hidden");
        let candidates = match self.eat_word("candidates") {
            true => Some(self.relation_id()?),
            false => None,
        };
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
        let key = match self.eat_word("bag") {
            true => Key::Bag,
            false => {
                self.text.expect("key")?;
                Key::Columns(self.list("(", ")", Self::number)?)
            }
        };
        let mut spec =
            TableSpec { arity, key, lifetime_ns: None, size_max: None, indexes: Vec::new() };
        if self.eat_word("lifetime") {
            spec.lifetime_ns = Some(self.number()?);
        }
        if self.eat_word("size") {
            spec.size_max = Some(self.number()?);
        }
        while self.eat_word("index") {
            spec.indexes.push(self.list("(", ")", Self::number)?);
        }
        Ok(Storage::Table { spec, soft: self.eat_word("soft") })
    }

    fn stratum(&mut self) -> Read<Stratum> {
        self.text.expect("heads")?;
        let heads = self.list("(", ")", Self::relation_id)?;
        self.text.expect("selected")?;
        let selected = self.list("(", ")", Self::relation_id)?;
        let mut rules = Vec::new();
        while self.eat_word("view") {
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
        while self.eat_word("delta") {
            deltas.push(self.strand()?);
        }
        let check = match self.eat_word("check") {
            true => Some(self.strand()?),
            false => None,
        };
        Ok(ViewRule { rule, kind, head, body, scan, deltas, check })
    }

    fn atom(&mut self) -> Read<Atom> {
        let negated = self.eat_word("not");
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
                let count = match self.text.peek() {
                    Some('p') => None,
                    _ => Some(self.expr()?),
                };
                On::Periodic { period, count }
            }
            _ => return self.fail("expected what starts the strand"),
        };
        let relation = self.relation_id()?;
        let columns = self.list("(", ")", Self::bind)?;
        self.text.expect("regs")?;
        let regs = self.number()?;
        let mut steps = Vec::new();
        while let Some(step) = self.step()? {
            steps.push(step);
        }
        let trigger = Trigger { relation, on, columns };
        Ok(Strand { rule, trigger, steps, output: self.output()?, regs })
    }

    fn reg(&mut self) -> Read<Reg> {
        self.numbered("v").map(Reg)
    }

    fn bind(&mut self) -> Read<Bind> {
        Ok(match self.text.peek() {
            Some('_') if self.text.eat("_") => Bind::Ignore,
            Some('=') if self.text.eat("=") => Bind::Equal(self.expr()?),
            _ => Bind::Reg(self.reg()?),
        })
    }

    fn step(&mut self) -> Read<Option<Step>> {
        Ok(Some(if self.eat_word("join") {
            Step::Join(self.lookup()?)
        } else if self.eat_word("exists") {
            Step::Exists(self.lookup()?)
        } else if self.eat_word("absent") {
            Step::Absent(self.lookup()?)
        } else if self.eat_word("let") {
            Step::Let(self.reg()?, self.expr()?)
        } else if self.eat_word("match") {
            Step::Match(self.reg()?, self.pattern()?)
        } else if self.eat_word("filter") {
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
            "index" => Access::Index(self.number()?),
            _ => return self.fail("expected `scan`, `primary` or `index`"),
        };
        let key = self.list("[", "]", Self::expr)?;
        self.text.expect("atom")?;
        let atom = self.number()?;
        let columns = self.list("(", ")", Self::bind)?;
        Ok(Lookup { relation, atom, access, key, columns })
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
            Some('_') if self.text.eat("_") => Ok(Pattern::Any),
            Some('=') if self.text.eat("=") => Ok(Pattern::Equal(self.expr()?)),
            Some('[') => self.deeper(Self::list_pattern),
            _ => Ok(Pattern::Reg(self.reg()?)),
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
        if self.eat_word("at") {
            output.location = Some(self.number()?);
        }
        if output.aggregates() && self.eat_word("group") {
            output.group_at = self.number()?;
        }
        Ok(output)
    }

    fn head_column(&mut self) -> Read<HeadColumn> {
        let mut ahead = self.text.clone();
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
            Some('(') => self.deeper(Self::compound),
            Some('v') => self.reg_or_vector(),
            _ => {
                let mut ahead = self.text.clone();
                let word = ahead.word();
                if let Some(param) = Param::ALL.into_iter().find(|param| param.name() == word) {
                    self.text = ahead;
                    return Ok(Expr::Param(param));
                }
                self.text.value().map(Expr::Const)
            }
        }
    }

    fn reg_or_vector(&mut self) -> Read<Expr> {
        if !self.eat_word("vector") {
            return self.reg().map(Expr::Reg);
        }
        let value = self.text.value()?;
        match value.get() {
            Value::List(elements) => Ok(Expr::Const(OwnedValue::new(Value::Vector(elements)))),
            _ => self.fail("expected the elements of a vector"),
        }
    }

    fn compound(&mut self) -> Read<Expr> {
        self.text.expect("(")?;
        let expr = self.applied()?;
        self.text.expect(")")?;
        Ok(expr)
    }

    fn applied(&mut self) -> Read<Expr> {
        if self.text.peek().is_some_and(|c| c.is_ascii_alphabetic()) {
            let word = self.text.word();
            return match word {
                "list" => self.elements_until(")").map(Expr::List),
                "matrix" => self.matrix(),
                "in" => self.ring_interval(),
                _ => self.call(word),
            };
        }
        self.text.skip_space();
        let rest = self.text.rest();
        let length = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let symbol = &rest[..length];
        self.text.expect(symbol)?;
        let operands = self.operands()?;
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
        while self.text.peek().is_some_and(|c| c != ')') {
            operands.push(self.expr()?);
        }
        Ok(operands)
    }

    fn elements_until(&mut self, close: &str) -> Read<Vec<Expr>> {
        let mut elements = Vec::new();
        while self.text.peek().is_some_and(|c| !close.starts_with(c)) {
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

    fn ring_interval(&mut self) -> Read<Expr> {
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
        match <[Expr; 3]>::try_from(self.operands()?) {
            Ok(operands) => Ok(Expr::In { operands: Box::new(operands), low, high }),
            Err(_) => self.fail("`in` takes a value and two ends"),
        }
    }

    fn call(&mut self, word: &str) -> Read<Expr> {
        match word.strip_prefix("f_").and_then(FunctionId::from_name) {
            Some(function) => Ok(Expr::Call(function, self.operands()?)),
            None => self.fail("unknown function"),
        }
    }
}
