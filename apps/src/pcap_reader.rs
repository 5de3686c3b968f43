//! Packets out of a capture.

use std::any::Any;
use std::os::fd::{AsRawFd, RawFd};
use std::path::Path;

use tidemill_event::Input;
use tidemill_packet::app::{App, Fault, Io, Progress, Reconfigured, Start};
use tidemill_packet::engine::CaptureTime;
use tidemill_packet::fanout::Fanout;

use crate::capture::{CaptureReader, Ended, Frame, Replay};

/// Packets of one breath at most.
const BURST: usize = 256;

/// Packets are due at multiples of this, at or after their times: so those that are close are one
/// batch.
const GRAIN_NS: u64 = 1_000_000;

tidemill_packet::declare! {
    /// Reads the packets of a capture (pcap or pcapng, of Ethernet).
    ///
    /// In a program that only captures feed, time is that of the captures, and packets come at
    /// their times, to the next millisecond; with `--clock wall` they come in real time. Beside
    /// other sources they come as fast as they are taken.
    ///
    /// The capture may be a pipe, such as `/dev/stdin`: it is read once, as it comes, on the system
    /// clock.
    ///
    /// A capture that breaks off, or makes no sense from some place on, ends there: that is a fault
    /// after which it is not read again (`broken_off` counts the former). Packets know when they
    /// were captured and how long they were; `cut` counts those that are not whole, because the
    /// capture has only a part, or none of the bytes beyond 10 KiB.
    ///
    /// An app that is killed goes on where it was.
    ///
    /// Each of several workers reads the whole capture and takes the packets of its flows.
    app PcapReader {
        config PcapReaderConfig {
            /// The capture.
            file: String,
            /// How often it is read; 0: no end.
            times: u64 = 1,
        }
        ports {
            /// The packets.
            output: Output(Push, One),
        }
        traits { pulls, divides }
    }
}

/// See [`PcapReader::declaration`](tidemill_packet::app::Declared::declaration).
///
/// Empty once it has left its place for a successor.
pub struct PcapReader(Option<Box<Reading>>);

/// A capture that is being read.
struct Reading {
    file: String,
    reader: Capture,
    frame: Frame,
    times: u64,
    read: u64,
    /// When packets are due, if not as fast as they are taken.
    pace: Option<CaptureTime>,
    fanout: Fanout,
    /// A packet has been read and is not due.
    has_next: bool,
    /// The time of the last packet.
    last_ns: i64,
    packets: u64,
    broken_off: u64,
    cut: u64,
    is_done: bool,
    /// It is, because the capture makes no sense.
    is_broken: bool,
}

type Capture = CaptureReader<Replay<Input>>;

/// Opens a capture, and reads the head of a file. That of a pipe comes when it may.
fn open(file: &str) -> Result<Capture, Fault> {
    let fault = |why: String| Fault::new(format!("cannot read `{file}`: {why}"));
    let input = Input::open(Path::new(file)).map_err(|error| fault(error.to_string()))?;
    if input.is_live() {
        return Ok(CaptureReader::begin(Replay::new(input)));
    }
    CaptureReader::new(Replay::new(input)).map_err(|ended| fault(ended.to_string()))
}

/// Refuses to read more than once what comes once.
fn check_times(file: &str, reader: &Capture, times: u64) -> Result<(), Fault> {
    if !reader.input().input().is_live() || times == 1 {
        return Ok(());
    }
    Err(Fault::new(format!("`{file}` is a pipe, which is read once: leave out `times`")))
}

impl Reading {
    /// Reads the next packet, unless that has been read already.
    fn next(&mut self) -> Result<(), Ended> {
        if std::mem::take(&mut self.has_next) { Ok(()) } else { self.reader.poll(&mut self.frame) }
    }

    /// When the packet that was read is due.
    fn due_ns(&self) -> Option<u64> {
        self.pace.map(|pace| pace.due_ns(self.frame.time_ns))
    }

