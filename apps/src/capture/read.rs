//! Reading captures.
//!
//! ```text
//! pcap    magic 4, version 2 + 2, zone 4, accuracy 4, snap length 4, link type 4
//!         { seconds 4, fraction 4, captured 4, length 4, bytes }
//! pcapng  { type 4, length 4, body, length 4 }        section header, interfaces, packets
//! ```
//! Either byte order, fractions of microseconds or nanoseconds, and the time options of pcapng.

use std::fmt;
use std::io::{self, Read};

use super::replay::Replay;
use super::{ETHERNET, FRAME_BYTES_MAX, RECORD_BYTES_MAX};

/// Interfaces of a section at most.
const INTERFACES_MAX: usize = 4096;

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

const SECTION: u32 = 0x0a0d_0d0a;

/// A packet of a capture.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// The bytes, cut where the capture or [`FRAME_BYTES_MAX`] did.
    pub bytes: Vec<u8>,
    /// When it was captured, in nanoseconds since the epoch.
    pub time_ns: i64,
    /// Bytes it had on the wire.
    pub length: u32,
}

/// Why there are no more packets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// The capture is over.
    Fine,
    /// The file breaks off within a packet.
    Truncated,
    /// The rest has not come yet; ask again.
    Waiting,
    /// It is no capture, or not from here on.
    Invalid(String),
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ended::Fine => write!(f, "the capture is over"),
            Ended::Waiting => write!(f, "the rest of the capture has not come yet"),
            Ended::Truncated => write!(f, "the capture breaks off within a packet"),
            Ended::Invalid(why) => write!(f, "{why}"),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u32::from_le_bytes(word),
            Order::Big => u32::from_be_bytes(word),
        })
    }

    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let word = *bytes.get(at..)?.first_chunk()?;
        Some(match self {
            Order::Little => u16::from_le_bytes(word),
            Order::Big => u16::from_be_bytes(word),
        })
    }
}

/// How an interface counts time.
#[derive(Clone, Copy)]
struct Clock {
    /// Units of a second.
    units: u64,
    /// Seconds to add.
    offset: i64,
    snap: u32,
}

enum InputFormat {
    /// The head has not been read.
    Unknown,
    Pcap {
        order: Order,
        nanos: bool,
    },
    Pcapng {
        order: Order,
        clocks: Vec<Clock>,
    },
}

/// Reads a capture, packet by packet.
pub struct CaptureReader<R> {
    input: R,
    format: InputFormat,
    buffer: Vec<u8>,
}

type Step<T> = Result<T, Ended>;

fn failed(error: &io::Error) -> Ended {
    match error.kind() {
        io::ErrorKind::WouldBlock => Ended::Waiting,
        _ => Ended::Invalid(error.to_string()),
    }
}

fn invalid<T>(why: &str) -> Step<T> {
    Err(Ended::Invalid(why.to_owned()))
}

impl<R: Read> CaptureReader<R> {
    /// Reads the head of a capture.
    ///
    /// # Errors
    /// It is none, or not one of Ethernet.
    pub fn new(input: R) -> Result<CaptureReader<R>, Ended> {
        let mut reader = CaptureReader::begin(input);
        reader.read_start()?;
        reader.read_first_interface()?;
        Ok(reader)
    }

    /// A reader that has read nothing yet: the head is read with the first packet.
    pub fn begin(input: R) -> CaptureReader<R> {
        CaptureReader { input, format: InputFormat::Unknown, buffer: Vec::new() }
    }

    /// Its input.
    pub fn input(&self) -> &R {
        &self.input
    }

