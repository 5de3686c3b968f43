//! Frames at a rate.

use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_setaffinity};
use tidemill_apps::frame;
use tidemill_pore::packet::socket::{BATCH, HEADER, PacketSocket, Wanted};
use tidemill_stdx::rng::Rng;

/// Flows of a load.
const FLOWS: usize = 1000;
/// Bytes before the payload.
const HEADERS: usize = 42;

/// What is sent.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Bytes of a frame.
    pub size: usize,
    /// What the ports are made from.
    pub seed: u64,
}

/// Binds this thread to a CPU; where there is no such CPU, it stays.
pub fn pin(cpu: usize) {
    let mut set = CpuSet::new();
    set.set(cpu);
    let _ = sched_setaffinity(None, &set);
}

fn frames(load: Load) -> Result<Vec<Vec<u8>>, String> {
    let mut random = Rng::new(load.seed);
    let frame = |_| {
        let (host, port) = (random.range(1..=250), random.range(1024..=65535));
        let bytes = load.size - HEADERS;
        frame::parse(&format!(
            "02:00:00:00:00:01 > 02:00:00:00:00:02 ip 10.0.0.{host} > 198.51.100.9 \
             udp {port} > 53 bytes {bytes}"
        ))
    };
    (0..FLOWS).map(frame).collect()
}

/// Sends frames through a device for a time; their number, and the seconds.
///
/// # Errors
/// There is no such device.
pub fn send(device: &str, load: Load, rate: f64, time: Duration) -> Result<(u64, f64), String> {
    pin(0);
    let frames: Vec<Vec<u8>> =
        frames(load)?.iter().map(|frame| [&HEADER[..], frame].concat()).collect();
    let frames: Vec<&[u8]> = frames.iter().map(Vec::as_slice).collect();
    let socket = PacketSocket::open(device, &Wanted::default());
    let socket = socket.map_err(|error| format!("{device}: {error}"))?;
    // A batch is not longer than a tenth of a millisecond.
    let batch = if rate < 320_000.0 { (rate / 10_000.0).max(1.0) as usize } else { BATCH };
    let (start, mut sent, mut at) = (Instant::now(), 0_u64, 0);
    loop {
        let seconds = start.elapsed().as_secs_f64();
        if seconds >= time.as_secs_f64() {
            return Ok((sent, seconds));
        }
        if sent as f64 > seconds * rate {
            std::hint::spin_loop();
            continue;
        }
        let end = (at + batch).min(frames.len());
        let refused = socket.send(&frames[at..end]);
        sent += (end - at - refused) as u64;
        at = if end == frames.len() { 0 } else { end };
    }
}
