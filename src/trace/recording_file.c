// Spans become rows first, for both formats (trace/recording_rows.h). A format then writes row by
// row, those of the cores before the others. Perfetto wants a packet for each begin and one for
// each end, in the order of time: a stack holds the spans that are open. Chrome wants one event for
// a span.
#include "trace/recording_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/host.h"
#include "formats/generated/perfetto.h"
#include "formats/wire/encode.h"
#include "formats/wire/json.h"
#include "trace/recording_rows.h"

#define FLUSH_BYTES ((size_t)1 << 20)
#define MONOTONIC_CLOCK 3  // Perfetto's number
#define SEQUENCE 1
#define MAX_FLOPS 1e18  // that files tell

typedef struct writer_s {
  const leat_recording_rows_t* rows;
  leat_file_t* file;              // NULL: all stays in |out|
  leat_string_builder_t* out;     // not yet in the file
  leat_string_builder_t packet;   // Perfetto: the one that is being made
  int64_t process;
  const leat_recording_section_t* section;  // NULL: the whole file is this process's
  char amount[24];                // of memory: the name of the span that is being written
} writer_t;

// ---- What is said of a span ---------------------------------------------------------------------

typedef struct words_s {
  leat_string_view_t name, node, kind;
  const char* value_name;
  int64_t value;
  int64_t by;  // the id of the thread that ended it, held the lock or took the core; 0: not known
  // The process that this thread is of, if it is not the recorded one; 0: it is, or there is none.
  // It is written before the value, since readers take the last number for that.
  int64_t process;
  uint32_t graph, step;
} words_t;

// "12.3 MiB", so that a row of memory shows at a glance how it grows.
static leat_string_view_t print_amount(int64_t bytes, char* out_text, size_t size) {
  static const char* const kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = (double)bytes;
  size_t unit = 0;
  for (; amount >= 1000 && unit + 1 < LEAT_ARRAY_SIZE(kUnits); ++unit) amount /= 1024;
  snprintf(out_text, size, "%.3g %s", amount, kUnits[unit]);
  return leat_string_view_from(out_text);
}

// What is said of |item|, as long as no other one is asked for.
static words_t words_of(writer_t* w, const leat_placed_span_t* item) {
  static const char* const kValues[LEAT_SPAN_KINDS] = {
      [LEAT_SPAN_STEP] = "step",         [LEAT_SPAN_KERNEL] = "input bytes",
      [LEAT_SPAN_LOOP] = "iterations",   [LEAT_SPAN_ITERATION] = "iteration",
      [LEAT_SPAN_ASYNC_KERNEL] = "input bytes", [LEAT_SPAN_SHARD] = "items",
      [LEAT_SPAN_TASK] = "queued ns",    [LEAT_SPAN_MEMORY] = "bytes",
      [LEAT_SPAN_FILE] = "bytes",
      [LEAT_SPAN_OFF_CORE] = "why",      [LEAT_SPAN_HELD] = "bytes",
      [LEAT_SPAN_SEND] = "message",      [LEAT_SPAN_RECEIVE] = "message",
      [LEAT_SPAN_FETCH] = "message",     [LEAT_SPAN_ENCODE] = "message",
      [LEAT_SPAN_DECODE] = "message",    [LEAT_SPAN_LAUNCH] = "work",
      [LEAT_SPAN_STREAM] = "work",       [LEAT_SPAN_COPY] = "work",
      [LEAT_SPAN_STREAM_WAIT] = "work"};
  const leat_recording_t* recording = w->rows->recording;
  const leat_span_t* span = item->span;
  const leat_span_name_t name = recording->names[span->name];
  const leat_string_view_t kind = leat_string_view_from(leat_span_kind_name(span->kind));
  int64_t value = span->value, by = 0, process = 0;
  if (!leat_span_kind_has_thread(span->kind)) by = recording->threads[item->thread].id;
  if (span->kind == LEAT_SPAN_LOCK || span->kind == LEAT_SPAN_WAIT) by = value;
  if (span->kind == LEAT_SPAN_OFF_CORE) {
    value = leat_off_core_why(span->value);
    by = leat_off_core_thread(span->value);
    process = leat_off_core_process(span->value);
    if (process == leat_host_process_id()) process = 0;
  }
  if (span->kind == LEAT_SPAN_ON_CORE) {
    const leat_span_thread_t* thread = &recording->threads[item->thread];
    return (words_t){.name = leat_string_view_from(thread->name[0] ? thread->name : "thread"),
                     .kind = kind, .by = thread->id};
  }
  if (span->kind == LEAT_SPAN_TASK) {
    value = leat_recording_ns(recording, recording->begin + value) - recording->begin_ns;
  }
  const leat_string_view_t title = span->kind == LEAT_SPAN_HELD
                                       ? print_amount(value, w->amount, sizeof w->amount)
                                   : name.category.size ? name.category
                                                        : kind;
  return (words_t){.name = title,
                   .node = name.name,
                   .kind = kind,
                   .value_name = kValues[span->kind],
                   .value = value,
                   .by = by,
                   .process = process,
                   .graph = name.graph,
                   .step = span->step};
}

