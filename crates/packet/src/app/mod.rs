//! Apps: what a graph is made of.
//!
//! An app type is a Rust type with one declaration beside it, made by [`declare!`](crate::declare):
//! its name, its config keys, its ports. From that come the constructor, the check of a config, and
//! the catalogue; there is no second place to keep in step.
//!
//! ```
//! use tidemill_packet::app::{App, Declared, Fault, Io, Start};
//!
//! tidemill_packet::declare! {
//!     /// Cuts packets to a length.
//!     app Cut {
//!         config CutConfig {
//!             /// Bytes that are left of a packet.
//!             length: u16 = 64,
//!         }
//!         ports {
//!             /// What is cut.
//!             input: Input(Push, One),
//!             /// What is left.
//!             output: Output(Push, One),
//!         }
//!         traits { passes }
//!     }
//! }
//!
//! struct Cut {
//!     length: usize,
//! }
//!
//! impl App for Cut {
//!     fn new(config: CutConfig, _: &mut Start) -> Result<Cut, Fault> {
//!         Ok(Cut { length: config.length.into() })
//!     }
//!
//!     fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
//!         while let Some(mut packet) = io.receive(0) {
//!             packet.truncate(self.length);
//!             io.send(0, packet);
//!         }
//!         Ok(())
//!     }
//! }
//!
//! assert_eq!(Cut::declaration().keys[0].name, "length");
//! ```
//!
//! | part | holds |
//! |---|---|
//! | [`Declaration`], [`Catalogue`] | app types |
//! | [`Config`], [`Value`], [`Setting`] | what a graph says of one app |
//! | [`Bell`] | whether a source that is polled has anything |
//! | [`App`], [`Io`], [`Start`] | the methods of an app and what they see |
//! | `instance` | an app that runs, behind entry points that stop panics |

mod bell;
mod capture_time;
mod catalogue;
mod config;
mod declaration;
mod instance;
mod io;
mod setting;

use std::fmt;
use std::os::fd::RawFd;
use std::time::Duration;

pub use bell::Bell;
pub use capture_time::CaptureTime;
pub use catalogue::Catalogue;
pub use config::{Config, Value};
pub use declaration::{
    Count, Declaration, Declared, Direction, Flow, Key, Port, Settings, construct, key_name,
    validate,
};
pub use instance::Instance;
pub(crate) use instance::{Status, contained};
pub(crate) use io::{Common, Input, Output};
pub use io::{Io, Ports, Start};
pub use setting::Setting;

use crate::kernel::Running;

/// Why an app cannot go on. The engine reports it with the app's name and starts the app again,
/// unless that would be of no use.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// One sentence without a final period.
    pub message: String,
    /// Starting again would only repeat what has been done: a capture that makes no sense from some
    /// place on. The app brings nothing more, what it has brought goes on its way, and the app is
    /// out of order at the end.
    pub is_final: bool,
}

impl Fault {
    /// A fault that says `message`.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), is_final: false }
    }

    /// A fault after which the app is not started again.
    pub fn last(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), is_final: true }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl<E: std::error::Error> From<E> for Fault {
    fn from(error: E) -> Fault {
        Fault::new(error.to_string())
    }
}

/// What is wrong with the value of a config key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// The key; empty if it is about several.
    pub key: &'static str,
    /// One sentence without a final period.
    pub message: String,
}

impl Wrong {
    /// What is wrong with `key`.
    pub fn new(key: &'static str, message: impl Into<String>) -> Wrong {
        Wrong { key, message: message.into() }
    }
}

/// How it stands with a source after a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// There may be more at once.
    Ready,
    /// Nothing now; only asking again will tell.
    Poll,
    /// Nothing until the time comes, in nanoseconds of the event loop.
    Until(u64),
    /// Nothing until its descriptor is ready or packets come for it; the engine notifies it.
    Asleep,
    /// Nothing ever again.
    Done,
}

/// What became of a new config.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reconfigured {
    /// The app goes on with it and keeps its state.
    Kept,
    /// The app must be made anew.
    Restart,
}

/// An app. All methods but `new` may stay as they are.
///
/// What an app does outside its ports is its own: files, sockets. Time and chance it takes from
/// [`Io`] and [`Start`], so that simulated runs repeat.
pub trait App: Declared {
    /// What no type tells of a config: ranges, and keys that exclude each other. Touches nothing
    /// outside, for graphs are checked without being run.
    ///
    /// # Errors
    /// What is wrong, and with which key.
    fn validate(config: &Self::Config) -> Result<(), Wrong> {
        let _ = config;
        Ok(())
    }

    /// Starts the app.
    ///
    /// # Errors
    /// What is in the way: a file that is not there, most often.
    fn new(config: Self::Config, start: &mut Start) -> Result<Self, Fault>;

    /// Tells which links there are, before the first packet and whenever they change.
    fn linked(&mut self, ports: &Ports<'_>) {
        let _ = ports;
    }

    /// Brings packets in. Called for apps declared with `pulls`, once a breath while awake.
    ///
    /// # Errors
    /// Why the app cannot go on.
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let _ = io;
        Ok(Progress::Done)
    }

    /// Takes the packets of its inputs, those that were there when it was called.
    ///
    /// # Errors
    /// Why the app cannot go on.
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let _ = io;
        Ok(())
    }

    /// How often [`App::tick`] is called; never, if nothing.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Does what time asks for: forgets, resends.
    ///
    /// # Errors
    /// Why the app cannot go on.
    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let _ = io;
        Ok(())
    }

    /// Takes a new config, or asks to be made anew.
    fn reconfigure(&mut self, config: Self::Config) -> Reconfigured {
        let _ = config;
        Reconfigured::Restart
    }

    /// Counters of its own, by name.
    fn report(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Ends in order: writes what is left, says goodbye. Not called after a fault.
    fn stop(&mut self, io: &mut Io) {
        let _ = io;
    }

    /// The kernel of an app declared with `kernel`, which is given as code: what its `push` does,
    /// so that the compiled engine may do it without calling. The kernel stays the same until the
    /// app is reconfigured.
    fn kernel(&self) -> Option<&Running> {
        None
    }

    /// For a source that must be asked again and again: the bell that says whether there is
    /// anything. While it is silent the app is not called, and taken to have said
    /// [`Progress::Poll`]; so asking costs a load. It stays the same as long as the app lives.
    fn bell(&self) -> Option<&Bell> {
        None
    }

    /// What wakes the app when it sleeps: a descriptor that becomes readable.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}
