//! The operators that programs can name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use tidemill_diag::nearest;

use super::files::{DataFiles, Folder};
use super::{Declaration, Operator, csv, tokenizer};

/// Operators by name: the built-in ones, and those that have been added.
#[derive(Clone)]
pub struct Registry {
    entries: Vec<Entry>,
    names: BTreeMap<String, usize>,
    context: Context,
}

/// What operators may use of the world.
#[derive(Clone)]
pub struct Context {
    /// Where files come from.
    pub files: Arc<dyn DataFiles>,
}

/// A name that has been given to another operator before.
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
        let context = Context { files };
        let mut registry = Registry { entries: Vec::new(), names: BTreeMap::new(), context };
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

    /// The declaration of an operator, by one of its names.
    pub fn find(&self, name: &str) -> Option<&Arc<Declaration>> {
        self.names.get(name).map(|&index| &self.entries[index].declaration)
    }

    /// A new instance of an operator.
    pub fn construct(&self, name: &str) -> Option<Box<dyn Operator>> {
        self.names.get(name).map(|&index| (self.entries[index].construct)(&self.context))
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
        f.debug_tuple("Registry").field(&self.names.keys()).finish()
    }
}

impl fmt::Display for NameTaken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is an operator of the name `{}` already", self.0)
    }
}

impl std::error::Error for NameTaken {}
