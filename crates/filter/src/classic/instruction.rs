//! One instruction, as `struct sock_filter` has it, and its text.

use std::fmt;

/// The most instructions that the kernel takes.
pub const LENGTH_MAX: usize = 4096;

/// An instruction of classic BPF. The registers are `A` and `X`, and sixteen words of memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct Instruction {
    /// What it does: class, size or operation, mode or source.
    pub code: u16,
    /// Of a conditional jump: instructions left out if the condition holds.
    pub jump_true: u8,
    /// The same if it does not.
    pub jump_false: u8,
    /// Its number: an operand, an offset, a distance.
    pub number: u32,
}

/// Classes.
pub(super) const LD: u16 = 0x00;
pub(super) const LDX: u16 = 0x01;
pub(super) const ST: u16 = 0x02;
pub(super) const ALU: u16 = 0x04;
pub(super) const JMP: u16 = 0x05;
pub(super) const RET: u16 = 0x06;
pub(super) const MISC: u16 = 0x07;

/// Sizes of loads.
pub(super) const W: u16 = 0x00;
pub(super) const H: u16 = 0x08;
pub(super) const B: u16 = 0x10;

/// Modes of loads.
pub(super) const IMM: u16 = 0x00;
pub(super) const ABS: u16 = 0x20;
pub(super) const IND: u16 = 0x40;
pub(super) const MEM: u16 = 0x60;
pub(super) const LEN: u16 = 0x80;

/// Operations on `A`.
pub(super) const ADD: u16 = 0x00;
pub(super) const SUB: u16 = 0x10;
pub(super) const MUL: u16 = 0x20;
pub(super) const DIV: u16 = 0x30;
pub(super) const OR: u16 = 0x40;
pub(super) const AND: u16 = 0x50;
pub(super) const LSH: u16 = 0x60;
pub(super) const RSH: u16 = 0x70;
pub(super) const MOD: u16 = 0x90;
pub(super) const XOR: u16 = 0xa0;

/// Jumps: always, and by a comparison with `A`.
pub(super) const JA: u16 = 0x00;
pub(super) const JEQ: u16 = 0x10;
pub(super) const JGT: u16 = 0x20;
pub(super) const JGE: u16 = 0x30;
pub(super) const JSET: u16 = 0x40;

/// The second operand is `X`, not the number.
pub(super) const X: u16 = 0x08;

/// `X` is set to `A`.
pub(super) const TAX: u16 = 0x00;

/// Offsets of what the kernel knows of a packet beside its bytes, loaded as if it stood there
/// (`SKF_AD_OFF` and others of `linux/filter.h`).
pub(super) const PACKET_TYPE: u32 = 0xffff_f000 + 4;
pub(super) const HAS_VLAN_TAG: u32 = 0xffff_f000 + 48;

/// The packet type of packets that this machine sends (`PACKET_OUTGOING`).
pub(super) const OUTGOING: u32 = 4;

impl Instruction {
    pub(super) fn new(code: u16, number: u32) -> Instruction {
        Instruction { code, jump_true: 0, jump_false: 0, number }
    }

    pub(super) fn jump(code: u16, number: u32, (yes, no): (u8, u8)) -> Instruction {
        Instruction { code: JMP | code, jump_true: yes, jump_false: no, number }
    }
}

/// As `tcpdump -d` prints it, without its number.
impl fmt::Display for Instruction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Instruction { code, jump_true, jump_false, number } = *self;
        let name = self.name();
        match code & 7 {
            LD | LDX => match code & 0xe0 {
                IMM => write!(f, "{name:<8} #{number}"),
                LEN => write!(f, "{name:<8} #pktlen"),
                MEM => write!(f, "{name:<8} M[{number}]"),
                IND => write!(f, "{name:<8} [x + {number}]"),
                _ => match number {
                    PACKET_TYPE => write!(f, "{name:<8} #pkttype"),
                    HAS_VLAN_TAG => write!(f, "{name:<8} #vlanp"),
                    _ => write!(f, "{name:<8} [{number}]"),
                },
            },
            ST => write!(f, "{name:<8} M[{number}]"),
            ALU if code & X != 0 => write!(f, "{name:<8} x"),
            JMP if code & 0xf0 == JA => write!(f, "{name:<8} +{number}"),
            JMP if code & X != 0 => write!(f, "{name:<8} x, {jump_true}, {jump_false}"),
            JMP => write!(f, "{name:<8} #{number}, {jump_true}, {jump_false}"),
            MISC => f.write_str(name),
            _ => write!(f, "{name:<8} #{number}"),
        }
    }
}

impl Instruction {
    fn name(&self) -> &'static str {
        match (self.code & 7, self.code & 0xf0, self.code & 0x18) {
            (LD, _, H) => "ldh",
            (LD, _, B) => "ldb",
            (LD, ..) => "ld",
            (LDX, ..) => "ldx",
            (ST, ..) => "st",
            (ALU, ADD, _) => "add",
            (ALU, SUB, _) => "sub",
            (ALU, MUL, _) => "mul",
            (ALU, DIV, _) => "div",
            (ALU, MOD, _) => "mod",
            (ALU, AND, _) => "and",
            (ALU, OR, _) => "or",
            (ALU, XOR, _) => "xor",
            (ALU, LSH, _) => "lsh",
            (ALU, RSH, _) => "rsh",
            (JMP, JA, _) => "ja",
            (JMP, JEQ, _) => "jeq",
            (JMP, JGT, _) => "jgt",
            (JMP, JGE, _) => "jge",
            (JMP, JSET, _) => "jset",
            (RET, ..) => "ret",
            (MISC, ..) => "tax",
            _ => "?",
        }
    }
}
