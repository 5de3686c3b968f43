//! The one declaration of each operator: symbol, types, meaning, examples.

use std::fmt;

use super::operators::{Binary, Unary};
use crate::types::TypeSet;

/// The declaration of an operator, for the checker, the catalogue and the book.
#[derive(Debug)]
pub struct Declaration {
    /// Its symbol.
    pub symbol: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The operand types that it takes, each with the result types.
    pub signatures: &'static [Signature],
    /// Its documentation.
    pub doc: &'static str,
    /// Expressions with their values, in text form.
    pub examples: &'static [(&'static str, &'static str)],
}

/// One combination of operand types.
#[derive(Debug)]
pub struct Signature {
    /// The types of each operand.
    pub operands: &'static [TypeSet],
    /// The types of the result.
    pub result: TypeSet,
}

impl Declaration {
    /// The types of the result, or `None` if no signature admits such operands.
    pub fn result_type(&self, operands: &[TypeSet]) -> Option<TypeSet> {
        let result = (self.signatures.iter())
            .filter(|signature| {
                signature.operands.len() == operands.len()
                    && signature.operands.iter().zip(operands).all(|(a, b)| a.meets(*b))
            })
            .fold(TypeSet::NONE, |result, signature| result.union(signature.result));
        (!result.is_empty()).then_some(result)
    }

    /// Each signature as a line: `int64 + int64 -> int64`.
    pub fn signature_lines(&self) -> impl Iterator<Item = String> {
        self.signatures.iter().map(|signature| match signature.operands {
            [one] => format!("{}{one} -> {}", self.symbol, signature.result),
            [left, right] => format!("{left} {} {right} -> {}", self.symbol, signature.result),
            _ => String::new(),
        })
    }
}

impl Unary {
    /// The declaration.
    pub fn declaration(self) -> &'static Declaration {
        unary(self)
    }

    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        self.declaration().symbol
    }

    /// The operator with this symbol.
    pub fn from_symbol(symbol: &str) -> Option<Unary> {
        Unary::ALL.into_iter().find(|operator| operator.symbol() == symbol)
    }

    /// The types of the result, or `None` if it can never apply to such an operand.
    pub fn result_type(self, operand: TypeSet) -> Option<TypeSet> {
        self.declaration().result_type(&[operand])
    }
}

impl Binary {
    /// The declaration.
    pub fn declaration(self) -> &'static Declaration {
        binary(self)
    }

    /// Its symbol.
    pub fn symbol(self) -> &'static str {
        self.declaration().symbol
    }

    /// The operator with this symbol; `<>` is `!=`.
    pub fn from_symbol(symbol: &str) -> Option<Binary> {
        let symbol = if symbol == "<>" { "!=" } else { symbol };
        Binary::ALL.into_iter().find(|operator| operator.symbol() == symbol)
    }

    /// The types of the result, or `None` if it can never apply to such operands.
    pub fn result_type(self, left: TypeSet, right: TypeSet) -> Option<TypeSet> {
        self.declaration().result_type(&[left, right])
    }
}

impl fmt::Display for Unary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

impl fmt::Display for Binary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.symbol())
    }
}

/// All operators, those with one operand first.
pub fn catalogue() -> impl Iterator<Item = &'static Declaration> {
    let unary = Unary::ALL.into_iter().map(unary);
    unary.chain(Binary::ALL.into_iter().map(binary))
}

const BOOL: TypeSet = TypeSet::BOOL;
const INT: TypeSet = TypeSet::INT;
const DOUBLE: TypeSet = TypeSet::DOUBLE;
const WHOLE: TypeSet = TypeSet::WHOLE;
const NUMERIC: TypeSet = TypeSet::NUMERIC;
const TEXT: TypeSet = TypeSet::TEXT;
const ID: TypeSet = TypeSet::ID;
const TIME: TypeSet = TypeSet::TIME;
const INTERVAL: TypeSet = TypeSet::INTERVAL;
const LIST: TypeSet = TypeSet::LIST;
const VECTOR: TypeSet = TypeSet::VECTOR;
const ANY: TypeSet = TypeSet::ANY;

/// Shorthand for the tables below: `[left, right] -> result`.
macro_rules! signatures {
    ($([$($operand:expr),+] -> $result:expr;)+) => {
        const { &[$(Signature { operands: &[$($operand),+], result: $result }),+] }
    };
}

const COMPARISON: &[Signature] = signatures! { [ANY, ANY] -> BOOL; };

const BITWISE: &[Signature] = signatures! {
    [BOOL, BOOL] -> BOOL;
    [INT, WHOLE] -> INT;
    [BOOL, INT] -> INT;
    [ID, ID.union(WHOLE)] -> ID;
    [WHOLE, ID] -> ID;
};

