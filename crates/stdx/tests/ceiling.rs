//! A line above the ceiling of its file leaves nothing behind: the test compiles a small crate,
//! optimised and not, and reads the code that the compiler emits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Sets up the crate of `ceiling/lib.rs` in the folder for temporary files of this test.
fn package() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let package = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ceiling");
    fs::create_dir_all(&package).unwrap();
    let manifest = format!(
        "[package]\nname = \"ceiling\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\
         [lib]\npath = {:?}\n\
         [dependencies]\ntidemill-stdx = {{ path = {:?} }}\n\
         [workspace]\n",
        here.join("tests/ceiling/lib.rs"),
        here,
    );
    fs::write(package.join("Cargo.toml"), manifest).unwrap();
    // The same versions of all dependencies, which are downloaded already.
    fs::copy(here.join("../../Cargo.lock"), package.join("Cargo.lock")).unwrap();
    package
}

/// The emitted code of the crate.
fn emit(package: &Path, profile: &str) -> String {
    let output = package.join(format!("{profile}.ll"));
    let status = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["rustc", "--quiet", "--offline", "--lib", "--profile", profile])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .arg("--target-dir")
        .arg(package.join("target"))
        // One unit, so that all code of the crate is in one file.
        .args(["--", "-Ccodegen-units=1", "-Cdebuginfo=0", "--emit"])
        .arg(format!("llvm-ir={}", output.display()))
        .env_remove("RUSTFLAGS")
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .status()
        .unwrap();
    assert!(status.success());
    fs::read_to_string(output).unwrap()
}

/// The body of a function, without its name.
fn body<'a>(code: &'a str, name: &str) -> &'a str {
    let (_, rest) = code.split_once(&format!("@{name}(")).expect("the function was compiled");
    let (_, rest) = rest.split_once("{\n").expect("the function has a body");
    rest.split_once("\n}").expect("the body ends").0
}

#[test]
fn nothing_is_left_of_a_line_above_the_ceiling() {
    let package = package();
    for profile in ["dev", "release"] {
        let code = emit(&package, profile);
        assert!(code.contains("text-below") && code.contains("topic-below"), "{profile}");
        assert!(!code.contains("text-above"), "{profile}: its text is left");
        // Unoptimised, its topic may stay as a constant that nothing refers to.
        assert!(profile == "dev" || !code.contains("topic-above"), "{profile}: its topic is left");
        assert!(body(&code, "below").contains("effect"), "{profile}");
        let (above, without) = (body(&code, "above"), body(&code, "without"));
        assert_eq!(above.replace("1001", "1002"), without, "{profile}: code is left");
    }
}
