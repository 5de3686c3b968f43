/* The floor: a walk over the fields of a message that looks at tags and lengths only.
 *
 *     walk FILE PASSES
 *
 * Knows no schema: groups are walked flat, whatever has a length is jumped over. Prints the CPU
 * seconds that PASSES walks took and how many tags one of them met. */

#include <stdint.h>

#include "peer.h"

static inline const uint8_t *varint(const uint8_t *at, uint64_t *value) {
    uint64_t result = *at & 0x7f;
    for (int shift = 7; *at++ & 0x80; shift += 7) result |= (uint64_t)(*at & 0x7f) << shift;
    *value = result;
    return at;
}

/* The bytes behind the message are zeros, so no varint runs away. */
static unsigned long walk(const uint8_t *at, const uint8_t *end) {
    unsigned long tags = 0;
    while (at < end) {
        uint64_t tag, length;
        at = varint(at, &tag);
        tags++;
        switch (tag & 7) {
        case 0: while (*at++ & 0x80) {} break;
        case 1: at += 8; break;
        case 2:
            at = varint(at, &length);
            if (length > (uint64_t)(end - at)) return 0;
            at += length;
            break;
        case 3: case 4: break;
        case 5: at += 4; break;
        default: return 0;
        }
    }
    return at == end ? tags : 0;
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: walk FILE PASSES");
    FILE *file = fopen(arguments[1], "rb");
    if (!file) fail("no such file");
    static uint8_t bytes[1 << 20];
    size_t length = fread(bytes, 1, sizeof bytes - 64, file);
    unsigned long passes = strtoul(arguments[2], NULL, 10), tags = 0, all = 0;
    double start = cpu_seconds();
    for (unsigned long pass = 0; pass < passes; pass++) {
        const uint8_t *from = bytes;
        __asm__ volatile("" : "+r"(from) : : "memory");
        tags = walk(from, from + length);
        all += tags;
    }
    double seconds = cpu_seconds() - start;
    if (all != tags * passes) fail("passes differ");
    printf("%.9f %lu\n", seconds, tags);
    return 0;
}
