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
// once for each way. What a function captured is written with its content, as TensorFlow does it:
//
//     VarHandleOp ─▶ AssignVariableOp ◀─ Const     AnonymousHashTable ─▶ LookupTableImportV2
//          └───────▶ Identity ◀── control ┘                 └──────────▶ Identity ◀─ control ┘
//
// so that the reader has a variable or a table of its own. The variable lives as long as the
// reader's session. The table belongs to its handle, which the new dataset holds; TensorFlow gives
// it a name in place of that, and leaves it to the process.
// Other resources (queues, dense tables, generators of seeds, caches), and variables without a
// value, are written as the handles that they are. In another process these name nothing:
// generators and caches are made anew there, and a function that uses one of the others fails.
#include "ops/dataset/dataset_graph_cpu.h"

#include "base/log.h"
#include "base/map.h"
#include "kernel/handle.h"
#include "ops/function/function_call_cpu.h"
#include "ops/kernel_rows.h"
#include "ops/lookup/table_cpu.h"

// ---- Writing ------------------------------------------------------------------------------------

// A tensor that was made for the description, or a resource whose nodes are in it.
typedef struct kept_s {
  struct kept_s* next;
  leat_tensor_t tensor;
  leat_resource_t* resource;
} kept_t;

// What has been described so far. The nodes, their texts and most attributes lie in the arena.
typedef struct description_s {
  leat_kernel_context_t* context;
  leat_arena_t arena;
  leat_described_node_t* nodes;  // of the system's allocator
  size_t count, capacity;
  leat_word_map_t written;  // the address of a dataset or of a resource -> the index of its node
  kept_t* kept;             // to be released when the graph is written
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

// Adds a node of |op| with copies of |inputs| and |attrs|.
static leat_status_t add_op(description_t* d, const char* op, const leat_string_view_t* inputs,
                            int input_count, const leat_attr_t* attrs, int attr_count,
                            size_t* out_index) {
  leat_string_view_t* own_inputs;
  leat_attr_t* own_attrs;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, (size_t)input_count + 1, &own_inputs));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, (size_t)attr_count + 1, &own_attrs));
  for (int i = 0; i < input_count; ++i) own_inputs[i] = inputs[i];
  for (int i = 0; i < attr_count; ++i) own_attrs[i] = attrs[i];
  return add_node(d, (leat_described_node_t){.op = leat_string_view_from(op),
                                             .inputs = own_inputs,
                                             .input_count = input_count,
                                             .attrs = own_attrs,
                                             .attr_count = attr_count},
                  out_index);
}

static leat_status_t add_constant(description_t* d, const leat_tensor_t* value, size_t* out_index) {
  const leat_attr_t attrs[] = {LEAT_TENSOR("value", value), LEAT_TYPE("dtype", value->dtype)};
  return add_op(d, "Const", NULL, 0, attrs, 2, out_index);
}

// ---- Resources ----------------------------------------------------------------------------------

static leat_status_t keep(description_t* d, kept_t** out_kept) {
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&d->arena, 1, out_kept));
  (*out_kept)->next = d->kept;
  d->kept = *out_kept;
  return leat_ok_status();
}

static void release_kept(kept_t* kept) {
  for (; kept; kept = kept->next) {
    leat_tensor_release(&kept->tensor);
    if (kept->resource) leat_resource_release(kept->resource);
  }
}

// Adds the node that gives the handle of |maker| once |filler| has run.
static leat_status_t add_filled(description_t* d, size_t maker, size_t filler, size_t* out_index) {
  const leat_attr_t attr = LEAT_TYPE("T", LEAT_DTYPE_RESOURCE);
  leat_string_view_t inputs[] = {d->nodes[maker].name, {0}};
  LEAT_RETURN_IF_ERROR(
      leat_arena_print(&d->arena, &inputs[1], "^%.*s", LEAT_SV_ARG(d->nodes[filler].name)));
  return add_op(d, "Identity", inputs, 2, &attr, 1, out_index);
}

// A variable with |value|.
static leat_status_t add_variable(description_t* d, const leat_tensor_t* value,
                                  size_t* out_index) {
  size_t constant, filler, maker;
  const leat_attr_t attrs[] = {LEAT_TYPE("dtype", value->dtype),
                               LEAT_SHAPE("shape", leat_partial_shape_of(&value->shape)),
                               LEAT_STRING("shared_name", LEAT_SV(LEAT_ANONYMOUS_NAME))};
  LEAT_RETURN_IF_ERROR(add_op(d, "VarHandleOp", NULL, 0, attrs, 3, &maker));
  LEAT_RETURN_IF_ERROR(add_constant(d, value, &constant));
  const leat_string_view_t inputs[] = {d->nodes[maker].name, d->nodes[constant].name};
  LEAT_RETURN_IF_ERROR(add_op(d, "AssignVariableOp", inputs, 2, attrs, 1, &filler));
  return add_filled(d, maker, filler, out_index);
}

