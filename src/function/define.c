// Writes a part of a graph as a FunctionDef. In a FunctionDef edges are texts: an argument's name,
// or "node:output:index", where "output" is the name of the op's output argument:
//
//   graph      x:0 ─▶ Split ─▶ (0, 1)         edge {Split, 1}
//   function   arg "x", node "Split"          text "Split:output:1"
//
// Arguments and returns get names of their own, made from the names of their nodes in lower case
// and unique ("Add_1" becomes "add_1"), because TensorFlow names them so and callers rely on it.
// Outputs are named before inputs and inputs before nodes, so that a clash renames in TensorFlow's
// order. Nodes keep their names where they can. Attributes of nodes that wait for a value
// (placeholders) become attributes of the function. What goes into a map is sorted, so that equal
// functions have equal bytes, on which the hash in a name and the library's comparison rely.
#include "function/function.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "function/function_hash.h"
#include "graph/import/export.h"
#include "graph/op/attr_proto.h"
#include "graph/signature.h"

typedef struct definer_s {
  const leat_graph_t* graph;
  const leat_function_spec_t* spec;
  leat_arena_t* arena;
  leat_pb_function_def_t* def;
  leat_string_map_t taken;    // every name in the function -> the next suffix to try
  leat_string_view_t* names;  // [node] its name in the function; no data: not in it
  bool* in_body;
  leat_word_map_t inputs;  // output -> index of the argument that replaces it
  int32_t* body;
  size_t body_count;
} definer_t;

static uint64_t key_of(leat_output_t output) {
  return (uint64_t)output.node << 32 | (uint32_t)output.index;
}

static leat_status_t wrong(const definer_t* d, leat_output_t output, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "TF_Output %.*s:%d %s. Encountered while creating function '%.*s'",
                          LEAT_SV_ARG(d->graph->nodes[output.node].name), output.index, rule,
                          LEAT_SV_ARG(d->spec->name));
}

// ---- Names --------------------------------------------------------------------------------------

// Takes |name|, or the first free one of name_0, name_1, ...
static leat_status_t take_name(definer_t* d, leat_string_view_t name,
                               leat_string_view_t* out_name) {
  uint64_t* next;
  bool inserted;
  LEAT_RETURN_IF_ERROR(leat_string_map_insert(&d->taken, name, 0, &next, &inserted));
  *out_name = name;
  for (uint64_t suffix = *next; !inserted; ++suffix) {
    LEAT_RETURN_IF_ERROR(leat_arena_print(d->arena, out_name, "%.*s_%llu", LEAT_SV_ARG(name),
                                          (unsigned long long)suffix));
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&d->taken, *out_name, 0, NULL, &inserted));
    if (inserted) LEAT_RETURN_IF_ERROR(leat_string_map_set(&d->taken, name, suffix + 1));
  }
  return leat_ok_status();
}

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// Takes the name of an argument or return after |node|: letters in lower case, '_' for what is
// neither letter nor digit, and nothing before the first letter.
static leat_status_t take_argument_name(definer_t* d, leat_string_view_t node,
                                        leat_string_view_t* out_name) {
  leat_string_view_t copy;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(d->arena, node, &copy));
  char* text = (char*)copy.data;
  size_t begin = copy.size;
  for (size_t i = 0; i < copy.size; ++i) {
    if (text[i] >= 'A' && text[i] <= 'Z') text[i] = (char)(text[i] - 'A' + 'a');
    if (!is_letter(text[i]) && !(text[i] >= '0' && text[i] <= '9')) text[i] = '_';
    if (is_letter(text[i]) && i < begin) begin = i;
  }
  leat_string_view_t name = leat_string_view_from_index(copy, begin);
  return take_name(d, name.size ? name : LEAT_SV("unknown"), out_name);
}

// ---- The signature ------------------------------------------------------------------------------

// INVALID_ARGUMENT when |output| is a reference, which no function takes or returns.
static leat_status_t check_value(const definer_t* d, leat_output_t output) {
  if (!leat_dtype_is_ref(leat_graph_output_type(d->graph, output))) return leat_ok_status();
  return wrong(d, output, "has a reference type, must be a value");
}

