//! Fields, groups, maps, extensions, and their defaults.

use super::option::FieldOptions;
use super::{Around, Parsed, Parser};
use crate::proto::lex::{TokenKind, integer};
use crate::proto::places::Ranges;
use crate::schema::check::entry_name;
use crate::schema::default::escape;
use crate::schema::draft::{
    Cardinality, FieldDraft, MaybeOptions, MessageDraft, OptionsDraft, Visibility,
};
use crate::schema::features::Edition;
use crate::schema::uninterpreted::TextRange;
use crate::schema::{FieldId, OneofId, Scalar};

const GROUP: u8 = 10;
/// The options of the message of a map's entries: `map_entry` is set.
const MAP_ENTRY: [u8; 2] = [7 << 3, 1];

/// The tokens before the name of a field.
struct Head {
    cardinality: Cardinality,
    proto3_optional: bool,
    label: Option<TextRange>,
}

impl Parser<'_> {
    /// Parses a field of a message, possibly in a oneof.
    pub(super) fn field(&mut self, around: Around, oneof: Option<OneofId>) -> Parsed {
        let head = self.label(oneof.is_some(), false)?;
        let field = FieldDraft { oneof, ..FieldDraft::default() };
        let id = self.field_rest(around, head, field, (0, 0))?;
        self.members.push(id);
        Ok(())
    }

    /// Parses a field of an `extend` block.
    pub(super) fn extension(&mut self, around: Around, extendee: &str, range: TextRange) -> Parsed {
        let head = self.label(false, true)?;
        let mut field = FieldDraft::default();
        field.rare_mut().extendee = extendee.into();
        let id = self.field_rest(around, head, field, range)?;
        match around {
            Around::File => self.draft.file_mut(self.file).extensions.push(id),
            Around::Message(message) => self.draft.message_mut(message).extensions.push(id),
        }
        Ok(())
    }

    fn label(&mut self, in_oneof: bool, extension: bool) -> Parsed<Head> {
        let token = self.token();
        let cardinality = match self.bytes(token) {
            b"optional" => Cardinality::Optional,
            b"required" => Cardinality::Required,
            b"repeated" => Cardinality::Repeated,
            _ => {
                let missing = self.edition == Edition::Proto2 && !in_oneof && !self.at_map();
                if missing && token.kind != TokenKind::Word && !self.at_sign(b'.') {
                    return Err(self.expected("a field"));
                }
                if missing {
                    let message = "in proto2 a field begins with `optional`, `required` or \
                                   `repeated`";
                    self.error("label", token.range(), message);
                }
                let cardinality = Cardinality::Optional;
                return Ok(Head { cardinality, proto3_optional: false, label: None });
            }
        };
        self.advance();
        let label = Some(token.range());
        if self.edition.has_features() && cardinality != Cardinality::Repeated {
            let message = format!("editions have no label `{}`", self.slice(token));
            self.error("label", token.range(), message);
            self.help(match cardinality {
                Cardinality::Required => "use `[features.field_presence = LEGACY_REQUIRED]`",
                _ => "leave it out: absence shows unless `features.field_presence` is `IMPLICIT`",
            });
        }
        let optional = cardinality == Cardinality::Optional;
        let proto3_optional = optional && self.edition == Edition::Proto3 && !extension;
        let own = self.edition == Edition::Proto3 && optional;
        Ok(Head { cardinality, proto3_optional: proto3_optional || own, label })
    }

    fn at_map(&self) -> bool {
        self.at_word("map") && self.second().kind == TokenKind::Sign(b'<')
    }

    /// Parses the rest of a field, from the type on.
    fn field_rest(
        &mut self,
        around: Around,
        head: Head,
        mut field: FieldDraft,
        extendee: TextRange,
    ) -> Parsed<FieldId> {
        field.file = self.file;
        field.scope = around.message();
        field.cardinality = head.cardinality;
        field.proto3_optional = head.proto3_optional;
        if self.at_map() {
            return self.map(around, head, field, extendee);
        }
        let is_group = self.at_word("group");
        let ty = self.field_type(&mut field)?;
        let what = if is_group { "the name of a group" } else { "the name of a field" };
        let (name, name_range) = self.name(what)?;
        field.name = name;
        let number = self.number(&mut field)?;
        let ranges = Ranges { name: name_range, number, ty, other: extendee };
        field.place = self.place(ranges);
        if !is_group {
            self.field_options(&mut field)?;
            let id = self.draft.push_field(field);
            self.end_statement()?;
            return Ok(id);
        }
        self.group(around, field, ty, name_range)
    }

    fn field_type(&mut self, field: &mut FieldDraft) -> Parsed<TextRange> {
        let token = self.token();
        if self.at_word("group") {
            field.type_number = GROUP;
        } else if let (TokenKind::Word, Some(scalar)) =
            (token.kind, Scalar::from_name(self.slice(token)))
        {
            field.type_number = scalar.type_number();
        } else {
            let (path, range) = self.path("a type")?;
            field.type_name = path;
            return Ok(range);
        }
        self.advance();
        Ok(token.range())
    }

    fn number(&mut self, field: &mut FieldDraft) -> Parsed<TextRange> {
        if !self.at_sign(b'=') {
            let Parsed::Err(failed) = self.expect_sign(b'=') else { return Ok((0, 0)) };
            self.help("each field has a number: `name = 1;`");
            return Err(failed);
        }
        self.advance();
        let (value, range) = self.integer("the number of a field")?;
        match i32::try_from(value) {
            Ok(value) => field.number = value,
            Err(_) => {
                let message = format!("field `{}` cannot have number {value}", field.name);
                let highest = crate::schema::FIELD_NUMBER_MAX;
                self.error("field-number", range, message);
                return Err(self.help(format!("numbers go from 1 to {highest}")));
            }
        }
        Ok(range)
    }

    fn field_options(&mut self, field: &mut FieldDraft) -> Parsed {
        let mut found = FieldOptions::default();
        self.bracket_options(&mut field.options, Some(&mut found))?;
        if let Some((json_name, range)) = found.json_name {
            let is_usual = json_name == *crate::schema::json_name(&field.name);
            field.rare_mut().json_name = Some(json_name.into());
            if field.is_extension() && !is_usual {
                let message = "an extension has no JSON name of its own";
                self.error("json-name", range, message);
            }
        }
        if let Some((at, range)) = found.default {
            let after = std::mem::replace(&mut self.at, at);
            let default = self.default(field, range);
            self.at = after;
            if let Ok(default) = default {
                field.rare_mut().default = Some(default);
            }
        }
        Ok(())
    }

    fn group(
        &mut self,
        around: Around,
        mut field: FieldDraft,
        ty: TextRange,
        name_range: TextRange,
    ) -> Parsed<FieldId> {
        if self.edition.has_features() {
            self.error("group", ty, "editions have no groups");
            self.help("use a message with `[features.message_encoding = DELIMITED]`");
        } else if self.edition == Edition::Proto3 {
            self.error("group", ty, "proto3 has no groups");
        }
        if !field.name.starts_with(|c: char| c.is_ascii_uppercase()) {
            let message = format!("the name of group `{}` must begin with a capital", field.name);
            self.error("group", name_range, message);
        }
        self.field_options(&mut field)?;
        let name = std::mem::take(&mut field.name);
        field.name = name.to_ascii_lowercase().into();
        field.type_name = name.clone();
        let id = self.draft.push_field(field);
        let message = self.declare_message(around, name, name_range, Visibility::Unset);
        self.message_body(message)?;
        Ok(id)
    }

    fn map(
        &mut self,
        around: Around,
        head: Head,
        mut field: FieldDraft,
        extendee: TextRange,
    ) -> Parsed<FieldId> {
        let start = self.advance().start;
        self.advance();
        let mut key = FieldDraft { name: "key".into(), number: 1, ..FieldDraft::default() };
        let mut value = FieldDraft { name: "value".into(), number: 2, ..FieldDraft::default() };
        let key_range = self.field_type(&mut key)?;
        self.expect_sign(b',')?;
        let value_range = self.field_type(&mut value)?;
        let end = self.expect_sign(b'>')?.end;
        if [&key, &value].iter().any(|part| part.type_number == GROUP) {
            self.error("map-type", (start, end), "a map holds no groups");
        }
        let (name, name_range) = self.name("the name of a field")?;
        field.name = name;
        let number = self.number(&mut field)?;
        let ranges = Ranges { name: name_range, number, ty: (start, end), other: extendee };
        field.place = self.place(ranges);
        if let Some(label) = head.label {
            self.error("label", label, "a map has no label");
        }
        if field.is_extension() {
            self.error("map-field", (start, end), "a map cannot be an extension");
        }
        if field.oneof.is_some() {
            self.error("map-field", (start, end), "a map cannot be in a oneof");
            self.help("put the map into a message of its own");
        }
        self.field_options(&mut field)?;
        field.proto3_optional = false;
        field.cardinality = Cardinality::Repeated;
        field.type_name = entry_name(&field.name);
        self.entry(around, &field, [(key, key_range), (value, value_range)], name_range);
        let id = self.draft.push_field(field);
        self.end_statement()?;
        Ok(id)
    }

    /// The message of a map's entries.
    fn entry(
        &mut self,
        around: Around,
        map: &FieldDraft,
        parts: [(FieldDraft, TextRange); 2],
        name_range: TextRange,
    ) {
        let name = map.type_name.clone();
        let id = self.declare_message(around, name, name_range, Visibility::Unset);
        let features = features_of(&map.options);
        let mut put = |(mut part, range): (FieldDraft, TextRange)| {
            part.file = self.file;
            part.scope = Some(id);
            part.options = features.clone();
            part.place = self.place(Ranges { name: range, ty: range, ..Ranges::default() });
            self.draft.push_field(part)
        };
        let fields = parts.map(&mut put).to_vec();
        let options = OptionsDraft { bytes: MAP_ENTRY.into(), ..OptionsDraft::default() };
        let message: &mut MessageDraft = self.draft.message_mut(id);
        message.fields = fields;
        message.map_entry = true;
        message.options = Some(Box::new(options));
    }

    /// Parses the default to the form of descriptors; the next token is its first.
    fn default(&mut self, field: &FieldDraft, range: TextRange) -> Parsed<String> {
        let scalar = match field.type_number {
            0 => return Ok(self.name("the name of an enum's value")?.0.to_string()),
            GROUP => return Err(self.error("default", range, "a message has no default")),
            number => Scalar::from_type_number(number),
        };
        match scalar {
            Some(Scalar::Bool) => {
                let (word, range) = self.name("`true` or `false`")?;
                match word.as_str() {
                    "true" | "false" => Ok(word.to_string()),
                    _ => Err(self.error("default", range, "a bool is `true` or `false`")),
                }
            }
            Some(Scalar::String) => Ok(self.text("a string")?.0),
            Some(Scalar::Bytes) => Ok(escape(&self.string("a string")?.0)),
            Some(Scalar::Double) => Ok(format_double(self.float()?)),
            Some(Scalar::Float) => Ok(format_float(self.float()? as f32)),
            Some(scalar) => self.integer_default(scalar),
            None => Err(self.error("default", range, "no default fits")),
        }
    }

    fn integer_default(&mut self, scalar: Scalar) -> Parsed<String> {
        let start = self.token().start;
        let minus = self.take_sign(b'-');
        let (value, (_, end)) = self.integer("an integer")?;
        let value = if minus { -i128::from(value) } else { i128::from(value) };
        let (least, most) = match scalar {
            Scalar::Int32 | Scalar::Sint32 | Scalar::Sfixed32 => {
                (i128::from(i32::MIN), i128::from(i32::MAX))
            }
            Scalar::Uint32 | Scalar::Fixed32 => (0, i128::from(u32::MAX)),
            Scalar::Uint64 | Scalar::Fixed64 => (0, i128::from(u64::MAX)),
            _ => (i128::from(i64::MIN), i128::from(i64::MAX)),
        };
        let unsigned_minus = minus && least == 0;
        if unsigned_minus || !(least..=most).contains(&value) {
            let message = format!("the default does not fit into `{}`", scalar.name());
            return Err(self.error("default", (start, end), message));
        }
        Ok(value.to_string())
    }

    /// Parses a number of any form, `inf` or `nan`, possibly negative.
    fn float(&mut self) -> Parsed<f64> {
        let minus = self.take_sign(b'-');
        let token = self.token();
        let slice = self.slice(token);
        let value = match token.kind {
            TokenKind::Float => slice.parse().ok(),
            TokenKind::Integer => integer(slice).map(|value| value as f64).or(slice.parse().ok()),
            TokenKind::Word if slice == "inf" => Some(f64::INFINITY),
            TokenKind::Word if slice == "nan" => Some(f64::NAN),
            _ => None,
        };
        let Some(value) = value else { return Err(self.expected("a number")) };
        self.advance();
        Ok(if minus { -value } else { value })
    }
}

