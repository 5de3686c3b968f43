//! From the tree to the graph: what each primitive means.
//!
//! Primitives are lowered in the order of the text, for `vlan`, `mpls`, `pppoes` and `geneve`
//! change the offsets of the others from then on ([`Layout`]). Each becomes a [`Condition`] whose
//! tests are in the order in which libpcap makes them, since a load beyond the packet ends all.

mod arithmetic;
mod condition;
mod geneve;
mod headers;
mod layout;
mod link;
mod primitive;
mod protocol;

use tidemill_diag::{Diagnostic, FileId, Sources, Span, has_errors};

use crate::ast::{Expr, Join};
use crate::graph::{Check, Graph, Values};
use crate::parse::parse;
use condition::Condition;
use layout::Layout;

/// Settings that a filter's text does not contain.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Settings {
    /// The mask of the network, which `ip broadcast` needs.
    pub netmask: Option<u32>,
    /// Packets may have a direction, as those of devices do: `inbound` and `outbound` need that.
    pub has_directions: bool,
}

/// Nodes of a graph before it is optimised.
const TESTS_MAX: usize = 200_000;

/// The graph of an expression, as it was written; `None` where a diagnostic is an error.
pub fn compile(
    file: FileId,
    sources: &Sources,
    settings: &Settings,
) -> (Option<Graph>, Vec<Diagnostic>) {
    let (expr, mut diagnostics) = parse(file, sources.text(file));
    if has_errors(&diagnostics) {
        return (None, diagnostics);
    }
    let mut lower = Lower {
        values: Values::default(),
        layout: Layout::default(),
        settings: *settings,
        tests: 0,
        tunnels: Vec::new(),
        diagnostics: Vec::new(),
    };
    let condition = lower.expr(&expr);
    diagnostics.append(&mut lower.diagnostics);
    if lower.tests > TESTS_MAX {
        let message = format!("the filter has more than {TESTS_MAX} tests");
        let span = Span { file, start: 0, end: 0 };
        diagnostics.push(Diagnostic::error("too-long", span, message));
    }
    if has_errors(&diagnostics) {
        return (None, diagnostics);
    }
    (Some(condition::graph(lower.values, &condition)), diagnostics)
}

struct Lower {
    values: Values,
    layout: Layout,
    settings: Settings,
    tests: usize,
    /// The checks before the offset of the headers inside of a tunnel is known.
    tunnels: Vec<Check>,
    diagnostics: Vec<Diagnostic>,
}

/// The place was noted already.
struct Noted;

type Lowered<T> = Result<T, Noted>;

impl Lower {
    fn error(&mut self, code: &'static str, span: Span, message: impl Into<String>) -> Noted {
        self.diagnostics.push(Diagnostic::error(code, span, message));
        Noted
    }

    fn help(&mut self, help: impl Into<String>) {
        if let Some(last) = self.diagnostics.last_mut() {
            last.help = Some(help.into());
        }
    }

    fn expr(&mut self, expr: &Expr) -> Condition {
        match expr {
            Expr::All => Condition::Always,
            Expr::Primitive(primitive) => match self.primitive(primitive) {
                Ok(condition) => {
                    self.tests += condition.tests();
                    condition
                }
                // Not made into a graph: there is an error.
                Err(Noted) => Condition::Always,
            },
            Expr::Not(inner) => self.expr(inner).not(),
            Expr::Chain(first, rest) => {
                let mut all = self.expr(first);
                for (join, next) in rest {
                    let next = self.expr(next);
                    all = match join {
                        Join::And => all.and(next),
                        Join::Or => all.or(next),
                    };
                }
                all
            }
        }
    }
}
