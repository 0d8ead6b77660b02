// Plans of float convolutions: chooses how a convolution of one shape is computed, and cuts it into
// shards for the pool. There are four ways: a oneDNN primitive, Winograd's algorithm for 3x3
// filters, one matrix product (1x1 filters), and the portable convolution; convolution_plan.h has
// the measurements that decide.
//
// For oneDNN a shard is a run of images or, for a single image of a forward convolution, a band of
// output rows with the padding that the band sees. Shards of equal shape share a primitive. Each
// thread takes a lane, which is a run of shards and has scratch memory. A lane has one shard unless
// a step follows the convolution: then shards are small, so that the step finds their results in
// the cache, and the filter is packed once for all of them where the primitives want it packed. A
// shard of BACKWARD_FILTER sums over its own images into a filter of its own, and these are added
// in order at the end:
//
//   workspace:  [scratch of lane 0] ... [scratch of the last] [filters of shards 1 ..]
//                                                             [packed filters]
//
// A filter that stays the same over several runs need not be packed in each: the caller packs it
// once into memory of its own, which has the same layout as the packed filters of the workspace,
// and hands that to the runs. The primitives are the same in either case, so that the bits of a
// result do not depend on who packed the filter, or when.
//
// A plan is made once per kernel and shape and never changes. Several steps run it at once, each
// with its own workspace.
#include "device/cpu/convolution_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/sync.h"
#include "device/cpu/convolution_winograd.h"
#include "device/cpu/gemm.h"
#include "device/cpu/module.h"

#define MOST_LANES 64
#define MOST_PRIMITIVES 64
// A lane is worth a thread from about 20 us of work on.
#define LANE_FLOPS 4e6
// Before a step a shard has as many images as give about STEP_BYTES of results. An image with more
// than STEP_MOST_BYTES is cut into bands of rows; those between stay whole, because each band needs
// a primitive and a packed filter, and the third-level cache holds such an image.
#define STEP_BYTES (1024.0 * 1024)
#define STEP_MOST_BYTES (4 * STEP_BYTES)
// From so many output positions on, packing a 3x3 filter for Winograd's algorithm in each run pays
// (onednn_convolution.c has the same limit for a primitive that packs in each run).
#define WINOGRAD_POSITIONS 4000

// From so many output positions on, Winograd's algorithm of this library pays. Below, the
// transformed filter, four times the size of the plain one, takes longer to read than it saves. The
// filter of a gradient changes from step to step, so that its transformation must be earned too.
#define WINOGRAD_FORWARD_POSITIONS 100
#define WINOGRAD_GRADIENT_POSITIONS 500

// One oneDNN primitive; shards of equal shape share it.
typedef struct primitive_s {
  leat_convolution_shape_t shape;
  leat_onednn_convolution_t* convolution;
  size_t packed_offset;  // of its packed filter among those of all primitives
} primitive_t;

typedef struct shard_s {
  int primitive;
  int64_t input_offset, output_offset;  // in elements
} shard_t;

typedef enum way_e { WAY_PORTABLE, WAY_GEMM, WAY_WINOGRAD, WAY_ONEDNN } way_t;

struct leat_convolution_plan_s {
  leat_allocator_t* allocator;
  leat_convolution_direction_t direction;
  leat_convolution_shape_t shape;
  int flags, width;
  way_t way;
  char name[80];
  leat_winograd_t winograd;
  const leat_onednn_module_t* onednn;
  int64_t shard_count, lane_count;
  int primitive_count;
  shard_t* shards;
  primitive_t primitives[MOST_PRIMITIVES];
  size_t scratch_bytes;     // for one lane
  size_t packed_bytes;      // of the packed filters of all primitives, or of Winograd's
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
  if (is_product(s) && positions <= 128) return false;
  return direction != LEAT_CONVOLUTION_BACKWARD_FILTER || positions > 64 || s->groups > 1;
}

