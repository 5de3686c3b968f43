//! Memory that is mapped and shared, with every access checked against its bounds.
//!
//! The other side may write while we read: the result is then arbitrary bytes, which is all that
//! is ever expected of them. No Rust reference into the memory is made. Words that order other
//! accesses (the indexes of rings) are atomic; no access relies on the doorbell's system call as a
//! barrier.

use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

use crate::{Error, Width};

/// Mapped memory; it goes when this is dropped.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    size: usize,
}

// SAFETY: the mapping belongs to this value alone, and all access is by copying or atomic.
unsafe impl Send for Region {}

impl Region {
    /// Maps the first `size` bytes of a file for reading and writing, shared.
    ///
    /// # Errors
    /// The error of the system. The file must not be able to shrink: see [`crate::memfd`].
    pub fn map(file: impl AsFd, size: usize) -> Result<Region, Error> {
        Region::map_at(file, size, 0)
    }

    /// As [`Region::map`], from an offset: rings of the kernel name their parts so.
    ///
    /// # Errors
    /// The error of the system.
    pub fn map_at(file: impl AsFd, size: usize, offset: u64) -> Result<Region, Error> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe {
            mmap(std::ptr::null_mut(), size, protection, MapFlags::SHARED, file, offset)?
        };
        Region::over(start.cast(), size)
    }

    /// Memory of our own, page aligned, whose address is passed to the kernel.
    ///
    /// # Errors
    /// The error of the system.
    pub fn anonymous(size: usize) -> Result<Region, Error> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), size, protection, MapFlags::PRIVATE)? };
        Region::over(start.cast(), size)
    }

    fn over(start: *mut u8, size: usize) -> Result<Region, Error> {
        let start = NonNull::new(start).ok_or(Error::Unsupported("a mapping at address 0"))?;
        Ok(Region { start, size })
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where it is, for the kernel.
    pub(crate) fn address(&self, offset: u64, length: u64) -> Result<*mut u8, Error> {
        self.at(offset, length)
    }

    fn at(&self, offset: u64, length: u64) -> Result<*mut u8, Error> {
        let size = self.size as u64;
        match offset.checked_add(length) {
            // SAFETY: the offset is within the mapping, or just after it.
            Some(end) if end <= size => Ok(unsafe { self.start.as_ptr().add(offset as usize) }),
            _ => Err(Error::OutOfBounds { offset, length, size }),
        }
    }

    /// Appends bytes of it.
    ///
    /// # Errors
    /// They are not all inside.
    pub fn get(&self, offset: u64, length: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let from = self.at(offset, length)?;
        let length = length as usize;
        into.reserve(length);
        // SAFETY: `length` bytes are mapped at `from` and reserved at the end of the vector; what
        // the other side writes meanwhile makes them other bytes, and all bytes are valid.
        unsafe {
            let to = into.as_mut_ptr().add(into.len());
            std::ptr::copy_nonoverlapping(from.cast_const(), to, length);
            into.set_len(into.len() + length);
        }
        Ok(())
    }

    /// Copies bytes out of it.
    ///
    /// # Errors
    /// They are not all inside.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Error> {
        let from = self.at(offset, into.len() as u64)?;
        // SAFETY: `into.len()` bytes are mapped there; our own memory does not overlap the mapping;
        // what the other side writes meanwhile makes them other bytes, and all bytes are valid.
        unsafe {
            std::ptr::copy_nonoverlapping(from.cast_const(), into.as_mut_ptr(), into.len());
        }
        Ok(())
    }

    /// Copies bytes into it.
    ///
    /// # Errors
    /// They do not all fit inside.
    pub fn put(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let to = self.at(offset, bytes.len() as u64)?;
        // SAFETY: `bytes.len()` bytes are mapped there; our own memory does not overlap the
        // mapping.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// A number of this width, little endian.
    ///
    /// # Errors
    /// It is not all inside, or not aligned.
    pub fn load(&self, offset: u64, width: Width) -> Result<u64, Error> {
        let at = self.aligned(offset, width)?;
        // SAFETY: inside the mapping and aligned to the width; volatile, for the other side may
        // write it at any time.
        Ok(unsafe {
            match width {
                Width::One => u64::from(at.read_volatile()),
                Width::Two => u64::from(u16::from_le(at.cast::<u16>().read_volatile())),
                Width::Four => u64::from(u32::from_le(at.cast::<u32>().read_volatile())),
                Width::Eight => u64::from_le(at.cast::<u64>().read_volatile()),
            }
        })
    }

    /// Stores a number of this width, little endian; its upper bits are cut off.
    ///
    /// # Errors
    /// It is not all inside, or not aligned.
    pub fn store(&self, offset: u64, width: Width, value: u64) -> Result<(), Error> {
        let at = self.aligned(offset, width)?;
        // SAFETY: as in `load`.
        unsafe {
            match width {
                Width::One => at.write_volatile(value as u8),
                Width::Two => at.cast::<u16>().write_volatile((value as u16).to_le()),
                Width::Four => at.cast::<u32>().write_volatile((value as u32).to_le()),
                Width::Eight => at.cast::<u64>().write_volatile(value.to_le()),
            }
        }
        Ok(())
    }

    fn aligned(&self, offset: u64, width: Width) -> Result<*mut u8, Error> {
        let length = width.bytes() as u64;
        if !offset.is_multiple_of(length) {
            return Err(Error::OutOfBounds { offset, length, size: self.size as u64 });
        }
        self.at(offset, length)
    }

    /// The word at an offset that our side knows to be inside and aligned.
    #[inline]
    fn word(&self, offset: u32) -> &AtomicU32 {
        assert!(offset.is_multiple_of(4) && (offset as usize) + 4 <= self.size);
        // SAFETY: inside, aligned, mapped as long as self is borrowed; all use of it is atomic on
        // our side, and whatever the other side does is a change of its value.
        unsafe { AtomicU32::from_ptr(self.start.as_ptr().add(offset as usize).cast()) }
    }

    /// An index of the other side, with all it wrote before (`Acquire`, with its `Release`).
    #[inline]
    pub(crate) fn load_index(&self, offset: u32) -> u32 {
        u32::from_le(self.word(offset).load(Ordering::Acquire))
    }

    /// Our index, after all we wrote (`Release`, with the other side's `Acquire`).
    #[inline]
    pub(crate) fn store_index(&self, offset: u32, value: u32) {
        self.word(offset).store(value.to_le(), Ordering::Release);
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and no pointer into it outlives a call.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.size) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_access_is_checked() {
        let region = Region::anonymous(4096).expect("memory");
        region.store(4088, Width::Eight, u64::MAX).expect("inside");
        assert_eq!(region.load(4095, Width::One).expect("inside"), 255);
        assert_eq!(region.load(4092, Width::Four).expect("inside"), 0xffff_ffff);
        for (offset, width) in [(4096, Width::One), (4094, Width::Four), (1, Width::Two)] {
            assert!(matches!(region.load(offset, width), Err(Error::OutOfBounds { .. })));
            assert!(matches!(region.store(offset, width, 0), Err(Error::OutOfBounds { .. })));
        }
        assert!(region.load(u64::MAX, Width::Eight).is_err());
        let mut bytes = Vec::new();
        assert!(region.get(u64::MAX, 2, &mut bytes).is_err());
        assert!(region.get(4000, 97, &mut bytes).is_err() && bytes.is_empty());
        assert!(region.put(4090, b"seven b").is_err());
        region.put(0, b"abc").expect("inside");
        region.get(0, 3, &mut bytes).expect("inside");
        assert_eq!(bytes, b"abc");
    }
}
