//! Components: what a program of the component language has in a run.
//!
//! | part | holds |
//! |---|---|
//! | [`code`] | the machine code of a program, listed |
//! | `system/` | the components that the system offers: files, time, a screen, the network |
//! | `hosted` | a program inside a packet app, which gives it time |
//! | `output` | what the program writes |
//! | `report` | faults in the form that users read |
//! | `listing` | the component tree for `top` |
//! | `watchdog` | ends runs that do not end by themselves |

pub mod code;
pub(crate) mod hosted;
mod listing;
pub(crate) mod output;
pub(crate) mod report;
pub(crate) mod system;
pub(crate) mod watchdog;

pub(crate) use listing::listing;
pub use tidemill_proc::{Count, Counts};
