//! `TOKENIZER`: the parts of a text between delimiters.

use tidemill_relation::{SeqBuilder, TypeSet, Value};

use super::context::Context;
use super::{Declaration, Failure, Input, Next, Operator, Rows};

pub(super) fn declaration() -> Declaration {
    Declaration::new("TOKENIZER")
        .reads("delimiters", TypeSet::TEXT)
        .reads("text", TypeSet::TEXT)
        .yields("token", TypeSet::TEXT)
        .doc(
            "The parts of `text` between characters that occur in `delimiters`, in order. Empty \
             parts are left out; without delimiters the whole text is one part.",
        )
        .example(
            r#"line("n0:1", ", ", "so, it goes")"#,
            &[r#"word("n0:1", "so")"#, r#"word("n0:1", "it")"#, r#"word("n0:1", "goes")"#],
        )
}

pub(super) fn operator(_: &Context) -> Box<dyn Operator> {
    Box::new(Tokenizer)
}

struct Tokenizer;

impl Operator for Tokenizer {
    fn start(&mut self, input: Input<'_>) -> Result<Box<dyn Rows>, Failure> {
        let delimiters = input.text(0)?.chars().collect();
        Ok(Box::new(Tokens { delimiters, text: input.text(1)?.to_owned(), at: 0 }))
    }
}

struct Tokens {
    delimiters: Vec<char>,
    text: String,
    at: usize,
}

impl Rows for Tokens {
    fn next(&mut self, row: &mut SeqBuilder) -> Result<Next, Failure> {
        let rest = self.text[self.at..].trim_start_matches(&self.delimiters[..]);
        if rest.is_empty() {
            self.at = self.text.len();
            return Ok(Next::End);
        }
        let token = &rest[..rest.find(&self.delimiters[..]).unwrap_or(rest.len())];
        self.at = self.text.len() - rest.len() + token.len();
        row.push(Value::Str(token));
        Ok(Next::Row)
    }
}
