//! JSON without a schema: any text as a stream of values, and back.
//!
//! ```text
//! value := null | boolean | number | string
//!        | start_array value* end_array
//!        | start_object (key value)* end_object
//! ```

use tidemill_stdx::region::Bump;

use super::check::Looks;
use super::error::{Fault, ReadError, utf8};
use super::lex::{Lex, Lexer};
use super::number::Number;
use super::print;
use crate::sink::SinkResult;

/// Receives the values of a text in its order. Every method does nothing by default: `()` is the
/// sink that merely validates.
#[allow(unused_variables)]
pub trait ValueSink<'a> {
    /// False if it needs no values, which are then not built.
    fn listens(&self) -> bool {
        true
    }

    /// `null`.
    fn null(&mut self) -> SinkResult {
        Ok(())
    }

    /// `true` or `false`.
    fn bool(&mut self, value: bool) -> SinkResult {
        Ok(())
    }

    /// A number without point and exponent that an `i64` holds.
    fn i64(&mut self, value: i64) -> SinkResult {
        Ok(())
    }

    /// An integer above the highest `i64`.
    fn u64(&mut self, value: u64) -> SinkResult {
        Ok(())
    }

    /// Any other number.
    fn f64(&mut self, value: f64) -> SinkResult {
        Ok(())
    }

    /// A string, without its escapes.
    fn string(&mut self, value: &'a str) -> SinkResult {
        Ok(())
    }

    /// An array begins.
    fn start_array(&mut self) -> SinkResult {
        Ok(())
    }

    /// The array is complete.
    fn end_array(&mut self) -> SinkResult {
        Ok(())
    }

    /// An object begins.
    fn start_object(&mut self) -> SinkResult {
        Ok(())
    }

    /// A key; its value follows. The same may come twice.
    fn key(&mut self, key: &'a str) -> SinkResult {
        Ok(())
    }

    /// The object is complete.
    fn end_object(&mut self) -> SinkResult {
        Ok(())
    }
}

impl ValueSink<'_> for () {
    #[inline]
    fn listens(&self) -> bool {
        false
    }
}

/// Numbers must be doubles.
struct Doubles;

impl Looks for Doubles {
    #[inline]
    fn number(&self, number: Number<'_>, at: usize) -> Lex {
        if number.is_double() { Ok(()) } else { Err(too_large(at)) }
    }
}

#[cold]
fn too_large(at: usize) -> Fault {
    Fault::new(at, "the number is too large for a double")
}

/// Reads `text`, one value and nothing else, whose values nest at most `depth_max` deep.
///
/// # Errors
/// The text is malformed; the sink has seen the values before the error.
pub fn read<'a, S: ValueSink<'a>>(
    text: &'a [u8],
    arena: &'a Bump,
    depth_max: usize,
    sink: &mut S,
) -> Result<(), ReadError> {
    let mut reader = PlainReader { lexer: Lexer::new(utf8(text)?, arena), sink };
    let read = if reader.sink.listens() {
        reader.value(depth_max)
    } else {
        reader.lexer.skip(depth_max, Doubles)
    };
    let end = read.and_then(|()| {
        if reader.lexer.is_at_end() {
            Ok(())
        } else {
            Err(reader.lexer.expected("the end of the text"))
        }
    });
    end.map_err(|fault| fault.explain(text))
}

struct PlainReader<'a, 'k, S> {
    lexer: Lexer<'a>,
    sink: &'k mut S,
}

impl<'a, S: ValueSink<'a>> PlainReader<'a, '_, S> {
    #[inline]
    fn proceed(&self, flow: SinkResult) -> Lex {
        flow.map_err(|_| Fault::stopped(self.lexer.at))
    }

