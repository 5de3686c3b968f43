/* Tidemill: Protocol Buffers with schemas loaded at run time, for C.
 *
 *   schema --> types and fields, by number        schema --> decoder (native or table)
 *   message (a tree that you own) --> view (a message in the tree) --> values
 *
 * A program that reads one field:
 *
 *   tidemill_error *error;
 *   tidemill_schema *schema = tidemill_schema_from_text("a.proto", text, strlen(text), &error);
 *   if (!schema) { puts(tidemill_error_text(error)); tidemill_error_free(error); return 1; }
 *   uint32_t person = tidemill_schema_find_type(schema, "demo.Person");
 *   uint32_t name = tidemill_schema_find_field(schema, person, "name");
 *   tidemill_decoder *decoder = tidemill_decoder_new(schema, TIDEMILL_NATIVE, 0, 0, NULL);
 *   tidemill_message *message = tidemill_message_new(schema, person, 0, NULL);
 *   tidemill_value value;
 *   if (tidemill_message_decode(message, decoder, bytes, length, &error)
 *       && tidemill_get(tidemill_message_view(message), name, &value, &error))
 *     printf("%.*s\n", (int)value.as.bytes.length, (const char *)value.as.bytes.data);
 *
 * ERRORS. A function that can fail takes a `tidemill_error **`, which may be NULL; it becomes NULL on
 * success, else an error, which you free. Such functions return false, NULL or TIDEMILL_NONE when they
 * fail. Look-ups without one return TIDEMILL_NONE, or bytes at NULL, for what is not there. NULL
 * handles, numbers that nothing has and views that are out of date are TIDEMILL_MISUSE; no function
 * ends the process because of its arguments or its input, with the exceptions named below.
 *
 * WHAT YOU OWN. Handles that a function returns (schemas, decoders, messages, streams, errors) and
 * buffers are yours to free, once; freeing NULL does nothing. They can be freed in any order: a message
 * keeps its schema alive, a stream its decoder.
 *
 * HOW LONG THINGS LIVE. Names (tidemill_bytes of schema functions) live as long as any handle of the
 * schema, or any message or decoder made from it. Views, and strings and bytes read through them, live
 * until their message is cleared, decoded, read from text, or freed; changing it leaves them valid.
 * A view of before is noticed (TIDEMILL_MISUSE), but for one whose message was freed. Strings of
 * a message that was decoded by `tidemill_message_decode_borrowed` are in your bytes, which must stay
 * unchanged until then.
 * What a callback is given lives until it returns.
 *
 * THREADS. Schemas and decoders may be used by several threads at once, and freed by any. A message may
 * be read by several at once as long as none changes it; a stream is used by one at a time.
 *
 * NOT CHECKED, and undefined as ever in C: handles after they were freed, addresses that are none,
 * lengths beyond what is there, views made up, one thread changing what another uses.
 */
#ifndef TIDEMILL_WIRE_H
#define TIDEMILL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tidemill_error tidemill_error;
typedef struct tidemill_schema tidemill_schema;
typedef struct tidemill_decoder tidemill_decoder;
typedef struct tidemill_message tidemill_message;
typedef struct tidemill_stream tidemill_stream;

/* No type, no field. Types and fields are numbers, good for one schema and its clones. */
#define TIDEMILL_NONE UINT32_MAX

/* Borrowed bytes, without a zero behind them; strings are UTF-8. */
typedef struct tidemill_bytes {
    const uint8_t *data;
    size_t length;
} tidemill_bytes;

/* ---- errors ---- */

typedef enum tidemill_code {
    TIDEMILL_OK = 0,
    TIDEMILL_MISUSE = 1,   /* of this interface */
    TIDEMILL_SCHEMA = 2,   /* definitions are wrong: a line per problem, with its place */
    TIDEMILL_DECODE = 3,   /* bytes are no message; offset and path are known */
    TIDEMILL_PARSE = 4,    /* a text is no message; offset and path are known */
    TIDEMILL_ENCODE = 5,   /* a message cannot be written */
    TIDEMILL_ACCESS = 6,   /* a field is not of that message or type; a place is not there */
    TIDEMILL_STOPPED = 7,  /* a callback stopped it, or a message is as large as allowed */
    TIDEMILL_INTERNAL = 8  /* no native code for this machine; a defect of the library */
} tidemill_code;