// Where an arrow touches a span.
typedef enum { ARROW_NONE, ARROW_BEGINS, ARROW_PASSES, ARROW_ENDS } arrow_t;

static arrow_t arrow_of(uint32_t kind) {
  static const uint8_t kArrows[LEAT_SPAN_KINDS] = {
      [LEAT_SPAN_SEND] = ARROW_BEGINS,   [LEAT_SPAN_ENCODE] = ARROW_PASSES,
      [LEAT_SPAN_DECODE] = ARROW_PASSES, [LEAT_SPAN_RECEIVE] = ARROW_ENDS,
      [LEAT_SPAN_LAUNCH] = ARROW_BEGINS, [LEAT_SPAN_STREAM] = ARROW_ENDS,
      [LEAT_SPAN_COPY] = ARROW_ENDS};
  return kArrows[kind];
}

int64_t leat_clock_relation_apply(const leat_clock_relation_t* relation, int64_t time_ns) {
  const double gained = relation->drift * (double)(time_ns - relation->at_ns);
  return time_ns - relation->offset_ns - (int64_t)gained;
}

// |time| of a span as it is written.
static int64_t written_ns(const writer_t* w, int64_t time) {
  const int64_t ns = leat_recording_ns(w->rows->recording, time);
  return w->section ? leat_clock_relation_apply(&w->section->clock, ns) : ns;
}

// |first| is the row's first span.
static void row_name(const leat_recording_rows_t* rows, uint32_t row, size_t first, char* out_name,
                     size_t size) {
  const leat_recording_t* recording = rows->recording;
  static const char* const kNames[LEAT_ROW_GROUPS] = {[LEAT_ROWS_LOOPS] = "loops",
                                                      [LEAT_ROWS_ASYNC] = "asynchronous kernels",
                                                      [LEAT_ROWS_NETWORK] = "network",
                                                      [LEAT_ROWS_MEMORY] = "memory",
                                                      [LEAT_ROWS_CORES] = "core"};
  const leat_row_group_t group = leat_recording_row_group(rows, row);
  const uint32_t number = row - rows->groups[group].first_row + 1;
  if (group == LEAT_ROWS_THREADS) {
    snprintf(out_name, size, "%s", recording->threads[row].name);
  } else if (group == LEAT_ROWS_CORES) {
    snprintf(out_name, size, "core %" PRId64, rows->items[first].span->value);
  } else {
    snprintf(out_name, size, "%s %u", kNames[group], number);
  }
}

// Writes what has gathered to the file, if it is |least| bytes.
static leat_status_t flush(writer_t* w, size_t least) {
  if (w->out->status || w->packet.status) {
    return leat_status_clone(w->out->status ? w->out->status : w->packet.status);
  }
  if (!w->file || w->out->size < least || !w->out->size) return leat_ok_status();
  leat_status_t status = w->file->vtable->write(w->file, w->out->data, w->out->size);
  w->out->size = 0;
  return status;
}

// ---- Perfetto -----------------------------------------------------------------------------------

static leat_status_t put_packet(writer_t* w, leat_pb_trace_packet_t* packet) {
  packet->trusted_packet_sequence_id = SEQUENCE;
  packet->timestamp_clock_id = MONOTONIC_CLOCK;
  w->packet.size = 0;
  LEAT_RETURN_IF_ERROR(leat_message_encode(&leat_pb_trace_packet_descriptor, packet, &w->packet));
  leat_message_append_field(w->out, 1, leat_string_builder_view(&w->packet));
  return flush(w, FLUSH_BYTES);
}

// Numbers of rows are those of all processes of a trace, so they begin with the process's.
static uint64_t row_uuid(const writer_t* w, uint32_t row) {
  return (uint64_t)w->process << 32 | (row + 1);
}

