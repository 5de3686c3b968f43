/* Tuples in datagrams over the loopback, decoded by upb and counted.
 *
 *     datagrams SCHEMA DATAGRAMS BURSTS BURST
 *
 * SCHEMA is a descriptor set with `events.Envelope`, `events.in` and `events.Value`, DATAGRAMS holds
 * envelopes, each after its length in 32 bits, little endian. One socket sends BURST of them, the
 * next ones each time, the other takes them, BURSTS times. The body of each tuple is decoded as
 * `events.in`; strings stay in the input. Each datagram begins an arena in one block of memory that
 * is used again. Prints the CPU seconds of the receiving part, how many tuples have come, and the
 * sum of their second columns, integers. */

#include <stdint.h>

#include "loopback.h"
#include "schema.h"
#include "upb/mem/alloc.h"
#include "upb/mem/arena.h"
#include "upb/message/accessors.h"
#include "upb/message/array.h"
#include "upb/message/message.h"
#include "upb/mini_table/message.h"
#include "upb/wire/decode.h"

enum { ROOM = 65536, BLOCK = 1 << 20 };

static const upb_MiniTableField *field(const upb_MiniTable *table, uint32_t number) {
    const upb_MiniTableField *field = upb_MiniTable_FindFieldByNumber(table, number);
    if (!field) fail("no such field");
    return field;
}

int main(int count, char **words) {
    if (count != 5) fail("datagrams SCHEMA DATAGRAMS BURSTS BURST");
    size_t length;
    char *bytes = read_all(words[2], &length);
    long bursts = atol(words[3]), burst = atol(words[4]);

    upb_DefPool *pool = definitions(words[1], upb_Arena_New());
    const upb_MiniTable *envelope = message(pool, "events.Envelope");
    const upb_MiniTable *tuple = message(pool, "events.Tuple");
    const upb_MiniTable *in = message(pool, "events.in");
    const upb_MiniTableField *tuples = field(envelope, 3), *body = field(tuple, 2);
    const upb_MiniTableField *second = field(in, 2);
    const upb_MiniTableField *integer = field(message(pool, "events.Value"), 1);

    struct sockaddr_in from_address, to_address;
    int from = bound(&from_address), to = bound(&to_address);
    static char input[ROOM];
    void *block = malloc(BLOCK);
    uint64_t tuples_count = 0, sum = 0;
    double seconds = 0;
    size_t next = 0;
    for (long i = 0; i < bursts; i++) {
        for (long j = 0; j < burst; j++) {
            uint32_t size;
            if (next == length) next = 0;
            memcpy(&size, bytes + next, sizeof size);
            if (sendto(from, bytes + next + sizeof size, size, MSG_DONTWAIT | MSG_NOSIGNAL,
                       (struct sockaddr *)&to_address, sizeof to_address) != size)
                fail("not sent");
            next += sizeof size + size;
        }
        double start = cpu_seconds();
        for (;;) {
            struct sockaddr_in sender;
            socklen_t size = sizeof sender;
            ssize_t got = recvfrom(to, input, ROOM, MSG_DONTWAIT, (struct sockaddr *)&sender, &size);
            if (got < 0) break;
            upb_Arena *arena = upb_Arena_Init(block, BLOCK, &upb_alloc_global);
            upb_Message *outer = upb_Message_New(envelope, arena);
            int options = kUpb_DecodeOption_AliasString;
            if (upb_Decode(input, (size_t)got, outer, envelope, NULL, options, arena) !=
                kUpb_DecodeStatus_Ok)
                fail("an envelope does not decode");
            const upb_Array *all = upb_Message_GetArray(outer, tuples);
            for (size_t at = 0; all && at < upb_Array_Size(all); at++) {
                upb_StringView empty = {0};
                const upb_Message *one = upb_Array_Get(all, at).msg_val;
                upb_StringView columns = upb_Message_GetString(one, body, empty);
                upb_Message *event = upb_Message_New(in, arena);
                if (upb_Decode(columns.data, columns.size, event, in, NULL, options, arena) !=
                    kUpb_DecodeStatus_Ok)
                    fail("a body does not decode");
                const upb_Message *value = upb_Message_GetMessage(event, second);
                if (!value) fail("a column is missing");
                tuples_count++;
                sum += (uint64_t)upb_Message_GetInt64(value, integer, 0);
            }
            upb_Arena_Free(arena);
        }
        seconds += cpu_seconds() - start;
    }
    printf("%.9f %llu %llu\n", seconds, (unsigned long long)tuples_count, (unsigned long long)sum);
    return 0;
}
