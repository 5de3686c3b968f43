//! The measured messages: orders with items, words, numbers and booleans; and those of the Protocol
//! Buffers benchmark, in `bench/data`.

use std::path::Path;

use tidemill_stdx::rng::Rng;
use tidemill_wire::Schema;
use tidemill_wire::json::{self, Mapping};
use tidemill_wire::proto::{Texts, compile};

/// A text and its type.
pub struct Text {
    /// The name of the case.
    pub name: &'static str,
    /// Its schema.
    pub schema: Schema,
    /// The full name of its type.
    pub message: &'static str,
    /// The JSON.
    pub text: String,
}

/// The type known to peers.
pub const ORDER: &str = "bench.Order";

/// All measured texts: orders of some 300 and 90,000 bytes, and both public messages.
///
/// # Errors
/// A schema or message that cannot be read.
pub fn texts() -> Result<Vec<Text>, String> {
    let orders = [("small", 1), ("large", 700)].map(|(name, items)| {
        let (schema, text) = (schema()?, order(items));
        Ok(Text { name, schema, message: ORDER, text })
    });
    let public = [
        ("speed1", "benchmarks.SpeedMessage1", "google_message1.dat"),
        ("speed2", "benchmarks.SpeedMessage2", "google_message2.dat"),
    ];
    let public = public.map(|(name, message, file)| {
        let schema = Schema::from_descriptor_set(&read("google_messages.fds")?);
        let schema = schema.map_err(|error| error.to_string())?;
        let of = schema.message_by_name(message).ok_or("no message")?;
        let text = json::print(&Mapping::new(&schema), of, &read(file)?);
        let text = text.map_err(|error| error.to_string())?;
        Ok(Text { name, schema, message, text })
    });
    orders.into_iter().chain(public).collect()
}

fn read(name: &str) -> Result<Vec<u8>, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data").join(name);
    std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))
}

const PROTO: &str = r#"
syntax = "proto3";
package bench;
message Item {
  uint32 id = 1;
  string name = 2;
  double price = 3;
  int32 count = 4;
  bool in_stock = 5;
  repeated string tags = 6;
  repeated float sizes = 7;
}
message Address { string street = 1; string city = 2; string zip = 3; }
message Order {
  string order_id = 1;
  uint32 created = 2;
  Address address = 3;
  repeated Item items = 4;
  string remark = 5;
}
"#;

const WORDS: [&str; 12] = [
    "bolt",
    "lamp",
    "chair",
    "blue",
    "heavy",
    "garden",
    "no. 7",
    "münster",
    "left-handed",
    "a \"quoted\" one",
    "steel",
    "of unusual length, as descriptions in shops are",
];

/// The schema of orders.
fn schema() -> Result<Schema, String> {
    let compiled = compile(&["bench.proto"], &Texts::from_iter([("bench.proto", PROTO)]));
    compiled.schema.ok_or_else(|| format!("{:?}", compiled.diagnostics))
}

/// An order of `items` items, as JSON.
fn order(items: u64) -> String {
    let mut rng = Rng::new(7);
    let mut out = String::from("{\"orderId\":\"2026-11-21/000042\",\"created\":1795288458,");
    out.push_str("\"address\":{\"street\":\"Lindenweg 3\",\"city\":\"Köln\",\"zip\":\"50667\"}");
    out.push_str(",\"items\":[");
    for at in 0..items {
        let mut word = || serde_json::to_string(WORDS[rng.below(12) as usize]).unwrap_or_default();
        let (name, one, two) = (word(), word(), word());
        let price = 1.0 + rng.below(100_000) as f64 / 100.0;
        let (id, count) = (rng.below(1 << 31), 1 + rng.below(9));
        let size = rng.below(1000) as f64 / 8.0 + 0.125;
        let comma = if at == 0 { "" } else { "," };
        out.push_str(&format!(
            "{comma}{{\"id\":{id},\"name\":{name},\"price\":{price},\"count\":{count},\
             \"inStock\":true,\"tags\":[{one},{two}],\"sizes\":[{size},1.5]}}"
        ));
    }
    out.push_str("],\"remark\":\"ring twice\"}");
    out
}
