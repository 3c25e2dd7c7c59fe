/* Time inside MPI, per rank, through the profiling interface (PMPI): built by mpi.py, loaded with LD_PRELOAD.
   Each rank writes one line at MPI_Finalize, all of it counted from MPI_Init on: rank, seconds, seconds inside MPI,
   calls, CPU seconds outside MPI, migrations (-1: not shown), voluntary and involuntary context switches, rank on its
   host (-1: not told), CPU at the end, CPUs that it may use, host. */
#define _GNU_SOURCE
#include <dirent.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double began, began_cpu, inside, inside_cpu;
static long calls, began_migrations;
static struct rusage began_usage;

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

#define WRAP(name, parameters, arguments)                                \
    int MPI_##name parameters {                                          \
        double entered = PMPI_Wtime();                                   \
        double entered_cpu = seconds(CLOCK_THREAD_CPUTIME_ID);           \
        int result = PMPI_##name arguments;                              \
        inside_cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - entered_cpu;    \
        inside += PMPI_Wtime() - entered;                                \
        calls++;                                                         \
        return result;                                                   \
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
WRAP(Iprobe, (int p, int g, MPI_Comm c, int *f, MPI_Status *s), (p, g, c, f, s))
WRAP(Test, (MPI_Request *q, int *f, MPI_Status *s), (q, f, s))
WRAP(Testall, (int n, MPI_Request *q, int *f, MPI_Status *s), (n, q, f, s))
WRAP(Wait, (MPI_Request *q, MPI_Status *s), (q, s))
WRAP(Waitany, (int n, MPI_Request *q, int *i, MPI_Status *s), (n, q, i, s))
WRAP(Waitsome, (int n, MPI_Request *q, int *o, int *i, MPI_Status *s), (n, q, o, i, s))
WRAP(Waitall, (int n, MPI_Request *q, MPI_Status *s), (n, q, s))
WRAP(Barrier, (MPI_Comm c), (c))
WRAP(Ibarrier, (MPI_Comm c, MPI_Request *q), (c, q))
WRAP(Bcast, (void *b, int n, MPI_Datatype t, int r, MPI_Comm c), (b, n, t, r, c))
WRAP(Reduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, int a, MPI_Comm c), (s, r, n, t, o, a, c))
WRAP(Allreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
WRAP(Iallreduce, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c, MPI_Request *q),
     (s, r, n, t, o, c, q))
WRAP(Reduce_scatter, (const void *s, void *r, const int *n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
WRAP(Scan, (const void *s, void *r, int n, MPI_Datatype t, MPI_Op o, MPI_Comm c), (s, r, n, t, o, c))
WRAP(Gather, (BOTH, int a, MPI_Comm c), (s, n, t, r, m, u, a, c))
WRAP(Gatherv, (const void *s, int n, MPI_Datatype t, void *r, const int *m, const int *d, MPI_Datatype u, int a,
     MPI_Comm c), (s, n, t, r, m, d, u, a, c))
WRAP(Scatter, (BOTH, int a, MPI_Comm c), (s, n, t, r, m, u, a, c))
WRAP(Allgather, (BOTH, MPI_Comm c), (s, n, t, r, m, u, c))
WRAP(Allgatherv, (const void *s, int n, MPI_Datatype t, void *r, const int *m, const int *d, MPI_Datatype u,
     MPI_Comm c), (s, n, t, r, m, d, u, c))
WRAP(Alltoall, (BOTH, MPI_Comm c), (s, n, t, r, m, u, c))
WRAP(Alltoallv, (const void *s, const int *n, const int *d, MPI_Datatype t, void *r, const int *m, const int *e,
     MPI_Datatype u, MPI_Comm c), (s, n, d, t, r, m, e, u, c))

/* Times that the scheduler has moved the threads that live now to another CPU; -1 where the kernel does not show it. */
static long migrations(void) {
    DIR *tasks = opendir("/proc/self/task");
    long sum = 0, one;
    int shown = 0;
    struct dirent *task;
    while (tasks && (task = readdir(tasks))) {
        char line[4096];
        snprintf(line, sizeof line, "/proc/self/task/%.32s/sched", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(line, "r");
        while (file && fgets(line, sizeof line, file))
            if (sscanf(line, "se.nr_migrations : %ld", &one) == 1) sum += one, shown = 1;
        if (file) fclose(file);
    }
    if (tasks) closedir(tasks);
    return shown ? sum : -1;
}

/* The CPUs that this process may use, as 0-2,4; a dash where they are not told. */
static void allowed(char *text, size_t room) {
    cpu_set_t set;
    size_t at = 0;
    snprintf(text, room, "-");
    if (sched_getaffinity(0, sizeof set, &set)) return;
    for (int first = 0; first < CPU_SETSIZE && at + 16 < room; first++) {
        int last = first;
        if (!CPU_ISSET(first, &set)) continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set)) last++;
        at += snprintf(text + at, room - at, last > first ? "%s%d-%d" : "%s%d", at ? "," : "", first, last);
        first = last;
    }
}

static int local_rank(void) {
    const char *names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (int i = 0; i < 3; i++)
        if (getenv(names[i])) return atoi(getenv(names[i]));
    return -1;
}

static void begin(void) {
    getrusage(RUSAGE_SELF, &began_usage);
    began_migrations = migrations();
    began_cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    began = PMPI_Wtime();
}

int MPI_Init(int *argc, char ***argv) {
    int result = PMPI_Init(argc, argv);
    begin();
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
    int result = PMPI_Init_thread(argc, argv, required, provided);
    begin();
    return result;
}

static void tell(FILE *file, int rank) {
    double all = PMPI_Wtime() - began, cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - began_cpu - inside_cpu;
    long moved = migrations();
    struct rusage usage;
    char cpus[4096], host[256] = "-";
    getrusage(RUSAGE_SELF, &usage);
    allowed(cpus, sizeof cpus);
    gethostname(host, sizeof host - 1);
    fprintf(file, "%d %.9f %.9f %ld %.9f %ld %ld %ld %d %d %s %s\n", rank, all, inside, calls, cpu > 0 ? cpu : 0,
            moved < 0 ? -1 : moved - began_migrations, usage.ru_nvcsw - began_usage.ru_nvcsw,
            usage.ru_nivcsw - began_usage.ru_nivcsw, local_rank(), sched_getcpu(), cpus, host);
}

int MPI_Finalize(void) {
    const char *folder = getenv("VGO_MPI_REPORT");
    int rank = 0;
    char path[4096];
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    snprintf(path, sizeof path, "%s/rank.%d", folder ? folder : ".", rank);
    FILE *file = folder ? fopen(path, "w") : NULL;
    if (file) {
        tell(file, rank);
        fclose(file);
    }
    return PMPI_Finalize();
}
