// The kernels of eager ops. An op becomes the only node of a small graph, whose inputs are
// placeholders with the types of the input handles:
//
//     input_0, input_1, ...  ──▶  eager_<n>
//
// The graph does what it does for any client: it checks the attributes, infers those that follow
// from the inputs, and fills in defaults. Then a kernel is made from the node, without a plan and
// an executor. A node of a function becomes the kernel of a call, which finds the function by its
// name and attributes.
//
// All this takes some microseconds, more than a small op itself. Kernels are therefore kept, by the
// op, its attributes and the types of its inputs, on which alone a kernel depends; shapes are no
// part of it, since kernels check the values that they get. When there are MAX_KERNELS of them all
// are let go, so that a client who gives each op other attributes does not fill the memory. Ops
// with tensors as attributes get a kernel of their own each time, because comparing and keeping
// tensors costs more than it saves. A kernel that makes a resource may own it, and is kept for the
// resource's sake, not to be used again: each such op makes a resource of its own.
#include "worker/eager_kernel.h"

#include <stdio.h>

#include "graph/storage.h"

#define MAX_KERNELS 1024

// Flags of ops that only make sense in a graph.
#define NOT_EAGER                                                                      \
  (LEAT_OP_PLACEHOLDER | LEAT_OP_SEND | LEAT_OP_RECV | LEAT_OP_CONTROL_FLOW |          \
   LEAT_OP_LOOP_CONDITION | LEAT_OP_CONTROL_TRIGGER | LEAT_OP_ARGUMENT | LEAT_OP_RETURN_VALUE)

// ---- The graph of one node ----------------------------------------------------------------------

// UNIMPLEMENTED for ops that cannot run without a graph, and INVALID_ARGUMENT for those that take a
// reference: an eager tensor is a value. An op that gives a reference gives the value behind it.
static leat_status_t check_eager(const leat_op_t* op) {
  for (int i = 0; op->has_ref_inputs && i < op->input_count; ++i) {
    if (!op->inputs[i].is_ref) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Executing op '%.*s' failed: input '%.*s' is a value, must be a "
                            "reference: build a graph and run it in a TF_Session",
                            LEAT_SV_ARG(op->name), LEAT_SV_ARG(op->inputs[i].name));
  }
  if (!(op->flags & NOT_EAGER)) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Executing op '%.*s' failed: it takes a graph: build one and run it in a "
                          "TF_Session",
                          LEAT_SV_ARG(op->name));
}

// Adds a placeholder with the type of an input.
static leat_status_t add_placeholder(leat_graph_t* graph, const leat_op_t* placeholder, int index,
                                     leat_dtype_t dtype) {
  char name[32];
  int32_t node = -1;
  const leat_attr_t type = LEAT_TYPE("dtype", dtype);
  snprintf(name, sizeof name, "input_%d", index);
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .op = placeholder,
                           .attrs = &type,
                           .attr_count = 1,
                           .skip_shapes = true};
  return leat_graph_add_node(graph, &spec, &node);
}

// Adds the placeholders as nodes 0, 1, ..., and then the op's node, which is the last.
static leat_status_t add_nodes(leat_eager_kernels_t* kernels, const leat_eager_request_t* request,
                               leat_graph_t* graph) {
  const leat_op_t* placeholder = NULL;
  leat_output_t* inputs = NULL;
  char name[LEAT_EAGER_PREFIX_BYTES + 32];
  int32_t node = -1;
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(graph->ops, LEAT_SV("Placeholder"), &placeholder));
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(leat_graph_arena(graph), (size_t)request->input_count + 1, &inputs));
  for (int i = 0; i < request->input_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        add_placeholder(graph, placeholder, i, (leat_dtype_t)request->inputs[i].dtype));
    inputs[i] = (leat_output_t){i, 0};
  }
  // The name is unique: a resource without a shared name is called after its node.
  snprintf(name, sizeof name, "%seager_%lld", kernels->prefix,
           (long long)atomic_fetch_add(&kernels->runs, 1));
  leat_node_spec_t spec = {.name = leat_string_view_from(name),
                           .op = request->op,
                           .inputs = inputs,
                           .input_count = request->input_count,
                           .attrs = request->attrs,
                           .attr_count = request->attr_count,
                           .infer_attrs = true,
                           .skip_shapes = true};
  return leat_graph_add_node(graph, &spec, &node);
}

