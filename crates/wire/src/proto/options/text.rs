//! Values in braces: the text format, read by the definitions of its fields.
//!
//! ```text
//! message = { field [";" | ","] }
//! field   = (name | "[" extension "]" | "[" url "/" type "]") [":"] value
//! value   = scalar | "{" message "}" | "<" message ">" | "[" value, ... "]"
//! ```

use super::interpreter::{Failed, Interpreter};
use super::scalar::scalar_value;
use super::tree::{Tree, Value, is_required};
use crate::proto::lex::{Token, TokenKind, integer, lex};
use crate::schema::default::unescape;
use crate::schema::draft::Draft;
use crate::schema::features::EnumKind;
use crate::schema::link::Scope;
use crate::schema::uninterpreted::{OptionValue, TextRange};
use crate::schema::{FieldId, FieldType, MessageId, Scalar};

/// The maximal nesting of messages in a value.
const DEPTH_MAX: usize = 100;

pub(super) struct TextReader<'i, 'a, 't> {
    interpreter: &'i mut Interpreter<'a>,
    text: &'t str,
    /// The start of the text in its file.
    base: u32,
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
}

type Read<T = ()> = Result<T, Failed>;

impl<'i, 'a, 't> TextReader<'i, 'a, 't> {
    pub(super) fn new(
        interpreter: &'i mut Interpreter<'a>,
        text: &'t str,
        base: u32,
    ) -> TextReader<'i, 'a, 't> {
        let (problems, file) = interpreter.problems();
        // The parser has tokenised this text before and reported its errors.
        let known = problems.len();
        let tokens = lex(text, file, problems);
        problems.truncate(known);
        TextReader { interpreter, text, base, tokens, at: 0, depth: 0 }
    }

    /// The whole text as a message of type `ty`.
    pub(super) fn whole(&mut self, ty: MessageId) -> Read<Tree> {
        self.message(ty, TokenKind::End)
    }

    fn token(&self) -> Token {
        self.tokens[self.at.min(self.tokens.len() - 1)]
    }

    fn slice(&self, token: Token) -> &'t str {
        self.text.get(token.start as usize..token.end as usize).unwrap_or("")
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        if self.at < self.tokens.len() - 1 {
            self.at += 1;
        }
        token
    }

    fn take_sign(&mut self, sign: u8) -> bool {
        let there = self.token().kind == TokenKind::Sign(sign);
        if there {
            self.advance();
        }
        there
    }

    fn range(&self, token: Token) -> TextRange {
        (self.base + token.start, self.base + token.end)
    }

    fn error(&mut self, token: Token, message: impl Into<String>) -> Failed {
        let range = self.range(token);
        self.interpreter.error("option-value", range, message)
    }

    fn expected(&mut self, what: &str) -> Failed {
        let token = self.token();
        let message = match token.kind {
            TokenKind::End => format!("the value ends where {what} is expected"),
            _ => format!("{what} is expected, not `{}`", self.slice(token)),
        };
        self.error(token, message)
    }

    fn message(&mut self, ty: MessageId, end: TokenKind) -> Read<Tree> {
        let first = self.token();
        if self.depth >= DEPTH_MAX {
            return Err(self.error(first, format!("values nest more than {DEPTH_MAX} deep")));
        }
        self.depth += 1;
        let mut tree = Tree::default();
        while self.token().kind != end {
            if self.token().kind == TokenKind::End {
                return Err(self.expected("the end of a message"));
            }
            self.field(ty, &mut tree)?;
            if !self.take_sign(b';') {
                self.take_sign(b',');
            }
        }
        self.advance();
        self.depth -= 1;
        self.check_required(ty, &tree, first)?;
        Ok(tree)
    }

    fn check_required(&mut self, ty: MessageId, tree: &Tree, token: Token) -> Read {
        let draft = self.interpreter.draft;
        for &id in &draft.message(ty).fields {
            let field = draft.field(id);
            if is_required(field) && tree.get(draft, id).is_none() {
                let message = format!("required field `{}` is missing", field.name);
                return Err(self.error(token, message));
            }
        }
        Ok(())
    }

    fn field(&mut self, ty: MessageId, tree: &mut Tree) -> Read {
        let draft = self.interpreter.draft;
        let token = self.token();
        if self.take_sign(b'[') {
            let name = self.bracket_name()?;
            if let Some((_, full_name)) = name.rsplit_once('/') {
                return self.any(ty, tree, &name, full_name, token);
            }
            let range = (self.range(token).0, self.base + self.tokens[self.at - 1].end);
            let id = self.interpreter.extension(ty, Scope::Message(ty), &name, range)?;
            return self.values(id, tree, token);
        }
        if token.kind != TokenKind::Word {
            return Err(self.expected("the name of a field"));
        }
        self.advance();
        let name = self.slice(token);
        let by_group = || {
            let mut fields = draft.message(ty).fields.iter().copied();
            fields.find(|&id| is_group(draft, id, name))
        };
        match self.interpreter.plain_field(ty, name).or_else(by_group) {
            Some(id) => self.values(id, tree, token),
            None if is_reserved(draft, ty, name) => self.skip(),
            None => {
                let full_name = &draft.message(ty).full_name;
                let message = format!("message `{full_name}` has no field `{name}`");
                let failed = self.error(token, message);
                if let Some(similar) = self.interpreter.similar(ty, name) {
                    self.interpreter.help(format!("is `{similar}` meant?"));
                }
                Err(failed)
            }
        }
    }

    /// Skips the value of a reserved name, of any type.
    fn skip(&mut self) -> Read {
        if self.depth >= DEPTH_MAX {
            let message = format!("values nest more than {DEPTH_MAX} deep");
            return Err(self.error(self.token(), message));
        }
        self.depth += 1;
        let colon = self.take_sign(b':');
        let braces = matches!(self.token().kind, TokenKind::Sign(b'{' | b'<'));
        if braces || !colon { self.skip_braces() } else { self.skip_value() }?;
        self.depth -= 1;
        Ok(())
    }

    fn skip_braces(&mut self) -> Read {
        let end = match self.advance().kind {
            TokenKind::Sign(b'{') => b'}',
            TokenKind::Sign(b'<') => b'>',
            _ => return Err(self.expected("`{`")),
        };
        while !self.take_sign(end) {
            if self.take_sign(b'[') {
                self.bracket_name()?;
            } else if self.token().kind == TokenKind::Word {
                self.advance();
            } else {
                return Err(self.expected("the name of a field"));
            }
            self.skip()?;
            let _ = self.take_sign(b',') || self.take_sign(b';');
        }
        Ok(())
    }

    fn skip_value(&mut self) -> Read {
        if !self.take_sign(b'[') {
            let value = match self.token().kind {
                TokenKind::String => self.string().map(OptionValue::String),
                _ => self.scalar(),
            };
            return value.map(|_| ());
        }
        if self.take_sign(b']') {
            return Ok(());
        }
        loop {
            match self.token().kind {
                TokenKind::Sign(b'{' | b'<') => self.skip_braces()?,
                // A list cannot hold lists.
                TokenKind::Sign(b'[') => return Err(self.expected("a value")),
                _ => self.skip_value()?,
            }
            if self.take_sign(b']') {
                return Ok(());
            }
            if !self.take_sign(b',') {
                return Err(self.expected("`,` or `]`"));
            }
        }
    }

    fn bracket_name(&mut self) -> Read<String> {
        let mut name = String::new();
        loop {
            let token = self.token();
            match token.kind {
                TokenKind::Word => name.push_str(self.slice(token)),
                TokenKind::Sign(sign @ (b'.' | b'/' | b'-')) => name.push(char::from(sign)),
                TokenKind::Sign(b']') => {
                    self.advance();
                    return Ok(name);
                }
                _ => return Err(self.expected("`]`")),
            }
            self.advance();
        }
    }

    /// `[type.googleapis.com/Type] { ... }`.
    fn any(
        &mut self,
        ty: MessageId,
        tree: &mut Tree,
        url: &str,
        full_name: &str,
        token: Token,
    ) -> Read {
        let draft = self.interpreter.draft;
        let known = url.strip_suffix(full_name);
        let is_any = &*draft.message(ty).full_name == "google.protobuf.Any"
            && matches!(known, Some("type.googleapis.com/" | "type.googleprod.com/"));
        let fields = [
            self.interpreter.plain_field(ty, "type_url"),
            self.interpreter.plain_field(ty, "value"),
        ];
        let ([Some(type_url), Some(value)], true) = (fields, is_any) else {
            return Err(self.error(token, format!("nothing of type `{url}` can be here")));
        };
        let Some(inner) = self.interpreter.message_by_name(full_name) else {
            return Err(self.error(token, format!("there is no message `{full_name}`")));
        };
        self.take_sign(b':');
        let content = self.braces(inner)?;
        tree.entry(draft, type_url).values = vec![Value::Bytes(url.into())];
        tree.entry(draft, value).values = vec![Value::Content(inner, content)];
        Ok(())
    }

    fn values(&mut self, id: FieldId, tree: &mut Tree, name: Token) -> Read {
        let draft = self.interpreter.draft;
        let field = draft.field(id);
        let range = self.range(name);
        let message = field.ty.and_then(FieldType::message);
        let colon = self.take_sign(b':');
        if !colon && message.is_none() {
            return Err(self.expected("`:`"));
        }
        if !field.is_repeated() {
            if tree.get(draft, id).is_some() {
                return Err(self.error(name, format!("field `{}` is set twice", field.name)));
            }
            self.interpreter.check_oneof(tree, id, range)?;
        }
        if field.is_repeated() && self.take_sign(b'[') {
            if self.take_sign(b']') {
                return Ok(());
            }
            loop {
                let value = self.value(id)?;
                tree.entry(draft, id).values.push(value);
                if self.take_sign(b']') {
                    return Ok(());
                }
                if !self.take_sign(b',') {
                    return Err(self.expected("`,` or `]`"));
                }
            }
        }
        let value = self.value(id)?;
        tree.entry(draft, id).values.push(value);
        Ok(())
    }

    fn braces(&mut self, ty: MessageId) -> Read<Tree> {
        if self.take_sign(b'{') {
            self.message(ty, TokenKind::Sign(b'}'))
        } else if self.take_sign(b'<') {
            self.message(ty, TokenKind::Sign(b'>'))
        } else {
            Err(self.expected("`{`"))
        }
    }

    fn value(&mut self, id: FieldId) -> Read<Value> {
        let draft = self.interpreter.draft;
        let field = draft.field(id);
        let token = self.token();
        match field.ty {
            Some(FieldType::Message(ty) | FieldType::Group(ty)) => {
                self.braces(ty).map(Value::Message)
            }
            Some(FieldType::Scalar(scalar)) => {
                let value = self.scalar()?;
                let value = match (scalar, &value) {
                    (Scalar::Bool, _) => truth(&value),
                    (Scalar::Double | Scalar::Float, OptionValue::Identifier(word)) => {
                        infinite(word).and_then(|value| scalar_value(scalar, &value))
                    }
                    _ => scalar_value(scalar, &value),
                };
                let name = scalar.name();
                value.ok_or_else(|| {
                    self.error(token, format!("field `{}` takes a {name}", field.name))
                })
            }
            Some(FieldType::Enum(ty)) => {
                let found = draft.enum_(ty);
                let number = match self.scalar()? {
                    OptionValue::Identifier(word) => {
                        found.values.iter().find(|value| value.name == word).map(|one| one.number)
                    }
                    OptionValue::Positive(value) => i32::try_from(value).ok(),
                    OptionValue::Negative(value) => i32::try_from(value).ok(),
                    _ => None,
                };
                let open = found.features.enum_kind == EnumKind::Open;
                let number = number.filter(|number| {
                    open || found.values.iter().any(|value| value.number == *number)
                });
                match number {
                    Some(number) => Ok(Value::Varint(i64::from(number) as u64)),
                    None => {
                        let message = format!("this is no value of enum `{}`", found.full_name);
                        Err(self.error(token, message))
                    }
                }
            }
            None => Err(Failed),
        }
    }

    fn scalar(&mut self) -> Read<OptionValue> {
        let minus = self.take_sign(b'-');
        let token = self.token();
        let slice = self.slice(token);
        let value = match token.kind {
            TokenKind::String if !minus => return self.string().map(OptionValue::String),
            TokenKind::Word if minus => match infinite(slice) {
                Some(OptionValue::Double(value)) => OptionValue::Double(-value),
                _ => return Err(self.expected("a number")),
            },
            TokenKind::Word => OptionValue::Identifier(slice.into()),
            TokenKind::Float => {
                let value: f64 = slice.trim_end_matches(['f', 'F']).parse().unwrap_or(0.0);
                OptionValue::Double(if minus { -value } else { value })
            }
            TokenKind::Integer => match (integer(slice), minus) {
                (Some(value), false) => OptionValue::Positive(value),
                (Some(value), true) => match i64::try_from(-i128::from(value)) {
                    Ok(value) => OptionValue::Negative(value),
                    Err(_) => OptionValue::Double(-(value as f64)),
                },
                (None, _) => {
                    let value: f64 = slice.parse().unwrap_or(f64::INFINITY);
                    OptionValue::Double(if minus { -value } else { value })
                }
            },
            _ => return Err(self.expected("a value")),
        };
        self.advance();
        Ok(value)
    }

    fn string(&mut self) -> Read<Vec<u8>> {
        let mut out = Vec::new();
        while self.token().kind == TokenKind::String {
            let token = self.advance();
            let slice = self.slice(token);
            let inner = slice.get(1..slice.len().saturating_sub(1)).unwrap_or("");
            match unescape(inner) {
                Ok(bytes) => out.extend(bytes),
                Err(bad) => return Err(self.error(token, bad.what)),
            }
        }
        Ok(out)
    }
}

