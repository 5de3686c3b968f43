//! A filter as native code, and the safe way to run it.

use std::fmt::{self, Debug, Display, Formatter};

use tidemill_diag::text::verify::VerifyErrors;
use tidemill_diag::{Diagnostic, FileId, Sources, Span};
use tidemill_jit::build::{CallConv, InstBuilder, signature, types};
use tidemill_jit::{Code, Module, Options};

use super::batch::{self, Frame};
use super::write::write_verdict;
use super::writer::Packet;
use crate::graph::Graph;
use crate::lower::{Settings, compile};
use crate::optimise::optimise;

/// What keeps a graph from becoming code.
#[derive(Debug)]
pub enum Error {
    /// The graph is not in order, see [`Graph::verify`].
    Graph(VerifyErrors),
    /// No code for this machine, or no memory for it.
    Machine(tidemill_jit::Error),
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Error::Graph(error) => write!(f, "the graph is not in order: {error}"),
            Error::Machine(error) => Display::fmt(error, f),
        }
    }
}

impl std::error::Error for Error {}

/// The bytes, how many they are, how many there were on the wire; 1 for a match, else 0.
type Entry = unsafe extern "C" fn(*const u8, usize, u32) -> u32;

/// The number of packets that are prefetched while as many are filtered.
const AHEAD: usize = 16;

/// A filter as native code.
pub struct Filter {
    graph: Graph,
    entry: Entry,
    /// For many packets.
    keep: batch::Entry,
    /// What of packets is fetched ahead of that.
    reads: [usize; 2],
    listing: Option<String>,
    /// Owns what both point to.
    code: Code,
}

impl Debug for Filter {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("graph", &self.graph).finish_non_exhaustive()
    }
}

impl Filter {
    /// Compiles a filter expression; `None` where a diagnostic is an error.
    pub fn compile(
        file: FileId,
        sources: &Sources,
        settings: &Settings,
    ) -> (Option<Filter>, Vec<Diagnostic>) {
        let (graph, mut diagnostics) = compile(file, sources, settings);
        let filter = graph.and_then(|graph| match Filter::new(optimise(&graph)) {
            Ok(filter) => Some(filter),
            Err(error) => {
                let span = Span { file, start: 0, end: 0 };
                let message = format!("no native code for this filter: {error}");
                diagnostics.push(Diagnostic::error("no-native-code", span, message));
                None
            }
        });
        (filter, diagnostics)
    }

    /// The code of a graph, without optimisation.
    ///
    /// # Errors
    /// A graph that is not in order, or a machine for which no code can be made.
    pub fn new(graph: Graph) -> Result<Filter, Error> {
        Filter::with(graph, Options::named("filter"))
    }

    /// As [`Filter::new`], with the text of the machine code for [`Filter::listing`].
    ///
    /// # Errors
    /// As [`Filter::new`].
    pub fn listed(graph: Graph) -> Result<Filter, Error> {
        Filter::with(graph, Options { listing: true, ..Options::named("filter") })
    }

    fn with(graph: Graph, options: Options) -> Result<Filter, Error> {
        // The code relies on it.
        graph.verify().map_err(Error::Graph)?;
        let mut module = Module::new(options).map_err(Error::Machine)?;
        let parameters = [types::I64, types::I64, types::I32];
        let shape = signature(CallConv::SystemV, &parameters, &[types::I32]);
        let id = module.declare("matches", shape);
        module
            .define(id, |body| {
                let arguments = body.begin();
                let packet = Packet {
                    data: arguments[0],
                    length: arguments[1],
                    wire_length: arguments[2],
                    outgoing: None,
                };
                let done = body.create_block();
                let verdict = body.append_block_param(done, types::I8);
                write_verdict(body, &graph, packet, done);
                body.switch_to_block(done);
                let verdict = body.ins().uextend(types::I32, verdict);
                body.ins().return_(&[verdict]);
            })
            .map_err(Error::Machine)?;
        let keep = batch::define(&mut module, &graph).map_err(Error::Machine)?;
        // SAFETY: the code writes nothing but the batch that it is given, and reads what its graph,
        // which is verified, has checked to be there.
        let code = unsafe { module.finish() }.map_err(Error::Machine)?;
        let listing = code.listing(id).zip(code.listing(keep)).map(|(one, all)| one + &all);
        // SAFETY: the functions were declared with these signatures, and `code` stays beside them.
        let (entry, keep) = unsafe {
            let entry = std::mem::transmute::<*const u8, Entry>(code.address(id));
            (entry, std::mem::transmute::<*const u8, batch::Entry>(code.address(keep)))
        };
        let reads = batch::reads(&graph);
        Ok(Filter { graph, entry, keep, reads, listing, code })
    }

    /// Whether a whole packet matches.
    #[inline]
    pub fn matches(&self, packet: &[u8]) -> bool {
        self.matches_part(packet, u32::try_from(packet.len()).unwrap_or(u32::MAX))
    }

    /// Whether a packet matches of which these bytes were kept and which had `wire_length` on the
    /// wire.
    #[inline]
    pub fn matches_part(&self, bytes: &[u8], wire_length: u32) -> bool {
        // SAFETY: the code reads no byte that its graph has not checked to lie below `len`, as
        // `Graph::verify` made sure, and writes none.
        unsafe { (self.entry)(bytes.as_ptr(), bytes.len(), wire_length) != 0 }
    }

    /// The indices of the packets that match; `kept` is cleared first.
    ///
    /// ```
    /// # use tidemill_filter::{Filter, Frame, Settings};
    /// # use tidemill_diag::Sources;
    /// # let mut sources = Sources::new();
    /// # let file = sources.add("filter", "less 100");
    /// # let filter = Filter::compile(file, &sources, &Settings::default()).0.expect("compiles");
    /// let packets = [[0; 60].as_slice(), &[0; 1400], &[0; 80]];
    /// let mut kept = Vec::new();
    /// filter.keep(&packets.map(Frame::new), &mut kept);
    /// assert_eq!(kept, [0, 2]);
    /// ```
    pub fn keep(&self, packets: &[Frame<'_>], kept: &mut Vec<usize>) {
        kept.clear();
        kept.reserve(packets.len());
        let first = kept.as_mut_ptr();
        let mut end = first;
        let fetch = |frame: &Frame<'_>| frame.fetch(self.reads);
        packets.iter().take(AHEAD).for_each(fetch);
        for from in (0..packets.len()).step_by(AHEAD) {
            let to = packets.len().min(from + AHEAD);
            packets[to..].iter().take(AHEAD).for_each(fetch);
            // SAFETY: `from..to` are packets, whose bytes are borrowed. The code reads none beyond
            // the length of its packet, as for `matches_part`; it writes at most one number for
            // each packet, for all of which there is room.
            end = unsafe { (self.keep)(packets.as_ptr(), from, to, end) };
        }
        // SAFETY: the code has written all numbers from `first` to `end`.
        unsafe { kept.set_len(end.offset_from_unsigned(first)) };
    }

    /// The graph that the code was made of.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The machine code as text, if it was requested.
    pub fn listing(&self) -> Option<&str> {
        self.listing.as_deref()
    }

    /// Bytes and compile time, as a table.
    pub fn report(&self) -> String {
        self.code.report()
    }
}
