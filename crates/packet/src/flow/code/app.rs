//! A definition as an app type.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tidemill_diag::Diagnostic;

use super::ast::{Definition, KeyDef, PortDef, RangeDef};
use super::lower::{HandlerSteps, KEY_TYPES, lower, lower_for, steps};
use crate::app::{
    App, BadValue, Config, ConfigError, Count, Declaration, Declared, Default, Fault, Instance, Io,
    Key, Mac, Pacing, Port, Reconfigured, Setting, Settings, Start, Value,
};
use crate::fanout::Fanout;
use crate::kernel::table::spec::TableSpec;
use crate::kernel::{Kernel, Running};

/// An app that is written in the language.
struct Defined {
    running: Running,
    definition: &'static Definition,
    declaration: &'static Declaration,
    fanout: Fanout,
    /// The values with which the kernel was made, of keys that are constants of it.
    constants: Vec<Option<Value>>,
}

/// Its config as it is written: the declaration has the types.
struct Given(Config);

impl Settings for Given {
    fn read(config: &Config) -> Result<Given, ConfigError> {
        Ok(Given(config.clone()))
    }
}

/// What all of them have in common; each has a declaration of its own.
static COMMON: Declaration = Declaration {
    name: "",
    about: "",
    keys: &[],
    ports: &[],
    pulls: false,
    begins: false,
    passes: true,
    exclusive: false,
    device: false,
    divides: false,
    kernel: true,
    source: None,
    definition: None,
    validate: check_ranges,
    construct,
    same: || std::any::TypeId::of::<Defined>(),
};

impl Declared for Defined {
    type Config = Given;

    fn declaration() -> &'static Declaration {
        &COMMON
    }
}

impl App for Defined {
    fn new(_: Given, _: &mut Start) -> Result<Defined, Fault> {
        Err(Fault::new("an app of the language is made of its definition"))
    }

    fn push(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.running.push(io);
        Ok(())
    }

    fn tick_every(&self) -> Option<Duration> {
        self.running.tick_every()
    }

    fn tick(&mut self, io: &mut Io) -> Result<(), Fault> {
        self.running.tick(io);
        Ok(())
    }

    fn kernel(&self) -> Option<&Running> {
        Some(&self.running)
    }

    /// While the keys that are constants have the same values the kernel stays, and its words
    /// change; else the app continues with another.
    fn reconfigure(&mut self, Given(config): Given) -> Reconfigured {
        let is_right = check_ranges(self.declaration, &config).is_ok();
        let lowered = lower_for(self.definition, &config, &self.fanout).0;
        let Some((kernel, words)) = lowered.filter(|_| is_right) else {
            return Reconfigured::Restart;
        };
        let constants = constants(self.definition, self.declaration, &config);
        if self.constants == constants {
            self.running.set_initial(&kernel, &words);
        } else {
            self.constants = constants;
            self.running.continue_as(kernel, &words);
        }
        Reconfigured::Kept
    }
}

fn definition_of(kind: &Declaration) -> Option<&'static Definition> {
    kind.definition?.downcast_ref()
}

fn construct(
    kind: &'static Declaration,
    config: &Config,
    start: &mut Start,
) -> Result<Instance, Fault> {
    let definition = definition_of(kind).ok_or_else(|| Fault::new("nothing defines it"))?;
    (kind.validate)(kind, config)
        .map_err(|error| Fault::new(format!("`{}`: {}", error.key, error.message)))?;
    let fanout = start.fanout().clone();
    let (lowered, found) = lower_for(definition, config, &fanout);
    let errors = || found.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ");
    let (kernel, _) = lowered.ok_or_else(|| Fault::new(errors()))?;
    let running = Running::start(kernel, start);
    let constants = constants(definition, kind, config);
    Ok(Instance::new(Defined { running, definition, declaration: kind, fanout, constants }))
}

/// The values of the keys that are constants of the kernel.
fn constants(definition: &Definition, kind: &Declaration, config: &Config) -> Vec<Option<Value>> {
    let keys = kind.keys.iter().zip(&definition.keys).filter(|(_, of)| of.is_const);
    keys.map(|(key, of)| config.get(key.name).or(of.default.as_ref()).cloned()).collect()
}

/// The first number of a config that is outside of the range of its key.
fn check_ranges(kind: &Declaration, config: &Config) -> Result<(), ConfigError> {
    let ranges = definition_of(kind).map_or(&[][..], |definition| &definition.keys);
    for (key, of) in kind.keys.iter().zip(ranges) {
        let given = config.get(key.name).or(of.default.as_ref());
        if let (Some(range), Some(Value::Integer(number))) = (&of.range, given)
            && let Some(message) = outside(range, *number)
        {
            return Err(ConfigError::new(key.name, message));
        }
    }
    Ok(())
}

/// What is said of a number outside of a range; nothing of one in it.
fn outside(range: &RangeDef, number: i128) -> Option<String> {
    let message = match *range {
        RangeDef { least: Some(least), .. } if number < least.into() => {
            format!("it must be {least} at least")
        }
        RangeDef { most: Some(most), .. } if number > most.into() => {
            format!("it must be {most} at most")
        }
        _ => return None,
    };
    Some(range.message.clone().unwrap_or(message))
}