uint32_t tidemill_error_code(const tidemill_error *error);
/* What is wrong; lives as long as the error. */
const char *tidemill_error_text(const tidemill_error *error);
/* The field, `person.phones[3].number`; empty if none is to blame. */
const char *tidemill_error_path(const tidemill_error *error);
/* The byte of the input; SIZE_MAX if none is to blame. */
size_t tidemill_error_offset(const tidemill_error *error);
void tidemill_error_free(tidemill_error *error);

/* Bytes that a function made for you. */
typedef struct tidemill_buffer {
    uint8_t *data;
    size_t length;
} tidemill_buffer;

/* Frees the bytes and makes the buffer empty. */
void tidemill_buffer_free(tidemill_buffer *buffer);

/* ---- schemas ---- */

/* From the text of one .proto file; it may import the well-known files. */
tidemill_schema *tidemill_schema_from_text(const char *file, const char *text, size_t length,
                                           tidemill_error **error);
/* From files (.proto, or .fds with a set of descriptors). Imports are looked for in the folders, or,
 * without any, in the current folder and in those of the files. */
tidemill_schema *tidemill_schema_from_files(const char *const *files, size_t file_count,
                                            const char *const *folders, size_t folder_count,
                                            tidemill_error **error);
/* From a google.protobuf.FileDescriptorSet, as `protoc --descriptor_set_out` writes it. */
tidemill_schema *tidemill_schema_from_descriptor_set(const void *data, size_t length,
                                                     tidemill_error **error);
/* Another handle of the same schema. */
tidemill_schema *tidemill_schema_clone(const tidemill_schema *schema);
void tidemill_schema_free(tidemill_schema *schema);
bool tidemill_schema_descriptor_set(const tidemill_schema *schema, tidemill_buffer *out,
                                    tidemill_error **error);

/* Types are numbered from 0. */
uint32_t tidemill_schema_type_count(const tidemill_schema *schema);
uint32_t tidemill_schema_find_type(const tidemill_schema *schema, const char *full_name);
tidemill_bytes tidemill_schema_type_name(const tidemill_schema *schema, uint32_t type);

/* The fields of a type, from place 0, in the order of their numbers; without extensions. */
uint32_t tidemill_schema_field_count(const tidemill_schema *schema, uint32_t type);
uint32_t tidemill_schema_field(const tidemill_schema *schema, uint32_t type, uint32_t place);
/* By name; `[full.name]` is an extension. */
uint32_t tidemill_schema_find_field(const tidemill_schema *schema, uint32_t type, const char *name);
uint32_t tidemill_schema_find_field_by_number(const tidemill_schema *schema, uint32_t type,
                                              uint32_t number);

typedef enum tidemill_kind {
    TIDEMILL_ABSENT = 0,
    TIDEMILL_F64 = 1,
    TIDEMILL_F32 = 2,
    TIDEMILL_I64 = 3,
    TIDEMILL_U64 = 4,
    TIDEMILL_I32 = 5,
    TIDEMILL_U32 = 6,
    TIDEMILL_BOOL = 7,
    TIDEMILL_STRING = 8,
    TIDEMILL_BYTES = 9,   /* also a string of proto2 that is no UTF-8 */
    TIDEMILL_ENUM = 10,
    TIDEMILL_MESSAGE = 11,
    TIDEMILL_LIST = 12,
    TIDEMILL_MAP = 13
} tidemill_kind;

typedef enum tidemill_shape {
    TIDEMILL_SINGLE = 0,
    TIDEMILL_REPEATED = 1,
    TIDEMILL_ENTRIES = 2  /* a map: key and value are the fields 1 and 2 of `message_type` */
} tidemill_shape;

