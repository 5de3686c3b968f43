//! Which field is at `pos`: tags are expected, or searched for.
//!
//! *Expected* are the next few of the schema, one comparison each, as encoders write fields in
//! order. The *search* ([`Writer::dispatch`]) takes all tags of the node, by their length:
//!
//! ```text
//! dispatch:    at the end? -> ended
//! 1 byte:      jump by byte >> 3:   0..16, a number -> its tags      16.., not the last byte -> 2
//! 2 bytes:     not the last byte? -> 3      else search by number -> its tags
//! 3 to 5:      likewise, by value
//! its tags:    equal? -> one(entry), packed(entry) or end_group      else leave
//! ```
//! A field has up to two tags, as numbers may be in a packed list or one by one, and a wire type
//! that is neither is left to the table decoder, as an unknown number is.
//!
//! Tags are loaded in whole words, so up to 3 bytes after a tag are read, which the caller of the
//! code has made readable. They may lie after the end of the message, and so may an expected tag
//! that is found: the values of a field have no room there, and the code leaves before it uses any.

use tidemill_jit::asm::unaligned;
use tidemill_jit::build::{Block, BlockCall, InstBuilder, IntCC, JumpTableData, Value, types};

use super::super::nodes::Node;
use super::context::Exit;
use super::tag::TagBytes;
use super::writer::{NodeBlocks, Writer};

/// The number of entries after a field whose tags are compared one by one before all are searched:
/// few fields in a row are left out.
const AHEAD: u32 = 4;

/// Numbers whose tags have one byte: it has three bits of type and one that is clear.
const NUMBERS_OF_A_BYTE: u32 = 1 << 4;

/// The tags of one number, and where they are distinguished.
struct Check {
    number: u32,
    block: Block,
    tags: Vec<(u32, Block)>,
}

impl Check {
    fn by_number(writer: &mut Writer<'_, '_>, tags: &[&(u32, Block)]) -> Vec<Check> {
        let mut checks: Vec<Check> = Vec::new();
        for &&(tag, found) in tags {
            let number = tag >> 3;
            match checks.iter_mut().find(|check| check.number == number) {
                Some(check) => check.tags.push((tag, found)),
                None => {
                    let block = writer.body.create_block();
                    checks.push(Check { number, block, tags: vec![(tag, found)] });
                }
            }
        }
        checks
    }
}

impl Writer<'_, '_> {
    /// Dispatches where any field may follow, or the end.
    pub(super) fn dispatch(&mut self, node: &Node, blocks: NodeBlocks) {
        self.body.switch_to_block(blocks.dispatch);
        self.or_ended(blocks);
        let entries = node.entries.0..node.entries.1;
        let mut tags = Vec::new();
        for place in entries {
            let entry = self.tables.entry(place);
            let found = self.blocks_of_entry[&place];
            tags.push((entry.single_tag(), found.one));
            if entry.packed_tag() != 0 {
                tags.push((entry.packed_tag(), found.packed));
            }
        }
        if node.end_tag != 0 {
            tags.push((node.end_tag, blocks.end_group));
        }
        let leave = self.body.cold_block();
        let longest = tags.iter().map(|(tag, _)| TagBytes::of(*tag).length).max().unwrap_or(1);
        for length in 1..=longest {
            let of_length: Vec<_> =
                tags.iter().filter(|(tag, _)| TagBytes::of(*tag).length == length).collect();
            let raw = self.raw_tag(length);
            let longer = if length == longest { leave } else { self.body.create_block() };
            match length {
                1 => self.choose_by_byte(raw, &of_length, longer, leave),
                _ => {
                    if longer != leave {
                        // Not the last byte of the tag?
                        let here = self.body.create_block();
                        let more = self.body.ins().band_imm_u(raw, 0x80 << (8 * (length - 1)));
                        self.body.ins().brif(more, longer, &[], here, &[]);
                        self.body.switch_to_block(here);
                    }
                    self.choose(raw, &of_length, length, leave);
                }
            }
            self.body.switch_to_block(longer);
        }
        self.leave(Exit::AtField);
    }

