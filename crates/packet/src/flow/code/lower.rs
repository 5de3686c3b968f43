//! From a definition to a kernel, or to a list of its errors.

use std::sync::Arc;

use tidemill_diag::{Diagnostic, Span, meant};

use super::ast::{Constant, Definition, On, Statement, TableDef, Word};
use super::headers::{Field, Header};
use super::names::{
    DeclaredHeader, DeclaredMeter, DeclaredTable, FoundEntry, Inlined, Meaning, Present, Type,
    upper,
};
use crate::app::{Config, Direction};
use crate::fanout::Fanout;
use crate::kernel::table::spec::halves;
use crate::kernel::{
    BlockId, Builder, Event, Expr as Computed, Kernel, Operator, TABLE_COUNTERS, Value,
};

/// Steps of a handler at most, blocks included: all that there are.
pub const STEPS_MAX: usize = 4096;

/// Types of config keys, as `super::app` reads them.
pub const KEY_TYPES: [&str; 8] = ["u8", "u16", "u32", "u64", "bool", "ipv4", "ipv6", "mac"];

/// The built-in counters of each app, besides those of drops.
const APP_COUNTERS: [&str; 2] = ["packets", "restarts"];

/// What every program can read.
const READABLE: [(&str, Computed); 4] = [
    ("length", Computed::Length),
    ("wire_length", Computed::WireLength),
    ("now", Computed::Now),
    ("mark", Computed::Mark),
];

/// A definition while it is lowered.
pub(super) struct Lower<'d> {
    pub(super) definition: &'d Definition,
    /// The instances of the graph.
    pub(super) fanout: Fanout,
    pub(super) build: Builder,
    /// The block that is written.
    pub(super) here: BlockId,
    pub(super) names: Vec<(String, Meaning)>,
    /// Keys and what is computed of them, as constants.
    pub(super) constants: Vec<(String, Meaning)>,
    /// The words that the config determines.
    pub(super) config_words: Vec<u32>,
    /// A value of the config is computed.
    pub(super) is_computed: bool,
    /// Bytes that the packet has at least.
    pub(super) bytes: u32,
    pub(super) present: Vec<Present>,
    /// By number: tunnels, then those of the program.
    pub(super) headers: Vec<DeclaredHeader>,
    /// By number.
    pub(super) tables: Vec<DeclaredTable>,
    pub(super) meters: Vec<DeclaredMeter>,
    /// Entries that have been found.
    pub(super) found_entries: Vec<FoundEntry>,
    /// The table whose entry expires in the current handler.
    pub(super) expiring: Option<u32>,
    /// There is none in handlers of time.
    pub(super) has_packet: bool,
    pub(super) reasons: Vec<String>,
    pub(super) scratch: Vec<(String, u32)>,
    /// Functions that are inlined here, each in the one before.
    pub(super) inlined: Vec<Inlined>,
    /// Functions that have been inlined somewhere, by number.
    pub(super) checked_functions: Vec<usize>,
    pub(super) found: Vec<Diagnostic>,
    pub(super) is_too_long: bool,
    /// Steps before the current handler.
    pub(super) first_step: usize,
    /// Steps of each handler.
    steps: Vec<HandlerSteps>,
}

/// Steps of a handler, blocks included.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HandlerSteps {
    /// What follows `on`.
    pub handler: String,
    /// All that there are, whatever way a packet takes.
    pub steps: usize,
}

/// The steps of each handler of a definition that is right.
pub fn steps(definition: &Definition) -> Vec<HandlerSteps> {
    let mut lower = Lower::new(definition, Fanout::default());
    lower.lower(&Config::new());
    lower.steps
}

/// The kernel of a definition; nothing, if there is an error. The config must fit its keys; a key
/// that it does not have is 0.
pub fn lower(definition: &Definition, config: &Config) -> (Option<Arc<Kernel>>, Vec<Diagnostic>) {
    let (lowered, found) = lower_for(definition, config, &Fanout::default());
    (lowered.map(|(kernel, _)| kernel), found)
}

/// A kernel, and those of its words that the config determines.
pub type Lowered = (Arc<Kernel>, Vec<u32>);

/// The same for an instance of a graph.
pub fn lower_for(
    definition: &Definition,
    config: &Config,
    fanout: &Fanout,
) -> (Option<Lowered>, Vec<Diagnostic>) {
    let mut lower = Lower::new(definition, fanout.clone());
    lower.lower(config);
    let Lower { build, mut found, config_words, .. } = lower;
    if !found.is_empty() {
        return (None, found);
    }
    match build.finish() {
        Ok(kernel) => (Some((kernel, config_words)), found),
        Err(errors) => {
            let message = format!("the program is no kernel: {errors}");
            found.push(Diagnostic::error("bad-program", definition.name.span, message));
            (None, found)
        }
    }
}

