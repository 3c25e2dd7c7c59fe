/* Ranks that meet after every step; in half of the runs the last rank comes late to one of the meetings.
   The first argument says how: `work`, it has more to compute, or `sleep`, all ranks sleep, and it sleeps longer;
   `steady`: never. The second one says how late, in seconds (0.15).
   Build with `mpicc -O2`, start with `mpirun -n 2`. Rank 0 prints the time from the first meeting to the last. */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { STEPS = 5 };
static const double STEP_S = 0.004;
static const int LATE_SHARE = 50; /* percent */

static void compute(double seconds) {
    clock_t until = clock() + (clock_t)(seconds * CLOCKS_PER_SEC); /* CPU time: the same work on a busy machine */
    while (clock() < until)
        ;
}

static void rest(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static int late_this_time(void) {
    unsigned number = 0;
    int file = open("/dev/urandom", O_RDONLY);
    if (file < 0 || read(file, &number, sizeof number) != sizeof number) return 0;
    close(file);
    return number % 100 < (unsigned)LATE_SHARE;
}

int main(int argc, char **argv) {
    int rank, ranks, all;
    const char *how = argc > 1 ? argv[1] : "work";
    double late_s = argc > 2 ? atof(argv[2]) : 0.15;
    void (*spend)(double) = strcmp(how, "sleep") ? compute : rest;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int late = rank == ranks - 1 && strcmp(how, "steady") && late_this_time();
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    for (int step = 0; step < STEPS; step++) {
        spend(STEP_S + (late && step == STEPS / 2 ? late_s : 0));
        MPI_Allreduce(&rank, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    }
    if (rank == 0) printf("time_ms %.3f\n", 1e3 * (MPI_Wtime() - began));
    MPI_Finalize();
    return 0;
}
