//! Every run of a program: `explore`, by one thread and several, with symmetry and without. The
//! peer is stateright, with the same models in Rust.
//!
//! Nodes complete all turns that follow from a message at once, so states are those of the models:
//! what each node holds, and the messages in flight. Both must count the same number.

use std::path::{Path, PathBuf};
use std::process::Command;

use tidemill::explore::{ExploreOptions, ExploreReport, Explorer};
use tidemill::program::{LoadOptions, Program};
use tidemill::script;
use tidemill_diag::Sources;

use crate::clock::median;
use crate::extent::Extent;
use crate::measure::measured;
use crate::report::{Better, Report, Row};
use crate::tool;

const PAXOS: &str = include_str!("../../../tests/explore/paxos.olg");
const COMMIT: &str = include_str!("../../../tests/explore/commit.olg");
const REGISTER: &str = include_str!("../../../tests/explore/register.olg");
const RING: &str = include_str!("../../../tests/explore/ring.olg");
const MUTEX: &str = include_str!("../../../tests/explore/mutex.olg");

/// A model and its size.
#[derive(Clone, Copy, Debug)]
enum Case {
    /// The participants of two-phase commit.
    Commit(u32),
    /// The ballots of Paxos, each of another proposer.
    Paxos(u32),
    /// The clients of a register in three copies, every other of which writes.
    Register(u32),
    /// The nodes of an election in a ring.
    Ring(u32),
    /// The nodes that exclude each other.
    Mutex(u32),
}

/// Ways to search of which the peer has none.
const WAYS: [(&str, u32, bool); 3] =
    [("2 threads", 2, false), ("symmetry", 1, true), ("symmetry, 2 threads", 2, true)];

/// The result and cost of a search.
struct Taken {
    distinct: u64,
    cpu_s: f64,
    wall_s: f64,
    peak_bytes: f64,
}

/// Measures searches of all states.
///
/// # Errors
/// A search is incomplete, or the peer counts another number of states.
pub fn run(extent: Extent, report: &mut Report) -> Result<(), String> {
    let cases = if extent.small {
        vec![Case::Commit(2), Case::Paxos(1), Case::Register(1), Case::Ring(4), Case::Mutex(2)]
    } else {
        vec![
            Case::Commit(4),
            Case::Commit(5),
            Case::Paxos(2),
            Case::Register(2),
            Case::Ring(7),
            Case::Mutex(4),
        ]
    };
    let runs = if extent.small { 1 } else { 3 };
    let peer = extent.peers.then(|| tool::cargo("stateright"));
    if let Some(Err(absent)) = &peer {
        report.note(&format!("stateright is absent: {absent}"));
    }
    for case in cases {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..runs {
            ours.push(case.explore(1, false)?);
            if let Some(Ok(folder)) = &peer {
                theirs.push(case.with_stateright(folder)?);
            }
        }
        if ours.iter().chain(&theirs).any(|taken| taken.distinct != ours[0].distinct) {
            return Err(format!("{}: the numbers of states differ", case.name()));
        }
        let name = case.name();
        let all = [("tidemill", ours), ("stateright", theirs)];
        let row = |who: &str, all: &[Taken], metric, of: fn(&Taken) -> f64| {
            let figure = median(all.iter().map(of).collect());
            Row::new("explore", &name, who, metric, (figure, all.len()))
        };
        let measured = || all.iter().filter(|(_, taken)| !taken.is_empty());
        let count = row("tidemill", &all[0].1, ("states", "states"), |it| it.distinct as f64);
        report.row(&count);
        let time = measured().map(|(who, it)| row(who, it, ("cpu_s", "s"), |it| it.cpu_s));
        report.case(&time.collect::<Vec<_>>(), Better::Low);
        let memory = measured().map(|(who, it)| {
            row(who, it, ("bytes_per_state", "B"), |it| it.peak_bytes / it.distinct as f64)
        });
        report.case(&memory.collect::<Vec<_>>(), Better::Low);
        case.other_ways(runs, report)?;
    }
    Ok(())
}

impl Case {
    fn name(self) -> String {
        let (model, size) = self.model();
        format!("{model}-{size}")
    }

    /// The model and its size.
    fn model(self) -> (&'static str, u32) {
        match self {
            Case::Commit(size) => ("commit", size),
            Case::Paxos(ballots) => ("paxos", ballots),
            Case::Register(clients) => ("register", clients),
            Case::Ring(size) => ("ring", size),
            Case::Mutex(size) => ("mutex", size),
        }
    }

