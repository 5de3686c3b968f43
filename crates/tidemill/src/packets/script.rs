//! An app written in the component language: the app `Script`.
//!
//! ```text
//! link -> Packets?Packet(p) -> components -> Packets!Send(p) -> link
//! ```
//! The app holds one program, on a loop whose clock is that of the packet engine: time does not
//! advance during a breath. A breath gives the program a bounded number of packets and steps; the
//! rest stays on the links until the next. So a run with a seed repeats, and a program that never
//! rests slows the others down but does not stop them.
//!
//! ```
//! use tidemill::console::Console;
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::run::RunOptions;
//!
//! let file = std::env::temp_dir().join(format!("tidemill-script-{}.com", std::process::id()));
//! std::fs::write(&file, "COMPONENT Pass REQUIRES Packets; VARIABLE p: TEXT; sent: BOOLEAN;
//!   BEGIN Packets!Open(\"src -> end\"); Packets?Opened;
//!   ACTIVITY {EXCLUSIVE} WHILE TRUE DO
//!     Packets!Receive; Packets?Packet(p); Packets!Send(p); Packets?Sent(sent)
//!   END
//!   END Pass;")?;
//! let text = format!(
//!     "src :: Source {{ packets: 3 }}\nscript :: Script {{ file: \"{}\" }}\nend :: Sink
//!      src -> script -> end",
//!     file.display()
//! );
//! let program = Program::of_text("a.flow", &text, &LoadOptions::default());
//! let report = program.run(RunOptions::default(), Console::silent())?;
//! let packets = report.packets.ok_or("no graph")?;
//! assert_eq!(packets.links[1].1.rx_packets, 3);
//! # std::fs::remove_file(&file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::path::PathBuf;
use std::time::Duration;

use tidemill_event::Time;
use tidemill_packet::app::{App, ConfigError, Fault, Io, Ports, Progress, Reconfigured, Start};

use crate::borders::flows::{FLOWS_MAX, IDLE_SECONDS, Limits, QUEUE_MAX, Room, per};
use crate::components::hosted::{Hosted, HostedState};
use crate::components::system::ports::Outgoing;
use crate::program::{FileKind, LoadOptions, Program};
use crate::run::ComponentOptions;

/// Packets of one input that a breath takes: few enough that a program which sends some for each
/// does not overflow its links.
const TAKEN_MAX: usize = 256;

/// The period of the check for idle flows.
const TICK: Duration = Duration::from_secs(1);

/// A MB of memory.
const MB: u64 = 1 << 20;

tidemill_packet::declare! {
    /// Runs components that receive packets and send them: a component of the program, or a program
    /// of its own.
    ///
    /// They open their ports through the interface Packets, by the names of the apps at the other
    /// end: `Open("left")` receives from the input `left` and sends to the output `left`,
    /// `Open("left -> right")` receives from the one and sends to the other. A packet that is sent
    /// bears the time of the one received before it at the same port.
    ///
    /// With `component` the app makes components of that type, which offer nothing: one for each
    /// flow, which is what `per` tells apart, when its first packet comes; without `per` just one.
    /// Such an instance ends when its body does, and when no packet has come for `idle` seconds:
    /// then it sees FINISH, or ends where it asks for more, and its FINALLY runs. If it fails, its
    /// flow is lost, and the next packet makes another. Drops and all else count as
    /// `border/APP/...`.
    ///
    /// With `file` it is a program of its own; with `per` too, that has an instance of its main
    /// component for each flow, and counts as above in the report of the app. Time is that of the
    /// graph and begins at 0 when the program does; a program that waits for a time is a source
    /// that is not done. What it writes goes to the log, as `script`.
    ///
    /// When its main component fails the app does, and is started again: what it had not received
    /// by then is dropped as `failed`, what is still on its links is there for the next. When its
    /// main component ends in order, packets are dropped as `ended`.
    ///
    /// Packets for inputs that the program has not opened when it rests are dropped as `not_open`,
    /// those it sends faster than they can leave as `queue_full`.
    app Script {
        config ScriptConfig {
            /// The component of the program that is made for each flow.
            component: String = String::new(),
            /// The fields that tell flows apart, such as `ip.src, ip.dst, proto, sport, dport`. A
            /// packet without a field has that in common with others. Without `per` there is one
            /// flow.
            per: String = String::new(),
            /// Seconds without a packet after which the instance of a flow is ended; 0: never.
            idle: u64 = IDLE_SECONDS,
            /// The most flows at a time: the packets of more are dropped as `no_room`.
            flows_max: u64 = FLOWS_MAX,
            /// Packets that may wait for an instance: more are dropped as `queue_full`.
            queue_max: u64 = QUEUE_MAX,
            /// A program of its own in place of a component: a file of components.
            file: String = String::new(),
            /// What the program reads as its arguments.
            arguments: Vec<String> = Vec::new(),
            /// The folder that the program sees as the root of the file system.
            root: String = ".".to_owned(),
            /// The most memory that its components use, in MB.
            memory_mb: u64 = 64,
            /// The approximate maximum of steps per breath: loops, calls and switches count.
            steps: u64 = 100_000,
        }
        ports {
            /// Packets for the program.
            input: Input(Pull, Many),
            /// Packets of the program.
            output: Output(Push, Many),
        }
        traits { pulls, begins }
    }
}

