//! Programs of classic BPF that the kernel runs for a socket.

use std::io;
use std::os::fd::AsRawFd;

use super::check;
use crate::Error;

/// An instruction of classic BPF: code, distances if its condition holds and if not, number.
pub type Instruction = (u16, u8, u8, u32);

/// Makes the kernel drop what a filter does not pass, before it reaches a socket. An empty one
/// changes nothing.
///
/// # Errors
/// The kernel refuses the filter.
pub fn attach(socket: &impl AsRawFd, filter: &[Instruction]) -> Result<(), Error> {
    if filter.is_empty() {
        return Ok(());
    }
    set_program(socket, (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER), filter)
}

/// Sets an option whose value is a program.
pub(super) fn set_program(
    socket: &impl AsRawFd,
    (level, option): (libc::c_int, libc::c_int),
    program: &[Instruction],
) -> Result<(), Error> {
    let instruction = |&(code, jt, jf, k): &Instruction| libc::sock_filter { code, jt, jf, k };
    let mut instructions: Vec<_> = program.iter().map(instruction).collect();
    let len = u16::try_from(instructions.len());
    let len = len.map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let program = libc::sock_fprog { len, filter: instructions.as_mut_ptr() };
    let length = size_of::<libc::sock_fprog>() as libc::socklen_t;
    let fd = socket.as_raw_fd();
    // SAFETY: the program and its instructions are of these lengths, live during the call, and are
    // only read.
    check(unsafe { libc::setsockopt(fd, level, option, (&raw const program).cast(), length) })?;
    Ok(())
}
