//! Replaces the devices of a graph by simulated ones.

use tidemill_packet::app::{Config, Declared, Value};
use tidemill_packet::graph::{AppSpec, Graph};
use tidemill_stdx::sorted::SortedMap;

use crate::devices::SimDevice;
use crate::packets::device::{SimulatedCapture, SimulatedDevice};
use crate::switch::{Plug, Switches};

/// Replaces devices in a graph; returns the plugs of those at links.
///
/// # Errors
/// All devices without a replacement, and all unused replacements; as text.
pub(super) fn replace(
    graph: &mut Option<Graph>,
    devices: &SortedMap<String, SimDevice>,
) -> Result<Vec<Plug>, String> {
    let (mut plugs, mut wrong) = (Vec::new(), Vec::new());
    let mut unused: Vec<&String> = devices.keys().collect();
    let apps = graph.iter_mut().flat_map(|graph| &mut graph.apps);
    for app in apps.filter(|app| app.kind.device) {
        let name = device_of(app);
        unused.retain(|device| **device != name);
        match devices.get(&name) {
            Some(SimDevice::Link(link)) => {
                (app.kind, app.config) = (SimulatedDevice::declaration(), Config::new());
                plugs.push(Plug { app: app.name.clone(), device: name, link: link.clone() });
            }
            Some(SimDevice::Capture(file)) => {
                app.kind = SimulatedCapture::declaration();
                app.config = Config::new().with("file", &*file.display().to_string());
            }
            None => wrong.push(format!(
                "app `{}` has {name}, and a simulation has no devices of the system: write in \
                 [sim.devices] of tidemill.toml what stands for it, as \"{name}\" = \"link:lan\" \
                 or \"{name}\" = \"pcap:FILE\"",
                app.name
            )),
        }
    }
    let nobodys = |device| format!("[sim.devices] has {device}, and no app of the program has it");
    wrong.extend(unused.into_iter().map(nobodys));
    if wrong.is_empty() { Ok(plugs) } else { Err(wrong.join("\n")) }
}

/// The name of the device of an app.
fn device_of(app: &AppSpec) -> String {
    match app.kind.keys.first().and_then(|key| app.config.get(key.name)) {
        Some(Value::Text(name)) => name.clone(),
        _ => app.name.clone(),
    }
}

/// The switches of a simulation, with the plugs of all nodes.
pub(super) fn switches<'a>(plugs: &[Plug], addresses: impl Iterator<Item = &'a str>) -> Switches {
    let mut switches = Switches::new();
    for address in addresses {
        for plug in plugs {
            switches.entry(plug.link.clone()).or_default().add(plug.name_at(address));
        }
    }
    switches
}
