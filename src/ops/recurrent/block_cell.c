// Definitions of recurrent cells as single ops. A cell in Python is about twenty nodes; here one
// node is a cell, or, for the ops Block*, a cell that runs over a whole sequence.
//
//   x [batch, inputs], cs_prev and h_prev [batch, cells], w [inputs + cells, 4 cells],
//   wci, wcf and wco [cells], b [4 cells] -> i, cs, f, o, ci, co and h [batch, cells]
//
// In the ops over sequences x and the outputs have a dimension [time] in front. The four gates are
// the columns of w in the order input, cell input, forget, output; BlockLSTMV2 has the forget gate
// before the cell input and no forget_bias. The weights wci, wcf and wco count only where
// use_peephole is set. GRUBlockCell has two matrices: w_ru [inputs + cells, 2 cells] for the reset
// and the update gate, w_c [inputs + cells, cells] for the candidate.
//
// The gradient op of a cell gives the gradients of its gates before the activations. From these the
// gradient functions below compute the gradients of inputs, weights and biases by ordinary nodes.
// The gradient op of a sequence does it all. lstm_cpu.c and gru_cpu.c have the kernels.
#include "graph/gradient.h"
#include "graph/inference/inference.h"
#include "ops/op_rows.h"

// ---- Shapes -------------------------------------------------------------------------------------

// Reads batch and cells of a cell, whose inputs x and |state| are matrices.
static leat_status_t read_cell(leat_inference_t* c, int state, int64_t out_dims[2]) {
  leat_partial_shape_t x, previous;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 0), 2, &x));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, state), 2, &previous));
  out_dims[0] = x.dims[0];
  out_dims[1] = previous.dims[1];
  return leat_ok_status();
}

static leat_status_t cell_shape(leat_inference_t* c) {
  int64_t dims[2];
  leat_partial_shape_t output;
  LEAT_RETURN_IF_ERROR(read_cell(c, 1, dims));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, dims, &output));
  for (int i = 0; i < c->node->output_count; ++i) leat_inference_set_output(c, i, output);
  return leat_ok_status();
}

// Sets output |index| to [dims[0], factor dims[1]].
static leat_status_t set_gates(leat_inference_t* c, int index, const int64_t dims[2], int factor) {
  int64_t gates[2] = {dims[0], 0};
  leat_partial_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_inference_multiply(dims[1], factor, &gates[1]));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 2, gates, &shape));
  leat_inference_set_output(c, index, shape);
  return leat_ok_status();
}

static leat_status_t lstm_cell_grad_shape(leat_inference_t* c) {
  int64_t dims[2];
  leat_partial_shape_t weights;
  LEAT_RETURN_IF_ERROR(read_cell(c, 1, dims));
  LEAT_RETURN_IF_ERROR(set_gates(c, 0, dims, 1));
  LEAT_RETURN_IF_ERROR(set_gates(c, 1, dims, 4));
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 1, &dims[1], &weights));
  for (int i = 2; i < 5; ++i) leat_inference_set_output(c, i, weights);
  return leat_ok_status();
}

static leat_status_t gru_cell_grad_shape(leat_inference_t* c) {
  int64_t dims[2];
  leat_partial_shape_t weights;
  LEAT_RETURN_IF_ERROR(read_cell(c, 1, dims));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 2), 2, &weights));
  leat_inference_set_output(c, 0, leat_inference_input(c, 0));
  LEAT_RETURN_IF_ERROR(set_gates(c, 1, dims, 1));
  LEAT_RETURN_IF_ERROR(set_gates(c, 2, dims, 1));
  return set_gates(c, 3, dims, 2);
}

// The number of cells is a quarter of the length of b, the last input.
static leat_status_t block_shape(leat_inference_t* c) {
  leat_partial_shape_t x, b, output;
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 1), 3, &x));
  LEAT_RETURN_IF_ERROR(leat_inference_with_rank(c, leat_inference_input(c, 8), 1, &b));
  if (b.dims[0] % 4 != 0 && b.dims[0] != LEAT_DIM_UNKNOWN) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "b has %lld elements, must be divisible by 4",
                            (long long)b.dims[0]);
  }
  int64_t cells = b.dims[0] == LEAT_DIM_UNKNOWN ? LEAT_DIM_UNKNOWN : b.dims[0] / 4;
  int64_t dims[3] = {x.dims[0], x.dims[1], cells};
  LEAT_RETURN_IF_ERROR(leat_inference_make(c, 3, dims, &output));
  for (int i = 0; i < c->node->output_count; ++i) leat_inference_set_output(c, i, output);
  return leat_ok_status();
}

