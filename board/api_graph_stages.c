// What became of a step's graph while it was compiled, as far as its RunMetadata says it
// (board/graph_stages.h).
//
// /data/leat/graph/stages?run=.&tag=step&placed=1 answers
//   {"stages": [{"name": "fold", "doc": "...", "nodes": n, "came": n, "gone": n, "other": n,
//                "moved": n}, ...], "written": whether the first one is compared with the program's
//    graph}
// /data/leat/graph/changes?...&stage=1 answers {"items": [[item, path, op, change], ...], "total"},
// the nodes that the stage has changed, in the order of the tree. The changes are numbered as in
// board/graph_stages.h: 1 came, 2 gone, 3 other, 4 moved.
#include "board/api_graph.h"

#include <stdio.h>

#include "base/checked.h"
#include "board/json_writer.h"
#include "formats/wire/text.h"

#define LISTED 2000
#define VALUE_BYTES 300

leat_status_t board_api_graph_stages(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  leat_pb_run_metadata_t* step;
  board_graph_stage_t* stages;
  board_graph_source_t source;
  LEAT_RETURN_IF_ERROR(board_graph_source_find(api, request, &source));
  if (!source.is_placed) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"placed\" is required");
  }
  LEAT_RETURN_IF_ERROR(
      board_graph_source_read_stages(&source, SIZE_MAX, request->arena, &step, &stages));
  leat_string_builder_append(out, LEAT_SV("{\"stages\":["));
  for (size_t i = 0; i < step->graph_stages.count; ++i) {
    const leat_pb_run_metadata_graph_stage_t* stage = &step->graph_stages.items[i];
    const size_t* n = stages[i].counts;
    leat_string_builder_append(out, i ? LEAT_SV(",{\"name\":") : LEAT_SV("{\"name\":"));
    board_json_string(out, stage->name);
    leat_string_builder_append(out, LEAT_SV(",\"doc\":"));
    board_json_string(out, stage->doc);
    leat_string_builder_print(
        out, ",\"nodes\":%zu,\"came\":%zu,\"gone\":%zu,\"other\":%zu,\"moved\":%zu}",
        stages[i].nodes, n[BOARD_CHANGE_CAME], n[BOARD_CHANGE_GONE], n[BOARD_CHANGE_OTHER],
        n[BOARD_CHANGE_MOVED]);
  }
  leat_string_builder_print(out, "],\"written\":%s}", source.has_written ? "true" : "false");
  return leat_ok_status();
}

// The change of an item's node; NONE for all that is no node of the stage's graph.
static board_change_t change_of(const board_stored_graph_t* stored, uint32_t item) {
  if (!stored->changes || !stored->graph.items[item].node) return BOARD_CHANGE_NONE;
  for (int change = 1; change < BOARD_CHANGES; ++change) {
    if (stored->changes[item][change]) return (board_change_t)change;
  }
  return BOARD_CHANGE_NONE;
}

leat_status_t board_api_graph_changes(board_api_t* api, const board_request_t* request,
                                      board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  board_stored_graph_t* stored;
  size_t total = 0;
  LEAT_RETURN_IF_ERROR(board_api_take_graph(api, request, &stored));
  const board_graph_t* graph = &stored->graph;
  leat_string_builder_append(out, LEAT_SV("{\"items\":["));
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    const board_change_t change = change_of(stored, i);
    if (!change || total++ >= LISTED) continue;
    leat_string_builder_print(out, total > 1 ? ",[%u," : "[%u,", i);
    board_api_print_path(&graph->items[i], out);
    leat_string_builder_append_char(out, ',');
    board_json_string(out, graph->items[i].node->op);
    leat_string_builder_print(out, ",%d]", (int)change);
  }
  leat_string_builder_print(out, "],\"total\":%zu}", total);
  board_graph_store_release(api->graphs, stored);
  return leat_ok_status();
}

// ---- How a node differs -------------------------------------------------------------------------

// Prints [what, before, now] unless the two are the same; returns whether it did.
static bool print_difference(const char* what, leat_string_view_t key, leat_string_view_t before,
                             leat_string_view_t now, bool follows, leat_string_builder_t* out) {
  leat_string_view_t texts[2] = {before, now};
  if (leat_string_view_equal(before, now)) return follows;
  leat_string_builder_t name;
  leat_string_builder_initialize(leat_allocator_system(), &name);
  leat_string_builder_print(&name, "%s%.*s", what, LEAT_SV_ARG(key));
  leat_string_builder_append(out, follows ? LEAT_SV(",[") : LEAT_SV("["));
  board_json_string(out, leat_string_builder_view(&name));
  leat_string_builder_deinitialize(&name);
  for (int i = 0; i < 2; ++i) {
    if (texts[i].size > VALUE_BYTES) texts[i].size = VALUE_BYTES;
    leat_string_builder_append_char(out, ',');
    board_json_string(out, texts[i]);
  }
  leat_string_builder_append_char(out, ']');
  return true;
}

static const leat_pb_attr_value_t* attribute_of(const leat_pb_node_def_t* node,
                                                leat_string_view_t name) {
  for (size_t i = 0; i < node->attr.count; ++i) {
    if (leat_string_view_equal(node->attr.items[i].key, name)) return node->attr.items[i].value;
  }
  return NULL;
}

