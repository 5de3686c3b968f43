//! The component tree of a program, as text for tools.

use std::cmp::Ordering;

use tidemill_proc::Worker;
use tidemill_proc::{ComponentView, ProcessView, Role};
use tidemill_stdx::sort;

use crate::top::columns;

/// The maximum number of components in a listing.
const LISTED_MAX: usize = 200;

/// The component tree with its processes. Their messages are known if a rule of the program reads
/// those of `sys::process` or `sys::channel`.
pub(crate) fn listing(worker: &mut Worker) -> String {
    let (mut all, rest) = worker.components(0, LISTED_MAX);
    sort::by(&mut all, |one, other| by_number(&one.path, &other.path));
    let mut out = format!("components: {} bytes in use\n\n", worker.used_bytes());
    let rows: Vec<Vec<String>> = all.iter().flat_map(rows).collect();
    let head = ["component", "type", "state", "bytes", "queued", "messages"];
    // Without messages there is no column of them.
    let shown = head.len() - usize::from(!worker.is_observed());
    let rows: Vec<Vec<String>> = rows.iter().map(|row| row[..shown].to_vec()).collect();
    out += &columns(&head[..shown], &rows);
    if rest.is_some() {
        out += "and more components\n\n";
    }
    out
}

fn rows(component: &ComponentView) -> Vec<Vec<String>> {
    let own = vec![
        component.path.clone(),
        component.kind.clone(),
        component.life.name().to_owned(),
        component.bytes.to_string(),
        String::new(),
        String::new(),
    ];
    std::iter::once(own).chain(component.processes.iter().map(row)).collect()
}

fn row(process: &ProcessView) -> Vec<String> {
    let queued = process.client.as_ref().map(|client| client.queued.to_string());
    let client = process.client.as_ref().map(|client| format!(" for {}", client.path));
    let role = if process.role == Role::Server { "server" } else { "" };
    vec![
        format!("  {}{}", process.name, client.unwrap_or_default()),
        role.to_owned(),
        process.state.name().to_owned(),
        String::new(),
        queued.unwrap_or_default(),
        process.activity.map_or(String::new(), |activity| activity.messages.to_string()),
    ]
}

/// The order of paths: numbers in them by their value, the rest as text.
fn by_number(one: &str, other: &str) -> Ordering {
    let (mut one, mut other) = (one, other);
    loop {
        let (number, number_of_other) = (leading_number(one), leading_number(other));
        match (number, number_of_other) {
            (Some((number, rest)), Some((with, rest_of_other))) => {
                // Without leading zeros the longer number is the larger one.
                let order = number.len().cmp(&with.len()).then(number.cmp(with));
                if order.is_ne() {
                    return order;
                }
                (one, other) = (rest, rest_of_other);
            }
            _ => {
                let (first, first_of_other) = (one.chars().next(), other.chars().next());
                let order = first.cmp(&first_of_other);
                let Some(first) = first.filter(|_| order.is_eq()) else { return order };
                (one, other) = (&one[first.len_utf8()..], &other[first.len_utf8()..]);
            }
        }
    }
}

/// The digits at the beginning of a text without leading zeros, and what follows them.
fn leading_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    (end > 0).then(|| (digits.trim_start_matches('0'), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_paths_count_by_their_value() {
        let sorted =
            ["Main", "Main/a", "Main/w[2]", "Main/w[9]/x", "Main/w[10]", "Main/x7", "Main/x07y"];
        for (at, one) in sorted.iter().enumerate() {
            for (with, other) in sorted.iter().enumerate() {
                assert_eq!(by_number(one, other), at.cmp(&with), "{one} {other}");
            }
        }
        assert_eq!(by_number("", "1"), Ordering::Less);
        assert_eq!(by_number("é", "é"), Ordering::Equal);
    }
}
