//! The procedures and functions of the language: one table, and what each takes.

use tidemill_diag::Span;

use crate::ast::Expr;
use crate::check::checker::Checker;
use crate::check::designators::numbered;
use crate::check::names::{Found, Name};
use crate::check::types::{Shape, Type, Typed, as_real};
use crate::ir::{Constant, Conversion, Unary};
use crate::tree::{ExpressionKind, Statement};

macro_rules! builtins {
    ($($name:literal $variant:ident $least:literal $most:literal $is:ident $help:literal)+) => {
        /// A procedure or function of the language.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(super) enum Builtin {
            $(#[doc = $help] $variant,)+
        }

        impl Builtin {
            /// The one of this name.
            pub(super) fn named(name: &str) -> Option<Builtin> {
                match name {
                    $($name => Some(Builtin::$variant),)+
                    _ => None,
                }
            }

            /// All names.
            pub(super) fn names() -> impl Iterator<Item = &'static str> {
                [$($name),+].into_iter()
            }

            /// Its name, how many arguments it takes, what it is, how it is written.
            fn describe(self) -> (&'static str, usize, usize, Is, &'static str) {
                match self {
                    $(Builtin::$variant => ($name, $least, $most, Is::$is, $help),)+
                }
            }
        }
    };
}

/// Whether it has a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Is {
    Procedure,
    Function,
}

builtins! {
    "WRITE" Write 1 1 Procedure "WRITE(text | integer | real | character | boolean)"
    "WRITELINE" WriteLine 0 0 Procedure "WRITELINE"
    "WRITEHEX" WriteHex 1 1 Procedure "WRITEHEX(integer)"
    "INC" Inc 1 2 Procedure "INC(variable) or INC(variable, integer)"
    "DEC" Dec 1 2 Procedure "DEC(variable) or DEC(variable, integer)"
    "HALT" Halt 1 1 Procedure "HALT(integer)"
    "ASSERT" Assert 1 2 Procedure "ASSERT(boolean) or ASSERT(boolean, integer)"
    "PASSIVATE" Passivate 1 1 Procedure "PASSIVATE(integer)"
    "INTEGER" Integer 1 1 Function "INTEGER(integer | real | character | text)"
    "REAL" Real 1 1 Function "REAL(integer | real | text)"
    "CHARACTER" Character 1 1 Function "CHARACTER(integer | character | text)"
    "TEXT" Text 1 1 Function "TEXT(text | integer | real | character | boolean)"
    "LENGTH" Length 1 2 Function "LENGTH(text), LENGTH(array) or LENGTH(array, dimension)"
    "MIN" Min 1 1 Function "MIN(INTEGER) or MIN(REAL)"
    "MAX" Max 1 1 Function "MAX(INTEGER) or MAX(REAL)"
    "TERMINATED" Terminated 0 0 Function "TERMINATED()"
    "COUNT" Count 1 1 Function "COUNT(interface)"
    "FAILED" Failed 1 1 Function "FAILED(component)"
    "RANDOM" Random 2 2 Function "RANDOM(low, high), both of them included"
    "SIN" Sine 1 1 Function "SIN(real)"
    "COS" Cosine 1 1 Function "COS(real)"
    "TAN" Tangent 1 1 Function "TAN(real)"
    "ARCSIN" ArcSine 1 1 Function "ARCSIN(real)"
    "ARCCOS" ArcCosine 1 1 Function "ARCCOS(real)"
    "ARCTAN" ArcTangent 1 1 Function "ARCTAN(real)"
    "SQRT" SquareRoot 1 1 Function "SQRT(real)"
    "PI" Pi 0 0 Function "PI"
    "TIME" Time 0 0 Function "TIME"
}

impl<'a> Checker<'a> {
    fn builtin_count(&mut self, it: Builtin, count: usize, span: Span) -> Option<()> {
        let (name, least, most, _, help) = it.describe();
        if (least..=most).contains(&count) {
            return Some(());
        }
        let takes = if least == most {
            numbered(least, "argument")
        } else {
            format!("{least} or {}", numbered(most, "argument"))
        };
        let message = format!("{name} takes {takes}, {count} given");
        self.fail("argument-count", span, message, &format!("it is written {help}"))
    }

    /// One argument of a type, or an error that shows how the built-in is written.
    fn taken(&mut self, it: Builtin, argument: &Expr, ty: &Type) -> Option<Typed> {
        let value = self.expression(argument)?;
        let have = value.ty.clone();
        let fitted = self.fit(value, ty);
        if fitted.is_none() {
            return self.wrong_argument(it, &have, argument.span);
        }
        fitted
    }

    fn wrong_argument<T>(&mut self, it: Builtin, have: &Type, span: Span) -> Option<T> {
        let (name, .., help) = it.describe();
        let message = format!("{name} does not take {} here", self.an(have));
        self.fail("type", span, message, &format!("it is written {help}"))
    }

