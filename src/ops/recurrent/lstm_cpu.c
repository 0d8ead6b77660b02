// CPU kernels of cells of long short-term memory, one step or a whole sequence, and their
// gradients. With s the sigmoid, z = [x, h_prev] w + b, and p the peephole weights, which count
// only where use_peephole is set:
//
//   i = s(z_i + p_i cs_prev)      f = s(z_f + forget_bias + p_f cs_prev)      ci = tanh(z_ci)
//   cs = clip(i ci + f cs_prev)   o = s(z_o + p_o cs)   co = tanh(cs)   h = o co
//
// A step is a sequence of length 1. In a sequence the product x w_x does not depend on earlier
// steps, so it is one large matrix product for many steps; only h_prev w_h is left to each step.
// The backward pass likewise stores the gradients of the gates of all steps, and computes from them
// the gradients of x and w by one product each. The gradients let clipping pass, as TensorFlow's
// do. Steps at seq_len_max and behind it are not computed: outputs and gradients are 0 there.
#include "base/checked.h"
#include "device/cpu/vector_math.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/recurrent/block_pass_cpu.h"

typedef struct lstm_s {
  bool is_sequence, use_peephole;
  float forget_bias, cell_clip;  // a limit of 0 or less is none
  int input, cell_input, forget, output;  // positions of the gates among the columns of w
} lstm_t;

// The inputs x, cs_prev, ..., b follow one another from |first| on: behind seq_len_max in a
// sequence. The activations i, cs, f, o, ci, co and h are the outputs of a forward pass, and inputs
// of a gradient.
enum { X, CS_PREV, H_PREV, W, WCI, WCF, WCO, B };
enum { I, CS, F, O, CI, CO, H };

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  *(lstm_t*)memory = (lstm_t){.input = 0, .cell_input = 1, .forget = 2, .output = 3};
  return leat_kernel_attr_bool(c, "use_peephole", &((lstm_t*)memory)->use_peephole);
}
static leat_status_t create_sequence_grad(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create(c, memory));
  ((lstm_t*)memory)->is_sequence = true;
  return leat_ok_status();
}
static leat_status_t create_v2_grad(leat_kernel_creation_t* c, void* memory) {
  lstm_t* lstm = memory;
  LEAT_RETURN_IF_ERROR(create_sequence_grad(c, memory));
  lstm->cell_input = 2;
  lstm->forget = 1;
  return leat_ok_status();
}
static leat_status_t create_step(leat_kernel_creation_t* c, void* memory) {
  lstm_t* lstm = memory;
  LEAT_RETURN_IF_ERROR(create(c, memory));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_float(c, "forget_bias", &lstm->forget_bias));
  return leat_kernel_attr_float(c, "cell_clip", &lstm->cell_clip);
}
static leat_status_t create_sequence(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create_step(c, memory));
  ((lstm_t*)memory)->is_sequence = true;
  return leat_ok_status();
}
static leat_status_t create_v2(leat_kernel_creation_t* c, void* memory) {
  LEAT_RETURN_IF_ERROR(create_v2_grad(c, memory));
  return leat_kernel_attr_float(c, "cell_clip", &((lstm_t*)memory)->cell_clip);
}

// ---- Both directions ----------------------------------------------------------------------------

// A pass over the tensors of one node.
typedef struct run_s {
  const lstm_t* lstm;
  leat_block_pass_t pass;
  int first;       // the position of x among the inputs
  int64_t length;  // the number of steps to compute
  leat_tensor_t gates;    // [steps, batch, 4 cells]; of some steps in a forward pass
  leat_tensor_t product;  // h_prev w_h of the step [batch, 4 cells]
  // Of the step that is computed.
  int64_t step;
  float* step_gates;
  // Gradients only.
  leat_tensor_t previous;  // [steps, batch, cells]: the h_prev of each step
  // [batch, cells]: what the later step adds to the gradients of cs and h.
  float* carried_cs;
  leat_tensor_t carried_h;
} run_t;

static const float* input_of(const run_t* run, int which) {
  return leat_block_input(&run->pass, run->first + which);
}

