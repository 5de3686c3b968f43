//! Statements.

use super::{Generator, Lock, Procedure, Scope, Shape, Sort, Ty, Variable};

/// Loops and calls in loops beyond this are not made.
const LOOPS_MAX: u32 = 3;

impl Generator {
    pub(super) fn statements(&mut self, scope: &mut Scope, most: u64) {
        for _ in 0..1 + self.below(most) {
            self.statement(scope, most / 2);
        }
    }

    fn statement(&mut self, scope: &mut Scope, inner: u64) {
        match self.below(28) {
            0..6 => self.assign(scope),
            6..9 => self.write(scope),
            9 => {
                let target = self.designator(scope, Ty::Integer, true);
                if let Some(target) = target {
                    let (name, by) = (["INC", "DEC"][self.below(2) as usize], self.below(5));
                    self.line(&format!("{name}({target}, {by});"));
                }
            }
            10..12 => self.choice(scope, inner),
            12..14 if scope.loops < LOOPS_MAX => self.repeat(scope, inner),
            14 if scope.loops < LOOPS_MAX => self.for_each(scope, inner),
            15..17 => self.locked(scope, inner),
            17..19 => self.any_call(scope),
            19..22 => self.component(scope),
            22 => self.odd(scope),
            23 => self.remove(scope),
            24 if self.chance(40) && scope.loops > 0 => self.leave(scope),
            25..27 if scope.loops < LOOPS_MAX => self.compute(scope),
            _ => self.write(scope),
        }
    }

    fn assign(&mut self, scope: &mut Scope) {
        let ty = self.ty();
        let Some(target) = self.designator(scope, ty, true) else { return };
        let value = self.expression(scope, ty, 3);
        match ty {
            Ty::Integer if self.chance(80) => {
                let by = 2 + self.below(1000);
                self.line(&format!("{target} := ({value}) MOD {by};"));
            }
            _ => self.line(&format!("{target} := {value};")),
        }
    }

    fn write(&mut self, scope: &mut Scope) {
        let ty = self.ty();
        let value = self.expression(scope, ty, 2);
        match self.below(4) {
            0 if ty == Ty::Integer => self.line(&format!("WRITEHEX({value});")),
            1 => self.line("WRITELINE;"),
            _ => self.line(&format!("WRITE({value}); WRITE(\" \");")),
        }
    }

    fn choice(&mut self, scope: &mut Scope, inner: u64) {
        let condition = self.boolean(scope, 2);
        self.line(&format!("IF {condition} THEN"));
        self.indented(|it| it.statements(scope, inner));
        if self.chance(30) {
            let condition = self.boolean(scope, 1);
            self.line(&format!("ELSIF {condition} THEN"));
            self.indented(|it| it.statements(scope, inner));
        }
        if self.chance(50) {
            self.line("ELSE");
            self.indented(|it| it.statements(scope, inner));
        }
        self.line("END;");
    }

    /// A counter that no loop around uses.
    fn counter(&mut self, scope: &mut Scope) -> Option<String> {
        if scope.counters == 0 {
            return None;
        }
        scope.counters -= 1;
        let counters: Vec<&Variable> = scope
            .variables
            .iter()
            .filter(|known| known.fixed && known.name.starts_with('i'))
            .collect();
        let last = counters.len() - 1 - scope.counters as usize;
        Some(counters[last].name.clone())
    }

    fn repeat(&mut self, scope: &mut Scope, inner: u64) {
        let Some(counter) = self.counter(scope) else { return };
        let rounds = self.below(5);
        scope.loops += 1;
        match self.below(3) {
            0 => {
                let condition = self.boolean(scope, 1);
                self.line(&format!("{counter} := 0;"));
                self.line(&format!("WHILE ({counter} < {rounds}) AND ({condition}) DO"));
                self.indented(|it| {
                    it.line(&format!("INC({counter});"));
                    it.statements(scope, inner);
                });
                self.line("END;");
            }
            1 => {
                let condition = self.boolean(scope, 1);
                self.line(&format!("{counter} := 0;"));
                self.line("REPEAT");
                self.indented(|it| {
                    it.line(&format!("INC({counter});"));
                    it.statements(scope, inner);
                });
                self.line(&format!("UNTIL ({counter} > {rounds}) OR ({condition});"));
            }
            _ => {
                let by = ["", " BY 2", " BY -1"][self.below(3) as usize];
                let (from, to) = (self.below(5), self.below(5));
                self.line(&format!("FOR {counter} := {from} TO {to}{by} DO"));
                self.indented(|it| it.statements(scope, inner));
                self.line("END;");
            }
        }
        scope.loops -= 1;
        scope.counters += 1;
    }

