//! Messages that are made from a seed: packed lists, a trace export, a batch of log records, a
//! file descriptor.
//!
//! Their bytes are written here, field by field, so that no decoder or encoder has a part in them.
//! No field without presence is zero, so that they are encoded again as they are.

mod descriptor;
mod lists;
mod logs;
mod traces;
mod words;
mod write;

use tidemill_stdx::rng::Rng;

/// The same messages in each run.
const SEED: u64 = 17;

/// A message, and the text that its type is in.
pub struct Made {
    /// What the case is called.
    pub name: &'static str,
    /// The name of its file.
    pub file: &'static str,
    /// The `.proto` text; it may import what is built in.
    pub text: &'static str,
    /// The full name of its type.
    pub message: &'static str,
    /// The message.
    pub bytes: Vec<u8>,
    /// Two fields that stand in it.
    pub select: [&'static str; 2],
}

/// All of them.
pub fn all() -> Vec<Made> {
    let mut rng = Rng::new(SEED);
    let mut all = lists::all(&mut rng);
    all.push(traces::made(&mut rng));
    all.push(logs::made(&mut rng));
    all.push(descriptor::made(&mut rng));
    all
}
