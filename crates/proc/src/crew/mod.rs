//! Several loops: one worker each, and a component with all its processes lives on one of them.
//!
//! ```text
//! loop 0: event loop, worker 0      loop 1: worker 1        loop 2: worker 2
//! entry component, system           components, processes   ...
//! components, ready queue           ready queue
//!        \_______ ring ______________/ \______ ring __________/
//! ```
//! * Messages on a loop work as with one worker: inlined code, no atomics, the receiver goes on the
//!   same ready queue.
//! * Messages between two loops take the channel's guard ([`crate::channel`]); the process to wake
//!   over there is posted through a bounded ring ([`ring`]), and a sleeping loop is woken.
//! * What changes relations between components of different loops (opening, DELETE, CONNECT of
//!   another's, faults, moving) is rare. One worker does it while the others are stopped between
//!   two processes (stop the world, [`exclusive`]): it is then in the position of a single worker,
//!   with the same code. Requests and replies over the rings instead would turn each of some twenty
//!   operations into a state machine, for what happens some hundred times in a run.
//!
//! **The rule:** without exclusive access a worker touches only its own components, their processes
//! and blocks, channels between them, and under the guard a channel to another loop. Of others'
//! components it may read what does not change: type, number, loop. A component that has to do
//! with any on another loop is marked as *tied*; its life advances under exclusive access.
//!
//! For which components live where, see [`spread`] and [`policy`]. Virtual time, and the search for
//! deadlocks and circles, concern all processes; for them everything is gathered on the first loop.
//! System components belong to the first loop, and so does a component while it communicates with
//! them.

mod asleep;
mod end;
pub(crate) mod exclusive;
mod idle;
mod judge;
mod policy;
pub(crate) mod ring;
mod route;
mod run;
mod spread;
mod team;
pub(crate) use end::clear_alone;
pub(crate) use run::advance;
pub(crate) use spread::{gather_for_good, is_gathered_for_good};
pub(crate) use team::Team;
mod alone;
mod place;
mod state;

pub(crate) use alone::{alone, between, pass_on, visit, write};
pub(crate) use place::{go_home, index, is_away, is_elsewhere, is_spread, is_tied, later, tie};
pub(crate) use state::{Crew, Desk};
