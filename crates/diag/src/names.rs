//! Suggestions: the names nearest to one that does not exist.

/// Words of this length or more get no suggestion: comparing them is not worth the work.
const CHARACTERS_MAX: usize = 100;

/// The one of `names` that `wrong` is most likely a misspelling of, if it may be one at all.
pub fn nearest<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    near(wrong, names).min().map(|(_, name)| name)
}

/// The help for an unknown name: the name probably meant, or else the text of `otherwise`.
pub fn meant<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    match nearest(wrong, names) {
        Some(name) => format!("is {name} meant?"),
        None => otherwise(),
    }
}

/// Those of `names` that `wrong` may be a misspelling of, at most three, the nearest first.
pub fn nearest_three<'n>(wrong: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let mut near: Vec<_> = near(wrong, names).collect();
    near.sort_unstable();
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Names and how far they are from `wrong`: a third of its characters may be wrong, and one in
/// any case.
fn near<'n>(
    wrong: &str,
    names: impl IntoIterator<Item = &'n str>,
) -> impl Iterator<Item = (usize, &'n str)> {
    let letters = folded(wrong);
    let distance_max = (letters.len() / 3).max(1);
    names.into_iter().filter_map(move |name| {
        let other = folded(name);
        let comparable = name != wrong
            && letters.len() < CHARACTERS_MAX
            && letters.len().abs_diff(other.len()) <= distance_max;
        let distance = comparable.then(|| distance(&letters, &other))?;
        // Names that share no letter are not similar.
        let is_alike = distance < letters.len().max(other.len());
        (distance <= distance_max && is_alike).then_some((distance, name))
    })
}

/// The first characters, whatever their case.
fn folded(name: &str) -> Vec<char> {
    name.chars().take(CHARACTERS_MAX).map(|c| c.to_ascii_lowercase()).collect()
}

/// Characters to insert, remove or replace (Levenshtein).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_is_meant() {
        let names = ["succ", "success", "node", "x"];
        assert_eq!(nearest("suc", names), Some("succ"));
        assert_eq!(nearest("SUCCES", names), Some("success"));
        assert_eq!(nearest("noed", names), None);
        assert_eq!(nearest("Node", names), Some("node"));
        assert_eq!(nearest("y", names), None);
        assert_eq!(nearest("sitting", ["kitten"]), None);
        assert_eq!(nearest("kitting", ["kitten"]), Some("kitten"));
        assert_eq!(nearest("node", names), None);
        assert_eq!(nearest(&"node".repeat(99), names), None);
    }

    #[test]
    fn three_are_offered_in_order() {
        let names = ["abcdef", "abcdeg", "abcxyz", "abcdeh", "abcdxf"];
        assert_eq!(nearest_three("abcde", names), ["abcdef", "abcdeg", "abcdeh"]);
        assert_eq!(nearest_three("é", ["è", "éa"]), ["éa"]);
    }
}
