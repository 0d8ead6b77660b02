// A source of spans (leat_span_source_t): when a recording begins and the driver of a GPU is in the
// process, or comes into it while the recording goes on, the module is asked to record. Without a
// driver nothing is loaded and nothing costs anything.
//
//   CUPTI's threads ──▶ take_records ──▶ [ring of records] ── end ──▶ spans of the recording
//
// Records are kept in a ring of a quarter of the recording's limit of memory; when it is full the
// oldest are overwritten and counted as lost, so that the time before the end is kept, as it is of
// spans. Names of kernels are copied once, into a table which is kept as long as the records.
//
// Whoever starts and ends recordings calls without a lock, so that two threads may come in the
// wrong order: recordings have numbers that rise, and a beginning after its end does nothing.
// Whatever goes wrong is a warning in the log, once in a recording, which then has no GPU in it. A
// child of fork has a driver that it cannot use, and perhaps a mutex that is locked for ever, and
// keeps away from both.
#include "trace/gpu_source.h"

#include "base/arena.h"
#include "base/checked.h"
#include "base/host.h"
#include "base/library.h"
#include "base/log.h"
#include "base/module.h"
#include "base/span.h"
#include "trace/gpu_spans.h"

#define CLOCK_TRIALS 8
#define MOST_NAMES 65536u
#define MOST_NAME_BYTES 1024u  // a kernel's name has those of its types in it
#define LEAST_RECORDS 4096u
#define MESSAGE_BYTES 256

// What is kept of a recording.
typedef struct kept_s {
  leat_mutex_t mutex;
  leat_gpu_record_t* ring;
  size_t capacity, most;  // records that there is room for, and may be; 0 between recordings
  uint64_t count;         // of all that came; the last |capacity| of them are in the ring
  uint64_t lost;
  leat_arena_t arena;       // of the names
  leat_string_map_t names;  // to themselves
} kept_t;

typedef struct source_s {
  leat_mutex_t mutex;  // held while the module is called
  uint32_t current, ended;  // numbers of recordings; |current| 0: none is under way
  uint64_t limit_bytes;
  bool is_on, has_failed;  // the module records; it could not, and is not asked again
  const leat_gpu_module_t* module;
  leat_gpu_clock_t clock;
  kept_t kept;
} source_t;

static source_t source = {.mutex = {PTHREAD_MUTEX_INITIALIZER},
                          .kept = {.mutex = {PTHREAD_MUTEX_INITIALIZER}}};
static _Atomic(int64_t) source_process;  // that the source works in; 0: it has not begun
static _Atomic(bool) source_is_waiting;  // a recording is under way without a driver

// ---- Records ------------------------------------------------------------------------------------

// The name as the one pointer of all that are equal; NULL where it is not kept.
static const char* keep_name(kept_t* kept, const char* name) {
  uint64_t known;
  leat_string_view_t text = leat_string_view_from(name);
  text.size = LEAT_MIN(text.size, MOST_NAME_BYTES);
  if (leat_string_map_get(&kept->names, text, &known)) return (const char*)(uintptr_t)known;
  if (kept->names.count >= MOST_NAMES) return NULL;
  leat_status_t status = leat_arena_print(&kept->arena, &text, "%.*s", LEAT_SV_ARG(text));
  if (!status) {
    status = leat_string_map_set(&kept->names, text, (uint64_t)(uintptr_t)text.data);
  }
  const char* copy = status ? NULL : text.data;
  leat_status_free(status);
  return copy;
}

// The place of the next record: behind the others, or that of the oldest. NULL: there is none.
static leat_gpu_record_t* next_place(kept_t* kept) {
  if (kept->count >= kept->capacity && kept->capacity < kept->most) {
    const size_t wanted = LEAT_MIN(LEAT_MAX(kept->capacity * 2, LEAST_RECORDS), kept->most);
    leat_status_t status = leat_allocator_reallocate(
        leat_allocator_system(), kept->capacity * sizeof *kept->ring, wanted * sizeof *kept->ring,
        (void**)&kept->ring);
    if (status) {
      kept->most = kept->capacity;
    } else {
      kept->capacity = wanted;
    }
    leat_status_free(status);
  }
  if (kept->count >= kept->capacity) ++kept->lost;
  return kept->capacity ? &kept->ring[kept->count++ % kept->capacity] : NULL;
}

