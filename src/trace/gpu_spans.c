// Three things are joined. A piece of work has a correlation number, and so has the call of CUDA's
// that began it; a call says on which thread it was made; and on the row of that thread lies the
// kernel's span around the call, which names the node and the step:
//
//   thread    [ MatMul 'y'        call 7 ]            a launch, in the place of the call
//                                   ╲
//   GPU 0 stream 13                  [ sgemm 'y' ]    the work, correlation 7
//
// The span of work thus has the name of what ran on the GPU and the node for which it ran. Of calls
// within each other, as when CUDA's runtime calls the driver, the outermost counts. A call that
// began no work leaves no span, since most calls only ask for something; work whose call is not
// known, or was made on a thread that is not recorded, has no launch and no node.
//
// A launch and its work share a number, as those of the simulated accelerator do. Theirs and those
// of messages are odd; these are even. A call may begin many pieces of work (a graph of CUDA's),
// each of which gets a number and a launch of its own. Spans of a row must lie within each other or
// apart, so that pieces of one stream which ran at once are dealt out to several rows. Everything
// is sorted and walked once: the cost is that of sorting the records and the kernels' spans.
#include "trace/gpu_spans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/host.h"
#include "base/recording.h"

#define FIRST_ROW_ID (INT64_C(1) << 22)  // the system gives threads numbers below
#define MOST_MOVED 0x1p60                // of times that are converted
#define MOST_ROWS_OF_STREAM 64u          // what ran beside so many others is not shown

// A piece of work on its way to a span.
typedef struct work_s {
  const leat_gpu_record_t* record;
  const leat_gpu_record_t* call;  // NULL: not known
  const leat_span_t* kernel;      // around the call; NULL: there is none
  uint32_t launch_row;            // of the call's thread; UINT32_MAX: it has none
  uint32_t row;                   // of the stream
  leat_span_t span;
} work_t;

// A kernel's span, or a piece of its loop.
typedef struct kernel_s {
  const leat_span_t* span;
  int64_t thread;
  uint32_t row;
} kernel_t;

typedef struct join_s {
  const leat_gpu_record_t* records;
  size_t record_count;
  const leat_gpu_clock_t* clock;
  const leat_recording_t* recording;
  leat_recording_tail_t tail;
  leat_arena_t arena;
  work_t* works;
  size_t work_count;
  const leat_gpu_record_t** calls;
  size_t call_count;
  kernel_t* kernels;
  size_t kernel_count;
  leat_string_map_t names;  // numbers, by the bytes of a name_key_t
} join_t;

// The time from |from| to |to|.
static double passed_between(uint64_t from, uint64_t to) {
  return to >= from ? (double)(to - from) : -(double)(from - to);
}

int64_t leat_gpu_clock_apply(const leat_gpu_clock_t* clock, uint64_t gpu_time) {
  const double passed = passed_between(clock->gpu_begin, gpu_time);
  const double gpu_whole = passed_between(clock->gpu_begin, clock->gpu_end);
  const double whole = (double)(clock->end - clock->begin);
  const double moved = gpu_whole > 0 ? passed / gpu_whole * whole : 0;
  // Times that are far out are no times; they only must not overflow.
  return clock->begin + llround(LEAT_MIN(LEAT_MAX(moved, -MOST_MOVED), MOST_MOVED));
}

// ---- Records ------------------------------------------------------------------------------------

static int compare_words(uint64_t a, uint64_t b) { return a < b ? -1 : a > b; }

// Calls by their numbers; of several with one number the outermost began first.
static int compare_calls(const void* a, const void* b) {
  const leat_gpu_record_t *x = *(const leat_gpu_record_t* const*)a,
                          *y = *(const leat_gpu_record_t* const*)b;
  if (x->correlation != y->correlation) return compare_words(x->correlation, y->correlation);
  return compare_words(x->begin, y->begin);
}

static int compare_streams(const leat_gpu_record_t* x, const leat_gpu_record_t* y) {
  if (x->device != y->device) return compare_words(x->device, y->device);
  if (x->context != y->context) return compare_words(x->context, y->context);
  return compare_words(x->stream, y->stream);
}

static int compare_by_stream(const void* a, const void* b) {
  const leat_gpu_record_t *x = ((const work_t*)a)->record, *y = ((const work_t*)b)->record;
  const int order = compare_streams(x, y);
  if (order) return order;
  if (x->begin != y->begin) return compare_words(x->begin, y->begin);
  return compare_words(x->end, y->end);
}

