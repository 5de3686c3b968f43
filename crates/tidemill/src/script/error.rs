//! Why a word is no number.

use std::fmt;

/// Why a word of a script or of the command line is no number of its kind; most have the word.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum NumberError {
    /// It is no number of seconds.
    Seconds(String),
    /// It is a number of seconds beyond the range of times.
    TooLong(String),
    /// It is no number of milliseconds.
    Milliseconds(String),
    /// It is no range of times.
    Times(String),
    /// It is a step of no time.
    NoStep,
    /// It is a time of 0.
    NoTime,
    /// It is no probability.
    Probability(String),
    /// It is no range of latencies.
    Latency(String),
    /// It is no name of a distribution.
    Shape(String),
    /// It is no drift of a clock.
    Drift(String),
    /// It is no number of nodes.
    Nodes(String),
    /// It is no seed.
    Seed(String),
}

impl fmt::Display for NumberError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (text, what) = match self {
            NumberError::NoStep => return f.write_str("a step of 0 would never end"),
            NumberError::NoTime => return f.write_str("a time of 0 is over before it begins"),
            NumberError::TooLong(text) => return write!(f, "`{text}` is over 292 years"),
            NumberError::Seconds(text) => {
                (text, "time: seconds with up to 9 decimals, such as `2.5`")
            }
            NumberError::Milliseconds(text) => (text, "time: milliseconds, such as `20`"),
            NumberError::Times(text) => (text, "range of times: write `T..U` with T <= U"),
            NumberError::Probability(text) => (text, "probability: a number from 0 to 1"),
            NumberError::Latency(text) => {
                (text, "latency: milliseconds A..B with A <= B, such as 10..50")
            }
            NumberError::Shape(text) => (text, "shape: there are uniform, tail and bimodal"),
            NumberError::Drift(text) => (text, "drift: millionths from -500000 to 500000"),
            NumberError::Nodes(text) => (text, "number of nodes: 1 to 1000000"),
            NumberError::Seed(text) => (text, "seed"),
        };
        if text.is_empty() {
            return write!(f, "expected a {what}");
        }
        write!(f, "`{text}` is no {what}")
    }
}

impl std::error::Error for NumberError {}
