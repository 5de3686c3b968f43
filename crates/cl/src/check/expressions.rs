//! Values: operators, calls, and tests of components and messages.

use tidemill_diag::Span;

use crate::ast::{self, BinaryOperator, Expr, ExprKind, Literal, UnaryOperator};
use crate::check::builtins::Builtin;
use crate::check::checker::Checker;
use crate::check::constants::{self, Failure};
use crate::check::designators::numbered;
use crate::check::names::{Found, Name};
use crate::check::types::{Limits, Shape, Type, Typed, as_real, to_real};
use crate::ir::{self, Binary, Constant, Conversion, Unary};
use crate::tree::{ByReference, Call, Expression, ExpressionKind, Place, PlaceKind, ProcedureId};

impl<'a> Checker<'a> {
    /// The value of an expression, with its type; `None` if it is in error, which is reported.
    pub(super) fn expression(&mut self, it: &Expr) -> Option<Typed> {
        let value = self.expression_inside(it)?;
        // Parentheses count.
        Some(Typed { expr: Expression { span: it.span, ..value.expr }, ..value })
    }

    fn expression_inside(&mut self, it: &Expr) -> Option<Typed> {
        let span = it.span;
        match &it.kind {
            ExprKind::Literal(literal) => Some(self::literal(literal, span)),
            ExprKind::Designator(designator) => self.designated(designator),
            ExprKind::Call(call) => self.call_or_designator(call),
            ExprKind::Unary(operator, a) => {
                let a = self.expression(a)?;
                self.unary(*operator, a, span)
            }
            ExprKind::Binary(..) => self.operations(it),
            ExprKind::Is(a, ty) => {
                let ty = self.resolve_type(ty);
                if ty.as_ref().is_some_and(|ty| !ty.is_component()) {
                    // The type of a value is known: it is not computed.
                    let is = Constant::Boolean(Some(self.expression(a)?.ty) == ty);
                    return Some(Typed::constant(is, span));
                }
                let place = self.asked_component(a, "IS tests");
                self.type_test(place?, &ty?, span)
            }
            ExprKind::Offers(a, list) => self.has_interfaces(a, list, true, span),
            ExprKind::Requires(a, list) => self.has_interfaces(a, list, false, span),
            ExprKind::Receive { from, pattern } => {
                let (party, pattern) = self.pattern(from.as_ref(), pattern, span)?;
                Some(Typed::new(ExpressionKind::Test(party, pattern), Type::Boolean, span))
            }
            ExprKind::Input { from, pattern } => {
                let (party, pattern) = self.pattern(from.as_ref(), pattern, span)?;
                Some(Typed::new(ExpressionKind::Input(party, pattern), Type::Boolean, span))
            }
            ExprKind::Exists(designator) => self.exists(designator, span),
            ExprKind::Attributed(attributes, inner) => {
                let lock = self.lock(Some(attributes));
                let inner = self.expression(inner)?;
                let ty = inner.ty.clone();
                let kind = ExpressionKind::Locked(lock?, Box::new(inner.expr));
                Some(Typed::new(kind, ty, span))
            }
            ExprKind::Error => {
                self.spoil();
                None
            }
        }
    }

    /// `a + b + c ...`: operators on their left operands, of which there may be hundreds, need no
    /// stack each.
    fn operations(&mut self, it: &Expr) -> Option<Typed> {
        let (mut operations, mut first) = (Vec::new(), it);
        while let ExprKind::Binary(operator, a, b) = &first.kind {
            operations.push((*operator, b, first.span));
            first = a;
        }
        let mut value = self.expression(first);
        for (operator, b, span) in operations.into_iter().rev() {
            value = self.operation(operator, value, b, span);
        }
        value
    }

    fn operation(
        &mut self,
        operator: BinaryOperator,
        a: Option<Typed>,
        b: &Expr,
        span: Span,
    ) -> Option<Typed> {
        let known = self.known.len();
        if let (BinaryOperator::And, Some(a)) = (operator, &a) {
            self.learn(&a.expr);
        }
        let logical = matches!(operator, BinaryOperator::And | BinaryOperator::Or);
        let b = if logical {
            // It may not be evaluated at all.
            self.unguarded(|checker| checker.expression(b))
        } else {
            self.expression(b)
        };
        self.known.truncate(known);
        let value = self.binary(operator, a?, b?, span)?;
        // Parentheses count.
        Some(Typed { expr: Expression { span, ..value.expr }, ..value })
    }

