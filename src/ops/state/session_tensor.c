// The ops that keep tensors in a session between steps, find them by a handle and delete them:
// their shapes and registration.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

static leat_status_t tensor_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &unused));
  return leat_shape_unknown(c);
}

static leat_status_t delete_shape(leat_inference_t* c) {
  leat_partial_shape_t unused;
  return leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &unused);
}

const leat_op_row_t leat_session_tensor_ops[] = {
    {.name = "GetSessionHandle",
     .inputs = "value: T",
     .outputs = "handle: string",
     .attrs = "T: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "Keeps a tensor in the session; the handle finds it."},
    {.name = "GetSessionHandleV2",
     .inputs = "value: T",
     .outputs = "handle: resource",
     .attrs = "T: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = leat_shape_scalar_output,
     .gradient = leat_gradient_none,
     .doc = "Keeps a tensor in the session; the handle's name finds it."},
    {.name = "GetSessionTensor",
     .inputs = "handle: string",
     .outputs = "value: dtype",
     .attrs = "dtype: type",
     .flags = LEAT_OP_STATEFUL,
     .shape = tensor_shape,
     .gradient = leat_gradient_none,
     .doc = "The tensor that the session keeps under a handle."},
    {.name = "DeleteSessionTensor",
     .inputs = "handle: string",
     .flags = LEAT_OP_STATEFUL,
     .shape = delete_shape,
     .gradient = leat_gradient_none,
     .doc = "Ends the keeping of a tensor in the session."},
    LEAT_OP_ROWS_END,
};
