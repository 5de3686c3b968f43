//! Names of files: the form by the ending, and `%` as parts of the time.

use std::fmt;
use std::path::{Component, Path};

use tidemill_diag::nearest;
use tidemill_stdx::calendar::civil_from_days;

/// The form of a file, by its ending.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileForm {
    /// An object of JSON a line: `.jsonl`.
    Json,
    /// Comma-separated values under a line of names: `.csv`.
    Csv,
    /// Columns: `.parquet`.
    Parquet,
    /// Frames: `.pcap`.
    Pcap,
}

impl FileForm {
    /// All of them.
    pub const ALL: [FileForm; 4] =
        [FileForm::Json, FileForm::Csv, FileForm::Parquet, FileForm::Pcap];

    /// The ending, without its dot.
    pub fn ending(self) -> &'static str {
        match self {
            FileForm::Json => "jsonl",
            FileForm::Csv => "csv",
            FileForm::Parquet => "parquet",
            FileForm::Pcap => "pcap",
        }
    }

    /// Whether this build supports it.
    pub fn is_built(self) -> bool {
        self != FileForm::Parquet || cfg!(feature = "arrow")
    }
}

/// The name of a file or, with `%`, of a sequence of files, one for each period.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileName {
    written: String,
    pieces: Vec<Piece>,
    form: FileForm,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Text(String),
    Time(Unit),
}

/// A part of a time, in UTC.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

/// What is wrong with a name, and a hint.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadName {
    /// The error.
    pub message: String,
    /// The hint.
    pub help: String,
}

impl BadName {
    fn new(message: impl Into<String>, help: impl Into<String>) -> BadName {
        BadName { message: message.into(), help: help.into() }
    }
}

impl FileName {
    /// Parses a name.
    ///
    /// # Errors
    /// An unknown ending, an unknown `%` sequence, or a path that leaves the folder.
    pub fn parse(written: &str) -> Result<FileName, BadName> {
        let path = Path::new(written);
        let leads_out = |part| !matches!(part, Component::Normal(_) | Component::CurDir);
        if path.components().any(leads_out) {
            let message = format!("`{written}` leads out of the folder that files lie in");
            let help = "write a path below it, without `..`; `--root DIR` says which folder it is";
            return Err(BadName::new(message, help));
        }
        let form = form(path).ok_or_else(|| bad_ending(written, path))?;
        Ok(FileName { written: written.to_owned(), pieces: pieces(written)?, form })
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// The form of the file.
    pub fn form(&self) -> FileForm {
        self.form
    }

    /// Whether the name contains the time.
    pub fn rotates(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Time(_)))
    }

    /// Whether both name the same file.
    pub(crate) fn is(&self, other: &FileName) -> bool {
        let parts = |name: &FileName| -> Vec<String> {
            let parts = Path::new(&name.written).components();
            let named = parts.filter(|part| *part != Component::CurDir);
            named.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
        };
        parts(self) == parts(other)
    }

    /// The name at a time, nanoseconds since the epoch.
    pub(crate) fn at(&self, time_ns: i64) -> String {
        let seconds = time_ns.div_euclid(1_000_000_000);
        let (days, of_day) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let (year, month, day) = civil_from_days(days);
        let part = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Time(Unit::Year) => format!("{year:04}"),
            Piece::Time(Unit::Month) => format!("{month:02}"),
            Piece::Time(Unit::Day) => format!("{day:02}"),
            Piece::Time(Unit::Hour) => format!("{:02}", of_day / 3600),
            Piece::Time(Unit::Minute) => format!("{:02}", of_day / 60 % 60),
            Piece::Time(Unit::Second) => format!("{:02}", of_day % 60),
        };
        self.pieces.iter().map(part).collect()
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

fn form(path: &Path) -> Option<FileForm> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    FileForm::ALL.into_iter().find(|form| form.ending() == ending)
}

fn bad_ending(written: &str, path: &Path) -> BadName {
    let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
    let message = match ending {
        "" => format!("`{written}` has no ending, which says what the file holds"),
        _ => format!("no file is written that ends in `.{ending}`"),
    };
    let known = || FileForm::ALL.into_iter().map(FileForm::ending);
    let help = match nearest(ending, known()) {
        Some(close) => format!("is `.{close}` meant?"),
        None => {
            let all: Vec<String> = known().map(|one| format!("`.{one}`")).collect();
            format!("the endings are {}", all.join(", "))
        }
    };
    BadName::new(message, help)
}

fn pieces(written: &str) -> Result<Vec<Piece>, BadName> {
    let (mut pieces, mut text) = (Vec::new(), String::new());
    let mut letters = written.chars();
    while let Some(letter) = letters.next() {
        if letter != '%' {
            text.push(letter);
            continue;
        }
        let unit = match letters.next() {
            Some('%') => {
                text.push('%');
                continue;
            }
            Some('Y') => Unit::Year,
            Some('m') => Unit::Month,
            Some('d') => Unit::Day,
            Some('H') => Unit::Hour,
            Some('M') => Unit::Minute,
            Some('S') => Unit::Second,
            other => {
                let letter = other.map(String::from).unwrap_or_default();
                let message = format!("`%{letter}` stands for nothing in the name of a file");
                let help = "%Y %m %d %H %M %S are the year to the second, in UTC; `%%` is a `%`";
                return Err(BadName::new(message, help));
            }
        };
        if !text.is_empty() {
            pieces.push(Piece::Text(std::mem::take(&mut text)));
        }
        pieces.push(Piece::Time(unit));
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_follows_the_time() {
        let name = FileName::parse("a/%Y%m%d-%H:%M:%S%%.JSONL").expect("a name");
        assert_eq!((name.form(), name.rotates()), (FileForm::Json, true));
        // 2026-11-21 10:00:01.25 UTC, and a quarter of a second before the epoch.
        assert_eq!(name.at(1_795_255_201_250_000_000), "a/20261121-10:00:01%.JSONL");
        assert_eq!(name.at(-250_000_000), "a/19691231-23:59:59%.JSONL");
        assert!(!FileName::parse("100%%.csv").expect("a name").rotates());
    }

    #[test]
    fn errors_of_names_are_reported() {
        let wrong = |name| FileName::parse(name).expect_err("it is wrong");
        assert_eq!(wrong("a.json").help, "is `.jsonl` meant?");
        assert!(wrong("a").message.contains("has no ending"));
        assert_eq!(wrong("a.txt").help, "the endings are `.jsonl`, `.csv`, `.parquet`, `.pcap`");
        assert!(wrong("%h.csv").message.starts_with("`%h` stands for nothing"));
        assert!(wrong("/tmp/a.csv").message.contains("leads out"));
        assert!(wrong("b/../../a.csv").message.contains("leads out"));
        assert!(wrong("a.csv%").message.contains("no file is written"), "{:?}", wrong("a.csv%"));
    }

    #[test]
    fn the_same_file_may_be_written_in_two_ways() {
        let name = |text| FileName::parse(text).expect("a name");
        assert!(name("./a//b.csv").is(&name("a/b.csv")));
        assert!(!name("a.csv").is(&name("b.csv")));
    }
}
