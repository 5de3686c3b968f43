//! The firewall of the examples, a program of packet apps and rules: between captures and between
//! hosts.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::common::device::{Namespaces, Running, enable_ipv6, sh, try_sh};
use crate::common::example::{Captures, Host, joined, notes, start};
use crate::common::node::{free_addresses, wait_until};
use crate::common::{Folder, skipped, status, stderr, tidemill};
use crate::router::refused;

/// Both engines pass the same frames, and drop the others for the same reasons; `test.out` shows
/// them.
#[test]
fn captures_are_filtered() {
    let at = Folder::new();
    notes("run", "firewall", &at, &["sample.flow"], &[]);
    let captures = Captures {
        example: "firewall",
        files: &["captures.flow", "policy.olg"],
        options: &["-D", "RATE=1", "-D", "BURST=4"],
        written: &["to-inside", "to-outside"],
        counters: "app ",
    };
    captures.compare(&at);
}

/// A host: a server of bytes over TCP, one that sends datagrams back, and the clients of both. The
/// bytes come in `parts` of 1000, with a pause between them.
const HOST: &str = r#"
import socket, sys, threading, time
what, numbers = sys.argv[1], [float(word) for word in sys.argv[3:]]
if what == "serve":
    has_6 = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if has_6 else socket.AF_INET
    def give(connection):
        connection.recv(1)
        for _ in range(int(numbers[1])):
            connection.sendall(bytes(1000))
            time.sleep(numbers[2])
        connection.close()
    address = ("", int(sys.argv[2]))
    datagrams = socket.socket(family, socket.SOCK_DGRAM)
    datagrams.bind(address)
    def echo():
        while True:
            data, sender = datagrams.recvfrom(65536)
            datagrams.sendto(data, sender)
    threading.Thread(target=echo, daemon=True).start()
    server = socket.create_server(address, family=family, dualstack_ipv6=has_6)
    print("ready", flush=True)
    while True:
        threading.Thread(target=give, args=(server.accept()[0],), daemon=True).start()
elif what == "get":
    connection = socket.create_connection((sys.argv[2], int(numbers[0])), timeout=numbers[1])
    connection.sendall(b"x")
    total = 0
    while data := connection.recv(65536):
        if total == 0:
            print("first", flush=True)
        total += len(data)
    print(total)
elif what == "ask":
    kind = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
    asker = socket.socket(kind, socket.SOCK_DGRAM)
    asker.settimeout(numbers[1])
    # The first may be lost for lack of a neighbour.
    for _ in range(3):
        asker.sendto(bytes(4000), (sys.argv[2], int(numbers[0])))
        try:
            sys.exit(len(asker.recv(65536)) != 4000)
        except socket.timeout:
            pass
    sys.exit("no answer")
"#;

/// Two hosts with the firewall between them; the one outside has other addresses too, which stand
/// for the rest of the world.
struct Lab {
    inside: String,
    outside: String,
    has_6: bool,
    at: Folder,
    listen: String,
    firewall: Option<Running>,
    servers: Vec<Child>,
    _namespaces: Namespaces,
}

impl Lab {
    /// `None` if there can be none here.
    fn new(name: &str) -> Option<Lab> {
        if try_sh("python3 -c pass").is_err() {
            skipped("hosts at a firewall", "there is no python3");
            return None;
        }
        let [inside, outside] =
            ["i", "o"].map(|end| format!("tm{name}{}{end}", std::process::id() % 100_000));
        let listen = free_addresses(1).remove(0);
        let (firewall, namespaces) = match joined("firewall", &listen, &hosts(&inside, &outside)) {
            Ok(both) => both,
            Err(why) => {
                skipped("network namespaces", &why);
                return None;
            }
        };
        sh(&format!("ip -n {outside} address add 198.51.100.80/32 dev lo"));
        let has_6 = [&inside, &outside].into_iter().all(|host| enable_ipv6(host).is_ok());
        if has_6 {
            sh(&format!("ip -n {outside} address add 2001:db8::80/128 dev lo nodad"));
        } else {
            skipped("IPv6 through the firewall", "the system has none");
        }
        let at = Folder::new();
        at.file("host.py", HOST);
        let mut lab = Lab {
            inside,
            outside,
            has_6,
            at,
            listen,
            firewall: Some(firewall),
            servers: Vec::new(),
            _namespaces: namespaces,
        };
        lab.route();
        // What is there to be reached, inside and outside.
        lab.serve(&lab.outside.clone(), 8000, 2000, "0");
        lab.serve(&lab.outside.clone(), 8001, 400, "0.02");
        lab.serve(&lab.inside.clone(), 80, 2000, "0");
        lab.serve(&lab.inside.clone(), 81, 2000, "0");
        Some(lab)
    }