leat_status_t leat_eager_graph_create(leat_eager_kernels_t* kernels,
                                      const leat_eager_request_t* request,
                                      leat_graph_t** out_graph) {
  *out_graph = NULL;
  LEAT_RETURN_IF_ERROR(check_eager(request->op));
  LEAT_RETURN_IF_ERROR(leat_graph_create(kernels->ops, leat_allocator_system(), out_graph));
  leat_status_t status = add_nodes(kernels, request, *out_graph);
  if (status) {
    leat_graph_free(*out_graph);
    *out_graph = NULL;
  }
  return status;
}

const leat_node_t* leat_eager_graph_node(const leat_graph_t* graph) {
  return leat_graph_node(graph, (int32_t)graph->node_count - 1);
}

// ---- Making -------------------------------------------------------------------------------------

// Makes the kernel of a node that is no function's. |attrs| are the attributes that it gets.
static leat_status_t create(const leat_eager_kernels_t* kernels, leat_eager_kernel_t* kernel,
                            const leat_op_t* row_op, const leat_attr_t* attrs, int attr_count) {
  const leat_kernel_row_t* row = NULL;
  const leat_node_t* node = leat_eager_graph_node(kernel->graph);
  LEAT_RETURN_IF_ERROR(leat_kernel_registry_find(kernels->registry, row_op, attrs, attr_count,
                                                 kernels->device->type, &row));
  leat_kernel_spec_t spec = {.row = row,
                             .op = row_op,
                             .node_name = node->name,
                             .attrs = attrs,
                             .attr_count = attr_count,
                             .input_types = kernel->input_types,
                             .input_count = node->input_count,
                             .output_types = node->output_types,
                             .output_count = node->output_count,
                             .device = kernels->device,
                             .resources = kernels->resources,
                             .session_resources = kernels->session_resources,
                             .allocator = leat_allocator_system()};
  return leat_kernel_create(&spec, &kernel->kernel);
}

// A node that is named after a function gets the kernel of PartitionedCall, whose attribute "f" is
// the function with the node's attributes.
static leat_status_t create_call(const leat_eager_kernels_t* kernels,
                                 leat_eager_kernel_t* kernel) {
  const leat_op_t* call = NULL;
  leat_function_name_t* function = NULL;
  leat_attr_t* f = NULL;
  const leat_node_t* node = leat_eager_graph_node(kernel->graph);
  LEAT_RETURN_IF_ERROR(leat_op_registry_find(kernel->graph->ops, LEAT_OP_NAME_STATEFUL_CALL,
                                             &call));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(kernel->graph), 1, &function));
  LEAT_RETURN_IF_ERROR(LEAT_NEW(leat_graph_arena(kernel->graph), 1, &f));
  *function = (leat_function_name_t){node->op->name, node->attrs, node->attr_count};
  *f = (leat_attr_t){LEAT_SV("f"), {.kind = LEAT_ATTR_FUNCTION, .function = function}};
  return create(kernels, kernel, call, f, 1);
}

// Keeps in |kernel| by what it is found again.
static leat_status_t copy_key(const leat_eager_request_t* request, uint64_t hash,
                              leat_eager_kernel_t* kernel) {
  leat_graph_storage_t* storage = kernel->graph->storage;
  leat_attr_t* attrs = NULL;
  kernel->op = request->op;
  kernel->hash = hash;
  LEAT_RETURN_IF_ERROR(
      LEAT_NEW(leat_graph_arena(kernel->graph), (size_t)request->attr_count + 1, &attrs));
  for (int i = 0; i < request->attr_count; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_text(storage, request->attrs[i].name, &attrs[i].name));
    LEAT_RETURN_IF_ERROR(
        leat_graph_storage_copy_value(storage, &request->attrs[i].value, &attrs[i].value));
  }
  kernel->attrs = attrs;
  kernel->attr_count = request->attr_count;
  return leat_ok_status();
}

