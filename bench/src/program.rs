//! Rule programs for benchmarks, compiled from text like those of users.

use std::sync::Arc;

use tidemill_diag::{Sources, has_errors};
use tidemill_overlog::node::{Identity, Node, Observer, Program, Sighting};
use tidemill_overlog::pre::MemoryFiles;
use tidemill_overlog::program::Compiled;
use tidemill_overlog::{Options, compile, parse, pre};
use tidemill_stdx::keyed::Secret;

/// Compiles a program.
pub fn compiled(name: &str, source: &str) -> Result<Compiled, String> {
    let mut sources = Sources::new();
    let (options, files) = (pre::Options::default(), MemoryFiles::default());
    let (tree, mut diagnostics) = parse::parse_text(name, source, &options, &files, &mut sources);
    if !has_errors(&diagnostics) {
        let (result, more) = compile(&tree, &sources, &Options::default());
        if let Some(result) = result {
            return Ok(result);
        }
        diagnostics = more;
    }
    Err(diagnostics.iter().map(|one| sources.render(one)).collect())
}

/// The address of a benchmark's only node.
pub const ADDRESS: &str = "n0:1";

/// A node of a program, without network.
pub fn node(name: &str, source: &str) -> Result<Node, String> {
    let program = Program::new(compiled(name, source)?).map_err(|error| error.to_string())?;
    let program = Arc::new(program);
    Ok(Node::new(program, identity(), 1, Secret::of_process()))
}

/// The identity of that node.
pub fn identity() -> Identity {
    Identity { address: ADDRESS.to_owned(), index: 0, count: 1, landmark: ADDRESS.to_owned() }
}

/// An observer that ignores everything.
#[derive(Debug)]
pub struct Blind;

impl Observer for Blind {
    fn sighted(&mut self, _: Sighting<'_>) {}

    fn violated(&mut self, _: Sighting<'_>) {}

    fn rule_failed(&mut self, _: &str, _: &str, _: &str, _: &str) {}
}
