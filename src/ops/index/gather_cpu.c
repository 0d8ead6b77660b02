// The CPU kernels of Gather and GatherV2, and leat_gather_take for the kernels that gather from
// variables. All see the tensors as
//
//   params [batch, outer, rows, inner], indices [batch, taken]
//     -> output [batch, outer, taken, inner]
//
// where a row is |inner| contiguous elements. Shards are ranges of rows of the output, which are
// written in order, while the rows of params are read at random: so the next ones are fetched
// ahead, for the table is often far larger than the caches. Rows of a few fixed sizes have loops in
// which the compiler makes one move of memcpy.
//
// An index is checked when its row is copied, not in a pass before, so that indices are read once.
// A thread that finds a bad one notes where it is and stops; the kernel then fails and names one
// bad index, which need not be the first.
#include "base/sync.h"

#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/index/gather_cpu.h"
#include "ops/kernel_rows.h"

typedef struct gather_state_s {
  int64_t batch_dims;
} gather_state_t;

// One call of leat_gather_take.
typedef struct gather_s {
  const leat_tensor_t* params;
  const leat_tensor_t* indices;
  leat_tensor_t* output;
  int64_t batch, outer, rows, inner, taken;
  int64_t row_bytes;
  _Atomic int64_t bad;  // the position in |indices| of a bad one, or -1
} gather_t;

static leat_status_t create_v2(leat_kernel_creation_t* creation, void* memory) {
  gather_state_t* state = memory;
  return leat_kernel_attr_int(creation, "batch_dims", &state->batch_dims);
}

// ---- Rows ---------------------------------------------------------------------------------------

#define TYPE int16_t
#define SUFFIX(name) name##_int16
#include "ops/index/gather_take.inc"

#define TYPE int32_t
#define SUFFIX(name) name##_int32
#include "ops/index/gather_take.inc"

#define TYPE int64_t
#define SUFFIX(name) name##_int64
#include "ops/index/gather_take.inc"

static int64_t take(const leat_tensor_t* indices, int64_t first, int64_t count, int64_t rows,
                    int64_t row_bytes, const char* from, char* to) {
  const void* at = leat_element_at(indices->data, indices->dtype, first);
  switch (indices->dtype) {
    case LEAT_DTYPE_INT16: return take_int16(at, count, (uint64_t)rows, row_bytes, from, to);
    case LEAT_DTYPE_INT32: return take_int32(at, count, (uint64_t)rows, row_bytes, from, to);
    default: return take_int64(at, count, (uint64_t)rows, row_bytes, from, to);
  }
}

// Copies rows [begin, end) of the output. A plane is the rows of one index of batch and outer.
static void take_shard(void* data, int64_t begin, int64_t end) {
  gather_t* g = data;
  while (begin < end) {
    int64_t plane = begin / g->taken, at = begin % g->taken;
    int64_t count = LEAT_MIN(end - begin, g->taken - at);
    int64_t first = plane / g->outer * g->taken + at;
    const char* from = (const char*)g->params->data + plane * g->rows * g->row_bytes;
    char* to = (char*)g->output->data + begin * g->row_bytes;
    int64_t bad = take(g->indices, first, count, g->rows, g->row_bytes, from, to);
    if (bad >= 0) {
      atomic_store_explicit(&g->bad, first + bad, memory_order_relaxed);
      return;
    }
    begin += count;
  }
}

// Copies rows of objects one by one on the calling thread, because copying may fail.
static leat_status_t take_objects(gather_t* g) {
  int dtype = g->params->dtype;
  for (int64_t i = 0; i < g->batch * g->outer * g->taken; ++i) {
    int64_t plane = i / g->taken, at = plane / g->outer * g->taken + i % g->taken;
    int64_t row = leat_index_read(g->indices, at);
    if (row < 0 || row >= g->rows) {
      g->bad = at;
      return leat_ok_status();
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        dtype, leat_element_at(g->params->data, dtype, (plane * g->rows + row) * g->inner),
        leat_element_at(g->output->data, dtype, i * g->inner), g->inner));
  }
  return leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

// Makes |batch_dims| non-negative and checks that so many leading dimensions of both tensors agree.
static leat_status_t check_batch(const leat_kernel_context_t* c, const leat_shape_t* params,
                                 const leat_shape_t* indices, int axis, int64_t* batch_dims) {
  int64_t given = *batch_dims;
  if (given < 0) *batch_dims += indices->rank;
  if (*batch_dims < 0 || *batch_dims > indices->rank || *batch_dims > axis) {
    return leat_kernel_invalid(c, "batch_dims is %lld, must be at most axis %d and indices' rank "
                               "%d",
                               (long long)given, axis, indices->rank);
  }
  for (int d = 0; d < *batch_dims; ++d) {
    if (leat_shape_dim(params, d) != leat_shape_dim(indices, d)) {
      return leat_kernel_invalid(c, "dimension %d of params of shape %s and indices of shape %s "
                                 "must be equal",
                                 d, LEAT_SHAPE_TEXT(params), LEAT_SHAPE_TEXT(indices));
    }
  }
  return leat_ok_status();
}

