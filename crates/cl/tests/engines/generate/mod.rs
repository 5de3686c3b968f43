//! Random programs that are well-formed and end: every loop counts, every recursion descends.
//!
//! A program has some services, each a component with one interface, a state of variables,
//! procedures and an implementation; a later one owns and uses earlier ones. Some components
//! require a service and use it by themselves. The last component owns them all. Every statement
//! stands on lines of its own, so that [`shrink`](crate::shrink) can leave lines away.

mod expression;
mod statement;

use std::fmt::Write;

use tidemill_stdx::rng::Rng;

/// Types of values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    Integer,
    Real,
    Boolean,
    Character,
    Text,
}

pub const TYPES: [Ty; 5] = [Ty::Integer, Ty::Real, Ty::Boolean, Ty::Character, Ty::Text];

impl Ty {
    fn name(self) -> &'static str {
        match self {
            Ty::Integer => "INTEGER",
            Ty::Real => "REAL",
            Ty::Boolean => "BOOLEAN",
            Ty::Character => "CHARACTER",
            Ty::Text => "TEXT",
        }
    }
}

/// What a variable holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    One(Ty),
    /// Of this length.
    Array(Ty, u64),
    /// Key and element.
    Collection(Ty, Ty),
    /// One component, of the service of this number.
    Service(usize),
    /// Services by INTEGER.
    Services(usize),
}

#[derive(Clone, Debug)]
struct Variable {
    name: String,
    shape: Shape,
    /// It belongs to the component: its users hold the monitor.
    shared: bool,
    /// Counters of loops are only read.
    fixed: bool,
}

/// A procedure that can be called.
#[derive(Clone, Debug)]
struct Procedure {
    name: String,
    /// With whether it is VARIABLE.
    parameters: Vec<(Ty, bool)>,
    result: Option<Ty>,
    /// The first parameter limits the depth.
    recursive: bool,
    /// Callers hold the monitor exclusively.
    needs: bool,
    /// It takes the monitor itself.
    takes: bool,
}

/// The messages of a client and a server.
#[derive(Clone, Debug)]
struct Service {
    sort: Sort,
    /// What the client sends, what the server answers.
    asked: Vec<Ty>,
    answered: Vec<Ty>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    /// `IN Ask OUT Answer`: a server process for each time.
    Single,
    /// `{ IN Ask OUT Answer }`.
    Many,
    /// `IN Open { IN Ask } IN Close OUT Answer`.
    Gather,
    /// `{ IN Ask [ OUT Answer ] }`: mostly without an answer.
    Quiet,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Lock {
    None,
    Shared,
    Exclusive,
}

/// Where statements are being made.
#[derive(Clone, Debug)]
struct Scope {
    variables: Vec<Variable>,
    procedures: Vec<Procedure>,
    lock: Lock,
    /// The enclosing code does not hold the monitor, which may be taken.
    may_lock: bool,
    /// In a procedure: what RETURN gives; None in bodies, where there is no RETURN.
    returns: Option<Option<Ty>>,
    /// Loops around, for their costs.
    loops: u32,
    /// Names that are needed for counters.
    counters: u32,
}

/// Makes programs.
pub struct Generator {
    rng: Rng,
    out: String,
    depth: usize,
    services: Vec<Service>,
    names: u32,
}

/// The program of a seed.
pub fn program(seed: u64) -> String {
    let mut generator = Generator {
        rng: Rng::new(seed),
        out: String::new(),
        depth: 0,
        services: Vec::new(),
        names: 0,
    };
    generator.program();
    generator.out
}

impl Generator {
    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.rng.below(100) < percent
    }

    fn ty(&mut self) -> Ty {
        TYPES[self.rng.below(5) as usize]
    }

