//! Flow collectors that read the same capture: softflowd, nfpcapd, argus.
//!
//! The cost of each is the CPU time of its process, less that for a capture without packets. All of
//! them treat both directions as one flow, and none has rules or telemetry; a check ensures that
//! they have processed all packets.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::capture::Capture;
use crate::extent::Extent;
use crate::report::Report;
use crate::tool;

/// A collector.
pub struct Collector {
    pub name: &'static str,
    /// The command; `$IN` is the capture, and output goes to the current folder.
    command: &'static str,
    /// Where it reports the number of packets.
    count: Count,
    others: Others,
}

/// How a collector reports its counts.
enum Count {
    /// It prints this text before the number.
    Printed(&'static str),
    /// `racount` reads it from its file.
    Racount,
}

/// The treatment of packets that are not IP.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Others {
    Counted,
    Ignored,
}

/// All of them, with an idle time of 15 seconds for flows where that can be set.
const COLLECTORS: [Collector; 3] = [
    Collector {
        name: "softflowd",
        command: "softflowd -r $IN -n 127.0.0.1:9 -v 9 -d -m 200000 -t udp=15 -t tcp=15 \
                  -p pid -c none",
        count: Count::Printed("Packets processed: "),
        others: Others::Ignored,
    },
    Collector {
        name: "nfpcapd",
        command: "nfpcapd -r $IN -w . -e 300,15",
        count: Count::Printed(", Packets: "),
        others: Others::Ignored,
    },
    Collector {
        name: "argus",
        command: "argus -F /dev/null -r $IN -w argus.out",
        count: Count::Racount,
        others: Others::Counted,
    },
];

/// The collectors that are installed, if peers are asked for; those that are missing are reported.
pub fn there(extent: Extent, report: &mut Report) -> Vec<&'static Collector> {
    let mut is_there = |collector: &&Collector| match collector.is_there() {
        Ok(()) => true,
        Err(reason) => {
            report.note(&format!("{}: absent: {reason}", collector.name));
            false
        }
    };
    let all: &'static [Collector] = if extent.peers { &COLLECTORS } else { &[] };
    all.iter().filter(|collector| is_there(collector)).collect()
}

impl Collector {
    /// Checks whether it is installed, and bash, which measures it.
    ///
    /// # Errors
    /// The missing program.
    fn is_there(&self) -> Result<(), String> {
        tool::stdout_of(Command::new("bash").args(["-c", "true"]), "bash")?;
        let mut look = Command::new("bash");
        look.args(["-c", &format!("command -v {}", self.name)]);
        tool::stdout_of(&mut look, self.name)
            .map(drop)
            .map_err(|_| "it is not installed".to_owned())
    }

    /// CPU seconds for a capture.
    ///
    /// # Errors
    /// It fails, or has not processed all packets.
    pub fn measure(&self, capture: &Capture) -> Result<f64, String> {
        let truth = &capture.truth;
        let others = if self.others == Others::Counted { truth.others } else { 0 };
        let expected = truth.packets + others;
        let (cpu_s, printed) = self.run(&capture.file(), capture.folder())?;
        let seen = self.seen(&printed, capture.folder())?;
        if seen != expected {
            return Err(format!("it has seen {seen} packets of {expected}"));
        }
        let empty = capture.folder().join("empty.pcap");
        let whole = fs::read(capture.file()).map_err(|error| error.to_string())?;
        fs::write(&empty, &whole[..24]).map_err(|error| error.to_string())?;
        let (start_s, _) = self.run(&empty, capture.folder())?;
        Ok((cpu_s - start_s).max(0.001))
    }

    /// The user and system time of the command and its threads, and its output.
    fn run(&self, input: &Path, folder: &Path) -> Result<(f64, String), String> {
        let out = folder.join(self.name);
        let failed = |error: std::io::Error| error.to_string();
        fs::remove_dir_all(&out).or(Ok(())).and_then(|()| fs::create_dir(&out)).map_err(failed)?;
        let script = format!("TIMEFORMAT=$'\\ncpu %U %S'; time timeout 600 {} 2>&1", self.command);
        let mut command = Command::new("bash");
        command.args(["-c", &script]).env("IN", input).env("LC_ALL", "C").current_dir(&out);
        let printed = tool::all_output_of(&mut command, self.name)?;
        let times = printed.lines().rev().find_map(|line| line.strip_prefix("cpu "));
        let times = times.and_then(|line| line.split_once(' '));
        match times.map(|(user, system)| (user.parse::<f64>(), system.trim().parse::<f64>())) {
            Some((Ok(user), Ok(system))) => Ok((user + system, printed)),
            _ => Err(format!("no times in `{printed}`")),
        }
    }

    /// The number of packets that it reports.
    fn seen(&self, printed: &str, folder: &Path) -> Result<u64, String> {
        let counted;
        let printed = match self.count {
            Count::Racount => {
                let mut count = Command::new("racount");
                count.arg("-r").arg(folder.join("argus/argus.out"));
                counted = tool::stdout_of(&mut count, "racount")?;
                // Records come first.
                counted.split_whitespace().skip_while(|word| *word != "sum").nth(2)
            }
            Count::Printed(before) => printed.split(before).nth(1),
        };
        let digits: String =
            printed.unwrap_or_default().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().map_err(|_| "it does not say how many packets there were".to_owned())
    }
}
