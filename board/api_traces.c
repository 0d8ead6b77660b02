// Recordings of threads (EEG, section 9.2 of the white paper), for the board's page of them:
//
//   /data/leat/traces                     the recordings below the log directory
//   /data/leat/trace?file=                rows, and all names with how long they took
//   /data/leat/trace/steps?file=          its steps, and those that are alike; until they are found
//                                         {"status":"pending"}, and one asks again
//   /data/leat/trace/window?file=&...     what is seen between two moments, as numbers
//   /data/leat/trace/slice?file=&...      all that is known of one slice
//   /data/leat/trace/node?file=&name=     what is known of a node: device, outputs, flops, source
//   /data/leat/trace/arrows?file=&...     the greatest delays between two moments, as arrows
//   /data/leat/trace/step?file=&step=     the critical path of a step, and its delays; with group=
//                                         the delays of all steps that are alike
//
// Times are nanoseconds from the beginning of the recording. The numbers of steps and the values of
// slices are whole numbers of 64 bits, and stand in quotation marks, because JSON's numbers are
// exact up to 2^53 only where JavaScript reads them. A window has begin=, end= and pixels=,
// and where not all rows are seen first= and rows=. Its pixels are aligned, so that it may begin a
// bit earlier (leat_time_window_align). It is one block of little-endian numbers, in which lanes
// without anything to see are left out:
//
//   u32 magic "LTW1" | u32 lanes | lane ...
//   lane: u32 row | u32 depth | u32 items | u32 0 | item ...
//   item: f64 begin | f64 end | f64 covered | u32 slices | u32 name | u32 first slice | u32 0
#include <inttypes.h>

#include "base/checked.h"
#include "board/api.h"
#include "board/json_writer.h"
#include "board/trace_store.h"
#include "formats/wire/wire.h"

#define MAX_PIXELS 8192
#define MAX_STEPS 20000  // of a recording's list
#define MAX_NAMES 20000
#define MAX_PIECES 20000  // of a path
#define MAX_ARROWS 100
#define LANE_BYTES 16
#define ITEM_BYTES 40

// Takes the recording that the parameter "file" names. |walks| is that of board_trace_store_take.
static leat_status_t take(board_api_t* api, const board_request_t* request, bool walks,
                          board_stored_trace_t** out_trace) {
  leat_string_view_t name;
  if (!board_query_get(&request->query, "file", &name)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"file\" is required");
  }
  return board_trace_store_take(api->traces, board_logdir_path(api->logdir), name, walks,
                                out_trace);
}

// A whole number of the query from 0 to |limit| - 1.
static leat_status_t get_index(const board_request_t* request, const char* name, size_t limit,
                               size_t* out_index) {
  int64_t number;
  LEAT_RETURN_IF_ERROR(board_api_int(request, name, 0, &number));
  if (number < 0 || (uint64_t)number >= limit) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found: %s is %lld, must be below %zu", name,
                            (long long)number, limit);
  }
  *out_index = (size_t)number;
  return leat_ok_status();
}

// Answers a request by what |print| appends, for which the timeline is enough.
static leat_status_t answer(board_api_t* api, const board_request_t* request,
                            board_response_t* response,
                            leat_status_t (*print)(const leat_timeline_t*,
                                                   const board_request_t*,
                                                   leat_string_builder_t*)) {
  board_stored_trace_t* trace;
  LEAT_RETURN_IF_ERROR(take(api, request, false, &trace));
  leat_status_t status = print(trace->timeline, request, &response->body);
  board_trace_store_release(api->traces, trace);
  return status;
}

leat_status_t board_api_traces(board_api_t* api, const board_request_t* request,
                               board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  board_trace_file_t* files;
  size_t count;
  LEAT_RETURN_IF_ERROR(board_trace_store_list(board_logdir_path(api->logdir), request->arena,
                                              &files, &count));
  leat_string_builder_append_char(out, '[');
  for (size_t i = 0; i < count; ++i) {
    leat_string_builder_append(out, i ? LEAT_SV(",{\"name\":") : LEAT_SV("{\"name\":"));
    board_json_string(out, files[i].name);
    leat_string_builder_print(out, ",\"bytes\":%" PRId64 ",\"modified\":%" PRId64 "}",
                              files[i].stat.size_bytes, files[i].stat.modified_ns / 1000000);
  }
  leat_string_builder_append_char(out, ']');
  return leat_ok_status();
}