    /// Reads the head of the file.
    fn read_start(&mut self) -> Step<()> {
        let CaptureReader { input, buffer, .. } = self;
        let mut magic = [0; 4];
        match fill(input, &mut magic) {
            Ok(4) => {}
            Ok(_) => return invalid("this is no capture: it is too short"),
            Err(error) => return Err(failed(&error)),
        }
        let format = match magic {
            [0xd4, 0xc3, 0xb2, 0xa1] => InputFormat::Pcap { order: Order::Little, nanos: false },
            [0xa1, 0xb2, 0xc3, 0xd4] => InputFormat::Pcap { order: Order::Big, nanos: false },
            [0x4d, 0x3c, 0xb2, 0xa1] => InputFormat::Pcap { order: Order::Little, nanos: true },
            [0xa1, 0xb2, 0x3c, 0x4d] => InputFormat::Pcap { order: Order::Big, nanos: true },
            [0x0a, 0x0d, 0x0d, 0x0a] => {
                let order = section(input, buffer)?;
                InputFormat::Pcapng { order, clocks: Vec::new() }
            }
            _ => return invalid("this is no capture: it begins otherwise"),
        };
        if let InputFormat::Pcap { order, .. } = format {
            read_exact(input, buffer, 20)?;
            match (order.u16(buffer, 0), order.u16(buffer, 2)) {
                (Some(2), Some(0..=4)) => {}
                (Some(major), Some(minor)) => return unknown_version("pcap", major, minor),
                _ => return invalid("the capture has no version"),
            }
            // The upper bits describe checksums at the end of frames.
            let kind = order.u32(buffer, 16).map(|kind| kind & 0xffff);
            check_link_type(kind.unwrap_or(u32::MAX))?;
        }
        self.format = format;
        Ok(())
    }

    /// The first interface of a pcapng capture has its link type: it is read at once, so that a
    /// wrong one is refused as in pcap.
    fn read_first_interface(&mut self) -> Step<()> {
        let mut frame = Frame::default();
        while matches!(&self.format, InputFormat::Pcapng { clocks, .. } if clocks.is_empty()) {
            match self.next_block(&mut frame) {
                Ok(_) => {}
                // The next call returns the same.
                Err(Ended::Fine) => break,
                Err(ended) => return Err(ended),
            }
        }
        Ok(())
    }

    /// The next packet, into `frame`.
    ///
    /// # Errors
    /// There is none, and why; asking again is of no use.
    pub fn next(&mut self, frame: &mut Frame) -> Result<(), Ended> {
        while !self.step(frame)? {}
        Ok(())
    }

    /// Reads the head, a block or a packet; true if it was a packet. What has not come as a whole
    /// changes nothing but the place in the input.
    fn step(&mut self, frame: &mut Frame) -> Step<bool> {
        match self.format {
            InputFormat::Unknown => self.read_start().map(|()| false),
            InputFormat::Pcap { order, nanos } => {
                self.next_record(order, nanos, frame).map(|()| true)
            }
            InputFormat::Pcapng { .. } => self.next_block(frame),
        }
    }

    fn next_record(&mut self, order: Order, nanos: bool, frame: &mut Frame) -> Step<()> {
        if !read_head(&mut self.input, &mut self.buffer, 16)? {
            return Err(Ended::Fine);
        }
        let word = |at: usize| order.u32(&self.buffer, at).unwrap_or(0);
        let (seconds, fraction, captured, length) = (word(0), word(4), word(8), word(12));
        if captured as usize > RECORD_BYTES_MAX {
            return invalid("a packet of the capture is impossibly long");
        }
        let unit = if nanos { 1 } else { 1000 };
        frame.time_ns = i64::from(seconds) * 1_000_000_000 + i64::from(fraction) * unit;
        frame.length = length;
        read_exact(&mut self.input, &mut frame.bytes, captured as usize)?;
        frame.bytes.truncate(FRAME_BYTES_MAX);
        Ok(())
    }

