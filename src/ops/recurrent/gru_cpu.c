// CPU kernels of a cell of gated recurrent units, for one step, and of its gradient. With s the
// sigmoid and * for products of elements:
//
//   [r, u] = s([x, h_prev] w_ru + b_ru)      c = tanh([x, h_prev * r] w_c + b_c)
//   h = u * h_prev + (1 - u) * c
//
// A matrix of weights has the rows for x first, then those for the state, so each product is two:
// nothing is concatenated.
#include "device/cpu/vector_math.h"
#include "ops/kernel_rows.h"
#include "ops/recurrent/block_pass_cpu.h"

enum { X, H_PREV, W_RU, W_C, B_RU, B_C, R, U, C, D_H };  // inputs; R to D_H of the gradient alone
enum { OUT_R, OUT_U, OUT_C, OUT_H };
enum { D_X, D_H_PREV, D_C_BAR, D_GATES };

typedef struct run_s {
  leat_block_pass_t pass;
  // Products of x and of the state [batch, up to 2 cells]; in the gradient, of the gradients of the
  // gates with both parts of the weights.
  leat_tensor_t of_x, of_state;
} run_t;

#define ELEMENT_NS 4.0  // of all that a loop below does for one cell

static leat_status_t begin(leat_kernel_context_t* c, const char* shapes, run_t* run) {
  leat_block_sizes_t* sizes = &run->pass.sizes;
  LEAT_RETURN_IF_ERROR(leat_block_sizes_read(c, X, H_PREV, false, sizes));
  LEAT_RETURN_IF_ERROR(leat_block_sizes_check(c, 0, shapes, sizes));
  return leat_block_pass_begin(c, 0, &run->pass);
}

static leat_status_t end(leat_kernel_context_t* c, run_t* run, leat_status_t status) {
  leat_tensor_release(&run->of_x);
  leat_tensor_release(&run->of_state);
  return leat_block_pass_end(c, &run->pass, status);
}

// Runs |fn| over the rows of the batch.
static void run_rows(const leat_kernel_context_t* c, run_t* run, leat_shard_fn_t fn) {
  leat_kernel_parallel_for(c, run->pass.sizes.batch, ELEMENT_NS * (double)run->pass.sizes.cells,
                           fn, run);
}

// ---- Forward ------------------------------------------------------------------------------------

// The products of x and of |state| with their rows of weights |w|, which have |columns|.
static void multiply_weights(const leat_kernel_context_t* c, run_t* run, int w,
                             const float* state, int64_t columns) {
  const leat_block_sizes_t s = run->pass.sizes;
  const float* weights = leat_block_input(&run->pass, w);
  leat_block_multiply(c, leat_block_input(&run->pass, X), weights, false, columns, s.batch, columns,
                      s.inputs, leat_tensor_data(&run->of_x, float));
  leat_block_multiply(c, state, weights + s.inputs * columns, false, columns, s.batch, columns,
                      s.cells, leat_tensor_data(&run->of_state, float));
}

// Computes r and u of rows [begin, end), and leaves h_prev * r in h.
static void compute_gates(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const int64_t cells = run->pass.sizes.cells;
  const leat_vector_math_t* math = leat_vector_math();
  const float* bias = leat_block_input(&run->pass, B_RU);
  for (int64_t row = begin; row < end; ++row) {
    const float* of_x = leat_tensor_data(&run->of_x, const float) + 2 * row * cells;
    const float* of_state = leat_tensor_data(&run->of_state, const float) + 2 * row * cells;
    const float* h_prev = leat_block_input(&run->pass, H_PREV) + row * cells;
    float *r = leat_block_output(&run->pass, OUT_R) + row * cells,
          *u = leat_block_output(&run->pass, OUT_U) + row * cells,
          *h = leat_block_output(&run->pass, OUT_H) + row * cells;
    for (int64_t k = 0; k < cells; ++k) {
      r[k] = of_x[k] + of_state[k] + bias[k];
      u[k] = of_x[cells + k] + of_state[cells + k] + bias[cells + k];
    }
    math->sigmoid_f32(r, r, cells);
    math->sigmoid_f32(u, u, cells);
    for (int64_t k = 0; k < cells; ++k) h[k] = h_prev[k] * r[k];
  }
}

// Computes c and h of rows [begin, end).
static void compute_state(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const int64_t cells = run->pass.sizes.cells;
  const float* bias = leat_block_input(&run->pass, B_C);
  for (int64_t row = begin; row < end; ++row) {
    const float* of_x = leat_tensor_data(&run->of_x, const float) + row * cells;
    const float* of_state = leat_tensor_data(&run->of_state, const float) + row * cells;
    const float* h_prev = leat_block_input(&run->pass, H_PREV) + row * cells;
    const float* u = leat_block_output(&run->pass, OUT_U) + row * cells;
    float *c = leat_block_output(&run->pass, OUT_C) + row * cells,
          *h = leat_block_output(&run->pass, OUT_H) + row * cells;
    for (int64_t k = 0; k < cells; ++k) c[k] = of_x[k] + of_state[k] + bias[k];
    leat_vector_math()->tanh_f32(c, c, cells);
    for (int64_t k = 0; k < cells; ++k) h[k] = u[k] * h_prev[k] + (1 - u[k]) * c[k];
  }
}

