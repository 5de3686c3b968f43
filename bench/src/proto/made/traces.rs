//! A trace export in the form of OpenTelemetry's collectors.

use tidemill_stdx::rng::Rng;

use super::message::Made;
use super::words::{noise, word, words};
use super::write::Out;

const TEXT: &str = r#"
syntax = "proto3";
package made.traces;

message ExportTraceServiceRequest { repeated ResourceSpans resource_spans = 1; }
message ResourceSpans {
  Resource resource = 1;
  repeated ScopeSpans scope_spans = 2;
  string schema_url = 3;
}
message Resource { repeated KeyValue attributes = 1; uint32 dropped_attributes_count = 2; }
message ScopeSpans {
  InstrumentationScope scope = 1;
  repeated Span spans = 2;
  string schema_url = 3;
}
message InstrumentationScope {
  string name = 1;
  string version = 2;
  repeated KeyValue attributes = 3;
  uint32 dropped_attributes_count = 4;
}
message Span {
  bytes trace_id = 1;
  bytes span_id = 2;
  string trace_state = 3;
  bytes parent_span_id = 4;
  string name = 5;
  enum SpanKind {
    SPAN_KIND_UNSPECIFIED = 0;
    SPAN_KIND_INTERNAL = 1;
    SPAN_KIND_SERVER = 2;
    SPAN_KIND_CLIENT = 3;
    SPAN_KIND_PRODUCER = 4;
    SPAN_KIND_CONSUMER = 5;
  }
  SpanKind kind = 6;
  fixed64 start_time_unix_nano = 7;
  fixed64 end_time_unix_nano = 8;
  repeated KeyValue attributes = 9;
  uint32 dropped_attributes_count = 10;
  message Event {
    fixed64 time_unix_nano = 1;
    string name = 2;
    repeated KeyValue attributes = 3;
    uint32 dropped_attributes_count = 4;
  }
  repeated Event events = 11;
  uint32 dropped_events_count = 12;
  message Link {
    bytes trace_id = 1;
    bytes span_id = 2;
    string trace_state = 3;
    repeated KeyValue attributes = 4;
    uint32 dropped_attributes_count = 5;
    fixed32 flags = 6;
  }
  repeated Link links = 13;
  uint32 dropped_links_count = 14;
  Status status = 15;
  fixed32 flags = 16;
}
message Status {
  reserved 1;
  string message = 2;
  enum StatusCode { STATUS_CODE_UNSET = 0; STATUS_CODE_OK = 1; STATUS_CODE_ERROR = 2; }
  StatusCode code = 3;
}
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1;
    bool bool_value = 2;
    int64 int_value = 3;
    double double_value = 4;
    ArrayValue array_value = 5;
    KeyValueList kvlist_value = 6;
    bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
"#;

const SPANS: u64 = 130;

pub fn made(rng: &mut Rng) -> Made {
    let mut out = Out::default();
    let services = 4;
    for service in 0..services {
        out.sub(1, |resource| {
            resource.sub(1, |one| {
                text(one, 1, "service.name", &format!("{}-{service}", word(rng)));
                text(one, 1, "host.name", &words(rng, 3, "."));
                text(one, 1, "telemetry.sdk.language", "rust");
            });
            resource.sub(2, |scope| {
                scope.sub(1, |name| {
                    name.bytes(1, words(rng, 2, "::"));
                    name.bytes(2, "1.4.2");
                });
                (0..SPANS / services).for_each(|_| scope.sub(2, |one| span(rng, one)));
            });
            resource.bytes(3, "https://opentelemetry.io/schemas/1.24.0");
        });
    }
    Made {
        name: "traces",
        file: "made/traces.proto",
        text: TEXT,
        message: "made.traces.ExportTraceServiceRequest",
        bytes: out.0,
        select: ["resource_spans.schema_url", "resource_spans.scope_spans.spans.name"],
    }
}

fn span(rng: &mut Rng, out: &mut Out) {
    let start = 1_760_000_000_000_000_000 + rng.below(1 << 40);
    let end = start + rng.below(1 << 28);
    out.bytes(1, noise(rng, 16));
    out.bytes(2, noise(rng, 8));
    if rng.chance(0.8) {
        out.bytes(4, noise(rng, 8));
    }
    out.bytes(5, words(rng, 2, "."));
    out.varint(6, 1 + rng.below(5));
    out.fixed64(7, start);
    out.fixed64(8, end);
    text(out, 9, "http.request.method", ["GET", "POST"][rng.below(2) as usize]);
    text(out, 9, "url.path", &format!("/{}", words(rng, 3, "/")));
    number(out, 9, "http.response.status_code", 200 + rng.below(4) * 100);
    out.sub(9, |pair| {
        pair.bytes(1, "net.peer.reused");
        pair.sub(2, |value| value.varint(2, rng.below(2)));
    });
    if rng.chance(0.3) {
        out.sub(9, |pair| {
            pair.bytes(1, "sampling.weight");
            pair.sub(2, |value| value.fixed64(4, rng.f64().to_bits()));
        });
    }
    for _ in 0..rng.below(3) {
        out.sub(11, |event| {
            event.fixed64(1, start + rng.below(end - start + 1));
            event.bytes(2, word(rng));
            text(event, 3, "message", &words(rng, 5, " "));
        });
    }
    out.sub(15, |status| status.varint(3, 1 + rng.below(2)));
    out.fixed32(16, 0x0100);
}

fn text(out: &mut Out, field: u32, key: &str, value: &str) {
    out.sub(field, |pair| {
        pair.bytes(1, key);
        pair.sub(2, |inner| inner.bytes(1, value));
    });
}

fn number(out: &mut Out, field: u32, key: &str, value: u64) {
    out.sub(field, |pair| {
        pair.bytes(1, key);
        pair.sub(2, |inner| inner.varint(3, value));
    });
}
