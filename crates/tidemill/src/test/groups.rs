//! Groups failures by their shape, and shrinks one of each.

use std::fs;
use std::path::Path;

use super::input::Input;
use super::report::{Failure, FailureKind, Group, TestEvent};
use super::shrink::{Shrunk, shrink};
use super::trial::Trials;
use crate::error::Error;
use crate::sim::Simulation;

/// The maximum number of groups that are shrunk.
const SHRUNK_MAX: usize = 10;

/// The failures of a test, by shape, in the order of their first seeds, with the first input of
/// each.
#[derive(Debug, Default)]
pub(super) struct Groups(Vec<(Group, Input)>);

impl Groups {
    /// Adds the failure of an input.
    pub(super) fn add(&mut self, failure: &Failure, input: &Input) {
        if failure.kind != FailureKind::Failed {
            return;
        }
        match self.0.iter_mut().find(|(group, _)| group.shape == failure.shape) {
            Some((group, _)) => group.seeds += 1,
            None => {
                let group = Group {
                    shape: failure.shape.clone(),
                    seeds: 1,
                    first_seed: failure.seed,
                    shrunk: None,
                    arguments: Vec::new(),
                };
                self.0.push((group, input.clone()));
            }
        }
    }

    /// Shrinks the first of each group, and reports the groups.
    ///
    /// # Errors
    /// A script or the diagram cannot be written.
    pub(super) fn report(
        mut self,
        test: &Trials,
        on_event: &mut dyn FnMut(TestEvent<'_>),
    ) -> Result<(), Error> {
        for (number, (group, input)) in self.0.iter_mut().enumerate() {
            if test.is_stopped() {
                break;
            }
            let simulation = test.simulation(input);
            if number < SHRUNK_MAX {
                group.shrunk = shrink(&simulation, &group.shape);
            }
            let name = match number {
                0 => "found.sim".to_owned(),
                number => format!("found-{}.sim", number + 1),
            };
            let folder = test.options.found.as_deref().unwrap_or(Path::new(""));
            let file = folder.join(name);
            if let (Some(shrunk), Some(_)) = (&group.shrunk, &test.options.found) {
                let text: String = shrunk.script.iter().map(|line| format!("{line}\n")).collect();
                fs::write(&file, text).map_err(|error| {
                    Error::System(format!("{}: cannot write: {error}", file.display()))
                })?;
            }
            if let (0, Some(svg)) = (number, &test.options.svg) {
                draw(group.shrunk.as_ref(), &simulation, svg)?;
            }
            let settle = simulation.options().settle;
            let command = &test.options.command;
            group.arguments = command.of_script(&file.display().to_string(), settle);
            on_event(TestEvent::Group(group));
        }
        Ok(())
    }
}

/// Writes a diagram of a shrunk failure; of the run as it was found if it could not be shrunk.
fn draw(shrunk: Option<&Shrunk>, simulation: &Simulation, path: &Path) -> Result<(), Error> {
    let diagram = match shrunk {
        Some(shrunk) => shrunk.diagram.clone(),
        None => simulation.explain()?.map(|explanation| explanation.diagram()),
    };
    let Some(diagram) = diagram else {
        return Err(Error::program("nothing is drawn: the program writes files, and would again"));
    };
    fs::write(path, diagram).map_err(|error| {
        Error::System(format!("{}: cannot write the diagram: {error}", path.display()))
    })
}
