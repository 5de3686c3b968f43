//! Reads the text form of graphs.

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
    pub fn read(text: &str) -> Result<Graph, String> {
        let mut reader = Reader { values: Values::default(), names: Vec::new() };
        let mut nodes = IdVec::new();
        let mut begin = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let read = match line.strip_prefix("begin ") {
                Some(target) => reader.target(target).map(|target| begin = Some(target)),
                None if line.starts_with('v') => reader.define(line),
                None => reader.node(line, nodes.next_id()).map(|node| {
                    nodes.push(node);
                }),
            };
            read.map_err(|reason| format!("line {}: {reason}", number + 1))?;
        }
        let begin = begin.ok_or("there is no line `begin`")?;
        Ok(Graph { values: reader.values, nodes, begin })
    }
}

struct Reader {
    values: Values,
    names: Vec<ValueId>,
}

fn number<T: std::str::FromStr>(text: &str) -> Result<T, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}

impl Reader {
    fn used(&mut self, text: &str) -> Result<ValueId, String> {
        match text.strip_prefix('v') {
            Some(name) => {
                let name: usize = number(name)?;
                self.names.get(name).copied().ok_or_else(|| format!("no value v{name} yet"))
            }
            None => Ok(self.values.constant(number(text)?)),
        }
    }

    fn target(&self, text: &str) -> Result<Target, String> {
        Ok(match text {
            "accept" => Target::Accept,
            "reject" => Target::Reject,
            node => match node.strip_prefix('n') {
                Some(node) => Target::Node(NodeId::new(number(node)?)),
                None => return Err(format!("`{node}` is no target")),
            },
        })
    }

    /// `[12]`, `[v3 + 16]` without the brackets.
    fn place(&mut self, text: &str) -> Result<(Option<ValueId>, u32), String> {
        match text.split_once(" + ") {
            Some((base, offset)) => Ok((Some(self.used(base)?), number(offset)?)),
            None => Ok((None, number(text)?)),
        }
    }

    /// `v3: u32 = shl v2 2`
    fn define(&mut self, line: &str) -> Result<(), String> {
        let name = format!("v{}", self.names.len());
        let (head, body) = line.split_once(" = ").ok_or("a value has a ` = `")?;
        let (found, type_name) = head.split_once(": ").ok_or("a value has a type")?;
        if found != name {
            return Err(format!("`{found}` should be `{name}`"));
        }
        let value = self.value(body)?;
        let before = self.values.len();
        let id = self.values.add(value);
        if self.values.len() == before {
            return Err(format!("`{body}` is there already"));
        }
        if self.values.depth(id) > DEPTH_MAX {
            return Err(format!("deeper than {DEPTH_MAX} operations"));
        }
        let range = self.values.range(id).type_name();
        if range != type_name {
            return Err(format!("the type is `{range}`, not `{type_name}`"));
        }
        self.names.push(id);
        Ok(())
    }

    fn value(&mut self, body: &str) -> Result<Value, String> {
        if body == "outgoing" {
            return Ok(Value::Outgoing);
        }
        if body == "length" {
            return Ok(Value::Length);
        }
        let (name, rest) = body.split_once(' ').ok_or_else(|| format!("`{body}` is no value"))?;
        if let Some(&(operator, _)) = OPERATORS.iter().find(|(_, known)| *known == name) {
            let (left, right) = rest.split_once(' ').ok_or("an operation has two operands")?;
            return Ok(Value::Binary(operator, self.used(left)?, self.used(right)?));
        }
        let bracket = |text: &str| {
            let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']'));
            inner.map(str::to_owned).ok_or_else(|| format!("`{text}` is no place"))
        };
        if let Some(width) = width(name) {
            let (base, offset) = self.place(&bracket(rest)?)?;
            return Ok(Value::Load { width, base, offset });
        }
        let family = match name {
            "walk4" => Family::Four,
            "walk6" => Family::Six,
            _ => return Err(format!("`{name}` is no operation")),
        };
        let (start, until) = rest.split_once(" until ").ok_or("a walk has an `until`")?;
        Ok(Value::Walk { family, start: number(&bracket(start)?)?, until: number(until)? })
    }

    fn check(&mut self, text: &str) -> Result<Check, String> {
        let (name, rest) = text.split_once(' ').ok_or_else(|| format!("`{text}` is no check"))?;
        Ok(match name {
            "bound" => {
                let (base, end) = self.place(rest)?;
                Check::Bound { base, end }
            }
            "divisor" => Check::Divisor(self.used(rest)?),
            "walk" => Check::Walk(self.used(rest)?),
            _ => return Err(format!("`{name}` is no check")),
        })
    }

    /// `n1: bound 34; if v4 eq 80 then accept else reject`
    fn node(&mut self, line: &str, id: NodeId) -> Result<Node, String> {
        let rest = line.strip_prefix(&format!("{id}: "));
        let rest = rest.ok_or_else(|| format!("the line does not begin with `{id}: `"))?;
        let (checks, rest) = match rest.split_once("; ") {
            Some((checks, rest)) => {
                let checks: Result<_, _> = checks.split(", ").map(|it| self.check(it)).collect();
                (checks?, rest)
            }
            None => (Vec::new(), rest),
        };
        let words: Vec<&str> = rest.split(' ').collect();
        let &["if", left, name, right, "then", yes, "else", no] = &words[..] else {
            return Err(format!("`{rest}` is no decision"));
        };
        let comparison = Comparison::NAMES.iter().find(|(_, known)| *known == name);
        let (comparison, _) = comparison.ok_or_else(|| format!("`{name}` is no comparison"))?;
        let (left, right) = (self.used(left)?, self.used(right)?);
        let test = Test { comparison: *comparison, left, right };
        Ok(Node { checks, test, yes: self.target(yes)?, no: self.target(no)? })
    }
}
