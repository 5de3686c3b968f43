//! The tunnel endpoint of the examples: between captures, and beside endpoints of the kernel.

use std::process::Command;

use crate::common::device::{Namespaces, Running, enable_ipv6, sh, try_sh};
use crate::common::example::{Captures, file, notes};
use crate::common::node::{free_addresses, wait_until};
use crate::common::{Folder, run, skipped, status, stderr, stdout, tidemill};

/// Both engines put the same frames into tunnels, and take the same out; `test.out` shows them, and
/// why others are dropped.
#[test]
fn captures_pass_tunnels() {
    let at = Folder::new();
    // In a simulation, as the times of frames are exact.
    notes("sim", "overlay", &at, &["sample.flow"], &[]);
    let captures = Captures {
        example: "overlay",
        files: &["captures.flow", "endpoints.olg", "remotes.olg"],
        options: &[],
        written: &["to-underlay", "to-bridged", "to-routed"],
        counters: "app ",
    };
    captures.compare(&at);
    dissect(&at);
}

/// What is sent is VXLAN and GRE to tshark too, and no checksum is wrong.
fn dissect(at: &Folder) {
    let count = |filter: &str| {
        let mut command = Command::new("tshark");
        command.args(["-r", "to-underlay.pcap", "-Y", filter]).current_dir(at.path());
        command.args(["-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE"]);
        command.output().map(|output| stdout(&output).lines().count())
    };
    let Ok(all) = count("frame") else {
        return skipped("tunnels", "there is no tshark");
    };
    let is = |filter: &str, frames: usize| assert_eq!(count(filter).ok(), Some(frames), "{filter}");
    assert_eq!(all, 22);
    is("vxlan.vni == 42 and vxlan.flag_i == 1 and ip.flags.df == 1 and udp.checksum == 0", 10);
    is("gre.key == 7 and gre.proto == 0x0800", 1);
    is("gre.key == 7 and gre.proto == 0x86dd", 1);
    is("gre and not gre.key and ip.flags.df == 1", 3);
    is("_ws.malformed or ip.checksum.status == Bad or udp.checksum.status == Bad", 0);
}

/// An endpoint that runs on devices of its own, and the hosts behind it, in namespaces with the
/// names of the devices.
struct Endpoint {
    running: Running,
    hosts: Namespaces,
    bridged: String,
    routed: String,
    underlay: String,
}

impl Endpoint {
    /// The endpoint 192.0.2.NUMBER of a test, with these facts, and a control address.
    fn start(test: &str, number: u32, facts: &str, listen: &str) -> Result<Endpoint, String> {
        let name = |end| format!("t{test}{}{number}{end}", std::process::id() % 100_000);
        let [bridged, routed, underlay] = ["b", "r", "u"].map(name);
        let mut command = tidemill();
        let files = ["overlay.flow", "endpoints.olg"].map(|name| file("overlay", name));
        command.arg("run").args(files).arg(facts);
        command.args(["--listen", listen, "--stats"]);
        for define in [
            format!("BRIDGED=\"{bridged}\""),
            format!("ROUTED=\"{routed}\""),
            format!("UNDERLAY=\"{underlay}\""),
            format!("ADDRESS=\"192.0.2.{number}\""),
            format!("HARDWARE=\"02:00:00:00:00:0{number}\""),
            format!("LAN=\"10.{number}.0.1\""),
            format!("LAN_6=\"2001:db8:{number}::1\""),
            format!("LAN_HARDWARE=\"02:00:00:00:0{number}:fe\""),
        ] {
            command.args(["-D", &define]);
        }
        let mut running = Running::of(command);
        for device in [&bridged, &routed, &underlay] {
            running.wait_for(device)?;
        }
        let addresses = [format!("10.0.0.{number}/24"), format!("10.{number}.0.2/24")];
        let [bridged_address, routed_address] = addresses.each_ref().map(String::as_str);
        let hosts = [(&bridged, bridged_address), (&routed, routed_address)];
        let hosts = Namespaces::new(hosts)?;
        // What the headers leave of 1500 bytes.
        sh(&format!("ip -n {bridged} link set {bridged} mtu 1450"));
        sh(&format!("ip -n {routed} link set {routed} mtu 1472"));
        sh(&format!("ip -n {routed} route add default via 10.{number}.0.1"));
        Ok(Endpoint { running, hosts, bridged, routed, underlay })
    }

    /// Gives the host of the routed network an address of IPv6, if the system has it.
    fn add_v6(&self, number: u32) -> Result<String, String> {
        let routed = &self.routed;
        let address = format!("address add 2001:db8:{number}::2/64 dev {routed} nodad");
        let route = format!("-6 route add default via 2001:db8:{number}::1");
        enable_ipv6(routed)?;
        try_sh(&format!("ip -n {routed} {address} && ip -n {routed} {route}"))
    }

