//! Reads the text form of graphs.

use tidemill_diag::text::ir::{IrError, IrReader, Layout, Read};
use tidemill_stdx::id::IdVec;

use super::print::{OPERATORS, width};
use super::value::{Family, Value, ValueId, Values};
use super::{Check, Comparison, Graph, Node, NodeId, Target, Test};

/// Operations on operations are no deeper in texts.
const DEPTH_MAX: u32 = 1000;

impl Graph {
    /// Reads what [`Graph`] prints; the result is not verified.
    ///
    /// # Errors
    /// The first line that is none, and why.
    pub fn read(text: &str) -> Result<Graph, IrError> {
        let words = IrReader::new(text, Layout::Lines);
        let mut reader = Reader { words, values: Values::default(), names: Vec::new() };
        let mut nodes = IdVec::new();
        let mut begin = None;
        while !reader.words.at_end() {
            if reader.words.eat("begin") {
                begin = Some(reader.target()?);
            } else if reader.words.peek().starts_with('v') {
                reader.define()?;
            } else {
                let node = reader.node(nodes.next_id())?;
                nodes.push(node);
            }
            reader.words.end_line()?;
        }
        match begin {
            Some(begin) => Ok(Graph { values: reader.values, nodes, begin }),
            None => reader.words.fail("there is no line `begin`"),
        }
    }
}

struct Reader<'t> {
    words: IrReader<'t>,
    values: Values,
    names: Vec<ValueId>,
}

impl Reader<'_> {
    fn used(&mut self) -> Read<ValueId> {
        if !self.words.peek().starts_with('v') {
            return Ok(self.values.constant(self.words.number()?));
        }
        let before = self.words;
        let name = self.words.id::<usize>("v")?;
        match self.names.get(name) {
            Some(value) => Ok(*value),
            None => before.fail(format!("no value v{name} yet")),
        }
    }

    fn target(&mut self) -> Read<Target> {
        if self.words.eat("accept") {
            return Ok(Target::Accept);
        }
        if self.words.eat("reject") {
            return Ok(Target::Reject);
        }
        self.words.id("n").map(|node| Target::Node(NodeId::new(node)))
    }

    /// `12`, `v3 + 16`
    fn place(&mut self) -> Read<(Option<ValueId>, u32)> {
        let mut ahead = self.words;
        ahead.word();
        if !ahead.eat("+") {
            return Ok((None, self.words.number()?));
        }
        let base = self.used()?;
        self.words.expect("+")?;
        Ok((Some(base), self.words.number()?))
    }

    /// `v3: u32 = shl v2 2`
    fn define(&mut self) -> Read {
        let first = self.words;
        self.words.expect(&format!("v{}:", self.names.len()))?;
        let type_name = self.words.word();
        self.words.expect("=")?;
        let value = self.value()?;
        let before = self.values.len();
        let id = self.values.add(value);
        if self.values.len() == before {
            return first.fail("the value is there already");
        }
        if self.values.depth(id) > DEPTH_MAX {
            return first.fail(format!("deeper than {DEPTH_MAX} operations"));
        }
        let range = self.values.range(id).type_name();
        if range != type_name {
            return first.fail(format!("the type is `{range}`, not `{type_name}`"));
        }
        self.names.push(id);
        Ok(())
    }

    fn value(&mut self) -> Read<Value> {
        if self.words.eat("outgoing") {
            return Ok(Value::Outgoing);
        }
        if self.words.eat("length") {
            return Ok(Value::Length);
        }
        if let Some(width) = width(self.words.peek()) {
            self.words.word();
            self.words.expect("[")?;
            let (base, offset) = self.place()?;
            self.words.expect("]")?;
            return Ok(Value::Load { width, base, offset });
        }
        let family = match self.words.peek() {
            "walk4" => Family::Four,
            "walk6" => Family::Six,
            _ => {
                let operator = self.words.named("an operation", &OPERATORS)?;
                return Ok(Value::Binary(operator, self.used()?, self.used()?));
            }
        };
        self.words.word();
        self.words.expect("[")?;
        let start = self.words.number()?;
        self.words.expect("]")?;
        self.words.expect("until")?;
        Ok(Value::Walk { family, start, until: self.words.number()? })
    }

    fn check(&mut self) -> Read<Check> {
        if self.words.eat("bound") {
            let (base, end) = self.place()?;
            return Ok(Check::Bound { base, end });
        }
        if self.words.eat("divisor") {
            return self.used().map(Check::Divisor);
        }
        self.words.parsed("a check", |word| (word == "walk").then_some(()))?;
        self.used().map(Check::Walk)
    }

    /// `n1: bound 34; if v4 eq 80 then accept else reject`
    fn node(&mut self, id: NodeId) -> Read<Node> {
        self.words.expect(&format!("{id}:"))?;
        let mut checks = Vec::new();
        if self.words.peek() != "if" {
            checks.push(self.check()?);
            while self.words.eat(",") {
                checks.push(self.check()?);
            }
            self.words.expect(";")?;
        }
        self.words.expect("if")?;
        let left = self.used()?;
        let comparison = self.words.named("a comparison", &Comparison::NAMES)?;
        let test = Test { comparison, left, right: self.used()? };
        self.words.expect("then")?;
        let yes = self.target()?;
        self.words.expect("else")?;
        Ok(Node { checks, test, yes, no: self.target()? })
    }
}
