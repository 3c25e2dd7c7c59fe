/* Compute in one thread while another allocates and frees a random number of blocks. malloc maps each block afresh
 * and unmaps it when it is freed, and each time the CPU of the first thread is interrupted to drop its translations
 * (a TLB shootdown). With malloc told not to map, nothing is unmapped. The time is the CPU time of the first thread.
 * An argument fixes the number of blocks. */
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define BLOCK_BYTES (256u << 10)
#define MOST 4000
#define STEPS 4000000
#define FACTOR 6364136223846793005u

static void *allocate_and_free(void *blocks) {
    for (intptr_t left = (intptr_t)blocks; left > 0; left--) {
        volatile char *block = malloc(BLOCK_BYTES);
        if (!block)
            break;
        block[BLOCK_BYTES / 2] = 1;
        free((void *)block);
    }
    return NULL;
}

static int draw_blocks(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn ? (int)(drawn % (MOST + 1)) : 0;
}

static uint64_t compute(void) {
    uint64_t value = 1;
    for (int step = 0; step < STEPS; step++)
        for (int factor = 0; factor < 4; factor++)
            value = value * FACTOR + 1;
    return value;
}

int main(int count, char **arguments) {
    intptr_t blocks = count < 2 ? draw_blocks() : atoi(arguments[1]);
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    pthread_t other;
    if (pthread_create(&other, NULL, allocate_and_free, (void *)blocks))
        return 1;
    struct timespec start, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
    volatile uint64_t value = compute();
    (void)value;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    pthread_join(other, NULL);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