// Reads the sizes and the length of the sequence, and checks inputs x to b.
static leat_status_t begin(leat_kernel_context_t* c, run_t* run) {
  const lstm_t* lstm = run->lstm = leat_kernel_state(c);
  leat_block_sizes_t* sizes = &run->pass.sizes;
  run->first = lstm->is_sequence;
  LEAT_RETURN_IF_ERROR(leat_block_sizes_read(c, run->first + X, run->first + CS_PREV,
                                             lstm->is_sequence, sizes));
  run->length = sizes->steps;
  if (!lstm->is_sequence) {
    if (sizes->batch == 0 || sizes->cells == 0) {
      return leat_kernel_invalid(c, "cs_prev_tensor is empty, has shape: %s",
                                 LEAT_SHAPE_TEXT(&leat_kernel_input(c, CS_PREV)->shape));
    }
    return leat_block_sizes_check(
        c, 0, lstm->use_peephole ? "bi bc bc w4 c c c 4" : "bi bc bc w4 * * * 4", sizes);
  }
  if (leat_kernel_input(c, 0)->shape.rank != 0) {
    return leat_kernel_invalid(c, "seq_len_max has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&leat_kernel_input(c, 0)->shape));
  }
  run->length = leat_tensor_index_at(leat_kernel_input(c, 0), 0);
  if (run->length < 0 || run->length > sizes->steps) {
    return leat_kernel_invalid(c, "seq_len_max is %lld, must be in [0, %lld], the length of x",
                               (long long)run->length, (long long)sizes->steps);
  }
  return leat_block_sizes_check(c, 1, "tbi bc bc w4 c c c 4", sizes);
}

static leat_status_t end(leat_kernel_context_t* c, run_t* run, leat_status_t status) {
  leat_tensor_release(&run->gates);
  leat_tensor_release(&run->product);
  leat_tensor_release(&run->carried_h);
  leat_tensor_release(&run->previous);
  return leat_block_pass_end(c, &run->pass, status);
}

// Where row |row| of a step begins in [steps, batch, cells].
static int64_t row_at(const run_t* run, int64_t step, int64_t row) {
  return (step * run->pass.sizes.batch + row) * run->pass.sizes.cells;
}
// The state before the step that is computed: |initial|, an input, or the row of the step before in
// |later|.
static const float* state_before(const run_t* run, const float* initial, const float* later,
                                 int64_t row) {
  return run->step == 0 ? initial + row_at(run, 0, row) : later + row_at(run, run->step - 1, row);
}

#define ELEMENT_NS 8.0  // of all that a step does for one cell besides the products

// ---- Forward ------------------------------------------------------------------------------------

// Computes rows [begin, end) of the batch, whose products lie in step_gates and product.
static void activate_rows(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const lstm_t* lstm = run->lstm;
  const leat_vector_math_t* math = leat_vector_math();
  const leat_block_pass_t* pass = &run->pass;
  const int64_t cells = pass->sizes.cells;
  const float *wci = input_of(run, WCI), *wcf = input_of(run, WCF), *wco = input_of(run, WCO);
  const float* bias = input_of(run, B);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row_at(run, run->step, row);
    const float* before =
        state_before(run, input_of(run, CS_PREV), leat_block_output(pass, CS), row);
    float *i = leat_block_output(pass, I) + at, *cs = leat_block_output(pass, CS) + at,
          *f = leat_block_output(pass, F) + at, *o = leat_block_output(pass, O) + at,
          *ci = leat_block_output(pass, CI) + at, *co = leat_block_output(pass, CO) + at,
          *h = leat_block_output(pass, H) + at;
    float* gates = run->step_gates + 4 * row * cells;
    const float* product = leat_tensor_data(&run->product, const float) + 4 * row * cells;
    for (int64_t k = 0; k < 4 * cells; ++k) gates[k] += product[k] + bias[k];
    for (int64_t k = 0; k < cells; ++k) {
      i[k] = gates[lstm->input * cells + k] + (lstm->use_peephole ? wci[k] * before[k] : 0);
      f[k] = gates[lstm->forget * cells + k] + lstm->forget_bias +
             (lstm->use_peephole ? wcf[k] * before[k] : 0);
    }
    math->sigmoid_f32(i, i, cells);
    math->sigmoid_f32(f, f, cells);
    math->tanh_f32(gates + lstm->cell_input * cells, ci, cells);
    for (int64_t k = 0; k < cells; ++k) {
      float sum = i[k] * ci[k] + f[k] * before[k];
      if (lstm->cell_clip > 0) {
        const float most = sum > lstm->cell_clip ? lstm->cell_clip : sum;  // NaN stays NaN
        sum = most < -lstm->cell_clip ? -lstm->cell_clip : most;
      }
      cs[k] = sum;
      o[k] = gates[lstm->output * cells + k] + (lstm->use_peephole ? wco[k] * sum : 0);
    }
    math->sigmoid_f32(o, o, cells);
    math->tanh_f32(cs, co, cells);
    for (int64_t k = 0; k < cells; ++k) h[k] = o[k] * co[k];
  }
}

