//! `proto convert`, `decode`, `encode` and `bench`.

use std::io::Write;
use std::process::{Output, Stdio};

use crate::common::{Folder, run, status, stderr, stdout, tidemill};

const POINT: &str = "\
edition = \"2023\";
package p;
message Point { int32 x = 1; string full_name = 2; repeated Point near = 3; }
";

/// Runs a verb of `proto` with the schema and these bytes as input.
fn pipe(folder: &Folder, arguments: &str, input: &[u8]) -> Output {
    let schema = folder.file("point.proto", POINT);
    let (verb, rest) = arguments.split_once(' ').unwrap_or((arguments, ""));
    let mut child = tidemill()
        .args(["proto", verb, "--schema", &schema, "--type", "p.Point"])
        .args(rest.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // A command that ends early does not read all.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().expect("it ends");
    writer.join().expect("no panic");
    output
}

#[test]
fn messages_go_from_form_to_form() {
    let folder = Folder::new();
    let json = b"{\"x\":-1,\"fullName\":\"a\"} {\"near\":[{\"x\":2}]}\n";
    let lines = "{\"x\":-1,\"fullName\":\"a\"}\n{\"near\":[{\"x\":2}]}\n";
    let delimited = pipe(&folder, "convert --from json --to delimited", json);
    assert_eq!((status(&delimited), &*stderr(&delimited)), (0, ""));
    let bytes = &delimited.stdout;
    assert_eq!(
        bytes,
        b"\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x12\x01a\x04\x1a\x02\x08\x02"
    );
    let back = pipe(&folder, "convert --from delimited --to json -", bytes);
    assert_eq!((status(&back), &*stdout(&back)), (0, lines));
    let text = pipe(&folder, "convert --from delimited --to text", bytes);
    assert_eq!(stdout(&text), "x: -1\nfull_name: \"a\"\n\nnear {\n  x: 2\n}\n");
    let one = pipe(&folder, "encode --from text", b"x: 5 near { x: 6 }");
    assert_eq!(one.stdout, b"\x08\x05\x1a\x02\x08\x06");
    let file = folder.path().join("one.pb");
    std::fs::write(&file, &one.stdout).expect("written");
    let decoded = pipe(&folder, &format!("decode {}", file.display()), b"");
    assert_eq!(stdout(&decoded), "{\"x\":5,\"near\":[{\"x\":6}]}\n");
    let encoded = pipe(&folder, "encode", stdout(&decoded).as_bytes());
    assert_eq!(encoded.stdout, one.stdout);
    let copied = pipe(&folder, "convert --to delimited", &one.stdout);
    assert_eq!(copied.stdout, b"\x06\x08\x05\x1a\x02\x08\x06");
}

#[test]
fn fields_are_selected_by_path() {
    let folder = Folder::new();
    let json = b"{\"x\":1,\"fullName\":\"a\",\"near\":[{\"x\":2,\"fullName\":\"b\"}]}";
    let output = pipe(
        &folder,
        "convert --from json --to json --select x,near.full_name --engine native",
        json,
    );
    assert_eq!(stdout(&output), "{\"x\":1,\"near\":[{\"fullName\":\"b\"}]}\n");
    let output = pipe(&folder, "decode --select near.y", b"");
    assert_eq!(status(&output), 1);
    let message = "tidemill: --select: `near.y` is no path: `p.Point` has no field `y`\n";
    assert_eq!(stderr(&output), message);
}

/// A part of the values of a map has their keys.
#[test]
fn keys_stay_with_selected_values() {
    let folder = Folder::new();
    let schema = folder.file(
        "deep.proto",
        "syntax = \"proto3\"; message D { int64 i = 6; map<string, D> m = 4; }",
    );
    let json = folder.file("in.json", "{\"m\":{\"a\":{\"i\":1},\"b\":{\"i\":2,\"m\":{}}}}");
    for engine in ["native", "table"] {
        let words = "convert --from json --to json --select m.value.i --engine";
        let mut words: Vec<&str> = words.split(' ').collect();
        words.extend([engine, "--schema", &schema, "--type", "D", &json]);
        let output = tidemill().arg("proto").args(words).output().expect("it starts");
        assert_eq!(stdout(&output), "{\"m\":{\"a\":{\"i\":\"1\"},\"b\":{\"i\":\"2\"}}}\n");
    }
}

/// A message without a required field is refused in each form.
#[test]
fn required_fields_are_required_in_all_forms() {
    let folder = Folder::new();
    let text = "syntax = \"proto2\"; message R { required int32 id = 1; optional R sub = 2; }";
    let schema = folder.file("r.proto", text);
    let whole = b"\x08\x01\x12\x02\x08\x07";
    for (from, input) in [
        ("json", &b"{\"id\":1,\"sub\":{}}"[..]),
        ("json", b"{\"sub\":{\"id\":1}}"),
        ("text", b"id: 1 sub {}"),
        ("binary", b"\x08\x01\x12\x00"),
        ("binary", b""),
        ("binary", whole),
    ] {
        let file = folder.path().join("in");
        std::fs::write(&file, input).expect("written");
        for (engine, to) in [("native", "binary"), ("native", "json"), ("table", "text")] {
            let mut convert = tidemill();
            convert.args(["proto", "convert", "--from", from, "--to", to, "--engine", engine]);
            convert.args(["--schema", &schema, "--type", "R"]).arg(&file);
            let output = convert.output().expect("it starts");
            let is_whole = input == whole;
            assert_eq!(status(&output), i32::from(!is_whole), "{from} {to}: {}", stderr(&output));
            assert!(is_whole || stderr(&output).contains("required"), "{}", stderr(&output));
        }
    }
}

#[test]
fn mistakes_have_their_place() {
    let folder = Folder::new();
    let json = b"{\"x\":1}\n\n {\"x\":\n  \"y\"}\n";
    let output = pipe(&folder, "convert --from json --to json", json);
    assert_eq!((status(&output), &*stdout(&output)), (1, "{\"x\":1}\n"));
    let message = "standard input:4:3: error[message]: `y` is no number in x\n";
    assert_eq!(stderr(&output), message);
    let output = pipe(&folder, "convert --from json --to json", b"{\"x\":1} {\"x\"");
    assert!(stderr(&output).starts_with("standard input:1:13: error[message]: "));
    let output = pipe(&folder, "decode", b"\x08");
    let message = "tidemill: standard input: message 1: truncated at byte 0 in x\n";
    assert_eq!((status(&output), &*stderr(&output)), (1, message));
    let output = pipe(&folder, "decode --from delimited", b"\x02\x08\x01\x05\x08");
    assert_eq!(stdout(&output), "{\"x\":1}\n");
    let message = "tidemill: standard input: message 2: the input ends inside of it\n";
    assert_eq!((status(&output), &*stderr(&output)), (1, message));
    let output = pipe(&folder, "encode", b"{} {}");
    assert!(stderr(&output).contains("one message makes a binary file"));
    let schema = folder.file("point.proto", POINT);
    let output = run(&format!("proto decode --schema {schema} --type q.point no-such-file"));
    assert!(stderr(&output).contains("no message `q.point`; is p.Point meant?"));
    let output = run(&format!("proto decode --schema {schema} --type p.Point no-such-file"));
    assert_eq!(status(&output), 1);
    assert_eq!(status(&run("proto decode")), 2);
}

/// Hundreds of thousands of messages pass in the memory of one.
#[test]
fn streams_pass_in_bounded_memory() {
    let folder = Folder::new();
    let name = "n".repeat(100);
    let line = format!("{{\"x\":1,\"fullName\":\"{name}\"}}\n");
    let count = 200_000;
    let delimited =
        pipe(&folder, "convert --from json --to delimited", line.repeat(count).as_bytes());
    assert_eq!(delimited.stdout.len(), count * 105);
    let back = pipe(&folder, "convert --from delimited --to json", &delimited.stdout);
    assert_eq!(back.stdout, line.repeat(count).into_bytes());
}

#[test]
fn speed_is_printed() {
    let folder = Folder::new();
    let output = pipe(&folder, "bench --from json --to delimited", b"{\"x\":1}{\"x\":2}");
    assert_eq!((status(&output), &*stderr(&output)), (0, ""));
    let text = stdout(&output);
    assert!(text.starts_with("2 messages, 14 bytes in, 6 bytes out, "), "{text}");
    assert!(text.contains("MB/s"), "{text}");
}

#[test]
fn layouts_are_explained() {
    let folder = Folder::new();
    let schema = folder.file("point.proto", POINT);
    let output = run(&format!("explain {schema} --type p.Point"));
    let text = stdout(&output);
    assert_eq!((status(&output), &*stderr(&output)), (0, ""));
    assert!(text.starts_with("p.Point: "), "{text}");
    assert!(text.contains("full_name                string"), "{text}");
    assert!(text.contains("near                     repeated p.Point"), "{text}");
    assert_eq!(stdout(&run(&format!("explain {schema}"))), text);
    let output = run(&format!("explain {schema} --type p.Point --asm"));
    assert_eq!(status(&output), 0);
    let code = stdout(&output);
    assert!(code.starts_with("p.Point: decoder\n") && code.contains("ret"), "{code}");
    assert_eq!(status(&run(&format!("explain {schema} --type p.Line"))), 1);
}

#[test]
fn columns_are_arrow_streams_and_parquet_files() {
    let folder = Folder::new();
    let json = b"{\"x\":-1,\"fullName\":\"a\"} {\"near\":[{\"x\":2}]}\n";
    let stream = pipe(&folder, "convert --from json --to arrow", json);
    let warning = "tidemill: warning: near leads back to a message around it: it has no column\n";
    assert_eq!((status(&stream), &*stderr(&stream)), (0, warning));
    // A message of the stream begins with a mark; the stream ends with an empty one.
    assert_eq!(stream.stdout[..4], [0xff; 4]);
    assert_eq!(stream.stdout[stream.stdout.len() - 8..], [255, 255, 255, 255, 0, 0, 0, 0]);
    let file = pipe(&folder, "convert --from json --to parquet --select x --engine native", json);
    assert_eq!((status(&file), &*stderr(&file)), (0, ""));
    assert!(file.stdout.starts_with(b"PAR1") && file.stdout.ends_with(b"PAR1"));
    let wrong = pipe(&folder, "convert --from json --to arrow --select y", json);
    assert_eq!(status(&wrong), 1);
    assert!(stderr(&wrong).contains("--select: "), "{}", stderr(&wrong));
}
