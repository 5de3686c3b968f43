//! Reloads the program of a run: replaces the packet graph, rules and components by difference;
//! other changes leave the run as it is, or restart it.

use std::sync::Arc;

use tidemill_cl::ir::succession::Succession;
use tidemill_event::Loop;
use tidemill_overlog::control::{End, RULES_BYTES_MAX, Status};
use tidemill_overlog::fleet::{self, Switched};
use tidemill_overlog::node::{Emptied, Program as Rules};
use tidemill_packet::graph::{AppSpec, Graph};
use tidemill_stdx::sorted::SortedSet;

use super::emptied::note_emptied;
use super::parts::rules_of;
use super::pending::Pending;
use super::{Machine, Source, agree, nodes, posts, replace_components};
use crate::borders::{self, instances};
use crate::error::Error;
use crate::program::{FileKind, Kinds, Revision};
use crate::reload::OnChange;
use crate::watched::Watched;

/// The notice that the old rules stay.
const OLD_RULES: &str = "the old rules go on";

/// The new version of the program, compared with the running one.
struct Next {
    revision: Revision,
    /// The kinds of files that differ, except for packet graphs.
    changed: Kinds,
    /// The succession from the old components to the new, if there are any; the revision uses its
    /// numbers.
    succession: Option<Succession>,
}

impl Next {
    fn new(source: &Source, mut revision: Revision) -> Next {
        let changed = source.outline.changed(&revision.outline);
        let both = source.versions.as_ref().zip(revision.components.program.as_ref());
        let succession = both.map(|(running, next)| running.with(next));
        if let Some(succession) = &succession {
            revision.borders.renumber(succession);
        }
        Next { revision, changed, succession }
    }
}

/// Reloads the program if the content of one of its files has changed.
pub(crate) fn look(machine: &mut Machine, events: &mut Loop<Machine>) {
    let files = machine.source.as_mut().and_then(|source| source.files.as_mut());
    if files.is_some_and(Watched::have_changed) {
        reload(machine, events);
    }
}

/// Reloads the program from its files, as far as it can be replaced.
pub(crate) fn reload(machine: &mut Machine, events: &mut Loop<Machine>) {
    let Some(mut source) = machine.source.take() else { return };
    let parsed = (source.read)();
    let program = parsed.program(&source.installed);
    (source.report)(&program);
    if program.has_errors() {
        machine.note("the old program goes on")
    } else {
        let next = Next::new(&source, program.revision());
        if take(machine, events, &mut source, next) {
            source.parsed = parsed;
        }
    }
    machine.source = Some(source);
}

/// Installs rules under a name, replacing those of that name; without rules, removes them.
///
/// # Errors
/// The reason, if nothing has changed.
pub(crate) fn install(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    name: &str,
    text: Option<String>,
) -> Result<(), End> {
    let unsupported = |why: &str| End::refusal(Status::Unsupported, why);
    let Some(mut source) = machine.source.take() else {
        return Err(unsupported(if machine.crew.is_some() {
            "of several workers the first installs rules: ask a node of it"
        } else {
            "the program of this run is not read again"
        }));
    };
    let done = try_install(machine, events, &mut source, name, text);
    machine.source = Some(source);
    done
}

/// The maximum length in bytes of a name under which rules install rules.
const NAME_MAX: usize = 255;

impl Machine {
    /// Installs or removes rules at the request of rules. Rules that are already installed stay.
    ///
    /// # Errors
    /// The reason, if nothing has changed.
    pub(crate) fn install_by_rules(
        &mut self,
        events: &mut Loop<Machine>,
        name: &str,
        text: Option<String>,
    ) -> Result<(), String> {
        let source = self.source.as_ref();
        let installed = source.and_then(|it| it.installed.iter().find(|(it, _)| it == name));
        if installed.map(|(_, text)| text) == text.as_ref() {
            return Ok(());
        }
        if source.is_some_and(|source| source.is_exposed) {
            return Err(
                "anyone could install rules at this node: give it a key with --key FILE".to_owned()
            );
        }
        let length = text.as_ref().map_or(0, String::len);
        if length > RULES_BYTES_MAX || name.len() > NAME_MAX {
            return Err(format!("texts have at most {RULES_BYTES_MAX} bytes, names {NAME_MAX}"));
        }
        install(self, events, name, text).map_err(|end| end.reason)
    }
}

