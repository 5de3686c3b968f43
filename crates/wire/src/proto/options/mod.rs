//! What options mean: names and values of the text into serialized options messages.
//!
//! An option's name leads from the options message of its element, through fields and extensions,
//! to the field that is set; a value in braces is read in the text format. The values are kept as
//! trees until the features of all fields are known, for how a repeated field is written depends
//! on them. Plain trees, which most are, hold nothing that does.
//!
//! ```text
//! texts --interpret--> trees --write--> bytes --inherit--> features
//!                        '--------------write again-------> bytes as they stay
//! ```

mod allowed;
mod element;
mod interpret;
mod text;
mod tree;

use element::Element;
use interpret::Interpreter;
use tree::{Keep, Tree};

use crate::schema::MessageId;
use crate::schema::draft::Draft;
use crate::schema::link::{Entity, Linked, Scope, inherit_features};
use crate::schema::problem::Problem;

/// Interprets all options of a linked draft, which has `descriptor.proto` in it, and resolves all
/// features.
pub(super) fn interpret_options(
    draft: &mut Draft,
    linked: &mut Linked,
    problems: &mut Vec<Problem>,
) {
    let elements = Element::all(draft);
    let mut trees: Vec<(Element, Tree)> = Vec::with_capacity(elements.len());
    // One after the other is mostly of the same kind.
    let mut last: (&str, Option<MessageId>) = ("", None);
    for element in elements {
        let name = element.options_type();
        if name != last.0 {
            last = (name, message_by_name(draft, linked, name));
        }
        let Some(ty) = last.1 else { continue };
        let mut interpreter = Interpreter::new(draft, linked, element, problems);
        let tree = interpreter.run(ty);
        for file in interpreter.used() {
            linked.imports.note_use(element.place(draft).0, file);
        }
        trees.push((element, tree));
    }
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    for (element, tree) in &trees {
        all.clear();
        tree.write(draft, Keep::All, &mut all);
        if let Some(options) = element.options(draft) {
            options.bytes.clone_from(&all);
        }
    }
    inherit_features(draft);
    for (element, tree) in &trees {
        allowed::check(draft, *element, tree, problems);
        if tree.is_plain(draft) {
            continue;
        }
        all.clear();
        bytes.clear();
        tree.write(draft, Keep::All, &mut all);
        tree.write(draft, Keep::RunTime, &mut bytes);
        if let Some(options) = element.options(draft) {
            options.empty = bytes.is_empty() && !all.is_empty();
            if all != bytes {
                options.source_bytes.clone_from(&all);
            }
            if options.bytes != bytes {
                options.bytes.clone_from(&bytes);
            }
        }
    }
}

fn message_by_name(draft: &Draft, linked: &Linked, full_name: &str) -> Option<MessageId> {
    match linked.names.get_path(draft, Scope::Package(0), full_name)? {
        Entity::Message(id) => Some(id),
        _ => None,
    }
}
