// The levels of a graph that are drawn (/data/leat/graph/levels). The graph page's addresses take
// the run and the tag as /data/plugin/graphs/graph does; with the parameter "placed" the tag is
// that of a recorded step, and the graph is what its devices ran, or with "stage" too what that
// stage of compiling made of it, together with what it took away (board/api_graph_stages.c).
//
// levels?open=3,17,... answers, and opens the scopes that parameters "name" name too,
//   {"nodes": n, "edges": n, "missing": inputs that name no node,
//    "named": the item that "selected" names, or 0, "devices": ["", ...],
//    "levels": [{"item": 0, "path": "", "width": w, "height": h, "boxes": [box, ...],
//                "links": [link, ...]}, ...]}
//   box:  [item, kind, x, y, width, height, nodes, structure, device (-1: several), aside, open,
//          entering, leaving, label, op, nanoseconds, bytes, changes, values, fused]
//   link: [from, to (indices of boxes), edges, of which control, shape of the first tensor,
//          [x, y, x, y, ...] (empty: an end stands aside)]
// Lists without names are a fifth of the bytes. The last five of a box stand there as far as the
// request asks for them, and are 0 where it does not: what a recorded step says, whose tag "steps"
// is; with "stage" [came, gone, other, moved], numbers of nodes; with "values", which names a dump
// (board/dump_store.h), [outputs, elements that are NaN or infinite, the greatest magnitude]; and
// with "fused" how many nodes in it a fusion of the optimizer made.
// The kinds are those of board/graph_tree.h.
#include "board/api_graph.h"
#include "board/graph_level.h"
#include "board/graph_steps.h"
#include "board/graph_values.h"
#include "board/json_writer.h"
#include "formats/wire/decode.h"

leat_status_t board_api_take_graph(board_api_t* api, const board_request_t* request,
                                   board_stored_graph_t** out_graph) {
  board_graph_source_t source;
  LEAT_RETURN_IF_ERROR(board_graph_source_find(api, request, &source));
  return board_graph_store_take(api->graphs, &source, out_graph);
}

// What the step that the parameter "steps" names says; NULL without it.
static leat_status_t read_steps(board_api_t* api, const board_request_t* request,
                                const board_graph_t* graph, board_graph_steps_t* storage,
                                board_graph_steps_t** out_steps) {
  leat_decode_limits_t limits = {0};
  leat_string_view_t tag, bytes;
  leat_pb_run_metadata_t metadata;
  board_graph_source_t source;
  *out_steps = NULL;
  if (!board_query_get(&request->query, "steps", &tag)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(board_graph_source_find_steps(api, request, "steps", &source));
  LEAT_RETURN_IF_ERROR(board_graph_source_bytes(&source, request->arena, &bytes));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_run_metadata_descriptor, bytes, request->arena,
                                           &limits, &metadata));
  LEAT_RETURN_IF_ERROR(board_graph_steps_read(graph, &metadata, request->arena, storage));
  *out_steps = storage;
  return leat_ok_status();
}

// ---- What tensors look like ---------------------------------------------------------------------
static const leat_pb_attr_value_t* attribute_of(const leat_pb_node_def_t* node, const char* name) {
  for (size_t i = 0; i < node->attr.count; ++i) {
    if (leat_string_view_equals(node->attr.items[i].key, name)) return node->attr.items[i].value;
  }
  return NULL;
}

void board_api_print_shape(const leat_pb_tensor_shape_proto_t* shape,
                           leat_string_builder_t* out) {
  if (shape->unknown_rank) {
    leat_string_builder_append(out, LEAT_SV("?"));
    return;
  }
  leat_string_builder_append_char(out, '[');
  for (size_t i = 0; i < shape->dim.count; ++i) {
    int64_t size = shape->dim.items[i].size;
    if (i) leat_string_builder_append_char(out, ',');
    if (size < 0) {
      leat_string_builder_append_char(out, '?');
    } else {
      leat_string_builder_print(out, "%lld", (long long)size);
    }
  }
  leat_string_builder_append_char(out, ']');
}

void board_api_print_output_shape(const leat_pb_node_def_t* node, uint32_t output,
                                  leat_string_builder_t* out) {
  const leat_pb_attr_value_t* value = attribute_of(node, "_output_shapes");
  leat_string_builder_append_char(out, '"');
  if (value && value->list && output < value->list->shape.count) {
    board_api_print_shape(&value->list->shape.items[output], out);
  } else if (!value && output == 0 && (value = attribute_of(node, "shape")) && value->shape) {
    board_api_print_shape(value->shape, out);
  }
  leat_string_builder_append_char(out, '"');
}

