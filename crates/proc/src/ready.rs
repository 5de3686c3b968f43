//! The ready queue: a ring of processes that grows. Pushing touches no memory of the process.

use crate::handle::ProcessRef;
use crate::layout::Process;
use crate::machine::Worker;
use crate::near::prefetch;

const ROOM_FIRST: usize = 256;

pub(crate) fn allocate(room: usize) -> *mut *mut Process {
    Box::into_raw(vec![std::ptr::null_mut::<Process>(); room].into_boxed_slice()).cast()
}

impl Worker {
    /// The number of ready processes.
    #[inline(always)]
    pub(crate) fn ready_count(&self) -> u64 {
        self.ready_tail - self.ready_head
    }

    /// Puts a process at the end.
    #[inline(always)]
    pub(crate) fn push_ready(&mut self, process: ProcessRef) {
        if self.ready_count() > self.ready_mask {
            self.grow_ready();
        }
        self.set_ready(self.ready_tail, process);
        self.ready_tail += 1;
    }

    /// Puts a process before all others.
    pub(crate) fn push_ready_first(&mut self, process: ProcessRef) {
        if self.ready_count() > self.ready_mask {
            self.grow_ready();
        }
        if self.ready_head == 0 {
            // The same places of the ring.
            self.ready_head += self.ready_mask + 1;
            self.ready_tail += self.ready_mask + 1;
        }
        self.ready_head -= 1;
        self.set_ready(self.ready_head, process);
    }

    /// Takes the first.
    #[inline(always)]
    pub(crate) fn pop_ready(&mut self) -> Option<ProcessRef> {
        if self.ready_head == self.ready_tail {
            return None;
        }
        if let Some(random) = &mut self.machine.schedule {
            let (head, tail) = (self.head.ready_head, self.head.ready_tail);
            let chosen = head + random.below(tail - head);
            self.bring_forward(chosen);
        }
        let process = self.ready_at(self.ready_head);
        self.ready_head += 1;
        Some(process)
    }

    /// Prefetches the memory of the process after the next one.
    #[inline(always)]
    pub(crate) fn prefetch_next(&self) {
        if self.ready_count() > 1 {
            prefetch(self.ready_at(self.ready_head + 1).0, 4);
        }
    }

    /// Exchanges the first with another.
    #[cold]
    fn bring_forward(&mut self, chosen: u64) {
        let (first, other) = (self.ready_at(self.ready_head), self.ready_at(chosen));
        self.set_ready(self.ready_head, other);
        self.set_ready(chosen, first);
    }

    #[inline(always)]
    pub(crate) fn ready_at(&self, at: u64) -> ProcessRef {
        // SAFETY: the ring has `ready_mask + 1` places.
        ProcessRef(unsafe { *self.ready.add((at & self.ready_mask) as usize) })
    }

    #[inline(always)]
    fn set_ready(&mut self, at: u64, process: ProcessRef) {
        // SAFETY: the ring has `ready_mask + 1` places.
        unsafe { *self.ready.add((at & self.ready_mask) as usize) = process.0 };
    }

    #[cold]
    #[inline(never)]
    fn grow_ready(&mut self) {
        let room = self.ready_mask as usize + 1;
        let waiting: Vec<ProcessRef> =
            (self.ready_head..self.ready_tail).map(|at| self.ready_at(at)).collect();
        self.free_ready();
        self.ready = allocate(room * 2);
        self.ready_mask = (room * 2 - 1) as u64;
        self.ready_head = 0;
        self.ready_tail = waiting.len() as u64;
        for (at, process) in waiting.into_iter().enumerate() {
            self.set_ready(at as u64, process);
        }
    }

    pub(crate) fn free_ready(&mut self) {
        let ring = std::ptr::slice_from_raw_parts_mut(self.ready, self.ready_mask as usize + 1);
        // SAFETY: `allocate` made the ring from a boxed slice of this length.
        drop(unsafe { Box::from_raw(ring) });
    }

    /// The first ring.
    pub(crate) fn first_ready() -> (*mut *mut Process, u64) {
        (allocate(ROOM_FIRST), ROOM_FIRST as u64 - 1)
    }
}
