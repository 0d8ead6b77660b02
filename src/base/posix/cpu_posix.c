// How many CPUs this process may use, and how large the caches are. The thread pool makes as many
// threads as there are usable CPUs, so in a container the answer must be the container's share and
// not the machine's: 64 threads on 2 granted CPUs are stopped by the kernel most of the time, with
// locks in their hands.
//
// The number is that of the affinity mask, cut to the CPU time that the control groups grant
// (`cpu.max` of version 2, `cpu.cfs_quota_us` of version 1), rounded up to whole CPUs. The
// process's own group and all groups above it count, since each may hold a quota of its own. What
// cannot be read counts as no limit. All answers are read once and kept, because reading them opens
// several files.
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cpu.h"

#define PATH_LIMIT 4096

// The CPUs in the affinity mask. The kernel refuses a set that is smaller than its own, so larger
// ones are tried until one fits.
static int affinity_count(void) {
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(cpus);
    if (!set) break;
    size_t size = CPU_ALLOC_SIZE(cpus);
    int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

static bool read_first_line(const char* directory, const char* name, char* line, int size) {
  char path[PATH_LIMIT];
  int length = snprintf(path, sizeof(path), "%s/%s", directory, name);
  if (length < 0 || length >= (int)sizeof(path)) return false;
  FILE* file = fopen(path, "re");
  if (!file) return false;
  bool ok = fgets(line, size, file) != NULL;
  fclose(file);
  return ok;
}

// The CPUs that |quota| microseconds in each |period| are worth, at most |count|.
static int rounded_up(int64_t quota, int64_t period, int count) {
  if (quota <= 0 || period <= 0) return count;
  int64_t cpus = (quota + period - 1) / period;
  return cpus < count ? (int)cpus : count;
}

static int quota_v2(const char* directory, int count) {
  char line[128];
  long long quota = 0, period = 0;
  if (!read_first_line(directory, "cpu.max", line, sizeof(line))) return count;
  if (sscanf(line, "%lld %lld", &quota, &period) != 2) return count;  // "max 100000"
  return rounded_up(quota, period, count);
}

static int quota_v1(const char* directory, int count) {
  char quota[64], period[64];
  if (!read_first_line(directory, "cpu.cfs_quota_us", quota, sizeof(quota))) return count;
  if (!read_first_line(directory, "cpu.cfs_period_us", period, sizeof(period))) return count;
  return rounded_up(atoll(quota), atoll(period), count);
}

// The least quota of the group |group| below |root| and of all groups above it.
static int quota_of_group(const char* root, const char* group,
                          int (*quota)(const char* directory, int count), int count) {
  char directory[PATH_LIMIT];
  int length = snprintf(directory, sizeof(directory), "%s%s", root, group);
  if (length < 0 || length >= (int)sizeof(directory)) return quota(root, count);
  size_t root_size = strlen(root);
  for (;;) {
    count = quota(directory, count);
    char* slash = strrchr(directory, '/');
    if (!slash || slash < directory + root_size) return count;
    *slash = 0;
  }
}

// One line of /proc/self/cgroup: "<id>:<controllers>:<path>"; version 2 has no controllers.
static int quota_of_line(char* line, int count) {
  line[strcspn(line, "\n")] = 0;
  char* controllers = strchr(line, ':');
  char* group = controllers ? strchr(controllers + 1, ':') : NULL;
  if (!group) return count;
  ++controllers;
  *group++ = 0;
  if (!*controllers) {
    count = quota_of_group("/sys/fs/cgroup", group, quota_v2, count);
    return quota_of_group("/sys/fs/cgroup/unified", group, quota_v2, count);
  }
  for (char *rest = controllers, *name; (name = strsep(&rest, ","));) {
    if (strcmp(name, "cpu")) continue;
    count = quota_of_group("/sys/fs/cgroup/cpu", group, quota_v1, count);
    return quota_of_group("/sys/fs/cgroup/cpu,cpuacct", group, quota_v1, count);
  }
  return count;
}

static int usable_count(void) {
  int count = affinity_count();
  FILE* file = fopen("/proc/self/cgroup", "re");
  if (!file) return count;
  char line[PATH_LIMIT];
  while (fgets(line, sizeof(line), file)) count = quota_of_line(line, count);
  fclose(file);
  return count < 1 ? 1 : count;
}

int leat_cpu_count(void) {
  static _Atomic int cached;
  int count = atomic_load_explicit(&cached, memory_order_relaxed);
  if (count) return count;
  count = usable_count();
  atomic_store_explicit(&cached, count, memory_order_relaxed);
  return count;
}

static size_t cache_bytes(_Atomic size_t* cached, int name, size_t otherwise) {
  size_t bytes = atomic_load_explicit(cached, memory_order_relaxed);
  if (bytes) return bytes;
  long answer = sysconf(name);
  bytes = answer > 0 ? (size_t)answer : otherwise;
  atomic_store_explicit(cached, bytes, memory_order_relaxed);
  return bytes;
}

size_t leat_cpu_l1_bytes(void) {
  static _Atomic size_t cached;
  return cache_bytes(&cached, _SC_LEVEL1_DCACHE_SIZE, 32 * 1024);
}

size_t leat_cpu_l2_bytes(void) {
  static _Atomic size_t cached;
  return cache_bytes(&cached, _SC_LEVEL2_CACHE_SIZE, 256 * 1024);
}
