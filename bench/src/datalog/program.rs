//! The input of a points-to analysis: the assignments of a synthetic program of functions.
//!
//! As in real programs, most of it is local: a function copies its variables to later ones, takes
//! the address of some, and reads and writes through a few pointers. A call copies an argument to
//! one of the first variables of another function, mostly a nearby one, now and then any: so there
//! are cycles, but few.

use std::collections::BTreeSet;

use tidemill_stdx::rng::Rng;

use super::facts::Facts;

/// Variables of a function; the first of them are its parameters.
const VARIABLES: u64 = 20;
const PARAMETERS: u64 = 5;

/// Per function: address-of statements, and calls, loads and stores each.
const ADDRESSES: u64 = 4;
const CALLS: u64 = 2;

/// The statements of a program of `functions` functions: `addressOf(variable, object)`,
/// `edge(to, from)` for assignments, `load(to, pointer)` and `store(pointer, from)`.
pub fn facts(random: &mut Rng, functions: u64) -> Facts {
    let (mut address_of, mut assign) = (BTreeSet::new(), BTreeSet::new());
    let (mut load, mut store) = (BTreeSet::new(), BTreeSet::new());
    for function in 0..functions {
        let local = |random: &mut Rng| (function * VARIABLES + random.below(VARIABLES)) as i32;
        for _ in 0..VARIABLES {
            let (a, b) = (local(random), local(random));
            if a != b {
                assign.insert((a.max(b), a.min(b)));
            }
        }
        for _ in 0..ADDRESSES {
            address_of.insert((local(random), local(random)));
        }
        for _ in 0..CALLS {
            let callee = match random.below(10) {
                0 => random.below(functions),
                _ => (function + 1 + random.below(functions / 4)).min(functions - 1),
            };
            let parameter = callee * VARIABLES + random.below(PARAMETERS);
            assign.insert((parameter as i32, local(random)));
            load.insert((local(random), local(random)));
            store.insert((local(random), local(random)));
        }
    }
    let in_order = |pairs: BTreeSet<(i32, i32)>| pairs.into_iter().map(|(a, b)| [a, b]);
    Facts::default()
        .with("addressOf", in_order(address_of))
        .with("edge", in_order(assign))
        .with("load", in_order(load))
        .with("store", in_order(store))
}
