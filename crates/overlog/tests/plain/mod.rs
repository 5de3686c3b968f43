//! Random programs on simulated nodes against a minimal evaluator.
//!
//! On one node several rows, including rows of views, are inserted and deleted in one turn. On
//! several nodes rows change under loss, duplication, reordering and crashes; at rest the tables
//! hold exactly the consequences of the remaining rows. With soft state, rows have a lifetime, and
//! rules fire for arrivals; with loss and crashes, the rows that are refreshed all the time decide
//! the state at rest, including aggregates of them.
//!
//! `CASES=100000 cargo test --release -p tidemill-overlog --test it plain` runs more of them, from
//! seed `FROM` on; `SECONDS=600` runs each for 600 seconds. `cargo xtask soak compare` does so.

mod evaluate;
mod program;
mod soft;

use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::harness::Network;
use evaluate::{Row, State, derivations, evaluate};
use program::{NODES, Program, Reach, node};
use tidemill_event::Conditions;
use tidemill_stdx::rng::Rng;
use tidemill_support::variable;

/// Seeds: a few, or the number in the environment.
fn cases(few: u64) -> impl Iterator<Item = u64> {
    let (from, seconds) = (variable("FROM").unwrap_or(0), variable("SECONDS"));
    let count = variable("CASES").unwrap_or(if seconds.is_some() { u64::MAX >> 1 } else { few });
    let start = Instant::now();
    let until = seconds.map(|seconds| start + Duration::from_secs(seconds));
    (from..from + count).take_while(move |_| until.is_none_or(|end| Instant::now() < end))
}

/// The changes of one turn.
type Turn = Vec<(bool, String, Row)>;

fn tuple(name: &str, row: &Row) -> String {
    format!("{name}({})", row.join(", "))
}

fn random_row(random: &mut Rng, arity: usize, at: Option<usize>) -> Row {
    let mut row: Row = (0..arity).map(|_| node(random.below(NODES as u64) as usize)).collect();
    if let Some(at) = at {
        row[0] = node(at);
    }
    row
}

fn held(network: &Network, program: &Program, nodes: usize) -> State {
    let mut state = State::new();
    for (name, _) in program.relations() {
        let rows = state.entry(name.clone()).or_default();
        for at in 0..nodes {
            for row in network.rows(at as u32, name) {
                let inner = &row[name.len() + 1..row.len() - 1];
                rows.insert(inner.split(", ").map(str::to_owned).collect());
            }
        }
    }
    state
}

fn difference(held: &State, wanted: &State) -> String {
    let mut text = String::new();
    for (name, rows) in held {
        let none = BTreeSet::new();
        let wanted = wanted.get(name).unwrap_or(&none);
        for row in rows.difference(wanted) {
            text += &format!("  {} should not be there\n", tuple(name, row));
        }
        for row in wanted.difference(rows) {
            text += &format!("  {} is missing\n", tuple(name, row));
        }
    }
    text
}

/// Runs a program; an error describes the difference.
type Run<'r, T> = &'r dyn Fn(&Program, &[T]) -> Result<(), String>;

/// Removes turns and rules as long as the case still fails, and shows the rest.
fn report<T: Clone>(
    seed: u64,
    program: &Program,
    turns: &[T],
    show: fn(&T) -> String,
    run: Run<'_, T>,
) {
    let judge = |program: &Program, turns: &[T]| {
        let run = AssertUnwindSafe(|| run(program, turns));
        catch_unwind(run).unwrap_or_else(|_| Err("a panic".to_owned()))
    };
    let Err(mut wrong) = judge(program, turns) else { return };
    let (mut program, mut turns) = (program.clone(), turns.to_vec());
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    loop {
        let fewer_turns = (0..turns.len()).rev().find_map(|at| {
            let mut turns = turns.clone();
            turns.remove(at);
            judge(&program, &turns).err().map(|wrong| (turns, wrong))
        });
        if let Some((fewer, found)) = fewer_turns {
            (turns, wrong) = (fewer, found);
            continue;
        }
        let fewer_rules = (0..program.rules.len()).rev().find_map(|at| {
            let mut program = program.clone();
            program.rules.remove(at);
            let found = judge(&program, &turns).err().filter(|wrong| wrong != "a panic");
            found.map(|wrong| (program, wrong))
        });
        match fewer_rules {
            Some((fewer, found)) => (program, wrong) = (fewer, found),
            None => break,
        }
    }
    std::panic::set_hook(quiet);
    let rules: Vec<String> = program.rules.iter().map(ToString::to_string).collect();
    let turns: Vec<String> = turns.iter().map(show).collect();
    panic!("seed {seed}\n{}\n{}\n{wrong}", rules.join("\n"), turns.join("\n"));
}

