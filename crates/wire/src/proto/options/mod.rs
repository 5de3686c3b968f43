//! Interprets options: turns their names and values into serialized options messages.
//!
//! An option's name leads from the options message of its element, through fields and extensions,
//! to the field that is set; a value in braces is read in the text format. Features come first, as
//! they determine the names and numbers that a value in braces may have. The values stay trees
//! until all features are known, because the encoding of a field depends on them. Most trees are
//! plain: they hold no such field.
//!
//! ```text
//! texts of features --interpret--> trees --write--> bytes --inherit--> features, but of `packed`
//! all other texts   --interpret--> trees --write--> bytes --inherit--> features
//!                                    '--------------write again------> bytes as they stay
//! ```

mod allowed;
mod element;
mod interpret;
mod interpreter;
mod scalar;
mod text;
mod tree;

use element::Element;
use interpret::Texts;
use interpreter::Interpreter;
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
    let mut trees = new_trees(draft, linked);
    let mut any_features = false;
    for of in [Texts::Features, Texts::Others] {
        for (element, ty, tree) in &mut trees {
            let mut interpreter = Interpreter::new(draft, linked, *element, problems);
            any_features |= interpreter.run(*ty, tree, of) && of == Texts::Features;
            for file in interpreter.used() {
                linked.imports.note_use(element.place(draft).0, file);
            }
        }
        if of == Texts::Features && any_features {
            write_first(draft, &trees);
        }
        if of == Texts::Features {
            inherit_features(draft);
        }
    }
    write_first(draft, &trees);
    inherit_features(draft);
    let (mut all, mut bytes) = (Vec::new(), Vec::new());
    for (element, ty, tree) in &trees {
        allowed::check(draft, *element, tree, problems);
        if tree.is_plain(draft) {
            continue;
        }
        all.clear();
        bytes.clear();
        tree.write(draft, *ty, Keep::All, &mut all);
        tree.write(draft, *ty, Keep::RunTime, &mut bytes);
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

/// Every element with options, the type of its options message, and an empty tree.
fn new_trees(draft: &Draft, linked: &Linked) -> Vec<(Element, MessageId, Tree)> {
    // Successive elements are mostly of the same kind.
    let mut last: (&str, Option<MessageId>) = ("", None);
    let with_type = |element: Element| {
        let name = element.options_type();
        if name != last.0 {
            last = (name, message_by_name(draft, linked, name));
        }
        Some((element, last.1?, Tree::default()))
    };
    Element::all(draft).into_iter().filter_map(with_type).collect()
}

/// Writes the bytes that features are read from to the elements.
fn write_first(draft: &mut Draft, trees: &[(Element, MessageId, Tree)]) {
    let mut all = Vec::new();
    for (element, ty, tree) in trees {
        all.clear();
        tree.write(draft, *ty, Keep::All, &mut all);
        if let Some(options) = element.options(draft) {
            options.bytes.clone_from(&all);
        }
    }
}

fn message_by_name(draft: &Draft, linked: &Linked, full_name: &str) -> Option<MessageId> {
    match linked.names.get_path(draft, Scope::Package(0), full_name)? {
        Entity::Message(id) => Some(id),
        _ => None,
    }
}