typedef struct tidemill_field_info {
    tidemill_bytes name;      /* of an extension: its full name */
    tidemill_bytes json_name;
    uint32_t number;
    uint32_t kind;            /* tidemill_kind, of one element */
    uint32_t shape;           /* tidemill_shape */
    uint32_t message_type;    /* of fields that hold messages, else TIDEMILL_NONE */
    uint32_t owner;           /* the type that it is a field of */
    uint32_t presence;        /* 1 if a zero that is set differs from nothing */
} tidemill_field_info;

bool tidemill_schema_field_info(const tidemill_schema *schema, uint32_t field,
                                tidemill_field_info *out, tidemill_error **error);
/* Of a field that holds an enum: the name of a number, and the number of a name. */
tidemill_bytes tidemill_schema_enum_name(const tidemill_schema *schema, uint32_t field,
                                         int32_t number);
bool tidemill_schema_enum_number(const tidemill_schema *schema, uint32_t field, const char *name,
                                 int32_t *out);

/* ---- decoders and messages ---- */

typedef enum tidemill_engine {
    /* Compiles code for the schema when events, or messages, first ask for it: some microseconds a
     * field. Where no code can be made it is as TIDEMILL_TABLE. */
    TIDEMILL_NATIVE = 0,
    TIDEMILL_TABLE = 1,   /* starts at once */
    TIDEMILL_REQUIRED = 2 /* `TIDEMILL_TABLE | TIDEMILL_REQUIRED`: lack of required fields is an error */
} tidemill_engine;

/* The limits are how deep messages may nest and how long they may be; 0 for the usual, 100 and 2 GiB. */
tidemill_decoder *tidemill_decoder_new(const tidemill_schema *schema, uint32_t engine,
                                       size_t depth_max, size_t bytes_max, tidemill_error **error);
void tidemill_decoder_free(tidemill_decoder *decoder);

/* An empty message; `memory_max` bytes are all that it may ever take, 0 for no limit. */
tidemill_message *tidemill_message_new(const tidemill_schema *schema, uint32_t type,
                                       size_t memory_max, tidemill_error **error);
void tidemill_message_free(tidemill_message *message);
/* Empties it and keeps the memory. */
void tidemill_message_clear(tidemill_message *message);
size_t tidemill_message_used_bytes(const tidemill_message *message);
/* Makes it what the bytes are; after an error it has what came before. Strings are copied. */
bool tidemill_message_decode(tidemill_message *message, const tidemill_decoder *decoder,
                             const void *data, size_t length, tidemill_error **error);
/* The same without copies: strings stay in your bytes, which have to live as long. */
bool tidemill_message_decode_borrowed(tidemill_message *message, const tidemill_decoder *decoder,
                                      const void *data, size_t length, tidemill_error **error);

/* ---- views and values ---- */

/* A message in a tree. Its members are the library's; all zero is no view. */
typedef struct tidemill_view {
    tidemill_message *message;
    void *record;
    uint32_t type;
    uint32_t life;
} tidemill_view;

typedef struct tidemill_value {
    uint32_t kind; /* tidemill_kind: which member is there */
    union {
        double f64;
        float f32;
        int64_t i64;
        uint64_t u64;
        int32_t i32; /* also of enums */
        uint32_t u32;
        uint8_t boolean;
        tidemill_bytes bytes; /* also of strings */
        tidemill_view message;
        size_t count; /* of lists and maps: their values are read one by one */
    } as;
} tidemill_value;

/* The whole message; no view for NULL. */
tidemill_view tidemill_message_view(tidemill_message *message);

/* The value of a field; what is not set is its default, a message that is not set an empty one. */
bool tidemill_get(tidemill_view view, uint32_t field, tidemill_value *out, tidemill_error **error);
/* True if it is set: a list or map has something in it. False also with an error. */
bool tidemill_has(tidemill_view view, uint32_t field, tidemill_error **error);
/* Of the oneof that has `member`: the field that is set, or TIDEMILL_NONE. */
uint32_t tidemill_which(tidemill_view view, uint32_t member, tidemill_error **error);
/* Writes which fields are set, as many as there is room for; returns how many are. */
size_t tidemill_fields(tidemill_view view, uint32_t *out, size_t room);

