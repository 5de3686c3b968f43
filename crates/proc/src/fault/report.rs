//! Noting faults: they are reported at once, and their components torn down later.

use crate::component;
use crate::fault::Ended;
use crate::fault::Fault;
use crate::fault::reason::Reason;
use crate::handle::{ComponentRef, ProcessRef};
use crate::layout::{Component, UNWINDING};
use crate::machine::Context;
use crate::machine::Worker;
use crate::memory::OutOfMemory;
use crate::outside::note as outside;
use crate::process::Role;
use crate::{channel, crew};

impl Context<'_> {
    /// A terminating component receives no more: its process ends here.
    #[cold]
    pub(crate) fn retire(&mut self, root: ComponentRef) -> u32 {
        self.process.set_frame(self.frame);
        channel::release(self.worker);
        doom(self.worker, root);
        UNWINDING
    }

    /// A fault of the running process. Returns the status for its code.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault(&mut self, reason: Reason, detail: i64, position: u32) -> u32 {
        self.fault_with(reason, reason.message(detail), position)
    }

    /// The same with a more precise text.
    #[cold]
    #[inline(never)]
    pub(crate) fn fault_with(&mut self, reason: Reason, message: String, position: u32) -> u32 {
        self.process.set_frame(self.frame);
        channel::release(self.worker);
        note(self.worker, self.process, reason, message, position);
        UNWINDING
    }

    /// The same where memory ran out.
    #[cold]
    pub(crate) fn out_of_memory(&mut self, _: OutOfMemory, position: u32) -> u32 {
        self.fault(Reason::OutOfMemory, 0, position)
    }
}

/// Notes that a process's component has failed; it is torn down later.
pub(crate) fn note(
    worker: &mut Worker,
    process: ProcessRef,
    reason: Reason,
    message: String,
    position: u32,
) {
    let component = process.component();
    if !component.is_null() && !component.is_doomed() {
        let name = process_name(worker, process);
        report(worker, component, name, (reason, message), position);
    }
}

/// Notes that a component has failed of itself, where it is declared.
pub(crate) fn note_component(
    worker: &mut Worker,
    component: ComponentRef,
    process: &str,
    reason: Reason,
) {
    let position = component.descriptor().position;
    report(worker, component, process.to_owned(), (reason, reason.message(0)), position);
}

pub(crate) fn report(
    worker: &mut Worker,
    component: ComponentRef,
    process: String,
    why: (Reason, String),
    position: u32,
) {
    crew::alone(worker, |worker| report_alone(worker, component, process, why, position));
}

pub(crate) fn report_alone(
    worker: &mut Worker,
    component: ComponentRef,
    process: String,
    (reason, message): (Reason, String),
    position: u32,
) {
    let entry = component.id() == worker.first().machine.entry;
    let program = worker.program();
    let position = program.positions.get(position as usize).copied().unwrap_or_default();
    let fault = Fault {
        reason,
        message,
        file: program.files.get(position.file as usize).cloned().unwrap_or_default(),
        position,
        path: component::path(worker, component),
        process,
        entry,
    };
    crew::pass_on(worker);
    worker.first().machine.console.flush();
    worker.first().machine.reports.fault(&fault);
    outside::note_fault(worker.first(), component, &fault);
    if entry {
        worker.first().machine.outcome.get_or_insert(Ended::Failed { code: None });
    }
    doom(worker, component);
}

/// Reports that there is no memory for the entry component, where that is declared.
pub(crate) fn report_no_entry(worker: &mut Worker, kind: u32) {
    let program = worker.program();
    let descriptor = &program.components[kind as usize];
    let position = program.positions.get(descriptor.position as usize).copied();
    let position = position.unwrap_or_default();
    let first = descriptor.begin.or(descriptor.activity);
    let first = first.and_then(|first| program.functions.get(first as usize));
    let reason = Reason::OutOfMemory;
    let fault = Fault {
        reason,
        message: reason.message(0),
        file: program.files.get(position.file as usize).cloned().unwrap_or_default(),
        position,
        path: descriptor.name.clone(),
        process: first.map_or_else(|| Role::Main.name().to_owned(), |known| known.name.clone()),
        entry: true,
    };
    worker.machine.reports.fault(&fault);
}

/// Has a component torn down as soon as no code of it runs.
pub(crate) fn doom(worker: &mut Worker, component: ComponentRef) {
    component.set_doomed();
    let home = worker.home_awake(component);
    home.machine.doomed.push(component.id());
    home.machine.attend();
}

/// How reports call a process: by the function it began with.
pub(crate) fn process_name(worker: &Worker, process: ProcessRef) -> String {
    let mut frame = process.frame();
    if frame.is_null() {
        return Role::of(process).name().to_owned();
    }
    while let Some(parent) = frame.parent().some() {
        frame = parent;
    }
    let function = worker.program().functions.get(frame.function() as usize);
    function.map_or_else(|| Role::of(process).name().to_owned(), |known| known.name.clone())
}

pub(crate) fn raise(cx: &mut Context, reason: u32, detail: i64, position: u32) -> u32 {
    let reason = Reason::from_number(reason).unwrap_or(Reason::Argument);
    if reason == Reason::Halt && cx.component().id() == cx.worker.machine.entry {
        cx.worker.machine.outcome.get_or_insert(Ended::Failed { code: Some(detail) });
    }
    cx.fault(reason, detail, position)
}

pub(crate) fn raise_type(
    cx: &mut Context,
    component: *mut Component,
    kind: u32,
    position: u32,
) -> u32 {
    let Some(component) = ComponentRef(component).some() else {
        return cx.fault(Reason::Empty, 0, position);
    };
    // Of nested types the name that the source has.
    let own = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
    let is = own(&component.descriptor().name);
    let wanted = cx.worker.program().components.get(kind as usize);
    let message = match wanted {
        Some(wanted) => format!("the component is of type {is}, not {}", own(&wanted.name)),
        None => format!("the component is of type {is}, without the interfaces asked for"),
    };
    cx.fault_with(Reason::Type, message, position)
}

pub(crate) fn halt(cx: &mut Context, code: i64, position: u32) -> u32 {
    if code != 0 {
        return raise(cx, Reason::Halt as u32, code, position);
    }
    cx.process.set_frame(cx.frame);
    cx.worker.machine.halted = true;
    cx.worker.machine.attend();
    UNWINDING
}
