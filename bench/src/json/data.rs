//! The messages that are measured: orders with items, words, numbers and truths.

use tidemill_stdx::rng::Rng;
use tidemill_wire::Schema;
use tidemill_wire::proto::{Texts, compile};

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

/// The schema.
pub fn schema() -> Result<Schema, String> {
    let compiled = compile(&["bench.proto"], &Texts::from_iter([("bench.proto", PROTO)]));
    compiled.schema.ok_or_else(|| format!("{:?}", compiled.diagnostics))
}

/// An order with so many items, as JSON.
pub fn order(items: u64) -> String {
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
