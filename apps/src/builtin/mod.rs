//! Apps that are written in the language of graphs (`docs/book/kernels.md`), as users write theirs.
//!
//! | for | file |
//! |---|---|
//! | VLAN tags | `vlan.flow` |
//! | bytes, lengths and marks of any packets | `bytes.flow` |
//! | a part of the packets | `rates.flow` |

use std::sync::OnceLock;

use tidemill_packet::app::Declaration;
use tidemill_packet::flow;

/// The texts.
const TEXTS: [&str; 3] =
    [include_str!("vlan.flow"), include_str!("bytes.flow"), include_str!("rates.flow")];

/// Their app types, which are read once.
pub fn declarations() -> &'static [&'static Declaration] {
    static ALL: OnceLock<Vec<&'static Declaration>> = OnceLock::new();
    ALL.get_or_init(|| TEXTS.iter().flat_map(|text| flow::types(text).0).collect())
}

#[cfg(test)]
mod tests {
    use tidemill_packet::flow;

    #[test]
    fn the_texts_have_no_errors() {
        for text in super::TEXTS {
            assert_eq!(flow::types(text).1, []);
        }
        assert_eq!(super::declarations().len(), 7);
    }
}
