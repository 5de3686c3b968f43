//! Examples of packet graphs behave as documented: in a folder of their own, `sample.flow` writes
//! captures, if it exists, the example runs, and its output is compared with `test.out`, as frames
//! in text. `BLESS=1` rewrites that. Both engines have to write the same captures, byte by byte.
//! Examples that need devices are skipped where none can be made.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::device::{Namespaces, Running, sh, try_sh};
use crate::common::{Folder, root, skipped, status, stderr, tidemill};
use tidemill_apps::capture::{CaptureReader, Frame};
use tidemill_apps::frame;
use tidemill_support::golden;

fn file(example: &str, name: &str) -> PathBuf {
    root().join("examples").join(example).join(name)
}

fn run(folder: &Folder, graph: &Path, more: &[&str]) -> Output {
    let mut command = tidemill();
    command.arg("run").arg(graph).args(more).current_dir(folder.path());
    let output = command.output().expect("it starts");
    assert_eq!(status(&output), 0, "{}\n{}", graph.display(), stderr(&output));
    output
}

/// The captures in a folder, as frames in text.
fn captures(folder: &Path) -> BTreeMap<String, String> {
    let entries =
        std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it").path());
    let captures = entries.filter(|path| path.extension().is_some_and(|it| it == "pcap"));
    captures
        .map(|path| (path.file_stem().expect("a name").to_string_lossy().into_owned(), text(&path)))
        .collect()
}

pub fn text(capture: &Path) -> String {
    let file = std::fs::File::open(capture).expect("a capture");
    let mut reader = CaptureReader::new(file).expect("a capture");
    let (mut frame, mut text) = (Frame::default(), String::new());
    while reader.next(&mut frame).is_ok() {
        text += &frame::describe(&frame.bytes);
        text += "\n";
    }
    text
}

fn compare(example: &str, is: &str) {
    golden::check(&file(example, "test.out"), is);
}

/// The files that a graph writes beside those that were there, byte by byte.
fn written(folder: &Path, samples: &[PathBuf]) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("it"));
    let names = entries.map(|entry| entry.file_name()).filter(|name| {
        let is_sample = samples.iter().any(|sample| sample.file_name() == Some(name));
        !is_sample && Path::new(name).extension().is_some_and(|it| it == "pcap")
    });
    let read = |name: std::ffi::OsString| {
        let bytes = std::fs::read(folder.join(&name)).expect("a capture");
        (name.to_string_lossy().into_owned(), bytes)
    };
    names.map(read).collect()
}

/// Copies the programs that apps of an example load.
fn bring_programs(example: &str, folder: &Folder) {
    let entries = std::fs::read_dir(file(example, "")).expect("a folder");
    for path in entries.map(|entry| entry.expect("it").path()) {
        if path.extension().is_some_and(|it| it == "com" || it == "olg") {
            let to = folder.path().join(path.file_name().expect("a name"));
            std::fs::copy(&path, to).expect("copied");
        }
    }
}

/// An example from captures to captures, with both engines.
fn check(example: &str, more: &[&str]) {
    let folder = Folder::new();
    bring_programs(example, &folder);
    run(&folder, &file(example, "sample.flow"), &[]);
    let samples = captures(folder.path());
    let graph = file(example, &format!("{example}.flow"));
    let dispatched = Folder::new();
    let entries = std::fs::read_dir(folder.path()).expect("a folder");
    let inputs: Vec<PathBuf> = entries.map(|entry| entry.expect("it").path()).collect();
    for input in &inputs {
        let to = dispatched.path().join(input.file_name().expect("a name"));
        std::fs::copy(input, to).expect("copied");
    }
    run(&dispatched, &graph, &[&["--engine", "dispatch"][..], more].concat());
    let output = run(&folder, &graph, &[&["--stats"][..], more].concat());
    let (one, other) = (written(folder.path(), &inputs), written(dispatched.path(), &inputs));
    assert!(!one.is_empty() && one == other, "{example}: the engines write different captures");
    let mut is = String::new();
    for (name, frames) in captures(folder.path()) {
        if !samples.contains_key(&name) {
            is += &format!("{name}.pcap\n{frames}\n");
        }
    }
    let stats = stderr(&output);
    let apps = stats.lines().filter(|line| line.starts_with("app "));
    apps.for_each(|line| is += &format!("{line}\n"));
    compare(example, &is);
}

#[test]
fn a_filter_divides_a_capture() {
    check("filter", &[]);
}

#[test]
fn an_app_of_the_file_rewrites_headers() {
    check("header-rewriter", &[]);
}

#[test]
fn vlan_tags_go_on_and_off() {
    check("vlan", &[]);
}

#[test]
fn nat_translates_there_and_back() {
    check("nat", &[]);
}

#[test]
fn a_rate_limiter_passes_its_burst() {
    check("rate-limiter", &["-D", "RATE=1"]);
}

