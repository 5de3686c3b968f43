/* Forwarding over AF_XDP: four rings of each socket, and a program that redirects to it. */

#pragma once

#include "forward_nat.h"
#include "peer.h"

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define XDP_LEVEL 283
#define ENTRIES 2048
#define CHUNK 2048
#define AREA ((uint64_t)2 * ENTRIES * CHUNK)
#define XDP_BATCH 256

struct xdp_ring {
    uint32_t *producer, *consumer, own;
    void *entries;
};

struct xdp {
    int socket;
    uint8_t *area;
    struct xdp_ring fill, completion, rx, tx;
    uint64_t spare[ENTRIES];
    uint32_t spares;
};

static inline int bpf_call(int command, union bpf_attr *attr) {
    return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static inline struct xdp_ring map_ring(int socket, struct xdp_ring_offset *at, size_t entry,
                                       uint64_t page) {
    uint8_t *start = mmap(NULL, at->desc + ENTRIES * entry, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_POPULATE, socket, (off_t)page);
    if (start == MAP_FAILED)
        fail("no ring");
    return (struct xdp_ring){(uint32_t *)(start + at->producer), (uint32_t *)(start + at->consumer),
                             0, start + at->desc};
}

/* Has the frames of the first queue of an interface come to the socket. */
static inline void redirect(int socket, unsigned interface) {
    union bpf_attr attr = {.map_type = BPF_MAP_TYPE_XSKMAP, .key_size = 4, .value_size = 4,
                           .max_entries = 1};
    int map = bpf_call(BPF_MAP_CREATE, &attr), key = 0;
    attr = (union bpf_attr){.map_fd = (uint32_t)map, .key = (uint64_t)&key,
                            .value = (uint64_t)&socket};
    if (map < 0 || bpf_call(BPF_MAP_UPDATE_ELEM, &attr))
        fail("no map");
    /* redirect_map(map, queue of the frame, XDP_PASS) */
    struct bpf_insn program[] = {
        {.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = 2, .src_reg = 1, .off = 16},
        {.code = BPF_LD | BPF_IMM | BPF_DW, .dst_reg = 1, .src_reg = BPF_PSEUDO_MAP_FD, .imm = map},
        {0},
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 3, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_redirect_map},
        {.code = BPF_JMP | BPF_EXIT},
    };
    attr = (union bpf_attr){.prog_type = BPF_PROG_TYPE_XDP, .insns = (uint64_t)program,
                            .insn_cnt = 6, .license = (uint64_t) "GPL"};
    int loaded = bpf_call(BPF_PROG_LOAD, &attr);
    attr = (union bpf_attr){0};
    attr.link_create.prog_fd = (uint32_t)loaded;
    attr.link_create.target_ifindex = interface;
    attr.link_create.attach_type = BPF_XDP;
    if (loaded < 0 || bpf_call(BPF_LINK_CREATE, &attr) < 0)
        fail("no program");
}

