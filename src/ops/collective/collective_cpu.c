// CPU kernels of collectives whose group is named by its key, and what communicator_cpu.c shares
// with them (collective_cpu.h). A kernel reads its group from attributes, or in the second version
// of an op from the inputs behind its values, prepares its memory, and leaves the rest to
// kernel/collective.h, which ends it by |done|; no thread waits meanwhile. Each kernel makes its
// output first, since chunks arrive in it, and reductions begin with their input in it. A reduction
// that keeps only a share of the result works in scratch memory, which is released when the kernel
// ends.
//
//   reduce          output = input, in place where the buffer allows it
//   reduce-scatter  scratch = input; the member's share is copied to the output in the end
//   gather          the input is sent; all inputs arrive in the output, by rank
//   all-to-all      the input is sent, a row to each member; a row of each arrives in the output
//   broadcast       the source passes its input on as its output; others have the shape and wait
//
// What one member can know is checked here: the size of its group, the shapes of its inputs, and
// that rows can be shared out. Whether members fit together is found when they meet
// (kernel/collective_round.c). CollectiveAssignGroupV2 meets nobody; it looks up in which group of
// an assignment a device is.
#include "ops/collective/collective_cpu.h"

#include "base/checked.h"

// ---- State --------------------------------------------------------------------------------------

static const leat_attr_value_t* find_attr(const leat_kernel_creation_t* c, const char* name) {
  return leat_attr_find(c->attrs, c->attr_count, leat_string_view_from(name));
}

static leat_status_t read_int32(const leat_kernel_creation_t* c, const char* name,
                                int32_t* out_value) {
  int64_t value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, &value));
  // As in TensorFlow, whose keys have 32 bits.
  *out_value = (int32_t)value;
  return leat_ok_status();
}

static leat_status_t read_merge(const leat_kernel_creation_t* c, const char* name,
                                leat_combine_t* out_merge) {
  static const struct { const char* name; leat_combine_t merge; } kMerges[] = {
      {"Min", LEAT_COMBINE_MIN}, {"Max", LEAT_COMBINE_MAX}, {"Mul", LEAT_COMBINE_MUL}};
  leat_string_view_t text;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, name, &text));
  *out_merge = LEAT_COMBINE_ADD;
  for (size_t i = 0; i < sizeof kMerges / sizeof *kMerges; ++i) {
    if (leat_string_view_equal(text, leat_string_view_from(kMerges[i].name))) {
      *out_merge = kMerges[i].merge;
    }
  }
  return leat_ok_status();
}

// How chunks go around. Nothing else is left to choose here: |communication_hint| may be any text,
// since TensorFlow too has only rings and trees between CPUs, whatever the hint says.
static leat_status_t read_subdivisions(const leat_kernel_creation_t* c,
                                       leat_collective_state_t* state) {
  const int64_t* offsets;
  int64_t limit = -1;
  if (find_attr(c, "max_subdivs_per_device")) {
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "max_subdivs_per_device", &limit));
  }
  state->max_subdivs = (int32_t)limit;
  if (!find_attr(c, "subdiv_offsets")) return leat_ok_status();
  int count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "subdiv_offsets", &offsets, &count));
  LEAT_RETURN_IF_ERROR(
      LEAT_ALLOCATE(leat_allocator_system(), (size_t)count + 1, &state->subdiv_offsets));
  for (state->subdiv_count = 0; state->subdiv_count < count; ++state->subdiv_count) {
    const int64_t offset = offsets[state->subdiv_count];
    if (offset != (int32_t)offset) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "item %d of subdiv_offsets is %lld, must be "
                              "within 32 bits", (int)state->subdiv_count, (long long)offset);
    }
    state->subdiv_offsets[state->subdiv_count] = (int32_t)offset;
  }
  return leat_ok_status();
}