// Makes output rows [begin, end) of one image a convolution of its own. false when they see no row
// of the input.
static bool cut_rows(const leat_convolution_shape_t* s, int64_t image, int64_t begin, int64_t end,
                     leat_convolution_shape_t* out_shape, shard_t* out_shard) {
  const int64_t first = begin * s->stride_height - s->pad_top;
  const int64_t start = LEAT_MAX(first, 0);
  const int64_t last = (end - 1) * s->stride_height - s->pad_top +
                       (s->filter_height - 1) * s->dilation_height + 1;
  *out_shape = *s;
  out_shape->batch = 1;
  out_shape->out_height = end - begin;
  out_shape->pad_top = start - first;
  out_shape->in_height = LEAT_MIN(last, s->in_height) - start;
  out_shard->input_offset = (image * s->in_height + start) * s->in_width * s->in_channels;
  out_shard->output_offset = (image * s->out_height + begin) * s->out_width * s->out_channels;
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

// true when the shards are so small that packing the filter for each would cost too much. A run
// without a packed filter then packs it once for all of them; otherwise each shard packs its own.
static bool packs_each_run(const leat_convolution_plan_t* plan) {
  return plan->way == WAY_WINOGRAD || plan->shard_count > plan->lane_count;
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
  if (plan->primitive_count == MOST_PRIMITIVES) return LEAT_UNIMPLEMENTED;
  if (plan->flags & LEAT_CONVOLUTION_BIAS) flags |= LEAT_ONEDNN_BIAS;
  if (packs_each_run(plan) && count_positions(&plan->shape) >= WINOGRAD_POSITIONS) {
    flags |= LEAT_ONEDNN_CONSTANT_FILTER;
  }
  *out_index = plan->primitive_count;
  primitive_t* primitive = &plan->primitives[plan->primitive_count];
  primitive->shape = *shape;
  const int code = plan->onednn->convolution_create(plan->direction, shape, flags,
                                                    &primitive->convolution);
  if (code == LEAT_OK) ++plan->primitive_count;
  return code;
}

// How the output is cut: into shards of |images| images or, where |rows| is less than an image has,
// of |rows| rows of one image.
typedef struct cut_s {
  int64_t images, rows;
} cut_t;

static int64_t count_blocks(int64_t total, int64_t block) { return (total + block - 1) / block; }

// Chooses the cut for |lanes| lanes.
static cut_t choose_cut(const leat_convolution_plan_t* plan, int64_t lanes) {
  const leat_convolution_shape_t* s = &plan->shape;
  const double bytes = (double)s->out_height * (double)s->out_width * (double)s->out_channels * 4;
  cut_t cut = {count_blocks(s->batch, lanes), s->out_height};
  if (plan->direction != LEAT_CONVOLUTION_FORWARD) return cut;
  if (s->batch == 1 && lanes > 1) cut.rows = count_blocks(s->out_height, lanes);
  if (!(plan->flags & LEAT_CONVOLUTION_STEP)) return cut;
  if (bytes > STEP_MOST_BYTES) {
    const int64_t bands = LEAT_MIN(s->out_height, (int64_t)(bytes / STEP_BYTES));
    cut = (cut_t){1, LEAT_MIN(cut.rows, count_blocks(s->out_height, bands))};
  } else if (cut.rows == s->out_height) {
    // Shards of equal size need one primitive.
    const int64_t fitting = LEAT_MAX((int64_t)(STEP_BYTES / LEAT_MAX(bytes, 1)), 1);
    cut.images = count_blocks(cut.images, count_blocks(cut.images, fitting));
  }
  return cut;
}

// Sets shard |index| and finds its primitive.
static int make_shard(leat_convolution_plan_t* plan, cut_t cut, int64_t index) {
  const leat_convolution_shape_t* s = &plan->shape;
  leat_convolution_shape_t shape;
  shard_t* shard = &plan->shards[index];
  if (cut.rows < s->out_height) {
    const int64_t bands = count_blocks(s->out_height, cut.rows);
    const int64_t begin = index % bands * cut.rows;
    const int64_t end = LEAT_MIN(begin + cut.rows, s->out_height);
    if (!cut_rows(s, index / bands, begin, end, &shape, shard)) return LEAT_UNIMPLEMENTED;
  } else {
    const int64_t begin = index * cut.images;
    cut_images(s, begin, LEAT_MIN(begin + cut.images, s->batch), &shape, shard);
  }
  const int code = find_primitive(plan, &shape, &shard->primitive);
  if (code != LEAT_OK) return code;
  const leat_onednn_convolution_t* made = plan->primitives[shard->primitive].convolution;
  const size_t bytes = leat_align_up(plan->onednn->convolution_scratch_bytes(made), 64);
  plan->scratch_bytes = LEAT_MAX(plan->scratch_bytes, bytes);
  return LEAT_OK;
}

static void destroy_shards(leat_convolution_plan_t* plan) {
  for (int i = 0; i < plan->primitive_count; ++i) {
    plan->onednn->convolution_destroy(plan->primitives[i].convolution);
  }
  memset(plan->primitives, 0, sizeof plan->primitives);
  leat_allocator_free(plan->allocator, plan->shards);
  plan->shards = NULL;
  plan->shard_count = plan->lane_count = plan->primitive_count = 0;
  plan->scratch_bytes = plan->packed_bytes = 0;
}

static int allocate_shards(leat_convolution_plan_t* plan) {
  void* memory = NULL;
  leat_status_t status = leat_allocator_allocate(
      plan->allocator, (size_t)plan->shard_count * sizeof(shard_t), &memory);
  plan->shards = memory;
  if (leat_status_is_ok(status)) return LEAT_OK;
  leat_status_free(status);
  return LEAT_RESOURCE_EXHAUSTED;
}

// Makes the shards of |cut| and divides them among at most |lanes| lanes.
static int make_shards(leat_convolution_plan_t* plan, cut_t cut, int64_t lanes) {
  const leat_convolution_shape_t* s = &plan->shape;
  plan->shard_count = cut.rows < s->out_height ? s->batch * count_blocks(s->out_height, cut.rows)
                                               : count_blocks(s->batch, cut.images);
  plan->lane_count = LEAT_MIN(plan->shard_count, lanes);
  int code = allocate_shards(plan);
  for (int64_t i = 0; i < plan->shard_count && code == LEAT_OK; ++i) {
    code = make_shard(plan, cut, i);
  }
  if (code != LEAT_OK) {
    destroy_shards(plan);
    return code;
  }
  for (int i = 0; i < plan->primitive_count; ++i) {
    primitive_t* primitive = &plan->primitives[i];
    primitive->packed_offset = plan->packed_bytes;
    plan->packed_bytes += leat_align_up(
        plan->onednn->convolution_packed_filter_bytes(primitive->convolution), 64);
  }
  return LEAT_OK;
}

// Plans the convolution with oneDNN, cut for the pool; a status code when that is not possible.
static int plan_onednn(leat_convolution_plan_t* plan) {
  const leat_convolution_shape_t* s = &plan->shape;
  const double worth = leat_convolution_flops(s) / LANE_FLOPS + 1;
  const int64_t lanes = (int64_t)LEAT_MIN(LEAT_MIN(plan->width, MOST_LANES), worth);
  const cut_t cut = choose_cut(plan, lanes);
  int code = make_shards(plan, cut, lanes);
  if (code != LEAT_OK && cut.rows < s->out_height) {
    code = make_shards(plan, (cut_t){count_blocks(s->batch, lanes), s->out_height}, lanes);
  }
  if (code != LEAT_OK) return code;
  plan->way = WAY_ONEDNN;
  snprintf(plan->name, sizeof plan->name, "oneDNN %s",
           plan->onednn->convolution_name(plan->primitives[0].convolution));
  return LEAT_OK;
}

// Plans the convolution with Winograd's algorithm; false when it does not apply or does not pay.
static bool plan_winograd(leat_convolution_plan_t* plan) {
  if (plan->flags & LEAT_CONVOLUTION_DETERMINISTIC) return false;
  const int64_t least = plan->direction == LEAT_CONVOLUTION_FORWARD ? WINOGRAD_FORWARD_POSITIONS
                                                                     : WINOGRAD_GRADIENT_POSITIONS;
  if (count_positions(&plan->shape) < least) return false;
  if (!leat_winograd_describe(plan->direction, &plan->shape, plan->width, &plan->winograd)) {
    return false;
  }
  plan->way = WAY_WINOGRAD;
  plan->shard_count = plan->winograd.block_count;
  plan->lane_count = LEAT_MIN(LEAT_MIN(plan->width, MOST_LANES), plan->shard_count);
  plan->scratch_bytes = leat_align_up(leat_winograd_scratch_bytes(&plan->winograd), 64);
  plan->packed_bytes = leat_winograd_packed_bytes(&plan->winograd);
  snprintf(plan->name, sizeof plan->name, "winograd");
  return true;
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
  *out_plan = plan;
  if (plan_winograd(plan)) return leat_ok_status();
  plan->onednn = prefers_onednn(direction, shape, flags) ? leat_cpu_onednn() : NULL;
  if (plan->onednn && plan_onednn(plan) == LEAT_OK) return leat_ok_status();
  const bool is_free = !(flags & LEAT_CONVOLUTION_DETERMINISTIC);
  plan->way = is_free && is_product(shape) ? WAY_GEMM : WAY_PORTABLE;
  snprintf(plan->name, sizeof plan->name, plan->way == WAY_GEMM ? "gemm" : "portable");
  return leat_ok_status();
}

void leat_convolution_plan_destroy(leat_convolution_plan_t* plan) {
  if (!plan) return;
  destroy_shards(plan);
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
    case WAY_WINOGRAD:
    case WAY_ONEDNN: {
      const bool sums = plan->direction == LEAT_CONVOLUTION_BACKWARD_FILTER;
      return (size_t)plan->lane_count * plan->scratch_bytes +
             (sums                   ? (size_t)(plan->shard_count - 1) * filter_bytes(plan)
              : packs_each_run(plan) ? plan->packed_bytes
                                     : 0);
    }
  }
  return 0;
}

