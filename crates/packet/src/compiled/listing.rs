//! Code as text for people: an address that has a name is replaced by it.

use tidemill_stdx::hash::Map;

use super::blueprint::Blueprint;

/// Addresses with names.
pub(super) struct Names(Map<u64, String>);

impl Names {
    pub fn of(blueprint: &Blueprint) -> Names {
        let mut names = Map::default();
        let mut name = |address: usize, name: String| names.insert(address as u64, name);
        name(blueprint.frame, "frame".to_owned());
        name(blueprint.now, "now".to_owned());
        name(blueprint.pool.itself, "pool".to_owned());
        name(blueprint.pool.free, "pool.free".to_owned());
        name(blueprint.pool.allocated, "pool.allocated".to_owned());
        name(blueprint.pool.freed, "pool.freed".to_owned());
        for app in &blueprint.apps {
            name(app.oldest, format!("{}.oldest", app.name));
            name(app.io, format!("{}.ports", app.name));
            name(app.state, format!("{}.state", app.name));
            let Some(part) = &app.kernel else { continue };
            name(part.words, format!("{}.words", app.name));
            for (spec, table) in part.kernel.tables.iter().zip(&part.tables) {
                let named = format!("{}.{}", app.name, spec.name);
                name(table.index, format!("{named}.index"));
                name(table.entries, format!("{named}.entries"));
                table.trie.into_iter().for_each(|trie| _ = name(trie, format!("{named}.trie")));
                name(table.query, format!("{named}.query"));
                name(table.draft, format!("{named}.draft"));
                name(table.table, named);
            }
        }
        for link in &blueprint.links {
            name(link.ring, link.name.clone());
        }
        Names(names)
    }

    /// The text with names in the place of addresses.
    pub fn put_into(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            let (before, number) = rest.split_at(at + 1);
            result.push_str(before);
            let digit = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
            let length = number.bytes().take_while(|byte| digit(byte)).count();
            let (number, after) = number.split_at(length);
            match self.name_of(number) {
                Some(name) => result.push_str(name),
                None => result.push_str(number),
            }
            rest = after;
        }
        result.push_str(rest);
        result
    }

    fn name_of(&self, number: &str) -> Option<&str> {
        let address = match number.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok()?,
            None => number.parse::<i64>().ok()?.cast_unsigned(),
        };
        self.0.get(&address).map(String::as_str)
    }
}
