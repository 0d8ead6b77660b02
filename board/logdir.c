// Every round walks the directory tree, makes runs of directories that are new, and loads all runs:
// each is one task, and as many threads as there are CPUs take tasks until none is left. The first
// round takes in the beginnings of all runs before it reads any to its end, so that a page shows
// them all at once. A round with nothing new costs a listing for each directory and an open for
// each file. Runs are never freed before the end, so that whoever looks at one needs no count; a
// directory that went away only leaves the list of those that are shown. Symbolic links are
// followed a few times at most, and one that leads back to a directory above it not at all.
#include "board/logdir.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/string_builder.h"
#include "board/run_index.h"
#include "board/watch.h"

#define DEPTH_LIMIT 32
#define LINK_LIMIT 4
#define THREAD_LIMIT 16
#define REST_MS 100
// The first round shows of each run so much before it reads any to its end, and tells of what it
// has read so often.
#define FIRST_BYTES ((uint64_t)32 << 10)
#define TELL_EVERY_NS ((int64_t)250000000)
// How much loading gives way to what answers, and to programs that train.
#define NICE 10
// A run that grows all the time writes its index file this often.
#define INDEX_EVERY_NS ((int64_t)30000000000)

typedef struct member_s {
  board_run_t* run;
  uint64_t seen;  // the last round that found it
} member_t;

struct board_logdir_s {
  board_logdir_options_t options;
  board_watch_t watch;
  leat_thread_t thread;
  bool has_thread;
  leat_mutex_t round_lock;  // held during a round
  leat_mutex_t lock;  // guards what follows
  member_t* members;
  size_t count, capacity;
  uint64_t round;  // number of the round under way, or of the last
  // The last round that found all that there was. Runs that it or a later one found are shown, so
  // that a round under way hides nothing.
  uint64_t whole_round;
  uint64_t version;
  int64_t told_ns;  // when the first round last told of what it has read
  bool is_loaded;
  atomic_bool is_ending;
};

// ---- Finding runs -------------------------------------------------------------------------------
typedef struct walk_s {
  board_logdir_t* logdir;
  const char* directory;
  int depth, links;  // directories and symbolic links on the way to it
  bool has_events;
  // Names of directories below this one, each with its NUL, one after the other.
  leat_string_builder_t below;
} walk_t;

static leat_status_t join(const char* directory, const char* name, char** out_path) {
  size_t room = strlen(directory) + strlen(name) + 2;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(), room, (void**)out_path));
  snprintf(*out_path, room, "%s/%s", directory, name);
  return leat_ok_status();
}

static bool is_link(const char* path) {
  struct stat entry;
  return !lstat(path, &entry) && S_ISLNK(entry.st_mode);
}

// Whether the symbolic link |path| leads to a directory that |directory| lies in, or is: a walk
// through it would come back to where it is.
static bool leads_back(const char* path, const char* directory) {
  char *to = realpath(path, NULL), *from = realpath(directory, NULL);
  size_t size = to ? strlen(to) : 0;
  bool is_above = to && from && !strncmp(from, to, size) &&
                  (!from[size] || from[size] == '/' || size == 1);
  free(to);
  free(from);
  return is_above;
}

