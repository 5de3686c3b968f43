/* What must not happen, and what comes of it: errors. Ends with status 1 at the first surprise. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemill_wire.h"

/* Sizes and places, as the code has them (64-bit addresses). */
_Static_assert(sizeof(tidemill_bytes) == 16, "bytes");
_Static_assert(sizeof(tidemill_buffer) == 16, "buffer");
_Static_assert(sizeof(tidemill_view) == 24, "view");
_Static_assert(sizeof(tidemill_value) == 32, "value");
_Static_assert(offsetof(tidemill_value, as) == 8, "value");
_Static_assert(sizeof(tidemill_event) == 48, "event");
_Static_assert(offsetof(tidemill_event, value) == 16, "event");
_Static_assert(sizeof(tidemill_field_info) == 56, "field info");

static int line_failed;
#define CHECK(what) do { if (!(what)) { fprintf(stderr, "line %d: %s\n", __LINE__, #what); exit(1); } } while (0)
/* The call fails with that code, and says something. */
#define FAILS(wanted, call) do { \
    tidemill_error *error = (tidemill_error *)&line_failed; \
    CHECK(!(call)); \
    CHECK(tidemill_error_code(error) == (wanted)); \
    CHECK(strlen(tidemill_error_text(error)) > 0); \
    tidemill_error_free(error); \
} while (0)
/* The call succeeds, and leaves no error. */
#define WORKS(call) do { \
    tidemill_error *error = (tidemill_error *)&line_failed; \
    CHECK(call); \
    CHECK(error == NULL); \
} while (0)

static const char SCHEMA[] =
    "syntax = \"proto2\"; package t; enum E { A = 0; B = 5; }\n"
    "message M { optional int32 number = 1; optional string text = 2; repeated M many = 3;\n"
    "  map<int32, M> map = 4; optional M one = 5; repeated sint64 list = 6; optional E kind = 7;\n"
    "  oneof choice { bool left = 8; M right = 9; } optional bytes raw = 10; required bool must = 11; }\n"
    "message Other { optional int32 number = 1; }\n";

static tidemill_schema *schema;
static tidemill_decoder *decoder;
static uint32_t type;

static uint32_t field(const char *name) {
    uint32_t found = tidemill_schema_find_field(schema, type, name);
    CHECK(found != TIDEMILL_NONE);
    return found;
}

