//! The parts of an instruction's code, by the names of `bpf(4)`.
#![allow(missing_docs, reason = "groups are described, names are the assembler's")]

// Classes.
pub const LD: u16 = 0x00;
pub const LDX: u16 = 0x01;
pub const ST: u16 = 0x02;
pub const ALU: u16 = 0x04;
pub const JMP: u16 = 0x05;
pub const RET: u16 = 0x06;
pub const MISC: u16 = 0x07;

// Sizes of loads.
pub const W: u16 = 0x00;
pub const H: u16 = 0x08;
pub const B: u16 = 0x10;

// Modes of loads.
pub const IMM: u16 = 0x00;
pub const ABS: u16 = 0x20;
pub const IND: u16 = 0x40;
pub const MEM: u16 = 0x60;
pub const LEN: u16 = 0x80;

// Operations on `A`.
pub const ADD: u16 = 0x00;
pub const SUB: u16 = 0x10;
pub const MUL: u16 = 0x20;
pub const DIV: u16 = 0x30;
pub const OR: u16 = 0x40;
pub const AND: u16 = 0x50;
pub const LSH: u16 = 0x60;
pub const RSH: u16 = 0x70;
pub const MOD: u16 = 0x90;
pub const XOR: u16 = 0xa0;

// Jumps: always, and by a comparison with `A`.
pub const JA: u16 = 0x00;
pub const JEQ: u16 = 0x10;
pub const JGT: u16 = 0x20;
pub const JGE: u16 = 0x30;
pub const JSET: u16 = 0x40;

// The second operand is `X`, not the number.
pub const X: u16 = 0x08;

// `X` is set to `A`.
pub const TAX: u16 = 0x00;
