//! Constants: folded on demand, so that their order does not matter. What a constant needs is
//! folded before it, from a list of work and not by recursion: a chain may be of any length.

use tidemill_diag::Diagnostic;

use crate::ast::BinaryOperator;
use crate::check::checker::Checker;
use crate::check::info::{ConstantInfo, ConstantState};
use crate::check::names::{ConstantId, Found, Name};
use crate::check::types::Typed;
use crate::ir::{Constant, Conversion, Unary};
use crate::tree::ExpressionKind;

/// Why an operation on constants has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// INTEGER arithmetic.
    Overflow,
    /// DIV, MOD, `/`.
    Division,
    /// No CHARACTER, no INTEGER.
    Conversion,
}

impl Failure {
    /// As a sentence.
    pub(super) fn message(self) -> &'static str {
        match self {
            Failure::Overflow => "the result does not fit INTEGER",
            Failure::Division => "division by zero",
            Failure::Conversion => "the value does not fit the type",
        }
    }
}

impl<'a> Checker<'a> {
    /// The value of a constant; `None` if it is in error, which has been reported.
    pub(super) fn constant(&mut self, id: ConstantId) -> Option<Typed> {
        match &self.constants[id].state {
            ConstantState::Done(value) => value.clone(),
            ConstantState::Busy => {
                let name = &self.constants[id].ast.name;
                let message = format!("the value of `{}` needs itself", name.text);
                let error = Diagnostic::error("constant", name.span, message);
                self.constants[id].state = ConstantState::Done(None);
                self.report(error.help("constants that need each other have no value"));
                None
            }
            ConstantState::New => self.fold_in_order(id),
        }
    }

    /// Folds a constant after all that it needs. One that needs itself is still busy when what it
    /// needs is folded, which is how a cycle is found.
    fn fold_in_order(&mut self, id: ConstantId) -> Option<Typed> {
        let mut value = None;
        let mut path = vec![(id, self.begin(id))];
        while let Some((constant, needed)) = path.last_mut() {
            let constant = *constant;
            match needed.pop() {
                Some(next) if matches!(self.constants[next].state, ConstantState::New) => {
                    path.push((next, self.begin(next)));
                }
                Some(_) => {}
                None => {
                    value = self.fold(constant);
                    path.pop();
                }
            }
        }
        value
    }

    /// Marks a constant as busy and returns the constants that it names, the first one last.
    fn begin(&mut self, id: ConstantId) -> Vec<ConstantId> {
        let ConstantInfo { ast, here, .. } = self.constants[id];
        self.constants[id].state = ConstantState::Busy;
        let outer = std::mem::replace(&mut self.here, here);
        let mut needed = Vec::new();
        ast.value.for_each_name(&mut |name| {
            if let Found::Name(Name::Constant(other)) = self.find(name) {
                needed.push(other);
            }
        });
        self.here = outer;
        needed.reverse();
        needed
    }

    /// Folds a constant all of whose parts are done, but for those that need it.
    fn fold(&mut self, id: ConstantId) -> Option<Typed> {
        let ConstantInfo { ast, here, .. } = self.constants[id];
        let outer = std::mem::replace(&mut self.here, here);
        let mut value = self.expression(&ast.value);
        if let Some(found) = &value
            && !matches!(found.expr.kind, ExpressionKind::Constant(_) | ExpressionKind::Text(_))
        {
            let message = "the value of a constant must be known before the program runs";
            value = self.fail("constant", ast.value.span, message, "make it a VARIABLE");
        }
        self.here = outer;
        if matches!(self.constants[id].state, ConstantState::Done(None)) {
            value = None;
        }
        self.constants[id].state = ConstantState::Done(value.clone());
        value
    }
}

