//! Enums: the first value, aliases, reserved numbers and names, names in JSON.

use super::{Check, option, option_part};
use crate::schema::EnumId;
use crate::schema::draft::EnumDraft;
use crate::schema::features::{Edition, EnumKind};
use crate::schema::problem::Part;
use tidemill_stdx::sorted::SortedMap;

/// Numbers of fields of `google.protobuf.EnumOptions`.
const ALLOW_ALIAS: u32 = 2;
const LEGACY_JSON_CONFLICTS: u32 = 6;
const FEATURES: u32 = 7;

impl Check<'_> {
    pub(super) fn enumeration(&mut self, id: EnumId) {
        let found = self.draft.enum_(id);
        let at = (found.file, found.place, Part::Name);
        let Some(first) = found.values.first() else {
            self.error("empty-enum", at, format!("enum `{}` has no values", found.name));
            return;
        };
        if found.features.enum_kind == EnumKind::Open && first.number != 0 {
            let text =
                format!("the first value of enum `{}` is {}, not 0", found.name, first.number);
            self.error("first-value", (found.file, first.place, Part::Number), text);
            let zero = format!("{}_UNSPECIFIED = 0;", found.name.to_ascii_uppercase());
            self.help(match self.edition(found.file) {
                Edition::Proto3 => format!("begin with `{zero}`"),
                _ => format!("begin with `{zero}`, or set `features.enum_type = CLOSED`"),
            });
        }
        self.unset_features((found.file, found.place), &found.options, FEATURES);
        self.aliases(found);
        self.reserved_in_enum(found);
        self.value_names(found);
    }

    fn aliases(&mut self, found: &EnumDraft) {
        let allowed = option(&found.options, ALLOW_ALIAS);
        let at = (found.file, found.place, option_part(&found.options, "allow_alias"));
        let mut by_number: SortedMap<i32, usize> = SortedMap::new();
        let mut any = false;
        for (index, value) in found.values.iter().enumerate() {
            let Some(&other) = by_number.get(&value.number) else {
                by_number.insert(value.number, index);
                continue;
            };
            any = true;
            if allowed == Some(1) {
                continue;
            }
            let other = &found.values[other];
            let text = format!(
                "value `{}` has number {}, as `{}` has",
                value.name, value.number, other.name
            );
            self.error("enum-alias", (found.file, value.place, Part::Number), text);
            self.label((found.file, other.place, Part::Number), "it is taken here");
            let next =
                found.values.iter().map(|value| i64::from(value.number)).max().unwrap_or(0) + 1;
            self.help(format!(
                "the next free number is {next}; for two names of one value set \
                 `option allow_alias = true;`"
            ));
        }
        if allowed == Some(0) {
            self.error("enum-alias", at, "`allow_alias = false` has no effect".into());
            self.help("remove it");
        } else if allowed == Some(1) && !any {
            let text = format!("enum `{}` allows aliases and has none", found.name);
            self.error("enum-alias", at, text);
            self.help("remove `allow_alias`");
        }
    }

    fn reserved_in_enum(&mut self, found: &EnumDraft) {
        for (index, range) in found.reserved_ranges.iter().enumerate() {
            let at = (found.file, range.place, Part::Name);
            if range.end < range.start {
                self.error("reserved-range", at, "the range ends before it begins".into());
            }
            let mut before = found.reserved_ranges[..index].iter();
            let meets = before.find(|one| range.start <= one.end && one.start <= range.end);
            if let Some(other) = meets {
                self.error("reserved-range", at, "the range overlaps another".into());
                self.label((found.file, other.place, Part::Name), "the other is here");
            }
            for value in &found.values {
                if (range.start..=range.end).contains(&value.number) {
                    let text =
                        format!("value `{}` has the reserved number {}", value.name, value.number);
                    self.error("reserved-number", (found.file, value.place, Part::Number), text);
                    self.label(at, "it is reserved here");
                }
            }
        }
        for (index, (name, place)) in found.reserved_names.iter().enumerate() {
            let at = (found.file, *place, Part::Name);
            self.reserved_name(name, at, &found.reserved_names[..index]);
            for value in found.values.iter().filter(|value| value.name == *name) {
                let text = format!("value `{name}` has a reserved name");
                self.error("reserved-name", (found.file, value.place, Part::Name), text);
                self.label(at, "it is reserved here");
            }
        }
    }

    /// Checks that values differ without the enum's name as prefix, in the case of generated code.
    fn value_names(&mut self, found: &EnumDraft) {
        let prefix: String =
            found.name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_lowercase()).collect();
        let mut seen: SortedMap<String, usize> = SortedMap::new();
        let lenient = option(&found.options, LEGACY_JSON_CONFLICTS) == Some(1)
            && self.edition(found.file) == Edition::Proto2;
        for (index, value) in found.values.iter().enumerate() {
            let name = pascal_case(without_prefix(&value.name, &prefix));
            let Some(&other) = seen.get(&name) else {
                seen.insert(name, index);
                continue;
            };
            let other = &found.values[other];
            if other.name == value.name || other.number == value.number {
                continue;
            }
            let at = (found.file, value.place, Part::Name);
            let text = format!(
                "values `{}` and `{}` are both `{name}` without case and the enum's name",
                other.name, value.name
            );
            if lenient {
                self.warn("json-conflict", at, text)
            } else {
                self.error("json-conflict", at, text)
            }
            self.label((found.file, other.place, Part::Name), "the other is here");
        }
    }
}

/// `prefix` is in lower case and without underscores.
fn without_prefix<'n>(name: &'n str, prefix: &str) -> &'n str {
    let mut rest = prefix.chars().peekable();
    let mut end = 0;
    for (at, c) in name.char_indices() {
        if rest.peek().is_none() {
            break;
        }
        end = at + c.len_utf8();
        if c != '_' && rest.next() != Some(c.to_ascii_lowercase()) {
            return name;
        }
    }
    let stripped = name.get(end..).unwrap_or("").trim_start_matches('_');
    if rest.peek().is_some() || stripped.is_empty() { name } else { stripped }
}

fn pascal_case(name: &str) -> String {
    let mut capital = true;
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '_' => capital = true,
            c if capital => {
                out.push(c.to_ascii_uppercase());
                capital = false;
            }
            c => out.push(c.to_ascii_lowercase()),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_lose_the_name_of_their_enum() {
        let strip = |name| pascal_case(without_prefix(name, "fooenum"));
        assert_eq!(strip("FOO_ENUM_BAR_BAZ"), "BarBaz");
        assert_eq!(strip("FOOENUM_1"), "1");
        assert_eq!(strip("FOO_ENUM"), "FooEnum");
        assert_eq!(strip("BAR"), "Bar");
    }
}
