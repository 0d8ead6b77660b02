// A recording is read when it is first asked for, which takes some seconds for ten million slices,
// and stays until two others were asked for since (two are compared), or its file changes. With a
// cache directory an index file is made of it, which is used by the next start; a recording that
// cannot be indexed (a full disk) is read into memory. Whoever uses one is counted, and so is the
// store; one that was replaced lives until its last user releases it.
//
// The store's lock is held for a few instructions. Whoever reads or verifies a recording writes a
// reading into the store's list meanwhile; who asks for the same one waits for that and gets its
// result, while others go on. A reading lives until the last who waited has left it.
//
// A recording that was read without its delays goes to the list of open ones, of which the finder,
// a thread of the store's, takes the newest, finds its delays and takes it off. Until then the list
// is a user, and who asks for the recording gets the one in the list, even if others were asked for
// since, so that nothing is found twice. Those that nobody looks at any more, and that the finder
// has not begun with, leave the list when another one is read: who goes through many recordings, or
// looks at one that is being written, does not gather them in memory. The finder gives way to those
// who answer.
//
// Names come from clients: only paths below the log directory without ".." that end as recordings
// do are opened. JSON is a recording where it begins with the list of events, as ours does, since
// there is much other JSON.
#include "board/trace_store.h"

#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/sync.h"
#include "base/thread.h"
#include "board/trace_delays.h"
#include "board/trace_file.h"
#include "board/trace_index.h"
#include "trace/timeline_image.h"

#define SUFFIX LEAT_SV(".perfetto-trace")
#define JSON_SUFFIX LEAT_SV(".json")
#define JSON_HEAD LEAT_SV("{\"traceEvents\":[")
#define MAX_DEPTH 16     // of directories
#define MAX_FILES 10000  // of a list
// The arrays that the slices of a recording may take in memory while it is indexed. Ten million
// slices fill 440 MB; as arrays grow by doubling, these are held to the last one with some more.
#define LIMIT_BYTES ((size_t)1 << 30)
// Without a cache directory a recording whose file is larger goes to a temporary file.
#define MAX_MEMORY_BYTES ((int64_t)512 << 20)
#define NICE 10  // of the finder
#define KEPT 2   // recordings that nobody uses

// A recording that somebody reads or verifies just now.
typedef struct reading_s {
  struct reading_s* next;
  const char* path;  // of who reads
  leat_file_stat_t stat;
  uint32_t users;  // who reads, and those who wait
  bool is_done;    // and no longer in the list
  leat_status_t status;
  board_stored_trace_t* trace;  // counts the reading as a user; NULL after a failure
} reading_t;

struct board_trace_store_s {
  const char* cache;
  leat_mutex_t lock;
  leat_condition_t done;  // a reading is, or what the finder did
  board_stored_trace_t* kept[KEPT];  // who was asked for last stands first; NULL: none
  reading_t* readings;
  board_stored_trace_t* open;  // the newest first
  board_stored_trace_t* sought;  // of these the one whose delays are being found
  leat_condition_t opened;     // or ending
  _Atomic bool is_ending;
  leat_thread_t finder;
};

// One user less; gives the trace if it was the last, to be freed without the lock.
static board_stored_trace_t* let_go(board_stored_trace_t* trace) {
  if (!trace) return NULL;
  LEAT_DCHECK(trace->users > 0);
  return --trace->users ? NULL : trace;
}

static void free_trace(board_stored_trace_t* trace) {
  if (!trace) return;
  LEAT_DCHECK(!trace->users);
  board_trace_delays_forget(trace);
  leat_timeline_free(trace->timeline);
  board_trace_file_unmap(&trace->index);
  leat_status_free(trace->unfound);
  leat_allocator_free(leat_allocator_system(), trace->names);
  leat_allocator_free(leat_allocator_system(), trace->path);
  leat_allocator_free(leat_allocator_system(), trace);
}

