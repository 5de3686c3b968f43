//! The output of lines.

use super::tail::{self, LogLine};
use super::{Filters, Level};
use std::cell::Cell;
use std::fmt::{self, Write as _};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::span::{Attributes, Id, Record as SpanRecord};
use tracing::subscriber::Interest;
use tracing::{Event, Metadata, Subscriber};

/// One line.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    /// The level.
    pub level: Level,
    /// The topic: parts with `::` between them.
    pub topic: &'a str,
    /// The file that logged it.
    pub file: &'a str,
    /// The line in that file.
    pub line: u32,
    /// The text.
    pub message: &'a str,
    /// Fields of events of other libraries.
    pub fields: &'a [(&'a str, Value)],
    /// Whether file and line are shown.
    pub shows_place: bool,
}

/// The value of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// A number or a truth value, as it is written.
    Plain(String),
    /// Anything else.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Plain(text) => f.write_str(text),
            Value::Text(text) => write!(f, "{text:?}"),
        }
    }
}

/// `LEVEL TOPIC: TEXT`, or `LEVEL TOPIC FILE:LINE: TEXT`.
impl fmt::Display for Record<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { level, topic, file, line, shows_place, .. } = self;
        write!(f, "{level:5} {topic}")?;
        if *shows_place {
            write!(f, " {file}:{line}")?;
        }
        write!(f, ": {}", Text(self))
    }
}

/// The text with its fields.
struct Text<'r>(&'r Record<'r>);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Record { message, fields, .. } = self.0;
        f.write_str(message)?;
        let mut gap = if message.is_empty() { "" } else { " " };
        for (name, value) in *fields {
            write!(f, "{gap}{name}={value}")?;
            gap = " ";
        }
        Ok(())
    }
}

/// Takes each line. Fails if the line could not be written; that is counted in [`Handle::lost`].
pub type Output = Box<dyn FnMut(&Record<'_>) -> io::Result<()> + Send>;

/// Writes each record as a line of text.
pub fn lines(mut writer: impl io::Write + Send + 'static) -> Output {
    let mut line = String::new();
    Box::new(move |record| {
        line.clear();
        writeln!(line, "{record}").map_err(io::Error::other)?;
        // In one piece, so that lines of several programs on one terminal do not mix.
        writer.write_all(line.as_bytes())?;
        writer.flush()
    })
}

/// Sets the filters and the output of the whole program.
///
/// # Errors
/// If that was done before, here or directly with `tracing`.
pub fn init(filters: Filters, output: Output) -> Result<Handle, AlreadySet> {
    let (subscriber, handle) = subscriber(filters, output);
    tracing::subscriber::set_global_default(subscriber).map_err(|_| AlreadySet)?;
    Ok(handle)
}

/// A `tracing` subscriber with these filters and this output, for one scope, and the handle to
/// change it.
pub fn subscriber(filters: Filters, output: Output) -> (impl Subscriber + Send + Sync, Handle) {
    let shared = Arc::new(Shared {
        filters: RwLock::new(filters),
        output: Mutex::new(output),
        lost: AtomicU64::new(0),
    });
    (Lines(shared.clone()), Handle(shared))
}

/// The program's log was set before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AlreadySet;

impl fmt::Display for AlreadySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the log of this program was set before")
    }
}

impl std::error::Error for AlreadySet {}

/// Changes a log while it runs.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// Sets the filters from now on.
    pub fn set(&self, filters: Filters) {
        *self.0.filters.write().unwrap_or_else(PoisonError::into_inner) = filters;
        // `tracing` keeps for each place in the code whether it is on.
        tracing::callsite::rebuild_interest_cache();
    }

    /// The filters as they are now.
    pub fn filters(&self) -> Filters {
        self.0.read_filters(Filters::clone)
    }

    /// The number of lines that passed the filters, but could not be written by the output.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handle").field("filters", &self.filters()).finish_non_exhaustive()
    }
}

