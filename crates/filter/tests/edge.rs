//! Packets that end at the end of readable memory: a load beyond it would end the test.

use std::ptr::null_mut;

use crate::common::{corpus, graph, packets};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use tidemill_filter::optimise::optimise;
use tidemill_filter::{Filter, Frame, interpret};

/// What may be read, and what lies behind it and may not.
const PAGES: usize = 64 << 10;

/// Memory that ends at an unreadable page.
struct Edge(*mut u8);

impl Edge {
    fn new() -> Edge {
        // SAFETY: new memory, and a change to the half of it that is not used yet.
        unsafe {
            let flags = ProtFlags::READ | ProtFlags::WRITE;
            let all = mmap_anonymous(null_mut(), 2 * PAGES, flags, MapFlags::PRIVATE);
            let all = all.expect("there is memory");
            mprotect(all.byte_add(PAGES), PAGES, MprotectFlags::empty()).expect("can be closed");
            Edge(all.cast())
        }
    }

    /// These bytes, up to the edge.
    fn with(&mut self, bytes: &[u8]) -> &[u8] {
        assert!(bytes.len() <= PAGES);
        // SAFETY: the bytes up to the edge are ours, and borrowed as long as what is returned.
        unsafe {
            let start = self.0.add(PAGES - bytes.len());
            start.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
            std::slice::from_raw_parts(start, bytes.len())
        }
    }
}

impl Drop for Edge {
    fn drop(&mut self) {
        // SAFETY: mapped by `new` with this length, and nothing points there any more.
        unsafe { munmap(self.0.cast(), 2 * PAGES).expect("was mapped") };
    }
}

#[test]
fn nothing_is_read_beyond_a_packet() {
    let text = std::fs::read_to_string(corpus("expressions.txt")).expect("the corpus is there");
    // Loads that no header has, where the code without branches must not make them unasked.
    let far = [
        "ip and (ether[60] = 44 or ether[59] = 1)",
        "tcp src port 80 or (ip and tcp[90] = 1)",
        "(ip6 and ip6[46 : 2] = 80) or (ip and tcp[6 : 2] = 80)",
        "(ip6 and ip6[4 : 2] = 80) or (ip and tcp[6 : 2] = 80)",
        // After a base from which on nearer bytes have been checked.
        "tcp[13] & 2 != 0 and tcp[100] = 5",
        "udp[4 : 2] = 99 or udp[110 : 4] = 7",
    ];
    // Each with all of its bytes, and cut where headers end and around the shortest frames.
    let cut = [14, 34, 54, 59, 60, 61, 62, 64, 74, 78];
    let packets = packets(23, 24);
    let mut edge = Edge::new();
    let (mut filters, mut kept) = (0, Vec::new());
    for line in text.lines().chain(far) {
        let Ok(graph) = graph(line) else { continue };
        let filter = Filter::new(optimise(&graph)).expect("code");
        filters += 1;
        for packet in &packets {
            let lengths = cut.into_iter().filter(|&at| at < packet.bytes.len());
            for length in lengths.chain([packet.bytes.len()]) {
                let bytes = edge.with(&packet.bytes[..length]);
                let verdict = interpret(filter.graph(), bytes, packet.wire_length);
                assert_eq!(filter.matches_part(bytes, packet.wire_length), verdict, "{line}");
                filter.keep(&[Frame::part(bytes, packet.wire_length)], &mut kept);
                assert_eq!(kept.len(), usize::from(verdict), "{line}");
            }
        }
    }
    assert!(filters > 150, "{filters}");
}