/// See [`Script::declaration`](tidemill_packet::app::Declared::declaration).
pub enum Script {
    /// Components of the program: the machine moves packets between the links and the components.
    Border,
    /// A program of its own.
    Own(Box<OwnProgram>),
}

/// A program with a loop of its own.
pub struct OwnProgram {
    program: Hosted,
    started_ns: u64,
    steps: u64,
    is_over: bool,
    taken: u64,
    sent: u64,
}

impl App for Script {
    fn validate(config: &ScriptConfig) -> Result<(), ConfigError> {
        if let Err(unknown) = per(&config.per) {
            return Err(ConfigError::new("per", unknown.to_string()));
        }
        match (config.component.is_empty(), config.file.is_empty()) {
            (true, true) => {
                return Err(ConfigError::new("component", "say `component`, or `file`"));
            }
            (false, false) => {
                let text = "the component of a file is its entry component: say one of them";
                return Err(ConfigError::new("component", text));
            }
            _ => {}
        }
        let at_least_one = [
            ("flows_max", config.flows_max),
            ("queue_max", config.queue_max),
            ("memory_mb", config.memory_mb),
            ("steps", config.steps),
        ];
        match at_least_one.into_iter().find(|(_, value)| *value == 0) {
            Some((key, _)) => Err(ConfigError::new(key, "it must be 1 at least")),
            None => Ok(()),
        }
    }

    fn new(config: ScriptConfig, start: &mut Start) -> Result<Script, Fault> {
        if config.file.is_empty() {
            Ok(Script::Border)
        } else {
            Ok(Script::Own(Box::new(OwnProgram::new(config, start)?)))
        }
    }

    /// The border was settled when the program was loaded.
    fn reconfigure(&mut self, config: ScriptConfig) -> Reconfigured {
        match (self, config.file.is_empty()) {
            (Script::Border, true) => Reconfigured::Kept,
            _ => Reconfigured::Restart,
        }
    }

    fn linked(&mut self, ports: &Ports<'_>) {
        if let Script::Own(own) = self {
            own.program.name(ports.inputs, ports.outputs);
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        match self {
            Script::Border => Ok(Progress::Asleep),
            Script::Own(own) => own.pull(io),
        }
    }

    /// Idle flows end even if nothing else happens.
    fn tick_every(&self) -> Option<Duration> {
        match self {
            Script::Own(own) if own.program.has_flows() => Some(TICK),
            _ => None,
        }
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        match self {
            Script::Border => Ok(()),
            Script::Own(own) => own.pull(io).map(|_| ()),
        }
    }

    fn stop(&mut self, io: &mut Io) {
        if let Script::Own(own) = self
            && own.program.has_flows()
        {
            own.program.end(own.now(io));
            own.send(io);
        }
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let Script::Own(own) = self else { return Vec::new() };
        if own.program.has_flows() {
            return own.program.counted();
        }
        let faults = own.program.faults();
        vec![("packets_taken", own.taken), ("packets_sent", own.sent), ("faults", faults)]
    }
}

impl OwnProgram {
    fn new(config: ScriptConfig, start: &mut Start) -> Result<OwnProgram, Fault> {
        let program = Program::load(&[PathBuf::from(&config.file)], &LoadOptions::default());
        if program.has_errors() {
            let found = program.diagnostics.iter().map(|one| program.sources.render(one));
            return Err(Fault::new(found.collect::<String>().trim_end().to_owned()));
        }
        if !program.kinds.has(FileKind::Components) {
            return Err(Fault::new(format!("{}: the file has no components", config.file)));
        }
        let components = ComponentOptions {
            memory_max: Some(config.memory_mb.saturating_mul(MB)),
            root: Some(PathBuf::from(config.root)),
            arguments: config.arguments,
            ..ComponentOptions::default()
        };
        let seed = start.rng().next_u64();
        let limits =
            Limits { idle: config.idle, flows_max: config.flows_max, queue_max: config.queue_max };
        // The check of the app has reported invalid names.
        let flows = per(&config.per).ok().filter(|per| !per.is_empty());
        let flows = flows.map(|per| (per, limits));
        let name = start.name();
        let program = Hosted::new(&program, name, seed, components, flows)?;
        Ok(OwnProgram {
            program,
            started_ns: start.now_ns(),
            steps: config.steps,
            is_over: false,
            taken: 0,
            sent: 0,
        })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if self.is_over {
            drain(io, 0..io.inputs(), "ended");
            return Ok(Progress::Asleep);
        }
        if self.program.has_flows() {
            // Advances the clock first, so that packets arrive now and not at the time of the last
            // run.
            self.program.run(self.now(io), self.steps);
        }
        self.take(io);
        let state = self.program.run(self.now(io), self.steps);
        self.send(io);
        match state {
            HostedState::Failed(why) => {
                self.forget(io, "failed");
                Err(Fault::new(why))
            }
            HostedState::Busy => Ok(Progress::Ready),
            HostedState::Over => {
                self.is_over = true;
                self.forget(io, "ended");
                drain(io, 0..io.inputs(), "ended");
                Ok(Progress::Asleep)
            }
            HostedState::Waits(until) => Ok(self.rest(io, until)),
        }
    }

