//! Functions of texts. Positions and lengths count characters, from 0.

use super::call::Call;
use super::declaration::{Function, one, optional, repeated};
use super::pattern;
use crate::eval::EvalError;
use crate::limits;
use crate::operator;
use crate::types::TypeSet;
use crate::value::Value;

const TEXT: TypeSet = TypeSet::TEXT;
const INT: TypeSet = TypeSet::INT;
const BOOL: TypeSet = TypeSet::BOOL;
const ANY: TypeSet = TypeSet::ANY;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("tostr", &[one("x", ANY)], TEXT, join)
        .doc("A text as it is, any other value in its text form.")
        .examples(&[
            ("f_tostr(1.5)", "\"1.5\""),
            ("f_tostr(\"a\")", "\"a\""),
            ("f_tostr([\"a\", 1])", "\"[\\\"a\\\", 1]\""),
        ]),
    Function::new("strcat", &[repeated("x", ANY)], TEXT, join)
        .doc("The texts of all arguments, as `f_tostr` gives them, one after the other.")
        .examples(&[("f_strcat(\"n\", 1, \":\", 2)", "\"n1:2\"")]),
    Function::new("strlen", &[one("text", TEXT)], INT, strlen)
        .doc("The number of characters.")
        .examples(&[("f_strlen(\"Mühle\")", "5")])
        .see(&["length", "size"]),
    Function::new("upper", &[one("text", TEXT)], TEXT, upper)
        .doc("The text in upper case.")
        .examples(&[("f_upper(\"Ring\")", "\"RING\"")]),
    Function::new("lower", &[one("text", TEXT)], TEXT, lower)
        .doc("The text in lower case.")
        .examples(&[("f_lower(\"Ring\")", "\"ring\"")]),
    Function::new(
        "substr",
        &[one("text", TEXT), one("start", INT), optional("length", INT)],
        TEXT,
        substr,
    )
    .doc("The characters from `start` on, at most `length`; what lies beyond the end is left out.")
    .examples(&[
        ("f_substr(\"tidemill\", 4, 3)", "\"mil\""),
        ("f_substr(\"tidemill\", 4)", "\"mill\""),
        ("f_substr(\"tide\", 9, 1)", "\"\""),
    ])
    .see(&["slice"]),
    Function::new("strfind", &[one("part", TEXT), one("text", TEXT)], INT, strfind)
        .doc("Where `part` first stands in `text`, or -1.")
        .examples(&[
            ("f_strfind(\"mill\", \"tidemill\")", "4"),
            ("f_strfind(\"x\", \"tide\")", "-1"),
        ]),
    Function::new(
        "strreplace",
        &[one("text", TEXT), one("part", TEXT), one("by", TEXT)],
        TEXT,
        strreplace,
    )
    .doc("The text with every occurrence of `part`, which is not empty, replaced.")
    .examples(&[("f_strreplace(\"a-b-c\", \"-\", \"+\")", "\"a+b+c\"")]),
    Function::new("match", &[one("regex", TEXT), one("text", TEXT)], BOOL, matches)
        .doc("Whether the regular expression matches anywhere in the text.")
        .examples(&[
            ("f_match(\"^n[0-9]+:\", \"n17:1\")", "true"),
            ("f_match(\"^[0-9]\", \"n17:1\")", "false"),
        ]),
];

fn join<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match call.arguments() {
        [text @ Value::Str(_)] => Ok(*text),
        all => operator::join(call.name(), all, call.scope()),
    }
}

fn strlen<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Int(call.text(0)?.chars().count() as i64))
}

fn upper<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_text(&call.text(0)?.to_uppercase())
}

fn lower<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_text(&call.text(0)?.to_lowercase())
}

fn substr<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let text = call.text(0)?;
    let from = byte_position(text, call.count(1)?);
    let rest = &text[from..];
    let length = match call.arguments().get(2) {
        Some(_) => byte_position(rest, call.count(2)?),
        None => rest.len(),
    };
    Ok(Value::Str(&rest[..length]))
}

/// The offset of character `index`, or the end of the text.
fn byte_position(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}

fn strfind<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let text = call.text(1)?;
    let at = text.find(call.text(0)?);
    Ok(Value::Int(at.map_or(-1, |at| text[..at].chars().count() as i64)))
}

fn strreplace<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (text, part, by) = (call.text(0)?, call.text(1)?, call.text(2)?);
    if part.is_empty() {
        return Err(call.fail("the part to be replaced is empty"));
    }
    let mut out = String::new();
    for (i, piece) in text.split(part).enumerate() {
        if i > 0 {
            out.push_str(by);
        }
        out.push_str(piece);
        limits::check_size(call.name(), out.len())?;
    }
    call.give_text(&out)
}

fn matches<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    match pattern::is_match(call.text(0)?, call.text(1)?) {
        Ok(found) => Ok(Value::Bool(found)),
        Err(error) => Err(call.fail(error.to_string())),
    }
}
