//! SystemTime: the wall clock, in milliseconds since the epoch of Unix, and pauses.

use std::time::Duration;

use tidemill_cl::system::system_time::{Request, Response};
use tidemill_event::Loop;
use tidemill_proc::Communication;

use crate::machine::Machine;

const NS_PER_MS: i64 = 1_000_000;

pub(super) fn serve(
    world: &mut Machine,
    lp: &mut Loop<Machine>,
    from: Communication,
    request: Request,
) {
    match request {
        Request::GetSystemTime => {
            let ticks = lp.host().wall_ns().div_euclid(NS_PER_MS);
            world.answer(lp, from, Response::SystemTime { ticks });
        }
        Request::Wait { ms } => {
            // A time in the past is over at once.
            let ms = u64::try_from(ms).unwrap_or(0);
            let at = lp.host().now() + Duration::from_millis(ms);
            lp.timer(at, move |world: &mut Machine, lp: &mut Loop<Machine>| {
                world.answer(lp, from, Response::Passed);
            });
        }
    }
}
