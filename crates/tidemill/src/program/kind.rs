//! The kind of a file, by its ending.

use std::path::Path;

/// The kind of a file, by its ending in any case.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum FileKind {
    /// `.olg`.
    Rules,
    /// `.com`, `.cl`.
    Components,
    /// `.flow`.
    Packets,
    /// `.proto`, `.fds`.
    Schemas,
}

impl FileKind {
    /// All kinds.
    pub const ALL: [FileKind; 4] =
        [FileKind::Rules, FileKind::Components, FileKind::Packets, FileKind::Schemas];

    /// The kind of a file; `None` if its ending is unknown.
    pub fn of(path: &Path) -> Option<FileKind> {
        let ending = path.extension()?.to_str()?.to_ascii_lowercase();
        Some(match ending.as_str() {
            "olg" => FileKind::Rules,
            "com" | "cl" => FileKind::Components,
            "flow" => FileKind::Packets,
            "proto" | "fds" => FileKind::Schemas,
            _ => return None,
        })
    }

    /// The plural name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            FileKind::Rules => "rules",
            FileKind::Components => "components",
            FileKind::Packets => "packet graphs",
            FileKind::Schemas => "schemas",
        }
    }
}

/// A set of kinds.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Kinds(u8);

impl Kinds {
    /// The kinds of files by their endings; unknown endings are ignored.
    pub fn of<P: AsRef<Path>>(files: &[P]) -> Kinds {
        files.iter().filter_map(|file| FileKind::of(file.as_ref())).collect()
    }

    /// Whether the set has this kind.
    pub fn has(self, kind: FileKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether both sets have a kind in common.
    pub fn meets(self, other: Kinds) -> bool {
        self.0 & other.0 != 0
    }

    /// The kinds in their order.
    pub fn iter(self) -> impl Iterator<Item = FileKind> {
        FileKind::ALL.into_iter().filter(move |&kind| self.has(kind))
    }

    /// Their names as a phrase: `rules, components and schemas`.
    pub fn names(self) -> String {
        let names: Vec<&str> = self.iter().map(FileKind::name).collect();
        match names.as_slice() {
            [] => "nothing".to_owned(),
            [one] => (*one).to_owned(),
            [most @ .., last] => format!("{} and {last}", most.join(", ")),
        }
    }
}

impl FromIterator<FileKind> for Kinds {
    fn from_iter<I: IntoIterator<Item = FileKind>>(kinds: I) -> Kinds {
        Kinds(kinds.into_iter().fold(0, |all, kind| all | 1 << kind as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings_count_in_any_case() {
        let kind = |name: &str| FileKind::of(Path::new(name));
        assert_eq!(kind("a.olg"), Some(FileKind::Rules));
        assert_eq!(kind("a.b.OLG"), Some(FileKind::Rules));
        assert_eq!(kind("A.Com"), Some(FileKind::Components));
        assert_eq!(kind("x.fds"), Some(FileKind::Schemas));
        assert_eq!(kind("olg"), None);
        assert_eq!(kind("a.txt"), None);
    }

    #[test]
    fn kinds_are_named_in_a_sentence() {
        let names = |files: &[&str]| Kinds::of(files).names();
        assert_eq!(names(&["a.olg", "b.olg"]), "rules");
        assert_eq!(names(&["x.flow", "a.olg"]), "rules and packet graphs");
        assert_eq!(names(&["x.fds", "a.olg", "a.cl"]), "rules, components and schemas");
        assert_eq!(names(&["a.txt"]), "nothing");
    }
}
