//! Why a tuple is not there: which rules could make it, how far each comes with the rows that are
//! there now, and the term that holds it up.
//!
//! ```text
//! wanted tuple ──> each rule whose head fits it
//!                    terms in an order in which each can be looked at, one more each time,
//!                    as a query over the tables of all nodes that are known ([known])
//!                  the first without a row fails ──> if it is a predicate: why is that absent?
//! ```
//! A term is to blame alone if all others hold without it; that is looked at, too. Events do not
//! stay: a term about one is looked at if tuples of it are known from elsewhere, or else taken as
//! not having come. What depends on time or chance is taken as holding, and said so.

mod answer;
mod attempt;
mod known;
mod lacked;
mod made;
mod rules;
mod search;
mod show;
mod terms;
#[cfg(test)]
mod tests;

pub use answer::{Wanted, WhyNot};
pub use known::{Known, KnownTable};
pub use rules::{Rules, RulesError};