// ---- The whole ----------------------------------------------------------------------------------

static void print_words(const char* name, const char* (*word)(int), int count,
                        leat_string_builder_t* out) {
  leat_string_builder_print(out, ",\"%s\":[", name);
  for (int i = 0; i < count; ++i) {
    leat_string_builder_print(out, "%s\"%s\"", i ? "," : "", word(i));
  }
  leat_string_builder_append_char(out, ']');
}

static const char* kind_word(int kind) { return leat_span_kind_name((leat_span_kind_t)kind); }
static const char* cause_word(int cause) {
  return leat_delay_cause_name((leat_delay_cause_t)cause);
}

static void print_rows(const leat_timeline_t* timeline, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV(",\"rows\":["));
  for (size_t i = 0; i < timeline->row_count; ++i) {
    const leat_timeline_row_t* row = timeline->rows[i];
    leat_string_builder_print(out, "%s{\"process\":%" PRId64 ",\"thread\":%" PRId64
                              ",\"lanes\":%u,\"name\":", i ? "," : "", row->process, row->thread,
                              row->lane_count);
    board_json_string(out, row->name);
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append_char(out, ']');
}

// Processes with a name are [number, name].
static void print_processes(const leat_timeline_t* timeline, leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV(",\"processes\":["));
  for (size_t i = 0; i < timeline->process_count; ++i) {
    leat_string_builder_print(out, "%s[%" PRId64 ",", i ? "," : "",
                              timeline->processes[i].number);
    board_json_string(out, timeline->processes[i].name);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, ']');
}

// |time_ns| from the beginning of the recording. The slices of an index that nobody has verified
// yet may hold any times, so it wraps.
static int64_t from_begin(const leat_timeline_t* timeline, int64_t time_ns) {
  return (int64_t)((uint64_t)time_ns - (uint64_t)timeline->begin_ns);
}