impl<'d> Lower<'d> {
    fn new(definition: &'d Definition, fanout: Fanout) -> Lower<'d> {
        Lower {
            definition,
            fanout,
            build: Builder::new(&definition.name.text),
            here: BlockId::new(0),
            names: Vec::new(),
            constants: Vec::new(),
            config_words: Vec::new(),
            is_computed: false,
            bytes: 0,
            present: Vec::new(),
            headers: Vec::new(),
            tables: Vec::new(),
            meters: Vec::new(),
            found_entries: Vec::new(),
            expiring: None,
            has_packet: true,
            reasons: Vec::new(),
            scratch: Vec::new(),
            inlined: Vec::new(),
            checked_functions: Vec::new(),
            found: Vec::new(),
            is_too_long: false,
            first_step: 0,
            steps: Vec::new(),
        }
    }
}

impl Lower<'_> {
    fn lower(&mut self, config: &Config) {
        self.declare(config);
        self.handle();
        self.handle_time();
        self.check_functions();
    }

    fn record_steps(&mut self, handler: String) {
        let steps = self.build.steps() - self.first_step;
        self.steps.push(HandlerSteps { handler, steps });
    }

    pub(super) fn error(&mut self, code: &'static str, span: Span, message: String, help: &str) {
        let diagnostic = Diagnostic::error(code, span, message).help(help);
        // Loops are unrolled: errors in them are reported once.
        if !self.found.contains(&diagnostic) {
            self.found.push(diagnostic);
        }
    }

    fn declare(&mut self, config: &Config) {
        let definition = self.definition;
        self.declare_headers();
        self.declare_functions();
        self.declare_keys(config);
        self.declare_computed();
        for word in &definition.words {
            let meaning = if word.is_counter {
                self.check_counter(&word.name);
                Meaning::Counter(self.build.counter(&word.name.text))
            } else {
                let name = &word.name.text;
                match word.initial {
                    Constant::Number(number) => {
                        Meaning::Word(self.build.state(name, number), Type::Number, true)
                    }
                    Constant::Bool(truth) => {
                        Meaning::Word(self.build.state(name, truth.into()), Type::Bool, true)
                    }
                    Constant::Ipv6(address) => {
                        let [high, low] = halves(address);
                        let high = self.build.state(&upper(name), high);
                        Meaning::Address([high, self.build.state(name, low)], true)
                    }
                }
            };
            self.name(&word.name, meaning);
        }
        for table in &definition.tables {
            let number = self.declare_table(table);
            self.name(&table.name, Meaning::Table(number));
        }
        for meter in &definition.meters {
            self.declare_meter(meter);
        }
        let inputs = definition.ports.iter().filter(|port| port.direction == Direction::Input);
        if inputs.count() == 0 {
            let help = "write `input in;` in `ports`";
            let message = "an app that is defined here has an input".to_owned();
            self.error("bad-ports", definition.name.span, message, help);
        }
        for (at, port) in definition.ports.iter().enumerate() {
            if definition.ports[..at].iter().any(|other| other.name.text == port.name.text) {
                let message = format!("there are two ports `{}`", port.name.text);
                self.error("duplicate-name", port.name.span, message, "give one another name");
            }
        }
    }

    /// Reports a counter that has the name of a built-in one.
    fn check_counter(&mut self, name: &Word) {
        let text = name.text.as_str();
        let is_of = |table: &TableDef| {
            let rest = text.strip_prefix(table.name.text.as_str());
            rest.and_then(|rest| rest.strip_prefix('_'))
                .is_some_and(|rest| TABLE_COUNTERS.contains(&rest))
        };
        let table = self.definition.tables.iter().find(|table| is_of(table));
        let message = if APP_COUNTERS.contains(&text) {
            format!("`{text}` is counted of each app")
        } else if text.starts_with("drop_") {
            "names with `drop_` count what is dropped".to_owned()
        } else if let Some(table) = table {
            format!("`{text}` is counted of the table `{}`", table.name.text)
        } else {
            return;
        };
        self.error("duplicate-name", name.span, message, "choose another name");
    }

    /// Gives a name a meaning, if it has none.
    pub(super) fn name(&mut self, word: &Word, meaning: Meaning) {
        let text = word.text.as_str();
        if self.header_named(text).is_some() || self.is_reserved(text) {
            let message = format!("`{text}` is a name of the language");
            self.error("duplicate-name", word.span, message, "choose another name");
        } else if self.names.iter().any(|(name, _)| name == text) {
            let message = format!("`{text}` has a meaning here already");
            self.error("duplicate-name", word.span, message, "choose another name");
        }
        self.names.push((text.to_owned(), meaning));
    }