// ---- Levels -------------------------------------------------------------------------------------
// What a request wants to know of boxes besides the graph; NULL: nothing.
typedef struct extras_s {
  const board_graph_steps_t* steps;
  const uint32_t (*changes)[BOARD_CHANGES];
  const board_graph_values_t* values;
  const uint32_t* fused;
} extras_t;

// Whether a fusion made |node| of several: its op says so, or the last part of its name, which is
// "_fused" or, where that was taken, begins so.
static bool is_fused(const leat_pb_node_def_t* node) {
  size_t slash = leat_string_view_find_last(node->name, '/');
  leat_string_view_t last =
      slash < node->name.size ? leat_string_view_from_index(node->name, slash + 1) : node->name;
  return leat_string_view_starts_with(node->op, LEAT_SV("_Fused")) ||
         leat_string_view_starts_with(last, LEAT_SV("_fused"));
}

// Counts fused nodes by item, where the request asks for them; NULL where not. A scope's count is
// the sum of what is in it; parents come before their children.
static leat_status_t count_fused(const board_request_t* request, const board_graph_t* graph,
                                 uint32_t** out_fused) {
  leat_string_view_t asked;
  *out_fused = NULL;
  if (!board_query_get(&request->query, "fused", &asked)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(request->arena, graph->item_count, out_fused));
  for (size_t i = graph->item_count; i-- > 1;) {
    const board_graph_item_t* item = &graph->items[i];
    LEAT_DCHECK(item->parent < i);
    if (item->node && is_fused(item->node)) ++(*out_fused)[i];
    (*out_fused)[item->parent] += (*out_fused)[i];
  }
  return leat_ok_status();
}

static void print_extras(const extras_t* extras, uint32_t item, leat_string_builder_t* out) {
  const board_graph_steps_t* steps = extras->steps;
  if (!steps && !extras->changes && !extras->values && !extras->fused) return;
  leat_string_builder_print(out, ",%llu,%llu",
                            steps ? (unsigned long long)steps->time_ns[item] : 0,
                            steps ? (unsigned long long)steps->bytes[item] : 0);
  if (!extras->changes && !extras->values && !extras->fused) return;
  if (extras->changes) {
    const uint32_t* n = extras->changes[item];
    leat_string_builder_print(out, ",[%u,%u,%u,%u]", n[BOARD_CHANGE_CAME], n[BOARD_CHANGE_GONE],
                              n[BOARD_CHANGE_OTHER], n[BOARD_CHANGE_MOVED]);
  } else {
    leat_string_builder_append(out, LEAT_SV(",0"));
  }
  if (!extras->values && !extras->fused) return;
  if (extras->values) {
    const board_item_values_t* value = &extras->values->items[item];
    leat_string_builder_print(out, ",[%u,%llu,", value->outputs, (unsigned long long)value->bad);
    board_json_float(out, value->most);
    leat_string_builder_append_char(out, ']');
  } else {
    leat_string_builder_append(out, LEAT_SV(",0"));
  }
  if (extras->fused) leat_string_builder_print(out, ",%u", extras->fused[item]);
}

static void print_box(const board_graph_t* graph, const board_level_box_t* box,
                      const extras_t* extras, leat_string_builder_t* out) {
  const board_graph_item_t* item = &graph->items[box->item];
  leat_string_builder_print(
      out, "[%u,%d,%d,%d,%d,%d,%u,%u,%lld,%d,%d,%u,%u,", box->item, (int)item->kind, box->x, box->y,
      box->width, box->height, item->node_count, item->structure,
      item->device == BOARD_GRAPH_MIXED ? -1ll : (long long)item->device, box->is_aside,
      box->is_open, box->entering, box->leaving);
  board_json_string(out, item->label);
  leat_string_builder_append_char(out, ',');
  board_json_string(out, item->node ? item->node->op : leat_string_view_make("", 0));
  print_extras(extras, box->item, out);
  leat_string_builder_append_char(out, ']');
}

static void print_link(const board_graph_t* graph, const board_level_link_t* link,
                       leat_string_builder_t* out) {
  const board_graph_edge_t* edge = &graph->edges[link->edge];
  leat_string_builder_print(out, "[%u,%u,%u,%u,", link->from, link->to, link->count,
                            link->controls);
  board_api_print_output_shape(graph->items[edge->from].node, edge->output, out);
  leat_string_builder_append(out, LEAT_SV(",["));
  for (uint32_t i = 0; i < 2 * link->point_count; ++i) {
    leat_string_builder_print(out, i ? ",%d" : "%d", link->points[i]);
  }
  leat_string_builder_append(out, LEAT_SV("]]"));
}

