//! Every fuzz target for the given time, with AddressSanitizer, from its seeds.

use std::fs;
use std::path::Path;

use tidemill_support::{cases, descriptors};

use super::command::{Options, succeed, unstable_cargo};

/// Folders of seeds beside `tests/corpora/TARGET`.
const SEEDS: [(&str, &[&str]); 5] = [
    ("components", &["tests/cl/run", "tests/cl/fault"]),
    ("program", &["tests/overlog", "examples"]),
    ("proto", &["tests/proto"]),
    ("script", &["examples"]),
    ("wire_decoders", &["tests/wire"]),
];

/// The target whose seeds are sets of descriptors, and the folder of cases that have them.
const SETS: (&str, &str) = ("descriptors", "tests/proto/right");

pub fn run(root: &Path, options: &Options<'_>) -> Result<(), String> {
    let manifest = root.join("fuzz/Cargo.toml");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("{manifest:?}: {error}"))?;
    let all = targets(&text);
    if let Some(unknown) = options.targets.iter().find(|target| !all.contains(target)) {
        return Err(format!("no fuzz target `{unknown}`; there are {}", all.join(", ")));
    }
    let mut found = Vec::new();
    for target in all {
        if !options.targets.is_empty() && !options.targets.contains(&target) {
            continue;
        }
        if let Err(reason) = run_target(root, target, options.seconds) {
            println!("fuzz {target}: {reason}");
            found.push(target);
        }
    }
    if found.is_empty() { Ok(()) } else { Err(format!("finds in {}", found.join(", "))) }
}

fn run_target(root: &Path, target: &str, seconds: u64) -> Result<(), String> {
    let corpus = format!("fuzz/corpus/{target}");
    fs::create_dir_all(root.join(&corpus)).map_err(|error| format!("{corpus}: {error}"))?;
    let mut command = unstable_cargo(root);
    command.args(["fuzz", "run", target, &corpus]);
    let own = format!("tests/corpora/{target}");
    if root.join(&own).is_dir() {
        command.arg(own);
    }
    let (_, more) = SEEDS.iter().find(|(name, _)| *name == target).unwrap_or(&("", &[]));
    for folder in *more {
        unpack(&root.join(folder), &root.join(&corpus))?;
    }
    if target == SETS.0 {
        for (name, set) in descriptors::sets(SETS.1) {
            let seed = root.join(&corpus).join(name);
            fs::write(&seed, set).map_err(|error| format!("{}: {error}", seed.display()))?;
        }
    }
    command.args(*more).arg("--").arg(format!("-max_total_time={seconds}"));
    command.args(["-rss_limit_mb=4096", "-print_final_stats=1"]);
    succeed(&mut command, "needs `cargo install cargo-fuzz`")
}

/// Adds the sources of files of cases, in a folder and its subfolders, to the seeds: the fuzzer
/// would take each file for one seed.
fn unpack(folder: &Path, corpus: &Path) -> Result<(), String> {
    let wrong = |path: &Path| {
        let path = path.display().to_string();
        move |error| format!("{path}: {error}")
    };
    for entry in fs::read_dir(folder).map_err(wrong(folder))? {
        let path = entry.map_err(wrong(folder))?.path();
        if path.is_dir() {
            unpack(&path, corpus)?;
        } else if path.extension().is_some_and(|ending| ending == cases::ENDING) {
            for case in cases::read(&path) {
                let seed = corpus.join(&case.name);
                fs::write(&seed, case.source).map_err(wrong(&seed))?;
            }
        }
    }
    Ok(())
}

/// The names of the binaries in the manifest.
fn targets(manifest: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut in_binary = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            in_binary = line == "[[bin]]";
        } else if let Some(name) = line.strip_prefix("name = ").filter(|_| in_binary) {
            names.push(name.trim_matches('"'));
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::targets;

    #[test]
    fn binaries_are_targets() {
        let manifest = "[package]\nname = \"fuzz\"\n\n[[bin]]\nname = \"a\"\npath = \"a.rs\"\n\n\
                        [[bin]]\nname = \"b\"\n";
        assert_eq!(targets(manifest), ["a", "b"]);
    }
}