void leat_eager_kernel_release(leat_eager_kernel_t* kernel) {
  if (!kernel || !leat_reference_count_release(&kernel->references)) return;
  leat_kernel_free(kernel->kernel);
  leat_graph_free(kernel->graph);
  leat_allocator_free(leat_allocator_system(), kernel);
}

// Fills |kernel|, which the caller releases after a failure as well.
static leat_status_t fill(leat_eager_kernels_t* kernels, const leat_eager_request_t* request,
                          uint64_t hash, leat_eager_kernel_t* kernel) {
  LEAT_RETURN_IF_ERROR(leat_eager_graph_create(kernels, request, &kernel->graph));
  LEAT_RETURN_IF_ERROR(copy_key(request, hash, kernel));
  const leat_node_t* node = leat_eager_graph_node(kernel->graph);
  bool is_function = !leat_op_registry_has(kernel->graph->ops, request->op->name);
  return is_function ? create_call(kernels, kernel)
                     : create(kernels, kernel, node->op, node->attrs, node->attr_count);
}

static leat_status_t make(leat_eager_kernels_t* kernels, const leat_eager_request_t* request,
                          uint64_t hash, leat_eager_kernel_t** out_kernel) {
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof(leat_eager_kernel_t) + (size_t)request->input_count,
      &memory));
  leat_eager_kernel_t* kernel = memory;
  kernel->references = 1;
  for (int i = 0; i < request->input_count; ++i) {
    kernel->input_types[i] = (uint8_t)request->inputs[i].dtype;
  }
  leat_status_t status = fill(kernels, request, hash, kernel);
  if (status) {
    leat_eager_kernel_release(kernel);
    return status;
  }
  *out_kernel = kernel;
  return status;
}

leat_status_t leat_eager_kernel_check_references(const leat_kernel_t* kernel,
                                                 leat_tensor_t* outputs) {
  for (int i = 0; i < kernel->output_count; ++i) {
    if (!leat_dtype_is_ref(kernel->output_types[i]) || outputs[i].dtype) continue;
    for (int k = 0; k < kernel->output_count; ++k) leat_tensor_release(&outputs[k]);
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Executing op '%.*s' failed: output %d names a variable without a "
                            "value, must name one that is initialized",
                            LEAT_SV_ARG(kernel->op->name), i);
  }
  return leat_ok_status();
}

// ---- Keeping ------------------------------------------------------------------------------------

static uint64_t hash_of(const leat_eager_request_t* request) {
  uint64_t hash = (uint64_t)(uintptr_t)request->op;
  for (int i = 0; i < request->attr_count; ++i) {
    hash = leat_hash_mix(hash, leat_string_view_hash(request->attrs[i].name));
    hash = leat_hash_mix(hash, leat_attr_value_hash(&request->attrs[i].value));
  }
  for (int i = 0; i < request->input_count; ++i) {
    hash = leat_hash_mix(hash, (uint64_t)request->inputs[i].dtype);
  }
  return hash;
}

// Whether |kernel| was made for a call like |request|, whose hash it has.
static bool serves(const leat_eager_kernel_t* kernel, const leat_eager_request_t* request) {
  bool is_same = kernel->op == request->op && kernel->attr_count == request->attr_count &&
                 kernel->kernel->input_count == request->input_count;
  for (int i = 0; is_same && i < request->input_count; ++i) {
    is_same = kernel->input_types[i] == request->inputs[i].dtype;
  }
  for (int i = 0; is_same && i < request->attr_count; ++i) {
    is_same = leat_string_view_equal(kernel->attrs[i].name, request->attrs[i].name) &&
              leat_attr_value_equal(&kernel->attrs[i].value, &request->attrs[i].value);
  }
  return is_same;
}

// The kernel that is kept for calls like |request|, retained; NULL: there is none.
static leat_eager_kernel_t* find_kept(leat_eager_kernels_t* kernels,
                                      const leat_eager_request_t* request, uint64_t hash) {
  leat_mutex_lock(&kernels->mutex);
  leat_eager_kernel_t* kernel = kernels->kernels[hash % LEAT_EAGER_BUCKETS];
  while (kernel && !(kernel->hash == hash && serves(kernel, request))) kernel = kernel->next;
  if (kernel) leat_reference_count_retain(&kernel->references);
  leat_mutex_unlock(&kernels->mutex);
  return kernel;
}