    /// Handlers of packets: they begin with a test of the packet's input.
    fn handle(&mut self) {
        let definition = self.definition;
        let inputs = definition.ports.iter().filter(|port| port.direction == Direction::Input);
        let inputs: Vec<&Word> = inputs.map(|port| &port.name).collect();
        let mut ways: Vec<(&[Word], &[Statement])> = Vec::new();
        let (mut handled, mut are_known) = (Vec::<&Word>::new(), true);
        for (on, body) in &definition.handlers {
            let On::Packet(ports) = on else { continue };
            let before = handled.len();
            for port in ports {
                self.port(port, Direction::Input);
                are_known &= inputs.iter().any(|input| input.text == port.text);
                if handled.iter().any(|other| other.text == port.text) {
                    let message = format!("there are two handlers of packets of `{}`", port.text);
                    self.error("duplicate-name", port.span, message, "write one for each input");
                } else {
                    handled.push(port);
                }
            }
            if handled.len() > before {
                ways.push((ports, body));
            }
        }
        if ways.is_empty() {
            let message = "the app does nothing with its packets".to_owned();
            let help = "write `on packet(in) { ... }`";
            return self.error("no-handler", definition.name.span, message, help);
        }
        for input in inputs.iter().filter(|_| are_known) {
            if handled.iter().all(|port| port.text != input.text) {
                let message = format!("the packets of `{}` have no handler", input.text);
                let help = format!("write `on packet({}) {{ ... }}`", input.text);
                self.error("no-handler", input.span, message, &help);
            }
        }
        for (at, (ports, statements)) in ways.iter().enumerate() {
            self.first_step = self.build.steps() - 1;
            let mut others = Vec::new();
            if at + 1 < ways.len() {
                let mut is_one = self.build.constant(0);
                for port in *ports {
                    let is_it = self.is_from(port);
                    is_one = self.build.binary(Operator::Or, is_one, is_it);
                }
                self.guard(is_one, &mut others);
            }
            self.present.clear();
            self.bytes = 0;
            if !self.statements(statements) && !self.is_too_long {
                let message =
                    "a packet may come to the end of the handler without a verdict".to_owned();
                let help = "end with `send port;` or `drop reason;`";
                self.error("no-verdict", ports[0].span, message, help);
            }
            let names: Vec<&str> = ports.iter().map(|port| port.text.as_str()).collect();
            self.record_steps(format!("packet({})", names.join(", ")));
            others.into_iter().for_each(|other| self.at(other));
        }
    }

    /// Whether a packet has come by an input.
    pub(super) fn is_from(&mut self, port: &Word) -> Value {
        let number = self.port(port, Direction::Input);
        let input = self.build.value(Computed::Input);
        self.with(Operator::Eq, input, number.into())
    }

    /// Handlers without a packet.
    fn handle_time(&mut self) {
        let definition = self.definition;
        let mut seen: Vec<Event> = Vec::new();
        for (on, statements) in &definition.handlers {
            let (word, event) = match on {
                On::Packet(_) => continue,
                On::Tick(word, every_ns) => (word, Some(Event::Tick(*every_ns))),
                On::Expire(word) => (word, self.expiring_table(word).map(Event::Expire)),
            };
            let Some(event) = event else { continue };
            let is_tick = matches!(event, Event::Tick(_));
            if seen.iter().any(|of| *of == event || is_tick && matches!(of, Event::Tick(_))) {
                let message = format!("there are two handlers of `{}`", word.text);
                self.error("duplicate-name", word.span, message, "write one");
                continue;
            }
            seen.push(event);
            self.begin_handler(event);
            if !self.statements(statements) {
                self.build.take();
            }
            self.record_steps(match on {
                On::Expire(table) => format!("expire({})", table.text),
                _ => word.text.clone(),
            });
        }
    }

    fn begin_handler(&mut self, event: Event) {
        self.build.handler(event);
        self.first_step = 0;
        self.here = BlockId::new(0);
        self.present.clear();
        self.found_entries.clear();
        (self.has_packet, self.expiring, self.bytes) = (false, None, 0);
        if let Event::Expire(table) = event {
            let entry = self.build.value(Computed::Entry(table));
            self.found_entries.push(FoundEntry { table, entry, is_gone: false });
            self.expiring = Some(table);
        }
    }

    /// Whether there is a packet; reports an error where there is none.
    pub(super) fn needs_packet(&mut self, span: Span) -> bool {
        if !self.has_packet {
            let message = "there is no packet here".to_owned();
            let help = "packets are handled in `on packet(in) { ... }`";
            self.error("no-packet", span, message, help);
        }
        self.has_packet
    }

