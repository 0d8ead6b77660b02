// Names of temporary files, and the removal of those that dead processes left behind.
//
// Whoever publishes a file writes it beside its final name and renames it when it is whole. A
// process that is killed on the way leaves the temporary file, which nobody reads and which may be
// as large as a model. The next save removes it, and for that it must tell the file of a dead
// process from one that is being written just now. So the name says who writes:
//
//   .leat-<host>-<process>-<run>-<number>.tmp     all numbers hexadecimal
//
// <host> is a fingerprint of the host's name, <run> is drawn once by each process: it tells two
// processes apart that had the same number one after the other, as in a container that is started
// again and gets number 1 each time. A file of this host is dead when its process is. Processes of
// another host cannot be asked for; their files count as dead when nobody wrote to them for a day.
// Should a file be removed that was in use after all, its writer's rename fails and says so: what
// was published before stays. leat_file_write_atomically and the checkpoint writers use the names,
// and the checkpoint writers sweep.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/file_system.h"
#include "base/fingerprint.h"
#include "base/host.h"
#include "base/random.h"

#define PREFIX ".leat-"
#define SUFFIX ".tmp"
#define DAY_NS (24 * 3600 * 1000000000ll)

typedef struct writer_s {
  uint64_t host;
  uint64_t process;
  uint64_t run;
} writer_t;

// The number that this process drew: the first thread to ask draws it for all.
static uint64_t this_run(void) {
  static _Atomic uint64_t drawn;
  uint64_t run = atomic_load(&drawn);
  if (run) return run;
  uint64_t candidate = leat_random_seed() | 1;
  return atomic_compare_exchange_strong(&drawn, &run, candidate) ? candidate : run;
}

static writer_t this_writer(void) {
  char name[256];
  leat_host_name(name, sizeof name);
  return (writer_t){leat_fingerprint64(leat_string_view_from(name)),
                    (uint64_t)leat_host_process_id(), this_run()};
}

leat_status_t leat_file_temporary_path(const char* path, leat_arena_t* arena,
                                       const char** out_path) {
  static _Atomic uint64_t next;
  const char* slash = strrchr(path, '/');
  int directory = slash ? (int)(slash - path) + 1 : 0;
  writer_t writer = this_writer();
  leat_string_view_t text = {NULL, 0};
  // The name does not contain that of |path|, which may be as long as names can be.
  leat_status_t status = leat_arena_print(
      arena, &text, "%.*s" PREFIX "%llx-%llx-%llx-%llx" SUFFIX, directory, path,
      (unsigned long long)writer.host, (unsigned long long)writer.process,
      (unsigned long long)writer.run, (unsigned long long)atomic_fetch_add(&next, 1));
  *out_path = text.data;
  return status;
}

// Reads the writer out of a temporary file's name; false when |name| is none.
static bool parse_writer(const char* name, writer_t* out_writer) {
  uint64_t numbers[4];
  if (strncmp(name, PREFIX, strlen(PREFIX)) != 0) return false;
  const char* next = name + strlen(PREFIX);
  for (int i = 0; i < 4; ++i) {
    char* end;
    numbers[i] = strtoull(next, &end, 16);
    if (end == next || (i < 3 && *end != '-')) return false;
    next = end + (i < 3);
  }
  *out_writer = (writer_t){numbers[0], numbers[1], numbers[2]};
  return strcmp(next, SUFFIX) == 0;
}

typedef struct sweep_s {
  leat_file_system_t* fs;
  const char* directory;
  writer_t self;
  leat_arena_t arena;
  const char** paths;  // of files to be removed
  size_t count;
  size_t capacity;
} sweep_t;

static bool is_old(sweep_t* sweep, const char* path) {
  leat_file_stat_t stat;
  leat_status_t status = sweep->fs->vtable->stat(sweep->fs, path, &stat);
  bool known = !status;
  leat_status_free(status);
  return known && stat.modified_ns < leat_clock_wall_ns() - DAY_NS;
}

// Notes the file |name| for removal if its writer is dead. With the number of this process, it is
// dead when it was written by an earlier run.
static leat_status_t note_if_dead(void* data, const char* name) {
  sweep_t* sweep = data;
  writer_t writer;
  leat_string_view_t path;
  if (!parse_writer(name, &writer)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&sweep->arena, &path, "%s/%s", sweep->directory, name));
  bool is_dead;
  if (writer.host != sweep->self.host) {
    is_dead = is_old(sweep, path.data);
  } else if (writer.process == sweep->self.process) {
    is_dead = writer.run != sweep->self.run;
  } else {
    is_dead = !leat_host_process_is_alive((int64_t)writer.process);
  }
  if (!is_dead) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), sweep->count + 1, &sweep->paths, &sweep->capacity));
  sweep->paths[sweep->count++] = path.data;
  return leat_ok_status();
}

void leat_file_sweep_temporaries(leat_file_system_t* fs, const char* directory) {
  sweep_t sweep = {.fs = fs, .directory = directory, .self = this_writer()};
  leat_arena_initialize(leat_allocator_system(), 0, &sweep.arena);
  // Removing waits until the listing is over: a directory that changes may be listed wrongly.
  leat_status_free(fs->vtable->list(fs, directory, note_if_dead, &sweep));
  for (size_t i = 0; i < sweep.count; ++i) {
    leat_status_free(fs->vtable->remove(fs, sweep.paths[i]));
  }
  leat_allocator_free(leat_allocator_system(), sweep.paths);
  leat_arena_deinitialize(&sweep.arena);
}
