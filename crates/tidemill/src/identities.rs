//! What the nodes of a simulation are called.

use tidemill_overlog::node::Identity;

/// So many nodes, `n0:1`, `n1:1` and so on; the landmark is the first of them, if it is not given.
pub(crate) fn identities<C: FromIterator<Identity>>(count: u32, landmark: Option<&str>) -> C {
    let address = |index: u32| format!("n{index}:1");
    let landmark = landmark.map_or_else(|| address(0), str::to_owned);
    let identity =
        |index| Identity { address: address(index), index, count, landmark: landmark.clone() };
    (0..count).map(identity).collect()
}
