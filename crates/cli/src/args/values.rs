//! Values of options.

use std::str::FromStr;

use tidemill_event::User;

use super::error::ValueError;

/// A macro given as `NAME=VALUE`; without `=` its value is 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Define {
    /// The macro.
    pub name: String,
    /// Its replacement.
    pub value: String,
}

impl FromStr for Define {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Define, ValueError> {
        let (name, value) = text.split_once('=').unwrap_or((text, "1"));
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if !starts || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return Err(ValueError::Macro(name.to_owned()));
        }
        Ok(Define { name: name.to_owned(), value: value.to_owned() })
    }
}

/// A number of bytes such as `512M`, `64K` or `2G`.
pub(super) fn size(text: &str) -> Result<u64, ValueError> {
    let wrong = || ValueError::Size(text.to_owned());
    let (digits, unit) = match text.char_indices().last() {
        Some((at, 'K' | 'k')) => (&text[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&text[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    number.checked_mul(unit).ok_or_else(wrong)
}

/// A count of nodes.
pub(super) fn nodes(text: &str) -> Result<u32, ValueError> {
    let number: u32 = text.parse().map_err(|_| ValueError::Nodes(text.to_owned()))?;
    match number {
        1..=1_000_000 => Ok(number),
        _ => Err(ValueError::NodeCount),
    }
}

/// A user that this process can change to.
pub(super) fn user(text: &str) -> Result<User, ValueError> {
    let user = User::find(text).map_err(ValueError::User)?;
    if User::may_change() { Ok(user) } else { Err(ValueError::NotRoot) }
}

/// A node's own address: `host:port`.
pub(super) fn address(text: &str) -> Result<String, ValueError> {
    let port = text.rsplit_once(':').filter(|(host, _)| !host.is_empty());
    match port.map(|(_, port)| port.parse::<u16>()) {
        Some(Ok(_)) => Ok(text.to_owned()),
        _ => Err(ValueError::Address(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_have_names_and_values() {
        let define: Define = "LANDMARK=\"a:1\"".parse().expect("a macro");
        assert_eq!((define.name.as_str(), define.value.as_str()), ("LANDMARK", "\"a:1\""));
        let define: Define = "DEBUG".parse().expect("a macro");
        assert_eq!(define.value, "1");
        assert!("1X=2".parse::<Define>().is_err());
        assert!("=2".parse::<Define>().is_err());
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(size("512M").ok(), Some(512 << 20));
        assert_eq!(size("7").ok(), Some(7));
        for wrong in ["", "M", "1T", "-1", "99999999999999G"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn addresses_have_a_host_and_a_port() {
        assert!(address("localhost:10000").is_ok());
        assert!(address("[::1]:10000").is_ok());
        for wrong in ["localhost", ":1", "a:b", "a:70000"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
