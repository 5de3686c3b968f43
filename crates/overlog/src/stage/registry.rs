//! The operators that programs can name.

use std::fmt;
use std::sync::Arc;

use tidemill_diag::{Span, nearest};
use tidemill_relation::Messages;
use tidemill_stdx::sorted::SortedMap;

use super::context::{Context, Readable};
use super::files::{DataFiles, Folder};
use super::{Declaration, Family, Missing, Operator, csv, tokenizer};

/// Operators by name: the built-in ones, and those that have been added.
#[derive(Clone)]
pub struct Registry {
    entries: Vec<Entry>,
    names: SortedMap<String, usize>,
    families: Vec<Arc<dyn Family>>,
    messages: Option<Arc<dyn Messages>>,
    context: Context,
}

/// A name that another operator has already.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameTaken(pub String);

type Construct = Arc<dyn Fn(&Context) -> Box<dyn Operator> + Send + Sync>;

#[derive(Clone)]
struct Entry {
    declaration: Arc<Declaration>,
    construct: Construct,
}

impl Registry {
    /// The built-in operators, which open files through `files`.
    pub fn new(files: Arc<dyn DataFiles>) -> Registry {
        let context = Context { files, readable: Readable::All };
        let mut registry = Registry {
            entries: Vec::new(),
            names: SortedMap::new(),
            families: Vec::new(),
            messages: None,
            context,
        };
        registry.enter(tokenizer::declaration(), Arc::new(tokenizer::operator));
        registry.enter(csv::tuple_declaration(), Arc::new(csv::tuple_operator));
        registry.enter(csv::plain_declaration(), Arc::new(csv::plain_operator));
        registry
    }

    /// Adds an operator; `construct` makes the instance of each node that runs it.
    ///
    /// # Errors
    /// One of its names is taken; nothing is added.
    pub fn add(
        &mut self,
        declaration: Declaration,
        construct: impl Fn(&Context) -> Box<dyn Operator> + Send + Sync + 'static,
    ) -> Result<(), NameTaken> {
        if let Some(taken) = declaration.names().find(|name| self.names.contains_key(*name)) {
            return Err(NameTaken(taken.to_owned()));
        }
        self.enter(declaration, Arc::new(construct));
        Ok(())
    }

    fn enter(&mut self, declaration: Declaration, construct: Construct) {
        let index = self.entries.len();
        self.names.extend(declaration.names().map(|name| (name.to_owned(), index)));
        self.entries.push(Entry { declaration: Arc::new(declaration), construct });
    }

    /// Operators read files, but no pipes, so that runs repeat.
    pub fn refuse_pipes(&mut self) {
        self.context.readable = Readable::Repeatable;
    }

    /// Adds operators that are made for the names that programs use, in place of those of the
    /// same prefix.
    pub fn add_family(&mut self, family: Arc<dyn Family>) {
        self.families.retain(|one| one.prefix() != family.prefix());
        self.families.push(family);
    }

    /// Sets the message types that `f_decode` and `f_encode` know.
    pub fn set_messages(&mut self, messages: Arc<dyn Messages>) {
        self.messages = Some(messages);
    }

    /// The message types that `f_decode` and `f_encode` know.
    pub fn messages(&self) -> Option<&Arc<dyn Messages>> {
        self.messages.as_ref()
    }

    /// The counters of all families, as [`Family::counters`] shows them.
    pub fn counters(&self, show: &mut dyn FnMut(&str, &str, u64)) {
        self.families.iter().for_each(|family| family.counters(show));
    }

    fn family(&self, name: &str) -> Option<&Arc<dyn Family>> {
        self.families.iter().find(|family| name.starts_with(family.prefix()))
    }

    /// The declaration of an operator, by one of its names.
    pub fn find(&self, name: &str) -> Option<Arc<Declaration>> {
        match self.names.get(name) {
            Some(&index) => Some(self.entries[index].declaration.clone()),
            None => self.family(name)?.declaration(name).ok().map(Arc::new),
        }
    }

    /// Why there is no operator of a name that belongs to a family.
    pub fn missing(&self, name: &str) -> Option<Missing> {
        self.family(name)?.declaration(name).err()
    }

    /// The place in the sources of the program that a name of a family refers to.
    pub fn source(&self, name: &str) -> Option<Span> {
        self.family(name)?.source(name)
    }

    /// A new instance of an operator.
    pub fn construct(&self, name: &str) -> Option<Box<dyn Operator>> {
        match self.names.get(name) {
            Some(&index) => Some((self.entries[index].construct)(&self.context)),
            None => self.family(name)?.construct(name),
        }
    }

    /// All declarations, in the order in which they were added.
    pub fn declarations(&self) -> impl Iterator<Item = &Declaration> {
        self.entries.iter().map(|entry| &*entry.declaration)
    }

    /// The name that `name` may be a misspelling of.
    pub fn nearest(&self, name: &str) -> Option<&str> {
        nearest(name, self.names.keys().map(String::as_str))
    }
}

/// The built-in operators; files are those of the current folder.
impl Default for Registry {
    fn default() -> Registry {
        Registry::new(Arc::new(Folder::new(".")))
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Registry").field(&self.names.keys().collect::<Vec<_>>()).finish()
    }
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is an operator of the name `{}` already", self.0)
    }
}

impl std::error::Error for NameTaken {}
