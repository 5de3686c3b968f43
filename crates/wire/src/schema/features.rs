//! Features: the settings of an edition, a file and each of its elements for presence, enums,
//! packing, UTF-8, delimiting, JSON, naming and visibility.
//!
//! An element inherits the features of its parent and overrides them by its own options. The
//! syntaxes `proto2` and `proto3` are editions whose files cannot set features; their `required`,
//! `group` and `packed` are turned into features, so that all other code depends on features only.

use super::raw::{RawFields, RawValue};

/// The language of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Edition {
    /// `syntax = "proto2"`, or no statement at all.
    #[default]
    Proto2,
    /// `syntax = "proto3"`.
    Proto3,
    /// `edition = "2023"`.
    Edition2023,
    /// `edition = "2024"`.
    Edition2024,
}

impl Edition {
    /// The number in descriptors (`google.protobuf.Edition`).
    pub fn number(self) -> i32 {
        match self {
            Edition::Proto2 => 998,
            Edition::Proto3 => 999,
            Edition::Edition2023 => 1000,
            Edition::Edition2024 => 1001,
        }
    }

    /// The inverse of [`Edition::number`].
    pub fn from_number(number: i32) -> Option<Edition> {
        Some(match number {
            998 => Edition::Proto2,
            999 => Edition::Proto3,
            1000 => Edition::Edition2023,
            1001 => Edition::Edition2024,
            _ => return None,
        })
    }

    /// True for editions proper, whose files set features.
    pub fn has_features(self) -> bool {
        self >= Edition::Edition2023
    }

    /// The name for users.
    pub fn name(self) -> &'static str {
        match self {
            Edition::Proto2 => "proto2",
            Edition::Proto3 => "proto3",
            Edition::Edition2023 => "edition 2023",
            Edition::Edition2024 => "edition 2024",
        }
    }
}

macro_rules! feature {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $value:ident = $number:literal),+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[repr(u8)]
        pub enum $name {
            $($(#[$vdoc])* $value = $number),+
        }

        impl $name {
            fn from_number(number: u64) -> Option<$name> {
                match number {
                    $($number => Some($name::$value),)+
                    _ => None,
                }
            }
        }
    };
}

feature! {
    /// Whether a field has presence.
    Presence {
        /// Absent differs from zero.
        Explicit = 1,
        /// Zero is absent.
        Implicit = 2,
        /// Absence is an error.
        Required = 3
    }
}
feature! {
    /// The treatment of numbers that an enum does not name.
    EnumKind {
        /// They are values.
        Open = 1,
        /// They are unknown fields.
        Closed = 2
    }
}
feature! {
    /// The encoding of repeated numbers.
    RepeatedEncoding {
        /// Packed under one length.
        Packed = 1,
        /// Each with its tag.
        Expanded = 2
    }
}
feature! {
    /// Whether strings must be UTF-8.
    Utf8Validation {
        /// They must.
        Verify = 2,
        /// It is not checked.
        None = 3
    }
}
feature! {
    /// The encoding of messages in messages.
    MessageEncoding {
        /// Under a length.
        LengthPrefixed = 1,
        /// Between two tags.
        Delimited = 2
    }
}
feature! {
    /// Whether names must suit JSON.
    JsonFormat {
        /// JSON is promised, names must be fit for it.
        Allow = 1,
        /// JSON works if it happens to.
        LegacyBestEffort = 2
    }
}
feature! {
    /// The style of names that is enforced.
    NamingStyle {
        /// That of edition 2024.
        Style2024 = 1,
        /// None.
        Legacy = 2
    }
}
feature! {
    /// The messages and enums that other files may name by default.
    SymbolVisibility {
        /// All.
        ExportAll = 1,
        /// Those outside of messages.
        ExportTopLevel = 2,
        /// None.
        LocalAll = 3,
        /// None, and those inside of messages never.
        Strict = 4
    }
}

