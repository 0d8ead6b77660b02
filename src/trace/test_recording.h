// A recording made by hand, for tests: spans are added thread by thread in any order, and then
// written and read back as if a program had been recorded. Times are nanoseconds from 1 on. The
// tests of timelines and delays and those of the board's page use it, since they need recordings
// whose times and edges they know, and those of a real program depend on the machine. It imitates
// the recorder: the spans of a thread lie in a chunk in the order of their ends, and the times off
// a core in a chunk of their own. The files come from the library's own writer, so that a mistake
// which writer and reader share is not seen by these tests. What a test adds is checked on the way:
// a span of a thread that is not there, one that ends before it begins, or edges out of order fail
// it.
#ifndef LEAT_TRACE_TEST_RECORDING_H_
#define LEAT_TRACE_TEST_RECORDING_H_

#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "trace/recording_file.h"
#include "trace/timeline.h"

#define TEST_THREADS 8
#define TEST_NAMES 128
#define TEST_END ((int64_t)1 << 40)

typedef struct test_spans_s {
  leat_span_t* items;
  size_t count, capacity;
} test_spans_t;

// The edges of the names that are nodes.
typedef struct test_graph_s {
  leat_span_edges_t edges;
  uint32_t first_producer[TEST_NAMES + 1], producers[TEST_NAMES];
  leat_span_facts_t facts[TEST_NAMES];
} test_graph_t;

typedef struct test_recording_s {
  leat_span_thread_t threads[TEST_THREADS];
  leat_span_name_t names[TEST_NAMES];
  uint32_t thread_count, name_count;
  test_graph_t graph;
  // By thread: its spans, and those in which it was on a core or off, which the recorder keeps
  // apart.
  test_spans_t spans[TEST_THREADS], off_core[TEST_THREADS];
} test_recording_t;

static inline void test_recording_initialize(test_recording_t* out_recording) {
  *out_recording = (test_recording_t){.name_count = 1};
}

static inline void test_recording_deinitialize(test_recording_t* recording) {
  for (uint32_t i = 0; i < recording->thread_count; ++i) {
    leat_allocator_free(leat_allocator_system(), recording->spans[i].items);
    leat_allocator_free(leat_allocator_system(), recording->off_core[i].items);
  }
}

// The threads have the ids 100, 101, ...
static inline uint32_t test_add_thread(test_recording_t* recording, const char* name) {
  assert_true(recording->thread_count < TEST_THREADS);
  leat_span_thread_t* thread = &recording->threads[recording->thread_count];
  thread->id = 100 + recording->thread_count;
  snprintf(thread->name, sizeof thread->name, "%s", name);
  return recording->thread_count++;
}

// |node| and |op| must outlive the recording.
static inline uint32_t test_add_name(test_recording_t* recording, const char* node,
                                     const char* op) {
  assert_true(recording->name_count < TEST_NAMES);
  recording->names[recording->name_count] =
      (leat_span_name_t){leat_string_view_from(node), leat_string_view_from(op), 0};
  return recording->name_count++;
}

// |step|: a leat_span_step; 0: the recording does not know it.
static inline void test_add_span_in_step(test_recording_t* recording, uint32_t thread,
                                         int64_t begin, int64_t end, leat_span_kind_t kind,
                                         uint32_t name, int64_t value, uint32_t step) {
  const bool is_switch = kind == LEAT_SPAN_OFF_CORE || kind == LEAT_SPAN_ON_CORE;
  test_spans_t* spans =
      is_switch ? &recording->off_core[thread] : &recording->spans[thread];
  assert_true(thread < recording->thread_count && begin > 0 && begin <= end);
  LEAT_EXPECT_OK(
      LEAT_GROW(leat_allocator_system(), spans->count + 1, &spans->items, &spans->capacity));
  spans->items[spans->count++] = (leat_span_t){begin, end, name, kind, step, value};
}

static inline void test_add_span(test_recording_t* recording, uint32_t thread, int64_t begin,
                                 int64_t end, leat_span_kind_t kind, uint32_t name,
                                 int64_t value) {
  test_add_span_in_step(recording, thread, begin, end, kind, name, value, 0);
}

static inline int test_compare_ends(const void* a, const void* b) {
  const leat_span_t *x = a, *y = b;
  if (x->end != y->end) return x->end < y->end ? -1 : 1;
  return x->begin < y->begin ? 1 : x->begin > y->begin ? -1 : 0;
}

