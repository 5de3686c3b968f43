//! Tokens: what a tool on another host shows to ask a node.
//!
//! A token is a secret text that the node and those who may ask it have in a file each. It is never
//! sent: a key follows from it, and who does not have it cannot speak on a [`Channel`].

mod channel;
#[cfg(test)]
mod tests;

use std::fmt;

pub use channel::{Broken, Channel, FRAME_BYTES_MAX, is_hello};

use crate::seal::keys::KEY_BYTES;
use crate::seal::mac::derive;

/// Bits that a token must have.
pub const BITS_MIN: usize = 128;

/// Characters that a token may have.
const LENGTH_MAX: usize = 1024;

/// Different characters that a token must have; of 22 random ones hardly ever fewer are different.
const DISTINCT_MIN: usize = 8;

/// The error in the text of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TokenError {
    /// There is none in it.
    Empty,
    /// There is more than one line, or a line is longer than a token may be.
    TooMuch,
    /// Other characters than visible ones of ASCII.
    Unprintable,
    /// It can be guessed.
    Weak {
        /// Bits that it has at most.
        bits: usize,
    },
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TokenError::Empty => f.write_str("there is no token in it")?,
            TokenError::TooMuch => {
                write!(f, "a token is one line of at most {LENGTH_MAX} characters")?;
            }
            TokenError::Unprintable => {
                f.write_str("a token has visible characters of ASCII only, without blanks")?;
            }
            TokenError::Weak { bits } => write!(
                f,
                "the token can be guessed: it has {bits} bits at most, and {BITS_MIN} are needed"
            )?,
        }
        f.write_str(" (`tidemill key FILE` makes one)")
    }
}

impl std::error::Error for TokenError {}

/// A token, as the key that follows from it.
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    psk: [u8; KEY_BYTES],
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

impl Token {
    /// The token in the text of a file: one line; empty lines and lines that begin with `#` say
    /// nothing.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub fn parse(text: &str) -> Result<Token, TokenError> {
        let lines = text.lines().map(str::trim);
        let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        let token = lines.next().ok_or(TokenError::Empty)?;
        if lines.next().is_some() || token.len() > LENGTH_MAX {
            return Err(TokenError::TooMuch);
        }
        if !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(TokenError::Unprintable);
        }
        match bits(token) {
            bits if bits < BITS_MIN => Err(TokenError::Weak { bits }),
            _ => Ok(Token { psk: derive(&[0; KEY_BYTES], &[b"tidemill token", token.as_bytes()]) }),
        }
    }
}

/// Bits that a token has at most: those of a random text of its length and kind of characters.
fn bits(token: &str) -> usize {
    let all = |is: fn(&u8) -> bool| token.as_bytes().iter().all(is);
    // Tenths of a bit for each character.
    let tenths = if all(u8::is_ascii_digit) {
        33
    } else if all(u8::is_ascii_hexdigit) {
        40
    } else if all(u8::is_ascii_alphanumeric) {
        59
    } else {
        65
    };
    let mut seen = [false; 128];
    token.bytes().for_each(|byte| seen[usize::from(byte & 127)] = true);
    let distinct = seen.iter().filter(|&&seen| seen).count();
    let bits = token.len() * tenths / 10;
    if distinct < DISTINCT_MIN { bits.min(BITS_MIN - 1) } else { bits }
}
