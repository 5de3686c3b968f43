//! Captures with a time of their own.

use std::fs::File;
use std::path::{Path, PathBuf};

use tidemill::devices::SimDevice;
use tidemill::error::Error;
use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Clock, Listen, Report, RunOptions};
use tidemill::sim::SimOptions;
use tidemill::tape::taped;
use tidemill_apps::capture::{CaptureWriter, Format};

/// The time of the first packet, in nanoseconds since the epoch.
const BEGIN_NS: i64 = 1_700_000_000_000_000_000;

/// A capture of packets at these times after its beginning, in milliseconds; removed on drop.
struct Capture(PathBuf);

impl Capture {
    fn new(name: &str, times_ms: &[i64]) -> Capture {
        let name = format!("tidemill-{}-{name}.pcap", std::process::id());
        let path = std::env::temp_dir().join(name);
        let file = File::create(&path).expect("a file");
        let mut writer = CaptureWriter::new(file, Format::Pcap).expect("it can be written");
        for ms in times_ms {
            writer.write(BEGIN_NS + ms * 1_000_000, &[7; 60], 60).expect("it can be written");
        }
        Capture(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

const RULES: &str = "
materialize(seen, infinity, infinity, keys(2)).
r1 seen(@N, Id, f_now() - Time) :- packet(@N, Port, Id, Time).
r2 tick(@N, E) :- periodic(@N, E, 1).
r3 clock(@N, f_formatTime(f_now(), \"%H:%M:%S\")) :- tick(@N, E).
watchmod(clock, \"h\"). watchmod(seen, \"i\").";

fn program(rules: &str, capture: &Capture) -> Program {
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         rules :: Rules {{ fields: \"time\" }}
         src -> rules",
        capture.path()
    );
    let texts = [("a.olg", rules), ("a.flow", graph.as_str())];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    program
}

fn run(program: Program, clock: Clock) -> (String, Report) {
    let mut options = RunOptions { clock, ..RunOptions::default() };
    options.nodes.listen = Listen::Address("localhost:0".to_owned());
    let (console, data, notes) = taped();
    let report = program.run(options, console).expect("it runs");
    assert_eq!(notes.text(), "");
    (data.text(), report)
}

/// An hour of packets and a periodic each second, which take no hour.
#[test]
fn time_is_that_of_the_captures() {
    let capture = Capture::new("hour", &[0, 500, 2000, 2000, 3_600_000]);
    let began = std::time::Instant::now();
    let (text, report) = run(program(RULES, &capture), Clock::Own);
    assert!(began.elapsed().as_secs() < 60);
    assert_eq!(text.matches(" i - seen(").count(), 5, "{text}");
    // No event precedes its packet, and none is later than a millisecond.
    let late: Vec<f64> =
        text.lines().filter(|line| line.contains(" i - seen(")).map(lateness).collect();
    assert!(late.iter().all(|late| (0.0..=0.001).contains(late)), "{late:?}");
    let ticks = text.matches(" h r3 clock(").count();
    assert!((3598..=3601).contains(&ticks), "{ticks}");
    let first = text.lines().find(|line| line.contains(" h r3 clock(")).expect("a tick");
    assert!(first.ends_with("\"22:13:20\")") || first.ends_with("\"22:13:21\")"), "{first}");
    assert!(report.nodes.expect("nodes").elapsed_ns >= 3_600_000_000_000);
}

/// Nothing happens in the ten years between two packets, with one instance and with two.
#[test]
fn a_gap_between_packets_takes_no_time() {
    const GAP_MS: i64 = 10 * 365 * 86_400_000;
    let capture = Capture::new("gap", &[0, 1, GAP_MS]);
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         end :: Sink
         src -> end",
        capture.path()
    );
    for workers in [1, 2] {
        let program = Program::of_texts(&[("a.flow", &graph)], &LoadOptions::default());
        let began = std::time::Instant::now();
        let mut options = RunOptions::default();
        options.nodes.workers = workers;
        let (console, _, notes) = taped();
        let report = program.run(options, console).expect("it runs");
        assert_eq!(notes.text(), "");
        let links = report.packets.expect("packets").links;
        assert_eq!(links.iter().map(|(_, link)| link.tx_packets).sum::<u64>(), 3);
        assert!(began.elapsed().as_secs() < 60, "{workers} workers: {:?}", began.elapsed());
    }
}

/// Rules that send packets of their own do so in the time of the captures.
#[test]
fn rules_that_send_are_no_other_input() {
    let capture = Capture::new("sent", &[0, 600_000]);
    let graph = format!(
        "src :: PcapReader {{ file: {:?} }}
         rules :: Rules {{ event: \"wanted\" }}
         read :: Sink
         sent :: Sink
         src -> read
         rules -> sent",
        capture.path()
    );
    let rules = "
        r1 send(@N, \"sent\", b\"\\x01\") :- periodic(@N, E, 10).
        r2 got(@N) :- wanted(@N, Port, Bytes).
        watch(got).";
    let texts = [("a.olg", rules), ("a.flow", graph.as_str())];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let found: String = program.diagnostics.iter().map(|one| program.sources.render(one)).collect();
    assert!(!program.has_errors(), "{found}");
    let began = std::time::Instant::now();
    let (_, report) = run(program, Clock::Own);
    assert!(began.elapsed().as_secs() < 60);
    assert!(report.nodes.expect("nodes").elapsed_ns >= 600_000_000_000);
    let links = report.packets.expect("packets").links;
    let sent = links.iter().find(|(name, _)| name.contains("->sent")).expect("the link").1;
    assert!((59..=61).contains(&sent.tx_packets), "{sent:?}");
}

/// The last column of a row of `seen`, in seconds.
fn lateness(line: &str) -> f64 {
    let last = line.rsplit(", ").next().expect("a column");
    last.trim_end_matches(")").trim_end_matches('s').parse().expect("seconds")
}

#[test]
fn captures_are_replayed_in_real_time_on_demand() {
    let capture = Capture::new("wall", &[0, 300]);
    let began = std::time::Instant::now();
    let (text, _) = run(
        program("r1 x(@N, I) :- packet(@N, P, I, T). watchmod(x, \"c\").", &capture),
        Clock::Wall,
    );
    assert_eq!(text.matches("x(").count(), 2, "{text}");
    assert!(began.elapsed().as_millis() >= 290);
}

#[test]
fn a_simulation_has_the_times_of_captures() {
    let capture = Capture::new("sim", &[0, 10_000, 20_000]);
    let simulated = || {
        let (console, data, _) = taped();
        let options =
            SimOptions { nodes: 3, end_ns: Some(30_000_000_000), ..SimOptions::default() };
        let rules = "r1 x(@N, I) :- packet(@N, P, I, T). watchmod(x, \"c\").";
        program(rules, &capture).sim(options, console).expect("it runs");
        data.text()
    };
    let text = simulated();
    assert_eq!(text.matches("20.000000 n").count(), 3, "{text}");
    assert_eq!(simulated(), text);
}

/// Prints each row, until it is told that no more come.
const ENTRY: &str = "
    INTERFACE RulesSeen; { IN Next ( OUT x(change: CHARACTER; id: INTEGER) | OUT End ) }
    END RulesSeen;
    COMPONENT Main REQUIRES RulesSeen, SystemTime;
      VARIABLE c: CHARACTER; id: INTEGER;
    BEGIN
      RulesSeen!Next;
      WHILE RulesSeen?x DO
        RulesSeen?x(c, id); WRITE(\"id\"); WRITE(id); WRITELINE; RulesSeen!Next
      END;
      SystemTime!Wait(WAIT); SystemTime?Passed; WRITE(\"end\"); WRITELINE
    END Main;";

/// An entry component that waits for rules, beside rules with a timer.
#[test]
fn a_run_ends_with_its_captures_whatever_waits_for_them() {
    let capture = Capture::new("entry", &[0, 500, 2000]);
    let path = capture.path();
    let graph = format!(
        "src :: PcapReader {{ file: {path:?} }}
         rules :: Rules {{ fields: \"time\" }}
         src -> rules"
    );
    let rules = "r1 x(@N, I) :- packet(@N, P, I, T). t1 tick(@N, E) :- periodic(@N, E, 1).
        watchmod(tick, \"h\").";
    // The entry component ends after `End`, within the time for what is pending, or it does not.
    for (wait_ms, ends, elapsed_s) in [("1500", true, 603..605), ("60000", false, 604..606)] {
        let entry = ENTRY.replace("WAIT", wait_ms);
        let texts = [("a.olg", rules), ("a.flow", graph.as_str()), ("a.com", entry.as_str())];
        let program = Program::of_texts(&texts, &LoadOptions::default());
        assert!(!program.has_errors());
        let (text, report) = run(program, Clock::Own);
        assert_eq!(text.matches("id").count(), 3, "{text}");
        assert_eq!((text.contains("end\n"), report.is_well()), (ends, true), "{text}");
        let elapsed_ns = report.nodes.expect("nodes").elapsed_ns;
        assert!(elapsed_s.contains(&(elapsed_ns / 1_000_000_000)), "{elapsed_ns}");
        // Timers of rules go on until then.
        let ticks = text.matches(" h t1 tick(").count();
        assert!((601..=602).contains(&ticks), "{ticks}");
    }
}

/// Without rules, and a component that waits for ever.
#[test]
fn components_beside_captures_end_with_them() {
    let capture = Capture::new("beside", &[0, 7000]);
    let path = capture.path();
    let graph = format!("src :: PcapReader {{ file: {path:?} }}\nend :: Sink\nsrc -> end");
    let entry = "COMPONENT Main REQUIRES SystemTime; VARIABLE n: INTEGER;
        BEGIN
          WHILE TRUE DO
            SystemTime!Wait(1000); SystemTime?Passed; INC(n); WRITE(\"t\"); WRITE(n); WRITELINE
          END
        END Main;";
    let texts = [("a.flow", graph.as_str()), ("a.com", entry)];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    assert!(!program.has_errors());
    let (text, report) = run(program, Clock::Own);
    assert!(report.is_well());
    assert!(text.contains("t607\n") && !text.contains("t611\n"), "{text}");
}

/// Rounds follow each other; time does not go backwards.
#[test]
fn a_capture_that_is_read_twice_takes_twice_as_long() {
    let capture = Capture::new("twice", &[0, 1000, 5000]);
    let graph = format!(
        "src :: PcapReader {{ file: {:?}, times: 2 }}\nend :: Sink\nsrc -> end",
        capture.path()
    );
    let rules = "r1 x(@N, E) :- periodic(@N, E, 1). watchmod(x, \"h\").";
    let texts = [("a.olg", rules), ("a.flow", graph.as_str())];
    let program = Program::of_texts(&texts, &LoadOptions::default());
    let (_, report) = run(program, Clock::Own);
    let elapsed = report.nodes.expect("nodes").elapsed_ns;
    assert!((10_000_000_000..10_100_000_000).contains(&elapsed), "{elapsed}");
}

/// A device replaced by a capture receives its packets, and accepts sent ones.
#[test]
fn a_capture_replaces_a_device() {
    let capture = Capture::new("device", &[0, 20, 2000]);
    let graph = "nic :: RawSocket { interface: \"eth0\" }
        rules :: Rules { fields: \"time\" }
        nic -> rules
        rules -> nic";
    let rules = format!("{RULES} r4 send(@N, \"nic\", Id) :- packet(@N, Port, Id, Time).");
    let texts = [("a.olg", rules.as_str()), ("a.flow", graph)];
    let simulate = |devices: &[(&str, SimDevice)]| {
        let program = Program::of_texts(&texts, &LoadOptions::default());
        assert!(!program.has_errors());
        let devices = devices.iter().map(|(name, device)| ((*name).to_owned(), device.clone()));
        let (devices, end_ns) = (devices.collect(), Some(5_000_000_000));
        let options = SimOptions { nodes: 2, devices, end_ns, ..SimOptions::default() };
        let (console, data, _) = taped();
        program.sim(options, console).map(|report| (data.text(), report))
    };
    let stands = SimDevice::Capture(capture.path().to_owned());
    let (text, report) = simulate(&[("eth0", stands.clone())]).expect("it runs");
    assert_eq!(text.matches(" i - seen(").count(), 2 * 3, "{text}");
    let packets = report.packets.expect("a graph");
    let counts = packets.apps.iter().find(|(name, _)| name == "nic").map(|(_, counts)| counts);
    let sent = counts.and_then(|counts| counts.iter().find(|(what, _)| *what == "sent"));
    assert_eq!(sent.map(|(_, count)| *count), Some(2 * 3), "{counts:?}");
    let nothing = simulate(&[]).expect_err("nothing stands for eth0");
    assert!(nothing.to_string().contains("app `nic` has eth0"), "{nothing}");
    let link = SimDevice::Link("lan".to_owned());
    let unused = simulate(&[("eth0", stands), ("eth1", link)]).expect_err("eth1 is unused");
    let message = "[sim.devices] has eth1, and no app of the program has it";
    assert_eq!(unused, Error::Options(message.to_owned()));
}
