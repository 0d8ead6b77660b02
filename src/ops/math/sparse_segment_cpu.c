// The CPU kernels of the sparse segment ops and their gradients. The forward ops sum rows of |data|
// that |indices| picks, by sorted segment id:
//
//   output[s] = scale(n_s) * sum over i with ids[i] = s of data[indices[i]]   n_s: the number of i
//   scale(n) = 1 (Sum), 1 / n (Mean), 1 / sqrt(n) (SqrtN);  a segment without picks is 0
//
// and the gradients scatter back: d_data[indices[i]] += scale(n_s) * d_output[ids[i]]. Each shard
// owns a range of output rows and looks at all picks for them, so that no two threads write one row
// and the order of the additions, hence the result's bits, does not depend on the number of
// threads. A GradV2 op gives only the rows that were picked, sorted, with their indices, as an
// embedding's sparse gradient needs them. Half-precision gradients are summed in float and rounded
// once.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "device/cpu/half.h"
#include "ops/kernel_rows.h"
#include "ops/math/reduction_cpu.h"
#include "ops/math/segment_cpu.h"

#define COLUMNS 512
#define MAX_ACCUMULATOR_BYTES 16

// How a sum of n rows is scaled.
typedef enum leat_segment_mode_e { MODE_SUM, MODE_MEAN, MODE_SQRT_N } leat_segment_mode_t;

typedef struct leat_sparse_segment_s {
  leat_reducer_t reducer;
  leat_segment_mode_t mode;
} leat_sparse_segment_t;

static leat_status_t create_mode(leat_kernel_creation_t* c, void* state, leat_segment_mode_t mode) {
  leat_sparse_segment_t* s = state;
  s->mode = mode;
  return leat_reducer_create(c, LEAT_REDUCTION_SUM, &s->reducer);
}
static leat_status_t create_sum(leat_kernel_creation_t* c, void* state) {
  return create_mode(c, state, MODE_SUM);
}
static leat_status_t create_mean(leat_kernel_creation_t* c, void* state) {
  return create_mode(c, state, MODE_MEAN);
}
static leat_status_t create_sqrt_n(leat_kernel_creation_t* c, void* state) {
  return create_mode(c, state, MODE_SQRT_N);
}

// Allocates output |index| with the shape of |like| but |rows| rows.
static leat_status_t allocate_rows(leat_kernel_context_t* c, int index, int64_t rows,
                                   const leat_shape_t* like, leat_tensor_t** out_output) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  memcpy(dims, leat_shape_dims(like), (size_t)like->rank * sizeof *dims);
  dims[0] = rows;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(like->rank, dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, index, &shape, out_output);
  leat_shape_release(&shape);
  return status;
}

// ---- The forward ops: sums of picked rows -------------------------------------------------------

typedef struct leat_sparse_segment_job_s {
  const leat_sparse_segment_t* state;
  const leat_tensor_t *data, *indices, *ids;
  leat_tensor_t* output;
  int64_t picks, inner, element_bytes;  // picks: indices; inner: elements of a row
} leat_sparse_segment_job_t;

// Scales the sum of |count| rows and writes it to |out|. SqrtN has floating types only, whose
// accumulators are doubles.
static void finish_segment(const leat_sparse_segment_t* state, char* accumulators, char* out,
                           int64_t width, int64_t count) {
  if (state->mode == MODE_SQRT_N && count > 1) {
    double scale = 1 / sqrt((double)count);
    for (int64_t j = 0; j < width; ++j) ((double*)accumulators)[j] *= scale;
  }
  const leat_finish_t finish = state->mode == MODE_MEAN ? LEAT_FINISH_MEAN : LEAT_FINISH_PLAIN;
  leat_reducer_finish(&state->reducer, finish, accumulators, out, width, LEAT_MAX(count, 1));
}

// Computes the output row of |segment| from picks [begin, end), a block of columns at a time.
static void fold_segment(const leat_sparse_segment_job_t* job, int64_t segment, int64_t begin,
                         int64_t end) {
  const leat_reducer_t* reducer = &job->state->reducer;
  _Alignas(64) char accumulators[COLUMNS * MAX_ACCUMULATOR_BYTES];
  for (int64_t column = 0; column < job->inner; column += COLUMNS) {
    int64_t width = LEAT_MIN(job->inner - column, COLUMNS);
    leat_reducer_start(reducer, accumulators, width);
    for (int64_t i = begin; i < end; ++i) {
      int64_t row = leat_tensor_index_at(job->indices, i);
      const char* x = job->data->data;
      leat_reducer_rows(reducer, x + (row * job->inner + column) * job->element_bytes, 0, 1, width,
                        accumulators);
    }
    finish_segment(job->state, accumulators,
                   (char*)job->output->data + (segment * job->inner + column) * job->element_bytes,
                   width, end - begin);
  }
}

