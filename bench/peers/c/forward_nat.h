/* Translation of addresses, as a table of sources and one of ports. */

#pragma once

#include <stdint.h>
#include <string.h>

#define ETHERNET 14
#define UDP 17
#define OUTSIDE 0xC0000201u
#define FIRST_PORT 1024
#define SLOTS (1 << 17)

struct source {
    uint32_t address;
    uint16_t port, outside;
};

static struct source slots[SLOTS];
static struct source ports[65536];
static uint32_t next_port = FIRST_PORT;

static inline uint32_t get(const uint8_t *at, int bytes) {
    uint32_t value = 0;
    for (int i = 0; i < bytes; i++)
        value = value << 8 | at[i];
    return value;
}

static inline void put(uint8_t *at, uint32_t value, int bytes) {
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        at[i] = (uint8_t)value;
}

/* The checksum after a word of what it covers has changed (RFC 1624). */
static inline uint16_t adjusted(uint32_t checksum, uint32_t before, uint32_t after) {
    uint32_t sum = (~checksum & 0xffff) + (~before & 0xffff) + (~before >> 16) + (after & 0xffff) +
                   (after >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* Another address and port at these places, and in the checksums. */
static inline void replace(uint8_t *ip, uint8_t *udp, uint8_t *address, uint8_t *port,
                           uint32_t to_address, uint16_t to_port) {
    uint32_t old_address = get(address, 4), old_port = get(port, 2), held = get(udp + 6, 2);
    put(ip + 10, adjusted(get(ip + 10, 2), old_address, to_address), 2);
    if (held) {
        uint16_t sum = adjusted(adjusted(held, old_address, to_address), old_port | 0xffff0000u,
                                to_port | 0xffff0000u);
        put(udp + 6, sum ? sum : 0xffff, 2);
    }
    put(address, to_address, 4);
    put(port, to_port, 2);
}

/* Whether a frame goes on, changed. */
static inline int translate(void *frame, size_t length, int out) {
    uint8_t *bytes = frame, *ip = bytes + ETHERNET;
    if (length < ETHERNET + 28 || get(bytes + 12, 2) != 0x0800 || ip[0] != 0x45 || ip[9] != UDP ||
        get(ip + 6, 2) & 0x3fff)
        return 0;
    uint8_t *udp = ip + 20;
    if (!out) {
        struct source *found = &ports[get(udp + 2, 2)];
        if (!found->port || get(ip + 16, 4) != OUTSIDE)
            return 0;
        replace(ip, udp, ip + 16, udp + 2, found->address, found->port);
        return 1;
    }
    uint32_t address = get(ip + 12, 4), port = get(udp, 2);
    uint64_t hash = ((uint64_t)address << 16 | port) * 0x9E3779B97F4A7C15u;
    struct source *found = &slots[hash >> 47];
    while (found->outside && (found->address != address || found->port != port))
        found = found + 1 == slots + SLOTS ? slots : found + 1;
    if (!found->outside) {
        if (next_port > 65535)
            return 0;
        *found = (struct source){address, (uint16_t)port, (uint16_t)next_port};
        ports[next_port++] = *found;
    }
    replace(ip, udp, ip + 12, udp, OUTSIDE, found->outside);
    return 1;
}
