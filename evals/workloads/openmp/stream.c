/* Memory bandwidth in the spirit of STREAM: copy, scale, add and triad over arrays larger than the caches.
   The argument is the number of elements (default 4 million, 96 MB in all); memory is first touched by its threads. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
    long n = count > 1 ? atol(words[1]) : 4000000;
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b), *c = malloc(n * sizeof *c);
    if (!a || !b || !c) return 1;
#pragma omp parallel for schedule(static)
    for (long i = 0; i < n; i++) a[i] = 1, b[i] = 2, c[i] = 0;
    double start = omp_get_wtime();
    for (int repeat = 0; repeat < 5; repeat++) {
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) c[i] = a[i];
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) b[i] = 3 * c[i];
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) c[i] = a[i] + b[i];
#pragma omp parallel for schedule(static)
        for (long i = 0; i < n; i++) a[i] = b[i] + 3 * c[i];
    }
    double seconds = omp_get_wtime() - start;
    printf("seconds: %.9f\nGB/s: %.4f\n", seconds, 5 * 10 * n * sizeof *a / seconds / 1e9);
    return a[n / 2] > 0 ? 0 : 1;
}