leat_status_t leat_collective_state_create(leat_kernel_creation_t* c, void* data) {
  leat_collective_state_t* state = data;
  float timeout;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "timeout_seconds", &timeout));
  state->timeout_seconds = timeout;
  if (find_attr(c, "group_key")) {
    LEAT_RETURN_IF_ERROR(read_int32(c, "group_size", &state->group_size));
    LEAT_RETURN_IF_ERROR(read_int32(c, "group_key", &state->group_key));
    LEAT_RETURN_IF_ERROR(read_int32(c, "instance_key", &state->instance_key));
  }
  LEAT_RETURN_IF_ERROR(read_subdivisions(c, state));
  if (find_attr(c, "reduction")) {
    LEAT_RETURN_IF_ERROR(read_merge(c, "reduction", &state->merge));
  }
  if (find_attr(c, "merge_op")) {
    leat_string_view_t final;
    LEAT_RETURN_IF_ERROR(read_merge(c, "merge_op", &state->merge));
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "final_op", &final));
    state->divides = leat_string_view_equal(final, LEAT_SV("Div"));
  }
  if (find_attr(c, "shape")) {
    leat_partial_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "shape", &shape));
    if (!leat_partial_shape_is_full(shape)) return leat_ok_status();
    LEAT_RETURN_IF_ERROR(leat_shape_create(shape.rank, shape.dims, &state->shape));
    state->has_shape = true;
  }
  return leat_ok_status();
}

void leat_collective_state_destroy(void* data) {
  leat_collective_state_t* state = data;
  leat_allocator_free(leat_allocator_system(), state->subdiv_offsets);
  leat_shape_release(&state->shape);
}

// ---- Who takes part -----------------------------------------------------------------------------

leat_collective_call_t leat_collective_call_of(const leat_kernel_context_t* c,
                                               leat_collective_kind_t kind) {
  const leat_collective_state_t* state = leat_kernel_state(c);
  return (leat_collective_call_t){.kind = kind,
                                  .group_key = state->group_key,
                                  .group_size = state->group_size,
                                  .instance_key = state->instance_key,
                                  .comes_again = true,
                                  .merge = state->merge,
                                  .divides = state->divides,
                                  .subdiv_offsets = state->subdiv_offsets,
                                  .subdiv_count = state->subdiv_count,
                                  .max_subdivs = state->max_subdivs,
                                  .timeout_seconds = state->timeout_seconds};
}

leat_status_t leat_collective_check_size(const leat_kernel_context_t* c, int32_t group_size) {
  if (group_size > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "group_size must be positive integer but got %d", (int)group_size);
}

leat_status_t leat_collective_scalar(const leat_kernel_context_t* c, int index, const char* name,
                                     int32_t* out_value) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Unexpected dimensions on input %s, got %s", name,
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  *out_value = *leat_tensor_data(input, const int32_t);
  return leat_ok_status();
}

leat_status_t leat_collective_read_keys(const leat_kernel_context_t* c, int first,
                                        leat_collective_call_t* call) {
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, first, "group_size", &call->group_size));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, first + 1, "group_key", &call->group_key));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, first + 2, "instance_key", &call->instance_key));
  return leat_collective_check_size(c, call->group_size);
}

// The keys of an op that has them as attributes or, behind its values, as inputs.
static leat_status_t read_group(const leat_kernel_context_t* c, int values,
                                leat_collective_call_t* call) {
  if (leat_kernel_input_count(c) > values) return leat_collective_read_keys(c, values, call);
  return leat_collective_check_size(c, call->group_size);
}

void leat_collective_go(leat_kernel_context_t* c, leat_status_t status,
                        const leat_collective_call_t* call, leat_kernel_done_fn_t done) {
  if (status) {
    leat_tensor_t scratch = call->scratch;
    leat_tensor_release(&scratch);
    done(c, status);
  } else {
    leat_collective_start(c, call, done);
  }
}

// ---- Values -------------------------------------------------------------------------------------

static void set_values(leat_collective_call_t* call, const leat_tensor_t* data,
                       const leat_shape_t* shape) {
  call->dtype = data->dtype;
  call->shape = shape;
  call->data = data->data;
  call->count = data->shape.element_count;
}

// Makes output 0 the elements of input 0, in memory that may be written.
static leat_status_t take_over_input(leat_kernel_context_t* c, leat_tensor_t** out_output) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, out_output));
  if ((*out_output)->data != input->data) {
    memcpy((*out_output)->data, input->data, leat_tensor_size_bytes(input));
  }
  return leat_ok_status();
}

leat_status_t leat_collective_prepare_reduce(leat_kernel_context_t* c,
                                             leat_collective_call_t* call) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(take_over_input(c, &output));
  set_values(call, output, &output->shape);
  return leat_ok_status();
}