// One run of a plan.
typedef struct run_s {
  const leat_convolution_plan_t* plan;
  const float* first;
  const float* second;
  const leat_row_step_t* step;  // or NULL
  float* result;
  char* workspace;
  const char* packed;  // the packed filters of all primitives; NULL: each shard packs its own
  _Atomic int failed;  // a status code
} run_t;

// What follows the scratch memory of the lanes in the workspace.
static char* after_scratch(const run_t* run) {
  return run->workspace + (size_t)run->plan->lane_count * run->plan->scratch_bytes;
}

// Where a shard of BACKWARD_FILTER sums: the result, or a filter in the workspace.
static float* shard_filter(const run_t* run, int64_t shard) {
  if (shard == 0) return run->result;
  return (float*)(after_scratch(run) + (size_t)(shard - 1) * filter_bytes(run->plan));
}

// The packed filter that a primitive is to be run with; NULL: the plain one.
static const void* find_packed(const run_t* run, const primitive_t* primitive) {
  const leat_convolution_plan_t* plan = run->plan;
  if (!run->packed) return NULL;
  const bool packs = plan->onednn->convolution_packed_filter_bytes(primitive->convolution) > 0;
  return packs ? run->packed + primitive->packed_offset : NULL;
}

// Applies the step to the results of a shard, to which oneDNN has added the bias if there is one.
static void finish_shard(const run_t* run, const shard_t* shard) {
  const leat_convolution_plan_t* plan = run->plan;
  const leat_convolution_shape_t* s = &plan->primitives[shard->primitive].shape;
  if (!(plan->flags & LEAT_CONVOLUTION_STEP)) return;
  run->step->apply(run->step->data, run->result + shard->output_offset,
                   shard->output_offset / s->out_channels, count_positions(s),
                   (plan->flags & LEAT_CONVOLUTION_BIAS) != 0);
}