    /// A built-in as a statement.
    pub(super) fn builtin_statement(
        &mut self,
        it: Builtin,
        arguments: &[Expr],
        span: Span,
    ) -> Option<Statement> {
        let (name, _, _, is, _) = it.describe();
        if is == Is::Function {
            let message = format!("the result of {name} is not used");
            return self.fail("type", span, message, "");
        }
        self.builtin_count(it, arguments.len(), span)?;
        Some(match it {
            Builtin::Write => {
                let value = self.expression(&arguments[0])?;
                if value.ty.is_component() {
                    return self.wrong_argument(it, &value.ty, arguments[0].span);
                }
                Statement::Write(value.expr)
            }
            Builtin::WriteLine => Statement::WriteLine,
            Builtin::WriteHex => {
                Statement::WriteHex(self.taken(it, &arguments[0], &Type::Integer)?.expr)
            }
            Builtin::Inc | Builtin::Dec => return self.step(it, arguments, span),
            Builtin::Halt => Statement::Halt(self.taken(it, &arguments[0], &Type::Integer)?.expr),
            Builtin::Assert => {
                let condition = self.taken(it, &arguments[0], &Type::Boolean);
                let code = match arguments.get(1) {
                    Some(code) => Some(self.taken(it, code, &Type::Integer)?.expr),
                    None => None,
                };
                Statement::Assert { condition: condition?.expr, code }
            }
            Builtin::Passivate => {
                Statement::Passivate(self.taken(it, &arguments[0], &Type::Integer)?.expr)
            }
            _ => return None,
        })
    }

    fn step(&mut self, it: Builtin, arguments: &[Expr], span: Span) -> Option<Statement> {
        let Some(designator) = arguments[0].as_designator() else {
            let message = format!("{} changes a variable", it.describe().0);
            return self.fail("not-a-variable", arguments[0].span, message, "");
        };
        let target = self.place(&designator)?;
        match &target.shape {
            Shape::One(Type::Integer) => {}
            Shape::One(ty) => {
                let ty = ty.clone();
                return self.wrong_argument(it, &ty, arguments[0].span);
            }
            _ => {
                self.read(target)?;
                return None;
            }
        }
        let by = match arguments.get(1) {
            Some(by) => self.taken(it, by, &Type::Integer)?.expr,
            None => Typed::constant(Constant::Integer(1), span).expr,
        };
        Some(Statement::Add { target: target.place, by, subtract: it == Builtin::Dec })
    }

    /// A built-in as a value.
    pub(super) fn builtin_value(
        &mut self,
        it: Builtin,
        arguments: &[Expr],
        span: Span,
    ) -> Option<Typed> {
        let (name, _, _, is, _) = it.describe();
        if is == Is::Procedure {
            let message = format!("{name} returns nothing");
            return self.fail("type", span, message, "");
        }
        self.builtin_count(it, arguments.len(), span)?;
        match it {
            Builtin::Integer | Builtin::Real | Builtin::Character | Builtin::Text => {
                let value = self.expression(&arguments[0])?;
                self.conversion(it, value, arguments[0].span, span)
            }
            Builtin::Length => self.length(it, arguments, span),
            Builtin::Min | Builtin::Max => self.limit_of(it, &arguments[0], span),
            Builtin::Terminated => {
                Some(Typed::new(ExpressionKind::Terminated, Type::Boolean, span))
            }
            Builtin::Time => Some(Typed::new(ExpressionKind::Time, Type::Integer, span)),
            Builtin::Pi => Some(Typed::constant(Constant::Real(std::f64::consts::PI), span)),
            Builtin::Count => self.count(&arguments[0], span),
            Builtin::Failed => {
                let place = self.asked_component(&arguments[0], "FAILED asks about")?;
                Some(Typed::new(ExpressionKind::Failed(place), Type::Boolean, span))
            }
            Builtin::Random => {
                let low = self.taken(it, &arguments[0], &Type::Integer);
                let high = self.taken(it, &arguments[1], &Type::Integer)?.expr;
                let kind = ExpressionKind::Random(Box::new(low?.expr), Box::new(high));
                Some(Typed::new(kind, Type::Integer, span))
            }
            _ => {
                let argument = self.taken(it, &arguments[0], &Type::Real)?;
                self.one_operand(function(it)?, as_real(argument), span)
            }
        }
    }