    /// The program, the number of its nodes, and their input.
    fn program(self) -> (String, u32, String) {
        match self {
            Case::Commit(size) => {
                let text = with_members(COMMIT, "LANDMARK", size);
                let text = text.replace("votes(@C, 2)", &format!("votes(@C, {size})"));
                (text, size + 1, "at 0 inject 0 start(NODE)\n".to_owned())
            }
            Case::Paxos(ballots) => {
                let propose = |ballot: u32| {
                    let node = if ballot == 1 { 0 } else { 2 + ballot };
                    format!("at 0 inject {node} propose(NODE, {ballot}, {})\n", 6 + ballot)
                };
                (PAXOS.to_owned(), 3 + ballots, (1..=ballots).map(propose).collect())
            }
            Case::Register(clients) => {
                let operate = |client: u32| {
                    let (node, value) = (2 + client, if client % 2 == 1 { client } else { 0 });
                    format!("at 0 inject {node} operate(NODE, {client}, {value})\n")
                };
                (REGISTER.to_owned(), 3 + clients, (1..=clients).map(operate).collect())
            }
            Case::Ring(size) => (RING.to_owned(), size, "at 0 inject * start(NODE)\n".to_owned()),
            Case::Mutex(size) => {
                let text = with_members(MUTEX, "NODE", size);
                let text = text.replace("grants(@N, 1)", &format!("grants(@N, {})", size - 1));
                let want = |node: u32| format!("at 0 inject {node} want(NODE)\n");
                (text, size + 1, (1..=size).map(want).collect())
            }
        }
    }

    /// Measures ours by several threads, and with symmetry.
    fn other_ways(self, runs: usize, report: &mut Report) -> Result<(), String> {
        let mut counts: Vec<(bool, u64)> = Vec::new();
        // Nodes of a ring have different neighbours.
        let is_symmetric = !matches!(self, Case::Ring(_));
        for (way, workers, symmetry) in WAYS.into_iter().filter(|way| is_symmetric || !way.2) {
            let taken = (0..runs).map(|_| self.explore(workers, symmetry));
            let taken = taken.collect::<Result<Vec<Taken>, String>>()?;
            counts.extend(taken.iter().map(|it| (symmetry, it.distinct)));
            let name = format!("{}, {way}", self.name());
            let row = |metric, of: fn(&Taken) -> f64| {
                let figure = median(taken.iter().map(of).collect());
                Row::new("explore", &name, "tidemill", metric, (figure, taken.len()))
            };
            report.row(&row(("states", "states"), |it| it.distinct as f64));
            report.row(&row(("wall_s", "s"), |it| it.wall_s));
            report.row(&row(("cpu_s", "s"), |it| it.cpu_s));
            let of_state = |it: &Taken| it.peak_bytes / it.distinct as f64;
            report.row(&row(("bytes_per_state", "B"), of_state));
        }
        let differ = |of: bool| {
            let mut counts = counts.iter().filter(|(symmetry, _)| *symmetry == of);
            let first = counts.next();
            counts.any(|count| Some(count) != first)
        };
        if differ(true) || differ(false) {
            return Err(format!("{}: the numbers of states differ", self.name()));
        }
        Ok(())
    }

    /// Measures ours.
    fn explore(self, workers: u32, symmetry: bool) -> Result<Taken, String> {
        let (text, nodes, actions) = self.program();
        let program = Program::of_text("model.olg", &text, &LoadOptions::default());
        let atomic_chains = true;
        let options =
            ExploreOptions { nodes, atomic_chains, workers, symmetry, ..ExploreOptions::default() };
        let mut explorer = Explorer::new(program, options).map_err(|error| error.to_string())?;
        let mut sources = Sources::new();
        let file = sources.add("model.sim", actions.clone());
        let (script, _) = script::parse(file, &actions);
        if let Some(wrong) = explorer.script(&script, &sources).first() {
            return Err(sources.render(wrong));
        }
        let mut found = ExploreReport::default();
        let measured = measured(|| {
            found = explorer.run().map_err(|error| error.to_string())?;
            Ok(found.distinct)
        })?;
        if found.is_complete() {
            Ok(Taken {
                distinct: measured.result,
                cpu_s: measured.cpu_s,
                wall_s: measured.wall_s,
                peak_bytes: measured.peak_bytes,
            })
        } else {
            Err(format!("{}: {found}", self.name()))
        }
    }

    fn with_stateright(self, folder: &Path) -> Result<Taken, String> {
        let program: PathBuf = folder.join("tidemill-bench-stateright");
        let mut command = Command::new(program);
        let (model, size) = self.model();
        command.args([model, &size.to_string()]);
        let printed = tool::stdout_of(&mut command, "stateright")?;
        let words: Vec<f64> = printed.split_whitespace().filter_map(|it| it.parse().ok()).collect();
        match words[..] {
            [distinct, cpu_s, peak_bytes] => {
                // It has one thread.
                let (distinct, wall_s) = (distinct as u64, cpu_s);
                Ok(Taken { distinct, cpu_s, wall_s, peak_bytes })
            }
            _ => Err(format!("stateright says {printed}")),
        }
    }
}

/// The program of a model with so many members, n1 and so on, in place of two.
fn with_members(text: &str, holder: &str, size: u32) -> String {
    let member = |node: u32| format!("member({holder}, \"n{node}:1\").\n");
    let all: String = (1..=size).map(member).collect();
    text.replace(&(member(1) + &member(2)), &all)
}