fn is_reserved(draft: &Draft, ty: MessageId, name: &str) -> bool {
    draft.message(ty).reserved_names.iter().any(|(reserved, _)| *reserved == name)
}

/// True if `name` is the type of a field that is a group, or is written like one: its type is
/// declared beside it and has its name, but for the case.
fn is_group(draft: &Draft, id: FieldId, name: &str) -> bool {
    let field = draft.field(id);
    let Some(FieldType::Group(message)) = field.ty else { return false };
    let message = draft.message(message);
    message.name == name
        && name.to_ascii_lowercase() == *field.name
        && message.parent == field.scope
        && message.file == field.file
}

fn truth(value: &OptionValue) -> Option<Value> {
    let truth = match value {
        OptionValue::Identifier(word) => match word.as_str() {
            "true" | "True" | "t" => true,
            "false" | "False" | "f" => false,
            _ => return None,
        },
        OptionValue::Positive(0) => false,
        OptionValue::Positive(1) => true,
        _ => return None,
    };
    Some(Value::Varint(u64::from(truth)))
}

fn infinite(word: &str) -> Option<OptionValue> {
    match word.to_ascii_lowercase().as_str() {
        "inf" | "infinity" | "inff" | "infinityf" => Some(OptionValue::Double(f64::INFINITY)),
        "nan" | "nanf" => Some(OptionValue::Double(f64::NAN)),
        _ => None,
    }
}
