/* Advance two 8-byte numbers on the stack, which begins at a 16-byte boundary that the kernel draws at random.
 * In one run of two, one of them lies across two cache lines, and each of its steps waits for both lines. No
 * counter of the system shows where the stack lies; without address-space randomisation it lies in one place. */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define STEPS 4000000
#define FACTOR 6364136223846793005u

static void advance(volatile uint64_t *number) {
    uint64_t value = *number;
    for (int factor = 0; factor < 4; factor++)
        value = value * FACTOR + 1;
    *number = value;
}

int main(int count, char **arguments) {
    int first = count > 1 ? 8 : 12; /* an argument keeps both numbers within a line */
    (void)arguments;
    struct timespec start, end;
    _Alignas(16) char place[64] = {0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int step = 0; step < STEPS; step++) {
        advance((volatile uint64_t *)(place + first));
        advance((volatile uint64_t *)(place + first + 32));
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
