//! The config of an app in its kernel: keys, and values that are computed of them.
//!
//! A key is a word of the kernel, which a new config changes, or a constant of it, with which it is
//! lowered again.

use super::ast::{Constant, Expr, KeyDef, Word};
use super::lower::Lower;
use super::names::{Meaning, Operand, Type, upper};
use crate::app::{Config, Value as Written};
use crate::kernel::Builder;
use crate::kernel::table::spec::halves;

impl Lower<'_> {
    pub(super) fn declare_keys(&mut self, config: &Config) {
        let keys = &self.definition.keys;
        for (at, key) in keys.iter().enumerate() {
            let called = &key.called;
            // Of two keys with one name for the program the second is reported below.
            let is_twice = |other: &KeyDef| {
                other.called.text == called.text && other.name.text != key.name.text
            };
            if keys[..at].iter().any(is_twice) {
                let message = format!("there are two keys `{}`", called.text);
                self.error("duplicate-name", called.span, message, "give one another name");
            }
            let given = config.get(&key.called.text).or(key.default.as_ref());
            let constant = constant_of(key, given);
            let meaning = if key.is_const {
                Meaning::Constant(constant)
            } else {
                self.config_word(&key.name.text, constant)
            };
            self.constants.push((key.name.text.clone(), Meaning::Constant(constant)));
            self.name(&key.name, meaning);
        }
    }

    /// `let name = value;` outside of handlers.
    pub(super) fn declare_computed(&mut self) {
        for (name, value) in &self.definition.computed {
            let constant = self.computed(name, value);
            let meaning = self.config_word(&name.text, constant);
            self.constants.push((name.text.clone(), Meaning::Constant(constant)));
            self.name(name, meaning);
        }
    }

    /// A word that the config determines.
    fn config_word(&mut self, name: &str, constant: Constant) -> Meaning {
        let mut word = |name: &str, initial| {
            let word = self.build.state(name, initial);
            self.config_words.push(word);
            word
        };
        match constant {
            Constant::Number(number) => Meaning::Word(word(name, number), Type::Number, false),
            Constant::Bool(truth) => Meaning::Word(word(name, truth.into()), Type::Bool, false),
            Constant::Ipv6(address) => {
                let [high, low] = halves(address);
                let low = word(name, low);
                Meaning::Address([word(&upper(name), high), low], false)
            }
        }
    }

    /// The value of an expression about constants alone.
    fn computed(&mut self, name: &Word, value: &Expr) -> Constant {
        let names = self.constants.clone();
        let outer = (
            std::mem::replace(&mut self.build, Builder::new("unused")),
            std::mem::replace(&mut self.names, names),
            std::mem::take(&mut self.scratch),
            self.here,
        );
        (self.has_packet, self.is_computed) = (false, true);
        let before = self.found.len();
        let operand = self.expr(value);
        let words: Option<Vec<u64>> =
            operand.words().map(|word| self.build.constant_of(word)).collect();
        (self.build, self.names, self.scratch, self.here) = outer;
        (self.has_packet, self.is_computed) = (true, false);
        match (operand, words.as_deref()) {
            (Operand { kind: Type::Bool, .. }, Some([truth])) => Constant::Bool(*truth != 0),
            (Operand { kind: Type::Ipv6, .. }, Some([high, low])) => {
                Constant::Ipv6(u128::from(*high) << 64 | u128::from(*low))
            }
            (_, Some([number])) => Constant::Number(*number),
            _ => {
                if self.found.len() == before {
                    let message = format!("`{}` cannot be computed of the config", name.text);
                    let help = "outside of handlers a value has keys, numbers, operators, `min`, \
                                `max` and `share`";
                    self.error("bad-value", value.span, message, help);
                }
                Constant::Number(0)
            }
        }
    }

    /// `share(number)`: the part that this instance has.
    pub(super) fn share(&mut self, name: &Word, argument: &Expr) -> Operand {
        let number = self.number(argument);
        match self.build.constant_of(number) {
            Some(number) if self.is_computed => {
                Operand::number(self.build.constant(self.fanout.part_of(number)))
            }
            _ => {
                let message = "`share` is computed of the config".to_owned();
                let help = "write `let part = share(key);` outside of handlers";
                self.error("bad-value", name.span, message, help);
                self.error_operand()
            }
        }
    }
}

/// The value of a key; 0 if it has none.
fn constant_of(key: &KeyDef, value: Option<&Written>) -> Constant {
    let number = value.map_or(0, |value| match value {
        Written::Bool(truth) => u128::from(*truth),
        Written::Integer(integer) => *integer as u128,
        Written::Text(text) => match super::address::address(text) {
            Some(Constant::Number(number)) => number.into(),
            Some(Constant::Ipv6(number)) => number,
            Some(Constant::Bool(_)) | None => 0,
        },
        Written::Double(_) | Written::List(_) => 0,
    });
    match key.kind.text.as_str() {
        "ipv6" => Constant::Ipv6(number),
        "bool" => Constant::Bool(number != 0),
        _ => Constant::Number(number as u64),
    }
}
