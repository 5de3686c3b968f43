//! Hot loops, and the sum of their results. As in every computing task of tokio, each yields now
//! and then: without, one loop would block the others to its end.

use crate::Result;

/// Steps between two yields: some 0.1 ms.
const SLICE: u64 = 65_536;

pub async fn run(activities: u64, loops: u64) -> Result<u64> {
    let tasks: Vec<_> = (1..=activities).map(|seed| tokio::spawn(spin(seed, loops))).collect();
    let mut sum = 0;
    for task in tasks {
        sum += task.await?;
    }
    Ok(sum)
}

async fn spin(mut x: u64, loops: u64) -> u64 {
    let mut i = 1;
    while i <= loops {
        let end = loops.min(i + SLICE - 1);
        while i <= end {
            x = (x * 5 + i) & 8191;
            i += 1;
        }
        tokio::task::yield_now().await;
    }
    x
}