static void run_winograd_block(const run_t* run, char* scratch, int64_t block) {
  const leat_convolution_plan_t* plan = run->plan;
  const float* input =
      plan->direction == LEAT_CONVOLUTION_FORWARD ? run->first : run->second;
  leat_winograd_run(&plan->winograd, block, input, (const float*)run->packed, run->step,
                    run->result, (float*)scratch);
}

// Runs one shard with the scratch memory |scratch| of its lane; returns a status code.
static int run_primitive(const run_t* run, char* scratch, int64_t index) {
  const leat_convolution_plan_t* plan = run->plan;
  const shard_t* shard = &plan->shards[index];
  const primitive_t* primitive = &plan->primitives[shard->primitive];
  const float* bias = plan->flags & LEAT_CONVOLUTION_BIAS ? run->step->bias : NULL;
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
  const void* packed = find_packed(run, primitive);
  const int code =
      packed ? plan->onednn->convolution_execute_packed(primitive->convolution, data, packed, bias,
                                                        result, scratch)
             : plan->onednn->convolution_execute(primitive->convolution, first, second, bias,
                                                 result, scratch);
  if (code == LEAT_OK) finish_shard(run, shard);
  return code;
}

static void run_lanes(void* data, int64_t begin, int64_t end) {
  run_t* run = data;
  const leat_convolution_plan_t* plan = run->plan;
  for (int64_t lane = begin; lane < end; ++lane) {
    const int64_t last = plan->shard_count * (lane + 1) / plan->lane_count;
    char* scratch = run->workspace + (size_t)lane * plan->scratch_bytes;
    for (int64_t i = plan->shard_count * lane / plan->lane_count; i < last; ++i) {
      if (plan->way == WAY_WINOGRAD) {
        run_winograd_block(run, scratch, i);
        continue;
      }
      const int code = run_primitive(run, scratch, i);
      if (code != LEAT_OK) atomic_store_explicit(&run->failed, code, memory_order_relaxed);
    }
  }
}

