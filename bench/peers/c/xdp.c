/* The kernels of bench/flow/kernels.flow as XDP programs.
 *
 *     xdp CAPTURE KERNEL REPEAT
 *
 * Has the kernel of the system (BPF_PROG_TEST_RUN) carry out a program REPEAT times on each packet
 * of a capture, and prints the nanoseconds of one time, less those of a program that does nothing,
 * how many packets pass, and a digest of these after one time. It is the same packet again and
 * again, by the clock: caches and branches are warm. */

#include "bpf.h"

/* Goes to a label unless so many bytes are there from a register on. */
static void need(uint8_t at, int bytes, int label) {
    COPY(R0, at);
    OP(BPF_ADD, R0, bytes);
    IFX(BPF_JGT, R0, END, label);
}

/* IP is where IPv4 begins behind up to two tags; goes to a label if there is none. */
static void find_ipv4(int label) {
    need(DATA, 14, label);
    LOAD(BPF_H, R1, DATA, 12);
    SWAP(R1, 16);
    COPY(IP, DATA);
    OP(BPF_ADD, IP, 14);
    for (int tag = 0; tag < 2; tag++) {
        IF(BPF_JEQ, R1, 0x8100, NEXT);
        IF(BPF_JNE, R1, 0x88A8, OTHER);
        place(NEXT);
        need(IP, 4, OTHER);
        LOAD(BPF_H, R1, IP, 2);
        SWAP(R1, 16);
        OP(BPF_ADD, IP, 4);
    }
    place(OTHER);
    IF(BPF_JNE, R1, 0x0800, label);
    need(IP, 20, label);
    LOAD(BPF_B, R1, IP, 0);
    COPY(R2, R1);
    OP(BPF_RSH, R2, 4);
    IF(BPF_JNE, R2, 4, label);
    OP(BPF_AND, R1, 15);
    IF(BPF_JLT, R1, 5, label);
}

/* R5 is where what IPv4 carries begins, R4 its protocol; goes to a label if it is no beginning. */
static void find_transport(int label) {
    LOAD(BPF_H, R1, IP, 6);
    SWAP(R1, 16);
    OP(BPF_AND, R1, 0x1FFF);
    IF(BPF_JNE, R1, 0, label);
    LOAD(BPF_B, R4, IP, 9);
    LOAD(BPF_B, R1, IP, 0);
    OP(BPF_AND, R1, 15);
    OP(BPF_LSH, R1, 2);
    COPY(R5, IP);
    OPX(BPF_ADD, R5, R1);
}

/* R3 becomes what replacing R2 by R3 adds to a sum: ~R2 + R3, both of 16 bits (RFC 1624). */
static void differ(void) {
    OP(BPF_XOR, R2, 0xFFFF);
    OPX(BPF_ADD, R3, R2);
}

/* A checksum at an offset of a register to which the difference R3 is added, which stays. */
static void adjust_at(uint8_t at, int offset, int is_udp) {
    LOAD(BPF_H, R1, at, (int16_t)offset);
    SWAP(R1, 16);
    OP(BPF_XOR, R1, 0xFFFF);
    OPX(BPF_ADD, R1, R3);
    for (int fold = 0; fold < 2; fold++) {
        COPY(R2, R1);
        OP(BPF_RSH, R2, 16);
        OP(BPF_AND, R1, 0xFFFF);
        OPX(BPF_ADD, R1, R2);
    }
    OP(BPF_XOR, R1, 0xFFFF);
    if (is_udp) {
        IF(BPF_JNE, R1, 0, NEXT);
        MOV(R1, 0xFFFF);
        place(NEXT);
    }
    SWAP(R1, 16);
    STORE(BPF_H, at, (int16_t)offset, R1);
}

/* The same of UDP: 0 is no checksum, with which it goes to a label. */
static void adjust_udp(uint8_t at, int offset, int label) {
    LOAD(BPF_H, R1, at, (int16_t)offset);
    IF(BPF_JEQ, R1, 0, label);
    adjust_at(at, offset, 1);
}

/* The checksum of IPv4, in which R2 is replaced by R3, both of 16 bits. */
static void adjust(void) {
    differ();
    adjust_at(IP, 10, 0);
}

static void nothing(void) {
    begin();
    finish();
}

static void count(void) {
    int map = make_map(BPF_MAP_TYPE_ARRAY, 4, 16, 1, 0);
    begin();
    PUT(BPF_W, FRAME, -4, 0);
    load_map(R1, map);
    COPY(R2, FRAME);
    OP(BPF_ADD, R2, -4);
    CALL(BPF_FUNC_map_lookup_elem);
    IF(BPF_JEQ, R0, 0, PASS);
    LOAD(BPF_DW, R1, R0, 0);
    OP(BPF_ADD, R1, 1);
    STORE(BPF_DW, R0, 0, R1);
    OPX(BPF_SUB, END, DATA);
    LOAD(BPF_DW, R1, R0, 8);
    OPX(BPF_ADD, R1, END);
    STORE(BPF_DW, R0, 8, R1);
    finish();
}

