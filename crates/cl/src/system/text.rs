//! Reads the messages of a declaration while the crate is compiled.
//!
//! That it parses, and what the protocol allows, is for the parser and the checker: here `IN` and
//! `OUT` are followed by the name of a message, and maybe by its parameters in parentheses.

/// A message as a type has it: its name, and the types of its parameters.
pub(super) type Shape = (&'static str, &'static [&'static [&'static str]]);

/// Whether a text declares this interface with these messages, each list in its order.
pub(super) const fn declares(
    text: &str,
    name: &str,
    requests: &[Shape],
    responses: &[Shape],
) -> bool {
    let mut words = Words { text: text.as_bytes() };
    if !is(words.next(), "INTERFACE") || !is(words.next(), name) {
        return false;
    }
    let (mut asked, mut answered) = (0, 0);
    while let Some(word) = words.next() {
        let shape = if is(Some(word), "IN") {
            asked += 1;
            nth(requests, asked)
        } else if is(Some(word), "OUT") {
            answered += 1;
            nth(responses, answered)
        } else {
            continue;
        };
        match shape {
            Some(shape) if is(words.next(), shape.0) && fits(&mut words, shape.1) => {}
            _ => return false,
        }
    }
    asked == requests.len() && answered == responses.len()
}

/// The number of a message that the text declares: they count from 0.
pub(super) const fn number(text: &str, name: &str) -> u32 {
    let mut words = Words { text: text.as_bytes() };
    let mut number = 0;
    while let Some(word) = words.next() {
        if is(Some(word), "IN") || is(Some(word), "OUT") {
            if is(words.next(), name) {
                return number;
            }
            number += 1;
        }
    }
    panic!("the text declares no such message");
}

/// Counting from 1.
const fn nth(shapes: &[Shape], at: usize) -> Option<Shape> {
    if at <= shapes.len() { Some(shapes[at - 1]) } else { None }
}

/// Whether these are the types of the parameters that follow.
const fn fits(words: &mut Words<'_>, mut types: &[&[&str]]) -> bool {
    let mut used = 0;
    let mut ahead = Words { text: words.text };
    // A parenthesis before a message groups messages.
    let opens = is(ahead.next(), "(");
    let first = ahead.next();
    if opens && !is(first, "IN") && !is(first, "OUT") && !is(first, "(") && !is(first, "{") {
        let mut names = 1;
        loop {
            let Some(word) = ahead.next() else { return false };
            if is(Some(word), ",") || is(Some(word), ";") {
                // The next name.
                let _ = ahead.next();
                names += 1;
            } else if is(Some(word), ":") {
                let ty = ahead.next();
                while names > 0 {
                    let Some((list, rest)) = types.split_first() else { return false };
                    if !is(ty, list[used]) {
                        return false;
                    }
                    used += 1;
                    if used == list.len() {
                        (used, types) = (0, rest);
                    }
                    names -= 1;
                }
            } else if is(Some(word), ")") {
                words.text = ahead.text;
                break;
            } else {
                return false;
            }
        }
    }
    types.is_empty()
}

/// The words and signs of a text, without blanks and comments.
struct Words<'t> {
    text: &'t [u8],
}

impl<'t> Words<'t> {
    const fn next(&mut self) -> Option<&'t [u8]> {
        let mut depth = 0_u32;
        loop {
            match self.text {
                [] => return None,
                [b'(', b'*', rest @ ..] => {
                    depth += 1;
                    self.text = rest;
                }
                [b'*', b')', rest @ ..] if depth > 0 => {
                    depth -= 1;
                    self.text = rest;
                }
                [first, rest @ ..] if depth > 0 || first.is_ascii_whitespace() => self.text = rest,
                _ => break,
            }
        }
        let mut length = 0;
        while length < self.text.len() && self.text[length].is_ascii_alphanumeric() {
            length += 1;
        }
        let (word, rest) = self.text.split_at(if length == 0 { 1 } else { length });
        self.text = rest;
        Some(word)
    }
}

const fn is(word: Option<&[u8]>, text: &str) -> bool {
    let Some(word) = word else { return false };
    let text = text.as_bytes();
    if word.len() != text.len() {
        return false;
    }
    let mut at = 0;
    while at < word.len() {
        if word[at] != text[at] {
            return false;
        }
        at += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "(* IN (* nested *) Nothing *) INTERFACE Thing;
        ( IN One(a, b: INTEGER; c: TEXT) | IN Two ) ( OUT Three | OUT Four(d: REAL) ) END Thing;";
    const ONE: Shape = ("One", &[&["INTEGER"], &["INTEGER"], &["TEXT"]]);
    const TWO: Shape = ("Two", &[]);
    const ANSWERS: [Shape; 2] = [("Three", &[]), ("Four", &[&["REAL"]])];

    #[test]
    fn all_messages_are_compared() {
        assert!(declares(TEXT, "Thing", &[ONE, TWO], &ANSWERS));
        assert!(!declares(TEXT, "Other", &[ONE, TWO], &ANSWERS));
        assert!(!declares(TEXT, "Thing", &[ONE], &ANSWERS), "one is missing");
        assert!(!declares(TEXT, "Thing", &[TWO, ONE], &ANSWERS), "another order");
        assert!(!declares(TEXT, "Thing", &[ONE, TWO, ("Five", &[])], &ANSWERS), "one too many");
        assert!(!declares(TEXT, "Thing", &[ONE, TWO], &ANSWERS[..1]));
    }

    #[test]
    fn types_of_parameters_are_compared() {
        let with = |types| declares(TEXT, "Thing", &[("One", types), TWO], &ANSWERS);
        assert!(with(&[&["INTEGER", "INTEGER"], &["TEXT"]]), "several in a row");
        assert!(!with(&[&["INTEGER"], &["TEXT"]]));
        assert!(!with(&[&["INTEGER"], &["INTEGER"], &["REAL"]]));
        assert!(!with(&[&["INTEGER"], &["INTEGER"], &["TEXT"], &["TEXT"]]));
        assert!(!with(&[&["INTEGER"], &["INTEGER"], &["TEXT", "TEXT"]]));
        assert!(!with(&[]));
    }

    #[test]
    fn numbers_follow_the_text() {
        assert_eq!(["One", "Two", "Three", "Four"].map(|name| number(TEXT, name)), [0, 1, 2, 3]);
    }
}
