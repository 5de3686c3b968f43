//! Running a program from start to end.
//!
//! [`Prepared::new`] compiles (or has it interpreted); [`Prepared::run`] runs the processes on an
//! event loop until the
//! entry component has ended, everything is stuck, somebody wants it to stop, or what it writes
//! can be read by nobody.

use std::cell::RefCell;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use tidemill_cl::compile::{Checkpoints, Choices, Compiled, compile};
use tidemill_cl::interpret::interpret;
use tidemill_event::{Handlers, Host, Interest, Loop, Os, Outcome, Sim, Time};
use tidemill_packet::engine::EngineKind;
use tidemill_packet::graph::Graph;
use tidemill_proc::console::{Console, Lines};
use tidemill_proc::fault::{self, Reports};
use tidemill_proc::layout::Worker;
use tidemill_proc::program::Executable;
use tidemill_proc::{Counts, Home, Options, Request, Runner, STACK_MAX, arm};
use tidemill_stat::Registry;
use tidemill_stdx::rng::Rng;

use super::load::Loaded;
use super::output::{Failure, Tap};
use super::report::{self, Notes, Reporter};
use super::system::{self, Systems, packets as graph};
use super::watchdog::Watchdog;
use crate::control::{self, Server};
use crate::packets;
use crate::service::Service;

/// Steps and checkpoints of a slice, where slices are counted.
const SLICE_STEPS: u64 = 10_000;
/// How far virtual time goes between two looks at whether the run shall stop.
const VIRTUAL_STRETCH: Duration = Duration::from_millis(100);
/// How long a run that is over waits for the network to take what has been sent.
const LINGER_MAX: Duration = Duration::from_secs(2);

/// What the program reads from Input.
#[derive(Debug, Default)]
pub enum Input {
    /// Nothing: it is at its end.
    #[default]
    None,
    /// What can be read here, a terminal, pipe or file.
    Descriptor(OwnedFd),
}

/// The time of SystemTime and the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Clock {
    /// The system's.
    #[default]
    Real,
    /// A simulation's: it stands still while processes run, and jumps when all of them wait.
    Virtual,
}

/// What runs the functions of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Engine {
    /// They are compiled.
    #[default]
    Native,
    /// The interpreter, for comparison.
    Interpreter,
}

/// How a program is run.
#[derive(Debug, Default)]
pub struct RunOptions {
    /// What runs it.
    pub engine: Engine,
    /// The most bytes that components may use.
    pub memory_max: Option<u64>,
    /// The most bytes that the stack of one process may have.
    pub stack_max: Option<u64>,
    /// The folder that FileSystem is confined to; without it, the current one.
    pub root: Option<PathBuf>,
    /// What random numbers and the order of processes follow from. With it slices are counted, so
    /// that the run can be repeated.
    pub seed: Option<u64>,
    /// Which time it is.
    pub clock: Clock,
    /// On how many loops components run; none or 0 is one. With a seed or a virtual clock it is
    /// one.
    pub workers: Option<u32>,
    /// Components are spread over the loops at every opportunity, whether it pays or not: for tests
    /// of what happens between loops.
    pub spread_eagerly: bool,
    /// Compile without checkpoints: a process then runs until it waits.
    pub no_checkpoints: bool,
    /// Where the picture of GraphicView is written at the end.
    pub png: Option<PathBuf>,
    /// What Arguments answers.
    pub arguments: Vec<String>,
    /// What Input reads.
    pub input: Input,
    /// The packet graph that runs beside the components, for Packets.
    pub packets: Option<Graph>,
    /// What runs that graph.
    pub packet_engine: EngineKind,
    /// What replaces the graph, and when.
    pub signal: Option<packets::Signal>,
    /// The graph makes no pauses when nothing moves.
    pub busy_wait: bool,
    /// What it is to a service manager. Under a virtual clock it is nothing.
    pub service: Service,
    /// Where the graph's counters are shown; nowhere, if nothing.
    pub registry: Option<Registry>,
    /// When the run ends, nanoseconds after its start; `None`: when the program does.
    pub end_ns: Option<u64>,
    /// The run ends when this can be read.
    pub stop: Option<OwnedFd>,
    /// Called on a thread of its own if the run shall end and does not, because a process holds it
    /// up that nothing cuts off.
    pub overdue: Option<fn()>,
}

