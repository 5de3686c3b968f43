//! Packets to and from what runs beside the graph.

use tidemill_packet::app::{App, Fault, Io, Progress, Start};

tidemill_packet::declare! {
    /// Where packets leave the graph for a component, and come in from one.
    ///
    /// Components open it by its name, through the interface Packets. What arrives at `input` waits
    /// on the link until a component takes it; the link drops what it has no room for. An `Outside`
    /// that no component opens is a dead end.
    app Outside {
        config OutsideConfig {}
        ports {
            /// Packets for components.
            input: Input(Pull, Optional),
            /// Packets of components.
            output: Output(Push, Optional),
        }
        traits { pulls, divides }
    }
}

/// See [`Outside::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Outside;

impl App for Outside {
    fn new(_: OutsideConfig, _: &mut Start) -> Result<Outside, Fault> {
        Ok(Outside)
    }

    fn pull(&mut self, _: &mut Io) -> Result<Progress, Fault> {
        // They stay where they are: see `Engine::take_from`. The graph rests meanwhile.
        Ok(Progress::Asleep)
    }
}