const SHIFT: &[Signature] = signatures! {
    [WHOLE, WHOLE] -> INT;
    [ID, ID.union(WHOLE)] -> ID;
    [WHOLE, ID] -> ID;
};

fn unary(operator: Unary) -> &'static Declaration {
    match operator {
        Unary::Not => &Declaration {
            symbol: "!",
            name: "not",
            signatures: signatures! { [WHOLE] -> BOOL; },
            doc: "True for false and for 0.",
            examples: &[("!true", "false"), ("!0", "true")],
        },
        Unary::Complement => &Declaration {
            symbol: "~",
            name: "complement",
            signatures: signatures! { [INT] -> INT; [ID] -> ID; },
            doc: "Every bit turned over.",
            examples: &[("~5", "-6"), ("~0x0I", "0xffffffffffffffffffffffffffffffffffffffffI")],
        },
        Unary::Negate => &Declaration {
            symbol: "-",
            name: "negate",
            signatures: signatures! {
                [INT] -> INT;
                [DOUBLE] -> DOUBLE;
                [ID] -> ID;
                [INTERVAL] -> INTERVAL;
            },
            doc: "The value with the other sign; an ID modulo 2^160.",
            examples: &[("-2.5", "-2.5"), ("-3.0s", "-3.000000000s")],
        },
    }
}

fn binary(operator: Binary) -> &'static Declaration {
    match operator {
        Binary::Add | Binary::Subtract => additive(operator),
        Binary::Multiply | Binary::Divide | Binary::Remainder | Binary::Power => {
            multiplicative(operator)
        }
        Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::BitAnd
        | Binary::BitOr
        | Binary::BitXor
        | Binary::Append => bits_and_lists(operator),
        _ => comparison(operator),
    }
}

fn additive(operator: Binary) -> &'static Declaration {
    match operator {
        Binary::Add => &Declaration {
            symbol: "+",
            name: "add",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
                [TEXT, ANY] -> TEXT;
                [ANY, TEXT] -> TEXT;
                [TIME, INTERVAL.union(NUMERIC)] -> TIME;
                [INTERVAL.union(NUMERIC), TIME] -> TIME;
                [INTERVAL, INTERVAL.union(NUMERIC)] -> INTERVAL;
                [NUMERIC, INTERVAL] -> INTERVAL;
            },
            doc: "Sum; beside a string, the texts of both operands joined.",
            examples: &[
                ("1 + 2", "3"),
                ("1 + 2.5", "3.5"),
                ("0xffI + 1", "0x0000000000000000000000000000000000000100I"),
                ("\"node\" + 7", "\"node7\""),
                ("10.0t + 1.5s", "11.500000000t"),
                ("10.0t + 2", "12.000000000t"),
            ],
        },
        _ => &Declaration {
            symbol: "-",
            name: "subtract",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
                [TIME, TIME] -> INTERVAL;
                [TIME, INTERVAL.union(NUMERIC)] -> TIME;
                [INTERVAL, INTERVAL.union(NUMERIC)] -> INTERVAL;
                [NUMERIC, INTERVAL] -> INTERVAL;
            },
            doc: "Difference; of two IDs the clockwise distance from the right to the left one.",
            examples: &[
                ("5 - 7", "-2"),
                ("0x1I - 0x2I", "0xffffffffffffffffffffffffffffffffffffffffI"),
                ("12.0t - 10.5t", "1.500000000s"),
                ("12.0t - 1", "11.000000000t"),
            ],
        },
    }
}

// One piece: a table, with an entry for each operator.
fn multiplicative(operator: Binary) -> &'static Declaration {
    match operator {
        Binary::Multiply => &Declaration {
            symbol: "*",
            name: "multiply",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
                [INTERVAL, NUMERIC] -> INTERVAL;
                [NUMERIC, INTERVAL] -> INTERVAL;
            },
            doc: "Product.",
            examples: &[("6 * 7", "42"), ("1.5s * 2", "3.000000000s"), ("2 * 0.5", "1.0")],
        },
        Binary::Divide => &Declaration {
            symbol: "/",
            name: "divide",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
                [INTERVAL, NUMERIC] -> INTERVAL;
                [INTERVAL, INTERVAL] -> DOUBLE;
            },
            doc: "Quotient; of integers without the fraction.",
            examples: &[
                ("7 / 2", "3"),
                ("-7 / 2", "-3"),
                ("7 / 2.0", "3.5"),
                ("3.0s / 2", "1.500000000s"),
                ("3.0s / 2.0s", "1.5"),
            ],
        },
        Binary::Remainder => &Declaration {
            symbol: "%",
            name: "remainder",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
                [INTERVAL, INTERVAL.union(NUMERIC)] -> INTERVAL;
            },
            doc: "What division leaves, with the sign of the left operand.",
            examples: &[("7 % 3", "1"), ("-7 % 3", "-1"), ("7.5 % 2", "1.5")],
        },
        _ => &Declaration {
            symbol: "**",
            name: "power",
            signatures: signatures! {
                [WHOLE, WHOLE] -> INT;
                [DOUBLE, NUMERIC] -> DOUBLE;
                [WHOLE, DOUBLE] -> DOUBLE;
                [ID, ID.union(WHOLE)] -> ID;
                [WHOLE, ID] -> ID;
            },
            doc: "Left to the power of right, which is not negative unless one is a double.",
            examples: &[("2 ** 10", "1024"), ("2.0 ** -1", "0.5")],
        },
    }
}

