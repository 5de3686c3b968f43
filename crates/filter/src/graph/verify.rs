//! The conditions under which code may be made of a graph: the code itself makes no other checks
//! than the graph.

use std::fmt::Display;

use tidemill_diag::text::verify::{Findings, Verified};

use super::{Check, Coverage, Graph, NodeId, Target, Value, ValueId};
use crate::ast::Operator;

impl Graph {
    /// Checks that edges lead to later nodes, that operands precede their users, and that along
    /// every path the checks that a value needs precede its use.
    ///
    /// # Errors
    /// All errors; those of the order of checks, only if there are no others.
    pub fn verify(&self) -> Verified {
        let mut findings = Findings::new();
        self.verify_values(&mut findings);
        self.verify_edges(&mut findings);
        if findings.count() == 0 {
            self.verify_paths(&mut findings);
        }
        findings.finish()
    }

    fn verify_values(&self, findings: &mut Findings) {
        for (id, _) in self.values.iter() {
            if self.values.operands(id).into_iter().flatten().any(|operand| operand >= id) {
                findings.at("");
                findings.fail(format_args!("an operand of {id} comes after it"));
            }
        }
    }

    fn verify_edges(&self, findings: &mut Findings) {
        findings.at("begin");
        if let Target::Node(begin) = self.begin {
            findings.require(self.has(begin), format_args!("there is no {begin}"));
        }
        for (id, node) in self.nodes.iter_enumerated() {
            for target in node.targets() {
                let Target::Node(to) = target else { continue };
                if !self.has(to) {
                    self.fail_at(id, format_args!("there is no {to}"), findings);
                } else if to <= id {
                    self.fail_at(id, format_args!("it leads back to {to}"), findings);
                }
            }
        }
    }

    fn has(&self, node: NodeId) -> bool {
        self.nodes.get(node).is_some()
    }

    fn fail_at(&self, node: NodeId, message: impl Display, findings: &mut Findings) {
        findings.at_instruction(node, self.node_text(node));
        findings.fail(message);
    }

    fn verify_paths(&self, findings: &mut Findings) {
        let mut coverages: Vec<Option<Coverage>> = vec![None; self.nodes.len()];
        if let Target::Node(begin) = self.begin {
            coverages[begin.raw() as usize] = Some(Coverage::default());
        }
        for (id, node) in self.nodes.iter_enumerated() {
            let Some(mut coverage) = coverages[id.raw() as usize].take() else { continue };
            let mut computable = true;
            for &check in &node.checks {
                match check {
                    Check::Bound { base: None, .. } => {}
                    Check::Bound { base: Some(value), .. } | Check::Divisor(value) => {
                        computable &= self.is_computable(value, &coverage);
                    }
                    Check::Walk(value) => {
                        if !matches!(self.values.get(value), Value::Walk { .. }) {
                            self.fail_at(id, "it walks along what is no walk", findings);
                        }
                    }
                }
                coverage.add(check);
            }
            computable &= self.is_computable(node.test.left, &coverage);
            computable &= self.is_computable(node.test.right, &coverage);
            if !computable {
                self.fail_at(id, "it uses a value before what it needs was checked", findings);
            }
            for target in node.targets() {
                let Target::Node(next) = target else { continue };
                match &mut coverages[next.raw() as usize] {
                    Some(known) => known.meet(&coverage),
                    unknown => *unknown = Some(coverage.clone()),
                }
            }
        }
    }

    /// Whether the checks that a value needs have been made.
    fn is_computable(&self, value: ValueId, coverage: &Coverage) -> bool {
        let mut operands = self.values.operands(value).into_iter().flatten();
        if !operands.all(|operand| self.is_computable(operand, coverage)) {
            return false;
        }
        match self.values.get(value) {
            Value::Constant(_) | Value::Length | Value::Outgoing => true,
            Value::Load { width, base, offset } => {
                u64::from(coverage.end(base)) >= u64::from(offset) + u64::from(width.bytes())
            }
            Value::Binary(Operator::Divide | Operator::Remainder, _, divisor) => {
                coverage.has(Check::Divisor(divisor), &self.values)
            }
            Value::Binary(..) => true,
            Value::Walk { .. } => coverage.has(Check::Walk(value), &self.values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verify(text: &str) -> Verified {
        Graph::read(text).expect("reads").verify()
    }

    #[test]
    fn each_rule_can_be_broken() {
        let load = "v0: u8 = load1 [23]\n";
        let good = format!("{load}n0: bound 24; if v0 eq 6 then accept else reject\nbegin n0\n");
        assert_eq!(verify(&good), Ok(()));
        let unchecked = "it uses a value before what it needs was checked";
        for (wrong, why) in [
            (
                format!("{load}n0: bound 23; if v0 eq 6 then accept else reject\nbegin n0\n"),
                unchecked,
            ),
            (
                format!("{load}n0: if v0 eq 6 then n0 else reject\nbegin n0\n"),
                "it leads back to n0",
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
                "it walks along what is no walk",
            ),
        ] {
            let error = verify(&wrong).expect_err(&wrong);
            assert_eq!(error.iter().next().expect("one").message, why, "{wrong}");
        }
    }

    #[test]
    fn all_errors_are_found_with_their_nodes() {
        let text = "v0: u8 = load1 [23]\nn0: if v0 eq 6 then n7 else n0\nbegin n9\n";
        assert_eq!(
            verify(text).expect_err("wrong").to_string(),
            "begin: there is no n9; n0 `if v0 eq 6 then n7 else n0`: there is no n7; \
             n0 `if v0 eq 6 then n7 else n0`: it leads back to n0"
        );
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