bool tidemill_list_get(tidemill_view view, uint32_t field, size_t index, tidemill_value *out,
                       tidemill_error **error);
/* The value of a key; of kind TIDEMILL_ABSENT if there is none, which is no error. */
bool tidemill_map_get(tidemill_view view, uint32_t field, const tidemill_value *key,
                      tidemill_value *out, tidemill_error **error);
/* The entries one after the other. */
bool tidemill_map_entry(tidemill_view view, uint32_t field, size_t index, tidemill_value *key,
                        tidemill_value *value, tidemill_error **error);

/* ---- changing ----
 * Values are copied in, messages too. A message that is not set has a view that can be read and not
 * changed: `tidemill_sub` sets it. Memory of what is replaced is freed with the whole message. */

bool tidemill_set(tidemill_view view, uint32_t field, const tidemill_value *value,
                  tidemill_error **error);
bool tidemill_clear_field(tidemill_view view, uint32_t field, tidemill_error **error);
/* The message in a field, which is set then. */
bool tidemill_sub(tidemill_view view, uint32_t field, tidemill_view *out, tidemill_error **error);
bool tidemill_push(tidemill_view view, uint32_t field, const tidemill_value *value,
                   tidemill_error **error);
bool tidemill_push_message(tidemill_view view, uint32_t field, tidemill_view *out,
                           tidemill_error **error);
bool tidemill_list_set(tidemill_view view, uint32_t field, size_t index,
                       const tidemill_value *value, tidemill_error **error);
bool tidemill_list_remove(tidemill_view view, uint32_t field, size_t index, tidemill_error **error);
bool tidemill_map_put(tidemill_view view, uint32_t field, const tidemill_value *key,
                      const tidemill_value *value, tidemill_error **error);
/* The message that is the value of a key, an empty one if there was none. */
bool tidemill_map_sub(tidemill_view view, uint32_t field, const tidemill_value *key,
                      tidemill_view *out, tidemill_error **error);
bool tidemill_map_remove(tidemill_view view, uint32_t field, const tidemill_value *key,
                         tidemill_error **error);
/* Merges a message of the same type into it. */
bool tidemill_merge(tidemill_view view, tidemill_view other, tidemill_error **error);

/* ---- bytes, JSON, text ---- */

typedef enum tidemill_flags {
    TIDEMILL_SORTED = 1,          /* encode: maps by key, equal messages give equal bytes */
    TIDEMILL_CHECK_REQUIRED = 2,  /* encode, from_text: required fields must be there */
    TIDEMILL_PROTO_NAMES = 4,     /* to_json: names as in the source */
    TIDEMILL_ENUM_NUMBERS = 8,    /* to_json */
    TIDEMILL_PRINT_DEFAULTS = 16, /* to_json: also what has no presence and is zero */
    TIDEMILL_IGNORE_UNKNOWN = 32, /* from_json: keys that no field has are passed over */
    TIDEMILL_PRINT_UNKNOWN = 64,  /* to_text: unknown fields, by number */
    TIDEMILL_ONE_LINE = 128       /* to_text */
} tidemill_flags;

bool tidemill_encode(tidemill_view view, uint32_t flags, tidemill_buffer *out,
                     tidemill_error **error);
bool tidemill_to_json(tidemill_view view, uint32_t flags, tidemill_buffer *out,
                      tidemill_error **error);
bool tidemill_to_text(tidemill_view view, uint32_t flags, tidemill_buffer *out,
                      tidemill_error **error);
/* Makes the message what the text is; after an error it has what came before. */
bool tidemill_message_from_json(tidemill_message *message, const char *text, size_t length,
                                uint32_t flags, tidemill_error **error);
bool tidemill_message_from_text(tidemill_message *message, const char *text, size_t length,
                                uint32_t flags, tidemill_error **error);
