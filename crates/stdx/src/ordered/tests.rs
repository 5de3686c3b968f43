//! Both against those of std; chunks are small here, so that they are split and merged.

use super::{OrderedMap, OrderedSet};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

/// Keys are below this, and there are fewer changes than that: few of both under Miri.
const KEYS: u8 = if cfg!(miri) { 24 } else { 120 };
const STEPS_MAX: usize = if cfg!(miri) { 40 } else { 300 };

/// One change of a map or set.
#[derive(Clone, Debug)]
enum Step {
    Insert(u8, u16),
    Remove(u8),
    RemoveAll(std::ops::Range<u8>),
    AddToEntry(u8, u16),
    ChangeByGet(u8),
    ChangeAll,
    KeepMultiplesOf(u8),
    TakeFirst,
    TakeLast,
    Clear,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = 0..KEYS;
    let step = prop_oneof![
        16 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
        4 => key.clone().prop_map(Step::Remove),
        1 => (key.clone(), 0u8..40).prop_map(|(key, many)| Step::RemoveAll(key..key + many)),
        4 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::AddToEntry(key, value)),
        2 => key.prop_map(Step::ChangeByGet),
        1 => Just(Step::ChangeAll),
        1 => (1u8..4).prop_map(Step::KeepMultiplesOf),
        2 => Just(Step::TakeFirst),
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
    ours: &mut OrderedMap<String, u16>,
    model: &mut BTreeMap<String, u16>,
) -> Result<(), TestCaseError> {
    match step {
        Step::Insert(key, value) => {
            prop_assert_eq!(ours.insert(text(key), value), model.insert(text(key), value));
        }
        Step::Remove(key) => {
            prop_assert_eq!(ours.remove(&*text(key)), model.remove(&*text(key)));
        }
        Step::RemoveAll(keys) => {
            for key in keys.map(text) {
                prop_assert_eq!(ours.remove(&key), model.remove(&key));
            }
        }
        Step::AddToEntry(key, value) => {
            let our_value = ours.entry(text(key)).or_default();
            *our_value = our_value.wrapping_add(value);
            let model_value = model.entry(text(key)).or_default();
            *model_value = model_value.wrapping_add(value);
            prop_assert_eq!(*our_value, *model_value);
        }
        Step::ChangeByGet(key) => {
            ours.get_mut(&*text(key)).into_iter().for_each(|value| *value /= 2);
            model.get_mut(&*text(key)).into_iter().for_each(|value| *value /= 2);
        }
        Step::ChangeAll => {
            ours.values_mut().for_each(|value| *value ^= 1);
            model.values_mut().for_each(|value| *value ^= 1);
        }
        Step::KeepMultiplesOf(divisor) => {
            let divisor = u16::from(divisor);
            let mut asked = Vec::new();
            ours.retain(|key, value| {
                asked.push(key.clone());
                *value % divisor == 0
            });
            prop_assert!(asked.iter().eq(model.keys()));
            model.retain(|_, value| *value % divisor == 0);
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

fn change_set(
    step: Step,
    ours: &mut OrderedSet<u8>,
    model: &mut BTreeSet<u8>,
) -> Result<(), TestCaseError> {
    match step {
        Step::Insert(key, _) | Step::AddToEntry(key, _) => {
            prop_assert_eq!(ours.insert(key), model.insert(key));
        }
        Step::Remove(key) | Step::ChangeByGet(key) => {
            prop_assert_eq!(ours.remove(&key), model.remove(&key));
        }
        Step::RemoveAll(keys) => {
            for key in keys {
                prop_assert_eq!(ours.remove(&key), model.remove(&key));
            }
        }
        Step::KeepMultiplesOf(divisor) => {
            ours.retain(|member| member % divisor == 0);
            model.retain(|member| member % divisor == 0);
        }
        Step::TakeFirst => prop_assert_eq!(ours.pop_first(), model.pop_first()),
        Step::TakeLast => prop_assert_eq!(ours.pop_last(), model.pop_last()),
        Step::ChangeAll => {}
        Step::Clear => {
            ours.clear();
            model.clear();
        }
    }
    Ok(())
}

proptest! {
    #[test]
    fn maps_are_those_of_std(steps in steps()) {
        let (mut ours, mut model) = (OrderedMap::new(), BTreeMap::new());
        for step in steps {
            change_map(step, &mut ours, &mut model)?;
            prop_assert_eq!(ours.len(), model.len());
            prop_assert_eq!(ours.first_key_value(), model.first_key_value());
            prop_assert_eq!(ours.last_key_value(), model.last_key_value());
        }
        prop_assert!(ours.iter().eq(&model));
        prop_assert!(ours.iter().rev().eq(model.iter().rev()));
        prop_assert!(ours.values().eq(model.values()));
        for key in (0..=KEYS).map(text) {
            prop_assert_eq!(ours.get(&*key), model.get(&*key));
            prop_assert_eq!(ours.get_key_value(&*key), model.get_key_value(&*key));
            prop_assert_eq!(ours.contains_key(&*key), model.contains_key(&*key));
            prop_assert!(ours.iter_from(&*key).eq(model.range(key.clone()..)), "{key}");
            prop_assert!(ours.iter_from(&*key).rev().eq(model.range(key..).rev()));
        }
        prop_assert_eq!(format!("{ours:?}"), format!("{model:?}"));
        prop_assert_eq!(&ours, &model.clone().into_iter().collect());
        prop_assert!(ours.into_iter().eq(model));
    }

    #[test]
    fn sets_are_those_of_std(steps in steps()) {
        let (mut ours, mut model) = (OrderedSet::new(), BTreeSet::new());
        for step in steps {
            change_set(step, &mut ours, &mut model)?;
            prop_assert_eq!(ours.len(), model.len());
            prop_assert_eq!(ours.first(), model.first());
            prop_assert_eq!(ours.last(), model.last());
        }
        prop_assert!(ours.iter().eq(&model));
        for member in 0..=KEYS {
            prop_assert_eq!(ours.contains(&member), model.contains(&member));
            prop_assert!(ours.iter_from(&member).eq(model.range(member..)));
        }
        prop_assert_eq!(format!("{ours:?}"), format!("{model:?}"));
        prop_assert!(ours.into_iter().eq(model));
    }

    /// Both ends of an iterator meet, wherever.
    #[test]
    fn entries_are_read_once(many in 0u8..40, front in prop::collection::vec(any::<bool>(), 50)) {
        let set: OrderedSet<u8> = (0..many).collect();
        let (mut members, mut model) = (set.iter(), 0..many);
        for is_front in front {
            if is_front {
                prop_assert_eq!(members.next().copied(), model.next());
            } else {
                prop_assert_eq!(members.next_back().copied(), model.next_back());
            }
        }
    }
}
