//! Where rules meet the other parts of the system. Each border is a family of operators for
//! `stage` ([`tidemill_overlog::stage::Family`]), so that rules know nothing of what is behind it.
//!
//! | border | names | of |
//! |---|---|---|
//! | [`schemas`] | `proto:pkg.Type`, `proto:encode pkg.Type`, `f_decode`, `f_encode` | messages |

pub mod schemas;
