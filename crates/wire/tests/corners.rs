//! Fixed inputs: the corner cases of the wire format, and each way to break it.

use crate::common::{All, SCALARS};
use tidemill_wire::{DecodeError, Decoder, ErrorKind, Event, Scalar, Stop, encode, events};

/// Asserts that `bytes` decode to these events without error.
#[track_caller]
fn gives(all: &All, bytes: &[u8], expected: &[Event<'_>]) {
    let (seen, result) = all.decode(bytes);
    assert_eq!(result, Ok(()));
    assert_eq!(seen, expected);
}

/// Asserts that `bytes` are refused with that error, offset and path.
#[track_caller]
fn refused(bytes: &[u8], kind: ErrorKind, offset: usize, path: &str) {
    let (_, result) = All::new().decode(bytes);
    assert_eq!(result, Err(DecodeError { kind, offset, path: path.into() }));
}

/// A group of field 70, `depth` times.
fn groups(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    (0..depth).for_each(|_| bytes.extend([0xb3, 0x04]));
    (0..depth).for_each(|_| bytes.extend([0xb4, 0x04]));
    bytes
}

/// `child` in `child`, `depth` times.
fn children(depth: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..depth {
        let mut outer = vec![0x92, 0x03];
        tidemill_wire::varint::write(&mut outer, bytes.len() as u64);
        outer.append(&mut bytes);
        bytes = outer;
    }
    bytes
}

#[test]
fn every_scalar_has_its_known_bytes() {
    let all = All::new();
    let bytes = encode::to_vec(&all.schema, |to| {
        to.put_f64(all.one(Scalar::Double), -0.0);
        to.put_f32(all.one(Scalar::Float), 1.0);
        to.put_i64(all.one(Scalar::Int64), -1);
        to.put_u64(all.one(Scalar::Uint64), 300);
        to.put_i32(all.one(Scalar::Int32), -2);
        to.put_u64(all.one(Scalar::Fixed64), 1);
        to.put_u32(all.one(Scalar::Fixed32), 2);
        to.put_bool(all.one(Scalar::Bool), true);
        to.put_string(all.one(Scalar::String), "ä");
        to.put_bytes(all.one(Scalar::Bytes), &[0xff]);
        to.put_u32(all.one(Scalar::Uint32), u32::MAX);
        to.put_i32(all.one(Scalar::Sfixed32), -1);
        to.put_i64(all.one(Scalar::Sfixed64), -1);
        to.put_i32(all.one(Scalar::Sint32), i32::MIN);
        to.put_i64(all.one(Scalar::Sint64), -1);
        to.put_i64(all.far, 1);
    });
    let expected = b"\x09\x00\x00\x00\x00\x00\x00\x00\x80\x15\x00\x00\x80\x3f\
        \x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x20\xac\x02\
        \x28\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01\x31\x01\x00\x00\x00\x00\x00\x00\x00\
        \x3d\x02\x00\x00\x00\x40\x01\x4a\x02\xc3\xa4\x52\x01\xff\x58\xff\xff\xff\xff\x0f\
        \x65\xff\xff\xff\xff\x69\xff\xff\xff\xff\xff\xff\xff\xff\x70\xff\xff\xff\xff\x0f\
        \x78\x01\xf8\xff\xff\xff\x0f\x02";
    assert_eq!(bytes, expected);
    let (seen, result) = all.decode(&bytes);
    assert_eq!(result, Ok(()));
    assert_eq!(seen.len(), SCALARS.len() + 1);
    assert!(matches!(seen[0], Event::F64(_, zero) if zero.is_sign_negative()));
    assert_eq!(seen[4], Event::I32(all.one(Scalar::Int32), -2));
    assert_eq!(seen[13], Event::I32(all.one(Scalar::Sint32), i32::MIN));
}

#[test]
fn a_nan_keeps_its_payload() {
    let all = All::new();
    let bits = 0x7ff0_0000_dead_beef;
    let field = all.one(Scalar::Double);
    let bytes = encode::to_vec(&all.schema, |to| to.put_f64(field, f64::from_bits(bits)));
    let (seen, _) = all.decode(&bytes);
    assert!(matches!(seen[0], Event::F64(_, value) if value.to_bits() == bits));
}

#[test]
fn varints_may_be_overlong_in_tags_and_values() {
    let all = All::new();
    let one = [Event::U64(all.one(Scalar::Uint64), 1)];
    gives(&all, b"\x20\x01", &one);
    gives(&all, b"\xa0\x80\x80\x00\x81\x80\x00", &one);
    let ten = b"\xa0\x80\x80\x80\x80\x80\x80\x80\x80\x00\x81\x80\x80\x80\x80\x80\x80\x80\x80\x00";
    gives(&all, ten, &one);
    let eleven = b"\x20\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00";
    refused(eleven, ErrorKind::VarintTooLong, 0, "one_uint64");
    refused(&[0xa0; 11], ErrorKind::VarintTooLong, 0, "");
}

#[test]
fn narrow_types_take_the_low_bits_of_wide_varints() {
    let all = All::new();
    let wide = b"\x80\x80\x80\x80\x10"; // 2^32
    for (tag, event) in [
        (0x28, Event::I32(all.one(Scalar::Int32), 0)),
        (0x58, Event::U32(all.one(Scalar::Uint32), 0)),
        (0x70, Event::I32(all.one(Scalar::Sint32), 0)),
        (0x40, Event::Bool(all.one(Scalar::Bool), true)),
    ] {
        gives(&all, &[&[tag], &wide[..]].concat(), &[event]);
    }
    gives(&all, b"\x28\xff\xff\xff\xff\x0f", &[Event::I32(all.one(Scalar::Int32), -1)]);
}

#[test]
fn bad_tags_are_refused() {
    refused(b"\x20\x01\x00\x01", ErrorKind::BadFieldNumber, 2, "");
    refused(b"\x07", ErrorKind::BadFieldNumber, 0, "");
    refused(b"\x80\x80\x80\x80\x10\x01", ErrorKind::BadFieldNumber, 0, "");
    refused(b"\xf8\xff\xff\xff\x1f\x01", ErrorKind::BadFieldNumber, 0, "");
    refused(b"\x0e\x01", ErrorKind::BadWireType, 0, "");
    refused(b"\x0f\x01", ErrorKind::BadWireType, 0, "");
    refused(b"\x92\x03\x02\x0e\x01", ErrorKind::BadWireType, 3, "child");
}

#[test]
fn another_wire_type_is_an_unknown_field() {
    let all = All::new();
    gives(&all, b"\x22\x02hi", &[Event::Unknown(4, b"\x22\x02hi")]);
    gives(&all, b"\x48\x05", &[Event::Unknown(9, b"\x48\x05")]);
    gives(&all, b"\x90\x03\x05", &[Event::Unknown(50, b"\x90\x03\x05")]);
    gives(&all, b"\x93\x03\x94\x03", &[Event::Unknown(50, b"\x93\x03\x94\x03")]);
    let others = b"\x71\x01\x02\x03\x04\x05\x06\x07\x08\x75\x01\x02\x03\x04";
    gives(&all, others, &[Event::Unknown(14, &others[..9]), Event::Unknown(14, &others[9..])]);
}

#[test]
fn packed_and_unpacked_lists_mix() {
    let all = All::new();
    let field = all.many(Scalar::Uint64);
    let three = [1, 300, 2].map(|value| Event::U64(field, value));
    gives(&all, b"\xc2\x01\x03\x01\xac\x02\xc0\x01\x02", &three);
    gives(&all, b"\xc2\x01\x00", &[]);
    let bytes = encode::to_vec(&all.schema, |to| {
        to.put_packed(field, [1u64, 300, 2]);
        to.put_packed(all.many(Scalar::Bool), [] as [bool; 0]);
    });
    assert_eq!(bytes, b"\xc2\x01\x04\x01\xac\x02\x02");
    refused(b"\xc2\x01\x01\x80", ErrorKind::PackedLength, 0, "many_uint64[0]");
    refused(
        b"\xd2\x01\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09\x20\x01",
        ErrorKind::PackedLength,
        0,
        "many_fixed64[1]",
    );
}

#[test]
fn groups_end_where_they_began() {
    let all = All::new();
    let group = b"\xb3\x04\x08\x01\xc3\x04\xc4\x04\x0a\x01\xff\xb4\x04";
    gives(&all, group, &[Event::Unknown(70, group)]);
    refused(b"\xb3\x04\xbc\x04", ErrorKind::EndGroup, 0, "70");
    refused(b"\x20\x01\xb4\x04", ErrorKind::EndGroup, 2, "70");
    refused(b"\xb3\x04\x08\x01", ErrorKind::Truncated, 0, "70");
    refused(b"\x92\x03\x02\xb3\x04\xb4\x04", ErrorKind::PastParent, 3, "child.70");
    refused(b"\x24", ErrorKind::EndGroup, 0, "one_uint64");
}

#[test]
fn depth_has_a_limit() {
    let all = All::new();
    assert_eq!(all.decode(&children(100)).1, Ok(()));
    let deep = all.decode(&children(101)).1.unwrap_err();
    assert_eq!(deep.kind, ErrorKind::TooDeep);
    assert_eq!(deep.path.split('.').count(), 101);
    assert_eq!(all.decode(&groups(100)).1, Ok(()));
    assert_eq!(all.decode(&groups(101)).1.unwrap_err().kind, ErrorKind::TooDeep);
    let shallow = Decoder::new(&all.schema).depth_max(1);
    assert_eq!(shallow.decode(all.message, &children(1), &mut ()), Ok(()));
    assert!(shallow.decode(all.message, &children(2), &mut ()).is_err());
}

#[test]
fn lengths_stay_inside_their_parent() {
    refused(b"\x92\x03\x03\x4a\x02h", ErrorKind::PastParent, 3, "child.one_string");
    refused(b"\x92\x03\x04\x4a\x02h", ErrorKind::Truncated, 0, "child");
    refused(b"\x92\x03\x02\x4a\x02hi", ErrorKind::PastParent, 3, "child.one_string");
    refused(b"\x92\x03\x02\x21\x01\x20\x01", ErrorKind::PastParent, 3, "child.one_uint64");
    refused(b"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", ErrorKind::TooLarge, 0, "one_string");
    refused(b"\x4a\xff\xff\xff\x01x", ErrorKind::Truncated, 0, "one_string");
}

#[test]
fn strings_are_utf8_and_bytes_need_not_be() {
    let all = All::new();
    refused(b"\x20\x01\x4a\x02\xc3\x28", ErrorKind::InvalidUtf8, 2, "one_string");
    refused(b"\x4a\x03\xed\xa0\x80", ErrorKind::InvalidUtf8, 0, "one_string");
    gives(&all, b"\x52\x02\xc3\x28", &[Event::Bytes(all.one(Scalar::Bytes), b"\xc3\x28")]);
    gives(&all, b"\x4a\x00", &[Event::String(all.one(Scalar::String), "")]);
}

#[test]
fn duplicates_and_oneof_members_come_as_they_stand() {
    let all = All::new();
    let bytes = b"\x92\x03\x02\x20\x01\xe0\x03\x01\xea\x03\x00\x92\x03\x00";
    gives(
        &all,
        bytes,
        &[
            Event::StartSub(all.child),
            Event::U64(all.one(Scalar::Uint64), 1),
            Event::EndSub(all.child),
            Event::Bool(all.left, true),
            Event::StartSub(all.right),
            Event::EndSub(all.right),
            Event::StartSub(all.child),
            Event::EndSub(all.child),
        ],
    );
}

#[test]
fn a_sink_stops_the_walk_and_size_has_a_limit() {
    let all = All::new();
    let mut events_seen = 0;
    let mut sink = events(|event| {
        events_seen += 1;
        if matches!(event, Event::U64(..)) { Err(Stop) } else { Ok(()) }
    });
    let bytes = b"\x92\x03\x04\x20\x01\x20\x02";
    let error = Decoder::new(&all.schema).decode(all.message, bytes, &mut sink).unwrap_err();
    assert_eq!((error.kind, error.offset), (ErrorKind::Stopped, 3));
    assert_eq!(events_seen, 3);
    let small = Decoder::new(&all.schema).bytes_max(bytes.len() - 1);
    let error = small.decode(all.message, bytes, &mut ()).unwrap_err();
    assert_eq!(error.kind, ErrorKind::TooLarge);
}

#[test]
#[should_panic(expected = "one_string does not take a i64")]
fn a_value_of_another_type_is_the_programs_fault() {
    let all = All::new();
    encode::to_vec(&all.schema, |to| to.put_i64(all.one(Scalar::String), 1));
}
