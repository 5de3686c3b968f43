//! Arguments: what follows `--` on the command line, numbered from 1.

use tidemill_cl::system::arguments::{Request, Response};
use tidemill_event::Loop;
use tidemill_proc::Communication;

use crate::machine::Machine;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request,
) {
    let arguments = &world.node.systems.arguments;
    match request {
        Request::GetCount => {
            let n = arguments.len() as i64;
            world.answer(lp, from, Response::Count { n });
        }
        Request::Get { i } => {
            let index = usize::try_from(i).ok().and_then(|i| i.checked_sub(1));
            let argument = index.and_then(|index| arguments.get(index)).cloned();
            let x = argument.unwrap_or_default().into_bytes().into();
            world.answer(lp, from, Response::Argument { x });
        }
    }
}
