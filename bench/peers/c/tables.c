/* Tables by hand, for `bench tables`.
 *
 *     tables REQUESTS PASSES
 *
 * Exact keys: open addressing with linear probing, at most half full, two slots to a cache line.
 * Prefixes: DIR-24-8 (Gupta, Lin and McKeown 1998). Both fetch the lines of a burst before they
 * look anything up, and handle the packets of the burst in order. See tables.h for the output. */

#include "tables.h"

/* A key of 13 bytes as two words; `high` of a slot that is taken has TAKEN. */
struct slot {
    uint64_t low, high, value, unused;
};

static const uint64_t TAKEN = 1ull << 63;
static struct slot *slots;
static uint64_t slots_mask;

static inline uint64_t mixed(uint64_t a, uint64_t b) {
    __uint128_t both = (__uint128_t)a * b;
    return (uint64_t)both ^ (uint64_t)(both >> 64);
}

/* Two multiplications, as wyhash does it. */
static inline uint64_t hash(uint64_t low, uint64_t high) {
    return mixed(mixed(low ^ 0xA0761D6478BD642F, high ^ 0xE7037ED1A0B428DB), 0x8EBC6AF09C88C6E3);
}

/* The slot of a key, or a free one: the search begins at a slot. */
static inline struct slot *slot_of(uint64_t at, uint64_t low, uint64_t high) {
    while (slots[at].high && (slots[at].low != low || slots[at].high != high))
        at = (at + 1) & slots_mask;
    return &slots[at];
}

static inline void key_of(const uint8_t *frame, uint64_t *low, uint64_t *high) {
    uint64_t rest;
    memcpy(low, frame + KEY_AT, 8);
    memcpy(&rest, frame + KEY_AT + 8, 8);
    *high = (rest & 0xFFFFFFFFFF) | TAKEN;
}

static void handle_exact(uint8_t *frames, uint32_t count) {
    uint64_t low, high, first[BURST];
    for (uint32_t i = 0; i < count; i++) {
        key_of(frames + i * FRAME_BYTES, &low, &high);
        first[i] = hash(low, high) & slots_mask;
        __builtin_prefetch(&slots[first[i]]);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *frame = frames + i * FRAME_BYTES;
        key_of(frame, &low, &high);
        struct slot *slot = slot_of(first[i], low, high);
        if (frame[INSERT_AT])
            *slot = (struct slot){ low, high, value_of(frame), 0 };
        else if (slot->high)
            put_value(frame, slot->value);
    }
}

static void make_slots(uint64_t capacity) {
    uint64_t count = 2;
    while (count < 2 * capacity) count *= 2;
    slots_mask = count - 1;
    slots = aligned_alloc(64, count * sizeof(struct slot));
    if (!slots) fail("no memory");
    memset(slots, 0, count * sizeof(struct slot));
}

/* An entry: a value of 24 bits, the length of its prefix from bit 24 on, and whether it leads to a
 * block of 256 entries instead; 0: none. */
static const uint32_t BLOCK = 1u << 31, VALUE = 0xFFFFFF;
static uint32_t *roots, *blocks;
static uint32_t blocks_used, blocks_max;

static inline uint32_t bits_in(uint32_t entry) { return entry >> 24 & 63; }

static inline void cover(uint32_t *entries, uint32_t count, uint32_t entry) {
    for (uint32_t i = 0; i < count; i++) {
        if (entries[i] & BLOCK)
            cover(&blocks[(entries[i] & VALUE) << 8], 256, entry);
        else if (bits_in(entries[i]) <= bits_in(entry))
            entries[i] = entry;
    }
}

static void add_prefix(uint32_t address, uint32_t bits, uint32_t value) {
    uint32_t entry = value | bits << 24, *root = &roots[address >> 8];
    if (bits <= 24) {
        cover(root, 1u << (24 - bits), entry);
        return;
    }
    if (!(*root & BLOCK)) {
        if (blocks_used == blocks_max) fail("too many long prefixes");
        for (uint32_t i = 0; i < 256; i++) blocks[(blocks_used << 8) + i] = *root;
        *root = BLOCK | blocks_used++;
    }
    cover(&blocks[((*root & VALUE) << 8) + (address & 0xFF)], 1u << (32 - bits), entry);
}

static void handle_prefix(uint8_t *frames, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(&roots[address_of(frames + i * FRAME_BYTES) >> 8]);
    for (uint32_t i = 0; i < count; i++) {
        uint8_t *frame = frames + i * FRAME_BYTES;
        uint32_t address = address_of(frame);
        if (frame[INSERT_AT]) {
            add_prefix(address, frame[BITS_AT], (uint32_t)value_of(frame));
            continue;
        }
        uint32_t entry = roots[address >> 8];
        if (entry & BLOCK) entry = blocks[((entry & VALUE) << 8) + (address & 0xFF)];
        if (entry) put_value(frame, entry & VALUE);
    }
}

static void make_roots(uint64_t capacity) {
    blocks_max = (uint32_t)capacity;
    roots = calloc(1 << 24, sizeof *roots);
    blocks = calloc((size_t)blocks_max * 256, sizeof *blocks);
    if (!roots || !blocks) fail("no memory");
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: tables REQUESTS PASSES");
    struct requests requests = read_requests(arguments[1]);
    handler handle = requests.kind ? handle_prefix : handle_exact;
    if (requests.kind)
        make_roots(requests.capacity);
    else
        make_slots(requests.capacity);
    measure(&requests, handle, atol(arguments[2]));
    return 0;
}
