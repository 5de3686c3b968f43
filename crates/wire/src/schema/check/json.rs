//! Names in JSON: no two fields of a message share one.

use super::{Check, option};
use crate::schema::draft::FieldDraft;
use crate::schema::features::JsonFormat;
use crate::schema::problem::Part;
use crate::schema::{FieldId, MessageId, Name, json_name, json_name_bytes};
use tidemill_stdx::sorted::SortedMap;

/// Number of a field of `google.protobuf.MessageOptions`.
const LEGACY_CONFLICTS: u32 = 11;

/// Up to `FEW` fields are compared pairwise; of more the hashes are sorted.
const FEW: usize = 32;

impl Check<'_> {
    pub(super) fn json_name(&mut self, field: &FieldDraft) {
        let Some(name) = field.json_name_given() else { return };
        let at = (field.file, field.place, Part::Name);
        if name.contains('\0') {
            self.error("json-name", at, "a JSON name has no null character".into());
        } else if name.starts_with('[') && name.ends_with(']') {
            let text = "names in brackets are those of extensions in JSON".into();
            self.error("json-name", at, text);
        }
    }

    pub(super) fn json_names(&mut self, id: MessageId) {
        let message = self.draft.message(id);
        // Names without underscores stay as they are, and those differ.
        let changes = |id: &FieldId| {
            let field = self.draft.field(*id);
            field.json_name_given().is_some() || field.name.contains('_')
        };
        if !message.fields.iter().any(changes) || self.all_differ(&message.fields) {
            return;
        }
        let legacy = message.features.json_format == JsonFormat::LegacyBestEffort
            || option(&message.options, LEGACY_CONFLICTS) == Some(1);
        // First the default names, then those that the source gives.
        for given in [false, true] {
            let mut seen: SortedMap<Name, (FieldId, bool)> = SortedMap::new();
            for &id in &message.fields {
                let (name, custom) = name_of(self.draft.field(id), given);
                let Some(&(other, other_custom)) = seen.get(&name) else {
                    seen.insert(name, (id, custom));
                    continue;
                };
                if given && !custom && !other_custom {
                    continue;
                }
                self.conflict(id, other, &name, legacy && !(custom && other_custom));
            }
        }
    }

    /// True if all names differ, both the default names and those that the source gives. This holds
    /// for nearly all messages and is cheaper than the search for equal names. Names with equal
    /// hashes count as equal.
    fn all_differ(&mut self, fields: &[FieldId]) -> bool {
        let draft = self.draft;
        let fields = || fields.iter().map(|&id| draft.field(id));
        if !self.hashes_differ(fields().map(|field| hash(json_name_bytes(&field.name)))) {
            return false;
        }
        let is_given = |field: &FieldDraft| field.json_name_given().is_some();
        let as_given = |field: &FieldDraft| match field.json_name_given() {
            Some(name) => hash(name.bytes()),
            None => hash(json_name_bytes(&field.name)),
        };
        !fields().any(is_given) || self.hashes_differ(fields().map(as_given))
    }

    fn hashes_differ(&mut self, hashes: impl Iterator<Item = u64>) -> bool {
        self.hashes.clear();
        // Bit set of the upper bits of the hashes so far: a clear bit means a new name. It
        // separates most names of few fields.
        let mut there: u64 = 0;
        for hash in hashes {
            let bit = 1 << (hash >> 58);
            if there & bit != 0 && self.hashes.len() < FEW && self.hashes.contains(&hash) {
                return false;
            }
            there |= bit;
            self.hashes.push(hash);
        }
        if self.hashes.len() <= FEW {
            return true;
        }
        self.hashes.sort_unstable();
        self.hashes.windows(2).all(|two| two[0] != two[1])
    }

    fn conflict(&mut self, id: FieldId, other: FieldId, name: &str, lenient: bool) {
        let (field, other) = (self.draft.field(id), self.draft.field(other));
        if field.name == other.name {
            return; // That is reported as such.
        }
        let at = (field.file, field.place, Part::Name);
        let text =
            format!("fields `{}` and `{}` are both `{name}` in JSON", other.name, field.name);
        if lenient {
            self.warn("json-conflict", at, text)
        } else {
            self.error("json-conflict", at, text)
        }
        self.label((other.file, other.place, Part::Name), "the other is here");
    }
}

/// FNV: fast for short names.
fn hash(bytes: impl Iterator<Item = u8>) -> u64 {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash
}

/// The name and whether the source gives it.
fn name_of(field: &FieldDraft, given: bool) -> (Name, bool) {
    let made = json_name(&field.name);
    match field.json_name_given() {
        Some(name) if given => (name.into(), made != name),
        _ => (made, false),
    }
}
