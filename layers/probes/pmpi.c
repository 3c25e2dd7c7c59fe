/* Time inside MPI, per rank, through the profiling interface (PMPI): built by mpi.py, loaded with LD_PRELOAD.
   Each rank writes one line at MPI_Finalize: rank, seconds from MPI_Init on, seconds inside MPI, calls. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double began, inside;
static long calls;

#define WRAP(name, parameters, arguments)        \
    int MPI_##name parameters {                  \
        double entered = PMPI_Wtime();           \
        int result = PMPI_##name arguments;      \
        inside += PMPI_Wtime() - entered;        \
        calls++;                                 \
        return result;                           \
    }
#define TO void *b, int n, MPI_Datatype t, int p, int g, MPI_Comm c
#define FROM const void *b, int n, MPI_Datatype t, int p, int g, MPI_Comm c
#define BOTH const void *s, int n, MPI_Datatype t, void *r, int m, MPI_Datatype u

WRAP(Send, (FROM), (b, n, t, p, g, c))
WRAP(Ssend, (FROM), (b, n, t, p, g, c))
WRAP(Isend, (FROM, MPI_Request *q), (b, n, t, p, g, c, q))
WRAP(Recv, (TO, MPI_Status *s), (b, n, t, p, g, c, s))
WRAP(Irecv, (TO, MPI_Request *q), (b, n, t, p, g, c, q))
WRAP(Sendrecv, (const void *b, int n, MPI_Datatype t, int p, int g, void *r, int m, MPI_Datatype u, int o, int h,
     MPI_Comm c, MPI_Status *s), (b, n, t, p, g, r, m, u, o, h, c, s))
WRAP(Probe, (int p, int g, MPI_Comm c, MPI_Status *s), (p, g, c, s))
WRAP(Wait, (MPI_Request *q, MPI_Status *s), (q, s))
WRAP(Waitany, (int n, MPI_Request *q, int *i, MPI_Status *s), (n, q, i, s))
WRAP(Waitall, (int n, MPI_Request *q, MPI_Status *s), (n, q, s))
WRAP(Barrier, (MPI_Comm c), (c))
WRAP(Bcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
WRAP(Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int a, MPI_Comm c), (s, r, n, t, o, a, c))
WRAP(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
WRAP(Scan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
WRAP(Gather, (BOTH, int a, MPI_Comm c), (s, n, t, r, m, u, a, c))
WRAP(Scatter, (BOTH, int a, MPI_Comm c), (s, n, t, r, m, u, a, c))
WRAP(Allgather, (BOTH, MPI_Comm c), (s, n, t, r, m, u, c))
WRAP(Alltoall, (BOTH, MPI_Comm c), (s, n, t, r, m, u, c))

int MPI_Init(int *argc, char ***argv) {
    int result = PMPI_Init(argc, argv);
    began = PMPI_Wtime();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result = PMPI_Init_thread(argc, argv, required, provided);
    began = PMPI_Wtime();
    return result;
}

int MPI_Finalize(void) {
    const char *folder = getenv("VGO_MPI_REPORT");
    int rank = 0;
    char path[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/rank.%d", folder ? folder : ".", rank);
    FILE *file = folder ? fopen(path, "w") : NULL;
    if (file) {
        fprintf(file, "%d %.9f %.9f %ld\n", rank, PMPI_Wtime() - began, inside, calls);
        fclose(file);
    }
    return PMPI_Finalize();
}
