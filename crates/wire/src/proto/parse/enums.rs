//! Enums and their values.

use super::{Around, Parsed, Parser};
use crate::proto::places::Ranges;
use crate::schema::EnumId;
use crate::schema::draft::{EnumDraft, EnumValueDraft, Visibility};

impl Parser<'_> {
    pub(super) fn enumeration(&mut self, around: Around, visibility: Visibility) -> Parsed {
        self.advance();
        let (name, range) = self.name("the name of an enum")?;
        let place = self.place(Ranges { name: range, ..Ranges::default() });
        let id = self.draft.push_enum(EnumDraft {
            name,
            file: self.file,
            parent: around.message(),
            visibility,
            place,
            ..EnumDraft::default()
        });
        match around {
            Around::File => self.draft.file_mut(self.file).enums.push(id),
            Around::Message(message) => self.draft.message_mut(message).enums.push(id),
        }
        self.block(|parser| parser.enum_statement(id))
    }

    fn enum_statement(&mut self, id: EnumId) -> Parsed {
        // Neither word is the name of a value, as in protoc.
        if self.at_word("option") {
            let mut options = self.draft.enum_mut(id).options.take();
            let result = self.option_statement(&mut options);
            self.draft.enum_mut(id).options = options;
            return result;
        }
        if self.at_word("reserved") {
            return self.reserved_in_enum(id);
        }
        let (name, range) = self.name("the name of a value")?;
        self.expect_sign(b'=')?;
        let (number, number_range) = self.signed("a number")?;
        let place = self.place(Ranges { name: range, number: number_range, ..Ranges::default() });
        let mut value = EnumValueDraft { name, number, place, ..EnumValueDraft::default() };
        self.bracket_options(&mut value.options, None)?;
        self.draft.enum_mut(id).values.push(value);
        self.end_statement()
    }
}
