//! The peer: porcupine, a checker in Go.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tidemill_history::{Model, Operation, Value};

use crate::tool;

/// The program, built.
#[derive(Debug)]
pub struct Porcupine(PathBuf);

impl Porcupine {
    /// Builds it.
    ///
    /// # Errors
    /// There is no Go, or the module cannot be fetched.
    pub fn build() -> Result<Porcupine, String> {
        let program = tool::target("go-porcupine")?.join("go-porcupine");
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).arg(".");
        tool::stdout_of(build.current_dir(tool::source("go-porcupine")), "go")?;
        Ok(Porcupine(program))
    }

    /// Checks histories: of each whether it is linearizable, and the CPU seconds of its check.
    ///
    /// # Errors
    /// It fails, or prints something else.
    pub fn check(
        &self,
        model: Model,
        histories: &[Vec<Operation>],
    ) -> Result<Vec<(bool, f64)>, String> {
        let text: String = histories.iter().map(|it| written(model, it)).collect();
        let failed = |error: std::io::Error| format!("porcupine: {error}");
        let mut command = Command::new(&self.0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        // It reads all before it prints.
        let mut input = child.stdin.take().ok_or("porcupine reads nothing")?;
        input.write_all(text.as_bytes()).map_err(failed)?;
        drop(input);
        let output = child.wait_with_output().map_err(failed)?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let line = |line: &str| {
            let (verdict, seconds) = line.split_once(' ')?;
            Some((verdict == "1", seconds.parse().ok()?))
        };
        let verdicts: Option<Vec<(bool, f64)>> = printed.lines().map(line).collect();
        let verdicts = verdicts.filter(|verdicts| verdicts.len() == histories.len());
        verdicts.ok_or_else(|| format!("porcupine says {printed}"))
    }
}

/// A history as it reads it.
fn written(model: Model, history: &[Operation]) -> String {
    let number = |value: Option<&Value>| match value {
        Some(Value::Int(number)) => *number,
        Some(Value::Bool(truth)) => i64::from(*truth),
        _ => -1,
    };
    // Times start at 0, as -1 means none.
    let start = history.iter().map(|it| it.invoked).min().unwrap_or(0);
    let mut text = format!("{}\n", model.name());
    for Operation { name, argument, result, invoked, returned } in history {
        let (key, value) = match argument {
            Value::List(values) => (number(values.first()), number(values.get(1))),
            value if model == Model::Kv => (number(Some(value)), -1),
            value => (0, number(Some(value))),
        };
        let (result, returned) = (number(Some(result)), returned.map_or(-1, |it| it - start));
        text += &format!("{name} {key} {value} {result} {} {returned}\n", invoked - start);
    }
    text
}