// The steps whose products with x are computed at once: their gates take up to so many floats.
#define MOST_GATES (1 << 20)

static leat_status_t run_steps(leat_kernel_context_t* c, run_t* run) {
  const leat_block_sizes_t s = run->pass.sizes;
  const int64_t step_size = LEAT_MAX(1, 4 * s.batch * s.cells);
  const int64_t at_once = LEAT_MAX(1, LEAT_MIN(run->length, MOST_GATES / step_size));
  const float *w = input_of(run, W), *w_h = w + 4 * s.inputs * s.cells;
  LEAT_RETURN_IF_ERROR(
      leat_block_allocate_temporary(c, at_once, s.batch, 4 * s.cells, &run->gates));
  LEAT_RETURN_IF_ERROR(leat_block_allocate_temporary(c, 1, s.batch, 4 * s.cells, &run->product));
  float* gates = leat_tensor_data(&run->gates, float);
  for (int64_t step = 0; step < run->length; ++step) {
    LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    const int64_t place = step % at_once;
    if (place == 0) {
      const int64_t rows = LEAT_MIN(at_once, run->length - step) * s.batch;
      leat_block_multiply(c, input_of(run, X) + step * s.batch * s.inputs, w, false, 4 * s.cells,
                          rows, 4 * s.cells, s.inputs, gates);
    }
    run->step = step;
    run->step_gates = gates + 4 * row_at(run, place, 0);
    leat_block_multiply(
        c, state_before(run, input_of(run, H_PREV), leat_block_output(&run->pass, H), 0), w_h,
        false, 4 * s.cells, s.batch, 4 * s.cells, s.cells,
        leat_tensor_data(&run->product, float));
    leat_kernel_parallel_for(c, s.batch, ELEMENT_NS * (double)s.cells, activate_rows, run);
  }
  return leat_ok_status();
}

static leat_status_t lstm__cpu(leat_kernel_context_t* c) {
  run_t run = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &run));
  leat_status_t status = leat_block_pass_begin(c, run.first, &run.pass);
  for (int i = 0; i <= H && !status; ++i) {
    status = leat_block_pass_allocate(c, &run.pass, i, run.lstm->is_sequence ? "tbc" : "bc");
    if (!status && run.length < run.pass.sizes.steps) {
      leat_tensor_fill_zero(&run.pass.outputs[i]);
    }
  }
  if (!status) status = run_steps(c, &run);
  return end(c, &run, status);
}

// ---- Backward -----------------------------------------------------------------------------------

// Computes the gradients of the gates of rows [begin, end) of the batch into step_gates, and
// replaces the row of carried_cs by what the step before gets.
static void differentiate_rows(void* data, int64_t begin, int64_t end) {
  const run_t* run = data;
  const lstm_t* lstm = run->lstm;
  const int64_t cells = run->pass.sizes.cells;
  const int activations = run->first + B + 1, grads = activations + (run->first ? H : CO) + 1;
  const float *wci = input_of(run, WCI), *wcf = input_of(run, WCF), *wco = input_of(run, WCO);
  const bool peeps = lstm->use_peephole;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t at = row_at(run, run->step, row);
    const float* values[CO + 1];
    for (int k = 0; k <= CO; ++k) values[k] = leat_block_input(&run->pass, activations + k) + at;
    const float *i = values[I], *f = values[F], *o = values[O], *ci = values[CI],
                *co = values[CO];
    const float* before = state_before(run, input_of(run, CS_PREV),
                                       leat_block_input(&run->pass, activations + CS), row);
    const float* cs_grad = leat_block_input(&run->pass, grads) + at;
    const float* h_grad = leat_block_input(&run->pass, grads + 1) + at;
    float* carried_cs = run->carried_cs + row * cells;
    const float* carried_h = leat_tensor_data(&run->carried_h, const float) + row * cells;
    float* gates = run->step_gates + 4 * row * cells;
    for (int64_t k = 0; k < cells; ++k) {
      float dh = h_grad[k] + carried_h[k];
      float d_output = o[k] * (1 - o[k]) * dh * co[k];
      float dcs = (1 - co[k] * co[k]) * dh * o[k] + cs_grad[k] + carried_cs[k];
      if (peeps) dcs += d_output * wco[k];
      float d_forget = f[k] * (1 - f[k]) * dcs * before[k];
      float d_input = i[k] * (1 - i[k]) * dcs * ci[k];
      gates[lstm->input * cells + k] = d_input;
      gates[lstm->cell_input * cells + k] = (1 - ci[k] * ci[k]) * dcs * i[k];
      gates[lstm->forget * cells + k] = d_forget;
      gates[lstm->output * cells + k] = d_output;
      carried_cs[k] = dcs * f[k] + (peeps ? d_input * wci[k] + d_forget * wcf[k] : 0);
    }
  }
}

