//! `top` reads the counters of another process: while it runs, and after it was killed.

use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Folder, status, stderr, stdout, tidemill};

/// A thousand packets a second, of which one in ten passes.
const GRAPH: &str = "src :: Generator { frames: [\"hex 00\"], packets: 1000000, rate: 1000 }\n\
    some :: Sample { every: 10 }\nend :: Sink\nsrc -> some -> end\n";

fn start(folder: &Folder, program: &str, arguments: &[&str]) -> Child {
    let mut command = tidemill();
    command.args(["run", program]).args(arguments).env("XDG_RUNTIME_DIR", folder.path());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

fn top(folder: &Folder, arguments: &[&str]) -> Output {
    let mut command = tidemill();
    command.arg("top").args(arguments).env("XDG_RUNTIME_DIR", folder.path());
    command.output().expect("it starts")
}

/// Runs `top` until its output meets a condition, at most twenty seconds.
fn top_until(folder: &Folder, arguments: &[&str], is_so: impl Fn(&str) -> bool) -> String {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        let output = top(folder, arguments);
        let text = stdout(&output);
        if status(&output) == 0 && is_so(&text) {
            return text;
        }
        assert!(Instant::now() < end, "{text}{}", stderr(&output));
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The numbers of the line with this prefix.
fn cells(text: &str, start: &str) -> Vec<f64> {
    let line = text.lines().find(|line| line.split_whitespace().next() == Some(start));
    let cells = line.into_iter().flat_map(|line| line.split_whitespace().skip(1));
    cells.map_while(|cell| cell.parse().ok()).collect()
}

const COMPONENTS: &str = "INTERFACE Ask; IN Ask OUT Answer END Ask;
COMPONENT Oracle OFFERS Ask;
  IMPLEMENTATION Ask; BEGIN ?Ask; !Answer END Ask;
END Oracle;
COMPONENT Main REQUIRES SystemTime; VARIABLE oracle: Oracle;
  BEGIN NEW(oracle); oracle!Ask; SystemTime!Wait(60000); SystemTime?Passed; oracle?Answer
END Main;
";

#[test]
fn the_component_tree_is_shown() {
    let folder = Folder::new();
    let mut child = start(&folder, &folder.file("a.com", COMPONENTS), &[]);
    let text = top_until(&folder, &[], |text| text.contains("Main/oracle"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let line = |start: &str| {
        let line = text.lines().find(|line| line.starts_with(start)).expect(start);
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(line("Main/oracle ").starts_with("Main/oracle Oracle running "), "{text}");
    assert!(line("  BEGIN").starts_with("BEGIN waits to receive"), "{text}");
    let server = "Ask for Main server waits for its client to finish 1";
    assert_eq!(line("  Ask for Main"), server, "{text}");
    assert!(!text.contains("messages"), "{text}");
}

/// Where rules read the messages of processes, they are shown; paths are in the order of numbers.
#[test]
fn messages_of_processes_are_shown_and_paths_are_in_order() {
    let folder = Folder::new();
    let rules = folder.file(
        "a.olg",
        "r1 busy(@N, C) :- periodic(@N, E, 0.2), sys::process(@N, C, P, S, T, M), M > 0.\n",
    );
    let components = folder.file(
        "a.com",
        "INTERFACE Ask; { IN Ask OUT Answer } END Ask;
         COMPONENT Oracle OFFERS Ask;
           IMPLEMENTATION Ask; BEGIN WHILE ?Ask DO ?Ask; !Answer END END Ask;
         END Oracle;
         COMPONENT Main REQUIRES SystemTime; VARIABLE oracle[i: INTEGER]: Oracle; i, k: INTEGER;
         BEGIN
           FOR i := 8 TO 11 DO
             NEW(oracle[i]);
             FOR k := 1 TO i DO oracle[i]!Ask; oracle[i]?Answer END
           END;
           SystemTime!Wait(60000); SystemTime?Passed
         END Main;\n",
    );
    let options = [&*components, "--listen", "localhost:0"];
    let mut child = start(&folder, &rules, &options);
    let text = top_until(&folder, &[], |text| text.contains("Main/oracle[11]"));
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    let lines: Vec<&str> =
        text.lines().skip_while(|line| !line.starts_with("component ")).collect();
    assert!(lines[0].ends_with("messages"), "{text}");
    let paths: Vec<&str> = lines.iter().filter(|line| line.starts_with("Main/")).copied().collect();
    let names = paths.iter().filter_map(|line| line.split_whitespace().next());
    let expected = [8, 9, 10, 11].map(|number| format!("Main/oracle[{number}]"));
    assert_eq!(names.collect::<Vec<_>>(), expected, "{text}");
    let servers = lines.iter().filter(|line| line.starts_with("  Ask for Main"));
    let messages = servers.filter_map(|line| line.split_whitespace().last());
    assert_eq!(messages.collect::<Vec<_>>(), ["16", "18", "20", "22"], "{text}");
}

#[test]
fn rates_of_a_graph_are_shown_while_it_runs_and_its_counts_after_a_crash() {
    let folder = Folder::new();
    let graph = folder.file("a.flow", GRAPH);
    let none = top(&folder, &[]);
    assert_eq!((status(&none), stdout(&none).as_str()), (1, ""));
    let mut child = start(&folder, &graph, &[]);
    let pid = child.id().to_string();
    // Once without a process: it is the only one.
    let link = "src.output->some.input";
    let text = top_until(&folder, &[], |text| cells(text, link).first() > Some(&500.0));
    assert!(text.starts_with(&format!("process {pid}\n")), "{text}");
    // Machines under load may be late, but no packet comes too early.
    let rate = cells(&text, link)[0];
    assert!(rate < 1500.0, "{text}");
    let passed = cells(&text, "some.output->end.some")[0];
    assert!((rate / 10.0 - passed).abs() < 20.0, "{text}");
    assert!(cells(&text, "some")[1] > 400.0, "nine of ten are drops: {text}");
    let text = top_until(&folder, &[&pid, "--form", "prometheus"], |_| true);
    let metric = format!("tidemill_link_rx_packets{{name=\"{link}\"}} ");
    assert!(text.lines().any(|line| line.starts_with(&metric)), "{text}");

    child.kill().expect("killed");
    child.wait().expect("ends");
    let text = stdout(&top(&folder, &[&pid]));
    assert!(text.contains("has ended"), "{text}");
    assert!(cells(&text, link)[4] > 500.0, "the counts are still there: {text}");
    // The next start cleans up.
    let mut next = start(&folder, &graph, &["--for", "0.1"]);
    assert!(next.wait().expect("ends").success());
    let gone = top(&folder, &[&pid]);
    assert_eq!(status(&gone), 1);
    assert!(stderr(&gone).contains("has no counters here"), "{}", stderr(&gone));
}

#[test]
fn rates_of_rules_are_listed() {
    let folder = Folder::new();
    let rules = folder.file("a.olg", "r1 tick(@N, E) :- periodic(@N, E, 0.01).\n");
    let mut child = start(&folder, &rules, &["--nodes", "1", "--for", "60"]);
    let pid = child.id().to_string();
    let rate = |text: &str| cells(text, "r1").first().copied();
    top_until(&folder, &[&pid], |text| rate(text) > Some(10.0));
    child.kill().expect("killed");
    child.wait().expect("ends");
}

/// Over the node's own port, so from any machine: the counters of its process.
#[test]
fn a_node_serves_its_counters() {
    let folder = Folder::new();
    let rules = folder.file("a.olg", "r1 tick(@N, E) :- periodic(@N, E, 0.01).\n");
    let mut command = tidemill();
    command.args(["run", &rules, "--nodes", "1", "--for", "60"]);
    command.env("XDG_RUNTIME_DIR", folder.path()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut line = String::new();
    let mut err = std::io::BufReader::new(child.stderr.take().expect("piped"));
    std::io::BufRead::read_line(&mut err, &mut line).expect("it says its address");
    let address = line.split_whitespace().nth(1).expect("INDEX ADDR");
    let rate = |text: &str| cells(text, "r1").first().copied();
    let text = top_until(&folder, &[address], |text| rate(text) > Some(10.0));
    assert!(text.starts_with(&format!("node {address}\n")), "{text}");
    let text = top_until(&folder, &[address, "--form", "prometheus"], |_| true);
    assert!(text.contains("tidemill_rule_fired{name=\"r1\"} "), "{text}");
    child.kill().expect("killed");
    child.wait().expect("ends");
    let none = top(&folder, &["localhost"]);
    assert_eq!(status(&none), 2, "{}", stderr(&none));
}

#[test]
fn of_several_one_must_be_chosen() {
    let folder = Folder::new();
    let graph = folder.file("a.flow", GRAPH);
    let mut children = [start(&folder, &graph, &[]), start(&folder, &graph, &[])];
    for child in &children {
        top_until(&folder, &[&child.id().to_string()], |_| true);
    }
    let output = top(&folder, &[]);
    assert_eq!(status(&output), 1);
    assert!(stderr(&output).contains("several run"), "{}", stderr(&output));
    for child in &mut children {
        child.kill().expect("killed");
        child.wait().expect("ends");
    }
}
