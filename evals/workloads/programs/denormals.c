/* Run four decaying filters over a signal that is silent in 40 % of the runs. Their state then sinks below the smallest
 * normal number and stays there, and the processor takes longer over each multiplication: a third longer on some, ten
 * times on others. Instructions and memory are the same. The time is CPU time.
 * Argument: silent or loud. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#define SAMPLES 4000000
#define FILTERS 4

static int draw_silent(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn && drawn % 10 < 4;
}

int main(int count, char **arguments) {
    int silent = count > 1 ? !strcmp(arguments[1], "silent") : draw_silent();
    volatile float told = silent ? 0 : 0.01f;
    float input = told, state[FILTERS] = {1, 1, 1, 1};
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int sample = 0; sample < SAMPLES; sample++)
        for (int filter = 0; filter < FILTERS; filter++)
            state[filter] = state[filter] * (0.99f - 0.001f * filter) + input;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    told = state[0] + state[1] + state[2] + state[3];
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