// An entry whose name is an event file's is one; of the others the directories are wanted.
static leat_status_t visit(void* data, const char* name) {
  walk_t* walk = data;
  leat_file_system_t* fs = leat_file_system_default();
  leat_file_stat_t stat;
  char* path;
  if (strstr(name, "tfevents")) {
    walk->has_events = true;
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(join(walk->directory, name, &path));
  leat_status_t status = fs->vtable->stat(fs, path, &stat);
  if (!status && stat.is_directory && walk->depth < DEPTH_LIMIT) {
    bool linked = is_link(path);
    if (!linked || (walk->links < LINK_LIMIT && !leads_back(path, walk->directory))) {
      leat_string_builder_append(&walk->below, leat_string_view_make(path, strlen(path) + 1));
    }
  }
  // What went away in between, or may not be looked at, is passed over.
  leat_status_free(status);
  leat_allocator_free(leat_allocator_system(), path);
  return leat_ok_status();
}

static leat_status_t note_run(board_logdir_t* logdir, const char* directory) {
  size_t root = strlen(logdir->options.path);
  const char* name = directory[root] ? directory + root + 1 : ".";
  board_run_t* run;
  leat_mutex_lock(&logdir->lock);
  for (size_t i = 0; i < logdir->count; ++i) {
    if (strcmp(logdir->members[i].run->name, name)) continue;
    logdir->members[i].seen = logdir->round;
    leat_mutex_unlock(&logdir->lock);
    return leat_ok_status();
  }
  leat_status_t status = leat_allocator_grow_array(
      leat_allocator_system(), logdir->count + 1, sizeof *logdir->members,
      (void**)&logdir->members, &logdir->capacity);
  if (!status) status = board_run_create(name, directory, &run);
  if (!status) logdir->members[logdir->count++] = (member_t){run, logdir->round};
  leat_mutex_unlock(&logdir->lock);
  return status;
}

static leat_status_t walk_directory(board_logdir_t* logdir, const char* directory, int depth,
                                    int links) {
  leat_file_system_t* fs = leat_file_system_default();
  walk_t walk = {logdir, directory, depth, links, false, {0}};
  leat_string_builder_initialize(leat_allocator_system(), &walk.below);
  board_watch_add(&logdir->watch, directory);
  leat_status_t status = fs->vtable->list(fs, directory, visit, &walk);
  if (!status && walk.has_events) status = note_run(logdir, directory);
  if (!status) status = walk.below.status;
  leat_string_view_t below = leat_string_builder_view(&walk.below);
  for (size_t at = 0; !status && at < below.size; at += strlen(below.data + at) + 1) {
    const char* path = below.data + at;
    status = walk_directory(logdir, path, depth + 1, links + is_link(path));
  }
  walk.below.status = leat_ok_status();
  leat_string_builder_deinitialize(&walk.below);
  // A directory that is not there, or may not be read, has no runs.
  if (status && leat_status_code(status) != LEAT_RESOURCE_EXHAUSTED) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  return status;
}

// ---- Rounds -------------------------------------------------------------------------------------
typedef struct round_s {
  board_logdir_t* logdir;
  board_run_t** runs;
  size_t count;
  bool begins;  // only the beginnings are read
  atomic_size_t next;
  atomic_bool changed;
} round_t;

// Reads what the round wants of a run. Returns whether there was anything.
static bool load_run(board_run_t* run, const char* cache, bool begins) {
  bool changed = false, is_read = false;
  if (cache && !run->has_tried_index) {
    board_run_index_read(run, cache);
    run->has_tried_index = true;
    run->indexed_ns = leat_clock_now_ns() - INDEX_EVERY_NS;
    is_read = run->mapping != NULL;
  }
  // The beginnings of all runs are shown before the columns of any are checked.
  const bool is_sound = begins || board_run_index_check(run, cache);
  leat_status_t status = begins ? board_run_begin(run, FIRST_BYTES, &changed)
                                : board_run_load(run, &changed);
  if (status) {
    fprintf(stderr, "leat: run '%s': %s\n", run->name, leat_status_message(status));
    leat_status_free(status);
  }
  if (changed && !begins && cache && leat_clock_now_ns() - run->indexed_ns > INDEX_EVERY_NS) {
    board_run_index_write(run, cache);
    run->indexed_ns = leat_clock_now_ns();
  }
  return changed || is_read || !is_sound;
}

// Whoever looks sees the first round go on. Later ones are told of at their ends.
static void tell_progress(board_logdir_t* logdir) {
  int64_t now_ns = leat_clock_now_ns();
  leat_mutex_lock(&logdir->lock);
  bool tells = !logdir->is_loaded && now_ns - logdir->told_ns > TELL_EVERY_NS;
  if (tells) logdir->told_ns = now_ns;
  uint64_t version = logdir->version += tells;
  leat_mutex_unlock(&logdir->lock);
  if (tells && logdir->options.after_round) {
    logdir->options.after_round(logdir->options.data, version, true);
  }
}

static void load_runs(void* data) {
  round_t* round = data;
  size_t index;
  while ((index = atomic_fetch_add(&round->next, 1)) < round->count) {
    if (atomic_load(&round->logdir->is_ending)) return;
    if (!load_run(round->runs[index], round->logdir->options.cache, round->begins)) continue;
    atomic_store(&round->changed, true);
    tell_progress(round->logdir);
  }
}

// Loads all runs that are there, in the order in which they are listed, since those that stand
// first are looked at first. |*inout_changed| says whether there was anything.
static leat_status_t load_all(board_logdir_t* logdir, bool begins, bool* inout_changed) {
  round_t round = {.logdir = logdir, .begins = begins};
  leat_thread_t threads[THREAD_LIMIT];
  LEAT_RETURN_IF_ERROR(board_logdir_runs(logdir, &round.runs, &round.count));
  long cpus = sysconf(_SC_NPROCESSORS_ONLN);
  size_t wanted = cpus > THREAD_LIMIT ? THREAD_LIMIT : cpus > 1 ? (size_t)cpus : 1;
  size_t started = 0;
  if (wanted > round.count) wanted = round.count;
  while (started + 1 < wanted) {
    leat_status_t status = leat_thread_start("leat-board", load_runs, &round, &threads[started]);
    leat_status_free(status);
    if (status) break;
    ++started;
  }
  load_runs(&round);
  while (started) leat_thread_join(threads[--started]);
  leat_allocator_free(leat_allocator_system(), round.runs);
  *inout_changed |= atomic_load(&round.changed);
  return leat_ok_status();
}

// How many runs are shown. The lock is held.
static size_t count_shown(const board_logdir_t* logdir) {
  size_t count = 0;
  for (size_t i = 0; i < logdir->count; ++i) {
    count += logdir->members[i].seen >= logdir->whole_round;
  }
  return count;
}

// Makes this thread, and those that it starts, give way to others.
static void give_way(void) {
#ifdef __linux__
  // There the value is the thread's, and elsewhere that of the whole process.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
#endif
}

// |gives_way|: this thread only follows the log, and gives way to others once each run is begun. A
// page waits for what is read until then.
static leat_status_t round_locked(board_logdir_t* logdir, bool gives_way) {
  bool changed = false;
  leat_mutex_lock(&logdir->lock);
  const size_t before = logdir->count, shown_before = count_shown(logdir);
  ++logdir->round;
  leat_mutex_unlock(&logdir->lock);
  LEAT_RETURN_IF_ERROR(walk_directory(logdir, logdir->options.path, 0, 0));
  leat_mutex_lock(&logdir->lock);
  logdir->whole_round = logdir->round;
  const bool is_first = !logdir->is_loaded;
  leat_mutex_unlock(&logdir->lock);
  if (is_first) LEAT_RETURN_IF_ERROR(load_all(logdir, true, &changed));
  if (is_first && gives_way) give_way();
  LEAT_RETURN_IF_ERROR(load_all(logdir, false, &changed));
  leat_mutex_lock(&logdir->lock);
  changed |= logdir->count != before || count_shown(logdir) != shown_before || is_first;
  logdir->is_loaded = true;
  uint64_t version = logdir->version += changed;
  leat_mutex_unlock(&logdir->lock);
  if (logdir->options.after_round) {
    logdir->options.after_round(logdir->options.data, version, changed);
  }
  return leat_ok_status();
}

static leat_status_t do_round(board_logdir_t* logdir, bool gives_way) {
  leat_mutex_lock(&logdir->round_lock);
  leat_status_t status = round_locked(logdir, gives_way);
  leat_mutex_unlock(&logdir->round_lock);
  return status;
}

leat_status_t board_logdir_round(board_logdir_t* logdir) { return do_round(logdir, false); }

// ---- Deleting -----------------------------------------------------------------------------------
// A leat_file_name_fn_t: notes the path of an event file, with its NUL.
static leat_status_t note_event_file(void* data, const char* name) {
  walk_t* walk = data;
  char* path;
  if (!strstr(name, "tfevents")) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(join(walk->directory, name, &path));
  leat_string_builder_append(&walk->below, leat_string_view_make(path, strlen(path) + 1));
  leat_allocator_free(leat_allocator_system(), path);
  return leat_ok_status();
}

// Removes what makes the directory a run. Names are gathered first, because a listing that is read
// while files go may pass over some.
static leat_status_t remove_event_files(const board_run_t* run) {
  leat_file_system_t* fs = leat_file_system_default();
  walk_t walk = {.directory = run->directory};
  leat_string_builder_initialize(leat_allocator_system(), &walk.below);
  leat_status_t status = fs->vtable->list(fs, run->directory, note_event_file, &walk);
  if (!status) status = leat_status_clone(walk.below.status);
  const leat_string_view_t paths = leat_string_builder_view(&walk.below);
  for (size_t at = 0; !status && at < paths.size; at += strlen(paths.data + at) + 1) {
    status = fs->vtable->remove(fs, paths.data + at);
  }
  leat_string_builder_deinitialize(&walk.below);
  return status;
}

// The directory stays where something else is in it: the file system says so, and that is fine.
static leat_status_t delete_locked(board_logdir_t* logdir, board_run_t* run) {
  leat_file_system_t* fs = leat_file_system_default();
  LEAT_RETURN_IF_ERROR(remove_event_files(run));
  if (logdir->options.cache) board_run_index_remove(run, logdir->options.cache);
  if (strcmp(run->name, ".")) leat_status_free(fs->vtable->remove(fs, run->directory));
  leat_mutex_lock(&run->lock);
  board_run_forget(run);
  leat_mutex_unlock(&run->lock);
  return round_locked(logdir, false);
}

leat_status_t board_logdir_delete_run(board_logdir_t* logdir, leat_string_view_t name) {
  leat_mutex_lock(&logdir->round_lock);  // nobody reads the files meanwhile
  board_run_t* run = board_logdir_find(logdir, name);
  leat_status_t status =
      run ? delete_locked(logdir, run)
          : leat_make_status(LEAT_NOT_FOUND, "Not found: there is no run '%.*s'",
                             LEAT_SV_ARG(name));
  leat_mutex_unlock(&logdir->round_lock);
  return status;
}

// Programs that train write all the time, and a round looks at every file: after each there is a
// rest, of ten times as long as it took, so that following costs a tenth of a processor at most.
static void follow(void* data) {
  board_logdir_t* logdir = data;
  while (!atomic_load(&logdir->is_ending)) {
    int64_t begin = leat_clock_now_ns();
    leat_status_t status = do_round(logdir, true);
    if (status) fprintf(stderr, "leat: %s\n", leat_status_message(status));
    leat_status_free(status);
    int64_t rest_ms = (leat_clock_now_ns() - begin) / 100000;
    if (rest_ms > (int64_t)logdir->options.poll_ms) rest_ms = logdir->options.poll_ms;
    board_watch_pause(&logdir->watch, rest_ms < REST_MS ? REST_MS : (uint32_t)rest_ms);
    board_watch_wait(&logdir->watch, logdir->options.poll_ms);
  }
}

leat_status_t board_logdir_create(const board_logdir_options_t* options,
                                  board_logdir_t** out_logdir) {
  board_logdir_t* logdir = NULL;
  *out_logdir = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &logdir));
  logdir->options = *options;
  leat_mutex_initialize(&logdir->lock);
  leat_mutex_initialize(&logdir->round_lock);
  if (options->cache) {
    // Without the directory nothing can be written to it, which is no reason not to serve.
    leat_status_free(
        leat_file_make_directories(leat_file_system_default(), options->cache));
  }
  leat_status_t status = board_watch_initialize(&logdir->watch);
  if (!status) {
    status = leat_thread_start("leat-board", follow, logdir, &logdir->thread);
    logdir->has_thread = !status;
  }
  if (status) {
    board_logdir_free(logdir);
    return status;
  }
  *out_logdir = logdir;
  return status;
}

