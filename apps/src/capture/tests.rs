use super::*;
use tidemill_stdx::rng::Rng;
use tidemill_support::trickle::Trickle;

fn sample(format: Format) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = CaptureWriter::new(&mut bytes, format).unwrap();
    for i in 0..20u8 {
        let packet: Vec<u8> = (0..i * 7).collect();
        writer.write(i64::from(i) * 1_000_000_007, &packet, u32::from(i) * 7 + 1).unwrap();
    }
    bytes
}

fn read_all(bytes: &[u8]) -> (Vec<Frame>, Ended) {
    let mut reader = match CaptureReader::new(bytes) {
        Ok(reader) => reader,
        Err(ended) => return (Vec::new(), ended),
    };
    let mut frames = Vec::new();
    loop {
        let mut frame = Frame::default();
        match reader.next(&mut frame) {
            Ok(()) => frames.push(frame),
            Err(ended) => return (frames, ended),
        }
    }
}

#[test]
fn what_is_written_is_read() {
    for format in [Format::Pcap, Format::Pcapng] {
        let (frames, ended) = read_all(&sample(format));
        assert_eq!((frames.len(), ended), (20, Ended::Fine));
        for (i, frame) in (0..).zip(&frames) {
            assert_eq!(frame.bytes, (0..i as u8 * 7).collect::<Vec<u8>>());
            assert_eq!((frame.time_ns, frame.length), (i * 1_000_000_007, i as u32 * 7 + 1));
        }
    }
}

/// As old programs wrote them: the number of the interface in 16 bits, then how many were dropped.
#[test]
fn packets_in_the_obsolete_block_are_read() {
    let mut bytes = sample(Format::Pcapng);
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    let mut at = 0;
    while at < bytes.len() {
        if word(&bytes, at) == 6 {
            bytes[at] = 2;
            bytes[at + 8..at + 12].copy_from_slice(&[0, 0, 7, 0]);
        }
        at += word(&bytes, at + 4) as usize;
    }
    let (frames, ended) = read_all(&bytes);
    assert_eq!((frames.len(), ended), (20, Ended::Fine));
    let (expected, _) = read_all(&sample(Format::Pcapng));
    for (frame, expected) in frames.iter().zip(&expected) {
        assert_eq!(frame.bytes, expected.bytes);
        assert_eq!((frame.time_ns, frame.length), (expected.time_ns, expected.length));
    }
}

#[test]
fn every_cut_is_noticed_and_none_panics() {
    for format in [Format::Pcap, Format::Pcapng] {
        let bytes = sample(format);
        for length in 0..bytes.len() {
            let (frames, ended) = read_all(&bytes[..length]);
            assert!(frames.len() < 20 || ended == Ended::Fine, "{length}");
        }
        let (_, ended) = read_all(&bytes[..bytes.len() - 1]);
        assert_eq!(ended, Ended::Truncated);
    }
}

#[test]
fn a_capture_that_comes_bit_by_bit_is_the_same() {
    for format in [Format::Pcap, Format::Pcapng] {
        let bytes = sample(format);
        for length in [bytes.len(), bytes.len() - 1, 30, 3] {
            let bytes = &bytes[..length];
            let (expected, end) = read_all(bytes);
            let mut reader = CaptureReader::begin(Replay::new(Trickle::new(bytes)));
            let (mut frame, mut frames) = (Frame::default(), Vec::new());
            let ended = loop {
                match reader.poll(&mut frame) {
                    Ok(()) => frames.push(frame.clone()),
                    Err(Ended::Waiting) => {}
                    Err(ended) => break ended,
                }
            };
            assert_eq!((frames.len(), ended), (expected.len(), end), "{length}");
            for (frame, expected) in frames.iter().zip(&expected) {
                assert_eq!((&frame.bytes, frame.time_ns), (&expected.bytes, expected.time_ns));
            }
        }
    }
}

#[test]
fn mutated_captures_end_without_much_memory() {
    let mut random = Rng::new(7);
    for round in 0..20_000u32 {
        let format = if round % 2 == 0 { Format::Pcap } else { Format::Pcapng };
        let mut bytes = sample(format);
        for _ in 0..=random.below(4) {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        let (frames, _) = read_all(&bytes);
        let kept: usize = frames.iter().map(|frame| frame.bytes.len()).sum();
        assert!(kept <= bytes.len(), "{round}");
    }
}

#[test]
fn claims_of_length_are_not_believed() {
    let mut bytes = sample(Format::Pcap);
    bytes[24 + 8..24 + 12].copy_from_slice(&0xffff_ff00u32.to_le_bytes());
    let (frames, ended) = read_all(&bytes);
    assert!(frames.is_empty() && matches!(ended, Ended::Invalid(_)), "{ended:?}");
}

#[test]
fn the_other_byte_order_and_microseconds() {
    let mut bytes = vec![0xa1, 0xb2, 0xc3, 0xd4, 0, 2, 0, 4];
    bytes.extend([0; 8]);
    bytes.extend([0, 0, 0xff, 0xff, 0, 0, 0, 1]);
    bytes.extend([0, 0, 0, 5, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 9, 0xab, 0xcd]);
    let (frames, ended) = read_all(&bytes);
    assert_eq!(ended, Ended::Fine);
    assert_eq!((frames[0].time_ns, frames[0].length), (5_000_007_000, 9));
    assert_eq!(frames[0].bytes, [0xab, 0xcd]);
}

/// As tcpdump refuses them.
#[test]
fn other_versions_are_refused() {
    for (format, at, byte, version) in [
        (Format::Pcap, 4, 3, "pcap of the unknown version 3.4"),
        (Format::Pcap, 6, 5, "pcap of the unknown version 2.5"),
        (Format::Pcapng, 12, 2, "pcapng of the unknown version 2.0"),
    ] {
        let mut bytes = sample(format);
        bytes[at] = byte;
        let (frames, ended) = read_all(&bytes);
        assert!(frames.is_empty(), "{version}");
        assert_eq!(ended, Ended::Invalid(format!("the capture is {version}")));
    }
}

#[test]
fn a_block_whose_lengths_differ_ends_the_capture() {
    let mut bytes = sample(Format::Pcapng);
    let last = bytes.len() - 4;
    bytes[last] ^= 4;
    let (frames, ended) = read_all(&bytes);
    assert_eq!(frames.len(), 19);
    assert!(matches!(ended, Ended::Invalid(why) if why.contains("lengths")));
}
