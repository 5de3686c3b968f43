//! The text form of the parts of a program: each knows how it is written and read.
//!
//! Words are separated by spaces, lists are in brackets, a missing part is `-`.

use tidemill_diag::text::ir::{IrReader as Reader, Read};
use tidemill_diag::{FileId, Span};
use tidemill_stdx::id::Id;

use crate::ir::{
    Access, Argument, Binary, BlockId, ComponentId, Constant, Conversion, Direction, FunctionId,
    Guard, InterfaceId, Key, LocalId, MessageId, Parameter, Party, Pattern, Payload, Place, Port,
    Reason, Register, Storage, TextId, Type, Unary, VariableId, Written,
};

/// A type with a text form.
pub trait Form: Sized {
    /// Appends the text form.
    fn write(&self, out: &mut String);

    /// Reads it back.
    ///
    /// # Errors
    /// If the next word is something else.
    fn read(reader: &mut Reader) -> Read<Self>;
}

/// A name in quotes.
pub(super) fn quoted_name(reader: &mut Reader) -> Read<String> {
    let bytes = reader.quoted()?;
    String::from_utf8(bytes).or_else(|_| reader.fail("a name is not UTF-8"))
}

impl<T: Form> Form for Vec<T> {
    fn write(&self, out: &mut String) {
        out.push('[');
        for (index, item) in self.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            item.write(out);
        }
        out.push(']');
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        reader.expect("[")?;
        let mut items = Vec::new();
        while !reader.eat("]") {
            items.push(T::read(reader)?);
        }
        Ok(items)
    }
}

