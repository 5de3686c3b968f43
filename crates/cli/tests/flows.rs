//! The example with all kinds of parts: its counts equal those of the capture's generator, and of a
//! Python script; a simulation with failing nodes and parts counts the same, and repeats. Other
//! tools read its output.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tidemill_support::golden;
use tidemill_support::traffic::{Plan, Truth};

use crate::common::{Folder, root, skipped, status, stderr, stdout, tidemill};

const PLAN: Plan =
    Plan { seed: 1, flows: 300, packets: 9000, seconds: 100, bytes_max: 1500, pauses: 7 };

/// A folder with a capture in it.
fn made(plan: &Plan) -> (Folder, Truth) {
    let folder = Folder::new();
    let mut bytes = Vec::new();
    let truth = plan.write(&mut bytes).expect("memory takes all");
    fs::write(folder.path().join("traffic.pcap"), bytes).expect("written");
    (folder, truth)
}

/// Runs the example on the capture of a folder; its output goes below `out` in the folder.
fn run(verb: &str, folder: &Folder, out: &str, more: &[&str]) -> Output {
    let files = folder.path().join(out);
    fs::create_dir_all(&files).expect("a folder");
    let capture = folder.path().join("traffic.pcap");
    let mut command = tidemill();
    command.arg(verb).arg(root().join("examples/flows")).arg("--root").arg(files);
    command.args(["-D", &format!("CAPTURE=\"{}\"", capture.display())]).args(more);
    let output = command.output().expect("it starts");
    assert_eq!(status(&output), 0, "{}\n{}", stdout(&output), stderr(&output));
    output
}

