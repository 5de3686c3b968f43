/* A filter of libpcap, compiled by the kernel of the system, on a capture.
 *
 *     kernel FILE EXPRESSION REPEATS
 *
 * Compiles the expression with libpcap's optimiser to classic BPF, and that, instruction by
 * instruction as the kernel does for sockets, to the BPF that the kernel compiles. Runs it on each
 * packet once, and on 500 of them REPEATS times. Prints the nanoseconds per packet, less those of a
 * program that does nothing, and how many of all packets matched. Only root may. */

/* Both libpcap and the kernel have a structure of this name. */
#define bpf_insn classic_insn
#include <pcap/pcap.h>
#undef bpf_insn

#include "../c/bpf.h"

enum { MEASURED = 500, A = R0, SKB = DATA, INDEX = END, SAVED = IP };

static struct bpf_program classic;
/* Where each instruction of the classic program begins. */
static int begins[INSNS_MAX + 1];

static void jump_to(uint8_t code, uint8_t with, int32_t number, unsigned to) {
    emit(code, A, with, (int16_t)(begins[to] - used - 1), number);
}

static void returns(int32_t number) {
    emit(BPF_ALU | BPF_MOV | BPF_K, R0, 0, 0, number);
    emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

static int16_t word(uint32_t number) { return (int16_t)(-4 * (int)(number + 1)); }

static void translate(unsigned at) {
    const struct classic_insn one = classic.bf_insns[at];
    const uint8_t size = one.code & 0x18, source = one.code & BPF_X;
    switch (BPF_CLASS(one.code)) {
    case BPF_LD:
    case BPF_LDX: {
        uint8_t to = BPF_CLASS(one.code) == BPF_LD ? A : INDEX;
        switch (BPF_MODE(one.code)) {
        case BPF_IMM: emit(BPF_ALU | BPF_MOV | BPF_K, to, 0, 0, (int32_t)one.k); return;
        case 0x80: LOAD(BPF_W, to, SKB, 0); return;
        case BPF_MEM: LOAD(BPF_W, to, FRAME, word(one.k)); return;
        case BPF_ABS: emit(BPF_LD | BPF_ABS | size, 0, 0, 0, (int32_t)one.k); return;
        case BPF_IND: emit(BPF_LD | BPF_IND | size, 0, INDEX, 0, (int32_t)one.k); return;
        case 0xa0: /* X becomes four times the lower half of a byte. */
            COPY(SAVED, A);
            emit(BPF_LD | BPF_ABS | BPF_B, 0, 0, 0, (int32_t)one.k);
            OP(BPF_AND, A, 15);
            OP(BPF_LSH, A, 2);
            COPY(INDEX, A);
            COPY(A, SAVED);
            return;
        default: fail("a load of another kind");
        }
    }
    case BPF_ST: STORE(BPF_W, FRAME, word(one.k), A); return;
    case BPF_STX: STORE(BPF_W, FRAME, word(one.k), INDEX); return;
    case BPF_ALU: emit((uint8_t)one.code, A, source ? INDEX : 0, 0, (int32_t)one.k); return;
    case BPF_JMP: {
        unsigned yes = at + 1 + one.jt, no = at + 1 + one.jf;
        uint8_t code = BPF_JMP32 | BPF_OP(one.code) | source;
        if (BPF_OP(one.code) == BPF_JA) {
            jump_to(BPF_JMP | BPF_JA, 0, 0, at + 1 + one.k);
            return;
        }
        jump_to(code, source ? INDEX : 0, (int32_t)one.k, yes);
        if (no != at + 1) jump_to(BPF_JMP | BPF_JA, 0, 0, no);
        return;
    }
    case BPF_RET:
        if (BPF_RVAL(one.code) == BPF_A) emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
        else returns(one.k != 0);
        return;
    default:
        if (BPF_MISCOP(one.code) == BPF_TAX) COPY(INDEX, A);
        else COPY(A, INDEX);
    }
}

/* Distances are right in the second pass. */
static void filter(void) {
    for (int pass = 0; pass < 2; pass++) {
        used = 0;
        COPY(SKB, R1);
        MOV(A, 0);
        MOV(INDEX, 0);
        for (unsigned at = 0; at < classic.bf_len; at++) {
            begins[at] = used;
            translate(at);
        }
    }
}

static void nothing(void) {
    used = 0;
    returns(1);
}

/* The mean of MEASURED packets. */
static double nanoseconds(int program, const struct trace *trace, uint32_t repeats) {
    static uint8_t out[PACKET_MAX];
    double sum = 0;
    for (uint32_t i = 0; i < MEASURED; i++) {
        uint32_t verdict, at = (uint32_t)((uint64_t)i * trace->count / MEASURED);
        sum += run(program, &trace->packets[at], out, &verdict, repeats);
    }
    return sum / MEASURED;
}

int main(int count, char **arguments) {
    static uint8_t out[PACKET_MAX];
    if (count != 4) fail("usage: kernel FILE EXPRESSION REPEATS");
    struct trace trace = read_trace(arguments[1]);
    pcap_t *dead = pcap_open_dead(DLT_EN10MB, 65535);
    if (!dead || pcap_compile(dead, &classic, arguments[2], 1, PCAP_NETMASK_UNKNOWN))
        fail("libpcap does not compile the expression");
    if (classic.bf_len > INSNS_MAX) fail("the program is too long");
    int loaded = load_as(BPF_PROG_TYPE_SCHED_CLS, filter);
    int empty = load_as(BPF_PROG_TYPE_SCHED_CLS, nothing);
    unsigned long matched = 0;
    for (uint32_t i = 0; i < trace.count; i++) {
        uint32_t verdict;
        run(loaded, &trace.packets[i], out, &verdict, 1);
        matched += verdict != 0;
    }
    uint32_t repeats = (uint32_t)atol(arguments[3]);
    double without = nanoseconds(empty, &trace, repeats);
    printf("%.6f %lu\n", nanoseconds(loaded, &trace, repeats) - without, matched);
    return 0;
}
