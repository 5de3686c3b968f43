//! Messages: values of the types that the schemas of the program have.
//!
//! A communication holds one message. Paths lead into it, see [`path`]. What is wrong, be it a
//! path, a value or bytes that are no message, is answered as Failed and changes nothing, but that
//! messages on the way to what cannot be set may have been made.
mod held;
mod path;

use tidemill_event::Loop;
use tidemill_proc::{Communication, Values};
use tidemill_relation::Value as Given;
use tidemill_stdx::marks;

use crate::components::system::values::{integer, text};
use crate::machine::Machine;
pub(super) use held::Messages;
use held::{Answer, Put};

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let messages = &mut world.node.systems.contents;
    marks::arrive("schemas/call");
    let first = if message == "Index" { &[][..] } else { values.text() };
    let done = match message {
        "New" => messages.make(from, &String::from_utf8_lossy(first), None),
        "Decode" => {
            let bytes = values.bytes();
            messages.make(from, &String::from_utf8_lossy(first), Some(bytes))
        }
        "SetInteger" => messages.set(from, first, Put::Other(Given::Int(values.integer()))),
        "SetReal" => {
            let real = f64::from_bits(values.word());
            messages.set(from, first, Put::Other(Given::Double(real)))
        }
        "SetBoolean" => messages.set(from, first, Put::Other(Given::Bool(values.word() != 0))),
        "SetText" => messages.set(from, first, Put::Text(values.bytes())),
        "Clear" => messages.at(from, first).and_then(|(held, _, path)| path.clear(held.as_mut())),
        "Index" => {
            messages.indices.insert(from, values.integer());
            Ok(())
        }
        _ => Ok(()),
    };
    let answer = done.and_then(|()| match message {
        "Encode" => messages.encode(from).map(Answer::Text),
        "Has" => messages
            .at(from, first)
            .and_then(|(held, _, path)| path.is_set(held.as_ref()).map(Answer::Boolean)),
        "Count" => messages.count(from, first),
        "GetInteger" | "GetReal" | "GetBoolean" | "GetText" => messages.get(from, first, message),
        _ => Ok(Answer::Done),
    });
    match answer {
        Ok(Answer::Done) => world.answer(lp, from, "Done", &[]),
        Ok(Answer::Integer(value)) => world.answer(lp, from, "Integer", &[integer(value)]),
        Ok(Answer::Real(value)) => {
            world.answer(lp, from, "Real", &[tidemill_proc::Value::Word(value.to_bits())]);
        }
        Ok(Answer::Boolean(value)) => {
            world.answer(lp, from, "Boolean", &[integer(value.into())]);
        }
        Ok(Answer::Text(bytes)) => world.answer(lp, from, "Text", &[text(bytes)]),
        Err(reason) => world.answer(lp, from, "Failed", &[text(reason)]),
    }
}
