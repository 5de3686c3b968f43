//! Sets of types: what an operand may be, and what a result will be.

use std::fmt;

use crate::value::Type;

/// A set of [`Type`]s.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct TypeSet(u16);

impl TypeSet {
    /// No type.
    pub const NONE: TypeSet = TypeSet(0);
    /// Every type.
    pub const ANY: TypeSet = TypeSet::all_of(&Type::ALL);
    /// Truth values.
    pub const BOOL: TypeSet = TypeSet::of(Type::Bool);
    /// Integers.
    pub const INT: TypeSet = TypeSet::of(Type::Int);
    /// Doubles.
    pub const DOUBLE: TypeSet = TypeSet::of(Type::Double);
    /// Integers and doubles.
    pub const NUMBER: TypeSet = TypeSet::all_of(&[Type::Int, Type::Double]);
    /// The types that count as integers: integers and booleans.
    pub const WHOLE: TypeSet = TypeSet::all_of(&[Type::Bool, Type::Int]);
    /// The types that count as numbers: integers, doubles and booleans.
    pub const NUMERIC: TypeSet = TypeSet::all_of(&[Type::Bool, Type::Int, Type::Double]);
    /// Texts.
    pub const TEXT: TypeSet = TypeSet::of(Type::Str);
    /// Bytes.
    pub const BYTES: TypeSet = TypeSet::of(Type::Bytes);
    /// Ring identifiers.
    pub const ID: TypeSet = TypeSet::of(Type::Id);
    /// Times.
    pub const TIME: TypeSet = TypeSet::of(Type::Time);
    /// Intervals.
    pub const INTERVAL: TypeSet = TypeSet::of(Type::Interval);
    /// Lists.
    pub const LIST: TypeSet = TypeSet::of(Type::List);
    /// Vectors.
    pub const VECTOR: TypeSet = TypeSet::of(Type::Vector);
    /// Lists and vectors.
    pub const SEQUENCE: TypeSet = TypeSet::all_of(&[Type::List, Type::Vector]);
    /// Matrices.
    pub const MATRIX: TypeSet = TypeSet::of(Type::Matrix);

    /// The set of one type.
    pub const fn of(one: Type) -> TypeSet {
        TypeSet(1 << one as u16)
    }

    /// The set of these types.
    pub const fn all_of(types: &[Type]) -> TypeSet {
        let mut set = 0;
        let mut i = 0;
        while i < types.len() {
            set |= 1 << types[i] as u16;
            i += 1;
        }
        TypeSet(set)
    }

    /// The set as bits, in the order of [`Type`].
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// The set of such bits.
    pub(crate) const fn from_bits(bits: u16) -> TypeSet {
        TypeSet(bits)
    }

    /// The types in either set.
    pub const fn union(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 | other.0)
    }

    /// The types in both sets.
    pub const fn intersection(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & other.0)
    }

    /// The types of this set that are not in `other`.
    pub const fn without(self, other: TypeSet) -> TypeSet {
        TypeSet(self.0 & !other.0)
    }

    /// True if `one` is in the set.
    pub const fn contains(self, one: Type) -> bool {
        self.0 & TypeSet::of(one).0 != 0
    }

    /// True if the sets have a type in common.
    pub const fn meets(self, other: TypeSet) -> bool {
        self.0 & other.0 != 0
    }

    /// True if no type is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The type, if there is exactly one.
    pub fn single(self) -> Option<Type> {
        let mut types = self.iter();
        types.next().filter(|_| types.next().is_none())
    }

    /// The types in the order of [`Type`].
    pub fn iter(self) -> impl Iterator<Item = Type> {
        Type::ALL.into_iter().filter(move |&one| self.contains(one))
    }
}

impl From<Type> for TypeSet {
    fn from(one: Type) -> TypeSet {
        TypeSet::of(one)
    }
}

impl FromIterator<Type> for TypeSet {
    fn from_iter<I: IntoIterator<Item = Type>>(types: I) -> TypeSet {
        types.into_iter().fold(TypeSet::NONE, |set, one| set.union(TypeSet::of(one)))
    }
}

/// `any`, `none`, or the names with `|` between them.
impl fmt::Display for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            TypeSet::ANY => return f.write_str("any"),
            TypeSet::NONE => return f.write_str("none"),
            _ => {}
        }
        for (i, one) in self.iter().enumerate() {
            let bar = if i > 0 { "|" } else { "" };
            write!(f, "{bar}{}", one.name())?;
        }
        Ok(())
    }
}

impl fmt::Debug for TypeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TypeSet({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_print_their_types_in_order() {
        let set = TypeSet::all_of(&[Type::Str, Type::Null, Type::Int]);
        assert_eq!(set.to_string(), "null|int64|string");
        assert_eq!(set.iter().collect::<TypeSet>(), set);
        assert_eq!(TypeSet::ANY.to_string(), "any");
        assert_eq!(set.intersection(TypeSet::NUMBER).single(), Some(Type::Int));
        assert_eq!(set.single(), None);
    }
}
