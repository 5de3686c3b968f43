//! Words into lines.

use super::measures::{CONTINUATION, WIDTH};
use super::spacing::LineBreak;

/// A token, comment or directive of a statement.
pub(super) struct Word {
    text: String,
    space: bool,
    place: LineBreak,
    kind: WordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum WordKind {
    Plain,
    /// A comment between tokens of a line.
    Inline,
    /// A comment after the last token of a line.
    Trailing,
    /// A comment on a line of its own.
    OwnLine,
    /// A preprocessor line.
    Directive,
}

impl Word {
    pub(super) fn plain(text: String, space: bool, place: LineBreak) -> Word {
        Word { text, space, place, kind: WordKind::Plain }
    }

    pub(super) fn comment(text: String, own_line: bool, last: bool) -> Word {
        let kind = match (own_line, last) {
            (true, _) => WordKind::OwnLine,
            (false, true) => WordKind::Trailing,
            (false, false) => WordKind::Inline,
        };
        Word { text, space: true, place: LineBreak::Tight, kind }
    }

    pub(super) fn directive(text: String) -> Word {
        Word { text, space: false, place: LineBreak::Tight, kind: WordKind::Directive }
    }

    /// Its columns on the line where it begins, with the blank before it; a comment may go on.
    fn width(&self) -> usize {
        usize::from(self.space) + self.text.lines().next().map_or(0, |line| line.chars().count())
    }

    /// The columns of its last line, if that is another than its first.
    fn ends_at(&self) -> Option<usize> {
        self.text.rsplit_once('\n').map(|(_, last)| last.chars().count())
    }
}

/// The columns of words on the line where they begin.
fn width(words: &[Word]) -> usize {
    let broken = words.iter().position(|word| word.ends_at().is_some());
    let first = broken.map_or(words, |last| &words[..=last]);
    first.iter().map(Word::width).sum()
}

/// One statement to be broken into lines.
pub(super) struct Layout {
    words: Vec<Word>,
    indent: usize,
}

/// Lines being filled.
struct Lines<'a> {
    out: &'a mut String,
    trailing: &'a mut Vec<usize>,
    /// Columns of the last line; `None` at its beginning.
    column: Option<usize>,
    indent: usize,
}

impl Layout {
    pub(super) fn new(indent: usize) -> Layout {
        Layout { words: Vec::new(), indent }
    }

    pub(super) fn add(&mut self, mut word: Word) {
        // A comment that ended a line would be a trailing one when it is read again.
        if word.kind == WordKind::Plain
            && self.words.last().is_some_and(|it| it.kind == WordKind::Inline)
        {
            word.place = LineBreak::Tight;
        }
        self.words.push(word);
    }

    /// Appends the statement's lines, the last with its end.
    /// Notes in `trailing` where a trailing comment's blank is.
    pub(super) fn print(self, out: &mut String, trailing: &mut Vec<usize>) {
        let mut lines = Lines { out, trailing, column: None, indent: self.indent };
        let mut rest = &self.words[..];
        while let Some(first) = rest.first() {
            let mut length = 1;
            if matches!(first.kind, WordKind::Plain | WordKind::Inline) {
                let same = |word: &&Word| {
                    matches!(word.kind, WordKind::Plain | WordKind::Inline)
                        && word.place != LineBreak::Term
                };
                length += rest[1..].iter().take_while(same).count();
            }
            let (term, others) = rest.split_at(length);
            lines.term(term);
            lines.indent = self.indent + CONTINUATION;
            rest = others;
        }
        lines.end();
    }
}

impl Lines<'_> {
    fn term(&mut self, words: &[Word]) {
        match words[0].kind {
            WordKind::Plain | WordKind::Inline => self.fill(words),
            WordKind::Trailing => {
                self.trailing.extend(self.column.map(|_| self.out.len()));
                self.put(&words[0]);
                self.end();
            }
            WordKind::OwnLine => {
                self.end();
                self.put(&words[0]);
                self.end();
            }
            WordKind::Directive => {
                self.end();
                self.out.push_str(&words[0].text);
                self.out.push('\n');
            }
        }
    }

    /// Places a term on this line, on the next, or broken over several.
    fn fill(&mut self, words: &[Word]) {
        let width = width(words);
        if self.column.is_some_and(|column| column + width > WIDTH)
            && words[0].place == LineBreak::Term
        {
            self.end();
        }
        if self.column.unwrap_or(self.indent) + width <= WIDTH {
            return words.iter().for_each(|word| self.put(word));
        }
        // Between two places where the term may be broken.
        let mut rest = words;
        while !rest.is_empty() {
            let more = |word: &&Word| word.place != LineBreak::Inner;
            let length = 1 + rest[1..].iter().take_while(more).count();
            let (part, others) = rest.split_at(length);
            let full = self.column.is_some_and(|column| column + self::width(part) > WIDTH);
            if full && part[0].place == LineBreak::Inner {
                self.end();
                self.indent += CONTINUATION;
                part.iter().for_each(|word| self.put(word));
                self.indent -= CONTINUATION;
            } else {
                part.iter().for_each(|word| self.put(word));
            }
            rest = others;
        }
    }

    fn put(&mut self, word: &Word) {
        match &mut self.column {
            Some(column) => {
                self.out.push_str(if word.space { " " } else { "" });
                *column += word.width();
            }
            None => {
                self.out.extend(std::iter::repeat_n(' ', self.indent));
                self.column = Some(self.indent + word.width() - usize::from(word.space));
            }
        }
        self.column = word.ends_at().or(self.column);
        self.out.push_str(&word.text);
    }

    fn end(&mut self) {
        if self.column.take().is_some() {
            self.out.push('\n');
        }
    }
}