/// What reads values of a type, and what it is called.
type Read = (fn(&Value) -> Result<(), BadValue>, &'static str);

fn reads<T: Setting>() -> Read {
    (|value| T::read(value).map(|_| ()), T::TYPE)
}

fn type_of(name: &str) -> Option<Read> {
    Some(match name {
        "u8" => reads::<u8>(),
        "u16" => reads::<u16>(),
        "u32" => reads::<u32>(),
        "u64" => reads::<u64>(),
        "bool" => reads::<bool>(),
        "ipv4" => reads::<Ipv4Addr>(),
        "ipv6" => reads::<Ipv6Addr>(),
        "mac" => reads::<Mac>(),
        _ => return None,
    })
}

/// All declarations there have been of apps that files define, by source: they are there for as
/// long as the process lives, as graphs name them, and a file that is loaded again defines the same
/// ones.
static KNOWN: Mutex<BTreeMap<&'static str, &'static Declaration>> = Mutex::new(BTreeMap::new());

/// The app type of a definition, its tables, and the errors of it; a type too if its program is
/// wrong, so that graphs can be checked.
pub fn declare(definition: &Definition) -> (&'static Declaration, Vec<TableSpec>, Vec<Diagnostic>) {
    let (kernel, found) = check(definition);
    let tables = kernel.map_or_else(Vec::new, |kernel| kernel.tables.clone());
    let mut all = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.get(definition.source.as_str()) {
        return (known, tables, found);
    }
    let definition: &'static Definition = Box::leak(Box::new(definition.clone()));
    let source = Some(definition.source.as_str());
    let declaration: &'static Declaration =
        Box::leak(Box::new(Declaration { source, ..declaration(definition) }));
    all.insert(&definition.source, declaration);
    (declaration, tables, found)
}

/// The app type of a definition that is part of the program, and its errors.
pub fn built_in(definition: Definition) -> (&'static Declaration, Vec<Diagnostic>) {
    let (_, found) = check(&definition);
    let declaration = declaration(Box::leak(Box::new(definition)));
    (Box::leak(Box::new(declaration)), found)
}

/// The kernel of a definition without config, and all errors.
fn check(definition: &Definition) -> (Option<Arc<Kernel>>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    for key in &definition.keys {
        check_key(key, &mut found);
    }
    let (kernel, errors) = lower(definition, &Config::new());
    found.extend(errors);
    (kernel, found)
}

/// The steps of each handler of an app type that a file defines; nothing of another one.
pub fn steps_of(declaration: &Declaration) -> Vec<HandlerSteps> {
    let defined = declaration.source.and(definition_of(declaration));
    defined.map_or_else(Vec::new, steps)
}

fn check_key(key: &KeyDef, found: &mut Vec<Diagnostic>) {
    let Some((read, _)) = type_of(&key.kind.text) else {
        let message = format!("there is no type `{}`", key.kind.text);
        let unknown = Diagnostic::error("unknown-key-type", key.kind.span, message);
        return found.push(unknown.help(format!("there are {}", KEY_TYPES.join(", "))));
    };
    if let Some(Err(bad)) = key.default.as_ref().map(read) {
        let message = format!("the default of `{}`: {bad}", key.called.text);
        found.push(Diagnostic::error("bad-value", key.name.span, message));
    }
    let Some(range) = &key.range else { return };
    if !key.kind.text.starts_with('u') {
        let message = format!("`{}` is no number", key.called.text);
        let wrong = Diagnostic::error("bad-value", range.span, message);
        return found.push(wrong.help("u8, u16, u32 and u64 have a range"));
    }
    if range.least > range.most && range.most.is_some() {
        let message = format!("no number is in the range of `{}`", key.called.text);
        let wrong = Diagnostic::error("bad-value", range.span, message);
        return found.push(wrong.help("the least number is the first"));
    }
    if let Some(Value::Integer(number)) = key.default
        && let Some(why) = outside(range, number)
    {
        let message = format!("the default of `{}`: {why}", key.called.text);
        found.push(Diagnostic::error("bad-value", range.span, message));
    }
}

fn declaration(definition: &'static Definition) -> Declaration {
    let key = |key: &'static KeyDef| {
        let (read, type_name) = type_of(&key.kind.text).unwrap_or_else(reads::<u64>);
        let default = key.default.as_ref().map(Default::Written);
        Key { name: &key.called.text, about: &key.about, type_name, default, read }
    };
    let port = |port: &'static PortDef| Port {
        name: &port.name.text,
        about: &port.about,
        direction: port.direction,
        pacing: Pacing::Either,
        count: if port.is_optional { Count::Optional } else { Count::One },
    };
    let about = match definition.about.as_str() {
        "" => "An app that the file defines.",
        about => about,
    };
    let keys: Vec<Key> = definition.keys.iter().map(key).collect();
    let ports: Vec<Port> = definition.ports.iter().map(port).collect();
    Declaration {
        name: &definition.name.text,
        about,
        keys: keys.leak(),
        ports: ports.leak(),
        definition: Some(definition),
        ..COMMON
    }
}
