// The CPU kernels of segment ops. The sorted ones (SegmentSum, ...) find the run of rows of each
// segment and fold it with a reducer (reduction_cpu.h); the unsorted ones (UnsortedSegmentSum, ...)
// fold each row into its place in the output with the loop of a binary op.
//
//   sorted:    data [rows, ...], ids [rows]        -> output [last id + 1, ...]
//   unsorted:  data [ids' shape..., ...], ids, n   -> output [n, ...]   (negative ids are dropped)
//
// A shard owns a range of segments. For unsorted ids that means that every shard looks at all ids,
// which costs little beside the rows, and in return no two threads write one row and the additions
// of a segment keep their order: the result has the same bits on any number of threads.
#include "ops/math/segment_cpu.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "device/cpu/vector_math.h"
#include "ops/kernel_rows.h"
#include "ops/math/elementwise_loops_cpu.h"
#include "ops/math/reduction_cpu.h"

#define COLUMNS 512
#define MAX_ACCUMULATOR_BYTES 16
#define FILL_BYTES 4096  // a multiple of the size of every type

// Allocates output 0 with the shape [rows] + the dims of |data| from dimension |skipped| on.
static leat_status_t allocate_rows(leat_kernel_context_t* c, int64_t rows,
                                   const leat_shape_t* data, int skipped,
                                   leat_tensor_t** out_output) {
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1] = {rows};
  int rank = 1;
  for (int d = skipped; d < data->rank; ++d) dims[rank++] = leat_shape_dim(data, d);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, out_output);
  leat_shape_release(&shape);
  return status;
}

// ---- Sorted ids ---------------------------------------------------------------------------------

typedef struct leat_segment_s {
  leat_reducer_t reducer;
  leat_finish_t finish;
  bool fills_ones;  // a segment without rows becomes 1 (product) instead of 0
} leat_segment_t;

static leat_status_t create_segment(leat_kernel_creation_t* c, void* state,
                                    leat_reduction_t reduction, bool is_mean) {
  leat_segment_t* s = state;
  s->finish = is_mean ? LEAT_FINISH_MEAN : LEAT_FINISH_PLAIN;
  s->fills_ones = reduction == LEAT_REDUCTION_PROD;
  return leat_reducer_create(c, reduction, &s->reducer);
}
#define CREATE_SORTED(name, reduction, is_mean)                                     \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {      \
    return create_segment(c, state, LEAT_REDUCTION_##reduction, is_mean);           \
  }
CREATE_SORTED(SegmentSum, SUM, false)
CREATE_SORTED(SegmentMean, SUM, true)
CREATE_SORTED(SegmentProd, PROD, false)
CREATE_SORTED(SegmentMin, MIN, false)
CREATE_SORTED(SegmentMax, MAX, false)

typedef struct leat_segment_job_s {
  const leat_segment_t* segment;
  const leat_tensor_t* data;
  const leat_tensor_t* ids;
  leat_tensor_t* output;
  int64_t rows, inner, element_bytes;
} leat_segment_job_t;

// Folds rows [begin, end) of |data| into output row |segment|, a block of columns at a time.
static void fold_segment(const leat_segment_job_t* job, int64_t segment, int64_t begin,
                         int64_t end) {
  const leat_reducer_t* reducer = &job->segment->reducer;
  _Alignas(64) char accumulators[COLUMNS * MAX_ACCUMULATOR_BYTES];
  for (int64_t column = 0; column < job->inner; column += COLUMNS) {
    int64_t width = LEAT_MIN(job->inner - column, COLUMNS);
    const char* x = (const char*)job->data->data +
                    (begin * job->inner + column) * job->element_bytes;
    char* out = (char*)job->output->data + (segment * job->inner + column) * job->element_bytes;
    if (begin == end && !job->segment->fills_ones) {
      memset(out, 0, (size_t)(width * job->element_bytes));
      continue;
    }
    leat_reducer_start(reducer, accumulators, width);
    leat_reducer_rows(reducer, x, job->inner, end - begin, width, accumulators);
    leat_reducer_finish(reducer, job->segment->finish, accumulators, out, width, end - begin);
  }
}

// Computes segments [begin, end): a binary search finds the first row, the others follow it.
static void segment_shard(void* data, int64_t begin, int64_t end) {
  const leat_segment_job_t* job = data;
  int64_t row = leat_segment_find(job->ids, job->rows, begin);
  for (int64_t segment = begin; segment < end; ++segment) {
    int64_t last = row;
    while (last < job->rows && leat_segment_id(job->ids, last) == segment) ++last;
    fold_segment(job, segment, row, last);
    row = last;
  }
}

