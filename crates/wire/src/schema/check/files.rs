//! Files as a whole.

use super::{Check, is_identifier, option, option_part, own_feature};
use crate::schema::problem::{ElementId, Part};
use crate::schema::{FileId, MessageId};
use tidemill_stdx::sort;

/// Numbers of fields of `google.protobuf.FileOptions`.
const OPTIMIZE_FOR: u32 = 9;
const LITE_RUNTIME: u64 = 3;
const JAVA_STRING_CHECK_UTF8: u32 = 27;
const GENERIC_SERVICES: [(u32, &str); 2] =
    [(16, "cc_generic_services"), (17, "java_generic_services")];
const FEATURES: u32 = 50;

/// The maximal length of a package, as in protoc.
const PACKAGE_BYTES_MAX: usize = 511;
const PACKAGE_PARTS_MAX: usize = 101;
const FULL_NAME_BYTES_MAX: usize = 65_535;

impl<'a> Check<'a> {
    pub(super) fn file(&mut self, id: FileId) {
        let draft = self.draft;
        let file = draft.file(id);
        let at = |part| (id, file.place, part);
        let bad =
            file.package.iter().flat_map(|name| name.split('.')).find(|one| !is_identifier(one));
        if let Some(part) = bad {
            self.error("bad-name", at(Part::Type), format!("`{part}` is no name of a package"));
        }
        let package = file.package.as_deref().unwrap_or_default();
        if package.len() > PACKAGE_BYTES_MAX || package.split('.').count() > PACKAGE_PARTS_MAX {
            let text = format!(
                "a package has at most {PACKAGE_BYTES_MAX} characters and {PACKAGE_PARTS_MAX} parts"
            );
            self.error("bad-name", at(Part::Type), text);
        }
        if option(&file.options, JAVA_STRING_CHECK_UTF8) == Some(1) && file.edition.has_features() {
            let part = option_part(&file.options, "java_string_check_utf8");
            let text = "editions have no option `java_string_check_utf8`".into();
            self.error("option-edition", at(part), text);
            self.help("use `features.(pb.java).utf8_validation`");
        }
        let is_lite =
            |id: FileId| option(&draft.file(id).options, OPTIMIZE_FOR) == Some(LITE_RUNTIME);
        if !is_lite(id) {
            for import in &file.dependencies {
                if import.file.is_some_and(is_lite) {
                    let message =
                        format!("`{}` is for the lite runtime, this file is not", import.name);
                    self.error("lite-import", (id, import.place, Part::Name), message);
                    self.help("a file that others import in full has another `optimize_for`");
                }
            }
        } else if !file.services.is_empty() {
            for (number, name) in GENERIC_SERVICES {
                if option(&file.options, number) == Some(1) {
                    let part = option_part(&file.options, name);
                    let message = "files for the lite runtime have no generic services".into();
                    self.error("lite-services", at(part), message);
                }
            }
        }
        self.file_features(id);
    }

    fn file_features(&mut self, id: FileId) {
        let file = self.draft.file(id);
        self.unset_features((id, file.place), &file.options, FEATURES);
        let presence = own_feature(&file.options, FEATURES, 1);
        if presence == Some(3) {
            let part = option_part(&file.options, "features.field_presence");
            let message = "fields cannot be required by default".into();
            self.error("feature-value", (id, file.place, part), message);
            self.help("set it on the fields that are meant");
        }
    }

    /// Checks the lengths of full names.
    pub(super) fn full_names(&mut self) {
        let draft = self.draft;
        let outer = |id: MessageId| draft.message(id).full_name.len();
        let package = |id: FileId| draft.file(id).package.as_ref().map_or(0, |name| name.len());
        let mut long: Vec<(FileId, ElementId)> = Vec::new();
        let mut look = |file: FileId, place: ElementId, around: usize, name: usize| {
            if around + usize::from(around > 0) + name > FULL_NAME_BYTES_MAX {
                long.push((file, place));
            }
        };
        for one in &draft.messages {
            look(one.file, one.place, 0, one.full_name.len());
        }
        for one in &draft.fields {
            let around = one.scope.map_or_else(|| package(one.file), outer);
            look(one.file, one.place, around, one.name.len());
        }
        for one in &draft.enums {
            look(one.file, one.place, 0, one.full_name.len());
            let around = one.parent.map_or_else(|| package(one.file), outer);
            for value in &one.values {
                look(one.file, value.place, around, value.name.len());
            }
        }
        for (file, place) in long {
            let text = format!("a name has at most {FULL_NAME_BYTES_MAX} characters in full");
            self.error("bad-name", (file, place, Part::Name), text);
        }
    }

    /// Checks names from descriptors; in texts all names are identifiers.
    pub(super) fn names(&mut self) {
        let draft = self.draft;
        if draft.files.iter().all(|file| file.descriptor.is_none()) {
            return;
        }
        let mut bad: Vec<(FileId, &str)> = Vec::new();
        let mut look = |file: FileId, name: &'a str| {
            if draft.file(file).descriptor.is_some() && !is_identifier(name) {
                bad.push((file, name));
            }
        };
        draft.messages.iter().for_each(|one| look(one.file, &one.name));
        draft.fields.iter().for_each(|one| look(one.file, &one.name));
        draft.enums.iter().for_each(|one| look(one.file, &one.name));
        for one in &draft.enums {
            one.values.iter().for_each(|value| look(one.file, &value.name));
        }
        draft.services.iter().for_each(|one| look(one.file, &one.name));
        for one in &draft.services {
            one.methods.iter().for_each(|method| look(one.file, &method.name));
        }
        sort::by_key(&mut bad, |&(file, _)| file);
        for (file, name) in bad {
            let at = (file, ElementId::NONE, Part::Name);
            self.error("bad-name", at, format!("`{name}` is no identifier"));
        }
    }
}
