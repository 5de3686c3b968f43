//! Tasks that wait for a message on a channel of their own: the number of answers, and the memory
//! of each task.

use tokio::sync::mpsc::{Sender, channel};

use crate::{Result, SLOTS};

pub async fn run(count: u64) -> Result<(u64, f64)> {
    // Allocated before the measurement, so the list of clients does not count.
    let mut outboxes: Vec<Option<Sender<u64>>> = Vec::new();
    outboxes.resize_with(count as usize, || None);
    let (answers, mut answered) = channel(SLOTS);
    let before = resident()?;
    for outbox in &mut outboxes {
        let (sender, mut inbox) = channel(SLOTS);
        *outbox = Some(sender);
        let answers = answers.clone();
        tokio::spawn(async move {
            // If these fail, the receivers have ended.
            let _ = answers.send(0).await;
            if let Some(x) = inbox.recv().await {
                let _ = answers.send(x).await;
            }
        });
        answered.recv().await;
    }
    let bytes = (resident()? - before) / count as f64;
    let mut alive = 0;
    for outbox in outboxes.iter().flatten() {
        outbox.send(1).await?;
        alive += answered.recv().await.unwrap_or(0);
    }
    Ok((alive, bytes))
}

/// The memory of the process in bytes.
fn resident() -> Result<f64> {
    let text = std::fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1).ok_or("no resident pages in statm")?;
    Ok(pages.parse::<f64>()? * rustix::param::page_size() as f64)
}
