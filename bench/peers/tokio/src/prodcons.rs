//! The sum of the items that producers send to consumers through a buffer of 10.

use tokio::sync::mpsc;

use crate::Result;

const BUFFER: usize = 10;

/// One producer and one consumer: tokio's own channel.
pub async fn pair(items: u64) -> Result<u64> {
    let (outbox, mut inbox) = mpsc::channel(BUFFER);
    tokio::spawn(async move {
        for x in 1..=items {
            if outbox.send(x).await.is_err() {
                return;
            }
        }
    });
    let consumer = async move {
        let mut sum = 0;
        while let Some(x) = inbox.recv().await {
            sum += x;
        }
        sum
    };
    Ok(tokio::spawn(consumer).await?)
}

/// Several of each: a channel with several receivers.
pub async fn many(producers: u64, consumers: u64, items: u64) -> Result<u64> {
    let (outbox, inbox) = async_channel::bounded(BUFFER);
    for _ in 0..producers {
        let outbox = outbox.clone();
        tokio::spawn(async move {
            for x in 1..=items {
                if outbox.send(x).await.is_err() {
                    return;
                }
            }
        });
    }
    // The channel closes when the last producer ends.
    drop(outbox);
    let consume = |inbox: async_channel::Receiver<u64>| async move {
        let mut sum = 0;
        while let Ok(x) = inbox.recv().await {
            sum += x;
        }
        sum
    };
    let consumers: Vec<_> = (0..consumers).map(|_| tokio::spawn(consume(inbox.clone()))).collect();
    let mut total = 0;
    for consumer in consumers {
        total += consumer.await?;
    }
    Ok(total)
}
