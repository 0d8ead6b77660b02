// Plans of float convolutions: chooses how a convolution of one shape is computed, and cuts it into
// shards for the pool. There are three ways: a oneDNN primitive, one matrix product (1x1 filters),
// and the portable convolution; convolution_plan.h has the measurements that decide.
//
// For oneDNN a shard is a run of images or, for a single image of a forward convolution, a band of
// output rows with the padding that the band sees. Shards of equal shape share a primitive. A shard
// of BACKWARD_FILTER sums over its own images into a filter of its own, and these are added in
// order at the end:
//
//   workspace:  [scratch of shard 0] ... [scratch of the last] [filters of shards 1 ..]
//
// A plan is made once per kernel and shape and run by several steps at once, each with its own
// workspace. Only the packing of a constant filter changes the plan, once, under a lock.
#include "device/cpu/convolution_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/gemm.h"
#include "device/cpu/module.h"

#define MOST_SHARDS 64
// A shard is worth a thread from about 20 us of work on.
#define SHARD_FLOPS 4e6

// One oneDNN primitive; shards of equal shape share it.
typedef struct primitive_s {
  leat_convolution_shape_t shape;
  leat_onednn_convolution_t* convolution;
  void* packed_filter;  // with CONSTANT_FILTER, made by the first run
} primitive_t;

typedef struct shard_s {
  int primitive;
  int64_t input_offset, output_offset;  // in elements
} shard_t;

typedef enum way_e { WAY_PORTABLE, WAY_GEMM, WAY_ONEDNN } way_t;

struct leat_convolution_plan_s {
  leat_allocator_t* allocator;
  leat_convolution_direction_t direction;
  leat_convolution_shape_t shape;
  int flags, width;
  way_t way;
  char name[80];
  const leat_onednn_module_t* onednn;
  int shard_count, primitive_count;
  shard_t shards[MOST_SHARDS];
  primitive_t primitives[MOST_SHARDS];
  size_t scratch_bytes;     // for one shard
  leat_mutex_t mutex;       // serves the packing of the filter
  atomic_bool is_packed;
};

static int64_t count_positions(const leat_convolution_shape_t* s) {
  return s->batch * s->out_height * s->out_width;
}

// true when the convolution is a matrix product of the input and the filter.
static bool is_product(const leat_convolution_shape_t* s) {
  return s->filter_height == 1 && s->filter_width == 1 && s->stride_height == 1 &&
         s->stride_width == 1 && s->pad_top == 0 && s->pad_left == 0 && s->groups == 1 &&
         s->in_height == s->out_height && s->in_width == s->out_width;
}

// true when oneDNN is expected to be faster, by the measurements in the header.
static bool prefers_onednn(leat_convolution_direction_t direction,
                           const leat_convolution_shape_t* s, int flags) {
  const int64_t positions = count_positions(s);
  if (flags & LEAT_CONVOLUTION_DETERMINISTIC) return false;
  if (positions == 0 || s->in_height == 0 || s->in_width == 0) return false;
  if (direction == LEAT_CONVOLUTION_BACKWARD_INPUT && s->groups == 1 && s->in_channels < 8) {
    return false;
  }
  if (flags & LEAT_CONVOLUTION_CONSTANT_FILTER) return true;
  if (is_product(s) && positions <= 128) return false;
  return direction != LEAT_CONVOLUTION_BACKWARD_FILTER || positions > 64 || s->groups > 1;
}

// Makes output rows [begin, end) of a single image a convolution of its own. false when they see no
// row of the input.
static bool cut_rows(const leat_convolution_shape_t* s, int64_t begin, int64_t end,
                     leat_convolution_shape_t* out_shape, shard_t* out_shard) {
  const int64_t first = begin * s->stride_height - s->pad_top;
  const int64_t start = LEAT_MAX(first, 0);
  const int64_t last = (end - 1) * s->stride_height - s->pad_top +
                       (s->filter_height - 1) * s->dilation_height + 1;
  *out_shape = *s;
  out_shape->out_height = end - begin;
  out_shape->pad_top = start - first;
  out_shape->in_height = LEAT_MIN(last, s->in_height) - start;
  out_shard->input_offset = start * s->in_width * s->in_channels;
  out_shard->output_offset = begin * s->out_width * s->out_channels;
  return out_shape->in_height > 0;
}

// Makes images [begin, end) a convolution of its own.
static void cut_images(const leat_convolution_shape_t* s, int64_t begin, int64_t end,
                       leat_convolution_shape_t* out_shape, shard_t* out_shard) {
  *out_shape = *s;
  out_shape->batch = end - begin;
  out_shard->input_offset = begin * s->in_height * s->in_width * s->in_channels;
  out_shard->output_offset = begin * s->out_height * s->out_width * s->out_channels;
}