// The outputs are the gradients of inputs 1 to 8.
static leat_status_t block_grad_shape(leat_inference_t* c) {
  static const int8_t kRanks[] = {3, 2, 2, 2, 1, 1, 1, 1};
  for (int i = 0; i < 8; ++i) {
    leat_partial_shape_t input;
    LEAT_RETURN_IF_ERROR(
        leat_inference_with_rank(c, leat_inference_input(c, 1 + i), kRanks[i], &input));
    leat_inference_set_output(c, i, input);
  }
  return leat_ok_status();
}

// ---- Gradients ----------------------------------------------------------------------------------

static leat_attr_t copied_attr(const leat_gradient_t* g, const char* name) {
  const leat_string_view_t text = leat_string_view_from(name);
  return (leat_attr_t){text, *leat_node_attr(leat_gradient_node(g), text)};
}

// Adds the gradient node |op|: it takes the |inputs| of the node, its first |outputs|, and the
// gradients of the outputs in |given| (-1 ends them).
static int32_t build_gradient(leat_gradient_t* g, const char* op, int inputs, int outputs,
                              const int* given, leat_attrs_t attrs) {
  leat_output_t items[18];
  int count = 0;
  for (int i = 0; i < inputs; ++i) items[count++] = leat_gradient_input(g, i);
  for (int i = 0; i < outputs; ++i) items[count++] = leat_gradient_output(g, i);
  for (int i = 0; given[i] >= 0; ++i) items[count++] = leat_gradient_of_output(g, given[i]);
  return leat_build_node(&g->builder, op, (leat_outputs_t){items, count}, attrs);
}

static leat_output_t concatenate_columns(leat_builder_t* b, leat_output_t left,
                                         leat_output_t right) {
  return leat_build(b, "ConcatV2",
                    LEAT_INPUTS(left, right, leat_build_scalar(b, LEAT_DTYPE_INT32, 1)),
                    LEAT_NO_ATTRS);
}

static leat_output_t sum_rows(leat_builder_t* b, leat_output_t x) {
  int32_t rows = 0;
  return leat_build_binary(b, "Sum", x, leat_build_int32_vector(b, &rows, 1));
}

// x^T y
static leat_output_t multiply_transposed(leat_builder_t* b, leat_output_t x, leat_output_t y) {
  return leat_build(b, "MatMul", LEAT_INPUTS(x, y), LEAT_ATTRS(LEAT_BOOL("transpose_a", true)));
}

// As many columns of |x| as |like| has, from column |begin| [2] on.
static leat_output_t cut_columns(leat_builder_t* b, leat_output_t x, leat_output_t begin,
                                 leat_output_t like) {
  return leat_build(b, "Slice", LEAT_INPUTS(x, begin, leat_build_shape_of(b, like)), LEAT_NO_ATTRS);
}

static leat_status_t lstm_cell_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const int32_t node =
      build_gradient(g, "LSTMBlockCellGrad", 8, 6, (const int[]){1, 6, -1},
                     LEAT_ATTRS(copied_attr(g, "use_peephole")));
  leat_output_t gates = leat_node_output(node, 1);
  leat_output_t x = leat_gradient_input(g, 0), h_prev = leat_gradient_input(g, 2);
  leat_output_t both = leat_build(b, "MatMul", LEAT_INPUTS(gates, leat_gradient_input(g, 3)),
                                  LEAT_ATTRS(LEAT_BOOL("transpose_b", true)));
  leat_output_t first = leat_build_int32_vector(b, (const int32_t[]){0, 0}, 2);
  // Behind the columns of x, at [0, inputs], are those of h_prev.
  leat_output_t second = leat_build_binary(b, "Mul", leat_build_shape_of(b, x),
                                           leat_build_int32_vector(b, (const int32_t[]){0, 1}, 2));
  leat_gradient_set_input(g, 0, cut_columns(b, both, first, x));
  leat_gradient_set_input(g, 1, leat_node_output(node, 0));
  leat_gradient_set_input(g, 2, cut_columns(b, both, second, h_prev));
  leat_gradient_set_input(g, 3, multiply_transposed(b, concatenate_columns(b, x, h_prev), gates));
  for (int i = 0; i < 3; ++i) leat_gradient_set_input(g, 4 + i, leat_node_output(node, 2 + i));
  leat_gradient_set_input(g, 7, sum_rows(b, gates));
  return leat_ok_status();
}

static leat_status_t set_block_gradient(leat_gradient_t* g, const char* op) {
  const int32_t node = build_gradient(g, op, 9, 7, (const int[]){1, 6, -1},
                                      LEAT_ATTRS(copied_attr(g, "use_peephole")));
  for (int i = 0; i < 8; ++i) leat_gradient_set_input(g, 1 + i, leat_node_output(node, i));
  return leat_ok_status();
}

static leat_status_t block_gradient(leat_gradient_t* g) {
  return set_block_gradient(g, "BlockLSTMGrad");
}
static leat_status_t block_v2_gradient(leat_gradient_t* g) {
  return set_block_gradient(g, "BlockLSTMGradV2");
}