fn bits_and_lists(operator: Binary) -> &'static Declaration {
    match operator {
        Binary::ShiftLeft => &Declaration {
            symbol: "<<",
            name: "shift left",
            signatures: SHIFT,
            doc: "Left times two to the power of right; an ID loses what leaves its 160 bits.",
            examples: &[
                ("1 << 4", "16"),
                ("0x1I << 159", "0x8000000000000000000000000000000000000000I"),
                ("0x1I << 160", "0x0000000000000000000000000000000000000000I"),
            ],
        },
        Binary::ShiftRight => &Declaration {
            symbol: ">>",
            name: "shift right",
            signatures: SHIFT,
            doc: "Left without its lowest bits; a negative integer stays negative.",
            examples: &[("16 >> 4", "1"), ("-1 >> 70", "-1")],
        },
        Binary::BitAnd => &Declaration {
            symbol: "&",
            name: "and",
            signatures: BITWISE,
            doc: "The bits set in both.",
            examples: &[("6 & 3", "2"), ("true & false", "false")],
        },
        Binary::BitOr => &Declaration {
            symbol: "|",
            name: "or",
            signatures: BITWISE,
            doc: "The bits set in either.",
            examples: &[("6 | 3", "7"), ("true | false", "true")],
        },
        Binary::BitXor => &Declaration {
            symbol: "^",
            name: "exclusive or",
            signatures: BITWISE,
            doc: "The bits set in one only.",
            examples: &[("6 ^ 3", "5"), ("true ^ true", "false")],
        },
        _ => &Declaration {
            symbol: "|||",
            name: "append lists",
            signatures: signatures! {
                [LIST, LIST.union(VECTOR)] -> LIST;
                [VECTOR, LIST] -> LIST;
                [VECTOR, VECTOR] -> VECTOR;
            },
            doc: "The elements of the left, then those of the right.",
            examples: &[("[1, 2] ||| [3]", "[1, 2, 3]")],
        },
    }
}

fn comparison(operator: Binary) -> &'static Declaration {
    match operator {
        Binary::NotEqual => &Declaration {
            symbol: "!=",
            name: "not equal",
            signatures: COMPARISON,
            doc: "Opposite of `==`; also written `<>`.",
            examples: &[("1 != 2", "true"), ("\"1\" != 1", "true")],
        },
        Binary::Less => &Declaration {
            symbol: "<",
            name: "less",
            signatures: COMPARISON,
            doc: "Order; values of types that do not compare are ordered by their types.",
            examples: &[("1 < 2.5", "true"), ("\"a\" < \"b\"", "true"), ("1 < 0x2I", "true")],
        },
        Binary::LessEqual => &Declaration {
            symbol: "<=",
            name: "less or equal",
            signatures: COMPARISON,
            doc: "`<` or `==`.",
            examples: &[("2 <= 2.0", "true")],
        },
        Binary::Greater => &Declaration {
            symbol: ">",
            name: "greater",
            signatures: COMPARISON,
            doc: "Order the other way.",
            examples: &[("2.5s > 2", "true"), ("2.5s > 3", "false")],
        },
        Binary::GreaterEqual => &Declaration {
            symbol: ">=",
            name: "greater or equal",
            signatures: COMPARISON,
            doc: "`>` or `==`.",
            examples: &[("0x5I >= 5", "true")],
        },
        _ => &Declaration {
            symbol: "==",
            name: "equal",
            signatures: COMPARISON,
            doc: "Equality; an interval beside a number counts as seconds.",
            examples: &[("1 == 1.0", "true"), ("true == 1", "true"), ("2.0s == 2", "true")],
        },
    }
}

/// The symbol and the name.
impl fmt::Display for Declaration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.symbol, self.name)
    }
}