static leat_status_t put_row(writer_t* w, uint32_t row, size_t first) {
  char name[48];
  const leat_recording_t* recording = w->rows->recording;
  row_name(w->rows, row, first, name, sizeof name);
  leat_pb_thread_descriptor_t thread = {.pid = (int32_t)w->process,
                                        .thread_name = leat_string_view_from(name)};
  leat_pb_track_descriptor_t track = {.uuid = row_uuid(w, row)};
  if (row < recording->thread_count) {
    thread.tid = (int32_t)recording->threads[row].id;
    track.thread = &thread;
  } else {
    track.name = leat_string_view_from(name);
    track.parent_uuid = (uint64_t)w->process << 32;
  }
  leat_pb_trace_packet_t packet = {.track_descriptor = &track};
  return put_packet(w, &packet);
}

static leat_status_t put_begin(writer_t* w, const leat_placed_span_t* item) {
  const words_t words = words_of(w, item);
  leat_string_view_t kind = words.kind;
  leat_pb_debug_annotation_t notes[6];
  uint64_t flow = (uint64_t)item->span->value;
  const arrow_t arrow = arrow_of(item->span->kind);
  leat_pb_track_event_t event = {.type = LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN,
                                 .track_uuid = row_uuid(w, item->row),
                                 .name = words.name,
                                 .categories = {&kind, 1},
                                 .flow_ids = {&flow, arrow == ARROW_BEGINS ||
                                                         arrow == ARROW_PASSES},
                                 .terminating_flow_ids = {&flow, arrow == ARROW_ENDS},
                                 .debug_annotations = {notes, 0}};
  if (words.node.size) {
    notes[event.debug_annotations.count++] =
        (leat_pb_debug_annotation_t){.name = LEAT_SV("node"), .string_value = words.node};
  }
  if (words.process) {
    notes[event.debug_annotations.count++] =
        (leat_pb_debug_annotation_t){.name = LEAT_SV("process"), .int_value = words.process};
  }
  if (words.value_name) {
    notes[event.debug_annotations.count++] = (leat_pb_debug_annotation_t){
        .name = leat_string_view_from(words.value_name), .int_value = words.value};
  }
  if (words.by) {
    notes[event.debug_annotations.count++] =
        (leat_pb_debug_annotation_t){.name = LEAT_SV("by"), .int_value = words.by};
  }
  if (words.graph) {
    notes[event.debug_annotations.count++] =
        (leat_pb_debug_annotation_t){.name = LEAT_SV("graph"), .int_value = words.graph};
  }
  if (words.step) {
    notes[event.debug_annotations.count++] =
        (leat_pb_debug_annotation_t){.name = LEAT_SV("in step"), .int_value = words.step};
  }
  leat_pb_trace_packet_t packet = {
      .timestamp = (uint64_t)written_ns(w, item->span->begin),
      .track_event = &event};
  return put_packet(w, &packet);
}

static leat_status_t put_end(writer_t* w, const leat_placed_span_t* item) {
  leat_pb_track_event_t event = {.type = LEAT_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END,
                                 .track_uuid = row_uuid(w, item->row)};
  leat_pb_trace_packet_t packet = {
      .timestamp = (uint64_t)written_ns(w, item->span->end),
      .track_event = &event};
  return put_packet(w, &packet);
}

// Writes the spans of one row, from |first| on; |open| has room for them all.
static leat_status_t put_spans(writer_t* w, size_t first, size_t end,
                               const leat_placed_span_t** open) {
  size_t depth = 0;
  for (size_t i = first; i < end; ++i) {
    const leat_placed_span_t* item = &w->rows->items[i];
    while (depth && open[depth - 1]->span->end <= item->span->begin) {
      LEAT_RETURN_IF_ERROR(put_end(w, open[--depth]));
    }
    LEAT_RETURN_IF_ERROR(put_begin(w, item));
    open[depth++] = item;
  }
  while (depth) LEAT_RETURN_IF_ERROR(put_end(w, open[--depth]));
  return leat_ok_status();
}

// The flops of a node as files have them.
static int64_t flops_of(const leat_span_facts_t* facts) {
  if (!(facts->flops >= 0)) return 0;
  return facts->flops < MAX_FLOPS ? 1 + (int64_t)facts->flops : (int64_t)MAX_FLOPS;
}