    fn value(&mut self, depth: usize) -> Lex {
        let flow = match self.lexer.peek() {
            b'"' => {
                let text = self.lexer.string()?;
                self.sink.string(text)
            }
            b'-' | b'0'..=b'9' => return self.number(),
            b'{' | b'[' if depth == 0 => {
                return Err(Fault::new(self.lexer.at, "values nest too deep"));
            }
            b'{' => return self.object(depth - 1),
            b'[' => return self.array(depth - 1),
            b't' | b'f' => {
                let value = self.lexer.truth()?;
                self.sink.bool(value)
            }
            b'n' => {
                self.lexer.literal("null")?;
                self.sink.null()
            }
            _ => return Err(self.lexer.expected("a value")),
        };
        self.proceed(flow)
    }

    fn number(&mut self) -> Lex {
        let at = self.lexer.at;
        let number = self.lexer.number()?;
        if number.whole {
            // Only a double is -0.
            if let Some(value) = number.to_i64().filter(|&value| value != 0 || !number.negative) {
                let flow = self.sink.i64(value);
                return self.proceed(flow);
            }
            if let Some(value) = number.to_u64().filter(|_| !number.negative) {
                let flow = self.sink.u64(value);
                return self.proceed(flow);
            }
        }
        let value = number.to_f64().ok_or_else(|| too_large(at))?;
        let flow = self.sink.f64(value);
        self.proceed(flow)
    }

    fn object(&mut self, depth: usize) -> Lex {
        self.lexer.at += 1;
        let flow = self.sink.start_object();
        self.proceed(flow)?;
        if !self.lexer.take(b'}') {
            loop {
                let key = self.lexer.string()?;
                let flow = self.sink.key(key);
                self.proceed(flow)?;
                self.lexer.expect(b':')?;
                self.value(depth)?;
                if !self.lexer.more(b'}')? {
                    break;
                }
            }
        }
        let flow = self.sink.end_object();
        self.proceed(flow)
    }

    fn array(&mut self, depth: usize) -> Lex {
        self.lexer.at += 1;
        let flow = self.sink.start_array();
        self.proceed(flow)?;
        if !self.lexer.take(b']') {
            loop {
                self.value(depth)?;
                if !self.lexer.more(b']')? {
                    break;
                }
            }
        }
        let flow = self.sink.end_array();
        self.proceed(flow)
    }
}

/// Writes values as compact JSON.
#[derive(Clone, Debug, Default)]
pub struct ValueWriter {
    out: Vec<u8>,
    /// A value precedes, so a comma comes first.
    comma: bool,
}

impl ValueWriter {
    /// A writer.
    pub fn new() -> ValueWriter {
        ValueWriter::default()
    }

    /// The text so far.
    pub fn bytes(&self) -> &[u8] {
        &self.out
    }

    /// Drops the text, and keeps the memory.
    pub fn clear(&mut self) {
        self.out.clear();
        self.comma = false;
    }

    #[inline]
    fn before(&mut self) {
        if std::mem::replace(&mut self.comma, true) {
            self.out.push(b',');
        }
    }

    fn open(&mut self, byte: u8) -> SinkResult {
        self.before();
        self.out.push(byte);
        self.comma = false;
        Ok(())
    }

    fn close(&mut self, byte: u8) -> SinkResult {
        self.out.push(byte);
        self.comma = true;
        Ok(())
    }
}

