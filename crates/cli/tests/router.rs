//! The router of the examples, a program of packet apps and rules: between captures and between
//! hosts.

use std::time::{Duration, Instant};

use crate::common::device::{enable_ipv6, sh, try_sh};
use crate::common::example::{Captures, Host, joined, notes};
use crate::common::{Folder, skipped};

/// Both engines route the same frames, errors of ICMP included; `test.out` shows them.
#[test]
fn captures_are_routed() {
    let at = Folder::new();
    notes("run", "router", &at, &["sample.flow"], &[]);
    let captures = Captures {
        example: "router",
        files: &["captures.flow", "routes.olg"],
        options: &[],
        written: &["to-one", "to-two", "to-three"],
        counters: "app ",
    };
    captures.compare(&at);
}

/// Three hosts, each on a network of its own, reach each other and the router through it.
#[test]
fn three_networks_are_joined() {
    let names = ["a", "b", "c"].map(|end| format!("tmr{}{end}", std::process::id() % 100_000));
    let [a, b, c] = &names;
    let hosts = [
        Host { key: "A", device: a, address: "10.1.0.2/24" },
        Host { key: "B", device: b, address: "10.2.0.2/24" },
        Host { key: "C", device: c, address: "10.3.0.2/24" },
    ];
    let (running, _namespaces) = match joined("router", "localhost:0", &hosts) {
        Ok(joined) => joined,
        Err(why) => return skipped("network namespaces", &why),
    };
    for (number, name) in (1..).zip(&names) {
        sh(&format!("ip -n {name} route add default via 10.{number}.0.1"));
    }
    // A system may have no IPv6.
    let has_6 = (1..).zip(&names).all(|(number, name)| {
        let address = format!("ip -n {name} address add fd00:{number}::2/64 dev {name} nodad");
        let route = format!("ip -n {name} -6 route add default via fd00:{number}::1");
        enable_ipv6(name).is_ok() && try_sh(&format!("{address} && {route}")).is_ok()
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