static leat_status_t gru_cell_gradient(leat_gradient_t* g) {
  leat_builder_t* b = &g->builder;
  const int32_t node =
      build_gradient(g, "GRUBlockCellGrad", 6, 3, (const int[]){3, -1}, LEAT_NO_ATTRS);
  leat_output_t x = leat_gradient_input(g, 0), h_prev = leat_gradient_input(g, 1);
  leat_output_t candidate = leat_node_output(node, 2), gates = leat_node_output(node, 3);
  leat_output_t reset = leat_build_binary(b, "Mul", h_prev, leat_gradient_output(g, 0));
  leat_gradient_set_input(g, 0, leat_node_output(node, 0));
  leat_gradient_set_input(g, 1, leat_node_output(node, 1));
  leat_gradient_set_input(g, 2, multiply_transposed(b, concatenate_columns(b, x, h_prev), gates));
  leat_gradient_set_input(g, 3,
                          multiply_transposed(b, concatenate_columns(b, x, reset), candidate));
  leat_gradient_set_input(g, 4, sum_rows(b, gates));
  leat_gradient_set_input(g, 5, sum_rows(b, candidate));
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

#define INPUTS "x: T; cs_prev: T; h_prev: T; w: T; wci: T; wcf: T; wco: T; b: T"
#define SEQUENCE "seq_len_max: int64; " INPUTS
#define ACTIVATIONS "i: T; cs: T; f: T; o: T; ci: T; co: T"
#define CLIPPED(limit) "cell_clip: float = " limit "; use_peephole: bool = false; " TYPES
#define TYPES "T: {half, float}"

const leat_op_row_t leat_block_cell_ops[] = {
    LEAT_OP_ROW("LSTMBlockCell", INPUTS, ACTIVATIONS "; h: T",
                "forget_bias: float = 1.0; " CLIPPED("3.0"), cell_shape, lstm_cell_gradient,
                "One step of a cell of long short-term memory."),
    LEAT_OP_ROW("LSTMBlockCellGrad", INPUTS "; " ACTIVATIONS "; cs_grad: T; h_grad: T",
                "cs_prev_grad: T; dicfo: T; wci_grad: T; wcf_grad: T; wco_grad: T",
                "use_peephole: bool; " TYPES, lstm_cell_grad_shape, NULL,
                "The gradient of LSTMBlockCell with respect to its state, gates and peepholes."),
    LEAT_OP_ROW("BlockLSTM", SEQUENCE, ACTIVATIONS "; h: T",
                "forget_bias: float = 1.0; " CLIPPED("3.0"), block_shape, block_gradient,
                "A cell of long short-term memory over a sequence."),
    LEAT_OP_ROW("BlockLSTMV2", SEQUENCE, ACTIVATIONS "; h: T", CLIPPED("0.0"), block_shape,
                block_v2_gradient,
                "As BlockLSTM, with the forget gate before the cell input and no forget_bias."),
    LEAT_OP_ROW("BlockLSTMGrad", SEQUENCE "; " ACTIVATIONS "; h: T; cs_grad: T; h_grad: T",
                "x_grad: T; cs_prev_grad: T; h_prev_grad: T; w_grad: T; wci_grad: T; wcf_grad: T; "
                "wco_grad: T; b_grad: T",
                "use_peephole: bool; " TYPES, block_grad_shape, NULL, "The gradient of BlockLSTM."),
    LEAT_OP_ROW("BlockLSTMGradV2", SEQUENCE "; " ACTIVATIONS "; h: T; cs_grad: T; h_grad: T",
                "x_grad: T; cs_prev_grad: T; h_prev_grad: T; w_grad: T; wci_grad: T; wcf_grad: T; "
                "wco_grad: T; b_grad: T",
                "use_peephole: bool; " TYPES, block_grad_shape, NULL,
                "The gradient of BlockLSTMV2."),
    LEAT_OP_ROW("GRUBlockCell", "x: T; h_prev: T; w_ru: T; w_c: T; b_ru: T; b_c: T",
                "r: T; u: T; c: T; h: T", "T: {float}", cell_shape, gru_cell_gradient,
                "One step of a cell of gated recurrent units."),
    LEAT_OP_ROW("GRUBlockCellGrad",
                "x: T; h_prev: T; w_ru: T; w_c: T; b_ru: T; b_c: T; r: T; u: T; c: T; d_h: T",
                "d_x: T; d_h_prev: T; d_c_bar: T; d_r_bar_u_bar: T", "T: {float}",
                gru_cell_grad_shape, NULL,
                "The gradient of GRUBlockCell with respect to inputs, state and gates."),
    LEAT_OP_ROWS_END,
};