/// A map's features also apply to its keys and values.
fn features_of(options: &MaybeOptions) -> MaybeOptions {
    let is_features = |part: &str| part == "features";
    let text: Vec<_> = options
        .iter()
        .flat_map(|options| &options.text)
        .filter(|one| one.name.first().is_some_and(|part| is_features(&part.name)))
        .cloned()
        .collect();
    if text.is_empty() {
        return None;
    }
    Some(Box::new(OptionsDraft { text, ..OptionsDraft::default() }))
}

/// `foo_bar` has entries `FooBarEntry`.
/// Formats like C's `%.*g`, with the shorter of two precisions that round-trips.
pub(in crate::proto) fn format_double(value: f64) -> String {
    let short = format_general(value, 15);
    match short.parse::<f64>() {
        Ok(back) if back == value || value.is_nan() => short,
        _ => format_general(value, 17),
    }
}

/// As [`format_double`], for floats.
pub(in crate::proto) fn format_float(value: f32) -> String {
    let short = format_general(f64::from(value), 6);
    match short.parse::<f32>() {
        Ok(back) if back == value || value.is_nan() => short,
        _ => format_general(f64::from(value), 9),
    }
}

fn format_general(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "nan".into();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let scientific = format!("{:.*e}", digits - 1, value);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{}e{sign}{:02}", trim(mantissa), exponent.abs());
    }
    let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
    trim(&format!("{value:.decimals$}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_look_as_in_c() {
        let doubles = [1.5e10, 1e20, 1e-7, 0.1, 100.0, 1e15, 123456789012345680.0, 0.0001, -0.0];
        let texts = [
            "15000000000",
            "1e+20",
            "1e-07",
            "0.1",
            "100",
            "1e+15",
            "1.2345678901234568e+17",
            "0.0001",
            "-0",
        ];
        assert_eq!(doubles.map(format_double), texts);
        let floats = [1.5e10f32, 0.1, 7.0, 16777216.0, 3.4028235e38];
        let texts = ["1.5e+10", "0.1", "7", "16777216", "3.40282347e+38"];
        assert_eq!(floats.map(format_float), texts);
    }

    #[test]
    fn entries_are_named_after_their_map() {
        assert_eq!(
            ["a", "foo_bar", "_x", "a1_b"]
                .map(entry_name)
                .each_ref()
                .map(crate::schema::Name::as_str),
            ["AEntry", "FooBarEntry", "XEntry", "A1BEntry"]
        );
    }
}