// Finds the primitive for |shape|, which is made unless an earlier shard had the same shape.
// Returns a status code, UNIMPLEMENTED when oneDNN has none.
static int find_primitive(leat_convolution_plan_t* plan, const leat_convolution_shape_t* shape,
                          int* out_index) {
  for (int i = 0; i < plan->primitive_count; ++i) {
    *out_index = i;
    if (!memcmp(&plan->primitives[i].shape, shape, sizeof *shape)) return LEAT_OK;
  }
  int flags = 0;
  if (plan->flags & LEAT_CONVOLUTION_BIAS) flags |= LEAT_ONEDNN_BIAS;
  if (plan->flags & LEAT_CONVOLUTION_RELU) flags |= LEAT_ONEDNN_RELU;
  if (plan->flags & LEAT_CONVOLUTION_CONSTANT_FILTER) flags |= LEAT_ONEDNN_CONSTANT_FILTER;
  *out_index = plan->primitive_count;
  primitive_t* primitive = &plan->primitives[plan->primitive_count];
  primitive->shape = *shape;
  const int code = plan->onednn->convolution_create(plan->direction, shape, flags,
                                                    &primitive->convolution);
  if (code == LEAT_OK) ++plan->primitive_count;
  return code;
}

// Adds the shard of images or output rows [begin, end).
static int make_shard(leat_convolution_plan_t* plan, bool by_rows, int64_t begin, int64_t end) {
  leat_convolution_shape_t shape;
  shard_t* shard = &plan->shards[plan->shard_count];
  if (by_rows) {
    if (!cut_rows(&plan->shape, begin, end, &shape, shard)) return LEAT_UNIMPLEMENTED;
  } else {
    cut_images(&plan->shape, begin, end, &shape, shard);
  }
  const int code = find_primitive(plan, &shape, &shard->primitive);
  if (code != LEAT_OK) return code;
  ++plan->shard_count;
  const leat_onednn_convolution_t* made = plan->primitives[shard->primitive].convolution;
  const size_t bytes = leat_align_up(plan->onednn->convolution_scratch_bytes(made), 64);
  plan->scratch_bytes = LEAT_MAX(plan->scratch_bytes, bytes);
  return LEAT_OK;
}

static void destroy_primitives(leat_convolution_plan_t* plan) {
  for (int i = 0; i < plan->primitive_count; ++i) {
    leat_allocator_free(plan->allocator, plan->primitives[i].packed_filter);
    plan->onednn->convolution_destroy(plan->primitives[i].convolution);
  }
  memset(plan->primitives, 0, sizeof plan->primitives);
  plan->shard_count = plan->primitive_count = 0;
  plan->scratch_bytes = 0;
}

// Cuts |total| images or rows into at most |most| shards.
static int make_shards(leat_convolution_plan_t* plan, bool by_rows, int64_t total, int64_t most) {
  const int64_t part = (total + most - 1) / most;
  for (int64_t begin = 0; begin < total; begin += part) {
    const int code = make_shard(plan, by_rows, begin, LEAT_MIN(begin + part, total));
    if (code != LEAT_OK) {
      destroy_primitives(plan);
      return code;
    }
  }
  return LEAT_OK;
}

// Plans the convolution with oneDNN, cut for the pool; a status code when that is not possible.
static int plan_onednn(leat_convolution_plan_t* plan) {
  const leat_convolution_shape_t* s = &plan->shape;
  const double worth = leat_convolution_flops(s) / SHARD_FLOPS + 1;
  const int64_t most = (int64_t)LEAT_MIN(LEAT_MIN(plan->width, MOST_SHARDS), worth);
  const bool by_rows = s->batch == 1 && plan->direction == LEAT_CONVOLUTION_FORWARD && most > 1;
  int code = make_shards(plan, by_rows, by_rows ? s->out_height : s->batch, most);
  if (code != LEAT_OK && by_rows) code = make_shards(plan, false, 1, 1);
  if (code != LEAT_OK) return code;
  plan->way = WAY_ONEDNN;
  snprintf(plan->name, sizeof plan->name, "oneDNN %s",
           plan->onednn->convolution_name(plan->primitives[0].convolution));
  return LEAT_OK;
}

leat_status_t leat_convolution_plan_create(leat_convolution_direction_t direction,
                                           const leat_convolution_shape_t* shape, int flags,
                                           int width, leat_allocator_t* allocator,
                                           leat_convolution_plan_t** out_plan) {
  *out_plan = NULL;
  void* memory = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof(leat_convolution_plan_t), &memory));
  leat_convolution_plan_t* plan = memory;
  plan->allocator = allocator;
  plan->direction = direction;
  plan->shape = *shape;
  plan->flags = flags;
  plan->width = LEAT_MAX(width, 1);
  leat_mutex_initialize(&plan->mutex);
  *out_plan = plan;
  plan->onednn = prefers_onednn(direction, shape, flags) ? leat_cpu_onednn() : NULL;
  if (plan->onednn && plan_onednn(plan) == LEAT_OK) return leat_ok_status();
  const bool is_free = !(flags & LEAT_CONVOLUTION_DETERMINISTIC);
  plan->way = is_free && is_product(shape) ? WAY_GEMM : WAY_PORTABLE;
  snprintf(plan->name, sizeof plan->name, plan->way == WAY_GEMM ? "gemm" : "portable");
  return leat_ok_status();
}