impl ValueSink<'_> for ValueWriter {
    fn null(&mut self) -> SinkResult {
        self.before();
        self.out.extend_from_slice(b"null");
        Ok(())
    }

    fn bool(&mut self, value: bool) -> SinkResult {
        self.before();
        let text: &[u8] = if value { b"true" } else { b"false" };
        self.out.extend_from_slice(text);
        Ok(())
    }

    fn i64(&mut self, value: i64) -> SinkResult {
        self.before();
        print::integer(&mut self.out, value);
        Ok(())
    }

    fn u64(&mut self, value: u64) -> SinkResult {
        self.before();
        print::integer(&mut self.out, value);
        Ok(())
    }

    fn f64(&mut self, value: f64) -> SinkResult {
        self.before();
        print::double(&mut self.out, value);
        Ok(())
    }

    fn string(&mut self, value: &str) -> SinkResult {
        self.before();
        print::quote(&mut self.out, value);
        Ok(())
    }

    fn start_array(&mut self) -> SinkResult {
        self.open(b'[')
    }

    fn end_array(&mut self) -> SinkResult {
        self.close(b']')
    }

    fn start_object(&mut self) -> SinkResult {
        self.open(b'{')
    }

    fn key(&mut self, key: &str) -> SinkResult {
        self.before();
        print::quote(&mut self.out, key);
        self.out.push(b':');
        self.comma = false;
        Ok(())
    }

    fn end_object(&mut self) -> SinkResult {
        self.close(b'}')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(text: &str) -> Result<String, String> {
        let arena = Bump::new();
        let mut writer = ValueWriter::new();
        read(text.as_bytes(), &arena, 8, &mut writer).map_err(|error| error.to_string())?;
        read(text.as_bytes(), &arena, 8, &mut ()).expect("what was read");
        Ok(String::from_utf8(writer.bytes().to_vec()).unwrap())
    }

    #[test]
    fn values_come_back_and_are_passed_over() {
        let text = " { \"a\\u00e9\" : [ 1 , -2.50, 1e3, true, null, {}, [] ], \"b\" : \"\\n\" } ";
        let compact = "{\"a\u{e9}\":[1,-2.5,1000,true,null,{},[]],\"b\":\"\\n\"}";
        assert_eq!(again(text).as_deref(), Ok(compact));
        assert_eq!(again(compact).as_deref(), Ok(compact));
        assert_eq!(again("18446744073709551615").as_deref(), Ok("18446744073709551615"));
        assert_eq!(again("-0").as_deref(), Ok("-0"));
        assert_eq!(again("\"\\ud83d\\ude00\"").as_deref(), Ok("\"\u{1f600}\""));
    }

    #[test]
    fn errors_have_their_place() {
        for (text, error) in [
            ("", "1:1: a value is expected, not the end of the text"),
            ("[1,]", "1:4: a value is expected, not `]`"),
            ("{\"a\":1,}", "1:8: a string is expected, not `}`"),
            ("{\n \"é\" 1}", "2:6: `:` is expected, not `1`"),
            ("[1 2]", "1:4: `,` or `]` is expected, not `2`"),
            ("\"a\n\"", "1:3: a control character stands in a string"),
            ("\"abc", "1:1: a string does not end"),
            ("\"\\x\"", "1:2: there is no such escape"),
            ("\"\\ud800\"", "1:2: half of a surrogate pair stands alone"),
            ("\"\\u12g4\"", "1:2: an escape needs four hexadecimal digits"),
            ("nul", "1:1: a value is expected, not `n`"),
            ("01", "1:1: a number begins with a useless 0"),
            ("-", "1:2: a digit is expected"),
            ("[1.]", "1:4: a digit is expected"),
            ("[1e+]", "1:5: a digit is expected"),
            ("[-1e309]", "1:2: the number is too large for a double"),
            ("{\"a\":[\"\\u00zz\"]}", "1:8: an escape needs four hexadecimal digits"),
            ("[\"a\\n", "1:2: a string does not end"),
            ("1 1", "1:3: the end of the text is expected, not `1`"),
            ("[[[[[[[[[]]]]]]]]]", "1:9: values nest too deep"),
        ] {
            assert_eq!(again(text), Err(error.to_owned()), "{text}");
            let looked = read(text.as_bytes(), &Bump::new(), 8, &mut ());
            assert_eq!(looked.map_err(|error| error.to_string()), Err(error.to_owned()));
        }
        let arena = Bump::new();
        let error = read(b"\"\xff\"", &arena, 8, &mut ()).unwrap_err();
        assert_eq!(error.to_string(), "1:2: this is not UTF-8");
    }
}
