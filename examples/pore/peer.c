/* The other side of pore.com, as a program of its own.
 *
 *   cc -o peer peer.c && ./peer PATH [answer|die|pass|index|length|shrink|flood|fill]
 *
 * It connects to PATH, takes three descriptors (the memory, the eventfd it waits at, the eventfd it
 * rings), and answers each message turned round, until its partner ends. The other words make it a
 * bad neighbour: it goes after two answers (`pass`: and leaves its end of the socket to a process
 * that stays), writes an impossible index or length, tries to take the memory away, rings all the
 * time, or makes both bells block and fills them.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* 0 "PORE", 4 version, 8 shape, 12 bytes of a ring; indexes at 64, 128, 192, 256; data at 4096. */
enum { DATA = 4096, MESSAGE_MAX = 4096 };

struct ring {
    uint8_t *data;
    uint32_t size;
    _Atomic uint32_t *prod, *cons;
};

static void fail(const char *what) {
    perror(what);
    exit(1);
}

/* Returns the socket: it hangs up when the partner ends. */
static int take_rings(const char *path, int got[3]) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int line = socket(AF_UNIX, SOCK_STREAM, 0);
    if (line < 0) fail("socket");
    /* The path is there a moment before somebody listens at it. */
    for (int tries = 100; connect(line, (void *)&address, sizeof address) < 0; tries--) {
        if (errno != ECONNREFUSED || tries == 0) fail("connect");
        usleep(10000);
    }
    char byte, space[CMSG_SPACE(3 * sizeof(int))];
    struct iovec part = {&byte, 1};
    struct msghdr head = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space};
    if (recvmsg(line, &head, 0) != 1 || !CMSG_FIRSTHDR(&head)) fail("recvmsg");
    memcpy(got, CMSG_DATA(CMSG_FIRSTHDR(&head)), 3 * sizeof(int));
    return line;
}

static void copy(struct ring *ring, uint32_t index, void *bytes, uint32_t length, int in) {
    for (uint32_t done = 0; done < length; done++) {
        uint8_t *at = ring->data + ((index + done) & (ring->size - 1));
        if (in) *at = ((uint8_t *)bytes)[done];
        else ((uint8_t *)bytes)[done] = *at;
    }
}

/* A message is its length, its bytes, and padding to a multiple of four. */
static uint32_t receive(struct ring *ring, uint8_t *message) {
    uint32_t cons = atomic_load(ring->cons), length;
    if (atomic_load(ring->prod) == cons) return 0;
    copy(ring, cons, &length, 4, 0);
    copy(ring, cons + 4, message, length, 0);
    atomic_store(ring->cons, cons + 4 + (length + 3) / 4 * 4);
    return length;
}

static void send_message(struct ring *ring, uint8_t *message, uint32_t length) {
    uint32_t prod = atomic_load(ring->prod);
    copy(ring, prod, &length, 4, 1);
    copy(ring, prod + 4, message, length, 1);
    atomic_store(ring->prod, prod + 4 + (length + 3) / 4 * 4);
}

static void ring_bell(int bell) {
    uint64_t one = 1;
    if (write(bell, &one, 8) != 8) fail("ring");
}

/* Takes O_NONBLOCK away and brings the count to its limit. A write leaves room for one more, which
 * a signal of the kernel takes. */
static void fill(int bell) {
    uint64_t most = UINT64_MAX - 1, rings;
    aio_context_t context = 0;
    struct iocb nothing = {.aio_lio_opcode = IOCB_CMD_PREAD, .aio_flags = IOCB_FLAG_RESFD};
    struct iocb *list = &nothing;
    nothing.aio_fildes = (uint32_t)memfd_create("nothing", 0);
    nothing.aio_resfd = (uint32_t)bell;
    if (fcntl(bell, F_SETFL, O_NONBLOCK) < 0) fail("fcntl");
    /* The other side may ring in between. */
    do (void)!read(bell, &rings, 8);
    while (write(bell, &most, 8) != 8);
    if (fcntl(bell, F_SETFL, 0) < 0) fail("fcntl");
    if (syscall(SYS_io_setup, 8, &context) < 0 || syscall(SYS_io_submit, context, 1, &list) != 1)
        fail("signal");
}

/* A process that keeps the socket open for some time. */
static void pass_on(void) {
    if (fork() == 0) {
        fclose(stdout);
        fclose(stderr);
        sleep(60);
        _exit(0);
    }
}

int main(int count, char **words) {
    if (count < 2) return 2;
    const char *what = count > 2 ? words[2] : "answer";
    int got[3];
    int line = take_rings(words[1], got);
    struct stat about;
    if (fstat(got[0], &about) < 0) fail("fstat");
    size_t bytes = (size_t)about.st_size;
    uint8_t *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, got[0], 0);
    if (at == MAP_FAILED) fail("mmap");
    uint32_t size;
    memcpy(&size, at + 12, 4);
    struct ring in = {at + DATA, size, (void *)(at + 64), (void *)(at + 128)};
    struct ring out = {at + DATA + size, size, (void *)(at + 192), (void *)(at + 256)};
    if (!strcmp(what, "shrink") && ftruncate(got[0], 0) == 0) return 3;
    int answers = 0, floods = !strcmp(what, "flood"), fills = !strcmp(what, "fill");
    for (;;) {
        uint8_t message[MESSAGE_MAX], turned[MESSAGE_MAX];
        uint32_t length = receive(&in, message);
        if (floods) ring_bell(got[2]);
        if (length == 0) {
            struct pollfd both[] = {{line, POLLIN, 0}, {got[1], POLLIN, 0}};
            uint64_t rings;
            if (poll(both, 2, floods ? 0 : fills ? 1 : -1) < 0 && errno != EINTR) fail("poll");
            if (both[0].revents & (POLLHUP | POLLERR)) return 0;
            if (!fills && both[1].revents & POLLIN && read(got[1], &rings, 8) != 8) return 0;
            continue;
        }
        if (answers == 2 && !strcmp(what, "die")) return 0;
        if (answers == 2 && !strcmp(what, "pass")) {
            pass_on();
            return 0;
        }
        if (answers == 2 && !strcmp(what, "index")) atomic_store(out.prod, 123456789);
        else {
            for (uint32_t i = 0; i < length; i++) turned[i] = message[length - 1 - i];
            uint32_t prod = atomic_load(out.prod), bad = 99999;
            send_message(&out, turned, length);
            if (answers == 2 && !strcmp(what, "length")) copy(&out, prod, &bad, 4, 1);
        }
        answers++;
        if (fills) {
            fill(got[1]);
            fill(got[2]);
        } else ring_bell(got[2]);
    }
}
