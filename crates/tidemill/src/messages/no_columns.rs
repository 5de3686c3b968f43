//! A build without the feature `arrow`: columns are refused.

use std::io::{Read, Write};

use super::convert::{Converter, Progress};
use super::form::{ColumnForm, ConvertError, Counts, Form};

impl Converter<'_> {
    /// Fields without a column.
    ///
    /// # Errors
    /// Always: this build has no columns.
    pub fn without_column(&self) -> Result<Vec<String>, ConvertError> {
        let reason = "columns: this program was built without the feature `arrow`";
        Err(ConvertError::Selection(reason.to_owned()))
    }

    /// Converts all messages of `input` into columns.
    ///
    /// # Errors
    /// Always: this build has no columns.
    pub fn convert_to_columns(
        &self,
        _: impl Read,
        _: Form,
        _: impl Write + Send,
        _: ColumnForm,
        _: Progress<'_>,
    ) -> Result<Counts, ConvertError> {
        self.without_column().map(|_| Counts::default())
    }
}
