//! Randomly changed sources and descriptors end in a schema or in diagnostics, never in a panic.

use tidemill_stdx::rng::Rng;
use tidemill_support::descriptors::sets;
use tidemill_support::mutate::seeds;
use tidemill_wire::Schema;
use tidemill_wire::proto::{Texts, compile};

/// Removes, duplicates, swaps or replaces some bytes.
fn mutate(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let place = |rng: &mut Rng, length: usize| rng.below(length.max(1) as u64) as usize;
        let from = place(rng, bytes.len());
        let to = (from + 1 + place(rng, 20)).min(bytes.len());
        match rng.below(6) {
            0 => drop(bytes.drain(from..to)),
            1 => {
                let part = bytes[from..to].to_vec();
                bytes.splice(from..from, part);
            }
            2 => bytes[from] = rng.below(256) as u8,
            3 => bytes.truncate(from),
            4 => {
                let start = place(rng, other.len());
                let end = (start + 1 + place(rng, 40)).min(other.len());
                let part = other.get(start..end).unwrap_or(&[]).to_vec();
                bytes.splice(from..to, part);
            }
            _ => {
                let signs = b"{}[]()<>;=.,\"'-/*0";
                bytes.insert(from, signs[place(rng, signs.len())]);
            }
        }
    }
}

#[test]
fn changed_sources_end_in_diagnostics() {
    let seeds = seeds("tests/proto", &["proto"]).into_iter();
    let mut sources: Vec<_> =
        seeds.map(|(path, bytes)| (tidemill_support::name(&path).to_owned(), bytes)).collect();
    sources.sort();
    let texts = |name: &str, text: String| {
        let all = sources.iter().map(|(name, text)| (name.clone(), lossy(text)));
        let mut texts = Texts::from_iter(all);
        texts.texts.insert(name.to_owned(), text);
        texts
    };
    let mut rng = Rng::new(1);
    for round in 0..4000 {
        let (name, text) = &sources[round % sources.len()];
        let mut text = text.clone();
        let other = &sources[rng.below(sources.len() as u64) as usize].1;
        mutate(&mut text, other, &mut rng);
        let compiled = compile(&[name], &texts(name, lossy(&text)));
        let errors = compiled.diagnostics.iter().any(|one| one.is_error());
        assert_eq!(compiled.schema.is_none(), errors, "{name} in round {round}");
        for diagnostic in &compiled.diagnostics {
            compiled.sources.render(diagnostic);
        }
        if let Some(schema) = compiled.schema {
            let set = schema.descriptor_set();
            let back = Schema::from_descriptor_set(&set);
            let back = back.unwrap_or_else(|error| panic!("{name} in round {round}: {error}"));
            assert_eq!(back.descriptor_set(), set);
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn changed_descriptors_end_in_errors() {
    let sets = sets("tests/proto/right");
    let mut rng = Rng::new(2);
    let mut accepted = 0;
    for round in 0..4000 {
        let mut set = sets[round % sets.len()].1.clone();
        let other = &sets[rng.below(sets.len() as u64) as usize].1;
        mutate(&mut set, other, &mut rng);
        if let Ok(schema) = Schema::from_descriptor_set(&set) {
            accepted += 1;
            for id in schema.messages() {
                let message = schema.message(id);
                assert_eq!(schema.message_by_name(message.full_name()), Some(id));
                for field in message.field_defs() {
                    assert_eq!(schema.field_by_number(id, field.number()), Some(field.id()));
                }
            }
        }
    }
    assert!(accepted > 0);
}
