//! Values: the content of one column of a tuple.
//!
//! A [`Value`] is a view of four words that borrows its long parts from their owner: a table, a
//! tuple buffer, the region of the running turn, or the constants of a program. It is copied freely
//! and never counted. Lists, vectors and matrices are views of one flat encoding ([`crate::flat`]),
//! so that copying one between owners is copying bytes.
//!
//! Order and equality (operators, joins, keys): beside a double an integer counts as a double
//! (compared exactly, without rounding), beside an ID as an ID, a boolean beside a number as 0 or
//! 1; other values of different types are unequal and order by [`Type`].

use std::cmp::Ordering;

use tidemill_stdx::keyed::Secret;

use crate::flat::Seq;
use crate::id::Id;

/// The type of a value, in the order in which values of different types are sorted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Type {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool,
    /// Signed integer of 64 bits.
    Int,
    /// IEEE double.
    Double,
    /// Unicode text.
    Str,
    /// Bytes.
    Bytes,
    /// Ring identifier of 160 bits.
    Id,
    /// Nanoseconds since the epoch.
    Time,
    /// Nanoseconds between two times.
    Interval,
    /// A list.
    List,
    /// A vector.
    Vector,
    /// A matrix: vectors of equal length.
    Matrix,
}

impl Type {
    /// All types, in order.
    pub const ALL: [Type; 12] = [
        Type::Null,
        Type::Bool,
        Type::Int,
        Type::Double,
        Type::Str,
        Type::Bytes,
        Type::Id,
        Type::Time,
        Type::Interval,
        Type::List,
        Type::Vector,
        Type::Matrix,
    ];

    /// The name used in diagnostics, catalogues and `f_typeOf`.
    pub fn name(self) -> &'static str {
        match self {
            Type::Null => "null",
            Type::Bool => "bool",
            Type::Int => "int64",
            Type::Double => "double",
            Type::Str => "string",
            Type::Bytes => "bytes",
            Type::Id => "id",
            Type::Time => "time",
            Type::Interval => "interval",
            Type::List => "list",
            Type::Vector => "vector",
            Type::Matrix => "matrix",
        }
    }
}

