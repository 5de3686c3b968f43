// Protocol Buffers' own C library, upb, of schemas read at run time.
//
//     upb WHO SCHEMA TYPE FILE PASSES decode|encode
//
// WHO is `upb-c` (strings are copied) or `upb-c-alias` (they stay in the input). Each pass begins
// an arena in one block of memory that is used again. Prints the CPU seconds of so many decodings
// or encodings, and how many bytes the message has when it is encoded again.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "google/protobuf/descriptor.upb.h"
#include "upb/mem/alloc.h"
#include "upb/mem/arena.h"
#include "upb/message/message.h"
#include "upb/reflection/def.h"
#include "upb/wire/decode.h"
#include "upb/wire/encode.h"

static double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static int fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static char *read_all(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) fail("a file is missing");
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*length + 1);
    if (fread(bytes, 1, *length, file) != *length) fail("a file cannot be read");
    fclose(file);
    return bytes;
}

int main(int count, char **arguments) {
    if (count != 7) fail("usage: upb WHO SCHEMA TYPE FILE PASSES decode|encode");
    size_t set_length, length;
    char *set_bytes = read_all(arguments[2], &set_length);
    char *bytes = read_all(arguments[4], &length);
    unsigned long passes = strtoul(arguments[5], NULL, 10);
    int encode = strcmp(arguments[6], "encode") == 0;
    int options = strcmp(arguments[1], "upb-c-alias") == 0 ? kUpb_DecodeOption_AliasString : 0;

    upb_Arena *kept = upb_Arena_New();
    google_protobuf_FileDescriptorSet *set =
        google_protobuf_FileDescriptorSet_parse(set_bytes, set_length, kept);
    if (!set) fail("no schema");
    upb_DefPool *pool = upb_DefPool_New();
    size_t files;
    const google_protobuf_FileDescriptorProto *const *file =
        google_protobuf_FileDescriptorSet_file(set, &files);
    for (size_t at = 0; at < files; at++) {
        upb_Status status;
        upb_Status_Clear(&status);
        if (!upb_DefPool_AddFile(pool, file[at], &status)) fail(upb_Status_ErrorMessage(&status));
    }
    const upb_MessageDef *def = upb_DefPool_FindMessageByName(pool, arguments[3]);
    if (!def) fail("no such message");
    const upb_MiniTable *table = upb_MessageDef_MiniTable(def);

    size_t block_bytes = 64 * length + (1 << 20);
    void *block = malloc(block_bytes);
    upb_Message *message = upb_Message_New(table, kept);
    if (upb_Decode(bytes, length, message, table, NULL, options, kept) != kUpb_DecodeStatus_Ok)
        fail("it does not decode");
    char *out;
    size_t out_length;
    if (upb_Encode(message, table, 0, kept, &out, &out_length) != kUpb_EncodeStatus_Ok)
        fail("it does not encode");
    unsigned long good = 0;
    double start = cpu_seconds();
    for (unsigned long pass = 0; pass < passes; pass++) {
        upb_Arena *arena = upb_Arena_Init(block, block_bytes, &upb_alloc_global);
        if (encode) {
            size_t written;
            good += upb_Encode(message, table, 0, arena, &out, &written) == kUpb_EncodeStatus_Ok &&
                    written == out_length;
        } else {
            upb_Message *one = upb_Message_New(table, arena);
            good += upb_Decode(bytes, length, one, table, NULL, options, arena) ==
                    kUpb_DecodeStatus_Ok;
        }
        upb_Arena_Free(arena);
    }
    double seconds = cpu_seconds() - start;
    if (good != passes) fail("a pass failed");
    printf("%.9f %zu\n", seconds, out_length);
    return 0;
}
