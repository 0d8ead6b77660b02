// The values of a dump on a graph's nodes, and /data/leat/graph/dumps, the list of dumps:
// {"dumps": ["debug/run_1", ...]}, or with dump=NAME what is in one: {"values": outputs, "unread":
// files, "bad": [[node, slot, NaN, infinite], ...], the first 200 outputs with what is no finite
// number}. A name that the graph has not (the runtime adds nodes of its own) is passed over.
#include "board/graph_values.h"

#include <math.h>

#include "base/map.h"
#include "board/dump_store.h"
#include "board/json_writer.h"
#include "tensor/dtype.h"

#define LISTED 200

static uint64_t count_bad(const board_dump_tensor_t* t) {
  return t->nan + t->negative_infinity + t->positive_infinity;
}

// ---- A graph ------------------------------------------------------------------------------------

typedef struct fill_s {
  const board_graph_t* graph;
  board_item_values_t* items;
} fill_t;

static leat_status_t map_names(const board_graph_t* graph, leat_string_map_t* names) {
  for (uint32_t i = 1; i < graph->item_count; ++i) {
    const board_graph_item_t* item = &graph->items[i];
    if (item->kind == BOARD_ITEM_FUNCTION) {
      i = item->end - 1;
    } else if (item->node) {
      LEAT_RETURN_IF_ERROR(leat_string_map_insert(names, item->path, i, NULL, NULL));
    }
  }
  return leat_ok_status();
}

static void add(board_item_values_t* sum, const board_item_values_t* part) {
  sum->outputs += part->outputs;
  sum->bad += part->bad;
  sum->most = fmax(sum->most, part->most);
}

static leat_status_t fill(void* data, const board_dump_t* dump) {
  fill_t* f = data;
  leat_string_map_t names;
  leat_string_map_initialize(leat_allocator_system(), &names);
  leat_status_t status = map_names(f->graph, &names);
  for (size_t i = 0; i < dump->count && !status; ++i) {
    const board_dump_tensor_t* t = &dump->values[i].tensor;
    uint64_t item;
    if (!leat_string_map_get(&names, dump->values[i].node, &item)) continue;
    const board_item_values_t value = {1, count_bad(t), fmax(fabs(t->least), fabs(t->most))};
    add(&f->items[item], &value);
  }
  leat_string_map_deinitialize(&names);
  for (size_t i = f->graph->item_count; i-- > 1;) {
    add(&f->items[f->graph->items[i].parent], &f->items[i]);
  }
  return status;
}

leat_status_t board_graph_values_of(board_api_t* api, const board_request_t* request,
                                    const board_graph_t* graph,
                                    board_graph_values_t** out_values) {
  leat_string_view_t name;
  *out_values = NULL;
  if (!board_query_get(&request->query, "values", &name)) return leat_ok_status();
  board_graph_values_t* values;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(request->arena, 1, &values));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(request->arena, graph->item_count, &values->items));
  fill_t f = {graph, values->items};
  LEAT_RETURN_IF_ERROR(
      board_dump_store_visit(api->dumps, board_logdir_path(api->logdir), name, fill, &f));
  *out_values = values;
  return leat_ok_status();
}

// ---- A node -------------------------------------------------------------------------------------

typedef struct print_s {
  leat_string_view_t node;
  leat_string_builder_t* out;
} print_t;

static void print_member(const char* key, double value, leat_string_builder_t* out) {
  leat_string_builder_print(out, ",\"%s\":", key);
  board_json_float(out, value);
}