// Names the outputs. Names that the caller gave are taken as they are, and must be unique.
static leat_status_t add_outputs(definer_t* d) {
  leat_pb_op_def_arg_def_list_t* list = &d->def->signature->output_arg;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, (size_t)d->spec->output_count + 1, &list->items));
  list->count = (size_t)d->spec->output_count;
  for (int i = 0; i < d->spec->output_count; ++i) {
    leat_output_t output = d->spec->outputs[i];
    leat_pb_op_def_arg_def_t* argument = &list->items[i];
    LEAT_RETURN_IF_ERROR(check_value(d, output));
    argument->type = leat_graph_output_type(d->graph, output);
    if (!d->spec->output_names) {
      LEAT_RETURN_IF_ERROR(
          take_argument_name(d, d->graph->nodes[output.node].name, &argument->name));
      continue;
    }
    bool inserted;
    argument->name = leat_string_view_from(d->spec->output_names[i]);
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(&d->taken, argument->name, 0, NULL, &inserted));
    if (!inserted) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Cannot have duplicate output names. Name '%s' appears more than "
                              "once in 'output_names' array.",
                              d->spec->output_names[i]);
    }
  }
  return leat_ok_status();
}

static int compare_attrs(const void* a, const void* b) {
  return leat_string_view_compare(
      ((const leat_pb_function_def_arg_attrs_attr_entry_t*)a)->key,
      ((const leat_pb_function_def_arg_attrs_attr_entry_t*)b)->key);
}

// Keeps of an input's node what TensorFlow keeps: its attributes that begin with '_', and its shape
// as "_output_shapes".
static leat_status_t keep_attrs(definer_t* d, const leat_node_t* node, int argument) {
  LEAT_DCHECK(node->output_count > 0 && d->def->arg_attr.items);
  leat_pb_function_def_arg_attr_entry_t* entry =
      &d->def->arg_attr.items[d->def->arg_attr.count];
  entry->key = argument;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, 1, &entry->value));
  leat_pb_function_def_arg_attrs_attr_entry_list_t* list = &entry->value->attr;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, (size_t)node->attr_count + 1, &list->items));
  for (int i = 0; i < node->attr_count; ++i) {
    const leat_attr_t* attr = &node->attrs[i];
    leat_attr_value_t value = {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1};
    value.shapes = &node->output_shapes[0];
    leat_pb_function_def_arg_attrs_attr_entry_t* kept = &list->items[list->count];
    kept->key = LEAT_SV("_output_shapes");
    if (attr->name.size && attr->name.data[0] == '_') {
      value = attr->value;
      kept->key = attr->name;
    } else if (leat_string_view_equals(attr->name, "shape")) {
      if (attr->value.kind != LEAT_ATTR_SHAPE || attr->value.is_list ||
          node->output_types[0] == LEAT_DTYPE_RESOURCE) {
        continue;
      }
      value.shapes = &attr->value.shape;
    } else if (attr->value.kind != LEAT_ATTR_TENSOR ||
               !leat_string_view_equals(node->op->name, "Const")) {
      continue;
    }
    LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, 1, &kept->value));
    LEAT_RETURN_IF_ERROR(leat_attr_value_to_proto(&value, d->arena, kept->value));
    ++list->count;
  }
  qsort(list->items, list->count, sizeof *list->items, compare_attrs);
  d->def->arg_attr.count += list->count > 0;
  return leat_ok_status();
}

static leat_status_t add_inputs(definer_t* d) {
  leat_pb_op_def_arg_def_list_t* list = &d->def->signature->input_arg;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, (size_t)d->spec->input_count + 1, &list->items));
  list->count = (size_t)d->spec->input_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, list->count + 1, &d->def->arg_attr.items));
  for (int i = 0; i < d->spec->input_count; ++i) {
    leat_output_t input = d->spec->inputs[i];
    uint64_t before;
    LEAT_RETURN_IF_ERROR(check_value(d, input));
    if (leat_word_map_get(&d->inputs, key_of(input), &before)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "TF_Output %.*s:%d appears more than once in the input list",
                              LEAT_SV_ARG(d->graph->nodes[input.node].name), input.index);
    }
    LEAT_RETURN_IF_ERROR(leat_word_map_set(&d->inputs, key_of(input), (uint64_t)i));
    list->items[i].type = leat_graph_output_type(d->graph, input);
    LEAT_RETURN_IF_ERROR(
        take_argument_name(d, d->graph->nodes[input.node].name, &list->items[i].name));
    d->names[input.node] = list->items[i].name;  // for control edges from it
    LEAT_RETURN_IF_ERROR(keep_attrs(d, &d->graph->nodes[input.node], i));
  }
  return leat_ok_status();
}

