//! The program by which the kernel gives a frame to one of several sockets: that of the instance
//! which [`Fanout::takes`] it.
//!
//! Its result is the position of that socket, which follows from the order in which sockets are
//! opened and closed. The kernel runs the program on what is behind the header of Ethernet or on
//! the whole frame, as it comes in or goes out, without its outer VLAN tag: so all loads are from
//! where a header begins. A load beyond the end of a frame ends the program with 0.

use tidemill_filter::classic::Instruction;
use tidemill_filter::classic::code::{
    ABS, ALU, AND, B, DIV, H, IMM, IND, JA, JEQ, JGE, JGT, JMP, JSET, LD, LDX, LSH, MEM, MISC, MOD,
    MUL, RET, RSH, ST, SUB, TAX, W, X, XOR,
};
use tidemill_packet::fanout::{ECHO_REPLY, FACTOR, Fanout, LOW_BITS, PortBlocks, WITH_PORTS};

/// Offsets from which the kernel loads the type of the frame, and what is behind the start of the
/// Ethernet and of the IP header (`SKF_AD_OFF`, `SKF_LL_OFF`, `SKF_NET_OFF` of `linux/filter.h`).
const ETHER_TYPE: u32 = 0xffff_f000;
const ETHERNET: u32 = 0xffe0_0000;
const IP: u32 = 0xfff0_0000;

/// Where things are in a frame.
const MAC_TO: u32 = ETHERNET + 2;
const MAC_FROM: u32 = ETHERNET + 8;
const FRAGMENT: u32 = IP + 6;
const PROTOCOL: u32 = IP + 9;
const FROM: u32 = IP + 12;
const TO: u32 = IP + 16;
const NEXT_HEADER: u32 = IP + 6;
const ADDRESSES6: u32 = IP + 8;
const TRANSPORT6: u32 = IP + 40;

const IPV4: u32 = 0x0800;
const IPV6: u32 = 0x86dd;
const ICMP: u32 = 1;
const TCP: u32 = 6;
const UDP: u32 = 17;

/// The offset and the flag of a fragment.
const IS_FRAGMENT: u32 = 0x3fff;

/// Words of memory.
const HASH: u32 = 0;
const PORT: u32 = 1;

/// A place in the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Label(usize);

/// An instruction whose distances are not known.
enum Item {
    Done(Instruction),
    /// Places if the condition holds and if not; the next instruction, if there are none.
    Jump(u16, u32, Option<Label>, Option<Label>),
    /// To a place that may be far.
    Go(Label),
}

#[derive(Default)]
struct Writer {
    items: Vec<Item>,
    /// The positions of labels.
    labels: Vec<usize>,
}

impl Writer {
    fn label(&mut self) -> Label {
        self.labels.push(usize::MAX);
        Label(self.labels.len() - 1)
    }

    fn mark(&mut self, label: Label) {
        self.labels[label.0] = self.items.len();
    }

    fn put(&mut self, code: u16, number: u32) {
        self.items.push(Item::Done(Instruction::new(code, number)));
    }

    fn jump(&mut self, code: u16, number: u32, yes: Option<Label>, no: Option<Label>) {
        self.items.push(Item::Jump(code, number, yes, no));
    }

    fn load(&mut self, size: u16, at: u32) {
        self.put(LD | size | ABS, at);
    }

    fn tax(&mut self) {
        self.put(MISC | TAX, 0);
    }

    fn go(&mut self, to: Label) {
        self.items.push(Item::Go(to));
    }

    /// `A` is the exclusive or of words of the frame.
    fn xor_of(&mut self, places: impl IntoIterator<Item = u32>) {
        for (number, at) in places.into_iter().enumerate() {
            if number > 0 {
                self.tax();
            }
            self.load(W, at);
            if number > 0 {
                self.put(ALU | XOR | X, 0);
            }
        }
    }

    /// `X` is the length of the header of IPv4.
    fn header_length(&mut self) {
        self.load(B, IP);
        self.put(ALU | AND, 15);
        self.put(ALU | LSH, 2);
        self.tax();
    }

    /// The program; `None` if a distance is too long.
    fn finish(&self) -> Option<Vec<Instruction>> {
        let distance = |at: usize, to: Option<Label>| match to {
            None => Some(0),
            Some(label) => self.labels[label.0].checked_sub(at + 1),
        };
        let instruction = |(at, item): (usize, &Item)| {
            Some(match *item {
                Item::Done(instruction) => instruction,
                Item::Go(to) => {
                    Instruction::new(JMP | JA, distance(at, Some(to))?.try_into().ok()?)
                }
                Item::Jump(code, number, yes, no) => {
                    let short = |to| u8::try_from(distance(at, to)?).ok();
                    Instruction::jump(code, number, (short(yes)?, short(no)?))
                }
            })
        };
        self.items.iter().enumerate().map(instruction).collect()
    }
}