leat_status_t leat_collective_prepare_all_to_all(leat_kernel_context_t* c,
                                                 leat_collective_call_t* call) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  int64_t rows = input->shape.rank > 0 ? leat_shape_dim(&input->shape, 0) : 1;
  if (rows != call->group_size || input->shape.rank == 0) {
    return leat_kernel_invalid(c, "input to all-to-all first dimension size (%lld) must be the "
                               "same as the group size (%d)", (long long)rows,
                               (int)call->group_size);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  set_values(call, output, &output->shape);
  call->sent = input->data;
  return leat_ok_status();
}

// Makes output 0 of input 0's shape, but with |rows| as the first dimension.
static leat_status_t allocate_rows(leat_kernel_context_t* c, int64_t rows,
                                   leat_tensor_t** out_output) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, leat_shape_dims(shape), (size_t)shape->rank * sizeof *dims);
  dims[0] = rows;
  return leat_kernel_allocate_sized(c, 0, shape->rank, dims, out_output);
}

static leat_status_t check_rows(const leat_kernel_context_t* c) {
  if (leat_kernel_input(c, 0)->shape.rank > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "input is a scalar, must have a first dimension");
}

// ---- Kernels ------------------------------------------------------------------------------------

static void reduce__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_REDUCE);
  leat_status_t status = read_group(c, 1, &call);
  if (!status) status = leat_collective_prepare_reduce(c, &call);
  leat_collective_go(c, status, &call, done);
}

static void all_to_all__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_ALL_TO_ALL);
  leat_status_t status = read_group(c, 1, &call);
  if (!status) status = leat_collective_prepare_all_to_all(c, &call);
  leat_collective_go(c, status, &call, done);
}

static leat_status_t prepare_gather(leat_kernel_context_t* c, leat_collective_call_t* call) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  int64_t rows;
  LEAT_RETURN_IF_ERROR(read_group(c, 1, call));
  LEAT_RETURN_IF_ERROR(check_rows(c));
  if (!leat_checked_multiply(leat_shape_dim(&input->shape, 0), call->group_size, &rows)) {
    return leat_kernel_invalid(c, "the rows of %d members are too many", (int)call->group_size);
  }
  LEAT_RETURN_IF_ERROR(allocate_rows(c, rows, &output));
  set_values(call, output, &output->shape);
  call->sent = input->data;
  return leat_ok_status();
}

static void gather__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_GATHER);
  leat_status_t status = prepare_gather(c, &call);
  leat_collective_go(c, status, &call, done);
}

static leat_status_t prepare_reduce_scatter(leat_kernel_context_t* c,
                                            leat_collective_call_t* call) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(read_group(c, 1, call));
  LEAT_RETURN_IF_ERROR(check_rows(c));
  int64_t rows = leat_shape_dim(&input->shape, 0);
  if (rows % call->group_size != 0) {
    return leat_kernel_invalid(c, "the first dimension of input is %lld, must be divisible by the "
                               "group size %d", (long long)rows, (int)call->group_size);
  }
  LEAT_RETURN_IF_ERROR(allocate_rows(c, rows / call->group_size, &output));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, input->dtype, &input->shape, &call->scratch));
  memcpy(call->scratch.data, input->data, leat_tensor_size_bytes(input));
  set_values(call, &call->scratch, &input->shape);
  call->kept = output->data;
  return leat_ok_status();
}

static void reduce_scatter__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_REDUCE_SCATTER);
  leat_status_t status = prepare_reduce_scatter(c, &call);
  leat_collective_go(c, status, &call, done);
}

static leat_status_t prepare_send(leat_kernel_context_t* c, leat_collective_call_t* call) {
  const leat_collective_state_t* state = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(read_group(c, 1, call));
  if (state->has_shape && !leat_shape_equal(&state->shape, &input->shape)) {
    return leat_kernel_error(c, LEAT_INTERNAL, "shape is %s, must be that of the input, %s",
                             LEAT_SHAPE_TEXT(&state->shape), LEAT_SHAPE_TEXT(&input->shape));
  }
  leat_kernel_pass_input(c, 0, 0);
  set_values(call, leat_kernel_output(c, 0), &leat_kernel_output(c, 0)->shape);
  call->is_source = true;
  return leat_ok_status();
}