void board_logdir_stop(board_logdir_t* logdir) {
  if (!logdir || !logdir->has_thread) return;
  atomic_store(&logdir->is_ending, true);
  board_watch_wake(&logdir->watch);
  leat_thread_join(logdir->thread);
  logdir->has_thread = false;
}

void board_logdir_free(board_logdir_t* logdir) {
  if (!logdir) return;
  board_logdir_stop(logdir);
  board_watch_deinitialize(&logdir->watch);
  for (size_t i = 0; i < logdir->count; ++i) board_run_free(logdir->members[i].run);
  leat_allocator_free(leat_allocator_system(), logdir->members);
  leat_mutex_deinitialize(&logdir->lock);
  leat_mutex_deinitialize(&logdir->round_lock);
  leat_allocator_free(leat_allocator_system(), logdir);
}

// ---- Looking ------------------------------------------------------------------------------------
typedef struct run_key_s {
  board_run_t* run;
  double time;
} run_key_t;

static int compare_keys(const void* a, const void* b) {
  const run_key_t *x = a, *y = b;
  if (x->time != y->time) return x->time < y->time ? -1 : 1;
  return strcmp(x->run->name, y->run->name);
}

// Copies the runs that are there with their first times. The lock is held.
static leat_status_t copy_keys(board_logdir_t* logdir, run_key_t** out_keys, size_t* out_count) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), logdir->count + 1, out_keys));
  for (size_t i = 0; i < logdir->count; ++i) {
    board_run_t* run = logdir->members[i].run;
    if (logdir->members[i].seen < logdir->whole_round) continue;
    board_run_lock(run);
    double time = run->has_events ? run->first_wall_time : HUGE_VAL;
    leat_mutex_unlock(&run->lock);
    (*out_keys)[(*out_count)++] = (run_key_t){run, time};
  }
  return leat_ok_status();
}