// ---- The body -----------------------------------------------------------------------------------

// Lists the nodes of the body; without a list, all nodes but those of the inputs.
static leat_status_t choose_body(definer_t* d) {
  bool* is_input;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, d->graph->node_count + 1, &is_input));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(d->arena, d->graph->node_count + (size_t)d->spec->node_count + 1, &d->body));
  if (d->spec->nodes) {
    for (int i = 0; i < d->spec->node_count; ++i) d->body[d->body_count++] = d->spec->nodes[i];
    return leat_ok_status();
  }
  for (int i = 0; i < d->spec->input_count; ++i) {
    const leat_node_t* node = &d->graph->nodes[d->spec->inputs[i].node];
    is_input[d->spec->inputs[i].node] = true;
    if (node->output_count == 1) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "When `num_opers` is set to -1, nodes referenced in `inputs` must have "
                            "a single output. Node %.*s has %d outputs. Encountered while creating "
                            "function '%.*s'",
                            LEAT_SV_ARG(node->name), node->output_count,
                            LEAT_SV_ARG(d->spec->name));
  }
  for (size_t i = 0; i < d->graph->node_count; ++i) {
    if (!is_input[i]) d->body[d->body_count++] = (int32_t)i;
  }
  return leat_ok_status();
}

// Gives the nodes of the body their names, which come after those of the arguments and so yield to
// them.
static leat_status_t name_body(definer_t* d) {
  for (size_t i = 0; i < d->body_count; ++i) {
    leat_string_view_t name = d->graph->nodes[d->body[i]].name;
    LEAT_RETURN_IF_ERROR(take_name(d, name, &d->names[d->body[i]]));
    LEAT_DCHECK(d->body[i] >= 0 && (size_t)d->body[i] < d->graph->node_count);
    d->in_body[d->body[i]] = true;
  }
  return leat_ok_status();
}

// The text of |edge| in the body; without data when the edge comes from outside the function.
static leat_status_t edge_text(definer_t* d, leat_output_t edge, leat_string_view_t* out_text) {
  uint64_t argument;
  *out_text = (leat_string_view_t){NULL, 0};
  if (edge.index >= 0 && leat_word_map_get(&d->inputs, key_of(edge), &argument)) {
    LEAT_DCHECK(argument < d->def->signature->input_arg.count);
    *out_text = d->def->signature->input_arg.items[argument].name;
    return leat_ok_status();
  }
  leat_string_view_t name = d->names[edge.node];
  if (!name.data || (edge.index >= 0 && !d->in_body[edge.node])) return leat_ok_status();
  if (edge.index < 0) return leat_arena_print(d->arena, out_text, "^%.*s", LEAT_SV_ARG(name));
  const leat_node_t* node = &d->graph->nodes[edge.node];
  int index = edge.index, output = 0;
  for (; output < node->op->output_count; ++output) {
    int count = (int)leat_signature_argument_count(&node->op->outputs[output], node->attrs);
    if (index < count) break;
    index -= count;
  }
  LEAT_DCHECK(output < node->op->output_count);
  return leat_arena_print(d->arena, out_text, "%.*s:%.*s:%d", LEAT_SV_ARG(name),
                          LEAT_SV_ARG(node->op->outputs[output].name), index);
}

// The number that TensorFlow gives the edge behind input |position| of |node|: it counts the edges
// as they are added, node by node, and number 0 is the edge between its source and its sink.
static size_t edge_number(const leat_graph_t* graph, const leat_node_t* node, int position) {
  size_t number = 1 + (size_t)position;
  for (const leat_node_t* n = graph->nodes; n < node; ++n) {
    number += (size_t)(n->input_count + n->control_count);
  }
  return number;
}

static leat_status_t not_in_body(const definer_t* d, const leat_node_t* node, int position) {
  leat_output_t edge = node->inputs[position];
  leat_string_view_t source = d->graph->nodes[edge.node].name;
  if (edge.index < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "The source of control edge [id=%zu %.*s:-1 -> %.*s:-1] is not in the "
                            "body. Encountered while creating function '%.*s'",
                            edge_number(d->graph, node, position), LEAT_SV_ARG(source),
                            LEAT_SV_ARG(node->name), LEAT_SV_ARG(d->spec->name));
  }
  return leat_make_status(
      LEAT_INVALID_ARGUMENT,
      "Input %d, '%.*s:%d', of node '%.*s' in function '%.*s' is not available. "
      "You might need to include it in inputs or include its source node in "
      "the body",
      position, LEAT_SV_ARG(source), edge.index, LEAT_SV_ARG(node->name),
      LEAT_SV_ARG(d->spec->name));
}

