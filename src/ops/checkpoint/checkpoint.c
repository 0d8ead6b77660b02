// Definitions of the ops that save and restore variables (section 3.3), for checkpoints of both
// versions of the format. Save and SaveSlices write the first version, SaveV2 the second. RestoreV2
// reads many tensors from a checkpoint of either version, Restore and RestoreSlice read one from a
// checkpoint of the first. A tensor is written or read whole, or as a slice that an input states as
// "4 5 -:0,3": the whole shape, then start and length for each dimension. Where that input is a
// constant, the output's shape is known before the checkpoint is opened, so that shape inference
// goes on behind the op.
//
// The ops that read are stateful as well as those that write, because the file may change between
// two steps; a step must never get a value that was folded into the graph. A distributed save
// writes shards, which ops here name and merge into one checkpoint. The ops of warm starts map an
// older vocabulary to a new one and read a matrix with its rows and columns in that order. The
// kernels are in save_cpu.c, restore_cpu.c, shard_cpu.c and remap_cpu.c.
#include "formats/checkpoint/tensor_slice.h"
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Saving -------------------------------------------------------------------------------------

// Checks that input 0 is a scalar, and that inputs 1 to first - 1 are vectors with an item for each
// of the tensors, which are the inputs from |first| on.
static leat_status_t save_shape(leat_inference_t* c, int first) {
  leat_partial_shape_t vector;
  int64_t unused;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &vector));
  for (int i = 1; i < first; ++i) {
    LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, i), 1, &vector));
    LEAT_RETURN_IF_ERROR(leat_inference_merge_dim(leat_partial_shape_dim(vector, 0),
                                                  leat_inference_input_count(c) - first, &unused));
  }
  return leat_ok_status();
}

static leat_status_t save_whole_shape(leat_inference_t* c) { return save_shape(c, 2); }

static leat_status_t save_slices_shape(leat_inference_t* c) { return save_shape(c, 3); }

// ---- Restoring ----------------------------------------------------------------------------------

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

// Where the slices are a constant, the shape of each output that has one is known; outputs that are
// whole tensors stay unknown until the checkpoint is read.
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

// ---- Warm starts --------------------------------------------------------------------------------

static leat_status_t vocabulary_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar, vector;
  int64_t count = leat_node_attr_int(c->node, "num_new_vocab", 0);
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &count, &vector));
  leat_inference_set_output(c, 0, vector);
  leat_inference_set_output(c, 1, scalar);
  return leat_ok_status();
}

static leat_status_t matrix_shape(leat_inference_t* c) {
  leat_partial_shape_t scalar, matrix;
  int64_t dims[] = {leat_node_attr_int(c->node, "num_rows", 0),
                    leat_node_attr_int(c->node, "num_cols", 0)};
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 0, &scalar));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &matrix));
  leat_inference_set_output(c, 0, matrix);
  return leat_ok_status();
}

#define GOT_NO_SCALAR(name) name ": " name " must be a scalar, got shape %"

const leat_op_row_t leat_checkpoint_ops[] = {
    {.name = "SaveV2",
     .inputs = "prefix: string; tensor_names: string; shape_and_slices: string; tensors: dtypes",
     .attrs = "dtypes: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_slices_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes a checkpoint of the second version, whole or not at all."},
    {.name = "Save",
     .inputs = "filename: string; tensor_names: string; data: T",
     .attrs = "T: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_whole_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes a checkpoint of the first version."},
    {.name = "SaveSlices",
     .inputs = "filename: string; tensor_names: string; shapes_and_slices: string; data: T",
     .attrs = "T: list(type) >= 1",
     .flags = LEAT_OP_STATEFUL,
     .shape = save_slices_shape,
     .gradient = leat_gradient_none,
     .doc = "Writes slices of tensors to a checkpoint of the first version."},
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
    {.name = "ShardedFilename",
     .inputs = "basename: string; shard: int32; num_shards: int32",
     .outputs = "filename: string",
     .shapes = "basename[] shard[] num_shards[] -> filename[]",
     .misfits = GOT_NO_SCALAR("basename") "; " GOT_NO_SCALAR("shard") "; "
                GOT_NO_SCALAR("num_shards"),
     .gradient = leat_gradient_none,
     .doc = "The name of a shard: basename-00003-of-00010."},
    {.name = "ShardedFilespec",
     .inputs = "basename: string; num_shards: int32",
     .outputs = "filename: string",
     .shapes = "basename[] num_shards[] -> filename[]",
     .misfits = GOT_NO_SCALAR("basename") "; " GOT_NO_SCALAR("num_shards"),
     .gradient = leat_gradient_none,
     .doc = "A pattern of the names of all shards: basename, a ? a digit, of-00010."},
    {.name = "MergeV2Checkpoints",
     .inputs = "checkpoint_prefixes: string; destination_prefix: string",
     .attrs = "delete_old_dirs: bool = true; allow_missing_files: bool = false",
     .flags = LEAT_OP_STATEFUL,
     .shapes = "checkpoint_prefixes[_] destination_prefix[]",
     .misfits = "checkpoint_prefixes: Input checkpoint_prefixes should be an 1-D tensor, got % "
                "instead.; destination_prefix: Input destination_prefix should be a scalar tensor, "
                "got % instead.",
     .gradient = leat_gradient_none,
     .doc = "Makes one checkpoint of the shards of a distributed save."},
    {.name = "GenerateVocabRemapping",
     .inputs = "new_vocab_file: string; old_vocab_file: string",
     .outputs = "remapping: int64; num_present: int32",
     .attrs = "new_vocab_offset: int >= 0; num_new_vocab: int >= 0; old_vocab_size: int >= -1 = -1",
     .shape = vocabulary_shape,
     .gradient = leat_gradient_none,
     .doc = "Where the lines of one file stand in another, -1 for those that do not."},
    {.name = "LoadAndRemapMatrix",
     .inputs = "ckpt_path: string; old_tensor_name: string; row_remapping: int64; "
               "col_remapping: int64; initializing_values: float",
     .outputs = "output_matrix: float",
     .attrs = "num_rows: int >= 0; num_cols: int >= 1; max_rows_in_memory: int = -1",
     .flags = LEAT_OP_STATEFUL,
     .shape = matrix_shape,
     .gradient = leat_gradient_none,
     .doc = "A checkpoint's matrix with its rows and columns in another order."},
    LEAT_OP_ROWS_END,
};