/// One node: after every turn the rows are the asserted and the derived ones, where a derivation
/// that held before the turn does not restore a row that was absent or is deleted in the turn.
#[test]
fn deletes_and_inserts_on_one_node() {
    for seed in cases(60) {
        let mut random = Rng::new(seed);
        let program = Program::random(&mut random, Reach::Local);
        let changeable: Vec<&(String, usize)> =
            program.relations().filter(|(name, _)| !name.starts_with('g')).collect();
        let turns: Vec<Turn> = (0..random.range(3..=10))
            .map(|turn| {
                let count = if turn == 0 { 8 } else { random.range(1..=3) };
                (0..count)
                    .map(|_| {
                        let stored = random.chance(0.6);
                        let from = if stored { &changeable[..2] } else { &changeable[..] };
                        let (name, arity) = random.pick(from).expect("tables");
                        let put = random.chance(if turn == 0 { 1.0 } else { 0.5 });
                        (put, name.clone(), random_row(&mut random, *arity, Some(0)))
                    })
                    .collect()
            })
            .collect();
        report(seed, &program, &turns, |turn| format!("{turn:?}"), &|program, turns| {
            run_local(program, turns, seed)
        });
    }
}

fn run_local(program: &Program, turns: &[Turn], seed: u64) -> Result<(), String> {
    let mut network = Network::new(&program.to_string(), 1, seed);
    let (mut asserted, mut state) = (State::new(), State::new());
    for turn in turns {
        let mut deleted = BTreeSet::new();
        // The inserts and deletes of one turn: the rules that delete come second.
        for (name, _) in program.relations() {
            for put in [true, false] {
                for (_, _, row) in turn.iter().filter(|one| one.0 == put && one.1 == *name) {
                    let staged = if put { "put" } else { "cut" };
                    network.inject(0, &tuple(&format!("{staged}_{name}"), row));
                    let rows = asserted.entry(name.clone()).or_default();
                    if put {
                        rows.insert(row.clone());
                    } else {
                        rows.remove(row);
                        deleted.insert((name.clone(), row.clone()));
                    }
                }
            }
        }
        network.inject(0, "go(\"n0:1\")").inject(0, "clear(\"n0:1\")").run_for(0.1);
        let before = derivations(program, &state);
        let old = std::mem::take(&mut state);
        let supports = |derivation: &_, name: &str, row: &Row| {
            let stood = old.get(name).is_some_and(|rows| rows.contains(row));
            !before.contains(derivation)
                || stood && !deleted.contains(&(name.to_owned(), row.clone()))
        };
        state = evaluate(program, &asserted, &supports);
        let held = held(&network, program, 1);
        if held != state {
            return Err(format!("after {turn:?}\n{}", difference(&held, &state)));
        }
    }
    Ok(())
}

/// A step on several nodes.
#[derive(Clone, Debug)]
enum Step {
    Put(String, Row),
    Cut(String, Row),
    /// A node ends without notice and restarts without its rows, which are inserted again.
    Crash(usize),
    /// Nothing for this number of milliseconds.
    Wait(u64),
}

#[test]
fn rows_come_and_go_on_several_nodes() {
    several_nodes(25, 0.0);
}

#[test]
fn rows_come_and_go_on_several_nodes_that_crash() {
    several_nodes(8, 0.15);
}