    /// Ends it as a crash does; its devices are gone.
    fn kill(self) {
        drop(self.running);
        drop(self.hosts);
    }
}

/// A namespace whose bridge is the underlay of endpoints; its kernel is the endpoint 192.0.2.2.
struct Underlay {
    name: String,
    _namespace: Namespaces,
}

impl Underlay {
    /// Between the devices of endpoints.
    fn new(endpoints: [&Endpoint; 2]) -> Result<Underlay, String> {
        let [first, second] = endpoints;
        let name = first.underlay.clone();
        let namespace = Namespaces::new([(&name, "192.0.2.2/24")])?;
        try_sh(&format!("ip -n {name} link add br0 type bridge"))?;
        sh(&format!("ip -n {name} address flush dev {name}"));
        sh(&format!("ip -n {name} address add 192.0.2.2/24 dev br0"));
        sh(&format!("ip -n {name} link set {name} master br0"));
        sh(&format!("ip -n {name} link set br0 up"));
        let underlay = Underlay { name, _namespace: namespace };
        underlay.add(second);
        Ok(underlay)
    }

    fn add(&self, endpoint: &Endpoint) {
        let (name, device) = (&self.name, &endpoint.underlay);
        sh(&format!("ip link set {device} netns {name}"));
        sh(&format!("ip -n {name} link set {device} master br0 up"));
    }
}

/// Whether a host hears that a port of another one has no listener: datagrams of this many bytes
/// arrive, and errors return.
fn reaches(host: &str, address: &str, bytes: u32) -> bool {
    let talk = format!(
        "exec 3<>/dev/udp/{address}/9; for i in 1 2 3 4 5 6; do \
         head -c {bytes} /dev/zero >&3 || exit 1; sleep 0.05; done"
    );
    let heard = try_sh(&format!("ip netns exec {host} bash -c '{talk}'"));
    heard.is_err_and(|error| error.contains("Connection refused"))
}

/// Hosts reach each other both ways, with datagrams that are small, and as large as can be.
fn reach_each_other(one: (&str, &str), other: (&str, &str), mtu: u32) {
    for ((from, _), (_, to)) in [(one, other), (other, one)] {
        let headers = if to.contains(':') { 48 } else { 28 };
        for bytes in [1, mtu - headers] {
            wait_until(&format!("{from} reaches {to} with {bytes}"), || reaches(from, to, bytes));
        }
    }
}

/// The endpoints 1 and 3 of a test, with these facts and control addresses, in one underlay.
fn joined(
    test: &str,
    [first, third]: [&str; 2],
    listen: &[String],
) -> Result<(Endpoint, Endpoint, Underlay), String> {
    let one = Endpoint::start(test, 1, first, &listen[0])?;
    let three = Endpoint::start(test, 3, third, &listen[1])?;
    let underlay = Underlay::new([&one, &three])?;
    Ok((one, three, underlay))
}

/// A VXLAN of two endpoints and the kernel's, which the first one knows for as long as there is a
/// fact.
#[test]
fn a_vxlan_with_the_kernel() {
    let at = Folder::new();
    let first = "remote(NODE, f_ip(\"192.0.2.3\")).\n";
    let third = "remote(NODE, f_ip(\"192.0.2.1\")).\nremote(NODE, f_ip(\"192.0.2.2\")).\n";
    let net = "underlay_route(NODE, f_ip(\"192.0.2.0\"), 24, f_ip(\"0.0.0.0\")).\n";
    let first = at.file("first.olg", &format!("{net}{first}"));
    let third = at.file("third.olg", &format!("{net}{third}"));
    let second = at.file("second.olg", "remote(NODE, f_ip(\"192.0.2.2\")).\n");
    let listen = free_addresses(2);
    let (one, three, underlay) = match joined("v", [&first, &third], &listen) {
        Ok(joined) => joined,
        Err(why) => return skipped("network namespaces", &why),
    };
    let host_1 = (one.bridged.as_str(), "10.0.0.1");
    let host_3 = (three.bridged.as_str(), "10.0.0.3");
    reach_each_other(host_1, host_3, 1450);

    let kernel = underlay.name.as_str();
    let device = "vx type vxlan id 42 local 192.0.2.2 dstport 4789";
    if let Err(why) = try_sh(&format!("ip -n {kernel} link add {device}")) {
        return skipped("VXLAN of the kernel", &why);
    }
    for remote in ["192.0.2.1", "192.0.2.3"] {
        sh(&format!("bridge -n {kernel} fdb append 00:00:00:00:00:00 dev vx dst {remote}"));
    }
    sh(&format!("ip -n {kernel} address add 10.0.0.2/24 dev vx"));
    sh(&format!("ip -n {kernel} link set vx up mtu 1450"));
    let host_2 = (kernel, "10.0.0.2");
    reach_each_other(host_2, host_3, 1450);

    // The first endpoint does not know the kernel's until it is told, and again after it is not.
    let knows = |what: bool| {
        wait_until("it knows the endpoint", || {
            let rows = stdout(&run(&format!("query {} vtep::flooded", listen[0])));
            rows.contains(r"\xc0\x00\x02\x02") == what
        });
    };
    assert!(!reaches(host_1.0, host_2.1, 1), "an endpoint that is none of the VNI is used");
    for _ in 0..2 {
        let output = run(&format!("install {} {second}", listen[0]));
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        knows(true);
        reach_each_other(host_1, host_2, 1450);
        let output = run(&format!("uninstall {} second.olg", listen[0]));
        assert_eq!(status(&output), 0, "{}", stderr(&output));
        knows(false);
        assert!(!reaches(host_1.0, host_2.1, 1), "an endpoint that is gone is used");
        assert!(!reaches(host_2.0, host_1.1, 1), "an endpoint that is gone is heard");
    }
    reach_each_other(host_1, host_3, 1450);
    let notes = one.running.end();
    assert!(notes.contains("app underlay: drop_unknown_endpoint "), "{notes}");
    assert!(!notes.contains("app underlay: drop_unknown_endpoint 0"), "{notes}");
}

