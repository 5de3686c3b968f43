/* What programs in C that are measured have in common. */

#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* CPU seconds of the process so far. */
static inline double cpu_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Ends the program, and says why. */
__attribute__((noreturn)) static inline void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}