// A table with the keys and values of |table|. A static one that was not filled stays so.
static leat_status_t add_table(description_t* d, leat_lookup_t* table, size_t* out_index) {
  kept_t *keys, *values;
  size_t maker, key_node, value_node, filler;
  const char* op = table->vtable->fills_once        ? "AnonymousHashTable"
                   : table->value_shape.rank > 0 ? "AnonymousMutableHashTableOfTensors"
                                                 : "AnonymousMutableHashTable";
  const leat_attr_t attrs[] = {LEAT_TYPE("key_dtype", table->key_dtype),
                               LEAT_TYPE("value_dtype", table->value_dtype),
                               LEAT_SHAPE("value_shape",
                                          leat_partial_shape_of(&table->value_shape))};
  LEAT_RETURN_IF_ERROR(add_op(d, op, NULL, 0, attrs, 3, &maker));
  *out_index = maker;
  if (table->vtable->fills_once && !leat_static_table_is_filled(table)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(keep(d, &keys));
  LEAT_RETURN_IF_ERROR(keep(d, &values));
  LEAT_RETURN_IF_ERROR(table->vtable->export(table, d->context->services->memory, &keys->tensor,
                                             &values->tensor));
  LEAT_RETURN_IF_ERROR(add_constant(d, &keys->tensor, &key_node));
  LEAT_RETURN_IF_ERROR(add_constant(d, &values->tensor, &value_node));
  const leat_string_view_t inputs[] = {d->nodes[maker].name, d->nodes[key_node].name,
                                       d->nodes[value_node].name};
  const leat_attr_t types[] = {LEAT_TYPE("Tin", table->key_dtype),
                               LEAT_TYPE("Tout", table->value_dtype)};
  LEAT_RETURN_IF_ERROR(add_op(d, "LookupTableImportV2", inputs, 3, types, 2, &filler));
  return add_filled(d, maker, filler, out_index);
}

// Adds what stands for the resource that |handle| names, once for all handles of one resource.
static leat_status_t add_resource(description_t* d, const leat_tensor_t* handle,
                                  size_t* out_index) {
  leat_resource_manager_t* manager = d->context->services->resources;
  uint64_t known = 0;
  kept_t* kept;
  LEAT_RETURN_IF_ERROR(keep(d, &kept));
  leat_resource_t* table = leat_handle_look_up(manager, handle, &leat_lookup_kind);
  kept->resource = table ? table : leat_handle_look_up(manager, handle, &leat_cell_kind);
  if (kept->resource && leat_word_map_get(&d->written, (uintptr_t)kept->resource, &known)) {
    *out_index = (size_t)known;
    return leat_ok_status();
  }
  // The rows of a dense table lie in its buckets, which LookupTableImportV2 does not take.
  const bool has_content = table ? !((leat_lookup_t*)table)->vtable->imports_matrix
                                 : kept->resource && leat_cell_read((leat_cell_t*)kept->resource,
                                                                    &kept->tensor);
  if (!has_content) return add_constant(d, handle, out_index);
  LEAT_RETURN_IF_ERROR(table ? add_table(d, (leat_lookup_t*)table, out_index)
                             : add_variable(d, &kept->tensor, out_index));
  return leat_word_map_set(&d->written, (uintptr_t)kept->resource, *out_index);
}

// ---- Datasets -----------------------------------------------------------------------------------

static leat_status_t add_dataset(description_t* d, const leat_dataset_t* dataset,
                                 size_t* out_index);

static leat_status_t add_input(description_t* d, const leat_dataset_node_t* node, int index,
                               size_t* out_index) {
  const leat_tensor_t* input = &node->inputs[index];
  leat_dataset_t* below = NULL;
  if (leat_dataset_find(input, &below)) return add_dataset(d, below, out_index);
  if (input->dtype == LEAT_DTYPE_RESOURCE) return add_resource(d, input, out_index);
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

leat_status_t leat_dataset_to_graph(leat_kernel_context_t* c, leat_dataset_t* dataset,
                                    leat_external_state_t external_state,
                                    leat_string_builder_t* out_graph_def) {
  description_t d = {.context = c};
  leat_function_runtime_t* functions = c->services->functions;
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
  release_kept(d.kept);
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
  leat_status_t status = leat_dataset_to_graph(c, dataset, node->external_state, &graph_def);
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
