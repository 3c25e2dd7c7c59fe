/* Sleep 200 us sixty times, with some work between. The kernel may end a sleep late by up to the slack of the thread's
 * timers, which children inherit: 40 % of the runs stand for those that a manager started which saves power, with 1 ms
 * instead of 50 us. Who starts it with a slack of his own keeps that.
 * An argument fixes the slack in microseconds. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>

#define SLEEPS 60
#define STEPS 100000
#define USUAL_NS 50000
#define SAVING_NS 1000000

static long drawn_ns(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn && drawn % 10 < 4 ? SAVING_NS : USUAL_NS;
}

int main(int count, char **arguments) {
    if (prctl(PR_GET_TIMERSLACK) == USUAL_NS)
        prctl(PR_SET_TIMERSLACK, count > 1 ? 1000 * atol(arguments[1]) : drawn_ns());
    struct timespec start, end, nap = {0, 200000};
    volatile long sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int sleep = 0; sleep < SLEEPS; sleep++) {
        for (int step = 0; step < STEPS; step++)
            sum += step;
        nanosleep(&nap, NULL);
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
