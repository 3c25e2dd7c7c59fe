/* Loop scheduling in the spirit of the EPCC schedbench: iterations of unequal length under schedule(runtime), so that
   OMP_SCHEDULE says how they are dealt out. The argument is the number of iterations (default 20000). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static double work(int length) {
    double value = 1;
    for (int turn = 0; turn < length; turn++) value = value * 0.999 + 0.5;
    return value;
}

int main(int count, char **words) {
    int iterations = count > 1 ? atoi(words[1]) : 20000;
    double sum = 0, start = omp_get_wtime();
    for (int repeat = 0; repeat < 10; repeat++) {
#pragma omp parallel for schedule(runtime) reduction(+ : sum)
        for (int place = 0; place < iterations; place++) sum += work(20 + 60 * place / iterations);
    }
    printf("seconds: %.9f\nsum: %g\n", omp_get_wtime() - start, sum);
    return 0;
}
