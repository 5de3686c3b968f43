//! Removes comments and texts from Rust sources, so that a check sees code only.

/// The source with comments, strings and characters blanked out; lines are kept.
pub fn code_only(source: &str) -> String {
    let mut scan = Scan { rest: source, code: String::with_capacity(source.len()) };
    while let Some(c) = scan.rest.chars().next() {
        if scan.rest.starts_with("//") {
            let end = scan.rest.find('\n').unwrap_or(scan.rest.len());
            scan.blank(end);
        } else if scan.rest.starts_with("/*") {
            scan.blank(block_comment(scan.rest));
        } else if c == '"' {
            scan.blank(string(scan.rest));
        } else if c == 'r' && !scan.after_name() && raw_string(scan.rest).is_some() {
            scan.blank(raw_string(scan.rest).unwrap_or(1));
        } else if c == '\'' {
            scan.blank(character(scan.rest));
        } else {
            scan.code.push(c);
            scan.rest = &scan.rest[c.len_utf8()..];
        }
    }
    scan.code
}

struct Scan<'s> {
    rest: &'s str,
    code: String,
}

impl Scan<'_> {
    fn blank(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at(bytes.min(self.rest.len()));
        self.code.extend(gone.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }

    /// Whether what follows continues a name, as the `r` of `bar` does; `br"..."` is no name.
    fn after_name(&self) -> bool {
        let name = |c: char| c.is_alphanumeric() || c == '_';
        let last: Vec<char> = self.code.chars().rev().take(2).collect();
        match last[..] {
            ['b', before] => name(before),
            ['b'] => false,
            [last, ..] => name(last),
            [] => false,
        }
    }
}

/// The bytes of a comment that nests.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The bytes of `r"..."`, `r#"..."#` and so on; `None` for another word with `r`.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].bytes().take_while(|&byte| byte == b'#').count();
    let body = text[1 + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let found = body.find(&end).map_or(body.len(), |at| at + end.len());
    Some(2 + hashes + found)
}

/// The bytes of a character; of a lifetime only its mark.
fn character(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), Some(_)) => {
            let end = chars.find(|(_, c)| *c == '\'');
            end.map_or(text.len(), |(at, _)| at + 1)
        }
        (Some(_), Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::code_only;

    #[test]
    fn only_code_is_left() {
        let cases = [
            ("a // unsafe\nb", "a b"),
            ("a /* x /* y */ z */ b", "a b"),
            ("f(\"unsafe \\\" x\") + 1", "f( ) + 1"),
            ("r#\"uns\"afe\"# + bar\"x\"", "+ bar"),
            ("br\"x\"; 'a'; '\\''; &'a str", "b ; ; ; & a str"),
        ];
        for (source, words) in cases {
            let code = code_only(source);
            assert_eq!(code.split_whitespace().collect::<Vec<_>>().join(" "), words, "{source}");
            assert_eq!(code.len(), source.len(), "{source}");
            assert_eq!(code.find('\n'), source.find('\n'), "{source}");
        }
    }

    #[test]
    fn unterminated_tokens_are_handled() {
        for source in ["\"", "/* /*", "r#\"", "'", "'\\", "é\"é"] {
            code_only(source);
        }
    }
}
