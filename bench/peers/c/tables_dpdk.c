/* Tables of DPDK, for `bench tables`.
 *
 *     tables_dpdk REQUESTS PASSES bulk|single|fib
 *
 * Exact keys: rte_hash; prefixes: rte_lpm, or rte_fib with DIR-24-8, which `fib` means. `bulk` looks
 * up to 64 keys up at once, but never beyond an insert: each look-up has to see those before it.
 * See tables.h for the output. */

#define _GNU_SOURCE
#include <sched.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_hash.h>
#include <rte_hash_crc.h>
#include <rte_lpm.h>

#include "tables.h"

static struct rte_hash *hash;
static struct rte_lpm *lpm;
static struct rte_fib *fib;

enum { BULK = RTE_HASH_LOOKUP_BULK_MAX };

static inline uint8_t *frame_at(uint8_t *frames, uint32_t at) { return frames + at * FRAME_BYTES; }

/* How many look-ups come from here on before the next insert, at most BULK. */
static inline uint32_t lookups(uint8_t *frames, uint32_t at, uint32_t count) {
    uint32_t end = at;
    while (end < count && end < at + BULK && !frame_at(frames, end)[INSERT_AT]) end++;
    return end - at;
}

static inline void insert_exact(const uint8_t *frame) {
    if (rte_hash_add_key_data(hash, frame + KEY_AT, (void *)(uintptr_t)value_of(frame)))
        fail("rte_hash is full");
}

static void exact_bulk(uint8_t *frames, uint32_t count) {
    const void *keys[BULK];
    void *data[BULK];
    for (uint32_t at = 0; at < count;) {
        uint32_t some = lookups(frames, at, count);
        if (!some) {
            insert_exact(frame_at(frames, at++));
            continue;
        }
        uint64_t hits = 0;
        for (uint32_t i = 0; i < some; i++) keys[i] = frame_at(frames, at + i) + KEY_AT;
        rte_hash_lookup_bulk_data(hash, keys, some, &hits, data);
        for (uint32_t i = 0; i < some; i++)
            if (hits >> i & 1) put_value(frame_at(frames, at + i), (uintptr_t)data[i]);
        at += some;
    }
}

static void exact_single(uint8_t *frames, uint32_t count) {
    for (uint32_t at = 0; at < count; at++) {
        uint8_t *frame = frame_at(frames, at);
        void *data;
        if (frame[INSERT_AT])
            insert_exact(frame);
        else if (rte_hash_lookup_data(hash, frame + KEY_AT, &data) >= 0)
            put_value(frame, (uintptr_t)data);
    }
}

static inline void insert_lpm(const uint8_t *frame) {
    if (rte_lpm_add(lpm, address_of(frame), frame[BITS_AT], (uint32_t)value_of(frame)))
        fail("rte_lpm is full");
}

static void lpm_bulk(uint8_t *frames, uint32_t count) {
    uint32_t addresses[BULK], hops[BULK];
    for (uint32_t at = 0; at < count;) {
        uint32_t some = lookups(frames, at, count);
        if (!some) {
            insert_lpm(frame_at(frames, at++));
            continue;
        }
        for (uint32_t i = 0; i < some; i++) addresses[i] = address_of(frame_at(frames, at + i));
        rte_lpm_lookup_bulk(lpm, addresses, hops, some);
        for (uint32_t i = 0; i < some; i++)
            if (hops[i] & RTE_LPM_LOOKUP_SUCCESS)
                put_value(frame_at(frames, at + i), hops[i] & 0xFFFFFF);
        at += some;
    }
}

static void lpm_single(uint8_t *frames, uint32_t count) {
    for (uint32_t at = 0; at < count; at++) {
        uint8_t *frame = frame_at(frames, at);
        uint32_t hop;
        if (frame[INSERT_AT])
            insert_lpm(frame);
        else if (!rte_lpm_lookup(lpm, address_of(frame), &hop))
            put_value(frame, hop);
    }
}

static void fib_bulk(uint8_t *frames, uint32_t count) {
    uint32_t addresses[BULK];
    uint64_t hops[BULK];
    for (uint32_t at = 0; at < count;) {
        uint32_t some = lookups(frames, at, count);
        if (!some) {
            uint8_t *frame = frame_at(frames, at++);
            if (rte_fib_add(fib, address_of(frame), frame[BITS_AT], value_of(frame)))
                fail("rte_fib is full");
            continue;
        }
        for (uint32_t i = 0; i < some; i++) addresses[i] = address_of(frame_at(frames, at + i));
        rte_fib_lookup_bulk(fib, addresses, hops, (int)some);
        for (uint32_t i = 0; i < some; i++)
            if (hops[i]) put_value(frame_at(frames, at + i), hops[i]);
        at += some;
    }
}

/* Starts DPDK in memory of its own, without devices, and lets threads run on any processor again. */
static void start_dpdk(void) {
    static char core[16];
    snprintf(core, sizeof core, "%d", sched_getcpu());
    char *arguments[] = { "tables", "-l", core, "--no-huge", "--no-pci", "--no-shconf",
                          "--no-telemetry", "--log-level=error", "-m", "1024" };
    cpu_set_t all;
    if (sched_getaffinity(0, sizeof all, &all)) fail("the system tells no processors");
    if (rte_eal_init(sizeof arguments / sizeof *arguments, arguments) < 0)
        fail("DPDK does not start");
    if (sched_setaffinity(0, sizeof all, &all)) fail("the system sets no processors");
}

static handler make_exact(uint64_t capacity, int is_bulk) {
    struct rte_hash_parameters parameters = {
        .name = "entries",
        .entries = (uint32_t)capacity,
        .key_len = KEY_BYTES,
        .hash_func = rte_hash_crc,
        .extra_flag = RTE_HASH_EXTRA_FLAGS_EXT_TABLE,
    };
    hash = rte_hash_create(&parameters);
    if (!hash) fail("rte_hash_create fails");
    return is_bulk ? exact_bulk : exact_single;
}

static handler make_lpm(uint64_t capacity, int is_bulk) {
    struct rte_lpm_config config = { .max_rules = (uint32_t)capacity,
                                     .number_tbl8s = (uint32_t)capacity / 4 + 16 };
    lpm = rte_lpm_create("entries", SOCKET_ID_ANY, &config);
    if (!lpm) fail("rte_lpm_create fails");
    return is_bulk ? lpm_bulk : lpm_single;
}

static handler make_fib(uint64_t capacity) {
    struct rte_fib_conf config = {
        .type = RTE_FIB_DIR24_8,
        .max_routes = (int)capacity,
        .dir24_8 = { .nh_sz = RTE_FIB_DIR24_8_4B, .num_tbl8 = (uint32_t)capacity / 4 + 16 },
    };
    fib = rte_fib_create("entries", SOCKET_ID_ANY, &config);
    if (!fib) fail("rte_fib_create fails");
    return fib_bulk;
}

int main(int count, char **arguments) {
    if (count != 4) fail("usage: tables_dpdk REQUESTS PASSES bulk|single|fib");
    struct requests requests = read_requests(arguments[1]);
    int is_bulk = !strcmp(arguments[3], "bulk"), is_fib = !strcmp(arguments[3], "fib");
    start_dpdk();
    handler handle = !requests.kind ? make_exact(requests.capacity, is_bulk)
                     : is_fib       ? make_fib(requests.capacity)
                                    : make_lpm(requests.capacity, is_bulk);
    measure(&requests, handle, atol(arguments[2]));
    return 0;
}
