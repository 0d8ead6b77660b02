// Adding an operation to a graph: TF_NewOperation, setters, TF_FinishOperation. A description
// (capi/graph/description.h) collects what the setters are given.
//
// The C API gives inputs argument by argument, as single tensors and lists, while the graph takes
// one flat list of inputs. TF_FinishOperation compares the arguments with the op's declaration and
// turns what the lists imply into attributes, for example
//
//     AddN(inputs: N * T), given a list of three floats     N = 3, T = float
//
// which the graph then checks as if the caller had set them. The graph is only looked at and locked
// at the end, so that descriptions on different threads do not wait for each other.
#include <stdlib.h>
#include <string.h>

#include "capi/graph/description.h"
#include "graph/function/graph_functions.h"
#include "graph/gradient.h"
#include "graph/storage.h"

// ---- Collecting ---------------------------------------------------------------------------------

leat_status_t leat_capi_description_missing(void) {
  return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Memory for an operation description ran out");
}

void leat_capi_description_note(TF_OperationDescription* desc, leat_status_t status) {
  desc->status = leat_status_join(desc->status, status);
}

// Makes room for |more| items in an array in the arena. The old array is left behind in the arena,
// which is cheaper than freeing it. |inout_items| is the address of a typed pointer; the pointer is
// copied out and in, because C does not let a void** refer to it.
static leat_status_t grow(TF_OperationDescription* desc, void* inout_items, size_t count,
                          size_t* inout_capacity, size_t more, size_t item_bytes) {
  if (count + more <= *inout_capacity) return leat_ok_status();
  size_t capacity = *inout_capacity ? 2 * *inout_capacity : 4;
  if (capacity < count + more) capacity = count + more;
  void* old = NULL;
  void* items = NULL;
  memcpy(&old, inout_items, sizeof(old));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, capacity, item_bytes, &items));
  if (count > 0) memcpy(items, old, count * item_bytes);
  memcpy(inout_items, &items, sizeof(items));
  *inout_capacity = capacity;
  return leat_ok_status();
}

leat_status_t leat_capi_description_set_colocations(TF_OperationDescription* desc,
                                                    const leat_string_view_t* names,
                                                    size_t count) {
  desc->colocation_count = 0;
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->colocations, 0, &desc->colocation_capacity, count,
                            sizeof(*desc->colocations)));
  for (size_t i = 0; i < count; ++i) {
    leat_capi_colocation_t* colocation = &desc->colocations[i];
    colocation->operation = NULL;
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&desc->arena, names[i], &colocation->name));
    ++desc->colocation_count;
  }
  return leat_ok_status();
}

leat_status_t leat_capi_description_set(TF_OperationDescription* desc, leat_string_view_t name,
                                        leat_attr_value_t value) {
  for (size_t i = 0; i < desc->attr_count; ++i) {
    if (!leat_string_view_equal(desc->attrs[i].name, name)) continue;
    bool stays = desc->keeps_first || leat_attr_value_equal(&desc->attrs[i].value, &value);
    if (stays) return leat_ok_status();
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding node '%.*s' (%.*s) failed: attribute '%.*s' has inconsistent "
                            "values, must be set once",
                            LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op), LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&desc->arena, name, &name));
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->attrs, desc->attr_count, &desc->attr_capacity, 1,
                            sizeof(*desc->attrs)));
  desc->attrs[desc->attr_count++] = (leat_attr_t){name, value};
  return leat_ok_status();
}

void leat_capi_description_free(TF_OperationDescription* desc) {
  while (desc->tensors) {
    leat_tensor_release(&desc->tensors->tensor);
    desc->tensors = desc->tensors->next;
  }
  leat_graph_storage_release(desc->storage);
  leat_status_free(desc->status);
  leat_arena_deinitialize(&desc->arena);
  leat_allocator_free(leat_allocator_system(), desc);
}

