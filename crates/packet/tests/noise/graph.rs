//! Graphs as text: what reads prints as it reads, and runs the same compiled and dispatched, breath
//! by breath.

use crate::common;

use common::both::Both;
use common::kinds;
use tidemill_diag::{Sources, has_errors};
use tidemill_packet::app::Catalogue;
use tidemill_packet::flow;
use tidemill_packet::graph::Graph;

/// Larger graphs take their time.
const APPS_MAX: usize = 40;
/// And so do longer kernels.
const TEXT_BYTES_MAX: usize = 1 << 14;
const BREATHS: u64 = 12;
const BREATH_NS: u64 = 20_000_000;

/// All but those that panic: the fuzzer would take that for a find.
fn catalogue() -> Catalogue {
    let kinds = kinds();
    let calm = kinds.types().iter().filter(|one| !["Bad", "Shaky"].contains(&one.name));
    Catalogue::new(&calm.copied().collect::<Vec<_>>())
}

/// Whether a table might take more memory than a fuzzer has: numbers of many digits.
fn has_large_tables(text: &str) -> bool {
    let mut sizes = text.split("size").skip(1).map(str::trim_start);
    sizes.any(|size| size.bytes().take_while(u8::is_ascii_alphanumeric).count() > 4)
}

/// A valid graph, or nothing; its errors can be rendered.
fn read(text: &str) -> Option<Graph> {
    let mut sources = Sources::new();
    let options = flow::Options::default();
    let loaded = flow::load_text("noise.flow", text, &options, &catalogue(), &mut sources);
    assert_eq!(loaded.graph.is_none(), has_errors(&loaded.diagnostics), "{text}");
    for diagnostic in &loaded.diagnostics {
        assert!(!sources.render(diagnostic).is_empty());
    }
    loaded.graph
}

/// Panics if reading, printing, dispatching and compiling `input` do not agree.
pub fn check(input: &[u8]) {
    let Ok(text) = str::from_utf8(input) else { return };
    if text.len() > TEXT_BYTES_MAX {
        return;
    }
    let Some(graph) = read(text) else { return };
    let printed = graph.to_string();
    assert_eq!(read(&printed).map(|graph| graph.to_string()).as_ref(), Some(&printed));
    let mut both = Both::new();
    if has_large_tables(text) || graph.apps.len() > APPS_MAX || !both.try_to_configure(&graph) {
        return;
    }
    assert!(both.compiled.is_compiled(), "{:?}\n{graph}", both.compiled.take_notes());
    for breath in 0..BREATHS {
        both.breathe(breath * BREATH_NS);
    }
    assert_eq!(both.compiled.take_notes(), both.dispatched.take_notes());
}

/// True for the text of a graph that is right.
pub fn is_understood(input: &[u8]) -> bool {
    str::from_utf8(input).is_ok_and(|text| read(text).is_some())
}
