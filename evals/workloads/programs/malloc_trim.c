/* Take eight blocks of 64 KB and free them, 300 times. Where they lie at the top of the heap, free() gives them back to
 * the kernel, and the next eight are faulted in again; a small block that lies above them prevents that. In 40 % of the
 * runs the small block comes first. The time is CPU time.
 * Argument: first or last. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define ROUNDS 300
#define BLOCKS 8
#define BYTES 65536
#define SMALL 4000

static void *volatile block[BLOCKS];

static void take_and_free(int filling) {
    for (int place = 0; place < BLOCKS; place++) {
        block[place] = malloc(BYTES);
        if (filling)
            memset(block[place], filling, BYTES);
    }
    for (int place = 0; place < BLOCKS; place++)
        free(block[place]);
}

static int draw_first(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn && drawn % 10 < 4;
}

int main(int count, char **arguments) {
    int first = count > 1 ? !strcmp(arguments[1], "first") : draw_first();
    void *volatile small = first ? malloc(SMALL) : NULL;
    for (int place = 0; place < BLOCKS; place++)
        block[place] = malloc(BYTES);
    if (!first)
        small = malloc(SMALL);
    for (int place = 0; place < BLOCKS; place++)
        free(block[place]);
    struct timespec start, end;
    volatile long sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int step = 0; step < 5000000; step++)
        sum += step;
    for (int round = 1; round <= ROUNDS; round++)
        take_and_free(round % 100 + 1);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    free(small);
    return 0;
}