    /// A loop of arithmetic without calls, which passes more than one checkpoint.
    fn compute(&mut self, scope: &mut Scope) {
        let Some(counter) = self.counter(scope) else { return };
        let loops = std::mem::replace(&mut scope.loops, LOOPS_MAX);
        let walked = if self.chance(50) { self.walked(scope) } else { None };
        let (from, most) = match walked {
            Some((_, length)) if self.chance(90) => (self.below(2), length - self.below(2)),
            Some((_, length)) => (self.below(2), length + 1),
            None => {
                let most = if loops == 0 && self.chance(25) { 80 } else { 12 };
                (self.below(4), self.below(most))
            }
        };
        let last = match &walked {
            Some((_, length)) if self.chance(40) => {
                let bound = self.expression(scope, Ty::Integer, 1);
                format!("({bound}) MOD {length}")
            }
            Some(_) => most.saturating_sub(1).to_string(),
            None => most.to_string(),
        };
        match self.below(3) {
            0 => {
                self.line(&format!("{counter} := {from};"));
                self.line(&format!("WHILE {counter} < {most} DO"));
                self.indented(|it| {
                    it.round(scope, loops, &counter, walked.as_ref());
                    it.line(&format!("INC({counter});"));
                });
            }
            1 => {
                self.line(&format!("FOR {counter} := {last} TO {from} BY -1 DO"));
                self.indented(|it| it.round(scope, loops, &counter, walked.as_ref()));
            }
            _ => {
                self.line(&format!("FOR {counter} := {from} TO {last} DO"));
                self.indented(|it| it.round(scope, loops, &counter, walked.as_ref()));
            }
        }
        self.line("END;");
        scope.loops = loops;
        scope.counters += 1;
    }

    /// An array of INTEGER for a loop to go through, and its length.
    fn walked(&mut self, scope: &Scope) -> Option<(String, u64)> {
        let arrays = scope.variables.iter().filter(|it| Generator::reaches(scope, it, true));
        let arrays: Vec<(String, u64)> = arrays
            .filter_map(|known| match known.shape {
                Shape::Array(Ty::Integer, length) => Some((known.name.clone(), length)),
                _ => None,
            })
            .collect();
        self.rng.pick(&arrays).cloned()
    }

    /// An element next to where the counter is.
    fn element(&mut self, (array, length): &(String, u64), counter: &str) -> String {
        let index = match self.below(12) {
            0 => format!("{counter} + 1"),
            1 => format!("{counter} - 1"),
            2 => format!("{} - {counter}", length - 1),
            3 => format!("{counter} DIV 2"),
            4 => format!("({counter} + 1) MOD {length}"),
            _ => counter.to_owned(),
        };
        format!("{array}[{index}]")
    }

    fn round(
        &mut self,
        scope: &mut Scope,
        loops: u32,
        counter: &str,
        walked: Option<&(String, u64)>,
    ) {
        for _ in 0..1 + self.below(4) {
            match self.below(6) {
                0 if loops == 0 && scope.loops == LOOPS_MAX => {
                    scope.loops = 1;
                    self.compute(scope);
                    scope.loops = LOOPS_MAX;
                }
                1 => self.assign(scope),
                2..5 if let Some(walked) = walked => {
                    let (to, from) = (self.element(walked, counter), self.element(walked, counter));
                    let operator = ["+", "-", "*"][self.below(3) as usize];
                    let by = self.below(4);
                    self.line(&format!("{to} := ({from} {operator} {by}) MOD 1000;"));
                }
                kind => {
                    let ty = if kind == 2 { Ty::Real } else { Ty::Integer };
                    let Some(target) = self.designator(scope, ty, true) else { continue };
                    let Some(other) = self.designator(scope, ty, false) else { continue };
                    let operator = ["+", "-", "*"][self.below(3) as usize];
                    let by = match (ty, self.below(3)) {
                        (Ty::Real, _) => format!("REAL({counter})"),
                        (_, 0) => counter.to_owned(),
                        _ => self.below(3).to_string(),
                    };
                    self.line(&format!("{target} := {other} {operator} {by};"));
                }
            }
        }
    }

    /// Goes through a collection, which may change meanwhile.
    fn for_each(&mut self, scope: &mut Scope, inner: u64) {
        let collections: Vec<(String, Ty)> = scope
            .variables
            .iter()
            .filter(|known| Generator::reaches(scope, known, false))
            .filter_map(|known| match known.shape {
                Shape::Collection(key, _) => Some((known.name.clone(), key)),
                Shape::Services(_) => Some((known.name.clone(), Ty::Integer)),
                _ => None,
            })
            .collect();
        let Some((name, key)) = self.rng.pick(&collections).cloned() else { return };
        let keys: Vec<String> = scope
            .variables
            .iter()
            .filter(|known| !known.fixed && known.shape == Shape::One(key))
            .filter(|known| Generator::reaches(scope, known, true))
            .map(|known| known.name.clone())
            .collect();
        let Some(variable) = self.rng.pick(&keys).cloned() else { return };
        scope.loops += 1;
        self.line(&format!("FOREACH {variable} OF {name} DO"));
        self.indented(|it| {
            it.line(&format!("WRITE({variable});"));
            it.statements(scope, inner);
        });
        self.line("END;");
        scope.loops -= 1;
    }

