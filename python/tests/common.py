"""The schema of the tests, and the stock package's class for the same one."""

import tidemill

TEXT = """
syntax = "proto3";
package t;
import "google/protobuf/timestamp.proto";
enum Kind { NONE = 0; GOOD = 1; }
message Phone { string number = 1; Kind kind = 2; }
message Person {
  string name = 1;
  int32 id = 2;
  repeated Phone phones = 3;
  map<string, int64> scores = 4;
  optional bytes photo = 5;
  oneof contact { string mail = 6; Phone phone = 7; }
  repeated double numbers = 8;
  google.protobuf.Timestamp born = 9;
  map<int32, Phone> by_id = 10;
  Person partner = 11;
  repeated string tags = 12;
  repeated Kind kinds = 13;
  map<bool, string> words = 14;
  repeated bool flags = 15;
  uint64 large = 16;
  float ratio = 17;
  repeated bytes blobs = 18;
  repeated Person children = 19;
}
"""

SCHEMA = tidemill.Schema.from_text(TEXT, "t.proto")
Person = SCHEMA["t.Person"]

OLD_TEXT = """
syntax = "proto2";
package old;
enum Closed { A = 1; B = 2; }
message Inner { required int32 x = 1; optional string s = 2 [default = "none"]; }
message Outer {
  optional Inner inner = 1;
  repeated Closed closed = 2;
  optional group Pair = 3 { optional int32 left = 4; optional int32 right = 5; }
  optional int64 big = 6 [default = -5];
  extensions 100 to 200;
}
extend Outer { optional string note = 100; repeated int32 marks = 101; optional Inner deep = 102; }
"""

OLD = tidemill.Schema.from_text(OLD_TEXT, "old.proto")
Outer = OLD["old.Outer"]


def stock(schema=SCHEMA, name="t.Person"):
    """The class of the stock package for the same schema."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    files = descriptor_pb2.FileDescriptorSet.FromString(schema.descriptor_set())
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(name))
