//! Two pairs of devices in three network namespaces, which go with the lab.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use tidemill_pore::packet::xdp::Xdp;

use super::sender::{self, Load};
use crate::tool;

/// The devices: of the sender, the two of the forwarder, of the sink.
pub const FROM: &str = "source";
pub const NEAR: &str = "near";
pub const FAR: &str = "far";
const TO: &str = "sink";

/// When nothing has arrived for this time, nothing will.
const SETTLE: Duration = Duration::from_millis(50);

/// The namespaces.
pub struct Lab {
    id: u32,
}

/// The frames of one load.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub sent: u64,
    pub arrived: u64,
    pub seconds: f64,
}

impl Sent {
    /// Frames sent in a second.
    pub fn rate(&self) -> f64 {
        self.sent as f64 / self.seconds
    }

    /// Frames that did not arrive.
    pub fn lost(&self) -> u64 {
        self.sent.saturating_sub(self.arrived)
    }

    /// The share of frames that did not arrive.
    pub fn loss(&self) -> f64 {
        self.lost() as f64 / self.sent.max(1) as f64
    }
}

fn ip(words: &str) -> Result<String, String> {
    let mut command = Command::new("ip");
    command.args(words.split_whitespace());
    tool::stdout_of(&mut command, "ip").map_err(|error| format!("ip {words}: {error}"))
}

impl Lab {
    /// Makes the devices.
    ///
    /// # Errors
    /// The reason why there can be none here.
    pub fn new() -> Result<Lab, String> {
        let lab = Lab { id: std::process::id() };
        for part in PARTS {
            ip(&format!("netns add {}", lab.space(part)))?;
        }
        let [sender, forwarder, sink] = PARTS.map(|part| lab.space(part));
        ip(&format!(
            "link add {FROM} netns {sender} type veth peer name {NEAR} netns {forwarder}"
        ))?;
        ip(&format!("link add {FAR} netns {forwarder} type veth peer name {TO} netns {sink}"))?;
        let ends = [(&sender, FROM), (&forwarder, NEAR), (&forwarder, FAR), (&sink, TO)];
        for (space, device) in ends {
            // The system sends nothing of its own on it.
            let quiet = format!("/proc/sys/net/ipv6/conf/{device}/disable_ipv6");
            lab.within(space, || drop(std::fs::write(&quiet, "1")))?;
            ip(&format!("-n {space} link set {device} up"))?;
        }
        Ok(lab)
    }

    fn space(&self, part: &str) -> String {
        format!("tmb{}{part}", self.id)
    }

    /// The namespace of the forwarder.
    pub fn forwarder(&self) -> String {
        self.space(PARTS[1])
    }

    /// Runs `work` in a thread of its own within a namespace.
    ///
    /// # Errors
    /// There is no such namespace, or it panics.
    pub fn within<T: Send>(
        &self,
        space: &str,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, String> {
        let inside = || enter(space).map(|()| work());
        let done = thread::scope(|scope| scope.spawn(inside).join());
        done.map_err(|_| "it panics".to_owned())?
    }

    /// Whether devices here have AF_XDP.
    ///
    /// # Errors
    /// The reason why not.
    pub fn has_xdp(&self) -> Result<(), String> {
        let open = || Xdp::open(NEAR, 0).map(drop).map_err(|error| error.to_string());
        self.within(&self.forwarder(), open)?
    }

    /// Sends frames at this rate.
    ///
    /// # Errors
    /// They cannot be sent, or more arrive.
    pub fn send(&self, load: Load, rate: f64, time: Duration) -> Result<Sent, String> {
        let before = self.arrived()?;
        let send = || sender::send(FROM, load, rate, time);
        let (sent, seconds) = self.within(&self.space(PARTS[0]), send)??;
        let mut arrived = self.arrived()?;
        loop {
            thread::sleep(SETTLE);
            let now = self.arrived()?;
            if now == arrived {
                break;
            }
            arrived = now;
        }
        let arrived = arrived - before;
        if arrived > sent {
            return Err(format!("{arrived} frames arrive, and {sent} were sent"));
        }
        Ok(Sent { sent, arrived, seconds })
    }

    /// Frames that have come to the sink so far.
    fn arrived(&self) -> Result<u64, String> {
        let text = ip(&format!("-n {} -s -j link show {TO}", self.space(PARTS[2])))?;
        let value: serde_json::Value =
            serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let count = value[0]["stats64"]["rx"]["packets"].as_u64();
        count.ok_or_else(|| format!("no count in `{text}`"))
    }
}

/// The namespaces, by what is in them.
const PARTS: [&str; 3] = ["s", "f", "t"];

/// Moves this thread into a namespace.
///
/// # Errors
/// There is none of this name, or it may not.
pub fn enter(space: &str) -> Result<(), String> {
    let path = format!("/var/run/netns/{space}");
    let file = File::open(&path).map_err(|error| format!("{path}: {error}"))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|error| error.to_string())
}

impl Drop for Lab {
    fn drop(&mut self) {
        for part in PARTS {
            // Its devices go with it.
            let _ = ip(&format!("netns delete {}", self.space(part)));
        }
    }
}