static bool holds_tensors(const leat_eager_request_t* request) {
  bool found = false;
  for (int i = 0; i < request->attr_count; ++i) {
    found = found || request->attrs[i].value.kind == LEAT_ATTR_TENSOR;
  }
  return found;
}

// Whether the kernel may own a resource, and must not be freed before it. A call owns none: what
// its function makes belongs to the function.
static bool makes_resource(const leat_eager_kernel_t* kernel) {
  bool found = false;
  for (int i = 0; i < kernel->kernel->output_count; ++i) {
    const int type = kernel->kernel->output_types[i];
    found = found || type == LEAT_DTYPE_RESOURCE || leat_dtype_is_ref(type);
  }
  return found && !(kernel->op->flags & LEAT_OP_CALLS);
}

// Puts |kernel| into the list, which gets a reference of its own.
static void keep(leat_eager_kernels_t* kernels, leat_eager_kernel_t** list,
                 leat_eager_kernel_t* kernel) {
  leat_reference_count_retain(&kernel->references);
  leat_mutex_lock(&kernels->mutex);
  kernel->next = *list;
  *list = kernel;
  leat_mutex_unlock(&kernels->mutex);
}

static void release_list(leat_eager_kernel_t* kernel) {
  while (kernel) {
    leat_eager_kernel_t* next = kernel->next;
    leat_eager_kernel_release(kernel);
    kernel = next;
  }
}

// Moves all lists of kernels that serve further ops into |out_lists| [LEAT_EAGER_BUCKETS].
static void take_lists(leat_eager_kernels_t* kernels, leat_eager_kernel_t** out_lists) {
  leat_mutex_lock(&kernels->mutex);
  for (int i = 0; i < LEAT_EAGER_BUCKETS; ++i) {
    out_lists[i] = kernels->kernels[i];
    kernels->kernels[i] = NULL;
  }
  kernels->kernel_count = 0;
  leat_mutex_unlock(&kernels->mutex);
}

// The lists are taken under the mutex and freed without it, since ending a kernel may take long.
void leat_eager_kernels_clear_shared(leat_eager_kernels_t* kernels) {
  leat_eager_kernel_t* lists[LEAT_EAGER_BUCKETS];
  take_lists(kernels, lists);
  for (int i = 0; i < LEAT_EAGER_BUCKETS; ++i) release_list(lists[i]);
}

void leat_eager_kernels_clear(leat_eager_kernels_t* kernels) {
  leat_eager_kernels_clear_shared(kernels);
  leat_mutex_lock(&kernels->mutex);
  leat_eager_kernel_t* owners = kernels->owners;
  kernels->owners = NULL;
  leat_mutex_unlock(&kernels->mutex);
  release_list(owners);
}

void leat_eager_kernels_initialize(leat_eager_kernels_t* kernels) {
  leat_mutex_initialize(&kernels->mutex);
}

void leat_eager_kernels_deinitialize(leat_eager_kernels_t* kernels) {
  leat_eager_kernels_clear(kernels);
  leat_mutex_deinitialize(&kernels->mutex);
}

leat_status_t leat_eager_kernel_find(leat_eager_kernels_t* kernels,
                                     const leat_eager_request_t* request,
                                     leat_eager_kernel_t** out_kernel) {
  bool is_shared = !holds_tensors(request);
  uint64_t hash = is_shared ? hash_of(request) : 0;
  *out_kernel = is_shared ? find_kept(kernels, request, hash) : NULL;
  if (LEAT_LIKELY(*out_kernel != NULL)) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make(kernels, request, hash, out_kernel));
  if (makes_resource(*out_kernel)) {
    keep(kernels, &kernels->owners, *out_kernel);
  } else if (is_shared) {
    leat_mutex_lock(&kernels->mutex);
    bool is_full = kernels->kernel_count++ >= MAX_KERNELS;
    leat_mutex_unlock(&kernels->mutex);
    if (is_full) leat_eager_kernels_clear_shared(kernels);
    keep(kernels, &kernels->kernels[hash % LEAT_EAGER_BUCKETS], *out_kernel);
  }
  return leat_ok_status();
}
