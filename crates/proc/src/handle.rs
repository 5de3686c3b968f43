//! Handles: how the run-time names blocks, with a getter and a setter for each field.
//!
//! The blocks form a graph that generated code reads and writes too, so they are reached by
//! address. A handle is such an address with a type. **The rule that makes its methods sound:** a
//! handle that is not null names a live block. Blocks are made and freed by this crate only; what
//! is freed has been taken out of every list, queue and word that names it before (the places:
//! `process::end`, `component::release`, `channel::finish`). A worker and all its blocks belong to
//! one thread (of several loops each has its own components, see `crew`), and fields are read and
//! written by value, so no reference into a block outlives the expression that needs it.
//!
//! The process that a system component has at its end of a communication lacks the front of its
//! block ([`PROCESS_SYSTEM`](crate::layout::PROCESS_SYSTEM)). It is in no list or queue and never
//! runs, so the fields there are not read; the address is within the chunk all the same.

use std::sync::atomic::AtomicU8;

use crate::layout::{Channel, Component, Frame, Process, SYSTEM, Session, Slot};
use crate::program::{ComponentType, Interface};

macro_rules! handle {
    ($(#[$doc:meta])* $name:ident of $block:ident {
        $($field:ident, $set:ident: $type:ty;)*
    }) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(transparent)]
        pub struct $name(pub(crate) *mut $block);

        #[allow(dead_code)]
        impl $name {
            pub(crate) const NULL: $name = $name(std::ptr::null_mut());

            #[inline(always)]
            pub(crate) fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// None for null.
            #[inline(always)]
            pub(crate) fn some(self) -> Option<$name> {
                if self.is_null() { None } else { Some(self) }
            }

            $(
                #[inline(always)]
                pub(crate) fn $field(self) -> $type {
                    // SAFETY: a handle names a live block, see the top.
                    unsafe { (*self.0).$field.into() }
                }

                #[inline(always)]
                pub(crate) fn $set(self, value: $type) {
                    // SAFETY: a handle names a live block, see the top.
                    unsafe { (*self.0).$field = value.into() }
                }
            )*
        }

        impl From<*mut $block> for $name {
            #[inline(always)]
            fn from(block: *mut $block) -> $name {
                $name(block)
            }
        }

        impl From<$name> for *mut $block {
            #[inline(always)]
            fn from(handle: $name) -> *mut $block {
                handle.0
            }
        }
    };
}

handle! {
    /// A frame.
    FrameRef of Frame {
        parent, set_parent: FrameRef;
        code, set_code: crate::layout::Code;
        resume, set_resume: u32;
        function, set_function: u32;
        result, set_result: u64;
    }
}

handle! {
    /// A process.
    ProcessRef of Process {
        frame, set_frame: FrameRef;
        component, set_component: ComponentRef;
        link, set_link: ProcessRef;
        state, set_state: u8;
        role, set_role: u8;
        granted, set_granted: u8;
        lost_wakes, set_lost_wakes: u8;
        holds, set_holds: u8;
        size, set_size: u32;
        wait, set_wait: u64;
        condition, set_condition: u32;
        flags, set_flags: u16;
        next, set_next: ProcessRef;
        previous, set_previous: ProcessRef;
        sessions, set_sessions: SessionRef;
    }
}

handle! {
    /// A channel.
    ChannelRef of Channel {
        client, set_client: *mut *mut Channel;
        client_process, set_client_process: ProcessRef;
        client_component, set_client_component: ComponentRef;
        interface, set_interface: u32;
        head, set_head: u8;
        count, set_count: u8;
        state, set_state: u16;
        flags, set_flags: u32;
        index, set_index: u32;
    }
}

handle! {
    /// A slot.
    SlotRef of Slot {
        channel, set_channel: ChannelRef;
        target, set_target: u64;
        port, set_port: u64;
    }
}

handle! {
    /// A session.
    SessionRef of Session {
        next, set_next: SessionRef;
        previous, set_previous: SessionRef;
        process, set_process: ProcessRef;
        component, set_component: ComponentRef;
    }
}

handle! {
    /// A component.
    ComponentRef of Component {
        kind, set_kind: *const ComponentType;
        owner, set_owner: ComponentRef;
        number, set_number: u32;
        generation, set_generation: u32;
        life, set_life: u8;
        flags, set_flags: u16;
        worker, set_worker: u8;
        lock, set_lock: i32;
        lock_queue, set_lock_queue: ProcessRef;
        await_queue, set_await_queue: ProcessRef;
        processes, set_processes: ProcessRef;
        process_count, set_process_count: u32;
        child_count, set_child_count: u32;
        first_child, set_first_child: ComponentRef;
        next_sibling, set_next_sibling: ComponentRef;
        previous_sibling, set_previous_sibling: ComponentRef;
        deleter, set_deleter: ProcessRef;
    }
}