void leat_convolution_plan_destroy(leat_convolution_plan_t* plan) {
  if (!plan) return;
  destroy_primitives(plan);
  leat_mutex_deinitialize(&plan->mutex);
  leat_allocator_free(plan->allocator, plan);
}

const char* leat_convolution_plan_name(const leat_convolution_plan_t* plan) { return plan->name; }

static size_t filter_bytes(const leat_convolution_plan_t* plan) {
  return leat_align_up((size_t)leat_convolution_filter_count(&plan->shape) * sizeof(float), 64);
}

size_t leat_convolution_plan_workspace_bytes(const leat_convolution_plan_t* plan) {
  switch (plan->way) {
    case WAY_PORTABLE:
      return leat_convolution_f32_workspace_bytes(plan->direction, &plan->shape, plan->width);
    case WAY_GEMM:
      return 0;  // leat_gemm_f32 borrows its own
    case WAY_ONEDNN: {
      const bool sums = plan->direction == LEAT_CONVOLUTION_BACKWARD_FILTER;
      return (size_t)plan->shard_count * plan->scratch_bytes +
             (sums ? (size_t)(plan->shard_count - 1) * filter_bytes(plan) : 0);
    }
  }
  return 0;
}

// One run of a plan.
typedef struct run_s {
  leat_convolution_plan_t* plan;
  const float* first;
  const float* second;
  const float* bias;
  float* result;
  char* workspace;
  _Atomic int failed;  // a status code
} run_t;

// Where a shard of BACKWARD_FILTER sums: the result, or a filter in the workspace.
static float* shard_filter(const run_t* run, int64_t shard) {
  const leat_convolution_plan_t* plan = run->plan;
  if (shard == 0) return run->result;
  return (float*)(run->workspace + (size_t)plan->shard_count * plan->scratch_bytes +
                  (size_t)(shard - 1) * filter_bytes(plan));
}

// Runs one shard; returns a status code.
static int run_shard(const run_t* run, int64_t index) {
  const leat_convolution_plan_t* plan = run->plan;
  const shard_t* shard = &plan->shards[index];
  const primitive_t* primitive = &plan->primitives[shard->primitive];
  char* scratch = run->workspace + (size_t)index * plan->scratch_bytes;
  const float* first = run->first;
  const float* second = run->second;
  float* result = run->result;
  const float* data = NULL;
  switch (plan->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      data = first += shard->input_offset;
      result += shard->output_offset;
      break;
    case LEAT_CONVOLUTION_BACKWARD_INPUT:
      data = second += shard->output_offset;
      result += shard->input_offset;
      break;
    case LEAT_CONVOLUTION_BACKWARD_FILTER:
      first += shard->input_offset;
      second += shard->output_offset;
      result = shard_filter(run, index);
      break;
  }
  if (primitive->packed_filter) {
    return plan->onednn->convolution_execute_packed(
        primitive->convolution, data, primitive->packed_filter, run->bias, result, scratch);
  }
  return plan->onednn->convolution_execute(primitive->convolution, first, second, run->bias,
                                           result, scratch);
}

static void run_shards(void* data, int64_t begin, int64_t end) {
  run_t* run = data;
  for (int64_t i = begin; i < end; ++i) {
    const int code = run_shard(run, i);
    if (code != LEAT_OK) atomic_store_explicit(&run->failed, code, memory_order_relaxed);
  }
}

// Packs the filter for every primitive that uses another layout. Called with the lock held.
static leat_status_t pack_filters(leat_convolution_plan_t* plan, const float* filter,
                                  void* scratch) {
  for (int i = 0; i < plan->primitive_count; ++i) {
    primitive_t* primitive = &plan->primitives[i];
    const size_t bytes = plan->onednn->convolution_packed_filter_bytes(primitive->convolution);
    if (bytes == 0 || primitive->packed_filter) continue;
    void* packed = NULL;
    LEAT_RETURN_IF_ERROR(
        leat_allocator_allocate_uninitialized(plan->allocator, 64, bytes, &packed));
    const int code =
        plan->onednn->convolution_pack_filter(primitive->convolution, filter, packed, scratch);
    if (code != LEAT_OK) {
      leat_allocator_free(plan->allocator, packed);
      return leat_make_status((leat_status_code_t)code, "laying out filter failed: oneDNN's %s",
                              plan->name);
    }
    primitive->packed_filter = packed;
  }
  return leat_ok_status();
}

