// Definitions of the ops that debuggers put behind other nodes: copies of a value, which a debugger
// may look at, and descriptions of it (how many NaNs it holds, how large its elements are). What
// they are told of devices, nodes and runs (device_name, tfdbg_run_id, ...) is for files and
// servers of TensorFlow's debugger, which this library does not write: kernels refuse debug_urls.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Where a debugger finds the value, and what else the ops of its first version take.
#define WATCHED \
  "T: type; device_name: string = ''; tensor_name: string = ''; debug_urls: list(string) = []"

static bool is_gated(const leat_inference_t* c) {
  return leat_node_attr_bool(c->node, "gated_grpc", false);
}

static leat_status_t vector_of(leat_inference_t* c, int64_t size) {
  leat_partial_shape_t vector;
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &size, &vector));
  leat_inference_set_output(c, 0, vector);
  return leat_ok_status();
}

// A gated op has no elements, since nobody opens its gate. TensorFlow promises the input's shape.
static leat_status_t watched_shape(leat_inference_t* c) {
  return is_gated(c) ? vector_of(c, 0) : leat_shape_unchanged(c);
}

static leat_status_t nan_count_shape(leat_inference_t* c) {
  return vector_of(c, is_gated(c) ? 0 : 1);
}

const leat_op_row_t leat_watch_ops[] = {
    {.name = "Copy",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; tensor_name: string = ''; debug_ops_spec: list(string) = []",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unchanged,
     .doc = "A copy of the input."},
    {.name = "CopyHost",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; tensor_name: string = ''; debug_ops_spec: list(string) = []",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unchanged,
     .doc = "A copy of the input in host memory."},
    {.name = "DebugIdentity",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = WATCHED "; gated_grpc: bool = false",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = watched_shape,
     .doc = "The input, where a debugger watches."},
    {.name = "DebugIdentityV2",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; tfdbg_context_id: string = ''; op_name: string = ''; output_slot: int = "
              "-1; tensor_debug_mode: int = -1; debug_urls: list(string) = []; "
              "circular_buffer_size: int = 1000; tfdbg_run_id: string = ''",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_unchanged,
     .doc = "The input, where the debugger of TensorFlow 2 watches."},
    {.name = "DebugIdentityV3",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: type; device_name: string = ''; tensor_name: string = ''; io_of_node: string = "
              "''; is_input: bool = false; io_index: int = -1; debug_urls: list(string) = []; "
              "gated_grpc: bool = false",
     .flags = LEAT_OP_STATEFUL | LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = watched_shape,
     .doc = "The input, where a debugger watches."},
    {.name = "DebugGradientRefIdentity",
     .inputs = "input: Ref(T)",
     .outputs = "output: Ref(T)",
     .attrs = "T: type",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unchanged,
     .doc = "The reference, where a debugger watches gradients."},
    {.name = "DebugNanCount",
     .inputs = "input: T",
     .outputs = "output: int64",
     .attrs = WATCHED "; gated_grpc: bool = false",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = nan_count_shape,
     .doc = "How many elements are NaN."},
    {.name = "DebugNumericSummary",
     .inputs = "input: T",
     .outputs = "output: double",
     .attrs = WATCHED "; lower_bound: float = -inf; upper_bound: float = inf; "
                      "mute_if_healthy: bool = false; gated_grpc: bool = false",
     .flags = LEAT_OP_ALLOWS_UNINITIALIZED_INPUT,
     .shape = leat_shape_unknown,
     .doc = "Counts of kinds of elements, their mean and variance, type and shape."},
    {.name = "DebugNumericSummaryV2",
     .inputs = "input: T",
     .outputs = "output: output_dtype",
     .attrs = "output_dtype: {float, double} = float; T: type; tensor_debug_mode: int = -1; "
              "tensor_id: int = -1",
     .shape = leat_shape_unknown,
     .doc = "What the mode says of the elements: whether all are finite, or counts of them."},
    LEAT_OP_ROWS_END,
};