    /// A designator as a value: a variable, a constant, a function without parameters.
    fn designated(&mut self, designator: &ast::Designator) -> Option<Typed> {
        let span = designator.span;
        let Some(name) = designator.as_name() else {
            let placed = self.place(designator)?;
            return self.read(placed);
        };
        match self.find(name) {
            Found::Name(Name::Constant(id)) => {
                let value = self.constant(id);
                if value.is_none() {
                    self.spoil();
                }
                value
            }
            Found::Name(Name::Procedure(id)) => self.call_value(id, &[], span),
            Found::Nothing if Builtin::named(name).is_some() => {
                self.builtin_value(Builtin::named(name)?, &[], span)
            }
            Found::Nothing if self.find_interface(name).is_some() => {
                let message = format!("`{name}` is an interface, and that is no value");
                self.fail("type", span, message, "")
            }
            Found::Nothing => {
                self.name(name, span, "variable or constant")?;
                None
            }
            _ => {
                let placed = self.place(designator)?;
                self.read(placed)
            }
        }
    }

    /// `a(b)`: a built-in, a function, or a variable seen as a type.
    fn call_or_designator(&mut self, call: &ast::Call) -> Option<Typed> {
        let name = call.name.text.as_str();
        match self.find(name) {
            Found::Name(Name::Procedure(id)) => self.call_value(id, &call.arguments, call.span),
            Found::Name(Name::Variable(..) | Name::Local(..)) => {
                let Some(designator) = call.as_designator() else {
                    let message = format!("`{name}` is a variable and cannot be called");
                    return self.fail("type", call.span, message, "indices stand in brackets");
                };
                let placed = self.place(&designator)?;
                self.read(placed)
            }
            Found::Name(Name::Constant(_) | Name::Component(_)) => {
                let message = format!("`{name}` is no procedure");
                self.fail("type", call.span, message, "")
            }
            found => match Builtin::named(name) {
                Some(builtin) => self.builtin_value(builtin, &call.arguments, call.span),
                None => {
                    if matches!(found, Found::Nothing) && self.find_interface(name).is_some() {
                        let message = "an interface of a component is no value";
                        let help = "send with `!`, receive with `?`";
                        return self.fail("type", call.span, message, help);
                    }
                    self.name(name, call.name.span, "procedure")?;
                    None
                }
            },
        }
    }

    fn call_value(&mut self, id: ProcedureId, arguments: &[Expr], span: Span) -> Option<Typed> {
        let routine = self.procedures[id].routine;
        let name = &self.procedures[id].ast.name.text;
        if self.procedures[id].ast.result.is_none() {
            let message = format!("{name} returns nothing");
            return self.fail("type", span, message, "a function is declared with `: Type`");
        }
        if self.here.constant {
            let message = "the value of a constant must be known before the program runs";
            return self.fail("constant", span, message, "make it a VARIABLE");
        }
        let call = self.call(id, arguments, span);
        let ty = self.routines[routine].result.clone();
        if ty.is_none() {
            self.spoil();
        }
        Some(Typed::new(ExpressionKind::Call(call?), ty?, span))
    }

    /// A call with its arguments.
    pub(super) fn call(&mut self, id: ProcedureId, arguments: &[Expr], span: Span) -> Option<Call> {
        let parameters = self.tree.procedures[id].parameters.clone();
        let name = &self.procedures[id].ast.name.text;
        if parameters.len() != arguments.len() {
            let takes = numbered(parameters.len(), "argument");
            let message = format!("{name} takes {takes}, {} given", arguments.len());
            return self.fail("argument-count", span, message, "");
        }
        let routine = self.procedures[id].routine;
        let mut values = Vec::new();
        for (argument, (local, by)) in arguments.iter().zip(parameters) {
            let shape = self.routines[routine].locals[local].shape.clone();
            values.push(match (shape, by) {
                (Shape::One(ty), ByReference::No) => self.argument(argument, &ty),
                (Shape::One(ty), ByReference::Yes) => self.reference(argument, &ty),
                _ => {
                    self.spoil();
                    None
                }
            });
        }
        let arguments = values.into_iter().collect::<Option<Vec<_>>>()?;
        Some(Call { procedure: id, arguments, span })
    }

    /// An argument by value, of a call or a message: components are handed over.
    pub(super) fn argument(&mut self, argument: &Expr, ty: &Type) -> Option<Expression> {
        let value = self.expression(argument)?;
        Some(self.fitted(value, ty, "the parameter")?.expr)
    }

