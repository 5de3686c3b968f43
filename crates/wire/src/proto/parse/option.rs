//! Options as written; they are interpreted when all names are known.

use super::{Parsed, Parser, push_few};
use crate::proto::lex::{TokenKind, integer};
use crate::schema::draft::{MaybeOptions, OptionsDraft};
use crate::schema::uninterpreted::{NamePart, OptionText, OptionValue, TextRange};

/// The pseudo-options among a field's options.
#[derive(Default)]
pub(super) struct FieldOptions {
    pub(super) json_name: Option<(String, TextRange)>,
    /// The first token of the default.
    pub(super) default: Option<(usize, TextRange)>,
}

impl Parser<'_> {
    /// `option name = value;`.
    pub(super) fn option_statement(&mut self, options: &mut MaybeOptions) -> Parsed {
        self.advance();
        let option = self.option()?;
        push(options, option);
        self.end_statement()
    }

    /// `[name = value, ...]`, or nothing.
    pub(super) fn bracket_options(
        &mut self,
        options: &mut MaybeOptions,
        mut field: Option<&mut FieldOptions>,
    ) -> Parsed {
        if !self.take_sign(b'[') {
            return Ok(());
        }
        loop {
            match &mut field {
                Some(field) if self.at_word("default") => self.default_option(field)?,
                Some(field) if self.at_word("json_name") => self.json_name_option(field)?,
                _ => {
                    let option = self.option()?;
                    push(options, option);
                }
            }
            if !self.take_sign(b',') {
                break;
            }
        }
        self.expect_sign(b']')?;
        Ok(())
    }

    fn default_option(&mut self, field: &mut FieldOptions) -> Parsed {
        let range = self.advance().range();
        self.expect_sign(b'=')?;
        if field.default.is_some() {
            self.error("duplicate-option", range, "the default is given twice");
        }
        field.default = Some((self.at, range));
        self.value()?;
        Ok(())
    }

    fn json_name_option(&mut self, field: &mut FieldOptions) -> Parsed {
        let range = self.advance().range();
        self.expect_sign(b'=')?;
        if field.json_name.is_some() {
            self.error("duplicate-option", range, "the JSON name is given twice");
        }
        let (name, range) = self.text("a string")?;
        field.json_name = Some((name, range));
        Ok(())
    }

    fn option(&mut self) -> Parsed<OptionText> {
        let mut name = vec![self.name_part()?];
        while self.take_sign(b'.') {
            name.push(self.name_part()?);
        }
        self.expect_sign(b'=')?;
        let start = self.token().start;
        let value = self.value()?;
        Ok(OptionText { name, value, value_range: (start, self.previous().end) })
    }

    fn name_part(&mut self) -> Parsed<NamePart> {
        let start = self.token().start;
        if self.take_sign(b'(') {
            let (name, _) = self.path("the name of an extension")?;
            let end = self.expect_sign(b')')?.end;
            return Ok(NamePart { name, extension: true, range: (start, end) });
        }
        let (name, range) = self.name("the name of an option")?;
        Ok(NamePart { name, extension: false, range })
    }

    fn value(&mut self) -> Parsed<OptionValue> {
        let start = self.token();
        let minus = self.take_sign(b'-');
        let token = self.token();
        let slice = self.slice(token);
        match token.kind {
            TokenKind::Word if minus && !matches!(slice, "inf" | "nan") => {
                Err(self.expected("a number, `inf` or `nan`"))
            }
            TokenKind::Word => {
                self.advance();
                Ok(match (minus, slice) {
                    (true, "inf") => OptionValue::Double(f64::NEG_INFINITY),
                    (true, _) => OptionValue::Double(-f64::NAN),
                    (false, _) => OptionValue::Identifier(slice.into()),
                })
            }
            TokenKind::Integer => {
                self.advance();
                Ok(number(slice, minus))
            }
            TokenKind::Float => {
                self.advance();
                let value: f64 = slice.parse().unwrap_or(0.0);
                Ok(OptionValue::Double(if minus { -value } else { value }))
            }
            TokenKind::String if !minus => Ok(OptionValue::String(self.string("a string")?.0)),
            TokenKind::Sign(b'{') if !minus => {
                let before = self.at;
                self.skip_block();
                let closed = self.previous();
                if closed.kind != TokenKind::Sign(b'}') || self.at == before + 1 {
                    let message = "this brace is never closed";
                    return Err(self.error("syntax", start.range(), message));
                }
                let inner = self.text.get(token.end as usize..closed.start as usize);
                Ok(OptionValue::Aggregate(inner.unwrap_or("").to_owned()))
            }
            _ => Err(self.expected("a value")),
        }
    }
}

fn number(slice: &str, minus: bool) -> OptionValue {
    let Some(value) = integer(slice) else {
        let value: f64 = slice.parse().unwrap_or(f64::INFINITY);
        return OptionValue::Double(if minus { -value } else { value });
    };
    match (minus, i64::try_from(-i128::from(value))) {
        (false, _) => OptionValue::Positive(value),
        (true, Ok(value)) => OptionValue::Negative(value),
        (true, Err(_)) => OptionValue::Double(-(value as f64)),
    }
}

fn push(options: &mut MaybeOptions, option: OptionText) {
    push_few(&mut options.get_or_insert_with(|| Box::new(OptionsDraft::default())).text, option);
}
