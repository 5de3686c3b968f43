//! The program by which the kernel gives a frame to one of several sockets: that of the instance
//! which [`Fanout::takes`] it.
//!
//! The kernel divides the result by the number of sockets, which have joined in the order of their
//! instances. It runs the program on what is behind the header of Ethernet or on the whole frame,
//! as it comes in or goes out, without its outer VLAN tag: so all loads are from where a header
//! begins. A load beyond the end of a frame ends the program with 0.

use tidemill_filter::classic::Instruction;
use tidemill_filter::classic::code::{
    ABS, ALU, AND, B, DIV, H, IND, JA, JEQ, JGE, JGT, JMP, JSET, LD, LDX, LSH, MEM, MISC, MOD, MUL,
    RET, RSH, ST, SUB, TAX, W, X, XOR,
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

/// The result is `A`.
const A: u16 = 0x10;

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

/// The program for the sockets of all instances; `None` if there are too many blocks of ports.
pub fn program(fanout: &Fanout) -> Option<Vec<Instruction>> {
    let mut writer = Writer::default();
    let (ipv4, ipv6, rest) = (writer.label(), writer.label(), writer.label());
    writer.load(H, ETHER_TYPE);
    writer.jump(JEQ, IPV4, Some(ipv4), None);
    writer.jump(JEQ, IPV6, Some(ipv6), None);
    writer.load(W, MAC_TO);
    writer.tax();
    writer.load(W, MAC_FROM);
    writer.put(ALU | XOR | X, 0);
    writer.items.push(Item::Go(rest));

    writer.mark(ipv6);
    hash_ipv6(&mut writer, rest);

    writer.mark(ipv4);
    for blocks in fanout.blocks() {
        by_port(&mut writer, blocks, fanout.instances());
    }
    hash_ipv4(&mut writer, rest);

    writer.mark(rest);
    writer.put(ALU | MUL, FACTOR);
    writer.put(ALU | RSH, LOW_BITS);
    writer.put(ALU | MOD, fanout.instances());
    writer.put(RET | A, 0);
    writer.finish()
}

/// The hash of IPv4, but for the last product.
fn hash_ipv4(writer: &mut Writer, rest: Label) {
    let (ports, done) = (writer.label(), writer.label());
    writer.load(W, FROM);
    writer.tax();
    writer.load(W, TO);
    writer.put(ALU | XOR | X, 0);
    writer.put(ALU | MUL, FACTOR);
    writer.put(ST, HASH);
    writer.load(H, FRAGMENT);
    writer.jump(JSET, IS_FRAGMENT, Some(done), None);
    writer.load(B, PROTOCOL);
    for protocol in WITH_PORTS {
        writer.jump(JEQ, protocol.into(), Some(ports), None);
    }
    writer.items.push(Item::Go(done));
    writer.mark(ports);
    writer.header_length();
    writer.put(LD | H | IND, IP);
    writer.put(ST, PORT);
    writer.put(LD | H | IND, IP + 2);
    with_ports(writer, rest);
    writer.mark(done);
    writer.put(LD | MEM, HASH);
    writer.items.push(Item::Go(rest));
}

/// Goes on with the hash, one port in memory and the other in `A`.
fn with_ports(writer: &mut Writer, rest: Label) {
    writer.put(LDX | MEM, PORT);
    writer.put(ALU | XOR | X, 0);
    writer.put(LDX | MEM, HASH);
    writer.put(ALU | XOR | X, 0);
    writer.items.push(Item::Go(rest));
}

/// The hash of IPv6, but for the last product.
fn hash_ipv6(writer: &mut Writer, rest: Label) {
    let (ports, done) = (writer.label(), writer.label());
    writer.load(W, ADDRESSES6);
    for at in (ADDRESSES6 + 4..TRANSPORT6).step_by(4) {
        writer.tax();
        writer.load(W, at);
        writer.put(ALU | XOR | X, 0);
    }
    writer.put(ALU | MUL, FACTOR);
    writer.put(ST, HASH);
    writer.load(B, NEXT_HEADER);
    for protocol in WITH_PORTS {
        writer.jump(JEQ, protocol.into(), Some(ports), None);
    }
    writer.items.push(Item::Go(done));
    writer.mark(ports);
    writer.load(H, TRANSPORT6);
    writer.put(ST, PORT);
    writer.load(H, TRANSPORT6 + 2);
    with_ports(writer, rest);
    writer.mark(done);
    writer.put(LD | MEM, HASH);
    writer.items.push(Item::Go(rest));
}

/// What returns to an address has the instance of its port; all else goes on.
fn by_port(writer: &mut Writer, blocks: &PortBlocks, instances: u32) {
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
    writer.items.push(Item::Go(port));
    writer.mark(with_ports);
    writer.header_length();
    writer.put(LD | H | IND, IP + 2);
    writer.mark(port);
    writer.jump(JGE, blocks.first.into(), None, Some(next));
    writer.jump(JGT, blocks.last.into(), Some(next), None);
    writer.put(ALU | SUB, blocks.first.into());
    writer.put(ALU | DIV, size);
    writer.jump(JGE, instances - 1, Some(last), None);
    writer.put(RET | A, 0);
    writer.mark(last);
    writer.put(RET, instances - 1);
    writer.mark(next);
}