static int compare_by_correlation(const void* a, const void* b) {
  const leat_gpu_record_t *x = ((const work_t*)a)->record, *y = ((const work_t*)b)->record;
  if (x->correlation != y->correlation) return compare_words(x->correlation, y->correlation);
  return compare_by_stream(a, b);
}

// Takes those records that have times, and whose times lie in the recording: work that was under
// way at one of its ends is left out, as spans of threads are.
static leat_status_t take_records(join_t* j) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&j->arena, j->record_count + 1, &j->works));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&j->arena, j->record_count + 1, &j->calls));
  for (size_t i = 0; i < j->record_count; ++i) {
    const leat_gpu_record_t* record = &j->records[i];
    const int64_t begin = leat_gpu_clock_apply(j->clock, record->begin);
    const int64_t end = leat_gpu_clock_apply(j->clock, record->end);
    const bool has_times = record->begin && record->end >= record->begin;
    if (!has_times || begin < j->recording->begin || end > j->recording->end) continue;
    if (record->kind == LEAT_GPU_CALL) {
      j->calls[j->call_count++] = record;
    } else if (record->kind < LEAT_GPU_RECORD_KINDS) {
      j->works[j->work_count++] = (work_t){
          .record = record, .launch_row = UINT32_MAX, .span = {.begin = begin, .end = end}};
    }
  }
  if (j->call_count) qsort(j->calls, j->call_count, sizeof *j->calls, compare_calls);
  if (j->work_count) qsort(j->works, j->work_count, sizeof *j->works, compare_by_correlation);
  return leat_ok_status();
}

// A number for the |index|th piece of what a call began, that no other process has either.
static int64_t number_of(const join_t* j, uint32_t correlation, uint32_t index) {
  const uint64_t seed = leat_hash_mix((uint64_t)j->recording->begin_wall_ns,
                                      (uint64_t)leat_host_process_id());
  const uint64_t word = (uint64_t)correlation << 32 | index;
  const int64_t number = (int64_t)(leat_hash_mix(seed, word) >> 1 & ~UINT64_C(1));
  return number ? number : 2;
}

// Gives each piece of work its number and its call. Both lists are in the order of correlations.
static void find_calls(join_t* j) {
  size_t at = 0;
  uint32_t index = 0;
  for (size_t i = 0; i < j->work_count; ++i) {
    work_t* work = &j->works[i];
    const uint32_t correlation = work->record->correlation;
    index = i > 0 && work[-1].record->correlation == correlation ? index + 1 : 0;
    while (at < j->call_count && j->calls[at]->correlation < correlation) ++at;
    if (at < j->call_count && j->calls[at]->correlation == correlation) work->call = j->calls[at];
    work->span.value = number_of(j, correlation, index);
  }
}

// ---- Kernels ------------------------------------------------------------------------------------

static bool is_of_kernel(const leat_span_t* span) {
  return (span->kind == LEAT_SPAN_KERNEL || span->kind == LEAT_SPAN_SHARD) && span->name;
}

// By thread, and then the outer before the inner.
static int compare_kernels(const void* a, const void* b) {
  const kernel_t *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  if (x->span->begin != y->span->begin) return x->span->begin < y->span->begin ? -1 : 1;
  if (x->span->end != y->span->end) return x->span->end > y->span->end ? -1 : 1;
  return 0;
}

static int compare_by_call(const void* a, const void* b) {
  const work_t *x = a, *y = b;
  if (!x->call || !y->call) return !x->call - !y->call;
  if (x->call->thread != y->call->thread) {
    return compare_words(x->call->thread, y->call->thread);
  }
  if (x->call->begin != y->call->begin) return compare_words(x->call->begin, y->call->begin);
  return compare_by_correlation(a, b);
}

// The kernels' spans of all threads, in a list.
static leat_status_t list_kernels(join_t* j) {
  for (int pass = 0; pass < 2; ++pass) {
    j->kernel_count = 0;
    for (const leat_span_chunk_t* chunk = j->recording->first; chunk; chunk = chunk->next) {
      const uint32_t count = atomic_load_explicit(&chunk->count, memory_order_relaxed);
      for (uint32_t i = 0; i < count; ++i) {
        if (!is_of_kernel(&chunk->spans[i])) continue;
        if (pass) {
          j->kernels[j->kernel_count] = (kernel_t){
              &chunk->spans[i], j->recording->threads[chunk->thread].id, chunk->thread};
        }
        ++j->kernel_count;
      }
    }
    if (!pass) LEAT_RETURN_IF_ERROR(LEAT_NEW(&j->arena, j->kernel_count + 1, &j->kernels));
  }
  if (j->kernel_count) qsort(j->kernels, j->kernel_count, sizeof *j->kernels, compare_kernels);
  return leat_ok_status();
}

