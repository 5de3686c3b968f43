//! The units of a native decoder: which type has which, and how many there may be.
//!
//! A type that is wanted gets a unit of its own, unless one that exists has code for its node. So
//! types that hold each other share one, and a type that comes after what holds it costs nothing.
//! A type that comes before is compiled again inside of the other; the limit bounds how often.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tidemill_stdx::hash::Map;

use super::super::tables::Tables;
use super::Unit;
use super::reach::{ENTRIES_MAX, Reach};
use super::serves::NativeError;
use crate::schema::{MessageId, Schema};

/// The maximal number of copies of code per field.
const COPIES_MAX: usize = 4;

/// The code of a type.
pub(super) struct Made {
    pub(super) unit: Arc<Unit>,
    /// The node of the type, if the code may read all of a message.
    pub(super) whole: Option<u32>,
}

/// See the module.
pub(super) struct Units {
    /// By message. If several threads race for one, the first compiles and the others wait.
    slots: Box<[OnceLock<Result<Made, NativeError>>]>,
    all: Mutex<All>,
}

struct All {
    /// By node that has code.
    units: Map<u32, Arc<Unit>>,
    /// The remaining budget of code, in fields.
    entries_left: usize,
}

impl Units {
    pub(super) fn new(schema: &Schema, tables: &Tables) -> Units {
        // For tables of another schema there is no code: it would store at wrong offsets.
        let known = schema.messages().filter(|_| tables.is_of(schema));
        let slots = known.map(|_| OnceLock::new()).collect();
        let fields = tables.entries().len() + tables.nodes().len();
        let entries_left = COPIES_MAX * fields + ENTRIES_MAX;
        Units { slots, all: Mutex::new(All { units: Map::default(), entries_left }) }
    }

    /// The slot of the code of a type, once it is made.
    #[inline]
    pub(super) fn slot(&self, message: MessageId) -> Option<&OnceLock<Result<Made, NativeError>>> {
        self.slots.get(message.index())
    }

    /// The code for the type whose node is `root`: existing code, or what `make` returns. No lock
    /// is held meanwhile: two threads may compile two types that hold each other.
    pub(super) fn make(
        &self,
        tables: &Tables,
        root: u32,
        make: impl FnOnce(Reach) -> Result<Unit, NativeError>,
    ) -> Result<Made, NativeError> {
        let whole = |unit: &Unit| {
            let may = unit.covers(root) && tables.node(root).required == 0;
            may.then_some(root)
        };
        let reach = {
            let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(unit) = all.units.get(&root) {
                return Ok(Made { unit: unit.clone(), whole: whole(unit) });
            }
            let reach = Reach::of(tables, root);
            let left = all.entries_left.checked_sub(reach.entries());
            all.entries_left = left.ok_or(NativeError::TooMuchCode)?;
            reach
        };
        let unit = Arc::new(make(reach)?);
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        for &node in unit.compiled() {
            all.units.entry(node).or_insert_with(|| unit.clone());
        }
        let whole = whole(&unit);
        Ok(Made { unit, whole })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::super::{Listing, Native, NativeError, Strings};
    use crate::decode::{Decoder, Tables};
    use crate::proto::{Texts, compile};
    use crate::schema::Schema;
    use crate::sink::Wants;

    fn schema(text: &str) -> Schema {
        let text = format!("syntax = \"proto3\";\n{text}");
        compile(&["a.proto"], &Texts::from_iter([("a.proto", text)])).schema.unwrap()
    }

    /// The address of the code that each of these types uses.
    fn codes(schema: &Schema, names: &[&str]) -> Vec<usize> {
        let native = Native::compile(schema, &Tables::new(schema), Wants::ALL).unwrap();
        let unit = |name: &&str| {
            let (unit, _) = native.whole(schema.message_by_name(name).unwrap()).unwrap();
            unit.entry as usize
        };
        names.iter().map(unit).collect()
    }

    #[test]
    fn types_inside_of_one_that_has_code_use_it() {
        let schema = schema(
            "message A { B b = 1; int32 x = 2; }
             message B { A a = 1; C c = 2; }
             message C { string s = 1; }
             message D { C c = 1; }",
        );
        let inner_last = codes(&schema, &["A", "B", "C", "D"]);
        assert!(inner_last[..3].iter().all(|code| *code == inner_last[0]));
        assert_ne!(inner_last[3], inner_last[0]);
        let inner_first = codes(&schema, &["C", "D", "A", "B"]);
        assert_eq!(inner_first[2], inner_first[3]);
        assert_ne!(inner_first[0], inner_first[1]);
        assert_ne!(inner_first[0], inner_first[2]);
    }

    #[test]
    fn what_is_not_decoded_is_not_compiled() {
        let mut text = String::new();
        for number in 0..5000 {
            text += &format!("message M{number} {{ int32 a = 1; string b = 2; }}\n");
        }
        let schema = schema(&text);
        let native =
            Native::for_messages(&schema, &Tables::new(&schema), Strings::Copied, Listing::Dropped);
        let native = native.unwrap();
        assert_eq!(native.units.all.lock().unwrap().units.len(), 0);
        native.prepare(schema.message_by_name("M4711").unwrap()).unwrap();
        assert_eq!(native.units.all.lock().unwrap().units.len(), 1);
    }

    /// Each type holds the one before, and they come from the innermost on: without a limit the
    /// code would grow with the square of their number.
    #[test]
    fn code_grows_with_the_schema_only() {
        let mut text = "message M0 { int32 a = 1; }\n".to_owned();
        for number in 1..200 {
            text += &format!("message M{number} {{ M{} inner = 1; }}\n", number - 1);
        }
        let schema = schema(&text);
        let tables = Tables::new(&schema);
        let native = Native::compile(&schema, &tables, Wants::NONE).unwrap();
        native.units.all.lock().unwrap().entries_left = 4 * 400;
        let table = Decoder::with(&schema, &tables);
        let mut refused = 0;
        for number in 0..200 {
            let message = schema.message_by_name(&format!("M{number}")).unwrap();
            match native.prepare(message) {
                Ok(()) => {}
                Err(NativeError::TooMuchCode) => refused += 1,
                Err(error) => panic!("{error}"),
            }
            // Fields without code are decoded all the same.
            let decoder = table.native(&native);
            assert!(decoder.decode(message, b"\x0a\x00", &mut ()).is_ok() || number == 0);
            assert!(decoder.decode(message, b"\x0a\x05", &mut ()).is_err());
        }
        assert!((140..200).contains(&refused), "{refused}");
    }

    #[test]
    fn threads_that_come_at_once_to_a_type_share_its_code() {
        let schema = schema("message A { B b = 1; } message B { A a = 1; repeated int32 x = 2; }");
        for _ in 0..20 {
            let tables = Tables::new(&schema);
            let native = Native::compile(&schema, &tables, Wants::NONE).unwrap();
            let start = Arc::new(Barrier::new(4));
            let one = |name: &'static str| {
                let (start, schema, native) = (start.clone(), &schema, &native);
                move || {
                    start.wait();
                    let message = schema.message_by_name(name).unwrap();
                    native.whole(message).unwrap().0.entry as usize
                }
            };
            let codes = thread::scope(|scope| {
                let threads = ["A", "B", "A", "B"].map(|name| scope.spawn(one(name)));
                threads.map(|thread| thread.join().unwrap())
            });
            assert_eq!((codes[0], codes[1]), (codes[2], codes[3]));
        }
    }
}
