/* Compute in a team of OpenMP threads that meet at many barriers. In two runs of three the team has three threads for
 * each CPU, in the third only one thread. They spin while they wait: a thread that lost its CPU keeps all waiting.
 * OMP_NUM_THREADS, when it is set, says how many there are in every run. An argument fixes the threads. */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#define BARRIERS 500
#define STEPS 40000
#define FACTOR 6364136223846793005u

static int draw_threads(void) {
    unsigned char drawn;
    return getrandom(&drawn, 1, 0) == 1 && drawn < 170 ? 3 * omp_get_num_procs() : 1;
}

static uint64_t compute(uint64_t value, int steps) {
    for (int step = 0; step < steps; step++)
        value = value * FACTOR + 1;
    return value;
}

int main(int count, char **arguments) {
    (void)count;
    if (!getenv("OMP_WAIT_POLICY") && !setenv("OMP_WAIT_POLICY", "active", 1))
        execv("/proc/self/exe", arguments);
    if (arguments[1])
        omp_set_num_threads(atoi(arguments[1]));
    else if (!getenv("OMP_NUM_THREADS"))
        omp_set_num_threads(draw_threads());
    struct timespec start, end;
    uint64_t sum = 0;
    clock_gettime(CLOCK_MONOTONIC, &start);
#pragma omp parallel reduction(+ : sum)
    for (int barrier = 0; barrier < BARRIERS; barrier++) {
        sum += compute(sum, STEPS / omp_get_num_threads());
#pragma omp barrier
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    volatile uint64_t kept = sum;
    (void)kept;
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