static int compare_texts(const void* a, const void* b) {
  return leat_string_view_compare(*(const leat_string_view_t*)a, *(const leat_string_view_t*)b);
}

// The attributes of |node| that wait for a value become attributes of the function, each once.
static leat_status_t declare_attrs(definer_t* d, const leat_node_t* node) {
  leat_pb_op_def_attr_def_list_t* list = &d->def->signature->attr;
  for (int i = 0; i < node->attr_count; ++i) {
    const leat_attr_value_t* value = &node->attrs[i].value;
    if (value->kind != LEAT_ATTR_PLACEHOLDER || i >= node->op->attr_count) continue;
    bool is_known = false;
    for (size_t k = 0; k < list->count; ++k) {
      is_known |= leat_string_view_equal(list->items[k].name, value->s);
    }
    if (is_known) continue;
    leat_pb_op_def_attr_def_t* grown;
    LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, list->count + 2, &grown));
    if (list->count) memcpy(grown, list->items, list->count * sizeof *grown);
    const leat_op_attr_t* attr = &node->op->attrs[i];
    grown[list->count] = (leat_pb_op_def_attr_def_t){
        .name = value->s,
        .type = leat_string_view_from(leat_attr_kind_name(attr->kind, attr->is_list))};
    list->items = grown;
    ++list->count;
  }
  return leat_ok_status();
}

// Writes one node, with its edges as texts. Control inputs are sorted, because their order has no
// meaning and must not change the bytes.
static leat_status_t add_node(definer_t* d, int32_t index, leat_pb_node_def_t* def) {
  const leat_node_t* node = &d->graph->nodes[index];
  LEAT_RETURN_IF_ERROR(leat_node_to_def(d->graph, index, d->arena, def));
  LEAT_DCHECK(d->in_body[index]);
  LEAT_DCHECK(def->input.count == (size_t)(node->input_count + node->control_count));
  def->name = d->names[index];
  for (size_t k = 0; k < def->input.count; ++k) {
    LEAT_RETURN_IF_ERROR(edge_text(d, node->inputs[k], &def->input.items[k]));
    if (!def->input.items[k].data) return not_in_body(d, node, (int)k);
  }
  if (node->control_count > 1) {
    qsort(def->input.items + node->input_count, (size_t)node->control_count,
          sizeof(leat_string_view_t), compare_texts);
  }
  if (node->op->flags & LEAT_OP_STATEFUL) d->def->signature->is_stateful = true;
  return declare_attrs(d, node);
}

static leat_status_t add_nodes(definer_t* d) {
  leat_pb_node_def_list_t* list = &d->def->node_def;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, d->body_count + 1, &list->items));
  for (size_t i = 0; i < d->body_count; ++i) {
    LEAT_RETURN_IF_ERROR(add_node(d, d->body[i], &list->items[list->count++]));
  }
  return leat_ok_status();
}

// ---- Returns ------------------------------------------------------------------------------------

static int compare_returns(const void* a, const void* b) {
  return leat_string_view_compare(((const leat_pb_function_def_ret_entry_t*)a)->key,
                                  ((const leat_pb_function_def_ret_entry_t*)b)->key);
}

// Says which edge of the body each output returns, sorted by the names of the outputs.
static leat_status_t add_returns(definer_t* d) {
  leat_pb_function_def_ret_entry_list_t* list = &d->def->ret;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, (size_t)d->spec->output_count + 1, &list->items));
  list->count = (size_t)d->spec->output_count;
  for (size_t i = 0; i < list->count; ++i) {
    leat_pb_function_def_ret_entry_t* entry = &list->items[i];
    entry->key = d->def->signature->output_arg.items[i].name;
    LEAT_RETURN_IF_ERROR(edge_text(d, d->spec->outputs[i], &entry->value));
    if (!entry->value.data) {
      return wrong(d, d->spec->outputs[i],
                   "is neither in the function body nor among function inputs");
    }
  }
  qsort(list->items, list->count, sizeof *list->items, compare_returns);
  return leat_ok_status();
}