/// One value; see the module.
///
/// Generated code reads and writes it ([`crate::native`]), so its layout is fixed: the type in the
/// first byte, in the order of [`Type`], then what the variant holds as C would lay it out.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A double.
    Double(f64),
    /// A text.
    Str(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A ring identifier.
    Id(Id),
    /// Nanoseconds since the epoch.
    Time(i64),
    /// Nanoseconds.
    Interval(i64),
    /// A list.
    List(Seq<'a>),
    /// A vector.
    Vector(Seq<'a>),
    /// A matrix: a sequence of vectors.
    Matrix(Seq<'a>),
}

impl<'a> Value<'a> {
    /// The type.
    pub fn type_of(&self) -> Type {
        match self {
            Value::Null => Type::Null,
            Value::Bool(_) => Type::Bool,
            Value::Int(_) => Type::Int,
            Value::Double(_) => Type::Double,
            Value::Str(_) => Type::Str,
            Value::Bytes(_) => Type::Bytes,
            Value::Id(_) => Type::Id,
            Value::Time(_) => Type::Time,
            Value::Interval(_) => Type::Interval,
            Value::List(_) => Type::List,
            Value::Vector(_) => Type::Vector,
            Value::Matrix(_) => Type::Matrix,
        }
    }

    /// The value, if it borrows nothing.
    pub(crate) fn without_parts(&self) -> Option<Value<'static>> {
        Some(match *self {
            Value::Null => Value::Null,
            Value::Bool(value) => Value::Bool(value),
            Value::Int(value) => Value::Int(value),
            Value::Double(value) => Value::Double(value),
            Value::Id(value) => Value::Id(value),
            Value::Time(value) => Value::Time(value),
            Value::Interval(value) => Value::Interval(value),
            Value::Str(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Vector(_)
            | Value::Matrix(_) => return None,
        })
    }

    /// Whether two values are equal and of one type, with all their parts, so that they are
    /// interchangeable.
    pub(crate) fn is_identical(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Double(a), Value::Double(b)) => a.to_bits() == b.to_bits(),
            (Value::List(a), Value::List(b))
            | (Value::Vector(a), Value::Vector(b))
            | (Value::Matrix(a), Value::Matrix(b)) => a.parts().bytes == b.parts().bytes,
            _ => self.type_of() == other.type_of() && self.equal(other),
        }
    }

    /// The text, if this is one.
    pub fn as_str(&self) -> Option<&'a str> {
        match *self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// The bytes, if these are some.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        match *self {
            Value::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The elements of a list, vector or matrix.
    pub fn as_seq(&self) -> Option<Seq<'a>> {
        match *self {
            Value::List(seq) | Value::Vector(seq) | Value::Matrix(seq) => Some(seq),
            _ => None,
        }
    }

    /// An integer or a boolean as an integer.
    pub fn as_int(&self) -> Option<i64> {
        match *self {
            Value::Int(value) => Some(value),
            Value::Bool(value) => Some(value as i64),
            _ => None,
        }
    }

    /// A number or boolean as a double.
    pub fn as_double(&self) -> Option<f64> {
        match *self {
            Value::Double(value) => Some(value),
            _ => self.as_int().map(|value| value as f64),
        }
    }

    /// A number, boolean or ID as an ID.
    pub fn as_id(&self) -> Option<Id> {
        match *self {
            Value::Id(id) => Some(id),
            _ => self.as_int().map(Id::from_int),
        }
    }

    /// Equality of the language: joins, keys and `==`.
    #[inline]
    pub fn equal(&self, other: &Value<'_>) -> bool {
        match (self, other) {
            (Value::Int(a), Value::Int(b)) => a == b,
            (Value::Str(a), Value::Str(b)) => a == b,
            (Value::Id(a), Value::Id(b)) => a == b,
            _ => self.compare(other) == Ordering::Equal,
        }
    }

    /// Order of the language: `<`, MIN, ring intervals.
    ///
    /// Not transitive where integers, doubles and IDs are mixed; sort with [`Value::total_order`].
    pub fn compare(&self, other: &Value<'_>) -> Ordering {
        use Value::*;
        match (*self, *other) {
            (Int(a), Int(b)) => a.cmp(&b),
            (Id(a), Id(b)) => a.cmp(&b),
            (Id(a), Int(_) | Bool(_)) => a.cmp(&other.as_id().unwrap_or_default()),
            (Int(_) | Bool(_), Id(b)) => self.as_id().unwrap_or_default().cmp(&b),
            _ => self.total_order(other),
        }
    }

    /// A total order: like [`Value::compare`], but IDs always stand after numbers.
    pub fn total_order(&self, other: &Value<'_>) -> Ordering {
        use Value::*;
        match (*self, *other) {
            (Double(a), Double(b)) => compare_doubles(a, b),
            (Double(a), Int(_) | Bool(_)) => {
                compare_int_double(other.as_int().unwrap_or(0), a).reverse()
            }
            (Int(_) | Bool(_), Double(b)) => compare_int_double(self.as_int().unwrap_or(0), b),
            (Int(_) | Bool(_), Int(_) | Bool(_)) => self.as_int().cmp(&other.as_int()),
            (Str(a), Str(b)) => a.cmp(b),
            (Bytes(a), Bytes(b)) => a.cmp(b),
            (Id(a), Id(b)) => a.cmp(&b),
            (Time(a), Time(b)) | (Interval(a), Interval(b)) => a.cmp(&b),
            (List(a), List(b)) | (Vector(a), Vector(b)) | (Matrix(a), Matrix(b)) => {
                compare_sequences(a, b)
            }
            _ => self.type_of().cmp(&other.type_of()),
        }
    }

    /// A hash with which values that are [`Value::equal`] agree.
    #[inline]
    pub fn hash(&self, secret: &Secret) -> u64 {
        match *self {
            Value::Int(value) => secret.word(value as u64),
            Value::Str(text) => secret.bytes(text.as_bytes()),
            _ => self.hash_rare(secret),
        }
    }

    fn hash_rare(&self, secret: &Secret) -> u64 {
        match *self {
            Value::Int(value) => secret.word(value as u64),
            Value::Bool(value) => secret.word(value as u64),
            Value::Double(value) => match exact_int(value) {
                Some(int) => secret.word(int as u64),
                None if value.is_nan() => secret.word(f64::NAN.to_bits()),
                None => secret.word(value.to_bits()),
            },
            Value::Id(id) => match id.to_int() {
                Some(int) => secret.word(int as u64),
                None => secret.bytes(&id.to_memory()),
            },
            Value::Null => secret.word(0x6e75_6c6c),
            Value::Str(text) => secret.bytes(text.as_bytes()),
            Value::Bytes(bytes) => secret.bytes(bytes),
            Value::Time(value) => secret.combine(1, secret.word(value as u64)),
            Value::Interval(value) => secret.combine(2, secret.word(value as u64)),
            Value::List(seq) | Value::Vector(seq) | Value::Matrix(seq) => {
                seq.iter().fold(3, |state, value| secret.combine(state, value.hash(secret)))
            }
        }
    }
}