// The nodes of the graphs that ran, in events that a viewer does not draw.
static leat_status_t put_graphs(writer_t* w) {
  const leat_recording_t* recording = w->rows->recording;
  for (uint32_t g = 0; g < recording->graph_count; ++g) {
    const leat_span_edges_t* edges = &recording->graphs[g];
    for (uint32_t i = 0; i < edges->node_count; ++i) {
      const uint32_t first = edges->first_producer[i];
      leat_pb_graph_node_t node = {
          .graph = g + 1,
          .node = recording->names[edges->first_name + i].name,
          .producers = {edges->producers + first, edges->first_producer[i + 1] - first}};
      if (edges->facts) {
        const leat_span_facts_t* facts = &edges->facts[i];
        node.device = facts->device;
        node.outputs = facts->outputs;
        node.source = facts->source;
        node.flops = flops_of(facts);
      }
      leat_pb_track_event_t event = {.track_uuid = (uint64_t)w->process << 32,
                                     .graph_node = &node};
      leat_pb_trace_packet_t packet = {.track_event = &event};
      LEAT_RETURN_IF_ERROR(put_packet(w, &packet));
    }
  }
  return leat_ok_status();
}

// Comes before all packets with times.
static leat_status_t put_snapshot(writer_t* w) {
  leat_pb_clock_snapshot_clock_t clock = {.clock_id = MONOTONIC_CLOCK,
                                          .timestamp =
                                              (uint64_t)written_ns(w, w->rows->recording->begin)};
  leat_pb_clock_snapshot_t snapshot = {.clocks = {&clock, 1},
                                       .primary_trace_clock = MONOTONIC_CLOCK};
  leat_pb_trace_packet_t packet = {.clock_snapshot = &snapshot};
  return put_packet(w, &packet);
}

static leat_status_t put_relation(writer_t* w) {
  const leat_clock_relation_t* clock = &w->section->clock;
  leat_pb_clock_relation_t relation = {.process = (uint64_t)w->process,
                                       .at = clock->at_ns,
                                       .offset_ns = clock->offset_ns,
                                       .drift_ppb = (int64_t)(clock->drift * 1e9),
                                       .residual_ns = clock->residual_ns};
  leat_pb_track_event_t event = {.track_uuid = (uint64_t)w->process << 32,
                                 .clock_relation = &relation};
  leat_pb_trace_packet_t packet = {.track_event = &event};
  return put_packet(w, &packet);
}

// Writes the rows of the groups from |group| on up to |end_group|.
static leat_status_t put_rows(writer_t* w, leat_row_group_t group, leat_row_group_t end_group,
                              const leat_placed_span_t** open) {
  const leat_row_range_t* groups = w->rows->groups;
  size_t first = groups[group].first_item;
  for (uint32_t row = groups[group].first_row; row < groups[end_group].first_row; ++row) {
    const size_t end = leat_recording_row_end(w->rows, row, first);
    LEAT_RETURN_IF_ERROR(put_row(w, row, first));
    LEAT_RETURN_IF_ERROR(put_spans(w, first, end, open));
    first = end;
  }
  return leat_ok_status();
}

static leat_status_t write_perfetto(writer_t* w, leat_arena_t* arena) {
  const leat_recording_rows_t* rows = w->rows;
  const leat_placed_span_t** open;
  leat_pb_process_descriptor_t process = {.pid = (int32_t)w->process};
  leat_pb_track_descriptor_t track = {.uuid = (uint64_t)w->process << 32, .process = &process};
  leat_pb_trace_packet_t packet = {.track_descriptor = &track};
  if (w->section) process.process_name = w->section->name;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, rows->count + 1, &open));
  LEAT_RETURN_IF_ERROR(put_snapshot(w));
  LEAT_RETURN_IF_ERROR(put_packet(w, &packet));
  if (w->section) LEAT_RETURN_IF_ERROR(put_relation(w));
  LEAT_RETURN_IF_ERROR(put_graphs(w));
  LEAT_RETURN_IF_ERROR(put_rows(w, LEAT_ROWS_CORES, LEAT_ROW_GROUPS, open));
  return put_rows(w, LEAT_ROWS_THREADS, LEAT_ROWS_CORES, open);
}

// ---- Chrome -------------------------------------------------------------------------------------
// Times there are microseconds; rows that are no thread's get numbers that no thread has, of which
// viewers may take only those above 0.

static int64_t row_thread(const leat_recording_rows_t* rows, uint32_t row) {
  const leat_recording_t* recording = rows->recording;
  return row < recording->thread_count ? recording->threads[row].id
                                       : LEAT_RECORDING_NO_THREAD + row - recording->thread_count;
}

