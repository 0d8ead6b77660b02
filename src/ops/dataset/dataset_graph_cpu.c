// Datasets as graphs (ops/dataset/dataset_graph_cpu.h), and the kernels of DatasetToGraph,
// DatasetFromGraph and DatasetFingerprint.
//
// A dataset knows the node that made it (leat_dataset_node_t), so that to write one is a walk over
// these nodes: inputs that are datasets are written first, all others become constants, and the
// session's function runtime turns the description into a GraphDef with the functions that its
// nodes name.
//
//     Const/_0 Const/_1 Const/_2 RangeDataset/_3 MapDataset/_4 dataset      f, and what f calls
//                                                              (_Retval)
//
// A dataset that stands below another one in many ways is written once, where TensorFlow writes it
// once for each way. Its resource, a generator of seeds or a cache in memory, is written as the
// handle that it is: in another process that names nothing, and the dataset makes its own. What a
// function captured cannot be told so, and is refused.
#include "ops/dataset/dataset_graph_cpu.h"

#include "base/log.h"
#include "base/map.h"
#include "ops/function/function_call_cpu.h"
#include "ops/kernel_rows.h"

// ---- Writing ------------------------------------------------------------------------------------

// What has been described so far. The nodes and their texts lie in the arena; attributes and
// tensors are the datasets'.
typedef struct description_s {
  leat_arena_t arena;
  leat_described_node_t* nodes;  // of the system's allocator
  size_t count, capacity;
  leat_word_map_t written;  // a dataset's address -> the index of its node
} description_t;

// Adds |node|, whose name is its op's and its number.
static leat_status_t add_node(description_t* d, leat_described_node_t node, size_t* out_index) {
  LEAT_RETURN_IF_ERROR(leat_arena_print(&d->arena, &node.name, "%.*s/_%zu", LEAT_SV_ARG(node.op),
                                        d->count));
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), d->count + 1, &d->nodes, &d->capacity));
  *out_index = d->count;
  d->nodes[d->count++] = node;
  return leat_ok_status();
}

static leat_status_t add_constant(description_t* d, const leat_tensor_t* value, size_t* out_index) {
  leat_attr_t* attrs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, 2, &attrs));
  attrs[0] = LEAT_TENSOR("value", value);
  attrs[1] = LEAT_TYPE("dtype", value->dtype);
  return add_node(d, (leat_described_node_t){.op = LEAT_SV("Const"), .attrs = attrs,
                                             .attr_count = 2},
                  out_index);
}

// Whether input |index| of |node|, counted item by item, is an argument by itself, and not one of a
// list, as what a function captured is. No op of datasets has a list between two lists.
static bool is_by_itself(const leat_dataset_node_t* node, int index) {
  const leat_op_argument_t* arguments = node->op->inputs;
  int first = 0, last = node->op->input_count, behind = node->input_count;
  while (first < last && arguments[first].number_attr < 0 &&
         arguments[first].source != LEAT_TYPE_FROM_LIST) {
    ++first;
  }
  while (last > first && arguments[last - 1].number_attr < 0 &&
         arguments[last - 1].source != LEAT_TYPE_FROM_LIST) {
    --last;
    --behind;
  }
  return index < first || index >= behind;
}

static leat_status_t add_dataset(description_t* d, const leat_dataset_t* dataset,
                                 size_t* out_index);

static leat_status_t add_input(description_t* d, const leat_dataset_node_t* node, int index,
                               size_t* out_index) {
  const leat_tensor_t* input = &node->inputs[index];
  leat_dataset_t* below = NULL;
  if (leat_dataset_find(input, &below)) return add_dataset(d, below, out_index);
  if (input->dtype == LEAT_DTYPE_RESOURCE && !is_by_itself(node, index)) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Failed to serialize the input pipeline graph: input %d of %.*s is the "
                            "handle of a resource, which a graph cannot hold",
                            index, LEAT_SV_ARG(node->op->name));
  }
  return add_constant(d, input, out_index);
}

// As deep as datasets stand high on each other, which is limited (LEAT_MAX_DATASET_DEPTH).
static leat_status_t add_dataset(description_t* d, const leat_dataset_t* dataset,
                                 size_t* out_index) {
  const leat_dataset_node_t* node = &dataset->node;
  uint64_t known = 0;
  leat_string_view_t* inputs;
  if (leat_word_map_get(&d->written, (uintptr_t)dataset, &known)) {
    *out_index = (size_t)known;
    return leat_ok_status();
  }
  if (!node->op) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Failed to serialize the input pipeline graph: a dataset of the kind "
                            "%s is part of another one",
                            dataset->kind->name);
  }
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, (size_t)node->input_count, &inputs));
  for (int i = 0; i < node->input_count; ++i) {
    size_t input = 0;
    LEAT_RETURN_IF_ERROR(add_input(d, node, i, &input));
    inputs[i] = d->nodes[input].name;
  }
  const leat_described_node_t described = {.op = node->op->name,
                                           .inputs = inputs,
                                           .input_count = node->input_count,
                                           .attrs = node->attrs->attrs,
                                           .attr_count = node->attrs->count,
                                           .functions = node->functions};
  LEAT_RETURN_IF_ERROR(add_node(d, described, out_index));
  return leat_word_map_set(&d->written, (uintptr_t)dataset, *out_index);
}

