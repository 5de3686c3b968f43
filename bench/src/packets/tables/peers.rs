//! Tables of others: programs in C that read the same packets.

use std::path::Path;
use std::process::Command;

use super::plan::{KeyKind, Plan};
use super::requests::Found;
use crate::tool::{self, Temporary};

/// The CPU seconds of some passes with a table and without one, and what was found.
#[derive(Clone, Copy, Debug)]
pub struct Timed {
    pub whole: f64,
    pub idle: f64,
    pub found: Found,
}

/// A program of `bench/peers/c`.
pub struct Program(Temporary);

impl Program {
    fn new(name: &str, flags: &[&str]) -> Result<Program, String> {
        Temporary::program(name, &format!("c/{name}.c"), flags).map(Program)
    }

    /// Tables by hand.
    ///
    /// # Errors
    /// There is no compiler.
    pub fn by_hand() -> Result<Program, String> {
        Program::new("tables", &[])
    }

    /// Those of DPDK.
    ///
    /// # Errors
    /// It is not installed.
    pub fn dpdk() -> Result<Program, String> {
        let mut flags = Command::new("pkg-config");
        let flags = tool::stdout_of(flags.args(["--cflags", "--libs", "libdpdk"]), "pkg-config")?;
        Program::new("tables_dpdk", &flags.split_whitespace().collect::<Vec<_>>())
    }

    /// Those of the system.
    ///
    /// # Errors
    /// There is no compiler.
    pub fn bpf() -> Result<Program, String> {
        Program::new("tables_bpf", &[])
    }

    /// Runs some passes, after one that is not measured.
    ///
    /// # Errors
    /// It fails.
    pub fn run(&self, file: &Path, passes: u64, how: Option<&str>) -> Result<Timed, String> {
        let mut command = Command::new(self.0.path());
        command.arg(file).arg(passes.to_string()).args(how);
        timed_in(&tool::stdout_of(&mut command, "the program")?)
    }
}

/// What a program prints: seconds, seconds without look-ups, hits, sum.
fn timed_in(text: &str) -> Result<Timed, String> {
    let wrong = || format!("it says `{}`", text.trim());
    let words: Vec<&str> = text.split_whitespace().collect();
    let [whole, idle, hits, sum] = words[..] else { return Err(wrong()) };
    let seconds = |word: &str| word.parse::<f64>().map_err(|_| wrong());
    let number = |word: &str| word.parse::<u64>().map_err(|_| wrong());
    let found = Found { hits: number(hits)?, sum: number(sum)? };
    Ok(Timed { whole: seconds(whole)?, idle: seconds(idle)?, found })
}

/// A peer: its name, its program, and how that looks up.
#[derive(Clone, Copy)]
pub struct Peer<'a> {
    pub who: &'static str,
    pub program: &'a Program,
    pub how: Option<&'static str>,
}

/// The programs that could be built.
pub struct Peers {
    pub c: Option<Program>,
    pub dpdk: Option<Program>,
    pub bpf: Option<Program>,
}

/// Prefixes at most that rte_lpm gets: each is looked for among all of its length when it is added,
/// so that filling a table of a million takes minutes.
const LPM_MAX: u64 = 200_000;

/// Why rte_lpm is left out.
pub const LPM_REASON: &str = "dpdk: rte_lpm searches a list for each insert: too slow to fill";

impl Peers {
    /// Those that look up this case.
    pub fn of(&self, plan: &Plan) -> Vec<Peer<'_>> {
        let c = self.c.iter().map(|program| Peer { who: "c", program, how: None });
        let ways: &[(&str, &str)] = match plan.kind {
            KeyKind::Exact => &[("dpdk", "bulk"), ("dpdk-single", "single")],
            KeyKind::Prefix if self.lpm_is_left_out(plan) => &[("dpdk-fib", "fib")],
            KeyKind::Prefix => &[("dpdk", "bulk"), ("dpdk-single", "single"), ("dpdk-fib", "fib")],
        };
        let dpdk = self.dpdk.iter().flat_map(|program| {
            ways.iter().map(move |&(who, how)| Peer { who, program, how: Some(how) })
        });
        let bpf = self.bpf.iter().map(|program| Peer { who: "bpf", program, how: None });
        c.chain(dpdk).chain(bpf).collect()
    }

    /// Whether rte_lpm would take minutes.
    pub fn lpm_is_left_out(&self, plan: &Plan) -> bool {
        self.dpdk.is_some() && plan.kind == KeyKind::Prefix && plan.entries > LPM_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_print_is_read() {
        let timed = timed_in("0.5 0.25 7 99\n").expect("four words");
        assert_eq!((timed.whole, timed.idle), (0.5, 0.25));
        assert_eq!(timed.found, Found { hits: 7, sum: 99 });
        assert!(timed_in("0.5 0.25 7").is_err_and(|error| error == "it says `0.5 0.25 7`"));
        assert!(timed_in("0.5 0.25 7 x").is_err());
    }
}
