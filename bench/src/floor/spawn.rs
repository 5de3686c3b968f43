//! Activities that wait for a message: the number of those that answer it.

use super::channel::Channel;

#[derive(Clone, Debug, Default)]
struct Sleeper {
    inbox: Channel,
    awake: bool,
}

pub fn run(count: u64) -> u64 {
    let mut sleepers = vec![Sleeper::default(); count as usize];
    sleepers.iter_mut().for_each(|sleeper| sleeper.awake = sleeper.inbox.receive().is_some());
    let mut alive = 0;
    for sleeper in &mut sleepers {
        sleeper.inbox.send(1);
        if !sleeper.awake {
            alive += sleeper.inbox.receive().unwrap_or(0);
        }
    }
    alive
}
