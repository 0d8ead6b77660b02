// One item of a graph, /data/leat/graph/item?item=17 (or name=a/b), and a search,
// /data/leat/graph/search?q=conv, which finds items by a part of their names or ops, whatever the
// case. They take the same graphs as levels do (board/api_graph_levels.c). What is told of a scope
// is what crosses its border; of a node also its attributes, the functions that it calls, what a
// stage of compiling did with it, why it is on its device, and with "values" what a dump holds of
// its outputs.
#include "board/api_graph.h"
#include "board/graph_values.h"
#include "board/json_writer.h"
#include "formats/wire/text.h"
#include "tensor/dtype.h"

#define LISTED 200    // inputs, outputs
#define FOUND 50      // by a search
#define TWINS 20      // scopes with the same inside
#define OPS 12        // in a scope
#define ATTRIBUTE_BYTES 800

void board_api_print_path(const board_graph_item_t* item, leat_string_builder_t* out) {
  board_json_string(out, item->path.size ? item->path : item->label);
}

static void print_reference(const board_graph_t* graph, uint32_t item,
                            leat_string_builder_t* out) {
  leat_string_builder_print(out, "[%u,", item);
  board_api_print_path(&graph->items[item], out);
  leat_string_builder_append_char(out, ']');
}

// The items that |item| lies in, from the outermost below item 0 on.
static void print_parents(const board_graph_t* graph, uint32_t item, leat_string_builder_t* out) {
  uint32_t depth = graph->items[item].depth;
  leat_string_builder_append_char(out, '[');
  for (uint32_t level = 1; level < depth; ++level) {
    uint32_t at = item;
    while (graph->items[at].depth > level) at = graph->items[at].parent;
    if (level > 1) leat_string_builder_append_char(out, ',');
    leat_string_builder_print(out, "[%u,", at);
    board_json_string(out, graph->items[at].label);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, ']');
}

static size_t encoded_size(const leat_pb_tensor_proto_t* tensor) {
  return tensor->tensor_content.size + tensor->float_val.count + tensor->double_val.count +
         tensor->int_val.count + tensor->int64_val.count + tensor->string_val.count;
}