    /// Dispatches by a byte: a jump table over its number, which also leads to longer tags.
    fn choose_by_byte(
        &mut self,
        raw: Value,
        tags: &[&(u32, Block)],
        longer: Block,
        otherwise: Block,
    ) {
        let checks = Check::by_number(self, tags);
        debug_assert!(checks.iter().all(|check| check.number < NUMBERS_OF_A_BYTE), "one byte");
        // 16 and above: the highest bit is set, so the byte is not the last one.
        let number = self.body.ins().ushr_imm_u(raw, 3);
        let targets: Vec<BlockCall> = (0..NUMBERS_OF_A_BYTE)
            .map(|number| {
                let check = checks.iter().find(|check| check.number == number);
                let block = check.map_or(otherwise, |check| check.block);
                self.body.func.dfg.block_call(block, &[])
            })
            .collect();
        let longer = self.body.func.dfg.block_call(longer, &[]);
        let table = self.body.create_jump_table(JumpTableData::new(longer, &targets));
        self.body.ins().br_table(number, table);
        self.compare_tags(raw, checks, otherwise);
    }

    /// Dispatches a tag of this length: by number first, which is dense, so that the search is an
    /// indexed jump where numbers are close.
    fn choose(&mut self, raw: Value, tags: &[&(u32, Block)], length: i64, otherwise: Block) {
        if tags.is_empty() {
            self.body.ins().jump(otherwise, &[]);
            return;
        }
        let number = match length {
            // The number's upper bits are the second byte, its lower four are in the first.
            2 => {
                let high = self.body.ins().ushr_imm_u(raw, 8);
                let high = self.body.ins().ishl_imm_u(high, 4);
                let low = self.body.ins().ushr_imm_u(raw, 3);
                let low = self.body.ins().band_imm_u(low, 0xf);
                self.body.ins().bor(high, low)
            }
            // Long tags are rare, so they are searched by value.
            _ => {
                let cases = tags.iter().map(|(tag, block)| (TagBytes::of(*tag).raw, *block));
                self.body.switch(raw, cases, otherwise);
                return;
            }
        };
        let checks = Check::by_number(self, tags);
        let cases = checks.iter().map(|check| (u64::from(check.number), check.block));
        self.body.switch(number, cases, otherwise);
        self.compare_tags(raw, checks, otherwise);
    }

    /// Compares with the tags of one number.
    fn compare_tags(&mut self, raw: Value, checks: Vec<Check>, otherwise: Block) {
        for Check { block, tags, .. } in checks {
            self.body.switch_to_block(block);
            for (tag, block) in tags {
                let wanted = TagBytes::of(tag).raw as i64;
                let same = self.body.ins().icmp_imm_u(IntCC::Equal, raw, wanted);
                let next = self.body.create_block();
                self.body.ins().brif(same, block, &[], next, &[]);
                self.body.switch_to_block(next);
            }
            self.body.ins().jump(otherwise, &[]);
        }
    }

    /// Jumps to one of the next few entries from `place` on, or the end of the group after them.
    pub(super) fn expect_one_of(&mut self, place: u32, node: &Node, blocks: NodeBlocks) {
        let ahead = place + AHEAD;
        for next in place..ahead.min(node.entries.1) {
            self.expect_entry(next);
        }
        if ahead > node.entries.1 && node.end_tag != 0 {
            self.expect(node.end_tag, blocks.end_group);
        }
    }

    /// Jumps to an entry if its tag is at `pos`.
    fn expect_entry(&mut self, place: u32) {
        let entry = self.tables.entry(place);
        let blocks = self.blocks_of_entry[&place];
        let packed = entry.tag == entry.packed_tag();
        self.expect(entry.tag, if packed { blocks.packed } else { blocks.one });
    }

    /// Jumps to `found` if this tag is at `pos`.
    pub(super) fn expect(&mut self, tag: u32, found: Block) {
        let tag = TagBytes::of(tag);
        let raw = self.raw_tag(tag.length);
        let same = self.body.ins().icmp_imm_u(IntCC::Equal, raw, tag.raw as i64);
        let next = self.body.create_block();
        self.body.ins().brif(same, found, &[], next, &[]);
        self.body.switch_to_block(next);
    }

    /// The `length` bytes at `pos`.
    fn raw_tag(&mut self, length: i64) -> Value {
        let at = self.pos();
        match length {
            1 => self.body.ins().uload8(types::I32, unaligned(), at, 0),
            2 => self.body.ins().uload16(types::I32, unaligned(), at, 0),
            4 => self.body.load(types::I32, at, 0),
            3 => {
                let raw = self.body.load(types::I32, at, 0);
                self.body.ins().band_imm_u(raw, 0xff_ffff)
            }
            _ => {
                let raw = self.body.load(types::I64, at, 0);
                self.body.ins().band_imm_u(raw, 0xff_ffff_ffff)
            }
        }
    }
}