static void free_store(board_trace_store_t* store) {
  leat_condition_deinitialize(&store->opened);
  leat_condition_deinitialize(&store->done);
  leat_mutex_deinitialize(&store->lock);
  leat_allocator_free(leat_allocator_system(), store);
}

// ---- Files --------------------------------------------------------------------------------------

typedef struct walk_s {
  leat_arena_t* arena;
  const char* logdir;
  leat_string_view_t directory;  // below it, "" or with a slash at the end
  int depth;
  board_trace_file_t* files;
  size_t count, capacity;
} walk_t;

static bool has_suffix(leat_string_view_t name) {
  return leat_string_view_ends_with(name, SUFFIX) || leat_string_view_ends_with(name, JSON_SUFFIX);
}

// Whether a file with one of the two endings can be a recording.
static bool is_recording(leat_string_view_t name, const char* path) {
  char head[sizeof "{\"traceEvents\":["];
  leat_file_t* file = NULL;
  size_t got = 0;
  if (!leat_string_view_ends_with(name, JSON_SUFFIX)) return has_suffix(name);
  leat_status_t status = leat_file_open(leat_file_system_default(), path, LEAT_FILE_READ,
                                        leat_allocator_system(), &file);
  if (!status) status = file->vtable->read_at(file, 0, head, JSON_HEAD.size, &got);
  leat_status_free(status);
  leat_status_free(leat_file_close(file));
  return !status && leat_string_view_equal(leat_string_view_make(head, got), JSON_HEAD);
}

static leat_status_t visit(void* data, const char* name) {
  walk_t* walk = data;
  leat_file_system_t* fs = leat_file_system_default();
  leat_string_view_t path, below;
  leat_file_stat_t file;
  struct stat entry;
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(walk->arena, &below, "%.*s%s", LEAT_SV_ARG(walk->directory), name));
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(walk->arena, &path, "%s/%.*s", walk->logdir, LEAT_SV_ARG(below)));
  if (lstat(path.data, &entry) || walk->count == MAX_FILES) return leat_ok_status();
  if (S_ISDIR(entry.st_mode) && walk->depth < MAX_DEPTH) {
    const leat_string_view_t outer = walk->directory;
    LEAT_RETURN_IF_ERROR(
        leat_arena_print(walk->arena, &walk->directory, "%.*s/", LEAT_SV_ARG(below)));
    ++walk->depth;
    // What may not be read has no recordings.
    leat_status_free(fs->vtable->list(fs, path.data, visit, walk));
    --walk->depth;
    walk->directory = outer;
  }
  if (!S_ISREG(entry.st_mode) || !has_suffix(below) || !is_recording(below, path.data)) {
    return leat_ok_status();
  }
  leat_status_t status = fs->vtable->stat(fs, path.data, &file);
  leat_status_free(status);
  if (status) return leat_ok_status();  // it went away
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), walk->count + 1, &walk->files,
                                 &walk->capacity));
  walk->files[walk->count++] = (board_trace_file_t){below, file};
  return leat_ok_status();
}

static int compare_files(const void* a, const void* b) {
  const board_trace_file_t *x = a, *y = b;
  return leat_string_view_compare(x->name, y->name);
}

leat_status_t board_trace_store_list(const char* logdir, leat_arena_t* arena,
                                     board_trace_file_t** out_files, size_t* out_count) {
  leat_file_system_t* fs = leat_file_system_default();
  walk_t walk = {.arena = arena, .logdir = logdir};
  leat_status_free(fs->vtable->list(fs, logdir, visit, &walk));
  leat_status_t status = LEAT_NEW(arena, walk.count + 1, out_files);
  if (!status && walk.count) {
    memcpy(*out_files, walk.files, walk.count * sizeof **out_files);
    qsort(*out_files, walk.count, sizeof **out_files, compare_files);
  }
  *out_count = walk.count;
  leat_allocator_free(leat_allocator_system(), walk.files);
  return status;
}

