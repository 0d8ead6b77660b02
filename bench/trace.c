// How long `leat board` takes for a recording, as the table in docs/tracing.md tells it:
//
//   trace_bench make FILE SPANS        writes a recording of so many spans
//   trace_bench index FILE CACHE       makes its index in the directory CACHE, and finds its delays
//   trace_bench measure FILE CACHE     the same, and looks at it
//
// The recording is one of a process with four threads. In each step the caller and three threads of
// a pool run 250 kernels each, with a lock or memory in some of them, and between the steps the
// threads sleep for up to twice a step's time, so that at most scales there are dense stretches and
// gaps. Its spans name their steps, and its graph has edges. It is written in pieces of a million
// spans, so that one of a hundred million needs no more memory than one of ten.
//
// Windows are asked for through the board's own answer, at scales from all of the recording to a
// millisecond, each at several places, of which the slowest is told. For the first time means: by a
// store that has just mapped the index, whose bytes the system still has in memory; from the disk
// means that it was told to forget them. Times of windows are told by the processor, which has the
// work of the kernel in them and on a busy machine says more than the clock; those from the disk by
// the clock too. Compare what was measured in one run only.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/random.h"
#include "board/api.h"
#include "board/trace_store.h"
#include "trace/recording_file.h"

enum { THREADS = 4, KERNELS = 250, NODES = THREADS * KERNELS, PLACES = 5, PIXELS = 2000 };
enum { SPANS_OF_THREAD = KERNELS + KERNELS / 8 + 3 };
static const size_t kPieceSpans = 1000 * 1000;

static void fail(const char* what) {
  fprintf(stderr, "trace_bench: %s\n", what);
  exit(1);
}

static void check(leat_status_t status, const char* what) {
  if (!status) return;
  fprintf(stderr, "trace_bench: %s: %s\n", what, leat_status_message(status));
  exit(1);
}

// ---- Making -------------------------------------------------------------------------------------

typedef struct maker_s {
  leat_recording_t recording;
  leat_span_chunk_t* chunks[THREADS];
  uint32_t first_producer[NODES + 1], producers[2 * NODES];
  leat_span_edges_t edges;
  leat_philox_t random;
  int64_t now_ns, step;
  size_t spans;
} maker_t;

static uint32_t random_below(maker_t* maker, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(&maker->random, words);
  return words[0] % limit;
}

static void add(maker_t* maker, uint32_t thread, int64_t begin, int64_t end,
                leat_span_kind_t kind, uint32_t name, int64_t value) {
  leat_span_chunk_t* chunk = maker->chunks[thread];
  const uint32_t at = atomic_load(&chunk->count);
  chunk->spans[at] = (leat_span_t){begin, end, name, kind, leat_span_step(maker->step), value};
  atomic_store(&chunk->count, at + 1);
  ++maker->spans;
}

static int64_t add_kernels(maker_t* maker, uint32_t thread, int64_t now) {
  for (uint32_t k = 0; k < KERNELS; ++k) {
    const int64_t begin = now;
    now += 400 + random_below(maker, 1u << (9 + random_below(maker, 5)));
    if (k % 8 == 0) {
      add(maker, thread, begin + 100, now - 100, k % 16 ? LEAT_SPAN_LOCK : LEAT_SPAN_MEMORY, 0,
          100 + (thread + 1) % THREADS);
    }
    add(maker, thread, begin, now, LEAT_SPAN_KERNEL, 1 + thread * KERNELS + k, 4096);
    now += 50;
  }
  return now;
}

// The caller's step, and on each other thread a task of it and a sleep before that.
static void add_step(maker_t* maker) {
  const int64_t begin = maker->now_ns, slept = 10000 + random_below(maker, 3 << 20);
  int64_t last = begin;
  ++maker->step;
  for (uint32_t thread = 1; thread < THREADS; ++thread) {
    const int64_t from = begin + slept + 2000 + random_below(maker, 3000);
    const int64_t end = add_kernels(maker, thread, from + 100);
    add(maker, thread, begin + 1, from - 100, LEAT_SPAN_PARK, 0, 0);
    add(maker, thread, from, end, LEAT_SPAN_TASK, 0, from - 1500);
    last = end > last ? end : last;
  }
  const int64_t end = add_kernels(maker, 0, begin + slept + 500);
  if (last > end) add(maker, 0, end, last + 3000, LEAT_SPAN_WAIT, 0, 0);
  maker->now_ns = (last > end ? last + 3000 : end) + 200;
  add(maker, 0, begin + slept, maker->now_ns - 100, LEAT_SPAN_STEP, 0, maker->step);
}

