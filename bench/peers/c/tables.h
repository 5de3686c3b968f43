/* What the peers of `bench tables` have in common: the requests, and the way of packets.
 *
 *     file    = fill, packets, capacity, kind (0: exact, 1: prefix), each of 64 bits | frame ...
 *     frame   = 14 bytes of Ethernet | is_insert | 13 bytes of key | bits | 3 | 8 of value | 20
 *
 * The first `fill` frames fill the table, the others are one pass. Where the table is one of
 * prefixes, the key begins with an address, in the order of the network, as the value is. */

#pragma once

#include <stdint.h>
#include <string.h>

#include "peer.h"

enum { FRAME_BYTES = 60, INSERT_AT = 14, KEY_AT = 15, KEY_BYTES = 13, BITS_AT = 28, VALUE_AT = 32 };
enum { BURST = 256 };

struct requests {
    uint64_t fill, packets, capacity, kind;
    const uint8_t *fills, *frames;
};

/* Handles the packets of a burst in order: a look-up writes the value that it finds. */
typedef void (*handler)(uint8_t *frames, uint32_t count);

static inline struct requests read_requests(const char *path) {
    struct requests requests;
    FILE *file = fopen(path, "rb");
    if (!file || fread(&requests, 32, 1, file) != 1) fail("cannot read the requests");
    size_t size = (size_t)(requests.fill + requests.packets) * FRAME_BYTES;
    uint8_t *bytes = malloc(size);
    if (!bytes || fread(bytes, 1, size, file) != size) fail("cannot read the requests");
    fclose(file);
    requests.fills = bytes;
    requests.frames = bytes + requests.fill * FRAME_BYTES;
    return requests;
}

static inline uint32_t address_of(const uint8_t *frame) {
    uint32_t word;
    memcpy(&word, frame + KEY_AT, 4);
    return __builtin_bswap32(word);
}

static inline uint64_t value_of(const uint8_t *frame) {
    uint64_t word;
    memcpy(&word, frame + VALUE_AT, 8);
    return __builtin_bswap64(word);
}

static inline void put_value(uint8_t *frame, uint64_t value) {
    value = __builtin_bswap64(value);
    memcpy(frame + VALUE_AT, &value, 8);
}

/* What look-ups have found. */
struct found {
    uint64_t hits, sum;
};

static inline void read_found(const uint8_t *frame, struct found *found) {
    if (frame[INSERT_AT]) return;
    uint64_t value = value_of(frame);
    found->hits += value != 0;
    found->sum += value;
}

static inline void pass(const struct requests *requests, handler handle, struct found *found) {
    static uint8_t burst[BURST * FRAME_BYTES];
    for (uint64_t first = 0; first < requests->packets; first += BURST) {
        uint64_t left = requests->packets - first;
        uint32_t count = left < BURST ? (uint32_t)left : BURST;
        for (uint32_t i = 0; i < count; i++)
            memcpy(burst + i * FRAME_BYTES, requests->frames + (first + i) * FRAME_BYTES,
                   FRAME_BYTES);
        handle(burst, count);
        for (uint32_t i = 0; i < count; i++) read_found(burst + i * FRAME_BYTES, found);
    }
}

static inline void handle_nothing(uint8_t *frames, uint32_t count) {
    (void)frames;
    (void)count;
}

/* Fills the table, then makes a pass that is not measured and `passes` that are. Prints the CPU
 * seconds of these, those of as many passes that look nothing up, and what all have found. */
static inline void measure(const struct requests *requests, handler handle, long passes) {
    uint8_t frame[FRAME_BYTES];
    for (uint64_t i = 0; i < requests->fill; i++) {
        memcpy(frame, requests->fills + i * FRAME_BYTES, FRAME_BYTES);
        handle(frame, 1);
    }
    struct found found = { 0, 0 }, ignored = { 0, 0 };
    pass(requests, handle_nothing, &ignored);
    double start = cpu_seconds();
    for (long i = 0; i < passes; i++) pass(requests, handle_nothing, &ignored);
    double idle = cpu_seconds() - start;
    pass(requests, handle, &found);
    start = cpu_seconds();
    for (long i = 0; i < passes; i++) pass(requests, handle, &found);
    printf("%.9f %.9f %llu %llu\n", cpu_seconds() - start, idle,
           (unsigned long long)found.hits, (unsigned long long)found.sum);
}