    /// Reads a block; true if it was a packet.
    fn next_block(&mut self, frame: &mut Frame) -> Step<bool> {
        if !read_head(&mut self.input, &mut self.buffer, 4)? {
            return Err(Ended::Fine);
        }
        let InputFormat::Pcapng { order, clocks } = &mut self.format else { return Ok(false) };
        // Reads the same in both orders.
        if Order::Little.u32(&self.buffer, 0) == Some(SECTION) {
            *order = section(&mut self.input, &mut self.buffer)?;
            clocks.clear();
            return Ok(false);
        }
        let kind = order.u32(&self.buffer, 0).unwrap_or(0);
        read_exact(&mut self.input, &mut self.buffer, 4)?;
        let length = order.u32(&self.buffer, 0).unwrap_or(0) as usize;
        if !(12..=RECORD_BYTES_MAX).contains(&length) || !length.is_multiple_of(4) {
            return invalid("a block of the capture has an impossible length");
        }
        read_exact(&mut self.input, &mut self.buffer, length - 8)?;
        check_end(*order, &self.buffer, length)?;
        self.buffer.truncate(length - 12);
        match kind {
            1 if clocks.len() == INTERFACES_MAX => invalid("the capture has too many interfaces"),
            1 => match interface(*order, &self.buffer) {
                Some(clock) => {
                    // Any of them: packets of another link would be lost without a word.
                    check_link_type(order.u16(&self.buffer, 0).unwrap_or(u16::MAX).into())?;
                    clocks.push(clock);
                    Ok(false)
                }
                None => invalid("an interface of the capture makes no sense"),
            },
            // The obsolete form has a count of drops beside the number of the interface.
            2 => {
                let interface = order.u16(&self.buffer, 0).map(u32::from);
                enhanced(*order, (clocks, interface), &self.buffer, frame)
            }
            6 => {
                let interface = order.u32(&self.buffer, 0);
                enhanced(*order, (clocks, interface), &self.buffer, frame)
            }
            3 => simple(*order, clocks, &self.buffer, frame),
            // Names, statistics and whatever else there may be.
            _ => Ok(false),
        }
    }
}

impl<R: Read> CaptureReader<Replay<R>> {
    /// The next packet, into `frame`, of an input that may not have come as a whole:
    /// [`Ended::Waiting`] is no end.
    ///
    /// # Errors
    /// As [`next`](CaptureReader::next).
    pub fn poll(&mut self, frame: &mut Frame) -> Result<(), Ended> {
        loop {
            match self.step(frame) {
                Ok(is_packet) => {
                    self.input.mark();
                    if is_packet {
                        return Ok(());
                    }
                }
                Err(ended) => {
                    self.input.rewind();
                    return Err(ended);
                }
            }
        }
    }
}

fn unknown_version<T>(format: &str, major: u16, minor: u16) -> Step<T> {
    Err(Ended::Invalid(format!("the capture is {format} of the unknown version {major}.{minor}")))
}

/// A block ends with the length that it begins with; `rest` are its last bytes.
fn check_end(order: Order, rest: &[u8], length: usize) -> Step<()> {
    let end = rest.len().checked_sub(4).and_then(|at| order.u32(rest, at));
    if end.is_some_and(|end| end as usize == length) {
        return Ok(());
    }
    invalid("the lengths at the begin and the end of a block of the capture differ")
}

fn check_link_type(kind: u32) -> Step<()> {
    match kind {
        ETHERNET => Ok(()),
        _ => Err(Ended::Invalid(format!("the capture is not of Ethernet but of link type {kind}"))),
    }
}

/// The rest of a section header, whose type has been read.
fn section<R: Read>(input: &mut R, buffer: &mut Vec<u8>) -> Step<Order> {
    read_exact(input, buffer, 8)?;
    let order = match buffer.get(4..8) {
        Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order::Little,
        Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order::Big,
        _ => return invalid("a section of the capture has no byte order"),
    };
    let length = order.u32(buffer, 0).unwrap_or(0) as usize;
    if !(28..=RECORD_BYTES_MAX).contains(&length) || !length.is_multiple_of(4) {
        return invalid("a section of the capture has an impossible length");
    }
    read_exact(input, buffer, length - 12)?;
    match (order.u16(buffer, 0), order.u16(buffer, 2)) {
        (Some(1), _) => {}
        (Some(major), Some(minor)) => return unknown_version("pcapng", major, minor),
        _ => return invalid("a section of the capture has no version"),
    }
    check_end(order, buffer, length)?;
    Ok(order)
}

