//! Components: loading and running programs of the component language.
//!
//! ```text
//! files -> load: parse, check, lower, verify -> run: compile, then processes on the event loop
//! ```
//!
//! | part | holds |
//! |---|---|
//! | [`load`](mod@load) | files to a checked program, with diagnostics |
//! | [`run`](mod@run) | a program with its options, from start to end |
//! | `hosted` | a program inside something else, which gives it time |
//! | [`explain`] | the program drawn, and its machine code listed |
//! | `report` | faults in the form that users read |
//! | `control` | the component tree for `top` |
//! | `watchdog` | the end of runs that nothing else ends |
//! | `output` | what the program writes |
//! | `system/` | the components that the system offers: files, time, a screen, the network |

mod control;
pub mod explain;
pub(crate) mod hosted;
pub mod load;
mod output;
mod report;
pub mod run;
pub(crate) mod system;
mod watchdog;

pub use load::{Loaded, load, load_text};
pub use run::{Clock, Ended, Engine, Input, RunOptions, Streams, run};
pub use tidemill_proc::{Count, Counts};
