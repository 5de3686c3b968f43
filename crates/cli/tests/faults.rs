//! Each kind of fault has a program with a mistake that only it finds, in `tests/faults`.

use crate::common::{root, run, status, stderr, stdout};

pub const KINDS: [&str; 9] =
    ["latency", "loss", "duplicate", "reorder", "churn", "partition", "pause", "slow", "clock"];

#[test]
fn each_mistake_is_found_by_its_fault_and_by_no_other() {
    for program in KINDS {
        let file = root().join(format!("tests/faults/{program}.olg"));
        let file = file.display();
        for faults in KINDS.into_iter().chain(["none"]) {
            let line = format!("--nodes 4 --for 40 --seeds 2..41 --faults {faults} --no-shrink -q");
            let output = run(&format!("test {file} {line}"));
            let expected = i32::from(faults == program);
            let printed = format!("{}{}", stdout(&output), stderr(&output));
            assert_eq!(status(&output), expected, "{program} under {faults}: {printed}");
        }
    }
}
