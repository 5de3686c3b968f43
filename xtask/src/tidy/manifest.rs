//! The part of TOML that manifests need: keys and values by line and section.

/// `key = value` of a manifest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry<'t> {
    /// From 1.
    pub line: usize,
    /// `dependencies` for what follows `[dependencies]`.
    pub section: &'t str,
    /// Left of the first `=`.
    pub key: &'t str,
    /// Right of it; of a value over several lines, the first line.
    pub value: &'t str,
}

impl<'t> Entry<'t> {
    /// The name of the crate if this is a dependency: `x = ..`, `x.workspace = true`, or a line
    /// of `[dependencies.x]`.
    pub fn dependency(&self, kind: &str) -> Option<&'t str> {
        if self.section == kind {
            return self.key.split('.').next();
        }
        self.section.strip_prefix(kind)?.strip_prefix('.')
    }

    /// Whether version and place of the dependency come from the workspace.
    pub fn inherits(&self) -> bool {
        self.key.ends_with(".workspace") || self.key == "workspace" || {
            let mut compact = self.value.to_owned();
            compact.retain(|c| c != ' ');
            compact.contains("workspace=true")
        }
    }
}

/// All entries in the order of the lines.
pub(super) fn entries(text: &str) -> Vec<Entry<'_>> {
    let mut section = "";
    let mut entries = Vec::new();
    for (i, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']', ' ']);
        } else if !line.starts_with('#')
            && let Some((key, value)) = line.split_once('=')
        {
            let (key, value) = (key.trim(), value.trim());
            entries.push(Entry { line: i + 1, section, key, value });
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_found_in_each_way_to_write_them() {
        let text = "[package]\nname = \"x\"\n[dependencies]\na.workspace = true\n# b = 1\n\
                    c = { workspace = true, features = [\"f\"] }\nd = \"1\"\n\
                    [dependencies.e]\nversion = \"2\"\n[dev-dependencies]\nf.workspace = true\n";
        let all = entries(text);
        let names: Vec<_> = all.iter().filter_map(|one| one.dependency("dependencies")).collect();
        assert_eq!(names, ["a", "c", "d", "e"]);
        let own: Vec<_> = all.iter().filter(|one| one.inherits()).map(|e| e.line).collect();
        assert_eq!(own, [4, 6, 11]);
    }
}
