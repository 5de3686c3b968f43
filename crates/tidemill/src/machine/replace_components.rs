//! Replaces running components by their new versions, as far as possible.

use tidemill_cl::ir::succession::Succession;
use tidemill_diag::Sources;
use tidemill_event::Loop;

use super::{Machine, Versions};
use crate::borders::Checked;
use crate::error::Error;

/// Why they cannot be replaced.
pub(super) fn refused(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    running: &Versions,
    succession: &Succession,
    (before, next): (&Checked, &Checked),
) -> Option<String> {
    if running.making.spreads() {
        return Some("its components run on several loops, and cannot be replaced".to_owned());
    }
    let borders = &machine.node.borders;
    let have_instances = borders.instances.is_some() && !borders.flows.is_empty();
    if have_instances || machine.crew.is_some() && machine.maker.is_some() {
        return Some("its components run on several workers, and cannot be replaced".to_owned());
    }
    if machine.has.entry && succession.begins_otherwise {
        let components = &running.program.components;
        let name = running.program.entry.map_or("", |entry| components[entry].name.as_str());
        return Some(format!("its entry component {name} has changed, and cannot be replaced"));
    }
    let interfaces = |checked: &Checked| -> Vec<String> {
        checked.rules.iter().map(|border| border.interface.clone()).collect()
    };
    if interfaces(before) != interfaces(next) {
        return Some("its interfaces for rules have changed, and cannot be replaced".to_owned());
    }
    let mut why = None;
    machine.at_each_node(events, |machine, _| {
        let worker = machine.node.runner.worker();
        let mut replaced = succession.replaced.iter();
        if let Some(used) = replaced.find(|interface| worker.uses(interface.raw())) {
            let name = &running.program.interfaces[*used].name;
            why = Some(format!("interface {name} has changed, is in use, and cannot be replaced"));
        }
        let names = succession.program.interfaces.iter().map(|it| it.name.as_str());
        if let Some(name) = machine.node.systems.lacks(names) {
            why = Some(format!("its components use {name} now, which cannot be added"));
        }
    });
    why
}

/// Replaces the components of all nodes by a version that is not [`refused`].
///
/// # Errors
/// The code cannot be compiled; nothing has changed.
pub(super) fn replace(
    machine: &mut Machine,
    events: &mut Loop<Machine>,
    running: &mut Versions,
    succession: Succession,
    sources: (&Sources, u32),
) -> Result<(), Error> {
    if succession.program == running.program {
        return Ok(());
    }
    let made = running.making.next(&running.made, &succession, sources)?;
    machine.at_each_node(events, |machine, _| {
        // Each node runs the code from which the next version was derived.
        let done = machine.node.runner.worker().go_on(&made);
        debug_assert_eq!(done, Ok(()));
        machine.node.systems.learn(&made);
    });
    (running.program, running.made) = (succession.program, made);
    machine.note("goes on with the new components");
    Ok(())
}
