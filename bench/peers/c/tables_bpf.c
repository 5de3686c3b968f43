/* Maps of BPF, for `bench tables`.
 *
 *     tables_bpf REQUESTS PASSES
 *
 * The kernel of the system (BPF_PROG_TEST_RUN) carries an XDP program out, once on each packet. Such
 * a run costs more than a look-up, so JOINED of the frames are one packet. Output as tables.h says,
 * but of a wall clock: that of the system, which does not count the way into the kernel. */

#include "bpf.h"
#include "tables.h"

enum { JOINED = 32, JOINED_BYTES = JOINED * FRAME_BYTES };

static const struct requests *requests;
static int map;

static void make(uint64_t capacity, uint64_t is_prefix) {
    if (is_prefix)
        map = make_map(BPF_MAP_TYPE_LPM_TRIE, 8, 8, (uint32_t)capacity, BPF_F_NO_PREALLOC);
    else
        map = make_map(BPF_MAP_TYPE_HASH, KEY_BYTES, 8, (uint32_t)capacity, 0);
}

static void nothing(void) {
    begin();
    finish();
}

/* R2 becomes the key of the frame at an offset; that of a prefix is in the frame of the program,
 * as long as R3 says. */
static void key_to_r2(int at) {
    if (requests->kind) {
        STORE(BPF_W, FRAME, -8, R3);
        LOAD(BPF_W, R1, DATA, (int16_t)(at + KEY_AT));
        STORE(BPF_W, FRAME, -4, R1);
        COPY(R2, FRAME);
        OP(BPF_ADD, R2, -8);
    } else {
        COPY(R2, DATA);
        OP(BPF_ADD, R2, at + KEY_AT);
    }
}

static void handle_frames(void) {
    begin();
    COPY(R0, DATA);
    OP(BPF_ADD, R0, JOINED_BYTES);
    IFX(BPF_JGT, R0, END, DROP);
    for (int at = 0; at < JOINED_BYTES; at += FRAME_BYTES) {
        LOAD(BPF_B, R1, DATA, (int16_t)(at + INSERT_AT));
        IF(BPF_JNE, R1, 0, FOUND);
        MOV(R3, 32);
        key_to_r2(at);
        load_map(R1, map);
        CALL(BPF_FUNC_map_lookup_elem);
        IF(BPF_JEQ, R0, 0, NEXT);
        LOAD(BPF_DW, R1, R0, 0);
        STORE(BPF_DW, DATA, (int16_t)(at + VALUE_AT), R1);
        GO(NEXT);
        place(FOUND);
        LOAD(BPF_B, R3, DATA, (int16_t)(at + BITS_AT));
        key_to_r2(at);
        load_map(R1, map);
        COPY(R3, DATA);
        OP(BPF_ADD, R3, at + VALUE_AT);
        MOV(R4, BPF_ANY);
        CALL(BPF_FUNC_map_update_elem);
        place(NEXT);
    }
    finish();
}

static void add(const uint8_t *frame) {
    struct { uint32_t bits; uint8_t net[4]; } prefix = { frame[BITS_AT], { 0 } };
    memcpy(prefix.net, frame + KEY_AT, 4);
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = requests->kind ? (uintptr_t)&prefix : (uintptr_t)(frame + KEY_AT);
    attributes.value = (uintptr_t)(frame + VALUE_AT);
    if (bpf(BPF_MAP_UPDATE_ELEM, &attributes)) fail("the system takes no entry");
}

/* All packets once; returns the nanoseconds. */
static uint64_t run_all(int program, struct found *found) {
    static uint8_t out[PACKET_MAX];
    uint64_t taken = 0;
    for (uint64_t first = 0; first + JOINED <= requests->packets; first += JOINED) {
        struct packet packet = { JOINED_BYTES, requests->frames + first * FRAME_BYTES };
        uint32_t verdict;
        taken += run(program, &packet, out, &verdict, 1);
        if (verdict != XDP_PASS) fail("the system runs something else");
        for (int i = 0; i < JOINED; i++) read_found(out + i * FRAME_BYTES, found);
    }
    return taken;
}

int main(int count, char **arguments) {
    if (count != 3) fail("usage: tables_bpf REQUESTS PASSES");
    struct requests all = read_requests(arguments[1]);
    requests = &all;
    if (all.packets % JOINED) fail("packets are left over");
    make(all.capacity, all.kind);
    int program = load(handle_frames), idle = load(nothing);
    for (uint64_t i = 0; i < all.fill; i++) add(all.fills + i * FRAME_BYTES);
    struct found found = { 0, 0 }, ignored = { 0, 0 };
    run_all(program, &found);
    uint64_t taken = 0, taken_idle = 0;
    for (long left = atol(arguments[2]); left; left--) {
        taken += run_all(program, &found);
        taken_idle += run_all(idle, &ignored);
    }
    printf("%.9f %.9f %llu %llu\n", (double)taken / 1e9, (double)taken_idle / 1e9,
           (unsigned long long)found.hits, (unsigned long long)found.sum);
    return 0;
}
