// Answers TensorBoard's graph plugin: graphs and what was recorded of their steps, in the text form
// of their messages. TensorBoard's own page parses that text, so it is printed as protobuf prints
// it.
//
// A run has one graph, of an event of its own (the newest step's counts), and any number of tags
// under which summaries traced functions: their graphs, times, or both. What a Keras model's JSON
// draws as a graph is not made here.
#include "board/api.h"
#include "board/graph_source.h"
#include "board/json_writer.h"
#include "formats/generated/graph.h"
#include "formats/generated/run_metadata.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"

// ---- What there is ------------------------------------------------------------------------------
// Which of the three a series gives. Those of the summary op say that they are version 1.
static bool gives(const board_series_t* series, bool* out_concept, bool* out_graph,
                  bool* out_profile) {
  *out_concept = !strcmp(series->plugin, "graph_keras_model");
  bool both = !strcmp(series->plugin, "graph_run_metadata");
  bool tagged = !strcmp(series->plugin, "graph_tagged_run_metadata");
  *out_graph = both || !strcmp(series->plugin, "graph_run_metadata_graph");
  *out_profile = both || tagged;
  if (series->data_class != BOARD_CLASS_BLOB) return false;
  return tagged || ((*out_concept || *out_graph) && leat_string_view_equals(series->content, "1"));
}

static const char* word(bool truth) { return truth ? "true" : "false"; }

// Prints one run; false where it has nothing. The lock is held.
static bool print_run(const board_run_t* run, bool is_first, leat_string_builder_t* out) {
  bool has_graph = board_run_find_of(run, BOARD_RUN_GRAPH, "graphs", BOARD_CLASS_BLOB) != NULL;
  bool concept, graph, profile, follows = false, any = has_graph;
  for (size_t i = 0; i < run->series_count; ++i) {
    any |= gives(run->series[i], &concept, &graph, &profile);
  }
  if (!any) return false;
  if (!is_first) leat_string_builder_append_char(out, ',');
  board_json_string(out, leat_string_view_from(run->name));
  leat_string_builder_append(out, LEAT_SV(":{\"run\":"));
  board_json_string(out, leat_string_view_from(run->name));
  leat_string_builder_append(out, LEAT_SV(",\"tags\":{"));
  for (size_t i = 0; i < run->series_count; ++i) {
    if (!gives(run->series[i], &concept, &graph, &profile)) continue;
    leat_string_view_t tag = leat_string_view_make(run->series[i]->tag, run->series[i]->tag_size);
    if (follows) leat_string_builder_append_char(out, ',');
    follows = true;
    board_json_string(out, tag);
    leat_string_builder_append(out, LEAT_SV(":{\"tag\":"));
    board_json_string(out, tag);
    leat_string_builder_print(
        out, ",\"conceptual_graph\":%s,\"op_graph\":%s,\"profile\":%s}", word(concept), word(graph),
        word(profile));
  }
  leat_string_builder_print(out, "},\"run_graph\":%s}", word(has_graph));
  return true;
}

leat_status_t board_api_graph_info(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  board_run_t** runs;
  size_t count;
  bool any = false;
  (void)request;
  LEAT_RETURN_IF_ERROR(board_logdir_runs(api->logdir, &runs, &count));
  leat_string_builder_append_char(&response->body, '{');
  for (size_t i = 0; i < count; ++i) {
    board_run_lock(runs[i]);
    any |= print_run(runs[i], !any, &response->body);
    leat_mutex_unlock(&runs[i]->lock);
  }
  leat_string_builder_append_char(&response->body, '}');
  leat_allocator_free(leat_allocator_system(), runs);
  return leat_ok_status();
}

// ---- Graphs -------------------------------------------------------------------------------------
// Takes attributes that are encoded in more than |limit| bytes out of the nodes, and lists their
// names under the attribute |key|.
static leat_status_t cut_attributes(leat_pb_graph_def_t* graph, int64_t limit,
                                    leat_string_view_t key, leat_arena_t* arena) {
  for (size_t n = 0; n < graph->node.count; ++n) {
    leat_pb_node_def_t* node = &graph->node.items[n];
    leat_pb_string_list_t large = {0};
    size_t kept = 0;
    for (size_t a = 0; a < node->attr.count; ++a) {
      leat_string_builder_t bytes;
      leat_status_t status = leat_ok_status();
      leat_string_builder_initialize(leat_allocator_system(), &bytes);
      if (node->attr.items[a].value) {
        status = leat_message_encode(&leat_pb_attr_value_descriptor, node->attr.items[a].value,
                                     &bytes);
      }
      bool is_large = (int64_t)bytes.size > limit;
      leat_string_builder_deinitialize(&bytes);
      LEAT_RETURN_IF_ERROR(status);
      if (is_large) {
        leat_string_view_t* item;
        LEAT_RETURN_IF_ERROR(
            leat_message_list_append(arena, &large, sizeof *item, (void**)&item));
        *item = node->attr.items[a].key;
      } else {
        node->attr.items[kept++] = node->attr.items[a];
      }
    }
    node->attr.count = kept;
    if (!large.count) continue;
    leat_pb_attr_value_t* value = NULL;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value));
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, 1, &value->list));
    value->value_case = 1;
    value->list->s = large;
    // At least one went, so that there is room.
    node->attr.items[node->attr.count++] = (leat_pb_node_def_attr_entry_t){key, value};
  }
  return leat_ok_status();
}

static leat_status_t print_graph(const board_request_t* request, leat_pb_graph_def_t* graph,
                                 board_response_t* response) {
  leat_string_view_t text, key;
  int64_t limit;
  if (board_query_get(&request->query, "limit_attr_size", &text)) {
    LEAT_RETURN_IF_ERROR(board_api_int(request, "limit_attr_size", 0, &limit));
    if (limit <= 0 || !board_query_get(&request->query, "large_attrs_key", &key)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "limit_attr_size must be above 0 and come with large_attrs_key");
    }
    LEAT_RETURN_IF_ERROR(cut_attributes(graph, limit, key, request->arena));
  }
  response->content_type = "text/x-protobuf; charset=utf-8";
  return leat_text_print(&leat_pb_graph_def_descriptor, graph, LEAT_TEXT_LINES, &response->body);
}

leat_status_t board_api_graph(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  leat_string_view_t conceptual;
  board_graph_source_t source;
  board_graph_content_t content;
  if (board_query_get(&request->query, "conceptual", &conceptual) &&
      leat_string_view_equals(conceptual, "true")) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "graphs of Keras models are not drawn");
  }
  LEAT_RETURN_IF_ERROR(board_graph_source_find(api, request, &source));
  LEAT_RETURN_IF_ERROR(board_graph_source_read(&source, request->arena, &content));
  return print_graph(request, &content.graph, response);
}

leat_status_t board_api_run_metadata(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  leat_decode_limits_t limits = {0};
  leat_string_view_t bytes;
  leat_pb_run_metadata_t metadata;
  board_graph_source_t source;
  LEAT_RETURN_IF_ERROR(board_graph_source_find_steps(api, request, "tag", &source));
  LEAT_RETURN_IF_ERROR(board_graph_source_bytes(&source, request->arena, &bytes));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, request->arena,
                                           &limits, &metadata));
  // Leat's own fields are not TensorBoard's, and large.
  metadata.graph_stages.count = 0;
  metadata.placement = NULL;
  response->content_type = "text/x-protobuf; charset=utf-8";
  return leat_text_print(&leat_pb_run_metadata_descriptor, &metadata, LEAT_TEXT_LINES,
                         &response->body);
}
