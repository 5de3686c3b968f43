//! Loads schemas from serialized descriptors.

use std::fmt;

use super::descriptor::{DescriptorError, read_set};
use super::draft::Draft;
use super::link::{inherit_features, link};
use super::problem::Problem;
use super::shared::Schema;
use super::{check, freeze};

/// The error of descriptors that make no schema.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LoadError {
    /// The bytes are no descriptors.
    Descriptor(DescriptorError),
    /// The definitions have errors: for each the file, the class and the message.
    Definitions(Vec<(String, &'static str, String)>),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Descriptor(error) => error.fmt(f),
            LoadError::Definitions(problems) => {
                for (i, (file, code, message)) in problems.iter().enumerate() {
                    let separator = if i == 0 { "" } else { "\n" };
                    write!(f, "{separator}{file}: error[{code}]: {message}")?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl Schema {
    /// The schema of a serialized `google.protobuf.FileDescriptorSet`, which must hold all files
    /// that its files import.
    ///
    /// # Errors
    /// Bytes that are no descriptors; definitions that `protoc` would refuse.
    pub fn from_descriptor_set(bytes: &[u8]) -> Result<Schema, LoadError> {
        let mut draft = Draft::new();
        read_set(&mut draft, bytes).map_err(LoadError::Descriptor)?;
        Schema::from_draft(draft)
    }

    /// The schema of a draft whose options are interpreted.
    ///
    /// # Errors
    /// Definitions that `protoc` would refuse.
    pub fn from_draft(mut draft: Draft) -> Result<Schema, LoadError> {
        let mut problems = Vec::new();
        let linked = link(&mut draft, &mut problems);
        fail(&draft, &problems)?;
        inherit_features(&mut draft);
        check::check(&draft, &mut problems);
        fail(&draft, &problems)?;
        Ok(freeze(draft, linked.imports.order()))
    }
}

fn fail(draft: &Draft, problems: &[Problem]) -> Result<(), LoadError> {
    let errors: Vec<_> = problems
        .iter()
        .filter(|problem| !problem.warning)
        .map(|one| (draft.file(one.file).name.clone(), one.code, one.message.clone()))
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(LoadError::Definitions(errors)) }
}
