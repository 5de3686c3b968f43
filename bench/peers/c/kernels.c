/* The kernels of bench/flow/kernels.flow by hand.
 *
 *     kernels CAPTURE KERNEL PASSES
 *
 * Carries out a kernel on all packets of a capture PASSES times, and prints the CPU seconds that
 * this took, how many packets one pass lets through, and a digest of these. As with ours, packets
 * are copied out of the trace, 256 at a time, handled, and their first bytes are read. KERNEL 0
 * does nothing, 11 drops all. */

#include "trace.h"

enum { BURST = 256 };

static uint64_t counted_packets, counted_bytes;

/* Where IPv4 begins behind up to two tags; 0: there is none. */
static inline uint32_t ipv4_at(const uint8_t *p, uint32_t length) {
    if (length < 14) return 0;
    uint32_t at = 14;
    uint16_t type = get16(p + 12);
    for (int tag = 0; tag < 2 && (type == 0x8100 || type == 0x88A8) && length >= at + 4; tag++) {
        type = get16(p + at + 2);
        at += 4;
    }
    if (type != 0x0800 || length < at + 20 || p[at] >> 4 != 4 || (p[at] & 15) < 5) return 0;
    return at;
}

/* Where what IPv4 carries begins, if it has so many bytes; 0: it is another protocol, or no
 * beginning. */
static inline uint32_t transport_at(
    const uint8_t *p, uint32_t length, uint32_t ip, uint8_t protocol, uint32_t bytes) {
    uint32_t at = ip + (p[ip] & 15) * 4u;
    if (p[ip + 9] != protocol || (get16(p + ip + 6) & 0x1FFF) || length < at + bytes) return 0;
    return at;
}

/* A checksum in which `before` is replaced (RFC 1624). */
static inline uint16_t adjusted(uint16_t sum, uint32_t before, uint32_t after) {
    uint32_t all = (uint16_t)~sum;
    all += (uint16_t)~(before >> 16) + (uint16_t)~before;
    all += (after >> 16) + (after & 0xFFFF);
    all = (all & 0xFFFF) + (all >> 16);
    all = (all & 0xFFFF) + (all >> 16);
    return (uint16_t)~all;
}

static inline void adjust(uint8_t *at, uint32_t before, uint32_t after) {
    put16(at, adjusted(get16(at), before, after));
}

/* The same of UDP, where 0 is no checksum. */
static inline void adjust_udp(uint8_t *at, uint32_t before, uint32_t after) {
    uint16_t sum = get16(at);
    if (!sum) return;
    sum = adjusted(sum, before, after);
    put16(at, sum ? sum : 0xFFFF);
}

static inline int count(uint8_t *p, uint32_t length) {
    (void)p;
    counted_packets++;
    counted_bytes += length;
    return 1;
}

static inline int mac(uint8_t *p, uint32_t length) {
    static const uint8_t both[12] = { 2, 0, 0, 0, 0, 10, 2, 0, 0, 0, 0, 11 };
    if (length >= 14) memcpy(p, both, 12);
    return 1;
}

static inline int ttl(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length);
    if (!ip) return 1;
    if (p[ip + 8] <= 1) return 0;
    uint16_t before = get16(p + ip + 8);
    p[ip + 8]--;
    adjust(p + ip + 10, before, before - 0x100);
    return 1;
}

static inline int mark(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length);
    if (!ip) return 1;
    uint16_t before = get16(p + ip);
    p[ip + 1] = (uint8_t)(46 << 2 | (p[ip + 1] & 3));
    adjust(p + ip + 10, before, get16(p + ip));
    return 1;
}

static inline int source(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length);
    if (!ip) return 1;
    uint32_t before = get32(p + ip + 12), after = 0xC0000201, at;
    put32(p + ip + 12, after);
    adjust(p + ip + 10, before, after);
    if ((at = transport_at(p, length, ip, 6, 20)))
        adjust(p + at + 16, before, after);
    else if ((at = transport_at(p, length, ip, 17, 8)))
        adjust_udp(p + at + 6, before, after);
    return 1;
}

static inline int port(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length), at;
    if (!ip) return 1;
    if ((at = transport_at(p, length, ip, 6, 20))) {
        uint16_t before = get16(p + at + 2);
        put16(p + at + 2, 8080);
        adjust(p + at + 16, before, 8080);
    } else if ((at = transport_at(p, length, ip, 17, 8))) {
        uint16_t before = get16(p + at + 2);
        put16(p + at + 2, 5353);
        adjust_udp(p + at + 6, before, 5353);
    }
    return 1;
}

static inline int firewall(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length), at;
    if (!ip || (p[ip + 12] != 10 && p[ip + 16] != 10)) return 0;
    if ((at = transport_at(p, length, ip, 6, 20))) {
        uint16_t from = get16(p + at), to = get16(p + at + 2);
        return to == 80 || to == 443 || from == 80 || from == 443;
    }
    if ((at = transport_at(p, length, ip, 17, 8)))
        return get16(p + at) == 53 || get16(p + at + 2) == 53;
    return 0;
}

static inline int sum(uint8_t *p, uint32_t length) {
    uint64_t sum = 0;
    for (uint32_t i = 6; i < 38; i++) sum = sum * 31 + (i < length ? p[i] : 0);
    return (sum >> 7 & 1) == 0;
}

/* Flows: open addressing, with linear probing; never more than half full. */
struct flow {
    uint32_t source, destination;
    uint16_t from, to;
    uint8_t protocol, is_used;
    uint64_t packets, bytes;
};

enum { SLOTS = 1 << 17 };