fn try_install(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    source: &mut Source,
    name: &str,
    text: Option<String>,
) -> Result<(), End> {
    let wrong = |why: String| End::refusal(Status::Wrong, why);
    let mut installed = source.installed.clone();
    let known = installed.iter().position(|(one, _)| one == name);
    match (text, known) {
        (Some(text), Some(at)) => installed[at].1 = text,
        (Some(text), None) => installed.push((name.to_owned(), text)),
        (None, Some(at)) => _ = installed.remove(at),
        (None, None) => return Err(wrong(no_such(&installed, name))),
    }
    let program = source.parsed.program(&installed);
    if program.has_errors() {
        let found = program.diagnostics.iter().map(|found| program.sources.render(found));
        return Err(wrong(found.collect::<String>().trim_end().to_owned()));
    }
    let next = Next::new(source, program.revision());
    if let Some(why) = refused(machine, events, source, &next) {
        return Err(End::refusal(Status::Unavailable, why));
    }
    if next.changed != Kinds::default() {
        replace(machine, events, source, next).map_err(|kept| wrong(kept.why.to_string()))?;
    }
    source.installed = installed;
    Ok(())
}

fn no_such(installed: &[(String, String)], name: &str) -> String {
    let names: Vec<&str> = installed.iter().map(|(name, _)| name.as_str()).collect();
    match names.as_slice() {
        [] => "no rules were installed here".to_owned(),
        names => format!("no rules were installed as {name}; there are {}", names.join(", ")),
    }
}

/// Takes a new version of the files; false if the old one goes on.
fn take(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    source: &mut Source,
    next: Next,
) -> bool {
    if let Some(files) = &mut source.files {
        *files = Watched::new(next.revision.files.clone());
    }
    let changed = next.changed;
    let refused = refused(machine, events, source, &next);
    let is_taken = refused.is_none();
    match (refused, source.on_change) {
        // A graph is replaced all the same, as it may read files that have changed.
        (None, _) if changed == Kinds::default() && next.revision.graph.is_none() => {
            machine.note("nothing has changed");
        }
        (None, _) => {
            if let Err(NotReplaced { notice, why }) = replace(machine, events, source, next) {
                machine.note(&format!("{notice}: {why}"));
            }
        }
        (Some(why), OnChange::GoOn) => machine.note(&format!(
            "the old program goes on: {why} while it runs; --restart starts the run again"
        )),
        (Some(_), OnChange::Restart) => {
            machine.note(&format!("the {} have changed: the run starts again", changed.names()));
            machine.starts_again = true;
            if machine.has.nodes { nodes::drain(machine, events) } else { events.stop() }
        }
    }
    is_taken
}

/// The part of a program that was not replaced, and why.
struct NotReplaced {
    /// That the old part goes on.
    notice: &'static str,
    why: Error,
}

/// Replaces the running program by a revision that is not [`refused`].
///
/// # Errors
/// The part that was not replaced, and why.
fn replace(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    source: &mut Source,
    next: Next,
) -> Result<(), NotReplaced> {
    let Next { mut revision, changed, succession } = next;
    // If only the rules have changed, the graph is left untouched.
    let has_news = changed == Kinds::default() || source.graph != revision.graph;
    // The operators of stages depend on the schemas.
    let is_wired_otherwise = source.borders.packets != revision.borders.packets
        || source.borders.tables != revision.borders.tables;
    let rules = machine.has.nodes && (changed != Kinds::default() || is_wired_otherwise);
    let rules = if rules { next_rules(source, &mut revision)? } else { None };
    let noted = note_losses(machine, events, (rules.as_ref(), &revision));
    if let Some((versions, succession)) = source.versions.as_mut().zip(succession) {
        let sources = (&revision.sources, revision.components.files);
        replace_components::replace(machine, events, versions, succession, sources)
            .map_err(|why| NotReplaced { notice: "the old program goes on", why })?;
    }
    if let Some(graph) = revision.graph.as_ref().filter(|_| has_news) {
        replace_graph(machine, events, graph)
            .map_err(|why| NotReplaced { notice: "the old program goes on", why })?;
        if machine.maker.is_some() {
            let graph = graph.clone();
            posts::all(machine, move |machine, events| {
                if let Err(why) = replace_graph(machine, events, &graph) {
                    machine.note(&format!("worker {}: {why}", machine.share.me));
                }
            });
        }
    }
    source.graph.clone_from(&revision.graph);
    if let Some(rules) = rules {
        replace_rules(machine, events, source, (rules, noted, revision))
            .map_err(|why| NotReplaced { notice: OLD_RULES, why })?;
    } else if !machine.has.nodes {
        if changed.has(FileKind::Schemas) {
            borders::rebind_schemas(machine, events, &revision.borders);
            if machine.maker.is_some() {
                let borders = revision.borders.clone();
                posts::all(machine, move |machine, events| {
                    borders::rebind_schemas(machine, events, &borders);
                });
            }
            instances::rebind(machine, &revision.borders, true);
            machine.note("goes on with the new schemas");
        }
        source.outline = revision.outline;
    }
    Ok(())
}

