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
//! | [`Config`], [`Value`], [`Setting`] | the config of one app in a graph |
//! | [`Bell`] | whether a source that is polled has packets |
//! | [`App`], [`Io`], [`Start`] | the methods of an app and their arguments |
//! | `instance` | an app that runs, of any type |
//! | `seat` | an app that runs, of its type, behind entry points that stop panics |

mod bell;
mod capture_time;
mod catalogue;
mod config;
mod declaration;
mod declare;
mod fault;
mod instance;
mod io;
mod mac;
mod progress;
mod seat;
mod setting;

use std::any::Any;
use std::os::fd::RawFd;
use std::time::Duration;

pub use bell::Bell;
pub use capture_time::CaptureTime;
pub use catalogue::Catalogue;
pub use config::{Config, Value};
pub use declaration::{
    Count, Declaration, Declared, Default, Direction, Key, Pacing, Port, Settings,
};
pub use declare::key_name;
pub use fault::{ConfigError, Fault};
pub use instance::Instance;
pub(crate) use instance::{Status, contained};
pub(crate) use io::{Common, Input, Output, UNLINKED};
pub use io::{Io, Ports, Start};
pub use mac::{Mac, NoMac};
pub use progress::{Flushed, Progress, Reconfigured};
pub use seat::{construct, validate_config};
pub use setting::{BadValue, Setting};

use crate::kernel::Running;

/// An app. All methods but `new` may stay as they are.
///
/// An app may do anything outside its ports: use files, sockets. It takes time and randomness from
/// [`Io`] and [`Start`], so that simulated runs repeat.
pub trait App: Declared {
    /// Those of its [counters](App::report) that say what is there at present, and end with it: the
    /// others are continued by the app that replaces one that has failed.
    const GAUGES: &'static [&'static str] = &[];

    /// What types cannot express of a config: ranges, and keys that exclude each other. Touches
    /// nothing outside, for graphs are checked without being run.
    ///
    /// # Errors
    /// The error, and its key.
    fn validate(config: &Self::Config) -> Result<(), ConfigError> {
        let _ = config;
        Ok(())
    }

    /// Starts the app.
    ///
    /// # Errors
    /// Why it cannot start: a missing file, most often.
    fn new(config: Self::Config, start: &mut Start) -> Result<Self, Fault>;

    /// Takes the names of the links there are, before the first packet and whenever they change.
    fn linked(&mut self, ports: &Ports<'_>) {
        let _ = ports;
    }

    /// Brings packets in. Called for apps declared with `pulls`, once a breath while awake.
    ///
    /// # Errors
    /// Why the app cannot continue.
    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        let _ = io;
        Ok(Progress::Done)
    }

    /// Takes the packets of its inputs, those that were there when it was called.
    ///
    /// # Errors
    /// Why the app cannot continue.
    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        let _ = io;
        Ok(())
    }

    /// The period of [`App::tick`]; never, if nothing.
    fn tick_every(&self) -> Option<Duration> {
        None
    }

    /// Does what is due at this time: expires, resends.
    ///
    /// # Errors
    /// Why the app cannot continue.
    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        let _ = io;
        Ok(())
    }

    /// Whether what a new config names can be had, where that is something else than what the app
    /// has: another file, another device. Called before anything changes, and changes nothing
    /// itself; the app is offered the config only if nothing is in the way of any.
    ///
    /// # Errors
    /// Why it cannot take it.
    fn can_take(&self, config: &Self::Config) -> Result<(), Fault> {
        let _ = config;
        Ok(())
    }

    /// Takes a new config, or declines it and is constructed again.
    fn reconfigure(&mut self, config: Self::Config) -> Reconfigured {
        let _ = config;
        Reconfigured::Restart
    }

    /// What its successor goes on with, as the app is killed from outside: the place in a capture.
    /// It takes that by [`Start::inherit`]. An app that fails by itself leaves nothing, as nothing
    /// half done is used again.
    fn leave(&mut self) -> Option<Box<dyn Any>> {
        None
    }

    /// Counters of its own, by name.
    fn report(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// Sends what it has held back, as the run or the app is about to end: as much as its links
    /// have room for. Until that is all, it is called again, and the apps behind it take packets
    /// in between. It may go on afterwards.
    ///
    /// # Errors
    /// Why the app cannot continue.
    fn flush(&mut self, io: &mut Io) -> Result<Flushed, Fault> {
        let _ = io;
        Ok(Flushed::All)
    }

    /// Ends in order: closes connections. Not called after a fault. Packets that it sends arrive
    /// nowhere: see [`App::flush`].
    fn stop(&mut self, io: &mut Io) {
        let _ = io;
    }

    /// The kernel of an app declared with `kernel`, which is given as code: what its `push` does,
    /// so that the compiled engine may do it without calling. The kernel stays the same until the
    /// app is reconfigured.
    fn kernel(&self) -> Option<&Running> {
        None
    }

    /// For a source that must be polled: the bell that signals packets. While it is silent the app
    /// is not called, as if it had returned [`Progress::Poll`]; so a poll costs a load. It stays
    /// the same as long as the app lives.
    fn bell(&self) -> Option<&Bell> {
        None
    }

    /// What wakes the app when it sleeps: a descriptor that becomes readable.
    fn descriptor(&self) -> Option<RawFd> {
        None
    }
}