    /// Gives the devices their routes and addresses of IPv6.
    fn route(&self) {
        let (inside, outside) = (&self.inside, &self.outside);
        sh(&format!("ip -n {inside} route add default via 10.7.0.1"));
        if self.has_6 {
            sh(&format!("ip -n {inside} address add fd00:7::2/64 dev {inside} nodad"));
            sh(&format!("ip -n {outside} address add fd00:7::1/64 dev {outside} nodad"));
            sh(&format!("ip -n {inside} -6 route add default via fd00:7::1"));
        }
    }

    /// Runs the firewall again, on devices that it makes anew.
    fn restart(&mut self) {
        let hosts = hosts(&self.inside, &self.outside);
        let firewall = start("firewall", &self.listen, &hosts);
        self.firewall = Some(firewall.expect("it can be run, as before"));
        for Host { device: host, address, .. } in hosts {
            sh(&format!("ip link set {host} netns {host}"));
            sh(&format!("ip -n {host} address add {address} dev {host}"));
            sh(&format!("ip -n {host} link set {host} up"));
        }
        self.route();
    }

    fn host(&self, host: &str, arguments: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", host, "python3", "host.py"]);
        command.args(arguments.split_whitespace()).current_dir(self.at.path());
        command
    }

    /// Serves so many parts, with a pause of so many seconds after each.
    fn serve(&mut self, host: &str, port: u16, parts: u32, pause: &str) {
        let mut command = self.host(host, &format!("serve {port} 0 {parts} {pause}"));
        let mut server = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let output = server.stdout.take().expect("piped");
        self.servers.push(server);
        await_line(output, "ready");
    }

    /// Whether all bytes that a server has come within seconds of each other.
    fn gets(&self, host: &str, from: &str, port: u16, parts: u32) -> bool {
        let output = self.host(host, &format!("get {from} {port} 2")).output().expect("it starts");
        let seen = String::from_utf8_lossy(&output.stdout).into_owned();
        let is_all = seen == format!("first\n{}\n", parts * 1000);
        assert_eq!(output.status.success(), is_all, "{seen} {}", stderr(&output));
        is_all
    }

    /// Begins a transfer that takes seconds; it gives up after so many without a byte.
    fn begin(&self, patience: u32) -> (Child, BufReader<std::process::ChildStdout>) {
        let mut command = self.host(&self.inside, &format!("get 198.51.100.80 8001 {patience}"));
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut transfer = command.spawn().expect("it starts");
        let output = transfer.stdout.take().expect("piped");
        (transfer, await_line(output, "first"))
    }

    /// What the policy says holds: from inside everything opens, from outside what is open.
    fn check(&self) {
        let (inside, outside) = (&self.inside, &self.outside);
        // The addresses and ports may be new to their neighbours.
        wait_until("a host outside is reached", || self.gets(inside, "10.7.0.1", 8000, 2000));
        assert!(self.gets(inside, "198.51.100.80", 8000, 2000));
        assert!(self.gets(outside, "10.7.0.2", 80, 2000));
        assert!(!self.gets(outside, "10.7.0.2", 81, 2000));
        if self.has_6 {
            wait_until("a host outside is reached", || self.gets(inside, "fd00:7::1", 8000, 2000));
            assert!(self.gets(inside, "2001:db8::80", 8000, 2000));
            assert!(self.gets(outside, "fd00:7::2", 80, 2000));
            assert!(!self.gets(outside, "fd00:7::2", 81, 2000));
        }
    }

