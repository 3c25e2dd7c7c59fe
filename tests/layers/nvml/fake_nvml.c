// A libnvidia-ml.so.1 that says what a text file tells it to: lines `GPU KEY VALUE`, or `GPU KEY !ERROR`.
//
// The file is named by $FAKE_NVML and read anew for each call, so that a test changes the GPUs while a program runs.
// What is not in the file is not supported. GPU - is the library itself. Structures as in nvml.h of driver 580.
// A setter changes its KEY, unless the file says `GPU set_KEY !ERROR`; `GPU step_KEY N` rounds down to multiples of N.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int Return;
enum { SUCCESS = 0, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7 };

static Return look(const char *gpu, const char *key, unsigned long long *value) {
    char line[256], one[32], name[64], said[64];
    FILE *file = fopen(getenv("FAKE_NVML"), "r");
    Return found = NOT_SUPPORTED;
    while (file && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%31s %63s %63s", one, name, said) != 3 || strcmp(one, gpu) || strcmp(name, key)) continue;
        found = said[0] == '!' ? atoi(said + 1) : SUCCESS;
        if (said[0] != '!') *value = strtoull(said, NULL, 10);
        break;
    }
    if (file) fclose(file);
    return found;
}

static Return of(void *gpu, const char *key, unsigned long long *value) {
    char number[16], seen[512];
    unsigned long long ignored;
    snprintf(number, sizeof number, "%d", (int)(intptr_t)gpu - 1);
    Return lost = look(number, "all", &ignored);
    if (lost == NOT_SUPPORTED) return look(number, key, value);
    // A test waits for this file, to know that its loss was noticed.
    snprintf(seen, sizeof seen, "%s.seen", getenv("FAKE_NVML"));
    FILE *file = fopen(seen, "w");
    if (file) fclose(file);
    return lost;
}

static Return small(void *gpu, const char *key, unsigned int *value) {
    unsigned long long found = 0;
    Return result = of(gpu, key, &found);
    if (result == SUCCESS) *value = (unsigned int)found;
    return result;
}

#define SMALL(function, key) \
    Return function(void *gpu, unsigned int *value) { return small(gpu, key, value); }
#define LARGE(function, key) \
    Return function(void *gpu, unsigned long long *value) { return of(gpu, key, value); }

// Who holds the driver: a test counts.
static void note(const char *sign) {
    char path[512];
    snprintf(path, sizeof path, "%s.held", getenv("FAKE_NVML"));
    FILE *file = fopen(path, "a");
    if (file) fputs(sign, file), fclose(file);
}

Return nvmlInitWithFlags(unsigned int flags) {
    unsigned long long ignored;
    Return result = look("-", "init", &ignored);
    if (result == SUCCESS || result == NOT_SUPPORTED) note("+");
    return result == NOT_SUPPORTED ? SUCCESS : result;
}
Return nvmlShutdown(void) {
    note("-");
    return SUCCESS;
}
const char *nvmlErrorString(Return result) { return "an error without a name"; }
Return nvmlDeviceGetCount_v2(unsigned int *count) {
    unsigned long long found = 0;
    Return result = look("-", "count", &found);
    *count = (unsigned int)found;
    return result;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **gpu) {
    unsigned int ignored;
    *gpu = (void *)(intptr_t)(index + 1);
    Return result = small(*gpu, "handle", &ignored);
    return result == NOT_SUPPORTED ? SUCCESS : result;
}

