/* Walk over nine tenths of the second-level cache in a random but fixed order. Which pages of memory the run got, and so
 * which of them fall into the same sets of the cache, is drawn anew in each run; no counter of the system shows it. Huge
 * pages fix it only where a virtual machine's host backs them with huge ones too. The time is that of the fastest of
 * several walks: who shares the cache in between, or empties it, spoils only the others.
 * An argument fixes the kilobytes: a few of them always fit. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINE 64u
#define WALKS 25
#define STEPS 60000

static uint32_t draw(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

/* Write at the start of each line the number of the next one, so that the walk comes to all (Sattolo's algorithm). */
static void lay_out(char *memory, uint32_t lines) {
    uint64_t state = 1;
    for (uint32_t line = 0; line < lines; line++)
        *(uint32_t *)(memory + line * LINE) = line;
    for (uint32_t line = lines - 1; line > 0; line--) {
        uint32_t other = draw(&state) % line;
        uint32_t *here = (uint32_t *)(memory + line * LINE), *there = (uint32_t *)(memory + other * LINE), kept = *here;
        *here = *there;
        *there = kept;
    }
}

static uint32_t walk(const char *memory, uint32_t steps) {
    uint32_t line = 0;
    while (steps--)
        line = *(const volatile uint32_t *)(memory + line * LINE);
    return line;
}

static double cpu_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

int main(int count, char **arguments) {
    long cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
    size_t bytes = count > 1 ? strtoul(arguments[1], NULL, 10) << 10 : (cache > 0 ? (size_t)cache : 1u << 20) / 10 * 9;
    char *memory = bytes < LINE ? NULL : aligned_alloc(LINE, bytes / LINE * LINE);
    if (!memory)
        return 1;
    uint32_t lines = bytes / LINE;
    lay_out(memory, lines);
    walk(memory, lines);
    double fastest = 0;
    for (int turn = 0; turn < WALKS; turn++) {
        double start = cpu_ms();
        walk(memory, STEPS);
        double taken = cpu_ms() - start;
        if (!turn || taken < fastest)
            fastest = taken;
    }
    printf("time_ms %.4f\n", fastest);
    free(memory);
    return 0;
}
