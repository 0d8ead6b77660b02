// Recordings as what they are made of (base/recording.h), and what is done with one that has ended,
// and is its owner's alone (base/span.h).
#include "base/recording.h"

#include <string.h>

#include "base/checked.h"
#include "base/clock.h"

static void free_edges(leat_span_edges_t* edges) {
  leat_allocator_t* a = leat_allocator_system();
  leat_allocator_free(a, edges->first_producer);
  leat_allocator_free(a, edges->producers);
  leat_allocator_free(a, edges->facts);
  leat_allocator_free(a, edges->texts);
}

void leat_recording_free(leat_recording_t* recording) {
  leat_allocator_t* a = leat_allocator_system();
  if (!recording) return;
  while (recording->first) {
    leat_span_chunk_t* chunk = recording->first;
    recording->first = chunk->next;
    leat_allocator_free(a, chunk);
  }
  for (uint32_t i = 1; i < recording->name_count; ++i) {
    leat_allocator_free(a, (void*)recording->names[i].name.data);
  }
  for (uint32_t i = 0; i < recording->graph_count; ++i) free_edges(&recording->graphs[i]);
  leat_allocator_free(a, recording->graphs);
  leat_allocator_free(a, recording->names);
  leat_allocator_free(a, recording->threads);
  leat_allocator_free(a, recording);
}

int64_t leat_recording_ns(const leat_recording_t* recording, int64_t time) {
  const double ticks = (double)(recording->end - recording->begin);
  const double ns = (double)(recording->end_ns - recording->begin_ns);
  if (ticks <= 0) return recording->begin_ns;
  return recording->begin_ns + (int64_t)((double)(time - recording->begin) / ticks * ns);
}

// A thread that lost its core between two of the clocks would shift all times of a recording, so of
// several readings that counts whose first and last look at the clock of spans lie closest.
leat_moment_t leat_moment_now(void) {
  enum { TRIES = 8 };
  leat_moment_t best = {0};
  int64_t least = INT64_MAX;
  for (int i = 0; i < TRIES; ++i) {
    leat_moment_t moment = {.time = leat_span_now()};
    moment.wall_ns = leat_clock_wall_ns();
    moment.now_ns = leat_clock_now_ns();
    const int64_t passed = leat_span_now() - moment.time;
    if (passed >= least) continue;
    least = passed;
    moment.time += passed / 2;
    best = moment;
  }
  return best;
}

leat_status_t leat_recording_create(leat_recording_t** out_recording, size_t* out_name_capacity) {
  leat_allocator_t* a = leat_allocator_system();
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, 1, out_recording));
  *out_name_capacity = 0;
  leat_status_t status = LEAT_GROW(a, 1, &(*out_recording)->names, out_name_capacity);
  if (status) leat_allocator_free(a, *out_recording);
  return status;
}

leat_status_t leat_recording_make_name(leat_recording_t* recording, size_t* inout_name_capacity,
                                       leat_string_view_t name, leat_string_view_t category,
                                       uint32_t graph, leat_span_name_t* out_name) {
  leat_allocator_t* a = leat_allocator_system();
  char* text = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(a, (size_t)recording->name_count + 1, &recording->names,
                                 inout_name_capacity));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(a, name.size + 1 + category.size, &text));
  if (name.size) memcpy(text, name.data, name.size);
  text[name.size] = '\n';
  if (category.size) memcpy(text + name.size + 1, category.data, category.size);
  *out_name = (leat_span_name_t){leat_string_view_make(text, name.size),
                                 leat_string_view_make(text + name.size + 1, category.size),
                                 graph};
  return leat_ok_status();
}

// ---- Graphs -------------------------------------------------------------------------------------

static leat_status_t copy_numbers(const uint32_t* numbers, size_t count, uint32_t** out_copy) {
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), count + 1, out_copy));
  if (count) memcpy(*out_copy, numbers, count * sizeof *numbers);
  return leat_ok_status();
}

// Copies |text| to |*inout_next|, and moves that behind it. What is the same as in |last|, the node
// before, is not copied again.
static leat_string_view_t copy_text(leat_string_view_t text, leat_string_view_t last,
                                    char** inout_next) {
  if (leat_string_view_equal(text, last)) return last;
  char* copy = *inout_next;
  if (text.size) memcpy(copy, text.data, text.size);
  *inout_next += text.size;
  return leat_string_view_make(copy, text.size);
}

