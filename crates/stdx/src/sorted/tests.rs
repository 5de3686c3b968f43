//! Both against those of std.

use super::{SortedMap, SortedSet};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Keys are below this, and there are fewer changes than that: few of both under Miri.
const KEYS: u8 = if cfg!(miri) { 12 } else { 40 };
const STEPS_MAX: usize = if cfg!(miri) { 30 } else { 120 };

/// One change of a map or set.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u16),
    Remove(u8),
    AddToEntry(u8, u16),
    ChangeByGet(u8),
    KeepMultiplesOf(u8),
    Extend(Vec<(u8, u16)>),
    TakeFirst,
    TakeLast,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (key, value) = (0..KEYS, any::<u16>());
    let pair = (key.clone(), value);
    let step = prop_oneof![
        8 => pair.clone().prop_map(|(key, value)| Step::Insert(key, value)),
        4 => key.clone().prop_map(Step::Remove),
        4 => pair.clone().prop_map(|(key, value)| Step::AddToEntry(key, value)),
        2 => key.prop_map(Step::ChangeByGet),
        1 => (1u8..4).prop_map(Step::KeepMultiplesOf),
        2 => prop::collection::vec(pair, 0..8).prop_map(Step::Extend),
        1 => Just(Step::TakeFirst),
        2 => Just(Step::TakeLast),
        1 => Just(Step::Clear),
    ];
    prop::collection::vec(step, 0..STEPS_MAX)
}

/// Keys are borrowed as text, so that look-up by another type than the key's is tested too.
fn text(key: u8) -> String {
    key.to_string()
}

fn change_map(
    step: Step,
    ours: &mut SortedMap<String, u16>,
    model: &mut BTreeMap<String, u16>,
) -> Result<(), TestCaseError> {
    match step {
        Step::Insert(key, value) => {
            prop_assert_eq!(ours.insert(text(key), value), model.insert(text(key), value));
        }
        Step::Remove(key) => {
            prop_assert_eq!(ours.remove(&*text(key)), model.remove(&*text(key)));
        }
        Step::AddToEntry(key, value) => {
            let our_value = ours.entry(text(key)).or_default();
            *our_value = our_value.wrapping_add(value);
            let model_value = model.entry(text(key)).or_default();
            *model_value = model_value.wrapping_add(value);
            prop_assert_eq!(*our_value, *model_value);
        }
        Step::ChangeByGet(key) => {
            let (our_value, model_value) = (ours.get_mut(&text(key)), model.get_mut(&text(key)));
            prop_assert_eq!(&our_value, &model_value);
            our_value.into_iter().chain(model_value).for_each(|value| *value ^= 1);
        }
        Step::KeepMultiplesOf(factor) => {
            let factor = u16::from(factor);
            ours.retain(|_, value| value.is_multiple_of(factor));
            model.retain(|_, value| value.is_multiple_of(factor));
        }
        Step::Extend(more) => {
            ours.extend(more.iter().map(|&(key, value)| (text(key), value)));
            model.extend(more.iter().map(|&(key, value)| (text(key), value)));
        }
        Step::TakeFirst | Step::TakeLast => {
            let last = model.pop_last();
            let ours = last.as_ref().and_then(|(key, _)| ours.remove(key));
            prop_assert_eq!(ours, last.map(|(_, value)| value));
        }
        Step::Clear => {
            ours.clear();
            model.clear();
        }
    }
    Ok(())
}

