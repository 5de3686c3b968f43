//! Parameters of messages as Rust values.

use std::borrow::Cow;

use tidemill_proc::{Value, Values};

/// An answer of the system.
pub trait Response {
    /// Hands on the number of the message, and its parameters.
    fn send<R>(self, to: impl FnOnce(u32, &[Value<'_>]) -> R) -> R;
}

/// A type that represents one parameter, or several in a row.
pub trait Typed {
    /// Their types, as the language names them.
    const TYPES: &'static [&'static str];
}

/// A parameter that is read from a request.
pub trait Parameter<'v>: Typed {
    /// Takes the next values.
    fn take(values: &'v Values) -> Self;
}

/// What an answer has.
pub trait Answer<'v>: Typed {
    /// As it is sent.
    fn value(self) -> Value<'v>;
}

/// A TEXT up to its 0X. The type `&[u8]` takes all of its bytes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'v>(pub &'v [u8]);

/// `N` TEXT parameters, one after the other; the last of a message.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'v, const COUNT: usize>(pub &'v [u8]);

macro_rules! words {
    ($($rust:ty, $name:literal: $word:ident => $from:expr, $value:ident => $to:expr;)*) => {
        $(
            impl Typed for $rust {
                const TYPES: &'static [&'static str] = &[$name];
            }
            impl<'v> Parameter<'v> for $rust {
                #[inline]
                fn take(values: &'v Values) -> $rust {
                    let $word = values.word();
                    $from
                }
            }
            impl<'v> Answer<'v> for $rust {
                #[inline]
                fn value(self) -> Value<'v> {
                    let $value = self;
                    Value::Word($to)
                }
            }
        )*
    };
}

words! {
    i64, "INTEGER": word => word.cast_signed(), value => value.cast_unsigned();
    f64, "REAL": word => f64::from_bits(word), value => value.to_bits();
    bool, "BOOLEAN": word => word != 0, value => value.into();
    u8, "CHARACTER": word => word as u8, value => value.into();
}

impl Typed for &[u8] {
    const TYPES: &'static [&'static str] = &["TEXT"];
}

impl<'v> Parameter<'v> for &'v [u8] {
    #[inline]
    fn take(values: &'v Values) -> &'v [u8] {
        values.bytes()
    }
}

impl Typed for Text<'_> {
    const TYPES: &'static [&'static str] = &["TEXT"];
}

impl<'v> Parameter<'v> for Text<'v> {
    #[inline]
    fn take(values: &'v Values) -> Text<'v> {
        Text(values.text())
    }
}

impl<const COUNT: usize> Typed for Joined<'_, COUNT> {
    const TYPES: &'static [&'static str] = &["TEXT"; COUNT];
}

impl<'v, const COUNT: usize> Parameter<'v> for Joined<'v, COUNT> {
    #[inline]
    fn take(values: &'v Values) -> Joined<'v, COUNT> {
        Joined(values.joined())
    }
}

impl Typed for Cow<'_, [u8]> {
    const TYPES: &'static [&'static str] = &["TEXT"];
}

impl<'v> Answer<'v> for Cow<'v, [u8]> {
    #[inline]
    fn value(self) -> Value<'v> {
        Value::Text(self)
    }
}