// Whether a client may ask for the file: a relative path that stays below the log directory.
static bool is_name(leat_string_view_t name) {
  if (!has_suffix(name) || leat_string_view_find(name, 0) != SIZE_MAX) {
    return false;
  }
  for (leat_string_view_t rest = name; rest.size;) {
    size_t size = leat_string_view_find(rest, '/');
    if (size > rest.size) size = rest.size;
    const leat_string_view_t part = leat_string_view_make(rest.data, size);
    if (!part.size || leat_string_view_equals(part, ".") || leat_string_view_equals(part, "..")) {
      return false;
    }
    rest = leat_string_view_from_index(rest, size + 1);
  }
  return true;
}

// ---- Recordings ---------------------------------------------------------------------------------

leat_status_t board_trace_count_names(board_stored_trace_t* trace) {
  const leat_timeline_t* timeline = trace->timeline;
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), timeline->name_count + 1, &trace->names));
  for (uint32_t r = 0; r < timeline->row_count; ++r) {
    for (uint32_t l = 0; l < timeline->rows[r]->lane_count; ++l) {
      const leat_lane_t* lane = &timeline->rows[r]->lanes[l];
      for (size_t i = 0; i < lane->count; ++i) {
        const int64_t length = lane->slices[i].end_ns - lane->slices[i].begin_ns;
        board_trace_name_t* name = &trace->names[lane->slices[i].name];
        name->total_ns += length;
        if (name->count++ && length <= name->longest_ns) continue;
        name->longest_ns = length;
        name->row = r;
        name->lane = l;
        name->slice = i;
      }
    }
  }
  return leat_ok_status();
}

// How a recording is to be read.
typedef struct board_trace_need_s {
  size_t verify_bytes;  // of board_trace_index_read
  bool is_anew;         // its index is damaged
} board_trace_need_t;

static leat_status_t read_into_memory(board_stored_trace_t* trace) {
  LEAT_RETURN_IF_ERROR(
      leat_timeline_read(leat_file_system_default(), trace->path, &trace->timeline));
  LEAT_RETURN_IF_ERROR(board_trace_count_names(trace));
  trace->is_verified = true;
  return leat_ok_status();
}

// Whatever keeps an index from being made, the recording may still be read into memory; and where
// the recording is at fault, that tells why.
static leat_status_t fill_trace(board_stored_trace_t* trace, const char* cache,
                                const board_trace_need_t* need) {
  if (cache && !need->is_anew && board_trace_index_read(trace, cache, need->verify_bytes)) {
    return leat_ok_status();
  }
  if (!cache && trace->stat.size_bytes <= MAX_MEMORY_BYTES) return read_into_memory(trace);
  leat_status_t status = board_trace_index_make(trace, cache, LIMIT_BYTES);
  if (!status) return status;
  leat_status_free(status);
  return read_into_memory(trace);
}

static leat_status_t read_trace(const char* path, const leat_file_stat_t* stat, const char* cache,
                                const board_trace_need_t* need,
                                board_stored_trace_t** out_trace) {
  leat_allocator_t* a = leat_allocator_system();
  board_stored_trace_t* trace;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, 1, &trace));
  trace->users = 1;
  trace->stat = *stat;
  leat_status_t status = leat_allocator_clone_string(a, path, strlen(path), &trace->path);
  if (!status) status = fill_trace(trace, cache, need);
  if (status) {
    free_trace(let_go(trace));
    return status;
  }
  *out_trace = trace;
  return leat_ok_status();
}

leat_status_t board_trace_read(const char* path, board_stored_trace_t** out_trace) {
  leat_file_system_t* fs = leat_file_system_default();
  const board_trace_need_t need = {.verify_bytes = SIZE_MAX};
  leat_file_stat_t stat;
  *out_trace = NULL;
  LEAT_RETURN_IF_ERROR(fs->vtable->stat(fs, path, &stat));
  LEAT_RETURN_IF_ERROR(read_trace(path, &stat, NULL, &need, out_trace));
  board_stored_trace_t* trace = *out_trace;
  leat_status_t status =
      board_trace_delays_find(trace, NULL, NULL, &trace->delays, &trace->delays_file);
  if (!status) return status;
  board_trace_free(trace);
  *out_trace = NULL;
  return status;
}

