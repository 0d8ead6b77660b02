// Cases of the recurrent cells that are one op: LSTMBlockCell, BlockLSTM, BlockLSTMV2 and
// GRUBlockCell. The references below compute in double, one element of a gate at a time, by the
// equations of the cells, and share nothing with the kernels, which multiply whole matrices. Inputs
// are random, so that two gates, weights or steps that are exchanged show, and so does a state of
// the wrong step. Other cases have peepholes, limits that are reached, halves, no inputs, steps
// beyond the given length, which must be 0, and so many rows that products with x do not fit at
// once. Inputs of other sizes must be refused before they are read. Gradients are compared with
// those of the ordinary cells in python/tests/block_cells_test.py.
#include <math.h>

#include "op_harness/op_harness.h"

static double sigmoid(double x) { return 1 / (1 + exp(-x)); }

// The sum of [x, h] times column |column| of |w|, which has |columns|, plus the bias.
static double gate_of(const double* x, int64_t inputs, const double* h, int64_t cells,
                      const double* w, const double* bias, int64_t columns, int64_t column) {
  double sum = bias[column];
  for (int64_t k = 0; k < inputs; ++k) sum += x[k] * w[k * columns + column];
  for (int64_t k = 0; k < cells; ++k) sum += h[k] * w[(inputs + k) * columns + column];
  return sum;
}

// The three forward ops. |order| has the positions of the gates i, ci, f and o.
static void lstm(const leat_reference_t* r, int first, const int order[4], double forget_bias,
                 double clip, bool peeps) {
  const double* const* in = r->in + first;
  const leat_shape_t* x = &r->inputs[first].shape;
  const int64_t steps = first ? leat_shape_dim(x, 0) : 1, batch = leat_shape_dim(x, first);
  const int64_t inputs = leat_shape_dim(x, first + 1);
  const int64_t columns = r->inputs[first + 7].shape.element_count;
  const int64_t cells = columns / 4, length = first ? (int64_t)r->in[0][0] : 1;
  for (int i = 0; i < 7; ++i) {
    memset(r->out[i], 0, (size_t)(steps * batch * cells) * sizeof(double));
  }
  for (int64_t at = 0; at < length * batch * cells; ++at) {
    const int64_t row = at / cells, k = at % cells, before = (row - batch) * cells;
    const double* h = row < batch ? in[2] + row * cells : r->out[6] + before;
    const double cs_prev = row < batch ? in[1][at] : r->out[1][before + k];
    double z[4];
    for (int gate = 0; gate < 4; ++gate) {
      z[gate] = gate_of(in[0] + row * inputs, inputs, h, cells, in[3], in[7], columns,
                        order[gate] * cells + k);
    }
    const double i = sigmoid(z[0] + peeps * in[4][k] * cs_prev), ci = tanh(z[1]);
    const double f = sigmoid(z[2] + forget_bias + peeps * in[5][k] * cs_prev);
    const double sum = i * ci + f * cs_prev;
    const double cs = isnan(sum) ? sum : fmin(fmax(sum, -clip), clip);
    const double o = sigmoid(z[3] + peeps * in[6][k] * cs), co = tanh(cs);
    const double values[] = {i, cs, f, o, ci, co, o * co};
    for (int n = 0; n < 7; ++n) r->out[n][at] = values[n];
  }
}

static const int kOrder[] = {0, 1, 2, 3}, kOrderV2[] = {0, 2, 1, 3};

static void cell_reference(const leat_reference_t* r) { lstm(r, 0, kOrder, 1, 3, false); }
static void peephole_reference(const leat_reference_t* r) { lstm(r, 0, kOrder, 0.5, 0.4, true); }
static void block_reference(const leat_reference_t* r) { lstm(r, 1, kOrder, 1, 3, true); }
static void block_v2_reference(const leat_reference_t* r) { lstm(r, 1, kOrderV2, 0, 0.3, true); }

static void gru_reference(const leat_reference_t* r) {
  const int64_t cells = r->inputs[5].shape.element_count;
  const int64_t inputs = leat_shape_dim(&r->inputs[0].shape, 1);
  const int64_t batch = leat_shape_dim(&r->inputs[0].shape, 0);
  for (int64_t row = 0; row < batch; ++row) {
    const double *x = r->in[0] + row * inputs, *h_prev = r->in[1] + row * cells;
    double reset[8];
    for (int64_t k = 0; k < cells; ++k) {
      const int64_t at = row * cells + k;
      r->out[0][at] = sigmoid(gate_of(x, inputs, h_prev, cells, r->in[2], r->in[4], 2 * cells, k));
      r->out[1][at] =
          sigmoid(gate_of(x, inputs, h_prev, cells, r->in[2], r->in[4], 2 * cells, cells + k));
      reset[k] = r->out[0][at] * h_prev[k];
    }
    for (int64_t k = 0; k < cells; ++k) {
      const int64_t at = row * cells + k;
      r->out[2][at] = tanh(gate_of(x, inputs, reset, cells, r->in[3], r->in[5], cells, k));
      r->out[3][at] = r->out[1][at] * h_prev[k] + (1 - r->out[1][at]) * r->out[2][at];
    }
  }
}

