//! Our own programs in other languages: their sources and requirements, and how they are built and
//! started.
//!
//! Sources are in `bench/peers/NAME`; programs are built in `peers/NAME` of the target folder, and
//! rebuilt when a source is newer. Nothing of this happens unless peers are measured. Each is
//! measured twice: with its default of a thread per core, and with one thread (`NAME-1`), which
//! often costs less CPU time.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use crate::tool;

/// The command of a built peer; the case and its parameters follow.
#[derive(Clone, Debug)]
pub struct Start {
    pub who: &'static str,
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    pub variables: Vec<(&'static str, String)>,
}

/// A peer that cannot be measured here.
#[derive(Clone, Debug)]
pub struct Absent {
    pub who: &'static str,
    pub reason: String,
}

/// The folders of a peer's sources and programs.
struct Folders {
    source: PathBuf,
    target: PathBuf,
}

type Build = fn(&Folders) -> Result<Vec<Start>, String>;

const PEERS: [(&str, Build); 4] =
    [("go", build_go), ("tokio", tokio), ("erlang", erlang), ("java", java)];

/// Builds the peers that are not built yet.
pub fn all() -> Vec<Result<Vec<Start>, Absent>> {
    let build = |&(who, build): &(&'static str, Build)| {
        let folders = || Ok(Folders { source: tool::source(who), target: tool::target(who)? });
        folders().and_then(|folders| build(&folders)).map_err(|reason| Absent { who, reason })
    };
    PEERS.iter().map(build).collect()
}

/// The default number of threads of a program.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The programs in Go, which have cases that the others lack.
///
/// # Errors
/// Go is missing, or the build fails.
pub fn go() -> Result<Vec<Start>, String> {
    build_go(&Folders { source: tool::source("go"), target: tool::target("go")? })
}

fn build_go(folders: &Folders) -> Result<Vec<Start>, String> {
    let program = folders.target.join("activities");
    if folders.stale(&program)? {
        let mut build = Command::new("go");
        build.args(["build", "-o"]).arg(&program).arg(".").current_dir(&folders.source);
        tool::all_output_of(&mut build, "go")?;
    }
    let one = vec![("GOMAXPROCS", "1".to_owned())];
    Ok(vec![Start::new("go", &program, &[], Vec::new()), Start::new("go-1", &program, &[], one)])
}

fn tokio(_: &Folders) -> Result<Vec<Start>, String> {
    let release = tool::cargo("tokio")?;
    let program = release.join("tidemill-bench-tokio");
    let cores = cores().to_string();
    Ok(vec![
        Start::new("tokio", &program, &[&cores], Vec::new()),
        Start::new("tokio-1", &program, &["1"], Vec::new()),
    ])
}

fn erlang(folders: &Folders) -> Result<Vec<Start>, String> {
    if folders.stale(&folders.target.join("activities.beam"))? {
        let mut build = Command::new("erlc");
        build.arg("-o").arg(&folders.target).arg(folders.source.join("activities.erl"));
        tool::all_output_of(&mut build, "erlc")?;
    }
    let target = folders.target.to_string_lossy();
    let start = |who, threads: usize| {
        let threads = format!("{threads}:{threads}");
        // Many processes; few threads for files; schedulers without busy waiting.
        const FLAGS: &str = "-noshell -noinput +P 33554432 +SDio 1 +sbwt none +sbwtdcpu none \
                             +sbwtdio none";
        let flags = FLAGS.split(' ').chain(["+S", &threads, "-pa", &target]);
        let arguments: Vec<&str> = flags.chain(["-run", "activities", "main"]).collect();
        let no_dump = vec![("ERL_CRASH_DUMP", "/dev/null".to_owned())];
        Start::new(who, Path::new("erl"), &arguments, no_dump)
    };
    Ok(vec![start("erlang", cores()), start("erlang-1", 1)])
}

/// The first Java with virtual threads, in `JAVA_HOME` or on the path.
fn java(folders: &Folders) -> Result<Vec<Start>, String> {
    const VERSION_MIN: u32 = 21;
    let (java, version) = java_tool("java")
        .into_iter()
        .find_map(|java| {
            // java.version = 21.0.8
            let mut show = Command::new(&java);
            let text =
                tool::all_output_of(show.args(["-XshowSettings:properties", "-version"]), "java")
                    .ok()?;
            let version = text.lines().find_map(|line| line.trim().strip_prefix("java.version = "));
            let major = version?.split(['.', '-']).next()?.parse::<u32>().ok()?;
            Some((java, major))
        })
        .ok_or("no java")?;
    if version < VERSION_MIN {
        return Err(format!("java {version} is there, virtual threads need {VERSION_MIN}"));
    }
    if folders.stale(&folders.target.join("Peer.class"))? {
        let built = java_tool("javac").into_iter().map(|javac| {
            let mut build = Command::new(javac);
            build.arg("-d").arg(&folders.target).arg(folders.source.join("Peer.java"));
            // Every runtime with virtual threads supports this release.
            tool::all_output_of(build.args(["--release", "17"]), "javac")
        });
        let mut built: Vec<_> = built.collect();
        if !built.iter().any(Result::is_ok) {
            return Err(built.pop().and_then(Result::err).unwrap_or_default());
        }
    }
    let target = folders.target.to_string_lossy();
    let start = |who, threads: usize| {
        let threads = format!("-Djdk.virtualThreadScheduler.parallelism={threads}");
        Start::new(who, &java, &[&threads, "-cp", &target, "Peer"], Vec::new())
    };
    Ok(vec![start("java", cores()), start("java-1", 1)])
}

/// Where a tool of Java may be, the configured one first.
fn java_tool(name: &str) -> Vec<PathBuf> {
    let home = std::env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin").join(name));
    home.into_iter().filter(|tool| tool.exists()).chain([PathBuf::from(name)]).collect()
}

impl Folders {
    /// Whether a built program is missing or older than a source.
    fn stale(&self, built: &Path) -> Result<bool, String> {
        let failed = |error: std::io::Error| format!("{}: {error}", self.source.display());
        let Ok(built) = std::fs::metadata(built).and_then(|data| data.modified()) else {
            return Ok(true);
        };
        newest(&self.source).map(|source| source > built).map_err(failed)
    }
}

/// The time of a folder's newest file.
fn newest(folder: &Path) -> std::io::Result<SystemTime> {
    let mut newest = SystemTime::UNIX_EPOCH;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let data = entry.metadata()?;
        let time = if data.is_dir() { self::newest(&entry.path())? } else { data.modified()? };
        newest = newest.max(time);
    }
    Ok(newest)
}

