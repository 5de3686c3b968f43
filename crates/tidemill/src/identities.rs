//! Addresses of the nodes of a simulation.

use tidemill_overlog::node::Identity;

/// The address of a node: `n12:1` of node 12.
pub(crate) fn address(index: u32) -> String {
    format!("n{index}:1")
}

/// The node of an address; `None` if it is not one.
pub fn number(address: &str) -> Option<u32> {
    let digits = address.strip_prefix('n')?.strip_suffix(":1")?;
    // Only the form that `address` writes: a node has one address.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let is_short = digits == "0" || !digits.starts_with('0');
    (is_number && is_short).then(|| digits.parse().ok())?
}

/// `count` nodes; the landmark is the first of them, unless given.
pub(crate) fn identities<C: FromIterator<Identity>>(count: u32, landmark: Option<&str>) -> C {
    let landmark = landmark.map_or_else(|| address(0), str::to_owned);
    let identity =
        |index| Identity { address: address(index), index, count, landmark: landmark.clone() };
    (0..count).map(identity).collect()
}
