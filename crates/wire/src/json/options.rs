//! The options of JSON.

/// The options of printing JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PrintOptions {
    /// The names used as keys.
    pub names: Names,
    /// The form of enums.
    pub enums: Enums,
    /// Whether absent fields without presence are written.
    pub defaults: Defaults,
    /// The treatment of unknown fields, for which there is no JSON.
    pub unknown: Unknown,
}

/// The options of reading JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReadOptions {
    /// The treatment of unknown keys and unknown names of enum values.
    pub unknown: Unknown,
    /// The maximal nesting of values.
    pub depth_max: usize,
}

impl Default for ReadOptions {
    fn default() -> ReadOptions {
        ReadOptions { unknown: Unknown::Refuse, depth_max: crate::decode::DEPTH_MAX }
    }
}

/// Names of fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Names {
    /// `lowerCamel`, or the JSON name in the source.
    #[default]
    Json,
    /// As in the source.
    Proto,
}

/// Values of enums.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Enums {
    /// By name; those without one by number.
    #[default]
    Name,
    /// By number.
    Number,
}

/// Fields without presence that are zero or empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Defaults {
    /// They are left out.
    #[default]
    Omit,
    /// They are written.
    Print,
}

/// The treatment of what the schema does not know.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unknown {
    /// It is skipped.
    #[default]
    Ignore,
    /// It is an error.
    Refuse,
}