/// The rules of a revision, compiled.
fn next_rules(source: &Source, revision: &mut Revision) -> Result<Option<Arc<Rules>>, NotReplaced> {
    let Revision { rules, borders, .. } = revision;
    let rules = rules_of(std::mem::take(rules), borders, source.engine);
    let rules = rules.map_err(|why| NotReplaced { notice: OLD_RULES, why })?;
    Ok(rules.map(Arc::new))
}

/// Notes what a revision cannot keep, before anything is replaced; returns the tables among it.
fn note_losses(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    (rules, revision): (Option<&Arc<Rules>>, &Revision),
) -> SortedSet<Emptied> {
    // If they cannot be replaced, the attempt says so.
    let emptied = rules.and_then(|rules| fleet::can_replace(machine, events, rules).ok());
    let emptied = emptied.unwrap_or_default();
    note_emptied(machine, &emptied);
    let mut apps = SortedSet::new();
    machine.at_each_node(events, |machine, _| {
        let running = machine.node.driver.engine.graph();
        apps.extend(revision.graph.iter().flat_map(|next| ended_apps(running, next)));
    });
    apps.iter().for_each(|line| machine.note(line));
    emptied
}

/// The apps of a graph that end with another one, with all that they hold, a line each.
fn ended_apps(running: &Graph, next: &Graph) -> Vec<String> {
    let line = |app: &AppSpec| {
        let name = &app.name;
        match next.apps.iter().find(|other| other.name == *name) {
            None => Some(format!("the app `{name}` is gone")),
            Some(other) if other.kind.name == app.kind.name => None,
            Some(other) => {
                Some(format!("the app `{name}` starts anew, as it is a {} now", other.kind.name))
            }
        }
    };
    running.apps.iter().filter_map(line).collect()
}

/// Why a revision cannot replace the running program.
fn refused(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    source: &Source,
    next: &Next,
) -> Option<String> {
    let Next { revision, changed, succession } = next;
    if *changed == Kinds::default() {
        return None;
    }
    if machine.crew.is_some() {
        let writes = "its rules would write files on several workers, which cannot begin";
        let why = if machine.maker.is_none() && machine.has.packets {
            revision.borders.for_one_worker()
        } else {
            revision.borders.have_files().then(|| writes.to_owned())
        };
        if why.is_some() {
            return why;
        }
    }
    if changed.has(FileKind::Components) {
        let borders = (&source.borders, &revision.borders);
        let why = match source.versions.as_ref().zip(succession.as_ref()) {
            Some((running, with)) => {
                replace_components::refused(machine, events, running, with, borders)
            }
            None => Some("components do not come or go as a whole".to_owned()),
        };
        if why.is_some() {
            return why;
        }
    }
    let comes_or_goes = machine.has.nodes != revision.rules.program.is_some();
    if changed.has(FileKind::Rules) && comes_or_goes {
        return Some("rules do not come or go as a whole".to_owned());
    }
    let decoders = &revision.borders.decoders;
    let app = machine.nodes().find_map(|node| node.borders.decoders.of_other_columns(decoders));
    app.map(|app| format!("app {app}: its file would have other columns"))
}

/// Replaces the rules of all nodes by those of a revision; returns the reason if that fails. Of
/// several that wait for a turn to end the last one wins, here as in the fleet.
fn replace_rules(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    source: &mut Source,
    (rules, noted, revision): (Arc<Rules>, SortedSet<Emptied>, Revision),
) -> Result<(), Error> {
    let Revision { outline, borders, graph, .. } = revision;
    borders.schemas.count_on(&source.borders.schemas);
    let pending = Pending { borders: borders.clone(), graph, noted };
    agree::replace(machine, events, rules, pending).map_err(Error::program)?;
    (source.outline, source.borders) = (outline, borders);
    Ok(())
}

/// All nodes have switched to other rules.
pub(super) fn rebind(machine: &mut Machine, events: &mut Loop<Machine>, switched: Switched) {
    let Some(Pending { borders, graph, .. }) = machine.pending.take() else { return };
    borders::rebind(machine, events, (&borders, graph.as_ref()), switched);
}

/// Replaces the graphs of all nodes; returns the reason if one fails.
fn replace_graph(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    graph: &Graph,
) -> Result<(), Error> {
    let mut refused = Ok(());
    machine.at_each_node(events, |machine, _| {
        if refused.is_ok() {
            refused = machine.node.borders.check(graph);
        }
    });
    std::mem::replace(&mut refused, Ok(()))?;
    machine.at_each_node(events, |machine, events| {
        let graph = match &mut machine.node.borders.settings {
            Some(settings) => settings.rewritten(graph.clone()),
            None => graph.clone(),
        };
        if let Err(why) = instances::prepare(machine, events, graph) {
            refused = Err(Error::start(why));
        }
    });
    refused
}
