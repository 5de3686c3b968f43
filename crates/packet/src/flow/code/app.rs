//! A definition as an app type.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tidemill_diag::Diagnostic;

use super::ast::{Definition, KeyDef, PortDef};
use super::lower::{HandlerSteps, KEY_TYPES, lower, steps, words_of};
use crate::app::{
    App, BadValue, Config, ConfigError, Count, Declaration, Declared, Default, Fault, Instance, Io,
    Key, Mac, Pacing, Port, Reconfigured, Setting, Settings, Start, Value,
};
use crate::kernel::Running;
use crate::kernel::table::spec::TableSpec;

/// An app that a file defines.
struct Defined {
    running: Running,
    definition: &'static Definition,
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
    validate: |_| Ok(()),
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
        Err(Fault::new("an app that a file defines is made of its definition"))
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

    /// Keys are words, so an app continues with another config.
    fn reconfigure(&mut self, Given(config): Given) -> Reconfigured {
        for key in &self.definition.keys {
            let given = config.get(&key.name.text).or(key.default.as_ref());
            for (name, number) in words_of(key, given) {
                self.running.set_word(&name, number);
            }
        }
        Reconfigured::Kept
    }
}

fn construct(
    kind: &'static Declaration,
    config: &Config,
    start: &mut Start,
) -> Result<Instance, Fault> {
    let known = known().get(kind.source.unwrap_or_default()).copied();
    let Known { definition, .. } = known.ok_or_else(|| Fault::new("no file defines it"))?;
    let (kernel, found) = lower(definition, config);
    let errors = || found.iter().map(|one| one.message.as_str()).collect::<Vec<_>>().join("; ");
    let kernel = kernel.ok_or_else(|| Fault::new(errors()))?;
    Ok(Instance::new(Defined { running: Running::start(kernel, start), definition }))
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

/// A definition and its declaration, for as long as the process lives: graphs name them, and a file
/// that is loaded again defines the same ones.
#[derive(Clone, Copy)]
struct Known {
    definition: &'static Definition,
    declaration: &'static Declaration,
}

/// All definitions there have been, by source.
static KNOWN: Mutex<BTreeMap<&'static str, Known>> = Mutex::new(BTreeMap::new());

fn known() -> MutexGuard<'static, BTreeMap<&'static str, Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The app type of a definition, its tables, and the errors of it; a type too if its program is
/// wrong, so that graphs can be checked.
pub fn declare(definition: &Definition) -> (&'static Declaration, Vec<TableSpec>, Vec<Diagnostic>) {
    let mut found = Vec::new();
    for key in &definition.keys {
        check_key(key, &mut found);
    }
    let (kernel, errors) = lower(definition, &Config::new());
    let tables = kernel.map_or_else(Vec::new, |kernel| kernel.tables.clone());
    found.extend(errors);
    let mut all = known();
    if let Some(known) = all.get(definition.source.as_str()) {
        return (known.declaration, tables, found);
    }
    let definition: &'static Definition = Box::leak(Box::new(definition.clone()));
    let declaration: &'static Declaration = Box::leak(Box::new(declaration(definition)));
    all.insert(&definition.source, Known { definition, declaration });
    (declaration, tables, found)
}

/// The steps of each handler of an app type that a file defines; nothing of another one.
pub fn steps_of(declaration: &Declaration) -> Vec<HandlerSteps> {
    let known = known().get(declaration.source.unwrap_or_default()).copied();
    known.map_or_else(Vec::new, |known| steps(known.definition))
}

fn check_key(key: &KeyDef, found: &mut Vec<Diagnostic>) {
    let Some((read, _)) = type_of(&key.kind.text) else {
        let message = format!("there is no type `{}`", key.kind.text);
        let unknown = Diagnostic::error("unknown-key-type", key.kind.span, message);
        return found.push(unknown.help(format!("there are {}", KEY_TYPES.join(", "))));
    };
    if let Some(Err(bad)) = key.default.as_ref().map(read) {
        let message = format!("the default of `{}`: {bad}", key.name.text);
        found.push(Diagnostic::error("bad-value", key.name.span, message));
    }
}

fn declaration(definition: &'static Definition) -> Declaration {
    let key = |key: &'static KeyDef| {
        let (read, type_name) = type_of(&key.kind.text).unwrap_or_else(reads::<u64>);
        let default = key.default.as_ref().map(Default::Written);
        Key { name: &key.name.text, about: "", type_name, default, read }
    };
    let port = |port: &'static PortDef| Port {
        name: &port.name.text,
        about: "",
        direction: port.direction,
        pacing: Pacing::Either,
        count: if port.is_optional { Count::Optional } else { Count::One },
    };
    let keys: Vec<Key> = definition.keys.iter().map(key).collect();
    let ports: Vec<Port> = definition.ports.iter().map(port).collect();
    Declaration {
        name: &definition.name.text,
        about: "An app that the file defines.",
        keys: keys.leak(),
        ports: ports.leak(),
        source: Some(&definition.source),
        ..COMMON
    }
}
