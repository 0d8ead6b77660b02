// The scopes of a name "a/b/c" are "a" and "a/b". They are found by looking the beginnings of all
// names up in one map, whose keys are pieces of the names themselves. A node "a" beside nodes "a/b"
// lies in the scope "a" and is labelled "(a)". Names are anybody's: empty pieces are kept, and what
// comes after MAX_DEPTH slashes is one label.
//
// A structure's hash says what is inside and not what it is called: the sum over its children's
// hashes and over its inner edges, of each of which the ops at its ends and the number of the input
// count. Sums do not depend on an order, so that scopes made in different orders still match.
#include "board/graph_tree.h"

#include "base/map.h"
#include "board/graph_tree_build.h"

#define MAX_DEPTH 64
#define MAX_ITEMS ((size_t)1 << 31)

leat_status_t board_graph_add_item(board_graph_draft_t* draft, board_item_kind_t kind,
                                   uint32_t parent, leat_string_view_t path,
                                   leat_string_view_t label, uint32_t* out_item) {
  board_graph_item_t* item;
  if (draft->items.count >= MAX_ITEMS) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "the graph has more than 2^31 scopes");
  }
  LEAT_RETURN_IF_ERROR(leat_message_list_append(draft->arena, &draft->items, sizeof *item,
                                                (void**)&item));
  *out_item = (uint32_t)(draft->items.count - 1);
  *item = (board_graph_item_t){.kind = kind, .parent = parent, .path = path, .label = label};
  if (*out_item) item->depth = draft->items.items[parent].depth + 1;
  return leat_ok_status();
}

// ---- Names --------------------------------------------------------------------------------------
// Names are looked up in one function, or in the graph, at a time.
typedef struct space_s {
  board_graph_draft_t* draft;
  uint32_t root;
  leat_string_map_t scopes, nodes;  // by name: items
  size_t missing_inputs;
} space_t;

// The item of the scope that |name| lies in, and the rest of |name| behind it.
static leat_status_t enter_scopes(space_t* space, leat_string_view_t name, uint32_t* out_scope,
                                  leat_string_view_t* out_label) {
  uint32_t scope = space->root;
  size_t begin = 0, depth = 0;
  for (size_t i = 0; i < name.size && depth < MAX_DEPTH; ++i) {
    if (name.data[i] != '/') continue;
    leat_string_view_t path = leat_string_view_make(name.data, i);
    uint64_t* item;
    bool is_new;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&space->scopes, path, 0, &item, &is_new));
    if (is_new) {
      uint32_t made;
      leat_string_view_t label = leat_string_view_make(name.data + begin, i - begin);
      LEAT_RETURN_IF_ERROR(board_graph_add_item(space->draft, BOARD_ITEM_SCOPE, scope, path, label,
                                                &made));
      *item = made;
    }
    scope = (uint32_t)*item;
    begin = i + 1;
    ++depth;
  }
  *out_scope = scope;
  *out_label = leat_string_view_from_index(name, begin);
  return leat_ok_status();
}

static leat_status_t add_node(space_t* space, const leat_pb_node_def_t* node, uint32_t scope,
                              leat_string_view_t label, uint32_t* out_item) {
  uint64_t own;
  if (leat_string_map_get(&space->scopes, node->name, &own)) {
    scope = (uint32_t)own;
    LEAT_RETURN_IF_ERROR(leat_arena_print(space->draft->arena, &label, "(%.*s)",
                                          LEAT_SV_ARG(label)));
  }
  LEAT_RETURN_IF_ERROR(board_graph_add_item(space->draft, BOARD_ITEM_NODE, scope, node->name,
                                            label, out_item));
  space->draft->items.items[*out_item].node = node;
  return leat_string_map_insert(&space->nodes, node->name, *out_item, NULL, NULL);
}

