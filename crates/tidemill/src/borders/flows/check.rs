//! Apps that run components of the program, checked when it is loaded.

use tidemill_cl::ast::{Component, Definition, Expr, ExprKind, Literal, Sent};
use tidemill_cl::system::packets::NAME as PACKETS;
use tidemill_diag::{Diagnostic, Span, nearest};
use tidemill_packet::app::{Config, Value};
use tidemill_packet::graph::AppSpec;
use tidemill_stdx::id::Id;
use tidemill_stdx::sorted::SortedSet;

use super::border::{FLOWS_MAX, FlowBorder, IDLE_SECONDS, Limits, QUEUE_MAX, is_of_program, per};
use crate::components::system::ports::ends;
use crate::program::{FileKind, Program};

/// The message of Packets that names ports.
pub(crate) const OPEN: &str = "Open";

/// An app of this kind, as declared in the graph.
struct Written {
    name: String,
    component: String,
    per: String,
    limits: Limits,
    config: Config,
    span: Span,
}

impl Program {
    /// The components that apps make.
    pub(crate) fn components_of_apps(&self) -> SortedSet<String> {
        self.written_flows().into_iter().map(|written| written.component).collect()
    }

    /// Checks the components of apps, as far as both sides were parsed.
    pub(in crate::borders) fn check_flow_borders(&mut self) {
        for written in self.written_flows() {
            match self.flow_border(&written) {
                Ok(checked) => self.borders.flows.extend(checked),
                Err(error) => self.diagnostics.push(*error),
            }
        }
    }

    fn written_flows(&self) -> Vec<Written> {
        let apps = self.packets.iter().flat_map(|graph| &graph.apps).zip(&self.apps);
        let text = |app: &AppSpec, key: &str| match app.config.get(key) {
            Some(Value::Text(text)) => text.clone(),
            _ => String::new(),
        };
        let number = |app: &AppSpec, key: &str, default| match app.config.get(key) {
            Some(Value::Integer(number)) => u64::try_from(*number).unwrap_or(default),
            _ => default,
        };
        let of_program = apps.filter(|(app, _)| is_of_program(app));
        let written = of_program.map(|(app, &span)| Written {
            name: app.name.clone(),
            component: text(app, "component"),
            per: text(app, "per"),
            limits: Limits {
                idle: number(app, "idle", IDLE_SECONDS),
                flows_max: number(app, "flows_max", FLOWS_MAX),
                queue_max: number(app, "queue_max", QUEUE_MAX),
            },
            config: app.config.clone(),
            span,
        });
        written.collect()
    }

    /// The border of an app; `None` if one side has errors of its own.
    fn flow_border(&self, written: &Written) -> Result<Option<FlowBorder>, Box<Diagnostic>> {
        let Written { name, component, config, span, .. } = written;
        let error = |message: String| Diagnostic::error("border", *span, message);
        if !self.kinds.has(FileKind::Components) {
            let message = format!("`{name}` runs a component of the program, and that has none");
            let help = "add a file of components to the program, or give the app a program of its \
                        own with `file`";
            return Err(Box::new(error(message).help(help)));
        }
        let Some(program) = &self.components.program else { return Ok(None) };
        let known = || {
            self.components.tree.definitions().filter_map(|it| match it {
                Definition::Component(it) => Some(it),
                Definition::Interface(_) => None,
            })
        };
        let Some(tree) = known().find(|it| it.name.text == *component) else {
            let error = error(format!("the program has no component `{component}`"));
            let names = || known().map(|it| it.name.text.as_str());
            let help = match nearest(component, names()) {
                Some(close) => format!("there is `{close}`"),
                None => format!("its components are {}", names().collect::<Vec<_>>().join(", ")),
            };
            return Err(Box::new(error.help(help)));
        };
        if let Some(offer) = tree.offers.first() {
            let message =
                format!("`{component}` offers `{}`, which nothing requires", offer.name.text);
            let help = format!("`{name}` makes components that offer nothing");
            return Err(Box::new(error(message).label(offer.span, "offered here").help(help)));
        }
        if !reaches_packets(tree) {
            let message = format!("`{component}` does not require `{PACKETS}`, and gets no packet");
            let error = error(message).label(tree.name.span, "declared here");
            return Err(Box::new(error.help(format!("write `REQUIRES {PACKETS}`"))));
        }
        self.check_ports(written, tree)?;
        let found = program.components.iter_enumerated().find(|(_, it)| it.name == *component);
        // The check of the app has reported invalid names.
        let (Some((kind, _)), Ok(per)) = (found, per(&written.per)) else { return Ok(None) };
        // Without key fields there is one flow at most.
        let flows_max = if per.is_empty() { 1 } else { written.limits.flows_max };
        let limits = Limits { flows_max, ..written.limits };
        let border = FlowBorder::own(name, kind.index() as u32, per, limits);
        Ok(Some(FlowBorder { config: config.clone(), ..border }))
    }

    /// Checks the ports that a component opens by literal names.
    fn check_ports(&self, written: &Written, tree: &Component) -> Result<(), Box<Diagnostic>> {
        let Some(graph) = &self.packets else { return Ok(()) };
        let Some(app) = graph.find(&written.name) else { return Ok(()) };
        let to = graph.links.iter().filter(|link| link.to.app == app);
        let inputs: SortedSet<&str> = to.map(|link| &*link.to.port).collect();
        let from = graph.links.iter().filter(|link| link.from.app == app);
        let outputs: SortedSet<&str> = from.map(|link| &*link.from.port).collect();
        let mut wrong = None;
        tree.for_each_send(PACKETS, &mut |Sent { message, arguments, .. }| {
            let Some((text, place)) = arguments.first().and_then(literal) else { return };
            if message.text != OPEN || wrong.is_some() {
                return;
            }
            let (from, to) = ends(text);
            let is_one = from == to && (inputs.contains(from) || outputs.contains(to));
            let is_pair = from != to && inputs.contains(from) && outputs.contains(to);
            if !is_one && !is_pair {
                let missing = if from == to || !inputs.contains(from) { from } else { to };
                wrong = Some((missing.to_owned(), place));
            }
        });
        let Some((missing, place)) = wrong else { return Ok(()) };
        let name = &written.name;
        let message = format!("no link of `{name}` leads from or to `{missing}`");
        let ports: SortedSet<&str> = &inputs | &outputs;
        let help = match nearest(&missing, ports.iter().copied()) {
            Some(close) => format!("is `{close}` meant? ports go by the apps at the other ends"),
            None if ports.is_empty() => format!("`{name}` has no links"),
            None => format!("its ports are {}", ports.into_iter().collect::<Vec<_>>().join(", ")),
        };
        let error = Diagnostic::error("border", place, message);
        Err(Box::new(error.label(written.span, "the app").help(help)))
    }
}

/// Whether a component, or one nested in it, requires `Packets`.
fn reaches_packets(component: &Component) -> bool {
    component.requires.iter().any(|it| it.name.text == PACKETS)
}

/// The text of a literal, and its place.
pub(crate) fn literal(argument: &Expr) -> Option<(&str, Span)> {
    match &argument.kind {
        ExprKind::Literal(Literal::Text(text)) => Some((text, argument.span)),
        _ => None,
    }
}
