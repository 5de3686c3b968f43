//! The command line that repeats a run.

use std::time::Duration;

use crate::script::{latency_text, seconds_text};
use crate::sim::{Settle, SimOptions};

/// The arguments of `tidemill` that simulate a program, beginning with `sim`, except for those that
/// depend on the seed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimCommand {
    /// The arguments.
    pub arguments: Vec<String>,
    /// The arguments without a script and an end, which a found script provides.
    pub replay: Vec<String>,
}

impl SimCommand {
    /// The arguments that repeat the script in this file.
    pub(super) fn of_script(&self, file: &str, settle: Option<Settle>) -> Vec<String> {
        let mut arguments = self.replay.clone();
        add_settle(&mut arguments, settle);
        arguments.extend(["--script".to_owned(), file.to_owned()]);
        arguments
    }

    /// The arguments that repeat a run with these options.
    pub(super) fn of_run(&self, options: &SimOptions) -> Vec<String> {
        let default = SimOptions::default();
        let mut arguments = self.arguments.clone();
        let mut add = |option: &str, value: String| {
            arguments.extend([format!("--{option}"), value]);
        };
        add("nodes", options.nodes.to_string());
        add("seed", options.seed.to_string());
        let latency = (options.latency, options.latency_shape);
        if latency != (default.latency, default.latency_shape) {
            let (least, most) = options.latency;
            add("latency", latency_text((ns(least), ns(most)), options.latency_shape));
        }
        let chances = [
            ("loss", options.loss),
            ("duplicate", options.duplicate),
            ("reorder", options.reorder),
        ];
        for (option, chance) in chances.into_iter().filter(|(_, chance)| *chance > 0.0) {
            // The shortest digits that denote the same number.
            add(option, chance.to_string());
        }
        let times = [
            ("churn", options.churn_ns),
            ("kill", options.kill_ns),
            ("partition", options.partition_ns),
            ("pause", options.pause_ns),
            // In milliseconds: the digits of a thousandfold number of seconds.
            ("slow", options.slow_ns.map(|ns| ns.saturating_mul(1000))),
            ("skew", options.skew_ns),
        ];
        for (option, time) in times {
            time.into_iter().for_each(|ns| add(option, seconds_text(ns)));
        }
        add_settle(&mut arguments, options.settle);
        arguments
    }
}

fn add_settle(arguments: &mut Vec<String>, settle: Option<Settle>) {
    let Some(Settle { after_ns, tolerated_ns }) = settle else { return };
    arguments.extend(["--settle".to_owned(), seconds_text(after_ns)]);
    if tolerated_ns > 0 {
        arguments.extend(["--tolerate".to_owned(), seconds_text(tolerated_ns)]);
    }
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A command line quoted for a shell.
pub(super) fn shell_line(arguments: &[String]) -> String {
    let words = std::iter::once("tidemill").chain(arguments.iter().map(String::as_str));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_command() {
        let arguments = ["sim", "a b.olg", "--inject", "e(\"it's\")"].map(str::to_owned).to_vec();
        let command = SimCommand { arguments, ..SimCommand::default() };
        let options = SimOptions { nodes: 3, seed: 7, ..SimOptions::default() };
        let line = shell_line(&command.of_run(&options));
        let plain = r#"tidemill sim 'a b.olg' --inject 'e("it'\''s")' --nodes 3 --seed 7"#;
        assert_eq!(line, plain);
        let options = SimOptions {
            latency: (Duration::from_micros(500), Duration::from_millis(200)),
            loss: 0.1,
            duplicate: 0.003,
            reorder: 0.5,
            churn_ns: Some(20_000_000_000),
            kill_ns: Some(7_000_000_000),
            slow_ns: Some(20_000_000),
            settle: Some(Settle { after_ns: 10_000_000_000, tolerated_ns: 500_000_000 }),
            ..options
        };
        let faults = " --latency 0.5..200 --loss 0.1 --duplicate 0.003 --reorder 0.5 --churn 20 \
                      --kill 7 --slow 20 --settle 10 --tolerate 0.5";
        assert_eq!(shell_line(&command.of_run(&options)), format!("{plain}{faults}"));
    }
}