// Names the rows of the groups from |group| on up to |end_group|.
static leat_status_t put_chrome_rows(writer_t* w, leat_row_group_t group,
                                     leat_row_group_t end_group) {
  const leat_row_range_t* groups = w->rows->groups;
  size_t first = groups[group].first_item;
  for (uint32_t row = groups[group].first_row; row < groups[end_group].first_row; ++row) {
    char name[48];
    row_name(w->rows, row, first, name, sizeof name);
    leat_string_builder_print(w->out,
                              "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%" PRId64
                              ",\"tid\":%" PRId64 ",\"args\":{\"name\":",
                              w->process, row_thread(w->rows, row));
    leat_json_append_string(w->out, leat_string_view_from(name));
    leat_string_builder_append(w->out, LEAT_SV("}},\n"));
    LEAT_RETURN_IF_ERROR(flush(w, FLUSH_BYTES));
    first = leat_recording_row_end(w->rows, row, first);
  }
  return leat_ok_status();
}

// The part of an arrow that touches a span: "s" is its start, "t" a step and "f" its end.
static void put_chrome_arrow(writer_t* w, const leat_placed_span_t* item, int64_t begin) {
  static const char kPhases[] = {[ARROW_BEGINS] = 's', [ARROW_PASSES] = 't', [ARROW_ENDS] = 'f'};
  const arrow_t arrow = arrow_of(item->span->kind);
  if (arrow == ARROW_NONE) return;
  leat_string_builder_print(w->out,
                            "{\"ph\":\"%c\",\"name\":\"message\",\"cat\":\"message\",\"bp\":\"e\","
                            "\"id\":\"%" PRIx64 "\",\"pid\":%" PRId64 ",\"tid\":%" PRId64
                            ",\"ts\":%" PRId64 ".%03d},\n",
                            kPhases[arrow], (uint64_t)item->span->value, w->process,
                            row_thread(w->rows, item->row), begin / 1000, (int)(begin % 1000));
}

static void put_chrome_facts(writer_t* w, const leat_span_facts_t* facts) {
  const struct { const char* name; leat_string_view_t text; } kTexts[] = {
      {"device", facts->device}, {"outputs", facts->outputs}, {"source", facts->source}};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kTexts); ++i) {
    if (!kTexts[i].text.size) continue;
    leat_string_builder_print(w->out, ",\"%s\":", kTexts[i].name);
    leat_json_append_string(w->out, kTexts[i].text);
  }
  leat_string_builder_print(w->out, ",\"flops\":%" PRId64, flops_of(facts));
}

static leat_status_t put_chrome_graphs(writer_t* w) {
  const leat_recording_t* recording = w->rows->recording;
  for (uint32_t g = 0; g < recording->graph_count; ++g) {
    const leat_span_edges_t* edges = &recording->graphs[g];
    for (uint32_t i = 0; i < edges->node_count; ++i) {
      leat_string_builder_print(w->out,
                                "{\"ph\":\"M\",\"name\":\"leat_graph_node\",\"pid\":%" PRId64
                                ",\"args\":{\"graph\":%u,\"producers\":[", w->process, g + 1);
      for (uint32_t k = edges->first_producer[i]; k < edges->first_producer[i + 1]; ++k) {
        leat_string_builder_print(w->out, "%s%u", k > edges->first_producer[i] ? "," : "",
                                  edges->producers[k]);
      }
      leat_string_builder_append(w->out, LEAT_SV("],\"node\":"));
      leat_json_append_string(w->out, recording->names[edges->first_name + i].name);
      if (edges->facts) put_chrome_facts(w, &edges->facts[i]);
      leat_string_builder_append(w->out, LEAT_SV("}},\n"));
      LEAT_RETURN_IF_ERROR(flush(w, FLUSH_BYTES));
    }
  }
  return leat_ok_status();
}