fn random_steps(random: &mut Rng, program: &Program, crashes: f64) -> Vec<Step> {
    (0..random.range(3..=14))
        .map(|step| {
            let (name, arity) = random.pick(&program.layers[0]).cloned().expect("tables");
            let row = random_row(random, arity, None);
            match random.below(10) {
                _ if random.chance(crashes) => Step::Crash(random.below(NODES as u64) as usize),
                _ if step < 3 => Step::Put(name, row),
                0..=3 => Step::Put(name, row),
                4..=6 => Step::Cut(name, row),
                _ => Step::Wait(random.below(300)),
            }
        })
        .collect()
}

fn several_nodes(few: u64, crashes: f64) {
    for seed in cases(few) {
        let mut random = Rng::new(seed);
        let program = Program::random(&mut random, Reach::Nodes);
        let steps = random_steps(&mut random, &program, crashes);
        report(seed, &program, &steps, |step| format!("{step:?}"), &|program, steps| {
            run_nodes(program, steps, seed)
        });
    }
}

/// The node of a row.
fn at(row: &Row) -> usize {
    (0..NODES).find(|&number| node(number) == row[0]).expect("a node")
}

fn evil_network(program: &Program, seed: u64) -> Network {
    let evil = [0.0, 0.02, 0.1][seed as usize % 3];
    let conditions =
        Conditions { loss: evil, duplicate: evil, reorder: evil, ..Conditions::default() };
    Network::under(conditions, &program.to_string(), NODES as u32, seed)
}

fn run_nodes(program: &Program, steps: &[Step], seed: u64) -> Result<(), String> {
    let mut network = evil_network(program, seed);
    let mut asserted = State::new();
    let mut crashed = false;
    for step in steps {
        match step {
            Step::Put(name, row) => {
                asserted.entry(name.clone()).or_default().insert(row.clone());
                network.inject(at(row) as u32, &tuple(name, row));
            }
            Step::Cut(name, row) => {
                asserted.entry(name.clone()).or_default().remove(row);
                network.delete(at(row) as u32, &tuple(name, row));
            }
            Step::Wait(ms) => {
                network.run_for(*ms as f64 / 1000.0);
            }
            Step::Crash(victim) => {
                crashed = true;
                network.crash(*victim as u32).run_for(1.0);
                network.restart(*victim as u32).run_for(0.5);
                for (name, rows) in &asserted {
                    for row in rows.iter().filter(|row| at(row) == *victim) {
                        network.inject(*victim as u32, &tuple(name, row));
                    }
                }
            }
        }
    }
    network.run_for(if crashed { 60.0 } else { 15.0 });
    // A row whose location is a number has no node.
    let wanted = evaluate(program, &asserted, &|_, _, row| row[0].starts_with('"'));
    let held = held(&network, program, NODES);
    if held == wanted { Ok(()) } else { Err(difference(&held, &wanted)) }
}

#[test]
fn soft_state_comes_and_goes_on_one_node() {
    soft_state(40, Reach::Local);
}

#[test]
fn soft_state_comes_and_goes_on_several_nodes() {
    soft_state(40, Reach::Nodes);
}

fn soft_state(few: u64, reach: Reach) {
    for seed in cases(few) {
        let mut random = Rng::new(seed);
        let program = soft::program(&mut random, reach);
        let steps: Vec<soft::Step> = (0..random.range(3..=14))
            .map(|_| {
                let (name, arity) = random.pick(&program.layers[0]).cloned().expect("tables");
                let at = (reach == Reach::Local).then_some(0);
                let row = random_row(&mut random, arity, at);
                match random.below(10) {
                    0..=5 => soft::Step::Put(name, row),
                    6..=7 => soft::Step::Cut(name, row),
                    _ => soft::Step::Rest,
                }
            })
            .collect();
        report(seed, &program, &steps, |step| format!("{step:?}"), &|program, steps| {
            run_soft(program, steps, if reach == Reach::Local { 1 } else { NODES }, seed)
        });
    }
}

