//! Runs of kernels: which apps are written as one function.
//!
//! What makes a run: the apps are called one after the other in a breath, each but the first has
//! only the link from another of the run, and no other app is to be notified of packets on that
//! link. Most runs are lines; where a kernel sends copies by all its outputs, it is a tree. A
//! source whose one link leads to a run becomes its beginning: when it is pulled it promises
//! packets, and they are made where the run is pushed, without a ring between.

use tidemill_jit::{Error, FuncId, Module};

use super::blueprint::{Blueprint, BreathStep};
use super::imports::Imports;
use super::run::define;
use super::writer::{Feed, Run};
use crate::kernel::{End, Kernel, Step};

/// Kernels of a run at most, so that functions stay small.
const APPS_MAX: usize = 64;

/// A run of kernels.
pub(super) struct Chain {
    /// Positions of apps.
    pub apps: Vec<usize>,
    /// For each, its predecessor in the run; the first is its own.
    pub before: Vec<usize>,
    /// The source of the first one's packets, if it is the only one.
    pub source: Option<usize>,
    /// It makes copies.
    pub copies: bool,
}

/// The functions of a run.
#[derive(Clone, Copy)]
pub(super) struct Written {
    /// Takes what lies on the links into the first.
    pub links: FuncId,
    /// Makes this number of packets, as the source does.
    pub pool: Option<FuncId>,
}

/// The runs of kernels of a graph.
pub(super) fn find(blueprint: &Blueprint) -> Vec<Chain> {
    let mut chains: Vec<Chain> = Vec::new();
    let mut follows = false;
    for step in &blueprint.steps {
        let app = match *step {
            BreathStep::Push(app) if is_kernel(blueprint, app) => app,
            _ => {
                follows = false;
                continue;
            }
        };
        let kernel = kernel_of(blueprint, app);
        let copies = kernel.is_some_and(copies);
        match chains.last_mut().filter(|_| follows) {
            Some(chain) if let Some(before) = joins(blueprint, chain, app) => {
                chain.apps.push(app);
                chain.before.push(before);
                chain.copies |= copies;
            }
            _ => {
                let source = source_of(blueprint, app);
                chains.push(Chain { apps: vec![app], before: vec![0], source, copies });
            }
        }
        follows = true;
    }
    chains
}

/// The predecessor of an app in the run, if it may become part of the run.
fn joins(blueprint: &Blueprint, chain: &Chain, app: usize) -> Option<usize> {
    let link = only_input(blueprint, app)?;
    let part = &blueprint.links[link];
    let before = chain.apps.iter().position(|&of| of == part.from)?;
    let fits = !part.is_watched
        && chain.apps.len() < APPS_MAX
        && !leads_back(blueprint, chain.apps[0], app)
        && kernel_of(blueprint, part.from).is_some_and(has_one_way_to_each);
    fits.then_some(before)
}

fn kernel_of(blueprint: &Blueprint, app: usize) -> Option<&Kernel> {
    blueprint.apps[app].kernel.as_ref().map(|part| &*part.kernel)
}

fn copies(kernel: &Kernel) -> bool {
    kernel.blocks.iter().any(|block| block.end == End::EmitAll) || clones(kernel)
}

/// Whether it sends copies on its way.
fn clones(kernel: &Kernel) -> bool {
    let mut steps = kernel.blocks.iter().flat_map(|block| &block.steps);
    steps.any(|step| matches!(step, Step::Clone(_)))
}

/// Whether packets that go to an output always do so at the same point: where copies are sent
/// there must be no other, or the continuation of a packet would not be known.
fn has_one_way_to_each(kernel: &Kernel) -> bool {
    let ends = kernel.blocks.iter().map(|block| block.end);
    let is_one = ends.filter(|end| matches!(end, End::Emit(_) | End::EmitAll)).count() == 1;
    !copies(kernel) || is_one && !clones(kernel)
}

/// Whether an app may be written as code: it is a kernel, and does not feed itself.
fn is_kernel(blueprint: &Blueprint, app: usize) -> bool {
    let part = &blueprint.apps[app];
    let inputs = part.inputs.iter().flatten().count();
    let takes = part.kernel.as_ref().is_some_and(|part| part.kernel.supply.is_none());
    takes && inputs > 0 && !leads_back(blueprint, app, app)
}

/// Whether an app may be pulled by code.
pub(super) fn is_source(blueprint: &Blueprint, app: usize) -> bool {
    let part = &blueprint.apps[app];
    let supplied = part.kernel.as_ref().is_some_and(|part| part.kernel.supply.is_some());
    supplied && part.inputs.iter().flatten().count() == 0 && blueprint.has_room()
}

/// The source that feeds an app, if it is the only one and feeds no other.
fn source_of(blueprint: &Blueprint, app: usize) -> Option<usize> {
    let part = &blueprint.links[only_input(blueprint, app)?];
    let outputs = blueprint.apps[part.from].outputs.iter().flatten().count();
    let kernel = kernel_of(blueprint, part.from)?;
    let fits = outputs == 1 && !part.is_watched && !copies(kernel);
    (fits && is_source(blueprint, part.from)).then_some(part.from)
}

/// Whether a link leads from an app into the first of a run: its ring would be read and written in
/// one loop.
fn leads_back(blueprint: &Blueprint, first: usize, app: usize) -> bool {
    let outputs = blueprint.apps[app].outputs.iter().flatten();
    outputs.into_iter().any(|&link| blueprint.links[link].to == first)
}

/// The one link into an app.
fn only_input(blueprint: &Blueprint, app: usize) -> Option<usize> {
    let mut inputs = blueprint.apps[app].inputs.iter().flatten();
    match (inputs.next(), inputs.next()) {
        (Some(&link), None) => Some(link),
        _ => None,
    }
}

/// Defines the functions of a run.
pub(super) fn write(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    chain: &Chain,
) -> Result<Written, Error> {
    let (apps, before) = (chain.apps.clone(), chain.before.clone());
    let run = Run { apps, before, feed: Feed::Links };
    let links = define(module, imports, blueprint, &run)?;
    let Some(source) = chain.source else { return Ok(Written { links, pool: None }) };
    let apps = [source].into_iter().chain(chain.apps.iter().copied()).collect();
    let starts = chain.before.iter().enumerate();
    let starts = starts.map(|(at, before)| if at == 0 { 0 } else { before + 1 });
    let before = [0].into_iter().chain(starts).collect();
    let run = Run { apps, before, feed: Feed::Pool };
    Ok(Written { links, pool: Some(define(module, imports, blueprint, &run)?) })
}

/// Defines the function of a source that feeds no run: it makes a number of packets.
pub(super) fn write_source(
    module: &mut Module,
    imports: &Imports,
    blueprint: &Blueprint,
    source: usize,
) -> Result<FuncId, Error> {
    let run = Run { apps: vec![source], before: vec![0], feed: Feed::Pool };
    define(module, imports, blueprint, &run)
}