impl Start {
    /// This program, for one run of ours.
    pub fn this(who: &'static str) -> Result<Start, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        Ok(Start::new(who, &program, &["measure", who], Vec::new()))
    }

    /// An existing program.
    pub fn new(
        who: &'static str,
        program: &Path,
        arguments: &[&str],
        variables: Vec<(&'static str, String)>,
    ) -> Start {
        let arguments = arguments.iter().map(OsString::from).collect();
        Start { who, program: program.to_owned(), arguments, variables }
    }

    /// Its output for a case.
    ///
    /// # Errors
    /// It does not start, or fails.
    pub fn run(&self, bench: &str, parameters: &[u64]) -> Result<String, String> {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).arg(bench);
        command.args(parameters.iter().map(u64::to_string));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        tool::all_output_of(&mut command, self.who)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_older_than_its_source_is_built_again() {
        let folder = std::env::temp_dir().join(format!("tidemill-peers-{}", std::process::id()));
        let (source, target) = (folder.join("source"), folder.join("target"));
        for folder in [source.join("src"), target.clone()] {
            std::fs::create_dir_all(folder).expect("a folder");
        }
        let folders = Folders { source, target };
        let built = folders.target.join("built");
        assert_eq!(folders.stale(&built), Ok(true), "not there");
        std::fs::write(folders.source.join("src/a"), "").expect("a source");
        let write = |at: &Path, seconds| {
            let file = std::fs::File::create(at).expect("a file");
            let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
            file.set_modified(time).expect("a time");
        };
        write(&folders.source.join("src/a"), 1000);
        write(&built, 2000);
        assert_eq!(folders.stale(&built), Ok(false));
        write(&folders.source.join("src/a"), 3000);
        assert_eq!(folders.stale(&built), Ok(true));
        std::fs::remove_dir_all(&folder).expect("the folder goes");
    }
}