size_t leat_convolution_plan_packed_bytes(const leat_convolution_plan_t* plan) {
  return plan->packed_bytes;
}

leat_status_t leat_convolution_plan_pack(const leat_convolution_plan_t* plan, const float* filter,
                                         void* workspace, void* packed) {
  if (plan->way == WAY_WINOGRAD) leat_winograd_pack(&plan->winograd, filter, packed);
  for (int i = 0; i < plan->primitive_count; ++i) {
    const primitive_t* primitive = &plan->primitives[i];
    if (plan->onednn->convolution_packed_filter_bytes(primitive->convolution) == 0) continue;
    const int code = plan->onednn->convolution_pack_filter(
        primitive->convolution, filter, (char*)packed + primitive->packed_offset, workspace);
    if (code == LEAT_OK) continue;
    return leat_make_status((leat_status_code_t)code, "packing the filter failed: %s", plan->name);
  }
  return leat_ok_status();
}

// Packs the filter for this run, where its shards are small and the caller has not packed it.
static leat_status_t pack_for_run(run_t* run) {
  const leat_convolution_plan_t* plan = run->plan;
  if (run->packed || !packs_each_run(plan) || plan->packed_bytes == 0) return leat_ok_status();
  LEAT_DCHECK(plan->direction != LEAT_CONVOLUTION_BACKWARD_FILTER);
  const bool is_first = plan->direction == LEAT_CONVOLUTION_BACKWARD_INPUT;
  char* packed = after_scratch(run);
  LEAT_RETURN_IF_ERROR(leat_convolution_plan_pack(plan, is_first ? run->first : run->second,
                                                  run->workspace, packed));
  run->packed = packed;
  return leat_ok_status();
}

static leat_status_t run_shards(run_t* run, leat_thread_pool_t* pool) {
  const leat_convolution_plan_t* plan = run->plan;
  LEAT_RETURN_IF_ERROR(pack_for_run(run));
  if (plan->lane_count == 1) {
    run_lanes(run, 0, 1);
  } else {
    const double lane_ns =
        leat_convolution_flops(&plan->shape) / (double)plan->lane_count * 0.01;
    leat_thread_pool_parallel_for(pool, 0, plan->lane_count, lane_ns, run_lanes, run);
  }
  if (run->failed != LEAT_OK) {
    return leat_make_status((leat_status_code_t)run->failed, "running convolution failed: %s",
                            plan->name);
  }
  if (plan->direction != LEAT_CONVOLUTION_BACKWARD_FILTER) return leat_ok_status();
  const int64_t count = leat_convolution_filter_count(&plan->shape);
  for (int64_t i = 1; i < plan->shard_count; ++i) {
    const float* addend = shard_filter(run, i);
    for (int64_t t = 0; t < count; ++t) run->result[t] += addend[t];
  }
  return leat_ok_status();
}

static void multiply(const leat_gemm_shape_t* shape, const void* a, const void* b, void* c,
                     leat_thread_pool_t* pool) {
  leat_gemm_f32(shape, a, b, NULL, c, NULL, pool);
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
  if (run->step) {
    leat_row_step_multiply(run->step, multiply, &shape, sizeof(float), a, b, run->result, 0, false,
                           pool);
  } else {
    multiply(&shape, a, b, run->result, pool);
  }
}

leat_status_t leat_convolution_plan_run(const leat_convolution_plan_t* plan, const float* first,
                                        const float* second, const void* packed,
                                        const leat_row_step_t* step, float* result,
                                        void* workspace, leat_thread_pool_t* pool) {
  LEAT_DCHECK(!step == !(plan->flags & (LEAT_CONVOLUTION_BIAS | LEAT_CONVOLUTION_STEP)));
  run_t run = {.plan = plan,
               .first = first,
               .second = second,
               .packed = packed,
               .step = step,
               .result = result,
               .workspace = workspace};
  switch (plan->way) {
    case WAY_WINOGRAD:
    case WAY_ONEDNN:
      return run_shards(&run, pool);
    case WAY_GEMM:
      run_gemm(&run, pool);
      break;
    case WAY_PORTABLE:
      leat_convolution_f32(plan->direction, &plan->shape, first, second, step, result, workspace,
                           pool);
      break;
  }
  return leat_ok_status();
}
