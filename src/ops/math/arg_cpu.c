// The CPU kernels of ArgMax and ArgMin: the index of the extremum along one axis. The dimensions
// before the axis are merged into |outer| and those after it into |inner|:
//
//   x [outer, axis, inner] -> y [outer, inner], the index of the first extremum in x[o, :, i]
//
// With inner = 1 an output searches a dense row; otherwise up to LEAT_ARG_MAX_WIDTH neighbouring
// columns are searched side by side, because their elements are neighbours in memory and a column
// alone would use one element of each cache line. The searches are in arg_isa.c. Each output
// depends on its own column alone, so that shards of outputs need no further order.
#include "ops/math/arg_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"

static leat_status_t create_arg(leat_kernel_creation_t* c, void* state, bool is_max) {
  const leat_loop_type_t type = leat_loop_type(leat_dtype_base(c->kernel->input_types[0]));
  const leat_arg_loops_t* loops = LEAT_ISA_SELECT(leat_arg_loops);
  if (!loops->max[type]) loops = &leat_arg_loops_base;
  *(leat_arg_fn_t*)state = is_max ? loops->max[type] : loops->min[type];
  return leat_ok_status();
}
static leat_status_t create_max(leat_kernel_creation_t* c, void* state) {
  return create_arg(c, state, true);
}
static leat_status_t create_min(leat_kernel_creation_t* c, void* state) {
  return create_arg(c, state, false);
}

typedef struct leat_arg_job_s {
  leat_arg_fn_t search;
  const char* input;
  leat_tensor_t* output;
  int64_t element_bytes, axis_size, inner;
} leat_arg_job_t;

// Stores |n| indices as outputs from |at| on, in the output's type.
static void store(leat_tensor_t* output, int64_t at, const int64_t* indices, int64_t n) {
  switch (output->dtype) {
#define LEAT_STORE_(DTYPE, type)                                                         \
  case LEAT_DTYPE_##DTYPE:                                                               \
    for (int64_t j = 0; j < n; ++j) {                                                    \
      leat_tensor_data(output, type)[at + j] = (type)indices[j];                         \
    }                                                                                    \
    break;
    LEAT_STORE_(INT16, int16_t)
    LEAT_STORE_(UINT16, uint16_t)
    LEAT_STORE_(INT32, int32_t)
    LEAT_STORE_(INT64, int64_t)
#undef LEAT_STORE_
    default: break;
  }
}

// Computes outputs [begin, end).
static void arg_shard(void* data, int64_t begin, int64_t end) {
  const leat_arg_job_t* job = data;
  int64_t indices[LEAT_ARG_MAX_WIDTH];
  while (job->inner == 1 && begin < end) {  // dense rows
    int64_t n = LEAT_MIN(end - begin, LEAT_ARG_MAX_WIDTH);
    for (int64_t j = 0; j < n; ++j) {
      job->search(job->input + (begin + j) * job->axis_size * job->element_bytes, 1,
                  job->axis_size, 1, &indices[j]);
    }
    store(job->output, begin, indices, n);
    begin += n;
  }
  while (begin < end) {
    int64_t outer = begin / job->inner, column = begin % job->inner;
    int64_t width = LEAT_MIN(LEAT_MIN(job->inner - column, end - begin), LEAT_ARG_MAX_WIDTH);
    int64_t offset = outer * job->axis_size * job->inner + column;
    job->search(job->input + offset * job->element_bytes, job->inner, job->axis_size, width,
                indices);
    store(job->output, begin, indices, width);
    begin += width;
  }
}

// Reads the scalar axis, whose type may be int16.
static int64_t axis_of(const leat_tensor_t* tensor) {
  if (tensor->dtype == LEAT_DTYPE_INT16) return *leat_tensor_data(tensor, const int16_t);
  return leat_tensor_index_at(tensor, 0);
}

// Allocates the output with the input's shape but for |axis|.
static leat_status_t allocate_output(leat_kernel_context_t* c, const leat_shape_t* input, int axis,
                                     leat_tensor_t** out_tensor) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < input->rank; ++d) {
    if (d != axis) dims[rank++] = leat_shape_dim(input, d);
  }
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t arg__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  int rank = input->shape.rank;
  int64_t axis = axis_of(leat_kernel_input(c, 1));
  if (axis < -rank || axis >= rank) {
    return leat_kernel_invalid(c, "dimension is %lld, must be in [%d, %d)", (long long)axis, -rank,
                               rank);
  }
  if (axis < 0) axis += rank;
  leat_arg_job_t job = {
      .search = *(const leat_arg_fn_t*)leat_kernel_state(c),
      .input = input->data,
      .element_bytes = (int64_t)leat_dtype_size(input->dtype),
      .axis_size = leat_shape_dim(&input->shape, (int)axis),
      .inner = leat_shape_product(&input->shape, (int)axis + 1, rank),
  };
  if (job.axis_size == 0) {
    return leat_kernel_invalid(c, "Reduction axis %lld is empty in shape %s, must not be",
                               (long long)axis, LEAT_SHAPE_TEXT(&input->shape));
  }
  LEAT_RETURN_IF_ERROR(allocate_output(c, &input->shape, (int)axis, &job.output));
  leat_kernel_parallel_for(c, job.output->shape.element_count, 5 + 0.3 * (double)job.axis_size,
                           arg_shard, &job);
  return leat_ok_status();
}

#define TYPES                                                                                 \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, " \
  "bool"
#define ROW(name, create_fn)               \
  {.op = name,                             \
   .device_type = "CPU",                   \
   .constraints = TYPES,                   \
   .create = create_fn,                    \
   .state_bytes = sizeof(leat_arg_fn_t),   \
   .compute = arg__cpu}

const leat_kernel_row_t leat_arg_kernels_cpu[] = {
    ROW("ArgMax", create_max),
    ROW("ArgMin", create_min),
    LEAT_KERNEL_ROWS_END,
};
