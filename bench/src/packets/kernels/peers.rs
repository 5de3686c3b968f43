//! The kernels as hand-written C, and as XDP programs.

use std::ffi::OsString;
use std::process::Command;

use crate::extent::Extent;
use crate::filter::trace::Trace;
use crate::tool::{self, Temporary};

/// The packets that leave a kernel: their number, and a digest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Came {
    pub packets: u64,
    pub digest: u64,
}

impl Came {
    /// The share of the packets that these are.
    pub fn share_of(self, all: Came) -> f64 {
        self.packets as f64 / all.packets as f64
    }
}

/// A program in C, and the trace in its format.
struct Program {
    program: Temporary,
    capture: Temporary,
}

impl Program {
    fn new(name: &str, source: &str, trace: &Trace) -> Result<Program, String> {
        let program = Temporary::program(name, source, &[])?;
        let capture = Temporary::file("c", &format!("{name}.pcap"), &trace.capture())?;
        Ok(Program { program, capture })
    }

    fn arguments(&self, kernel: u32, times: u64) -> [OsString; 3] {
        [self.capture.path().into(), kernel.to_string().into(), times.to_string().into()]
    }

    /// A figure, the number of passed packets, and their digest.
    fn run(&self, kernel: u32, times: u64) -> Result<(f64, Came), String> {
        let mut command = Command::new(self.program.path());
        command.args(self.arguments(kernel, times));
        let text = tool::stdout_of(&mut command, "the program")?;
        let wrong = || format!("it says `{}`", text.trim());
        let words: Vec<&str> = text.split_whitespace().collect();
        let [figure, packets, digest] = words[..] else { return Err(wrong()) };
        let packets = packets.parse().map_err(|_| wrong())?;
        let digest = digest.parse().map_err(|_| wrong())?;
        Ok((figure.parse().map_err(|_| wrong())?, Came { packets, digest }))
    }
}

/// Hand-written C.
pub struct C(Program);

impl C {
    /// Builds the program.
    ///
    /// # Errors
    /// There is no compiler.
    pub fn new(trace: &Trace) -> Result<C, String> {
        Program::new("kernels", "c/kernels.c", trace).map(C)
    }

    /// CPU seconds of `passes` passes, and the packets that leave in one.
    ///
    /// # Errors
    /// It fails.
    pub fn run(&self, kernel: u32, passes: u64) -> Result<(f64, Came), String> {
        self.0.run(kernel, passes)
    }

    /// Adds the program and its arguments to a command that runs programs.
    pub fn command(&self, command: &mut Command, kernel: u32, passes: u64) {
        command.arg(self.0.program.path()).args(self.0.arguments(kernel, passes));
    }
}

/// Repetitions of a program on each packet: fewer than a TTL has.
const REPEAT: u64 = 50;

/// XDP programs.
pub struct Xdp(Program);

impl Xdp {
    /// Builds the programs, and checks whether the system runs them.
    ///
    /// # Errors
    /// There is no compiler, or the system does not run them.
    pub fn new(trace: &Trace) -> Result<Xdp, String> {
        let made = Xdp(Program::new("xdp", "c/xdp.c", trace)?);
        made.0.run(0, 1).map(|_| made)
    }

    /// Nanoseconds per packet, and the packets that leave in one pass.
    ///
    /// # Errors
    /// It fails.
    pub fn run(&self, kernel: u32, extent: Extent) -> Result<(f64, Came), String> {
        self.0.run(kernel, if extent.small { 1 } else { REPEAT })
    }
}
