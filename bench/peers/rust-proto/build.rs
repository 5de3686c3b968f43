//! Generates the types of `buffa` from the schema of the benchmark.

fn main() {
    let schema = "../../data/google_messages.fds";
    println!("cargo::rerun-if-changed={schema}");
    buffa_build::Config::new()
        .descriptor_set(schema)
        .files(&["google_messages.proto"])
        .include_file("buffa_types.rs")
        .compile()
        .expect("the schema is good");
}
