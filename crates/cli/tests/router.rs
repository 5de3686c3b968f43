//! The router of the examples, a program of packet apps and rules: between captures and between
//! hosts.

use std::time::{Duration, Instant};

use crate::common::device::{Namespaces, Running, sh, try_sh};
use crate::common::{Folder, root, skipped, status, stderr, tidemill};
use crate::graphs::text;
use tidemill_support::golden;

fn folder() -> std::path::PathBuf {
    root().join("examples/router")
}

/// Runs files of the example in a folder; returns its notes.
fn run(at: &Folder, files: &[&str], more: &[&str]) -> String {
    let mut command = tidemill();
    command.arg("run").args(files.iter().map(|file| folder().join(file))).args(more);
    let output = command.current_dir(at.path()).output().expect("it starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    stderr(&output)
}

/// Both engines route the same frames, errors of ICMP included; `test.out` shows them.
#[test]
fn captures_are_routed() {
    let at = Folder::new();
    run(&at, &["sample.flow"], &[]);
    let mut seen = Vec::new();
    for engine in ["compiled", "dispatch"] {
        let more = ["--listen", "localhost:0", "--engine", engine, "--stats"];
        let notes = run(&at, &["captures.flow", "routes.olg"], &more);
        let mut is = String::new();
        for name in ["to-one", "to-two", "to-three"] {
            let frames = text(&at.path().join(format!("{name}.pcap")));
            is += &format!("{name}.pcap\n{frames}\n");
        }
        let apps = notes.lines().filter(|line| line.starts_with("app "));
        apps.filter(|line| !line.ends_with(" 0")).for_each(|line| is += &format!("{line}\n"));
        seen.push(is);
    }
    assert_eq!(seen[0], seen[1], "the engines differ");
    golden::check(&root().join("examples/router/test.out"), &seen[0]);
}

/// Three hosts, each on a network of its own, reach each other and the router through it.
#[test]
fn three_networks_are_joined() {
    let names: Vec<String> =
        ["a", "b", "c"].map(|end| format!("tmr{}{end}", std::process::id() % 100_000)).to_vec();
    let mut command = tidemill();
    command.arg("run").arg(folder()).args(["--stats", "--listen", "localhost:0"]);
    for (key, name) in ["A", "B", "C"].iter().zip(&names) {
        command.args(["-D", &format!("{key}=\"{name}\"")]);
    }
    let mut running = Running::of(command);
    if let Err(why) = running.wait_for(&names[2]) {
        return skipped("network namespaces", &why);
    }
    let addresses = ["10.1.0.2/24", "10.2.0.2/24", "10.3.0.2/24"];
    let _namespaces = match Namespaces::new(names.iter().zip(addresses)) {
        Ok(namespaces) => namespaces,
        Err(why) => return skipped("network namespaces", &why),
    };
    for (number, name) in (1..).zip(&names) {
        sh(&format!("ip -n {name} route add default via 10.{number}.0.1"));
    }
    // A system may have no IPv6.
    let has_6 = (1..).zip(&names).all(|(number, name)| {
        let inside = format!("ip netns exec {name} bash -c");
        let address = format!("ip -n {name} address add fd00:{number}::2/64 dev {name} nodad");
        let route = format!("ip -n {name} -6 route add default via fd00:{number}::1");
        let on = "'echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6'";
        try_sh(&format!("{inside} {on} && {address} && {route}")).is_ok()
    });
    if !has_6 {
        skipped("IPv6 through the router", "the system has none");
    }
    for (from, name) in (1..).zip(&names) {
        for to in (1..=3).filter(|to| *to != from) {
            refused(name, &format!("10.{to}.0.2"));
            if has_6 {
                refused(name, &format!("fd00:{to}::2"));
            }
        }
        refused(name, &format!("10.{from}.0.1"));
        if has_6 {
            refused(name, &format!("fd00:{from}::1"));
        }
    }
    let err = running.end();
    for app in ["one", "two", "three"] {
        assert!(err.contains(&format!("app {app}: answered ")), "{err}");
    }
    // Each host has heard one of the router.
    assert!(err.contains("app router: failed ") && !err.contains("app router: failed 0"), "{err}");
}

/// A host hears that a UDP port has no listener: its packets arrive, and errors return.
pub fn refused(host: &str, address: &str) {
    // The error of a datagram is that of a later one.
    let talk = format!(
        "exec 3<>/dev/udp/{address}/9; for i in 1 2 3 4 5 6; do echo $i >&3 || exit 1; \
         sleep 0.05; done"
    );
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match try_sh(&format!("ip netns exec {host} bash -c '{talk}'")) {
            Err(heard) if heard.contains("Connection refused") => return,
            heard => assert!(Instant::now() < end, "{host} to {address}: {heard:?}"),
        }
    }
}