fn run_soft(
    program: &Program,
    steps: &[soft::Step],
    nodes: usize,
    seed: u64,
) -> Result<(), String> {
    let mut network = Network::new(&program.to_string(), nodes as u32, seed);
    let mut wanted = soft::Soft::new(program);
    for (second, step) in (1..).zip(steps) {
        network.run_to(second as f64);
        match step {
            soft::Step::Put(name, row) => network.inject(at(row) as u32, &tuple(name, row)),
            soft::Step::Cut(name, row) => network.delete(at(row) as u32, &tuple(name, row)),
            soft::Step::Rest => &mut network,
        };
        network.run_to(second as f64 + 0.49);
        let (held, wanted) = (held(&network, program, nodes), wanted.step(second, step));
        if held != *wanted {
            return Err(format!("in second {second}\n{}", difference(&held, wanted)));
        }
    }
    Ok(())
}

#[test]
fn soft_state_and_aggregates_are_right_at_rest() {
    soft_state_at_rest(25, 0.0);
}

#[test]
fn soft_state_and_aggregates_are_right_at_rest_after_crashes() {
    soft_state_at_rest(25, 0.15);
}

fn soft_state_at_rest(few: u64, crashes: f64) {
    let (mut programs, derived) = (0, Cell::new(0));
    for seed in cases(few) {
        let mut random = Rng::new(seed);
        let program = soft::program_at_rest(&mut random);
        let steps = random_steps(&mut random, &program, crashes);
        report(seed, &program, &steps, |step| format!("{step:?}"), &|program, steps| {
            run_to_rest(program, steps, seed, &derived)
        });
        programs += 1;
    }
    assert!(derived.get() > programs, "{} soft rows in {programs} programs", derived.get());
}

/// Asserted soft rows are refreshed twice a second. Adds the number of rows that are derived from
/// soft state.
fn run_to_rest(
    program: &Program,
    steps: &[Step],
    seed: u64,
    derived: &Cell<usize>,
) -> Result<(), String> {
    let mut network = evil_network(program, seed);
    let mut asserted = State::new();
    let is_soft = |name: &String| program.lifetimes.contains_key(name);
    let run_for = |network: &mut Network, asserted: &State, seconds: u32, dead: Option<usize>| {
        for _ in 0..2 * seconds {
            for (name, rows) in asserted.iter().filter(|(name, _)| is_soft(name)) {
                for row in rows.iter().filter(|row| Some(at(row)) != dead) {
                    network.inject(at(row) as u32, &tuple(name, row));
                }
            }
            network.run_for(0.5);
        }
    };
    for step in steps {
        match step {
            Step::Put(name, row) => {
                asserted.entry(name.clone()).or_default().insert(row.clone());
                network.inject(at(row) as u32, &tuple(name, row));
            }
            Step::Cut(name, row) => {
                asserted.entry(name.clone()).or_default().remove(row);
                network.delete(at(row) as u32, &tuple(name, row));
            }
            Step::Wait(ms) => {
                network.run_for(*ms as f64 / 1000.0);
                run_for(&mut network, &asserted, 1, None);
            }
            Step::Crash(victim) => {
                network.crash(*victim as u32);
                run_for(&mut network, &asserted, 1, Some(*victim));
                network.restart(*victim as u32);
                for (name, rows) in &asserted {
                    for row in rows.iter().filter(|row| at(row) == *victim) {
                        network.inject(*victim as u32, &tuple(name, row));
                    }
                }
                run_for(&mut network, &asserted, 1, None);
            }
        }
    }
    run_for(&mut network, &asserted, 70, None);
    let (held, wanted) = (held(&network, program, NODES), soft::at_rest(program, &asserted));
    let tables = program.layers[1..].iter().flatten().filter(|(name, _)| is_soft(name));
    derived.set(derived.get() + tables.map(|(name, _)| wanted[name].len()).sum::<usize>());
    if held == wanted { Ok(()) } else { Err(difference(&held, &wanted)) }
}