// Computes output rows [begin, end). The ids are sorted, so that a binary search finds the first
// pick and the picks of the next segment follow.
static void sparse_segment_shard(void* data, int64_t begin, int64_t end) {
  const leat_sparse_segment_job_t* job = data;
  int64_t pick = leat_segment_find(job->ids, job->picks, begin);
  for (int64_t segment = begin; segment < end; ++segment) {
    int64_t last = pick;
    while (last < job->picks && leat_tensor_index_at(job->ids, last) == segment) ++last;
    fold_segment(job, segment, pick, last);
    pick = last;
  }
}

// INVALID_ARGUMENT unless ids are sorted and below |segments|, and indices are rows of |data|.
static leat_status_t check_picks(leat_kernel_context_t* c, const leat_sparse_segment_job_t* job,
                                 int64_t segments) {
  int64_t rows = leat_shape_dim(&job->data->shape, 0), before = 0;
  if (job->picks && segments < 1) {
    return leat_kernel_invalid(c, "segment ids must be >= 0 and below %lld", (long long)segments);
  }
  for (int64_t i = 0; i < job->picks; ++i) {
    int64_t id = leat_tensor_index_at(job->ids, i), index = leat_tensor_index_at(job->indices, i);
    if (id < before || id >= segments) return leat_segment_error(c, i, id, segments);
    if (index < 0 || index >= rows) {
      return leat_kernel_invalid(c, "indices[%lld] == %lld out of range [0, %lld)", (long long)i,
                                 (long long)index, (long long)rows);
    }
    before = id;
  }
  return leat_ok_status();
}

