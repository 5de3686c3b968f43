//! Other crates on the messages of the Protocol Buffers benchmark.
//!
//! `rust-proto WHO SCHEMA TYPE FILE PASSES decode|encode` prints the CPU seconds of so many
//! decodings or encodings, and how many bytes the message has when it is encoded again.

mod messages;

/// What `buffa` writes.
#[allow(warnings, clippy::all, clippy::pedantic)]
mod types {
    include!(concat!(env!("OUT_DIR"), "/buffa_types.rs"));
}

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// What is measured, and how often.
struct Job<'a> {
    bytes: &'a [u8],
    passes: usize,
    encode: bool,
}

impl Job<'_> {
    /// Decodes, or encodes into memory that is used again.
    fn run<T>(&self, decode: impl Fn(&[u8]) -> T, encode: impl Fn(&T, &mut Vec<u8>)) {
        let one = decode(self.bytes);
        let mut out = Vec::new();
        encode(&one, &mut out);
        let length = out.len();
        let start = cpu_time();
        for _ in 0..self.passes {
            if self.encode {
                out.clear();
                encode(black_box(&one), &mut out);
                black_box(&out);
            } else {
                black_box(decode(black_box(self.bytes)));
            }
        }
        println!("{:.9} {length}", (cpu_time() - start).as_secs_f64());
    }
}

fn prost<M: prost::Message + Default>(job: &Job<'_>) {
    job.run(|bytes| M::decode(bytes).expect("decodes"), |one, out| {
        one.encode(out).expect("encodes");
    });
}

fn buffa<M: buffa::Message>(job: &Job<'_>) {
    job.run(|bytes| M::decode_from_slice(bytes).expect("decodes"), |one, out| one.encode(out));
}

fn prost_reflect(job: &Job<'_>, set: &[u8], ty: &str) {
    use prost::Message;
    let pool = prost_reflect::DescriptorPool::decode(set).expect("a schema");
    let message = pool.get_message_by_name(ty).expect("the message");
    let decode = |bytes: &[u8]| {
        prost_reflect::DynamicMessage::decode(message.clone(), bytes).expect("decodes")
    };
    job.run(decode, |one, out| one.encode(out).expect("encodes"));
}

fn rust_protobuf(job: &Job<'_>, set: &[u8], ty: &str) {
    use protobuf::Message;
    let set = protobuf::descriptor::FileDescriptorSet::parse_from_bytes(set).expect("a schema");
    let files = protobuf::reflect::FileDescriptor::new_dynamic_fds(set.file, &[]).expect("files");
    let found = files.iter().find_map(|file| file.message_by_full_name(&format!(".{ty}")));
    let message = found.expect("the message");
    let decode = |bytes: &[u8]| message.parse_from_bytes(bytes).expect("decodes");
    job.run(decode, |one, out| one.write_to_vec_dyn(out).expect("encodes"));
}

#[cfg(feature = "upb")]
fn upb(job: &Job<'_>, set: &[u8], ty: &str) {
    let pool = upb::DefPool::new();
    pool.add_serialized_set(set).expect("a schema");
    let message = pool.find_message(ty).expect("the message");
    let decode = |bytes: &[u8]| {
        upb::decode(bytes, &message, &std::sync::Arc::new(upb::Arena::new())).expect("decodes")
    };
    job.run(decode, |one, out| {
        upb::encode_into(one, out).expect("encodes");
    });
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, who, schema, ty, file, passes, what] = &arguments[..] else {
        panic!("usage: rust-proto WHO SCHEMA TYPE FILE PASSES decode|encode");
    };
    let bytes = std::fs::read(file).expect("the file is there");
    let set = std::fs::read(schema).expect("the schema is there");
    let passes = passes.parse().expect("a number");
    let job = Job { bytes: &bytes, passes, encode: what == "encode" };
    match (who.as_str(), ty.as_str()) {
        ("prost", "benchmarks.SpeedMessage1") => prost::<messages::SpeedMessage1>(&job),
        ("prost", "benchmarks.SpeedMessage2") => prost::<messages::SpeedMessage2>(&job),
        ("buffa", "benchmarks.SpeedMessage1") => {
            buffa::<types::benchmarks::SpeedMessage1>(&job);
        }
        ("buffa", "benchmarks.SpeedMessage2") => {
            buffa::<types::benchmarks::SpeedMessage2>(&job);
        }
        ("prost-reflect", _) => prost_reflect(&job, &set, ty),
        ("rust-protobuf", _) => rust_protobuf(&job, &set, ty),
        #[cfg(feature = "upb")]
        ("upb", _) => upb(&job, &set, ty),
        _ => panic!("no peer {who} for {ty}"),
    }
}