// Adds |count| nodes; the item of the first is |*out_first|, and the others follow.
static leat_status_t add_nodes(space_t* space, const leat_pb_node_def_t* nodes, size_t count,
                               uint32_t* out_first) {
  leat_string_view_t label;
  uint32_t scope, item;
  // All scopes come first, since a node must know whether its name is one of them.
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(enter_scopes(space, nodes[i].name, &scope, &label));
  }
  *out_first = (uint32_t)space->draft->items.count;
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(enter_scopes(space, nodes[i].name, &scope, &label));
    LEAT_RETURN_IF_ERROR(add_node(space, &nodes[i], scope, label, &item));
  }
  return leat_ok_status();
}

// "name", "name:2", "^name"; in functions "name:output:2", whose 2 counts within the output.
static void parse_input(leat_string_view_t text, leat_string_view_t* out_name,
                        board_graph_edge_t* inout_edge) {
  int64_t output = 0;
  inout_edge->is_control = text.size && text.data[0] == '^';
  if (inout_edge->is_control) text = leat_string_view_from_index(text, 1);
  size_t colon = leat_string_view_find(text, ':');
  if (colon < text.size) {
    leat_string_view_t number = leat_string_view_from_index(text, colon + 1);
    text.size = colon;
    if (!leat_string_view_to_int64(number, &output) || output < 0 || output > INT32_MAX) {
      output = BOARD_GRAPH_NO_OUTPUT;
    }
  }
  inout_edge->output = inout_edge->is_control ? BOARD_GRAPH_NO_OUTPUT : (uint32_t)output;
  *out_name = text;
}

static leat_status_t add_edges(space_t* space, const leat_pb_node_def_t* node, uint32_t item) {
  for (size_t i = 0; i < node->input.count; ++i) {
    board_graph_edge_t* edge;
    board_graph_edge_t made = {.to = item, .input = (uint32_t)i};
    leat_string_view_t name;
    uint64_t from;
    parse_input(node->input.items[i], &name, &made);
    if (!leat_string_map_get(&space->nodes, name, &from)) {
      ++space->missing_inputs;
      continue;
    }
    made.from = (uint32_t)from;
    LEAT_RETURN_IF_ERROR(leat_message_list_append(space->draft->arena, &space->draft->edges,
                                                  sizeof *edge, (void**)&edge));
    *edge = made;
  }
  return leat_ok_status();
}

// The nodes of a function, with one for each argument and each result.
static leat_status_t list_function(const leat_pb_function_def_t* function, leat_arena_t* arena,
                                   leat_pb_node_def_t** out_nodes, size_t* out_count) {
  const leat_pb_op_def_t* signature = function->signature;
  size_t arguments = signature ? signature->input_arg.count : 0, count = 0;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(arena, arguments + function->node_def.count + function->ret.count, out_nodes));
  leat_pb_node_def_t* nodes = *out_nodes;
  for (size_t i = 0; i < arguments; ++i) {
    nodes[count++] = (leat_pb_node_def_t){.name = signature->input_arg.items[i].name,
                                          .op = LEAT_SV("_Arg")};
  }
  for (size_t i = 0; i < function->node_def.count; ++i) {
    nodes[count++] = function->node_def.items[i];
  }
  for (size_t i = 0; i < function->ret.count; ++i) {
    leat_pb_node_def_t result = {.op = LEAT_SV("_Retval")};
    LEAT_RETURN_IF_ERROR(leat_arena_print(arena, &result.name, "%.*s (result)",
                                          LEAT_SV_ARG(function->ret.items[i].key)));
    result.input = (leat_pb_string_list_t){&function->ret.items[i].value, 1};
    nodes[count++] = result;
  }
  *out_count = count;
  return leat_ok_status();
}

static leat_status_t add_space(board_graph_draft_t* draft, uint32_t root,
                               const leat_pb_node_def_t* nodes, size_t count,
                               size_t* inout_missing) {
  space_t space = {.draft = draft, .root = root};
  uint32_t first;
  leat_string_map_initialize(leat_allocator_system(), &space.scopes);
  leat_string_map_initialize(leat_allocator_system(), &space.nodes);
  leat_status_t status = add_nodes(&space, nodes, count, &first);
  for (size_t i = 0; i < count && !status; ++i) {
    status = add_edges(&space, &nodes[i], first + (uint32_t)i);
  }
  *inout_missing += space.missing_inputs;
  leat_string_map_deinitialize(&space.scopes);
  leat_string_map_deinitialize(&space.nodes);
  return status;
}