/// The program for the sockets of these instances, by position; `None` if there are too many blocks
/// of ports. Frames for an instance without a socket go to the first.
pub fn program(fanout: &Fanout, order: &[u32]) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let [ipv4, ipv6, hashed, chosen] = [(); 4].map(|()| writer.label());
    writer.load(H, ETHER_TYPE);
    writer.jump(JEQ, IPV4, Some(ipv4), None);
    writer.jump(JEQ, IPV6, Some(ipv6), None);
    writer.xor_of([MAC_TO, MAC_FROM]);
    writer.go(hashed);

    writer.mark(ipv6);
    writer.xor_of((ADDRESSES6..TRANSPORT6).step_by(4));
    hash_ports(&mut writer, hashed, NEXT_HEADER, |writer, port| {
        writer.load(H, TRANSPORT6 + 2 * port);
    });

    writer.mark(ipv4);
    for blocks in fanout.blocks() {
        by_port(&mut writer, blocks, fanout.instances(), chosen);
    }
    writer.xor_of([FROM, TO]);
    hash_ports(&mut writer, hashed, PROTOCOL, |writer, port| {
        if port == 0 {
            writer.header_length();
        }
        writer.put(LD | H | IND, IP + 2 * port);
    });

    writer.mark(hashed);
    writer.put(ALU | MUL, FACTOR);
    writer.put(ALU | RSH, LOW_BITS);
    writer.put(ALU | MOD, fanout.instances());
    writer.mark(chosen);
    for (position, instance) in (0..).zip(order) {
        let other = writer.label();
        writer.jump(JEQ, *instance, None, Some(other));
        writer.put(RET, position);
        writer.mark(other);
    }
    writer.put(RET, 0);
    writer.finish()
}

/// Goes on with the hash of addresses in `A`: with the ports, which `load` loads by number, if the
/// protocol has some and this is no fragment.
fn hash_ports(
    writer: &mut Writer,
    hashed: Label,
    protocol_at: u32,
    load: impl Fn(&mut Writer, u32),
) {
    let (ports, none) = (writer.label(), writer.label());
    writer.put(ALU | MUL, FACTOR);
    writer.put(ST, HASH);
    if protocol_at == PROTOCOL {
        writer.load(H, FRAGMENT);
        writer.jump(JSET, IS_FRAGMENT, Some(none), None);
    }
    writer.load(B, protocol_at);
    for protocol in WITH_PORTS {
        writer.jump(JEQ, protocol.into(), Some(ports), None);
    }
    writer.mark(none);
    writer.put(LD | MEM, HASH);
    writer.go(hashed);
    writer.mark(ports);
    load(writer, 0);
    writer.put(ST, PORT);
    load(writer, 1);
    for word in [PORT, HASH] {
        writer.put(LDX | MEM, word);
        writer.put(ALU | XOR | X, 0);
    }
    writer.go(hashed);
}

/// What returns to an address has the instance of its port; all else goes on.
fn by_port(writer: &mut Writer, blocks: &PortBlocks, instances: u32, chosen: Label) {
    let size = blocks.size(instances);
    if size == 0 {
        return;
    }
    let [with_ports, echo, port, next, last] = [(); 5].map(|()| writer.label());
    writer.load(W, TO);
    writer.jump(JEQ, blocks.address.to_bits(), None, Some(next));
    writer.load(H, FRAGMENT);
    writer.jump(JSET, IS_FRAGMENT, Some(next), None);
    writer.load(B, PROTOCOL);
    writer.jump(JEQ, ICMP, Some(echo), None);
    writer.jump(JEQ, TCP, Some(with_ports), None);
    writer.jump(JEQ, UDP, Some(with_ports), Some(next));
    writer.mark(echo);
    writer.header_length();
    writer.put(LD | B | IND, IP);
    writer.jump(JEQ, ECHO_REPLY.into(), None, Some(next));
    writer.put(LD | H | IND, IP + 4);
    writer.go(port);
    writer.mark(with_ports);
    writer.header_length();
    writer.put(LD | H | IND, IP + 2);
    writer.mark(port);
    writer.jump(JGE, blocks.first.into(), None, Some(next));
    writer.jump(JGT, blocks.last.into(), Some(next), None);
    writer.put(ALU | SUB, blocks.first.into());
    writer.put(ALU | DIV, size);
    writer.jump(JGE, instances - 1, Some(last), None);
    writer.go(chosen);
    writer.mark(last);
    writer.put(LD | IMM, instances - 1);
    writer.go(chosen);
    writer.mark(next);
}
