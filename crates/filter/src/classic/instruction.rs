//! One instruction, as `struct sock_filter` has it, and its text.

use std::fmt;

use super::code::{
    ADD, ALU, AND, B, DIV, H, IMM, IND, JA, JEQ, JGE, JGT, JMP, JSET, LD, LDX, LEN, LSH, MEM, MISC,
    MOD, MUL, OR, RET, RSH, ST, SUB, X, XOR,
};

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

/// Offsets of what the kernel knows of a packet beside its bytes, loaded as if it stood there
/// (`SKF_AD_OFF` and others of `linux/filter.h`).
pub(super) const PACKET_TYPE: u32 = 0xffff_f000 + 4;
pub(super) const HAS_VLAN_TAG: u32 = 0xffff_f000 + 48;

/// The packet type of packets that this machine sends (`PACKET_OUTGOING`).
pub(super) const OUTGOING: u32 = 4;

impl Instruction {
    /// One that is no conditional jump.
    pub fn new(code: u16, number: u32) -> Instruction {
        Instruction { code, jump_true: 0, jump_false: 0, number }
    }

    /// A jump, and the instructions left out if its condition holds and if not.
    pub fn jump(code: u16, number: u32, (yes, no): (u8, u8)) -> Instruction {
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
            RET if code & 0x18 == 0x10 => write!(f, "{name:<8} a"),
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
