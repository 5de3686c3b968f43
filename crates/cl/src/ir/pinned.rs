//! Which collections have elements whose addresses outlive a change of the collection.
//!
//! A hash table that holds its elements moves them as it grows. That is invisible where every
//! address of an element is used before anything can be inserted into a collection.

use tidemill_stdx::id::IdMap;

use crate::ir::{Function, Instruction, Part, Place, Program, Register, Role, Storage};

/// The collections of scalars, by what they are, with elements that have to stay where they are.
pub fn pinned(program: &Program) -> Vec<Storage> {
    let mut found = Vec::new();
    for function in program.functions.iter() {
        of_function(function, &mut found);
    }
    found
}

fn of_function(function: &Function, found: &mut Vec<Storage>) {
    let mut addresses: IdMap<Register, Vec<&Storage>> = IdMap::default();
    for block in function.blocks.iter() {
        for (instruction, _) in &block.instructions {
            if let Some((to, shape)) = element(instruction) {
                match addresses.get_mut(to) {
                    Some(shapes) => shapes.push(shape),
                    None => _ = addresses.insert(to, vec![shape]),
                }
            }
        }
    }
    let mut pin = |register: Register| {
        for &shape in addresses.get(register).into_iter().flatten() {
            if !found.contains(shape) {
                found.push(shape.clone());
            }
        }
    };
    for block in function.blocks.iter() {
        let mut fresh: Vec<Register> = Vec::new();
        for (instruction, _) in &block.instructions {
            instruction.parts(&mut |part| match part {
                Part::Register(register, Role::Read | Role::Update)
                    if !fresh.contains(&register) || !is_access(instruction, register) =>
                {
                    pin(register);
                }
                _ => {}
            });
            if !leaves_elements(instruction) {
                fresh.clear();
            }
            instruction.parts(&mut |part| {
                if let Part::Register(register, Role::Write | Role::Update) = part {
                    fresh.retain(|&other| other != register);
                }
            });
            fresh.extend(element(instruction).map(|(to, _)| to));
        }
        block.terminator.0.parts(&mut |part| {
            if let Part::Register(register, _) = part {
                pin(register);
            }
        });
    }
}

/// Where the address of an element of scalars goes.
fn element(instruction: &Instruction) -> Option<(Register, &Storage)> {
    match instruction {
        Instruction::Element { to, shape, .. } => match shape {
            Storage::Collection { element, .. } if element.is_scalar() => Some((*to, shape)),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the register is only the address that is read or written.
fn is_access(instruction: &Instruction, register: Register) -> bool {
    match *instruction {
        Instruction::Load { from, .. } => from == Place::At(register),
        Instruction::Store { to, from } => to == Place::At(register) && from != register,
        _ => false,
    }
}

/// Whether all elements of all collections stay where they are.
pub fn leaves_elements(instruction: &Instruction) -> bool {
    matches!(instruction, Instruction::Store { .. }) || instruction.only_reads()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::{Type, parse};

    const ELEMENT: &str = "element %1 $0 collection [integer] integer [register %0] make";
    const STORE: &str = "store %1 %0";

    /// What is pinned by these instructions.
    fn pinned_by(instructions: &[&str]) -> Vec<Storage> {
        let body: String = instructions.iter().map(|one| format!("    {one} ~0:1..2\n")).collect();
        let source = format!(
            r#"
component component0 "A" ~0:0..90
  begin fn0
  activity -
  finally -
function fn0 "A" component0 begin [] -
  register %0 integer
  register %1 address
  register %2 address
  local $0 "c" collection [integer] integer
  local $1 "d" collection [integer integer] integer
  block b0
    constant %0 integer 1 ~0:1..2
{body}    return - ~0:1..2
entry component0
"#
        );
        let program = parse(&source).unwrap_or_else(|error| panic!("{error:?}{source}"));
        pinned(&program)
    }

    #[test]
    fn an_address_that_outlives_an_insertion_pins() {
        let pins = vec![Storage::Collection { keys: vec![Type::Integer], element: Type::Integer }];
        let other =
            "element %2 $1 collection [integer integer] integer [register %0 register %0] make";
        assert_eq!(pinned_by(&[ELEMENT, STORE]), vec![]);
        assert_eq!(pinned_by(&[ELEMENT, "load %0 %1", "binary %0 add %0 %0", STORE]), vec![]);
        assert_eq!(pinned_by(&[ELEMENT, STORE, other, "store %2 %0"]), vec![]);
        assert_eq!(pinned_by(&[ELEMENT, other, "store %2 %0", STORE]), pins);
        assert_eq!(pinned_by(&[ELEMENT, "checkpoint", STORE]), pins);
        assert_eq!(pinned_by(&[ELEMENT, "copy %2 %1", "store %2 %0"]), pins);
    }
}