// [op, node, kind, slices, total, the longest: row, depth, slice, begin, end]
static void print_names(const board_stored_trace_t* trace, leat_string_builder_t* out) {
  const leat_timeline_t* timeline = trace->timeline;
  leat_string_builder_append(out, LEAT_SV(",\"names\":["));
  for (size_t i = 0; i < timeline->name_count && i < MAX_NAMES; ++i) {
    const board_trace_name_t* name = &trace->names[i];
    const leat_slice_t none = {.begin_ns = timeline->begin_ns, .end_ns = timeline->begin_ns};
    // A name may occur in nothing but slices that lay too deep, which are left out.
    const leat_slice_t* longest =
        name->count ? &timeline->rows[name->row]->lanes[name->lane].slices[name->slice] : &none;
    leat_string_builder_append(out, i ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_string(out, timeline->names[i].op);
    leat_string_builder_append_char(out, ',');
    board_json_string(out, timeline->names[i].node);
    leat_string_builder_print(out, ",%u,%" PRIu64 ",%" PRId64 ",%u,%u,%zu,%" PRId64 ",%" PRId64
                              "]", timeline->names[i].kind, name->count, name->total_ns, name->row,
                              name->lane, name->slice, from_begin(timeline, longest->begin_ns),
                              from_begin(timeline, longest->end_ns));
  }
  leat_string_builder_append_char(out, ']');
}

// Steps are [number, begin, end, row, group].
static void print_steps(const leat_delays_t* delays, leat_string_builder_t* out) {
  const int64_t begin = delays->timeline->begin_ns;
  leat_string_builder_append(out, LEAT_SV("{\"status\":\"found\",\"steps\":["));
  for (size_t i = 0; i < delays->step_count && i < MAX_STEPS; ++i) {
    const leat_step_t* step = &delays->steps[i];
    leat_string_builder_print(out, "%s[\"%" PRId64 "\",%" PRId64 ",%" PRId64 ",%u,%u]",
                              i ? "," : "",
                              step->number, step->begin_ns - begin, step->end_ns - begin,
                              step->row, step->group);
  }
  leat_string_builder_print(out, "],\"main_group\":%zu,\"groups\":[", delays->main_group);
  for (size_t i = 0; i < delays->group_count && i < MAX_STEPS; ++i) {
    const leat_step_group_t* group = &delays->groups[i];
    leat_string_builder_print(out, "%s{\"steps\":%zu,\"slowest\":%zu,\"median\":%" PRId64
                              ",\"total\":%" PRId64 "}", i ? "," : "", group->count,
                              group->slowest, group->median_ns, group->total_ns);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

leat_status_t board_api_trace(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  board_stored_trace_t* trace;
  LEAT_RETURN_IF_ERROR(take(api, request, false, &trace));
  const leat_timeline_t* timeline = trace->timeline;
  leat_string_builder_print(out, "{\"length\":%" PRId64 ",\"slices\":%zu,\"damaged\":%" PRIu64,
                            timeline->end_ns - timeline->begin_ns, timeline->slice_count,
                            timeline->damaged);
  print_words("kinds", kind_word, LEAT_SPAN_KINDS, out);
  print_words("causes", cause_word, LEAT_DELAY_CAUSES, out);
  print_processes(timeline, out);
  print_rows(timeline, out);
  print_names(trace, out);
  leat_string_builder_append_char(out, '}');
  board_trace_store_release(api->traces, trace);
  return leat_ok_status();
}

leat_status_t board_api_trace_steps(board_api_t* api, const board_request_t* request,
                                    board_response_t* response) {
  board_stored_trace_t* trace;
  const leat_delays_t* delays;
  LEAT_RETURN_IF_ERROR(take(api, request, false, &trace));
  leat_status_t status = board_trace_store_delays(api->traces, trace, &delays);
  if (!status && delays) {
    print_steps(delays, &response->body);
  } else if (!status) {
    leat_string_builder_append(&response->body, LEAT_SV("{\"status\":\"pending\"}"));
  }
  board_trace_store_release(api->traces, trace);
  return status;
}

// ---- Windows ------------------------------------------------------------------------------------

static void store_double(char* data, int64_t number) {
  const double value = (double)number;
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  leat_wire_store64(data, bits);
}

static void put_item(const leat_timeline_t* timeline, const leat_time_window_item_t* item,
                     leat_string_builder_t* out) {
  char* data = leat_string_builder_reserve(out, ITEM_BYTES);
  if (!data) return;
  store_double(data, from_begin(timeline, item->begin_ns));
  store_double(data + 8, from_begin(timeline, item->end_ns));
  store_double(data + 16, item->covered_ns);
  leat_wire_store32(data + 24, (uint32_t)LEAT_MIN(item->count, UINT32_MAX));
  leat_wire_store32(data + 28, item->name);
  leat_wire_store32(data + 32, (uint32_t)item->first);
  leat_wire_store32(data + 36, 0);
}

// Appends what is seen of a lane; false where nothing is.
static bool put_lane(const leat_timeline_t* timeline, uint32_t row, uint32_t depth,
                     const leat_time_window_t* window, leat_string_builder_t* out) {
  const leat_lane_t* lane = &timeline->rows[row]->lanes[depth];
  const size_t head = out->size;
  leat_lane_cursor_t at = leat_lane_seek(lane, window->begin_ns);
  uint32_t items = 0;
  leat_time_window_item_t item;
  if (!leat_string_builder_reserve(out, LANE_BYTES)) return false;
  for (; leat_lane_next(lane, window, &at, &item); ++items) put_item(timeline, &item, out);
  if (!items || out->status) {
    out->size = head;
    return false;
  }
  leat_wire_store32(out->data + head, row);
  leat_wire_store32(out->data + head + 4, depth);
  leat_wire_store32(out->data + head + 8, items);
  leat_wire_store32(out->data + head + 12, 0);
  return true;
}

static leat_status_t get_window(const leat_timeline_t* timeline, const board_request_t* request,
                                leat_time_window_t* out_window, int64_t* out_first,
                                int64_t* out_rows) {
  const int64_t length = timeline->end_ns - timeline->begin_ns;
  int64_t begin, end, pixels;
  LEAT_RETURN_IF_ERROR(board_api_int(request, "begin", 0, &begin));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "end", length + 1, &end));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "pixels", 1000, &pixels));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "first", 0, out_first));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "rows", INT32_MAX, out_rows));
  if (pixels < 1 || pixels > MAX_PIXELS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "pixels is %lld, must be 1 to %d",
                            (long long)pixels, MAX_PIXELS);
  }
  // What lies beyond the recording is empty.
  begin = LEAT_MIN(LEAT_MAX(begin, -length), length);
  end = LEAT_MIN(LEAT_MAX(end, begin), 2 * length + 1);
  *out_window = (leat_time_window_t){.begin_ns = timeline->begin_ns + begin,
                                     .end_ns = timeline->begin_ns + end,
                                     .pixel_ns = LEAT_MAX((end - begin) / pixels, 1)};
  leat_time_window_align(out_window);
  *out_first = LEAT_MAX(*out_first, 0);
  *out_rows = LEAT_MAX(*out_rows, 0);
  return leat_ok_status();
}

