//! The types that an expression may have, by the result types of its operators.

use tidemill_relation::TypeSet;
use tidemill_relation::expr::{Expr, Reg};

use crate::check::literals::param_type;

/// The types of an expression, from those of its variables.
pub(crate) fn type_of_expr(expr: &Expr, type_of: &dyn Fn(Reg) -> TypeSet) -> TypeSet {
    let of = |expr: &Expr| type_of_expr(expr, type_of);
    match expr {
        Expr::Const(value) => TypeSet::of(value.get().type_of()),
        Expr::Reg(reg) => type_of(*reg),
        Expr::Param(param) => param_type(*param),
        Expr::Unary(operator, operand) => operator.result_type(of(operand)).unwrap_or(TypeSet::ANY),
        Expr::Binary(operator, operands) => {
            operator.result_type(of(&operands[0]), of(&operands[1])).unwrap_or(TypeSet::ANY)
        }
        Expr::And(_) | Expr::Or(_) | Expr::In { .. } => TypeSet::BOOL,
        Expr::If(branches) => of(&branches[1]).union(of(&branches[2])),
        Expr::Call(function, operands) => {
            let types: Vec<TypeSet> = operands.iter().map(of).collect();
            function.result_type(&types).unwrap_or(TypeSet::ANY)
        }
        Expr::List(_) => TypeSet::LIST,
        Expr::Matrix(_) => TypeSet::MATRIX,
    }
}
