//! Simulated devices.

use std::fmt;
use std::path::PathBuf;

/// A simulated device.
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
    /// A port at a link of that name, an Ethernet switch: it exchanges frames with the devices of
    /// other nodes at the link, under the conditions of the network.
    Link(String),
    /// A capture to receive from; sent frames are discarded.
    Capture(PathBuf),
}

impl SimDevice {
    /// Parses `link:NAME` or `pcap:FILE`.
    pub fn parse(text: &str) -> Option<SimDevice> {
        match text.split_once(':')? {
            (_, "") => None,
            ("link", name) => Some(SimDevice::Link(name.to_owned())),
            ("pcap", file) => Some(SimDevice::Capture(PathBuf::from(file))),
            _ => None,
        }
    }
}

/// In the form that `parse` reads.
impl fmt::Display for SimDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SimDevice::Link(name) => write!(f, "link:{name}"),
            SimDevice::Capture(file) => write!(f, "pcap:{}", file.display()),
        }
    }
}
