//! Functions of messages whose types the schemas of the program declare.

use super::call::Call;
use super::declaration::{Function, one};
use crate::eval::EvalError;
use crate::limits::copy_into;
use crate::messages::Messages;
use crate::types::TypeSet;
use crate::value::Value;

const TEXT: TypeSet = TypeSet::TEXT;
const BYTES: TypeSet = TypeSet::BYTES;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("decode", &[one("type", TEXT), one("bytes", BYTES)], TypeSet::LIST, decode)
        .of_schemas()
        .doc(
            "The fields of a message by number, as `stage(\"proto:pkg.Type\", in, out)` yields \
             them; those of messages inside as lists.",
        )
        .see(&["encode"]),
    Function::new("encode", &[one("type", TEXT), one("fields", TypeSet::SEQUENCE)], BYTES, encode)
        .of_schemas()
        .doc("The message whose fields, by number, have these values; null leaves one out.")
        .see(&["decode"]),
];

fn messages<'a>(call: &Call<'_, 'a>) -> Result<&'a dyn Messages, EvalError> {
    let messages = call.scope().ambient.messages();
    messages.ok_or_else(|| call.fail("no schema belongs to the program"))
}

fn decode<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let decoded = messages(call)?.decode(call.text(0)?, call.bytes(1)?);
    let fields = decoded.map_err(|error| call.fail(error.0))?;
    Ok(copy_into(fields.get(), call.scope().scratch))
}

fn encode<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let encoded = messages(call)?.encode(call.text(0)?, call.seq(1)?);
    call.give_bytes(&encoded.map_err(|error| call.fail(error.0))?)
}
