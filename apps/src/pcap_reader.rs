//! Packets out of a capture.

use std::fs::File;
use std::io::BufReader;

use tidemill_packet::app::{App, Fault, Io, Progress, Start};

use crate::capture::{Ended, Frame, Reader};

/// Packets of one breath at most.
const BURST: usize = 256;

tidemill_packet::declare! {
    /// Brings the packets of a capture (pcap or pcapng, of Ethernet) as fast as they are taken.
    ///
    /// A capture that breaks off ends there, which `broken_off` counts; one that makes no sense
    /// from some place on is a fault. Bytes beyond 10 KiB of a packet are left out.
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
        traits { pulls }
    }
}

/// See [`PcapReader::declaration`](tidemill_packet::app::Declared::declaration).
pub struct PcapReader {
    file: String,
    reader: Reader<BufReader<File>>,
    frame: Frame,
    times: u64,
    read: u64,
    packets: u64,
    broken_off: u64,
    is_done: bool,
}

fn open(file: &str) -> Result<Reader<BufReader<File>>, Fault> {
    let wrong = |why: String| Fault::new(format!("cannot read `{file}`: {why}"));
    let input = File::open(file).map_err(|error| wrong(error.to_string()))?;
    Reader::new(BufReader::new(input)).map_err(|ended| wrong(ended.to_string()))
}

impl App for PcapReader {
    fn new(config: PcapReaderConfig, _: &mut Start) -> Result<PcapReader, Fault> {
        let reader = open(&config.file)?;
        Ok(PcapReader {
            file: config.file,
            reader,
            frame: Frame::default(),
            times: config.times,
            read: 0,
            packets: 0,
            broken_off: 0,
            is_done: false,
        })
    }

    fn pull(&mut self, io: &mut Io) -> Result<Progress, Fault> {
        if self.is_done {
            return Ok(Progress::Done);
        }
        for _ in 0..io.room(0).min(BURST) {
            match self.reader.next(&mut self.frame) {
                Ok(()) => {
                    self.packets += 1;
                    let Some(mut packet) = io.packet_of(&self.frame.bytes) else { continue };
                    packet.set_time_ns(self.frame.time_ns);
                    io.send(0, packet);
                }
                Err(Ended::Wrong(why)) => {
                    return Err(Fault::new(format!("`{}`: {why}", self.file)));
                }
                Err(ended) => {
                    self.broken_off += u64::from(ended == Ended::Truncated);
                    self.read += 1;
                    if self.read == self.times || self.packets == 0 {
                        self.is_done = true;
                        return Ok(Progress::Done);
                    }
                    self.reader = open(&self.file)?;
                }
            }
        }
        Ok(Progress::Ready)
    }

    fn report(&self) -> Vec<(&'static str, u64)> {
        vec![("broken_off", self.broken_off)]
    }
}
