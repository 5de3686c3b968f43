//! Messages generated from a seed: packed lists, a trace export, a batch of log records, a file
//! descriptor.
//!
//! Their bytes are written here, field by field, so that no decoder or encoder is involved. No
//! field without presence is zero, so that they can be encoded again without change.

mod descriptor;
mod lists;
mod logs;
mod message;
mod traces;
mod words;
mod write;

pub use message::Made;

use tidemill_stdx::rng::Rng;

/// The same messages in each run.
const SEED: u64 = 17;

/// All of them.
pub fn all() -> Vec<Made> {
    let mut rng = Rng::new(SEED);
    let mut all = lists::all(&mut rng);
    all.push(traces::made(&mut rng));
    all.push(logs::made(&mut rng));
    all.push(descriptor::made(&mut rng));
    all
}
