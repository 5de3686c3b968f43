//! Which lines get through.

use super::Level;
use std::fmt;
use std::str::FromStr;

/// Levels by topic and by file, and one for all others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filters {
    default: Level,
    rules: Vec<Rule>,
    places: bool,
    json: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Rule {
    scope: Scope,
    level: Level,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Scope {
    Topic(String),
    File(String),
}

impl Filters {
    /// Lines of `level` and more severe ones.
    pub fn new(level: Level) -> Filters {
        Filters { default: level, rules: Vec::new(), places: false, json: false }
    }

    /// Another level for `topic` and all below it.
    pub fn topic(self, topic: &str, level: Level) -> Filters {
        self.rule(Scope::Topic(topic.to_owned()), level)
    }

    /// Another level for the files whose path is `file` or ends with `/file`.
    pub fn file(self, file: &str, level: Level) -> Filters {
        self.rule(Scope::File(file.to_owned()), level)
    }

    /// With file and line on each line.
    pub fn with_places(self) -> Filters {
        Filters { places: true, ..self }
    }

    /// As JSON.
    pub fn with_json(self) -> Filters {
        Filters { json: true, ..self }
    }

    /// Reads the text form: items with commas between them, later ones stronger.
    ///
    /// ```
    /// use tidemill_stdx::log::{Filters, Level};
    ///
    /// let filters = Filters::parse("overlog=debug,overlog::plan=off,file:join.rs=trace")?;
    /// assert_eq!(filters.level("overlog::strand", "crates/overlog/src/strand.rs"), Level::Debug);
    /// assert_eq!(filters.level("overlog::plan", "crates/overlog/src/plan.rs"), Level::Off);
    /// assert_eq!(filters.level("overlog::plan", "crates/overlog/src/join.rs"), Level::Trace);
    /// assert_eq!(filters.level("packet", "crates/packet/src/link.rs"), Level::Warn);
    ///
    /// let error = Filters::parse("sched=loud").unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "`sched=loud`: no level `loud` (levels: off, error, warn, info, debug, trace)"
    /// );
    /// # Ok::<(), tidemill_stdx::log::FilterError>(())
    /// ```
    ///
    /// # Errors
    /// The first item that is none.
    pub fn parse(text: &str) -> Result<Filters, FilterError> {
        let mut filters = Filters::default();
        if text.trim().is_empty() {
            return Ok(filters);
        }
        for item in text.split(',').map(str::trim) {
            filters = filters.item(item).map_err(|reason| {
                let item = item.to_owned();
                FilterError { item, reason }
            })?;
        }
        Ok(filters)
    }

    /// The least severe level that gets through for a line of this topic and file. A file is
    /// stronger than a topic, a longer name than a shorter one, a later item than an earlier one.
    pub fn level(&self, topic: &str, file: &str) -> Level {
        let strength = |rule: &&Rule| match &rule.scope {
            Scope::Topic(name) => (0, name.len()),
            Scope::File(name) => (1, name.len()),
        };
        let matching = self.rules.iter().filter(|rule| rule.scope.covers(topic, file));
        matching.max_by_key(strength).map_or(self.default, |rule| rule.level)
    }

    /// The least severe level that gets through for any line.
    pub fn level_max(&self) -> Level {
        let levels = self.rules.iter().map(|rule| rule.level);
        levels.fold(self.default, Level::max)
    }

    /// Whether lines show file and line.
    pub fn shows_places(&self) -> bool {
        self.places
    }

    /// Whether lines are JSON objects; it is up to the owner of the output.
    pub fn is_json(&self) -> bool {
        self.json
    }

    fn rule(mut self, scope: Scope, level: Level) -> Filters {
        self.rules.retain(|rule| rule.scope != scope);
        self.rules.push(Rule { scope, level });
        self
    }

    fn item(self, item: &str) -> Result<Filters, Reason> {
        let Some((name, level)) = item.split_once('=') else {
            return match Level::from_name(item) {
                Some(level) => Ok(Filters { default: level, ..self }),
                None if item == "place" => Ok(self.with_places()),
                None if item == "json" => Ok(self.with_json()),
                None if item.is_empty() => Err(Reason::Empty),
                None => Err(Reason::NoLevel),
            };
        };
        let (name, level) = (name.trim(), level.trim());
        let level = Level::from_name(level).ok_or_else(|| Reason::WrongLevel(level.to_owned()))?;
        let file = name.strip_prefix("file:").map(str::trim);
        if file.unwrap_or(name).is_empty() {
            return Err(Reason::NoName);
        }
        Ok(match file {
            Some(file) => self.file(file, level),
            None => self.topic(name, level),
        })
    }
}

impl Scope {
    fn covers(&self, topic: &str, file: &str) -> bool {
        match self {
            Scope::Topic(name) => topic
                .strip_prefix(&**name)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::")),
            Scope::File(name) => file
                .strip_suffix(&**name)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('/')),
        }
    }
}

