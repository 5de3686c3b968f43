//! The columns of the older location form `p@X(...)`, where one use alone does not decide them.
//!
//! The programs of 2005 repeat the location among the columns, `lookup@N(N, K, R)`; those of 2006
//! do not, `lookup@N(K, R)`. In `lookup@N(K, N)` the location may be repeated, or a node asks for
//! itself. The parser takes it for repeated; that is wrong if all other uses of the relation have a
//! column more.

use crate::ast::{Arg, Functor, Statement, Term};
use tidemill_stdx::sorted::{SortedMap, SortedSet};

/// A relation that is used with different numbers of columns.
const TIMER: &str = "periodic";

/// The numbers of columns that a relation is used with.
#[derive(Default)]
struct Widths {
    /// Where the location is no other argument.
    plain: SortedSet<usize>,
    /// Where it is.
    repeating: SortedSet<usize>,
}

/// Gives those uses their location as a column of its own. Names have been resolved.
pub(super) fn settle(statements: &mut [Statement]) {
    let mut relations: SortedMap<String, Widths> = SortedMap::new();
    each(statements, &mut |functor| {
        let known = relations.entry(functor.name.resolved.clone()).or_default();
        let repeats = functor.repeats_location;
        let widths = if repeats { &mut known.repeating } else { &mut known.plain };
        widths.insert(functor.args.len());
    });
    each(statements, &mut |functor| {
        let name = functor.name.resolved.as_str();
        let Some(Widths { plain, repeating }) = relations.get(name) else { return };
        // A use that fits as it is shows that the program repeats locations.
        let fits = name == TIMER || repeating.iter().any(|width| plain.contains(width));
        if functor.repeats_location
            && !fits
            && plain.contains(&(functor.args.len() + 1))
            && let Some(Arg::Expr(location)) = functor.location_arg().cloned()
        {
            functor.args.insert(0, Arg::Expr(location));
            functor.location = Some(0);
            functor.repeats_location = false;
        }
    });
}

/// Calls `see` with each relation of facts and rules. A query only looks at what they decide.
fn each(statements: &mut [Statement], see: &mut dyn FnMut(&mut Functor)) {
    for statement in statements {
        match statement {
            Statement::Namespace(it) => each(&mut it.statements, see),
            Statement::Fact(it) => see(&mut it.tuple),
            Statement::Rule(it) => {
                see(&mut it.head);
                it.body.iter_mut().filter_map(Term::functor_mut).for_each(&mut *see);
            }
            _ => {}
        }
    }
}