// Adds to |sums| [cells] the gate at |position| times |factor| [batch, cells], over the rows of the
// step; the gate alone where |factor| is NULL.
static void add_gate(const run_t* run, int position, const float* factor, float* sums) {
  const int64_t cells = run->pass.sizes.cells;
  for (int64_t row = 0; row < run->pass.sizes.batch; ++row) {
    const float* gate = run->step_gates + (4 * row + position) * cells;
    for (int64_t k = 0; k < cells; ++k) {
      sums[k] += factor ? gate[k] * factor[row * cells + k] : gate[k];
    }
  }
}

// Adds the step to the gradients of the peephole weights, which are the outputs from |first| on.
static void add_peepholes(run_t* run, int first) {
  if (!run->lstm->use_peephole) return;
  const float* cs = leat_block_input(&run->pass, run->first + B + 1 + CS);
  const float* before = state_before(run, input_of(run, CS_PREV), cs, 0);
  add_gate(run, run->lstm->input, before, leat_block_output(&run->pass, first));
  add_gate(run, run->lstm->forget, before, leat_block_output(&run->pass, first + 1));
  add_gate(run, run->lstm->output, cs + row_at(run, run->step, 0),
           leat_block_output(&run->pass, first + 2));
}

static leat_status_t lstm_grad__cpu(leat_kernel_context_t* c) {
  static const char* const kOutputs[] = {"bc", "b4", "c", "c", "c"};
  run_t run = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &run));
  LEAT_RETURN_IF_ERROR(
      leat_block_sizes_check(c, B + 1, "bc bc bc bc bc bc bc bc", &run.pass.sizes));
  leat_status_t status = leat_block_pass_begin(c, 0, &run.pass);
  for (int i = 0; i < 5 && !status; ++i) {
    status = leat_block_pass_allocate(c, &run.pass, i, kOutputs[i]);
    if (!status) leat_tensor_fill_zero(&run.pass.outputs[i]);
  }
  const leat_block_sizes_t s = run.pass.sizes;
  if (!status) status = leat_block_allocate_temporary(c, 1, s.batch, s.cells, &run.carried_h);
  if (!status) {
    leat_tensor_fill_zero(&run.carried_h);
    run.carried_cs = leat_block_output(&run.pass, 0);
    run.step_gates = leat_block_output(&run.pass, 1);
    leat_kernel_parallel_for(c, s.batch, ELEMENT_NS * (double)s.cells, differentiate_rows, &run);
    add_peepholes(&run, 2);
  }
  return end(c, &run, status);
}

// The outputs of the gradient of a sequence.
enum { X_GRAD, CS_PREV_GRAD, H_PREV_GRAD, W_GRAD, WCI_GRAD, WCF_GRAD, WCO_GRAD, B_GRAD };

