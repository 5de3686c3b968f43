//! Some fields of a message, and nothing else: a sink that passes on what is selected.
//!
//! A path is names of fields joined by dots, such as `user.name`; of a message that a path ends
//! at, everything is selected. Lists are gone through, extensions stand in brackets.

use std::fmt;

use tidemill_stdx::hash::Map;

use crate::schema::{FieldId, MessageId, Schema};
use crate::sink::{Flow, Sink};

/// What is selected of a message; see the module.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The whole message is the first; by number.
    nodes: Vec<Node>,
}

/// What is selected of one message: nothing of a field, parts of it, or all.
#[derive(Clone, Debug, Default)]
struct Node {
    fields: Map<FieldId, Part>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Part {
    /// What the node says.
    Node(usize),
    All,
}

/// A path that leads nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathError {
    /// The path.
    pub path: String,
    /// What is wrong with it.
    pub message: String,
}

impl fmt::Display for PathError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "path `{}`: {}", self.path, self.message)
    }
}

impl std::error::Error for PathError {}

impl Selection {
    /// The selection of some paths in messages of one type.
    ///
    /// # Errors
    /// A path that leads nowhere.
    pub fn new<'p>(
        schema: &Schema,
        message: MessageId,
        paths: impl IntoIterator<Item = &'p str>,
    ) -> Result<Selection, PathError> {
        let mut selection = Selection { nodes: vec![Node::default()] };
        for path in paths {
            let added = selection.add(schema, message, path);
            added.map_err(|message| PathError { path: path.to_owned(), message })?;
        }
        Ok(selection)
    }

    fn add(&mut self, schema: &Schema, message: MessageId, path: &str) -> Result<(), String> {
        let (mut here, mut node) = (Some(message), 0);
        let mut names = names(path).peekable();
        while let Some(name) = names.next() {
            let Some(message) = here else {
                return Err(format!("`{name}` is asked of what is no message"));
            };
            let field = find(schema, message, name)?;
            here = schema.field(field).field_type().message();
            if names.peek().is_none() {
                self.nodes[node].fields.insert(field, Part::All);
                return Ok(());
            }
            let fresh = self.nodes.len();
            node = match *self.nodes[node].fields.entry(field).or_insert(Part::Node(fresh)) {
                // More than the path asks for is selected already.
                Part::All => return Ok(()),
                Part::Node(inner) => inner,
            };
            if node == fresh {
                self.nodes.push(Node::default());
            }
        }
        Err("it is empty".to_owned())
    }
}

/// The names of a path; dots in brackets belong to a name.
fn names(path: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0;
    path.split(move |c| {
        match c {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        c == '.' && depth == 0
    })
}

fn find(schema: &Schema, message: MessageId, name: &str) -> Result<FieldId, String> {
    let def = schema.message(message);
    let by_name = || def.field_by_name(name).or_else(|| def.field_by_json_name(name));
    let extension = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
    let found = match extension {
        None => by_name().map(|field| field.id()),
        Some(name) => {
            schema.extension_by_name(name).filter(|&field| schema.field(field).message() == message)
        }
    };
    found.ok_or_else(|| format!("message {} has no field `{name}`", def.full_name()))
}

/// Passes on what is selected.
#[derive(Debug)]
pub struct Select<'p, S> {
    selection: &'p Selection,
    /// What is selected of the messages around, outermost first, and of the one that comes last.
    open: Vec<Part>,
    /// How many messages are open of which nothing is selected.
    skipped: usize,
    /// The sink.
    pub sink: S,
}

impl<'p, S> Select<'p, S> {
    /// A sink before another.
    pub fn new(selection: &'p Selection, sink: S) -> Select<'p, S> {
        Select { selection, open: vec![Part::Node(0)], skipped: 0, sink }
    }

    #[inline]
    fn part(&self, field: FieldId) -> Option<Part> {
        if self.skipped > 0 {
            return None;
        }
        match *self.open.last()? {
            Part::All => Some(Part::All),
            Part::Node(node) => self.selection.nodes[node].fields.get(&field).copied(),
        }
    }

    #[inline]
    fn wants(&self, field: FieldId) -> bool {
        self.part(field).is_some()
    }
}

macro_rules! pass {
    ($($name:ident: $ty:ty),+) => {
        $(fn $name(&mut self, field: FieldId, value: $ty) -> Flow {
            if self.wants(field) { self.sink.$name(field, value) } else { Ok(()) }
        })+
    };
}

impl<'a, S: Sink<'a>> Sink<'a> for Select<'_, S> {
    fn start_message(&mut self, message: MessageId) -> Flow {
        self.open.truncate(1);
        self.skipped = 0;
        self.sink.start_message(message)
    }

