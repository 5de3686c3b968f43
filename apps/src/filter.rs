//! Packet filters.
//!
//! The crate `filter` compiles expressions, the packet engine has kernels with tests: here a filter
//! becomes a test. So the decisions of a filter are in the middle of the breath, between the apps
//! before and after it.

use std::net::Ipv4Addr;
use std::sync::Arc;

use tidemill_diag::{Sources, has_errors};
use tidemill_filter::graph::Graph;
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Packet as Seen, Seen as View, Settings, compile, interpret_seen, write};
use tidemill_jit::Body;
use tidemill_jit::build::{Block, InstBuilder, types};
use tidemill_packet::app::{App, ConfigError, Fault, Io, Reconfigured, Start};
use tidemill_packet::kernel::{Builder, Expr, PacketValues, PacketView, Running, Test};

use crate::code;

tidemill_packet::declare! {
    /// Lets the packets through that match an expression of the pcap filter language.
    ///
    /// An example is "tcp port 80 and not net 10.0.0.0/8"; it means what tcpdump takes it for. It
    /// asks how long packets were on the wire; `outbound` are those that a RawSocket saw this
    /// machine send, and all others `inbound`.
    app Filter {
        config FilterConfig {
            /// The expression; an empty one matches all.
            expr: String,
            /// The mask of the network, for `ip broadcast`.
            netmask: Ipv4Addr = Ipv4Addr::UNSPECIFIED,
        }
        ports {
            /// All packets.
            input: Input(Either, One),
            /// Those that match.
            output: Output(Either, One),
            /// The others; without a link they are dropped as `not_matched`.
            rest: Output(Either, Optional),
        }
        traits { passes, kernel }
    }
}

/// See [`Filter::declaration`](tidemill_packet::app::Declared::declaration).
#[derive(Debug)]
pub struct Filter(Running);

/// The decision graph of an expression.
pub(crate) fn graph_of(config: &FilterConfig) -> Result<Graph, ConfigError> {
    let mut sources = Sources::new();
    let file = sources.add("expr", &config.expr);
    let netmask = Some(config.netmask.to_bits());
    let settings = Settings { netmask, has_directions: true };
    let (graph, diagnostics) = compile(file, &sources, &settings);
    match graph.filter(|_| !has_errors(&diagnostics)) {
        Some(graph) => {
            let graph = optimise(&graph);
            // Code is made of verified graphs only.
            graph.verify().map_err(|error| ConfigError::new("expr", error.to_string()))?;
            Ok(graph)
        }
        None => {
            let found: Vec<String> =
                diagnostics.iter().map(|diagnostic| diagnostic.message.clone()).collect();
            Err(ConfigError::new("expr", found.join("; ")))
        }
    }
}

/// An expression as a condition of kernels.
#[derive(Debug)]
struct Matches {
    expr: String,
    graph: Graph,
}

impl Test for Matches {
    fn name(&self) -> &str {
        &self.expr
    }

    fn holds(&self, packet: PacketView<'_>) -> bool {
        let PacketView { bytes, wire_length, is_outgoing } = packet;
        interpret_seen(&self.graph, &View { bytes, wire_length, is_outgoing })
    }

    fn write(&self, body: &mut Body<'_>, packet: PacketValues, yes: Block, no: Block) {
        // Most filters do not use it.
        let wire_length = if self.graph.needs_wire_length() {
            packet.wire_length(body)
        } else {
            body.ins().ireduce(types::I32, packet.length)
        };
        let outgoing = self.graph.needs_direction().then(|| packet.outgoing(body));
        let packet = Seen { data: packet.data, length: packet.length, wire_length, outgoing };
        write(body, &self.graph, packet, yes, no);
    }
}

impl Filter {
    fn running(config: FilterConfig) -> Result<Running, Fault> {
        let graph = graph_of(&config).map_err(|error| Fault::new(error.message))?;
        let mut kernel = Builder::new("Filter");
        let matched = kernel.counter("matched");
        let not_matched = kernel.reason("not_matched");
        let [yes, no, rest, none] = [(); 4].map(|()| kernel.block());
        // The name has all that the test depends on: tests of one name are the same.
        let expr = if config.netmask.is_unspecified() {
            config.expr
        } else {
            format!("{} (mask {})", config.expr, config.netmask)
        };
        kernel.test(Arc::new(Matches { expr, graph }), yes, no);
        kernel.at(yes);
        let one = kernel.constant(1);
        kernel.count(matched, one);
        kernel.emit(0);
        kernel.at(no);
        let linked = kernel.value(Expr::Linked(1));
        kernel.branch(linked, rest, none);
        kernel.at(rest);
        kernel.emit(1);
        kernel.at(none);
        kernel.drop(not_matched);
        code::running(kernel)
    }
}

impl App for Filter {
    fn validate(config: &FilterConfig) -> Result<(), ConfigError> {
        graph_of(config).map(|_| ())
    }

    fn new(config: FilterConfig, _: &mut Start) -> Result<Filter, Fault> {
        Filter::running(config).map(Filter)
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.0.push(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.0)
    }

    fn reconfigure(&mut self, config: FilterConfig) -> Reconfigured {
        code::follow(&mut self.0, Filter::running(config))
    }
}