// The last row of the thread that the system numbers so; UINT32_MAX: it is not recorded. A number
// is given anew when a thread has ended.
static uint32_t row_of_thread(const join_t* j, uint32_t thread) {
  for (uint32_t row = j->recording->thread_count; row-- > 0;) {
    if (j->recording->threads[row].id == thread) return row;
  }
  return UINT32_MAX;
}

// Gives the works, which are in the order of their calls, the kernels around these. As the calls of
// a thread come, |open| holds the kernels that have begun, each within the one before it; those
// that have ended are taken from it.
static leat_status_t find_kernels(join_t* j) {
  size_t at = 0, depth = 0;
  const kernel_t** open;
  uint32_t row = UINT32_MAX;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&j->arena, j->kernel_count + 1, &open));
  for (size_t i = 0; i < j->work_count && j->works[i].call; ++i) {
    work_t* work = &j->works[i];
    const int64_t thread = work->call->thread;
    const int64_t time = leat_gpu_clock_apply(j->clock, work->call->begin);
    if (i == 0 || work[-1].call->thread != thread) {
      row = row_of_thread(j, work->call->thread);
      depth = 0;
    }
    while (at < j->kernel_count && j->kernels[at].thread < thread) ++at;
    for (; at < j->kernel_count && j->kernels[at].thread == thread &&
           j->kernels[at].span->begin <= time;
         ++at) {
      while (depth && open[depth - 1]->span->end <= j->kernels[at].span->begin) --depth;
      open[depth++] = &j->kernels[at];
    }
    while (depth && open[depth - 1]->span->end < time) --depth;
    work->kernel = depth ? open[depth - 1]->span : NULL;
    work->launch_row = depth ? open[depth - 1]->row : row;
  }
  return leat_ok_status();
}

// ---- Names --------------------------------------------------------------------------------------

// What a name of the recording is made of.
typedef struct name_key_s {
  const char* text;
  uint64_t kernel;  // the name of the kernel; 0: there is none
} name_key_t;

static const char* text_of(const leat_gpu_record_t* record) {
  static const char* const kTexts[LEAT_GPU_RECORD_KINDS] = {
      [LEAT_GPU_CALL] = "",
      [LEAT_GPU_KERNEL] = "CUDA kernel",
      [LEAT_GPU_COPY_IN] = "copy to the device",
      [LEAT_GPU_COPY_OUT] = "copy from the device",
      [LEAT_GPU_COPY_ACROSS] = "copy between devices",
      [LEAT_GPU_COPY_WITHIN] = "copy within the device",
      [LEAT_GPU_FILL] = "fill"};
  return record->name && *record->name ? record->name : kTexts[record->kind];
}

// The name of what ran on the GPU, with the kernel's node and graph.
static leat_status_t name_work(join_t* j, work_t* work) {
  name_key_t* key;
  uint64_t number;
  const name_key_t wanted = {text_of(work->record), work->kernel ? work->kernel->name : 0};
  const leat_string_view_t bytes = leat_string_view_make((const char*)&wanted, sizeof wanted);
  if (leat_string_map_get(&j->names, bytes, &number)) {
    work->span.name = (uint32_t)number;
    return leat_ok_status();
  }
  const leat_span_name_t kernel = j->recording->names[wanted.kernel];
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&j->arena, 1, &key));
  *key = wanted;
  LEAT_RETURN_IF_ERROR(leat_recording_tail_add_name(&j->tail, kernel.name,
                                                    leat_string_view_from(wanted.text),
                                                    kernel.graph, &work->span.name));
  return leat_string_map_set(&j->names, leat_string_view_make((const char*)key, sizeof *key),
                             work->span.name);
}

