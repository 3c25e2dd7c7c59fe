/* Touch one byte in each 2 MB of a table of 96 MB, with some work between. Where the fault gets a huge page, as in 40 %
 * of the runs, the kernel clears 512 times as much memory; the number of faults is the same. The time is CPU time.
 * Argument: huge or small. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <time.h>

#define TOUCHES 48
#define HUGE_BYTES ((size_t)2 << 20)
#define STEPS 150000

static int draw_huge(void) {
    uint32_t drawn;
    return getrandom(&drawn, sizeof drawn, 0) == sizeof drawn && drawn % 10 < 4;
}

int main(int count, char **arguments) {
    int huge = count > 1 ? !strcmp(arguments[1], "huge") : draw_huge();
    char *room = mmap(NULL, (TOUCHES + 1) * HUGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED)
        return 1;
    char *table = (char *)(((uintptr_t)room + HUGE_BYTES - 1) & -HUGE_BYTES);
    madvise(table, TOUCHES * HUGE_BYTES, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    struct timespec start, end;
    volatile long sum = 0;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    for (int touch = 0; touch < TOUCHES; touch++) {
        table[touch * HUGE_BYTES] = 1;
        for (int step = 0; step < STEPS; step++)
            sum += step;
    }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    printf("time_ms %.4f\n", (end.tv_sec - start.tv_sec) * 1e3 + (end.tv_nsec - start.tv_nsec) / 1e6);
    return 0;
}
