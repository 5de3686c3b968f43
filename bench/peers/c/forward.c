/* Forwards frames between two interfaces, as C does on the devices of Linux.
 *
 *     forward WAY WORK A B
 *
 * WAY is `mmsg` (recvmmsg and sendmmsg), `ring` (a packet ring with blocks, and sendmmsg) or `xdp`
 * (AF_XDP). WORK is `bridge`, or `nat`: UDP of IPv4 from A to B gets the address 192.0.2.1 and a
 * port of its own for each source, and what comes back is turned around. It prints `ready`, runs
 * until SIGTERM, and then prints the frames that it has forwarded. */

#define _GNU_SOURCE
#include "forward_xdp.h"
#include "peer.h"

#include <arpa/inet.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define BATCH 32
#define FRAME 2048
#define BLOCK (1 << 18)
#define BLOCKS 32
#define IGNORE_OUTGOING 23

static volatile sig_atomic_t stopped;
static uint64_t forwarded;

static void stop(int signal) {
    (void)signal;
    stopped = 1;
}

/* A packet socket, with a ring or without. */
struct side {
    int socket;
    char *ring;
    uint32_t block, left;
    struct tpacket3_hdr *next;
};

static char buffers[BATCH][FRAME];
static struct iovec parts[BATCH];
static struct mmsghdr messages[BATCH];

static struct side open_side(const char *name, int with_ring) {
    struct side side = {.socket = socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK, 0)};
    int one = 1, version = TPACKET_V3, size = 8 << 20;
    if (side.socket < 0)
        fail("no packet socket");
    setsockopt(side.socket, SOL_PACKET, IGNORE_OUTGOING, &one, sizeof one);
    if (with_ring) {
        struct tpacket_req3 request = {
            .tp_block_size = BLOCK, .tp_block_nr = BLOCKS, .tp_frame_size = FRAME,
            .tp_frame_nr = BLOCK / FRAME * BLOCKS, .tp_retire_blk_tov = 1,
        };
        if (setsockopt(side.socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) ||
            setsockopt(side.socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request))
            fail("no ring");
        int prot = PROT_READ | PROT_WRITE;
        side.ring = mmap(NULL, BLOCK * BLOCKS, prot, MAP_SHARED | MAP_POPULATE, side.socket, 0);
        if (side.ring == MAP_FAILED)
            fail("no memory of the ring");
    } else {
        setsockopt(side.socket, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof size);
    }
    struct sockaddr_ll at = {.sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL),
                             .sll_ifindex = (int)if_nametoindex(name)};
    if (bind(side.socket, (struct sockaddr *)&at, sizeof at))
        fail("not bound");
    return side;
}

/* Frames of the next block, or of messages, become messages: how many. */
static int receive(struct side *side) {
    if (!side->ring) {
        for (int i = 0; i < BATCH; i++) {
            parts[i] = (struct iovec){buffers[i], FRAME};
            messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
        }
        int count = recvmmsg(side->socket, messages, BATCH, 0, NULL);
        for (int i = 0; i < count; i++)
            parts[i].iov_len = messages[i].msg_len;
        return count < 0 ? 0 : count;
    }
    struct tpacket_block_desc *block = (void *)(side->ring + side->block * BLOCK);
    if (!side->left) {
        uint32_t status = __atomic_load_n(&block->hdr.bh1.block_status, __ATOMIC_ACQUIRE);
        if (!(status & TP_STATUS_USER))
            return 0;
        side->left = block->hdr.bh1.num_pkts;
        side->next = (void *)((char *)block + block->hdr.bh1.offset_to_first_pkt);
    }
    int count = 0;
    for (; count < BATCH && side->left; count++, side->left--) {
        struct tpacket3_hdr *frame = side->next;
        parts[count] = (struct iovec){(char *)frame + frame->tp_mac, frame->tp_snaplen};
        messages[count].msg_hdr = (struct msghdr){.msg_iov = &parts[count], .msg_iovlen = 1};
        side->next = (void *)((char *)frame + frame->tp_next_offset);
    }
    return count;
}

/* The messages have been sent. */
static void release(struct side *side) {
    if (!side->ring || side->left)
        return;
    struct tpacket_block_desc *block = (void *)(side->ring + side->block * BLOCK);
    __atomic_store_n(&block->hdr.bh1.block_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
    side->block = (side->block + 1) % BLOCKS;
}

static int forward(struct side *from, struct side *to, int nat, int out) {
    int count = receive(from), kept = 0;
    if (!count)
        return 0;
    for (int i = 0; i < count; i++)
        if (!nat || translate(parts[i].iov_base, parts[i].iov_len, out)) {
            parts[kept] = parts[i];
            messages[kept].msg_hdr = (struct msghdr){.msg_iov = &parts[kept], .msg_iovlen = 1};
            kept++;
        }
    for (int at = 0; at < kept;) {
        int sent = sendmmsg(to->socket, messages + at, (unsigned)(kept - at), 0);
        forwarded += sent > 0 ? (uint64_t)sent : 0;
        at += sent > 0 ? sent : 1;
    }
    release(from);
    return count;
}

int main(int count, char **words) {
    if (count != 5)
        fail("forward WAY WORK A B");
    signal(SIGTERM, stop);
    int nat = !strcmp(words[2], "nat");
    if (!strcmp(words[1], "xdp")) {
        forwarded = forward_xdp(words[3], words[4], nat, &stopped);
    } else {
        int with_ring = !strcmp(words[1], "ring");
        struct side sides[2] = {open_side(words[3], with_ring), open_side(words[4], with_ring)};
        struct pollfd ready[2] = {{sides[0].socket, POLLIN, 0}, {sides[1].socket, POLLIN, 0}};
        puts("ready");
        fflush(stdout);
        while (!stopped)
            if (!forward(&sides[0], &sides[1], nat, 1) & !forward(&sides[1], &sides[0], nat, 0))
                poll(ready, 2, 100);
    }
    printf("%lu\n", forwarded);
}