static leat_status_t copy_facts(const leat_span_graph_t* graph, leat_span_edges_t* edges) {
  leat_span_facts_t last = {0};
  size_t bytes = 1;
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    const leat_span_facts_t* facts = &graph->nodes[i].facts;
    bytes += facts->device.size + facts->outputs.size + facts->source.size;
  }
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)graph->node_count + 1, &edges->facts));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), bytes, &edges->texts));
  char* next = edges->texts;
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    const leat_span_facts_t* facts = &graph->nodes[i].facts;
    last.device = copy_text(facts->device, last.device, &next);
    last.outputs = copy_text(facts->outputs, last.outputs, &next);
    last.source = copy_text(facts->source, last.source, &next);
    last.flops = facts->flops;
    edges->facts[i] = last;
  }
  return leat_ok_status();
}

leat_status_t leat_recording_add_graph(leat_recording_t* recording, size_t* inout_name_capacity,
                                       size_t* inout_graph_capacity,
                                       const leat_span_graph_t* graph) {
  leat_span_edges_t edges = {.first_name = recording->name_count,
                             .node_count = graph->node_count};
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), (size_t)recording->graph_count + 1,
                                 &recording->graphs, inout_graph_capacity));
  for (uint32_t i = 0; i < graph->node_count; ++i) {
    leat_span_name_t made;
    LEAT_RETURN_IF_ERROR(leat_recording_make_name(recording, inout_name_capacity,
                                                  graph->nodes[i].name, graph->nodes[i].category,
                                                  recording->graph_count + 1, &made));
    recording->names[recording->name_count++] = made;
  }
  leat_status_t status =
      copy_numbers(graph->first_producer, graph->node_count + 1, &edges.first_producer);
  if (!status) {
    status = copy_numbers(graph->producers, graph->first_producer[graph->node_count],
                          &edges.producers);
  }
  if (!status) status = copy_facts(graph, &edges);
  if (status) {
    free_edges(&edges);
    return status;
  }
  recording->graphs[recording->graph_count++] = edges;
  return leat_ok_status();
}

// ---- Adding -------------------------------------------------------------------------------------

void leat_recording_tail_initialize(leat_recording_t* recording, leat_recording_tail_t* out_tail) {
  // What the arrays have room for is not known any more; they have what is in them.
  *out_tail = (leat_recording_tail_t){.recording = recording,
                                      .thread_capacity = recording->thread_count,
                                      .name_capacity = recording->name_count,
                                      .behind = &recording->first};
  while (*out_tail->behind) out_tail->behind = &(*out_tail->behind)->next;
}

leat_status_t leat_recording_tail_add_row(leat_recording_tail_t* tail,
                                          const leat_span_thread_t* row, uint32_t* out_row) {
  leat_recording_t* recording = tail->recording;
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), (size_t)recording->thread_count + 1,
                                 &recording->threads, &tail->thread_capacity));
  recording->threads[recording->thread_count] = *row;
  *out_row = recording->thread_count++;
  return leat_ok_status();
}

leat_status_t leat_recording_tail_add_name(leat_recording_tail_t* tail, leat_string_view_t name,
                                           leat_string_view_t category, uint32_t graph,
                                           uint32_t* out_number) {
  leat_span_name_t made;
  leat_recording_t* recording = tail->recording;
  LEAT_RETURN_IF_ERROR(leat_recording_make_name(recording, &tail->name_capacity, name, category,
                                                graph, &made));
  recording->names[recording->name_count] = made;
  *out_number = recording->name_count++;
  return leat_ok_status();
}

leat_status_t leat_recording_tail_add_spans(leat_recording_tail_t* tail, uint32_t row,
                                            size_t count, leat_span_t** out_spans) {
  void* memory = NULL;
  size_t bytes;
  LEAT_DCHECK(row < tail->recording->thread_count);
  if (count > UINT32_MAX || !leat_checked_multiply(count, sizeof(leat_span_t), &bytes)) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "there are %zu spans of a row", count);
  }
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof(leat_span_chunk_t) + bytes, &memory));
  leat_span_chunk_t* chunk = memory;
  chunk->thread = row;
  atomic_store_explicit(&chunk->count, (uint32_t)count, memory_order_relaxed);
  *tail->behind = chunk;
  tail->behind = &chunk->next;
  *out_spans = chunk->spans;
  return leat_ok_status();
}
