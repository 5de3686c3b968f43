//! Examples of the declarations, and errors.

use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::Arc;

use tidemill_relation::text::{DisplayTuple, parse_tuple};
use tidemill_relation::{OwnedValue, SeqBuilder, Type, TypeSet, Value};
use tidemill_support::trickle::Trickle;

use super::records::{FIELDS_MAX, RECORD_BYTES_MAX};
use super::*;

const MILLS: &str = "\u{feff}Eling,1785,2.5\r\n\r\n\"Woodbridge, \"\"Suffolk\"\"\",1793,4e0\n";

fn registry(path: &str, contents: impl AsRef<[u8]>) -> Registry {
    Registry::new(Arc::new(Memory::default().with(path, contents)))
}

/// The rows of an operator for an input, in text form; failures as `! reason`.
fn run(registry: &Registry, name: &str, input: &[Value<'_>]) -> Vec<String> {
    let mut out = Vec::new();
    let fail = |failure: Failure| format!("! {failure}");
    if let Err(failure) = registry.find(name).unwrap().check(input) {
        return vec![fail(failure)];
    }
    let mut rows = match registry.construct(name).unwrap().start(Input::new(input)) {
        Ok(rows) => rows,
        Err(failure) => return vec![fail(failure)],
    };
    loop {
        let mut row = SeqBuilder::new();
        match rows.next(&mut row) {
            Ok(Next::Row) => {
                let columns = output_columns(row.as_seq(), "n0:1", 0, row.as_seq().len() + 1);
                out.push(DisplayTuple::new("out", columns.unwrap()).to_string());
            }
            Ok(Next::Skipped | Next::Waiting) => {}
            Ok(Next::End) => return out,
            Err(failure) => out.push(fail(failure)),
        }
    }
}

fn csv(contents: impl AsRef<[u8]>) -> Vec<String> {
    run(&registry("f", contents), "CSV", &[Value::Str("f")])
}

#[test]
fn examples_yield_what_they_say() {
    let registry = registry("mills.csv", MILLS);
    let mut count = 0;
    for declaration in registry.declarations() {
        assert!(!declaration.doc.is_empty() && !declaration.examples.is_empty(), "{declaration}");
        for Example { input, outputs } in &declaration.examples {
            let (_, columns) = parse_tuple(input).unwrap();
            let columns: Vec<_> = columns.iter().skip(1).map(OwnedValue::get).collect();
            let wanted: Vec<_> = outputs
                .iter()
                .map(|output| {
                    let (_, columns) = parse_tuple(output).unwrap();
                    let columns: Vec<_> = columns.iter().map(OwnedValue::get).collect();
                    DisplayTuple::new("out", columns).to_string()
                })
                .collect();
            for name in declaration.names() {
                assert_eq!(run(&registry, name, &columns), wanted, "{name}");
                count += 1;
            }
        }
    }
    assert_eq!(count, 3);
}

#[test]
fn tokens_are_never_empty() {
    let registry = Registry::default();
    let tokens =
        |delimiters, text| run(&registry, "TOKENIZER", &[Value::Str(delimiters), Value::Str(text)]);
    assert_eq!(tokens(" ", "  a  ä "), [r#"out("n0:1", "a")"#, r#"out("n0:1", "ä")"#]);
    assert_eq!(tokens("", "a b"), [r#"out("n0:1", "a b")"#]);
    assert_eq!(tokens("ä", "xäy"), [r#"out("n0:1", "x")"#, r#"out("n0:1", "y")"#]);
    assert!(tokens(" ", "   ").is_empty() && tokens("", "").is_empty());
}

#[test]
fn inputs_are_checked() {
    let registry = Registry::default();
    let few = run(&registry, "TOKENIZER", &[Value::Str(" ")]);
    assert_eq!(few, ["! an input of 1 columns beside the location, not 2"]);
    let wrong = run(&registry, "TOKENIZER", &[Value::Str(" "), Value::Int(1)]);
    assert_eq!(wrong, ["! `text` is int64, not string"]);
}

#[test]
fn plain_fields_that_read_as_numbers_are_numbers() {
    let found = csv("1,-2,+3, 4 ,5.,1e3,007\n\"1\",1e999,inf,-,1-2,0x10,\n9223372036854775808,x y");
    let wanted = [
        r#"out("n0:1", 1, -2, 3, 4, 5.0, 1000.0, 7)"#,
        r#"out("n0:1", "1", "1e999", "inf", "-", "1-2", "0x10", "")"#,
        r#"out("n0:1", 9.223372036854776e18, "x y")"#,
    ];
    assert_eq!(found, wanted);
}

#[test]
fn quotes_hold_commas_quotes_and_line_ends() {
    let found = csv("\"a,b\",\"c\r\nd\",\"\"\r\n\"\"\n a\"b ,c\n");
    let wanted = [
        r#"out("n0:1", "a,b", "c\r\nd", "")"#,
        r#"out("n0:1", "")"#,
        r#"out("n0:1", " a\"b ", "c")"#,
    ];
    assert_eq!(found, wanted);
}

#[test]
fn csvtuple_reads_as_p2_did() {
    let text = "# name, year\n  # indented, too\n \t\n Eling mill , 1785,\t\"a, #b \" , # c ,\r\n\
                \"#d\" , 7,,\" \",#\n,\n#";
    let found = run(&registry("f", text), "CSVtuple", &[Value::Str("f")]);
    let wanted = [
        r##"out("n0:1", "Eling mill", 1785, "a, #b ", "# c", "")"##,
        r##"out("n0:1", "#d", 7, "", " ", "#")"##,
        r##"out("n0:1", "", "")"##,
    ];
    assert_eq!(found, wanted);
    assert_eq!(csv("# a, b \n"), [r##"out("n0:1", "# a", " b ")"##]);
    let long = format!("#{}\na\n", "x".repeat(3 * RECORD_BYTES_MAX));
    let found = run(&registry("f", long), "CSVtuple", &[Value::Str("f")]);
    assert_eq!(found, [r#"out("n0:1", "a")"#]);
}

#[test]
fn one_bad_record_spoils_no_other() {
    let found = csv(b"a\n\"b\" c,\"\n\xff\nd\n\"e");
    let wanted = [
        r#"out("n0:1", "a")"#,
        "! f:2: text after the end of a quoted field",
        "! f:3: not UTF-8",
        r#"out("n0:1", "d")"#,
        "! f:5: a quoted field without its end",
    ];
    assert_eq!(found, wanted);
}

#[test]
fn records_are_bounded() {
    let mut long = b"\"a\"b".to_vec();
    long.resize(3 * RECORD_BYTES_MAX, b'x');
    long.extend_from_slice(b"\nc\n");
    let found = csv(long);
    assert_eq!(found, ["! f:1: text after the end of a quoted field", r#"out("n0:1", "c")"#]);
    let found = csv(vec![b'x'; 2 * RECORD_BYTES_MAX]);
    assert!(found.len() == 1 && found[0].starts_with("! f:1: a record of more than"), "{found:?}");
    let found = csv(vec![b','; 2 * FIELDS_MAX]);
    assert!(found.len() == 1 && found[0].starts_with("! f:1: a record of more than"), "{found:?}");
}

/// A pipe with these contents.
struct Trickling(Vec<u8>);

impl DataFiles for Trickling {
    fn open(&self, _: &str) -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(Trickle::new(Cursor::new(self.0.clone()))))
    }

    fn is_live(&self, _: &str) -> bool {
        true
    }
}

#[test]
fn what_comes_bit_by_bit_yields_the_same() {
    let texts =
        [MILLS.as_bytes(), b"a,\"b\nc\"\n\"d\"e,f\n\"\"\"\",\r\n", b"\xef\xbb,\xff\nx", b""];
    for text in texts {
        for name in ["CSV", "CSVtuple"] {
            let input = [Value::Str("f")];
            let mut registry = Registry::new(Arc::new(Trickling(text.to_vec())));
            let whole = run(&self::registry("f", text), name, &input);
            assert_eq!(run(&registry, name, &input), whole, "{text:?}");
            registry.refuse_pipes();
            assert_eq!(run(&registry, name, &input), ["! f: a simulation reads no pipes"]);
        }
    }
}

#[test]
fn files_that_cannot_be_read_are_failures() {
    let registry = Registry::default();
    for (path, reason) in
        [("no-such-file.csv", "No such file"), ("/dev", "neither a file nor a pipe")]
    {
        let found = run(&registry, "CSV", &[Value::Str(path)]);
        assert!(found.len() == 1 && found[0].contains(reason), "{found:?}");
    }
}

#[test]
fn a_confined_folder_opens_nothing_outside() {
    let inside = Folder::confined(concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
    assert!(inside.open("lib.rs").is_ok());
    assert!(inside.open("../src/lib.rs").is_ok());
    for outside in ["../Cargo.toml", concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")] {
        let error = inside.open(outside).err().map(|error| error.kind());
        assert_eq!(error, Some(ErrorKind::PermissionDenied), "{outside}");
    }
}

#[test]
fn names_are_given_once() {
    let mut registry = Registry::default();
    let taken = Declaration::new("MINE").alias("CSV");
    let nothing = |_: &Context| -> Box<dyn Operator> { unreachable!("never constructed") };
    assert_eq!(registry.add(taken, nothing), Err(NameTaken("CSV".to_owned())));
    assert!(registry.find("MINE").is_none());
    assert_eq!(registry.nearest("Tokeniser"), Some("TOKENIZER"));
    assert_eq!(registry.nearest("CSVTuples"), Some("CSVtuple"));
}

#[test]
fn locations_stand_where_the_output_has_them() {
    let mut row = SeqBuilder::new();
    row.push(Value::Int(1));
    let columns = output_columns(row.as_seq(), "n0:1", 1, 2).unwrap();
    assert_eq!(columns, [Value::Int(1), Value::Str("n0:1")]);
    assert!(output_columns(row.as_seq(), "n0:1", 0, 3).is_none());
}

/// Operators of any name that begins with `twice:`.
struct Twice;

impl Family for Twice {
    fn prefix(&self) -> &str {
        "twice:"
    }

    fn declaration(&self, name: &str) -> Result<Declaration, Missing> {
        match name {
            "twice:number" => Ok(Declaration::new("twice:number")
                .keeps_leading()
                .reads("number", TypeSet::INT)
                .yields("one", TypeSet::INT)
                .yields("two", TypeSet::INT)),
            _ => Err(Missing { message: format!("no {name}"), help: "twice:number".to_owned() }),
        }
    }

    fn construct(&self, _: &str) -> Option<Box<dyn Operator>> {
        None
    }
}

#[test]
fn families_have_operators_for_names() {
    let mut registry = Registry::default();
    registry.add_family(Arc::new(Twice));
    let found = registry.find("twice:number").expect("an operator");
    let signature = "twice:number(location, ..., number: int64) -> (location, ..., one: int64, \
                     two: int64)";
    assert_eq!(found.to_string(), signature);
    assert!(registry.find("twice:text").is_none() && registry.missing("CSV").is_none());
    assert_eq!(registry.missing("twice:text").expect("a reason").message, "no twice:text");

    // Leading columns are all that are left, and are copied to outputs.
    assert_eq!([1, 2, 4].map(|arity| found.leading_of(arity, 2)), [None, Some(0), Some(2)]);
    let (text, int) = (TypeSet::TEXT, TypeSet::INT);
    assert_eq!(found.output_types(&[TypeSet::BOOL], 0, 4), [text, TypeSet::BOOL, int, int]);
    assert_eq!(found.output_types(&[TypeSet::BOOL], 2, 4), [TypeSet::BOOL, int, text, int]);
    assert_eq!(found.check(&[Value::Null, Value::Int(1)]), Ok(()));
    assert!(matches!(found.check(&[Value::Null]), Err(Failure::Type { .. })));
    assert!(matches!(found.check(&[]), Err(Failure::Arity { .. })));
    let plain = registry.find("TOKENIZER").expect("an operator");
    assert_eq!([2, 3, 4].map(|arity| plain.leading_of(arity, 3)), [None, Some(0), None]);
}

#[test]
fn signatures_print() {
    let registry = Registry::default();
    let printed: Vec<_> = registry.declarations().map(ToString::to_string).collect();
    let wanted = [
        "TOKENIZER(location, delimiters: string, text: string) -> (location, token: string)",
        "CSVtuple(location, file: string) -> (location, ...)",
        "CSV(location, file: string) -> (location, ...)",
    ];
    assert_eq!(printed, wanted);
    let failure =
        Failure::Type { column: "x".to_owned(), expected: TypeSet::NUMBER, given: Type::Str };
    assert_eq!(failure.to_string(), "`x` is string, not int64|double");
}