// From the last step to the first: the gradients of the gates, the states and the vectors.
static leat_status_t run_back(leat_kernel_context_t* c, run_t* run) {
  const leat_block_sizes_t s = run->pass.sizes;
  const float* w_h = input_of(run, W) + 4 * s.inputs * s.cells;
  run->carried_cs = leat_block_output(&run->pass, CS_PREV_GRAD);
  for (run->step = run->length; run->step-- > 0;) {
    LEAT_RETURN_IF_ERROR(leat_step_check(c->services, true));
    run->step_gates = leat_tensor_data(&run->gates, float) + 4 * row_at(run, run->step, 0);
    leat_kernel_parallel_for(c, s.batch, ELEMENT_NS * (double)s.cells, differentiate_rows, run);
    leat_block_multiply(c, run->step_gates, w_h, true, 4 * s.cells, s.batch, s.cells, 4 * s.cells,
                        leat_tensor_data(&run->carried_h, float));
    add_peepholes(run, WCI_GRAD);
    for (int gate = 0; gate < 4; ++gate) {
      add_gate(run, gate, NULL, leat_block_output(&run->pass, B_GRAD) + gate * s.cells);
    }
  }
  return leat_ok_status();
}

// The gradients of x and w: products over all steps. The rows of w for h_prev need the state before
// each step, which is h one step later, with h_prev at its begin.
static leat_status_t multiply_back(leat_kernel_context_t* c, run_t* run) {
  const leat_block_sizes_t s = run->pass.sizes;
  const int64_t rows = run->length * s.batch, state = s.batch * s.cells;
  const float* gates = leat_tensor_data(&run->gates, const float);
  float* w_grad = leat_block_output(&run->pass, W_GRAD);
  leat_block_multiply(c, gates, input_of(run, W), true, 4 * s.cells, rows, s.inputs, 4 * s.cells,
                      leat_block_output(&run->pass, X_GRAD));
  if (run->length == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_block_allocate_temporary(c, run->length, s.batch, s.cells, &run->previous));
  float* previous = leat_tensor_data(&run->previous, float);
  if (state > 0) {
    memcpy(previous, input_of(run, H_PREV), (size_t)state * sizeof(float));
    memcpy(previous + state, leat_block_input(&run->pass, run->first + B + 1 + H),
           (size_t)((run->length - 1) * state) * sizeof(float));
  }
  leat_block_multiply_transposed(c, input_of(run, X), gates, s.inputs, 4 * s.cells, rows, w_grad);
  leat_block_multiply_transposed(c, previous, gates, s.cells, 4 * s.cells, rows,
                                 w_grad + 4 * s.inputs * s.cells);
  return leat_ok_status();
}

static leat_status_t sequence_grad__cpu(leat_kernel_context_t* c) {
  static const char* const kOutputs[] = {"tbi", "bc", "bc", "w4", "c", "c", "c", "4"};
  run_t run = {0};
  LEAT_RETURN_IF_ERROR(begin(c, &run));
  LEAT_RETURN_IF_ERROR(leat_block_sizes_check(c, 1 + B + 1, "tbc tbc tbc tbc tbc tbc tbc tbc tbc",
                                              &run.pass.sizes));
  leat_status_t status = leat_block_pass_begin(c, 1, &run.pass);
  for (int i = 0; i <= B_GRAD && !status; ++i) {
    status = leat_block_pass_allocate(c, &run.pass, i, kOutputs[i]);
    if (!status) leat_tensor_fill_zero(&run.pass.outputs[i]);
  }
  const leat_block_sizes_t s = run.pass.sizes;
  if (!status) {
    status = leat_block_allocate_temporary(c, LEAT_MAX(run.length, 1), s.batch, 4 * s.cells,
                                           &run.gates);
  }
  // What the later step adds to the gradient of h ends as the gradient of h_prev.
  if (!status) run.carried_h = leat_tensor_share(&run.pass.outputs[H_PREV_GRAD]);
  if (!status) status = run_back(c, &run);
  if (!status) status = multiply_back(c, &run);
  return end(c, &run, status);
}

#define ROW(op_name, create_fn, fn) \
  LEAT_CPU_KERNEL(op_name, "T: half, float", lstm_t, create_fn, fn, .expensive = true)

const leat_kernel_row_t leat_lstm_kernels_cpu[] = {
    ROW("LSTMBlockCell", create_step, lstm__cpu),
    ROW("LSTMBlockCellGrad", create, lstm_grad__cpu),
    ROW("BlockLSTM", create_sequence, lstm__cpu),
    ROW("BlockLSTMV2", create_v2, lstm__cpu),
    ROW("BlockLSTMGrad", create_sequence_grad, sequence_grad__cpu),
    ROW("BlockLSTMGradV2", create_v2_grad, sequence_grad__cpu),
    LEAT_KERNEL_ROWS_END,
};
