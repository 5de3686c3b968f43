//! Graphs on devices that they make, and hosts around them.

use std::fs::File;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::{stderr, tidemill};

/// A graph that runs until it is dropped.
pub struct Running(pub Child);

impl Running {
    /// Runs a graph, with definitions `NAME=VALUE`.
    pub fn start(graph: &Path, defines: &[String]) -> Running {
        let mut command = tidemill();
        command.arg("run").arg(graph).arg("--stats");
        command.args(defines.iter().flat_map(|define| ["-D", define]));
        Running::of(command)
    }

    /// Runs a command.
    pub fn of(mut command: Command) -> Running {
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
        Running(child.expect("it starts"))
    }

    /// Waits for a device; returns the reason if it cannot be made.
    pub fn wait_for(&mut self, device: &str) -> Result<(), String> {
        let end = Instant::now() + Duration::from_secs(20);
        while !Path::new("/sys/class/net").join(device).exists() {
            assert!(Instant::now() < end, "no {device}");
            if self.0.try_wait().expect("it can be asked").is_some() {
                return Err(self.notes());
            }
            thread::sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn notes(&mut self) -> String {
        let mut text = String::new();
        let pipe = self.0.stderr.as_mut().expect("piped");
        std::io::Read::read_to_string(pipe, &mut text).expect("readable");
        text
    }

    /// Ends it in order; returns its notes.
    pub fn end(mut self) -> String {
        sh(&format!("kill -INT {}", self.0.id()));
        let err = self.notes();
        self.0.wait().expect("it ends");
        err
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The output of a line of the shell.
///
/// # Errors
/// The line and what it says, if it fails.
pub fn try_sh(line: &str) -> Result<String, String> {
    let output =
        Command::new("bash").args(["-c", line]).output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        Err(format!("{line}: {}", stderr(&output)))
    }
}

/// The output of a line of the shell that must succeed.
pub fn sh(line: &str) -> String {
    try_sh(line).unwrap_or_else(|why| panic!("{why}"))
}

/// Enables IPv6 in a network namespace.
///
/// # Errors
/// The system has none.
pub fn enable_ipv6(namespace: &str) -> Result<String, String> {
    let on = "'echo 0 > /proc/sys/net/ipv6/conf/all/disable_ipv6'";
    try_sh(&format!("ip netns exec {namespace} bash -c {on}"))
}

/// Runs `f` in a network namespace.
pub fn within<T: Send>(namespace: &str, f: impl FnOnce() -> T + Send) -> T {
    let namespace = File::open(format!("/var/run/netns/{namespace}")).expect("it was made");
    let inside = || {
        let network = Some(LinkNameSpaceType::Network);
        move_into_link_name_space(namespace.as_fd(), network).expect("root may");
        f()
    };
    thread::scope(|scope| scope.spawn(inside).join()).expect("it does not panic")
}

/// Network namespaces, each with a device of the same name, removed after the test.
pub struct Namespaces(Vec<String>);

impl Namespaces {
    /// Moves devices into namespaces of their own, with an address each.
    ///
    /// # Errors
    /// The reason why there can be none here.
    pub fn new<'n>(
        devices: impl IntoIterator<Item = (&'n String, &'n str)>,
    ) -> Result<Namespaces, String> {
        let mut namespaces = Namespaces(Vec::new());
        for (name, address) in devices {
            try_sh(&format!("ip netns add {name}"))?;
            namespaces.0.push(name.clone());
            let inside = format!("ip netns exec {name} bash -c");
            sh(&format!("{inside} 'echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6; true'"));
            sh(&format!("ip link set {name} netns {name}"));
            sh(&format!("ip -n {name} address add {address} dev {name}"));
            sh(&format!("ip -n {name} link set lo up"));
            sh(&format!("ip -n {name} link set {name} up"));
        }
        Ok(namespaces)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            let _ = try_sh(&format!("ip netns delete {name}"));
        }
    }
}
