//! Messages: values of message types of the program's schemas.
//!
//! A communication holds one message. For paths into it see [`path`]. An invalid path, value or
//! encoding is answered by Failed and changes nothing, except that messages on the path to a field
//! that cannot be set may have been created.
mod held;
mod path;

use tidemill_cl::system::messages::{Request, Response};
use tidemill_event::Loop;
use tidemill_proc::Communication;
use tidemill_relation::Value as Given;
use tidemill_stdx::marks;

use crate::machine::Machine;
pub(super) use held::Messages;
use held::{Put, ValueKind};
use path::PathError;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request<'_>,
) {
    marks::arrive("schemas/call");
    let contents = &mut world.node.systems.contents;
    let answer = respond(contents, from, request);
    contents.note_result(&world.registry, answer.is_ok());
    let answer =
        answer.unwrap_or_else(|reason| Response::Failed { reason: reason.into_bytes().into() });
    world.answer(lp, from, answer);
}

fn respond(
    messages: &mut Messages,
    from: Communication,
    request: Request<'_>,
) -> Result<Response<'static>, PathError> {
    match request {
        Request::New { type_name } => {
            messages.make(from, &String::from_utf8_lossy(type_name.0), None)?;
        }
        Request::Decode { type_name, data } => {
            messages.make(from, &String::from_utf8_lossy(type_name.0), Some(data))?;
        }
        Request::Index { place } => messages.indices.insert(from, place),
        Request::SetInteger { path, value } => {
            messages.set(from, path.0, Put::Other(Given::Int(value)))?;
        }
        Request::SetReal { path, value } => {
            messages.set(from, path.0, Put::Other(Given::Double(value)))?;
        }
        Request::SetBoolean { path, value } => {
            messages.set(from, path.0, Put::Other(Given::Bool(value)))?;
        }
        Request::SetText { path, value } => messages.set(from, path.0, Put::Text(value))?,
        Request::Clear { path } => {
            let (held, _, path) = messages.at(from, path.0)?;
            path.clear(held.as_mut())?;
        }
        Request::Encode => {
            return messages.encode(from).map(|bytes| Response::Text { value: bytes.into() });
        }
        Request::Has { path } => {
            let (held, _, path) = messages.at(from, path.0)?;
            return path.is_set(held.as_ref()).map(|value| Response::Boolean { value });
        }
        Request::Count { path } => return messages.count(from, path.0),
        Request::GetInteger { path } => return messages.get(from, path.0, ValueKind::Integer),
        Request::GetReal { path } => return messages.get(from, path.0, ValueKind::Real),
        Request::GetBoolean { path } => return messages.get(from, path.0, ValueKind::Boolean),
        Request::GetText { path } => return messages.get(from, path.0, ValueKind::Text),
    }
    Ok(Response::Done)
}
