//! The declaration of an app type: one place for its name, keys and ports.

use std::any::Any;

use super::config::{Config, Value};
use super::fault::{ConfigError, Fault};
use super::instance::Instance;
use super::io::Start;
use super::setting::BadValue;

/// Which way packets go through a port.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Direction {
    /// Into the app.
    Input,
    /// Out of the app.
    Output,
}

/// At whose pace packets go through a port; this decides which apps the engine notifies of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pacing {
    /// They are pushed: the app handles them when they arrive.
    Push,
    /// They are pulled: the app takes them in its own `pull`, and is notified of the first.
    Pull,
    /// As the other side of the link has it. For apps that pass packets on.
    Either,
}

impl Pacing {
    /// Its name in the catalogue.
    pub fn word(self) -> &'static str {
        match self {
            Pacing::Push => "push",
            Pacing::Pull => "pull",
            Pacing::Either => "either",
        }
    }
}

/// The number of links that a port takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Count {
    /// Exactly one.
    One,
    /// One or none.
    Optional,
    /// Any number: graphs name such ports as they like.
    Many,
}

/// A port of an app type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Port {
    /// Its name; with [`Count::Many`] only what the catalogue calls it.
    pub name: &'static str,
    /// Its packets.
    pub about: &'static str,
    /// In or out.
    pub direction: Direction,
    /// Push, pull or either.
    pub pacing: Pacing,
    /// The number of links.
    pub count: Count,
}

/// The value of a key that is left out.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// Defined by the type of the app.
    Made(fn() -> Value),
    /// Defined by the file that defines the app.
    Written(&'static Value),
}

impl Default {
    /// The value.
    pub fn value(self) -> Value {
        match self {
            Default::Made(make) => make(),
            Default::Written(value) => value.clone(),
        }
    }
}

/// A config key of an app type.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// Its documentation.
    pub about: &'static str,
    /// What its values are, in words.
    pub type_name: &'static str,
    /// The value if it is left out; nothing if it must be there.
    pub default: Option<Default>,
    /// Whether a value is of its type.
    pub read: fn(&Value) -> Result<(), BadValue>,
}

/// An app type.
#[derive(Debug)]
pub struct Declaration {
    /// Its name.
    pub name: &'static str,
    /// Its documentation; the first line is a summary.
    pub about: &'static str,
    /// Its config keys.
    pub keys: &'static [Key],
    /// Its ports.
    pub ports: &'static [Port],
    /// It brings packets in: `pull` is called.
    pub pulls: bool,
    /// It is pulled before anything has arrived for it, even if its packets come from inputs.
    pub begins: bool,
    /// It merely passes packets on, so notifications leap over it.
    pub passes: bool,
    /// Its first setting names something that no two apps can have: a device, a file it writes.
    pub exclusive: bool,
    /// It exchanges frames with the device that its first setting names; in a simulation, with the
    /// simulated one.
    pub device: bool,
    /// It is a source or exclusive, and has only its part of the flows where a graph has several
    /// [instances](crate::fanout).
    pub divides: bool,
    /// It is given as code, which [`App::kernel`](super::App::kernel) returns; making one has no
    /// side effects.
    pub kernel: bool,
    /// The app's own checks of a config whose types are right.
    pub validate: fn(&Declaration, &Config) -> Result<(), ConfigError>,
    /// Starts an app.
    pub construct: fn(&'static Declaration, &Config, &mut Start) -> Result<Instance, Fault>,
    /// The definition of an app that a file defines.
    pub source: Option<&'static str>,
    /// What an app that is written in the language of graphs is made of.
    pub definition: Option<&'static (dyn Any + Send + Sync)>,
    /// Hands a new config to an app of this type.
    pub same: fn() -> std::any::TypeId,
}

/// An app type is itself only.
impl PartialEq for Declaration {
    fn eq(&self, other: &Declaration) -> bool {
        let is_same = self.name == other.name && (self.same)() == (other.same)();
        // Definitions live as long as the process.
        let address =
            |of: &Declaration| of.definition.map(std::ptr::from_ref).map(<*const _>::addr);
        is_same && self.source == other.source && address(self) == address(other)
    }
}

impl Declaration {
    /// Ports of one direction, those with names of their own first.
    pub fn ports(&self, direction: Direction) -> impl Iterator<Item = &'static Port> {
        self.ports.iter().filter(move |port| port.direction == direction)
    }

    /// The port that a link at `name` goes to.
    pub fn port(&self, direction: Direction, name: &str) -> Option<&'static Port> {
        let named = |port: &&Port| port.count != Count::Many && port.name == name;
        let many = |port: &&Port| port.count == Count::Many;
        self.ports(direction).find(named).or_else(|| self.ports(direction).find(many))
    }

    /// Whether packets are pushed into it.
    pub fn pushes(&self) -> bool {
        self.ports(Direction::Input).any(|port| port.pacing != Pacing::Pull)
    }

    /// All errors of a config: keys that do not exist, or are missing, or of another type, and then
    /// those of the app's own checks. With the key, where there is one.
    pub fn check(&self, config: &Config) -> Vec<(Option<String>, String)> {
        let mut errors = Vec::new();
        for (name, value) in config.entries() {
            match self.keys.iter().find(|key| key.name == name) {
                None => errors.push((Some(name.to_owned()), self.no_such_key(name))),
                Some(key) => {
                    if let Err(bad) = (key.read)(value) {
                        errors.push((Some(name.to_owned()), format!("`{name}`: {bad}")));
                    }
                }
            }
        }
        for key in self.keys {
            if key.default.is_none() && config.get(key.name).is_none() {
                let name = key.name;
                errors.push((None, format!("`{name}` is missing, {}", key.type_name)));
            }
        }
        if errors.is_empty()
            && let Err(ConfigError { key, message }) = (self.validate)(self, config)
        {
            let given = config.get(key).is_some();
            let message = if key.is_empty() { message } else { format!("`{key}`: {message}") };
            errors.push((given.then(|| key.to_owned()), message));
        }
        errors
    }

    fn no_such_key(&self, name: &str) -> String {
        format!("{} has no key `{name}`", self.name)
    }
}

/// A type with a declaration; [`declare!`](crate::declare) writes this.
pub trait Declared: Sized + 'static {
    /// Its config, typed.
    type Config: Settings;

    /// The declaration.
    fn declaration() -> &'static Declaration;
}

/// A config, typed; [`declare!`](crate::declare) writes this.
pub trait Settings: Sized {
    /// Reads a config that has been checked.
    ///
    /// # Errors
    /// The first error.
    fn read(config: &Config) -> Result<Self, ConfigError>;
}
