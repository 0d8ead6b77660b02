// The lines of a program (graph/source_line.h) as a part of a GraphDef, its debug_info, by which
// the task that runs a graph knows the lines of the one that built it. TensorFlow's servers read
// what is written here, and what TensorFlow writes is read here, in both of its forms. Of a stack
// trace the innermost call is kept, which TensorFlow lists last. Written is the older form, a trace
// with one call for each node's name: it needs no numbers of traces and frames, of which there
// would be about as many as nodes.
#include "base/map.h"
#include "formats/generated/graph_debug_info.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "graph/import/export.h"
#include "graph/import/importer.h"
#include "graph/source_line.h"

typedef leat_pb_graph_debug_info_file_line_col_t call_t;
typedef leat_pb_graph_debug_info_stack_trace_t trace_t;

// ---- Writing ------------------------------------------------------------------------------------

// What the entry of one node needs.
typedef struct written_s {
  call_t call;
  trace_t trace;
} written_t;

// The number of |file|, which is added where it is new. Nodes in a row mostly come from one file.
static int32_t number_file(leat_pb_string_list_t* files, leat_string_view_t file) {
  for (size_t i = files->count; i-- > 0;) {
    if (leat_string_view_equal(files->items[i], file)) return (int32_t)i;
  }
  files->items[files->count] = file;
  return (int32_t)files->count++;
}

static leat_status_t make_message(const leat_graph_t* graph, size_t first_node,
                                  leat_arena_t* arena, leat_pb_graph_debug_info_t* out_info) {
  const size_t most = graph->node_count - first_node;
  written_t* written;
  *out_info = (leat_pb_graph_debug_info_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, most + 1, &written));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, most + 1, &out_info->files.items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, most + 1, &out_info->traces.items));
  for (size_t i = first_node; i < graph->node_count; ++i) {
    leat_string_view_t file;
    uint32_t line;
    const leat_string_view_t name = graph->nodes[i].name;
    if (!leat_graph_find_source_line(graph, name, &file, &line)) continue;
    const size_t count = out_info->traces.count++;
    written_t* w = &written[count];
    w->call = (call_t){.file_index = number_file(&out_info->files, file), .line = (int32_t)line};
    w->trace.file_line_cols.items = &w->call;
    w->trace.file_line_cols.count = 1;
    out_info->traces.items[count] = (leat_pb_graph_debug_info_traces_entry_t){name, &w->trace};
  }
  return leat_ok_status();
}

leat_status_t leat_graph_export_lines(const leat_graph_t* graph, size_t first_node,
                                      leat_string_builder_t* out) {
  if (!leat_graph_has_source_lines(graph)) return leat_ok_status();
  leat_arena_t arena;
  leat_string_builder_t encoded;
  leat_pb_graph_debug_info_t info;
  leat_arena_initialize(graph->allocator, 0, &arena);
  leat_string_builder_initialize(graph->allocator, &encoded);
  leat_status_t status = make_message(graph, first_node, &arena, &info);
  if (!status && info.traces.count) {
    status = leat_message_encode(&leat_pb_graph_debug_info_descriptor, &info, &encoded);
    if (!status) {
      leat_message_append_field(out, LEAT_GRAPH_DEF_DEBUG_INFO,
                                leat_string_builder_view(&encoded));
    }
  }
  leat_string_builder_deinitialize(&encoded);
  leat_arena_deinitialize(&arena);
  return leat_status_join(status, leat_status_clone(out->status));
}

// ---- Reading ------------------------------------------------------------------------------------

typedef struct reader_s {
  leat_importer_t* importer;
  leat_pb_graph_debug_info_t info;
  leat_word_map_t frames, traces;  // by their ids: indices of the message's lists
} reader_t;

static leat_status_t number_ids(reader_t* r) {
  for (size_t i = 0; i < r->info.frames_by_id.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&r->frames, r->info.frames_by_id.items[i].key, i));
  }
  for (size_t i = 0; i < r->info.traces_by_id.count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&r->traces, r->info.traces_by_id.items[i].key, i));
  }
  return leat_ok_status();
}

static const call_t* innermost_call(reader_t* r, const trace_t* trace) {
  uint64_t frame;
  if (!trace) return NULL;
  if (trace->file_line_cols.count) {
    return &trace->file_line_cols.items[trace->file_line_cols.count - 1];
  }
  if (!trace->frame_id.count ||
      !leat_word_map_get(&r->frames, trace->frame_id.items[trace->frame_id.count - 1], &frame)) {
    return NULL;
  }
  return r->info.frames_by_id.items[frame].value;
}

// Traces of nodes in functions have names that no node of the graph has.
static leat_status_t tell(reader_t* r, leat_string_view_t name, const trace_t* trace) {
  const call_t* call = innermost_call(r, trace);
  const int32_t node = leat_importer_find(r->importer, name);
  if (!call || node < 0 || call->line < 0 || call->file_index < 0 ||
      (size_t)call->file_index >= r->info.files.count) {
    return leat_ok_status();
  }
  return leat_graph_set_source_line(r->importer->graph, node,
                                    r->info.files.items[call->file_index], (uint32_t)call->line);
}

static leat_status_t tell_all(reader_t* r) {
  const leat_pb_graph_debug_info_t* info = &r->info;
  LEAT_RETURN_IF_ERROR(number_ids(r));
  for (size_t i = 0; i < info->traces.count; ++i) {
    LEAT_RETURN_IF_ERROR(tell(r, info->traces.items[i].key, info->traces.items[i].value));
  }
  for (size_t i = 0; i < info->name_to_trace_id.count; ++i) {
    uint64_t trace;
    if (!leat_word_map_get(&r->traces, info->name_to_trace_id.items[i].value, &trace)) continue;
    LEAT_RETURN_IF_ERROR(
        tell(r, info->name_to_trace_id.items[i].key, info->traces_by_id.items[trace].value));
  }
  return leat_ok_status();
}

leat_status_t leat_importer_read_lines(leat_importer_t* importer) {
  const leat_string_view_t bytes = leat_string_builder_view(&importer->file->debug_info);
  if (!bytes.size) return leat_ok_status();
  leat_arena_t arena;
  reader_t r = {.importer = importer};
  leat_arena_initialize(importer->allocator, 0, &arena);
  leat_word_map_initialize(importer->allocator, &r.frames);
  leat_word_map_initialize(importer->allocator, &r.traces);
  leat_status_t status =
      leat_message_decode(&leat_pb_graph_debug_info_descriptor, bytes, &arena, NULL, &r.info);
  // Past this point nothing fails: the names in the table of lines stay as long as the nodes do.
  if (!status) leat_status_free(tell_all(&r));
  leat_word_map_deinitialize(&r.frames);
  leat_word_map_deinitialize(&r.traces);
  leat_arena_deinitialize(&arena);
  return status;
}