/// Loops of several threads write to one output, whose lines must not mix. The locks are not
/// contended: lines are rare by design, and those that are off never get here.
struct Shared {
    filters: RwLock<Filters>,
    output: Mutex<Output>,
    lost: AtomicU64,
}

thread_local! {
    /// Set while this thread is in the output: a line that the output itself logs would deadlock on
    /// its lock, and is dropped instead.
    static IN_OUTPUT: Cell<bool> = const { Cell::new(false) };
}

impl Shared {
    fn read_filters<T>(&self, read: impl FnOnce(&Filters) -> T) -> T {
        read(&self.filters.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, record: &Record<'_>) {
        tail::keep(kept(record));
        let kept = !IN_OUTPUT.replace(true) && {
            let leave = OnDrop(|| IN_OUTPUT.set(false));
            let mut output = self.output.lock().unwrap_or_else(PoisonError::into_inner);
            let kept = output(record).is_ok();
            drop(leave);
            kept
        };
        if !kept {
            // Relaxed: a count that orders nothing.
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The form in which the last lines are kept.
fn kept(record: &Record<'_>) -> LogLine {
    let (topic, file) = (record.topic.to_owned(), record.file.to_owned());
    let text = Text(record).to_string();
    LogLine { level: record.level, topic, file, line: record.line, text }
}

/// Runs a closure at the end of a scope, also if the output panics.
struct OnDrop<F: FnMut()>(F);

impl<F: FnMut()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The subscriber. Without spans, which `tracing-subscriber` would keep a registry of: none is
/// enabled.
struct Lines(Arc<Shared>);

impl Lines {
    fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let file = metadata.file().unwrap_or("");
        let level = self.0.read_filters(|filters| filters.level(metadata.target(), file));
        metadata.is_event() && level.allows(level_of(metadata))
    }
}

impl Subscriber for Lines {
    fn register_callsite(&self, metadata: &'static Metadata<'static>) -> Interest {
        if self.allows(metadata) { Interest::always() } else { Interest::never() }
    }

    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        self.allows(metadata)
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(match self.0.read_filters(Filters::level_max) {
            Level::Off => LevelFilter::OFF,
            level => LevelFilter::from_level(level.of_line()),
        })
    }

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut event_fields = EventFields::default();
        event.record(&mut event_fields);
        self.0.write(&Record {
            level: level_of(metadata),
            topic: metadata.target(),
            file: metadata.file().unwrap_or("?"),
            line: metadata.line().unwrap_or(0),
            message: &event_fields.message,
            fields: &event_fields.fields,
            shows_place: self.0.read_filters(Filters::shows_places),
        });
    }

    /// Any id, for callers that open a span in spite of [`enabled`](Self::enabled).
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &SpanRecord<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn level_of(metadata: &Metadata<'_>) -> Level {
    match *metadata.level() {
        tracing::Level::ERROR => Level::Error,
        tracing::Level::WARN => Level::Warn,
        tracing::Level::INFO => Level::Info,
        tracing::Level::DEBUG => Level::Debug,
        tracing::Level::TRACE => Level::Trace,
    }
}

/// The message of an event, and the fields of other libraries' events.
#[derive(Default)]
struct EventFields {
    message: String,
    fields: Vec<(&'static str, Value)>,
}

impl EventFields {
    fn plain(&mut self, field: &Field, value: &dyn fmt::Display) {
        self.fields.push((field.name(), Value::Plain(value.to_string())));
    }
}

impl Visit for EventFields {
    fn record_bool(&mut self, field: &Field, value: bool) {
        self.plain(field, &value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.plain(field, &value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.plain(field, &value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record_debug(field, &format_args!("{value}"));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        let mut text = String::new();
        // A foreign `Debug` that fails must not fail the line.
        if write!(text, "{value:?}").is_err() {
            text.push_str("(unprintable)");
        }
        match field.name() {
            "message" => self.message = text,
            name => self.fields.push((name, Value::Text(text))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::say;
    use std::sync::mpsc::{Receiver, channel};

    /// The most verbose level of this file's log lines.
    const CEILING: Level = Level::Debug;

    fn log(filters: &str) -> (impl Subscriber + Send + Sync, Handle, Receiver<String>) {
        let (sender, receiver) = channel();
        let output: Output = Box::new(move |record| {
            let text = format!("{record}");
            sender.send(text).map_err(io::Error::other)
        });
        let (subscriber, handle) = subscriber(Filters::parse(filters).unwrap(), output);
        (subscriber, handle, receiver)
    }

    /// The interest that `tracing` keeps is of the process: one test for all that changes it.
    #[test]
    fn lines_get_through_as_the_filters_say_and_while_it_runs() {
        let (subscriber, handle, receiver) = log("warn,sched=debug");
        tracing::subscriber::with_default(subscriber, || {
            let say_all = || {
                say!(Warn, "plan", "a {}", 1);
                say!(Info, "plan", "b");
                say!(Debug, "sched::timer", "c {:?}", Some(1));
                say!(Trace, "sched", "d");
                receiver.try_iter().collect::<Vec<_>>()
            };
            assert_eq!(say_all(), ["warn  plan: a 1", "debug sched::timer: c Some(1)"]);
            handle.set(Filters::parse("off,plan=info").unwrap());
            assert_eq!(say_all(), ["warn  plan: a 1", "info  plan: b"]);
            handle.set(Filters::parse("off,file:log/output.rs=trace").unwrap());
            // Above the ceiling of this file even `trace` finds nothing.
            assert_eq!(say_all().len(), 3);
            handle.set(Filters::parse("off").unwrap());
            assert_eq!(say_all(), Vec::<String>::new());
            handle.set(Filters::parse("off,plan=warn,place").unwrap());
            let line = say_all().remove(0);
            assert!(line.starts_with("warn  plan crates/stdx/src/log/output.rs:"), "{line}");
            assert!(line.ends_with(": a 1"), "{line}");
            assert_eq!(handle.filters().to_string(), "off,plan=warn,place");

            handle.set(Filters::new(Level::Info));
            tracing::info!(target: "other", count = 3, name = "x", "said");
            assert_eq!(receiver.recv().unwrap(), r#"info  other: said count=3 name="x""#);
            assert_eq!(handle.lost(), 0);
            drop(receiver);
            say!(Error, "plan", "no listener");
            assert_eq!(handle.lost(), 1);
        });
    }

    const RECORD: Record<'_> = Record {
        level: Level::Info,
        topic: "plan",
        file: "plan.rs",
        line: 7,
        message: "two\tstrands",
        fields: &[],
        shows_place: true,
    };

    #[test]
    fn what_the_output_says_itself_is_lost_and_counted() {
        let shared = Arc::new_cyclic(|weak: &std::sync::Weak<Shared>| {
            let weak = weak.clone();
            let output: Output = Box::new(move |record| {
                weak.upgrade().unwrap().write(record);
                Ok(())
            });
            Shared {
                filters: RwLock::default(),
                output: Mutex::new(output),
                lost: AtomicU64::new(0),
            }
        });
        shared.write(&RECORD);
        shared.write(&RECORD);
        assert_eq!(Handle(shared).lost(), 2);
    }

    #[test]
    fn a_writer_gets_whole_lines() {
        #[derive(Clone, Default)]
        struct Pieces(Arc<Mutex<Vec<String>>>);
        impl io::Write for Pieces {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
                Ok(bytes.len())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let pieces = Pieces::default();
        let mut output = lines(pieces.clone());
        output(&RECORD).unwrap();
        output(&Record { shows_place: false, ..RECORD }).unwrap();
        assert_eq!(
            *pieces.0.lock().unwrap(),
            ["info  plan plan.rs:7: two\tstrands\n", "info  plan: two\tstrands\n"]
        );
    }
}
