//! The sequential object that a history is compared with, as it is named on the command line.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tidemill_diag::{Diagnostic, Sources};
use tidemill_history::Model as Known;

use super::rules::RuleModel;
use crate::program::{FileKind, LoadOptions};

/// A model by its name, or the file of rules that defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelName {
    /// One of those that Tidemill has.
    Known(Known),
    /// A file.
    File(PathBuf),
}

/// No model has this name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoModel(pub String);

impl fmt::Display for NoModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = Known::ALL.map(Known::name).join(", ");
        write!(f, "`{}` is no model: there are {names}, and files of rules (.olg)", self.0)
    }
}

impl std::error::Error for NoModel {}

impl ModelName {
    /// The model of a name.
    ///
    /// # Errors
    /// There is none.
    pub fn parse(text: &str) -> Result<ModelName, NoModel> {
        if FileKind::of(Path::new(text)) == Some(FileKind::Rules) {
            return Ok(ModelName::File(text.into()));
        }
        let found = Known::ALL.into_iter().find(|model| model.name() == text);
        found.map(ModelName::Known).ok_or_else(|| NoModel(text.to_owned()))
    }

    /// Loads it; the diagnostics are about the sources. `None` goes with an error.
    pub fn load(
        &self,
        options: &LoadOptions,
        sources: &mut Sources,
    ) -> (Option<Model>, Vec<Diagnostic>) {
        match self {
            ModelName::Known(known) => (Some(Model::Known(*known)), Vec::new()),
            ModelName::File(path) => {
                let (rules, found) = RuleModel::load(path, options, sources);
                (rules.map(|rules| Model::Rules(Arc::new(rules))), found)
            }
        }
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ModelName::Known(known) => f.write_str(known.name()),
            ModelName::File(path) => path.display().fmt(f),
        }
    }
}

/// A sequential object.
#[derive(Clone, Debug)]
pub enum Model {
    /// One that Tidemill has.
    Known(Known),
    /// One that is defined by rules.
    Rules(Arc<RuleModel>),
}

impl Model {
    /// Its name: of one that is defined by rules, that of their file.
    pub fn name(&self) -> &str {
        match self {
            Model::Known(known) => known.name(),
            Model::Rules(rules) => rules.name(),
        }
    }
}