/* Without a message in between. */
bool tidemill_json_to_bytes(const tidemill_schema *schema, uint32_t type, const char *text,
                            size_t length, uint32_t flags, tidemill_buffer *out,
                            tidemill_error **error);
bool tidemill_bytes_to_json(const tidemill_decoder *decoder, uint32_t type, const void *data,
                            size_t length, uint32_t flags, tidemill_buffer *out,
                            tidemill_error **error);

/* ---- event by event ---- */

typedef enum tidemill_event_kind {
    TIDEMILL_START_MESSAGE = 1, /* the outermost; `type` */
    TIDEMILL_END_MESSAGE = 2,
    TIDEMILL_START_SUB = 3,     /* the message in `field`: a map entry is one */
    TIDEMILL_END_SUB = 4,
    TIDEMILL_VALUE = 5,         /* `field` and `value`; enums come as TIDEMILL_I32; lists one by
                                 * one; of a stream strings and bytes may come in several pieces */
    TIDEMILL_UNKNOWN = 6        /* `number`, `value`: the field with its tag, as TIDEMILL_BYTES; or
                                 * TIDEMILL_U64, a number that a closed enum of a list does not have */
} tidemill_event_kind;

typedef struct tidemill_event {
    uint32_t kind;
    uint32_t field;  /* TIDEMILL_NONE where there is none */
    uint32_t number;
    uint32_t type;
    tidemill_value value;
} tidemill_event;

/* Returns 0 to go on; anything else stops the decoder, which then fails with TIDEMILL_STOPPED. It must
 * return: no longjmp, no exception of C++. */
typedef int tidemill_callback(void *context, const tidemill_event *event);

bool tidemill_decode_events(const tidemill_decoder *decoder, uint32_t type, const void *data,
                            size_t length, tidemill_callback *callback, void *context,
                            tidemill_error **error);

/* A message that comes in pieces of any size. After an error every further call fails with it. */
tidemill_stream *tidemill_stream_new(const tidemill_decoder *decoder, uint32_t type,
                                     tidemill_callback *callback, void *context,
                                     tidemill_error **error);
bool tidemill_stream_push(tidemill_stream *stream, const void *data, size_t length,
                          tidemill_error **error);
/* The input ends: false if the message is not complete. Only freeing may follow. */
bool tidemill_stream_finish(tidemill_stream *stream, tidemill_error **error);
/* Its callback may free it, and stops it so. */
void tidemill_stream_free(tidemill_stream *stream);

/* ---- values, written briefly ---- */

static inline tidemill_value tidemill_f64(double x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_F64; v.as.f64 = x; return v;
}
static inline tidemill_value tidemill_f32(float x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_F32; v.as.f32 = x; return v;
}
static inline tidemill_value tidemill_i64(int64_t x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_I64; v.as.i64 = x; return v;
}
static inline tidemill_value tidemill_u64(uint64_t x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_U64; v.as.u64 = x; return v;
}
static inline tidemill_value tidemill_i32(int32_t x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_I32; v.as.i32 = x; return v;
}
static inline tidemill_value tidemill_u32(uint32_t x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_U32; v.as.u32 = x; return v;
}
static inline tidemill_value tidemill_bool(bool x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_BOOL; v.as.boolean = x; return v;
}
static inline tidemill_value tidemill_enum(int32_t x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_ENUM; v.as.i32 = x; return v;
}
static inline tidemill_value tidemill_bytes_value(const void *data, size_t length) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_BYTES;
    v.as.bytes.data = (const uint8_t *)data; v.as.bytes.length = length; return v;
}
static inline tidemill_value tidemill_string(const char *text) {
    tidemill_value v = tidemill_bytes_value(text, strlen(text)); v.kind = TIDEMILL_STRING; return v;
}
static inline tidemill_value tidemill_message_value(tidemill_view x) {
    tidemill_value v; memset(&v, 0, sizeof v); v.kind = TIDEMILL_MESSAGE; v.as.message = x; return v;
}

#ifdef __cplusplus
}
#endif

#endif
