//! The programs in our language.

use super::workload::Rules;

/// The rules, and their result relation.
pub fn source(rules: Rules) -> (&'static str, &'static str) {
    match rules {
        Rules::Closure => (CLOSURE, "path"),
        Rules::Closure3 => (CLOSURE_3, "path"),
        Rules::Closure4 => (CLOSURE_4, "path"),
        Rules::SameGeneration => (SAME_GENERATION, "sg"),
        Rules::PointsTo => (POINTS_TO, "pt"),
        Rules::Shortest => (SHORTEST, "cost"),
    }
}

const CLOSURE: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(path, infinity, infinity, keys(1, 2, 3)).
    r1 path(@N, X, Y) :- edge(@N, X, Y).
    r2 path(@N, X, Z) :- path(@N, X, Y), edge(@N, Y, Z).
";

const CLOSURE_3: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3, 4)).
    materialize(path, infinity, infinity, keys(1, 2, 3, 4)).
    r1 path(@N, C, X, Y) :- edge(@N, C, X, Y).
    r2 path(@N, C, X, Z) :- path(@N, C, X, Y), edge(@N, C, Y, Z).
";

const CLOSURE_4: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3, 4, 5)).
    materialize(path, infinity, infinity, keys(1, 2, 3, 4, 5)).
    r1 path(@N, C, D, X, Y) :- edge(@N, C, D, X, Y).
    r2 path(@N, C, D, X, Z) :- path(@N, C, D, X, Y), edge(@N, C, D, Y, Z).
";

const SAME_GENERATION: &str = "
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(sg, infinity, infinity, keys(1, 2, 3)).
    r1 sg(@N, X, Y) :- edge(@N, P, X), edge(@N, P, Y), X != Y.
    r2 sg(@N, X, Y) :- edge(@N, A, X), sg(@N, A, B), edge(@N, B, Y).
";

const POINTS_TO: &str = "
    materialize(addressOf, infinity, infinity, keys(1, 2, 3)).
    materialize(edge, infinity, infinity, keys(1, 2, 3)).
    materialize(load, infinity, infinity, keys(1, 2, 3)).
    materialize(store, infinity, infinity, keys(1, 2, 3)).
    materialize(pt, infinity, infinity, keys(1, 2, 3)).
    r1 pt(@N, Y, X) :- addressOf(@N, Y, X).
    r2 pt(@N, Y, X) :- edge(@N, Y, Z), pt(@N, Z, X).
    r3 pt(@N, Y, W) :- load(@N, Y, X), pt(@N, X, Z), pt(@N, Z, W).
    r4 pt(@N, Z, W) :- store(@N, Y, X), pt(@N, Y, Z), pt(@N, X, W).
";

const SHORTEST: &str = "
    materialize(arc, infinity, infinity, keys(1, 2, 3)).
    materialize(way, infinity, infinity, keys(1, 2, 3, 4)).
    materialize(cost, infinity, infinity, keys(1, 2, 3)).
    r1 way(@N, X, Y, C) :- arc(@N, X, Y, C).
    r2 way(@N, X, Z, C) :- cost(@N, X, Y, A), arc(@N, Y, Z, B), C := A + B.
    r3 cost(@N, X, Y, a_MIN<C>) :- way(@N, X, Y, C).
";
