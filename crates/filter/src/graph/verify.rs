//! The conditions under which code may be made of a graph: the code itself makes no other checks
//! than the graph.

use std::fmt;

use super::{Check, Coverage, Graph, NodeId, Target, Value, ValueId};
use crate::ast::Operator;

/// What is wrong with a graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphError {
    /// An operand of this value comes after it.
    LateOperand(ValueId),
    /// An edge leads to a node that does not exist.
    NoSuchNode(NodeId),
    /// An edge does not lead to a later node.
    Backward {
        /// The node that it leaves.
        from: NodeId,
        /// The node that it leads to.
        to: NodeId,
    },
    /// A check of a walk at this node is of another value.
    NoWalk(NodeId),
    /// This node uses a value, and a check that the value needs may not have been made.
    Unchecked(NodeId),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::LateOperand(value) => write!(f, "an operand of {value} comes after it"),
            GraphError::NoSuchNode(node) => write!(f, "there is no {node}"),
            GraphError::Backward { from, to } => write!(f, "{from} leads back to {to}"),
            GraphError::NoWalk(node) => write!(f, "{node} walks along what is no walk"),
            GraphError::Unchecked(node) => {
                write!(f, "{node} uses a value before what it needs was checked")
            }
        }
    }
}

impl std::error::Error for GraphError {}

impl Graph {
    /// Checks that edges lead to later nodes, that operands precede their users, and that along
    /// every path the checks that a value needs precede its use.
    ///
    /// # Errors
    /// The first finding.
    pub fn verify(&self) -> Result<(), GraphError> {
        for (id, _) in self.values.iter() {
            if self.values.operands(id).into_iter().flatten().any(|operand| operand >= id) {
                return Err(GraphError::LateOperand(id));
            }
        }
        self.target(None, self.begin)?;
        let mut coverages: Vec<Option<Coverage>> = vec![None; self.nodes.len()];
        if let Target::Node(begin) = self.begin {
            coverages[begin.raw() as usize] = Some(Coverage::default());
        }
        for (id, node) in self.nodes.iter_enumerated() {
            for target in node.targets() {
                self.target(Some(id), target)?;
            }
            let Some(mut coverage) = coverages[id.raw() as usize].take() else { continue };
            for &check in &node.checks {
                self.check(id, check, &coverage)?;
                coverage.add(check);
            }
            self.computable(id, node.test.left, &coverage)?;
            self.computable(id, node.test.right, &coverage)?;
            for target in node.targets() {
                let Target::Node(next) = target else { continue };
                match &mut coverages[next.raw() as usize] {
                    Some(known) => known.meet(&coverage),
                    unknown => *unknown = Some(coverage.clone()),
                }
            }
        }
        Ok(())
    }

    fn target(&self, from: Option<NodeId>, target: Target) -> Result<(), GraphError> {
        let Target::Node(to) = target else { return Ok(()) };
        if self.nodes.get(to).is_none() {
            return Err(GraphError::NoSuchNode(to));
        }
        match from {
            Some(from) if to <= from => Err(GraphError::Backward { from, to }),
            _ => Ok(()),
        }
    }

    fn check(&self, node: NodeId, check: Check, coverage: &Coverage) -> Result<(), GraphError> {
        match check {
            Check::Bound { base: None, .. } => Ok(()),
            Check::Bound { base: Some(value), .. } | Check::Divisor(value) => {
                self.computable(node, value, coverage)
            }
            Check::Walk(value) => match self.values.get(value) {
                Value::Walk { .. } => Ok(()),
                _ => Err(GraphError::NoWalk(node)),
            },
        }
    }

    fn computable(
        &self,
        node: NodeId,
        value: ValueId,
        coverage: &Coverage,
    ) -> Result<(), GraphError> {
        for operand in self.values.operands(value).into_iter().flatten() {
            self.computable(node, operand, coverage)?;
        }
        let covered = match self.values.get(value) {
            Value::Constant(_) | Value::Length | Value::Outgoing => true,
            Value::Load { width, base, offset } => {
                u64::from(coverage.end(base)) >= u64::from(offset) + u64::from(width.bytes())
            }
            Value::Binary(Operator::Divide | Operator::Remainder, _, divisor) => {
                coverage.has(Check::Divisor(divisor), &self.values)
            }
            Value::Binary(..) => true,
            Value::Walk { .. } => coverage.has(Check::Walk(value), &self.values),
        };
        match covered {
            true => Ok(()),
            false => Err(GraphError::Unchecked(node)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(text: &str) -> Result<(), GraphError> {
        Graph::read(text).expect("reads").verify()
    }

    #[test]
    fn each_rule_can_be_broken() {
        let load = "v0: u8 = load1 [23]\n";
        let good = format!("{load}n0: bound 24; if v0 eq 6 then accept else reject\nbegin n0\n");
        assert_eq!(verify(&good), Ok(()));
        let unchecked = "n0 uses a value before what it needs was checked";
        for (wrong, why) in [
            (
                format!("{load}n0: bound 23; if v0 eq 6 then accept else reject\nbegin n0\n"),
                unchecked,
            ),
            (
                format!("{load}n0: if v0 eq 6 then n0 else reject\nbegin n0\n"),
                "n0 leads back to n0",
            ),
            (
                format!("{load}n0: bound v0 + 4; if 1 eq 6 then accept else reject\nbegin n0\n"),
                unchecked,
            ),
            ("n0: if 1 eq 6 then n1 else reject\nbegin n0\n".to_owned(), "there is no n1"),
            ("begin n0\n".to_owned(), "there is no n0"),
            (
                "v0: u32 = div 7 9\nv1: u32 = length\nv2: u32 = div 7 v1\n\
                 n0: if v2 eq 6 then accept else reject\nbegin n0\n"
                    .replace("v0: u32", "v0: u8")
                    .replace("v2: u32", "v2: u8"),
                unchecked,
            ),
            (
                "v0: u8 = walk6 [14] until 6\nn0: if v0 eq 6 then accept else reject\nbegin n0\n"
                    .to_owned(),
                unchecked,
            ),
            (
                "v0: u32 = length\nn0: walk v0; if v0 eq 6 then accept else reject\nbegin n0\n"
                    .to_owned(),
                "n0 walks along what is no walk",
            ),
        ] {
            let error = verify(&wrong).expect_err(&wrong);
            assert_eq!(error.to_string(), why, "{wrong}");
        }
    }

    #[test]
    fn a_check_on_one_of_two_ways_is_none() {
        let text = "v0: u32 = length\nv1: u8 = load1 [9]\n\
                    n0: if v0 gt 60 then n1 else n2\n\
                    n1: bound 10; if v1 eq 1 then accept else n2\n\
                    n2: if v1 eq 2 then accept else reject\nbegin n0\n";
        assert!(verify(text).is_err());
        let text = text.replace("n0: if", "n0: bound 10; if");
        assert_eq!(verify(&text), Ok(()));
        // Divisors and walks as well.
        for (value, check) in [("div 7 v0", "divisor v0"), ("walk4 [14] until 6", "walk v1")] {
            let text = format!(
                "v0: u32 = length\nv1: u8 = {value}\n\
                 n0: if v0 gt 60 then n1 else n2\n\
                 n1: {check}; if v1 eq 1 then accept else n2\n\
                 n2: if v1 eq 2 then accept else reject\nbegin n0\n"
            );
            assert!(verify(&text).is_err(), "{text}");
            let text = text.replace("n0: if", &format!("n0: {check}; if"));
            assert_eq!(verify(&text), Ok(()), "{text}");
        }
    }
}
