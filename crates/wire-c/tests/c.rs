//! Programs in C: the example, misuse of every function, and the sizes and offsets of the header.
//! Without a compiler (`CC`, or `cc`) nothing is tested, which is printed.

mod glue;

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidemill_support::{golden, mutate, root};

fn compiler() -> Option<String> {
    let name = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    match Command::new(&name).arg("--version").output() {
        Ok(output) if output.status.success() => Some(name),
        _ => {
            eprintln!("skipped: there is no compiler of C ({name})");
            None
        }
    }
}

/// The newest library of that name beside this test.
fn library(ending: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a path");
    let folder = test.parent().expect("a folder");
    let libraries = std::fs::read_dir(folder).expect("a folder").flatten().filter(|entry| {
        let name = entry.file_name().into_string().unwrap_or_default();
        name.starts_with("libtidemill_wire_c") && name.ends_with(ending)
    });
    let time = |entry: &std::fs::DirEntry| entry.metadata().and_then(|data| data.modified()).ok();
    libraries.max_by_key(time).expect("the library is built with the test").path()
}

/// Compiles a program.
fn compile(compiler: &str, source: &Path, arguments: &[&str]) -> PathBuf {
    let name = source.file_stem().expect("a name").to_string_lossy().into_owned();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let shared = library(".so");
    let folder = shared.parent().expect("a folder");
    let compiled = Command::new(compiler)
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-g"])
        .arg(format!("-I{}", root().join("crates/wire-c/include").display()))
        .args(arguments)
        .arg(source)
        .arg(&shared)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-o")
        .arg(&program)
        .output()
        .expect("the compiler starts");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    program
}

/// Runs a program, which must exit with status 0; returns its output.
fn run(mut command: Command) -> String {
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{:?}: {errors}", output.status);
    String::from_utf8(output.stdout).expect("text")
}

/// The program, run by the command in the variable `C_RUNNER` if it is set, for example `valgrind`.
fn start(program: &Path) -> Command {
    let runner = std::env::var("C_RUNNER").unwrap_or_default();
    let mut words = runner.split_ascii_whitespace();
    let Some(first) = words.next() else { return Command::new(program) };
    let mut command = Command::new(first);
    command.args(words).arg(program);
    command
}

#[test]
fn the_example_prints_what_stands_beside_it() {
    let Some(compiler) = compiler() else { return };
    let folder = root().join("examples/c-decode");
    let printed = run(start(&compile(&compiler, &folder.join("c-decode.c"), &[])));
    golden::check(&folder.join("test.out"), printed);
}

#[test]
fn misuse_ends_in_errors() {
    let Some(compiler) = compiler() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let printed = run(start(&compile(&compiler, &folder.join("misuse.c"), &[])));
    assert_eq!(printed, "all as it should be\n");
}

/// The same with the sanitizer, which detects uses after free and leaks.
#[test]
fn misuse_leaks_nothing() {
    let Some(compiler) = compiler() else { return };
    if !has_sanitizer(&compiler) {
        eprintln!("skipped: {compiler} has no address sanitizer that works here");
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sanitized.c");
    std::fs::copy(folder.join("misuse.c"), &source).expect("a file");
    let program = compile(&compiler, &source, &["-fsanitize=address"]);
    // Never under valgrind, which does not work with the sanitizer.
    let printed = run(Command::new(program));
    assert_eq!(printed, "all as it should be\n");
}

/// True if a correct program can be compiled with the sanitizer, and exits with success.
fn has_sanitizer(compiler: &str) -> bool {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) = (folder.join("empty.c"), folder.join("empty"));
    std::fs::write(&source, "int main(void) { return 0; }\n").expect("a file");
    let compiled = Command::new(compiler)
        .arg("-fsanitize=address")
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output();
    compiled.is_ok_and(|output| output.status.success())
        && Command::new(&program).output().is_ok_and(|output| output.status.success())
}

#[test]
fn c_is_given_what_rust_is_given() {
    let seeds = mutate::seeds("tests/corpora/wire_c", &[]);
    for (path, bytes) in &seeds {
        assert!(glue::check(bytes), "{path:?} is a message");
    }
    let right = Cell::new(0);
    mutate::bombard(&seeds, 1000, |input| right.set(right.get() + u32::from(glue::check(input))));
    assert!(right.get() > 100, "{} right", right.get());
}
