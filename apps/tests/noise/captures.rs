//! Captures: read whole and bit by bit they are the same; and their packets, which may be anything,
//! pass an app that reads their headers, and are all counted.

use crate::common;
use tidemill_apps::capture::{CaptureReader, CaptureWriter, Ended, Format, Frame, Replay};
use tidemill_packet::engine::{Engine, EngineKind, Options};
use tidemill_support::trickle::Trickle;

/// The packets of one pass through the engine.
const PACKETS: usize = 64;

/// The packets of a capture, and why there are no more.
fn read(mut next: impl FnMut(&mut Frame) -> Result<(), Ended>) -> (Vec<Frame>, Ended) {
    let mut frames = Vec::new();
    loop {
        let mut frame = Frame::default();
        match next(&mut frame) {
            Ok(()) => frames.push(frame),
            Err(Ended::Waiting) => {}
            Err(ended) => return (frames, ended),
        }
    }
}

fn whole(bytes: &[u8]) -> (Vec<Frame>, Ended) {
    match CaptureReader::new(bytes) {
        Ok(mut reader) => read(|frame| reader.next(frame)),
        Err(ended) => (Vec::new(), ended),
    }
}

fn assert_same(frames: &[Frame], others: &[Frame]) {
    assert_eq!(frames.len(), others.len());
    for (frame, other) in frames.iter().zip(others) {
        assert_eq!(
            (&frame.bytes, frame.time_ns, frame.length),
            (&other.bytes, other.time_ns, other.length)
        );
    }
}

/// Panics if a capture is not read the same in both ways, takes more memory than it has bytes, or
/// its packets are not all counted.
pub fn check(input: &[u8]) {
    let (frames, ended) = whole(input);
    let kept: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
    assert!(kept <= input.len(), "{kept} bytes of {}", input.len());
    let mut reader = CaptureReader::begin(Replay::new(Trickle::new(input)));
    let (others, end) = read(|frame| reader.poll(frame));
    assert_eq!(ended, end);
    assert_same(&frames, &others);
    assert_written_and_read(&frames);
    assert_counted(&frames);
}

/// What is written of the frames is what is read of that.
fn assert_written_and_read(frames: &[Frame]) {
    let fits = |frame: &&Frame| {
        (0..i64::from(u32::MAX) * 1_000_000_000).contains(&frame.time_ns)
            && frame.length as usize >= frame.bytes.len()
    };
    let frames: Vec<Frame> = frames.iter().filter(fits).cloned().collect();
    for format in [Format::Pcap, Format::Pcapng] {
        let mut bytes = Vec::new();
        let mut writer = CaptureWriter::new(&mut bytes, format).expect("memory");
        for frame in &frames {
            writer.write(frame.time_ns, &frame.bytes, frame.length).expect("memory");
        }
        let (others, ended) = whole(&bytes);
        assert_eq!(ended, Ended::Fine);
        assert_same(&frames, &others);
    }
}

fn assert_counted(frames: &[Frame]) {
    if frames.is_empty() {
        return;
    }
    let text = "app :: FlowExport { collector: \"192.0.2.9\", address: \"192.0.2.1\", flows: 16 }
        in :: Outside -> app.input
        app.export -> exported :: Sink
        app.output -> passed :: Sink";
    let kind = EngineKind::Dispatch;
    let mut engine = Engine::new(Options { kind, ..Options::default() });
    engine.configure(common::graph_of(text)).expect("it starts");
    let mut packets = 0;
    for (now, frames) in (1..).zip(frames.chunks(PACKETS)) {
        for frame in frames {
            if let Some(packet) = engine.pool().packet_of(&frame.bytes) {
                engine.inject("app", "input", packet).expect("the link");
                packets += 1;
            }
        }
        engine.set_time(now * 1_000_000_000, 0);
        engine.breathe();
    }
    engine.flush();
    let passed = engine.link_stats("app.output->passed.app").expect("the link").rx_packets;
    let counts = engine.app_stats("app").expect("the app");
    let count = |name: &str| counts.iter().find(|(own, _)| own == name).map_or(0, |it| it.1);
    assert_eq!(passed, packets);
    assert_eq!(["observed", "not_ip", "malformed"].map(count).iter().sum::<u64>(), packets);
    assert_eq!((count("flows"), count("lost")), (0, 0));
}

/// The number of packets of a capture that is right to its end.
pub fn packets(input: &[u8]) -> usize {
    let (frames, ended) = whole(input);
    assert_eq!(ended, Ended::Fine);
    frames.len()
}