static leat_status_t describe(join_t* j) {
  for (size_t i = 0; i < j->work_count; ++i) {
    work_t* work = &j->works[i];
    const leat_gpu_record_kind_t kind = work->record->kind;
    const bool copies = kind == LEAT_GPU_COPY_IN || kind == LEAT_GPU_COPY_OUT ||
                        kind == LEAT_GPU_COPY_ACROSS;
    work->span.kind = copies ? LEAT_SPAN_COPY : LEAT_SPAN_STREAM;
    work->span.step = work->kernel ? work->kernel->step : 0;
    LEAT_RETURN_IF_ERROR(name_work(j, work));
  }
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

// The launches of each thread, as moments behind its other spans. The works are in the order of
// their calls.
static leat_status_t add_launches(join_t* j) {
  leat_span_t* spans = NULL;
  for (size_t first = 0, end; first < j->work_count && j->works[first].call; first = end) {
    const uint32_t row = j->works[first].launch_row;
    for (end = first; end < j->work_count && j->works[end].call; ++end) {
      if (j->works[end].launch_row != row) break;
    }
    if (row == UINT32_MAX) continue;
    LEAT_RETURN_IF_ERROR(leat_recording_tail_add_spans(&j->tail, row, end - first, &spans));
    for (size_t i = first; i < end; ++i) {
      const int64_t time = leat_gpu_clock_apply(j->clock, j->works[i].call->begin);
      spans[i - first] = j->works[i].span;
      spans[i - first].begin = spans[i - first].end = time;
      spans[i - first].kind = LEAT_SPAN_LAUNCH;
    }
  }
  return leat_ok_status();
}

static leat_status_t add_row(join_t* j, const leat_gpu_record_t* record, uint32_t* out_row) {
  leat_span_thread_t row = {.id = FIRST_ROW_ID + j->recording->thread_count};
  snprintf(row.name, sizeof row.name, "GPU %u stream %u", record->device, record->stream);
  return leat_recording_tail_add_row(&j->tail, &row, out_row);
}

// Adds the spans of works [first, end), which are those of a stream in the order of their times, to
// rows on which none begins before the last one has ended.
static leat_status_t add_stream(join_t* j, size_t first, size_t end) {
  int64_t ends[MOST_ROWS_OF_STREAM];
  size_t counts[MOST_ROWS_OF_STREAM] = {0};
  uint32_t row_count = 0;
  for (size_t i = first; i < end; ++i) {
    uint32_t row = 0;
    while (row < row_count && ends[row] > j->works[i].span.begin) ++row;
    j->works[i].row = row;
    if (row == MOST_ROWS_OF_STREAM) {
      ++j->tail.recording->lost;
      continue;
    }
    if (row == row_count) ++row_count;
    ends[row] = j->works[i].span.end;
    ++counts[row];
  }
  for (uint32_t row = 0; row < row_count; ++row) {
    leat_span_t* spans = NULL;
    uint32_t added = 0;
    LEAT_RETURN_IF_ERROR(add_row(j, j->works[first].record, &added));
    LEAT_RETURN_IF_ERROR(leat_recording_tail_add_spans(&j->tail, added, counts[row], &spans));
    for (size_t i = first; i < end; ++i) {
      if (j->works[i].row == row) *spans++ = j->works[i].span;
    }
  }
  return leat_ok_status();
}

static leat_status_t add_streams(join_t* j) {
  qsort(j->works, j->work_count, sizeof *j->works, compare_by_stream);
  for (size_t first = 0, end; first < j->work_count; first = end) {
    for (end = first + 1; end < j->work_count; ++end) {
      if (compare_streams(j->works[first].record, j->works[end].record) != 0) break;
    }
    LEAT_RETURN_IF_ERROR(add_stream(j, first, end));
  }
  return leat_ok_status();
}

// ---- The whole ----------------------------------------------------------------------------------

static leat_status_t join_records(join_t* j) {
  LEAT_RETURN_IF_ERROR(take_records(j));
  if (!j->work_count) return leat_ok_status();
  find_calls(j);
  LEAT_RETURN_IF_ERROR(list_kernels(j));
  qsort(j->works, j->work_count, sizeof *j->works, compare_by_call);
  LEAT_RETURN_IF_ERROR(find_kernels(j));
  LEAT_RETURN_IF_ERROR(describe(j));
  LEAT_RETURN_IF_ERROR(add_launches(j));
  return add_streams(j);
}

leat_status_t leat_gpu_spans_add(const leat_gpu_record_t* records, size_t count,
                                 const leat_gpu_clock_t* clock, leat_recording_t* recording) {
  join_t j = {
      .records = records, .record_count = count, .clock = clock, .recording = recording};
  leat_arena_initialize(leat_allocator_system(), 0, &j.arena);
  leat_string_map_initialize(leat_allocator_system(), &j.names);
  leat_recording_tail_initialize(recording, &j.tail);
  leat_status_t status = join_records(&j);
  leat_string_map_deinitialize(&j.names);
  leat_arena_deinitialize(&j.arena);
  return status;
}