static void print_value(const board_dump_value_t* value, leat_string_builder_t* out) {
  const board_dump_tensor_t* t = &value->tensor;
  leat_string_builder_print(out, "{\"slot\":%lld,\"dtype\":", (long long)value->slot);
  board_json_string(out, leat_dtype_is_valid(t->dtype)
                             ? leat_string_view_from(leat_dtype_name(t->dtype)) : LEAT_SV("?"));
  leat_string_builder_append(out, LEAT_SV(",\"shape\":["));
  for (int d = 0; d < t->rank && d < BOARD_DUMP_RANK; ++d) {
    leat_string_builder_print(out, d ? ",%lld" : "%lld", (long long)t->dims[d]);
  }
  leat_string_builder_print(
      out, "],\"count\":%llu,\"times\":%u,\"counted\":%s,\"nan\":%llu,\"low\":%llu,\"high\":%llu",
      (unsigned long long)t->count, value->times, t->is_counted ? "true" : "false",
      (unsigned long long)t->nan, (unsigned long long)t->negative_infinity,
      (unsigned long long)t->positive_infinity);
  print_member("least", t->least, out);
  print_member("most", t->most, out);
  print_member("mean", t->mean, out);
  print_member("deviation", t->deviation, out);
  leat_string_builder_append(out, LEAT_SV(",\"buckets\":["));
  for (int b = 0; b < BOARD_DUMP_BUCKETS && t->has_buckets; ++b) {
    leat_string_builder_print(out, b ? ",%llu" : "%llu", (unsigned long long)t->buckets[b]);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
}

static leat_status_t print_node(void* data, const board_dump_t* dump) {
  const print_t* p = data;
  bool follows = false;
  leat_string_builder_append(p->out, LEAT_SV(",\"values\":["));
  for (size_t i = 0; i < dump->count; ++i) {
    if (!leat_string_view_equal(dump->values[i].node, p->node)) continue;
    if (follows) leat_string_builder_append_char(p->out, ',');
    follows = true;
    print_value(&dump->values[i], p->out);
  }
  leat_string_builder_append_char(p->out, ']');
  return leat_ok_status();
}

leat_status_t board_graph_values_print(board_api_t* api, const board_request_t* request,
                                       leat_string_view_t node, leat_string_builder_t* out) {
  leat_string_view_t name;
  print_t p = {node, out};
  if (!board_query_get(&request->query, "values", &name)) return leat_ok_status();
  return board_dump_store_visit(api->dumps, board_logdir_path(api->logdir), name, print_node, &p);
}

// ---- The list -----------------------------------------------------------------------------------

static leat_status_t print_summary(void* data, const board_dump_t* dump) {
  leat_string_builder_t* out = data;
  size_t listed = 0;
  leat_string_builder_print(out, "{\"values\":%zu,\"unread\":%zu,\"bad\":[", dump->count,
                            dump->unread);
  for (size_t i = 0; i < dump->count && listed < LISTED; ++i) {
    const board_dump_value_t* value = &dump->values[i];
    const board_dump_tensor_t* t = &value->tensor;
    if (!count_bad(t)) continue;
    leat_string_builder_append(out, listed++ ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_string(out, value->node);
    leat_string_builder_print(out, ",%lld,%llu,%llu]", (long long)value->slot,
                              (unsigned long long)t->nan,
                              (unsigned long long)(t->negative_infinity + t->positive_infinity));
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
  return leat_ok_status();
}

leat_status_t board_api_dumps(board_api_t* api, const board_request_t* request,
                              board_response_t* response) {
  leat_string_builder_t* out = &response->body;
  const char* logdir = board_logdir_path(api->logdir);
  leat_string_view_t name, *names;
  size_t count;
  if (board_query_get(&request->query, "dump", &name)) {
    return board_dump_store_visit(api->dumps, logdir, name, print_summary, out);
  }
  LEAT_RETURN_IF_ERROR(board_dump_store_list(logdir, request->arena, &names, &count));
  leat_string_builder_append(out, LEAT_SV("{\"dumps\":["));
  for (size_t i = 0; i < count; ++i) {
    if (i) leat_string_builder_append_char(out, ',');
    board_json_string(out, names[i]);
  }
  leat_string_builder_append(out, LEAT_SV("]}"));
  return leat_ok_status();
}