    /// The time of the program.
    fn now(&self, io: &Io) -> Time {
        Time(io.now_ns().saturating_sub(self.started_ns))
    }

    /// Takes packets until the queue of a flow is full.
    fn give(&mut self, io: &mut Io) {
        let mut room = Room::Left;
        for input in 0..io.inputs() {
            for _ in 0..TAKEN_MAX {
                let packet = if room == Room::Left { io.receive(input) } else { None };
                let Some(packet) = packet else { break };
                room = self.program.give(input, packet);
            }
        }
    }

    /// Takes packets from the links of open inputs, as far as there is room.
    fn take(&mut self, io: &mut Io) {
        if self.program.has_flows() {
            return self.give(io);
        }
        for input in 0..io.inputs() {
            if !self.program.has_opened(input) {
                continue;
            }
            let Some(ports) = self.program.ports() else { return };
            for _ in 0..ports.room(input).min(TAKEN_MAX) {
                let Some(packet) = io.receive(input) else { break };
                ports.put(input, packet);
                self.taken += 1;
            }
        }
    }

    /// Sends the program's packets.
    fn send(&mut self, io: &mut Io) {
        let Some(ports) = self.program.ports() else { return };
        for (output, queue) in ports.sent() {
            for Outgoing { bytes, time_ns } in queue {
                if let Some(mut packet) = io.packet_of(&bytes) {
                    packet.set_time_ns(time_ns);
                    io.send(output, packet);
                    self.sent += 1;
                }
            }
        }
        for _ in 0..ports.refused() {
            io.count_drop("queue_full");
        }
    }

    /// Drops packets that the program has not received.
    fn forget(&mut self, io: &mut Io, reason: &'static str) {
        let count = self.program.ports().map_or(0, |ports| ports.forget());
        (0..count).for_each(|_| io.count_drop(reason));
    }

    /// The condition to wait for, now that the program is idle.
    fn rest(&mut self, io: &mut Io, until: Option<Time>) -> Progress {
        if self.program.has_flows() {
            return match until {
                _ if (0..io.inputs()).any(|input| io.waiting(input) > 0) => Progress::Ready,
                Some(at) if !self.program.rests() => {
                    Progress::Until(self.started_ns.saturating_add(at.0))
                }
                _ => Progress::Asleep,
            };
        }
        let mut has_more = false;
        for input in 0..io.inputs() {
            if !self.program.has_opened(input) {
                drain(io, input..input + 1, "not_open")
            } else {
                let room = self.program.ports().map_or(0, |ports| ports.room(input));
                has_more |= io.waiting(input) > 0 && room > 0;
            }
        }
        match until {
            _ if has_more => Progress::Ready,
            Some(at) => Progress::Until(self.started_ns.saturating_add(at.0)),
            None => Progress::Asleep,
        }
    }
}

/// Drops the packets on the links of inputs.
fn drain(io: &mut Io, inputs: std::ops::Range<usize>, reason: &'static str) {
    for input in inputs {
        while let Some(packet) = io.receive(input) {
            io.drop(packet, reason);
        }
    }
}
