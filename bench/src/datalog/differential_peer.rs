//! The workloads in differential dataflow: a program of its own (`bench/peers/differential`), which
//! is slow to build.

use std::path::PathBuf;
use std::process::Command;

use super::engine::Found;
use super::facts::Files;
use super::workload::Workload;
use crate::tool;

/// The program, built.
#[derive(Clone, Debug)]
pub struct Differential(PathBuf);

/// The cost of changes of edges, in CPU seconds.
#[derive(Clone, Copy, Debug)]
pub struct Changed {
    /// After all of them.
    pub tuples: usize,
    pub all_s: f64,
    /// Per edge.
    pub put_s: f64,
    pub taken_s: f64,
}

impl Differential {
    /// Builds it.
    ///
    /// # Errors
    /// There is no cargo, or the build fails.
    pub fn new() -> Result<Differential, String> {
        Ok(Differential(tool::cargo("differential")?.join("tidemill-bench-differential")))
    }

    /// The figures of each printed line.
    fn figures(&self, workload: &Workload, files: &Files) -> Result<Vec<Vec<f64>>, String> {
        let mut command = Command::new(&self.0);
        command.args([workload.rules.name(), workload.keys.name()]).arg(files.folder());
        let printed = tool::stdout_of(&mut command, "differential dataflow")?;
        let figures = |line: &str| line.split(' ').map(|word| word.parse().ok()).collect();
        let lines: Option<Vec<Vec<f64>>> = printed.lines().map(figures).collect();
        lines.ok_or_else(|| format!("differential dataflow says `{printed}`"))
    }

    /// Runs to the fixed point.
    ///
    /// # Errors
    /// It fails.
    pub fn run(&self, workload: &Workload, files: &Files) -> Result<Option<Found>, String> {
        match self.figures(workload, files)?.first().map(Vec::as_slice) {
            Some(&[tuples, cpu_s, door_s]) => {
                let (tuples, cpu_s) = (tuples as usize, Some(cpu_s));
                Ok(Some(Found { tuples, bytes: None, cpu_s, door_s }))
            }
            other => Err(format!("differential dataflow says {other:?}")),
        }
    }

    /// Applies the changes of the files, after the fixed point.
    ///
    /// # Errors
    /// It fails.
    pub fn change(&self, workload: &Workload, files: &Files) -> Result<Changed, String> {
        let lines = self.figures(workload, files)?;
        match &lines[..] {
            [_, all, single] if all.len() == 2 && single.len() == 3 && all[0] == single[0] => {
                let tuples = all[0] as usize;
                Ok(Changed { tuples, all_s: all[1], put_s: single[1], taken_s: single[2] })
            }
            _ => Err(format!("differential dataflow says {lines:?}")),
        }
    }
}
