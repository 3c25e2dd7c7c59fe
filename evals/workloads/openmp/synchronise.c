/* Synchronisation in the spirit of the EPCC syncbench: barriers, critical sections and reductions between short delays.
   Prints the seconds of each and of all; the argument is how often each is done (default 2000). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { DELAY = 100 };

static void delay(void) {
    volatile double work = 0;
    for (int turn = 0; turn < DELAY; turn++) work += turn;
    (void)work;
}

static double barriers(int times) {
    double start = omp_get_wtime();
#pragma omp parallel
    for (int turn = 0; turn < times; turn++) {
        delay();
#pragma omp barrier
    }
    return omp_get_wtime() - start;
}

static double criticals(int times) {
    long entered = 0;
    double start = omp_get_wtime();
#pragma omp parallel
    for (int turn = 0; turn < times / omp_get_num_threads(); turn++) {
#pragma omp critical
        {
            delay();
            entered++;
        }
    }
    return entered < 0 ? 0 : omp_get_wtime() - start;
}

static double reductions(int times) {
    double sum = 0, start = omp_get_wtime();
    for (int turn = 0; turn < times; turn++) {
#pragma omp parallel reduction(+ : sum)
        {
            delay();
            sum += 1;
        }
    }
    return sum < 0 ? 0 : omp_get_wtime() - start;
}

int main(int count, char **words) {
    int times = count > 1 ? atoi(words[1]) : 2000;
    double barrier = barriers(times), critical = criticals(times), reduction = reductions(times);
    printf("barrier: %.9f\ncritical: %.9f\nreduction: %.9f\n", barrier, critical, reduction);
    printf("seconds: %.9f\n", barrier + critical + reduction);
    return 0;
}
