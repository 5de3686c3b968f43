/* A capture in memory, and what is read and written of packets. */

#pragma once

#include <stdint.h>
#include <string.h>

#include "peer.h"

#define PACKET_MAX 2048

struct packet {
    uint32_t length;
    const uint8_t *bytes;
};

struct trace {
    uint32_t count;
    struct packet *packets;
};

/* Reads a capture whose numbers have this machine's order. */
static inline struct trace read_trace(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) fail("cannot read the capture");
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size > 24 ? malloc((size_t)size) : NULL;
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        fail("cannot read the capture");
    fclose(file);
    struct trace trace = { 0, malloc((size_t)size / 16 * sizeof(struct packet)) };
    if (!trace.packets) fail("no memory");
    for (long at = 24; at + 16 <= size;) {
        uint32_t length;
        memcpy(&length, bytes + at + 8, 4);
        if (length > PACKET_MAX || at + 16 + (long)length > size) fail("a capture of another kind");
        trace.packets[trace.count++] = (struct packet){ length, bytes + at + 16 };
        at += 16 + length;
    }
    return trace;
}

static inline uint16_t get16(const uint8_t *at) { return (uint16_t)(at[0] << 8 | at[1]); }

static inline uint32_t get32(const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, 4);
    return __builtin_bswap32(word);
}

static inline void put16(uint8_t *at, uint16_t value) {
    value = __builtin_bswap16(value);
    memcpy(at, &value, 2);
}

static inline void put32(uint8_t *at, uint32_t value) {
    value = __builtin_bswap32(value);
    memcpy(at, &value, 4);
}

/* All of a packet, and of those before it in order. */
static inline uint64_t digest(uint64_t sum, const uint8_t *bytes, uint32_t length) {
    const uint64_t odd = 0x9E3779B97F4A7C15;
    sum = (sum ^ length) * odd;
    for (uint32_t at = 0; at < length; at += 8) {
        uint64_t word = 0;
        memcpy(&word, bytes + at, length - at < 8 ? length - at : 8);
        sum = (sum ^ word) * odd;
        sum ^= sum >> 32;
    }
    return sum;
}
