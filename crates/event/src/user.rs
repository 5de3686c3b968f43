//! Giving up root: a process that has opened what needs root continues as another user.

use std::ffi::{CStr, CString};
use std::fmt;
use std::io;
use std::mem::MaybeUninit;

/// The longest entry of the user database that is read, in bytes.
const ENTRY_BYTES_MAX: usize = 1 << 20;

/// The argument that leaves an id unchanged.
const UNCHANGED: u32 = u32::MAX;

/// A user that is not root, and its group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct User {
    uid: u32,
    gid: u32,
}

/// Why text names no user that a process can become.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum UserError {
    /// There is none of that name.
    Unknown(String),
    /// A number without an entry, and so without a group.
    NoGroup(u32),
    /// Not a number of a group.
    BadGroup(String),
    /// Root, or no user at all.
    Root,
    /// The user database cannot be read.
    Unreadable(String),
}

impl fmt::Display for UserError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UserError::Unknown(name) => write!(f, "there is no user `{name}`"),
            UserError::NoGroup(uid) => {
                write!(f, "user {uid} has no entry that says its group: write {uid}:GID")
            }
            UserError::BadGroup(text) => write!(f, "`{text}` is no number of a group"),
            UserError::Root => f.write_str("that user is root: nothing would be given up"),
            UserError::Unreadable(why) => write!(f, "cannot look up the user: {why}"),
        }
    }
}

impl std::error::Error for UserError {}

impl User {
    /// The user of `NAME`, `UID`, `NAME:GID` or `UID:GID`; without a group, the one of its entry in
    /// the user database.
    ///
    /// # Errors
    /// See [`UserError`].
    pub fn find(text: &str) -> Result<User, UserError> {
        let (name, group) = match text.split_once(':') {
            Some((name, group)) => (name, Some(group)),
            None => (text, None),
        };
        let gid = group.map(|text| {
            let number = text.parse().ok().filter(|&gid| gid != UNCHANGED);
            number.ok_or_else(|| UserError::BadGroup(text.to_owned()))
        });
        let gid = gid.transpose()?;
        let is_number = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        let user = match (is_number, gid) {
            (true, gid) => {
                let uid: u32 = name.parse().map_err(|_| UserError::Unknown(name.to_owned()))?;
                match gid {
                    Some(gid) => User { uid, gid },
                    None => entry(Key::Number(uid))?.ok_or(UserError::NoGroup(uid))?,
                }
            }
            (false, gid) => {
                let unknown = || UserError::Unknown(name.to_owned());
                let name = CString::new(name).map_err(|_| unknown())?;
                let user = entry(Key::Name(&name))?.ok_or_else(unknown)?;
                User { gid: gid.unwrap_or(user.gid), ..user }
            }
        };
        match user.uid {
            0 | UNCHANGED => Err(UserError::Root),
            _ => Ok(user),
        }
    }

    /// Its number, and that of its group.
    pub fn ids(self) -> (u32, u32) {
        (self.uid, self.gid)
    }

    /// Whether this process is root and so may change its user.
    pub fn may_change() -> bool {
        rustix::process::geteuid().is_root()
    }

    /// Makes the whole process, all of its threads, go on as this user, in this one group and
    /// without capabilities, for ever; and verifies that it cannot return to root.
    ///
    /// # Errors
    /// The error of the kernel, or remaining privileges of root: then the process must end.
    pub fn assume(self) -> io::Result<()> {
        let User { uid, gid } = self;
        // SAFETY: the list has one element; the C library applies all three to every thread. Groups
        // go first, as only root may change them.
        let failed = unsafe {
            libc::setgroups(1, &gid) != 0
                || libc::setresgid(gid, gid, gid) != 0
                || libc::setresuid(uid, uid, uid) != 0
        };
        if failed {
            return Err(io::Error::last_os_error());
        }
        self.verify()
    }

    fn verify(self) -> io::Result<()> {
        let User { uid, gid } = self;
        let left = |what: &str| Err(io::Error::other(format!("{what} could not be given up")));
        let (mut uids, mut gids) = ([0; 3], [0; 3]);
        let [real, effective, saved] = &mut uids;
        // SAFETY: three numbers to be written.
        if unsafe { libc::getresuid(real, effective, saved) } != 0 || uids != [uid; 3] {
            return left("the user");
        }
        let [real, effective, saved] = &mut gids;
        // SAFETY: three numbers to be written.
        if unsafe { libc::getresgid(real, effective, saved) } != 0 || gids != [gid; 3] {
            return left("the group");
        }
        if rustix::process::getgroups()?.iter().any(|group| group.as_raw() != gid) {
            return left("other groups");
        }
        let sets = rustix::thread::capabilities(None)?;
        if !sets.effective.is_empty() || !sets.permitted.is_empty() {
            return left("capabilities");
        }
        // SAFETY: numbers only; these must fail.
        if unsafe { libc::setresuid(UNCHANGED, 0, UNCHANGED) == 0 || libc::setuid(0) == 0 } {
            return left("root");
        }
        Ok(())
    }
}

enum Key<'a> {
    Name(&'a CStr),
    Number(u32),
}

/// An entry of the user database.
fn entry(key: Key<'_>) -> Result<Option<User>, UserError> {
    let mut buffer: Vec<libc::c_char> = vec![0; 1024];
    loop {
        let mut entry = MaybeUninit::<libc::passwd>::uninit();
        let mut found = std::ptr::null_mut();
        let (to, text, size) = (entry.as_mut_ptr(), buffer.as_mut_ptr(), buffer.len());
        // SAFETY: the entry and the buffer are ours, of the length given; the name ends with 0.
        let error = unsafe {
            match key {
                Key::Name(name) => libc::getpwnam_r(name.as_ptr(), to, text, size, &mut found),
                Key::Number(uid) => libc::getpwuid_r(uid, to, text, size, &mut found),
            }
        };
        match error {
            libc::ERANGE if size < ENTRY_BYTES_MAX => buffer.resize(size * 2, 0),
            // Some report like this that there is no entry.
            0 | libc::ENOENT | libc::ESRCH if found.is_null() => return Ok(None),
            0 => {
                // SAFETY: found is not null, so the entry was written.
                let entry = unsafe { entry.assume_init() };
                return Ok(Some(User { uid: entry.pw_uid, gid: entry.pw_gid }));
            }
            error => {
                return Err(UserError::Unreadable(io::Error::from_raw_os_error(error).to_string()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_number() {
        assert_eq!(User::find("4711:12"), Ok(User { uid: 4711, gid: 12 }));
        let nobody = User::find("nobody").expect("every system has it");
        assert_eq!(User::find(&nobody.uid.to_string()), Ok(nobody));
        assert_eq!(User::find("nobody:7"), Ok(User { gid: 7, ..nobody }));
    }

    #[test]
    fn root_and_whom_nobody_knows_are_refused() {
        for text in ["root", "0", "0:5", "4294967295:1", "root:5"] {
            assert_eq!(User::find(text), Err(UserError::Root), "{text}");
        }
        assert_eq!(User::find("4294967294"), Err(UserError::NoGroup(4294967294)));
        for text in ["4:x", "4:", "4:4294967295", "4:-1"] {
            assert!(matches!(User::find(text), Err(UserError::BadGroup(_))), "{text}");
        }
        for text in ["", "no such user", "99999999999:1", "a\0b"] {
            assert!(matches!(User::find(text), Err(UserError::Unknown(_))), "{text:?}");
        }
    }
}
