/* Packet apps by hand, as one would write them in C without an engine.
 *
 *     flow WAY BENCH APPS COUNT
 *
 * WAY is `pointers`: apps behind function pointers, joined by rings, as engines have them; or
 * `fused`: one loop without apps and rings, which is the floor. BENCH is `breath` (COUNT breaths of
 * APPS idle apps), `polled` (likewise, all of them sources), `basic1` (COUNT packets to two sinks)
 * or `chain` (COUNT packets through APPS apps that each add to a byte of their own, after one that
 * writes three words, and before one that reads them). Prints the CPU seconds of the loop and how
 * many packets arrived (breaths were taken); of `chain` the sum of the words that were read.
 *
 * Packets, rings, bursts and counters are as large as ours. */

#include <stdint.h>
#include <string.h>

#include "peer.h"

enum { SLOTS = 1024, BURST = 256, HEADROOM = 256, BYTES_MAX = 10240, SIZE = 60, APPS_MAX = 1024 };

/* Where the words of a chain are, and the byte of its first app. */
enum { WORDS = 14, WORDS_END = WORDS + 24 };

struct packet {
    struct packet *next;
    uint32_t start, length;
    uint64_t mark;
    uint8_t bytes[HEADROOM + BYTES_MAX];
} __attribute__((aligned(64)));

struct ring {
    uint64_t read, write, bytes, drops;
    struct packet *slots[SLOTS];
};

struct app {
    void (*pull)(struct app *);
    void (*push)(struct app *);
    struct ring *in, *out[2];
    uint64_t left, packets, bytes;
    uint64_t last, sum;
    uint32_t offset;
    uint8_t add;
};

static struct packet *freelist;

static struct packet *take(void) {
    struct packet *packet = freelist;
    freelist = packet->next;
    packet->start = HEADROOM;
    packet->length = 0;
    packet->mark = 0;
    return packet;
}

static void give_back(struct packet *packet) {
    packet->next = freelist;
    freelist = packet;
}

static uint8_t *bytes_of(struct packet *packet) { return packet->bytes + packet->start; }

static struct packet *fresh(void) {
    struct packet *packet = take();
    packet->length = SIZE;
    memset(bytes_of(packet), 0, SIZE);
    return packet;
}

static struct packet *copy_of(struct packet *packet) {
    struct packet *copy = take();
    copy->length = packet->length;
    memcpy(bytes_of(copy), bytes_of(packet), packet->length);
    return copy;
}

static uint64_t load(const uint8_t *bytes) {
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return __builtin_bswap64(word);
}

static void store(uint8_t *bytes, uint64_t word) {
    word = __builtin_bswap64(word);
    memcpy(bytes, &word, sizeof word);
}

/* Whether the words follow an Ethernet header of type 0. */
static int has_words(struct packet *packet) {
    return packet->length >= WORDS_END && !bytes_of(packet)[12] && !bytes_of(packet)[13];
}

static void stamp(struct packet *packet, uint64_t *last) {
    *last += 0x9E3779B97F4A7C15;
    if (!has_words(packet)) return;
    uint8_t *words = bytes_of(packet) + WORDS;
    store(words, *last);
    store(words + 8, *last * 3);
    store(words + 16, *last * 5);
}

static void touch(struct packet *packet, uint32_t offset, uint8_t add) {
    if (packet->length > offset) bytes_of(packet)[offset] += add;
}

static uint64_t read_words(struct packet *packet) {
    if (!has_words(packet)) return 0;
    const uint8_t *words = bytes_of(packet) + WORDS;
    return load(words) + load(words + 8) + load(words + 16);
}

static uint64_t waiting(struct ring *ring) { return ring->write - ring->read; }

static void send(struct ring *ring, struct packet *packet) {
    if (waiting(ring) == SLOTS - 1) {
        ring->drops++;
        give_back(packet);
        return;
    }
    ring->bytes += packet->length;
    ring->slots[ring->write++ % SLOTS] = packet;
}

static struct packet *receive(struct ring *ring) { return ring->slots[ring->read++ % SLOTS]; }

static void pull_source(struct app *app) {
    uint64_t room = SLOTS - 1 - waiting(app->out[0]);
    uint64_t count = room < BURST ? room : BURST;
    if (count > app->left) count = app->left;
    app->left -= count;
    while (count--) send(app->out[0], fresh());
}

static void push_tee(struct app *app) {
    for (uint64_t n = waiting(app->in); n--;) {
        struct packet *packet = receive(app->in);
        send(app->out[0], copy_of(packet));
        send(app->out[1], packet);
    }
}

static void push_stamp(struct app *app) {
    for (uint64_t n = waiting(app->in); n--;) {
        struct packet *packet = receive(app->in);
        stamp(packet, &app->last);
        send(app->out[0], packet);
    }
}

static void push_touch(struct app *app) {
    for (uint64_t n = waiting(app->in); n--;) {
        struct packet *packet = receive(app->in);
        touch(packet, app->offset, app->add);
        send(app->out[0], packet);
    }
}

static void push_read(struct app *app) {
    for (uint64_t n = waiting(app->in); n--;) {
        struct packet *packet = receive(app->in);
        app->sum += read_words(packet);
        app->packets++;
        app->bytes += packet->length;
        give_back(packet);
    }
}

static void push_sink(struct app *app) {
    for (uint64_t n = waiting(app->in); n--;) {
        struct packet *packet = receive(app->in);
        app->packets++;
        app->bytes += packet->length;
        give_back(packet);
    }
}

static struct app apps[APPS_MAX];
static size_t used;

