//! Records as JSON, an object a line, for log collectors.

use std::fmt::Write as _;
use std::io;

use super::{Level, Output, Value};
use crate::calendar::civil_from_days;

/// One line as an object: `time` (RFC 3339, UTC), `level`, `target`, `message`, `fields`.
#[derive(Clone, Copy, Debug)]
pub struct JsonLine<'a> {
    /// Nanoseconds since the Unix epoch.
    pub time_ns: i64,
    /// The level.
    pub level: Level,
    /// The topic.
    pub target: &'a str,
    /// The text.
    pub message: &'a str,
    /// Further fields.
    pub fields: &'a [(&'a str, Value)],
    /// The file and line that logged it, if they are to be shown.
    pub place: Option<(&'a str, u32)>,
}

impl JsonLine<'_> {
    /// Appends the object and the end of the line.
    pub fn append(&self, out: &mut String) {
        out.push_str("{\"time\":\"");
        push_time(out, self.time_ns);
        // Writing to memory cannot fail.
        let _ = write!(out, "\",\"level\":\"{}\",\"target\":", self.level);
        push_string(out, self.target);
        out.push_str(",\"message\":");
        push_string(out, self.message);
        if let Some((file, line)) = self.place {
            out.push_str(",\"file\":");
            push_string(out, file);
            let _ = write!(out, ",\"line\":{line}");
        }
        out.push_str(",\"fields\":{");
        for (index, (name, value)) in self.fields.iter().enumerate() {
            out.push_str(if index > 0 { "," } else { "" });
            push_string(out, name);
            out.push(':');
            match value {
                Value::Plain(text) => out.push_str(text),
                Value::Text(text) => push_string(out, text),
            }
        }
        out.push_str("}}\n");
    }
}

/// Writes each record as a JSON object on a line of its own. `clock` gives nanoseconds since the
/// Unix epoch.
pub fn json_lines(
    mut writer: impl io::Write + Send + 'static,
    mut clock: impl FnMut() -> i64 + Send + 'static,
) -> Output {
    let mut line = String::new();
    Box::new(move |record| {
        line.clear();
        let place = record.shows_place.then_some((record.file, record.line));
        let (level, target, message) = (record.level, record.topic, record.message);
        let fields = record.fields;
        JsonLine { time_ns: clock(), level, target, message, fields, place }.append(&mut line);
        writer.write_all(line.as_bytes())?;
        writer.flush()
    })
}

fn push_string(out: &mut String, text: &str) {
    out.push('"');
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\0'..='\x1f' | '\x7f' => {
                let _ = write!(out, "\\u{:04x}", u32::from(char));
            }
            _ => out.push(char),
        }
    }
    out.push('"');
}

/// `2026-11-23T17:04:54.123456Z`.
fn push_time(out: &mut String, time_ns: i64) {
    let (seconds, ns) = (time_ns.div_euclid(1_000_000_000), time_ns.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = ns / 1000;
    let _ =
        write!(out, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        let text = |seconds: i64| {
            let mut out = String::new();
            push_time(&mut out, seconds * 1_000_000_000 + 1_234_567);
            out
        };
        // As `date -u -d @SECONDS` prints them.
        assert_eq!(text(0), "1970-01-01T00:00:00.001234Z");
        assert_eq!(text(951_782_400), "2000-02-29T00:00:00.001234Z");
        assert_eq!(text(1_795_453_494), "2026-11-23T17:04:54.001234Z");
        assert_eq!(text(-1), "1969-12-31T23:59:59.001234Z");
    }

    #[test]
    fn what_a_stranger_puts_in_stays_in_its_string() {
        let mut out = String::new();
        let fields = [("n", Value::Plain("3".to_owned())), ("s", Value::Text("a\"b".to_owned()))];
        let message = "line\n{\"level\":\"error\"}\u{1b}[2J\u{7f}";
        let (level, target) = (Level::Warn, "net");
        let place = Some(("a.rs", 7));
        JsonLine { time_ns: 0, level, target, message, fields: &fields, place }.append(&mut out);
        let wanted = concat!(
            r#"{"time":"1970-01-01T00:00:00.000000Z","level":"warn","target":"net","#,
            r#""message":"line\n{\"level\":\"error\"}\u001b[2J\u007f","file":"a.rs","line":7,"#,
            r#""fields":{"n":3,"s":"a\"b"}}"#,
            "\n"
        );
        assert_eq!(out, wanted);
    }
}