void board_trace_free(board_stored_trace_t* trace) {
  LEAT_DCHECK(!trace || trace->users == 1);
  free_trace(let_go(trace));
}

static bool is_same_file(const leat_file_stat_t* a, const leat_file_stat_t* b) {
  return a->size_bytes == b->size_bytes && a->modified_ns == b->modified_ns;
}

static bool is_same(const board_stored_trace_t* trace, const char* path,
                    const leat_file_stat_t* stat) {
  return trace && !strcmp(trace->path, path) && is_same_file(&trace->stat, stat);
}

// ---- Finding delays -----------------------------------------------------------------------------
// All but the thread itself are called with the store's lock.

// Takes a user off. The lock is let go meanwhile if the trace is freed, which can take long.
static void release(board_trace_store_t* store, board_stored_trace_t* trace) {
  board_stored_trace_t* unused = let_go(trace);
  if (!unused) return;
  leat_mutex_unlock(&store->lock);
  free_trace(unused);
  leat_mutex_lock(&store->lock);
}

static bool is_open(const board_stored_trace_t* trace) { return !trace->delays && !trace->unfound; }

// Hands a trace without delays to the finder.
static void open_trace(board_trace_store_t* store, board_stored_trace_t* trace) {
  LEAT_DCHECK(is_open(trace) && trace->is_verified);
  ++trace->users;
  trace->next_open = store->open;
  store->open = trace;
  leat_condition_notify_all(&store->opened);
}

// Takes those off the list that have no other user, but for the one whose delays are being found.
static void close_unused(board_trace_store_t* store) {
  board_stored_trace_t *unused = NULL, *next;
  for (board_stored_trace_t** link = &store->open; *link;) {
    board_stored_trace_t* trace = *link;
    if (trace == store->sought || trace->users > 1) {
      link = &trace->next_open;
      continue;
    }
    *link = trace->next_open;
    trace->next_open = unused;
    unused = trace;
  }
  for (; unused; unused = next) {
    next = unused->next_open;
    release(store, unused);
  }
}

// What the store has of a recording, one that it keeps or an open one; NULL: nothing.
static board_stored_trace_t* find_trace(const board_trace_store_t* store, const char* path,
                                        const leat_file_stat_t* stat) {
  board_stored_trace_t* trace;
  for (int i = 0; i < KEPT; ++i) {
    if (is_same(store->kept[i], path, stat)) return store->kept[i];
  }
  for (trace = store->open; trace && !is_same(trace, path, stat);) trace = trace->next_open;
  return trace;
}

// Finds the delays of an open trace, without the lock, and closes it.
static void find_delays(board_trace_store_t* store, board_stored_trace_t* trace) {
  leat_delays_t* delays = NULL;
  board_trace_mapping_t file;
  store->sought = trace;
  leat_mutex_unlock(&store->lock);
  leat_status_t status =
      board_trace_delays_find(trace, store->cache, &store->is_ending, &delays, &file);
  leat_mutex_lock(&store->lock);
  store->sought = NULL;
  trace->delays = delays;
  trace->delays_file = file;
  trace->unfound = status;
  board_stored_trace_t** link = &store->open;
  while (*link != trace) link = &(*link)->next_open;
  *link = trace->next_open;
  leat_condition_notify_all(&store->done);
  release(store, trace);
}

static void run_finder(void* data) {
  board_trace_store_t* store = data;
#ifdef __linux__
  // There the value is the thread's and of those that it starts; elsewhere the whole process's.
  setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + NICE);
#endif
  leat_mutex_lock(&store->lock);
  while (!store->is_ending) {
    if (store->open) {
      find_delays(store, store->open);
    } else {
      leat_condition_wait(&store->opened, &store->lock);
    }
  }
  leat_mutex_unlock(&store->lock);
}