/// The value of an operation on two constants of one type.
pub(super) fn binary(
    operator: BinaryOperator,
    a: Constant,
    b: Constant,
) -> Option<Result<Constant, Failure>> {
    use BinaryOperator as Op;
    use Constant::{Boolean, Character, Integer, Real};
    if operator.is_comparison() {
        return comparison(operator, a, b).map(|it| Ok(Boolean(it)));
    }
    let integer = |value: Option<i64>| Some(value.map(Integer).ok_or(Failure::Overflow));
    match (operator, a, b) {
        (Op::Add, Integer(a), Integer(b)) => integer(a.checked_add(b)),
        (Op::Subtract, Integer(a), Integer(b)) => integer(a.checked_sub(b)),
        (Op::Multiply, Integer(a), Integer(b)) => integer(a.checked_mul(b)),
        (Op::Div | Op::Mod, Integer(_), Integer(0)) => Some(Err(Failure::Division)),
        (Op::Div, Integer(a), Integer(b)) => integer(floored(a, b).map(|it| it.0)),
        (Op::Mod, Integer(a), Integer(b)) => integer(Some(floored(a, b).map_or(0, |it| it.1))),
        (Op::Add, Real(a), Real(b)) => Some(Ok(Real(a + b))),
        (Op::Subtract, Real(a), Real(b)) => Some(Ok(Real(a - b))),
        (Op::Multiply, Real(a), Real(b)) => Some(Ok(Real(a * b))),
        (Op::Divide, Real(_), Real(0.0)) => Some(Err(Failure::Division)),
        (Op::Divide, Real(a), Real(b)) => Some(Ok(Real(a / b))),
        (Op::And, Boolean(a), Boolean(b)) => Some(Ok(Boolean(a && b))),
        (Op::Or, Boolean(a), Boolean(b)) => Some(Ok(Boolean(a || b))),
        (_, Character(_), Character(_)) => None,
        _ => None,
    }
}

/// Quotient and remainder, the quotient rounded down; `None` if it does not fit.
fn floored(a: i64, b: i64) -> Option<(i64, i64)> {
    let (quotient, remainder) = (a.checked_div(b)?, a.checked_rem(b)?);
    if remainder != 0 && (remainder < 0) != (b < 0) {
        Some((quotient - 1, remainder + b))
    } else {
        Some((quotient, remainder))
    }
}

fn comparison(operator: BinaryOperator, a: Constant, b: Constant) -> Option<bool> {
    use Constant::{Boolean, Character, Integer, Real};
    let order = match (a, b) {
        (Integer(a), Integer(b)) => a.cmp(&b),
        // No constant is NaN: literals are finite, and division by zero has no value.
        (Real(a), Real(b)) => a.partial_cmp(&b)?,
        (Boolean(a), Boolean(b)) => a.cmp(&b),
        (Character(a), Character(b)) => a.cmp(&b),
        _ => return None,
    };
    Some(match operator {
        BinaryOperator::Equal => order.is_eq(),
        BinaryOperator::NotEqual => order.is_ne(),
        BinaryOperator::Less => order.is_lt(),
        BinaryOperator::LessEqual => order.is_le(),
        BinaryOperator::Greater => order.is_gt(),
        BinaryOperator::GreaterEqual => order.is_ge(),
        _ => return None,
    })
}

/// The value of an operation on one constant.
pub(super) fn unary(operator: Unary, a: Constant) -> Option<Result<Constant, Failure>> {
    match (operator, a) {
        (Unary::Negate, Constant::Integer(a)) => {
            Some(a.checked_neg().map(Constant::Integer).ok_or(Failure::Overflow))
        }
        (Unary::Negate, Constant::Real(a)) => Some(Ok(Constant::Real(-a))),
        (Unary::Not, Constant::Boolean(a)) => Some(Ok(Constant::Boolean(!a))),
        (Unary::SquareRoot, Constant::Real(a)) if a >= 0.0 => Some(Ok(Constant::Real(a.sqrt()))),
        _ => None,
    }
}

/// A constant as another type.
pub(super) fn convert(conversion: Conversion, a: Constant) -> Option<Result<Constant, Failure>> {
    Some(match (conversion, a) {
        (Conversion::IntegerToReal, Constant::Integer(a)) => Ok(Constant::Real(a as f64)),
        (Conversion::RealToInteger, Constant::Real(a)) => {
            let floor = a.floor();
            // 2^63 is the first REAL that is too large; -2^63 is an INTEGER.
            let limit = -(i64::MIN as f64);
            if (-limit..limit).contains(&floor) {
                Ok(Constant::Integer(floor as i64))
            } else {
                Err(Failure::Conversion)
            }
        }
        (Conversion::CharacterToInteger, Constant::Character(a)) => {
            Ok(Constant::Integer(i64::from(a)))
        }
        (Conversion::IntegerToCharacter, Constant::Integer(a)) => {
            u8::try_from(a).map(Constant::Character).map_err(|_| Failure::Conversion)
        }
        _ => return None,
    })
}
