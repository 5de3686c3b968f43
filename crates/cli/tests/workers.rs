//! Programs on several loops give the same output as on one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tidemill_support::cases::{self, Unpacked};

const TIDEMILL: &str = env!("CARGO_BIN_EXE_tidemill");
/// The time after which a run counts as hung.
const TIME_MAX: Duration = Duration::from_secs(60);
/// The number of concurrent programs.
const THREADS: usize = 4;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(name)
}

/// Status, output and notes of a program; an error if it hangs.
fn run(
    file: &Path,
    workers: u32,
    arguments: &[&str],
) -> Result<(Option<i32>, String, String), String> {
    let mut child = Command::new(TIDEMILL)
        .current_dir(file.parent().unwrap())
        .args(["run", "--stats", "--workers", &workers.to_string()])
        .arg(file.file_name().unwrap())
        .arg("--")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + TIME_MAX;
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > end {
            child.kill().unwrap();
            child.wait().unwrap();
            return Err(format!("{} hangs with {workers} workers", file.display()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok((output.status.code(), text(&output.stdout), text(&output.stderr)))
}

/// Compares with the expected output; the notes of `--stats` are only checked for survivors.
fn check(
    file: &Path,
    workers: u32,
    arguments: &[&str],
    expected: &str,
    notes: &str,
) -> Option<String> {
    let (status, data, found) = match run(file, workers, arguments) {
        Ok(ran) => ran,
        Err(hangs) => return Some(hangs),
    };
    let is_stat = |line: &&str| line.contains(" created, ") || line.starts_with("peak memory: ");
    let alive = found
        .lines()
        .any(|line| is_stat(&line) && line.contains(", ") && !line.ends_with(", 0 alive"));
    let mut others: Vec<&str> = found.lines().filter(|line| !is_stat(line)).collect();
    let mut wanted: Vec<&str> = notes.lines().filter(|line| !is_stat(line)).collect();
    others.sort_unstable();
    wanted.sort_unstable();
    let good = status == Some(0) && data == expected && others == wanted && !alive;
    let what = format!("{} with {workers} workers: {status:?}\n{data}\n{found}", file.display());
    (!good).then_some(what)
}

/// Runs jobs on a few threads; returns all failures.
fn all<T: Sync>(jobs: &[T], job: impl Fn(&T) -> Option<String> + Sync) {
    let (next, wrong) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some(one) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    wrong.lock().unwrap().extend(job(one));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n----\n"));
}

#[test]
fn every_feature_is_the_same_on_several_loops() {
    let files = cases::folder("tests/cl/run", 100);
    let unpacked = Unpacked::new("workers", files.iter().flat_map(|(_, cases)| cases));
    let names = files.iter().flat_map(|(_, cases)| cases).map(|case| &case.name);
    let jobs: Vec<_> =
        names.flat_map(|name| [2, 4].map(|count| (unpacked.path().join(name), count))).collect();
    all(&jobs, |(path, workers)| match run(path, 1, &[]) {
        Ok((Some(0), expected, notes)) => check(path, *workers, &[], &expected, &notes),
        Ok(other) => Some(format!("{} on one loop: {other:?}", path.display())),
        Err(hangs) => Some(hangs),
    });
}

/// These run long enough for components to migrate.
#[test]
fn work_that_is_spread_comes_to_the_same() {
    let sieve = "1229 primes up to 10000, the largest is 9973\n";
    let program = folder("examples/sieve/sieve.com");
    let jobs: Vec<u32> = (0..24).map(|index| 2 + index % 3).collect();
    all(&jobs, |&workers| check(&program, workers, &["10000"], sieve, ""));
}