static leat_status_t put_window(const leat_timeline_t* timeline, const board_request_t* request,
                                leat_string_builder_t* out) {
  leat_time_window_t window;
  int64_t first, rows;
  uint32_t lanes = 0;
  LEAT_RETURN_IF_ERROR(get_window(timeline, request, &window, &first, &rows));
  leat_string_builder_append(out, LEAT_SV("LTW1\0\0\0\0"));
  for (size_t row = (size_t)first; row < timeline->row_count && (int64_t)row - first < rows;
       ++row) {
    for (uint32_t depth = 0; depth < timeline->rows[row]->lane_count; ++depth) {
      lanes += put_lane(timeline, (uint32_t)row, depth, &window, out);
    }
  }
  if (!out->status) leat_wire_store32(out->data + 4, lanes);
  return leat_ok_status();
}

leat_status_t board_api_trace_window(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  response->content_type = "application/octet-stream";
  return answer(api, request, response, put_window);
}

// ---- One slice ----------------------------------------------------------------------------------

static void print_slice(const leat_timeline_t* timeline, size_t row, size_t depth, size_t index,
                        leat_string_builder_t* out) {
  const leat_lane_t* lane = &timeline->rows[row]->lanes[depth];
  const leat_slice_t* slice = &lane->slices[index];
  leat_string_builder_print(out, "{\"row\":%zu,\"depth\":%zu,\"slice\":%zu,\"name\":%u,\"begin\":%"
                            PRId64 ",\"end\":%" PRId64 ",\"value\":\"%" PRId64 "\",\"by\":%u}", row,
                            depth, index, slice->name, from_begin(timeline, slice->begin_ns),
                            from_begin(timeline, slice->end_ns), lane->values[index], slice->by);
}

// The slice, then those around it, the innermost first.
static leat_status_t print_slices(const leat_timeline_t* timeline, const board_request_t* request,
                                  leat_string_builder_t* out) {
  size_t row, depth, index;
  LEAT_RETURN_IF_ERROR(get_index(request, "row", timeline->row_count, &row));
  LEAT_RETURN_IF_ERROR(get_index(request, "depth", timeline->rows[row]->lane_count, &depth));
  const leat_lane_t* lanes = timeline->rows[row]->lanes;
  LEAT_RETURN_IF_ERROR(get_index(request, "slice", lanes[depth].count, &index));
  const int64_t begin_ns = lanes[depth].slices[index].begin_ns;
  leat_string_builder_append_char(out, '[');
  print_slice(timeline, row, depth, index, out);
  while (depth-- > 0) {
    const size_t around = leat_lane_find(&lanes[depth], begin_ns);
    if (around == lanes[depth].count || lanes[depth].slices[around].begin_ns > begin_ns) continue;
    leat_string_builder_append_char(out, ',');
    print_slice(timeline, row, depth, around, out);
  }
  leat_string_builder_append_char(out, ']');
  return leat_ok_status();
}

leat_status_t board_api_trace_slice(board_api_t* api, const board_request_t* request,
                                    board_response_t* response) {
  return answer(api, request, response, print_slices);
}