static struct app *add(void (*pull)(struct app *), void (*push)(struct app *)) {
    apps[used].pull = pull;
    apps[used].push = push;
    return &apps[used++];
}

static void join(struct app *from, int port, struct app *to) {
    from->out[port] = to->in = calloc(1, sizeof(struct ring));
    if (!to->in) abort();
}

/* One breath: every source, then every other app. */
static void breathe(void) {
    for (size_t i = 0; i < used; i++)
        if (apps[i].pull) apps[i].pull(&apps[i]);
    for (size_t i = 0; i < used; i++)
        if (apps[i].push) apps[i].push(&apps[i]);
}

/* An app behind another. */
static struct app *add_after(struct app *last, void (*push)(struct app *)) {
    struct app *next = add(0, push);
    join(last, 0, next);
    return next;
}

/* A source, apps that touch, a sink: `count` apps altogether. */
static void idle(size_t count) {
    struct app *last = add(pull_source, 0);
    for (size_t i = 2; i < count; i++) last = add_after(last, push_touch);
    if (count > 1)
        add_after(last, push_sink);
    else
        join(last, 0, &apps[APPS_MAX - 1]);
}

static uint64_t breath_pointers(size_t count, uint64_t breaths) {
    idle(count);
    for (uint64_t i = 0; i < breaths; i++) breathe();
    return breaths;
}

/* Sources that have nothing, and say so each time. */
static uint64_t polled_pointers(size_t count, uint64_t breaths) {
    struct app nowhere;
    for (size_t i = 0; i < count; i++) join(add(pull_source, 0), 0, &nowhere);
    for (uint64_t i = 0; i < breaths; i++) breathe();
    return breaths;
}

/* Straight code has a load and a branch for each app. */
static uint64_t breath_fused(size_t count, uint64_t breaths) {
    static volatile uint32_t wake[APPS_MAX];
    for (uint64_t i = 0; i < breaths; i++)
        for (size_t at = 0; at < count; at++)
            if (wake[at]) abort();
    return breaths;
}

static uint64_t basic1_pointers(uint64_t packets) {
    struct app *source = add(pull_source, 0), *tee = add(0, push_tee);
    struct app *one = add(0, push_sink), *two = add(0, push_sink);
    source->left = packets;
    join(source, 0, tee);
    join(tee, 0, one);
    join(tee, 1, two);
    while (source->left || waiting(two->in)) breathe();
    return one->packets == two->packets ? one->packets : 0;
}

static uint64_t basic1_fused(uint64_t packets) {
    uint64_t one = 0, two = 0, bytes = 0;
    for (uint64_t i = 0; i < packets; i++) {
        struct packet *packet = fresh(), *copy = copy_of(packet);
        __asm__ volatile("" ::: "memory");
        one++, bytes += copy->length;
        give_back(copy);
        two++, bytes += packet->length;
        give_back(packet);
    }
    return one == two && bytes == 2 * SIZE * packets ? one : 0;
}

static uint64_t chain_pointers(size_t count, uint64_t packets) {
    struct app *last = add(pull_source, 0);
    last->left = packets;
    last = add_after(last, push_stamp);
    for (size_t i = 0; i < count; i++) {
        last = add_after(last, push_touch);
        last->offset = WORDS + i;
        last->add = i + 1;
    }
    last = add_after(last, push_read);
    while (last->packets < packets) breathe();
    return last->sum;
}

/* Unrolled: by hand one would write the elements one below the other. */
#define FUSED(n)                                               \
    static uint64_t chain_fused_##n(uint64_t packets) {        \
        uint64_t sum = 0, last = 0, bytes = 0;                 \
        for (uint64_t i = 0; i < packets; i++) {               \
            struct packet *packet = fresh();                   \
            stamp(packet, &last);                              \
            _Pragma("GCC unroll 32") for (int at = 0; at < n; at++) \
                touch(packet, WORDS + at, at + 1);             \
            sum += read_words(packet);                         \
            bytes += packet->length;                           \
            give_back(packet);                                 \
        }                                                      \
        return bytes == SIZE * packets ? sum : 0;              \
    }
FUSED(1)
FUSED(5)
FUSED(20)

static uint64_t chain_fused(size_t count, uint64_t packets) {
    switch (count) {
    case 1: return chain_fused_1(packets);
    case 5: return chain_fused_5(packets);
    case 20: return chain_fused_20(packets);
    default: return 0;
    }
}

int main(int count, char **arguments) {
    if (count != 5) {
        fprintf(stderr, "usage: flow WAY BENCH APPS COUNT\n");
        return 2;
    }
    int fused = !strcmp(arguments[1], "fused");
    const char *bench = arguments[2];
    size_t number = strtoull(arguments[3], 0, 10);
    uint64_t amount = strtoull(arguments[4], 0, 10);
    if (number > APPS_MAX - 4) return 2;
    for (int i = 0; i < 8 * SLOTS; i++) {
        struct packet *packet = aligned_alloc(64, sizeof *packet);
        if (!packet) return 1;
        give_back(packet);
    }
    double before = cpu_seconds();
    uint64_t result;
    if (!strcmp(bench, "breath"))
        result = fused ? breath_fused(number, amount) : breath_pointers(number, amount);
    else if (!strcmp(bench, "polled"))
        result = fused ? breath_fused(number, amount) : polled_pointers(number, amount);
    else if (!strcmp(bench, "basic1"))
        result = fused ? basic1_fused(amount) : basic1_pointers(amount);
    else if (!strcmp(bench, "chain"))
        result = fused ? chain_fused(number, amount) : chain_pointers(number, amount);
    else
        return 2;
    printf("%.9f %llu\n", cpu_seconds() - before, (unsigned long long)result);
    return 0;
}
