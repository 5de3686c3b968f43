//! The filter of a socket: the kernel drops what it can, and the rest is dropped here.

use std::net::Ipv4Addr;

use tidemill_filter::classic::{self, Instruction};
use tidemill_filter::{Filter, Graph, Seen, interpret_seen};
use tidemill_packet::app::ConfigError;
use tidemill_pore::packet::socket;

use crate::filter::{FilterConfig, graph_of};

/// The key of the expression.
const KEY: &str = "filter";

/// The decision graph of an expression; none for an empty one.
pub(crate) fn parse(expr: &str) -> Result<Option<Graph>, ConfigError> {
    if expr.trim().is_empty() {
        return Ok(None);
    }
    let of_expr = FilterConfig { expr: expr.to_owned(), netmask: Ipv4Addr::UNSPECIFIED };
    graph_of(&of_expr).map(Some).map_err(|error| ConfigError::new(KEY, error.message))
}

/// An instruction in the form for sockets.
pub(crate) fn parts(it: Instruction) -> socket::Instruction {
    (it.code, it.jump_true, it.jump_false, it.number)
}

/// A filter, and the program for the kernel.
#[derive(Debug)]
pub(crate) struct SocketFilter {
    filter: Filter,
    /// Without instructions, if classic BPF cannot express the filter.
    program: Vec<socket::Instruction>,
}

impl SocketFilter {
    /// Compiles an expression; nothing for an empty one.
    pub(crate) fn of(expr: &str) -> Result<Option<SocketFilter>, ConfigError> {
        let Some(graph) = parse(expr)? else { return Ok(None) };
        let program = classic::program(&graph).unwrap_or_default();
        let program = program.into_iter().map(parts).collect();
        let filter = Filter::new(graph);
        let filter = filter.map_err(|error| ConfigError::new(KEY, error.to_string()))?;
        Ok(Some(SocketFilter { filter, program }))
    }

    /// The program for the kernel.
    pub(crate) fn program(&self) -> &[socket::Instruction] {
        &self.program
    }

    /// Whether a frame matches, which the socket has passed.
    pub(crate) fn matches(&self, frame: &[u8], is_outgoing: bool) -> bool {
        let graph = self.filter.graph();
        if !graph.needs_direction() {
            return self.filter.matches(frame);
        }
        let wire_length = u32::try_from(frame.len()).unwrap_or(u32::MAX);
        interpret_seen(graph, &Seen { bytes: frame, wire_length, is_outgoing })
    }
}