static leat_status_t put_chrome_span(writer_t* w, const leat_placed_span_t* item) {
  const words_t words = words_of(w, item);
  const int64_t begin = written_ns(w, item->span->begin);
  const int64_t end = written_ns(w, item->span->end);
  put_chrome_arrow(w, item, begin);
  leat_string_builder_append(w->out, LEAT_SV("{\"ph\":\"X\",\"name\":"));
  leat_json_append_string(w->out, words.name);
  leat_string_builder_append(w->out, LEAT_SV(",\"cat\":"));
  leat_json_append_string(w->out, words.kind);
  leat_string_builder_print(w->out,
                            ",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"ts\":%" PRId64
                            ".%03d,\"dur\":%" PRId64 ".%03d,\"args\":{",
                            w->process, row_thread(w->rows, item->row), begin / 1000,
                            (int)(begin % 1000), (end - begin) / 1000, (int)((end - begin) % 1000));
  const char* comma = "";
  if (words.node.size) {
    leat_string_builder_append(w->out, LEAT_SV("\"node\":"));
    leat_json_append_string(w->out, words.node);
    comma = ",";
  }
  if (words.process) {
    leat_string_builder_print(w->out, "%s\"process\":%" PRId64, comma, words.process);
    comma = ",";
  }
  if (words.value_name) {
    leat_string_builder_print(w->out, "%s\"%s\":%" PRId64, comma, words.value_name, words.value);
    comma = ",";
  }
  if (words.by) leat_string_builder_print(w->out, "%s\"by\":%" PRId64, comma, words.by);
  if (words.graph) leat_string_builder_print(w->out, ",\"graph\":%u", words.graph);
  if (words.step) leat_string_builder_print(w->out, ",\"in step\":%u", words.step);
  leat_string_builder_append(w->out, LEAT_SV("}},\n"));
  return flush(w, FLUSH_BYTES);
}

static leat_status_t write_chrome(writer_t* w) {
  const leat_recording_rows_t* rows = w->rows;
  leat_string_builder_append(w->out, LEAT_SV("{\"traceEvents\":[\n"));
  LEAT_RETURN_IF_ERROR(put_chrome_graphs(w));
  LEAT_RETURN_IF_ERROR(put_chrome_rows(w, LEAT_ROWS_CORES, LEAT_ROW_GROUPS));
  LEAT_RETURN_IF_ERROR(put_chrome_rows(w, LEAT_ROWS_THREADS, LEAT_ROWS_CORES));
  for (size_t i = 0; i < rows->count; ++i) {
    LEAT_RETURN_IF_ERROR(put_chrome_span(w, &rows->items[i]));
  }
  leat_string_builder_print(w->out,
                            "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%" PRId64
                            ",\"args\":{\"name\":\"process %" PRId64 "\"}}\n],\"otherData\":"
                            "{\"spans lost\":%" PRIu64 ",\"switches lost\":%" PRIu64 "}}\n",
                            w->process, w->process, rows->recording->lost,
                            rows->recording->lost_switches);
  return leat_ok_status();
}

// ---- Files --------------------------------------------------------------------------------------

static leat_status_t write_rows(const leat_recording_rows_t* rows, leat_file_system_t* files,
                                const char* path, leat_arena_t* arena) {
  leat_string_builder_t out;
  leat_allocator_t* a = leat_allocator_system();
  writer_t w = {.rows = rows, .out = &out, .process = leat_host_process_id()};
  LEAT_RETURN_IF_ERROR(leat_file_open(files, path, LEAT_FILE_WRITE, a, &w.file));
  leat_string_builder_initialize(a, &out);
  leat_string_builder_initialize(a, &w.packet);
  leat_status_t status = leat_string_view_ends_with(leat_string_view_from(path), LEAT_SV(".json"))
                             ? write_chrome(&w)
                             : write_perfetto(&w, arena);
  if (!status) status = flush(&w, 0);
  leat_string_builder_deinitialize(&w.packet);
  leat_string_builder_deinitialize(&out);
  return leat_status_join(status, leat_file_close(w.file));
}

leat_status_t leat_recording_write(const leat_recording_t* recording, leat_file_system_t* files,
                                   const char* path) {
  leat_recording_rows_t rows;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_recording_rows_make(recording, &arena, &rows);
  if (!status) status = write_rows(&rows, files, path, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_recording_encode(const leat_recording_t* recording,
                                    const leat_recording_section_t* section,
                                    leat_string_builder_t* out) {
  leat_recording_rows_t rows;
  leat_arena_t arena;
  writer_t w = {.rows = &rows, .out = out, .process = section->number, .section = section};
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &w.packet);
  leat_status_t status = leat_recording_rows_make(recording, &arena, &rows);
  if (!status) status = write_perfetto(&w, &arena);
  leat_string_builder_deinitialize(&w.packet);
  leat_arena_deinitialize(&arena);
  return status;
}