    /// The table that a name denotes.
    pub(super) fn table_of(&self, name: &str) -> Option<u32> {
        let found = self.names.iter().rev().find(|(text, _)| text == name);
        match found {
            Some((_, Meaning::Table(table))) => Some(*table),
            _ => None,
        }
    }

    /// The number of a port among those of its direction.
    pub(super) fn port(&mut self, word: &Word, direction: Direction) -> u32 {
        let ports = self.definition.ports.iter().filter(|port| port.direction == direction);
        let names: Vec<&str> = ports.map(|port| port.name.text.as_str()).collect();
        if let Some(at) = names.iter().position(|name| *name == word.text) {
            return at as u32;
        }
        let kind = if direction == Direction::Input { "input" } else { "output" };
        let message = format!("there is no {kind} `{}`", word.text);
        let is_other = self.definition.ports.iter().any(|port| port.name.text == word.text);
        let help = meant(&word.text, names.iter().copied(), || match (is_other, direction) {
            (true, Direction::Input) => format!("`{}` is an output", word.text),
            (true, Direction::Output) => format!("`{}` is an input", word.text),
            (false, _) => format!("declare it in `ports`: `{kind} {};`", word.text),
        });
        self.error("no-such-port", word.span, message, &help);
        0
    }

    pub(super) fn at(&mut self, block: BlockId) {
        self.here = block;
        self.build.at(block);
    }

    /// Of a value and a number.
    pub(super) fn with(&mut self, operator: Operator, value: Value, number: u64) -> Value {
        let number = self.build.constant(number);
        self.build.binary(operator, value, number)
    }

    pub(super) fn reason(&mut self, name: &str) -> u32 {
        if let Some(at) = self.reasons.iter().position(|reason| reason == name) {
            return at as u32;
        }
        self.reasons.push(name.to_owned());
        self.build.reason(name)
    }

    /// A local word of the lowering's own; no name of a program begins as its name does.
    pub(super) fn scratch(&mut self, name: &str) -> u32 {
        if let Some((_, word)) = self.scratch.iter().find(|(of, _)| of == name) {
            return *word;
        }
        let word = self.build.local(name);
        self.scratch.push((name.to_owned(), word));
        word
    }

    pub(super) fn present(&self, header: Header) -> Option<Present> {
        let mut known = self.present.iter().rev().filter(|found| !found.is_gone);
        known.find(|found| found.header == header).copied()
    }

    pub(super) fn meaning(&mut self, name: &Word) -> Option<Meaning> {
        let found = self.names.iter().rev().find(|(text, _)| *text == name.text);
        if let Some((_, meaning)) = found {
            return Some(*meaning);
        }
        if let Some((_, read)) = READABLE.iter().find(|(text, _)| *text == name.text) {
            return Some(Meaning::Computed(*read));
        }
        let names = self.names.iter().map(|(text, _)| text.as_str());
        let names = names.chain(READABLE.iter().map(|(text, _)| *text));
        let other = if self.inlined.is_empty() {
            "declare it with `let`, `var`, `state` or `counter`, or as a key"
        } else {
            "a function sees its parameters, its variables and the keys of the app"
        };
        let help = meant(&name.text, names, || other.to_owned());
        let message = format!("there is no `{}`", name.text);
        self.error("unknown-name", name.span, message, &help);
        None
    }

    /// Whether a name is taken by the language.
    pub(super) fn is_reserved(&self, name: &str) -> bool {
        READABLE.iter().any(|(text, _)| *text == name)
    }

    pub(super) fn header(&mut self, word: &Word) -> Option<Header> {
        if let Some(header) = self.header_named(&word.text) {
            return Some(header);
        }
        let declared = self.headers.iter().map(|header| header.name.clone());
        let known = Header::NAMES.iter().map(|(_, name)| (*name).to_owned());
        let names: Vec<String> = known.chain(declared).collect();
        let help = meant(&word.text, names.iter().map(String::as_str), || {
            format!("there are {}", names.join(", "))
        });
        let message = format!("there is no header `{}`", word.text);
        self.error("unknown-header", word.span, message, &help);
        None
    }

    /// The packet may lack a header.
    pub(super) fn absent(&mut self, header: &Word) {
        let message = format!("the packet may have no {} header here", header.text);
        let help = format!("write `when {} {{ ... }}` around it", header.text);
        self.error("absent-header", header.span, message, &help);
    }

    pub(super) fn field_of(&mut self, header: &Word, field: &Word) -> Option<(Present, Field)> {
        if !self.needs_packet(header.span) {
            return None;
        }
        let found = self.header(header)?;
        let known = self.field_named(found, field)?;
        let Some(at) = self.present(found) else {
            self.absent(header);
            return None;
        };
        Some((at, known))
    }
}
