//! The numbers that an enum names, looked up for each element of a list.

/// A set of numbers: a range, or a range with gaps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NamedNumbers {
    first: u32,
    /// The distance from the first to the last.
    span: u32,
    gaps: Gaps,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Gaps {
    None,
    /// Bit set of the numbers from the first to the last.
    Bits(Box<[u64]>),
    /// Sparse: the numbers ascending.
    Sorted(Box<[i32]>),
}

/// The maximal bits per number of an enum.
const BITS_EACH: usize = 64;

impl NamedNumbers {
    /// The set of ascending, distinct numbers. An empty set contains 0.
    pub(crate) fn new(numbers: &[i32]) -> NamedNumbers {
        let (first, last) = match numbers {
            [first, .., last] => (*first, *last),
            [one] => (*one, *one),
            [] => (0, 0),
        };
        let span = last.wrapping_sub(first) as u32;
        let gaps = match span as usize / BITS_EACH {
            _ if (span as usize) < numbers.len() => Gaps::None,
            words if words < numbers.len() => {
                let mut bits = vec![0; words + 1];
                for number in numbers {
                    let at = number.wrapping_sub(first) as u32 as usize;
                    bits[at / 64] |= 1 << (at % 64);
                }
                Gaps::Bits(bits.into())
            }
            _ => Gaps::Sorted(numbers.into()),
        };
        NamedNumbers { first: first as u32, span, gaps }
    }

    /// True if it contains the number.
    #[inline]
    pub(crate) fn has(&self, number: i32) -> bool {
        let at = (number as u32).wrapping_sub(self.first);
        at <= self.span
            && match &self.gaps {
                Gaps::None => true,
                Gaps::Bits(bits) => bits[at as usize / 64] >> (at % 64) & 1 == 1,
                Gaps::Sorted(numbers) => numbers.binary_search(&number).is_ok(),
            }
    }

    /// True if it contains all numbers of a list.
    #[inline]
    pub(crate) fn has_all(&self, list: &[i32]) -> bool {
        // No branch per number, so that the compiler vectorises the loop.
        let (first, span) = (self.first, self.span);
        let outside = |number: &i32| (*number as u32).wrapping_sub(first) > span;
        let inside =
            |part: &[i32]| !part.iter().fold(false, |found, number| found | outside(number));
        match &self.gaps {
            Gaps::None => list.chunks(256).all(inside),
            Gaps::Bits(bits) => list.iter().fold(true, |good, &number| {
                let at = (number as u32).wrapping_sub(first);
                let near = at.min(span) as usize;
                good & (at <= span) & (bits[near / 64] >> (near % 64) & 1 == 1)
            }),
            Gaps::Sorted(_) => list.iter().all(|&number| self.has(number)),
        }
    }

    /// The first number and the count of those after it, if there are no gaps.
    #[inline]
    pub(crate) fn range(&self) -> Option<(u32, u32)> {
        (self.gaps == Gaps::None).then_some((self.first, self.span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_every_kind_have_what_was_given() {
        let sets: [&[i32]; 7] = [
            &[0],
            &[-2, -1, 0, 1],
            &[1, 3, 4, 64, 65, 129],
            &[-70, 5],
            &[i32::MIN, -1, 0, i32::MAX],
            &[i32::MIN],
            &[i32::MAX - 1, i32::MAX],
        ];
        for set in sets {
            let named = NamedNumbers::new(set);
            let near = set.iter().flat_map(|&one| (-3..=3).map(move |by| one.wrapping_add(by)));
            for number in near.chain([i32::MIN, -64, 63, 64, 127, 128, i32::MAX]) {
                assert_eq!(named.has(number), set.contains(&number), "{number} in {set:?}");
                for length in [1, 2, 255, 256, 257] {
                    let mut list: Vec<i32> = set.iter().copied().cycle().take(length).collect();
                    assert!(named.has_all(&list));
                    list[length - 1] = number;
                    assert_eq!(named.has_all(&list), set.contains(&number), "{number} in {set:?}");
                }
            }
            let dense = set.last().unwrap().wrapping_sub(set[0]) as u32 as usize + 1 == set.len();
            assert_eq!(named.range().is_some(), dense, "{set:?}");
        }
    }
}
