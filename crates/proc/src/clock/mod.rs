//! Virtual time: PASSIVATE and TIME.
//!
//! Every component that is not SYNCHRONOUS has a time of its own, shared by the SYNCHRONOUS ones
//! below it; it exists from its first use. It advances to its earliest sleeper when all processes
//! below the component are passive. Passive processes are not counted, for that would cost every
//! message something: *active* are the processes in the ready queue, those whose conditions are
//! to be evaluated, and those that wait for a system component. So when the ready queue is
//! empty, and else once a slice, the components of the active processes and all above them are
//! marked, and each clock without a mark advances, the deepest first. So a component whose
//! processes never stop sleeping does not hold up those above.

mod end;
mod state;
mod time;

pub(crate) use end::{close, forget};
pub(crate) use state::Clock;
pub(crate) use time::{advance, passivate, time};
