//! Dependencies: they only go down the floors, versions are in one place, and each has its reason.

use super::findings::Findings;
use super::manifest::{Entry, entries};
use crate::tree::Tree;

/// The crates and their floors. Crates of one floor do not know each other.
const FLOORS: [(&str, u32); 21] = [
    ("stdx", 0),
    ("diag", 0),
    ("stat", 0),
    ("event", 1),
    ("jit", 1),
    ("history", 1),
    ("wire", 2),
    ("pore", 2),
    ("proc", 2),
    ("packet", 2),
    ("filter", 2),
    ("relation", 2),
    ("fabric", 2),
    ("overlog", 3),
    ("cl", 3),
    ("wire-arrow", 3),
    ("wire-c", 3),
    ("apps", 3),
    ("tidemill", 4),
    ("fabric-zenoh", 4),
    ("cli", 5),
];

/// Libraries that only one crate may use.
const OWNED: [(&str, &str); 2] = [("cranelift", "jit"), ("clap", "cli")];

/// The sections of dependencies that end up in a product; tests may use any.
const KINDS: [&str; 2] = ["dependencies", "build-dependencies"];

pub(super) fn check(tree: &Tree, findings: &mut Findings) {
    for (path, text) in tree.files() {
        match path.split('/').collect::<Vec<_>>()[..] {
            ["Cargo.toml"] => reasons(path, text, findings),
            ["crates", name, "Cargo.toml"] => {
                arrows(name, path, text, findings);
                versions(path, text, findings);
            }
            ["apps", "Cargo.toml"] => {
                arrows("apps", path, text, findings);
                versions(path, text, findings);
            }
            ["bench" | "xtask", "Cargo.toml"] => versions(path, text, findings),
            _ => {}
        }
    }
}

fn floor_of(name: &str) -> Option<u32> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

/// The folder of a package of ours.
fn folder(package: &str) -> Option<&str> {
    if package == "tidemill" { Some(package) } else { package.strip_prefix("tidemill-") }
}

fn arrows(name: &str, path: &str, text: &str, findings: &mut Findings) {
    let Some(floor) = floor_of(name) else {
        findings.add(path, 1, format!("crate `{name}` has no floor: enter it in {}", file!()));
        return;
    };
    for entry in entries(text) {
        let Some(package) = KINDS.iter().find_map(|kind| entry.dependency(kind)) else { continue };
        if let Some(other) = folder(package) {
            let message = match floor_of(other) {
                None => format!("`{package}` has no floor"),
                Some(below) if below < floor => continue,
                Some(above) => format!(
                    "`{name}` on floor {floor} may not know `{other}` on floor {above}: \
                     arrows go down only"
                ),
            };
            findings.add(path, entry.line, message);
        }
        for (library, owner) in OWNED {
            if package.starts_with(library) && name != owner {
                let message = format!("`{package}` is for `{owner}` only");
                findings.add(path, entry.line, message);
            }
        }
    }
}

fn versions(path: &str, text: &str, findings: &mut Findings) {
    let all = entries(text);
    for entry in &all {
        let kinds = ["dependencies", "build-dependencies", "dev-dependencies"];
        let Some(package) = kinds.iter().find_map(|kind| entry.dependency(kind)) else { continue };
        // In a section of its own a dependency has several lines; one of them must inherit.
        let is_inherited = |other: &Entry<'_>| other.section == entry.section && other.inherits();
        let own_section = entry.section.ends_with(package) && entry.section.contains('.');
        if !(entry.inherits() || own_section && all.iter().any(is_inherited)) {
            let message = format!("version of `{package}`: say `workspace = true`");
            findings.add(path, entry.line, message);
        }
    }
}

/// Comments above a dependency are its reason, which extends to the next blank line.
fn reasons(path: &str, text: &str, findings: &mut Findings) {
    let all = entries(text);
    let mut reason = false;
    for (i, line) in text.lines().enumerate() {
        match line.trim() {
            "" => reason = false,
            comment if comment.starts_with('#') => reason = true,
            _ => {
                let entry = all.iter().find(|entry| entry.line == i + 1);
                let named = entry.and_then(|entry| entry.dependency("workspace.dependencies"));
                if let (Some(name), false) = (named, reason)
                    && folder(name).is_none()
                {
                    findings.add(path, i + 1, format!("dependency `{name}` carries no reason"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::check;

    fn of(name: &str, manifest: &str) -> String {
        found(check, &[(&format!("crates/{name}/Cargo.toml"), manifest)])
    }

    #[test]
    fn arrows_go_down_only() {
        let down =
            "[dependencies]\ntidemill-stdx.workspace = true\ntidemill-event.workspace = true\n";
        assert_eq!(of("relation", down), "");
        let up = of("stdx", "[package]\n\n[dependencies]\ntidemill-event.workspace = true\n");
        assert_eq!(
            up,
            "crates/stdx/Cargo.toml:4: `stdx` on floor 0 may not know `event` on floor 1: arrows \
             go down only\n"
        );
        assert!(of("wire", "[dependencies]\ntidemill-relation.workspace = true\n").contains(":2:"));
        assert!(of("stat", "[dependencies]\ntidemill-stdx.workspace = true\n").contains(":2:"));
        assert!(of("cli", "[dependencies]\ntidemill.workspace = true\n").is_empty());
    }

    #[test]
    fn tests_may_look_up() {
        assert_eq!(of("relation", "[dev-dependencies]\ntidemill-overlog.workspace = true\n"), "");
    }

    #[test]
    fn every_crate_has_a_floor() {
        assert!(of("attic", "[package]\n").contains("crate `attic` has no floor"));
        assert!(
            of("cli", "[dependencies]\ntidemill-attic.workspace = true\n").contains("no floor")
        );
    }

    #[test]
    fn some_libraries_have_one_owner() {
        let text = "[dependencies]\ncranelift-jit.workspace = true\nclap.workspace = true\n";
        assert_eq!(
            of("overlog", text),
            "crates/overlog/Cargo.toml:2: `cranelift-jit` is for `jit` only\n\
             crates/overlog/Cargo.toml:3: `clap` is for `cli` only\n"
        );
        assert_eq!(of("jit", "[dependencies]\ncranelift-jit.workspace = true\n"), "");
    }

    #[test]
    fn versions_stand_in_the_workspace() {
        let wrong = of("stdx", "[dependencies]\nlibm = \"0.2\"\nx = { path = \"../x\" }\n");
        assert_eq!(wrong.lines().count(), 2, "{wrong}");
        let right = "[dependencies.libm]\nworkspace = true\nfeatures = [\"a\"]\n";
        assert_eq!(of("stdx", right), "");
    }

    #[test]
    fn each_library_has_a_reason() {
        let root = "[workspace.dependencies]\ntidemill-stdx = { path = \"crates/stdx\" }\n\n\
                    # For the tides.\nmoon = \"1\"\nsun = \"1\"\n\nwind = \"1\"\n";
        assert_eq!(
            found(check, &[("Cargo.toml", root)]),
            "Cargo.toml:8: dependency `wind` carries no reason\n"
        );
    }
}
