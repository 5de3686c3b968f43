//! What kind of frame it is.
//!
//! Numbers above 1500 in the type field are Ethernet types; up to that they are lengths, and an
//! IEEE 802.2 header follows, whose service access points, or a SNAP header after it, name the
//! protocol of the frame.

use tidemill_diag::Span;

use super::condition::Condition;
use super::headers::Field;
use super::layout::Link;
use super::{Lower, Lowered};
use crate::ast::LlcKind;
use crate::graph::{Comparison, Width};

pub(super) const IP: u32 = 0x0800;
pub(super) const ARP: u32 = 0x0806;
pub(super) const RARP: u32 = 0x8035;
pub(super) const IP6: u32 = 0x86dd;
pub(super) const MPLS: u32 = 0x8847;
pub(super) const PPPOE_DISCOVERY: u32 = 0x8863;
pub(super) const PPPOE_SESSION: u32 = 0x8864;
pub(super) const ATALK: u32 = 0x809b;
pub(super) const AARP: u32 = 0x80f3;
pub(super) const IPX: u32 = 0x8137;
/// Numbers for IPX, OSI and NetBEUI in place of an Ethernet type.
pub(super) const IPX_ACCESS_POINT: u32 = 0xe0;
pub(super) const OSI_ACCESS_POINT: u32 = 0xfe;
const IP_ACCESS_POINT: u32 = 0x06;
pub(super) const NETBEUI_ACCESS_POINT: u32 = 0xf0;

/// Type fields up to this are lengths.
const LENGTH_MAX: u32 = 1500;

impl Lower {
    /// The frame is of this type.
    pub(super) fn frame(&mut self, number: u32, span: Span) -> Lowered<Condition> {
        if self.layout.labels > 0 {
            return self.frame_behind_labels(number, span);
        }
        if self.layout.link == Link::Ppp {
            let number = point_to_point(number);
            return Ok(self.equals(self.link_type(), Width::Half, number));
        }
        Ok(match number {
            OSI_ACCESS_POINT | IP_ACCESS_POINT | NETBEUI_ACCESS_POINT => {
                let both = self.equals(self.logical(0), Width::Half, number << 8 | number);
                self.is_length().and(both)
            }
            IPX_ACCESS_POINT => self.ipx(),
            ATALK => self.typed_or_snap(number, 0x08_0007),
            AARP => self.typed_or_snap(number, 0),
            0..=LENGTH_MAX => {
                let first = self.equals(self.logical(0), Width::Byte, number);
                self.is_length().and(first)
            }
            _ => self.typed(number),
        })
    }

    /// `llc`, `llc rr`: frames of IEEE 802.2, but those of bare IPX.
    pub(super) fn llc(&mut self, kind: LlcKind, span: Span) -> Lowered<Condition> {
        if self.layout.link == Link::Ppp || self.layout.labels > 0 {
            let message = "`llc` is for frames of Ethernet";
            return Err(self.error("no-ethernet", span, message));
        }
        let length = self.is_length();
        let bare = self.equals(self.logical(0), Width::Half, 0xffff);
        let framed = length.and(bare.not());
        Ok(match kind.mask {
            0 => framed,
            mask => {
                let control = self.logical(2);
                framed.and(self.masked(control, Width::Byte, mask, Comparison::Equal, kind.value))
            }
        })
    }

    fn link_type(&self) -> Field {
        Field::At(self.layout.link_type)
    }

    /// The header of IEEE 802.2.
    fn logical(&self, offset: u32) -> Field {
        Field::At(self.layout.payload.plus(offset))
    }

    fn typed(&mut self, number: u32) -> Condition {
        self.equals(self.link_type(), Width::Half, number)
    }

    fn is_length(&mut self) -> Condition {
        self.test(self.link_type(), Width::Half, Comparison::Greater, LENGTH_MAX).not()
    }

    fn snap(&mut self, organisation: u32, number: u32) -> Condition {
        let [_, a, b, c] = organisation.to_be_bytes();
        let [.., high, low] = number.to_be_bytes();
        self.bytes(self.layout.payload, &[0xaa, 0xaa, 3, a, b, c, high, low])
    }

    fn typed_or_snap(&mut self, number: u32, organisation: u32) -> Condition {
        let snap = self.snap(organisation, number);
        let framed = self.is_length().and(snap);
        self.typed(number).or(framed)
    }

    fn ipx(&mut self) -> Condition {
        let snap = self.snap(0, IPX);
        let point = self.equals(self.logical(0), Width::Byte, IPX_ACCESS_POINT);
        let bare = self.equals(self.logical(0), Width::Half, 0xffff);
        let framed = self.is_length().and(Condition::Or(vec![snap, point, bare]));
        self.typed(IPX).or(framed)
    }

    /// After labels there is no type: a bit marks the last label, and the first bits after it are
    /// the version of IP.
    fn frame_behind_labels(&mut self, number: u32, span: Span) -> Lowered<Condition> {
        let version = match number {
            IP => 0x40,
            IP6 => 0x60,
            _ => {
                let message = "after MPLS labels only `ip` and `ip6` can be recognised";
                return Err(self.error("behind-labels", span, message));
            }
        };
        let last = Field::At(self.layout.network().minus(2));
        let last = self.masked(last, Width::Byte, 1, Comparison::Equal, 1);
        let version = self.masked(Field::Network(0), Width::Byte, 0xf0, Comparison::Equal, version);
        Ok(last.and(version))
    }
}

/// The number by which PPP knows an Ethernet type, if it differs.
fn point_to_point(number: u32) -> u32 {
    match number {
        IP => 0x21,
        IP6 => 0x57,
        0x6003 => 0x27,
        ATALK => 0x29,
        0x0600 => 0x25,
        OSI_ACCESS_POINT => 0x23,
        0x42 => 0x31,
        IPX_ACCESS_POINT => 0x2b,
        MPLS => 0x281,
        other => other,
    }
}