static struct flow flows[SLOTS];
static uint32_t flows_used;

static inline int flow(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length), at;
    if (!ip) return 1;
    uint32_t source = get32(p + ip + 12), destination = get32(p + ip + 16);
    uint16_t from = 0, to = 0;
    uint8_t protocol = p[ip + 9];
    if ((at = transport_at(p, length, ip, 6, 20)) || (at = transport_at(p, length, ip, 17, 8))) {
        from = get16(p + at);
        to = get16(p + at + 2);
    }
    uint64_t hash = ((uint64_t)source << 32 | destination) * 0x9E3779B97F4A7C15;
    hash = (hash ^ hash >> 32 ^ ((uint64_t)from << 24 | to << 8 | protocol)) * 0xD6E8FEB86659FD93;
    for (uint32_t slot = hash >> 40;; slot++) {
        struct flow *flow = &flows[slot % SLOTS];
        if (!flow->is_used) {
            if (++flows_used > SLOTS / 2) fail("too many flows");
            *flow = (struct flow){ source, destination, from, to, protocol, 1, 1, length };
            return 1;
        }
        if (flow->source == source && flow->destination == destination && flow->from == from
            && flow->to == to && flow->protocol == protocol) {
            flow->packets++;
            flow->bytes += length;
            return 1;
        }
    }
}

/* Routes: the hop of each net of 24 bits, as no prefix is longer. */
static uint16_t *hops;

static void route(uint32_t net, int bits, uint16_t hop) {
    for (uint32_t at = net >> 8; at < (net >> 8) + (1u << (24 - bits)); at++) hops[at] = hop;
}

static void fill_routes(void) {
    hops = calloc(1 << 24, sizeof *hops);
    if (!hops) fail("no memory");
    for (uint32_t net = 0; net < 256; net += 2) route(net << 24, 8, (uint16_t)(net + 1));
    for (uint32_t net = 0; net < 4; net++) route(10u << 24 | net << 16, 16, (uint16_t)(net + 1000));
    for (uint32_t net = 0; net < 252; net++)
        route(10u << 24 | (net & 3) << 16 | (net & ~3u) << 8, 24, (uint16_t)(net + 2000));
}

static inline int routed(uint8_t *p, uint32_t length) {
    uint32_t ip = ipv4_at(p, length);
    if (!ip) return 1;
    uint16_t hop = hops[get32(p + ip + 16) >> 8];
    if (!hop) return 0;
    put32(p, 0x02000000);
    put16(p + 4, hop);
    return 1;
}

static inline int nothing(uint8_t *p, uint32_t length) {
    (void)p, (void)length;
    return 1;
}

static inline int nowhere(uint8_t *p, uint32_t length) {
    (void)p, (void)length;
    return 0;
}

static uint8_t buffers[BURST][PACKET_MAX];
static uint8_t passed[BURST];

struct came {
    uint64_t packets, digest, seen;
};

/* One pass. A function for each kernel, so that the compiler sees it in the loop. */
#define PASS(kernel) \
    static void kernel##_pass(const struct trace *trace, int is_checked, struct came *came) { \
        for (uint32_t first = 0; first < trace->count; first += BURST) { \
            uint32_t burst = trace->count - first < BURST ? trace->count - first : BURST; \
            const struct packet *packets = trace->packets + first; \
            for (uint32_t i = 0; i < burst; i++) \
                memcpy(buffers[i], packets[i].bytes, packets[i].length); \
            for (uint32_t i = 0; i < burst; i++) \
                passed[i] = (uint8_t)kernel(buffers[i], packets[i].length); \
            for (uint32_t i = 0; i < burst; i++) \
                if (passed[i]) take(buffers[i], packets[i].length, is_checked, came); \
        } \
    }

/* A sink that reads: all of a packet if it is checked, else its first bytes. */
static inline void take(const uint8_t *p, uint32_t length, int is_checked, struct came *came) {
    came->packets++;
    if (is_checked) {
        came->digest = digest(came->digest, p, length);
        return;
    }
    uint64_t words[7];
    memcpy(words, p, sizeof words);
    for (int i = 0; i < 7; i++) came->seen ^= words[i];
}

PASS(nothing)
PASS(nowhere)
PASS(count)
PASS(mac)
PASS(ttl)
PASS(mark)
PASS(source)
PASS(port)
PASS(firewall)
PASS(sum)
PASS(flow)
PASS(routed)

typedef void (*pass)(const struct trace *, int, struct came *);

static const pass passes[] = {
    nothing_pass, count_pass, mac_pass, ttl_pass, mark_pass, source_pass,
    port_pass, firewall_pass, sum_pass, flow_pass, routed_pass, nowhere_pass,
};

int main(int count, char **arguments) {
    if (count != 4) fail("usage: kernels CAPTURE KERNEL PASSES");
    struct trace trace = read_trace(arguments[1]);
    unsigned long kernel = strtoul(arguments[2], NULL, 10);
    if (kernel >= sizeof passes / sizeof *passes) fail("no such kernel");
    fill_routes();
    struct came checked = { 0, 0, 0 }, came = { 0, 0, 0 };
    passes[kernel](&trace, 1, &checked);
    double before = cpu_seconds();
    for (long left = atol(arguments[3]); left; left--) passes[kernel](&trace, 0, &came);
    double taken = cpu_seconds() - before;
    volatile uint64_t seen = came.seen + counted_packets + counted_bytes;
    (void)seen;
    printf("%.9f %llu %llu\n", taken, (unsigned long long)checked.packets,
           (unsigned long long)checked.digest);
    return 0;
}