static void mac(void) {
    begin();
    need(DATA, 14, PASS);
    PUT(BPF_W, DATA, 0, 0x00000002);
    PUT(BPF_H, DATA, 4, 0x0A00);
    PUT(BPF_W, DATA, 6, 0x00000002);
    PUT(BPF_H, DATA, 10, 0x0B00);
    finish();
}

static void ttl(void) {
    begin();
    find_ipv4(PASS);
    LOAD(BPF_B, R4, IP, 8);
    IF(BPF_JLE, R4, 1, DROP);
    LOAD(BPF_H, R2, IP, 8);
    SWAP(R2, 16);
    COPY(R3, R2);
    OP(BPF_SUB, R3, 0x100);
    OP(BPF_SUB, R4, 1);
    STORE(BPF_B, IP, 8, R4);
    adjust();
    finish();
}

static void mark(void) {
    begin();
    find_ipv4(PASS);
    LOAD(BPF_H, R2, IP, 0);
    SWAP(R2, 16);
    COPY(R3, R2);
    OP(BPF_AND, R3, 0xFF03);
    OP(BPF_OR, R3, 46 << 2);
    STORE(BPF_B, IP, 1, R3);
    adjust();
    finish();
}

/* Goes on for TCP, whose header begins at R5; MORE is for UDP. */
static void find_tcp(int label) {
    find_transport(label);
    IF(BPF_JEQ, R4, 17, MORE);
    IF(BPF_JNE, R4, 6, label);
    need(R5, 20, label);
}

/* An address of two words of 16 bits, in checksums of two layers. */
static void source(void) {
    begin();
    find_ipv4(PASS);
    LOAD(BPF_W, R2, IP, 12);
    SWAP(R2, 32);
    COPY(R3, R2);
    OP(BPF_RSH, R3, 16);
    OP(BPF_XOR, R3, 0xFFFF);
    OP(BPF_AND, R2, 0xFFFF);
    OP(BPF_ADD, R3, 0xC000 + 0x0201);
    differ();
    PUT(BPF_W, IP, 12, __builtin_bswap32(0xC0000201));
    adjust_at(IP, 10, 0);
    find_tcp(PASS);
    adjust_at(R5, 16, 0);
    GO(PASS);
    place(MORE);
    need(R5, 8, PASS);
    adjust_udp(R5, 6, PASS);
    finish();
}

static void set_port(uint16_t port) {
    LOAD(BPF_H, R2, R5, 2);
    SWAP(R2, 16);
    MOV(R3, port);
    differ();
    PUT(BPF_H, R5, 2, __builtin_bswap16(port));
}

static void port(void) {
    begin();
    find_ipv4(PASS);
    find_tcp(PASS);
    set_port(8080);
    adjust_at(R5, 16, 0);
    GO(PASS);
    place(MORE);
    need(R5, 8, PASS);
    set_port(5353);
    adjust_udp(R5, 6, PASS);
    finish();
}

static void firewall(void) {
    begin();
    find_ipv4(DROP);
    LOAD(BPF_B, R1, IP, 12);
    IF(BPF_JEQ, R1, 10, FOUND);
    LOAD(BPF_B, R1, IP, 16);
    IF(BPF_JNE, R1, 10, DROP);
    place(FOUND);
    find_tcp(DROP);
    for (int16_t end = 0; end < 4; end += 2) {
        LOAD(BPF_H, R1, R5, end);
        SWAP(R1, 16);
        IF(BPF_JEQ, R1, 80, PASS);
        IF(BPF_JEQ, R1, 443, PASS);
    }
    GO(DROP);
    place(MORE);
    need(R5, 8, DROP);
    for (int16_t end = 0; end < 4; end += 2) {
        LOAD(BPF_H, R1, R5, end);
        SWAP(R1, 16);
        IF(BPF_JEQ, R1, 53, PASS);
    }
    GO(DROP);
    finish();
}

static void sum(void) {
    begin();
    MOV(R1, 0);
    need(DATA, 38, DROP);
    for (int16_t at = 6; at < 38; at++) {
        OP(BPF_MUL, R1, 31);
        LOAD(BPF_B, R2, DATA, at);
        OPX(BPF_ADD, R1, R2);
    }
    OP(BPF_RSH, R1, 7);
    OP(BPF_AND, R1, 1);
    IF(BPF_JNE, R1, 0, DROP);
    finish();
}

