//! A build without the feature `arrow`: programs with such files are refused when they are loaded.

use std::fs::File;

use tidemill_relation::Value;

use super::column::{Column, WriteError};

/// Never constructed.
pub(super) enum Rows {}

impl Rows {
    /// Refuses.
    pub(super) fn new(_: File, _: &[Column]) -> Result<Rows, WriteError> {
        Err(WriteError::Failed("this program was built without the feature `arrow`".to_owned()))
    }

    /// There is nothing to append to.
    pub(super) fn push(&mut self, _: &[Value<'_>]) -> Result<(), WriteError> {
        match *self {}
    }

    /// There is nothing to end.
    pub(super) fn finish(self) -> Result<File, WriteError> {
        match self {}
    }
}
