//! Files through the rings of the kernel; skipped, with the reason, where there are none.

use crate::common;

use std::time::Duration;

use tidemill_pore::uring::{COMPLETION_BYTES, REQUEST_BYTES, Uring, request};
use tidemill_pore::{Error, Pore};

fn uring(name: &str) -> Option<Uring> {
    let path = std::env::temp_dir().join(format!("tidemill-{name}-{}", std::process::id()));
    let mut options = std::fs::File::options();
    let file = options.read(true).write(true).create(true).truncate(true).open(&path);
    let file = file.expect("a file");
    std::fs::remove_file(path).expect("unnamed");
    match Uring::new(file.into()) {
        Ok(uring) => Some(uring),
        Err(reason) => {
            common::skipped("io_uring", &reason.to_string());
            None
        }
    }
}

/// Completions, as tags and results, in the order of their tags.
fn completed(uring: &mut Uring, count: usize) -> Vec<(u64, i64)> {
    let mut bytes = Vec::new();
    for _ in 0..1000 {
        uring.read(usize::MAX, &mut bytes).expect("fine");
        if bytes.len() >= count * COMPLETION_BYTES {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
    let one = |it: &[u8]| (word(&it[..8]), word(&it[8..]).cast_signed());
    let mut all: Vec<_> = bytes.chunks_exact(COMPLETION_BYTES).map(one).collect();
    all.sort_unstable();
    all
}

#[test]
fn what_is_written_is_read() {
    let Some(mut uring) = uring("written") else { return };
    uring.put(100, b"through the rings").expect("inside");
    uring.write(&request(2, 17, 5, 100, 1)).expect("room");
    uring.ring().expect("submitted");
    assert_eq!(completed(&mut uring, 1), [(1, 17)]);
    let both = [request(1, 22, 0, 1000, 2), request(1, 10, 4096, 2000, 3)].concat();
    assert_eq!(uring.write(&both).expect("room"), 64);
    uring.ring().expect("submitted");
    assert_eq!(completed(&mut uring, 2), [(2, 22), (3, 0)]);
    let mut read = Vec::new();
    uring.get(1000, 22, &mut read).expect("inside");
    assert_eq!(read, b"\0\0\0\0\0through the rings");
}

#[test]
fn overfilling_accepts_what_fits_and_nothing_is_lost() {
    let Some(mut uring) = uring("overfilled") else { return };
    let (mut sent, mut got) = (0u64, 0);
    while got < 1000 {
        let many: Vec<u8> = (0..100).flat_map(|one| request(0, 0, 0, 0, sent + one)).collect();
        let accepted = uring.write(&many).expect("fine");
        assert!(accepted <= 64 * REQUEST_BYTES);
        sent += (accepted / REQUEST_BYTES) as u64;
        if sent % 3 > 0 {
            uring.ring().expect("submitted");
        }
        if uring.avail().expect("fine").writable == 0 || accepted == 0 {
            uring.ring().expect("submitted");
            let before = got;
            got += completed(&mut uring, 1).len() as u64;
            assert!(got > before, "{got} of {sent}");
        }
    }
    assert!(sent >= got);
}

#[test]
fn requests_reach_no_other_memory() {
    let Some(mut uring) = uring("outside") else { return };
    let size = uring.size() as u64;
    for (length, at) in [(1, size), (u32::MAX, 0), (16, u64::MAX - 3), (17, size - 16)] {
        for what in [1, 2] {
            let outcome = uring.write(&request(what, length, 0, at, 9));
            assert!(matches!(outcome, Err(Error::OutOfBounds { .. })), "{length} {at}");
        }
    }
    assert!(matches!(uring.write(&request(4, 0, 0, 0, 9)), Err(Error::Malformed(_))));
    assert!(matches!(uring.write(&[0; 31]), Err(Error::Malformed(_))));
    assert_eq!(uring.avail().expect("fine").readable, 0);
}