static leat_status_t make_shape(const gather_t* g, int axis, int batch_dims,
                                leat_shape_t* out_shape) {
  const leat_shape_t* params = &g->params->shape;
  const leat_shape_t* indices = &g->indices->shape;
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < axis; ++d) dims[rank++] = leat_shape_dim(params, d);
  for (int d = batch_dims; d < indices->rank; ++d) dims[rank++] = leat_shape_dim(indices, d);
  for (int d = axis + 1; d < params->rank; ++d) dims[rank++] = leat_shape_dim(params, d);
  return leat_shape_create(rank, dims, out_shape);
}

static LEAT_COLD leat_status_t bad_index(const leat_kernel_context_t* c, const gather_t* g) {
  return leat_kernel_invalid(c, "indices%s = %lld is not in [0, %lld)",
                             LEAT_INDEX_PLACE(&g->indices->shape, g->indices->shape.rank, g->bad),
                             (long long)leat_index_read(g->indices, g->bad), (long long)g->rows);
}

leat_status_t leat_gather_take(leat_kernel_context_t* c, const leat_tensor_t* from,
                               const leat_tensor_t* indices, int axis, int64_t batch_dims) {
  gather_t g = {.params = from, .indices = indices, .bad = -1};
  const leat_shape_t* params = &from->shape;
  LEAT_RETURN_IF_ERROR(check_batch(c, params, &indices->shape, axis, &batch_dims));
  g.rows = leat_shape_dim(params, axis);
  if (g.indices->dtype != LEAT_DTYPE_INT64 &&
      g.rows > (g.indices->dtype == LEAT_DTYPE_INT16 ? INT16_MAX : INT32_MAX)) {
    return leat_kernel_invalid(c, "dimension %d of params is %lld, too large for %s indices", axis,
                               (long long)g.rows, leat_dtype_name(g.indices->dtype));
  }
  g.batch = leat_shape_product(params, 0, (int)batch_dims);
  g.outer = leat_shape_product(params, (int)batch_dims, axis);
  g.inner = leat_shape_product(params, axis + 1, params->rank);
  g.taken = leat_shape_product(&g.indices->shape, (int)batch_dims, g.indices->shape.rank);
  g.row_bytes = g.inner * (int64_t)leat_dtype_size(g.params->dtype);
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(make_shape(&g, axis, (int)batch_dims, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &g.output);
  leat_shape_release(&shape);
  if (status || g.output->shape.element_count == 0) return status;
  if (leat_dtype_is_object(g.params->dtype)) {
    LEAT_RETURN_IF_ERROR(take_objects(&g));
  } else {
    leat_kernel_parallel_for(c, g.batch * g.outer * g.taken, 1 + (double)g.row_bytes * 0.08,
                             take_shard, &g);
  }
  return LEAT_LIKELY(g.bad < 0) ? leat_ok_status() : bad_index(c, &g);
}

static leat_status_t check_params(const leat_kernel_context_t* c) {
  const leat_shape_t* params = &leat_kernel_input(c, 0)->shape;
  if (params->rank > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "rank of params is 0, must be at least 1");
}

static leat_status_t gather__cpu(leat_kernel_context_t* c) {
  LEAT_RETURN_IF_ERROR(check_params(c));
  return leat_gather_take(c, leat_kernel_input(c, 0), leat_kernel_input(c, 1), 0, 0);
}

static leat_status_t gather_v2__cpu(leat_kernel_context_t* c) {
  const gather_state_t* state = leat_kernel_state(c);
  int axis;
  LEAT_RETURN_IF_ERROR(check_params(c));
  LEAT_RETURN_IF_ERROR(leat_axis_read(c, 2, leat_kernel_input(c, 0)->shape.rank, &axis));
  return leat_gather_take(c, leat_kernel_input(c, 0), leat_kernel_input(c, 1), axis,
                          state->batch_dims);
}

#define GATHER_TYPES                                                                       \
  "Tparams: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8 ", qint8, qint16, qint32, quint8, quint16"

const leat_kernel_row_t leat_gather_kernels_cpu[] = {
    {.op = "Gather",
     .device_type = "CPU",
     .constraints = GATHER_TYPES,
     .access = LEAT_ACCESS_GATHER,
     .compute = gather__cpu},
    {.op = "GatherV2",
     .device_type = "CPU",
     .constraints = GATHER_TYPES,
     .create = create_v2,
     .state_bytes = sizeof(gather_state_t),
     .access = LEAT_ACCESS_GATHER,
     .compute = gather_v2__cpu},
    LEAT_KERNEL_ROWS_END,
};
