//! Expressions of a type that is wanted.

use super::{Generator, Lock, Scope, Shape, Ty, Variable};

impl Generator {
    pub(super) fn literal(&mut self, ty: Ty) -> String {
        match ty {
            Ty::Integer => match self.below(20) {
                0 => "MAX(INTEGER)".to_owned(),
                1 => "MIN(INTEGER)".to_owned(),
                2 => self.below(1 << 40).to_string(),
                _ => self.below(12).to_string(),
            },
            Ty::Real => format!("{}.{}", self.below(100), self.below(100)),
            Ty::Boolean => ["TRUE", "FALSE"][self.below(2) as usize].to_owned(),
            Ty::Character => match self.below(3) {
                0 => format!("0{:X}X", self.below(256)),
                _ => format!("\"{}\"", char::from(b'a' + self.below(26) as u8)),
            },
            Ty::Text => {
                let length = if self.chance(10) { 0 } else { 2 + self.below(12) };
                let letters = (0..length).map(|_| char::from(b'a' + self.below(4) as u8));
                format!("\"{}\"", letters.collect::<String>())
            }
        }
    }

    /// Whether the scope may read, or write, a variable.
    pub(super) fn reaches(scope: &Scope, variable: &Variable, writes: bool) -> bool {
        match (variable.shared, writes) {
            (false, false) => true,
            (false, true) => !variable.fixed,
            (true, false) => scope.lock != Lock::None,
            (true, true) => scope.lock == Lock::Exclusive && !variable.fixed,
        }
    }

    /// A variable or element of the type.
    pub(super) fn designator(&mut self, scope: &mut Scope, ty: Ty, writes: bool) -> Option<String> {
        let fits = |variable: &&Variable| {
            let holds = match variable.shape {
                Shape::One(of) | Shape::Array(of, _) | Shape::Collection(_, of) => of == ty,
                _ => false,
            };
            holds && Generator::reaches(scope, variable, writes)
        };
        let known: Vec<Variable> = scope.variables.iter().filter(fits).cloned().collect();
        let variable = self.rng.pick(&known)?.clone();
        Some(match variable.shape {
            Shape::Array(_, length) => {
                let index = match self.below(10) {
                    0 => self.expression(scope, Ty::Integer, 1),
                    1 => self.below(length + 2).to_string(),
                    2..5 => {
                        let index = self.expression(scope, Ty::Integer, 1);
                        format!("({index}) MOD {length}")
                    }
                    _ => self.below(length).to_string(),
                };
                format!("{}[{index}]", variable.name)
            }
            Shape::Collection(key, _) => {
                let key = match self.below(3) {
                    0 => self.expression(scope, key, 1),
                    _ => self.literal_key(key),
                };
                format!("{}[{key}]", variable.name)
            }
            _ => variable.name,
        })
    }

    pub(super) fn literal_key(&mut self, key: Ty) -> String {
        match key {
            Ty::Integer => self.below(4).to_string(),
            Ty::Text => ["\"xy\"", "\"yz\"", "\"\""][self.below(3) as usize].to_owned(),
            other => self.literal(other),
        }
    }

    pub(super) fn expression(&mut self, scope: &mut Scope, ty: Ty, depth: u32) -> String {
        if depth == 0 || self.chance(25) {
            return self.leaf(scope, ty);
        }
        if self.chance(12)
            && let Some(call) = self.function(scope, ty)
        {
            return call;
        }
        match ty {
            Ty::Integer => self.integer(scope, depth - 1),
            Ty::Real => self.real(scope, depth - 1),
            Ty::Boolean => self.boolean(scope, depth - 1),
            Ty::Character => match self.below(3) {
                0 => {
                    let code = self.expression(scope, Ty::Integer, depth - 1);
                    format!("CHARACTER(({code}) MOD 256)")
                }
                1 => match self.designator(scope, Ty::Text, false) {
                    Some(text) if self.chance(30) => format!("{text}[{}]", self.below(4)),
                    _ => self.leaf(scope, ty),
                },
                _ => self.leaf(scope, ty),
            },
            Ty::Text => match self.below(4) {
                0 => self.leaf(scope, ty),
                _ => {
                    let of = [Ty::Integer, Ty::Real, Ty::Boolean, Ty::Character];
                    let of = of[self.below(4) as usize];
                    let value = self.expression(scope, of, depth - 1);
                    format!("TEXT({value})")
                }
            },
        }
    }

