//! Making processes.

use crate::component::Life;
use crate::handle::{ComponentRef, FrameRef, ProcessRef};
use crate::layout::{
    CHANNEL_ENTRIES, CLASS_MAX, EXCLUSIVE, Frame, PROCESS_CHANNEL, PROCESS_SYSTEM,
};
use crate::machine::Worker;
use crate::memory::{CHUNK_FRONT, OutOfMemory};
use crate::process::ACTIVITY;
use crate::process::Role;
use crate::process::frame::frame_size;
use crate::process::frame::prepare_frame;

/// A block with a process in it, entered in its component, with room after the header.
pub(crate) fn create(
    worker: &mut Worker,
    component: ComponentRef,
    role: Role,
    rest: usize,
) -> Result<ProcessRef, OutOfMemory> {
    let size = PROCESS_CHANNEL as usize + rest;
    let process = ProcessRef(worker.memory.take(size)?.cast());
    process.set_size(size as u32);
    process.set_role(role as u8);
    process.set_component(component);
    worker.machine.counts.processes.add();
    worker.note_state(process);
    if !component.is_null() {
        let first = component.processes();
        process.set_next(first);
        if !first.is_null() {
            first.set_previous(process);
        }
        component.set_processes(process);
        component.set_process_count(component.process_count() + 1);
    }
    Ok(process)
}

/// The process for BEGIN and ACTIVITY, or for FINALLY: it holds the lock if it begins exclusively.
pub(crate) fn create_body(
    worker: &mut Worker,
    component: ComponentRef,
    role: Role,
    functions: [Option<u32>; 2],
) -> Result<ProcessRef, OutOfMemory> {
    let sizes = functions.map(|known| known.map_or(0, |function| frame_size(worker, function)));
    let process = create(worker, component, role, sizes[0].max(sizes[1]))?;
    let frame = FrameRef(process.channel().0.cast());
    process.set_frame(frame);
    let [exclusive, other] = functions;
    if exclusive.is_some() {
        component.set_lock(-1);
        process.set_holds(EXCLUSIVE);
    } else {
        process.raise(ACTIVITY);
    }
    if let Some(function) = exclusive.or(other) {
        prepare_frame(worker, frame, function, FrameRef::NULL);
    }
    Ok(process)
}

/// A server process with its channel; not started yet.
pub(crate) fn create_server(
    worker: &mut Worker,
    component: ComponentRef,
    interface: u32,
    function: u32,
) -> Result<ProcessRef, OutOfMemory> {
    let entries = worker.program().interfaces[interface as usize].entries_size();
    let channel = CHANNEL_ENTRIES as usize + entries;
    let rest = channel + frame_size(worker, function);
    let process = create(worker, component, Role::Server, rest)?;
    let frame = FrameRef(process.channel().0.cast::<Frame>().wrapping_byte_add(channel));
    process.set_frame(frame);
    prepare_frame(worker, frame, function, FrameRef::NULL);
    worker.machine.counts.channels.add();
    Ok(process)
}

/// The other end of a communication with a system component.
pub(crate) fn create_system(worker: &mut Worker) -> Result<ProcessRef, OutOfMemory> {
    let block = worker.memory.take(SYSTEM_SIZE)?;
    // Within the chunk, as that has room for it in front of its first block.
    let process = ProcessRef(block.wrapping_sub(PROCESS_SYSTEM as usize).cast());
    process.set_role(Role::System as u8);
    worker.machine.counts.processes.add();
    worker.machine.counts.channels.add();
    Ok(process)
}

/// Frees what `create_system` made.
pub(super) fn free_system(worker: &mut Worker, process: ProcessRef) {
    worker.note_freed(process);
    let block = process.0.cast::<u8>().wrapping_add(PROCESS_SYSTEM as usize);
    worker.memory.give(block, SYSTEM_SIZE);
}

/// Bytes of the end of a communication that a system component has: after the channel is the
/// address of the entries.
const SYSTEM_SIZE: usize =
    (PROCESS_CHANNEL - PROCESS_SYSTEM + CHANNEL_ENTRIES) as usize + size_of::<*mut u64>();

const _: () = assert!(PROCESS_SYSTEM as usize <= CHUNK_FRONT && SYSTEM_SIZE <= CLASS_MAX);

/// Whether a component's processes may still begin to serve.
pub(crate) fn starts_at_once(component: ComponentRef) -> bool {
    component.life() != Life::Beginning as u8
}