static leat_status_t add_functions(board_graph_draft_t* draft,
                                   const leat_pb_function_def_library_t* library,
                                   size_t* inout_missing) {
  uint32_t all, root;
  if (!library || !library->function.count) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(board_graph_add_item(draft, BOARD_ITEM_SCOPE, 0, LEAT_SV("(functions)"),
                                            LEAT_SV("(functions)"), &all));
  for (size_t i = 0; i < library->function.count; ++i) {
    const leat_pb_function_def_t* function = &library->function.items[i];
    leat_string_view_t name =
        function->signature ? function->signature->name : leat_string_view_make("", 0);
    leat_pb_node_def_t* nodes;
    size_t count;
    LEAT_RETURN_IF_ERROR(
        board_graph_add_item(draft, BOARD_ITEM_FUNCTION, all, name, name, &root));
    LEAT_RETURN_IF_ERROR(list_function(function, draft->arena, &nodes, &count));
    LEAT_RETURN_IF_ERROR(add_space(draft, root, nodes, count, inout_missing));
  }
  return leat_ok_status();
}

// ---- Structures ---------------------------------------------------------------------------------
// Adds what the edges inside scopes count, each in the innermost scope that holds both its ends.
static void hash_edges(const board_graph_draft_t* draft, uint64_t* sums) {
  const board_graph_item_t* items = draft->items.items;
  for (size_t e = 0; e < draft->edges.count; ++e) {
    const board_graph_edge_t* edge = &draft->edges.items[e];
    uint32_t a = edge->from, b = edge->to;
    uint64_t hash = leat_hash_mix(items[a].hash, edge->is_control ? UINT32_MAX : edge->input);
    while (a != b) {
      if (items[a].depth >= items[b].depth) {
        a = items[a].parent;
      } else {
        b = items[b].parent;
      }
    }
    sums[a] += leat_hash_mix(hash, items[edge->to].hash);
  }
}

leat_status_t board_graph_hash(board_graph_draft_t* draft) {
  board_graph_item_t* items = draft->items.items;
  uint64_t* sums;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, draft->items.count, &sums));
  for (size_t i = 0; i < draft->items.count; ++i) {
    items[i].node_count = items[i].node != NULL;
    if (items[i].node) items[i].hash = leat_string_view_hash(items[i].node->op);
  }
  hash_edges(draft, sums);
  // A parent comes before what is in it, so that backwards all of that is done.
  for (size_t i = draft->items.count; i-- > 0;) {
    if (!items[i].node) items[i].hash = leat_hash_mix(sums[i] + 1, items[i].node_count);
    if (!i) break;
    sums[items[i].parent] += leat_hash_mix(17, items[i].hash);
    items[items[i].parent].node_count += items[i].node_count;
  }
  return leat_ok_status();
}

// Numbers the structures that several scopes have, in the order of their first scopes.
static leat_status_t number_structures(board_graph_t* graph) {
  leat_word_map_t counts, numbers;
  uint64_t value;
  leat_status_t status = leat_ok_status();
  leat_word_map_initialize(leat_allocator_system(), &counts);
  leat_word_map_initialize(leat_allocator_system(), &numbers);
  for (size_t i = 1; i < graph->item_count && !status; ++i) {
    if (graph->items[i].kind != BOARD_ITEM_SCOPE) continue;
    if (!leat_word_map_get(&counts, graph->items[i].hash, &value)) value = 0;
    status = leat_word_map_set(&counts, graph->items[i].hash, value + 1);
  }
  for (size_t i = 1; i < graph->item_count && !status; ++i) {
    board_graph_item_t* item = &graph->items[i];
    if (item->kind != BOARD_ITEM_SCOPE) continue;
    if (!leat_word_map_get(&counts, item->hash, &value) || value < 2) continue;
    if (!leat_word_map_get(&numbers, item->hash, &value)) {
      value = numbers.count + 1;
      status = leat_word_map_set(&numbers, item->hash, value);
    }
    item->structure = (uint32_t)value;
  }
  leat_word_map_deinitialize(&counts);
  leat_word_map_deinitialize(&numbers);
  return status;
}