static void send__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_BROADCAST);
  leat_status_t status = prepare_send(c, &call);
  leat_collective_go(c, status, &call, done);
}

static leat_status_t read_shape(const leat_kernel_context_t* c, const leat_tensor_t* dims,
                                leat_shape_t* out_shape) {
  int64_t sizes[LEAT_SHAPE_MAX_RANK];
  int64_t rank = dims->shape.element_count;
  if (dims->shape.rank != 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "shape has shape %s, must be a vector of at most %d sizes",
                               LEAT_SHAPE_TEXT(&dims->shape), LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t i = 0; i < rank; ++i) sizes[i] = leat_tensor_index_at(dims, i);
  return leat_shape_create((int)rank, sizes, out_shape);
}

static leat_status_t prepare_receive(leat_kernel_context_t* c, leat_collective_call_t* call) {
  const leat_collective_state_t* state = leat_kernel_state(c);
  leat_tensor_t* output;
  leat_shape_t shape = {0};
  LEAT_RETURN_IF_ERROR(read_group(c, 0, call));
  if (leat_kernel_input_count(c) > 0) {
    LEAT_RETURN_IF_ERROR(read_shape(c, leat_kernel_input(c, 3), &shape));
  } else if (state->has_shape) {
    leat_shape_share(&state->shape, &shape);
  } else {
    return leat_kernel_invalid(c, "shape is not fully known, must say what is received");
  }
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (!status) set_values(call, output, &output->shape);
  return status;
}

static void receive__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  leat_collective_call_t call = leat_collective_call_of(c, LEAT_COLLECTIVE_BROADCAST);
  leat_status_t status = prepare_receive(c, &call);
  leat_collective_go(c, status, &call, done);
}

// ---- Groups -------------------------------------------------------------------------------------

// Walks the rows of the assignment up to the one that has the device. Items behind that row are not
// looked at.
static leat_status_t find_row(const leat_kernel_context_t* c, int32_t device, int32_t* out_row) {
  const leat_tensor_t* assignment = leat_kernel_input(c, 0);
  const int32_t* items = leat_tensor_data(assignment, const int32_t);
  int64_t count = assignment->shape.element_count, width = leat_shape_dim(&assignment->shape, 1);
  for (int64_t i = 0; i < count; ++i) {
    if (items[i] == device) {
      *out_row = (int32_t)(i / width);
      return leat_ok_status();
    }
    if (items[i] < 0 || items[i] >= count) {
      return leat_kernel_invalid(c, "group_assignment has the item %d, must be within [0, number "
                                 "of devices), which is %lld", (int)items[i], (long long)count);
    }
  }
  return leat_kernel_invalid(c, "device_index %d is not found in group_assignment", (int)device);
}

static leat_status_t assign_group__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* assignment = &leat_kernel_input(c, 0)->shape;
  int32_t device, base, row = 0, key;
  if (assignment->rank != 2) {
    return leat_kernel_invalid(c, "group_assignment must be a 2-d Tensor, but received tensor of "
                               "shape: %s", LEAT_SHAPE_TEXT(assignment));
  }
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 1, "device_index", &device));
  LEAT_RETURN_IF_ERROR(leat_collective_scalar(c, 2, "base_key", &base));
  LEAT_RETURN_IF_ERROR(find_row(c, device, &row));
  if (!leat_checked_add(base, row, &key)) {
    return leat_kernel_invalid(c, "base_key is %d, must leave room for a key for each group",
                               (int)base);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_set_output_int32(c, 0, leat_shape_dim(assignment, 1)));
  return leat_kernel_set_output_int32(c, 1, key);
}

const leat_kernel_row_t leat_collective_kernels_cpu[] = {
    LEAT_COLLECTIVE_ROW("CollectiveReduce", reduce__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveReduceV2", reduce__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveReduceScatterV2", reduce_scatter__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveGather", gather__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveGatherV2", gather__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveBcastSend", send__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveBcastSendV2", send__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveBcastRecv", receive__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveBcastRecvV2", receive__cpu),
    LEAT_COLLECTIVE_ROW("CollectiveAllToAllV2", all_to_all__cpu),
    {.op = "CollectiveAssignGroupV2", .device_type = "CPU", .compute = assign_group__cpu},
    LEAT_KERNEL_ROWS_END,
};