    fn leaf(&mut self, scope: &mut Scope, ty: Ty) -> String {
        if self.chance(60)
            && let Some(designator) = self.designator(scope, ty, false)
        {
            return designator;
        }
        self.literal(ty)
    }

    fn integer(&mut self, scope: &mut Scope, depth: u32) -> String {
        let a = self.expression(scope, Ty::Integer, depth);
        match self.below(14) {
            0..3 => {
                let b = self.expression(scope, Ty::Integer, depth);
                format!("({a} + {b})")
            }
            3..5 => {
                let b = self.expression(scope, Ty::Integer, depth);
                format!("({a} - {b})")
            }
            5 => {
                let b = self.expression(scope, Ty::Integer, depth);
                format!("(({a}) MOD 100 * (({b}) MOD 100))")
            }
            6 => {
                let b = self.expression(scope, Ty::Integer, depth);
                format!("(({a}) DIV ({b}))")
            }
            7 => format!("(({a}) DIV {})", 1 + self.below(9)),
            8 => format!("(({a}) MOD {})", 1 + self.below(9)),
            9 => format!("(-({a}))"),
            10 => {
                let text = self.expression(scope, Ty::Text, depth);
                format!("LENGTH({text})")
            }
            11 => {
                let character = self.expression(scope, Ty::Character, depth);
                format!("INTEGER({character})")
            }
            12 => {
                let real = self.expression(scope, Ty::Real, depth);
                format!("INTEGER({real})")
            }
            _ => format!("RANDOM({}, {})", self.below(5), 4 + self.below(9)),
        }
    }

    fn real(&mut self, scope: &mut Scope, depth: u32) -> String {
        let a = self.expression(scope, Ty::Real, depth);
        match self.below(8) {
            operator @ 0..3 => {
                let b = self.expression(scope, Ty::Real, depth);
                format!("({a} {} {b})", ["+", "-", "*"][operator as usize])
            }
            3 => format!("({a} / {}.5)", self.below(9)),
            4 => format!("SQRT({a} * {a})"),
            5 => format!("{}({a})", ["SIN", "COS", "ARCTAN"][self.below(3) as usize]),
            6 => format!("(-({a}))"),
            _ => {
                let integer = self.expression(scope, Ty::Integer, depth);
                format!("REAL({integer})")
            }
        }
    }

    pub(super) fn boolean(&mut self, scope: &mut Scope, depth: u32) -> String {
        match self.below(10) {
            0 => {
                let a = self.expression(scope, Ty::Boolean, depth);
                format!("(~({a}))")
            }
            operator @ 1..4 => {
                let a = self.expression(scope, Ty::Boolean, depth);
                let b = self.expression(scope, Ty::Boolean, depth);
                format!("({a} {} {b})", if operator == 1 { "OR" } else { "AND" })
            }
            4 => self.exists(scope),
            _ => {
                let ty = self.ty();
                let a = self.expression(scope, ty, depth);
                let b = self.expression(scope, ty, depth);
                let operators = match ty {
                    Ty::Boolean => 2,
                    _ => 6,
                };
                let operator = ["=", "#", "<", "<=", ">", ">="][self.below(operators) as usize];
                format!("(({a}) {operator} ({b}))")
            }
        }
    }

    fn exists(&mut self, scope: &mut Scope) -> String {
        let known: Vec<Variable> = scope
            .variables
            .iter()
            .filter(|known| Generator::reaches(scope, known, false))
            .cloned()
            .collect();
        let found = known.iter().filter_map(|variable| match variable.shape {
            Shape::Collection(key, _) => Some((variable.name.clone(), Some(key))),
            Shape::Services(_) => Some((variable.name.clone(), Some(Ty::Integer))),
            Shape::Service(_) => Some((variable.name.clone(), None)),
            _ => None,
        });
        let found: Vec<(String, Option<Ty>)> = found.collect();
        match self.rng.pick(&found).cloned() {
            Some((name, Some(key))) => format!("EXISTS({name}[{}])", self.literal_key(key)),
            Some((name, None)) if self.chance(50) => format!("FAILED({name})"),
            Some((name, None)) => format!("EXISTS({name})"),
            None => "TRUE".to_owned(),
        }
    }
}
