//! Functions of time and chance, identifiers, and what any value has: a type and a byte form.

use super::call::Call;
use super::declaration::{Function, one, optional};
use super::{digest, encode};
use crate::eval::EvalError;
use crate::id::Id;
use crate::limits;
use crate::tuple_id::Naming;
use crate::types::TypeSet;
use crate::value::Value;

const ANY: TypeSet = TypeSet::ANY;

type Evaluated<'a> = Result<Value<'a>, EvalError>;

pub(super) const FUNCTIONS: &[Function] = &[
    Function::new("now", &[], TypeSet::TIME, now)
        .of_time()
        .doc("The time; the same during a whole turn."),
    Function::new("rand", &[], TypeSet::INT, rand)
        .of_chance()
        .doc("A random integer from 0 to 2^63 - 1."),
    Function::new("coinFlip", &[optional("p", TypeSet::NUMERIC)], TypeSet::BOOL, coin_flip)
        .of_chance()
        .doc("True with the probability `p` from 0 to 1; without it, 0.5."),
    Function::new("idgen", &[], TypeSet::ID, idgen).of_chance().doc("A random ID."),
    Function::new("sha1", &[one("x", ANY)], TypeSet::ID, sha1)
        .doc("The SHA-1 of a text or of bytes, or of the text form of any other value.")
        .examples(&[
            ("f_sha1(\"abc\")", "0xa9993e364706816aba3e25717850c26c9cd0d89dI"),
            ("f_sha1(b\"abc\")", "0xa9993e364706816aba3e25717850c26c9cd0d89dI"),
        ]),
    Function::new(
        "tupleId",
        &[one("relation", TypeSet::TEXT), one("columns", TypeSet::LIST)],
        TypeSet::INT,
        tuple_id,
    )
    .doc("The id that `sys::ruleExec` and `sys::tuple` have for a tuple, location included.")
    .examples(&[("f_tupleId(\"p\", [\"n0:1\", 1])", "759403825291825486")]),
    Function::new("typeOf", &[one("x", ANY)], TypeSet::TEXT, type_of)
        .doc("The name of the type of `x`.")
        .examples(&[("f_typeOf(1)", "\"int64\""), ("f_typeOf([])", "\"list\"")]),
    Function::new("serialize", &[one("x", ANY)], TypeSet::BYTES, serialize)
        .doc("The value as bytes: the message `Value` of the network format.")
        .examples(&[
            ("f_serialize(1)", "b\"\\x08\\x02\""),
            ("f_serialize(\"a\")", "b\"\\\"\\x01a\""),
        ]),
    Function::new("deserialize", &[one("bytes", TypeSet::BYTES)], ANY, deserialize)
        .doc("The value that `f_serialize` made these bytes of.")
        .examples(&[("f_deserialize(b\"\\x08\\x02\")", "1")]),
];

fn now<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Time(call.scope().ambient.now_ns()))
}

fn rand<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Int((call.scope().ambient.random() >> 1) as i64))
}

fn coin_flip<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let p = if call.arguments().is_empty() { 0.5 } else { call.double(0)? };
    if !(0.0..=1.0).contains(&p) {
        return Err(call.fail(format!("{} is no probability", Value::Double(p))));
    }
    Ok(Value::Bool(call.scope().ambient.flip(p)))
}

fn idgen<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let mut bytes = [0; Id::BYTES];
    for chunk in bytes.chunks_mut(8) {
        let drawn = call.scope().ambient.random().to_be_bytes();
        chunk.copy_from_slice(&drawn[..chunk.len()]);
    }
    Ok(Value::Id(Id::from_be_bytes(bytes)))
}

fn sha1<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Id(digest::id_of(call.value(0))))
}

fn tuple_id<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let (Value::Str(relation), Value::List(columns)) = (call.value(0), call.value(1)) else {
        return Err(call.fail("it takes the name of a relation and a list"));
    };
    Ok(Value::Int(Naming::new(relation).id(columns.iter())))
}

fn type_of<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    Ok(Value::Str(call.value(0).type_of().name()))
}

fn serialize<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    call.give_bytes(&encode::encode(call.value(0)))
}

fn deserialize<'a>(call: &Call<'_, 'a>) -> Evaluated<'a> {
    let Value::Bytes(bytes) = call.value(0) else {
        return Err(call.fail("no bytes"));
    };
    let decoded = encode::decode(bytes, limits::NESTING_MAX);
    let value = decoded.ok_or_else(|| call.fail("these bytes are no value"))?;
    Ok(limits::copy_into(value.get(), call.scope().scratch))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::{Ambient, Param, Scope};
    use crate::function::FunctionId;
    use tidemill_stdx::region::Bump;

    /// Draws one number only.
    struct Drawn(u64);

    impl Ambient for Drawn {
        fn now_ns(&self) -> i64 {
            0
        }

        fn random(&self) -> u64 {
            self.0
        }

        fn param(&self, _: Param) -> Value<'_> {
            Value::Null
        }
    }

    #[test]
    fn a_coin_falls_by_where_in_its_range_the_number_lies() {
        let flip = FunctionId::from_name("coinFlip").expect("it is there");
        let falls = |drawn: u64, p: f64| {
            let (scratch, ambient) = (Bump::new(), Drawn(drawn));
            let scope = Scope { scratch: &scratch, ambient: &ambient };
            flip.call(&[Value::Double(p)], scope).expect("a probability") == Value::Bool(true)
        };
        let half = 1 << 63;
        assert_eq!([0.25, 0.5, 0.51].map(|p| falls(half, p)), [false, false, true]);
        assert_eq!([0.25, 0.5, 0.51].map(|p| falls(half - 1, p)), [false, true, true]);
        assert_eq!([0.999, 1.0].map(|p| falls(u64::MAX, p)), [false, true]);
        assert_eq!([0.0, f64::MIN_POSITIVE].map(|p| falls(0, p)), [false, true]);
    }
}
