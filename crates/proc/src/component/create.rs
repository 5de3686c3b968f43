//! Making components.

use crate::Life;
use crate::component::adopt;
use crate::crew;
use crate::handle::{ComponentRef, Words};
use crate::layout::OK;
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::process::{self, Role};

/// A component with its main process, if its type has any code to run.
pub(crate) fn create(
    worker: &mut Worker,
    kind: u32,
    owner: ComponentRef,
    synchronous: bool,
) -> Result<ComponentRef, OutOfMemory> {
    let program = worker.program();
    let descriptor = &program.components[program.latest[kind as usize] as usize];
    let size = descriptor.size as usize;
    let component = ComponentRef(worker.memory.take(size)?.cast());
    component.set_kind(descriptor);
    component.set_worker(crew::index(worker));
    if let Err(error) = worker.machine.table.insert(&mut worker.head.memory, component) {
        worker.memory.give(component.0.cast(), size);
        return Err(error);
    }
    if synchronous {
        component.set_synchronous();
    }
    if descriptor.begin.is_none() {
        component.set_life(Life::Running as u8);
    }
    if descriptor.begin.is_some() || descriptor.activity.is_some() {
        let functions = [descriptor.begin, descriptor.activity];
        match process::create_body(worker, component, Role::Main, functions) {
            Ok(main) => worker.wake(main),
            Err(error) => {
                worker.machine.table.remove(component);
                worker.memory.give(component.0.cast(), size);
                return Err(error);
            }
        }
    }
    worker.machine.counts.components.add();
    adopt(owner, component);
    Ok(component)
}

pub(crate) fn new(
    cx: &mut Context,
    word: *mut u64,
    kind: u32,
    synchronous: u32,
    position: u32,
) -> u32 {
    let owner = cx.component();
    let make = |worker: &mut Worker| create(worker, kind, owner, synchronous != 0);
    let full = cx.worker.machine.table.is_full();
    match if full { crew::alone(cx.worker, make) } else { make(cx.worker) } {
        Ok(component) => {
            Words(word).set(0, component.to_word());
            OK
        }
        Err(error) => cx.out_of_memory(error, position),
    }
}
