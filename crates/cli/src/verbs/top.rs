//! `top`: what a running program counts, read from its files. The program is not asked, and does
//! not notice.

use std::io::IsTerminal;
use std::thread;
use std::time::{Duration, Instant};

use tidemill::top::{prometheus, table};
use tidemill_stat::{Snapshot, place};

use crate::Status;
use crate::args::{TopArgs, TopForm};
use crate::output::Out;
use crate::report::Reporter;

/// From one look to the next.
const PERIOD: Duration = Duration::from_secs(1);

/// To the upper left corner; and clear what is behind.
const HOME: &str = "\x1b[H";
const CLEAR: &str = "\x1b[J";

/// `top`.
pub fn top(args: &TopArgs, report: Reporter) -> Status {
    let pid = match args.pid.map_or_else(only, Ok) {
        Ok(pid) => pid,
        Err(message) => {
            report.error(&message);
            return Status::Failed;
        }
    };
    let mut out = Out::new();
    let shown = match args.form {
        TopForm::Text if std::io::stdout().is_terminal() => watch(pid, &mut out),
        TopForm::Text => once(pid, &mut out),
        TopForm::Prometheus => open(pid).map(|snapshot| out.write(&prometheus(&snapshot))),
    };
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

fn open(pid: u32) -> Result<Snapshot, String> {
    Snapshot::open(pid).map_err(|error| error.to_string())
}

fn is_alive(pid: u32) -> bool {
    place::processes(&place::base_path()).contains(&pid)
}

/// The rates of one second; of a process that has died, its last counts.
fn once(pid: u32, out: &mut Out) -> Result<(), String> {
    if !is_alive(pid) {
        let last = open(pid)?;
        let none = Snapshot { pid, ..Snapshot::default() };
        out.write(&format!("process {pid} has ended; rates are its counts\n\n"));
        out.write(&table(&none, &last, 1.0));
        return Ok(());
    }
    let (before, since) = (open(pid)?, Instant::now());
    thread::sleep(PERIOD);
    let after = open(pid)?;
    out.write(&format!("process {pid}\n\n"));
    out.write(&table(&before, &after, since.elapsed().as_secs_f64()));
    Ok(())
}

/// The same each second, until the process ends.
fn watch(pid: u32, out: &mut Out) -> Result<(), String> {
    let (mut before, mut since) = (open(pid)?, Instant::now());
    out.write(&format!("{HOME}{CLEAR}process {pid}\n"));
    while !out.has_failed() {
        thread::sleep(PERIOD);
        let (Ok(after), true) = (open(pid), is_alive(pid)) else {
            out.write(&format!("process {pid} has ended\n"));
            return Ok(());
        };
        let seconds = since.elapsed().as_secs_f64();
        since = Instant::now();
        let text = table(&before, &after, seconds);
        out.write(&format!("{HOME}process {pid}\x1b[K\n\x1b[K\n"));
        // Lines get shorter and fewer: clear behind each, and below.
        out.write(&format!("{}{CLEAR}", text.replace('\n', "\x1b[K\n")));
        before = after;
    }
    Ok(())
}
