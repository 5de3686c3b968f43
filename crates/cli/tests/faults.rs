//! Each kind of fault has a program with a mistake that only it finds, in `tests/faults`.

use crate::common::{root, run, status, stderr, stdout};

pub const KINDS: [&str; 10] = [
    "latency",
    "loss",
    "duplicate",
    "reorder",
    "churn",
    "partition",
    "pause",
    "slow",
    "clock",
    "kill",
];

/// The sources of the program that a fault breaks, as arguments.
pub fn sources(kind: &str) -> String {
    let files = ["olg", "com"].map(|ending| root().join(format!("tests/faults/{kind}.{ending}")));
    let there: Vec<String> =
        files.iter().filter(|file| file.exists()).map(|file| file.display().to_string()).collect();
    there.join(" ")
}

#[test]
fn each_mistake_is_found_by_its_fault_and_by_no_other() {
    for program in KINDS {
        let files = sources(program);
        for faults in KINDS.into_iter().chain(["none"]) {
            let line = format!("--nodes 4 --for 40 --seeds 2..41 --faults {faults} --no-shrink -q");
            let output = run(&format!("test {files} {line}"));
            // Rules alone have nothing to kill.
            let expected = match faults {
                "kill" if program != "kill" => 2,
                _ => i32::from(faults == program),
            };
            let printed = format!("{}{}", stdout(&output), stderr(&output));
            assert_eq!(status(&output), expected, "{program} under {faults}: {printed}");
        }
    }
}