TF_OperationDescription* TF_NewOperation(TF_Graph* graph, const char* op_type,
                                         const char* oper_name) {
  void* memory = NULL;
  leat_status_t status = leat_allocator_allocate(leat_allocator_system(),
                                                 sizeof(TF_OperationDescription), &memory);
  if (status || !graph) {
    leat_status_free(status);
    leat_allocator_free(leat_allocator_system(), memory);
    return NULL;
  }
  TF_OperationDescription* desc = memory;
  desc->graph = graph;
  leat_arena_initialize(leat_allocator_system(), 1024, &desc->arena);
  status = leat_arena_copy_string(&desc->arena, leat_string_view_from(op_type), &desc->op);
  if (!status) {
    status = leat_arena_copy_string(&desc->arena, leat_string_view_from(oper_name), &desc->name);
  }
  desc->status = status;
  return desc;
}

// The graph is not looked at before TF_FinishOperation, so that both functions are the same.
TF_OperationDescription* TF_NewOperationLocked(TF_Graph* graph, const char* op_type,
                                               const char* oper_name) {
  return TF_NewOperation(graph, op_type, oper_name);
}

void TF_SetDevice(TF_OperationDescription* desc, const char* device) {
  if (!desc) return;
  leat_capi_description_note(
      desc, leat_arena_copy_string(&desc->arena, leat_string_view_from(device), &desc->device));
}

// Notes one argument: its tensors go to the end of the flat list, and its place there and whether
// the caller gave a list are kept for TF_FinishOperation.
static leat_status_t add_inputs(TF_OperationDescription* desc, const TF_Output* inputs, int count,
                                bool is_list) {
  if (count < 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding node '%.*s' (%.*s) failed: list length is %d, must be >= 0",
                            LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op), count);
  }
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->inputs, desc->input_count, &desc->input_capacity,
                            (size_t)count, sizeof(*desc->inputs)));
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->arguments, desc->argument_count,
                            &desc->argument_capacity, 1, sizeof(*desc->arguments)));
  desc->arguments[desc->argument_count++] =
      (leat_capi_argument_t){(int)desc->input_count, count, is_list};
  if (count > 0) {
    memcpy(desc->inputs + desc->input_count, inputs, (size_t)count * sizeof(*inputs));
  }
  desc->input_count += (size_t)count;
  return leat_ok_status();
}

void TF_AddInput(TF_OperationDescription* desc, TF_Output input) {
  if (desc) leat_capi_description_note(desc, add_inputs(desc, &input, 1, false));
}

void TF_AddInputList(TF_OperationDescription* desc, const TF_Output* inputs, int num_inputs) {
  if (desc) leat_capi_description_note(desc, add_inputs(desc, inputs, num_inputs, true));
}

// INVALID_ARGUMENT unless |op| is in the description's graph; |what| names its part in the message.
static leat_status_t check_operation(const TF_OperationDescription* desc, const TF_Operation* op,
                                     const char* what) {
  if (op && op->graph == desc->graph) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Adding node '%.*s' (%.*s) failed: %s is %s, must be in the graph",
                          LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op), what,
                          op ? "of another graph" : "NULL");
}

static leat_status_t add_control(TF_OperationDescription* desc, TF_Operation* input) {
  LEAT_RETURN_IF_ERROR(check_operation(desc, input, "control input"));
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->controls, desc->control_count, &desc->control_capacity,
                            1, sizeof(*desc->controls)));
  desc->controls[desc->control_count++] = input;
  return leat_ok_status();
}

void TF_AddControlInput(TF_OperationDescription* desc, TF_Operation* input) {
  if (desc) leat_capi_description_note(desc, add_control(desc, input));
}

static leat_status_t add_colocation(TF_OperationDescription* desc, TF_Operation* op) {
  LEAT_RETURN_IF_ERROR(check_operation(desc, op, "operation to colocate with"));
  LEAT_RETURN_IF_ERROR(grow(desc, &desc->colocations, desc->colocation_count,
                            &desc->colocation_capacity, 1, sizeof(*desc->colocations)));
  desc->colocations[desc->colocation_count++] = (leat_capi_colocation_t){.operation = op};
  return leat_ok_status();
}

