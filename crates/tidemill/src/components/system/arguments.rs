//! Arguments: what stands behind `--` on the command line. They are counted from 1.

use tidemill_event::Loop;
use tidemill_proc::{Communication, Values};

use crate::components::system::values::{integer, text};
use crate::machine::Machine;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    message: &str,
    values: &Values,
) {
    let arguments = &world.node.systems.arguments;
    match message {
        "GetCount" => {
            let count = arguments.len() as i64;
            world.answer(lp, from, "Count", &[integer(count)]);
        }
        "Get" => {
            let index = usize::try_from(values.integer()).ok().and_then(|i| i.checked_sub(1));
            let argument = index.and_then(|index| arguments.get(index)).cloned();
            world.answer(lp, from, "Argument", &[text(argument.unwrap_or_default())]);
        }
        _ => {}
    }
}