// The |take| of leat_gpu_host_t.
static void take_records(const leat_gpu_record_t* records, size_t count) {
  kept_t* kept = &source.kept;
  leat_mutex_lock(&kept->mutex);
  for (size_t i = 0; i < count; ++i) {
    leat_gpu_record_t* place = next_place(kept);
    if (!place) continue;
    *place = records[i];
    if (records[i].name) place->name = keep_name(kept, records[i].name);
  }
  leat_mutex_unlock(&kept->mutex);
}

static void begin_keeping(kept_t* kept, uint64_t limit_bytes) {
  leat_mutex_lock(&kept->mutex);
  kept->most = (size_t)LEAT_MAX(limit_bytes / 4 / sizeof *kept->ring, LEAST_RECORDS);
  kept->count = kept->lost = 0;
  leat_arena_initialize(leat_allocator_system(), 0, &kept->arena);
  leat_string_map_initialize(leat_allocator_system(), &kept->names);
  leat_mutex_unlock(&kept->mutex);
}

// What comes later, since CUPTI still had it, is not taken.
static void end_keeping(kept_t* kept) {
  leat_mutex_lock(&kept->mutex);
  leat_allocator_free(leat_allocator_system(), kept->ring);
  leat_string_map_deinitialize(&kept->names);
  leat_arena_deinitialize(&kept->arena);
  kept->ring = NULL;
  kept->capacity = kept->most = 0;
  leat_mutex_unlock(&kept->mutex);
}

// Takes the records away, so that they can be read while more come; the caller frees them. Their
// names stay.
static leat_gpu_record_t* take_ring(kept_t* kept, size_t* out_count, uint64_t* out_lost) {
  leat_mutex_lock(&kept->mutex);
  leat_gpu_record_t* ring = kept->ring;
  *out_count = (size_t)LEAT_MIN(kept->count, kept->capacity);
  *out_lost = kept->lost;
  kept->ring = NULL;
  kept->capacity = 0;
  kept->count = kept->lost = 0;
  leat_mutex_unlock(&kept->mutex);
  return ring;
}

// Puts back of records those of what began at |time| or later, for the next recording.
static void put_back(kept_t* kept, const leat_gpu_record_t* records, size_t count,
                     const leat_gpu_clock_t* clock, int64_t time) {
  leat_mutex_lock(&kept->mutex);
  for (size_t i = 0; i < count; ++i) {
    if (leat_gpu_clock_apply(clock, records[i].begin) < time) continue;
    leat_gpu_record_t* place = next_place(kept);
    if (place) *place = records[i];
  }
  leat_mutex_unlock(&kept->mutex);
}

// ---- The module ---------------------------------------------------------------------------------

static void* open_library(const char* path) {
  leat_library_t* library = NULL;
  leat_status_free(leat_library_open(path, &library));
  return library;
}

static void* find_symbol(void* library, const char* symbol) {
  return leat_library_symbol(library, symbol);
}

static const leat_gpu_host_t kHost = {
    .open = open_library, .find = find_symbol, .take = take_records};

static leat_status_t load_module(const leat_gpu_module_t** out_module) {
  static leat_module_t cupti = {"cupti", sizeof(leat_gpu_module_t), "nvidia-cuda-cupti", NULL};
  const void* table;
  LEAT_RETURN_IF_ERROR(leat_module_load(&cupti, &table));
  *out_module = table;
  return leat_ok_status();
}

// One moment by both clocks: of several readings the one that took the shortest time.
static void read_clocks(const leat_gpu_module_t* module, int64_t* out_time,
                        uint64_t* out_gpu_time) {
  int64_t shortest = INT64_MAX;
  for (int i = 0; i < CLOCK_TRIALS; ++i) {
    const int64_t before = leat_span_now();
    const uint64_t gpu_time = module->now();
    const int64_t took = leat_span_now() - before;
    if (took >= shortest) continue;
    shortest = took;
    *out_time = before + took / 2;
    *out_gpu_time = gpu_time;
  }
}

// ---- Beginning ----------------------------------------------------------------------------------
// The mutex of the source is held.

static leat_status_t begin_recording(source_t* s, const char* library) {
  char message[MESSAGE_BYTES] = "";
  if (!s->module) LEAT_RETURN_IF_ERROR(load_module(&s->module));
  begin_keeping(&s->kept, s->limit_bytes);
  const int code = s->module->begin(&kHost, library, message, sizeof message);
  if (code == LEAT_OK) {
    read_clocks(s->module, &s->clock.begin, &s->clock.gpu_begin);
    return leat_ok_status();
  }
  end_keeping(&s->kept);
  return leat_make_status((leat_status_code_t)code, "%s", message);
}