void TF_ColocateWith(TF_OperationDescription* desc, TF_Operation* op) {
  if (desc) leat_capi_description_note(desc, add_colocation(desc, op));
}

// ---- Finishing ----------------------------------------------------------------------------------

static int compare_texts(const void* a, const void* b) {
  const leat_string_view_t* x = a;
  const leat_string_view_t* y = b;
  return leat_string_view_compare(*x, *y);
}

// Turns the colocations into the attribute _class: a sorted list of names without duplicates, as in
// TensorFlow.
static leat_status_t take_colocations(TF_OperationDescription* desc) {
  if (desc->colocation_count == 0) return leat_ok_status();
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, desc->colocation_count,
                                                 sizeof(leat_string_view_t), &memory));
  leat_string_view_t* names = memory;
  for (size_t i = 0; i < desc->colocation_count; ++i) {
    names[i] = desc->colocations[i].name;
    const TF_Operation* operation = desc->colocations[i].operation;
    if (!operation) continue;
    LEAT_RETURN_IF_ERROR(leat_arena_print(&desc->arena, &names[i], "loc:@%.*s",
                                          LEAT_SV_ARG(leat_capi_node(operation)->name)));
  }
  qsort(names, desc->colocation_count, sizeof(*names), compare_texts);
  uint32_t kept = 1;
  for (size_t i = 1; i < desc->colocation_count; ++i) {
    if (!leat_string_view_equal(names[i], names[kept - 1])) names[kept++] = names[i];
  }
  return leat_capi_description_set(
      desc, LEAT_SV("_class"),
      (leat_attr_value_t){
          .kind = LEAT_ATTR_STRING, .is_list = true, .count = kept, .strings = names});
}

static leat_status_t mismatch(const TF_OperationDescription* desc, const leat_op_t* op,
                              const char* rule) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Adding node '%.*s' (%.*s) failed: %s using %s",
                          LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op), rule, LEAT_OP_TEXT(op));
}

// Sets the list(type) attribute of an argument to the types of its tensors.
static leat_status_t set_type_list(TF_OperationDescription* desc, leat_string_view_t attr_name,
                                   const leat_output_t* inputs, int count) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(&desc->arena, (size_t)count, sizeof(int32_t), &memory));
  int32_t* types = memory;
  for (int i = 0; i < count; ++i) {
    types[i] = leat_dtype_base(leat_graph_output_type(desc->graph->shared->graph, inputs[i]));
  }
  return leat_capi_description_set(
      desc, attr_name,
      (leat_attr_value_t){
          .kind = LEAT_ATTR_TYPE, .is_list = true, .count = (uint32_t)count, .types = types});
}

// Where the declaration names the type, the tensors of the argument must have it. The graph checks
// that as well; the words here are those that clients of TensorFlow's C API know.
static leat_status_t check_fixed_type(const TF_OperationDescription* desc, const leat_op_t* op,
                                      const leat_op_argument_t* declared,
                                      const leat_output_t* inputs, int count) {
  for (int i = 0; i < count; ++i) {
    const int dtype = leat_graph_output_type(desc->graph->shared->graph, inputs[i]);
    if ((int)leat_dtype_base(dtype) == (int)declared->dtype) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Input '%.*s' passed %s expected %s while building NodeDef '%.*s' "
                            "using %s",
                            LEAT_SV_ARG(declared->name), leat_dtype_name(dtype),
                            leat_dtype_name((int)declared->dtype), LEAT_SV_ARG(desc->name),
                            LEAT_OP_TEXT(op));
  }
  return leat_ok_status();
}