#[test]
fn a_component_opens_a_port_to_those_who_knock() {
    check("port-knocker", &[]);
}

#[test]
fn each_flow_has_a_component_that_meters_it() {
    let program = file("flow-meter", "flow-meter.com").display().to_string();
    check("flow-meter", &[&program]);
    let page = std::fs::read_to_string(file("flow-meter", "README.md")).expect("a page");
    let folder = Folder::new();
    run(&folder, &file("flow-meter", "sample.flow"), &[]);
    for seed in ["1", "7"] {
        let graph = file("flow-meter", "flow-meter.flow");
        let output = run(&folder, &graph, &[&program, "--seed", seed]);
        let text = String::from_utf8(output.stdout).expect("text");
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(text.lines().all(|line| page.contains(line)), "{text}");
    }
}

#[test]
fn a_mirror_gets_a_sample() {
    check("mirror", &[]);
}

fn text_of(folder: &Folder, name: &str) -> String {
    std::fs::read_to_string(folder.path().join(name)).expect("a file")
}

/// The example `decode`, from a capture to files, and the same by the app alone.
#[test]
fn messages_in_packets_become_files() {
    let folder = Folder::new();
    let example = root().join("examples/decode");
    run(&folder, &example.join("sample.flow"), &[]);
    let proto = root().join("examples/telemetry/telemetry.proto");
    let mut command = tidemill();
    command.arg("run").args([example.join("decode.flow"), example.join("alarms.olg")]);
    command.arg(&proto).args(["--listen", "localhost:0"]).current_dir(folder.path());
    let output = command.output().expect("it starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let mut is = String::new();
    for name in ["alarms.jsonl", "readings.csv"] {
        is += &format!("{name}\n{}", text_of(&folder, name));
    }
    // The system chooses the port.
    let start = is.find("localhost:").expect("an address");
    let address: String = is[start..].chars().take_while(|c| !matches!(c, '"' | ',')).collect();
    compare("decode", &is.replace(&address, "n0:1"));
    let rest = std::fs::metadata(folder.path().join("rest.pcap")).expect("a capture").len();
    assert!(rest > 24 + 2 * 16, "two packets are no readings");

    let graph = "src :: PcapReader { file: \"sensors.pcap\" }
        read :: Decode { type: \"telemetry.Reading\", fields: \"ip.src\", output: \"all.parquet\" }
        src -> read";
    let graph = folder.file("alone.flow", graph);
    run(&folder, Path::new(&graph), &[&proto.display().to_string()]);
    let columns = std::fs::read(folder.path().join("all.parquet")).expect("a file");
    assert!(columns.starts_with(b"PAR1") && columns.ends_with(b"PAR1"));
}

#[test]
fn a_host_of_two_apps_answers() {
    let device = format!("tmp{}", std::process::id() % 100_000);
    let mut running =
        Running::start(&file("pinger", "pinger.flow"), &[format!("TAP=\"{device}\"")]);
    if let Err(why) = running.wait_for(&device) {
        return skipped("a TAP device", &why);
    }
    if let Err(why) = try_sh(&format!(
        "echo 1 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6; ip link set {device} up"
    )) {
        return skipped("a TAP device", &why);
    }
    let folder = Folder::new();
    let both = "02:00:00:00:00:01 > 02:00:00:00:00:02";
    let graph = format!(
        "asks :: Generator {{ frames: [
           \"{both} arp is 10.78.0.1 to 10.78.0.2 02:00:00:00:00:02\",
           \"02:00:00:00:00:01 > ff:ff:ff:ff:ff:ff arp who 10.78.0.2 tell 10.78.0.1\",
           \"{both} ip 10.78.0.1 > 10.78.0.2 icmp echo 5 1 bytes 56\",
           \"{both} ip 10.78.0.1 > 10.78.0.3 icmp echo 5 2 bytes 56\"
         ] }}
         wire :: RawSocket {{ interface: \"{device}\" }}
         seen :: PcapWriter {{ file: \"seen.pcap\" }}
         asks -> wire -> seen"
    );
    let graph = folder.file("asks.flow", &graph);
    run(&folder, Path::new(&graph), &["--for", "1.5"]);
    // The number of requests for its gateway depends on timing.
    let seen = text(&folder.path().join("seen.pcap"));
    let from = |line: &&str| line.starts_with("02:00:00:00:00:02 >") && !line.contains("arp who");
    let seen: Vec<&str> = seen.lines().filter(from).collect();
    compare("pinger", &(seen.join("\n") + "\n"));
    let err = running.end();
    assert!(err.contains("app arp: answered 1") && err.contains("resolved 1"), "{err}");
}

/// Two connected devices, of this name and 0 or 1, removed after the test.
struct Pair(String);

impl Pair {
    fn new() -> Result<Pair, String> {
        let name = format!("tmh{}", std::process::id() % 100_000);
        try_sh(&format!("ip link add {name}0 type veth peer name {name}1"))?;
        let pair = Pair(name);
        for device in pair.devices() {
            let quiet = format!("echo 1 > /proc/sys/net/ipv6/conf/{device}/disable_ipv6");
            try_sh(&format!("({quiet}; true) && ip link set {device} up"))?;
        }
        Ok(pair)
    }

    fn devices(&self) -> [String; 2] {
        ["0", "1"].map(|end| format!("{}{end}", self.0))
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        let _ = try_sh(&format!("ip link delete {}0", self.0));
    }
}

/// A driver that is a component, apps and rules together, on a device.
#[test]
fn a_host_of_components_apps_and_rules_answers() {
    let pair = match Pair::new() {
        Ok(pair) => pair,
        Err(why) => return skipped("a pair of devices", &why),
    };
    let [near, far] = pair.devices();
    let mut command = tidemill();
    command.current_dir(root().join("examples/host")).arg("run");
    let drivers = ["ethernet.com", "bridge.com", "host.com"];
    command.args(drivers.map(|one| root().join("apps/drivers").join(one)));
    command.args(["host.flow", "--stats", "--", "packet", &far]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut running = Running(child.expect("it starts"));
    let mut line = String::new();
    // Its output has to be read for as long as it runs.
    let mut out = BufReader::new(running.0.stdout.take().expect("piped"));
    out.read_line(&mut line).expect("readable");
    assert_eq!(line, format!("the host is at {far}\n"), "{}", running.end());
    let folder = Folder::new();
    let define = format!("DEVICE=\"{near}\"");
    run(&folder, &file("host", "sample.flow"), &["-D", &define, "--for", "1.5"]);
    let seen = text(&folder.path().join("seen.pcap"));
    // The number of requests for its gateway depends on timing.
    let seen: Vec<&str> = seen.lines().filter(|line| !line.contains("arp who")).collect();
    compare("host", &(seen.join("\n") + "\n"));
    let err = running.end();
    assert!(err.contains("link pings.output->quota.pings: 7 packets"), "{err}");
    assert!(err.contains("link quota.echo->echo.input: 5 packets"), "{err}");
}

#[test]
fn a_bridge_joins_three_namespaces() {
    let names: Vec<String> =
        ["a", "b", "c"].map(|end| format!("tm{}{end}", std::process::id() % 100_000)).to_vec();
    let defines: Vec<String> =
        ["A", "B", "C"].iter().zip(&names).map(|(key, name)| format!("{key}=\"{name}\"")).collect();
    let mut running = Running::start(&file("learning-bridge", "learning-bridge.flow"), &defines);
    if let Err(why) = running.wait_for(&names[2]) {
        return skipped("network namespaces", &why);
    }
    let addresses = ["10.77.0.1/24", "10.77.0.2/24", "10.77.0.3/24"];
    let _namespaces = match Namespaces::new(names.iter().zip(addresses)) {
        Ok(namespaces) => namespaces,
        Err(why) => return skipped("network namespaces", &why),
    };
    let mut is = String::new();
    for (number, name) in (1..).zip(&names) {
        for other in (1..=names.len()).filter(|&other| other != number) {
            // The sender first has to resolve the other's Ethernet address.
            let end = Instant::now() + Duration::from_secs(20);
            let found = format!("ip -n {name} neighbour show 10.77.0.{other}");
            let to = format!("/dev/udp/10.77.0.{other}/9");
            while !sh(&found).contains("lladdr") {
                assert!(Instant::now() < end, "{name} does not reach {other}: {}", sh(&found));
                // The reply may be that the port has no listener.
                let _ = try_sh(&format!("ip netns exec {name} bash -c 'echo moin > {to}'"));
                std::thread::sleep(Duration::from_millis(50));
            }
            is += &format!("10.77.0.{number} reaches 10.77.0.{other}\n");
        }
    }
    compare("learning-bridge", &is);
    let err = running.end();
    assert!(err.contains("app bridge: addresses 3"), "{err}");
}

/// Every graph is run here.
#[test]
fn all_graphs_are_run() {
    let tests = concat!(
        include_str!("graphs.rs"),
        include_str!("flows.rs"),
        include_str!("examples.rs"),
        include_str!("router.rs")
    );
    let mut count = 0;
    for folder in std::fs::read_dir(root().join("examples")).expect("a folder") {
        let folder = folder.expect("an entry").path();
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        if folder.join(format!("{name}.flow")).exists() {
            let is_run = [
                format!("check(\"{name}\""),
                format!("compare(\"{name}\""),
                format!("examples/{name}/test.out"),
            ];
            assert!(is_run.iter().any(|one| tests.contains(one)), "{name} is not run");
            assert!(folder.join("README.md").exists(), "{name} has no page");
            count += 1;
        }
    }
    assert!(count >= 6, "{count} examples");
}
