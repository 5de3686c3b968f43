//! The folder of the files, and its ownership.
//!
//! `$XDG_RUNTIME_DIR/tidemill/<pid>/`, else `tidemill-<uid>/<pid>/` in the folder for temporary
//! files; of a process that root has started for another user always the latter, with that user's
//! number (`give`). Tools look in both. The folders are their owner's only. A folder whose process
//! is gone, or whose number meanwhile belongs to another process (by its start time), is removed by
//! the next start.

use crate::layout::{HEADER_BYTES, MAGIC, WORD_BYTES};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::{env, fmt, process};

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, RenameFlags, Uid};
use rustix::io::Errno;

/// Why a folder cannot be used: it is missing and cannot be made, or others may write to it.
#[derive(Debug)]
pub struct PlaceError {
    /// The folder.
    pub path: PathBuf,
    /// What the system reports, or what is wrong with its owner or mode.
    pub error: io::Error,
}

impl fmt::Display for PlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for PlaceError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

/// The folder with a folder for each process, made if it is missing.
///
/// # Errors
/// Why there is none that only we may write to.
pub fn base() -> Result<PathBuf, PlaceError> {
    let path = base_path();
    match create_private(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(PlaceError { path, error }),
    }
}

/// The path of [`base`], whether it exists or not.
pub fn base_path() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        // The specification of that variable says to ignore relative paths.
        Some(runtime) if runtime.is_absolute() => runtime.join("tidemill"),
        _ => temporary(rustix::process::getuid().as_raw()),
    }
}

/// The folder of a user among temporary files.
pub(crate) fn temporary(uid: u32) -> PathBuf {
    env::temp_dir().join(format!("tidemill-{uid}"))
}

/// All folders with folders of processes that this user may look at, its own first: for root those
/// of other users, too.
pub fn bases() -> Vec<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let mut bases = vec![base_path(), temporary(uid)];
    if uid == 0 {
        let entries = fs::read_dir(env::temp_dir()).into_iter().flatten().flatten();
        let of_user =
            |name: &std::ffi::OsStr| name.to_str()?.strip_prefix("tidemill-")?.parse().ok();
        let mut others: Vec<u32> =
            entries.filter_map(|entry| of_user(&entry.file_name())).collect();
        others.sort_unstable();
        let is_theirs = |uid: &u32| {
            let metadata = fs::symlink_metadata(temporary(*uid));
            metadata.is_ok_and(|it| it.is_dir() && it.uid() == *uid)
        };
        bases.extend(others.into_iter().filter(is_theirs).map(temporary));
    }
    let mut seen = Vec::new();
    bases.retain(|base| {
        !seen.contains(base) && {
            seen.push(base.clone());
            true
        }
    });
    bases
}

/// The living processes that have files under any of [`bases`], ascending.
pub fn all_processes() -> Vec<u32> {
    let mut pids: Vec<u32> = bases().iter().flat_map(|base| processes(base)).collect();
    pids.sort_unstable();
    pids.dedup();
    pids
}

/// The one of [`bases`] that has files of a process; [`base_path`] if none has.
pub fn base_of(pid: u32) -> PathBuf {
    let has = |base: &PathBuf| base.join(pid.to_string()).is_dir();
    bases().into_iter().find(has).unwrap_or_else(base_path)
}

/// Gives a process's folder `from/<pid>`, open as `folder`, with all in it to another user, and
/// moves it to that user's folder among temporary files; the path there.
///
/// Only root can. The user may change its folder at any time, so everything is done by descriptors
/// whose owners have been checked, and what is in the folder is given away before the user can
/// reach it.
///
/// # Errors
/// The error of the system, or that the user's folder is not its own.
pub(crate) fn give(
    folder: &OwnedFd,
    from: &Path,
    pid: u32,
    (uid, gid): (u32, u32),
) -> io::Result<PathBuf> {
    let owner = (Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    let path = temporary(uid);
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
    let base = rustix::fs::open(&path, flags, Mode::empty())?;
    let found = rustix::fs::fstat(&base)?;
    if ![0, uid].contains(&found.st_uid) || found.st_mode & 0o022 != 0 {
        return Err(io::Error::other(format!("{} is not that user's", path.display())));
    }
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            let (flags, name) = (AtFlags::SYMLINK_NOFOLLOW, entry.file_name());
            rustix::fs::chownat(folder, name, owner.0, owner.1, flags)?;
        }
    }
    rustix::fs::fchown(folder, owner.0, owner.1)?;
    rustix::fs::fchown(&base, owner.0, owner.1)?;
    let name = pid.to_string();
    let from = from.join(&name);
    match rustix::fs::renameat(CWD, &from, &base, &*name) {
        // A process that had our number left one.
        Err(Errno::EXIST | Errno::NOTEMPTY) => {
            rustix::fs::renameat_with(CWD, &from, &base, &*name, RenameFlags::EXCHANGE)?;
            remove_files(&from, |_| true);
            let _ = fs::remove_dir(&from);
        }
        moved => moved?,
    }
    Ok(path.join(name))
}