// Compares one given argument with its declaration: it must be a list exactly where one is
// declared. Sets the attributes that follow from it.
static leat_status_t match_argument(TF_OperationDescription* desc, const leat_op_t* op, int index,
                                    const leat_output_t* inputs) {
  const leat_op_argument_t* declared = &op->inputs[index];
  const leat_capi_argument_t* given = &desc->arguments[index];
  bool wants_list = declared->number_attr >= 0 || declared->source == LEAT_TYPE_FROM_LIST;
  if (wants_list != given->is_list) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Adding node '%.*s' (%.*s) failed: %s passed to '%.*s', expected %s",
                            LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op),
                            given->is_list ? "list" : "single tensor", LEAT_SV_ARG(declared->name),
                            wants_list ? "list" : "single tensor");
  }
  const leat_output_t* first = inputs + given->begin;
  if (declared->source == LEAT_TYPE_FIXED) {
    LEAT_RETURN_IF_ERROR(check_fixed_type(desc, op, declared, first, (int)given->count));
  }
  if (declared->number_attr >= 0) {
    LEAT_RETURN_IF_ERROR(leat_capi_description_set(
        desc, op->attrs[declared->number_attr].name,
        (leat_attr_value_t){.kind = LEAT_ATTR_INT, .i = given->count}));
  }
  if (declared->source == LEAT_TYPE_FROM_LIST) {
    return set_type_list(desc, op->attrs[declared->type_attr].name, first, given->count);
  }
  if (declared->source != LEAT_TYPE_FROM_ATTR || given->count == 0) return leat_ok_status();
  int dtype = leat_dtype_base(leat_graph_output_type(desc->graph->shared->graph, *first));
  return leat_capi_description_set(desc, op->attrs[declared->type_attr].name,
                                   (leat_attr_value_t){.kind = LEAT_ATTR_TYPE, .type = dtype});
}

// Resolves the inputs and compares all arguments with the declaration.
static leat_status_t match_arguments(TF_OperationDescription* desc, const leat_op_t* op,
                                     leat_output_t* inputs) {
  for (size_t i = 0; i < desc->input_count; ++i) {
    leat_status_t status =
        leat_capi_output_resolve(desc->graph, desc->inputs[i], "Taking an input", &inputs[i]);
    if (status) {
      return leat_status_annotate(status, "Adding node '%.*s' (%.*s) failed",
                                  LEAT_SV_ARG(desc->name), LEAT_SV_ARG(desc->op));
    }
  }
  if (desc->argument_count < (size_t)op->input_count) return mismatch(desc, op, "too few inputs");
  if (desc->argument_count > (size_t)op->input_count) return mismatch(desc, op, "too many inputs");
  for (int i = 0; i < op->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(match_argument(desc, op, i, inputs));
  }
  return leat_ok_status();
}

static leat_status_t find_op(const TF_OperationDescription* desc, const leat_op_t** out_op) {
  leat_status_t status = leat_graph_find_op(desc->graph->shared->graph, desc->op, out_op);
  if (leat_status_is_ok(status) || leat_status_code(status) != LEAT_NOT_FOUND) return status;
  // TensorFlow's code for an unknown op is INVALID_ARGUMENT here, and NOT_FOUND elsewhere.
  leat_status_t renamed = leat_make_status(LEAT_INVALID_ARGUMENT, "%s while building node '%.*s'",
                                           leat_status_message(status), LEAT_SV_ARG(desc->name));
  leat_status_free(status);
  return renamed;
}

// Adds the node of a graph that has conditionals or loops under construction: into the current one,
// with nodes before it that bring its inputs there, at most one for each edge and context and an
// Identity for each control edge.
static leat_status_t add_in_context(TF_Graph* graph, const leat_node_spec_t* spec,
                                    int32_t* out_node) {
  const leat_control_context_t* context = leat_control_flow_current(graph->flow);
  size_t depth = context ? (size_t)context->depth : 0;
  size_t edges = (size_t)spec->input_count + (size_t)spec->control_count;
  size_t most = 1 + depth * edges + (size_t)spec->control_count;
  LEAT_RETURN_IF_ERROR(
      leat_capi_graph_reserve(graph, graph->shared->graph->node_count, most));
  return leat_control_flow_add_node(graph->flow, spec, out_node);
}

