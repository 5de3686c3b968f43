//! A file descriptor, as exchanged by compilers and servers.

use tidemill_stdx::rng::Rng;

use super::message::Made;
use super::words::words;
use super::write::Out;

/// The type is built in.
const TEXT: &str = r#"
syntax = "proto3";
package made.descriptor;
import public "google/protobuf/descriptor.proto";
"#;

const MESSAGES: u64 = 12;

pub fn made(rng: &mut Rng) -> Made {
    let mut out = Out::default();
    out.bytes(1, "made/service.proto");
    out.bytes(2, "made.service");
    out.bytes(3, "google/protobuf/timestamp.proto");
    (0..MESSAGES).for_each(|message| out.sub(4, |one| type_of(rng, one, message)));
    out.sub(5, |one| {
        one.bytes(1, "State");
        for value in 0..6 {
            one.sub(2, |inner| {
                inner.bytes(1, format!("STATE_{value}"));
                inner.varint(2, value);
            });
        }
    });
    out.sub(6, |service| {
        service.bytes(1, "Service");
        for method in 0..8 {
            service.sub(2, |one| {
                one.bytes(1, format!("Method{method}"));
                one.bytes(2, format!(".made.service.Message{method}"));
                one.bytes(3, format!(".made.service.Message{}", method + 1));
                if method % 3 == 0 {
                    one.varint(6, 1);
                }
            });
        }
    });
    out.sub(8, |options| {
        options.bytes(1, "org.example.made");
        options.varint(10, 1);
        options.bytes(11, "example.org/made;made");
    });
    out.bytes(12, "proto3");
    Made {
        name: "descriptor",
        file: "made/descriptor.proto",
        text: TEXT,
        message: "google.protobuf.FileDescriptorProto",
        bytes: out.0,
        select: ["name", "message_type.name"],
    }
}

fn type_of(rng: &mut Rng, out: &mut Out, message: u64) {
    out.bytes(1, format!("Message{message}"));
    for number in 1..=4 + rng.below(16) {
        let name = words(rng, 2, "_");
        let of_message = rng.chance(0.2);
        out.sub(2, |field| {
            field.bytes(1, &name);
            field.varint(3, number);
            field.varint(4, if rng.chance(0.2) { 3 } else { 1 });
            let scalar = [1, 3, 5, 8, 9, 12][rng.below(6) as usize];
            field.varint(5, if of_message { 11 } else { scalar });
            if of_message {
                field.bytes(6, format!(".made.service.Message{}", rng.below(MESSAGES)));
            }
            if rng.chance(0.1) {
                field.sub(8, |options| options.varint(3, 1));
            }
            let json: String = name.replace('_', "");
            field.bytes(10, json);
        });
    }
    if rng.chance(0.3) {
        out.sub(5, |range| {
            range.varint(1, 1000);
            range.varint(2, 2000);
        });
    }
}