// Waits until the delays of a trace that the caller uses are found; the error is why they are not.
static leat_status_t await_delays(board_trace_store_t* store, const board_stored_trace_t* trace) {
  while (is_open(trace)) leat_condition_wait(&store->done, &store->lock);
  return leat_status_clone(trace->unfound);
}

leat_status_t board_trace_store_delays(board_trace_store_t* store,
                                       const board_stored_trace_t* trace,
                                       const leat_delays_t** out_delays) {
  leat_mutex_lock(&store->lock);
  *out_delays = trace->delays;
  leat_status_t status = leat_status_clone(trace->unfound);
  leat_mutex_unlock(&store->lock);
  return status;
}

// ---- The store ----------------------------------------------------------------------------------

leat_status_t board_trace_store_create(const char* cache, board_trace_store_t** out_store) {
  board_trace_store_t* store;
  *out_store = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &store));
  store->cache = cache;
  leat_mutex_initialize(&store->lock);
  leat_condition_initialize(&store->done);
  leat_condition_initialize(&store->opened);
  leat_status_t status = leat_thread_start("leat-finder", run_finder, store, &store->finder);
  if (status) {
    free_store(store);
    return status;
  }
  *out_store = store;
  return leat_ok_status();
}

void board_trace_store_free(board_trace_store_t* store) {
  if (!store) return;
  leat_mutex_lock(&store->lock);
  store->is_ending = true;
  leat_condition_notify_all(&store->opened);
  leat_mutex_unlock(&store->lock);
  leat_thread_join(store->finder);
  for (board_stored_trace_t *trace = store->open, *next; trace; trace = next) {
    next = trace->next_open;
    free_trace(let_go(trace));
  }
  LEAT_DCHECK(!store->readings);
  for (int i = 0; i < KEPT; ++i) {
    LEAT_DCHECK(!store->kept[i] || store->kept[i]->users == 1);
    free_trace(let_go(store->kept[i]));
  }
  free_store(store);
}

// ---- Reading for all ----------------------------------------------------------------------------
// All of these are called with the store's lock.

static reading_t* find_reading(const board_trace_store_t* store, const char* path) {
  reading_t* reading = store->readings;
  while (reading && strcmp(reading->path, path)) reading = reading->next;
  return reading;
}

static void leave_reading(board_trace_store_t* store, reading_t* reading) {
  if (--reading->users) return;
  release(store, reading->trace);
  leat_status_free(reading->status);
  leat_allocator_free(leat_allocator_system(), reading);
}

static bool is_kept(const board_trace_store_t* store, const board_stored_trace_t* trace) {
  for (int i = 0; i < KEPT; ++i) {
    if (store->kept[i] == trace) return true;
  }
  return false;
}

// Puts |trace| in front of those that are kept, and gives the one that has no place any more: an
// older state of the same file, or the last.
static board_stored_trace_t* keep(board_trace_store_t* store, board_stored_trace_t* trace) {
  int at = 0;
  while (at < KEPT - 1 && store->kept[at] && strcmp(store->kept[at]->path, trace->path)) ++at;
  board_stored_trace_t* replaced = store->kept[at];
  for (; at > 0; --at) store->kept[at] = store->kept[at - 1];
  store->kept[0] = trace;
  return replaced;
}

// Takes the reading out of the list, keeps its trace, wakes those who wait, and has its delays
// found.
static void end_reading(board_trace_store_t* store, reading_t* reading) {
  board_stored_trace_t* replaced = NULL;
  reading_t** link = &store->readings;
  while (*link != reading) link = &(*link)->next;
  *link = reading->next;
  reading->is_done = true;
  if (reading->trace && !is_kept(store, reading->trace)) {
    replaced = keep(store, reading->trace);
    ++reading->trace->users;
    if (is_open(reading->trace)) open_trace(store, reading->trace);
  }
  leat_condition_notify_all(&store->done);
  release(store, replaced);
  close_unused(store);
}

