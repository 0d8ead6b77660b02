// CPU kernels of the average pools of two and three dimensions and their gradients.
//
//   AvgPool      x -> y, the mean of each window over its positions inside the input
//   AvgPoolGrad  shape of x, dy -> dx: each window shares its dy equally among its positions
//
// The window is read and measured by pool_cpu.c. Tensors are brought into the form that the loops
// want, channels last and half or bfloat16 as float, by channels_cpu.c. The forward loop is shared
// among threads by output rows; the gradient by images, because overlapping windows of one image
// add to the same elements.
#include "ops/kernel_rows.h"
#include "ops/nn/channels_cpu.h"
#include "ops/nn/pool_cpu.h"

static leat_status_t create_2d(leat_kernel_creation_t* c, void* state) {
  return leat_pool_create(c, state, 2, "T");
}
static leat_status_t create_3d(leat_kernel_creation_t* c, void* state) {
  return leat_pool_create(c, state, 3, "T");
}

typedef struct run_s {
  const leat_pool_t* pool;
  void (*loop)(const leat_pool_t* pool, const void* from, void* to, int64_t begin, int64_t end);
  const void* from;
  void* to;
} run_t;

static void run_shard(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  run->loop(run->pool, run->from, run->to, begin, end);
}

// Both tensors are wide with the channels last.
static void run_loop(const leat_kernel_context_t* c, const leat_pool_t* pool, bool is_gradient,
                     const leat_tensor_t* from, leat_tensor_t* to) {
  const leat_avg_pool_loops_t* loops = LEAT_ISA_SELECT(leat_avg_pool_loops);
  const bool is_double = from->dtype == LEAT_DTYPE_DOUBLE;
  run_t run = {.pool = pool, .from = from->data, .to = to->data};
  if (is_gradient) {
    run.loop = is_double ? loops->spread_f64 : loops->spread_f32;
    const double rows = (double)(pool->out[0] * pool->out[1]);
    leat_kernel_parallel_for(c, pool->batch, rows * leat_pool_row_ns(pool), run_shard, &run);
  } else {
    run.loop = is_double ? loops->average_f64 : loops->average_f32;
    leat_kernel_parallel_for(c, leat_pool_rows(pool), leat_pool_row_ns(pool), run_shard, &run);
  }
}

// Computes |output| from |from|; both are in the node's format, whose channels are second if
// |is_transposed|, so that the loops work on transposed tensors.
static leat_status_t run(leat_kernel_context_t* c, const leat_pool_t* pool, bool is_transposed,
                         bool is_gradient, const leat_tensor_t* from, leat_tensor_t* output) {
  leat_tensor_t wide_from;
  leat_transposed_output_t transposed;
  LEAT_RETURN_IF_ERROR(leat_widen_transposed(c, is_transposed, from, &wide_from));
  leat_status_t status = leat_transposed_output_begin(c, is_transposed, output, &transposed);
  if (!status) {
    run_loop(c, pool, is_gradient, &wide_from, &transposed.wide);
    status = leat_transposed_output_end(c, &transposed, status);
  }
  leat_tensor_release(&wide_from);
  return status;
}

static leat_status_t avg_pool__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_window_t window;
  leat_pool_t pool;
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, false, &window));
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &x->shape, &pool, &shape));
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &y));
  if (shape.element_count == 0) return leat_ok_status();
  return run(c, &pool, window.channels_first, false, x, y);
}

// Reads the shape of the pool's input, which is input 0 of the gradient op.
static leat_status_t read_shape(const leat_kernel_context_t* c, int rank,
                                leat_shape_t* out_shape) {
  const leat_tensor_t* sizes = leat_kernel_input(c, 0);
  if (sizes->shape.element_count != rank) {
    return leat_kernel_invalid(c, "orig_input_shape has %lld values, must have %d",
                               (long long)sizes->shape.element_count, rank);
  }
  int64_t dims[LEAT_WINDOW_MAX_SPATIAL + 2];
  for (int d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(sizes, d);
  return leat_shape_create(rank, dims, out_shape);
}

static leat_status_t avg_pool_grad__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* dy = leat_kernel_input(c, 1);
  leat_window_t window;
  leat_pool_t pool;
  leat_shape_t shape, expected;
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, false, &window));
  LEAT_RETURN_IF_ERROR(read_shape(c, leat_window_rank(&window), &shape));
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &shape, &pool, &expected));
  if (!leat_shape_equal(&dy->shape, &expected)) {
    return leat_kernel_invalid(c, "grad is %s, must be %s for an input of %s",
                               LEAT_SHAPE_TEXT(&dy->shape), LEAT_SHAPE_TEXT(&expected),
                               LEAT_SHAPE_TEXT(&shape));
  }
  leat_tensor_t* dx;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &dx));
  if (shape.element_count == 0) return leat_ok_status();
  return run(c, &pool, window.channels_first, true, dy, dx);
}

#define ROW(name, types, create_fn, compute_fn)                                              \
  LEAT_CPU_KERNEL(name, types, leat_pool_kernel_t, create_fn, compute_fn, .expensive = true)

const leat_kernel_row_t leat_avg_pool_kernels_cpu[] = {
    ROW("AvgPool", "T: half, bfloat16, float, double", create_2d, avg_pool__cpu),
    ROW("AvgPoolGrad", "T: half, bfloat16, float, double", create_2d, avg_pool_grad__cpu),
    ROW("AvgPool3D", "T: bfloat16, float", create_3d, avg_pool__cpu),
    ROW("AvgPool3DGrad", "T: bfloat16, float", create_3d, avg_pool_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