    fn types(&mut self, most: u64) -> Vec<Ty> {
        (0..self.below(most + 1)).map(|_| self.ty()).collect()
    }

    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{:width$}{text}", "", width = 2 * self.depth);
    }

    fn indented(&mut self, work: impl FnOnce(&mut Self)) {
        self.depth += 1;
        work(self);
        self.depth -= 1;
    }

    fn program(&mut self) {
        let services = self.below(4) as usize;
        for number in 0..services {
            self.service(number);
        }
        let clients: Vec<usize> = (0..services).filter(|_| self.chance(40)).collect();
        for service in &clients {
            self.client(*service);
        }
        self.line("COMPONENT Main;");
        let variables = self.variables(services);
        let mut scope = self.declare(&variables);
        for (number, service) in clients.iter().enumerate() {
            self.line(&format!("VARIABLE client{number}: Client{service};"));
        }
        self.procedures(&mut scope, 3);
        self.line("BEGIN");
        self.indented(|it| {
            it.begin(&mut scope);
            for (number, service) in clients.iter().enumerate() {
                it.line(&format!("NEW(client{number});"));
                let server = scope
                    .variables
                    .iter()
                    .find(|known| known.shared && known.shape == Shape::Service(*service));
                if let Some(server) = server.map(|server| server.name.clone()) {
                    it.line(&format!("IF ~EXISTS({server}) THEN NEW({server}) END;"));
                    it.line(&format!(
                        "CONNECT(Service{service}(client{number}), Service{service}({server}));"
                    ));
                }
            }
            it.statements(&mut scope, 8);
            if it.chance(70) {
                for number in 0..clients.len() {
                    it.line(&format!("DELETE(client{number});"));
                }
            }
        });
        self.activity(&mut scope, 6);
        self.finally(&mut scope);
        self.line("END Main;");
    }

    fn service(&mut self, number: usize) {
        let sort = match self.below(4) {
            0 => Sort::Single,
            1 => Sort::Many,
            2 => Sort::Gather,
            _ => Sort::Quiet,
        };
        let service = Service { sort, asked: self.types(4), answered: self.types(3) };
        let list = |types: &[Ty], prefix: &str| {
            let all = types.iter().enumerate();
            let all: Vec<String> =
                all.map(|(i, ty)| format!("{prefix}{i}: {}", ty.name())).collect();
            if all.is_empty() { String::new() } else { format!("({})", all.join("; ")) }
        };
        let (asked, answered) = (list(&service.asked, "x"), list(&service.answered, "y"));
        self.line(&format!("INTERFACE Service{number};"));
        self.line(&match sort {
            Sort::Single => format!("  IN Ask{asked} OUT Answer{answered}"),
            Sort::Many => format!("  {{ IN Ask{asked} OUT Answer{answered} }}"),
            Sort::Gather => format!("  IN Open {{ IN Ask{asked} }} IN Close OUT Answer{answered}"),
            Sort::Quiet => format!("  {{ IN Ask{asked} [ OUT Answer{answered} ] }}"),
        });
        self.line(&format!("END Service{number};"));
        self.line(&format!("COMPONENT Server{number} OFFERS Service{number};"));
        let variables = self.variables(number);
        let mut scope = self.declare(&variables);
        self.procedures(&mut scope, 2);
        self.implementation(&mut scope.clone(), number, &service);
        self.line("BEGIN");
        self.indented(|it| {
            it.begin(&mut scope);
            it.statements(&mut scope, 3);
        });
        if self.chance(30) {
            self.activity(&mut scope, 3);
        }
        if self.chance(30) {
            self.finally(&mut scope);
        }
        self.line(&format!("END Server{number};"));
        self.services.push(service);
    }

    /// A component that uses a service in its ACTIVITY.
    fn client(&mut self, service: usize) {
        self.line(&format!("COMPONENT Client{service} REQUIRES Service{service};"));
        let variables = self.variables(0);
        let mut scope = self.declare(&variables);
        self.line("PROCEDURE Work;");
        self.counters(&mut scope);
        self.line("VARIABLE round: INTEGER;");
        self.line("BEGIN");
        self.indented(|it| {
            it.statements(&mut scope, 2);
            let rounds = 1 + it.below(4);
            it.line(&format!("FOR round := 1 TO {rounds} DO"));
            it.indented(|it| {
                it.line("BEGIN {EXCLUSIVE}");
                let mut inner = Scope { lock: Lock::Exclusive, may_lock: false, ..scope.clone() };
                inner.loops += 1;
                it.talk(&mut inner, &format!("Service{service}"), service);
                it.line("END;");
                it.statements(&mut scope, 2);
            });
            it.line("END;");
        });
        self.line("END Work;");
        self.line("ACTIVITY");
        self.line("  Work;");
        self.line(&format!("END Client{service};"));
    }

    /// Variables of a component that may own services below `services`.
    fn variables(&mut self, services: usize) -> Vec<Variable> {
        let mut all = Vec::new();
        for _ in 0..2 + self.below(5) {
            let shape = match self.below(10) {
                0..5 => Shape::One(self.ty()),
                5..7 => Shape::Array(self.ty(), 1 + self.below(5)),
                _ => Shape::Collection(self.key(), self.ty()),
            };
            let name = self.name("v");
            all.push(Variable { name, shape, shared: true, fixed: false });
        }
        for service in 0..services {
            let name = self.name("s");
            let shape = Shape::Service(service);
            all.push(Variable { name, shape, shared: true, fixed: false });
            if self.chance(30) {
                let name = self.name("s");
                let shape = Shape::Services(service);
                all.push(Variable { name, shape, shared: true, fixed: false });
            }
        }
        all
    }

    fn key(&mut self) -> Ty {
        [Ty::Integer, Ty::Integer, Ty::Text, Ty::Boolean, Ty::Character][self.below(5) as usize]
    }

    fn declare(&mut self, variables: &[Variable]) -> Scope {
        for variable in variables {
            let text = declaration(variable);
            self.line(&text);
        }
        let mut all = variables.to_vec();
        let name = self.name("i");
        self.line(&format!("VARIABLE {name}0, {name}1, {name}2: INTEGER;"));
        for number in 0..3 {
            let (name, shape) = (format!("{name}{number}"), Shape::One(Ty::Integer));
            all.push(Variable { name, shape, shared: true, fixed: true });
        }
        Scope {
            variables: all,
            procedures: Vec::new(),
            lock: Lock::None,
            may_lock: true,
            returns: None,
            loops: 0,
            counters: 0,
        }
    }

    /// Statements of BEGIN that make arrays and some components.
    fn begin(&mut self, scope: &mut Scope) {
        (scope.lock, scope.may_lock, scope.counters) = (Lock::Exclusive, false, 3);
        for variable in scope.variables.clone() {
            match variable.shape {
                Shape::Array(_, length) if self.chance(95) => {
                    self.line(&format!("NEW({}, {length});", variable.name));
                }
                Shape::Service(_) if self.chance(80) => {
                    self.line(&format!("NEW({});", variable.name));
                }
                _ => {}
            }
        }
    }

    fn activity(&mut self, scope: &mut Scope, statements: u64) {
        (scope.lock, scope.may_lock, scope.counters) = (Lock::None, true, 0);
        self.line("ACTIVITY");
        self.indented(|it| it.statements(scope, statements));
    }

    fn finally(&mut self, scope: &mut Scope) {
        (scope.lock, scope.may_lock, scope.counters) = (Lock::Exclusive, false, 3);
        self.line("FINALLY");
        self.indented(|it| it.statements(scope, 3));
    }

    fn implementation(&mut self, scope: &mut Scope, number: usize, service: &Service) {
        (scope.lock, scope.may_lock) = (Lock::None, true);
        self.line(&format!("IMPLEMENTATION Service{number};"));
        let asked = self.locals(scope, &service.asked);
        self.more_locals(scope);
        self.counters(scope);
        let targets =
            if asked.is_empty() { String::new() } else { format!("({})", asked.join(", ")) };
        self.line("BEGIN");
        self.indented(|it| match service.sort {
            Sort::Single => {
                it.line(&format!("?Ask{targets};"));
                it.statements(scope, 4);
                it.answer(scope, service);
            }
            Sort::Many | Sort::Quiet => {
                it.line("WHILE ?Ask DO");
                it.indented(|it| {
                    it.line(&format!("?Ask{targets};"));
                    scope.loops += 1;
                    it.statements(scope, 4);
                    if service.sort == Sort::Many {
                        it.answer(scope, service);
                    }
                    scope.loops -= 1;
                });
                it.line("END;");
            }
            Sort::Gather => {
                it.line("?Open;");
                it.line("WHILE ?Ask DO");
                it.indented(|it| {
                    it.line(&format!("?Ask{targets};"));
                    scope.loops += 1;
                    it.statements(scope, 3);
                    scope.loops -= 1;
                });
                it.line("END;");
                it.line("?Close;");
                it.answer(scope, service);
            }
        });
        self.line(&format!("END Service{number};"));
    }

    /// Sends the answer.
    fn answer(&mut self, scope: &mut Scope, service: &Service) {
        let values: Vec<String> =
            service.answered.iter().map(|ty| self.expression(scope, *ty, 2)).collect();
        let values =
            if values.is_empty() { String::new() } else { format!("({})", values.join(", ")) };
        self.line(&format!("!Answer{values};"));
    }

    /// Declares a local of each type; their names.
    fn locals(&mut self, scope: &mut Scope, types: &[Ty]) -> Vec<String> {
        let mut names = Vec::new();
        for ty in types {
            let name = self.name("l");
            let shape = Shape::One(*ty);
            let variable = Variable { name: name.clone(), shape, shared: false, fixed: false };
            self.line(&declaration(&variable));
            scope.variables.push(variable);
            names.push(name);
        }
        names
    }

    /// Locals of all sorts.
    fn more_locals(&mut self, scope: &mut Scope) {
        let types = self.types(3);
        self.locals(scope, &types);
        if self.chance(25) {
            let (name, shape) = (self.name("l"), Shape::Collection(self.key(), self.ty()));
            let variable = Variable { name, shape, shared: false, fixed: false };
            self.line(&declaration(&variable));
            scope.variables.push(variable);
        }
        let service = self.below(self.services.len() as u64 + 1) as usize;
        if service < self.services.len() && self.chance(40) {
            let (name, shape) = (self.name("l"), Shape::Service(service));
            let variable = Variable { name, shape, shared: false, fixed: false };
            self.line(&declaration(&variable));
            scope.variables.push(variable);
        }
    }

    /// Declares counters for loops.
    fn counters(&mut self, scope: &mut Scope) {
        let name = self.name("i");
        self.line(&format!("VARIABLE {name}0, {name}1, {name}2: INTEGER;"));
        for number in 0..3 {
            let (name, shape) = (format!("{name}{number}"), Shape::One(Ty::Integer));
            scope.variables.push(Variable { name, shape, shared: false, fixed: true });
        }
        scope.counters = 3;
    }

    fn procedures(&mut self, scope: &mut Scope, most: u64) {
        for _ in 0..self.below(most + 1) {
            self.procedure(scope, 0);
        }
    }

    /// A procedure, now and then with another one inside that reaches its locals.
    fn procedure(&mut self, scope: &mut Scope, nesting: u32) {
        let name = self.name("P");
        let recursive = self.chance(35);
        let result = self.chance(60).then(|| self.ty());
        let monitor = self.below(4);
        let (needs, takes) = (monitor == 0, monitor == 1 && nesting == 0);
        let mut parameters: Vec<(Ty, bool)> = Vec::new();
        if recursive {
            parameters.push((Ty::Integer, false));
        }
        let most = if self.chance(10) { 12 } else { 3 };
        for ty in self.types(most) {
            parameters.push((ty, self.chance(35)));
        }
        let mut inner = Scope {
            lock: if needs { Lock::Exclusive } else { Lock::None },
            may_lock: takes,
            returns: Some(result),
            loops: scope.loops,
            ..scope.clone()
        };
        inner.procedures.retain(|known| (needs || !known.needs) && (takes || !known.takes));
        let mut list = Vec::new();
        for (number, (ty, by_reference)) in parameters.iter().enumerate() {
            let name = self.name("p");
            let variable = if *by_reference { "VARIABLE " } else { "" };
            list.push(format!("{variable}{name}: {}", ty.name()));
            let fixed = recursive && number == 0;
            let shape = Shape::One(*ty);
            inner.variables.push(Variable { name, shape, shared: false, fixed });
        }
        let ty = result.map_or(String::new(), |ty| format!(": {}", ty.name()));
        self.line(&format!("PROCEDURE {name}({}){ty};", list.join("; ")));
        self.depth += 1;
        self.more_locals(&mut inner);
        self.counters(&mut inner);
        let own = Procedure { name: name.clone(), parameters, result, recursive, needs, takes };
        if nesting == 0 && self.chance(25) {
            self.procedure(&mut inner, 1);
        }
        self.line("BEGIN");
        self.depth += 1;
        if recursive {
            let first = list[0].split(':').next().unwrap_or_default().to_owned();
            let value = result.map_or(String::new(), |ty| format!(" {}", self.literal(ty)));
            self.line(&format!("IF {first} <= 0 THEN RETURN{value} END;"));
            let mut below = inner.clone();
            below.loops += 2;
            self.statements(&mut below, 2);
            self.call(&mut below, &own, Some(&first));
        }
        inner.loops += 1;
        self.statements(&mut inner, 4);
        if let Some(ty) = result
            && self.chance(95)
        {
            let value = self.expression(&mut inner, ty, 2);
            self.line(&format!("RETURN {value}"));
        }
        self.depth -= 2;
        self.line(&format!("END {name};"));
        scope.procedures.push(own);
    }
}

fn declaration(variable: &Variable) -> String {
    let name = &variable.name;
    match variable.shape {
        Shape::One(ty) => format!("VARIABLE {name}: {};", ty.name()),
        Shape::Array(ty, _) => format!("VARIABLE {name}[i: INTEGER]: {} {{ARRAY}};", ty.name()),
        Shape::Collection(key, ty) => {
            format!("VARIABLE {name}[k: {}]: {};", key.name(), ty.name())
        }
        Shape::Service(number) => format!("VARIABLE {name}: Server{number};"),
        Shape::Services(number) => format!("VARIABLE {name}[k: INTEGER]: Server{number};"),
    }
}