Return nvmlDeviceGetClockInfo(void *gpu, int clock, unsigned int *mhz) {
    return small(gpu, clock == 1 ? "sm_mhz" : "memory_mhz", mhz);
}
Return nvmlDeviceGetTemperature(void *gpu, int sensor, unsigned int *celsius) { return small(gpu, "temp_c", celsius); }
SMALL(nvmlDeviceGetPowerUsage, "power_mw")
SMALL(nvmlDeviceGetEnforcedPowerLimit, "power_limit_mw")
SMALL(nvmlDeviceGetPerformanceState, "pstate")
SMALL(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
SMALL(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
SMALL(nvmlDeviceGetPcieReplayCounter, "pcie_replays")
SMALL(nvmlDeviceGetPersistenceMode, "persistence")
SMALL(nvmlDeviceGetComputeMode, "compute_mode")
LARGE(nvmlDeviceGetTotalEnergyConsumption, "energy_mj")
#ifdef OLD_DRIVER
LARGE(nvmlDeviceGetCurrentClocksThrottleReasons, "reasons")
#else
LARGE(nvmlDeviceGetCurrentClocksEventReasons, "reasons")
#endif
Return nvmlDeviceGetTotalEccErrors(void *gpu, int error, int counter, unsigned long long *count) {
    return of(gpu, error == 0 ? "ecc_corrected" : "ecc_uncorrected", count);
}
Return nvmlDeviceGetPcieThroughput(void *gpu, int counter, unsigned int *kb_s) {
    return small(gpu, counter == 0 ? "pcie_tx_kb_s" : "pcie_rx_kb_s", kb_s);
}
Return nvmlDeviceGetMigMode(void *gpu, unsigned int *now, unsigned int *pending) {
    *pending = 0;
    return small(gpu, "mig", now);
}
Return nvmlDeviceGetName(void *gpu, char *name, unsigned int length) {
    unsigned long long number = 0;
    Return result = of(gpu, "name", &number);
    if (result == SUCCESS) snprintf(name, length, "NVIDIA H%llu", number);
    return result;
}

struct Memory { unsigned long long total, free, used; };
Return nvmlDeviceGetMemoryInfo(void *gpu, struct Memory *memory) {
    Return result = of(gpu, "memory_used", &memory->used);
    return result == SUCCESS ? of(gpu, "memory_free", &memory->free) : result;
}

struct Use { unsigned int gpu, memory; };
Return nvmlDeviceGetUtilizationRates(void *gpu, struct Use *use) {
    Return result = small(gpu, "busy", &use->gpu);
    return result == SUCCESS ? small(gpu, "memory_busy", &use->memory) : result;
}

struct Process { unsigned int pid; unsigned long long memory; unsigned int instance, compute; };
Return nvmlDeviceGetComputeRunningProcesses_v3(void *gpu, unsigned int *count, struct Process *processes) {
    unsigned int pid;
    Return result = small(gpu, "process", &pid);
    unsigned int room = *count;
    *count = result == SUCCESS && pid ? 1 : 0;
    if (result != SUCCESS || !*count) return result;
    if (!processes || room < 1) return INSUFFICIENT_SIZE;
    processes[0] = (struct Process){.pid = pid};
    return SUCCESS;
}

struct Field {
    unsigned int field, scope;
    long long timestamp, latency;
    int type;
    Return result;
    unsigned long long value;
};
Return nvmlDeviceGetFieldValues(void *gpu, int count, struct Field *fields) {
    for (int place = 0; place < count; place++) {
        char key[32];
        snprintf(key, sizeof key, "field_%u", fields[place].field);
        fields[place].type = 3;  // unsigned long long
        fields[place].result = of(gpu, key, &fields[place].value);
        if (fields[place].result == 15) return 15;
    }
    return SUCCESS;
}

// Settings.

static Return put(void *gpu, const char *key, unsigned int value) {
    char lines[512][128], rule[64], path[512], one[32], name[64];
    unsigned long long old = 0, step = 1;
    int count = 0;
    snprintf(rule, sizeof rule, "set_%s", key);
    Return refused = of(gpu, rule, &old);
    if (refused != NOT_SUPPORTED) return refused;
    Return known = of(gpu, key, &old);
    if (known != SUCCESS) return known;
    snprintf(rule, sizeof rule, "step_%s", key);
    if (of(gpu, rule, &step) != SUCCESS || !step) step = 1;
    FILE *file = fopen(getenv("FAKE_NVML"), "r");
    while (count < 512 && fgets(lines[count], sizeof lines[0], file)) {
        int number = (int)(intptr_t)gpu - 1;
        if (sscanf(lines[count], "%31s %63s", one, name) == 2 && !strcmp(name, key) && atoi(one) == number && *one != '-')
            snprintf(lines[count], sizeof lines[0], "%d %s %llu\n", number, key, value - value % step);
        count++;
    }
    fclose(file);
    // At once, so that no reading falls into the writing.
    snprintf(path, sizeof path, "%s.next", getenv("FAKE_NVML"));
    file = fopen(path, "w");
    for (int line = 0; line < count; line++) fputs(lines[line], file);
    fclose(file);
    return rename(path, getenv("FAKE_NVML")) ? 999 : SUCCESS;
}

#define SETTER(function, key) \
    Return function(void *gpu, unsigned int value) { return put(gpu, key, value); }
SETTER(nvmlDeviceSetPersistenceMode, "persistence")
SETTER(nvmlDeviceSetComputeMode, "compute_mode")
SETTER(nvmlDeviceSetPowerManagementLimit, "power_limit_mw")
SMALL(nvmlDeviceGetPowerManagementLimit, "power_limit_mw")
SMALL(nvmlDeviceGetNumFans, "fans")
Return nvmlDeviceGetPowerManagementLimitConstraints(void *gpu, unsigned int *least, unsigned int *most) {
    Return result = small(gpu, "power_least_mw", least);
    return result == SUCCESS ? small(gpu, "power_most_mw", most) : result;
}
Return nvmlDeviceGetMaxClockInfo(void *gpu, int clock, unsigned int *mhz) {
    return small(gpu, clock == 2 ? "memory_most_mhz" : "sm_most_mhz", mhz);
}

// A lock holds the clock at once, busy or idle; 0 is unlocked. Its name for the base clock is 0xffffff01.
static Return lock(void *gpu, const char *key, const char *clock, unsigned int mhz) {
    Return result = put(gpu, key, mhz);
    return result == SUCCESS ? put(gpu, clock, mhz == 0xffffff01u ? 1500 : mhz) : result;
}
// A range with two ends keeps the clock within them, and a busy GPU goes as high as it may.
Return nvmlDeviceSetGpuLockedClocks(void *gpu, unsigned int least, unsigned int most) {
    if (least > most) return 2;
    Return result = lock(gpu, "locked_sm", "sm_mhz", most);
    if (result == SUCCESS) put(gpu, "locked_sm_least", least);
    return result;
}
// One clock of the memory, and those of the cores from sm_least_mhz to sm_most_mhz in steps of 15.
Return nvmlDeviceGetSupportedMemoryClocks(void *gpu, unsigned int *count, unsigned int *mhz) {
    unsigned int room = *count;
    *count = 1;
    if (room < 1) return INSUFFICIENT_SIZE;
    return small(gpu, "memory_most_mhz", mhz);
}
Return nvmlDeviceGetSupportedGraphicsClocks(void *gpu, unsigned int memory, unsigned int *count, unsigned int *mhz) {
    unsigned int least = 0, most = 0, room = *count;
    Return result = small(gpu, "sm_least_mhz", &least);
    if (result == SUCCESS) result = small(gpu, "sm_most_mhz", &most);
    if (result != SUCCESS) return result;
    *count = (most - least) / 15 + 1;
    if (room < *count) return INSUFFICIENT_SIZE;
    for (unsigned int place = 0; place < *count; place++) mhz[place] = most - 15 * place;
    return SUCCESS;
}
Return nvmlDeviceSetMemoryLockedClocks(void *gpu, unsigned int least, unsigned int most) {
    return least == most ? lock(gpu, "locked_memory", "memory_mhz", most) : 2;
}
Return nvmlDeviceResetGpuLockedClocks(void *gpu) {
    put(gpu, "locked_sm_least", 0);
    return put(gpu, "locked_sm", 0);
}
Return nvmlDeviceResetMemoryLockedClocks(void *gpu) { return put(gpu, "locked_memory", 0); }

Return nvmlDeviceGetUUID(void *gpu, char *uuid, unsigned int length) {
    unsigned long long number = 0;
    Return result = of(gpu, "uuid", &number);
    if (result == SUCCESS) snprintf(uuid, length, "GPU-%08llu-fake", number);
    return result;
}

// Both fans of a GPU; percent, 0 while they follow the temperature.
Return nvmlDeviceGetFanControlPolicy_v2(void *gpu, unsigned int fan, unsigned int *policy) {
    unsigned int percent = 0;
    Return result = small(gpu, fan ? "fan_1" : "fan_0", &percent);
    *policy = percent > 0;
    return result;
}
Return nvmlDeviceGetTargetFanSpeed(void *gpu, unsigned int fan, unsigned int *percent) {
    return small(gpu, fan ? "fan_1" : "fan_0", percent);
}
Return nvmlDeviceSetFanSpeed_v2(void *gpu, unsigned int fan, unsigned int percent) {
    return put(gpu, fan ? "fan_1" : "fan_0", percent);
}
Return nvmlDeviceSetDefaultFanSpeed_v2(void *gpu, unsigned int fan) { return put(gpu, fan ? "fan_1" : "fan_0", 0); }
