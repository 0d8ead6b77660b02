// Definitions of the ops that read tensors from a checkpoint by name: RestoreV2 reads many from a
// checkpoint of either version, Restore and RestoreSlice read one from a checkpoint of the first
// version. A tensor is read whole, or as a slice that an input states as "4 5 -:0,3": the whole
// shape, then start and length for each dimension.
//
// Where that input is a constant, the output's shape is known before the checkpoint is opened, so
// that shape inference goes on behind the op. The ops are stateful because the file may change
// between two steps; a step must never get a value that was folded into the graph. restore_cpu.c
// has the kernels.
#include "formats/checkpoint/tensor_slice.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// Sets the shape of |output| to that of the slice which |spec| states; it is unknown when |spec| is
// empty.
static leat_status_t set_slice_output(leat_inference_t* c, int output, leat_string_view_t spec) {
  leat_shape_t full, slice_shape;
  leat_tensor_slice_t slice;
  leat_partial_shape_t shape;
  leat_inference_set_output(c, output, leat_partial_shape_unknown());
  if (spec.size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_parse_spec(spec, c->arena, &full, &slice));
  leat_status_t status = leat_tensor_slice_resolve(&slice, &full, &slice_shape);
  leat_shape_release(&full);
  LEAT_RETURN_IF_ERROR(status);
  status = leat_inference_make(c, slice_shape.rank, leat_shape_dims(&slice_shape), &shape);
  leat_shape_release(&slice_shape);
  if (!status) leat_inference_set_output(c, output, shape);
  return status;
}

static leat_status_t restore_v2_shape(leat_inference_t* c) {
  leat_partial_shape_t unused, names, slices;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &unused));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 1, &names));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 1, &slices));
  LEAT_RETURN_IF_ERROR(leat_inference_merge(c, names, slices, &unused));
  const leat_tensor_t* specs = leat_inference_input_tensor(c, 2);
  if (!specs) return leat_shape_unknown(c);
  if (specs->shape.element_count != c->node->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Shape inference failed: shape_and_slices has %lld items, must have "
                            "one for each of %d tensors",
                            (long long)specs->shape.element_count, c->node->output_count);
  }
  for (int i = 0; i < c->node->output_count; ++i) {
    LEAT_RETURN_IF_ERROR(set_slice_output(c, i, leat_tensor_string_at(specs, i)));
  }
  return leat_ok_status();
}

static leat_status_t check_scalars(leat_inference_t* c) {
  leat_partial_shape_t unused;
  for (int i = 0; i < leat_inference_input_count(c); ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 0, &unused));
  }
  return leat_ok_status();
}

static leat_status_t restore_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_scalars(c));
  return leat_shape_unknown(c);
}

static leat_status_t restore_slice_shape(leat_inference_t* c) {
  LEAT_RETURN_IF_ERROR(check_scalars(c));
  const leat_tensor_t* spec = leat_inference_input_tensor(c, 2);
  if (!spec) return leat_shape_unknown(c);
  return set_slice_output(c, 0, leat_tensor_string_at(spec, 0));
}

const leat_op_row_t leat_restore_ops[] = {
    {.name = "RestoreV2",
     .inputs = "prefix: string; tensor_names: string; shape_and_slices: string",
     .outputs = "tensors: dtypes",
     .attrs = "dtypes: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = restore_v2_shape,
     .gradient = leat_gradient_none,
     .doc = "Reads tensors of a checkpoint, of either version."},
    {.name = "Restore",
     .inputs = "file_pattern: string; tensor_name: string",
     .outputs = "tensor: dt",
     .attrs = "dt: type; preferred_shard: int = -1",
     .flags = LEAT_OP_STATEFUL,
     .shape = restore_shape,
     .gradient = leat_gradient_none,
     .doc = "Reads a tensor of a checkpoint of the first version."},
    {.name = "RestoreSlice",
     .inputs = "file_pattern: string; tensor_name: string; shape_and_slice: string",
     .outputs = "tensor: dt",
     .attrs = "dt: type; preferred_shard: int = -1",
     .flags = LEAT_OP_STATEFUL,
     .shape = restore_slice_shape,
     .gradient = leat_gradient_none,
     .doc = "Reads a slice of a tensor of a checkpoint of the first version."},
    LEAT_OP_ROWS_END,
};