// Begins where a driver is in the process.
static void look(source_t* s) {
  const char* library = leat_environment_get_trusted("LEAT_CUPTI");
  const char* driver = leat_environment_get_trusted("LEAT_CUDA");
  const bool is_off = library && leat_string_view_equals(leat_string_view_from(library), "off");
  const bool can_begin = s->current && !s->is_on && !s->has_failed && !is_off;
  if (can_begin && leat_library_is_loaded(driver && *driver ? driver : "libcuda.so.1")) {
    leat_status_t status = begin_recording(s, library && *library ? library : NULL);
    s->is_on = !status;
    s->has_failed = status != 0;
    if (status) {
      leat_log(LEAT_LOG_WARNING, "The recording has no work of GPUs: %s",
               leat_status_message(status));
    }
    leat_status_free(status);
  }
  atomic_store_explicit(&source_is_waiting,
                        s->current && !s->is_on && !s->has_failed && !is_off,
                        memory_order_relaxed);
}

// Whether this process may use the source: the first that comes, and not a child that it forked.
static bool is_of_process(void) {
  int64_t known = 0;
  const int64_t process = leat_host_process_id();
  return atomic_compare_exchange_strong(&source_process, &known, process) || known == process;
}

// The |begin| of leat_span_source_t.
static void begin_source(uint32_t number, uint64_t limit_bytes) {
  source_t* s = &source;
  if (!is_of_process()) return;
  leat_mutex_lock(&s->mutex);
  if (number > s->ended && number > s->current) {
    s->current = number;
    s->limit_bytes = limit_bytes;
    s->has_failed = false;
    look(s);
  }
  leat_mutex_unlock(&s->mutex);
}

// ---- Ending -------------------------------------------------------------------------------------
// The mutex of the source is held.

// Makes spans of what the GPUs did.
static leat_status_t add_spans(source_t* s, bool ends, leat_recording_t* recording) {
  char message[MESSAGE_BYTES] = "";
  uint64_t dropped = 0, lost = 0;
  size_t count = 0;
  read_clocks(s->module, &s->clock.end, &s->clock.gpu_end);
  const int code = s->module->collect(ends, &dropped, message, sizeof message);
  leat_status_t status = code == LEAT_OK
                             ? leat_ok_status()
                             : leat_make_status((leat_status_code_t)code, "%s", message);
  // What came before an error is shown all the same.
  leat_gpu_record_t* records = take_ring(&s->kept, &count, &lost);
  recording->lost += lost + dropped;
  if (s->clock.gpu_end > s->clock.gpu_begin) {
    status = leat_status_join(status, leat_gpu_spans_add(records, count, &s->clock, recording));
  } else if (!status) {
    status = leat_make_status(LEAT_UNAVAILABLE, "CUPTI's clock stands still");
  }
  if (ends) {
    end_keeping(&s->kept);
  } else {
    put_back(&s->kept, records, count, &s->clock, recording->end);
  }
  leat_allocator_free(leat_allocator_system(), records);
  return status;
}

// The |end| of leat_span_source_t.
static void end_source(uint32_t number, uint32_t next, leat_recording_t* recording) {
  source_t* s = &source;
  if (!is_of_process()) return;
  leat_mutex_lock(&s->mutex);
  s->ended = LEAT_MAX(s->ended, number);
  if (s->is_on && s->current == number) {
    leat_status_t status = add_spans(s, next == 0, recording);
    if (status) {
      leat_log(LEAT_LOG_WARNING, "The recording lacks work of GPUs: %s",
               leat_status_message(status));
    }
    leat_status_free(status);
    s->clock.begin = s->clock.end;
    s->clock.gpu_begin = s->clock.gpu_end;
    s->is_on = next != 0;
  }
  if (s->current <= number) s->current = next;
  look(s);
  leat_mutex_unlock(&s->mutex);
}

void leat_gpu_source_install(void) {
  static const leat_span_source_t kSource = {begin_source, end_source};
  atomic_store_explicit(&leat_span_source, &kSource, memory_order_release);
}

void leat_gpu_source_look(void) {
  source_t* s = &source;
  const bool is_waiting = atomic_load_explicit(&source_is_waiting, memory_order_relaxed);
  if (LEAT_LIKELY(!is_waiting) || !is_of_process()) return;
  leat_mutex_lock(&s->mutex);
  look(s);
  leat_mutex_unlock(&s->mutex);
}