    fn reference(&mut self, argument: &Expr, ty: &Type) -> Option<Expression> {
        let designator = argument.as_designator();
        let is_variable = designator.as_ref().is_some_and(|it| {
            let found = self.find(it.root().0);
            matches!(found, Found::Name(Name::Variable(..) | Name::Local(..)))
        });
        let Some(designator) = designator.filter(|_| is_variable) else {
            // Errors in it are reported first.
            self.expression(argument)?;
            let message = "the argument of a VARIABLE parameter must be a variable";
            return self.fail("not-a-variable", argument.span, message, "");
        };
        let placed = self.place(&designator)?;
        let value = self.read(placed)?;
        if value.ty != *ty {
            let (want, have) = (self.an(ty), self.an(&value.ty));
            let message = format!("the VARIABLE parameter is {want}, the argument {have}");
            let help = "the argument of a VARIABLE parameter has exactly its type";
            return self.fail("type", argument.span, message, help);
        }
        Some(value.expr)
    }

    fn unary(&mut self, operator: UnaryOperator, a: Typed, span: Span) -> Option<Typed> {
        match operator {
            UnaryOperator::Plus | UnaryOperator::Minus if !a.ty.is_number() => {
                let message = format!("a sign needs a number, and this is {}", self.an(&a.ty));
                self.fail("type", span, message, "")
            }
            UnaryOperator::Plus => Some(a),
            UnaryOperator::Minus => self.one_operand(Unary::Negate, a, span),
            UnaryOperator::Not if a.ty != Type::Boolean => {
                let message = format!("~ needs a BOOLEAN, and this is {}", self.an(&a.ty));
                self.fail("type", span, message, "")
            }
            UnaryOperator::Not => self.one_operand(Unary::Not, a, span),
        }
    }

    /// An operator or function of one operand; folded if it is constant.
    pub(super) fn one_operand(&mut self, operator: Unary, a: Typed, span: Span) -> Option<Typed> {
        if let Some(folded) = a.as_constant().and_then(|a| constants::unary(operator, a)) {
            match folded {
                Ok(value) => return Some(Typed::constant(value, span)),
                Err(failure) => self.fold_failure(failure, span)?,
            }
        }
        let ty = a.ty.clone();
        Some(Typed::new(ExpressionKind::Unary(operator, Box::new(a.expr)), ty, span))
    }

    /// A conversion; folded if it is constant.
    pub(super) fn convert(
        &mut self,
        conversion: Conversion,
        a: Typed,
        span: Span,
    ) -> Option<Typed> {
        if let Some(folded) = a.as_constant().and_then(|a| constants::convert(conversion, a)) {
            match folded {
                Ok(value) => return Some(Typed::constant(value, span)),
                Err(failure) => self.fold_failure(failure, span)?,
            }
        }
        let ty = match conversion {
            Conversion::IntegerToReal => Type::Real,
            Conversion::IntegerToCharacter => Type::Character,
            _ => Type::Integer,
        };
        Some(Typed::new(ExpressionKind::Convert(conversion, Box::new(a.expr)), ty, span))
    }

    /// In a constant an operation without value is an error; elsewhere it is a fault, should it
    /// ever be reached.
    fn fold_failure(&mut self, failure: Failure, span: Span) -> Option<()> {
        if self.here.constant {
            self.fail("constant", span, failure.message(), "")
        } else {
            Some(())
        }
    }

    fn binary(
        &mut self,
        operator: BinaryOperator,
        a: Typed,
        b: Typed,
        span: Span,
    ) -> Option<Typed> {
        use BinaryOperator as Op;
        match operator {
            Op::And | Op::Or => self.logical(operator, a, b, span),
            Op::Div | Op::Mod => {
                for side in [&a, &b] {
                    if side.ty != Type::Integer {
                        let (symbol, ty) = (operator.symbol(), self.an(&side.ty));
                        let message = format!("{symbol} needs INTEGER operands, and this is {ty}");
                        let help = match side.ty {
                            Type::Real => "`/` divides REAL; INTEGER(...) rounds down",
                            _ => "",
                        };
                        return self.fail("type", side.expr.span, message, help);
                    }
                }
                self.two_operands(operator, a, b, Type::Integer, span)
            }
            Op::Add | Op::Subtract | Op::Multiply | Op::Divide => {
                for side in [&a, &b] {
                    if !side.ty.is_number() {
                        let (symbol, ty) = (operator.symbol(), self.an(&side.ty));
                        let message = format!("{symbol} needs numbers, and this is {ty}");
                        let help = match side.ty {
                            Type::Text => "texts are built character by character",
                            Type::Character => "INTEGER(...) gives its code",
                            _ => "",
                        };
                        return self.fail("type", side.expr.span, message, help);
                    }
                }
                let real = operator == Op::Divide || a.ty != b.ty || a.ty == Type::Real;
                if real {
                    let (a, b) = (as_real(a), as_real(b));
                    self.two_operands(operator, a, b, Type::Real, span)
                } else {
                    self.two_operands(operator, a, b, Type::Integer, span)
                }
            }
            _ => self.comparison(operator, a, b, span),
        }
    }