    fn locked(&mut self, scope: &mut Scope, inner: u64) {
        if !scope.may_lock || scope.lock != Lock::None {
            return;
        }
        let lock = if self.chance(70) { Lock::Exclusive } else { Lock::Shared };
        self.line(match lock {
            Lock::Exclusive => "BEGIN {EXCLUSIVE}",
            _ => "BEGIN {SHARED}",
        });
        scope.lock = lock;
        self.indented(|it| {
            if it.chance(15) {
                let condition = it.condition(scope);
                it.line(&format!("AWAIT({condition});"));
            }
            it.statements(scope, inner + 1);
        });
        scope.lock = Lock::None;
        self.line("END;");
    }

    /// A condition that mostly holds, without calls.
    fn condition(&mut self, scope: &mut Scope) -> String {
        let mut inner = Scope { procedures: Vec::new(), ..scope.clone() };
        let condition = self.boolean(&mut inner, 2);
        let condition = condition.replace("RANDOM(", "MIN_OF(");
        if condition.contains("MIN_OF") || self.chance(30) {
            "TRUE".to_owned()
        } else {
            format!("({condition}) OR (TIME >= 0)")
        }
    }

    // ---- calls ----

    fn callable(scope: &Scope, procedure: &Procedure) -> bool {
        (!procedure.needs || scope.lock == Lock::Exclusive)
            && (!procedure.takes || (scope.lock == Lock::None && scope.may_lock))
    }

    fn any_call(&mut self, scope: &mut Scope) {
        if scope.loops >= LOOPS_MAX {
            return;
        }
        let known = scope.procedures.iter().filter(|known| Generator::callable(scope, known));
        let known: Vec<Procedure> = known.cloned().collect();
        let Some(procedure) = self.rng.pick(&known).cloned() else { return };
        self.call(scope, &procedure, None);
    }

    /// A call as a statement; `level` is the procedure's own depth if it calls itself.
    pub(super) fn call(&mut self, scope: &mut Scope, procedure: &Procedure, level: Option<&str>) {
        let Some(arguments) = self.arguments(scope, procedure, level) else { return };
        let call = format!("{}({arguments})", procedure.name);
        match procedure.result {
            None => self.line(&format!("{call};")),
            Some(ty) => match self.designator(scope, ty, true) {
                Some(target) => self.line(&format!("{target} := {call};")),
                None => self.line(&format!("WRITE({call});")),
            },
        }
    }

    /// A call as an expression.
    pub(super) fn function(&mut self, scope: &mut Scope, ty: Ty) -> Option<String> {
        if scope.loops >= LOOPS_MAX {
            return None;
        }
        let known = scope.procedures.iter().filter(|known| Generator::callable(scope, known));
        let known = known.filter(|known| known.result == Some(ty));
        let known: Vec<Procedure> = known.cloned().collect();
        let procedure = self.rng.pick(&known)?.clone();
        scope.loops += 1;
        let arguments = self.arguments(scope, &procedure, None);
        scope.loops -= 1;
        Some(format!("{}({})", procedure.name, arguments?))
    }

    fn arguments(
        &mut self,
        scope: &mut Scope,
        procedure: &Procedure,
        level: Option<&str>,
    ) -> Option<String> {
        let mut all = Vec::new();
        for (number, (ty, by_reference)) in procedure.parameters.iter().enumerate() {
            all.push(if procedure.recursive && number == 0 {
                match level {
                    Some(level) => format!("{level} - 1"),
                    None if self.chance(5) && scope.loops == 0 => "150".to_owned(),
                    None => self.below(4).to_string(),
                }
            } else if *by_reference {
                self.designator(scope, *ty, true)?
            } else {
                self.expression(scope, *ty, 1)
            });
        }
        Some(all.join(", "))
    }

    // ---- components ----