// The node of the recorded graph that |name| is of; NULL: it is of none.
static const leat_timeline_node_t* find_node(const leat_timeline_t* timeline,
                                             const leat_slice_name_t* name) {
  for (size_t i = 0; i < timeline->node_count && name->graph; ++i) {
    const leat_timeline_node_t* node = &timeline->nodes[i];
    if (node->graph == name->graph && leat_string_view_equal(node->name, name->node)) return node;
  }
  return NULL;
}

// The parts of "float [32,10], int32 []".
static void print_outputs(leat_string_view_t outputs, leat_string_builder_t* out) {
  for (size_t begin = 0, end = 0; begin < outputs.size; begin = end + 2) {
    for (end = begin; end < outputs.size; ++end) {
      if (outputs.data[end] == ',' && end + 1 < outputs.size && outputs.data[end + 1] == ' ') break;
    }
    if (begin) leat_string_builder_append_char(out, ',');
    board_json_string(out, leat_string_view_make(outputs.data + begin, end - begin));
  }
}

// What is known of a node before it runs; null where the name is that of no node.
static leat_status_t print_node(const leat_timeline_t* timeline, const board_request_t* request,
                                leat_string_builder_t* out) {
  size_t name;
  LEAT_RETURN_IF_ERROR(get_index(request, "name", timeline->name_count, &name));
  const leat_timeline_node_t* node = find_node(timeline, &timeline->names[name]);
  if (!node) {
    leat_string_builder_append(out, LEAT_SV("null"));
    return leat_ok_status();
  }
  leat_string_builder_append(out, LEAT_SV("{\"device\":"));
  board_json_string(out, node->device);
  leat_string_builder_append(out, LEAT_SV(",\"outputs\":["));
  print_outputs(node->outputs, out);
  leat_string_builder_append(out, LEAT_SV("],\"source\":"));
  board_json_string(out, node->source);
  leat_string_builder_append(out, LEAT_SV(",\"flops\":"));
  if (node->flops > 0) {
    leat_string_builder_print(out, "%" PRId64 "}", node->flops - 1);
  } else {
    leat_string_builder_append(out, LEAT_SV("null}"));
  }
  return leat_ok_status();
}

leat_status_t board_api_trace_node(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  return answer(api, request, response, print_node);
}

// ---- Delays -------------------------------------------------------------------------------------

static void print_sentence(const leat_delays_t* delays, const leat_delay_t* delay,
                           leat_string_builder_t* out) {
  leat_string_builder_t sentence;
  leat_string_builder_initialize(leat_allocator_system(), &sentence);
  leat_delay_print(delays, delay, &sentence);
  board_json_string(out, leat_string_builder_view(&sentence));
  leat_string_builder_deinitialize(&sentence);
}

static leat_status_t print_arrows(const leat_delays_t* delays, const board_request_t* request,
                                  leat_string_builder_t* out) {
  const int64_t first = delays->timeline->begin_ns;
  const int64_t length = delays->timeline->end_ns - first;
  int64_t begin, end, most;
  leat_delay_arrow_t* arrows;
  size_t count;
  LEAT_RETURN_IF_ERROR(board_api_int(request, "begin", 0, &begin));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "end", length + 1, &end));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "most", 10, &most));
  if (most < 0 || most > MAX_ARROWS) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "most is %lld, must be 0 to %d",
                            (long long)most, MAX_ARROWS);
  }
  // What lies beyond the recording is empty.
  begin = LEAT_MIN(LEAT_MAX(begin, -1), length);
  end = LEAT_MIN(LEAT_MAX(end, begin), length + 1);
  LEAT_RETURN_IF_ERROR(leat_delays_arrows(delays, first + begin, first + end, (size_t)most,
                                          request->arena, &arrows, &count));
  leat_string_builder_append_char(out, '[');
  for (size_t i = 0; i < count; ++i) {
    const leat_delay_t* delay = &arrows[i].delay;
    leat_string_builder_print(out, "%s{\"begin\":%" PRId64 ",\"end\":%" PRId64 ",\"row\":%u,"
                              "\"from\":%d,\"cause\":%u,\"ns\":%" PRId64 ",\"step\":%zu,"
                              "\"sentence\":", i ? "," : "", delay->begin_ns - first,
                              delay->end_ns - first, arrows[i].to, (int)arrows[i].from,
                              delay->cause, delay->gain_ns, arrows[i].step);
    print_sentence(delays, delay, out);
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append_char(out, ']');
  return leat_ok_status();
}