    fn logical(
        &mut self,
        operator: BinaryOperator,
        a: Typed,
        b: Typed,
        span: Span,
    ) -> Option<Typed> {
        for side in [&a, &b] {
            if side.ty != Type::Boolean {
                let (symbol, ty) = (operator.symbol(), self.an(&side.ty));
                let message = format!("{symbol} needs BOOLEAN operands, and this is {ty}");
                let help = "comparisons bind weaker than AND and OR: write `(a = b) AND (c < d)`";
                return self.fail("type", side.expr.span, message, help);
            }
        }
        if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant())
            && let Some(Ok(value)) = constants::binary(operator, x, y)
        {
            return Some(Typed::constant(value, span));
        }
        let (a, b) = (Box::new(a.expr), Box::new(b.expr));
        let kind = match operator {
            BinaryOperator::And => ExpressionKind::And(a, b),
            _ => ExpressionKind::Or(a, b),
        };
        Some(Typed::new(kind, Type::Boolean, span))
    }

    fn comparison(
        &mut self,
        operator: BinaryOperator,
        a: Typed,
        b: Typed,
        span: Span,
    ) -> Option<Typed> {
        let (x, y) = (a.ty.clone(), b.ty.clone());
        if x.is_component() || y.is_component() {
            let message = "components cannot be compared";
            return self.fail(
                "type",
                span,
                message,
                "IS tests the type, EXISTS whether there is one",
            );
        }
        let (a, b) = match (&x, &y) {
            (Type::Integer, Type::Real) => (to_real(a), b),
            (Type::Real, Type::Integer) => (a, to_real(b)),
            (Type::Text, Type::Character) => compared(a, b),
            (Type::Character, Type::Text) => {
                let (b, a) = compared(b, a);
                (a, b)
            }
            (x, y) if x == y => (a, b),
            (x, y) => {
                let (x, y) = (self.an(x), self.an(y));
                let message = format!("{x} and {y} cannot be compared");
                return self.fail("type", span, message, "");
            }
        };
        let equality = matches!(operator, BinaryOperator::Equal | BinaryOperator::NotEqual);
        if a.ty == Type::Boolean && !equality {
            let message = format!("BOOLEAN has no order, so {} has no meaning", operator.symbol());
            return self.fail("type", span, message, "= and # compare BOOLEAN values");
        }
        if let (ExpressionKind::Text(x), ExpressionKind::Text(y)) = (&a.expr.kind, &b.expr.kind) {
            let order = until_zero(x).cmp(until_zero(y)) as i64;
            let (order, zero) = (Constant::Integer(order), Constant::Integer(0));
            if let Some(Ok(value)) = constants::binary(operator, order, zero) {
                return Some(Typed::constant(value, span));
            }
        }
        self.two_operands(operator, a, b, Type::Boolean, span)
    }

    fn two_operands(
        &mut self,
        operator: BinaryOperator,
        a: Typed,
        b: Typed,
        ty: Type,
        span: Span,
    ) -> Option<Typed> {
        if let (Some(x), Some(y)) = (a.as_constant(), b.as_constant())
            && let Some(folded) = constants::binary(operator, x, y)
        {
            match folded {
                Ok(value) => return Some(Typed::constant(value, span)),
                Err(failure) => self.fold_failure(failure, span)?,
            }
        }
        let operator = lowered(operator)?;
        let kind = ExpressionKind::Binary(operator, Box::new(a.expr), Box::new(b.expr));
        Some(Typed::new(kind, ty, span))
    }

    /// The component that a test is about.
    pub(super) fn asked_component(&mut self, it: &Expr, what: &str) -> Option<Place> {
        match it.as_designator() {
            Some(designator) => Some(self.component_place(&designator, what)?.0),
            None => {
                let message = format!("{what} components in variables");
                self.fail("type", it.span, message, "")
            }
        }
    }

    /// `place IS ty`.
    pub(super) fn type_test(&mut self, place: Place, ty: &Type, span: Span) -> Option<Typed> {
        let has = |place: Place, offered, interfaces: Vec<Limits>| {
            Typed::new(ExpressionKind::Has { place, offered, interfaces }, Type::Boolean, span)
        };
        match ty {
            Type::Component(id) => {
                Some(Typed::new(ExpressionKind::Is(place, *id), Type::Boolean, span))
            }
            Type::Any(any) if any.requires.is_empty() && any.offers.is_empty() => {
                Some(Typed::new(ExpressionKind::Exists(place), Type::Boolean, span))
            }
            Type::Any(any) if any.requires.is_empty() => Some(has(place, true, any.offers.clone())),
            Type::Any(any) if any.offers.is_empty() => {
                Some(has(place, false, any.requires.clone()))
            }
            Type::Any(any) => {
                let offered = has(place.clone(), true, any.offers.clone()).expr;
                let required = has(place, false, any.requires.clone()).expr;
                let both = ExpressionKind::And(Box::new(offered), Box::new(required));
                Some(Typed::new(both, Type::Boolean, span))
            }
            _ => None,
        }
    }

    fn has_interfaces(
        &mut self,
        a: &Expr,
        list: &[ast::InterfaceDeclaration],
        offered: bool,
        span: Span,
    ) -> Option<Typed> {
        let what = if offered { "OFFERS asks" } else { "REQUIRES asks" };
        let place = self.asked_component(a, what);
        let interfaces = self.limits(list);
        let kind = ExpressionKind::Has { place: place?, offered, interfaces: interfaces? };
        Some(Typed::new(kind, Type::Boolean, span))
    }

    fn exists(&mut self, designator: &ast::Designator, span: Span) -> Option<Typed> {
        let placed = self.place(designator)?;
        let is_element = match &placed.place.kind {
            PlaceKind::Element { base, .. } => {
                matches!(base.storage, ir::Storage::Collection { .. })
            }
            _ => false,
        };
        match &placed.shape {
            Shape::One(ty) if ty.is_component() || is_element => {
                let kind = ExpressionKind::Exists(placed.place);
                Some(Typed::new(kind, Type::Boolean, span))
            }
            Shape::One(ty) => {
                let message = format!("this is {}, which always exists", self.an(ty));
                let help = "EXISTS is for components and elements of collections";
                self.fail("type", designator.span, message, help)
            }
            _ => {
                let message = "EXISTS is for components and elements of collections";
                self.fail("type", designator.span, message, "name an element with its index")
            }
        }
    }

    /// Does work that requires no test before the statement: what it checks is evaluated later, or
    /// not at all.
    pub(super) fn unguarded<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let guards = self.guards.len();
        let result = work(self);
        self.guards.truncate(guards);
        result
    }

    /// A condition: a BOOLEAN.
    pub(super) fn condition(&mut self, it: &Expr, of: &str) -> Option<Expression> {
        let value = self.expression(it)?;
        Some(self.fitted(value, &Type::Boolean, &format!("the condition of {of}"))?.expr)
    }
}

