//! Hosts on both sides of a translator of addresses, with programs that others wrote, while packets
//! are lost.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::device::{Namespaces, Running, sh, try_sh};
use crate::common::{Folder, skipped};

/// One of 50 packets is lost in each direction.
const GRAPH: &str = r#"
app Lossy {
    ports { input in; output out; }
    state seen = 0;
    counter lost;
    on packet(in) {
        seen = seen + 1;
        if seen % 50 == 0 { count lost; drop unlucky; }
        send out;
    }
}
inside :: Tap { name: $INSIDE }
outside :: Tap { name: $OUTSIDE }
nat :: Nat44 { address: "192.0.2.1", first_port: 40000, last_port: 40199 }
up :: Lossy
down :: Lossy
inside -> nat.inside
nat.outside -> up -> outside
outside -> down -> nat.outside
nat.inside -> inside
"#;

const CLIENT: &str = "10.9.0.2";
const SERVER: &str = "198.51.100.2";

/// A client inside and a server outside. The translator passes on the addresses of Ethernet, so
/// each knows the other's.
struct Ends {
    running: Running,
    names: [String; 2],
    folder: Folder,
    _namespaces: Namespaces,
}

impl Ends {
    /// With devices whose names begin with this letter.
    fn new(letter: char) -> Result<Ends, String> {
        let number = std::process::id() % 100_000;
        let names = ["i", "o"].map(|end| format!("tm{letter}{number}{end}"));
        let folder = Folder::new();
        let graph = folder.file("nat.flow", GRAPH);
        let [inside, outside] = &names;
        let defines = [format!("INSIDE=\"{inside}\""), format!("OUTSIDE=\"{outside}\"")];
        let mut running = Running::start(graph.as_ref(), &defines);
        names.iter().try_for_each(|name| running.wait_for(name))?;
        let addresses = [format!("{CLIENT}/24"), format!("{SERVER}/24")];
        let devices = names.iter().zip(addresses.iter().map(String::as_str));
        let namespaces = Namespaces::new(devices)?;
        let hardware = |name: &str| {
            sh(&format!("ip -n {name} -o link show {name} | grep -o 'ether [0-9a-f:]*'"))
        };
        for (name, other, address) in [(inside, outside, SERVER), (outside, inside, "192.0.2.1")] {
            let hardware = hardware(other);
            let hardware = hardware.trim().trim_start_matches("ether ");
            sh(&format!("ip -n {name} route add {address}/32 dev {name}"));
            sh(&format!("ip -n {name} neigh add {address} lladdr {hardware} dev {name}"));
        }
        Ok(Ends { running, names, folder, _namespaces: namespaces })
    }

    /// A server outside, which serves until it is dropped.
    fn serve(&self, command: &str) -> Server {
        let mut server = Command::new("ip");
        server.args(["netns", "exec", &self.names[1], "bash", "-c", &format!("exec {command}")]);
        server.current_dir(self.folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
        Server(server.spawn().expect("it starts"))
    }

    /// What a command says inside.
    fn ask(&self, command: &str) -> String {
        sh(&format!(
            "cd {} && ip netns exec {} {command}",
            self.folder.path().display(),
            self.names[0]
        ))
    }
}

/// A counter of an app when it has ended; those of drops that there were none of are absent.
fn count(notes: &str, app: &str, name: &str) -> u64 {
    let begin = format!("app {app}: {name} ");
    let number = notes.lines().find_map(|line| line.strip_prefix(&begin));
    number.map_or(0, |it| it.parse().unwrap_or_else(|_| panic!("no number: {notes}")))
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn has(tool: &str) -> bool {
    try_sh(&format!("command -v {tool}")).is_ok()
}

/// Forty objects over forty connections, eight at a time, and a large one.
#[test]
fn curl_fetches_a_page_through_it() {
    if !has("curl") || !has("python3") {
        return skipped("a page through the translator", "there is no curl, or no python3");
    }
    let ends = match Ends::new('p') {
        Ok(ends) => ends,
        Err(why) => return skipped("network namespaces", &why),
    };
    let object = |at: usize| (0..at * 700).map(|byte| (byte * 31 + at) as u8).collect::<Vec<u8>>();
    let sizes: Vec<usize> = (1..=40).chain([3000]).collect();
    for &at in &sizes {
        std::fs::write(ends.folder.path().join(format!("object{at}")), object(at)).expect("kept");
    }
    let _server = ends.serve(&format!("python3 -m http.server 80 --bind {SERVER}"));
    let urls: String =
        sizes.iter().map(|at| format!(" -o fetched{at} http://{SERVER}/object{at}")).collect();
    ends.ask(&format!(
        "curl --silent --show-error --fail --parallel --parallel-max 8 --max-time 60 --retry 20 \
         --retry-connrefused --retry-delay 1 -H 'Connection: close' {urls}"
    ));
    for &at in &sizes {
        let fetched =
            std::fs::read(ends.folder.path().join(format!("fetched{at}"))).expect("there");
        assert!(fetched == object(at), "object {at}");
    }
    let notes = ends.running.end();
    let count = |app: &str, name: &str| count(&notes, app, name);
    assert!(count("up", "lost") > 0 && count("down", "lost") > 0, "{notes}");
    assert_eq!(count("up", "lost"), count("up", "drop_unlucky"), "{notes}");
    // Each connection had a port.
    assert!(count("nat", "mappings") >= 41, "{notes}");
    assert_eq!(count("nat", "drop_no_port"), 0, "{notes}");
}

/// Streams in both directions, and datagrams, of which those are missing that were dropped.
#[test]
fn iperf_measures_through_it() {
    if !has("iperf3") {
        return skipped("streams through the translator", "there is no iperf3");
    }
    let ends = match Ends::new('q') {
        Ok(ends) => ends,
        Err(why) => return skipped("network namespaces", &why),
    };
    let _server = ends.serve(&format!("iperf3 --server --bind {SERVER}"));
    thread::sleep(Duration::from_millis(300));
    let client = format!("iperf3 --client {SERVER} --json --connect-timeout 5000");
    for direction in ["", "--reverse"] {
        let report = ends.ask(&format!("{client} --bytes 64M --parallel 3 {direction}"));
        let [sent, received] =
            ["\"sum_sent\"", "\"sum_received\""].map(|of| number(&report, of, "bytes"));
        // The report is made while the last of it is on the way.
        assert!(sent >= 64e6 && received >= 0.75 * sent, "{report}");
    }
    let report = ends.ask(&format!("{client} --udp --time 1 --bitrate 4M --length 1000"));
    let (sent, lost) =
        (number(&report, "\"sum\":", "packets"), number(&report, "\"sum\":", "lost_packets"));
    assert!(sent > 300.0 && lost > 0.0 && lost < sent / 20.0, "{report}");
    let notes = ends.running.end();
    assert!(count(&notes, "up", "lost") as f64 >= lost, "{notes}");
    assert_eq!(count(&notes, "nat", "drop_no_port"), 0, "{notes}");
}

/// A number of a report of iperf3: of a key, in the last object of a name.
fn number(report: &str, object: &str, key: &str) -> f64 {
    let from = report.rfind(object).unwrap_or_else(|| panic!("no {object}: {report}"));
    let key = format!("\"{key}\":");
    let value = report[from..].split(&key).nth(1);
    let value = value.and_then(|rest| rest.split([',', '}']).next());
    value.and_then(|it| it.trim().parse().ok()).unwrap_or_else(|| panic!("no {key}: {report}"))
}
