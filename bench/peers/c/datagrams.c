/* Tuples in datagrams over the loopback, decoded by upb and counted.
 *
 *     datagrams SCHEMA DATAGRAMS BURSTS BURST
 *
 * SCHEMA is a descriptor set with `events.Envelope`, `events.in` and `events.Value`, DATAGRAMS holds
 * envelopes, each after its length in 32 bits, little endian. One socket sends BURST of them, the
 * next ones each time, the other takes them, up to 16 by a call, BURSTS times. The body of each
 * tuple is decoded as `events.in`; strings stay in the input. Each datagram begins an arena in one
 * block of memory that is used again. Prints the CPU seconds of the receiving part, how many tuples
 * have come, and the sum of their second columns, integers. */

#define _GNU_SOURCE
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

/* Datagrams of one system call at most, as many as ours takes. */
enum { TOGETHER = 16, ROOM = 65536, BLOCK = 1 << 20 };

static const upb_MiniTableField *field(const upb_MiniTable *table, uint32_t number) {
    const upb_MiniTableField *field = upb_MiniTable_FindFieldByNumber(table, number);
    if (!field) fail("no such field");
    return field;
}

/* What is read of a tuple. */
struct schema {
    const upb_MiniTable *envelope, *in;
    const upb_MiniTableField *tuples, *body, *second, *integer;
};

static uint64_t count, sum;

/* One datagram. */
static void take(const struct schema *schema, const char *input, size_t size, void *block) {
    upb_Arena *arena = upb_Arena_Init(block, BLOCK, &upb_alloc_global);
    upb_Message *outer = upb_Message_New(schema->envelope, arena);
    int options = kUpb_DecodeOption_AliasString;
    if (upb_Decode(input, size, outer, schema->envelope, NULL, options, arena) !=
        kUpb_DecodeStatus_Ok)
        fail("an envelope does not decode");
    const upb_Array *all = upb_Message_GetArray(outer, schema->tuples);
    for (size_t at = 0; all && at < upb_Array_Size(all); at++) {
        upb_StringView empty = {0};
        const upb_Message *one = upb_Array_Get(all, at).msg_val;
        upb_StringView columns = upb_Message_GetString(one, schema->body, empty);
        upb_Message *event = upb_Message_New(schema->in, arena);
        if (upb_Decode(columns.data, columns.size, event, schema->in, NULL, options, arena) !=
            kUpb_DecodeStatus_Ok)
            fail("a body does not decode");
        const upb_Message *value = upb_Message_GetMessage(event, schema->second);
        if (!value) fail("a column is missing");
        count++;
        sum += (uint64_t)upb_Message_GetInt64(value, schema->integer, 0);
    }
    upb_Arena_Free(arena);
}

int main(int words_count, char **words) {
    if (words_count != 5) fail("datagrams SCHEMA DATAGRAMS BURSTS BURST");
    size_t length;
    char *bytes = read_all(words[2], &length);
    long bursts = atol(words[3]), burst = atol(words[4]);

    upb_DefPool *pool = definitions(words[1], upb_Arena_New());
    const upb_MiniTable *envelope = message(pool, "events.Envelope");
    const upb_MiniTable *in = message(pool, "events.in");
    struct schema schema = {
        .envelope = envelope,
        .in = in,
        .tuples = field(envelope, 3),
        .body = field(message(pool, "events.Tuple"), 2),
        .second = field(in, 2),
        .integer = field(message(pool, "events.Value"), 1),
    };

    struct sockaddr_in from_address, to_address;
    int from = bound(&from_address), to = bound(&to_address);
    static char inputs[TOGETHER][ROOM];
    struct sockaddr_in senders[TOGETHER];
    struct iovec parts[TOGETHER];
    struct mmsghdr messages[TOGETHER] = {0};
    for (int at = 0; at < TOGETHER; at++) {
        parts[at] = (struct iovec){inputs[at], ROOM};
        messages[at].msg_hdr = (struct msghdr){
            .msg_name = &senders[at], .msg_namelen = sizeof senders[at],
            .msg_iov = &parts[at], .msg_iovlen = 1};
    }
    void *block = malloc(BLOCK);
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
        int got;
        while ((got = recvmmsg(to, messages, TOGETHER, MSG_DONTWAIT, NULL)) > 0)
            for (int at = 0; at < got; at++) {
                messages[at].msg_hdr.msg_namelen = sizeof senders[at];
                take(&schema, inputs[at], messages[at].msg_len, block);
            }
        seconds += cpu_seconds() - start;
    }
    printf("%.9f %llu %llu\n", seconds, (unsigned long long)count, (unsigned long long)sum);
    return 0;
}
