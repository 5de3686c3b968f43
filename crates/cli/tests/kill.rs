//! The robust ring on the real network: a node is killed, and within six seconds the two others are
//! each other's successors.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::node::free_addresses;

const TIDEMILL: &str = env!("CARGO_BIN_EXE_tidemill");

/// A running node, which is killed when the test ends or panics.
struct Node {
    address: String,
    child: Child,
}

impl Node {
    fn start(address: &str, landmark: &str) -> Node {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../examples/robust-ring/robust-ring.olg");
        let child = Command::new(TIDEMILL)
            .arg("run")
            .arg(file)
            .args(["--listen", address, "--for", "60", "-D"])
            .arg(format!("LANDMARK=\"{landmark}\""))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        Node { address: address.to_owned(), child }
    }

    /// Its successor according to `tidemill query`.
    fn successor(&self) -> String {
        let output = Command::new(TIDEMILL)
            .args(["query", &self.address, "successor", "--timeout", "1"])
            .output()
            .expect("the program starts");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until each node has one successor, and following them visits all nodes.
fn wait_for_ring(nodes: &[Node], patience: Duration) -> Result<(), Vec<String>> {
    let began = Instant::now();
    loop {
        let found: Vec<String> = nodes.iter().map(Node::successor).collect();
        let is_next = |from: &Node, to: &Node| {
            found.contains(&format!("successor(\"{}\", \"{}\")", from.address, to.address))
        };
        let (mut at, mut steps) = (0, 0);
        while let Some(next) = (0..nodes.len()).find(|&to| is_next(&nodes[at], &nodes[to])) {
            (at, steps) = (next, steps + 1);
            if at == 0 || steps > nodes.len() {
                break;
            }
        }
        if at == 0 && steps == nodes.len() {
            return Ok(());
        }
        if began.elapsed() > patience {
            return Err(found);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_ring_of_three_survives_a_kill() {
    let addresses = free_addresses(3);
    let start = |address: &String| Node::start(address, &addresses[0]);
    let mut nodes: Vec<Node> = addresses.iter().map(start).collect();
    wait_for_ring(&nodes, Duration::from_secs(20)).expect("a ring of three");
    // The landmark, of all nodes: dropping it kills it.
    drop(nodes.remove(0));
    wait_for_ring(&nodes, Duration::from_secs(6)).expect("a ring of two");
}
