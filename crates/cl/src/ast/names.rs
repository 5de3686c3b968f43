//! The names that a value is computed from, anywhere in it.

use super::{Argument, Designator, DesignatorKind, Expr, ExprKind};

impl Expr {
    /// Calls `see` with each name that may denote a value: of constants, variables and procedures,
    /// and of types where these look the same.
    pub fn for_each_name<'e>(&'e self, see: &mut dyn FnMut(&'e str)) {
        match &self.kind {
            ExprKind::Literal(_) | ExprKind::Error => {}
            ExprKind::Designator(it) | ExprKind::Exists(it) => it.for_each_name(see),
            ExprKind::Call(call) => {
                see(&call.name.text);
                call.arguments.iter().for_each(|argument| argument.for_each_name(see));
            }
            ExprKind::Binary(_, a, b) => {
                a.for_each_name(see);
                b.for_each_name(see);
            }
            ExprKind::Unary(_, a)
            | ExprKind::Is(a, _)
            | ExprKind::Offers(a, _)
            | ExprKind::Requires(a, _)
            | ExprKind::Attributed(_, a) => a.for_each_name(see),
            ExprKind::Receive { from, .. } | ExprKind::Input { from, .. } => {
                from.iter().for_each(|from| from.for_each_name(see));
            }
        }
    }
}

impl Designator {
    fn for_each_name<'e>(&'e self, see: &mut dyn FnMut(&'e str)) {
        match &self.kind {
            DesignatorKind::Name(name) => see(name),
            DesignatorKind::Index { base, indices } => {
                base.for_each_name(see);
                indices.iter().for_each(|index| index.for_each_name(see));
            }
            DesignatorKind::Of { base, argument } => {
                base.for_each_name(see);
                if let Argument::Designator(argument) = &**argument {
                    argument.for_each_name(see);
                }
            }
        }
    }
}