static void start(maker_t* maker) {
  leat_allocator_t* a = leat_allocator_system();
  leat_recording_t* r = &maker->recording;
  *maker = (maker_t){.random = leat_philox_make(17, 1), .now_ns = 1000};
  *r = (leat_recording_t){.thread_count = THREADS, .name_count = NODES + 1, .begin = 1,
                          .end = (int64_t)1 << 50, .begin_ns = 1, .end_ns = (int64_t)1 << 50};
  check(LEAT_ALLOCATE(a, THREADS, &r->threads), "memory");
  check(LEAT_ALLOCATE(a, NODES + 1, &r->names), "memory");
  for (uint32_t i = 0; i < THREADS; ++i) {
    const size_t room = kPieceSpans / THREADS * 2 * sizeof(leat_span_t);
    r->threads[i].id = 100 + i;
    snprintf(r->threads[i].name, sizeof r->threads[i].name, "%s-%u", i ? "pool" : "main", i);
    check(leat_allocator_allocate(a, sizeof *maker->chunks[i] + room, (void**)&maker->chunks[i]),
          "memory");
    maker->chunks[i]->thread = i;
    if (i) maker->chunks[i - 1]->next = maker->chunks[i];
  }
  r->first = maker->chunks[0];
  for (uint32_t i = 0; i < NODES; ++i) {
    static const char* const kOps[] = {"MatMul", "Conv2D", "BiasAdd", "Relu", "Mul", "Sum"};
    char* name;
    check(leat_allocator_allocate(a, 48, (void**)&name), "memory");
    snprintf(name, 48, "tower_%u/layer_%u/op_%u", i / KERNELS, i % KERNELS / 10, i % 10);
    r->names[i + 1] = (leat_span_name_t){leat_string_view_from(name),
                                         leat_string_view_from(kOps[i % 6]), 1};
    const uint32_t edge = maker->first_producer[i];
    uint32_t count = 0;
    if (i % KERNELS) maker->producers[edge + count++] = i - 1;
    if (i % KERNELS > 10) maker->producers[edge + count++] = (i + 7 * KERNELS - 8) % NODES;
    maker->first_producer[i + 1] = edge + count;
  }
  maker->edges = (leat_span_edges_t){1, NODES, maker->first_producer, maker->producers};
  r->graphs = &maker->edges;
}

static void write_piece(maker_t* maker, FILE* file) {
  const leat_recording_section_t section = {.number = 1, .name = LEAT_SV("bench")};
  leat_string_builder_t out;
  leat_string_builder_initialize(leat_allocator_system(), &out);
  check(leat_recording_encode(&maker->recording, &section, &out), "encoding");
  if (fwrite(out.data, 1, out.size, file) != out.size) fail("the recording cannot be written");
  leat_string_builder_deinitialize(&out);
  // The graph is told once.
  maker->recording.graph_count = 0;
  for (int i = 0; i < THREADS; ++i) atomic_store(&maker->chunks[i]->count, 0);
}

static void make(const char* path, size_t spans) {
  static maker_t maker;
  FILE* file = fopen(path, "w");
  if (!file) fail("the recording cannot be written");
  start(&maker);
  maker.recording.graph_count = 1;
  while (maker.spans < spans) {
    const size_t before = maker.spans;
    while (maker.spans < spans && maker.spans - before + THREADS * SPANS_OF_THREAD < kPieceSpans) {
      add_step(&maker);
    }
    write_piece(&maker, file);
  }
  fclose(file);
}

// ---- Measuring ----------------------------------------------------------------------------------

typedef struct clocks_s { double wall, processor; } clocks_t;

static clocks_t clocks_now(void) {
  struct timespec used;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return (clocks_t){(double)leat_clock_now_ns() / 1e9,
                    (double)used.tv_sec + (double)used.tv_nsec / 1e9};
}

static void tell(const char* what, clocks_t since) {
  const clocks_t now = clocks_now();
  printf("%-34s %9.4f s by the clock %9.4f s of processor\n", what, now.wall - since.wall,
         now.processor - since.processor);
}

typedef struct look_s {
  board_api_t api;
  board_logdir_options_t options;
  const char* name;
  board_stored_trace_t* trace;  // held, so that it stays mapped
} look_t;

static void take(look_t* look, bool walks) {
  check(board_trace_store_take(look->api.traces, look->options.path,
                               leat_string_view_from(look->name), walks, &look->trace),
        look->name);
}

static void open_store(look_t* look, const char* cache, bool walks) {
  check(board_trace_store_create(cache, &look->api.traces), "a store");
  take(look, walks);
}

static void close_store(look_t* look) {
  board_trace_store_release(look->api.traces, look->trace);
  board_trace_store_free(look->api.traces);
}

