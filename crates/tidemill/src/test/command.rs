//! The command line that repeats a run.

use crate::script::seconds_text;
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
        let mut arguments = self.arguments.clone();
        let mut add = |option: &str, value: String| {
            arguments.extend([format!("--{option}"), value]);
        };
        add("nodes", options.nodes.to_string());
        add("seed", options.seed.to_string());
        options.faults.words().into_iter().for_each(|(name, value)| add(name, value));
        options.then.iter().for_each(|phase| add("then", phase.to_string()));
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
    use std::time::Duration;

    use super::*;
    use crate::sim::{FaultOptions, Phase};

    #[test]
    fn a_run_is_a_command() {
        let arguments = ["sim", "a b.olg", "--inject", "e(\"it's\")"].map(str::to_owned).to_vec();
        let command = SimCommand { arguments, ..SimCommand::default() };
        let options = SimOptions { nodes: 3, seed: 7, ..SimOptions::default() };
        let line = shell_line(&command.of_run(&options));
        let plain = r#"tidemill sim 'a b.olg' --inject 'e("it'\''s")' --nodes 3 --seed 7"#;
        assert_eq!(line, plain);
        let faults = FaultOptions {
            latency: (Duration::from_micros(500), Duration::from_millis(200)),
            loss: 0.1,
            duplicate: 0.003,
            reorder: 0.5,
            churn_ns: Some(20_000_000_000),
            kill_ns: Some(7_000_000_000),
            slow_ns: Some(20_000_000),
            ..FaultOptions::default()
        };
        let later = FaultOptions { loss: 0.2, ..FaultOptions::default() };
        let options = SimOptions {
            faults,
            then: vec![Phase { from_ns: 2_500_000_000, seed: 9, faults: later }],
            settle: Some(Settle { after_ns: 10_000_000_000, tolerated_ns: 500_000_000 }),
            ..options
        };
        let faults = " --latency 0.5..200 --loss 0.1 --duplicate 0.003 --reorder 0.5 --churn 20 \
                      --kill 7 --slow 20 --then '2.5 seed 9 loss 0.2' --settle 10 --tolerate 0.5";
        assert_eq!(shell_line(&command.of_run(&options)), format!("{plain}{faults}"));
    }
}