// Reads the recording, without the lock. |current| is what the store has of it, whose slices are to
// be verified, or NULL.
static leat_status_t read_for_all(board_trace_store_t* store, const char* path,
                                  const leat_file_stat_t* stat, bool walks,
                                  board_stored_trace_t* current,
                                  board_stored_trace_t** out_trace) {
  const board_trace_need_t need = {.verify_bytes = walks ? SIZE_MAX : BOARD_TRACE_VERIFY_BYTES,
                                   .is_anew = current != NULL};
  reading_t* reading;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &reading));
  *reading = (reading_t){.next = store->readings, .path = path, .stat = *stat, .users = 1};
  store->readings = reading;
  if (current) ++current->users;
  leat_mutex_unlock(&store->lock);
  if (current && board_trace_index_verify(current)) {
    reading->trace = current;
  } else {
    reading->status = read_trace(path, stat, store->cache, &need, &reading->trace);
  }
  leat_mutex_lock(&store->lock);
  if (current && reading->trace == current) {
    current->is_verified = true;
  } else {
    release(store, current);
  }
  end_reading(store, reading);
  leat_status_t status = leat_status_clone(reading->status);
  *out_trace = reading->trace;
  if (*out_trace) ++(*out_trace)->users;
  leave_reading(store, reading);
  return status;
}

static bool is_good(const board_stored_trace_t* trace, bool walks) {
  return trace && (!walks || trace->is_verified);
}

// Waits for somebody else's reading. Gives nothing where it was of another state of the file, or is
// not verified.
static leat_status_t await_reading(board_trace_store_t* store, reading_t* reading,
                                   const leat_file_stat_t* stat, bool walks,
                                   board_stored_trace_t** out_trace) {
  leat_status_t status = leat_ok_status();
  ++reading->users;
  while (!reading->is_done) leat_condition_wait(&store->done, &store->lock);
  if (is_same_file(&reading->stat, stat)) {
    status = leat_status_clone(reading->status);
    if (is_good(reading->trace, walks)) *out_trace = reading->trace;
    if (*out_trace) ++(*out_trace)->users;
  }
  leave_reading(store, reading);
  return status;
}

static leat_status_t take(board_trace_store_t* store, const char* path, bool walks,
                          board_stored_trace_t** out_trace) {
  leat_file_system_t* fs = leat_file_system_default();
  leat_file_stat_t stat;
  leat_status_t status = leat_ok_status();
  *out_trace = NULL;
  LEAT_RETURN_IF_ERROR(fs->vtable->stat(fs, path, &stat));
  leat_mutex_lock(&store->lock);
  while (!status && !*out_trace) {
    board_stored_trace_t* current = find_trace(store, path, &stat);
    reading_t* reading = find_reading(store, path);
    if (is_good(current, walks)) {
      *out_trace = current;
      ++current->users;
      if (is_kept(store, current)) keep(store, current);
    } else if (reading) {
      status = await_reading(store, reading, &stat, walks, out_trace);
    } else {
      status = read_for_all(store, path, &stat, walks, current, out_trace);
    }
  }
  LEAT_DCHECK(status || is_good(*out_trace, walks));
  if (!status && walks) {
    status = await_delays(store, *out_trace);
    if (status) release(store, *out_trace);
    if (status) *out_trace = NULL;
  }
  leat_mutex_unlock(&store->lock);
  return status;
}

leat_status_t board_trace_store_take(board_trace_store_t* store, const char* logdir,
                                     leat_string_view_t name, bool walks,
                                     board_stored_trace_t** out_trace) {
  leat_arena_t arena;
  leat_string_view_t path;
  if (!is_name(name)) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found: there is no recording '%.*s'",
                            LEAT_SV_ARG(name));
  }
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_arena_print(&arena, &path, "%s/%.*s", logdir, LEAT_SV_ARG(name));
  if (!status) status = take(store, path.data, walks, out_trace);
  leat_arena_deinitialize(&arena);
  return status;
}

void board_trace_store_release(board_trace_store_t* store, board_stored_trace_t* trace) {
  leat_mutex_lock(&store->lock);
  release(store, trace);
  leat_mutex_unlock(&store->lock);
}