// Asks for one window; |inout_most| becomes what it took, if that is more.
static void ask(look_t* look, int64_t begin, int64_t end, clocks_t* inout_most) {
  char query[200];
  leat_arena_t arena;
  board_response_t response = {.code = 200};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  board_request_t request = {.arena = &arena};
  snprintf(query, sizeof query, "file=%s&begin=%lld&end=%lld&pixels=%d", look->name,
           (long long)begin, (long long)end, PIXELS);
  check(board_query_parse(leat_string_view_from(query), &arena, &request.query), "the query");
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  const clocks_t from = clocks_now();
  check(board_api_trace_window(&look->api, &request, &response), "a window");
  const clocks_t now = clocks_now();
  leat_string_builder_deinitialize(&response.body);
  leat_arena_deinitialize(&arena);
  inout_most->wall = LEAT_MAX(inout_most->wall, now.wall - from.wall);
  inout_most->processor = LEAT_MAX(inout_most->processor, now.processor - from.processor);
}

// Reads a file of the cache directory, so that the system has its bytes, or tells the system to
// forget them.
typedef struct visit_s {
  const char* cache;
  bool is_forgotten;
} visit_t;

static leat_status_t visit_file(void* data, const char* name) {
  static char buffer[1 << 20];
  const visit_t* visit = data;
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", visit->cache, name);
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return leat_ok_status();
  if (visit->is_forgotten) {
    fsync(file);
    posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
  } else {
    while (read(file, buffer, sizeof buffer) > 0) {
    }
  }
  close(file);
  return leat_ok_status();
}

static void visit_index(const char* cache, bool is_forgotten) {
  leat_file_system_t* fs = leat_file_system_posix();
  visit_t visit = {cache, is_forgotten};
  check(fs->vtable->list(fs, cache, visit_file, &visit), cache);
}

// Windows of |length_ns| at several places: by stores that see the index for the first time, then
// once more, then from the disk.
static void measure_windows(look_t* look, const char* cache, int64_t whole_ns, int64_t length_ns) {
  clocks_t first = {0}, again = {0}, cold = {0};
  visit_index(cache, false);
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < PLACES; ++i) {
      const int64_t begin = (whole_ns - length_ns) / PLACES * i;
      if (turn) visit_index(cache, true);
      open_store(look, cache, false);
      ask(look, begin, begin + length_ns, turn ? &cold : &first);
      ask(look, begin, begin + length_ns, &again);
      close_store(look);
    }
  }
  printf("window of %10.3f ms, processor: first %7.2f ms, again %7.2f ms; from the disk %7.2f ms "
         "(%.1f by the clock)\n", (double)length_ns / 1e6, first.processor * 1e3,
         again.processor * 1e3, cold.processor * 1e3, cold.wall * 1e3);
  fflush(stdout);
}

static void look_at(look_t* look, const char* cache, int64_t whole_ns) {
  clocks_t from = clocks_now();
  open_store(look, cache, false);
  tell("opening the index", from);
  close_store(look);
  for (int64_t length_ns = whole_ns; length_ns > 500000; length_ns /= 4) {
    measure_windows(look, cache, whole_ns, length_ns);
  }
  from = clocks_now();
  open_store(look, cache, true);
  tell("verifying the slices", from);
  close_store(look);
}

static void measure(char* path, const char* cache, bool looks) {
  char* slash = strrchr(path, '/');
  look_t look = {.name = slash ? slash + 1 : path};
  if (slash) *slash = 0;
  look.options = (board_logdir_options_t){.path = slash ? path : ".", .poll_ms = 1000};
  check(board_logdir_create(&look.options, &look.api.logdir), "the directory");
  clocks_t from = clocks_now();
  open_store(&look, cache, false);
  tell("until windows are shown", from);
  const leat_timeline_t* timeline = look.trace->timeline;
  const int64_t whole_ns = timeline->end_ns - timeline->begin_ns;
  size_t lanes = 0;
  for (size_t r = 0; r < timeline->row_count; ++r) lanes += timeline->rows[r]->lane_count;
  board_trace_store_release(look.api.traces, look.trace);
  take(&look, true);
  tell("until the delays are found", from);
  printf("%zu slices in %zu lanes, %zu steps, index of %.1f MB, delays of %.1f MB\n",
         look.trace->timeline->slice_count, lanes, look.trace->delays->step_count,
         (double)look.trace->index.size_bytes / 1e6,
         (double)look.trace->delays_file.size_bytes / 1e6);
  close_store(&look);
  if (looks) look_at(&look, cache, whole_ns);
  board_logdir_stop(look.api.logdir);
  board_logdir_free(look.api.logdir);
}

int main(int count, char** words) {
  if (count == 4 && !strcmp(words[1], "make")) {
    make(words[2], strtoull(words[3], NULL, 10));
  } else if (count == 4 && (!strcmp(words[1], "index") || !strcmp(words[1], "measure"))) {
    measure(words[2], words[3], words[1][0] == 'm');
  } else {
    fprintf(stderr, "usage: trace_bench make FILE SPANS | index|measure FILE CACHE\n");
    return 2;
  }
  return 0;
}