fn read(folder: &Folder, name: &str) -> String {
    fs::read_to_string(folder.path().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A file that was written below `out`; of several nodes, what each of them has written.
fn written(folder: &Folder, out: &str, name: &str) -> String {
    if folder.path().join(out).join(name).exists() {
        return read(folder, &format!("{out}/{name}"));
    }
    let nodes = (0..2).map(|node| read(folder, &format!("{out}/{node}/{name}")));
    let is_table = name.ends_with(".csv");
    let lines = |(node, text): (usize, String)| {
        let lines = text.lines().skip(usize::from(is_table && node > 0));
        lines.map(|line| format!("{line}\n")).collect::<String>()
    };
    nodes.enumerate().map(lines).collect()
}

/// Column `at` of the rows of a table, from 1, summed up.
fn sum(table: &str, at: usize) -> u64 {
    let column = |row: &str| row.split(',').nth(at - 1).and_then(|it| it.parse::<u64>().ok());
    table.lines().skip(1).map(|row| column(row).expect("a number")).sum()
}

/// The files contain the counts of the generator.
fn is_true(folder: &Folder, out: &str, truth: &Truth) {
    let flows = written(folder, out, "flows.csv");
    assert_eq!(flows.lines().count() as u64, 1 + truth.parts);
    assert_eq!((sum(&flows, 8), sum(&flows, 9)), (truth.packets, truth.bytes));
    assert_eq!(sum(&flows, 10), truth.flows);
    let lines = |name: &str| written(folder, out, name).lines().count() as u64;
    assert_eq!((lines("heavy.jsonl"), lines("alarms.jsonl")), (truth.heavy, truth.alarms));
}

#[test]
fn the_example_counts_what_is_in_the_capture() {
    let (folder, truth) = made(&PLAN);
    let output = run("run", &folder, "out", &["-D", "PARQUET=1", "--stats"]);
    assert_eq!(stdout(&output), format!("{}\n", truth.line()));
    assert!(!stderr(&output).contains(" 1 dropped"), "{}", stderr(&output));
    is_true(&folder, "out", &truth);
    let columns = fs::read(folder.path().join("out/alarms.parquet")).expect("a file");
    assert!(columns.starts_with(b"PAR1") && columns.ends_with(b"PAR1"));

    let heavy = read(&folder, "out/heavy.jsonl");
    let start = heavy.find("localhost:").expect("an address");
    let address: String = heavy[start..].chars().take_while(|c| *c != '"').collect();
    let is = format!("{}heavy.jsonl\n{}", stdout(&output), heavy.replace(&address, "n0:1"));
    golden::check(&root().join("examples/flows/test.out"), is);
}

/// Several workers share the flows, and count the same.
#[test]
fn several_workers_count_the_same() {
    let (folder, truth) = made(&PLAN);
    for workers in ["2", "3"] {
        let output = run("run", &folder, workers, &["--workers", workers]);
        assert_eq!(stdout(&output), format!("{}\n", truth.line()));
        assert!(!stderr(&output).contains("one instance"), "{}", stderr(&output));
        is_true(&folder, workers, &truth);
    }
}

/// Captures of other kinds, and the other engine.
#[test]
fn it_counts_right_whatever_the_traffic() {
    let few = Plan { seed: 2, flows: 3, packets: 9000, seconds: 20, bytes_max: 100, pauses: 0 };
    let many =
        Plan { seed: 3, flows: 4000, packets: 9000, seconds: 20, bytes_max: 1500, pauses: 2 };
    for plan in [few, many] {
        let (folder, truth) = made(&plan);
        for engine in ["compiled", "dispatch"] {
            let output = run("run", &folder, "out", &["--engine", engine]);
            assert_eq!(stdout(&output), format!("{}\n", truth.line()), "{plan:?}");
            is_true(&folder, "out", &truth);
        }
    }
}

/// All output of a simulation: what it printed, and its files.
fn simulated(folder: &Folder, out: &str, more: &[&str]) -> (String, BTreeMap<String, Vec<u8>>) {
    let output = run("sim", folder, out, more);
    let out = folder.path().join(out);
    let nodes = [0, 1].map(|node| fs::read_dir(out.join(node.to_string())).expect("a folder"));
    let paths = nodes.into_iter().flatten().map(|entry| entry.expect("it").path());
    let file = |path: std::path::PathBuf| {
        let name = path.strip_prefix(&out).expect("below").to_string_lossy().into_owned();
        (name, fs::read(path).expect("a file"))
    };
    (stdout(&output), paths.map(file).collect())
}

#[test]
fn two_nodes_that_lose_datagrams_count_the_same_and_repeat() {
    let (folder, truth) = made(&PLAN);
    let one = simulated(&folder, "one", &["-D", "PARQUET=1"]);
    assert!(one.0.starts_with(&format!("n0:1: {}\n", truth.line())), "{}", one.0);
    assert!(one.0.contains("summary: 2 nodes (2 alive)") && one.0.contains("dropped: lost "));
    is_true(&folder, "one", &truth);
    assert_eq!(one.1.len(), 2 * 5, "{:?}", one.1.keys());
    assert!(one == simulated(&folder, "two", &["-D", "PARQUET=1"]), "a seed repeats");
    let other = simulated(&folder, "three", &["-D", "PARQUET=1", "--seed", "2"]);
    assert!(one.0 != other.0 && one.1 != other.1, "another seed is another run");
    assert!(other.0.starts_with(&format!("n0:1: {}\n", truth.line())), "{}", other.0);
    is_true(&folder, "three", &truth);
}

#[test]
fn parts_that_are_killed_come_back_and_all_is_counted() {
    let (folder, truth) = made(&PLAN);
    let script = root().join("examples/flows/kill.sim").display().to_string();
    let output = run("sim", &folder, "out", &["--script", &script]);
    let err = stderr(&output);
    assert_eq!(err.matches("fault[killed]").count(), 2, "{err}");
    for (app, times) in [("telemetry", 2), ("both", 2), ("ours", 2), ("read", 2), ("src", 4)] {
        assert_eq!(err.matches(&format!("tidemill: {app}: restarted")).count(), times, "{err}");
    }
    // A flow whose component was killed counts twice, as it continues in another.
    let counted = Truth { flows: truth.flows + 1, ..truth };
    assert!(stdout(&output).starts_with(&format!("n0:1: {}\n", counted.line())), "{output:?}");
    // Node 1 reads again after its crash: rows that it has written before come twice.
    let flows = written(&folder, "out", "flows.csv");
    let rows: BTreeSet<&str> = flows.lines().skip(1).collect();
    let flows: String = [""].into_iter().chain(rows).map(|row| format!("{row}\n")).collect();
    assert_eq!((sum(&flows, 8), sum(&flows, 9)), (truth.packets, truth.bytes));
    assert_eq!(sum(&flows, 10), truth.flows + 1);
    let lines = |name: &str| written(&folder, "out", name).lines().count() as u64;
    assert_eq!((lines("heavy.jsonl"), lines("alarms.jsonl")), (truth.heavy, truth.alarms));
}

/// Apps that fail lose what they have in hand, which is nothing between two breaths: the files are
/// those of a run without failures.
#[test]
fn apps_that_are_killed_change_nothing() {
    let (folder, truth) = made(&PLAN);
    let kills = "at 5 kill * app src\nat 10 kill * app read\nat 20 kill 0 app src\n\
        at 30 kill * app telemetry\nat 40 kill 1 app src\nat 41 kill * app both\nat 190 end\n";
    let script = folder.file("apps.sim", kills);
    let output = run("sim", &folder, "out", &["--script", &script]);
    assert!(stdout(&output).starts_with(&format!("n0:1: {}\n", truth.line())), "{output:?}");
    is_true(&folder, "out", &truth);
    // One node, whose run ends with its reader.
    let script = folder.file("reader.sim", "at 20 kill 0 app src\nat 200 end\n");
    let output = run("sim", &folder, "one", &["--nodes", "1", "--script", &script]);
    assert!(stdout(&output).starts_with(&format!("{}\n", truth.line())), "{output:?}");
    is_true(&folder, "one", &truth);
    if !has("python3", &["-c", "pass"]) {
        return skipped("the script in Python", "there is no python3");
    }
    for out in ["out", "one"] {
        let mut count = Command::new("python3");
        count.arg(root().join("examples/flows/count.py")).args(["traffic.pcap", out]);
        let output = count.current_dir(folder.path()).output().expect("it starts");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        assert_eq!(stdout(&output), format!("{}\n", truth.line()));
    }
}

/// Runs the session of the page, in a copy of the example.
fn session(copy: &Folder) {
    let to = copy.path().join("examples/flows");
    fs::create_dir_all(&to).expect("a folder");
    let from = root().join("examples/flows");
    for entry in fs::read_dir(&from).expect("a folder").map(|entry| entry.expect("it").path()) {
        if entry.is_file() {
            fs::copy(&entry, to.join(entry.file_name().expect("a name"))).expect("copied");
        }
    }
    let page = fs::read_to_string(from.join("README.md")).expect("a page");
    let commands = page.split("```sh\n").nth(1).and_then(|it| it.split("```").next());
    let folder = Path::new(env!("CARGO_BIN_EXE_tidemill")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let mut shell = Command::new("sh");
    shell.args(["-ec", commands.expect("commands")]).env("PATH", path).current_dir(copy.path());
    let output = shell.output().expect("a shell");
    let lines = stdout(&output);
    assert_eq!(status(&output), 0, "{lines}\n{}", stderr(&output));
    // The program and the script print the same, several times.
    let own = |line: &'_ str| line.trim_start_matches("n0:1: ").to_owned();
    let mut lines: Vec<String> =
        lines.lines().filter(|line| line.contains(" flows, ")).map(own).collect();
    assert!(lines.len() >= 3, "{lines:?}");
    lines.dedup();
    assert_eq!(lines.len(), 1, "{lines:?}");
}

fn has(program: &str, arguments: &[&str]) -> bool {
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

#[test]
fn the_page_is_true_and_a_script_in_python_counts_the_same() {
    if !has("python3", &["-c", "pass"]) {
        return skipped("the script in Python", "there is no python3");
    }
    let copy = Folder::new();
    session(&copy);
    let out = copy.path().join("examples/flows");
    for seed in ["2", "3"] {
        let script = "python3 make.py $0 && $1 run . >/dev/null 2>&1 && \
            python3 count.py traffic.pcap .";
        let mut shell = Command::new("sh");
        shell.args(["-c", script, seed, env!("CARGO_BIN_EXE_tidemill")]).current_dir(&out);
        let output = shell.output().expect("a shell");
        assert_eq!(status(&output), 0, "{}", stderr(&output));
    }
}

#[test]
fn other_tools_read_what_it_writes() {
    let (folder, truth) = made(&PLAN);
    run("run", &folder, "out", &["-D", "PARQUET=1"]);
    let out = folder.path().join("out");
    if has("tshark", &["-v"]) {
        let mut command = Command::new("tshark");
        command.args(["-r", "odd.pcap", "-T", "fields", "-e", "udp.dstport"]);
        let output = command.current_dir(&out).output().expect("it starts");
        let ports = stdout(&output);
        assert!(ports.lines().all(|port| port == "5000"), "{ports}");
        assert_eq!(ports.lines().count() as u64, truth.odd);
    } else {
        skipped("captures read back", "there is no tshark")
    }
    let script = "import pyarrow.parquet as p; t = p.read_table('alarms.parquet'); \
        print(t.num_rows, min(t['a5'].to_pylist()), t['a2'][0].value // 10**9 - 1795255200 < 100)";
    if has("python3", &["-c", "import pyarrow.parquet"]) {
        let mut command = Command::new("python3");
        let output = command.args(["-c", script]).current_dir(&out).output().expect("it starts");
        assert_eq!(stdout(&output), format!("{} 95.75 True\n", truth.alarms), "{output:?}");
    } else {
        skipped("columns read back", "there is no pyarrow")
    }
}

/// The entry component beside flows opens apps of its own: its request is none of theirs.
#[test]
fn the_entry_component_opens_an_app_beside_flows() {
    let folder = Folder::new();
    let components = folder.file(
        "a.com",
        "COMPONENT Flow REQUIRES Packets; VARIABLE frame: TEXT; isSent: BOOLEAN;
         BEGIN
           Packets!Open(\"src\"); Packets?Opened;
           WHILE TRUE DO
             Packets!Receive; Packets?Packet(frame); Packets!Send(frame); Packets?Sent(isSent)
           END
         END Flow;
         COMPONENT {ENTRYPOINT} Main REQUIRES Packets; VARIABLE frame: TEXT; isSent: BOOLEAN;
         BEGIN
           Packets!Open(\"src\"); Packets?Opened;
           Packets!Send(\"there and back\"); Packets?Sent(isSent);
           Packets!Receive; Packets?Packet(frame); WRITE(frame); WRITELINE
         END Main;\n",
    );
    let graph = folder.file(
        "a.flow",
        "src :: Outside\nflows :: Script { component: \"Flow\" }\nsrc -> flows -> src\n",
    );
    let output = tidemill().args(["run", &components, &graph, "--for", "10"]).output();
    let output = output.expect("it starts");
    assert_eq!(stdout(&output), "there and back\n", "{}", stderr(&output));
}
