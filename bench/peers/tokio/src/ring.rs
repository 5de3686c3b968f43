//! A token, which counts its hops, passed round a ring of tasks.

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{Result, SLOTS};

pub async fn run(nodes: u64, rounds: u64) -> Result<u64> {
    let (first, mut inbox) = channel(SLOTS);
    for _ in 1..nodes {
        let (outbox, next) = channel(SLOTS);
        tokio::spawn(node(inbox, outbox, rounds));
        inbox = next;
    }
    Ok(tokio::spawn(head(inbox, first, rounds)).await?)
}

async fn node(mut inbox: Receiver<u64>, outbox: Sender<u64>, rounds: u64) {
    for _ in 0..rounds {
        let Some(hops) = inbox.recv().await else { return };
        if outbox.send(hops + 1).await.is_err() {
            return;
        }
    }
}

/// The node that sends the token on its rounds; returns the hops.
async fn head(mut inbox: Receiver<u64>, outbox: Sender<u64>, rounds: u64) -> u64 {
    let mut hops = 0;
    for _ in 0..rounds {
        if outbox.send(hops + 1).await.is_err() {
            break;
        }
        let Some(back) = inbox.recv().await else { break };
        hops = back;
    }
    hops
}