leat_status_t leat_segment_error(const leat_kernel_context_t* c, int64_t at, int64_t id,
                                 int64_t segments) {
  if (id < 0 || id >= segments) {
    return leat_kernel_invalid(c, "Segment id %lld out of range [0, %lld), possibly because "
                               "'segment_ids' input is not sorted.",
                               (long long)id, (long long)segments);
  }
  return leat_kernel_invalid(c, "segment ids are not increasing: segment_ids[%lld] is %lld",
                             (long long)at, (long long)id);
}

static leat_status_t check_sorted(leat_kernel_context_t* c, const leat_tensor_t* ids) {
  int64_t count = ids->shape.element_count, before = 0;
  int64_t last = count ? leat_segment_id(ids, count - 1) : 0;
  if (last < 0) {
    return leat_kernel_invalid(c, "segment ids must be >= 0, the last is %lld", (long long)last);
  }
  if (last == INT64_MAX) return leat_kernel_invalid(c, "the last segment id is too large");
  int64_t segments = last + 1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = leat_segment_id(ids, i);
    if (LEAT_UNLIKELY(id < before || id >= segments)) return leat_segment_error(c, i, id, segments);
    before = id;
  }
  return leat_ok_status();
}

static leat_status_t segment__cpu(leat_kernel_context_t* c) {
  leat_segment_job_t job = {
      .segment = leat_kernel_state(c),
      .data = leat_kernel_input(c, 0),
      .ids = leat_kernel_input(c, 1),
  };
  if (job.ids->shape.element_count != leat_shape_dim(&job.data->shape, 0)) {
    return leat_kernel_invalid(c,
                               "segment_ids should be the same size as dimension 0 of input: their "
                               "shapes are %s and %s",
                               LEAT_SHAPE_TEXT(&job.ids->shape), LEAT_SHAPE_TEXT(&job.data->shape));
  }
  LEAT_RETURN_IF_ERROR(check_sorted(c, job.ids));
  job.rows = job.ids->shape.element_count;
  job.inner = leat_shape_product(&job.data->shape, 1, job.data->shape.rank);
  job.element_bytes = (int64_t)leat_dtype_size(job.data->dtype);
  int64_t last = job.rows ? leat_segment_id(job.ids, job.rows - 1) : -1;
  LEAT_RETURN_IF_ERROR(allocate_rows(c, last + 1, &job.data->shape, 1, &job.output));
  // Rows without elements: there may be 2^62 of them, which no loop should visit.
  if (job.output->shape.element_count == 0) return leat_ok_status();
  double cost_ns = 10 + 0.3 * (double)job.data->shape.element_count / (double)(last + 2);
  leat_kernel_parallel_for(c, last + 1, cost_ns, segment_shard, &job);
  return leat_ok_status();
}

// ---- Unsorted ids -------------------------------------------------------------------------------

typedef struct leat_unsorted_s {
  leat_elementwise_loop_t fold;
  char identity[16];  // the result of no rows
  int64_t element_bytes;  // bytes of a folded element: those of float for half and bfloat16
  int half_type;          // 0, or the output's type when it is folded as float
} leat_unsorted_t;

// Writes the result of no rows. For extrema it is the last finite number of the type, not infinity:
// TensorFlow's rule.
static void write_identity(leat_binary_t op, int dtype, char* out_identity) {
  double number = op == LEAT_BINARY_ADD ? 0 : 1;
  bool is_low = op == LEAT_BINARY_MAXIMUM, is_high = op == LEAT_BINARY_MINIMUM;
#define LEAT_IDENTITY_(DTYPE, type, low, high)                                     \
  case LEAT_DTYPE_##DTYPE: {                                                       \
    type value = is_low ? (type)(low) : is_high ? (type)(high) : (type)number;     \
    memcpy(out_identity, &value, sizeof value);                                    \
    break;                                                                         \
  }
  switch (dtype) {
    LEAT_IDENTITY_(FLOAT, float, -0x1.fffffep127f, 0x1.fffffep127f)
    LEAT_IDENTITY_(DOUBLE, double, -0x1.fffffffffffffp1023, 0x1.fffffffffffffp1023)
    LEAT_IDENTITY_(HALF, float, -65504, 65504)
    LEAT_IDENTITY_(BFLOAT16, float, -0x1.fep127, 0x1.fep127)
    LEAT_IDENTITY_(INT8, int8_t, INT8_MIN, INT8_MAX)
    LEAT_IDENTITY_(INT16, int16_t, INT16_MIN, INT16_MAX)
    LEAT_IDENTITY_(INT32, int32_t, INT32_MIN, INT32_MAX)
    LEAT_IDENTITY_(INT64, int64_t, INT64_MIN, INT64_MAX)
    LEAT_IDENTITY_(UINT8, uint8_t, 0, UINT8_MAX)
    LEAT_IDENTITY_(UINT16, uint16_t, 0, UINT16_MAX)
    LEAT_IDENTITY_(UINT32, uint32_t, 0, UINT32_MAX)
    LEAT_IDENTITY_(UINT64, uint64_t, 0, UINT64_MAX)
    LEAT_IDENTITY_(COMPLEX64, leat_complex64_t, 0, 0)
    LEAT_IDENTITY_(COMPLEX128, leat_complex128_t, 0, 0)
    default: break;
  }