// Appends a chunk with |spans|, in the order of their ends, as a thread writes them.
static inline void test_add_chunk(uint32_t thread, test_spans_t* spans,
                                  leat_span_chunk_t*** inout_behind) {
  leat_span_chunk_t* chunk;
  void* memory;
  if (spans->count == 0) return;
  qsort(spans->items, spans->count, sizeof *spans->items, test_compare_ends);
  LEAT_EXPECT_OK(leat_allocator_allocate(leat_allocator_system(),
                                         sizeof *chunk + spans->count * sizeof *spans->items,
                                         &memory));
  chunk = memory;
  chunk->thread = thread;
  chunk->count = (uint32_t)spans->count;
  memcpy(chunk->spans, spans->items, spans->count * sizeof *spans->items);
  **inout_behind = chunk;
  *inout_behind = &chunk->next;
}

// Makes |count| names from |first| on a graph. |edges| are pairs of a producer and its reader, both
// counted from |first|, in the order of the readers; one with -1 ends them.
static inline void test_add_graph(test_recording_t* recording, uint32_t first, uint32_t count,
                                  const int (*edges)[2]) {
  test_graph_t* graph = &recording->graph;
  assert_true(count <= TEST_NAMES && first + count <= recording->name_count);
  uint32_t edge = 0;
  for (uint32_t i = 0; i < count; ++i) {
    graph->first_producer[i] = edge;
    for (; edges[edge][0] >= 0 && (uint32_t)edges[edge][1] == i; ++edge) {
      assert_true(edge < TEST_NAMES);
      graph->producers[edge] = (uint32_t)edges[edge][0];
    }
    recording->names[first + i].graph = 1;
  }
  graph->first_producer[count] = edge;
  assert_true(edges[edge][0] < 0);
  graph->edges = (leat_span_edges_t){.first_name = first, .node_count = count,
                                     .first_producer = graph->first_producer,
                                     .producers = graph->producers, .facts = graph->facts};
  for (uint32_t i = 0; i < count; ++i) graph->facts[i] = (leat_span_facts_t){.flops = -1};
}

// Tells what is known of a node of the graph, counted from its first one.
static inline void test_set_facts(test_recording_t* recording, uint32_t node,
                                  const leat_span_facts_t* facts) {
  assert_true(node < recording->graph.edges.node_count);
  recording->graph.facts[node] = *facts;
}

// The recording as it would be made; it lives as long as |recording|, and its chunks are freed by
// test_recording_unmake.
static inline leat_recording_t test_recording_make(test_recording_t* recording) {
  leat_recording_t made = {.threads = recording->threads, .thread_count = recording->thread_count,
                           .names = recording->names, .name_count = recording->name_count,
                           .graphs = &recording->graph.edges,
                           .graph_count = recording->graph.edges.node_count > 0,
                           .begin = 1, .end = TEST_END, .begin_ns = 1, .end_ns = TEST_END};
  leat_span_chunk_t** behind = &made.first;
  for (uint32_t i = 0; i < recording->thread_count; ++i) {
    test_add_chunk(i, &recording->spans[i], &behind);
    test_add_chunk(i, &recording->off_core[i], &behind);
  }
  return made;
}

static inline void test_recording_unmake(leat_recording_t* made) {
  while (made->first) {
    leat_span_chunk_t* chunk = made->first;
    made->first = chunk->next;
    leat_allocator_free(leat_allocator_system(), chunk);
  }
}

static inline void test_recording_write(test_recording_t* recording, const char* path) {
  leat_recording_t made = test_recording_make(recording);
  LEAT_EXPECT_OK(leat_recording_write(&made, leat_file_system_posix(), path));
  test_recording_unmake(&made);
}

// Appends the recording as that of process |number| to a file that is made in |out|.
static inline void test_recording_append(test_recording_t* recording, uint32_t number,
                                         leat_string_builder_t* out) {
  const leat_recording_section_t section = {.number = number, .name = LEAT_SV("task")};
  leat_recording_t made = test_recording_make(recording);
  LEAT_EXPECT_OK(leat_recording_encode(&made, &section, out));
  test_recording_unmake(&made);
}

// Writes the recording to |path| and reads it; the caller frees the timeline.
static inline leat_timeline_t* test_recording_read_back(test_recording_t* recording,
                                                        const char* path) {
  leat_timeline_t* timeline = NULL;
  test_recording_write(recording, path);
  LEAT_EXPECT_OK(leat_timeline_read(leat_file_system_posix(), path, &timeline));
  return timeline;
}

#endif  // LEAT_TRACE_TEST_RECORDING_H_