    fn end_message(&mut self, message: MessageId) -> Flow {
        self.sink.end_message(message)
    }

    fn start_sub(&mut self, field: FieldId) -> Flow {
        match self.part(field) {
            None => {
                self.skipped += 1;
                Ok(())
            }
            Some(part) => {
                self.open.push(part);
                self.sink.start_sub(field)
            }
        }
    }

    fn end_sub(&mut self, field: FieldId) -> Flow {
        if self.skipped > 0 {
            self.skipped -= 1;
            return Ok(());
        }
        self.open.pop();
        self.sink.end_sub(field)
    }

    pass! {
        i64: i64, u64: u64, i32: i32, u32: u32, f64: f64, f32: f32, bool: bool,
        start_string: usize, string: &'a str, start_bytes: usize, bytes: &'a [u8]
    }

    fn end_string(&mut self, field: FieldId) -> Flow {
        if self.wants(field) { self.sink.end_string(field) } else { Ok(()) }
    }

    fn end_bytes(&mut self, field: FieldId) -> Flow {
        if self.wants(field) { self.sink.end_bytes(field) } else { Ok(()) }
    }

    fn unknown(&mut self, number: u32, raw: &'a [u8]) -> Flow {
        let all = self.skipped == 0 && self.open.last() == Some(&Part::All);
        if all { self.sink.unknown(number, raw) } else { Ok(()) }
    }

    fn unknown_element(&mut self, number: u32, value: u64) -> Flow {
        let all = self.skipped == 0 && self.open.last() == Some(&Part::All);
        if all { self.sink.unknown_element(number, value) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::BinarySink;
    use crate::proto::{Texts, compile};
    use crate::{Decoder, text};

    #[test]
    fn what_is_selected_comes_through_and_nothing_else() {
        let proto = "syntax = \"proto2\"; package p; message M { optional M inner = 1;
            repeated M list = 2; optional string some_name = 3; optional int32 n = 4;
            extensions 100; } extend M { optional int32 x = 100; }";
        let compiled = compile(&["a.proto"], &Texts::from_iter([("a.proto", proto)]));
        let schema = compiled.schema.unwrap();
        let mapping = crate::json::Mapping::new(&schema);
        let message = schema.message_by_name("p.M").unwrap();
        let bytes = text::parse(
            &mapping,
            message,
            b"n: 1 inner { n: 2 some_name: 'a' inner { n: 3 } } [p.x]: 5
              list { n: 4 list { n: 5 } } list { some_name: 'b' }",
        )
        .unwrap();
        let selected = |paths: &[&str]| {
            let selection = Selection::new(&schema, message, paths.iter().copied()).unwrap();
            let mut sink = Select::new(&selection, BinarySink::new(&schema));
            Decoder::new(&schema).decode(message, &bytes, &mut sink).unwrap();
            let text = text::print(&mapping, message, sink.sink.bytes()).unwrap();
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(selected(&["n", "[p.x]"]), "n: 1 [p.x]: 5");
        assert_eq!(
            selected(&["inner"]),
            "inner { some_name: \"a\" inner { n: 3 } n: 2 }".replace(
                "some_name: \"a\" inner { n: 3 } n: 2",
                "n: 2 some_name: \"a\" inner { n: 3 }"
            )
        );
        assert_eq!(
            selected(&["inner.inner.n", "list.n"]),
            "inner { inner { n: 3 } } list { n: 4 } list { }"
        );
        assert_eq!(selected(&["list.someName", "list"]), selected(&["list"]));
        for bad in ["", "m", "n.m", "inner.", "[p.y]"] {
            assert!(Selection::new(&schema, message, [bad]).is_err(), "{bad}");
        }
    }
}