fn literal(literal: &Literal, span: Span) -> Typed {
    let value = match literal {
        Literal::Integer(value) => Constant::Integer(*value),
        Literal::Real(value) => Constant::Real(*value),
        Literal::Character(value) => Constant::Character(*value),
        Literal::Boolean(value) => Constant::Boolean(*value),
        Literal::Text(text) => {
            return Typed::new(ExpressionKind::Text(text.as_bytes().into()), Type::Text, span);
        }
    };
    Typed::constant(value, span)
}

/// A text and the CHARACTER that it is compared with, as values of one type: the character is a
/// text of one, unless the text is known to be a character.
fn compared(text: Typed, character: Typed) -> (Typed, Typed) {
    if let Some(byte) = text.as_character() {
        return (Typed::constant(Constant::Character(byte), text.expr.span), character);
    }
    let span = character.expr.span;
    let kind = match character.as_constant() {
        Some(Constant::Character(byte)) => ExpressionKind::Text([byte].into()),
        _ => ExpressionKind::TextOf(Box::new(character.expr)),
    };
    (text, Typed::new(kind, Type::Text, span))
}

/// What of a text is compared.
fn until_zero(text: &[u8]) -> &[u8] {
    text.split(|byte| *byte == 0).next().unwrap_or(text)
}

fn lowered(operator: BinaryOperator) -> Option<Binary> {
    Some(match operator {
        BinaryOperator::Equal => Binary::Equal,
        BinaryOperator::NotEqual => Binary::NotEqual,
        BinaryOperator::Less => Binary::Less,
        BinaryOperator::LessEqual => Binary::LessEqual,
        BinaryOperator::Greater => Binary::Greater,
        BinaryOperator::GreaterEqual => Binary::GreaterEqual,
        BinaryOperator::Add => Binary::Add,
        BinaryOperator::Subtract => Binary::Subtract,
        BinaryOperator::Multiply => Binary::Multiply,
        BinaryOperator::Divide => Binary::Divide,
        BinaryOperator::Div => Binary::Div,
        BinaryOperator::Mod => Binary::Mod,
        BinaryOperator::And | BinaryOperator::Or => return None,
    })
}