static leat_status_t describe(description_t* d, const leat_dataset_t* dataset) {
  static const leat_attr_t attrs[] = {
      {LEAT_SV("T"), {.kind = LEAT_ATTR_TYPE, .type = LEAT_DTYPE_VARIANT}},
      {LEAT_SV("index"), {.kind = LEAT_ATTR_INT}},
  };
  leat_string_view_t* input;
  size_t index = 0;
  LEAT_RETURN_IF_ERROR(add_dataset(d, dataset, &index));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, 1, &input));
  *input = d->nodes[index].name;
  LEAT_RETURN_IF_ERROR(add_node(d, (leat_described_node_t){.op = LEAT_SV("_Retval"),
                                                           .inputs = input,
                                                           .input_count = 1,
                                                           .attrs = attrs,
                                                           .attr_count = 2},
                                &index));
  d->nodes[index].name = LEAT_SV("dataset");
  return leat_ok_status();
}

static leat_status_t judge(leat_string_view_t stateful, leat_external_state_t external_state) {
  if (!stateful.size || external_state == LEAT_EXTERNAL_STATE_IGNORE) return leat_ok_status();
  if (external_state == LEAT_EXTERNAL_STATE_FAIL) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Failed to serialize the input pipeline graph: %.*s is stateful.",
                            LEAT_SV_ARG(stateful));
  }
  leat_log(LEAT_LOG_WARNING,
           "a pipeline is written as a graph whose functions are stateful (%.*s): another process "
           "may make other elements of it",
           LEAT_SV_ARG(stateful));
  return leat_ok_status();
}

leat_status_t leat_dataset_to_graph(leat_dataset_t* dataset, leat_function_runtime_t* functions,
                                    leat_external_state_t external_state,
                                    leat_string_builder_t* out_graph_def) {
  description_t d = {.nodes = NULL};
  leat_string_view_t stateful = LEAT_SV("");
  if (!functions) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "a dataset is written as a graph outside a session, must be inside "
                            "one");
  }
  leat_arena_initialize(leat_allocator_system(), 0, &d.arena);
  leat_word_map_initialize(leat_allocator_system(), &d.written);
  leat_status_t status = describe(&d, dataset);
  if (!status) {
    status = functions->vtable->export_graph(functions, d.nodes, (int)d.count, out_graph_def,
                                             &stateful);
  }
  if (!status) status = judge(stateful, external_state);
  leat_word_map_deinitialize(&d.written);
  leat_allocator_free(leat_allocator_system(), d.nodes);
  leat_arena_deinitialize(&d.arena);
  return status;
}

// ---- Kernels ------------------------------------------------------------------------------------

typedef struct to_graph_s {
  leat_external_state_t external_state;
} to_graph_t;

static leat_status_t to_graph_create(leat_kernel_creation_t* c, void* state) {
  int64_t policy = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "external_state_policy", &policy));
  ((to_graph_t*)state)->external_state = (leat_external_state_t)policy;
  return leat_ok_status();
}

static leat_status_t former_to_graph_create(leat_kernel_creation_t* c, void* state) {
  bool allows = false;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "allow_stateful", &allows));
  ((to_graph_t*)state)->external_state = allows ? LEAT_EXTERNAL_STATE_WARN
                                                : LEAT_EXTERNAL_STATE_FAIL;
  return leat_ok_status();
}

static leat_status_t to_graph__cpu(leat_kernel_context_t* c) {
  const to_graph_t* node = leat_kernel_state(c);
  leat_dataset_t* dataset = NULL;
  leat_string_builder_t graph_def;
  leat_tensor_t output;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  leat_string_builder_initialize(leat_allocator_system(), &graph_def);
  leat_status_t status = leat_dataset_to_graph(dataset, c->services->functions,
                                               node->external_state, &graph_def);
  if (!status) status = leat_tensor_scalar_string(leat_string_builder_view(&graph_def), &output);
  leat_string_builder_deinitialize(&graph_def);
  if (!status) leat_kernel_set_output(c, 0, output);
  return status;
}

static leat_status_t find_graph(const leat_kernel_context_t* c, leat_callee_t* out_callee) {
  leat_function_runtime_t* functions = c->services->functions;
  leat_string_view_t graph_def;
  uint64_t handle;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 0, "graph_def", &graph_def));
  if (!functions) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "a dataset is made of a graph outside a session, must be inside one");
  }
  LEAT_RETURN_IF_ERROR(functions->vtable->import_graph(
      functions, graph_def, LEAT_DTYPE_VARIANT, c->kernel->device->name, &handle));
  *out_callee = (leat_callee_t){.handle = handle + 1};
  return leat_ok_status();
}

// Runs the graph, whose one result is the dataset.
static void from_graph__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_callee_t callee;
  leat_status_t status = find_graph(c, &callee);
  if (status) {
    done(c, status);
  } else {
    leat_call_with_inputs(c, &callee, 1, done);
  }
}

static leat_status_t fingerprint__cpu(leat_kernel_context_t* c) {
  leat_dataset_t* dataset = NULL;
  leat_tensor_t* output;
  const leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  *leat_tensor_data(output, uint64_t) = leat_dataset_hash(dataset);
  return leat_ok_status();
}

const leat_kernel_row_t leat_dataset_graph_kernels_cpu[] = {
    LEAT_CPU_KERNEL("DatasetToGraph", NULL, to_graph_t, former_to_graph_create, to_graph__cpu),
    LEAT_CPU_KERNEL("DatasetToGraphV2", NULL, to_graph_t, to_graph_create, to_graph__cpu),
    {.op = "DatasetFromGraph", .device_type = "CPU", .compute_async = from_graph__cpu},
    {.op = "DatasetFingerprint", .device_type = "CPU", .compute = fingerprint__cpu},
    LEAT_KERNEL_ROWS_END,
};