// Compares the attribute |key| of two nodes, one of which may lack it.
static leat_status_t print_attribute(leat_string_view_t key, const leat_pb_node_def_t* before,
                                     const leat_pb_node_def_t* now, bool* inout_follows,
                                     leat_string_builder_t* out) {
  const leat_pb_attr_value_t* values[2] = {attribute_of(before, key), attribute_of(now, key)};
  leat_string_builder_t texts[2];
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < 2; ++i) {
    leat_string_builder_initialize(leat_allocator_system(), &texts[i]);
    if (status || !values[i]) continue;
    status = leat_text_print(&leat_pb_attr_value_descriptor, values[i], LEAT_TEXT_SHORT,
                             &texts[i]);
  }
  if (!status) {
    *inout_follows = print_difference("", key, leat_string_builder_view(&texts[0]),
                                      leat_string_builder_view(&texts[1]), *inout_follows, out);
  }
  for (int i = 0; i < 2; ++i) leat_string_builder_deinitialize(&texts[i]);
  return status;
}

static leat_status_t print_differences(const leat_pb_node_def_t* before,
                                       const leat_pb_node_def_t* now, leat_string_builder_t* out) {
  const leat_string_view_t nothing = leat_string_view_make("", 0);
  bool follows = print_difference("op", nothing, before->op, now->op, false, out);
  follows = print_difference("device", nothing, before->device, now->device, follows, out);
  for (size_t i = 0; i < LEAT_MAX(before->input.count, now->input.count); ++i) {
    char what[32];
    snprintf(what, sizeof what, "input %zu", i);
    follows = print_difference(what, nothing,
                               i < before->input.count ? before->input.items[i] : nothing,
                               i < now->input.count ? now->input.items[i] : nothing, follows, out);
  }
  for (size_t i = 0; i < before->attr.count; ++i) {
    LEAT_RETURN_IF_ERROR(print_attribute(before->attr.items[i].key, before, now, &follows, out));
  }
  for (size_t i = 0; i < now->attr.count; ++i) {
    if (attribute_of(before, now->attr.items[i].key)) continue;
    LEAT_RETURN_IF_ERROR(print_attribute(now->attr.items[i].key, before, now, &follows, out));
  }
  return leat_ok_status();
}

leat_status_t board_api_print_change(const board_stored_graph_t* stored, uint32_t item,
                                     leat_string_builder_t* out) {
  const board_change_t change = change_of(stored, item);
  if (!change) return leat_ok_status();
  const leat_pb_node_def_t* node = stored->graph.items[item].node;
  const leat_pb_node_def_t* before =
      stored->content->stage->before[node - stored->content->graph.node.items];
  leat_string_builder_print(out, ",\"change\":%d,\"differences\":[", (int)change);
  if (change == BOARD_CHANGE_OTHER || change == BOARD_CHANGE_MOVED) {
    LEAT_RETURN_IF_ERROR(print_differences(before, node, out));
  }
  leat_string_builder_append_char(out, ']');
  return leat_ok_status();
}

// ---- Why a node is on its device ----------------------------------------------------------------

static void print_placement(const leat_pb_run_metadata_placement_t* placement,
                            const leat_pb_run_metadata_placement_node_t* node,
                            leat_string_builder_t* out) {
  leat_string_builder_append(out, LEAT_SV(",\"placement\":{\"placer\":"));
  board_json_string(out, placement->placer);
  leat_string_builder_append(out, LEAT_SV(",\"reason\":"));
  board_json_string(out, node->reason);
  leat_string_builder_append(out, LEAT_SV(",\"beside\":"));
  board_json_string(out, node->beside);
  leat_string_builder_append(out, LEAT_SV(",\"end\":"));
  board_json_float(out, node->end_micros);
  leat_string_builder_append(out, LEAT_SV(",\"micros\":["));
  for (size_t i = 0; i < node->micros.count && i < placement->devices.count; ++i) {
    leat_string_builder_append(out, i ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_string(out, placement->devices.items[i]);
    leat_string_builder_append_char(out, ',');
    board_json_float(out, node->micros.items[i]);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

// The stage that brought the node |name|; NULL where it was there from the first one on.
static const leat_pb_run_metadata_graph_stage_t* maker_of(const leat_pb_run_metadata_t* step,
                                                          leat_string_view_t name) {
  for (size_t s = 0; s < step->graph_stages.count; ++s) {
    const leat_pb_run_metadata_graph_stage_t* stage = &step->graph_stages.items[s];
    for (size_t i = 0; i < stage->node.count; ++i) {
      if (leat_string_view_equal(stage->node.items[i].name, name)) return s ? stage : NULL;
    }
  }
  return NULL;
}

void board_api_print_reasons(const board_stored_graph_t* stored, leat_string_view_t name,
                             leat_string_builder_t* out) {
  const leat_pb_run_metadata_t* step = stored->content->step;
  if (!step) return;
  const leat_pb_run_metadata_placement_t* placement = step->placement;
  for (size_t i = 0; placement && i < placement->node.count; ++i) {
    if (!leat_string_view_equal(placement->node.items[i].name, name)) continue;
    print_placement(placement, &placement->node.items[i], out);
    break;
  }
  const leat_pb_run_metadata_graph_stage_t* maker = maker_of(step, name);
  if (!maker) return;
  leat_string_builder_append(out, LEAT_SV(",\"since\":"));
  board_json_string(out, maker->name);
}