/// Makes a folder that only its owner may enter, or checks that it is such a one: in a folder for
/// temporary files others may have made it first.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Not following a link that others may have put there.
    let metadata = fs::symlink_metadata(path)?;
    if !metadata.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if metadata.uid() != rustix::process::getuid().as_raw() || metadata.mode() & 0o022 != 0 {
        return Err(io::Error::other("others may write to it"));
    }
    Ok(())
}

/// When a process started, in clock ticks after boot; `None` if there is no such process.
pub fn start_ticks(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    parse_start_ticks(&stat)
}

/// Field 22, counted from behind the program's name, which may contain anything.
fn parse_start_ticks(stat: &str) -> Option<u64> {
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_ascii_whitespace().nth(22 - 3)?.parse().ok()
}

/// The living processes that have files under `base`, ascending.
pub fn processes(base: &Path) -> Vec<u32> {
    let mut pids: Vec<u32> = pids(base).into_iter().filter(|&pid| is_alive(base, pid)).collect();
    pids.sort_unstable();
    pids
}

/// Removes the folders of dead processes under `base`; what cannot be removed stays.
pub fn clean(base: &Path) {
    // Ours may hold files of a dead process that had our number.
    let own = base.join(process::id().to_string());
    remove_files(&own, |path| file_start(path) != start_ticks(process::id()));
    clean_others(base);
}

/// As [`clean`], and leaves the folder of this process as it is.
pub(crate) fn clean_others(base: &Path) {
    for pid in pids(base) {
        if pid != process::id() && !is_alive(base, pid) {
            let directory = base.join(pid.to_string());
            remove_files(&directory, |_| true);
            let _ = fs::remove_dir(&directory);
        }
    }
}

/// The folders whose name is a process number written as we write it.
fn pids(base: &Path) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(base) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
            let ours = entry.file_name() == *pid.to_string() && entry.file_type().ok()?.is_dir();
            ours.then_some(pid)
        })
        .collect()
}

/// True if the process lives and did not start after the files of its folder were made.
fn is_alive(base: &Path, pid: u32) -> bool {
    let Some(start) = start_ticks(pid) else { return false };
    let files = fs::read_dir(base.join(pid.to_string())).into_iter().flatten().flatten();
    let mut starts = files.filter_map(|file| file_start(&file.path()));
    // A process that is just starting has a folder and no file yet.
    starts.all(|written| written == start)
}

/// The start time of the process that made a file of ours.
fn file_start(path: &Path) -> Option<u64> {
    let is_file = fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file());
    if !is_file {
        return None;
    }
    let mut header = [0; HEADER_BYTES];
    File::open(path).ok()?.read_exact(&mut header).ok()?;
    let word = |at: usize| {
        let bytes = header.get(at * WORD_BYTES..(at + 1) * WORD_BYTES)?;
        Some(u64::from_le_bytes(bytes.try_into().ok()?))
    };
    (word(0)? == MAGIC).then(|| word(3))?
}

/// Removes what is directly in a folder, but folders.
fn remove_files(directory: &Path, doomed: impl Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_dir && doomed(&entry.path()) {
            // Files that cannot be removed stay for the next start.
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt as _, chown, symlink};

    #[test]
    fn only_a_folder_of_our_own_is_taken() {
        let base = env::temp_dir().join(format!("tidemill-place-{}", process::id()));
        let _ = fs::remove_dir_all(&base);
        fs::create_dir(&base).unwrap();
        let path = base.join("made");
        create_private(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        create_private(&path).expect("it is ours already");
        let set = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for mode in [0o720, 0o702, 0o777, 0o722] {
            set(mode);
            assert!(create_private(&path).is_err(), "{mode:o}: others may write to it");
        }
        // Whether others may read it is up to its owner.
        set(0o755);
        create_private(&path).expect("no other user may write to it");
        symlink(&path, base.join("link")).unwrap();
        let kind = |path: &Path| create_private(path).map_err(|error| error.kind());
        assert_eq!(kind(&base.join("link")), Err(io::ErrorKind::NotADirectory));
        fs::write(base.join("file"), "").unwrap();
        assert_eq!(kind(&base.join("file")), Err(io::ErrorKind::NotADirectory));
        assert_eq!(kind(&base.join("none/made")), Err(io::ErrorKind::NotFound));
        // Only root can give a folder away.
        set(0o700);
        if chown(&path, Some(12_345), None).is_ok() {
            let error = create_private(&path).unwrap_err();
            assert_eq!(error.to_string(), "others may write to it", "another user's");
        }
        fs::remove_dir_all(&base).unwrap();
    }

    #[test]
    fn the_start_of_a_process_is_found_behind_any_name() {
        let stat = "12 (a) 1 (b c) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        assert_eq!(parse_start_ticks(stat), Some(4711));
        assert_eq!(parse_start_ticks("12 (a) S 1"), None);
        assert_eq!(parse_start_ticks(""), None);
        let own = start_ticks(process::id()).unwrap();
        assert!(own > 0);
        assert_eq!(start_ticks(u32::MAX), None);
    }
}
