/* One message to another process and back, over two rings in a sealed memfd with two eventfds.
 *
 *   roundtrip both COUNT NS    both sides are here: prints nanoseconds of a round trip
 *   roundtrip echo PATH NS     connects to PATH, takes the rings offered there, echoes what comes
 *
 * The layout is that of Tidemill's memfd pore; indexes are free-running, and both sides sleep at
 * their eventfd when there is nothing to read. Before that they poll for so many nanoseconds, and
 * say so, so that they need not be rung; with 0 they know nothing of that, and ring always.
 *
 * Each side has a processor of its own, where there are two: else it would be up to the scheduler
 * whether one has to be woken on another, and that is most of what a round trip costs.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { DATA = 4096, MESSAGE = 64 };

struct ring {
    uint8_t *data;
    uint32_t size;
    _Atomic uint32_t *prod, *cons;
};

struct side {
    struct ring out, back;
    int bell, theirs;
    /* 1 while a side polls. */
    _Atomic uint32_t *we_poll, *they_poll;
};

static long poll_ns;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Keeps this thread to the first or second processor of those that it may have. */
static void keep_to(int which) {
    cpu_set_t all, one;
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) < 0) fail("sched_getaffinity");
    if (CPU_COUNT(&all) < 2) return;
    for (int at = 0; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &all) && which-- == 0) {
            CPU_SET(at, &one);
            break;
        }
    if (sched_setaffinity(0, sizeof one, &one) < 0) fail("sched_setaffinity");
}

static struct ring ring_at(uint8_t *memory, uint32_t size, int which) {
    struct ring ring = {memory + DATA + (size_t)which * size, size,
                        (void *)(memory + 64 + 128 * which), (void *)(memory + 128 + 128 * which)};
    return ring;
}

static struct side side_at(uint8_t *memory, uint32_t size, int is_attacher, int bell, int theirs) {
    struct side side = {ring_at(memory, size, is_attacher), ring_at(memory, size, !is_attacher),
                        bell, theirs, (void *)(memory + (is_attacher ? 384 : 320)),
                        (void *)(memory + (is_attacher ? 320 : 384))};
    return side;
}

static long now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void copy(struct ring *ring, uint32_t index, uint8_t *bytes, uint32_t length, int in) {
    for (uint32_t done = 0; done < length;) {
        uint32_t start = (index + done) & (ring->size - 1), part = ring->size - start;
        if (part > length - done) part = length - done;
        if (in) memcpy(ring->data + start, bytes + done, part);
        else memcpy(bytes + done, ring->data + start, part);
        done += part;
    }
}

static void send_message(struct side *side, uint8_t *bytes) {
    uint32_t prod = atomic_load_explicit(side->out.prod, memory_order_relaxed);
    copy(&side->out, prod, bytes, MESSAGE, 1);
    atomic_store_explicit(side->out.prod, prod + MESSAGE, memory_order_release);
    if (poll_ns > 0) {
        atomic_thread_fence(memory_order_seq_cst);
        if (atomic_load_explicit(side->they_poll, memory_order_acquire) == 1) return;
    }
    uint64_t one = 1;
    if (write(side->theirs, &one, 8) != 8) fail("ring");
}

static int has_message(struct side *side, uint32_t cons) {
    return atomic_load_explicit(side->back.prod, memory_order_acquire) - cons >= MESSAGE;
}

/* Looks for a message for a while; says so, and that it no longer does. */
static void poll_for_message(struct side *side, uint32_t cons) {
    atomic_store_explicit(side->we_poll, 1, memory_order_release);
    for (long end = now_ns() + poll_ns; now_ns() < end;)
        for (int i = 0; i < 16; i++) {
            if (has_message(side, cons)) return;
            _mm_pause();
        }
    atomic_store_explicit(side->we_poll, 0, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
}

/* 0 when the other side has closed. */
static int receive_message(struct side *side, uint8_t *bytes) {
    uint32_t cons = atomic_load_explicit(side->back.cons, memory_order_relaxed);
    if (poll_ns > 0) poll_for_message(side, cons);
    while (!has_message(side, cons)) {
        uint64_t count;
        if (read(side->bell, &count, 8) != 8) return 0;
    }
    copy(&side->back, cons, bytes, MESSAGE, 0);
    atomic_store_explicit(side->back.cons, cons + MESSAGE, memory_order_release);
    return 1;
}

static void both(long count) {
    uint32_t size = 4096;
    int memory = memfd_create("pore", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (memory < 0 || ftruncate(memory, DATA + 2 * size) < 0) fail("memfd");
    uint8_t *at = mmap(NULL, DATA + 2 * size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED) fail("mmap");
    int a = eventfd(0, 0), b = eventfd(0, 0);
    pid_t child = fork();
    if (child < 0) fail("fork");
    keep_to(child == 0);
    struct side side = side_at(at, size, child == 0, child ? a : b, child ? b : a);
    uint8_t message[MESSAGE] = {0}, answer[MESSAGE];
    if (child == 0) {
        for (long i = 0; i < count && receive_message(&side, message); i++)
            send_message(&side, message);
        _exit(0);
    }
    long start = now_ns();
    for (long i = 0; i < count; i++) {
        message[0] = (uint8_t)i;
        send_message(&side, message);
        receive_message(&side, answer);
        if (answer[0] != message[0]) exit(2);
    }
    printf("%.1f\n", (double)(now_ns() - start) / (double)count);
}

static void echo(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int line = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (line < 0 || connect(line, (void *)&address, sizeof address) < 0) fail("connect");
    char byte, space[CMSG_SPACE(3 * sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = space,
                          .msg_controllen = sizeof space};
    if (recvmsg(line, &head, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&head)) fail("recvmsg");
    int got[3];
    memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&head)), sizeof got);
    struct stat about;
    if (fstat(got[0], &about) < 0) fail("fstat");
    uint8_t *at = mmap(NULL, (size_t)about.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, got[0], 0);
    if (at == MAP_FAILED) fail("mmap");
    uint32_t size;
    memcpy(&size, at + 12, 4);
    struct side side = side_at(at, size, 1, got[1], got[2]);
    uint8_t message[MESSAGE];
    keep_to(1);
    /* The bells were made not to wait; both sides share that. The other side reads only what is
       there, so that this one can wait in a read. */
    fcntl(got[1], F_SETFL, 0);
    while (receive_message(&side, message)) send_message(&side, message);
}

int main(int count, char **words) {
    if (count != 4) return 2;
    poll_ns = atol(words[3]);
    if (!strcmp(words[1], "both")) both(atol(words[2]));
    else if (!strcmp(words[1], "echo")) echo(words[2]);
    else return 2;
    return 0;
}
