// Protocol Buffers' own C library, upb, of schemas read at run time.
//
//     upb WHO SCHEMA TYPE FILE PASSES decode|encode
//
// WHO is `upb-c` (strings are copied) or `upb-c-alias` (they stay in the input). Each pass begins
// an arena in one block of memory that is used again. Prints the CPU seconds of so many decodings
// or encodings, and how many bytes the message has when it is encoded again.

#include <string.h>

#include "schema.h"
#include "upb/mem/alloc.h"
#include "upb/mem/arena.h"
#include "upb/message/message.h"
#include "upb/wire/decode.h"
#include "upb/wire/encode.h"

int main(int count, char **arguments) {
    if (count != 7) fail("usage: upb WHO SCHEMA TYPE FILE PASSES decode|encode");
    size_t length;
    char *bytes = read_all(arguments[4], &length);
    unsigned long passes = strtoul(arguments[5], NULL, 10);
    int encode = strcmp(arguments[6], "encode") == 0;
    int options = strcmp(arguments[1], "upb-c-alias") == 0 ? kUpb_DecodeOption_AliasString : 0;

    upb_Arena *kept = upb_Arena_New();
    const upb_MiniTable *table = message(definitions(arguments[2], kept), arguments[3]);

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
