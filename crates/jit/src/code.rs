//! A finished module: it owns its memory and knows the addresses in it.

use std::fmt::Write;
use std::sync::Arc;

use cranelift_codegen::ir::Signature;
use tidemill_stdx::id::IdVec;

use crate::compile::Span;
use crate::listing;
use crate::pages::Sealed;
use crate::symbol::{DataId, FuncId};

/// Executable code and its data. Dropping it unmaps both: no address in it may be used after
/// that.
pub struct Code {
    pub(crate) name: String,
    pub(crate) pages: Sealed,
    pub(crate) places: IdVec<FuncId, Function>,
    pub(crate) data: IdVec<DataId, usize>,
    /// The functions that are not imported, in the order of memory.
    pub(crate) own: Box<[FuncId]>,
}

/// Where a function is.
pub(crate) struct Function {
    pub name: Arc<str>,
    pub signature: Signature,
    pub address: usize,
    pub bytes: usize,
    pub compile_ns: u64,
    pub spans: Box<[Span]>,
    pub text: Option<String>,
}

impl Function {
    pub fn imported(name: Arc<str>, signature: Signature, address: usize) -> Function {
        let spans = Box::default();
        Function { name, signature, address, bytes: 0, compile_ns: 0, spans, text: None }
    }
}

/// The costs of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionStats<'c> {
    /// The function.
    pub name: &'c str,
    /// Its code, with its constants.
    pub bytes: usize,
    /// The time the compiler took.
    pub compile_ns: u64,
}

/// A place in code, for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol<'c> {
    /// The function.
    pub function: &'c str,
    /// The bytes from its start.
    pub offset: u32,
    /// The argument of [`Body::source`](crate::Body::source) for the instruction there.
    pub source: Option<u32>,
}

impl Code {
    /// The name of the module.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The declared parameters and results of a function.
    pub fn signature(&self, id: FuncId) -> &Signature {
        &self.places[id].signature
    }

    /// Where a function starts. The caller turns it into a function pointer of the signature that
    /// was declared; the pointer is good for as long as `self` lives.
    pub fn address(&self, id: FuncId) -> *const u8 {
        std::ptr::with_exposed_provenance(self.places[id].address)
    }

    /// Where a blob starts.
    pub fn data_address(&self, id: DataId) -> *const u8 {
        std::ptr::with_exposed_provenance(self.data[id])
    }

    /// The memory mapped for it, in whole pages.
    pub fn mapped_bytes(&self) -> usize {
        self.pages.bytes()
    }

    pub(crate) fn own(&self) -> impl Iterator<Item = &Function> {
        self.own.iter().map(|&id| &self.places[id])
    }

    /// What each function cost, in the order of declaration.
    pub fn stats(&self) -> impl Iterator<Item = FunctionStats<'_>> {
        self.own().map(|place| FunctionStats {
            name: &place.name,
            bytes: place.bytes,
            compile_ns: place.compile_ns,
        })
    }

    /// The function that contains the instruction at `address`, and its place in the source. For a
    /// return address pass that of the byte before.
    pub fn symbolise(&self, address: usize) -> Option<Symbol<'_>> {
        let after = self.own.partition_point(|&id| self.places[id].address <= address);
        let place = &self.places[*self.own[..after].last()?];
        let offset = address - place.address;
        let offset = u32::try_from(offset).ok().filter(|_| offset < place.bytes)?;
        let after = place.spans.partition_point(|span| span.start <= offset);
        let span = place.spans[..after].last().filter(|span| offset < span.end);
        Some(Symbol { function: &place.name, offset, source: span.map(|span| span.source) })
    }

    /// The places in the source of a function's bytes, ascending.
    pub fn spans(&self, id: FuncId) -> &[Span] {
        &self.places[id].spans
    }

    /// The machine code of a function as text, if the module was made with
    /// [`Options::listing`](crate::Options::listing).
    pub fn listing(&self, id: FuncId) -> Option<String> {
        let place = &self.places[id];
        let name = format!("{}::{}", self.name, place.name);
        Some(listing::print(&name, place.bytes, place.text.as_ref()?, &place.spans))
    }

    /// A table of what each function cost, with a sum.
    pub fn report(&self) -> String {
        let (mut text, mut bytes, mut compile_ns, mut count) = (String::new(), 0, 0, 0);
        let mut line = |name: &str, bytes: usize, ns: u64| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{bytes:>10} {:>12.1}  {name}", ns as f64 / 1e3);
        };
        for stats in self.stats() {
            line(stats.name, stats.bytes, stats.compile_ns);
            bytes += stats.bytes;
            compile_ns += stats.compile_ns;
            count += 1;
        }
        line(&format!("{}: {count} functions", self.name), bytes, compile_ns);
        format!("{:>10} {:>12}  function\n{text}", "bytes", "compile_us")
    }
}
