//! `test`.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tidemill::program::{Kinds, Program};
use tidemill::script::Script;
use tidemill::sim::{Settle, SimOptions, can_be_unsettled};
use tidemill::test::{Fault, Test, TestEvent, TestOptions, TestReport};
use tidemill_diag::Sources;

use super::common;
use super::compared::{Compared, loader};
use super::components::{self, most_of_memory};
use super::interrupt::{Interrupt, OnTerminate};
use super::mutants::{self, Mutants};
use super::script_file::{self, ScriptFile};
use super::sim::{self, engine_of_graphs};
use super::tuples::{self, Addresses};
use crate::args::{Keys, TestArgs, unused};
use crate::output::Out;
use crate::report::Reporter;
use crate::status::Status;

/// The default duration of a run, in nanoseconds.
const END_NS: u64 = 60_000_000_000;

/// The default duration of the test of a mutant, in nanoseconds.
const MUTANT_NS: u64 = 10_000_000_000;

/// Tests a program.
pub fn test(args: TestArgs, report: Reporter) -> Status {
    match start(args, report) {
        Ok(status) | Err(status) => status,
    }
}

fn start(mut args: TestArgs, report: Reporter) -> Result<Status, Status> {
    let wrong = without_effect(&mut args);
    common::refuse(&wrong, report)?;
    let script = ScriptFile::read(args.script.as_deref(), report)?;
    let given = (script.as_ref(), args.root.as_deref());
    let program = sim::load(&args.sources, &args.tuples, given, report)?;
    let injected = script_file::injected(&args.tuples, script.as_ref());
    let (script, sources) = script_file::checked(script, report)?;
    let ends = script.as_ref().is_some_and(Script::ends);
    let end_ns = args.end.or((!ends).then_some(END_NS));
    let interrupt = Interrupt::new(OnTerminate::End)
        .map_err(|error| common::failed(report, format!("no signals: {error}")))?;
    let (json, coverage) = (args.json, args.coverage);
    let mutants = args.mutants.then(|| program.mutants());
    if mutants.is_some() {
        args.wall = args.wall.or(Some(MUTANT_NS));
    }
    let (equivalents, given) = (args.equivalent.take(), args.sources.clone());
    let bounds = args.explore.take();
    let compared = bounds.map(|bounds| Compared::new(bounds, &given, &args.tuples, report));
    let compared = compared.transpose()?;
    if args.nodes.is_none() {
        args.nodes = script.as_ref().and_then(|script| script.nodes).map(|nodes| nodes..=nodes);
    }
    let options = options(args, end_ns, script.as_ref(), &program, &interrupt, report)?;
    let settle = options.each.settle;
    sim::refuse_settle(settle, end_ns, script.as_ref(), &program, report)?;
    if let Some(mutants) = mutants {
        let equivalents = mutants::equivalents(equivalents.as_deref(), &mutants, report)?;
        let load = loader(&given, injected);
        let script = script.as_ref().map(|script| (script, &sources));
        let test = Mutants { mutants, equivalents, load: &load, options: &options, script, json };
        let searches = compared.as_ref().map(|it| it.searches(&options));
        return mutants::test(test, searches, &interrupt, report);
    }
    // Before the runs, so that what they find is not lost.
    if let Some(folder) = &options.found {
        fs::create_dir_all(folder).map_err(|error| {
            common::failed(report, format!("--found {}: {error}", folder.display()))
        })?;
    }
    let test = Test::new(program, options);
    let mut test = test.map_err(|message| common::failed(report, &message))?;
    if let Some(script) = &script {
        common::report_all(&sources, &test.script(script, &sources), report)?;
    }
    let mut sources = Sources::new();
    let found = test.corpus(&mut sources);
    let found = found.map_err(|message| common::failed(report, &message))?;
    common::report_all(&sources, &found, report)?;
    if let Some(reason) = test.alone() {
        report.note(&format!("one worker only: {reason}"));
    }
    run(test, (json, coverage), &interrupt, report)
}

/// Options that mean nothing for this program, and faults that would falsify its test; the faults
/// are left out.
fn without_effect(args: &mut TestArgs) -> Vec<String> {
    let kinds = Kinds::of(&args.sources.files);
    let mut wrong = unused(args, kinds);
    let left_out = args.faults.keep(|fault| fault.concerns(kinds));
    wrong.extend(left_out.into_iter().map(|fault| {
        let reason = match fault {
            Fault::Kill => "the program has neither components nor apps",
            _ => "the nodes of the program send no datagrams",
        };
        format!("--faults {} has no effect here: {reason}", fault.name())
    }));
    // Histories use the clocks of nodes, so clock faults would falsify them.
    let is_right = |fault| args.linearizable.is_none() || fault != Fault::Clock;
    if !args.faults.keep(is_right).is_empty() {
        wrong.push("--faults clock makes the times in histories wrong".to_owned());
    }
    wrong
}

