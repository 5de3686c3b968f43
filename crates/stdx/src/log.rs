//! Log lines: levels, topics, and switches per level, topic and file.
//!
//! [`say!`](crate::say) is `tracing`'s `event!` with a *ceiling*: each file that logs names the
//! highest level that it compiles. Lines above it cost nothing, not even their text.
//!
//! ```
//! use tidemill_stdx::log::Level;
//! use tidemill_stdx::say;
//!
//! /// The most verbose level of this file's log lines.
//! const CEILING: Level = Level::Debug;
//!
//! let woken = 3;
//! say!(Debug, "sched", "woke {woken} of {}", 8);
//! say!(Trace, "sched", "never compiled: {}", 1);
//! ```
//!
//! [`Filters`] switch compiled lines on and off while the program runs:
//!
//! ```text
//! warn                          lines of this level and more severe ones (this is the default)
//! sched=debug                   another level for a topic and all below it (sched::timer)
//! file:join.rs=trace            another level for a file; stronger than its topics
//! place                         file and line on each line
//! json                          each line as a JSON object
//! info,sched=off,file:plan/mod.rs=trace,place
//! ```
//!
//! A switched-off line costs one load and one branch: `tracing` asks the filters once per place
//! in the code, and again after [`Handle::set`].
//!
//! Lines go to an [`Output`], a closure that gets each [`Record`]; [`lines`] and [`json_lines`]
//! make one from any writer. The last [`TAIL_LINES`] are kept for readers inside of the program
//! ([`lines_after`]). A record bears no time: that comes from the owner of the clock.
//!
//! ```
//! use tidemill_stdx::log::{self, Filters};
//!
//! let handle = log::init(Filters::parse("warn,sched=debug")?, log::lines(std::io::stderr()))?;
//! handle.set(Filters::parse("info,place")?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod filter;
mod json;
mod output;
mod tail;

pub use filter::{FilterError, Filters};
pub use json::{JsonLine, json_lines};
pub use output::{AlreadySet, Handle, Output, Record, Value, init, lines, subscriber};
pub use tail::{LogLine, TAIL_LINES, last_line, lines_after};

#[doc(hidden)]
pub use tracing;

use std::fmt;

/// The level of a line, or, of a filter or ceiling, the least that passes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// Nothing; as a filter only.
    Off,
    /// A requested operation failed.
    Error,
    /// Something unexpected was handled.
    Warn,
    /// Events that an operator needs to know of a healthy program.
    Info,
    /// Details for finding a mistake.
    Debug,
    /// Each step.
    Trace,
}

impl Level {
    /// All levels, the least verbose first.
    pub const ALL: [Level; 6] =
        [Level::Off, Level::Error, Level::Warn, Level::Info, Level::Debug, Level::Trace];

    /// The name in filters and lines.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Off => "off",
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        }
    }

    /// The level of a name, in any case.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name().eq_ignore_ascii_case(name))
    }

    /// As a ceiling: whether lines of `level` get through.
    pub const fn allows(self, level: Level) -> bool {
        level as u8 <= self as u8
    }

    /// The level of a line in `tracing`. Refuses to compile for [`Level::Off`], as `say!` asks in
    /// a constant.
    #[doc(hidden)]
    pub const fn of_line(self) -> tracing::Level {
        match self {
            Level::Off => panic!("nothing can be said at level Off"),
            Level::Error => tracing::Level::ERROR,
            Level::Warn => tracing::Level::WARN,
            Level::Info => tracing::Level::INFO,
            Level::Debug => tracing::Level::DEBUG,
            Level::Trace => tracing::Level::TRACE,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Logs a line: `say!(Debug, "topic", "format {}", arguments)`.
///
/// The file must define `const CEILING: Level`. Above the ceiling nothing is compiled and no
/// argument is evaluated; below it, arguments are evaluated only if the filters let the line
/// through.
///
/// ```compile_fail
/// // No ceiling, no line.
/// tidemill_stdx::say!(Info, "sched", "hello");
/// ```
#[macro_export]
macro_rules! say {
    ($level:ident, $topic:expr, $($message:tt)+) => {
        if const { CEILING.allows($crate::log::Level::$level) } {
            $crate::log::tracing::event!(
                target: $topic,
                $crate::log::Level::$level.of_line(),
                $($message)+
            );
        }
    };
}