    fn conversion(&mut self, it: Builtin, value: Typed, at: Span, span: Span) -> Option<Typed> {
        // A constant text of one character is a CHARACTER, of a digit too.
        let value = match (it, value.as_character()) {
            (Builtin::Integer, Some(byte)) => Typed::constant(Constant::Character(byte), at),
            _ => value,
        };
        let inner = Box::new(value.expr.clone());
        match (it, &value.ty) {
            (Builtin::Integer, Type::Integer)
            | (Builtin::Real, Type::Real)
            | (Builtin::Character, Type::Character)
            | (Builtin::Text, Type::Text) => Some(value),
            (Builtin::Integer, Type::Real) => self.convert(Conversion::RealToInteger, value, span),
            (Builtin::Integer, Type::Character) => {
                self.convert(Conversion::CharacterToInteger, value, span)
            }
            (Builtin::Integer, Type::Text) => {
                Some(Typed::new(ExpressionKind::TextNumber(inner), Type::Integer, span))
            }
            (Builtin::Real, Type::Integer) => self.convert(Conversion::IntegerToReal, value, span),
            (Builtin::Real, Type::Text) => {
                Some(Typed::new(ExpressionKind::TextNumber(inner), Type::Real, span))
            }
            (Builtin::Character, Type::Integer) => {
                self.convert(Conversion::IntegerToCharacter, value, span)
            }
            (Builtin::Character, Type::Text) => Some(match value.as_character() {
                Some(byte) => Typed::constant(Constant::Character(byte), span),
                None => Typed::new(ExpressionKind::CharacterOf(inner), Type::Character, span),
            }),
            (Builtin::Text, Type::Integer | Type::Real | Type::Character | Type::Boolean) => {
                Some(Typed::new(ExpressionKind::TextOf(inner), Type::Text, span))
            }
            (_, ty) => {
                let ty = ty.clone();
                self.wrong_argument(it, &ty, at)
            }
        }
    }

    fn length(&mut self, it: Builtin, arguments: &[Expr], span: Span) -> Option<Typed> {
        let designator = arguments[0].as_designator();
        if let Some(designator) = designator.filter(|it| self.is_whole_array(it)) {
            let placed = self.place(&designator)?;
            let Shape::Array(_, dimensions) = placed.shape else { return None };
            let dimension = match arguments.get(1) {
                Some(argument) => self.dimension(it, argument, dimensions)?,
                None => 0,
            };
            let kind = ExpressionKind::ArrayLength(placed.place, dimension);
            return Some(Typed::new(kind, Type::Integer, span));
        }
        let value = self.taken(it, &arguments[0], &Type::Text)?;
        if let Some(second) = arguments.get(1) {
            let message = "a text has no dimensions";
            return self.fail("argument-count", second.span, message, "write LENGTH(text)");
        }
        let kind = ExpressionKind::TextLength(Box::new(value.expr));
        Some(Typed::new(kind, Type::Integer, span))
    }

    fn is_whole_array(&self, designator: &crate::ast::Designator) -> bool {
        let Some(name) = designator.as_name() else { return false };
        let shape = match self.find(name) {
            Found::Name(Name::Variable(component, id)) => {
                &self.components[component].variables[id].shape
            }
            Found::Name(Name::Local(routine, id)) => &self.routines[routine].locals[id].shape,
            _ => return false,
        };
        matches!(shape, Shape::Array(..))
    }

    /// A constant, counted from 0.
    fn dimension(&mut self, it: Builtin, argument: &Expr, dimensions: u8) -> Option<u8> {
        let value = self.taken(it, argument, &Type::Integer)?;
        let Some(number) = value.as_integer() else {
            let message = "the dimension must be known before the program runs";
            return self.fail("constant", argument.span, message, "it is counted from 0");
        };
        match u8::try_from(number).ok().filter(|it| *it < dimensions) {
            Some(number) => Some(number),
            None => {
                let has = numbered(usize::from(dimensions), "dimension");
                let message = format!("the array has {has}, so there is none of number {number}");
                self.fail("index", argument.span, message, "they are counted from 0")
            }
        }
    }

    fn limit_of(&mut self, it: Builtin, argument: &Expr, span: Span) -> Option<Typed> {
        let designator = argument.as_designator();
        let value = match designator.as_ref().and_then(|it| it.as_name()) {
            Some("INTEGER") if it == Builtin::Min => Constant::Integer(i64::MIN),
            Some("INTEGER") => Constant::Integer(i64::MAX),
            Some("REAL") if it == Builtin::Min => Constant::Real(f64::MIN),
            Some("REAL") => Constant::Real(f64::MAX),
            _ => {
                let (name, .., help) = it.describe();
                let message = format!("{name} takes INTEGER or REAL");
                return self.fail("type", argument.span, message, &format!("it is written {help}"));
            }
        };
        Some(Typed::constant(value, span))
    }
}

fn function(it: Builtin) -> Option<Unary> {
    Some(match it {
        Builtin::Sine => Unary::Sine,
        Builtin::Cosine => Unary::Cosine,
        Builtin::Tangent => Unary::Tangent,
        Builtin::ArcSine => Unary::ArcSine,
        Builtin::ArcCosine => Unary::ArcCosine,
        Builtin::ArcTangent => Unary::ArcTangent,
        Builtin::SquareRoot => Unary::SquareRoot,
        _ => return None,
    })
}
