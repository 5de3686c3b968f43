//! Simulated devices: the option `--device`, and settings.

use clap::Args;
use tidemill::devices::SimDevice;
use tidemill_stdx::sorted::SortedMap;

use super::error::ValueError;

/// Simulated devices.
#[derive(Args, Clone, Debug)]
pub struct Devices {
    /// Connect the device of a packet app to a simulated link between nodes, or replay a capture
    #[arg(long = "device", value_name = "NAME=link:LINK|pcap:FILE", value_parser = device)]
    pub given: Vec<(String, SimDevice)>,
    /// The section [sim.devices] of the settings.
    #[arg(skip)]
    pub settings: SortedMap<String, SimDevice>,
}

impl Devices {
    /// All simulated devices; the command line overrides the settings.
    pub fn all(&self) -> SortedMap<String, SimDevice> {
        let mut all = self.settings.clone();
        self.given.iter().for_each(|(name, device)| drop(all.insert(name.clone(), device.clone())));
        all
    }

    /// Whether a device is at a link between nodes, so that network options affect packet graphs.
    pub fn has_links(&self) -> bool {
        self.all().values().any(|device| matches!(device, SimDevice::Link(_)))
    }
}

fn device(text: &str) -> Result<(String, SimDevice), ValueError> {
    let wrong = || ValueError::Device(text.to_owned());
    let (name, device) = text.split_once('=').ok_or_else(wrong)?;
    let device = SimDevice::parse(device).ok_or_else(wrong)?;
    if name.is_empty() { Err(wrong()) } else { Ok((name.to_owned(), device)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_written_as_they_are_read() {
        for text in ["eth0=link:lan", "eth1.7=pcap:a/in.pcap"] {
            let (name, stand_in) = device(text).expect("a device");
            assert_eq!(format!("{name}={stand_in}"), text);
        }
        for wrong in ["eth0", "eth0=lan", "=link:lan", "eth0=link:"] {
            assert!(device(wrong).is_err(), "{wrong}");
        }
    }
}