fn change_set(
    step: Step,
    ours: &mut SortedSet<String>,
    model: &mut BTreeSet<String>,
) -> Result<(), TestCaseError> {
    match step {
        Step::Insert(key, _) | Step::AddToEntry(key, _) => {
            prop_assert_eq!(ours.insert(text(key)), model.insert(text(key)));
        }
        Step::Remove(key) | Step::ChangeByGet(key) => {
            prop_assert_eq!(ours.remove(&*text(key)), model.remove(&*text(key)));
        }
        Step::KeepMultiplesOf(factor) => {
            ours.retain(|member| member.len() == usize::from(factor));
            model.retain(|member| member.len() == usize::from(factor));
        }
        Step::Extend(more) => {
            ours.extend(more.iter().map(|&(key, _)| text(key)));
            model.extend(more.iter().map(|&(key, _)| text(key)));
        }
        Step::TakeFirst => prop_assert_eq!(ours.pop_first(), model.pop_first()),
        Step::TakeLast => prop_assert_eq!(ours.pop_last(), model.pop_last()),
        Step::Clear => {
            ours.clear();
            model.clear();
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn a_sorted_map_is_a_btree_map(steps in steps()) {
        let (mut ours, mut model) = (SortedMap::new(), BTreeMap::new());
        for step in steps {
            change_map(step, &mut ours, &mut model)?;
            prop_assert_eq!((ours.len(), ours.is_empty()), (model.len(), model.is_empty()));
            prop_assert!(ours.iter().eq(&model) && ours.iter().rev().eq(model.iter().rev()));
        }
        for key in (0..KEYS).map(text) {
            prop_assert_eq!(ours.get(&*key), model.get(&*key));
            prop_assert_eq!(ours.contains_key(&key), model.contains_key(&key));
        }
        prop_assert!(ours.keys().eq(model.keys()) && ours.values().eq(model.values()));
        prop_assert_eq!(format!("{ours:?} {ours:#?}"), format!("{model:?} {model:#?}"));
        ours.values_mut().chain(model.values_mut()).for_each(|value| *value ^= 3);
        prop_assert!(ours.iter_mut().eq(model.iter_mut()));
        prop_assert!(ours.clone().into_keys().eq(model.clone().into_keys()));
        prop_assert!(ours.clone().into_values().eq(model.clone().into_values()));
        prop_assert!(ours.into_iter().eq(model));
    }

    #[test]
    fn a_sorted_set_is_a_btree_set(steps in steps()) {
        let (mut ours, mut model) = (SortedSet::new(), BTreeSet::new());
        for step in steps {
            change_set(step, &mut ours, &mut model)?;
            prop_assert_eq!((ours.len(), ours.is_empty()), (model.len(), model.is_empty()));
            prop_assert!(ours.iter().eq(&model));
            prop_assert_eq!((ours.first(), ours.last()), (model.first(), model.last()));
        }
        for key in (0..KEYS).map(text) {
            prop_assert_eq!(ours.contains(&*key), model.contains(&*key));
        }
        prop_assert_eq!(format!("{ours:?} {ours:#?}"), format!("{model:?} {model:#?}"));
        prop_assert!(ours.into_iter().eq(model));
    }

    #[test]
    fn comparisons_are_those_of_std(
        a in prop::collection::vec((0u8..4, 0u8..3), 0..5),
        b in prop::collection::vec((0u8..4, 0u8..3), 0..5),
    ) {
        let ours = [&a, &b].map(|pairs| pairs.iter().copied().collect::<SortedMap<_, _>>());
        let model = [&a, &b].map(|pairs| pairs.iter().copied().collect::<BTreeMap<_, _>>());
        prop_assert_eq!(ours[0].cmp(&ours[1]), model[0].cmp(&model[1]));
        let ours = [&a, &b].map(|pairs| pairs.iter().copied().collect::<SortedSet<_>>());
        let model = [&a, &b].map(|pairs| pairs.iter().copied().collect::<BTreeSet<_>>());
        prop_assert_eq!(ours[0].cmp(&ours[1]), model[0].cmp(&model[1]));
        prop_assert_eq!(ours[0] == ours[1], model[0] == model[1]);
        prop_assert!((&ours[0] | &ours[1]).iter().eq(&(&model[0] | &model[1])));
        prop_assert_eq!(ours[0].is_subset(&ours[1]), model[0].is_subset(&model[1]));
    }
}

#[test]
fn what_comes_in_order_takes_one_comparison_each() {
    use std::cell::Cell;
    let compared = Cell::new(0);
    for len in 0..100 {
        let at_the_end = super::search(len, |at| {
            compared.set(compared.get() + 1);
            at.cmp(&len)
        });
        assert_eq!(at_the_end, Err(len));
    }
    assert_eq!(compared.get(), 99);
}

#[test]
fn an_entry_makes_its_value_only_if_there_is_none() {
    let mut map = SortedMap::from([("a", 1), ("c", 3)]);
    assert_eq!(*map.entry("c").or_insert_with(|| unreachable!()), 3);
    assert_eq!(*map.entry("b").or_insert(2), 2);
    assert!(map.iter().eq([(&"a", &1), (&"b", &2), (&"c", &3)]));
}

#[test]
#[should_panic(expected = "a key of the map")]
fn an_index_without_entry_panics() {
    let _ = SortedMap::from([("a", 1)])["b"];
}
