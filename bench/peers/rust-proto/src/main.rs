//! Decoders of other crates on the messages of the Protocol Buffers benchmark.
//!
//! `rust-proto WHO SCHEMA TYPE FILE PASSES` prints the CPU seconds of so many decodings, and how
//! many bytes the message has when it is encoded again.

mod messages;

use std::hint::black_box;
use std::time::Duration;

use prost::Message;
use prost_reflect::{DescriptorPool, DynamicMessage};
use rustix::time::{ClockId, clock_gettime};

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn measure<T>(passes: usize, decode: impl Fn() -> T, length: impl Fn(&T) -> usize) {
    let bytes = length(&decode());
    let start = cpu_time();
    for _ in 0..passes {
        black_box(decode());
    }
    println!("{:.9} {bytes}", (cpu_time() - start).as_secs_f64());
}

fn prost<M: Message + Default>(bytes: &[u8], passes: usize) {
    measure(passes, || M::decode(black_box(bytes)).expect("decodes"), M::encoded_len);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, who, schema, ty, file, passes] = &arguments[..] else {
        panic!("usage: rust-proto WHO SCHEMA TYPE FILE PASSES");
    };
    let bytes = std::fs::read(file).expect("the file is there");
    let passes = passes.parse().expect("a number");
    match (who.as_str(), ty.as_str()) {
        ("prost", "benchmarks.SpeedMessage1") => prost::<messages::SpeedMessage1>(&bytes, passes),
        ("prost", "benchmarks.SpeedMessage2") => prost::<messages::SpeedMessage2>(&bytes, passes),
        ("prost-reflect", _) => {
            let set = std::fs::read(schema).expect("the schema is there");
            let pool = DescriptorPool::decode(&set[..]).expect("a schema");
            let message = pool.get_message_by_name(ty).expect("the message");
            let decode = || DynamicMessage::decode(message.clone(), black_box(&bytes[..]));
            measure(passes, || decode().expect("decodes"), DynamicMessage::encoded_len);
        }
        _ => panic!("no peer {who} for {ty}"),
    }
}
