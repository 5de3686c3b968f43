//! Peers that are programs: hand-written C, and the idle model on LuaJIT.
//!
//! A program prints CPU seconds and a result. C is compiled into the target folder when it is
//! measured; LuaJIT is `luajit` on the path, as distributions have it.

use std::process::Command;

use super::{Contender, expect};
use crate::extent::Extent;
use crate::report::Report;
use crate::tool::{self, Temporary, built};

/// The available peers.
pub struct Peers {
    c: Option<Temporary>,
    luajit: bool,
}

impl Peers {
    /// Builds and finds peers; reports those that are missing.
    pub fn new(extent: Extent, report: &mut Report) -> Peers {
        let c = built(extent, report, "c", || Temporary::program("flow", "c/flow.c", &[]));
        let luajit = || tool::stdout_of(Command::new("luajit").arg("-v"), "luajit");
        Peers { c, luajit: built(extent, report, "luajit", luajit).is_some() }
    }

    /// The two variants in C of this benchmark, whose result is known; a run gives packets or
    /// breaths per CPU second.
    pub fn c(
        &self,
        bench: &'static str,
        apps: u64,
        (count, result): (u64, u64),
    ) -> Vec<Contender<'_>> {
        let Some(program) = &self.c else { return Vec::new() };
        let contender = |(who, way): (&str, &'static str)| Contender {
            who: who.to_owned(),
            run: Box::new(move || {
                let mut command = Command::new(program.path());
                command.args([way, bench]).args([apps, count].map(|number| number.to_string()));
                let (seconds, printed) = figures(&mut command, "c")?;
                expect(printed, result)?;
                Ok(count as f64 / seconds)
            }),
        };
        [("c-pointers", "pointers"), ("c-fused", "fused")].into_iter().map(contender).collect()
    }

    /// The two variants on LuaJIT, with `idle` idle breaths first. A run gives breaths per CPU
    /// second.
    pub fn luajit(&self, apps: u64, breaths: u64, idle: u64) -> Vec<Contender<'_>> {
        if !self.luajit {
            return Vec::new();
        }
        let contender = |(who, way): (&str, &'static str)| Contender {
            who: who.to_owned(),
            run: Box::new(move || {
                let mut command = Command::new("luajit");
                command.arg(tool::source("luajit/breath.lua")).arg(way);
                command.args([apps, breaths, idle].map(|number| number.to_string()));
                let (seconds, sum) = figures(&mut command, "luajit")?;
                expect(sum, breaths.saturating_sub(idle) * apps * 100)?;
                Ok(breaths as f64 / seconds)
            }),
        };
        let ways = [("luajit-nested", "nested"), ("luajit-flat", "flat")];
        ways.into_iter().map(contender).collect()
    }
}

fn figures(command: &mut Command, name: &str) -> Result<(f64, u64), String> {
    let text = tool::stdout_of(command, name)?;
    let (seconds, count) = text.trim().split_once(' ').unwrap_or_default();
    match (seconds.parse(), count.parse()) {
        (Ok(seconds), Ok(count)) => Ok((seconds, count)),
        _ => Err(format!("{name} says `{}`", text.trim())),
    }
}
