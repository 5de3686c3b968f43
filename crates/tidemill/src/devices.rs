//! What stands for a device of the system in a simulation.

use std::fmt;
use std::path::PathBuf;

/// What stands for a device.
///
/// ```
/// use tidemill::devices::SimDevice;
///
/// assert_eq!(SimDevice::parse("link:lan"), Some(SimDevice::Link("lan".to_owned())));
/// assert_eq!(SimDevice::parse("pcap:in.pcap"), Some(SimDevice::Capture("in.pcap".into())));
/// assert_eq!(SimDevice::parse("lan"), None);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SimDevice {
    /// A place at a link of that name, an Ethernet switch: frames reach the devices of other nodes
    /// at it, as the conditions of the network let them.
    Link(String),
    /// Frames come from a capture, and those that are sent go nowhere.
    Capture(PathBuf),
}

impl SimDevice {
    /// Reads `link:NAME` or `pcap:FILE`.
    pub fn parse(text: &str) -> Option<SimDevice> {
        match text.split_once(':')? {
            (_, "") => None,
            ("link", name) => Some(SimDevice::Link(name.to_owned())),
            ("pcap", file) => Some(SimDevice::Capture(PathBuf::from(file))),
            _ => None,
        }
    }
}

/// As it is read.
impl fmt::Display for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimDevice::Link(name) => write!(f, "link:{name}"),
            SimDevice::Capture(file) => write!(f, "pcap:{}", file.display()),
        }
    }
}