impl ComponentRef {
    /// The descriptor of its type.
    pub(crate) fn descriptor<'a>(self) -> &'a ComponentType {
        // SAFETY: types live in the program, which is immutable and which the machine keeps until
        // its components are released.
        unsafe { &*self.kind() }
    }

    /// The word at a byte offset.
    pub(crate) fn word(self, offset: u32) -> Words {
        Words(self.0.cast::<u64>().wrapping_byte_add(offset as usize))
    }

    /// The slot at a byte offset.
    pub(crate) fn slot(self, offset: u32) -> SlotRef {
        SlotRef(self.0.cast::<Slot>().wrapping_byte_add(offset as usize))
    }
}

impl FrameRef {
    /// The word at a byte offset.
    pub(crate) fn word(self, offset: u32) -> Words {
        Words(self.0.cast::<u64>().wrapping_byte_add(offset as usize))
    }
}

impl ProcessRef {
    /// The channel of a server process.
    pub(crate) fn channel(self) -> ChannelRef {
        ChannelRef(self.0.wrapping_add(1).cast())
    }
}

impl ChannelRef {
    /// The lock of a channel between two loops.
    pub(crate) fn guard<'a>(self) -> &'a AtomicU8 {
        // SAFETY: a handle names a live block, see the top; the field is atomic.
        unsafe { &(*self.server().0).guard }
    }

    /// The server process that it is part of.
    pub(crate) fn server(self) -> ProcessRef {
        ProcessRef(self.0.cast::<Process>().wrapping_sub(1))
    }

    #[inline]
    pub(crate) fn has(self, flag: u32) -> bool {
        self.flags() & flag != 0
    }

    #[inline]
    pub(crate) fn raise(self, flag: u32) {
        self.set_flags(self.flags() | flag);
    }

    pub(crate) fn clear(self, flag: u32) {
        self.set_flags(self.flags() & !flag);
    }

    #[inline]
    pub(crate) fn tag(self, entry: u8) -> u16 {
        // SAFETY: a handle names a live block, see the top; the index is taken modulo 4.
        unsafe { (*self.0).tags[usize::from(entry & 3)] }
    }

    pub(crate) fn set_tag(self, entry: u8, tag: u16) {
        // SAFETY: as in `tag`.
        unsafe { (*self.0).tags[usize::from(entry & 3)] = tag }
    }

    /// The words of an entry. For a system component's channel the block of entries must exist.
    #[inline]
    pub(crate) fn entry(self, entry: u8, interface: &Interface) -> Words {
        let first = if self.has(SYSTEM) {
            self.entry_block().0
        } else {
            self.0.wrapping_add(1).cast::<u64>()
        };
        Words(first.wrapping_byte_add(usize::from(entry & 3) * interface.entry_size as usize))
    }

    /// The block of entries of a system component's channel; null while none is full.
    #[inline]
    pub(crate) fn entry_block(self) -> Words {
        // SAFETY: a handle names a live block, see the top; that of a system component's channel
        // has this word after the channel, see `layout`.
        Words(unsafe { *self.0.wrapping_add(1).cast::<*mut u64>() })
    }

    #[inline]
    pub(crate) fn set_entry_block(self, block: Words) {
        // SAFETY: as in `entry_block`.
        unsafe { *self.0.wrapping_add(1).cast::<*mut u64>() = block.0 }
    }
}

impl SlotRef {
    /// The word that names the channel.
    pub(crate) fn channel_word(self) -> *mut *mut Channel {
        self.0.cast()
    }
}

impl SessionRef {
    /// Its slot, which comes first.
    pub(crate) fn slot(self) -> SlotRef {
        SlotRef(self.0.cast())
    }
}

/// Words in a row, in a block that lives.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Words(pub(crate) *mut u64);

impl Words {
    /// The word itself, or the one `index` words after it.
    #[inline(always)]
    pub(crate) fn get(self, index: usize) -> u64 {
        // SAFETY: the constructor of `Words` promises that the block lives and is long enough.
        unsafe { *self.0.add(index) }
    }

    #[inline(always)]
    pub(crate) fn set(self, index: usize, value: u64) {
        // SAFETY: as in `get`.
        unsafe { *self.0.add(index) = value }
    }

    /// Takes out what the word owns.
    pub(crate) fn take(self, index: usize) -> u64 {
        let value = self.get(index);
        self.set(index, 0);
        value
    }

    pub(crate) fn at(self, index: usize) -> Words {
        Words(self.0.wrapping_add(index))
    }
}