static void schemas(void) {
    FAILS(TIDEMILL_MISUSE, tidemill_schema_from_text(NULL, "", 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_schema_from_text("a", NULL, 5, &error));
    FAILS(TIDEMILL_SCHEMA, tidemill_schema_from_text("a", "message", 7, &error));
    FAILS(TIDEMILL_SCHEMA, tidemill_schema_from_text("a", "\xff\xfe", 2, &error));
    FAILS(TIDEMILL_SCHEMA, tidemill_schema_from_descriptor_set("\xff", 1, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_schema_from_files(NULL, 1, NULL, 0, &error));
    const char *files[] = {"/nowhere/at/all.proto", NULL};
    FAILS(TIDEMILL_SCHEMA, tidemill_schema_from_files(files, 1, NULL, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_schema_from_files(files, 2, NULL, 0, &error));
    CHECK(tidemill_schema_from_text("a", "message", 7, NULL) == NULL);
    CHECK(tidemill_schema_clone(NULL) == NULL);
    CHECK(tidemill_schema_type_count(NULL) == 0 && tidemill_schema_type_count(schema) == 3);
    CHECK(tidemill_schema_find_type(NULL, "t.M") == TIDEMILL_NONE);
    CHECK(tidemill_schema_find_type(schema, NULL) == TIDEMILL_NONE);
    CHECK(tidemill_schema_find_type(schema, "\xff") == TIDEMILL_NONE);
    CHECK(tidemill_schema_type_name(schema, 99).data == NULL);
    CHECK(tidemill_schema_field_count(schema, TIDEMILL_NONE) == 0);
    CHECK(tidemill_schema_field(schema, type, 99) == TIDEMILL_NONE);
    CHECK(tidemill_schema_field(schema, type, 0) == field("number"));
    CHECK(tidemill_schema_find_field(schema, type, "nothing") == TIDEMILL_NONE);
    CHECK(tidemill_schema_find_field_by_number(schema, type, 0) == TIDEMILL_NONE);
    CHECK(tidemill_schema_find_field_by_number(schema, type, 11) == field("must"));
    tidemill_field_info info;
    FAILS(TIDEMILL_MISUSE, tidemill_schema_field_info(schema, 12345, &info, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_schema_field_info(schema, 0, NULL, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_schema_field_info(NULL, 0, &info, &error));
    WORKS(tidemill_schema_field_info(schema, field("map"), &info, &error));
    CHECK(info.shape == TIDEMILL_ENTRIES && info.kind == TIDEMILL_MESSAGE && info.number == 4);
    CHECK(info.name.length == 3 && !memcmp(info.name.data, "map", 3));
    CHECK(tidemill_schema_find_field_by_number(schema, info.message_type, 1) != TIDEMILL_NONE);
    int32_t number = 0;
    CHECK(!tidemill_schema_enum_number(schema, field("number"), "A", &number));
    CHECK(!tidemill_schema_enum_number(schema, field("kind"), "A", NULL));
    CHECK(tidemill_schema_enum_number(schema, field("kind"), "B", &number) && number == 5);
    CHECK(tidemill_schema_enum_name(schema, field("kind"), 4).data == NULL);
    CHECK(tidemill_schema_enum_name(schema, field("kind"), 5).length == 1);
    FAILS(TIDEMILL_MISUSE, tidemill_schema_descriptor_set(schema, NULL, &error));
    tidemill_buffer set;
    WORKS(tidemill_schema_descriptor_set(schema, &set, &error));
    tidemill_schema *again = tidemill_schema_from_descriptor_set(set.data, set.length, NULL);
    CHECK(again != NULL && tidemill_schema_find_type(again, "t.M") != TIDEMILL_NONE);
    tidemill_schema_free(again);
    tidemill_buffer_free(&set);
    tidemill_buffer_free(&set);
    tidemill_buffer_free(NULL);
    tidemill_schema_free(NULL);
    tidemill_error_free(NULL);
    CHECK(tidemill_error_code(NULL) == TIDEMILL_OK && tidemill_error_offset(NULL) == SIZE_MAX);
}

static void values(tidemill_message *message) {
    tidemill_view view = tidemill_message_view(message), none, sub, element;
    tidemill_value value, key;
    memset(&none, 0, sizeof none);
    FAILS(TIDEMILL_MISUSE, tidemill_get(none, 0, &value, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_get(tidemill_message_view(NULL), 0, &value, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_get(view, TIDEMILL_NONE, &value, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_get(view, field("number"), NULL, &error));
    uint32_t other = tidemill_schema_find_type(schema, "t.Other");
    uint32_t foreign = tidemill_schema_find_field(schema, other, "number");
    FAILS(TIDEMILL_ACCESS, tidemill_get(view, foreign, &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_has(view, foreign, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_list_get(view, field("number"), 0, &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_list_get(view, field("list"), 0, &value, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_map_entry(view, field("list"), 0, &key, &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_map_entry(view, field("map"), 0, &key, &value, &error));
    CHECK(tidemill_which(view, field("number"), NULL) == TIDEMILL_NONE);
    CHECK(tidemill_fields(none, NULL, 0) == 0);

    /* Values of the wrong kind, or of none. */
    value = tidemill_string("x");
    FAILS(TIDEMILL_ACCESS, tidemill_set(view, field("number"), &value, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_set(view, field("number"), NULL, &error));
    memset(&value, 0, sizeof value);
    FAILS(TIDEMILL_MISUSE, tidemill_set(view, field("number"), &value, &error));
    value.kind = 77;
    FAILS(TIDEMILL_MISUSE, tidemill_set(view, field("number"), &value, &error));
    value = tidemill_bytes_value(NULL, 8);
    FAILS(TIDEMILL_MISUSE, tidemill_set(view, field("raw"), &value, &error));
    value = tidemill_enum(4);
    FAILS(TIDEMILL_ACCESS, tidemill_set(view, field("kind"), &value, &error));
    value = tidemill_i32(1);
    FAILS(TIDEMILL_ACCESS, tidemill_push(view, field("number"), &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_push(view, field("list"), &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_sub(view, field("number"), &sub, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_sub(view, field("one"), NULL, &error));
    CHECK(!tidemill_has(view, field("one"), NULL));
    FAILS(TIDEMILL_MISUSE, tidemill_push_message(view, field("many"), NULL, &error));
    CHECK(!tidemill_has(view, field("many"), NULL));
    key = tidemill_i32(3);
    FAILS(TIDEMILL_MISUSE, tidemill_map_sub(view, field("map"), &key, NULL, &error));
    CHECK(!tidemill_has(view, field("map"), NULL));

    /* What is not there can be read, and not changed. */
    WORKS(tidemill_clear_field(view, field("one"), &error));
    WORKS(tidemill_get(view, field("one"), &value, &error));
    CHECK(value.kind == TIDEMILL_MESSAGE);
    sub = value.as.message;
    WORKS(tidemill_get(sub, field("number"), &value, &error));
    CHECK(value.kind == TIDEMILL_I32 && value.as.i32 == 0);
    value = tidemill_i32(7);
    FAILS(TIDEMILL_MISUSE, tidemill_set(sub, field("number"), &value, &error));
    WORKS(tidemill_sub(view, field("one"), &sub, &error));
    WORKS(tidemill_set(sub, field("number"), &value, &error));

    /* A message into itself, as a field, an element and an entry. */
    value = tidemill_message_value(view);
    WORKS(tidemill_set(sub, field("one"), &value, &error));
    WORKS(tidemill_push(view, field("many"), &value, &error));
    key = tidemill_i32(3);
    WORKS(tidemill_map_put(view, field("map"), &key, &value, &error));
    WORKS(tidemill_merge(view, view, &error));
    WORKS(tidemill_get(view, field("many"), &value, &error));
    CHECK(value.kind == TIDEMILL_LIST && value.as.count == 2);
    WORKS(tidemill_list_get(view, field("many"), 1, &value, &error));
    CHECK(value.kind == TIDEMILL_MESSAGE);

    /* Lists and maps. */
    for (int at = 0; at < 100; at++) {
        value = tidemill_i64(at);
        WORKS(tidemill_push(view, field("list"), &value, &error));
    }
    WORKS(tidemill_list_remove(view, field("list"), 0, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_list_remove(view, field("list"), 99, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_list_set(view, field("list"), 99, &value, &error));
    WORKS(tidemill_list_set(view, field("list"), 98, &value, &error));
    WORKS(tidemill_list_get(view, field("list"), 0, &value, &error));
    CHECK(value.kind == TIDEMILL_I64 && value.as.i64 == 1);
    WORKS(tidemill_push_message(view, field("many"), &element, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_push_message(view, field("list"), &element, &error));
    key = tidemill_string("3");
    FAILS(TIDEMILL_ACCESS, tidemill_map_get(view, field("map"), &key, &value, &error));
    FAILS(TIDEMILL_ACCESS, tidemill_map_sub(view, field("map"), &key, &sub, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_map_get(view, field("map"), NULL, &value, &error));
    key = tidemill_i32(4);
    WORKS(tidemill_map_get(view, field("map"), &key, &value, &error));
    CHECK(value.kind == TIDEMILL_ABSENT);
    WORKS(tidemill_map_sub(view, field("map"), &key, &sub, &error));
    WORKS(tidemill_map_get(view, field("map"), &key, &value, &error));
    CHECK(value.kind == TIDEMILL_MESSAGE);
    WORKS(tidemill_map_entry(view, field("map"), 1, &key, &value, &error));
    CHECK(key.kind == TIDEMILL_I32 && key.as.i32 == 4);
    WORKS(tidemill_map_remove(view, field("map"), &key, &error));

    /* Oneofs. */
    value = tidemill_bool(true);
    WORKS(tidemill_set(view, field("left"), &value, &error));
    CHECK(tidemill_which(view, field("right"), NULL) == field("left"));
    WORKS(tidemill_sub(view, field("right"), &sub, &error));
    CHECK(tidemill_which(view, field("left"), NULL) == field("right"));

    /* Texts and bytes. */
    tidemill_buffer out;
    FAILS(TIDEMILL_MISUSE, tidemill_encode(view, 1 << 20, &out, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_encode(view, 0, NULL, &error));
    FAILS(TIDEMILL_ENCODE, tidemill_encode(view, TIDEMILL_CHECK_REQUIRED, &out, &error));
    WORKS(tidemill_encode(view, TIDEMILL_SORTED, &out, &error));
    tidemill_buffer_free(&out);
    tidemill_message *copy = tidemill_message_new(schema, type, 0, NULL);
    WORKS(tidemill_to_json(view, TIDEMILL_PRINT_DEFAULTS, &out, &error));
    WORKS(tidemill_message_from_json(copy, (char *)out.data, out.length, 0, &error));
    tidemill_buffer_free(&out);
    WORKS(tidemill_to_text(tidemill_message_view(copy), TIDEMILL_ONE_LINE, &out, &error));
    WORKS(tidemill_message_from_text(copy, (char *)out.data, out.length, 0, &error));
    tidemill_buffer_free(&out);
    FAILS(TIDEMILL_PARSE, tidemill_message_from_json(copy, "{\"x\":1}", 7, 0, &error));
    WORKS(tidemill_message_from_json(copy, "{\"x\":1}", 7, TIDEMILL_IGNORE_UNKNOWN, &error));
    FAILS(TIDEMILL_PARSE, tidemill_message_from_text(copy, "number: x", 9, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_from_json(NULL, "{}", 2, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_json_to_bytes(NULL, type, "{}", 2, 0, &out, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_json_to_bytes(schema, 99, "{}", 2, 0, &out, &error));
    FAILS(TIDEMILL_DECODE, tidemill_bytes_to_json(decoder, type, "\x08", 1, 0, &out, &error));
    tidemill_message_free(copy);

    /* Views of a life that is over. */
    tidemill_message_clear(message);
    FAILS(TIDEMILL_MISUSE, tidemill_get(view, field("number"), &value, &error));
    value = tidemill_i32(1);
    FAILS(TIDEMILL_MISUSE, tidemill_set(sub, field("number"), &value, &error));
    value = tidemill_message_value(sub);
    view = tidemill_message_view(message);
    FAILS(TIDEMILL_MISUSE, tidemill_set(view, field("one"), &value, &error));
    CHECK(tidemill_fields(view, NULL, 0) == 0);
}

static void decoding(tidemill_message *message) {
    FAILS(TIDEMILL_MISUSE, tidemill_decoder_new(NULL, TIDEMILL_TABLE, 0, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_decoder_new(schema, 9, 0, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_new(schema, 99, 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_decode(NULL, decoder, "", 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_decode(message, NULL, "", 0, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_decode(message, decoder, NULL, 1, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_message_decode(message, decoder, "", SIZE_MAX, &error));
    tidemill_error *error;
    const char nested[] = "\x2a\x04\x08\x01\x10\x01\x58\x01";
    CHECK(!tidemill_message_decode(message, decoder, "\x1a\x02\x08\x01\x1a\x02\x08", 7, &error));
    CHECK(tidemill_error_code(error) == TIDEMILL_DECODE);
    CHECK(tidemill_error_offset(error) == 4);
    CHECK(!strcmp(tidemill_error_path(error), "many[1]"));
    tidemill_error_free(error);
    /* Required fields, if they are checked. */
    WORKS(tidemill_message_decode(message, decoder, nested, 6, &error));
    tidemill_decoder *strict =
        tidemill_decoder_new(schema, TIDEMILL_TABLE | TIDEMILL_REQUIRED, 0, 0, NULL);
    CHECK(!tidemill_message_decode(message, strict, nested, 6, &error));
    CHECK(strstr(tidemill_error_text(error), "missing-required"));
    tidemill_error_free(error);
    tidemill_decoder_free(strict);
    WORKS(tidemill_message_decode_borrowed(message, decoder, "\x12\x02hi\x58\x01", 6, &error));
    tidemill_value value;
    WORKS(tidemill_get(tidemill_message_view(message), field("text"), &value, &error));
    CHECK(value.kind == TIDEMILL_STRING && value.as.bytes.length == 2);
    CHECK(!memcmp(value.as.bytes.data, "hi", 2));

    /* Limits. */
    tidemill_decoder *low = tidemill_decoder_new(schema, TIDEMILL_TABLE, 1, 8, NULL);
    FAILS(TIDEMILL_DECODE, tidemill_message_decode(message, low, "123456789", 9, &error));
    FAILS(TIDEMILL_DECODE,
          tidemill_message_decode(message, low, "\x2a\x04\x2a\x02\x58\x01", 6, &error));
    tidemill_decoder_free(low);
    tidemill_message *small = tidemill_message_new(schema, type, 4096, NULL);
    char *lot = malloc(1 << 16);
    memset(lot, 'x', 1 << 16);
    memcpy(lot, "\x12\xfc\xff\x03", 4);
    CHECK(!tidemill_message_decode(small, decoder, lot, 1 << 16, &error));
    CHECK(tidemill_error_code(error) == TIDEMILL_STOPPED);
    tidemill_error_free(error);
    CHECK(tidemill_message_used_bytes(small) <= 4096);
    tidemill_message_free(small);
    free(lot);

    /* Another schema's decoder. */
    tidemill_schema *other = tidemill_schema_from_text("o", SCHEMA, strlen(SCHEMA), NULL);
    tidemill_decoder *others = tidemill_decoder_new(other, TIDEMILL_TABLE, 0, 0, NULL);
    FAILS(TIDEMILL_MISUSE, tidemill_message_decode(message, others, "", 0, &error));
    tidemill_schema_free(other);
    tidemill_decoder_free(others);
}

struct seen {
    tidemill_stream *stream;
    int events, stop_at;
    bool free_it;
};

static int on_event(void *context, const tidemill_event *event) {
    struct seen *seen = context;
    CHECK(event->kind >= TIDEMILL_START_MESSAGE && event->kind <= TIDEMILL_UNKNOWN);
    if (seen->stream) {
        /* From its own callback a stream cannot be used. */
        FAILS(TIDEMILL_MISUSE, tidemill_stream_push(seen->stream, "\x08\x01", 2, &error));
        FAILS(TIDEMILL_MISUSE, tidemill_stream_finish(seen->stream, &error));
        if (seen->free_it) {
            tidemill_stream_free(seen->stream);
            seen->stream = NULL;
            seen->free_it = false;
        }
    }
    return ++seen->events == seen->stop_at;
}

static void streams(void) {
    struct seen seen = {NULL, 0, 0, false};
    const char bytes[] = "\x08\x96\x01\x12\x03" "abc\x58\x01";
    FAILS(TIDEMILL_MISUSE,
          tidemill_decode_events(decoder, type, bytes, 10, NULL, &seen, &error));
    FAILS(TIDEMILL_MISUSE,
          tidemill_decode_events(decoder, 99, bytes, 10, on_event, &seen, &error));
    WORKS(tidemill_decode_events(decoder, type, bytes, 10, on_event, &seen, &error));
    CHECK(seen.events == 5);
    seen.stop_at = 7;
    FAILS(TIDEMILL_STOPPED,
          tidemill_decode_events(decoder, type, bytes, 10, on_event, &seen, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_stream_new(decoder, type, NULL, NULL, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_stream_push(NULL, "", 0, &error));

    struct seen pieces = {NULL, 0, 0, false};
    tidemill_stream *stream = tidemill_stream_new(decoder, type, on_event, &pieces, NULL);
    pieces.stream = stream;
    for (int at = 0; at < 10; at++) WORKS(tidemill_stream_push(stream, bytes + at, 1, &error));
    WORKS(tidemill_stream_finish(stream, &error));
    FAILS(TIDEMILL_MISUSE, tidemill_stream_push(stream, bytes, 1, &error));
    tidemill_stream_free(stream);

    struct seen cut = {NULL, 0, 0, false};
    stream = tidemill_stream_new(decoder, type, on_event, &cut, NULL);
    WORKS(tidemill_stream_push(stream, bytes, 6, &error));
    FAILS(TIDEMILL_DECODE, tidemill_stream_finish(stream, &error));
    tidemill_stream_free(stream);

    struct seen freed = {NULL, 0, 0, true};
    stream = tidemill_stream_new(decoder, type, on_event, &freed, NULL);
    freed.stream = stream;
    tidemill_error *error;
    tidemill_stream_push(stream, bytes, 10, &error);
    tidemill_error_free(error);
    CHECK(freed.stream == NULL);
    tidemill_stream_free(NULL);
}

int main(void) {
    schema = tidemill_schema_from_text("t.proto", SCHEMA, strlen(SCHEMA), NULL);
    CHECK(schema != NULL);
    type = tidemill_schema_find_type(schema, "t.M");
    schemas();
    for (uint32_t engine = TIDEMILL_NATIVE; engine <= TIDEMILL_TABLE; engine++) {
        decoder = tidemill_decoder_new(schema, engine, 0, 0, NULL);
        CHECK(decoder != NULL);
        tidemill_message *message = tidemill_message_new(schema, type, 0, NULL);
        CHECK(message != NULL);
        values(message);
        decoding(message);
        streams();
        tidemill_message_free(message);
        tidemill_decoder_free(decoder);
    }
    tidemill_message_free(NULL);
    tidemill_decoder_free(NULL);
    tidemill_schema_free(schema);
    printf("all as it should be\n");
    return 0;
}
