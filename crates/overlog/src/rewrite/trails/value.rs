//! The value of a trail, as an expression of a rule: `[height, size, rows]`.
//!
//! | | height | rows |
//! |---|---|---|
//! | the rows of a body ([`Origins`]) | the greatest of theirs | the union of theirs |
//! | [`Through::Node`] | the same | the same |
//! | [`Through::Group`] | the same | and the row itself |
//! | [`Through::Shipment`] | one more | and the row itself |
//!
//! The size is that of the rows. Lists compare element by element, so a MIN takes the trail of the
//! least height, and of these one of the fewest rows.

use tidemill_relation::Value;
use tidemill_relation::expr::{Expr, Reg};
use tidemill_relation::function::FunctionId;
use tidemill_relation::operator::{Binary, Unary};
use tidemill_relation::plan::Pattern;

use crate::ir::Term;

/// The trails of the rows of a body that are on the cycle of its head.
#[derive(Default)]
pub(super) struct Origins(Vec<Origin>);

/// A trail in a body: the registers of its height and its rows.
struct Origin {
    height: Reg,
    rows: Reg,
}

/// What a row goes through, after the rows that it is derived from.
pub(super) enum Through {
    /// Nothing: it is derived on their node.
    Node,
    /// A group whose row has this id.
    Group(Expr),
    /// A shipment, as the row of this id.
    Shipment(Expr),
}

impl Origins {
    /// Adds the trail that the pattern matches.
    pub(super) fn bind(&mut self, height: Reg, rows: Reg) -> Pattern {
        self.0.push(Origin { height, rows });
        let elements = vec![Pattern::Reg(height), Pattern::Any, Pattern::Reg(rows)];
        Pattern::List { elements, tail: None }
    }

    fn height(&self) -> Expr {
        let mut heights = self.0.iter().map(|origin| Expr::Reg(origin.height));
        let first = heights.next().unwrap_or_else(|| Expr::constant(Value::Int(0)));
        heights.fold(first, |a, b| call("max", vec![a, b]))
    }

    fn rows(&self) -> Expr {
        let rows: Vec<Expr> = self.0.iter().map(|origin| Expr::Reg(origin.rows)).collect();
        match &rows[..] {
            [] => Expr::List(Vec::new()),
            [rows] => rows.clone(),
            _ => call("union", rows),
        }
    }

    /// The condition that the row of an id is on none of these trails.
    pub(super) fn lack(&self, id: &Expr) -> Term {
        let member = call("member", vec![self.rows(), id.clone()]);
        Term::Filter(Expr::Unary(Unary::Not, Box::new(member)))
    }

    /// The trail of a row that follows from these.
    pub(super) fn trail(&self, through: Through) -> Expr {
        let with = |id: Expr| call("union", vec![self.rows(), Expr::List(vec![id])]);
        let (height, rows) = match through {
            Through::Node => (self.height(), self.rows()),
            Through::Group(id) => (self.height(), with(id)),
            Through::Shipment(id) => {
                let operands = [self.height(), Expr::constant(Value::Int(1))];
                (Expr::Binary(Binary::Add, Box::new(operands)), with(id))
            }
        };
        let size = call("size", vec![rows.clone()]);
        Expr::List(vec![height, size, rows])
    }
}

/// The trail of a row that follows from nothing on a cycle.
pub(super) fn empty() -> Expr {
    Origins::default().trail(Through::Node)
}

/// The id of a row on trails: a hash of its table and these columns.
pub(super) fn id(table: &str, columns: impl Iterator<Item = Expr>) -> Expr {
    let mut parts = vec![Expr::constant(Value::Str(table))];
    parts.extend(columns);
    call("sha1", vec![Expr::List(parts)])
}

fn call(name: &str, operands: Vec<Expr>) -> Expr {
    let function = FunctionId::from_name(name).expect("a built-in function");
    Expr::Call(function, operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The trails of as many rows: registers 0 and 1, 2 and 3, ...
    fn origins(rows: u16) -> Origins {
        let mut origins = Origins::default();
        for row in 0..rows {
            origins.bind(Reg(2 * row), Reg(2 * row + 1));
        }
        origins
    }

    fn row() -> Expr {
        Expr::constant(Value::Str("row"))
    }

    #[test]
    fn only_a_shipment_makes_a_trail_higher() {
        let one = origins(1);
        assert_eq!(one.trail(Through::Node).to_string(), "(list v0, (f_size v1), v1)");
        let with = r#"(f_union v1 (list "row"))"#;
        let group = format!("(list v0, (f_size {with}), {with})");
        assert_eq!(one.trail(Through::Group(row())).to_string(), group);
        let shipped = format!("(list (+ v0 1), (f_size {with}), {with})");
        assert_eq!(one.trail(Through::Shipment(row())).to_string(), shipped);
    }

    #[test]
    fn a_row_has_come_through_all_that_its_body_came_through() {
        assert_eq!(empty().to_string(), "(list 0, (f_size (list )), (list ))");
        let trail =
            "(list (f_max (f_max v0 v2) v4), (f_size (f_union v1 v3 v5)), (f_union v1 v3 v5))";
        assert_eq!(origins(3).trail(Through::Node).to_string(), trail);
    }

    #[test]
    fn lack_looks_at_the_rows_of_all_trails() {
        let Term::Filter(condition) = origins(2).lack(&row()) else { panic!("a filter") };
        assert_eq!(condition.to_string(), r#"(! (f_member (f_union v1 v3) "row"))"#);
    }
}