static leat_status_t gru__cpu(leat_kernel_context_t* c) {
  run_t run = {0};
  leat_status_t status = begin(c, "bi bc w2 wc 2 c", &run);
  for (int i = OUT_R; i <= OUT_H && !status; ++i) {
    status = leat_block_pass_allocate(c, &run.pass, i, "bc");
  }
  const leat_block_sizes_t s = run.pass.sizes;
  if (!status) status = leat_block_allocate_temporary(c, 1, s.batch, 2 * s.cells, &run.of_x);
  if (!status) status = leat_block_allocate_temporary(c, 1, s.batch, 2 * s.cells, &run.of_state);
  if (!status) {
    multiply_weights(c, &run, W_RU, leat_block_input(&run.pass, H_PREV), 2 * s.cells);
    run_rows(c, &run, compute_gates);
    multiply_weights(c, &run, W_C, leat_block_output(&run.pass, OUT_H), s.cells);
    run_rows(c, &run, compute_state);
  }
  return end(c, &run, status);
}

// ---- Backward -----------------------------------------------------------------------------------

// The products of |gates| [batch, columns] with both parts of the weights |w|, transposed.
static void multiply_back(const leat_kernel_context_t* c, run_t* run, int w, const float* gates,
                          int64_t columns, float* of_x) {
  const leat_block_sizes_t s = run->pass.sizes;
  const float* weights = leat_block_input(&run->pass, w);
  leat_block_multiply(c, gates, weights, true, columns, s.batch, s.inputs, columns, of_x);
  leat_block_multiply(c, gates, weights + s.inputs * columns, true, columns, s.batch, s.cells,
                      columns, leat_tensor_data(&run->of_state, float));
}

// Computes the gradients of the candidate and of the update gate before their activations.
static void differentiate_candidate(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const leat_block_pass_t* pass = &run->pass;
  const int64_t cells = pass->sizes.cells;
  for (int64_t i = begin * cells; i < end * cells; ++i) {
    float u = leat_block_input(pass, U)[i], c = leat_block_input(pass, C)[i];
    float dh = leat_block_input(pass, D_H)[i], h_prev = leat_block_input(pass, H_PREV)[i];
    leat_block_output(pass, D_C_BAR)[i] = dh * (1 - u) * (1 - c * c);
    leat_block_output(pass, D_GATES)[i / cells * 2 * cells + cells + i % cells] =
        dh * (h_prev - c) * u * (1 - u);
  }
}

// Computes the gradient of the reset gate, and what h_prev gets past the gates. of_state is the
// gradient of h_prev * r.
static void differentiate_reset(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const leat_block_pass_t* pass = &run->pass;
  const int64_t cells = pass->sizes.cells;
  for (int64_t i = begin * cells; i < end * cells; ++i) {
    float r = leat_block_input(pass, R)[i], d_reset = leat_tensor_data(&run->of_state, float)[i];
    leat_block_output(pass, D_GATES)[i / cells * 2 * cells + i % cells] =
        d_reset * leat_block_input(pass, H_PREV)[i] * r * (1 - r);
    leat_block_output(pass, D_H_PREV)[i] =
        leat_block_input(pass, D_H)[i] * leat_block_input(pass, U)[i] + d_reset * r;
  }
}

// Adds what x and h_prev get through the gates.
static void add_products(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const leat_block_sizes_t s = run->pass.sizes;
  float *d_x = leat_block_output(&run->pass, D_X), *d_h = leat_block_output(&run->pass, D_H_PREV);
  const float* of_x = leat_tensor_data(&run->of_x, const float);
  const float* of_state = leat_tensor_data(&run->of_state, const float);
  for (int64_t i = begin * s.inputs; i < end * s.inputs; ++i) d_x[i] += of_x[i];
  for (int64_t i = begin * s.cells; i < end * s.cells; ++i) d_h[i] += of_state[i];
}

static leat_status_t gru_grad__cpu(leat_kernel_context_t* c) {
  static const char* const kOutputs[] = {"bi", "bc", "bc", "b2"};
  run_t run = {0};
  leat_status_t status = begin(c, "bi bc w2 wc 2 c bc bc bc bc", &run);
  for (int i = D_X; i <= D_GATES && !status; ++i) {
    status = leat_block_pass_allocate(c, &run.pass, i, kOutputs[i]);
  }
  const leat_block_sizes_t s = run.pass.sizes;
  if (!status) status = leat_block_allocate_temporary(c, 1, s.batch, s.inputs, &run.of_x);
  if (!status) status = leat_block_allocate_temporary(c, 1, s.batch, s.cells, &run.of_state);
  if (!status) {
    run_rows(c, &run, differentiate_candidate);
    multiply_back(c, &run, W_C, leat_block_output(&run.pass, D_C_BAR), s.cells,
                  leat_block_output(&run.pass, D_X));
    run_rows(c, &run, differentiate_reset);
    multiply_back(c, &run, W_RU, leat_block_output(&run.pass, D_GATES), 2 * s.cells,
                  leat_tensor_data(&run.of_x, float));
    run_rows(c, &run, add_products);
  }
  return end(c, &run, status);
}

const leat_kernel_row_t leat_gru_kernels_cpu[] = {
    {.op = "GRUBlockCell", .device_type = "CPU", .compute = gru__cpu, .expensive = true},
    {.op = "GRUBlockCellGrad", .device_type = "CPU", .compute = gru_grad__cpu, .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
