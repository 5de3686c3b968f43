//! Packet graphs: the catalogue of their apps, drawings, machine code.
//!
//! ```
//! use tidemill::console::Console;
//! use tidemill::program::{LoadOptions, Program};
//! use tidemill::run::RunOptions;
//!
//! let text = "src :: Source { packets: 1000 }\nend :: Sink\nsrc -> end";
//! let program = Program::of_text("a.flow", text, &LoadOptions::default());
//! let report = program.run(RunOptions::default(), Console::silent())?;
//! let packets = report.packets.ok_or("no graph")?;
//! assert_eq!(packets.links[0].1.rx_packets, 1000);
//! assert!(packets.is_well());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod decode;
pub(crate) mod device;
mod own;
pub mod rules;
pub mod script;

use tidemill_packet::app::{Catalogue, Declared};
use tidemill_packet::engine::Engine;
use tidemill_packet::graph::Graph;

pub use tidemill_packet::flow::code::app::steps_of;
pub use tidemill_packet::flow::code::lower::{HandlerSteps, STEPS_MAX};

use crate::error::Error;

/// All app types.
pub fn catalogue() -> Catalogue {
    let mut all = tidemill_apps::catalogue();
    all.add(rules::Rules::declaration());
    all.add(script::Script::declaration());
    all.add(decode::Decode::declaration());
    all
}

/// The machine code of the graph's breath, as text; runs nothing.
///
/// # Errors
/// The graph is wrong, or the code generator does not support this machine.
pub fn listing(packets: &Graph) -> Result<String, Error> {
    Engine::listing_of(packets).map_err(Error::program)
}