/// The resolved features of an element.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Features {
    /// Whether a field has presence.
    pub presence: Presence,
    /// Open or closed.
    pub enum_kind: EnumKind,
    /// Packed or not.
    pub repeated_encoding: RepeatedEncoding,
    /// UTF-8 checked or not.
    pub utf8_validation: Utf8Validation,
    /// Under a length or between tags.
    pub message_encoding: MessageEncoding,
    /// Fit for JSON or not.
    pub json_format: JsonFormat,
    /// Style of names.
    pub naming_style: NamingStyle,
    /// The definitions that other files may name by default.
    pub visibility: SymbolVisibility,
}

impl Default for Features {
    fn default() -> Features {
        Features::of_edition(Edition::Proto2)
    }
}

impl Features {
    /// The defaults of an edition.
    pub fn of_edition(edition: Edition) -> Features {
        let proto2 = Features {
            presence: Presence::Explicit,
            enum_kind: EnumKind::Closed,
            repeated_encoding: RepeatedEncoding::Expanded,
            utf8_validation: Utf8Validation::None,
            message_encoding: MessageEncoding::LengthPrefixed,
            json_format: JsonFormat::LegacyBestEffort,
            naming_style: NamingStyle::Legacy,
            visibility: SymbolVisibility::ExportAll,
        };
        let edition_2023 = Features {
            enum_kind: EnumKind::Open,
            repeated_encoding: RepeatedEncoding::Packed,
            utf8_validation: Utf8Validation::Verify,
            json_format: JsonFormat::Allow,
            ..proto2
        };
        match edition {
            Edition::Proto2 => proto2,
            Edition::Proto3 => Features { presence: Presence::Implicit, ..edition_2023 },
            Edition::Edition2023 => edition_2023,
            Edition::Edition2024 => Features {
                naming_style: NamingStyle::Style2024,
                visibility: SymbolVisibility::ExportTopLevel,
                ..edition_2023
            },
        }
    }

    /// These features overridden by a serialized `FeatureSet`, without its unknown values.
    pub fn merged(mut self, feature_set: &[u8]) -> Features {
        for (number, value) in RawFields::new(feature_set).flatten() {
            let RawValue::Varint(value) = value else { continue };
            match number {
                1 => set(&mut self.presence, Presence::from_number(value)),
                2 => set(&mut self.enum_kind, EnumKind::from_number(value)),
                3 => set(&mut self.repeated_encoding, RepeatedEncoding::from_number(value)),
                4 => set(&mut self.utf8_validation, Utf8Validation::from_number(value)),
                5 => set(&mut self.message_encoding, MessageEncoding::from_number(value)),
                6 => set(&mut self.json_format, JsonFormat::from_number(value)),
                7 => set(&mut self.naming_style, NamingStyle::from_number(value)),
                8 => set(&mut self.visibility, SymbolVisibility::from_number(value)),
                _ => {}
            }
        }
        self
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn editions_differ_where_they_should() {
        let of = Features::of_edition;
        assert_eq!(of(Edition::Proto3).presence, Presence::Implicit);
        assert_eq!(of(Edition::Edition2023).presence, Presence::Explicit);
        assert_eq!(of(Edition::Edition2024).visibility, SymbolVisibility::ExportTopLevel);
        assert_eq!(of(Edition::Proto2).enum_kind, EnumKind::Closed);
        for edition in [998, 999, 1000, 1001] {
            assert_eq!(Edition::from_number(edition).map(Edition::number), Some(edition));
        }
    }

    #[test]
    fn a_set_merges_over_its_parent() {
        let parent = Features::of_edition(Edition::Edition2023);
        let merged = parent.merged(b"\x08\x03\x28\x02\x10\x63");
        assert_eq!(merged.presence, Presence::Required);
        assert_eq!(merged.message_encoding, MessageEncoding::Delimited);
        assert_eq!(merged.enum_kind, EnumKind::Open);
    }
}
