// The CPU kernel of GatherNd, and leat_gather_nd_take for the kernels of variables. Tuple i of the
// indices names the element or slice that becomes slice i of the output:
//
//   indices [..., depth], params [d_0, ...] -> [..., d_depth, ...]
//
// Shards are ranges of tuples, each of which writes slices of the output that no other shard
// writes. A tuple out of range gives zeros where the policy is to ignore it. Otherwise the thread
// that finds it notes its position and stops, and the kernel fails with that tuple. Objects such as
// strings are copied on one thread, because copying them may fail.
#include "base/sync.h"

#include "base/checked.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/index/gather_cpu.h"
#include "ops/index/nd_index_cpu.h"
#include "ops/kernel_rows.h"

typedef struct gather_nd_state_s {
  leat_bad_indices_t policy;
} gather_nd_state_t;

typedef struct gather_nd_s {
  const leat_tensor_t* params;
  leat_tensor_t* output;
  leat_nd_index_t index;
  leat_bad_indices_t policy;
  int64_t slice_bytes;
  _Atomic int64_t bad;  // a tuple that is out of range, or -1
} gather_nd_t;

static leat_status_t create(leat_kernel_creation_t* creation, void* memory) {
  gather_nd_state_t* state = memory;
  return leat_bad_indices_read(creation, &state->policy);
}

static void take_shard(void* data, int64_t begin, int64_t end) {
  gather_nd_t* g = data;
  int64_t width = (int64_t)leat_dtype_size(g->params->dtype), bytes = g->slice_bytes;
  const char* from = g->params->data;
  char* to = g->output->data;
  for (int64_t i = begin; i < end; ++i) {
    int64_t at = leat_nd_index_at(&g->index, i);
    if (LEAT_LIKELY(at >= 0)) {
      if (bytes == 4) memcpy(to + i * 4, from + at * width, 4);
      else memcpy(to + i * bytes, from + at * width, (size_t)bytes);
    } else if (g->policy == LEAT_BAD_INDICES_IGNORE) {
      memset(to + i * bytes, 0, (size_t)bytes);
    } else {
      atomic_store_explicit(&g->bad, i, memory_order_relaxed);
      return;
    }
  }
}

// Copies objects on the calling thread, because copying may fail. Ignored tuples leave the empty
// objects with which the output was allocated.
static leat_status_t take_objects(gather_nd_t* g) {
  int dtype = g->params->dtype;
  for (int64_t i = 0; i < g->index.count; ++i) {
    int64_t at = leat_nd_index_at(&g->index, i);
    if (at < 0 && g->policy == LEAT_BAD_INDICES_IGNORE) continue;
    if (at < 0) {
      g->bad = i;
      return leat_ok_status();
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        dtype, leat_element_at(g->params->data, dtype, at),
        leat_element_at(g->output->data, dtype, i * g->index.slice), g->index.slice));
  }
  return leat_ok_status();
}

static leat_status_t make_output(leat_kernel_context_t* c, gather_nd_t* g) {
  const leat_shape_t* indices = &g->index.indices->shape;
  const leat_shape_t* params = &g->params->shape;
  int64_t dims[2 * LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < indices->rank - 1; ++d) dims[rank++] = leat_shape_dim(indices, d);
  for (int d = g->index.depth; d < params->rank; ++d) dims[rank++] = leat_shape_dim(params, d);
  return leat_kernel_allocate_sized(c, 0, rank, dims, &g->output);
}

leat_status_t leat_gather_nd_take(leat_kernel_context_t* c, const leat_tensor_t* params,
                                  const leat_tensor_t* indices, leat_bad_indices_t policy) {
  gather_nd_t g = {.params = params, .policy = policy, .bad = -1};
  if (g.params->shape.rank < 1) {
    return leat_kernel_invalid(c, "rank of params is 0, must be at least 1");
  }
  LEAT_RETURN_IF_ERROR(leat_nd_index_make(c, indices, &g.params->shape, &g.index));
  LEAT_RETURN_IF_ERROR(make_output(c, &g));
  if (g.index.count > 0 && g.params->shape.element_count == 0) {
    return leat_kernel_invalid(c, "params is empty, must not be for %lld indices",
                               (long long)g.index.count);
  }
  if (g.index.count == 0) return leat_ok_status();
  g.slice_bytes = g.index.slice * (int64_t)leat_dtype_size(g.params->dtype);
  if (leat_dtype_is_object(g.params->dtype)) {
    LEAT_RETURN_IF_ERROR(take_objects(&g));
  } else {
    leat_kernel_parallel_for(c, g.index.count,
                             2 + g.index.depth + (double)g.slice_bytes * 0.08, take_shard, &g);
  }
  if (LEAT_LIKELY(g.bad < 0)) return leat_ok_status();
  return leat_nd_index_error(c, &g.index, "param shape", g.bad);
}

static leat_status_t gather_nd__cpu(leat_kernel_context_t* c) {
  const gather_nd_state_t* state = leat_kernel_state(c);
  return leat_gather_nd_take(c, leat_kernel_input(c, 0), leat_kernel_input(c, 1), state->policy);
}

const leat_kernel_row_t leat_gather_nd_kernels_cpu[] = {
    {.op = "GatherNd",
     .device_type = "CPU",
     .constraints = "Tparams: " LEAT_TYPES_ALL ", " LEAT_TYPES_FLOAT8 ", qint8, qint32, quint8",
     .create = create,
     .state_bytes = sizeof(gather_nd_state_t),
     .compute = gather_nd__cpu},
    LEAT_KERNEL_ROWS_END,
};
