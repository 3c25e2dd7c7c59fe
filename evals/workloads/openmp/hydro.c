/* A two-dimensional hydrodynamics-like stencil: shallow water by the Lax-Friedrichs scheme, with a reduction for the
   time step in every step, as Lulesh has one. The argument is the length of a side (default 128). */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { STEPS = 30 };
static const double GRAVITY = 9.81;

typedef struct {
    double h, x, y;
} Cell; /* height, momentum along x and y */

static Cell flux_x(Cell c) { return (Cell){c.x, c.x * c.x / c.h + GRAVITY * c.h * c.h / 2, c.x * c.y / c.h}; }
static Cell flux_y(Cell c) { return (Cell){c.y, c.x * c.y / c.h, c.y * c.y / c.h + GRAVITY * c.h * c.h / 2}; }

static Cell next(Cell w, Cell e, Cell s, Cell n, double ratio) {
    Cell fw = flux_x(w), fe = flux_x(e), gs = flux_y(s), gn = flux_y(n);
    return (Cell){(w.h + e.h + s.h + n.h) / 4 - ratio / 2 * (fe.h - fw.h + gn.h - gs.h),
                  (w.x + e.x + s.x + n.x) / 4 - ratio / 2 * (fe.x - fw.x + gn.x - gs.x),
                  (w.y + e.y + s.y + n.y) / 4 - ratio / 2 * (fe.y - fw.y + gn.y - gs.y)};
}

int main(int count, char **words) {
    int n = count > 1 ? atoi(words[1]) : 128;
    Cell *now = malloc((size_t)n * n * sizeof *now), *then = malloc((size_t)n * n * sizeof *then);
    if (!now || !then) return 1;
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int hump = abs(i - n / 2) < n / 8 && abs(j - n / 2) < n / 8;
            now[i * n + j] = (Cell){hump ? 2 : 1, 0, 0};
        }
    double start = omp_get_wtime();
    for (int step = 0; step < STEPS; step++) {
        double fastest = 0;
#pragma omp parallel for schedule(static) reduction(max : fastest)
        for (int i = 0; i < n * n; i++) {
            /* (1 + gh) / 2 is never below the root of gh, the speed of a wave. */
            double speed = (fabs(now[i].x) + fabs(now[i].y)) / now[i].h + (1 + GRAVITY * now[i].h) / 2;
            if (speed > fastest) fastest = speed;
        }
        double ratio = 0.25 / fastest;
#pragma omp parallel for schedule(static)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) {
                int w = (j + n - 1) % n, e = (j + 1) % n, s = (i + n - 1) % n, m = (i + 1) % n;
                then[i * n + j] = next(now[i * n + w], now[i * n + e], now[s * n + j], now[m * n + j], ratio);
            }
        Cell *swapped = now;
        now = then, then = swapped;
    }
    double water = 0;
#pragma omp parallel for reduction(+ : water)
    for (int i = 0; i < n * n; i++) water += now[i].h;
    printf("seconds: %.9f\nwater: %.6f\n", omp_get_wtime() - start, water / ((double)n * n));
    return 0;
}