static leat_status_t number_devices(board_graph_t* graph, leat_arena_t* arena) {
  leat_string_map_t devices;
  leat_status_t status = leat_ok_status();
  leat_string_map_initialize(leat_allocator_system(), &devices);
  for (size_t i = 0; i < graph->item_count && !status; ++i) {
    uint64_t* number;
    if (!graph->items[i].node) continue;
    status = leat_string_map_insert(&devices, graph->items[i].node->device, devices.count, &number,
                                    NULL);
    if (!status) graph->items[i].device = (uint32_t)*number;
  }
  if (!status) status = LEAT_NEW(arena, devices.count + 1, &graph->devices);
  for (size_t i = 0; i < devices.count && !status; ++i) {
    graph->devices[i] = devices.entries[i].key;
  }
  graph->device_count = devices.count;
  leat_string_map_deinitialize(&devices);
  LEAT_RETURN_IF_ERROR(status);
  for (size_t i = graph->item_count; i-- > 0;) {
    board_graph_item_t* item = &graph->items[i];
    if (item->node) continue;
    item->device = BOARD_GRAPH_MIXED;
    for (uint32_t child = (uint32_t)i + 1; child < item->end; child = graph->items[child].end) {
      if (child == i + 1) item->device = graph->items[child].device;
      if (graph->items[child].device != item->device) item->device = BOARD_GRAPH_MIXED;
    }
  }
  return leat_ok_status();
}

// ---- Edges --------------------------------------------------------------------------------------
static leat_status_t sort_edges(const board_graph_draft_t* draft, board_graph_t* graph) {
  size_t items = graph->item_count, edges = draft->edges.count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, items + 2, &graph->in_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, items + 2, &graph->out_begin));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, edges, &graph->edges));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(draft->arena, edges, &graph->out));
  for (size_t e = 0; e < edges; ++e) {
    ++graph->in_begin[draft->edges.items[e].to + 2];
    ++graph->out_begin[draft->edges.items[e].from + 2];
  }
  for (size_t i = 0; i < items; ++i) {
    graph->in_begin[i + 2] += graph->in_begin[i + 1];
    graph->out_begin[i + 2] += graph->out_begin[i + 1];
  }
  for (size_t e = 0; e < edges; ++e) {
    const board_graph_edge_t* edge = &draft->edges.items[e];
    graph->edges[graph->in_begin[edge->to + 1]++] = *edge;
  }
  for (size_t e = 0; e < edges; ++e) {
    graph->out[graph->out_begin[graph->edges[e].from + 1]++] = (uint32_t)e;
  }
  graph->edge_count = edges;
  return leat_ok_status();
}

leat_status_t board_graph_build(const leat_pb_graph_def_t* graph, leat_arena_t* arena,
                                board_graph_t* out_graph) {
  board_graph_draft_t draft = {.arena = arena};
  leat_string_view_t nothing = leat_string_view_make("", 0);
  uint32_t root;
  *out_graph = (board_graph_t){0};
  LEAT_RETURN_IF_ERROR(board_graph_add_item(&draft, BOARD_ITEM_SCOPE, 0, nothing, nothing, &root));
  LEAT_RETURN_IF_ERROR(add_space(&draft, root, graph->node.items, graph->node.count,
                                 &out_graph->missing_inputs));
  LEAT_RETURN_IF_ERROR(add_functions(&draft, graph->library, &out_graph->missing_inputs));
  LEAT_RETURN_IF_ERROR(board_graph_hash(&draft));
  LEAT_RETURN_IF_ERROR(board_graph_fold(&draft));
  out_graph->items = draft.items.items;
  out_graph->item_count = draft.items.count;
  LEAT_RETURN_IF_ERROR(sort_edges(&draft, out_graph));
  LEAT_RETURN_IF_ERROR(number_structures(out_graph));
  return number_devices(out_graph, arena);
}
