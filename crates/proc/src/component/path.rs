//! The path of a component in reports: the variables from the entry component down to it.

use crate::handle::{ComponentRef, Words};
use crate::machine::Worker;
use crate::program::{Shape, Variable, WordKind};
use crate::{array, collection};

/// Levels shown; deeper trees lose their middle.
const LEVELS: usize = 32;
/// Processes of a component whose variables are searched for a name.
const PROCESSES: usize = 64;
/// Elements of an array or collection that are searched for a name.
const SEARCH: usize = 1 << 16;

/// Whether components that share a path are told apart.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Plain,
    Unique,
}

/// `Town/house[3]`: the entry's type, then variables with their indices.
pub(crate) fn path(worker: &Worker, component: ComponentRef) -> String {
    styled(worker, component, Style::Plain)
}

/// As [`path`], of this component alone: where several may have one name, their numbers follow, as
/// in `Adder#7/part`. Those are components that the embedder made, and variables of processes and
/// procedures, which others of their kind have as well.
pub(crate) fn unique_path(worker: &Worker, component: ComponentRef) -> String {
    styled(worker, component, Style::Unique)
}

fn styled(worker: &Worker, component: ComponentRef, style: Style) -> String {
    let numbered = |name: &str, component: ComponentRef| match style {
        Style::Plain => name.to_owned(),
        Style::Unique => format!("{name}#{}", component.number()),
    };
    let mut names = Vec::new();
    let mut here = component;
    while !here.owner().is_null() {
        if names.len() == LEVELS {
            names.push(numbered("...", here));
            break;
        }
        names.push(match own_name(worker, here) {
            Some(name) => name,
            None => numbered(&shared_name(worker, here), here),
        });
        here = here.owner();
    }
    // The outermost is the entry component; climbing to it would take time linear in the depth.
    let program = worker.program();
    let entry = || &program.components[program.entry as usize];
    names.push(match here.owner().is_null() {
        true if here.id() == worker.machine.entry => here.descriptor().name.clone(),
        true => numbered(&here.descriptor().name, here),
        false => entry().name.clone(),
    });
    names.reverse();
    names.join("/")
}

/// The owner's variable that holds a component.
fn own_name(worker: &Worker, component: ComponentRef) -> Option<String> {
    let owner = component.owner();
    let word = component.to_word();
    among(worker, &owner.descriptor().variables, word, |offset| owner.word(offset))
}

/// The variable of a process or procedure that holds a component, or its type.
fn shared_name(worker: &Worker, component: ComponentRef) -> String {
    let name = in_frames(worker, component.owner(), component.to_word());
    name.unwrap_or_else(|| component.descriptor().name.clone())
}

/// The one of some variables that holds the component.
fn among(
    worker: &Worker,
    variables: &[Variable],
    word: u64,
    place: impl Fn(u32) -> Words,
) -> Option<String> {
    variables.iter().filter(|variable| !variable.name.is_empty()).find_map(|variable| {
        let value = place(variable.offset).get(0);
        let index = match variable.kind {
            WordKind::Component if value == word => return Some(variable.name.clone()),
            WordKind::Array if value != 0 => in_array(worker, value, word),
            WordKind::Collection if value != 0 => in_collection(worker, value, word),
            _ => None,
        };
        index.map(|index| format!("{}[{index}]", variable.name))
    })
}

/// The variable of a procedure or body that holds the component, of a process that waits.
fn in_frames(worker: &Worker, owner: ComponentRef, word: u64) -> Option<String> {
    let functions = &worker.program().functions;
    let processes = std::iter::successors(owner.processes().some(), |it| it.next().some());
    for process in processes.take(PROCESSES) {
        let frames = std::iter::successors(process.frame().some(), |it| it.parent().some());
        for frame in frames.take(LEVELS) {
            let owned = functions.get(frame.function() as usize).map_or(&[][..], |it| &it.owned);
            let found = among(worker, owned, word, |offset| frame.word(offset));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

fn in_array(worker: &Worker, array: u64, word: u64) -> Option<String> {
    let view = array::View::new(worker, array);
    if view.element != WordKind::Component {
        return None;
    }
    let found = (0..view.count.min(SEARCH)).find(|&i| view.elements.get(i) == word)?;
    let mut rest = found;
    let mut indices = Vec::new();
    for &extent in view.extents.iter().rev() {
        indices.push((rest % extent.max(1)).to_string());
        rest /= extent.max(1);
    }
    indices.reverse();
    Some(indices.join(", "))
}

fn in_collection(worker: &Worker, collection: u64, word: u64) -> Option<String> {
    let Shape::Collection { keys, element: WordKind::Component, .. } =
        collection::shape_of(worker, collection)
    else {
        return None;
    };
    let mut found = None;
    let mut seen = 0;
    collection::for_each(collection, |at: Words, value: Words| {
        seen += 1;
        if value.get(0) == word {
            found = Some(collection::shown_keys(keys, at, str::to_owned));
        }
        found.is_none() && seen < SEARCH
    });
    found
}
