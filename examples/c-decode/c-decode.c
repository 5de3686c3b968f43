/* Messages of a schema that is loaded when the program runs: see README.md beside this. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tidemill_wire.h"

static const char SCHEMA[] =
    "syntax = \"proto3\";\n"
    "package demo;\n"
    "enum Kind { KIND_UNKNOWN = 0; HOME = 1; WORK = 2; }\n"
    "message Phone { string number = 1; Kind kind = 2; }\n"
    "message Person {\n"
    "  string name = 1;\n"
    "  int32 age = 2;\n"
    "  repeated Phone phones = 3;\n"
    "  map<string, double> scores = 4;\n"
    "  Person boss = 5;\n"
    "}\n";

static const char JSON[] =
    "{\"name\": \"Ada\", \"age\": 36, \"scores\": {\"chess\": 7.5, \"go\": 3},"
    " \"phones\": [{\"number\": \"1\", \"kind\": \"HOME\"}, {\"number\": \"2\"}]}";

/* Ends the program with what is wrong. */
static void need(bool done, tidemill_error *error) {
    if (done) return;
    fprintf(stderr, "error %u: %s\n", tidemill_error_code(error), tidemill_error_text(error));
    exit(1);
}

static uint32_t field(const tidemill_schema *schema, uint32_t type, const char *name) {
    uint32_t found = tidemill_schema_find_field(schema, type, name);
    if (found == TIDEMILL_NONE) {
        fprintf(stderr, "no field %s\n", name);
        exit(1);
    }
    return found;
}

static void print_value(const tidemill_schema *schema, const tidemill_value *value, int depth);

/* Any message of any schema: each field that is set. */
static void print_message(const tidemill_schema *schema, tidemill_view view, int depth) {
    tidemill_error *error;
    uint32_t fields[64];
    size_t count = tidemill_fields(view, fields, 64);
    for (size_t i = 0; i < count && i < 64; i++) {
        tidemill_field_info info;
        tidemill_value value, key;
        need(tidemill_schema_field_info(schema, fields[i], &info, &error), error);
        need(tidemill_get(view, fields[i], &value, &error), error);
        printf("%*s%.*s:", 2 * depth, "", (int)info.name.length, (const char *)info.name.data);
        if (value.kind == TIDEMILL_LIST) {
            printf(" %zu values\n", value.as.count);
            for (size_t at = 0, n = value.as.count; at < n; at++) {
                need(tidemill_list_get(view, fields[i], at, &value, &error), error);
                printf("%*s-", 2 * depth + 2, "");
                print_value(schema, &value, depth + 2);
            }
        } else if (value.kind == TIDEMILL_MAP) {
            printf(" %zu entries\n", value.as.count);
            for (size_t at = 0, n = value.as.count; at < n; at++) {
                need(tidemill_map_entry(view, fields[i], at, &key, &value, &error), error);
                printf("%*s%.*s =", 2 * depth + 2, "", (int)key.as.bytes.length,
                       (const char *)key.as.bytes.data);
                print_value(schema, &value, depth + 2);
            }
        } else if (value.kind == TIDEMILL_ENUM) {
            tidemill_bytes name = tidemill_schema_enum_name(schema, fields[i], value.as.i32);
            printf(" %.*s\n", (int)name.length, (const char *)name.data);
        } else {
            print_value(schema, &value, depth + 1);
        }
    }
}

static void print_value(const tidemill_schema *schema, const tidemill_value *value, int depth) {
    switch (value->kind) {
    case TIDEMILL_F64: printf(" %g\n", value->as.f64); break;
    case TIDEMILL_I32: printf(" %d\n", value->as.i32); break;
    case TIDEMILL_STRING:
        printf(" %.*s\n", (int)value->as.bytes.length, (const char *)value->as.bytes.data);
        break;
    case TIDEMILL_MESSAGE:
        printf("\n");
        print_message(schema, value->as.message, depth);
        break;
    default: printf(" (kind %u)\n", value->kind);
    }
}

/* Adds up ages, whatever else is in the stream. */
struct ages {
    uint32_t field;
    int total;
};

static int on_event(void *context, const tidemill_event *event) {
    struct ages *ages = context;
    if (event->kind == TIDEMILL_VALUE && event->field == ages->field) {
        ages->total += event->value.as.i32;
    }
    return 0;
}

int main(void) {
    tidemill_error *error;

    /* What is wrong with a schema is told with its places. */
    const char *wrong = "syntax = \"proto3\"; message M { Strin name = 1; }";
    if (!tidemill_schema_from_text("wrong.proto", wrong, strlen(wrong), &error)) {
        printf("%s\n", tidemill_error_text(error));
        tidemill_error_free(error);
    }

    tidemill_schema *schema =
        tidemill_schema_from_text("demo.proto", SCHEMA, strlen(SCHEMA), &error);
    need(schema != NULL, error);
    uint32_t person = tidemill_schema_find_type(schema, "demo.Person");
    uint32_t age = field(schema, person, "age");
    uint32_t boss = field(schema, person, "boss");

    /* JSON into bytes, bytes into a message in memory, by code that is compiled for the schema. */
    tidemill_decoder *decoder = tidemill_decoder_new(schema, TIDEMILL_NATIVE, 0, 0, &error);
    need(decoder != NULL, error);
    tidemill_buffer bytes;
    need(tidemill_json_to_bytes(schema, person, JSON, strlen(JSON), 0, &bytes, &error), error);
    tidemill_message *message = tidemill_message_new(schema, person, 0, &error);
    need(message != NULL, error);
    need(tidemill_message_decode(message, decoder, bytes.data, bytes.length, &error), error);
    tidemill_view ada = tidemill_message_view(message);
    print_message(schema, ada, 0);

    /* Changes, and back to bytes and JSON. */
    tidemill_view inner;
    tidemill_value value = tidemill_i32(37);
    need(tidemill_set(ada, age, &value, &error), error);
    need(tidemill_sub(ada, boss, &inner, &error), error);
    value = tidemill_string("Grace");
    need(tidemill_set(inner, field(schema, person, "name"), &value, &error), error);
    value = tidemill_i32(45);
    need(tidemill_set(inner, age, &value, &error), error);
    tidemill_buffer json, changed;
    need(tidemill_to_json(ada, 0, &json, &error), error);
    printf("%.*s\n", (int)json.length, (const char *)json.data);
    need(tidemill_encode(ada, TIDEMILL_SORTED, &changed, &error), error);

    /* Event by event, in pieces of seven bytes. */
    struct ages ages = {age, 0};
    tidemill_stream *stream = tidemill_stream_new(decoder, person, on_event, &ages, &error);
    need(stream != NULL, error);
    for (size_t at = 0; at < changed.length; at += 7) {
        size_t left = changed.length - at;
        const uint8_t *piece = changed.data + at;
        need(tidemill_stream_push(stream, piece, left < 7 ? left : 7, &error), error);
    }
    need(tidemill_stream_finish(stream, &error), error);
    printf("ages together: %d\n", ages.total);

    /* Wrong bytes: where, and in which field. */
    changed.data[changed.length - 3] = 0xff;
    if (!tidemill_message_decode(message, decoder, changed.data, changed.length, &error)) {
        printf("%s\n", tidemill_error_text(error));
        tidemill_error_free(error);
    }

    tidemill_stream_free(stream);
    tidemill_buffer_free(&changed);
    tidemill_buffer_free(&json);
    tidemill_buffer_free(&bytes);
    tidemill_message_free(message);
    tidemill_decoder_free(decoder);
    tidemill_schema_free(schema);
    return 0;
}