impl<T: Form> Form for Option<T> {
    fn write(&self, out: &mut String) {
        match self {
            Some(value) => value.write(out),
            None => out.push('-'),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        if reader.eat("-") { Ok(None) } else { T::read(reader).map(Some) }
    }
}

macro_rules! numbers {
    ($($type:ty)+) => {$(
        impl Form for $type {
            fn write(&self, out: &mut String) {
                *out += &self.to_string();
            }

            fn read(reader: &mut Reader) -> Read<Self> {
                reader.number()
            }
        }
    )+};
}
numbers! { u8 u32 bool }

macro_rules! ids {
    ($($type:ty)+) => {$(
        impl Form for $type {
            fn write(&self, out: &mut String) {
                *out += &self.to_string();
            }

            fn read(reader: &mut Reader) -> Read<Self> {
                let prefix = <$type>::new(0).to_string();
                reader.id(prefix.trim_end_matches('0')).map(<$type>::new)
            }
        }
    )+};
}
ids! {
    InterfaceId ComponentId FunctionId MessageId VariableId Register LocalId BlockId TextId
}

macro_rules! words {
    ($($type:ident { $($variant:ident $word:literal)+ })+) => {$(
        impl Form for $type {
            fn write(&self, out: &mut String) {
                *out += match self {
                    $($type::$variant => $word,)+
                };
            }

            fn read(reader: &mut Reader) -> Read<Self> {
                reader.parsed(stringify!($type), |word| match word {
                    $($word => Some($type::$variant),)+
                    _ => None,
                })
            }
        }
    )+};
}
words! {
    Type {
        Integer "integer" Real "real" Boolean "boolean" Character "character" Text "text"
        Component "component" Address "address"
    }
    Direction { In "in" Out "out" }
    Binary {
        Add "add" Subtract "subtract" Multiply "multiply" AddUnchecked "add-unchecked"
        SubtractUnchecked "subtract-unchecked" MultiplyUnchecked "multiply-unchecked"
        Divide "divide" DivideUnchecked "divide-unchecked" Div "div"
        Mod "mod" Equal "equal" NotEqual "not-equal" Less "less" LessEqual "less-equal"
        Greater "greater" GreaterEqual "greater-equal"
    }
    Unary {
        Negate "negate" Not "not" Sine "sine" Cosine "cosine" Tangent "tangent"
        ArcSine "arc-sine" ArcCosine "arc-cosine" ArcTangent "arc-tangent"
        SquareRoot "square-root"
    }
    Conversion {
        IntegerToReal "integer-to-real" RealToInteger "real-to-integer"
        CharacterToInteger "character-to-integer" IntegerToCharacter "integer-to-character"
        BooleanToInteger "boolean-to-integer"
    }
    Written { Plain "plain" Hexadecimal "hexadecimal" }
    Access { Make "make" Expect "expect" }
}

/// Writes words and parts of a [`Form`] with spaces between.
macro_rules! put {
    ($out:expr, $word:literal $(, $part:expr)*) => {{
        *$out += $word;
        $($out.push(' '); $part.write($out);)*
    }};
}
pub(super) use put;

impl Form for Constant {
    fn write(&self, out: &mut String) {
        *out += &match self {
            Constant::Integer(value) => format!("integer {value}"),
            // Bits, so that every NaN and zero is read back exactly.
            Constant::Real(value) => format!("real {:016x}", value.to_bits()),
            Constant::Boolean(value) => format!("boolean {value}"),
            Constant::Character(value) => format!("character {value}"),
        };
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        match Type::read(reader)? {
            Type::Integer => {
                reader.parsed("an INTEGER", |word| word.parse().ok()).map(Constant::Integer)
            }
            Type::Real => reader.parsed("the bits of a REAL", |word| {
                u64::from_str_radix(word, 16).ok().map(|bits| Constant::Real(f64::from_bits(bits)))
            }),
            Type::Boolean => bool::read(reader).map(Constant::Boolean),
            Type::Character => u8::read(reader).map(Constant::Character),
            _ => reader.fail("expected a scalar type"),
        }
    }
}

impl Form for Place {
    fn write(&self, out: &mut String) {
        match self {
            Place::Local(local) => local.write(out),
            Place::Outer(local) => put!(out, "outer", local),
            Place::Variable(variable) => variable.write(out),
            Place::At(register) => register.write(out),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        match reader.peek().as_bytes().first() {
            Some(b'$') => LocalId::read(reader).map(Place::Local),
            Some(b'@') => VariableId::read(reader).map(Place::Variable),
            Some(b'%') => Register::read(reader).map(Place::At),
            _ => {
                reader.expect("outer")?;
                LocalId::read(reader).map(Place::Outer)
            }
        }
    }
}

/// Enums whose variants are a word and parts.
macro_rules! variants {
    ($($type:ident { $($variant:ident $(($field:ident))? $word:literal)+ })+) => {$(
        impl Form for $type {
            fn write(&self, out: &mut String) {
                match self {
                    $($type::$variant $(($field))? => put!(out, $word $(, $field)?),)+
                }
            }

            fn read(reader: &mut Reader) -> Read<Self> {
                match reader.peek() {
                    $($word => {
                        reader.word();
                        $(let $field = Form::read(reader)?;)?
                        Ok($type::$variant $(($field))?)
                    })+
                    _ => reader.fail(concat!("expected ", stringify!($type))),
                }
            }
        }
    )+};
}
variants! {
    Key { Register(a) "register" Text(a) "text" }
    Payload { Register(a) "register" Copy(a) "copy" Move(a) "move" }
    Argument { Value(a) "value" Reference(a) "reference" }
    Parameter { Register(a) "register" Local(a) "local" }
    Reason { Assertion(a) "assertion" Halt(a) "halt" NoResult "no-result" Empty "empty"
        Type(a) "type" }
    Pattern { Message(a) "message" Any "any" Finish "finish" }
}

impl Form for Guard {
    fn write(&self, out: &mut String) {
        self.place.write(out);
        self.component.write(out);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(Guard { place: Form::read(reader)?, component: Form::read(reader)? })
    }
}

impl Form for Party {
    fn write(&self, out: &mut String) {
        match self {
            Party::Client => put!(out, "client"),
            Party::Required { interface, index } => put!(out, "required", interface, index),
            Party::Sub { place, interface, index } => put!(out, "sub", place, interface, index),
            Party::Own { interface } => put!(out, "own", interface),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        Ok(match reader.word() {
            "client" => Party::Client,
            "required" => {
                Party::Required { interface: Form::read(reader)?, index: Form::read(reader)? }
            }
            "sub" => Party::Sub {
                place: Form::read(reader)?,
                interface: Form::read(reader)?,
                index: Form::read(reader)?,
            },
            "own" => Party::Own { interface: Form::read(reader)? },
            _ => return reader.fail("expected a party"),
        })
    }
}

impl Form for Port {
    fn write(&self, out: &mut String) {
        match self {
            Port::SubRequired { place, interface, index } => {
                put!(out, "sub-required", place, interface, index);
            }
            Port::SubOffered { place, interface, index } => {
                put!(out, "sub-offered", place, interface, index);
            }
            Port::OwnRequired { interface, index } => put!(out, "own-required", interface, index),
            Port::OwnOffered { interface, index } => put!(out, "own-offered", interface, index),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        let word = reader.word();
        let sub = matches!(word, "sub-required" | "sub-offered");
        let place = if sub { Place::read(reader)? } else { Place::Local(LocalId::new(0)) };
        let (interface, index) = (Form::read(reader)?, Form::read(reader)?);
        Ok(match word {
            "sub-required" => Port::SubRequired { place, interface, index },
            "sub-offered" => Port::SubOffered { place, interface, index },
            "own-required" => Port::OwnRequired { interface, index },
            "own-offered" => Port::OwnOffered { interface, index },
            _ => return reader.fail("expected a port"),
        })
    }
}

/// An interface and how many of it.
impl Form for (InterfaceId, u32, Option<u32>) {
    fn write(&self, out: &mut String) {
        put!(out, "of", self.0, self.1, self.2);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        reader.expect("of")?;
        Ok((Form::read(reader)?, Form::read(reader)?, Form::read(reader)?))
    }
}

impl Form for Storage {
    fn write(&self, out: &mut String) {
        match self {
            Storage::One(ty) => ty.write(out),
            Storage::Array { element, dimensions } => put!(out, "array", element, dimensions),
            Storage::Collection { keys, element } => put!(out, "collection", keys, element),
        }
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        if reader.eat("array") {
            return Ok(Storage::Array {
                element: Form::read(reader)?,
                dimensions: Form::read(reader)?,
            });
        }
        if reader.eat("collection") {
            return Ok(Storage::Collection {
                keys: Form::read(reader)?,
                element: Form::read(reader)?,
            });
        }
        Type::read(reader).map(Storage::One)
    }
}

impl Form for Span {
    fn write(&self, out: &mut String) {
        *out += &format!("~{}:{}..{}", self.file.0, self.start, self.end);
    }

    fn read(reader: &mut Reader) -> Read<Self> {
        reader.parsed("a place in the source", |word| {
            let (file, range) = word.strip_prefix('~')?.split_once(':')?;
            let (start, end) = range.split_once("..")?;
            Some(Span {
                file: FileId(file.parse().ok()?),
                start: start.parse().ok()?,
                end: end.parse().ok()?,
            })
        })
    }
}

/// Checks that ids are in order: the next one is `expected`.
pub(super) fn in_order<I: Id + Form>(reader: &mut Reader, expected: usize) -> Read<()> {
    let id = I::read(reader)?;
    if id.index() == expected { Ok(()) } else { reader.fail("numbers must come in order") }
}
