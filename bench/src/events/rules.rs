//! The measured rules, and the number of rows.

pub const ONE_RULE: &str = "r1 out(@N, X + 1) :- in(@N, X).";

pub const THREE_WAY_JOIN: &str = "
    materialize(a, infinity, infinity, keys(2)).
    materialize(b, infinity, infinity, keys(2)).
    r1 out(@N, X, C) :- in(@N, X), a(@N, X, B), b(@N, B, C).
";

pub const JOIN_AGGREGATE: &str = "
    materialize(a, infinity, infinity, keys(2)).
    materialize(b, infinity, infinity, keys(2)).
    r1 out(@N, X, a_COUNT<*>, a_MAX<C>) :- in(@N, X), a(@N, X, B), b(@N, B, C).
";

pub const TEN_EXPRESSIONS: &str = "
    r1 out(@N, A, B, C, D, E) :- in(@N, X), A := X * 3 + 1, B := A % 17, C := (B << 2) ^ X,
        D := C - A, E := D & 255, A > X, B < 17, C != 5000, D < 100000, E >= 0.
";

/// Rows of each joined table; there are as many distinct events.
pub const ROWS: i64 = 1000;

/// The metric of counts.
pub const INSTRUCTIONS: (&str, &str) = ("instructions", "per event");

/// The metric of rates.
pub const RATE: (&str, &str) = ("per_cpu_s", "1/s");
