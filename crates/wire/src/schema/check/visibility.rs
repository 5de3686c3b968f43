//! The exports of a file whose default visibility is `STRICT`.

use super::Check;
use crate::schema::draft::{MessageDraft, Visibility};
use crate::schema::features::SymbolVisibility;
use crate::schema::problem::Part;
use crate::schema::{FIELD_NUMBER_MAX, MessageId};

impl Check<'_> {
    /// Checks that no nested definition is exported, except an enum in a message that only serves
    /// as a name space.
    pub(super) fn visibilities(&mut self) {
        let draft = self.draft;
        let strict = |file| draft.file(file).features.visibility == SymbolVisibility::Strict;
        for one in &draft.messages {
            if one.visibility == Visibility::Export && one.parent.is_some() && strict(one.file) {
                let text = format!("`{}` stands in a message and is exported", one.name);
                self.error("visibility", (one.file, one.place, Part::Name), text);
                self.help("with STRICT only what stands outside of messages is exported");
            }
        }
        for one in &draft.enums {
            let Some(parent) = one.parent else { continue };
            if one.visibility == Visibility::Export
                && strict(one.file)
                && !self.is_name_space(parent)
            {
                let text = format!("`{}` stands in a message and is exported", one.name);
                self.error("visibility", (one.file, one.place, Part::Name), text);
                self.help("declare it outside, or in a local message with `reserved 1 to max;`");
            }
        }
    }

    /// True for a local top-level message that can have no fields.
    fn is_name_space(&self, id: MessageId) -> bool {
        let MessageDraft { parent, visibility, reserved_ranges, .. } = self.draft.message(id);
        let all = |range: &crate::schema::draft::RangeDraft| {
            range.start == 1 && range.end > FIELD_NUMBER_MAX as i32
        };
        parent.is_none() && *visibility != Visibility::Export && reserved_ranges.iter().any(all)
    }
}