/// Where a run writes.
pub struct Streams {
    /// What the program writes.
    pub data: Box<dyn Write>,
    /// Faults and notes, at once.
    pub notes: Box<dyn Write>,
    /// Somebody watches the data: it is written line by line.
    pub is_watched: bool,
}

/// How a run ended.
#[derive(Debug)]
pub struct Ended {
    /// How the program did; `None` if it was stopped.
    pub how: Option<fault::Ended>,
    /// What there was of each kind.
    pub counts: Counts,
    /// The most bytes that components used.
    pub peak_bytes: u64,
    /// Frames that the kernel dropped before a pore could read them.
    pub pore_drops: u64,
    /// What came of the packet graph, if there was one.
    pub packets: Option<packets::Ended>,
    /// The most that a timer of the loop was late.
    pub timer_late_max: Duration,
    /// How many components were given to another loop than they were on.
    pub components_given: u64,
    /// Why what the program wrote could not be passed on, if that was so.
    pub failure: Option<io::Error>,
    /// What else went wrong: files that could not be written.
    pub problems: Vec<String>,
}

impl Ended {
    /// Whether the program came to its end, or was stopped, and all it made was kept.
    pub fn is_well(&self) -> bool {
        self.how.as_ref().is_none_or(|how| how.exit_status() == 0) && self.problems.is_empty()
    }
}

/// Runs a program.
///
/// # Errors
/// What keeps it from running.
pub fn run(loaded: &Loaded, options: RunOptions, streams: Streams) -> Result<Ended, String> {
    Prepared::new(loaded, options)?.run(streams)
}

/// A program that is compiled and can be run at once.
pub struct Prepared {
    program: Executable,
    options: RunOptions,
}

impl Prepared {
    /// Compiles a program.
    ///
    /// # Errors
    /// If the program has errors, or no code can be made for this machine.
    pub fn new(loaded: &Loaded, mut options: RunOptions) -> Result<Prepared, String> {
        let program = loaded.program.as_ref().ok_or("the program has errors")?;
        let counted = options.seed.is_some() || options.clock == Clock::Virtual;
        let checkpoints = match (options.no_checkpoints, counted) {
            (true, _) => Checkpoints::None,
            (false, true) => Checkpoints::Count,
            (false, false) => Checkpoints::Flag,
        };
        let several = !counted
            && options.engine != Engine::Interpreter
            && options.workers.is_some_and(|count| count > 1);
        if !several {
            options.workers = None;
        }
        if options.engine == Engine::Interpreter {
            let has_checkpoints = checkpoints != Checkpoints::None;
            let program = interpret(program, &loaded.sources, loaded.files, has_checkpoints);
            return Ok(Prepared { program, options });
        }
        let choices = Choices { checkpoints, several, listing: false };
        let Compiled { program, .. } = compile(program, &loaded.sources, loaded.files, &choices)
            .map_err(|error| format!("no code can be made: {error}"))?;
        Ok(Prepared { program, options })
    }