/// Two endpoints join their networks by GRE with a key, and the kernel, if it has GRE, a third one.
/// One of them is killed and comes back.
#[test]
fn gre_joins_networks() {
    let at = Folder::new();
    let facts = |own: u32, other: u32| {
        let facts = format!(
            r#"
#define OTHER f_ip("192.0.2.{other}")
#define KERNEL f_ip("192.0.2.2")
underlay_route(NODE, f_ip("192.0.2.0"), 24, f_ip("0.0.0.0")).
local(NODE, f_ip("10.{own}.0.0"), 24, f_ip("0.0.0.0")).
local6(NODE, f_ip("2001:db8:{own}::"), 64).
tunnel(NODE, OTHER, true, 7).
tunnel(NODE, KERNEL, true, 8).
behind(NODE, f_ip("10.{other}.0.0"), 16, 1, OTHER, true, 7).
behind6(NODE, f_ip("2001:db8:{other}::"), 64, 1, OTHER, true, 7).
behind(NODE, f_ip("10.2.0.0"), 16, 1, KERNEL, true, 8).
"#
        );
        at.file(&format!("facts-{own}.olg"), &facts)
    };
    let (first, third) = (facts(1, 3), facts(3, 1));
    let listen = free_addresses(2);
    let (one, three, underlay) = match joined("g", [&first, &third], &listen) {
        Ok(joined) => joined,
        Err(why) => return skipped("network namespaces", &why),
    };
    let (host_1, host_3) = (one.routed.clone(), three.routed.clone());
    let has_6 = one.add_v6(1).and_then(|_| three.add_v6(3));
    if let Err(why) = &has_6 {
        skipped("IPv6 through GRE", why);
    }
    let both_reach = || {
        reach_each_other((&host_1, "10.1.0.2"), (&host_3, "10.3.0.2"), 1472);
        if has_6.is_ok() {
            reach_each_other((&host_1, "2001:db8:1::2"), (&host_3, "2001:db8:3::2"), 1472);
        }
    };
    both_reach();

    let kernel = underlay.name.as_str();
    let device = "tunnel type gre local 192.0.2.2 remote 192.0.2.1 key 8";
    match try_sh(&format!("ip -n {kernel} link add {device}")) {
        Ok(_) => {
            sh(&format!("ip -n {kernel} address add 10.2.0.2/32 dev tunnel"));
            sh(&format!("ip -n {kernel} link set tunnel up mtu 1472"));
            sh(&format!("ip -n {kernel} route add 10.1.0.0/24 dev tunnel src 10.2.0.2"));
            reach_each_other((&host_1, "10.1.0.2"), (kernel, "10.2.0.2"), 1472);
        }
        Err(why) => skipped("GRE of the kernel", &why),
    }

    // Without its endpoint the network has no way.
    three.kill();
    wait_until("the way is gone", || {
        let rows = stdout(&run(&format!("query {} gre::routes", listen[0])));
        !rows.contains(r"\x0a\x03\x00\x00")
    });
    let three = Endpoint::start("g", 3, &third, &listen[1]).expect("it starts again");
    underlay.add(&three);
    if has_6.is_ok() {
        three.add_v6(3).expect("as before");
    }
    both_reach();
    let notes = one.running.end();
    assert!(notes.contains("app gre: drop_no_route "), "{notes}");
}
