//! The wire format: a header of 16 bytes, then a payload of at most 4096.
//!
//! ```text
//! 0  type u32   4  request u32   8  transaction u32   12  length u32     little endian
//! ```

/// Bytes of a header.
pub const HEADER_BYTES: usize = 16;
/// The longest payload; a longer one ends the connection.
pub const PAYLOAD_BYTES_MAX: usize = 4096;
/// The longest path from the root.
pub const ABSOLUTE_PATH_MAX: usize = 3072;
/// The longest path from a domain's own node.
pub const RELATIVE_PATH_MAX: usize = 2048;

/// The type of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum Type {
    Control = 0,
    Directory = 1,
    Read = 2,
    GetPermissions = 3,
    Watch = 4,
    Unwatch = 5,
    TransactionStart = 6,
    TransactionEnd = 7,
    Introduce = 8,
    Release = 9,
    GetDomainPath = 10,
    Write = 11,
    MakeDirectory = 12,
    Remove = 13,
    SetPermissions = 14,
    WatchEvent = 15,
    Error = 16,
    IsDomainIntroduced = 17,
    Resume = 18,
    SetTarget = 19,
    ResetWatches = 21,
    DirectoryPart = 22,
}

impl Type {
    const ALL: [Type; 22] = [
        Type::Control,
        Type::Directory,
        Type::Read,
        Type::GetPermissions,
        Type::Watch,
        Type::Unwatch,
        Type::TransactionStart,
        Type::TransactionEnd,
        Type::Introduce,
        Type::Release,
        Type::GetDomainPath,
        Type::Write,
        Type::MakeDirectory,
        Type::Remove,
        Type::SetPermissions,
        Type::WatchEvent,
        Type::Error,
        Type::IsDomainIntroduced,
        Type::Resume,
        Type::SetTarget,
        Type::ResetWatches,
        Type::DirectoryPart,
    ];

    /// The type of a number; 20 is not used.
    pub fn of(number: u32) -> Option<Type> {
        Type::ALL.into_iter().find(|it| *it as u32 == number)
    }
}

/// Why a request failed: the name that an ERROR carries.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the names are those of the protocol")]
pub enum Errno {
    EINVAL,
    EACCES,
    EEXIST,
    EISDIR,
    ENOENT,
    ENOMEM,
    ENOSPC,
    EIO,
    ENOTEMPTY,
    ENOSYS,
    EROFS,
    EBUSY,
    EAGAIN,
    EISCONN,
    E2BIG,
    EPERM,
}

impl Errno {
    /// The name.
    pub fn name(self) -> String {
        format!("{self:?}")
    }
}

/// The head of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Its type: see [`Type`].
    pub kind: u32,
    /// The number that the answer bears again.
    pub request: u32,
    /// The transaction, 0 outside.
    pub transaction: u32,
    /// Bytes of the payload.
    pub length: u32,
}

impl Header {
    /// As bytes.
    pub fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let words = [self.kind, self.request, self.transaction, self.length];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// From bytes.
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Header {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Header { kind: word(0), request: word(4), transaction: word(8), length: word(12) }
    }
}

/// Appends a message.
pub fn put_message(out: &mut Vec<u8>, kind: Type, request: u32, transaction: u32, payload: &[u8]) {
    let length = payload.len() as u32;
    out.extend(Header { kind: kind as u32, request, transaction, length }.encode());
    out.extend_from_slice(payload);
}

/// The strings of a payload, each ended by a NUL; none if the last lacks it.
pub fn strings(payload: &[u8]) -> Option<impl Iterator<Item = &[u8]>> {
    Some(payload.strip_suffix(b"\0")?.split(|&byte| byte == 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_read_back() {
        let header = Header { kind: 11, request: 7, transaction: u32::MAX, length: 4096 };
        assert_eq!(Header::decode(header.encode()), header);
        assert_eq!(&header.encode()[..8], &[11, 0, 0, 0, 7, 0, 0, 0]);
        assert_eq!(Type::of(20), None);
        assert!((0..=22).filter_map(Type::of).count() == 22 && Type::of(23).is_none());
    }

    #[test]
    fn strings_end_with_a_nul() {
        let all = |payload| strings(payload).map(|it| it.collect::<Vec<&[u8]>>());
        assert_eq!(all(b"a\0b\0"), Some(vec![&b"a"[..], b"b"]));
        assert_eq!(all(b"a\0"), Some(vec![&b"a"[..]]));
        assert_eq!(all(b"\0"), Some(vec![&b""[..]]));
        for unended in [&b"a"[..], b"a\0b", b""] {
            assert_eq!(all(unended), None, "{unended:?}");
        }
    }
}