static leat_status_t sparse_segment__cpu(leat_kernel_context_t* c) {
  leat_sparse_segment_job_t job = {
      .state = leat_kernel_state(c),
      .data = leat_kernel_input(c, 0),
      .indices = leat_kernel_input(c, 1),
      .ids = leat_kernel_input(c, 2),
  };
  int64_t segments = 0;
  job.picks = job.ids->shape.element_count;
  if (leat_kernel_input_count(c) == 4) {
    segments = leat_tensor_index_at(leat_kernel_input(c, 3), 0);
    if (segments < 0) {
      return leat_kernel_invalid(c, "num_segments is %lld, must be >= 0", (long long)segments);
    }
  } else if (job.picks) {
    int64_t last = leat_tensor_index_at(job.ids, job.picks - 1);
    if (last >= INT32_MAX) {
      return leat_kernel_invalid(c, "the last segment id is %lld, must be below 2^31 - 1",
                                 (long long)last);
    }
    segments = last + 1;
  }
  LEAT_RETURN_IF_ERROR(check_picks(c, &job, segments));
  job.inner = leat_shape_product(&job.data->shape, 1, job.data->shape.rank);
  job.element_bytes = (int64_t)leat_dtype_size(job.data->dtype);
  LEAT_RETURN_IF_ERROR(
      allocate_rows(c, 0, segments, &job.data->shape, &job.output));
  double cost_ns = 10 + 0.4 * (double)(job.picks * job.inner) / (double)LEAT_MAX(segments, 1);
  leat_kernel_parallel_for(c, segments, cost_ns, sparse_segment_shard, &job);
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

// y += scale x for |n| elements; y is float where x is half or bfloat16.
typedef void (*leat_scatter_fn_t)(const void* x, double scale, void* y, int64_t n);
#define ADD_SCALED(name, type, target_type, load)                               \
  static void name(const void* x, double scale, void* y, int64_t n) {           \
    target_type* out = y;                                                       \
    const target_type factor = (target_type)scale;                              \
    for (int64_t i = 0; i < n; ++i) out[i] += factor * load(((const type*)x)[i]); \
  }
#define AS_IS(x) (x)
ADD_SCALED(add_scaled_f32, float, float, AS_IS)
ADD_SCALED(add_scaled_f64, double, double, AS_IS)
ADD_SCALED(add_scaled_half, uint16_t, float, leat_half_to_float)
ADD_SCALED(add_scaled_bfloat16, uint16_t, float, leat_bfloat16_to_float)

typedef struct leat_scatter_job_s {
  leat_scatter_fn_t add;
  leat_segment_mode_t mode;
  const leat_tensor_t *gradient, *indices, *ids;
  const int64_t* unique;   // the sorted rows that a GradV2 op gives; NULL when all rows are given
  int64_t unique_count;
  const int64_t* counts;   // the number of picks of each segment
  char* target;
  int64_t inner, element_bytes, target_bytes;
} leat_scatter_job_t;

// The output row of data row |index|: its place in |unique| (binary search), or itself.
static int64_t target_row(const leat_scatter_job_t* job, int64_t index) {
  if (!job->unique) return index;
  int64_t low = 0, high = job->unique_count - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (job->unique[middle] < index) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Computes gradient rows [begin, end), which only this shard writes.
static void scatter_shard(void* data, int64_t begin, int64_t end) {
  const leat_scatter_job_t* job = data;
  int64_t row_bytes = job->inner * job->target_bytes;
  memset(job->target + begin * row_bytes, 0, (size_t)((end - begin) * row_bytes));
  for (int64_t i = 0; i < job->ids->shape.element_count; ++i) {
    int64_t row = target_row(job, leat_tensor_index_at(job->indices, i));
    if (row < begin || row >= end) continue;
    int64_t id = leat_tensor_index_at(job->ids, i);
    double count = job->mode == MODE_SUM ? 1 : (double)job->counts[id];
    double scale = job->mode == MODE_SQRT_N ? 1 / sqrt(count) : 1 / count;
    job->add((const char*)job->gradient->data + id * job->inner * job->element_bytes, scale,
             job->target + row * row_bytes, job->inner);
  }
}

// Checks ids and indices, which need not be sorted here, and counts the picks of each segment.
static leat_status_t count_picks(leat_kernel_context_t* c, const leat_scatter_job_t* job,
                                 int64_t rows, int64_t* counts) {
  int64_t segments = leat_shape_dim(&job->gradient->shape, 0);
  int64_t count = job->ids->shape.element_count;
  if (count && leat_tensor_index_at(job->ids, count - 1) >= segments) {
    return leat_kernel_invalid(c, "Invalid number of segments: the last id is %lld, grad has %lld "
                               "rows",
                               (long long)leat_tensor_index_at(job->ids, count - 1),
                               (long long)segments);
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t id = leat_tensor_index_at(job->ids, i), index = leat_tensor_index_at(job->indices, i);
    if (id < 0 || id >= segments) {
      return leat_kernel_invalid(c, "Segment id %lld out of range [0, %lld)", (long long)id,
                                 (long long)segments);
    }
    if (index < 0 || index >= rows) {
      return leat_kernel_invalid(c, "Index %lld out of range [0, %lld)", (long long)index,
                                 (long long)rows);
    }
    ++counts[id];
  }
  return leat_ok_status();
}

static int compare_indices(const void* a, const void* b) {
  int64_t x = *(const int64_t*)a, y = *(const int64_t*)b;
  return (x > y) - (x < y);
}

// Fills |out_unique| with the distinct indices in order; returns how many there are.
static int64_t find_unique(const leat_tensor_t* indices, int64_t* out_unique) {
  int64_t n = indices->shape.element_count, count = 0;
  for (int64_t i = 0; i < n; ++i) out_unique[i] = leat_tensor_index_at(indices, i);
  qsort(out_unique, (size_t)n, sizeof *out_unique, compare_indices);
  for (int64_t i = 0; i < n; ++i) {
    if (i == 0 || out_unique[i] != out_unique[i - 1]) out_unique[count++] = out_unique[i];
  }
  return count;
}

// Writes output 1 of a GradV2 op, |unique|, in the type of the indices.
static leat_status_t write_unique(leat_kernel_context_t* c, const leat_scatter_job_t* job) {
  leat_shape_t shape = leat_shape_vector(job->unique_count);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &shape, &output));
  for (int64_t i = 0; i < job->unique_count; ++i) {
    if (output->dtype == LEAT_DTYPE_INT32) {
      leat_tensor_data(output, int32_t)[i] = (int32_t)job->unique[i];
    } else {
      leat_tensor_data(output, int64_t)[i] = job->unique[i];
    }
  }
  return leat_ok_status();
}

// Scatters into |output|; where that holds halves, through a temporary of floats. The loops are
// "unbroken" (not cut further to look for cancellation) because each call of the shard function
// looks at all picks, however few rows it owns.
static leat_status_t scatter(leat_kernel_context_t* c, leat_scatter_job_t* job,
                             leat_tensor_t* output) {
  int64_t rows = leat_shape_dim(&output->shape, 0), n = output->shape.element_count;
  double cost_ns = 5 + 0.3 * (double)(job->ids->shape.element_count * job->inner) /
                           (double)LEAT_MAX(rows, 1);
  if (job->target_bytes == job->element_bytes) {
    job->target = output->data;
    leat_kernel_parallel_for_unbroken(c, rows, cost_ns, scatter_shard, job);
    return leat_ok_status();
  }
  leat_shape_t shape = leat_shape_vector(n);
  leat_tensor_t scratch;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &shape, &scratch));
  job->target = scratch.data;
  leat_kernel_parallel_for_unbroken(c, rows, cost_ns, scatter_shard, job);
  bool is_half = output->dtype == LEAT_DTYPE_HALF;
  for (int64_t i = 0; i < n; ++i) {
    float value = leat_tensor_data(&scratch, float)[i];
    leat_tensor_data(output, uint16_t)[i] =
        is_half ? leat_half_from_float(value) : leat_bfloat16_from_float(value);
  }
  leat_tensor_release(&scratch);
  return leat_ok_status();
}

