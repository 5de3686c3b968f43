//! Examples whose packet apps are in their own files: between captures, and between hosts.

use std::path::PathBuf;

use tidemill_support::golden;

use super::device::{Namespaces, Running};
use super::{Folder, root, status, stderr, tidemill};
use crate::graphs::text;

/// A file of an example, or its folder for an empty name.
pub fn file(example: &str, name: &str) -> PathBuf {
    root().join("examples").join(example).join(name)
}

/// Runs a verb with files of an example in a folder; returns its notes.
pub fn notes(verb: &str, example: &str, at: &Folder, files: &[&str], more: &[&str]) -> String {
    let mut command = tidemill();
    command.arg(verb).args(files.iter().map(|name| file(example, name))).args(more);
    let output = command.current_dir(at.path()).output().expect("it starts");
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    stderr(&output)
}

/// An example between captures.
pub struct Captures<'a> {
    pub example: &'a str,
    pub files: &'a [&'a str],
    pub options: &'a [&'a str],
    /// The names of the captures that it writes.
    pub written: &'a [&'a str],
    /// The begin of lines of `--stats` that are compared.
    pub counters: &'a str,
}

impl Captures<'_> {
    /// Both engines write the same frames of the captures in a folder, and count the same;
    /// `test.out` of the example shows them.
    pub fn compare(&self, at: &Folder) {
        let mut seen = Vec::new();
        for engine in ["compiled", "dispatch"] {
            let more = ["--listen", "localhost:0", "--engine", engine, "--stats"];
            let more = [&more[..], self.options].concat();
            let notes = notes("run", self.example, at, self.files, &more);
            let mut is = String::new();
            for name in self.written {
                let frames = text(&at.path().join(format!("{name}.pcap")));
                is += &format!("{name}.pcap\n{frames}\n");
            }
            let counters = notes.lines().filter(|line| line.starts_with(self.counters));
            counters
                .filter(|line| !line.ends_with(" 0"))
                .for_each(|line| is += &format!("{line}\n"));
            seen.push(is);
        }
        assert_eq!(seen[0], seen[1], "the engines differ");
        golden::check(&file(self.example, "test.out"), &seen[0]);
    }
}

/// A host on a device that an example makes.
pub struct Host<'a> {
    /// The definition that names the device.
    pub key: &'a str,
    pub device: &'a String,
    pub address: &'a str,
}

/// Runs an example whose control address this is, until it has made its devices.
///
/// # Errors
/// The reason why there can be none here.
pub fn start(example: &str, listen: &str, hosts: &[Host<'_>]) -> Result<Running, String> {
    let mut command = tidemill();
    command.arg("run").arg(file(example, "")).args(["--stats", "--listen", listen]);
    for Host { key, device, .. } in hosts {
        command.args(["-D", &format!("{key}=\"{device}\"")]);
    }
    let mut running = Running::of(command);
    for host in hosts {
        running.wait_for(host.device)?;
    }
    Ok(running)
}

/// As [`start`], with the hosts on their devices.
///
/// # Errors
/// As for [`start`].
pub fn joined(
    example: &str,
    listen: &str,
    hosts: &[Host<'_>],
) -> Result<(Running, Namespaces), String> {
    let running = start(example, listen, hosts)?;
    let namespaces = Namespaces::new(hosts.iter().map(|host| (host.device, host.address)))?;
    Ok((running, namespaces))
}