// The text of an attribute. Of a large tensor it is the type and shape, and of any text the first
// ATTRIBUTE_BYTES.
static leat_status_t print_attribute(const leat_pb_attr_value_t* value,
                                     leat_string_builder_t* out) {
  leat_string_builder_t text;
  leat_status_t status = leat_ok_status();
  leat_string_builder_initialize(leat_allocator_system(), &text);
  if (value->tensor && encoded_size(value->tensor) > 64) {
    leat_string_builder_print(&text, "tensor %s ", leat_dtype_name(value->tensor->dtype));
    if (value->tensor->tensor_shape) board_api_print_shape(value->tensor->tensor_shape, &text);
  } else {
    status = leat_text_print(&leat_pb_attr_value_descriptor, value, LEAT_TEXT_SHORT, &text);
  }
  leat_string_view_t view = leat_string_view_trim(leat_string_builder_view(&text));
  bool is_cut = view.size > ATTRIBUTE_BYTES;
  if (is_cut) {
    text.size = (size_t)(view.data - text.data) + ATTRIBUTE_BYTES;
    leat_string_builder_append(&text, LEAT_SV(" …"));
    view = leat_string_view_trim(leat_string_builder_view(&text));
  }
  if (!status) board_json_string(out, view);
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t print_attributes(const leat_pb_node_def_t* node,
                                      leat_string_builder_t* out) {
  for (size_t i = 0; i < node->attr.count; ++i) {
    leat_string_builder_append(out, i ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_string(out, node->attr.items[i].key);
    leat_string_builder_append_char(out, ',');
    if (node->attr.items[i].value) {
      LEAT_RETURN_IF_ERROR(print_attribute(node->attr.items[i].value, out));
    } else {
      leat_string_builder_append(out, LEAT_SV("\"\""));
    }
    leat_string_builder_append_char(out, ']');
  }
  return leat_ok_status();
}

// [item, path, output, shape, is control] of the end of |edge| that lies outside.
static void print_end(const board_graph_t* graph, const board_graph_edge_t* edge, bool is_input,
                      leat_string_builder_t* out) {
  uint32_t end = is_input ? edge->from : edge->to;
  leat_string_builder_print(out, "[%u,", end);
  board_api_print_path(&graph->items[end], out);
  leat_string_builder_print(
      out, ",%d,", edge->output == BOARD_GRAPH_NO_OUTPUT ? -1 : (int)edge->output);
  board_api_print_output_shape(graph->items[edge->from].node, edge->output, out);
  leat_string_builder_print(out, ",%d]", edge->is_control);
}

// The edges that cross the border of |item|, the first LISTED of them, and how many there are.
static void print_ends(const board_graph_t* graph, uint32_t item, bool is_input,
                       leat_string_builder_t* out) {
  uint32_t end = graph->items[item].end;
  const uint32_t* begins = is_input ? graph->in_begin : graph->out_begin;
  size_t total = 0;
  leat_string_builder_print(out, ",\"%s\":[", is_input ? "inputs" : "outputs");
  for (uint32_t e = begins[item]; e < begins[end]; ++e) {
    const board_graph_edge_t* edge = &graph->edges[is_input ? e : graph->out[e]];
    uint32_t other = is_input ? edge->from : edge->to;
    if (end > item + 1 && other >= item && other < end) continue;
    if (total++ >= LISTED) continue;
    if (total > 1) leat_string_builder_append_char(out, ',');
    print_end(graph, edge, is_input, out);
  }
  leat_string_builder_print(out, "],\"%s_total\":%zu", is_input ? "inputs" : "outputs", total);
}

// The functions that |node| calls: by its op, or by attributes.
static void print_functions(const board_graph_t* graph, const leat_pb_node_def_t* node,
                            leat_string_builder_t* out) {
  bool follows = false;
  leat_string_builder_append(out, LEAT_SV(",\"functions\":["));
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    if (graph->items[i].kind != BOARD_ITEM_FUNCTION) continue;
    bool is_called = leat_string_view_equal(node->op, graph->items[i].path);
    for (size_t a = 0; a < node->attr.count && !is_called; ++a) {
      const leat_pb_attr_value_t* value = node->attr.items[a].value;
      is_called = value && value->func &&
                  leat_string_view_equal(value->func->name, graph->items[i].path);
    }
    if (is_called) {
      if (follows) leat_string_builder_append_char(out, ',');
      print_reference(graph, i, out);
      follows = true;
    }
    i = graph->items[i].end - 1;  // no function lies in another
  }
  leat_string_builder_append_char(out, ']');
}

// The ops that are most in |item|, with how often. Few are kept at a time: one that comes when all
// places are taken is counted from when it takes the place of the rarest (Metwally's space saving),
// which is exact for scopes of at most 64 different ops.
static void print_ops(const board_graph_t* graph, uint32_t item, leat_string_builder_t* out) {
  struct {
    leat_string_view_t op;
    size_t count;
  } found[64];
  size_t count = 0;
  for (uint32_t i = item; i < graph->items[item].end; ++i) {
    if (!graph->items[i].node) continue;
    leat_string_view_t op = graph->items[i].node->op;
    size_t at = 0, rarest = 0;
    for (; at < count && !leat_string_view_equal(found[at].op, op); ++at) {
      if (found[at].count < found[rarest].count) rarest = at;
    }
    if (at == count && count < 64) {
      found[count++].count = 0;
    } else if (at == count) {
      at = rarest;
    }
    found[at].op = op;
    ++found[at].count;
  }
  leat_string_builder_append(out, LEAT_SV(",\"ops\":["));
  for (int listed = 0; listed < OPS && count; ++listed) {
    size_t most = 0;
    for (size_t i = 1; i < count; ++i) {
      if (found[i].count > found[most].count) most = i;
    }
    leat_string_builder_append(out, listed ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_string(out, found[most].op);
    leat_string_builder_print(out, ",%zu]", found[most].count);
    found[most] = found[--count];
  }
  leat_string_builder_append_char(out, ']');
}

static void print_twins(const board_graph_t* graph, uint32_t item, leat_string_builder_t* out) {
  uint32_t structure = graph->items[item].structure;
  size_t total = 0;
  leat_string_builder_append(out, LEAT_SV(",\"twins\":["));
  for (uint32_t i = 1; i < graph->item_count && structure; ++i) {
    if (i == item || graph->items[i].structure != structure || total++ >= TWINS) continue;
    if (total > 1) leat_string_builder_append_char(out, ',');
    print_reference(graph, i, out);
  }
  leat_string_builder_print(out, "],\"twins_total\":%zu", total);
}

static leat_status_t print_item(board_api_t* api, const board_request_t* request,
                                const board_stored_graph_t* stored, uint32_t index,
                                leat_string_builder_t* out) {
  const board_graph_t* graph = &stored->graph;
  const board_graph_item_t* item = &graph->items[index];
  leat_string_builder_print(out, "{\"item\":%u,\"kind\":%d,\"nodes\":%u,\"path\":", index,
                            (int)item->kind, item->node_count);
  board_api_print_path(item, out);
  leat_string_builder_append(out, LEAT_SV(",\"label\":"));
  board_json_string(out, item->label);
  leat_string_builder_append(out, LEAT_SV(",\"device\":"));
  board_json_string(out, item->device == BOARD_GRAPH_MIXED ? LEAT_SV("several")
                                                           : graph->devices[item->device]);
  leat_string_builder_append(out, LEAT_SV(",\"parents\":"));
  print_parents(graph, index, out);
  leat_string_builder_append(out, LEAT_SV(",\"op\":"));
  board_json_string(out, item->node ? item->node->op : leat_string_view_make("", 0));
  leat_string_builder_append(out, LEAT_SV(",\"attributes\":["));
  if (item->node) LEAT_RETURN_IF_ERROR(print_attributes(item->node, out));
  leat_string_builder_append_char(out, ']');
  print_ends(graph, index, true, out);
  print_ends(graph, index, false, out);
  if (item->node) {
    print_functions(graph, item->node, out);
    board_api_print_reasons(stored, item->path, out);
    LEAT_RETURN_IF_ERROR(board_api_print_change(stored, index, out));
    LEAT_RETURN_IF_ERROR(board_graph_values_print(api, request, item->path, out));
  } else {
    print_ops(graph, index, out);
    print_twins(graph, index, out);
  }
  leat_string_builder_append_char(out, '}');
  return leat_ok_status();
}

static leat_status_t find_item(const board_graph_t* graph, const board_request_t* request,
                               uint32_t* out_item) {
  leat_string_view_t name;
  int64_t number;
  if (board_query_get(&request->query, "name", &name)) {
    for (uint32_t i = 1; i < graph->item_count; ++i) {
      *out_item = i;
      if (leat_string_view_equal(graph->items[i].path, name)) return leat_ok_status();
    }
    return leat_make_status(LEAT_NOT_FOUND, "Not found: the graph has no '%.*s'",
                            LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(board_api_int(request, "item", -1, &number));
  if (number < 0 || (uint64_t)number >= graph->item_count) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found: item is %lld, must be 0 to %zu",
                            (long long)number, graph->item_count - 1);
  }
  *out_item = (uint32_t)number;
  return leat_ok_status();
}

leat_status_t board_api_graph_item(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  board_stored_graph_t* stored;
  uint32_t item = 0;
  LEAT_RETURN_IF_ERROR(board_api_take_graph(api, request, &stored));
  leat_status_t status = find_item(&stored->graph, request, &item);
  if (!status) status = print_item(api, request, stored, item, &response->body);
  board_graph_store_release(api->graphs, stored);
  return status;
}

// ---- Search -------------------------------------------------------------------------------------
static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

// |wanted| is in small letters.
static bool is_part(leat_string_view_t wanted, leat_string_view_t text) {
  for (size_t at = 0; at + wanted.size <= text.size; ++at) {
    size_t i = 0;
    while (i < wanted.size && to_lower(text.data[at + i]) == wanted.data[i]) ++i;
    if (i == wanted.size) return true;
  }
  return false;
}

leat_status_t board_api_graph_search(board_api_t* api, const board_request_t* request,
                                     board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  board_stored_graph_t* stored;
  leat_string_view_t wanted;
  char* letters;
  size_t total = 0;
  if (!board_query_get(&request->query, "q", &wanted) || !wanted.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "query parameter \"q\" is required");
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(request->arena, wanted.size, &letters));
  for (size_t i = 0; i < wanted.size; ++i) letters[i] = to_lower(wanted.data[i]);
  wanted.data = letters;
  LEAT_RETURN_IF_ERROR(board_api_take_graph(api, request, &stored));
  const board_graph_t* graph = &stored->graph;
  leat_string_builder_append(out, LEAT_SV("{\"items\":["));
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    const board_graph_item_t* item = &graph->items[i];
    if (!is_part(wanted, item->path) && !(item->node && is_part(wanted, item->node->op))) continue;
    if (total++ >= FOUND) continue;
    leat_string_builder_print(out, total > 1 ? ",[%u,%d," : "[%u,%d,", i, (int)item->kind);
    board_api_print_path(item, out);
    leat_string_builder_append_char(out, ',');
    board_json_string(out, item->node ? item->node->op : leat_string_view_make("", 0));
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_print(out, "],\"total\":%zu}", total);
  board_graph_store_release(api->graphs, stored);
  return leat_ok_status();
}