/// Runs the seeds, and prints what they find.
fn run(
    test: Test,
    (json, coverage): (bool, bool),
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<Status, Status> {
    let mut out = Out::new();
    let mut progress = Progress::new();
    let ran = test.run(|event| match event {
        TestEvent::Failed(failure) => {
            progress.clear();
            out.write(&if json { failure.json() } else { failure.to_string() });
            out.write("\n");
        }
        TestEvent::Group(group) => {
            progress.clear();
            out.write(&if json { group.json() } else { group.to_string() });
            out.write("\n");
        }
        TestEvent::Progress(figures) => progress.show(figures),
    });
    progress.clear();
    let figures = ran.map_err(|message| common::failed(report, &message))?;
    if coverage {
        let lines = if json {
            figures.coverage.json().collect()
        } else {
            vec![figures.coverage.to_string()]
        };
        lines.into_iter().for_each(|line| out.write(&format!("{line}\n")));
    }
    out.write(&if json { figures.json() } else { figures.to_string() });
    out.write("\n");
    if figures.histories.is_some_and(|histories| histories.returned == 0) {
        report.note("no operation of a history has returned: there was nothing to compare");
    }
    let (seconds, rate) = (figures.elapsed.as_secs_f64(), figures.rate());
    report.note(&format!("tested in {seconds:.3} s, {rate:.0} seeds a second"));
    match out.finish() {
        Status::Fine if figures.interrupted => Ok(interrupt.status()),
        Status::Fine if !figures.is_well() => Err(Status::Failed),
        status => Ok(status),
    }
}

/// The options of a test.
fn options(
    args: TestArgs,
    end_ns: Option<u64>,
    script: Option<&Script>,
    program: &Program,
    interrupt: &Interrupt,
    report: Reporter,
) -> Result<TestOptions, Status> {
    let keys = Keys { key: args.key.clone(), identity: None, peers: None };
    let seal = common::seal(&keys, report)?;
    let linearizable = common::model(args.linearizable.as_ref(), (&args.sources, program), report)?;
    let lasts_ns = end_ns.into_iter().chain(script.and_then(Script::end_ns)).min();
    let third = || lasts_ns.filter(|_| can_be_unsettled(program)).map(|ns| ns / 3);
    let tolerated_ns = args.tolerate.unwrap_or(0);
    let settle = args.settle.or_else(third).filter(|ns| *ns > 0);
    let nodes = args.nodes.clone().unwrap_or(1..=1);
    let addresses = Addresses::Simulated(*nodes.end());
    let extra = tuples::extra(&args.tuples, program, &addresses, report)?;
    let default = TestOptions::default();
    let all_seeds = if args.wall.is_some() { 1..=u64::MAX } else { default.seeds };
    let processors = || std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let fresh = std::env::current_exe().map_err(|error| {
        common::failed(report, format!("cannot repeat runs in a fresh process: {error}"))
    })?;
    Ok(TestOptions {
        command: args.command(end_ns),
        shrinks: !args.no_shrink,
        found: args.found.clone(),
        svg: args.svg.clone(),
        corpus: args.corpus.clone(),
        seeds: args.seeds.unwrap_or(all_seeds),
        wall: args.wall.map(Duration::from_nanos),
        workers: args.workers.unwrap_or_else(processors),
        faults: args.faults,
        fresh: Some(fresh),
        each: SimOptions {
            end_ns,
            linearizable,
            observes_order: args.coverage || args.corpus.is_some(),
            settle: settle.map(|after_ns| Settle { after_ns, tolerated_ns }),
            seal,
            landmark: common::landmark(&args.sources.defines),
            extra,
            components: components::engine(args.engine),
            memory_max: most_of_memory(),
            packets: engine_of_graphs(args.engine, *nodes.end()),
            turn_tuples_max: args.turn_limit,
            devices: args.devices.all(),
            root: args.root,
            stop: Some(interrupt.requested.clone()),
            ..default.each
        },
        nodes,
    })
}

/// A line on the terminal that is overwritten.
struct Progress {
    is_terminal: bool,
    is_shown: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress { is_terminal: io::stderr().is_terminal(), is_shown: false }
    }

    fn show(&mut self, figures: &TestReport) {
        if !self.is_terminal {
            return;
        }
        self.is_shown = true;
        let TestReport { runs, failures, coverage, .. } = figures;
        let (rate, derived, rules) = (figures.rate(), coverage.derived(), coverage.rules.len());
        // If standard error is closed, there is nowhere to report that.
        let _ = write!(
            io::stderr(),
            "\r{runs} runs, {rate:.0} seeds a second, {derived} of {rules} rules, {failures} failed"
        );
    }

    /// Erases the line.
    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