#define F(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -1, 1)
// Weights and biases of a cell with |inputs| and |cells|.
#define CELL(batch, inputs, cells)                                                            \
  F(batch, cells), F(batch, cells), F(inputs + cells, 4 * cells), F(cells), F(cells), F(cells), \
      F(4 * cells)
#define LENGTH(n) LEAT_SCALAR_ITEM(INT64, n)
#define PEEPHOLES LEAT_CASE_BOOL("use_peephole", true)
#define HALF .types = LEAT_DTYPE_BIT(HALF), .tolerance = 1e-2

static const leat_op_case_t kCases[] = {
    {.op = "LSTMBlockCell", .inputs = {F(3, 5), CELL(3, 5, 4)}, .reference = cell_reference},
    {.op = "LSTMBlockCell",
     .name = "peepholes and a limit",
     .attrs = {PEEPHOLES, LEAT_CASE_REAL("forget_bias", 0.5), LEAT_CASE_REAL("cell_clip", 0.4f)},
     .inputs = {F(2, 3), CELL(2, 3, 19)},
     HALF,
     .reference = peephole_reference},
    {.op = "LSTMBlockCell",
     .name = "a limit does not hide NaN",
     .attrs = {PEEPHOLES, LEAT_CASE_REAL("forget_bias", 0.5), LEAT_CASE_REAL("cell_clip", 0.4f)},
     .inputs = {F(1, 3), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), NAN, 1), F(1, 2), F(5, 8), F(2), F(2),
                F(2), F(8)},
     .reference = peephole_reference},
    {.op = "LSTMBlockCell",
     .name = "no inputs",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), CELL(2, 0, 3)},
     .reference = cell_reference},
    {.op = "LSTMBlockCell",
     .name = "no batch",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), F(5, 8), F(2), F(2), F(2), F(8)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "is empty"},
    {.op = "LSTMBlockCell",
     .name = "weights of another size",
     .inputs = {F(2, 3), F(2, 2), F(2, 2), F(4, 8), F(2), F(2), F(2), F(8)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "input 3 has shape [4,8]"},
    {.op = "LSTMBlockCell",
     .name = "peepholes of another size",
     .attrs = {PEEPHOLES},
     .inputs = {F(2, 3), F(2, 2), F(2, 2), F(5, 8), F(2), F(1), F(2), F(8)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BlockLSTM",
     .attrs = {PEEPHOLES},
     .inputs = {LENGTH(5), F(5, 2, 3), CELL(2, 3, 4)},
     .reference = block_reference},
    {.op = "BlockLSTM",
     .name = "shorter than x",
     .attrs = {PEEPHOLES},
     .inputs = {LENGTH(2), F(4, 2, 3), CELL(2, 3, 4)},
     .reference = block_reference},
    {.op = "BlockLSTM",
     .name = "longer than x",
     .inputs = {LENGTH(5), F(4, 2, 3), CELL(2, 3, 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "seq_len_max is 5"},
    {.op = "BlockLSTM",
     .name = "a negative length",
     .inputs = {LENGTH(-1), F(4, 2, 3), CELL(2, 3, 4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "seq_len_max is -1"},
    {.op = "BlockLSTM",
     .name = "products in two pieces",
     .attrs = {PEEPHOLES},
     .inputs = {LENGTH(3), F(3, 1000, 1), CELL(1000, 1, 100)},
     .reference = block_reference},
    {.op = "BlockLSTMV2",
     .attrs = {PEEPHOLES, LEAT_CASE_REAL("cell_clip", 0.3f)},
     .inputs = {LENGTH(3), F(3, 2, 3), CELL(2, 3, 4)},
     .reference = block_v2_reference},
    {.op = "GRUBlockCell",
     .inputs = {F(3, 5), F(3, 4), F(9, 8), F(9, 4), F(8), F(4)},
     .reference = gru_reference},
    {.op = "GRUBlockCell",
     .name = "a bias of another size",
     .inputs = {F(3, 5), F(3, 4), F(9, 8), F(9, 4), F(7), F(4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "input 4 has shape [7]"},
};

LEAT_OP_TEST_MAIN(kCases)