/* A key of 16 bytes in the frame: addresses, ports, protocol. */
static void flow(void) {
    int map = make_map(BPF_MAP_TYPE_HASH, 16, 16, 1 << 16, 0);
    begin();
    find_ipv4(PASS);
    LOAD(BPF_W, R1, IP, 12);
    STORE(BPF_W, FRAME, -16, R1);
    LOAD(BPF_W, R1, IP, 16);
    STORE(BPF_W, FRAME, -12, R1);
    LOAD(BPF_B, R1, IP, 9);
    STORE(BPF_W, FRAME, -4, R1);
    PUT(BPF_W, FRAME, -8, 0);
    find_tcp(FOUND);
    LOAD(BPF_W, R1, R5, 0);
    STORE(BPF_W, FRAME, -8, R1);
    GO(FOUND);
    place(MORE);
    need(R5, 8, FOUND);
    LOAD(BPF_W, R1, R5, 0);
    STORE(BPF_W, FRAME, -8, R1);
    place(FOUND);
    OPX(BPF_SUB, END, DATA);
    load_map(R1, map);
    COPY(R2, FRAME);
    OP(BPF_ADD, R2, -16);
    CALL(BPF_FUNC_map_lookup_elem);
    IF(BPF_JEQ, R0, 0, NEXT);
    LOAD(BPF_DW, R1, R0, 0);
    OP(BPF_ADD, R1, 1);
    STORE(BPF_DW, R0, 0, R1);
    LOAD(BPF_DW, R1, R0, 8);
    OPX(BPF_ADD, R1, END);
    STORE(BPF_DW, R0, 8, R1);
    GO(PASS);
    place(NEXT);
    PUT(BPF_DW, FRAME, -32, 1);
    STORE(BPF_DW, FRAME, -24, END);
    load_map(R1, map);
    COPY(R2, FRAME);
    OP(BPF_ADD, R2, -16);
    COPY(R3, FRAME);
    OP(BPF_ADD, R3, -32);
    MOV(R4, BPF_ANY);
    CALL(BPF_FUNC_map_update_elem);
    finish();
}

static void add_route(int map, uint32_t net, uint32_t bits, uint16_t hop) {
    struct { uint32_t bits, net; } key = { bits, __builtin_bswap32(net) };
    uint32_t value = hop;
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.map_fd = (uint32_t)map;
    attributes.key = (uintptr_t)&key;
    attributes.value = (uintptr_t)&value;
    if (bpf(BPF_MAP_UPDATE_ELEM, &attributes)) fail("the system takes no route");
}

static void routed(void) {
    int map = make_map(BPF_MAP_TYPE_LPM_TRIE, 8, 4, 1024, BPF_F_NO_PREALLOC);
    for (uint32_t net = 0; net < 256; net += 2) add_route(map, net << 24, 8, (uint16_t)(net + 1));
    for (uint32_t net = 0; net < 4; net++)
        add_route(map, 10u << 24 | net << 16, 16, (uint16_t)(net + 1000));
    for (uint32_t net = 0; net < 252; net++)
        add_route(map, 10u << 24 | (net & 3) << 16 | (net & ~3u) << 8, 24, (uint16_t)(net + 2000));
    begin();
    find_ipv4(PASS);
    PUT(BPF_W, FRAME, -8, 32);
    LOAD(BPF_W, R1, IP, 16);
    STORE(BPF_W, FRAME, -4, R1);
    load_map(R1, map);
    COPY(R2, FRAME);
    OP(BPF_ADD, R2, -8);
    CALL(BPF_FUNC_map_lookup_elem);
    IF(BPF_JEQ, R0, 0, DROP);
    LOAD(BPF_W, R1, R0, 0);
    SWAP(R1, 16);
    PUT(BPF_W, DATA, 0, 0x00000002);
    STORE(BPF_H, DATA, 4, R1);
    finish();
}

/* By number. */
static const assemble programs[] = {
    nothing, count, mac, ttl, mark, source, port, firewall, sum, flow, routed,
};

int main(int count, char **arguments) {
    if (count != 4) fail("usage: xdp CAPTURE KERNEL REPEAT");
    struct trace trace = read_trace(arguments[1]);
    unsigned long kernel = strtoul(arguments[2], NULL, 10);
    uint32_t repeat = (uint32_t)atol(arguments[3]);
    if (kernel >= sizeof programs / sizeof *programs) fail("no such kernel");
    int program = load(programs[kernel]), idle = load(nothing);
    uint64_t passed = 0, sum = 0;
    int64_t taken = 0;
    uint8_t out[PACKET_MAX];
    uint32_t verdict;
    for (uint32_t i = 0; i < trace.count; i++) {
        const struct packet *packet = &trace.packets[i];
        run(program, packet, out, &verdict, 1);
        if (verdict == XDP_PASS) {
            passed++;
            sum = digest(sum, out, packet->length);
        }
    }
    for (uint32_t i = 0; i < trace.count && repeat; i++) {
        taken += run(program, &trace.packets[i], out, &verdict, repeat);
        taken -= run(idle, &trace.packets[i], out, &verdict, repeat);
    }
    printf("%.3f %llu %llu\n", (double)taken / trace.count, (unsigned long long)passed,
           (unsigned long long)sum);
    return 0;
}