#undef LEAT_IDENTITY_
}

static leat_status_t create_unsorted(leat_kernel_creation_t* c, void* state, leat_binary_t op) {
  leat_unsorted_t* s = state;
  int dtype = leat_dtype_base(c->kernel->input_types[0]);
  bool is_half = dtype == LEAT_DTYPE_HALF || dtype == LEAT_DTYPE_BFLOAT16;
  int folded = is_half ? LEAT_DTYPE_FLOAT : dtype;
  s->half_type = is_half ? dtype : 0;
  s->fold = leat_binary_vector_loop(op, folded);
  s->element_bytes = (int64_t)leat_dtype_size(folded);
  write_identity(op, dtype, s->identity);
  return leat_ok_status();
}
#define CREATE_UNSORTED(name, op)                                                   \
  static leat_status_t create_##name(leat_kernel_creation_t* c, void* state) {      \
    return create_unsorted(c, state, LEAT_BINARY_##op);                             \
  }
CREATE_UNSORTED(UnsortedSegmentSum, ADD)
CREATE_UNSORTED(UnsortedSegmentProd, MUL)
CREATE_UNSORTED(UnsortedSegmentMin, MINIMUM)
CREATE_UNSORTED(UnsortedSegmentMax, MAXIMUM)

typedef struct leat_unsorted_job_s {
  const leat_unsorted_t* state;
  const leat_tensor_t* ids;
  const char* data;
  char* output;
  int64_t inner;
} leat_unsorted_job_t;

// Writes |bytes| bytes at |out| full of |identity|. Copies of what is written already double it up
// to a block, which then stays in the cache: a copy for each element takes longer than the sums.
static void fill_identity(const leat_unsorted_t* state, char* out, int64_t bytes) {
  LEAT_DCHECK(bytes >= state->element_bytes && bytes % state->element_bytes == 0);
  memcpy(out, state->identity, (size_t)state->element_bytes);
  int64_t count = 0;
  for (int64_t done = state->element_bytes; done < bytes; done += count) {
    count = LEAT_MIN(LEAT_MIN(done, FILL_BYTES), bytes - done);
    memcpy(out + done, out, (size_t)count);
  }
}

// Computes segments [begin, end): sets them to the identity, then folds in the rows with such ids.
static void unsorted_shard(void* data, int64_t begin, int64_t end) {
  const leat_unsorted_job_t* job = data;
  const int64_t row_bytes = job->inner * job->state->element_bytes;
  fill_identity(job->state, job->output + begin * row_bytes, (end - begin) * row_bytes);
  for (int64_t i = 0; i < job->ids->shape.element_count; ++i) {
    int64_t id = leat_segment_id(job->ids, i);
    if (id < begin || id >= end) continue;
    char* row = job->output + id * row_bytes;
    job->state->fold((const void* const[]){row, job->data + i * row_bytes}, row, job->inner);
  }
}

// Folds rows of half or bfloat16 as floats, in a temporary that holds the data and the output.
static leat_status_t run_halves(leat_kernel_context_t* c, leat_unsorted_job_t* job,
                                const leat_tensor_t* data, leat_tensor_t* output, int64_t segments,
                                double cost_ns) {
  const leat_vector_math_t* m = leat_vector_math();
  bool is_half = job->state->half_type == LEAT_DTYPE_HALF;
  int64_t n = data->shape.element_count, results = output->shape.element_count;
  leat_shape_t shape = leat_shape_vector(n + results);
  leat_tensor_t scratch;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &scratch));
  float* floats = scratch.data;
  (is_half ? m->half_to_float : m->bfloat16_to_float)(data->data, floats, n);
  job->data = (const char*)floats;
  job->output = (char*)(floats + n);
  leat_kernel_parallel_for_unbroken(c, segments, cost_ns, unsorted_shard, job);
  (is_half ? m->half_from_float : m->bfloat16_from_float)(floats + n, output->data, results);
  leat_tensor_release(&scratch);
  return leat_ok_status();
}

