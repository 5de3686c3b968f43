//! Frames as they were on the wire: the kernel takes the outer VLAN tag off and hands it over
//! beside the frame, and leaves undone what it thinks a card would do.

use super::offload::Offload;
use crate::Error;

/// Bytes of a VLAN tag, and those before it: the addresses.
pub(super) const TAG_BYTES: usize = 4;
const ADDRESSES: usize = 12;

/// What is known of a received frame besides its bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// This machine sent it.
    pub is_outgoing: bool,
    /// When the kernel saw it, in nanoseconds since the epoch, if it says so.
    pub time_ns: Option<i64>,
}

/// A VLAN tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Tag([u8; TAG_BYTES]);

impl Tag {
    /// The tag that the kernel has put beside a frame with this status, if any.
    pub(super) fn of(status: u32, kind: u16, tag: u16) -> Option<Tag> {
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        // Older kernels do not set the kind of the tag.
        let known = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
        let kind = if known { kind } else { libc::ETH_P_8021Q as u16 };
        let ([a, b], [c, d]) = (kind.to_be_bytes(), tag.to_be_bytes());
        Some(Tag([a, b, c, d]))
    }
}

/// Makes received frames what they were, and counts those that cannot be.
#[derive(Debug, Default)]
pub(super) struct Arrivals {
    /// Frames that should have been cut and could not.
    not_cut: u64,
}

impl Arrivals {
    /// Puts the tag back, does what was left undone, and calls `take` for each frame that it is
    /// then. `room` is [`TAG_BYTES`] bytes of any content, then the frame.
    pub(super) fn finish(
        &mut self,
        room: &mut [u8],
        tag: Option<Tag>,
        offload: &Offload,
        arrival: &Arrival,
        take: &mut dyn FnMut(&[u8], &Arrival),
    ) {
        let mut take = |frame: &[u8]| take(frame, arrival);
        let is_finished = match tag.filter(|_| room.len() >= TAG_BYTES + ADDRESSES) {
            Some(Tag(tag)) => {
                room.copy_within(TAG_BYTES..TAG_BYTES + ADDRESSES, 0);
                room[ADDRESSES..ADDRESSES + TAG_BYTES].copy_from_slice(&tag);
                offload.shifted(TAG_BYTES).finish(room, &mut take)
            }
            None => offload.finish(room.get_mut(TAG_BYTES..).unwrap_or_default(), &mut take),
        };
        self.not_cut += u64::from(!is_finished);
    }

    /// What a failure to receive means: nothing was received, if there was nothing.
    pub(super) fn failed(&mut self, error: Error) -> Result<usize, Error> {
        let Error::System(system) = &error else { return Err(error) };
        match system.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR) => Ok(0),
            // The kernel has no header for segments of this kind, and has dropped the frame.
            Some(libc::EINVAL) => {
                self.not_cut += 1;
                Ok(1)
            }
            _ => Err(error),
        }
    }

    /// Frames that could not be cut since the last call.
    pub(super) fn take_not_cut(&mut self) -> u64 {
        std::mem::take(&mut self.not_cut)
    }
}
