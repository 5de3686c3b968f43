//! Primes up to a limit: each has a filter task, which starts the next one. The numbers end with
//! a 0; then the count comes from the last filter.

use std::pin::Pin;

use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::{Result, SLOTS};

pub async fn run(limit: u64) -> Result<u64> {
    let (first, inbox) = channel(SLOTS);
    let (primes, mut counted) = channel(1);
    tokio::spawn(filter(inbox, 1, primes));
    let numbers = async move {
        for n in (2..=limit).chain([0]) {
            if first.send(n).await.is_err() {
                return;
            }
        }
    };
    tokio::spawn(numbers);
    counted.recv().await.ok_or_else(|| "no count".into())
}

/// Boxed, as it is recursive.
fn filter(
    mut inbox: Receiver<u64>,
    position: u64,
    primes: Sender<u64>,
) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        let Some(prime) = inbox.recv().await else { return };
        let mut next: Option<Sender<u64>> = None;
        while let Some(n @ 1..) = inbox.recv().await {
            if n % prime == 0 {
                continue;
            }
            let next = next.get_or_insert_with(|| {
                let (outbox, inbox) = channel(SLOTS);
                tokio::spawn(filter(inbox, position + 1, primes.clone()));
                outbox
            });
            if next.send(n).await.is_err() {
                return;
            }
        }
        // If these fail, the receivers have ended.
        let _ = match next {
            Some(next) => next.send(0).await,
            None => primes.send(position).await,
        };
    })
}