fn interface(order: Order, body: &[u8]) -> Option<Clock> {
    let mut clock = Clock { units: 1_000_000, offset: 0, snap: order.u32(body, 4)? };
    let mut at = 8;
    while let (Some(code), Some(length)) = (order.u16(body, at), order.u16(body, at + 2)) {
        let value = body.get(at + 4..at + 4 + usize::from(length))?;
        match (code, value) {
            (0, _) => break,
            (9, [power, ..]) if power & 0x80 != 0 => clock.units = 1 << (power & 0x7f).min(63),
            (9, [power, ..]) => clock.units = 10u64.checked_pow(u32::from(*power))?,
            (14, _) => {
                let (low, high) = (order.u32(value, 0)?, order.u32(value, 4)?);
                let (low, high) = if order == Order::Big { (high, low) } else { (low, high) };
                clock.offset = i64::from(high as i32) << 32 | i64::from(low);
            }
            _ => {}
        }
        at += 4 + usize::from(length).next_multiple_of(4);
    }
    Some(clock)
}

/// A packet with a time, of an interface.
fn enhanced(
    order: Order,
    (clocks, interface): (&[Clock], Option<u32>),
    body: &[u8],
    frame: &mut Frame,
) -> Step<bool> {
    let word = |at: usize| order.u32(body, at);
    let (Some(index), Some(high), Some(low), Some(captured), Some(length)) =
        (interface, word(4), word(8), word(12), word(16))
    else {
        return invalid("a packet of the capture is too short");
    };
    let (Some(clock), Some(bytes)) =
        (clocks.get(index as usize), body.get(20..).and_then(|rest| rest.get(..captured as usize)))
    else {
        return invalid("a packet of the capture makes no sense");
    };
    let ticks = u128::from(high) << 32 | u128::from(low);
    let ns = (ticks * 1_000_000_000 / u128::from(clock.units)) as i64;
    frame.time_ns = clock.offset.saturating_mul(1_000_000_000).saturating_add(ns);
    frame.length = length;
    keep(frame, bytes);
    Ok(true)
}

/// A packet without a time, of the first interface.
fn simple(order: Order, clocks: &[Clock], body: &[u8], frame: &mut Frame) -> Step<bool> {
    let (Some(length), Some(clock)) = (order.u32(body, 0), clocks.first()) else {
        return invalid("a packet of the capture makes no sense");
    };
    let snap = if clock.snap == 0 { u32::MAX } else { clock.snap };
    let Some(bytes) = body.get(4..).and_then(|rest| rest.get(..length.min(snap) as usize)) else {
        return invalid("a packet of the capture is too short");
    };
    frame.time_ns = 0;
    frame.length = length;
    keep(frame, bytes);
    Ok(true)
}

fn keep(frame: &mut Frame, bytes: &[u8]) {
    frame.bytes.clear();
    frame.bytes.extend_from_slice(&bytes[..bytes.len().min(FRAME_BYTES_MAX)]);
}

/// As many bytes as there are, up to the length of `to`.
fn fill<R: Read>(input: &mut R, to: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < to.len() {
        match input.read(&mut to[at..]) {
            Ok(0) => break,
            Ok(count) => at += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(at)
}

/// `count` bytes into the buffer; false if there is none at all.
fn read_head<R: Read>(input: &mut R, buffer: &mut Vec<u8>, count: usize) -> Step<bool> {
    // What the record before had is overwritten.
    buffer.truncate(count);
    let mut got = 0;
    while got < count {
        // Memory grows with the bytes read, not with the claimed length.
        buffer.resize(count.min(got + PIECE).max(buffer.len()), 0);
        match fill(input, &mut buffer[got..]) {
            Ok(more) => got += more,
            Err(error) => return Err(failed(&error)),
        }
        if got < buffer.len() {
            break;
        }
    }
    match got {
        0 if count > 0 => Ok(false),
        got if got == count => Ok(true),
        _ => Err(Ended::Truncated),
    }
}

fn read_exact<R: Read>(input: &mut R, buffer: &mut Vec<u8>, count: usize) -> Step<()> {
    if read_head(input, buffer, count)? { Ok(()) } else { Err(Ended::Truncated) }
}