static leat_scatter_fn_t scatter_function(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_FLOAT: return add_scaled_f32;
    case LEAT_DTYPE_DOUBLE: return add_scaled_f64;
    case LEAT_DTYPE_HALF: return add_scaled_half;
    default: return add_scaled_bfloat16;
  }
}

// Runs a gradient. |counts| [segments], zeroed, and |unique| [picks] are working memory.
static leat_status_t scatter_gradient(leat_kernel_context_t* c, int64_t rows, bool is_unique,
                                      int64_t* counts, int64_t* unique) {
  const leat_sparse_segment_t* state = leat_kernel_state(c);
  leat_scatter_job_t job = {
      .mode = state->mode,
      .gradient = leat_kernel_input(c, 0),
      .indices = leat_kernel_input(c, 1),
      .ids = leat_kernel_input(c, 2),
      .counts = counts,
  };
  int dtype = job.gradient->dtype;
  job.add = scatter_function(dtype);
  job.element_bytes = (int64_t)leat_dtype_size(dtype);
  job.target_bytes = job.element_bytes == 2 ? 4 : job.element_bytes;
  job.inner = leat_shape_product(&job.gradient->shape, 1, job.gradient->shape.rank);
  if (rows) LEAT_RETURN_IF_ERROR(count_picks(c, &job, rows, counts));
  leat_tensor_t* output;
  if (is_unique) {
    job.unique = unique;
    job.unique_count = rows = rows ? find_unique(job.indices, unique) : 0;
    LEAT_RETURN_IF_ERROR(write_unique(c, &job));
  }
  LEAT_RETURN_IF_ERROR(allocate_rows(c, 0, rows, &job.gradient->shape, &output));
  return scatter(c, &job, output);
}

// Runs a Grad or, with |is_unique|, a GradV2 op.
static leat_status_t gradient(leat_kernel_context_t* c, bool is_unique) {
  int64_t rows = leat_tensor_index_at(leat_kernel_input(c, 3), 0);
  if (rows < 0) {
    return leat_kernel_invalid(c, "output_dim0 is %lld, must be >= 0", (long long)rows);
  }
  int64_t segments = leat_shape_dim(&leat_kernel_input(c, 0)->shape, 0);
  int64_t picks = leat_kernel_input(c, 1)->shape.element_count;
  leat_shape_t shape = leat_shape_vector(segments + picks);
  leat_tensor_t memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &memory));
  leat_tensor_fill_zero(&memory);
  int64_t* counts = memory.data;
  leat_status_t status = scatter_gradient(c, rows, is_unique, counts, counts + segments);
  leat_tensor_release(&memory);
  return status;
}
static leat_status_t gradient__cpu(leat_kernel_context_t* c) { return gradient(c, false); }
static leat_status_t gradient_v2__cpu(leat_kernel_context_t* c) { return gradient(c, true); }

// ---- Rows ---------------------------------------------------------------------------------------

#define FLOATING "T: half, bfloat16, float, double"
#define REAL FLOATING ", int8, int16, int32, int64, uint8, uint16, uint32, uint64"
#define ROW(name, types, create_fn, compute_fn)      \
  {.op = name,                                       \
   .device_type = "CPU",                             \
   .constraints = types,                             \
   .create = create_fn,                              \
   .state_bytes = sizeof(leat_sparse_segment_t),     \
   .compute = compute_fn}
#define KIND(name, types, create_fn)                                          \
  ROW(name, types, create_fn, sparse_segment__cpu),                           \
  ROW(name "WithNumSegments", types, create_fn, sparse_segment__cpu),         \
  ROW(name "Grad", FLOATING, create_fn, gradient__cpu),                       \
  ROW(name "GradV2", FLOATING, create_fn, gradient_v2__cpu)

const leat_kernel_row_t leat_sparse_segment_kernels_cpu[] = {
    KIND("SparseSegmentSum", REAL, create_sum),
    KIND("SparseSegmentMean", FLOATING, create_mean),
    KIND("SparseSegmentSqrtN", FLOATING, create_sqrt_n),
    LEAT_KERNEL_ROWS_END,
};
