//! An app that runs a component for each flow: its ports, and its flows by key.

use tidemill_event::TimerId;
use tidemill_packet::app::Direction;
use tidemill_packet::engine::Engine;
use tidemill_stat::Registry;

use super::border::FlowBorder;
use super::counts::Counters;
use super::flow::NO_PORT;
use super::table::Index;

/// A port without a link in the current graph.
const NO_LINK: usize = usize::MAX;

/// An app.
pub(super) struct App {
    pub(super) checked: FlowBorder,
    pub(super) inputs: Vec<Port>,
    pub(super) outputs: Vec<Port>,
    pub(super) index: Index,
    /// The number of instances, ending ones included.
    pub(super) count: usize,
    /// Fires when the oldest flow may be idle.
    pub(super) timer: Option<TimerId>,
    pub(super) counters: Counters,
}

/// A port; its number stays when the graph changes.
pub(super) struct Port {
    pub(super) link: usize,
    name: String,
}

impl App {
    pub(super) fn new(checked: &FlowBorder, registry: &Registry) -> App {
        App {
            checked: checked.clone(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            index: Index::new(),
            count: 0,
            timer: None,
            counters: Counters::new(registry, &checked.app),
        }
    }

    /// Finds its links in the graph that runs now.
    pub(super) fn link(&mut self, engine: &Engine) {
        let links = |direction| engine.links_of(&self.checked.app, direction);
        let (inputs, outputs) = (links(Direction::Input), links(Direction::Output));
        renew(&mut self.inputs, inputs);
        renew(&mut self.outputs, outputs);
    }

    /// Sets the names of its ports, in the order of their numbers.
    pub(super) fn name(&mut self, inputs: &[String], outputs: &[String]) {
        let numbered = |names: &[String]| names.iter().cloned().enumerate().collect();
        renew(&mut self.inputs, numbered(inputs));
        renew(&mut self.outputs, numbered(outputs));
    }

    /// The numbers of an input and an output, or an error if there are no such ports.
    pub(super) fn port_numbers(&self, from: &str, to: &str) -> Result<(u16, u16), String> {
        let (input, output) = (number(&self.inputs, from), number(&self.outputs, to));
        match (from == to, input, output) {
            (_, Some(input), Some(output)) => Ok((input, output)),
            (true, None, None) => Err(format!("no link leads from or to `{from}`")),
            (true, ..) => Ok((input.unwrap_or(NO_PORT), output.unwrap_or(NO_PORT))),
            (false, None, _) => Err(format!("no link leads here from `{from}`")),
            (false, _, None) => Err(format!("no link leads from here to `{to}`")),
        }
    }
}

fn number(ports: &[Port], name: &str) -> Option<u16> {
    let at = ports.iter().position(|port| port.name == name && port.link != NO_LINK)?;
    u16::try_from(at).ok().filter(|at| *at != NO_PORT)
}

fn renew(ports: &mut Vec<Port>, links: Vec<(usize, String)>) {
    ports.iter_mut().for_each(|port| port.link = NO_LINK);
    for (link, name) in links {
        match ports.iter_mut().find(|port| port.name == name && port.link == NO_LINK) {
            Some(port) => port.link = link,
            None => ports.push(Port { link, name }),
        }
    }
}
