//! `top`: what a running program counts. A process of this machine is not asked and does not
//! notice: its files are read. A node elsewhere is asked at its port.

use std::io::{IsTerminal, Read};
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

use tidemill::ask::Asker;
use tidemill::components::CONTROL;
use tidemill::top::{prometheus, table};
use tidemill_event::Os;
use tidemill_relation::Value;
use tidemill_stat::{Snapshot, place};

use crate::Status;
use crate::args::{TopArgs, TopForm, Whom};
use crate::output::Out;
use crate::report::Reporter;

/// From one look to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// How long a node may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of a component tree at most.
const LISTING_MAX: u64 = 1 << 20;

/// What a node is asked for.
const COUNTERS: &str = "sys::counter";

/// To the upper left corner; and clear what is behind.
const HOME: &str = "\x1b[H";
const CLEAR: &str = "\x1b[J";

/// `top`.
pub fn top(args: &TopArgs, report: Reporter) -> Status {
    let mut out = Out::new();
    let shown = Looker::new(args.whom.as_ref()).and_then(|mut looker| match args.form {
        TopForm::Text if std::io::stdout().is_terminal() => watch(&mut looker, &mut out),
        TopForm::Text => once(&mut looker, &mut out),
        TopForm::Prometheus => looker.look().map(|snapshot| out.write(&prometheus(&snapshot))),
    });
    match shown {
        Ok(()) => out.finish(),
        Err(message) => {
            report.error(&message);
            Status::Failed
        }
    }
}

/// The only process there is.
fn only() -> Result<u32, String> {
    match place::processes(&place::base_path()).as_slice() {
        [] => Err("nothing runs that counts".to_owned()),
        [pid] => Ok(*pid),
        pids => {
            let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
            Err(format!("several run: tell which of {}", pids.join(", ")))
        }
    }
}

/// Who looks at the counters.
enum Looker {
    Process(u32),
    Node(String, Box<Asker>),
}

impl Looker {
    fn new(whom: Option<&Whom>) -> Result<Looker, String> {
        match whom {
            None => only().map(Looker::Process),
            Some(Whom::Process(pid)) => Ok(Looker::Process(*pid)),
            Some(Whom::Node(address)) => {
                let asker = Os::new().and_then(|host| Asker::new(Box::new(host), address));
                let asker = asker.map_err(|error| format!("cannot open a port: {error}"))?;
                Ok(Looker::Node(address.clone(), Box::new(asker)))
            }
        }
    }

    /// All counters as they are now.
    fn look(&mut self) -> Result<Snapshot, String> {
        match self {
            Looker::Process(pid) => Snapshot::open(*pid).map_err(|error| error.to_string()),
            Looker::Node(_, asker) => {
                let rows = asker.ask(COUNTERS, TIMEOUT).map_err(|error| error.to_string())?;
                let mut snapshot = Snapshot::default();
                for row in &rows.rows {
                    let columns: Vec<Value<'_>> = row.iter().map(|column| column.get()).collect();
                    // What is no counter has been sent by somebody else.
                    if let [_, Value::Str(name), Value::Int(value)] = columns[..] {
                        snapshot.counters.insert(name.to_owned(), value.unsigned_abs());
                    }
                }
                Ok(snapshot)
            }
        }
    }

    /// The component tree as the process tells it; empty if it has none.
    fn components(&self) -> String {
        let Looker::Process(pid) = self else { return String::new() };
        let path = place::base_path().join(pid.to_string()).join(CONTROL);
        let mut text = String::new();
        if let Ok(stream) = UnixStream::connect(path)
            && stream.set_read_timeout(Some(PERIOD)).is_ok()
        {
            // What has come until then is shown.
            let _ = stream.take(LISTING_MAX).read_to_string(&mut text);
        }
        text
    }

    /// Whether there will be more to see.
    fn goes_on(&self) -> bool {
        match self {
            Looker::Process(pid) => place::processes(&place::base_path()).contains(pid),
            Looker::Node(..) => true,
        }
    }

    fn name(&self) -> String {
        match self {
            Looker::Process(pid) => format!("process {pid}"),
            Looker::Node(address, _) => format!("node {address}"),
        }
    }
}

/// The rates of one second; of a process that has died, its last counts.
fn once(looker: &mut Looker, out: &mut Out) -> Result<(), String> {
    let name = looker.name();
    if !looker.goes_on() {
        let last = looker.look()?;
        let none = Snapshot { pid: last.pid, ..Snapshot::default() };
        out.write(&format!("{name} has ended; rates are its counts\n\n"));
        out.write(&table(&none, &last, 1.0));
        return Ok(());
    }
    let (before, since) = (looker.look()?, Instant::now());
    thread::sleep(PERIOD);
    let after = looker.look()?;
    out.write(&format!("{name}\n\n{}", looker.components()));
    out.write(&table(&before, &after, since.elapsed().as_secs_f64()));
    Ok(())
}

/// The same each second, until the process ends.
fn watch(looker: &mut Looker, out: &mut Out) -> Result<(), String> {
    let name = looker.name();
    let (mut before, mut since) = (looker.look()?, Instant::now());
    out.write(&format!("{HOME}{CLEAR}{name}\n"));
    while !out.has_failed() {
        thread::sleep(PERIOD);
        let (Ok(after), true) = (looker.look(), looker.goes_on()) else {
            out.write(&format!("{name} has ended\n"));
            return Ok(());
        };
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let text = looker.components() + &table(&before, &after, seconds);
        out.write(&format!("{HOME}{name}\x1b[K\n\x1b[K\n"));
        // Lines get shorter and fewer: clear behind each, and below.
        out.write(&format!("{}{CLEAR}", text.replace('\n', "\x1b[K\n")));
        before = after;
    }
    Ok(())
}