    fn component(&mut self, scope: &mut Scope) {
        let known = scope.variables.iter().filter(|known| {
            matches!(known.shape, Shape::Service(_) | Shape::Services(_))
                && Generator::reaches(scope, known, true)
        });
        let known: Vec<Variable> = known.cloned().collect();
        let Some(variable) = self.rng.pick(&known).cloned() else { return };
        let (service, name) = match variable.shape {
            Shape::Services(number) => (number, format!("{}[{}]", variable.name, self.below(4))),
            Shape::Service(number) => (number, variable.name.clone()),
            _ => return,
        };
        match self.below(8) {
            0 => self.line(&format!("NEW({name});")),
            1 => self.line(&format!("DELETE({name});")),
            2 => {
                let other = known.iter().find(|other| {
                    other.name != variable.name && other.shape == Shape::Service(service)
                });
                if let Some(other) = other.map(|other| other.name.clone()) {
                    self.line(&format!("IF EXISTS({name}) THEN MOVE({name}, {other}) END;"));
                }
            }
            _ => {
                if self.chance(85) {
                    self.line(&format!("IF ~EXISTS({name}) THEN NEW({name}) END;"));
                }
                self.talk(scope, &name, service);
            }
        }
    }

    /// A whole communication.
    pub(super) fn talk(&mut self, scope: &mut Scope, party: &str, service: usize) {
        let service = self.services[service].clone();
        let ask = |it: &mut Generator, scope: &mut Scope| {
            let values: Vec<String> =
                service.asked.iter().map(|ty| it.expression(scope, *ty, 2)).collect();
            let values = values.join(", ");
            let list = if values.is_empty() { values } else { format!("({values})") };
            it.line(&format!("{party}!Ask{list};"));
        };
        let mut targets = Vec::new();
        for ty in &service.answered {
            match self.designator(scope, *ty, true) {
                Some(target) => targets.push(target),
                None => return,
            }
        }
        let list = targets.join(", ");
        let list = if list.is_empty() { list } else { format!("({list})") };
        match service.sort {
            Sort::Single | Sort::Many => {
                ask(self, scope);
                self.line(&format!("{party}?Answer{list};"));
            }
            Sort::Quiet => {
                for _ in 0..1 + self.below(6) {
                    ask(self, scope);
                }
            }
            Sort::Gather => {
                self.line(&format!("{party}!Open;"));
                for _ in 0..self.below(6) {
                    ask(self, scope);
                }
                self.line(&format!("{party}!Close;"));
                self.line(&format!("{party}?Answer{list};"));
            }
        }
    }

    // ---- the rest ----

    fn odd(&mut self, scope: &mut Scope) {
        match self.below(5) {
            0 => {
                let condition = self.boolean(scope, 2);
                self.line(&format!("ASSERT(({condition}) OR (RANDOM(1, 5) > 1), 7);"));
            }
            1 => {
                let delay = self.below(5);
                self.line(&format!("PASSIVATE({delay});"));
            }
            2 => {
                if let Some(text) = self.one_text(scope) {
                    let length = 1 + self.below(6);
                    self.line(&format!("NEW({text}, {length});"));
                    let character = self.expression(scope, Ty::Character, 1);
                    self.line(&format!("{text}[0] := {character};"));
                }
            }
            3 => {
                let arrays: Vec<(String, u64)> = scope
                    .variables
                    .iter()
                    .filter(|known| Generator::reaches(scope, known, true))
                    .filter_map(|known| match known.shape {
                        Shape::Array(_, length) => Some((known.name.clone(), length)),
                        _ => None,
                    })
                    .collect();
                if let Some((name, length)) = self.rng.pick(&arrays).cloned() {
                    self.line(&format!("NEW({name}, {length});"));
                }
            }
            _ => self.line("WRITE(TIME);"),
        }
    }

    fn one_text(&mut self, scope: &Scope) -> Option<String> {
        let texts: Vec<String> = scope
            .variables
            .iter()
            .filter(|known| known.shape == Shape::One(Ty::Text))
            .filter(|known| Generator::reaches(scope, known, true))
            .map(|known| known.name.clone())
            .collect();
        self.rng.pick(&texts).cloned()
    }

    fn remove(&mut self, scope: &mut Scope) {
        let collections: Vec<(String, Ty)> = scope
            .variables
            .iter()
            .filter(|known| Generator::reaches(scope, known, true))
            .filter_map(|known| match known.shape {
                Shape::Collection(key, _) => Some((known.name.clone(), key)),
                Shape::Services(_) => Some((known.name.clone(), Ty::Integer)),
                _ => None,
            })
            .collect();
        if let Some((name, key)) = self.rng.pick(&collections).cloned() {
            let key = self.literal_key(key);
            self.line(&format!("DELETE({name}[{key}]);"));
        }
    }

    /// RETURN from within, also where the monitor is held.
    fn leave(&mut self, scope: &mut Scope) {
        let Some(result) = scope.returns else { return };
        let condition = self.boolean(scope, 1);
        let value = match result {
            Some(ty) => format!(" {}", self.expression(scope, ty, 1)),
            None => String::new(),
        };
        self.line(&format!("IF {condition} THEN RETURN{value} END;"));
    }
}