// Writes where the element |i| of a tensor is, as "[1,0]".
static const char* index_text(const leat_shape_t* shape, int64_t i, char* buffer, size_t size) {
  int64_t rest = shape->element_count;
  size_t end = 0;
  for (int d = 0; d < shape->rank && end < size; ++d) {
    rest /= leat_shape_dim(shape, d);
    end += (size_t)snprintf(buffer + end, size - end, "%c%lld", d ? ',' : '[',
                            (long long)(i / rest % leat_shape_dim(shape, d)));
  }
  if (end < size) snprintf(buffer + end, size - end, shape->rank ? "]" : "");
  return buffer;
}

// INVALID_ARGUMENT unless the data's shape begins with that of the ids and all ids are below
// |segments|; negative ids are allowed.
static leat_status_t check_ids(leat_kernel_context_t* c, const leat_tensor_t* data,
                               const leat_tensor_t* ids, int64_t segments) {
  bool is_prefix = ids->shape.rank <= data->shape.rank;
  for (int d = 0; is_prefix && d < ids->shape.rank; ++d) {
    is_prefix = leat_shape_dim(&ids->shape, d) == leat_shape_dim(&data->shape, d);
  }
  if (!is_prefix) {
    return leat_kernel_invalid(c, "data is %s, must begin with the shape of segment_ids, %s",
                               LEAT_SHAPE_TEXT(&data->shape), LEAT_SHAPE_TEXT(&ids->shape));
  }
  if (segments < 0) {
    return leat_kernel_invalid(c, "num_segments is %lld, must be >= 0", (long long)segments);
  }
  for (int64_t i = 0; data->shape.element_count && i < ids->shape.element_count; ++i) {
    int64_t id = leat_segment_id(ids, i);
    if (id < segments) continue;
    return leat_kernel_invalid(c, "segment_ids%s = %lld is out of range [0, %lld)",
                               index_text(&ids->shape, i, (char[160]){0}, 160), (long long)id,
                               (long long)segments);
  }
  return leat_ok_status();
}

static leat_status_t unsorted__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* data = leat_kernel_input(c, 0);
  const leat_tensor_t* ids = leat_kernel_input(c, 1);
  const leat_tensor_t* count = leat_kernel_input(c, 2);
  if (count->shape.rank != 0) {
    return leat_kernel_invalid(c, "num_segments should be a scalar, not shape %s",
                               LEAT_SHAPE_TEXT(&count->shape));
  }
  int64_t segments = leat_tensor_index_at(count, 0);
  LEAT_RETURN_IF_ERROR(check_ids(c, data, ids, segments));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(allocate_rows(c, segments, &data->shape, ids->shape.rank, &output));
  leat_unsorted_job_t job = {
      .state = leat_kernel_state(c),
      .ids = ids,
      .data = data->data,
      .output = output->data,
      .inner = leat_shape_product(&data->shape, ids->shape.rank, data->shape.rank),
  };
  if (output->shape.element_count == 0) return leat_ok_status();
  double cost_ns = 5 + 0.3 * (double)data->shape.element_count / (double)segments;
  if (job.state->half_type) return run_halves(c, &job, data, output, segments, cost_ns);
  leat_kernel_parallel_for_unbroken(c, segments, cost_ns, unsorted_shard, &job);
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define REAL                                                                                 \
  "T: half, bfloat16, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define NUMBER REAL ", complex64, complex128"
#define SORTED(name, types)                    \
  {.op = #name,                                \
   .device_type = "CPU",                       \
   .constraints = types,                       \
   .create = create_##name,                    \
   .state_bytes = sizeof(leat_segment_t),      \
   .compute = segment__cpu}
#define UNSORTED(name, types)                  \
  {.op = #name,                                \
   .device_type = "CPU",                       \
   .constraints = types,                       \
   .create = create_##name,                    \
   .state_bytes = sizeof(leat_unsorted_t),     \
   .compute = unsorted__cpu}

const leat_kernel_row_t leat_segment_kernels_cpu[] = {
    SORTED(SegmentSum, NUMBER),
    SORTED(SegmentMean, NUMBER),
    SORTED(SegmentProd, NUMBER),
    SORTED(SegmentMin, REAL),
    SORTED(SegmentMax, REAL),
    UNSORTED(UnsortedSegmentSum, NUMBER),
    UNSORTED(UnsortedSegmentProd, NUMBER),
    UNSORTED(UnsortedSegmentMin, REAL),
    UNSORTED(UnsortedSegmentMax, REAL),
    LEAT_KERNEL_ROWS_END,
};
