/* libpcap's own interpreter on a capture that lies in memory.
 *
 *     filter FILE EXPRESSION PASSES
 *
 * Compiles the expression with libpcap's optimiser, carries it out on every packet PASSES times,
 * and prints the CPU seconds that this took and how many packets matched in one pass. */

#include <pcap/pcap.h>
#include <string.h>

#include "../c/peer.h"

struct packet {
    struct pcap_pkthdr header;
    const u_char *bytes;
};

int main(int count, char **arguments) {
    char reason[PCAP_ERRBUF_SIZE];
    if (count != 4) fail("usage: filter FILE EXPRESSION PASSES");
    pcap_t *capture = pcap_open_offline(arguments[1], reason);
    if (!capture) fail(reason);
    struct bpf_program program;
    if (pcap_compile(capture, &program, arguments[2], 1, PCAP_NETMASK_UNKNOWN))
        fail(pcap_geterr(capture));

    /* The packets one behind the other, as ours have them. */
    size_t room = 1 << 20, used = 0, packets = 0, packets_max = 1 << 10;
    u_char *bytes = malloc(room);
    struct packet *all = malloc(packets_max * sizeof *all);
    struct pcap_pkthdr *header;
    const u_char *next;
    while (bytes && all && pcap_next_ex(capture, &header, &next) == 1) {
        if (packets == packets_max) all = realloc(all, (packets_max *= 2) * sizeof *all);
        while (used + header->caplen > room) bytes = realloc(bytes, room *= 2);
        if (!all || !bytes) break;
        memcpy(bytes + used, next, header->caplen);
        all[packets++].header = *header;
        used += header->caplen;
    }
    if (!bytes || !all) fail("no memory");
    size_t start = 0;
    for (size_t i = 0; i < packets; i++) {
        all[i].bytes = bytes + start;
        start += all[i].header.caplen;
    }

    unsigned long matched = 0;
    long passes = atol(arguments[3]);
    double before = cpu_seconds();
    for (long pass = 0; pass < passes; pass++)
        for (size_t i = 0; i < packets; i++)
            matched += pcap_offline_filter(&program, &all[i].header, all[i].bytes) != 0;
    double taken = cpu_seconds() - before;
    printf("%.9f %lu\n", taken, passes ? matched / (unsigned long)passes : 0);
    return 0;
}