impl Default for Filters {
    fn default() -> Filters {
        Filters::new(Level::Warn)
    }
}

impl FromStr for Filters {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<Filters, FilterError> {
        Filters::parse(text)
    }
}

/// The text form; [`Filters::parse`] reads it back.
impl fmt::Display for Filters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.default)?;
        for Rule { scope, level } in &self.rules {
            match scope {
                Scope::Topic(name) => write!(f, ",{name}={level}")?,
                Scope::File(name) => write!(f, ",file:{name}={level}")?,
            }
        }
        f.write_str(if self.places { ",place" } else { "" })?;
        f.write_str(if self.json { ",json" } else { "" })
    }
}

/// An item of a filter that is none, and what to write instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError {
    item: String,
    reason: Reason,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Reason {
    Empty,
    NoLevel,
    NoName,
    WrongLevel(String),
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = &self.item;
        match &self.reason {
            Reason::Empty => f.write_str("an item is empty; write `debug,sched=trace`"),
            Reason::NoLevel if item.starts_with("file:") => {
                write!(f, "`{item}` says no level; write `{item}=debug`")
            }
            Reason::NoLevel => write!(f, "`{item}` is no level; for a topic write `{item}=debug`"),
            Reason::NoName => {
                write!(f, "`{item}` names nothing; write `sched=debug` or `file:join.rs=debug`")
            }
            Reason::WrongLevel(level) => write!(f, "`{item}`: no level `{level}`"),
        }?;
        match self.reason {
            Reason::NoLevel | Reason::WrongLevel(_) => {
                let names: Vec<_> = Level::ALL.map(Level::name).into();
                write!(f, " (levels: {})", names.join(", "))
            }
            Reason::Empty | Reason::NoName => Ok(()),
        }
    }
}

impl std::error::Error for FilterError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(filters: &str, topic: &str, file: &str) -> Level {
        Filters::parse(filters).unwrap().level(topic, file)
    }

    #[test]
    fn names_match_whole_parts_only() {
        assert_eq!(level("sched=debug", "sched", ""), Level::Debug);
        assert_eq!(level("sched=debug", "sched::timer", ""), Level::Debug);
        assert_eq!(level("sched=debug", "scheduler", ""), Level::Warn);
        assert_eq!(level("file:join.rs=trace", "", "src/join.rs"), Level::Trace);
        assert_eq!(level("file:join.rs=trace", "", "join.rs"), Level::Trace);
        assert_eq!(level("file:join.rs=trace", "", "src/rejoin.rs"), Level::Warn);
        assert_eq!(level("file:op/join.rs=trace", "", "src/op/join.rs"), Level::Trace);
    }

    #[test]
    fn the_nearest_rule_counts() {
        let filters = "info,a=error,a::b=debug,file:x.rs=off,file:y/x.rs=trace";
        assert_eq!(level(filters, "a", "z.rs"), Level::Error);
        assert_eq!(level(filters, "a::b::c", "z.rs"), Level::Debug);
        assert_eq!(level(filters, "a::b", "x.rs"), Level::Off);
        assert_eq!(level(filters, "a::b", "y/x.rs"), Level::Trace);
        assert_eq!(level(filters, "c", "z.rs"), Level::Info);
        assert_eq!(level("a=debug,a=error", "a", ""), Level::Error);
        assert_eq!(Filters::parse(filters).unwrap().level_max(), Level::Trace);
        assert_eq!(Filters::parse("error,a=warn").unwrap().level_max(), Level::Warn);
    }

    #[test]
    fn the_text_form_comes_back() {
        for text in ["warn", "off,a=trace", "info,sched=debug,file:join.rs=trace,place,json"] {
            assert_eq!(Filters::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Filters::parse(" ").unwrap(), Filters::default());
        assert_eq!("DEBUG, a = off".parse::<Filters>().unwrap().to_string(), "debug,a=off");
    }

    #[test]
    fn errors_say_what_to_write() {
        let error = |text: &str| Filters::parse(text).unwrap_err().to_string();
        let levels = "(levels: off, error, warn, info, debug, trace)";
        assert_eq!(
            error("sched"),
            format!("`sched` is no level; for a topic write `sched=debug` {levels}")
        );
        assert_eq!(
            error("info,file:join.rs"),
            format!("`file:join.rs` says no level; write `file:join.rs=debug` {levels}")
        );
        assert_eq!(error("a=b=c"), format!("`a=b=c`: no level `b=c` {levels}"));
        assert_eq!(error("a=debug,,b=off"), "an item is empty; write `debug,sched=trace`");
        assert_eq!(
            error("file:=off"),
            "`file:=off` names nothing; write `sched=debug` or `file:join.rs=debug`"
        );
    }
}
