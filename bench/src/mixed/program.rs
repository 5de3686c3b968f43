//! Runs the program of `examples/flows` through the library, whole and without some parts.

use std::fs;
use std::path::{Path, PathBuf};

use tidemill::program::{LoadOptions, Program};
use tidemill::run::{Listen, RunOptions};

use crate::traffic::{self, CAPTURE, Capture, Isolation, Measurement};

/// The program, with one part less each time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Variant {
    Whole,
    WithoutSums,
    WithoutComponents,
    WithoutTelemetry,
}

impl Variant {
    pub const ALL: [Variant; 4] = [
        Variant::Whole,
        Variant::WithoutSums,
        Variant::WithoutComponents,
        Variant::WithoutTelemetry,
    ];

    /// The name of the share that the next variant lacks: rules, components and their input to
    /// rules, messages; the last has the graph only.
    pub fn share(self) -> &'static str {
        match self {
            Variant::Whole => "share_rules",
            Variant::WithoutSums => "share_components",
            Variant::WithoutComponents => "share_decode",
            Variant::WithoutTelemetry => "share_graph",
        }
    }

    /// The number of cuts applied to it.
    fn cuts(self) -> usize {
        Variant::ALL.iter().position(|one| *one == self).unwrap_or(0)
    }

    /// Runs it once. The counts of the whole program must be those of the generator.
    ///
    /// # Errors
    /// It does not run, or its counts differ.
    pub fn measure(self, capture: &Capture, place: Isolation) -> Result<Measurement, String> {
        let cuts = self.cuts().to_string();
        let inside = || self.run(capture.folder());
        let (measurement, found) = place.measure(("mixed", &cuts), capture, inside)?;
        let made = capture.truth.line();
        if self == Variant::Whole && found != made {
            return Err(format!("it finds `{found}`, made were `{made}`"));
        }
        Ok(measurement)
    }

    /// Runs it on the capture in a folder; prints CPU seconds, bytes, and its output.
    fn run(self, folder: &Path) -> Result<String, String> {
        let mut options = LoadOptions::default();
        options.defines.push(format!("CAPTURE=\"{}\"", folder.join(CAPTURE).display()));
        let program = Program::load(&self.files(folder)?, &options);
        let mut options = RunOptions::default();
        options.nodes.listen = Listen::Address("localhost:0".to_owned());
        options.components.root = Some(folder.to_owned());
        traffic::run(program, options)
    }

    /// Writes its files beside the capture.
    fn files(self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flows");
        let names = ["flows.flow", "flows.olg", "flows.com", "telemetry.proto"];
        let file = |name: &str| {
            let failed = |error: std::io::Error| format!("{name}: {error}");
            let mut text = fs::read_to_string(example.join(name)).map_err(failed)?;
            for (file, from, to, by) in CUTS.iter().take(self.cuts()).filter(|cut| cut.0 == name) {
                text = cut(&text, from, to, by).ok_or(format!("{file} has no `{from}`"))?;
            }
            let path = folder.join(name);
            fs::write(&path, text).map(|()| path).map_err(failed)
        };
        names.into_iter().map(file).collect()
    }
}

/// Measures the variant of this number on the capture in a folder; returns the output of a process
/// of its own.
///
/// # Errors
/// It does not run.
pub fn measure_in(variant: &str, folder: &str) -> Result<String, String> {
    let number: usize = variant.parse().map_err(|_| format!("`{variant}` is no number"))?;
    let variant = Variant::ALL.get(number).ok_or("there is no such variant")?;
    variant.run(Path::new(folder))
}

/// The cuts of each variant beyond the previous ones: the file, from where to where, and the
/// replacement.
const CUTS: [(&str, &str, &str, &str); 3] = [
    (
        "flows.olg",
        "    part(@N,",
        "NODE_INDEX.",
        "    part(@N, Source, Target, Protocol, From, To, \
        Window, Packets, Bytes, Last), Packets < 0.",
    ),
    ("flows.flow", "flows :: Script", "}\n", "flows :: Sink\n"),
    ("flows.flow", "telemetry :: Filter", "}\n", "telemetry :: Filter { expr: \"len < 1\" }\n"),
];

fn cut(text: &str, from: &str, to: &str, by: &str) -> Option<String> {
    let start = text.find(from)?;
    let end = start + text[start..].find(to)? + to.len();
    Some(format!("{}{by}{}", &text[..start], &text[end..]))
}
