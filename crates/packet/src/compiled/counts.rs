//! How the packets over a link between two kernels are counted, and their bytes: as little as
//! possible while the loop runs.
//!
//! Where a kernel lets every packet through, the link after it has carried as many as the one
//! before; the same holds for bytes, if it keeps lengths. Packets of one length need no count of
//! bytes. What is left has a counter, which grows as the packet passes:
//!
//! ```text
//! run                        the link into it has       packets        bytes
//! Pass                                                  `taken`        not counted
//!  | Filter                  all packets                as `taken`     of its own
//!  |  | Pass                 some                       of its own     of its own
//!  |  |  | Strip             all                        as Filter's    as Filter's
//!  |  |  |  | Tag            all, other lengths         as Filter's    of its own
//! ```

use super::counter::Counter;

/// The number of packets over a link, or of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Count {
    /// The value of a counter that is counted elsewhere.
    As(Counter),
    /// This many bytes for each of the packets.
    Each(Counter, u64),
    /// It is counted where the packet passes.
    Own(Counter),
}

impl Count {
    /// The number of packets from which it follows, or itself.
    pub fn counter(self) -> Counter {
        match self {
            Count::As(counter) | Count::Each(counter, _) | Count::Own(counter) => counter,
        }
    }
}

/// Where the packets of a kernel and their bytes are counted.
#[derive(Clone, Copy)]
pub(super) struct Counted {
    pub packets: Counter,
    /// `None` if they are not counted: they follow from the packets, or nothing needs them yet.
    pub bytes: Option<Counter>,
}

/// What a kernel does to the packets that leave it by a link.
#[derive(Clone, Copy)]
pub(super) struct Passage {
    /// All of its packets do.
    pub is_whole: bool,
    /// With the length that they had.
    pub keeps_length: bool,
    /// The length of all that do.
    pub length: Option<u64>,
}

/// A link between two kernels.
#[derive(Clone, Copy)]
pub(super) struct Between {
    pub link: usize,
    pub packets: Count,
    pub bytes: Count,
}

impl Between {
    /// The counts of a link, if those of the kernel before it are these; `own` makes counters.
    pub fn after(
        link: usize,
        before: Counted,
        passage: Passage,
        mut own: impl FnMut() -> Counter,
    ) -> Between {
        let Passage { is_whole, keeps_length, length } = passage;
        let packets = if is_whole { Count::As(before.packets) } else { Count::Own(own()) };
        let bytes = match (length, before.bytes.filter(|_| is_whole && keeps_length)) {
            (Some(each), _) => Count::Each(packets.counter(), each),
            (None, Some(same)) => Count::As(same),
            (None, None) => Count::Own(own()),
        };
        Between { link, packets, bytes }
    }

    /// The counts of the kernel after the link.
    pub fn counted(self) -> Counted {
        let bytes = match self.bytes {
            Count::Each(..) => None,
            bytes => Some(bytes.counter()),
        };
        Counted { packets: self.packets.counter(), bytes }
    }
}

#[cfg(test)]
mod tests {
    use tidemill_jit::build::Variable;

    use super::*;

    const TAKEN: u32 = 0;
    const ALL: Passage = Passage { is_whole: true, keeps_length: true, length: None };
    const SOME: Passage = Passage { is_whole: false, ..ALL };
    const ALL_CHANGED: Passage = Passage { keeps_length: false, ..ALL };

    /// The counts of the links of a line of kernels. Variables are numbered as they are made, from
    /// 1 on; `taken` is 0.
    fn counts<const LINKS: usize>(passages: [Passage; LINKS]) -> [(Count, Count); LINKS] {
        let (mut before, mut made) = (Counted { packets: of(TAKEN), bytes: None }, 0);
        passages.map(|passage| {
            let own = || {
                made += 1;
                of(made)
            };
            let between = Between::after(0, before, passage, own);
            before = between.counted();
            (between.packets, between.bytes)
        })
    }

    fn of(variable: u32) -> Counter {
        Counter::Register(Variable::from_bits(variable))
    }

    #[test]
    fn the_example_of_the_module() {
        use Count::{As, Own};
        let expected = [
            (As(of(TAKEN)), Own(of(1))),
            (Own(of(2)), Own(of(3))),
            (As(of(2)), As(of(3))),
            (As(of(2)), Own(of(4))),
        ];
        assert_eq!(counts([ALL, SOME, ALL, ALL_CHANGED]), expected);
    }

    #[test]
    fn packets_of_one_length_need_no_count_of_bytes() {
        let long = |passage: Passage| Passage { length: Some(60), ..passage };
        let found = counts([long(ALL), long(SOME), ALL]);
        assert_eq!(found[0], (Count::As(of(TAKEN)), Count::Each(of(TAKEN), 60)));
        assert_eq!(found[1], (Count::Own(of(1)), Count::Each(of(1), 60)));
        // Bytes that were not counted before a link are counted on it.
        assert_eq!(found[2], (Count::As(of(1)), Count::Own(of(2))));
    }
}
