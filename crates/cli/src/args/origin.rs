//! Where the options of a command were given, if that is not the command line.

use tidemill::program::folder::{Section, Setting, SettingValue};
use tidemill_diag::{Sources as Texts, Span};

/// The section of a folder's settings whose options a command has.
#[derive(Debug)]
pub struct Origin {
    /// The text of the settings.
    pub sources: Texts,
    /// The section.
    pub section: Section,
}

impl Origin {
    /// The place of an option, `--loss`, `-D` or `--` for arguments, if the settings have it.
    pub fn option(&self, option: &str) -> Option<Span> {
        Some(self.setting(option)?.key)
    }

    /// The place of a value of an option that can be given several times. Values of the settings
    /// come before those of the command line.
    pub fn value(&self, option: &str, index: usize) -> Option<Span> {
        match &self.setting(option)?.value {
            SettingValue::Words(words) => words.get(index).map(|(_, at)| *at),
            SettingValue::Flag(_) => None,
        }
    }

    fn setting(&self, option: &str) -> Option<&Setting> {
        let key = match option {
            "--" => super::settings::ARGUMENTS,
            option => option.trim_start_matches('-'),
        };
        self.section.settings.iter().find(|setting| setting.name == key)
    }
}