static inline void open_xdp(struct xdp *xdp, const char *name) {
    int entries = ENTRIES;
    int kinds[] = {XDP_UMEM_FILL_RING, XDP_UMEM_COMPLETION_RING, XDP_RX_RING, XDP_TX_RING};
    xdp->socket = socket(AF_XDP, SOCK_RAW, 0);
    xdp->area = mmap(NULL, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE,
                     -1, 0);
    struct xdp_umem_reg area = {.addr = (uint64_t)xdp->area, .len = AREA, .chunk_size = CHUNK};
    if (xdp->socket < 0 || xdp->area == MAP_FAILED ||
        setsockopt(xdp->socket, XDP_LEVEL, XDP_UMEM_REG, &area, sizeof area))
        fail("no AF_XDP");
    for (int i = 0; i < 4; i++)
        if (setsockopt(xdp->socket, XDP_LEVEL, kinds[i], &entries, sizeof entries))
            fail("no rings");
    struct xdp_mmap_offsets at;
    socklen_t length = sizeof at;
    if (getsockopt(xdp->socket, XDP_LEVEL, XDP_MMAP_OFFSETS, &at, &length))
        fail("no offsets");
    xdp->rx = map_ring(xdp->socket, &at.rx, sizeof(struct xdp_desc), XDP_PGOFF_RX_RING);
    xdp->tx = map_ring(xdp->socket, &at.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
    xdp->fill = map_ring(xdp->socket, &at.fr, 8, XDP_UMEM_PGOFF_FILL_RING);
    xdp->completion = map_ring(xdp->socket, &at.cr, 8, XDP_UMEM_PGOFF_COMPLETION_RING);
    for (uint64_t i = 0; i < ENTRIES; i++) {
        ((uint64_t *)xdp->fill.entries)[i] = i * CHUNK;
        xdp->spare[i] = (ENTRIES + i) * CHUNK;
    }
    xdp->spares = ENTRIES;
    xdp->fill.own = ENTRIES;
    __atomic_store_n(xdp->fill.producer, ENTRIES, __ATOMIC_RELEASE);
    struct sockaddr_xdp address = {.sxdp_family = AF_XDP, .sxdp_ifindex = if_nametoindex(name)};
    /* The kernel frees the queue of another socket some milliseconds after it was closed. */
    for (int tries = 0; bind(xdp->socket, (struct sockaddr *)&address, sizeof address); tries++) {
        if (tries == 500)
            fail("not bound");
        usleep(2000);
    }
    redirect(xdp->socket, address.sxdp_ifindex);
}

/* Forwards what waits; how many frames went out is added up. */
static inline int move_xdp(struct xdp *from, struct xdp *to, int nat, int out, uint64_t *sent) {
    uint32_t count = __atomic_load_n(from->rx.producer, __ATOMIC_ACQUIRE) - from->rx.own;
    if (!count)
        return 0;
    if (count > XDP_BATCH)
        count = XDP_BATCH;
    uint32_t done = __atomic_load_n(to->completion.producer, __ATOMIC_ACQUIRE);
    while (to->completion.own != done)
        to->spare[to->spares++] =
            ((uint64_t *)to->completion.entries)[to->completion.own++ % ENTRIES];
    __atomic_store_n(to->completion.consumer, done, __ATOMIC_RELEASE);
    for (uint32_t i = 0; i < count; i++) {
        struct xdp_desc *frame = (struct xdp_desc *)from->rx.entries + from->rx.own++ % ENTRIES;
        uint8_t *bytes = from->area + frame->addr;
        if (to->spares && (!nat || translate(bytes, frame->len, out))) {
            uint64_t chunk = to->spare[--to->spares];
            memcpy(to->area + chunk, bytes, frame->len);
            struct xdp_desc *put = (struct xdp_desc *)to->tx.entries + to->tx.own++ % ENTRIES;
            *put = (struct xdp_desc){chunk, frame->len, 0};
            ++*sent;
        }
        ((uint64_t *)from->fill.entries)[from->fill.own++ % ENTRIES] = frame->addr / CHUNK * CHUNK;
    }
    __atomic_store_n(from->rx.consumer, from->rx.own, __ATOMIC_RELEASE);
    __atomic_store_n(from->fill.producer, from->fill.own, __ATOMIC_RELEASE);
    __atomic_store_n(to->tx.producer, to->tx.own, __ATOMIC_RELEASE);
    /* A call sends 32 of them. */
    for (int calls = 0; calls < ENTRIES / 32; calls++) {
        if (__atomic_load_n(to->tx.consumer, __ATOMIC_ACQUIRE) == to->tx.own)
            break;
        sendto(to->socket, NULL, 0, MSG_DONTWAIT, NULL, 0);
    }
    return 1;
}

static inline uint64_t forward_xdp(const char *a, const char *b, int nat,
                                   volatile sig_atomic_t *stopped) {
    static struct xdp sides[2];
    uint64_t sent = 0;
    open_xdp(&sides[0], a);
    open_xdp(&sides[1], b);
    struct pollfd ready[2] = {{sides[0].socket, POLLIN, 0}, {sides[1].socket, POLLIN, 0}};
    puts("ready");
    fflush(stdout);
    while (!*stopped)
        if (!move_xdp(&sides[0], &sides[1], nat, 1, &sent) &
            !move_xdp(&sides[1], &sides[0], nat, 0, &sent))
            poll(ready, 2, 100);
    return sent;
}