    /// The first packet of the next round is due with the last one of this round.
    fn begin_again(&mut self) {
        let Some(pace) = &mut self.pace else { return };
        let last_due_ns = pace.due_ns(self.last_ns);
        if let Ok(()) = self.reader.poll(&mut self.frame) {
            self.has_next = true;
            *pace = CaptureTime { wall_ns: self.frame.time_ns, loop_ns: last_due_ns };
        }
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if self.is_done {
            return Ok(Progress::Done);
        }
        for _ in 0..io.room(0).min(BURST) {
            match self.next() {
                Ok(()) => {
                    if let Some(due_ns) = self.due_ns().filter(|due_ns| *due_ns > io.now_ns()) {
                        self.has_next = true;
                        return Ok(Progress::Until(due_ns.next_multiple_of(GRAIN_NS)));
                    }
                    self.last_ns = self.frame.time_ns;
                    self.packets += 1;
                    if !self.fanout.takes(&self.frame.bytes) {
                        continue;
                    }
                    let Some(mut packet) = io.packet_of(&self.frame.bytes) else { continue };
                    packet.set_time_ns(Some(self.frame.time_ns));
                    packet.set_wire_len(self.frame.length as usize);
                    self.cut += u64::from(packet.missing() > 0);
                    io.send(0, packet);
                }
                Err(Ended::Waiting) => return Ok(Progress::Asleep),
                Err(ended @ (Ended::Invalid(_) | Ended::Truncated)) => {
                    (self.is_done, self.is_broken) = (true, true);
                    if self.fanout.instance() > 0 {
                        // The first says so.
                        return Ok(Progress::Done);
                    }
                    self.broken_off += u64::from(ended == Ended::Truncated);
                    return Err(Fault::last(format!("`{}`: {ended}", self.file)));
                }
                Err(Ended::Fine) => {
                    self.read += 1;
                    let is_enough = self.times > 0 && self.read >= self.times;
                    if is_enough || self.packets == 0 {
                        self.is_done = true;
                        return Ok(Progress::Done);
                    }
                    self.reader = open(&self.file)?;
                    self.begin_again();
                }
            }
        }
        Ok(Progress::Ready)
    }

    /// The same capture is read on; another one is another source.
    fn reconfigure(&mut self, config: PcapReaderConfig) -> Reconfigured {
        if config.file != self.file {
            return Reconfigured::Restart;
        }
        self.times = config.times;
        let has_more = self.times == 0 || self.read < self.times;
        if self.is_done && has_more && !self.is_broken && self.packets > 0 {
            let Ok(reader) = open(&self.file) else { return Reconfigured::Restart };
            (self.reader, self.is_done) = (reader, false);
        }
        Reconfigured::Kept
    }
}

/// The time of the first packet of a capture, in nanoseconds since the epoch; `None` if there is no
/// such capture, or it has none, or it is a pipe.
pub fn first_time_ns(file: &str) -> Option<i64> {
    if Input::is_live_at(Path::new(file)) {
        return None;
    }
    let mut frame = Frame::default();
    open(file).ok()?.next(&mut frame).ok()?;
    Some(frame.time_ns)
}

impl App for PcapReader {
    fn new(config: PcapReaderConfig, start: &mut Start) -> Result<PcapReader, Fault> {
        let left = start.inherit::<Reading>().filter(|left| left.file == config.file);
        if let Some(mut reading) = left {
            reading.times = config.times;
            return Ok(PcapReader(Some(reading)));
        }
        let reader = open(&config.file)?;
        check_times(&config.file, &reader, config.times)?;
        if reader.input().input().is_live() && start.fanout().is_divided() {
            let message = "is a pipe, which one worker can read: run one";
            return Err(Fault::new(format!("`{}` {message}", config.file)));
        }
        let reading = Reading {
            file: config.file,
            reader,
            frame: Frame::default(),
            times: config.times,
            read: 0,
            pace: start.captures(),
            fanout: start.fanout().clone(),
            has_next: false,
            last_ns: 0,
            packets: 0,
            broken_off: 0,
            cut: 0,
            is_done: false,
            is_broken: false,
        };
        Ok(PcapReader(Some(Box::new(reading))))
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        self.0.as_mut().map_or(Ok(Progress::Done), |reading| reading.pull(io))
    }

    fn descriptor(&self) -> Option<RawFd> {
        let reading = self.0.as_ref().filter(|reading| !reading.is_done)?;
        let input = reading.reader.input().input();
        input.is_live().then(|| input.as_raw_fd())
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        let (broken_off, cut) = self.0.as_ref().map_or((0, 0), |it| (it.broken_off, it.cut));
        vec![("broken_off", broken_off), ("cut", cut)]
    }

    fn can_take(&self, config: &PcapReaderConfig) -> Result<(), Fault> {
        match self.0.as_ref().filter(|reading| reading.file == config.file) {
            Some(reading) => check_times(&reading.file, &reading.reader, config.times),
            None => check_times(&config.file, &open(&config.file)?, config.times),
        }
    }

    fn reconfigure(&mut self, config: PcapReaderConfig) -> Reconfigured {
        self.0.as_mut().map_or(Reconfigured::Restart, |reading| reading.reconfigure(config))
    }

    /// The place in the capture.
    fn leave(&mut self) -> Option<Box<dyn Any>> {
        self.0.take().map(|reading| reading as Box<dyn Any>)
    }
}
