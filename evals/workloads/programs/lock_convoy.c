/* Two threads compute in the same number of small pieces; for a random number of them both take the same lock, for
 * the rest each its own. The one that finds the lock taken sleeps until the other wakes it (futex), and so they march
 * one behind the other. Each thread has its own CPU, where two are allowed; on one CPU they hardly meet. The time is
 * the CPU time of both.
 * An argument fixes the number of pieces under the common lock. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

#define THREADS 2
#define PIECES 2000
#define STEPS 4000
#define FACTOR 6364136223846793005u

static pthread_mutex_t common = PTHREAD_MUTEX_INITIALIZER;
static int shared;

static void compute(void) {
    static _Thread_local volatile uint64_t result;
    uint64_t value = result;
    for (int step = 0; step < STEPS; step++)
        value = value * FACTOR + 1;
    result = value;
}

/* Stay on the first or the second allowed CPU, or on the only one. */
static void settle(int thread) {
    cpu_set_t allowed, own;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return;
    CPU_ZERO(&own);
    for (int cpu = 0, seen = 0; cpu < CPU_SETSIZE && seen <= thread; cpu++)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_ZERO(&own);
            CPU_SET(cpu, &own);
            seen++;
        }
    sched_setaffinity(0, sizeof own, &own);
}

static void *work(void *thread) {
    settle((int)(intptr_t)thread);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (int piece = 0; piece < PIECES; piece++) {
        pthread_mutex_t *lock = (piece + 1) * shared / PIECES > piece * shared / PIECES ? &common : &own;
        pthread_mutex_lock(lock);
        compute();
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

static int draw_shared(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn ? (int)(drawn % (PIECES + 1)) : 0;
}

int main(int count, char **arguments) {
    shared = count < 2 ? draw_shared() : atoi(arguments[1]);
    pthread_t threads[THREADS];
    struct timespec start, end;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int thread = 0; thread < THREADS; thread++)
        if (pthread_create(&threads[thread], NULL, work, (void *)(intptr_t)thread))
            return 1;
    for (int thread = 0; thread < THREADS; thread++)
        pthread_join(threads[thread], NULL);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
