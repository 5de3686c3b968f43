//! JSON libraries that read into structures made for the type, and write from them.
//!
//! `tidemill-bench-json FILE ROUNDS RUNS` prints rows `WHO decode|encode|plain MB_PER_S`: medians
//! over CPU time. Each result is checked: the output equals the input.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

#[derive(Deserialize, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Item {
    id: u32,
    name: String,
    price: f64,
    count: i32,
    in_stock: bool,
    tags: Vec<String>,
    sizes: Vec<f32>,
}

#[derive(Deserialize, Serialize, PartialEq, Debug)]
struct Address {
    street: String,
    city: String,
    zip: String,
}

#[derive(Deserialize, Serialize, PartialEq, Debug)]
#[serde(rename_all = "camelCase")]
struct Order {
    order_id: String,
    created: u32,
    address: Address,
    items: Vec<Item>,
    remark: String,
}

fn cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

struct Case {
    bytes: Vec<u8>,
    rounds: usize,
    runs: usize,
}

impl Case {
    fn row(&self, who: &str, what: &str, mut once: impl FnMut()) {
        let mut rates: Vec<f64> = (0..self.runs)
            .map(|_| {
                let start = cpu_s();
                for _ in 0..self.rounds {
                    once();
                }
                (self.bytes.len() * self.rounds) as f64 / (cpu_s() - start) / 1e6
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!("{who} {what} {}", rates[rates.len() / 2]);
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, file, rounds, runs] = &arguments[..] else { panic!("FILE ROUNDS RUNS") };
    let bytes = std::fs::read(file).expect("a file");
    let (rounds, runs) = (rounds.parse().expect("a number"), runs.parse().expect("a number"));
    let order: Order = serde_json::from_slice(&bytes).expect("an order");
    let sonic: Order = sonic_rs::from_slice(&bytes).expect("an order");
    let simd: Order = simd_json::from_slice(&mut bytes.clone()).expect("an order");
    assert!(order == sonic && order == simd);
    let back: Order =
        serde_json::from_str(&sonic_rs::to_string(&order).expect("text")).expect("it");
    assert_eq!(order, back);
    let case = Case { bytes, rounds, runs };
    case.row("serde_json", "decode", || {
        black_box(serde_json::from_slice::<Order>(black_box(&case.bytes)).expect("an order"));
    });
    case.row("sonic-rs", "decode", || {
        black_box(sonic_rs::from_slice::<Order>(black_box(&case.bytes)).expect("an order"));
    });
    // It modifies its input, which must be copied.
    let mut copy = Vec::new();
    case.row("simd-json", "decode", || {
        copy.clear();
        copy.extend_from_slice(black_box(&case.bytes));
        black_box(simd_json::from_slice::<Order>(&mut copy).expect("an order"));
    });
    let mut out = Vec::new();
    case.row("serde_json", "encode", || {
        out.clear();
        serde_json::to_writer(&mut out, black_box(&order)).expect("text");
        black_box(&out);
    });
    case.row("sonic-rs", "encode", || {
        out.clear();
        sonic_rs::to_writer(&mut out, black_box(&order)).expect("text");
        black_box(&out);
    });
    case.row("simd-json", "encode", || {
        out.clear();
        simd_json::to_writer(&mut out, black_box(&order)).expect("text");
        black_box(&out);
    });
    // Without structures: the input is only parsed.
    case.row("serde_json", "plain", || {
        black_box(serde_json::from_slice::<IgnoredAny>(black_box(&case.bytes)).expect("text"));
    });
    case.row("sonic-rs", "plain", || {
        black_box(sonic_rs::from_slice::<IgnoredAny>(black_box(&case.bytes)).expect("text"));
    });
    let mut buffers = simd_json::Buffers::new(case.bytes.len());
    case.row("simd-json-tape", "plain", || {
        copy.clear();
        copy.extend_from_slice(black_box(&case.bytes));
        black_box(simd_json::to_tape_with_buffers(&mut copy, &mut buffers).expect("text"));
    });
}