    fn tool(&self, name: &str, file: &str) {
        let mut command = tidemill();
        let command = command.args([name, &self.listen, file]).current_dir(self.at.path());
        let output = command.output().expect("it starts");
        assert_eq!(status(&output), 0, "{name}: {}", stderr(&output));
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        for server in &mut self.servers {
            // It may have ended.
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}

/// The hosts on the devices of the firewall.
fn hosts<'a>(inside: &'a String, outside: &'a String) -> [Host<'a>; 2] {
    [
        Host { key: "INSIDE", device: inside, address: "10.7.0.2/24" },
        Host { key: "OUTSIDE", device: outside, address: "10.7.0.1/24" },
    ]
}

/// Waits for a line; the rest can be read.
fn await_line(
    output: std::process::ChildStdout,
    line: &str,
) -> BufReader<std::process::ChildStdout> {
    let mut reader = BufReader::new(output);
    let mut is = String::new();
    reader.read_line(&mut is).expect("readable");
    assert_eq!(is.trim_end(), line);
    reader
}

/// A counter of an app in its notes at the end; those of drops are there once something is dropped.
fn counter(notes: &str, name: &str) -> u64 {
    let line = notes.lines().find_map(|line| line.strip_prefix(&format!("app {name} ")));
    line.map_or(0, |number| number.parse().expect("a number"))
}

/// Connections pass in the directions of the policy, datagrams in fragments and errors as well; a
/// network that is cut off meanwhile loses the connection that it has, until it is let in again.
#[test]
fn a_policy_holds_between_hosts() {
    let Some(mut lab) = Lab::new("fw") else { return };
    lab.check();
    // Datagrams come back from the address of the device.
    let mut addresses = vec!["10.7.0.1"];
    addresses.extend(lab.has_6.then_some("fd00:7::1"));
    for address in addresses {
        let asked = lab.host(&lab.inside, &format!("ask {address} 8000 2")).status();
        assert!(asked.expect("it starts").success(), "fragments with {address}");
        refused(&lab.inside, address);
    }
    let (mut transfer, rest) = lab.begin(20);
    lab.at.file("cut.olg", "block(NODE, f_ip(\"198.51.100.0\"), 24).\n");
    lab.tool("install", "cut.olg");
    assert!(!lab.gets(&lab.inside, "198.51.100.80", 8000, 2000));
    assert!(transfer.try_wait().expect("it can be asked").is_none(), "it was cut off");
    lab.tool("uninstall", "cut.olg");
    assert!(transfer.wait().expect("it ends").success());
    let total = rest.lines().next().expect("a line").expect("readable");
    assert_eq!(total, "400000");
    let notes = lab.firewall.take().expect("it runs").end();
    // Not only those of the connection that could not be opened: the server has repeated itself.
    assert!(counter(&notes, "policy: drop_blocked") > 3, "{notes}");
    assert!(counter(&notes, "connections: drop_no_state") > 0, "{notes}");
    assert_eq!(counter(&notes, "connections: drop_invalid"), 0, "{notes}");
    assert_eq!(counter(&notes, "connections: drop_not_syn"), 0, "{notes}");
    for app in ["inside", "outside"] {
        assert!(counter(&notes, &format!("{app}: completed")) > 0, "{notes}");
        assert!(counter(&notes, &format!("to_{app}: cut")) > 0, "{notes}");
    }
    if lab.has_6 {
        assert!(counter(&notes, "connections6: drop_no_state") > 0, "{notes}");
        assert!(counter(&notes, "connections6: fragments_inserted") > 1, "{notes}");
        assert!(counter(&notes, "connections6: related") > 0, "{notes}");
    }
}

/// A firewall that is killed knows no connection when it runs again, and its policy.
#[test]
fn a_killed_firewall_has_its_policy_again() {
    let Some(mut lab) = Lab::new("fk") else { return };
    let (mut transfer, _rest) = lab.begin(4);
    std::thread::sleep(Duration::from_millis(500));
    // Dropping it kills it, and its devices go.
    lab.firewall = None;
    lab.restart();
    lab.check();
    assert!(!transfer.wait().expect("it ends").success(), "its connection was known");
    let notes = lab.firewall.take().expect("it runs").end();
    assert!(counter(&notes, "connections: drop_no_state") > 1, "{notes}");
    assert_eq!(counter(&notes, "connections: opening_entries"), 0, "{notes}");
}
