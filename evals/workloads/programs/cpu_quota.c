/* Wait up to 100 ms, then compute 25 ms in a control group that may use a CPU for 20 of every 100 ms. The group is made
 * around the whole diagnosis (cpu_limited). What is left to do when the 20 ms are used waits for the next period, which
 * is near or far. In C, because the start-up of Python would use the quota too. */
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

#define STEPS 18000000
#define FACTOR 6364136223846793005u
#define MOST_WAIT_US 100000

static void wait_a_random_time(void) {
    uint32_t drawn = 0;
    getrandom(&drawn, sizeof drawn, 0);
    struct timespec wait = {0, (drawn % MOST_WAIT_US) * 1000L};
    nanosleep(&wait, NULL);
}

int main(void) {
    struct timespec start, end;
    volatile uint64_t result;
    uint64_t value = 1;
    wait_a_random_time();
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int step = 0; step < STEPS; step++)
        value = (value ^ value >> 29) * FACTOR;
    result = value;
    clock_gettime(CLOCK_MONOTONIC, &end);
    (void)result;
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
