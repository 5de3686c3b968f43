//! Namespaces: gives every name its full form, by the rules in [`crate::ast`].
//!
//! Two passes over the tree. The first collects what is defined; the second looks names up. A
//! qualified head (`x::p(...) :- ...`) is looked up among the plain definitions and then counts as
//! a definition itself, so that an event which only another module derives is found where it is
//! used.

use crate::ast::{Name, Statement, Term};
use tidemill_stdx::sorted::SortedSet;

/// Relations of the system that have plain names.
const SYSTEM: &[&str] = &["periodic", "ruleExecTable", "tupleTable"];

/// The role of a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Makes the relation, if it is a plain name.
    Define,
    Refer,
    /// Names a rule or a namespace.
    Label,
}

/// Resolves all names in `statements`.
pub(super) fn resolve(statements: &mut [Statement]) {
    let mut defined = SortedSet::new();
    let mut qualified_heads = Vec::new();
    let mut spaces = SortedSet::new();
    collect_spaces(statements, "", &mut spaces);
    visit_all(statements, "", &mut |name, role, space| {
        if role != Role::Define {
            return;
        }
        if let Some(absolute) = name.written.strip_prefix("::") {
            defined.insert(absolute.to_string());
        } else if name.written.contains("::") {
            qualified_heads.push((name.written.clone(), space.to_string()));
        } else {
            defined.insert(join(space, &name.written));
        }
    });
    let found: Vec<String> = qualified_heads
        .iter()
        .map(|(name, space)| qualified(name, space, &defined, &spaces))
        .collect();
    defined.extend(found);
    visit_all(statements, "", &mut |name, role, space| {
        name.resolved = match name.written.strip_prefix("::") {
            Some(absolute) => absolute.to_string(),
            None if role == Role::Label => join(space, &name.written),
            None if name.written.contains("::") => {
                qualified(&name.written, space, &defined, &spaces)
            }
            None if role == Role::Define => join(space, &name.written),
            None => plain(&name.written, space, &defined),
        };
    });
}

fn join(space: &str, name: &str) -> String {
    if space.is_empty() { name.to_string() } else { format!("{space}::{name}") }
}

/// The first defined one of `a::b::name`, `a::name`, `name` for the namespace `a::b`.
fn find(name: &str, space: &str, defined: &SortedSet<String>) -> Option<String> {
    let mut space = space;
    loop {
        let candidate = join(space, name);
        if defined.contains(&candidate) {
            return Some(candidate);
        }
        if space.is_empty() {
            return None;
        }
        space = space.rsplit_once("::").map_or("", |(outer, _)| outer);
    }
}

fn qualified(
    name: &str,
    space: &str,
    defined: &SortedSet<String>,
    spaces: &SortedSet<String>,
) -> String {
    let inside = || {
        let (module, last) = name.rsplit_once("::")?;
        Some(join(&find(module, space, spaces)?, last))
    };
    find(name, space, defined).or_else(inside).unwrap_or_else(|| name.to_string())
}

/// The full names of all namespaces, with those around them.
fn collect_spaces(statements: &[Statement], space: &str, spaces: &mut SortedSet<String>) {
    for statement in statements {
        let Statement::Namespace(it) = statement else { continue };
        let inner = inner_space(&it.name, space);
        let ends = inner.match_indices("::").map(|(at, _)| at).chain([inner.len()]);
        spaces.extend(ends.map(|end| inner[..end].to_string()));
        collect_spaces(&it.statements, &inner, spaces);
    }
}

/// The full name of a namespace that is opened in another.
fn inner_space(name: &Name, space: &str) -> String {
    match name.written.strip_prefix("::") {
        Some(absolute) => absolute.to_string(),
        None => join(space, &name.written),
    }
}

fn plain(name: &str, space: &str, defined: &SortedSet<String>) -> String {
    let unknown = || if SYSTEM.contains(&name) { name.to_string() } else { join(space, name) };
    find(name, space, defined).unwrap_or_else(unknown)
}

/// Calls `see` with every name, its role, and its namespace.
fn visit_all(
    statements: &mut [Statement],
    space: &str,
    see: &mut dyn FnMut(&mut Name, Role, &str),
) {
    for statement in statements {
        match statement {
            Statement::Materialize(it) => see(&mut it.name, Role::Define, space),
            Statement::Index(it) => see(&mut it.name, Role::Refer, space),
            Statement::WatchMod(it) => see(&mut it.name, Role::Refer, space),
            Statement::Export(it) => see(&mut it.name, Role::Refer, space),
            Statement::Sink(it) => see(&mut it.name, Role::Refer, space),
            Statement::Watch(it) | Statement::Trace(it) | Statement::TraceTable(it) => {
                see(&mut it.name, Role::Refer, space);
            }
            Statement::Stage(it) => {
                see(&mut it.input, Role::Refer, space);
                see(&mut it.output, Role::Define, space);
            }
            Statement::Namespace(it) => {
                see(&mut it.name, Role::Label, space);
                let inner = inner_space(&it.name, space);
                visit_all(&mut it.statements, &inner, see);
            }
            Statement::Fact(it) => {
                it.label.iter_mut().for_each(|label| see(label, Role::Label, space));
                see(&mut it.tuple.name, Role::Define, space);
            }
            Statement::Rule(it) => {
                it.label.iter_mut().for_each(|label| see(label, Role::Label, space));
                let role = if it.delete { Role::Refer } else { Role::Define };
                see(&mut it.head.name, role, space);
                it.body.iter_mut().for_each(|term| visit_term(term, space, see));
            }
            Statement::Query(it) => see(&mut it.pattern.name, Role::Refer, space),
        }
    }
}

fn visit_term(term: &mut Term, space: &str, see: &mut dyn FnMut(&mut Name, Role, &str)) {
    let functor = term.functor_mut();
    functor.into_iter().for_each(|functor| see(&mut functor.name, Role::Refer, space));
}
