//! Types that a config key may have.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{Mac, Value};

/// Why a value is not of the type of its key.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BadValue {
    /// It is of another kind.
    Kind {
        /// The type, as in the catalogue.
        expected: &'static str,
        /// The [kind](Value::kind) of the value.
        given: &'static str,
    },
    /// An integer outside of the range of the type.
    Range {
        /// The integer.
        given: i128,
        /// The least of the type.
        min: i128,
        /// The greatest of the type.
        max: i128,
    },
    /// A text that is not written like a value of the type.
    Form {
        /// The type, as in the catalogue.
        expected: &'static str,
        /// A value of the type.
        example: &'static str,
    },
}

impl fmt::Display for BadValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BadValue::Kind { expected, given } => {
                write!(f, "expected {expected}, found {given}")
            }
            BadValue::Range { given, min, max } => {
                write!(f, "{given} is not between {min} and {max}")
            }
            BadValue::Form { expected, example } => {
                write!(f, "expected {expected}, such as \"{example}\"")
            }
        }
    }
}

impl std::error::Error for BadValue {}

/// A type of config values: how it is read, shown, and called in the catalogue.
pub trait Setting: Sized {
    /// Its name in the catalogue.
    const TYPE: &'static str;

    /// The value, typed.
    ///
    /// # Errors
    /// It is of another type.
    fn read(value: &Value) -> Result<Self, BadValue>;

    /// As it would be written.
    fn value(&self) -> Value;
}

fn mismatch<T: Setting>(value: &Value) -> BadValue {
    BadValue::Kind { expected: T::TYPE, given: value.kind() }
}

macro_rules! integers {
    ($($type:ident $name:literal),* $(,)?) => {$(
        impl Setting for $type {
            const TYPE: &'static str = $name;

            fn read(value: &Value) -> Result<$type, BadValue> {
                match value {
                    Value::Integer(integer) => {
                        $type::try_from(*integer).map_err(|_| BadValue::Range {
                            given: *integer,
                            min: $type::MIN.into(),
                            max: $type::MAX.into(),
                        })
                    }
                    other => Err(mismatch::<$type>(other)),
                }
            }

            fn value(&self) -> Value {
                Value::Integer((*self).into())
            }
        }
    )*};
}

integers! {
    u8 "an integer of 8 bits",
    u16 "an integer of 16 bits",
    u32 "an integer of 32 bits",
    u64 "an integer",
    i64 "a signed integer",
}

impl Setting for bool {
    const TYPE: &'static str = "a truth value";

    fn read(value: &Value) -> Result<bool, BadValue> {
        match value {
            Value::Bool(truth) => Ok(*truth),
            other => Err(mismatch::<bool>(other)),
        }
    }

    fn value(&self) -> Value {
        Value::Bool(*self)
    }
}

impl Setting for f64 {
    const TYPE: &'static str = "a double";

    fn read(value: &Value) -> Result<f64, BadValue> {
        match value {
            Value::Double(double) => Ok(*double),
            Value::Integer(integer) => Ok(*integer as f64),
            other => Err(mismatch::<f64>(other)),
        }
    }

    fn value(&self) -> Value {
        Value::Double(*self)
    }
}

impl Setting for String {
    const TYPE: &'static str = "a text";

    fn read(value: &Value) -> Result<String, BadValue> {
        match value {
            Value::Text(text) => Ok(text.clone()),
            other => Err(mismatch::<String>(other)),
        }
    }

    fn value(&self) -> Value {
        Value::Text(self.clone())
    }
}

macro_rules! parsed {
    ($($type:ident $name:literal $example:literal),* $(,)?) => {$(
        impl Setting for $type {
            const TYPE: &'static str = $name;

            fn read(value: &Value) -> Result<$type, BadValue> {
                let Value::Text(text) = value else { return Err(mismatch::<$type>(value)) };
                text.parse().map_err(|_| BadValue::Form { expected: $name, example: $example })
            }

            fn value(&self) -> Value {
                Value::Text(self.to_string())
            }
        }
    )*};
}

parsed! {
    Ipv4Addr "an IPv4 address" "10.0.0.1",
    IpAddr "an IP address" "10.0.0.1",
    Ipv6Addr "an IPv6 address" "fe80::1",
    Mac "an Ethernet address" "02:00:00:00:00:01",
}

impl<T: Setting> Setting for Vec<T> {
    const TYPE: &'static str = "a list";

    fn read(value: &Value) -> Result<Vec<T>, BadValue> {
        match value {
            Value::List(values) => values.iter().map(T::read).collect(),
            other => Err(mismatch::<Vec<T>>(other)),
        }
    }

    fn value(&self) -> Value {
        Value::List(self.iter().map(T::value).collect())
    }
}