leat_status_t board_api_trace_arrows(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  board_stored_trace_t* trace;
  const leat_delays_t* delays;
  LEAT_RETURN_IF_ERROR(take(api, request, false, &trace));
  leat_status_t status = board_trace_store_delays(api->traces, trace, &delays);
  board_trace_store_release(api->traces, trace);
  LEAT_RETURN_IF_ERROR(status);
  if (!delays) {
    leat_string_builder_append(&response->body, LEAT_SV("{\"status\":\"pending\"}"));
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(take(api, request, true, &trace));
  status = print_arrows(trace->delays, request, &response->body);
  board_trace_store_release(api->traces, trace);
  return status;
}

static void print_delays(const leat_delays_t* delays, const leat_delay_t* list, size_t count,
                         leat_string_builder_t* out) {
  const int64_t begin = delays->timeline->begin_ns;
  leat_string_builder_append(out, LEAT_SV("\"delays\":["));
  for (size_t i = 0; i < count; ++i) {
    const leat_delay_t* delay = &list[i];
    leat_string_builder_print(out, "%s{\"cause\":%u,\"row\":%u,\"begin\":%" PRId64 ",\"end\":%"
                              PRId64 ",\"total\":%" PRId64 ",\"median\":%" PRId64 ",\"gain\":%"
                              PRId64 ",\"sentence\":", i ? "," : "", delay->cause, delay->row,
                              delay->begin_ns - begin, delay->end_ns - begin, delay->total_ns,
                              delay->median_ns, delay->gain_ns);
    print_sentence(delays, delay, out);
    leat_string_builder_append_char(out, '}');
  }
  leat_string_builder_append_char(out, ']');
}

// Pieces are [begin, end, row, cause, name], the last -1 where there is none.
static leat_status_t print_step(const leat_delays_t* delays, size_t step, leat_arena_t* arena,
                                leat_string_builder_t* out) {
  const int64_t begin = delays->timeline->begin_ns;
  leat_path_piece_t* pieces;
  leat_delay_t* list;
  size_t count;
  LEAT_RETURN_IF_ERROR(leat_delays_path(delays, step, arena, &pieces, &count));
  leat_string_builder_append(out, LEAT_SV("{\"path\":["));
  for (size_t i = 0; i < count && i < MAX_PIECES; ++i) {
    leat_string_builder_print(out, "%s[%" PRId64 ",%" PRId64 ",%u,%u,%d]", i ? "," : "",
                              pieces[i].begin_ns - begin, pieces[i].end_ns - begin, pieces[i].row,
                              pieces[i].cause, (int)pieces[i].name);
  }
  leat_string_builder_append(out, LEAT_SV("],"));
  LEAT_RETURN_IF_ERROR(leat_delays_of_step(delays, step, arena, &list, &count));
  print_delays(delays, list, count, out);
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

static leat_status_t print_group(const leat_delays_t* delays, size_t group, leat_arena_t* arena,
                                 leat_string_builder_t* out) {
  leat_delay_t* list;
  size_t count;
  LEAT_RETURN_IF_ERROR(leat_delays_of_group(delays, group, arena, &list, &count));
  leat_string_builder_append(out, LEAT_SV("{\"path\":[],"));
  print_delays(delays, list, count, out);
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

leat_status_t board_api_trace_step(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  board_stored_trace_t* trace;
  leat_string_view_t text;
  size_t index = 0;
  LEAT_RETURN_IF_ERROR(take(api, request, true, &trace));
  const leat_delays_t* delays = trace->delays;
  leat_status_t status;
  if (board_query_get(&request->query, "group", &text)) {
    status = get_index(request, "group", delays->group_count, &index);
    if (!status) status = print_group(delays, index, request->arena, &response->body);
  } else {
    status = get_index(request, "step", delays->step_count, &index);
    if (!status) status = print_step(delays, index, request->arena, &response->body);
  }
  board_trace_store_release(api->traces, trace);
  return status;
}
