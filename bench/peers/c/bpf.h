/* Programs of BPF: assembled, loaded, and run on a packet by the kernel of the system. */

#pragma once

#include <errno.h>
#include <linux/bpf.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "trace.h"

/* A program is assembled forwards: jumps to a label that comes later are noted until it does. */
enum { INSNS_MAX = 4096, LABELS_MAX = 8 };

static struct bpf_insn insns[INSNS_MAX];
static int used, jumps[INSNS_MAX], labels[INSNS_MAX], jumps_used;

static void emit(uint8_t code, uint8_t to, uint8_t from, int16_t offset, int32_t number) {
    if (used == INSNS_MAX) fail("the program is too long");
    insns[used++] = (struct bpf_insn){ code, to, from, offset, number };
}

static void jump(uint8_t code, uint8_t a, uint8_t b, int32_t number, int label) {
    jumps[jumps_used] = used;
    labels[jumps_used++] = label;
    emit(code, a, b, 0, number);
}

static void place(int label) {
    int left = 0;
    for (int i = 0; i < jumps_used; i++) {
        if (labels[i] == label) {
            insns[jumps[i]].off = (int16_t)(used - jumps[i] - 1);
        } else {
            jumps[left] = jumps[i];
            labels[left++] = labels[i];
        }
    }
    jumps_used = left;
}

#define MOV(to, number) emit(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number)
#define COPY(to, from) emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0)
#define OP(op, to, number) emit(BPF_ALU64 | op | BPF_K, to, 0, 0, number)
#define OPX(op, to, from) emit(BPF_ALU64 | op | BPF_X, to, from, 0, 0)
#define LOAD(size, to, from, offset) emit(BPF_LDX | BPF_MEM | size, to, from, offset, 0)
#define STORE(size, to, offset, from) emit(BPF_STX | BPF_MEM | size, to, from, offset, 0)
#define PUT(size, to, offset, number) emit(BPF_ST | BPF_MEM | size, to, 0, offset, number)
#define SWAP(to, bits) emit(BPF_ALU | BPF_END | BPF_TO_BE, to, 0, 0, bits)
#define IF(op, a, number, label) jump(BPF_JMP | op | BPF_K, a, 0, number, label)
#define IFX(op, a, b, label) jump(BPF_JMP | op | BPF_X, a, b, 0, label)
#define GO(label) jump(BPF_JMP | BPF_JA, 0, 0, 0, label)
#define CALL(function) emit(BPF_JMP | BPF_CALL, 0, 0, 0, function)

enum { R0, R1, R2, R3, R4, R5, DATA, END, IP, CONTEXT, FRAME };
/* PASS and DROP end the program; the others are free. */
enum { PASS, DROP, NEXT, OTHER, FOUND, MORE };

static void load_map(uint8_t to, int map) {
    emit(BPF_LD | BPF_DW | BPF_IMM, to, BPF_PSEUDO_MAP_FD, 0, map);
    emit(0, 0, 0, 0, 0);
}

static void begin(void) {
    used = jumps_used = 0;
    COPY(CONTEXT, R1);
    LOAD(BPF_W, DATA, R1, 0);
    LOAD(BPF_W, END, R1, 4);
}

static void finish(void) {
    place(PASS);
    MOV(R0, XDP_PASS);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
    if (!jumps_used) return;
    place(DROP);
    MOV(R0, XDP_DROP);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int bpf(int command, union bpf_attr *attributes) {
    return (int)syscall(__NR_bpf, command, attributes, sizeof *attributes);
}

static int make_map(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_type = type;
    attributes.key_size = key;
    attributes.value_size = value;
    attributes.max_entries = entries;
    attributes.map_flags = flags;
    int map = bpf(BPF_MAP_CREATE, &attributes);
    if (map < 0) fail("the system makes no map");
    return map;
}

typedef void (*assemble)(void);

static int load_as(uint32_t type, assemble program) {
    static char log[1 << 16];
    program();
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = type;
    attributes.insns = (uintptr_t)insns;
    attributes.insn_cnt = (uint32_t)used;
    attributes.license = (uintptr_t) "GPL";
    int loaded = bpf(BPF_PROG_LOAD, &attributes);
    if (loaded >= 0) return loaded;
    int why = errno;
    attributes.log_buf = (uintptr_t)log;
    attributes.log_size = sizeof log;
    attributes.log_level = 1;
    bpf(BPF_PROG_LOAD, &attributes);
    fprintf(stderr, "the system loads no program: %s\n", strerror(why));
    fail(log);
}

static inline int load(assemble program) { return load_as(BPF_PROG_TYPE_XDP, program); }

/* One packet; the nanoseconds of one time. */
static uint32_t run(int program, const struct packet *packet, uint8_t *out, uint32_t *verdict,
                    uint32_t repeat) {
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.test.prog_fd = (uint32_t)program;
    attributes.test.data_in = (uintptr_t)packet->bytes;
    attributes.test.data_size_in = packet->length;
    attributes.test.data_out = (uintptr_t)out;
    attributes.test.data_size_out = PACKET_MAX;
    attributes.test.repeat = repeat;
    if (bpf(BPF_PROG_TEST_RUN, &attributes)) {
        fprintf(stderr, "the system runs no program: %s\n", strerror(errno));
        exit(1);
    }
    *verdict = attributes.test.retval;
    return attributes.test.duration;
}