leat_status_t board_logdir_runs(board_logdir_t* logdir, board_run_t*** out_runs,
                                size_t* out_count) {
  run_key_t* keys = NULL;
  board_run_t** runs = NULL;
  *out_count = 0;
  leat_mutex_lock(&logdir->lock);
  leat_status_t status = copy_keys(logdir, &keys, out_count);
  leat_mutex_unlock(&logdir->lock);
  if (!status) status = LEAT_ALLOCATE(leat_allocator_system(), *out_count + 1, &runs);
  if (!status) {
    qsort(keys, *out_count, sizeof *keys, compare_keys);
    for (size_t i = 0; i < *out_count; ++i) runs[i] = keys[i].run;
  }
  leat_allocator_free(leat_allocator_system(), keys);
  *out_runs = runs;
  return status;
}

board_run_t* board_logdir_find(board_logdir_t* logdir, leat_string_view_t name) {
  board_run_t* found = NULL;
  leat_mutex_lock(&logdir->lock);
  for (size_t i = 0; i < logdir->count && !found; ++i) {
    board_run_t* run = logdir->members[i].run;
    bool is_there = logdir->members[i].seen >= logdir->whole_round;
    if (is_there && leat_string_view_equals(name, run->name)) found = run;
  }
  leat_mutex_unlock(&logdir->lock);
  return found;
}

const char* board_logdir_path(const board_logdir_t* logdir) { return logdir->options.path; }

uint64_t board_logdir_version(board_logdir_t* logdir) {
  leat_mutex_lock(&logdir->lock);
  uint64_t version = logdir->version;
  leat_mutex_unlock(&logdir->lock);
  return version;
}

bool board_logdir_is_loaded(board_logdir_t* logdir) {
  leat_mutex_lock(&logdir->lock);
  bool is_loaded = logdir->is_loaded;
  leat_mutex_unlock(&logdir->lock);
  return is_loaded;
}
