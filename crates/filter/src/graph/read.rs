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
        let mut reader = GraphReader { words, values: Values::default(), names: Vec::new() };
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

struct GraphReader<'t> {
    words: IrReader<'t>,
    values: Values,
    names: Vec<ValueId>,
}

impl GraphReader<'_> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_graph_of_all_there_is_reads_as_it_prints() {
        let mut text = "v0: u8 = outgoing\n\
            v1: u32 = length\n\
            v2: u8 = load1 [23]\n\
            v3: u16 = load2 [v2 + 14]\n\
            v4: u32 = load4 [v3 + 0]\n\
            v5: u8 = walk4 [14] until 6\n\
            v6: u8 = walk6 [14] until 17\n"
            .to_owned();
        for (&(_, name), number) in OPERATORS.iter().zip(7..) {
            let range = match name {
                "and" | "div" | "rem" => "u8",
                "or" | "xor" | "shr" => "u16",
                _ => "u32",
            };
            text +=
                &format!("v{number}: {range} = {name} v{} 7\n", if range == "u8" { 2 } else { 3 });
        }
        text += "n0: if v1 gt 60 then n1 else reject\n\
            n1: bound 24, bound v2 + 18, divisor v1, walk v5; if v5 eq v6 then accept else n2\n\
            n2: if v4 set 1 then n3 else reject\n\
            n3: if 7 ge v4 then accept else reject\n\
            begin n0\n";
        let graph = Graph::read(&text).expect("reads");
        assert_eq!(graph.to_string(), text);
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let refused = |text: &str| Graph::read(text).expect_err(text).to_string();
        let load = "v0: u8 = load1 [9]\n";
        for (text, reason) in [
            ("".to_owned(), "`begin`"),
            (format!("{load}v1: u8 = load1 [9]\nbegin accept\n"), "there already"),
            (format!("{load}v1: u8 = add v0 1\nbegin accept\n"), "the type is `u16`"),
            (format!("{load}v1: u16 = add v0 v1\nbegin accept\n"), "no value v1 yet"),
        ] {
            assert!(refused(&text).contains(reason), "{}", refused(&text));
        }
    }

    /// A walk along operands recurses on the stack.
    #[test]
    fn operations_are_no_deeper_than_the_limit() {
        let deep = |depth: u32| {
            let adds = (1..depth).map(|at| format!("v{at}: u16 = add v{} 1\n", at - 1));
            format!("v0: u8 = load1 [12]\n{}begin accept\n", adds.collect::<String>())
        };
        assert!(Graph::read(&deep(DEPTH_MAX)).is_ok());
        let error = Graph::read(&deep(DEPTH_MAX + 1)).expect_err("too deep").to_string();
        assert!(error.contains("deeper than 1000 operations"), "{error}");
    }
}