/// Equality of the language; see [`Value::equal`].
impl PartialEq for Value<'_> {
    fn eq(&self, other: &Value<'_>) -> bool {
        self.equal(other)
    }
}

/// The integer that a double is exactly, if it is one of 64 bits.
fn exact_int(value: f64) -> Option<i64> {
    // 2^63 itself is out of range; every double below it with no fraction converts exactly.
    let in_range = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value);
    (in_range && value.trunc() == value).then_some(value as i64)
}

/// NaN equals itself and stands after everything; the zeros are equal.
fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

fn compare_int_double(a: i64, b: f64) -> Ordering {
    if b.is_nan() {
        return Ordering::Less;
    }
    // Rounding cannot carry a beyond any double it differs from, except onto it: then decide
    // among integers.
    match (a as f64).partial_cmp(&b).unwrap_or(Ordering::Less) {
        Ordering::Equal => match exact_int(b) {
            Some(b) => a.cmp(&b),
            None => Ordering::Less, // b is 2^63, above every integer
        },
        unequal => unequal,
    }
}

fn compare_sequences(a: Seq<'_>, b: Seq<'_>) -> Ordering {
    let mut a = a.iter();
    let mut b = b.iter();
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) => return Ordering::Less,
            (Some(_), None) => return Ordering::Greater,
            (Some(x), Some(y)) => match x.total_order(&y) {
                Ordering::Equal => {}
                unequal => return unequal,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_across_types() {
        let big = (1i64 << 53) + 1;
        assert_eq!(Value::Int(1), Value::Double(1.0));
        assert_eq!(Value::Bool(true), Value::Int(1));
        assert_eq!(Value::Id(Id::from_int(7)), Value::Int(7));
        assert_ne!(Value::Int(big), Value::Double((1i64 << 53) as f64));
        assert_eq!(Value::Int(i64::MAX).compare(&Value::Double(2f64.powi(63))), Ordering::Less);
        assert_ne!(Value::Str("1"), Value::Int(1));
        assert_ne!(Value::Time(1), Value::Interval(1));
        assert_eq!(Value::Double(f64::NAN), Value::Double(-f64::NAN));
    }

    #[test]
    fn equal_values_hash_alike() {
        let secret = &Secret::new(1);
        let alike = [Value::Int(1), Value::Double(1.0), Value::Bool(true)];
        for a in alike {
            assert_eq!(a.hash(secret), Value::Id(Id::from_int(1)).hash(secret));
            for b in alike {
                assert_eq!(a.hash(secret), b.hash(secret));
            }
        }
        assert_eq!(Value::Double(0.0).hash(secret), Value::Double(-0.0).hash(secret));
        let nans = [f64::NAN, -f64::NAN, f64::from_bits(f64::NAN.to_bits() | 1)];
        let nans = nans.map(|nan| Value::Double(nan).hash(secret));
        assert_eq!(nans, [nans[0]; 3]);
    }
}