static int compare_controls(const void* a, const void* b) {
  return leat_string_view_compare(((const leat_pb_function_def_control_ret_entry_t*)a)->key,
                                  ((const leat_pb_function_def_control_ret_entry_t*)b)->key);
}

static leat_status_t wrong_control(const definer_t* d, leat_string_view_t name, const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Creating function '%.*s' failed: control output '%.*s' %s",
                          LEAT_SV_ARG(d->spec->name), LEAT_SV_ARG(name), rule);
}

// Names the nodes of the body that a call must run even if nobody reads from them.
static leat_status_t add_control_returns(definer_t* d) {
  leat_pb_function_def_control_ret_entry_list_t* list = &d->def->control_ret;
  leat_pb_string_list_t* names = &d->def->signature->control_output;
  size_t count = (size_t)d->spec->control_output_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, count + 1, &list->items));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, count + 1, &names->items));
  for (size_t i = 0; i < count; ++i) {
    int32_t node = d->spec->control_outputs[i];
    leat_pb_function_def_control_ret_entry_t* entry = &list->items[list->count++];
    entry->key = d->spec->control_output_names
                     ? leat_string_view_from(d->spec->control_output_names[i])
                     : d->graph->nodes[node].name;
    entry->value = d->names[node];
    if (entry->key.size == 0) return wrong_control(d, entry->key, "has no name, must have one");
    if (!entry->value.data) return wrong_control(d, entry->key, "must be in the body");
  }
  qsort(list->items, list->count, sizeof *list->items, compare_controls);
  for (size_t i = 0; i < count; ++i) {
    if (i && leat_string_view_equal(list->items[i].key, list->items[i - 1].key)) {
      return wrong_control(d, list->items[i].key, "is named twice, must be once");
    }
    names->items[names->count++] = list->items[i].key;
  }
  return leat_ok_status();
}

// ---- The function -------------------------------------------------------------------------------

// Appends eleven letters to the function's name: TensorFlow's hash of the function so far, which
// has no name and no control returns yet, as Base64 with other letters for '-' and '_'.
static leat_status_t append_hash(definer_t* d) {
  static const char kLetters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789aA";
  uint64_t hash;
  d->def->signature->name = LEAT_SV("");
  LEAT_RETURN_IF_ERROR(leat_function_def_hash(d->def, d->arena, &hash));
  char text[12] = {0};
  // Base64 reads the eight bytes from the lowest on, each from its highest bit on.
  const uint64_t bits = __builtin_bswap64(hash);
  for (int i = 0; i < 10; ++i) text[i] = kLetters[bits >> (58 - 6 * i) & 63];
  text[10] = kLetters[bits << 2 & 63];
  return leat_arena_print(d->arena, &d->def->signature->name, "%.*s_%s",
                          LEAT_SV_ARG(d->spec->name), text);
}

static leat_status_t define(definer_t* d) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, 1, &d->def->signature));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, d->graph->node_count + 1, &d->names));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(d->arena, d->graph->node_count + 1, &d->in_body));
  d->def->signature->name = d->spec->name;
  d->def->signature->description = d->spec->description;
  LEAT_RETURN_IF_ERROR(choose_body(d));
  LEAT_RETURN_IF_ERROR(add_outputs(d));
  LEAT_RETURN_IF_ERROR(add_inputs(d));
  LEAT_RETURN_IF_ERROR(name_body(d));
  LEAT_RETURN_IF_ERROR(add_nodes(d));
  LEAT_RETURN_IF_ERROR(add_returns(d));
  if (d->spec->append_hash) LEAT_RETURN_IF_ERROR(append_hash(d));
  return add_control_returns(d);
}

leat_status_t leat_function_define(const leat_graph_t* graph, const leat_function_spec_t* spec,
                                   leat_arena_t* arena, leat_pb_function_def_t* out_function) {
  *out_function = (leat_pb_function_def_t){0};
  definer_t d = {.graph = graph, .spec = spec, .arena = arena, .def = out_function};
  leat_string_map_initialize(graph->allocator, &d.taken);
  leat_word_map_initialize(graph->allocator, &d.inputs);
  leat_status_t status = define(&d);
  leat_string_map_deinitialize(&d.taken);
  leat_word_map_deinitialize(&d.inputs);
  return status;
}