// Packs the constant filter once, in whichever run comes first.
static leat_status_t prepare_filter(const run_t* run) {
  leat_convolution_plan_t* plan = run->plan;
  if (!(plan->flags & LEAT_CONVOLUTION_CONSTANT_FILTER)) return leat_ok_status();
  if (plan->direction == LEAT_CONVOLUTION_BACKWARD_FILTER) return leat_ok_status();
  if (atomic_load_explicit(&plan->is_packed, memory_order_acquire)) return leat_ok_status();
  const bool is_first = plan->direction == LEAT_CONVOLUTION_BACKWARD_INPUT;
  leat_mutex_lock(&plan->mutex);
  leat_status_t status =
      pack_filters(plan, is_first ? run->first : run->second, run->workspace);
  if (leat_status_is_ok(status)) {
    atomic_store_explicit(&plan->is_packed, true, memory_order_release);
  }
  leat_mutex_unlock(&plan->mutex);
  return status;
}

static leat_status_t run_onednn(run_t* run, leat_thread_pool_t* pool) {
  leat_convolution_plan_t* plan = run->plan;
  LEAT_RETURN_IF_ERROR(prepare_filter(run));
  if (plan->shard_count == 1) {
    run_shards(run, 0, 1);
  } else {
    const double shard_ns = leat_convolution_flops(&plan->shape) / plan->shard_count * 0.01;
    leat_thread_pool_parallel_for(pool, 0, plan->shard_count, shard_ns, run_shards, run);
  }
  if (run->failed != LEAT_OK) {
    return leat_make_status((leat_status_code_t)run->failed, "running convolution failed: %s",
                            plan->name);
  }
  if (plan->direction != LEAT_CONVOLUTION_BACKWARD_FILTER) return leat_ok_status();
  const int64_t count = leat_convolution_filter_count(&plan->shape);
  for (int i = 1; i < plan->shard_count; ++i) {
    const float* part = shard_filter(run, i);
    for (int64_t t = 0; t < count; ++t) run->result[t] += part[t];
  }
  return leat_ok_status();
}

static void run_gemm(const run_t* run, leat_thread_pool_t* pool) {
  const leat_convolution_shape_t* s = &run->plan->shape;
  const int64_t rows = count_positions(s), in = s->in_channels, out = s->out_channels;
  leat_gemm_shape_t shape;
  const float* a = run->first;
  const float* b = run->second;
  switch (run->plan->direction) {
    case LEAT_CONVOLUTION_FORWARD:
      shape = leat_gemm_shape_dense(LEAT_GEMM_PLAIN, LEAT_GEMM_PLAIN, rows, out, in);
      break;
    case LEAT_CONVOLUTION_BACKWARD_INPUT:
      shape = leat_gemm_shape_dense(LEAT_GEMM_PLAIN, LEAT_GEMM_TRANSPOSE, rows, in, out);
      a = run->second;
      b = run->first;
      break;
    default:
      shape = leat_gemm_shape_dense(LEAT_GEMM_TRANSPOSE, LEAT_GEMM_PLAIN, in, out, rows);
  }
  leat_gemm_f32(&shape, a, b, NULL, run->result, NULL, pool);
}

// Applies bias and relu where oneDNN has not done so.
static void finish(const run_t* run) {
  const leat_convolution_plan_t* plan = run->plan;
  const int64_t channels = plan->shape.out_channels;
  if (!(plan->flags & (LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_RELU))) return;
  float* row = run->result;
  for (int64_t r = 0; r < count_positions(&plan->shape); ++r, row += channels) {
    if (plan->flags & LEAT_CONVOLUTION_BIAS) {
      for (int64_t o = 0; o < channels; ++o) row[o] += run->bias[o];
    }
    if (plan->flags & LEAT_CONVOLUTION_RELU) {
      for (int64_t o = 0; o < channels; ++o) row[o] = row[o] < 0 ? 0 : row[o];
    }
  }
}

leat_status_t leat_convolution_plan_run(leat_convolution_plan_t* plan, const float* first,
                                        const float* second, const float* bias, float* result,
                                        void* workspace, leat_thread_pool_t* pool) {
  run_t run = {.plan = plan,
               .first = first,
               .second = second,
               .bias = bias,
               .result = result,
               .workspace = workspace};
  switch (plan->way) {
    case WAY_ONEDNN:
      return run_onednn(&run, pool);
    case WAY_GEMM:
      run_gemm(&run, pool);
      break;
    case WAY_PORTABLE:
      leat_convolution_f32(plan->direction, &plan->shape, first, second, result, workspace, pool);
      break;
  }
  if (plan->direction == LEAT_CONVOLUTION_FORWARD) finish(&run);
  return leat_ok_status();
}
