//! The app types that graphs may name, and their description, printed from the declarations.

use std::fmt::Write;

use super::{Count, Declaration, Direction, Key, Port};

/// Names of app types.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    types: Vec<&'static Declaration>,
}

impl Catalogue {
    /// These types, by name; of two with one name the later holds.
    pub fn new(types: &[&'static Declaration]) -> Catalogue {
        let mut catalogue = Catalogue::default();
        for declaration in types {
            catalogue.add(declaration);
        }
        catalogue
    }

    /// Adds a type, in place of one with its name.
    pub fn add(&mut self, declaration: &'static Declaration) {
        match self.types.binary_search_by_key(&declaration.name, |one| one.name) {
            Ok(at) => self.types[at] = declaration,
            Err(at) => self.types.insert(at, declaration),
        }
    }

    /// The type of a name.
    pub fn get(&self, name: &str) -> Option<&'static Declaration> {
        let at = self.types.binary_search_by_key(&name, |one| one.name).ok()?;
        Some(self.types[at])
    }

    /// All types, by name.
    pub fn types(&self) -> &[&'static Declaration] {
        &self.types
    }

    /// One line per type.
    pub fn list(&self) -> String {
        let width = self.types.iter().map(|one| one.name.len()).max().unwrap_or(0);
        let mut out = String::new();
        for declaration in &self.types {
            // Writing to a string cannot fail, here and below.
            let (name, about) = (declaration.name, declaration.summary());
            let _ = writeln!(out, "{name:width$}  {about}");
        }
        out
    }
}

/// Lines of documentation without the blank that `///` leaves before each.
fn lines(about: &'static str) -> impl Iterator<Item = &'static str> {
    about.lines().map(|line| line.strip_prefix(' ').unwrap_or(line))
}

impl Declaration {
    /// The first sentence of what it does, on one line.
    pub fn summary(&self) -> String {
        let paragraph = lines(self.about).take_while(|line| !line.is_empty());
        let text = paragraph.collect::<Vec<_>>().join(" ");
        match text.split_once(". ") {
            Some((sentence, _)) => format!("{sentence}."),
            None => text,
        }
    }

    /// All that graphs need to know of it.
    pub fn describe(&self) -> String {
        let mut out = format!("{}\n", self.name);
        lines(self.about).for_each(|line| paragraph(&mut out, "  ", line));
        out.push_str("\nconfig\n");
        self.keys.iter().for_each(|key| key.describe(&mut out));
        if self.keys.is_empty() {
            out.push_str("  nothing\n");
        }
        out.push_str("\nports\n");
        self.ports.iter().for_each(|port| port.describe(&mut out));
        let traits = [
            (self.pulls, "brings packets in"),
            (self.begins, "begins before anything has come"),
            (self.passes, "passes packets on"),
            (self.exclusive, "not shared by nodes"),
            (self.kernel, "given as code"),
        ];
        let traits: Vec<&str> = traits.iter().filter(|one| one.0).map(|one| one.1).collect();
        if !traits.is_empty() {
            let _ = writeln!(out, "\n{}", traits.join(", "));
        }
        out
    }
}

fn paragraph(out: &mut String, indent: &str, line: &str) {
    let indent = if line.is_empty() { "" } else { indent };
    let _ = writeln!(out, "{indent}{line}");
}

impl Key {
    fn describe(&self, out: &mut String) {
        let _ = match self.default {
            None => writeln!(out, "  {}: {}, must be given", self.name, self.type_name),
            Some(default) => {
                writeln!(out, "  {}: {}, default {}", self.name, self.type_name, default.value())
            }
        };
        lines(self.about).for_each(|line| paragraph(out, "    ", line));
    }
}

impl Port {
    fn describe(&self, out: &mut String) {
        let direction = match self.direction {
            Direction::Input => "input",
            Direction::Output => "output",
        };
        let count = match self.count {
            Count::One => "",
            Count::Optional => ", may stay without link",
            Count::Many => ", any number under any names",
        };
        let _ = writeln!(out, "  {}: {direction}, {}{count}", self.name, self.pacing.word());
        lines(self.about).for_each(|line| paragraph(out, "    ", line));
    }
}