    /// Runs it.
    ///
    /// # Errors
    /// What keeps it from running: no folder to confine it to, no event queue.
    pub fn run(self, streams: Streams) -> Result<Ended, String> {
        let no_queue = |error: io::Error| format!("the system gives no event queue: {error}");
        let options = &self.options;
        let host: Box<dyn Host> = match (options.clock, options.seed) {
            (Clock::Virtual, seed) => Box::new(Sim::new(seed.unwrap_or(1))),
            (Clock::Real, None) => Box::new(Os::new().map_err(no_queue)?),
            (Clock::Real, Some(seed)) => {
                let host = Os::with_seed(seed).map_err(no_queue)?;
                Box::new(host.with_counted_slices(SLICE_STEPS))
            }
        };
        let notes: Notes = Rc::new(RefCell::new(streams.notes));
        let failure = Failure::default();
        let (heard, bell) = io::pipe().map_err(no_queue)?;
        let heard = OwnedFd::from(heard);
        let lines = if streams.is_watched { Lines::Each } else { Lines::Together };
        let tap = Tap::new(streams.data, failure.clone(), bell);
        let reports = Reporter { files: self.files().to_vec(), notes: notes.clone() };
        let console = Console::new(Box::new(tap), lines);
        let Set { mut world, mut lp, mut options } = self.set(host, Box::new(reports), console)?;
        // What is wrong then has been reported, and is how the run ended.
        if world.runner.worker().start().is_ok() {
            graph::start(&mut world, &mut lp, &mut options, &notes)?;
            arm(&mut world, &mut lp);
            // Without it the run is the same; only `top` sees less.
            if let Some(folder) = options.registry.as_ref().and_then(Registry::directory) {
                let _ = control::open(&mut world, &mut lp, folder);
            }
            let stops = [Some(&heard), options.stop.as_ref()];
            let end = options.end_ns.map(|end| lp.now() + Duration::from_nanos(end));
            let _watchdog = match (options.overdue, options.clock) {
                (Some(overdue), Clock::Real) => Some(
                    Watchdog::start(options.stop.as_ref(), options.end_ns, overdue)
                        .map_err(|error| format!("cannot watch for the end: {error}"))?,
                ),
                _ => None,
            };
            if options.clock == Clock::Real {
                options.service.ready(&mut lp, options.registry.as_ref())?;
            }
            let gone = world.go(&mut lp, options.clock, end, stops);
            options.service.stopping();
            gone?;
        }
        world.finish(&mut lp, &options, &failure, &notes)
    }

    /// Makes the world that it runs in; nothing has begun then.
    pub(super) fn set(
        self,
        mut host: Box<dyn Host>,
        reports: Box<dyn Reports>,
        console: Console,
    ) -> Result<Set, String> {
        let Prepared { program, mut options } = self;
        let random_seed = options.seed.unwrap_or_else(|| host.random());
        let hash_seed = hash_seed(options.seed, &mut *host)?;
        let systems = Systems::new(&program, &mut options)?;
        let mut worker = Worker::new(
            program,
            Options {
                memory_max: options.memory_max.unwrap_or(u64::MAX),
                stack_max: options.stack_max.unwrap_or(STACK_MAX),
                schedule_seed: options.seed,
                random_seed,
                hash_seed,
                reports,
                console,
            },
        );
        systems.offer(&mut worker);
        let count = options.workers.map_or(1, |count| count as usize);
        let mut runner = Runner::with_workers(worker, count);
        if options.spread_eagerly {
            runner.spread_eagerly();
        }
        let registry = options.registry.clone();
        let control = registry.as_ref().map(|registry| Server::new(registry, None));
        let world = World { runner, systems, control, registry };
        Ok(Set { world, lp: Loop::new(host), options })
    }

    /// The names of its source files, for reports.
    pub(super) fn files(&self) -> &[String] {
        &self.program.files
    }
}

/// What collections hash with: of a run with a seed it follows from that.
fn hash_seed(seed: Option<u64>, host: &mut dyn Host) -> Result<u64, String> {
    if let Some(seed) = seed {
        return Ok(Rng::new(seed ^ 0x6861_7368).next_u64());
    }
    let mut bytes = [0; 8];
    host.fill_entropy(&mut bytes).map_err(|error| format!("no random numbers: {error}"))?;
    Ok(u64::from_le_bytes(bytes))
}

/// A program in its world, before it begins.
pub(super) struct Set {
    pub(super) world: World,
    pub(super) lp: Loop<World>,
    pub(super) options: RunOptions,
}

/// What the loop of a run works on.
pub(super) struct World {
    pub(super) runner: Runner,
    pub(super) systems: Systems,
    /// Who asks.
    pub(super) control: Option<Server>,
    pub(super) registry: Option<Registry>,
}

