/* Sockets for datagrams on the loopback. */

#pragma once

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>

#include "peer.h"

/* A socket at a port that the system chooses; its address. */
static inline int bound(struct sockaddr_in *address) {
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    socklen_t size = sizeof *address;
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, size)) fail("no socket");
    if (getsockname(fd, (struct sockaddr *)address, &size)) fail("no name");
    return fd;
}
