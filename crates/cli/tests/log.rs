//! Filters of `--log`: levels, topics, files, places.

use crate::common;

use crate::common::{Folder, PING, run, status, stderr};

/// The lines on standard error with this prefix.
fn lines(output: &std::process::Output, beginning: &str) -> Vec<String> {
    let text = stderr(output);
    text.lines().filter(|line| line.starts_with(beginning)).map(str::to_owned).collect()
}

fn sim(options: &str) -> std::process::Output {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let output = run(&format!("sim {file} --nodes 2 --for 3.5 {options}"));
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    output
}

const LEVELS: [&str; 5] = ["error ", "warn ", "info ", "debug ", "trace "];

#[test]
fn a_healthy_program_is_silent() {
    let output = sim("");
    assert!(LEVELS.iter().all(|level| lines(&output, level).is_empty()), "{}", stderr(&output));
}

#[test]
fn topics_have_levels_of_their_own() {
    let output = sim("--log net=debug,node=trace");
    assert_eq!(lines(&output, "info  node: n0:1: starts with 1 tuples").len(), 1);
    assert_eq!(lines(&output, "debug net: n1:1 is a new peer").len(), 1);
    assert!(!lines(&output, "trace node: n1:1: commits 1 changes, 0 sends").is_empty());
    assert!(!lines(&output, "trace node: n1:1: commits 0 changes, 1 sends").is_empty());
    assert!(lines(&output, "trace net").is_empty());
    assert!(lines(&output, "debug plan").is_empty());
}

#[test]
fn files_are_stronger_than_topics_and_places_are_shown() {
    let output = sim("--log off,net=debug,file:fleet/arrive.rs=trace,place");
    let place = "trace net crates/overlog/src/fleet/arrive.rs:";
    // Three pings and three answers.
    assert_eq!(lines(&output, place).len(), 6, "{}", stderr(&output));
    assert_eq!(lines(&output, "debug net crates/fabric/src/endpoint.rs:").len(), 2);
    assert!(lines(&output, "debug plan").is_empty());
}

#[test]
fn each_v_logs_more_and_q_nothing() {
    let counts = ["-q", "", "-v", "-vv", "-vvv"].map(|options| {
        let output = sim(options);
        LEVELS.iter().map(|level| lines(&output, level).len()).sum::<usize>()
    });
    assert!(counts.is_sorted() && counts[1] == 0, "{counts:?}");
    assert!(0 < counts[2] && counts[2] < counts[3] && counts[3] < counts[4], "{counts:?}");
}

#[test]
fn drops_are_logged_with_reasons() {
    let folder = Folder::new();
    let file = folder.file("ping.olg", PING);
    let mut child = common::tidemill()
        .args(["run", &file, "--nodes", "1", "--for", "1", "--log", "net=debug"])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("starts");
    let mut notes = std::io::BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut notes, &mut line).expect("a line");
    let address = line.trim_end().strip_prefix("0 localhost:").expect(&line).to_owned();
    let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.send_to(b"no envelope", format!("127.0.0.1:{address}")).expect("sent");
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut notes, &mut rest).expect("text");
    child.wait().expect("ends");
    let from = socket.local_addr().expect("bound");
    let expected = format!(": dropped of 11 bytes from {from}: malformed\n");
    assert!(rest.contains(&expected), "{rest}");
}

/// A run that ends some time after its captures reports work that is left: a component that does
/// not end after `End` has some, and one that only waits has none.
#[test]
fn a_run_that_ends_after_its_captures_reports_work_that_is_left() {
    let folder = Folder::new();
    let capture = folder.capture("one.pcap", 1_700_000_000_000_000_000, &[7; 60]);
    let graph = format!("src :: PcapReader {{ file: {capture:?} }}\nend :: Sink\nsrc -> end");
    let graph = folder.file("one.flow", &graph);
    let waits = folder.file(
        "waits.com",
        "COMPONENT Main REQUIRES SystemTime;
         BEGIN WHILE TRUE DO SystemTime!Wait(1000); SystemTime?Passed END END Main;",
    );
    let stays = folder.file(
        "stays.com",
        "INTERFACE Rules; { IN Next ( OUT tick(change: CHARACTER) | OUT End ) } END Rules;
         COMPONENT Main REQUIRES Rules, SystemTime; VARIABLE change: CHARACTER;
         BEGIN
           Rules!Next; WHILE ~Rules?End DO Rules?tick(change); Rules!Next END; Rules?End;
           SystemTime!Wait(60000); SystemTime?Passed
         END Main;",
    );
    let rules = folder.file("tick.olg", "t1 tick(@N) :- periodic(@N, E, 1).");
    let alone = format!("run {graph} {waits} --log fleet=warn");
    let beside = format!("run {graph} {stays} {rules} --listen localhost:0 --log fleet=warn");
    for (command, warnings) in [(alone, 0), (beside, 1)] {
        let output = run(&command);
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        let found = lines(&output, "warn  fleet: ends with work left");
        assert_eq!(found.len(), warnings, "{command}: {}", stderr(&output));
    }
}
