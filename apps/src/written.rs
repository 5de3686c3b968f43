//! Captures that apps write: one file, or one after the other.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tidemill_packet::Packet;
use tidemill_packet::app::{ConfigError, Fault, Io};
use tidemill_packet::fanout::Fanout;

use crate::capture::{CaptureWriter, Format, SNAP_MAX};

/// Where packets are written, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Target {
    pub file: String,
    /// The name of a format; if it is empty, the file's name decides.
    pub format: String,
    /// Bytes of each packet that are kept.
    pub snap: u32,
    /// Bytes after which the next file begins; 0 for none.
    pub rotate_bytes: u64,
    /// Seconds after which the next file begins; 0 for none.
    pub rotate: u32,
    /// Files that are kept; 0 for all.
    pub files: u32,
}

impl Target {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.format()?;
        if self.snap == 0 || self.snap > SNAP_MAX {
            return Err(ConfigError::new("snap", format!("it is from 1 to {SNAP_MAX} bytes")));
        }
        if self.files > 0 && !self.rotates() {
            let message = "it needs `rotate_bytes` or `rotate`: else there is one file";
            return Err(ConfigError::new("files", message));
        }
        Ok(())
    }

    /// Whether it can be written instead of `old`. Contents are kept: another app may still be
    /// writing them.
    pub(crate) fn can_follow(&self, old: &Target) -> Result<(), Fault> {
        let name = self.name(1);
        if name == old.name(1) {
            return Ok(());
        }
        let is_new = std::fs::symlink_metadata(&name).is_err();
        let open = OpenOptions::new().write(true).create(true).truncate(false).open(&name);
        open.and_then(|_| if is_new { std::fs::remove_file(&name) } else { Ok(()) })
            .map_err(|error| no_write(&name, &error))
    }

    fn format(&self) -> Result<Format, ConfigError> {
        let kind = Path::new(&self.file).extension();
        match self.format.as_str() {
            "" if kind.is_some_and(|kind| kind.eq_ignore_ascii_case("pcapng")) => {
                Ok(Format::Pcapng)
            }
            "" | "pcap" => Ok(Format::Pcap),
            "pcapng" => Ok(Format::Pcapng),
            _ => Err(ConfigError::new("format", "the formats are \"pcap\" and \"pcapng\"")),
        }
    }

    fn rotates(&self) -> bool {
        self.rotate_bytes > 0 || self.rotate > 0
    }

    /// The name of a file, from 1 on: `out.pcap`, or if there are several `out-00001.pcap`.
    fn name(&self, number: u64) -> String {
        if !self.rotates() {
            return self.file.clone();
        }
        let path = Path::new(&self.file);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let kind = path.extension().map(|kind| format!(".{}", kind.to_string_lossy()));
        let name = format!("{stem}-{number:05}{}", kind.unwrap_or_default());
        path.with_file_name(name).to_string_lossy().into_owned()
    }
}

fn no_write(name: &str, error: &io::Error) -> Fault {
    Fault::new(format!("cannot write `{name}`: {error}"))
}

/// A capture that an app writes, with those of the other instances of its graph.
pub(crate) struct Capture {
    target: Target,
    files: Arc<Mutex<Files>>,
    fanout: Fanout,
}

impl Capture {
    pub(crate) fn create(target: Target, fanout: &Fanout) -> Result<Capture, Fault> {
        let create = || Files::create(target.clone());
        let files = fanout.shared(&target.file, || create().map(Mutex::new))?;
        let capture = Capture { target: target.clone(), files, fanout: fanout.clone() };
        // The first that has another target for the same file begins it anew, for all.
        let mut files = capture.files();
        if files.target != target {
            *files = create()?;
        }
        drop(files);
        Ok(capture)
    }

    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Writes elsewhere from now on.
    pub(crate) fn replace(&mut self, target: Target) -> Result<(), Fault> {
        *self = Capture::create(target, &self.fanout)?;
        Ok(())
    }

    /// The files, which the others leave alone meanwhile.
    pub(crate) fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The files of a capture.
pub(crate) struct Files {
    target: Target,
    writer: CaptureWriter<BufWriter<File>>,
    /// The number of the present file.
    number: u64,
    /// The time of the first packet of the file.
    first_ns: Option<i64>,
}

impl Files {
    fn create(target: Target) -> Result<Files, Fault> {
        let writer = open(&target, 1)?;
        Ok(Files { target, writer, number: 1, first_ns: None })
    }

    pub(crate) fn write(&mut self, packet: &Packet, io: &Io) -> Result<(), Fault> {
        let time_ns = packet.time_ns().unwrap_or_else(|| io.wall_ns());
        let bytes = packet.bytes();
        let bytes = &bytes[..bytes.len().min(self.target.snap as usize)];
        if self.is_full(bytes.len(), time_ns) {
            self.rotate()?;
        }
        self.first_ns.get_or_insert(time_ns);
        let length = u32::try_from(packet.wire_len()).unwrap_or(u32::MAX);
        Ok(self.writer.write(time_ns, bytes, length)?)
    }

    /// At the end of each push, so that others see whole packets soon.
    pub(crate) fn flush(&mut self) -> Result<(), Fault> {
        Ok(self.writer.flush()?)
    }

    /// Whether a packet belongs into the next file. Each file has one packet at least.
    fn is_full(&self, bytes: usize, time_ns: i64) -> bool {
        let Some(first_ns) = self.first_ns else { return false };
        let Target { rotate_bytes, rotate, .. } = self.target;
        let would_be = self.writer.written() + self.writer.record_bytes(bytes);
        let lasts_ns = time_ns.saturating_sub(first_ns);
        (rotate_bytes > 0 && would_be > rotate_bytes)
            || (rotate > 0 && lasts_ns >= i64::from(rotate) * 1_000_000_000)
    }

    /// Begins the next file, and removes the one that is no longer kept.
    fn rotate(&mut self) -> Result<(), Fault> {
        self.writer.flush()?;
        self.number += 1;
        self.writer = open(&self.target, self.number)?;
        self.first_ns = None;
        let kept = u64::from(self.target.files);
        if kept == 0 || self.number <= kept {
            return Ok(());
        }
        let oldest = self.target.name(self.number - kept);
        match std::fs::remove_file(&oldest) {
            // Another program may have taken it away.
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Fault::new(format!("cannot remove `{oldest}`: {error}")))
            }
            _ => Ok(()),
        }
    }
}

fn open(target: &Target, number: u64) -> Result<CaptureWriter<BufWriter<File>>, Fault> {
    let name = target.name(number);
    let fault = |error: io::Error| no_write(&name, &error);
    let format = target.format().map_err(|error| Fault::new(error.message))?;
    let output = BufWriter::new(File::create(&name).map_err(fault)?);
    let mut writer = CaptureWriter::with_snap(output, format, target.snap).map_err(fault)?;
    writer.flush().map_err(fault)?;
    Ok(writer)
}
