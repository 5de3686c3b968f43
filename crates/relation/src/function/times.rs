//! Times as text.

use super::call::Call;
use super::declaration::{Function, one, optional};
use crate::civil;
use crate::eval::EvalError;
use crate::types::TypeSet;
use crate::value::Value;

const TIME: TypeSet = TypeSet::TIME;
const TEXT: TypeSet = TypeSet::TEXT;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("formatTime", &[one("time", TIME), optional("pattern", TEXT)], TEXT, format)
        .doc(
            "The time in UTC as the pattern says: `%Y` year, `%m` month, `%d` day, `%H` hour, `%M` \
             minute, `%S` second, `%N` nanoseconds (9 digits), `%j` day of the year, `%F` for \
             `%Y-%m-%d`, `%T` for `%H:%M:%S`, `%s` seconds since the epoch, `%%` a percent sign; \
             without a pattern as RFC 3339.",
        )
        .examples(&[
            ("f_formatTime(951782400.5t)", "\"2000-02-29T00:00:00.500000000Z\""),
            ("f_formatTime(951782400.5t, \"%Y%m%d-%H\")", "\"20000229-00\""),
        ])
        .see(&["tostr"]),
    Function::new("parseTime", &[one("text", TEXT)], TIME, parse)
        .doc("The time that a text of RFC 3339 is.")
        .examples(&[("f_parseTime(\"2000-02-29T01:00:00+01:00\")", "951782400.000000000t")]),
];

fn format<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let Value::Time(ns) = call.value(0) else {
        return Err(call.fail("no time"));
    };
    let Some(_) = call.arguments().get(1) else {
        return call.give_text(&civil::rfc3339(ns));
    };
    let pattern = call.text(1)?;
    // A letter becomes 20 characters at most.
    crate::limits::check_size(call.name(), pattern.len().saturating_mul(10))?;
    let mut out = String::new();
    civil::push_formatted(&mut out, ns, pattern).map_err(|error| call.fail(error.to_string()))?;
    call.give_text(&out)
}

fn parse<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let ns = civil::parse_rfc3339(call.text(0)?);
    ns.map(Value::Time)
        .ok_or_else(|| call.fail(format!("{} is no time of RFC 3339", call.shown(0))))
}
