//! Comments that do not nest.

use super::Cursor;

/// The end of a block comment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Block {
    /// It ends.
    Closed {
        /// The position of another `/*` in it, probably of a comment that was meant to nest.
        nested: Option<usize>,
    },
    /// It does not end, and so takes the rest of the text.
    Open,
}

/// Reads a comment, `/*` up to the first `*/`, as in C.
pub fn block_comment(cursor: &mut Cursor<'_>) -> Block {
    cursor.skip(2);
    let (start, rest) = (cursor.at(), cursor.rest());
    let Some(length) = rest.find("*/") else {
        cursor.skip(rest.len());
        return Block::Open;
    };
    cursor.skip(length + 2);
    // Its star may be that of the end.
    Block::Closed { nested: rest[..=length].find("/*").map(|at| start + at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_end_at_the_first_end() {
        let read = |text| {
            let mut cursor = Cursor::new(text);
            (block_comment(&mut cursor), cursor.rest())
        };
        assert_eq!(read("/*/ 1 */ 2"), (Block::Closed { nested: None }, " 2"));
        assert_eq!(read("/* ä /* */*/"), (Block::Closed { nested: Some(6) }, "*/"));
        assert_eq!(read("/* /*/"), (Block::Closed { nested: Some(3) }, ""));
        assert_eq!(read("/* /* "), (Block::Open, ""));
    }
}
