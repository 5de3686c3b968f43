//! `query`.

use std::collections::HashMap;
use std::time::Duration;

use tidemill::ask::Rows;
use tidemill_relation::OwnedValue;
use tidemill_relation::json::JsonWriter;
use tidemill_relation::text::DisplayTuple;

use super::common::{asker, failed};
use crate::args::QueryArgs;
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// The period of `--watch`.
const WATCH_EVERY: Duration = Duration::from_millis(500);

/// Sends a query once, or periodically.
pub fn query(args: QueryArgs, report: Reporter) -> Status {
    let timeout = Duration::from_nanos(args.timeout);
    let mut asker = match asker(&args.address, args.token_file.as_ref()) {
        Ok(asker) => asker,
        Err(error) => return failed(report, error),
    };
    let mut out = Out::new();
    let mut before = Vec::new();
    loop {
        let now = match asker.ask(&args.text, timeout) {
            Ok(rows) => tuples(&rows, args.json),
            Err(error) => return failed(report, error),
        };
        if !args.watch {
            now.iter().for_each(|tuple| print(&mut out, args.json, None, tuple));
            return out.finish();
        }
        let (gone, new) = (beyond(&before, &now), beyond(&now, &before));
        gone.iter().for_each(|tuple| print(&mut out, args.json, Some(Change::Gone), tuple));
        new.iter().for_each(|tuple| print(&mut out, args.json, Some(Change::New), tuple));
        if out.has_failed() {
            return out.finish();
        }
        before = now;
        if let Err(error) = asker.pause(WATCH_EVERY) {
            return failed(report, error);
        }
    }
}

/// The change of a row between two answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Change {
    Gone,
    New,
}

/// Rows as text or as JSON arrays.
fn tuples(rows: &Rows, json: bool) -> Vec<String> {
    let one = |row: &Vec<OwnedValue>| {
        let columns = row.iter().map(OwnedValue::get);
        if !json {
            return DisplayTuple::new(&rows.name, columns).to_string();
        }
        let mut writer = JsonWriter::new();
        writer.tuple(&rows.name, columns);
        writer.finish()
    };
    rows.rows.iter().map(one).collect()
}

/// The tuples that `these` contains more often than `those`.
fn beyond<'t>(these: &'t [String], those: &'t [String]) -> Vec<&'t str> {
    let mut left: HashMap<&'t str, usize> = HashMap::new();
    those.iter().for_each(|tuple| *left.entry(tuple).or_default() += 1);
    let mut is_beyond = |tuple: &&'t str| match left.get_mut(*tuple) {
        Some(count) if *count > 0 => {
            *count -= 1;
            false
        }
        _ => true,
    };
    these.iter().map(String::as_str).filter(|tuple| is_beyond(tuple)).collect()
}

fn print(out: &mut Out, json: bool, change: Option<Change>, tuple: &str) {
    let before = match (json, change) {
        (true, None) => "{",
        (true, Some(Change::New)) => "{\"event\":\"i\",",
        (true, Some(Change::Gone)) => "{\"event\":\"d\",",
        (false, None) => "",
        (false, Some(Change::New)) => "+ ",
        (false, Some(Change::Gone)) => "- ",
    };
    if json {
        out.write(&format!("{before}\"tuple\":{tuple}}}\n"));
    } else {
        out.write(&format!("{before}{tuple}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_count_equal_rows() {
        let texts = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
        let (before, now) = (texts(&["a", "b", "b"]), texts(&["b", "c"]));
        assert_eq!(beyond(&before, &now), ["a", "b"]);
        assert_eq!(beyond(&now, &before), ["c"]);
    }
}