impl Home for World {
    fn runner(&mut self) -> &mut Runner {
        &mut self.runner
    }

    fn request(&mut self, lp: &mut Loop<World>, request: Request) {
        system::serve(self, lp, request);
    }

    fn look(&mut self, lp: &mut Loop<World>) -> bool {
        system::look(self, lp)
    }

    fn ended(&mut self, lp: &mut Loop<World>) {
        lp.stop();
    }
}

impl World {
    /// Has the loop run until one of the descriptors can be read, or the program has ended.
    fn go(
        &mut self,
        lp: &mut Loop<World>,
        clock: Clock,
        end: Option<Time>,
        stops: [Option<&OwnedFd>; 2],
    ) -> Result<(), String> {
        let broken = |error: io::Error| format!("the system fails to wait: {error}");
        if clock == Clock::Virtual {
            return self.go_virtually(lp, end, stops).map_err(broken);
        }
        for stop in stops.into_iter().flatten() {
            let handlers = Handlers::new().read(|_: &mut World, lp: &mut Loop<World>, _| lp.stop());
            let watched = lp.watch(stop.as_raw_fd(), Interest::Read, handlers);
            watched.map_err(|error| format!("cannot wait for signals: {error}"))?;
        }
        let outcome = match end {
            Some(end) => lp.run_until(self, end),
            None => lp.run(self),
        };
        match outcome {
            Outcome::Failed(error) => Err(broken(error)),
            _ => Ok(()),
        }
    }

    /// In a simulation there are no descriptors to wait for: they are looked at now and then.
    fn go_virtually(
        &mut self,
        lp: &mut Loop<World>,
        end: Option<Time>,
        stops: [Option<&OwnedFd>; 2],
    ) -> io::Result<()> {
        let end = end.unwrap_or(Time::MAX);
        loop {
            let until = (lp.now() + VIRTUAL_STRETCH).min(end);
            match lp.run_until(self, until) {
                Outcome::Failed(error) => return Err(error),
                Outcome::Reached
                    if until < end && !stops.into_iter().flatten().any(can_be_read) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Ends what is left, writes what waits, and sums up.
    fn finish(
        mut self,
        lp: &mut Loop<World>,
        options: &RunOptions,
        failure: &Failure,
        notes: &Notes,
    ) -> Result<Ended, String> {
        let how = self.runner.worker().ended().cloned();
        self.runner.worker().clear();
        let communications: Vec<_> = self.systems.communications().collect();
        for communication in communications {
            system::finished(&mut self, lp, communication);
        }
        if options.clock == Clock::Real && self.systems.has_unsent() {
            let end = lp.now() + LINGER_MAX;
            // Whatever became of it, nobody waits any longer.
            let _ = lp.run_until(&mut self, end);
        }
        let pore_drops = self.systems.pore_drops();
        let packets = self.systems.stop_packets();
        let out_of_order = packets.iter().flat_map(|packets| &packets.out_of_order);
        let mut problems = self.systems.problems();
        problems.extend(out_of_order.map(|app| format!("app {app} was out of order at the end")));
        if let Some(path) = &options.png
            && let Err(error) = self.systems.write_png(path)
        {
            problems.push(format!("{}: cannot write the picture: {error}", path.display()));
        }
        self.runner.stop();
        let (counts, peak_bytes) = (self.runner.counts(), self.runner.worker().peak_bytes());
        let components_given = self.runner.components_given();
        for problem in &problems {
            report::note(notes, &format!("tidemill: {problem}"));
        }
        let failure = failure.borrow_mut().take();
        let timer_late_max = lp.stats().timer_late_max;
        Ok(Ended {
            how,
            counts,
            peak_bytes,
            pore_drops,
            packets,
            timer_late_max,
            components_given,
            failure,
            problems,
        })
    }
}

/// Whether something is there to be read, now.
fn can_be_read(descriptor: &OwnedFd) -> bool {
    let mut poll = [PollFd::new(descriptor, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    rustix::event::poll(&mut poll, Some(&now)).is_ok_and(|ready| ready > 0)
}
