//! A run as the command line that repeats it.

use std::time::Duration;

use crate::script::seconds_text;
use crate::sim::SimOptions;

/// The arguments of `tidemill` that simulate a program, `sim` first, but for those that follow from
/// a seed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SimCommand {
    /// The arguments.
    pub arguments: Vec<String>,
}

impl SimCommand {
    /// The arguments that repeat a run with these options.
    pub(super) fn of_run(&self, options: &SimOptions) -> Vec<String> {
        let default = SimOptions::default();
        let mut arguments = self.arguments.clone();
        let mut add = |option: &str, value: String| {
            arguments.extend([format!("--{option}"), value]);
        };
        add("nodes", options.nodes.to_string());
        add("seed", options.seed.to_string());
        let (least, most) = options.latency;
        if options.latency != default.latency {
            add("latency", format!("{}..{}", milliseconds(least), milliseconds(most)));
        }
        let chances = [
            ("loss", options.loss),
            ("duplicate", options.duplicate),
            ("reorder", options.reorder),
        ];
        for (option, chance) in chances.into_iter().filter(|(_, chance)| *chance > 0.0) {
            // The shortest digits that mean the same number.
            add(option, chance.to_string());
        }
        if let Some(mean_ns) = options.churn_ns {
            add("churn", seconds_text(mean_ns));
        }
        arguments
    }
}

fn milliseconds(time: Duration) -> String {
    // As many thousandths of what the same digits are as seconds.
    seconds_text(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).saturating_mul(1000))
}

/// A command line as a shell reads it.
pub(super) fn shell_line(arguments: &[String]) -> String {
    let words = std::iter::once("tidemill").chain(arguments.iter().map(String::as_str));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_command() {
        let arguments = ["sim", "a b.olg", "--inject", "e(\"it's\")"].map(str::to_owned).to_vec();
        let command = SimCommand { arguments };
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
            ..options
        };
        let faults = " --latency 0.5..200 --loss 0.1 --duplicate 0.003 --reorder 0.5 --churn 20";
        assert_eq!(shell_line(&command.of_run(&options)), format!("{plain}{faults}"));
    }
}
