//! A plain machine for classic BPF.

use tidemill_filter::classic::Instruction;

/// What the kernel knows of a packet beside its bytes.
#[derive(Clone, Copy, Default)]
pub struct Beside {
    pub is_outgoing: bool,
    pub has_tag: bool,
}

/// The result of a program, as `bpf(4)` and `filter.txt` of the kernel describe the machine.
pub fn run(program: &[Instruction], bytes: &[u8], beside: Beside) -> u32 {
    let load = |at: u32, size: u16| -> Option<u32> {
        match at {
            0xffff_f004 => return Some(if beside.is_outgoing { 4 } else { 0 }),
            0xffff_f030 => return Some(u32::from(beside.has_tag)),
            // The type of a frame without a tag.
            0xffff_f000 => {
                return Some(u32::from_be_bytes([0, 0, *bytes.get(12)?, *bytes.get(13)?]));
            }
            _ => {}
        }
        // From the header of Ethernet or IP.
        let at = match at {
            0xfff0_0000..0xffff_f000 => at - 0xfff0_0000 + 14,
            0xffe0_0000..0xfff0_0000 => at - 0xffe0_0000,
            _ => at,
        };
        let count = [4, 2, 1][usize::from(size >> 3)];
        let at = at as usize;
        let bytes = bytes.get(at..at.checked_add(count)?)?;
        Some(bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte)))
    };
    let (mut a, mut x, mut memory, mut at) = (0u32, 0u32, [None; 16], 0);
    loop {
        let Instruction { code, jump_true, jump_false, number } = program[at];
        at += 1;
        let other = if code & 8 == 0 { number } else { x };
        match code & 7 {
            0 | 1 => {
                let value = match code & 0xe0 {
                    0x00 => Some(number),
                    0x20 => load(number, code & 0x18),
                    0x40 => load(x.wrapping_add(number), code & 0x18),
                    0x60 => Some(memory[number as usize].expect("it was stored")),
                    0x80 => Some(bytes.len() as u32),
                    mode => panic!("no mode {mode}"),
                };
                let Some(value) = value else { return 0 };
                *(if code & 7 == 0 { &mut a } else { &mut x }) = value;
            }
            2 => memory[number as usize] = Some(a),
            4 => {
                a = match code & 0xf0 {
                    0x00 => a.wrapping_add(other),
                    0x10 => a.wrapping_sub(other),
                    0x20 => a.wrapping_mul(other),
                    0x30 | 0x90 if other == 0 => return 0,
                    0x30 => a / other,
                    0x90 => a % other,
                    0x40 => a | other,
                    0x50 => a & other,
                    0x60 => a << (other & 31),
                    0x70 => a >> (other & 31),
                    0xa0 => a ^ other,
                    operation => panic!("no operation {operation}"),
                }
            }
            5 if code & 0xf0 == 0 => at += number as usize,
            5 => {
                let holds = match code & 0xf0 {
                    0x10 => a == other,
                    0x20 => a > other,
                    0x30 => a >= other,
                    0x40 => a & other != 0,
                    comparison => panic!("no comparison {comparison}"),
                };
                at += usize::from(if holds { jump_true } else { jump_false });
            }
            6 if code & 0x18 == 0x10 => return a,
            6 => return number,
            7 => x = a,
            class => panic!("no class {class}"),
        }
    }
}