static void print_level(const board_graph_t* graph, const board_level_t* level,
                        const extras_t* extras, leat_string_builder_t* out) {
  leat_string_builder_print(out, "{\"item\":%u,\"path\":", level->item);
  board_json_string(out, graph->items[level->item].path);
  leat_string_builder_print(out, ",\"width\":%d,\"height\":%d,\"boxes\":[", level->width,
                            level->height);
  for (size_t i = 0; i < level->box_count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_box(graph, &level->boxes[i], extras, out);
  }
  leat_string_builder_append(out, LEAT_SV("],\"links\":["));
  for (size_t i = 0; i < level->link_count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_link(graph, &level->links[i], out);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

// The numbers in "3,17,..."; at most BOARD_GRAPH_MAX_OPEN of them are taken.
static leat_status_t parse_open(const board_request_t* request, uint32_t open[],
                                size_t* out_count) {
  leat_string_view_t text;
  *out_count = 0;
  if (!board_query_get(&request->query, "open", &text)) return leat_ok_status();
  while (text.size && *out_count < BOARD_GRAPH_MAX_OPEN) {
    size_t size = leat_string_view_find(text, ',');
    int64_t number;
    if (size > text.size) size = text.size;
    leat_string_view_t part = leat_string_view_make(text.data, size);
    if (!leat_string_view_to_int64(part, &number) || number < 0 || number > INT32_MAX) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "open has '%.*s', must be numbers of items with commas between them",
                              LEAT_SV_ARG(part));
    }
    open[(*out_count)++] = (uint32_t)number;
    text = leat_string_view_from_index(text, size + 1);
  }
  return leat_ok_status();
}

// Returns the item |path|; 0 where there is none.
static uint32_t find_path(const board_graph_t* graph, leat_string_view_t path) {
  for (uint32_t i = 1; i < graph->item_count && path.size; ++i) {
    if (leat_string_view_equal(graph->items[i].path, path)) return i;
  }
  return 0;
}

// Adds the scopes that parameters name. In another stage of a graph they have other numbers.
static void find_named(const board_request_t* request, const board_graph_t* graph,
                       uint32_t open[], size_t* inout_count) {
  for (size_t p = 0; p < request->query.count; ++p) {
    const board_parameter_t* wanted = &request->query.items[p];
    if (*inout_count == BOARD_GRAPH_MAX_OPEN) break;
    if (!leat_string_view_equals(wanted->name, "name")) continue;
    const uint32_t item = find_path(graph, wanted->value);
    if (item) open[(*inout_count)++] = item;
  }
}

static leat_status_t print_levels(board_api_t* api, const board_request_t* request,
                                  const board_stored_graph_t* stored, uint32_t open[],
                                  size_t open_count, leat_string_builder_t* out) {
  const board_graph_t* graph = &stored->graph;
  board_graph_steps_t storage, *steps;
  board_graph_values_t* values;
  uint32_t* fused;
  board_level_t* levels;
  leat_string_view_t selected;
  size_t count = 0;
  find_named(request, graph, open, &open_count);
  LEAT_RETURN_IF_ERROR(read_steps(api, request, graph, &storage, &steps));
  LEAT_RETURN_IF_ERROR(board_graph_values_of(api, request, graph, &values));
  LEAT_RETURN_IF_ERROR(count_fused(request, graph, &fused));
  LEAT_RETURN_IF_ERROR(
      board_levels_make(graph, open, open_count, request->arena, &levels, &count));
  const extras_t extras = {steps, (const uint32_t(*)[BOARD_CHANGES])stored->changes, values, fused};
  leat_string_builder_print(out, "{\"nodes\":%u,\"edges\":%zu,\"missing\":%zu,",
                            graph->items[0].node_count, graph->edge_count, graph->missing_inputs);
  if (board_query_get(&request->query, "selected", &selected)) {
    leat_string_builder_print(out, "\"named\":%u,", find_path(graph, selected));
  }
  leat_string_builder_append(out, LEAT_SV("\"devices\":["));
  for (size_t i = 0; i < graph->device_count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    board_json_string(out, graph->devices[i]);
  }
  leat_string_builder_append(out, LEAT_SV("],\"levels\":["));
  for (size_t i = 0; i < count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    print_level(graph, &levels[i], &extras, out);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
  return leat_ok_status();
}

leat_status_t board_api_graph_levels(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  uint32_t open[BOARD_GRAPH_MAX_OPEN];
  board_stored_graph_t* stored;
  size_t open_count;
  LEAT_RETURN_IF_ERROR(parse_open(request, open, &open_count));
  LEAT_RETURN_IF_ERROR(board_api_take_graph(api, request, &stored));
  leat_status_t status = print_levels(api, request, stored, open, open_count, &response->body);
  board_graph_store_release(api->graphs, stored);
  return status;
}