// Adds the node where a gradient function of the caller builds, which may be within a loop: the
// inputs are then forward values, for which what is there in the backward loop is put.
static leat_status_t add_in_gradient(TF_Graph* graph, leat_node_spec_t* spec, int32_t* out_node) {
  const leat_build_place_t* place = graph->gradient->builder.place;
  if (place->prepare) LEAT_RETURN_IF_ERROR(place->prepare(place->data, spec));
  LEAT_RETURN_IF_ERROR(
      leat_capi_graph_reserve(graph, graph->shared->graph->node_count, 1));
  LEAT_RETURN_IF_ERROR(leat_graph_add_node(graph->shared->graph, spec, out_node));
  return place->placed(place->data, *out_node);
}

// Adds the node. Types and counts that no argument has set yet are inferred by the graph, and then
// all attributes are checked together.
static leat_status_t add_node(TF_OperationDescription* desc, const leat_op_t* op,
                              int32_t* out_node) {
  TF_Graph* graph = desc->graph;
  leat_graph_t* g = graph->shared->graph;
  void* inputs = NULL;
  void* controls = NULL;
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, desc->input_count,
                                                 sizeof(leat_output_t), &inputs));
  LEAT_RETURN_IF_ERROR(leat_arena_allocate_array(&desc->arena, desc->control_count,
                                                 sizeof(int32_t), &controls));
  LEAT_RETURN_IF_ERROR(match_arguments(desc, op, inputs));
  for (size_t i = 0; i < desc->control_count; ++i) {
    ((int32_t*)controls)[i] = desc->controls[i]->node;
  }
  leat_node_spec_t spec = {
      .name = desc->name,
      .op = op,
      .device = desc->device,
      .inputs = inputs,
      .input_count = (int)desc->input_count,
      .control_inputs = controls,
      .control_count = (int)desc->control_count,
      .attrs = desc->attrs,
      .attr_count = (int)desc->attr_count,
      .infer_attrs = true,
      .any_name = true,
  };
  if (LEAT_UNLIKELY(graph->gradient && graph->gradient->builder.place)) {
    return add_in_gradient(graph, &spec, out_node);
  }
  if (LEAT_UNLIKELY(graph->flow)) return add_in_context(graph, &spec, out_node);
  LEAT_RETURN_IF_ERROR(leat_capi_graph_reserve(graph, g->node_count, 1));
  return leat_graph_add_node(g, &spec, out_node);
}

// Adds the node. The handle is reserved before, so that getting it cannot fail afterwards.
static leat_status_t finish(TF_OperationDescription* desc, TF_Operation** out_operation) {
  leat_status_t status = desc->status;
  desc->status = NULL;
  LEAT_RETURN_IF_ERROR(status);
  const leat_op_t* op = NULL;
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(find_op(desc, &op));
  LEAT_RETURN_IF_ERROR(take_colocations(desc));
  LEAT_RETURN_IF_ERROR(add_node(desc, op, &node));
  *out_operation = leat_capi_operation(desc->graph, node);
  return leat_ok_status();
}

TF_Operation* TF_FinishOperationLocked(TF_OperationDescription* desc, TF_Status* status) {
  TF_Operation* operation = NULL;
  if (!desc) {
    leat_capi_status_set(status, leat_capi_description_missing());
    return NULL;
  }
  leat_capi_status_set(status, finish(desc, &operation));
  leat_capi_description_free(desc);
  return operation;
}

TF_Operation* TF_FinishOperation(TF_OperationDescription* desc, TF_Status* status) {
  TF_Graph* graph = desc ? desc->graph : NULL;
  if (graph) leat_capi_lock(graph);
  TF_Operation* operation = TF_FinishOperationLocked(desc, status);
  if (graph) leat_capi_unlock(graph);
  return operation;
}
