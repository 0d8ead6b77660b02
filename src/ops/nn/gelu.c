// Recognizes a GELU in the nodes in front of a Mul (gelu.h). A product is associative here: a tree
// of Muls is the list of its factors, whatever the order, so that one list stands for all spellings
// of it. That changes roundings, and the one node that replaces the tree rounds elsewhere as well:
// a GELU is the only epilogue that is not bit for bit that of the nodes (docs/decisions/0020).
//
// Everything found is noted in |way|, since the new node must wait for whatever those nodes wait
// for. A value that is read by no other node than them vanishes with them. Readers are looked for
// last, in one walk over the graph, because only a GELU comes that far.
#include "ops/nn/gelu.h"

#include <math.h>
#include <string.h>

#define MAX_FACTORS 5

// The factors of a product: the values that are no Muls.
typedef struct factors_s {
  leat_output_t items[MAX_FACTORS];
  int count;
} factors_t;

static bool is_op(const leat_rewrite_match_t* m, leat_output_t output, const char* op) {
  return leat_string_view_equals(leat_graph_node(m->graph, output.node)->op->name, op);
}

static bool is_on_way(const leat_gelu_t* gelu, int32_t node) {
  for (int i = 0; i < gelu->way.count; ++i) {
    if (gelu->way.nodes[i] == node) return true;
  }
  return false;
}

// Notes a node that the new one does not read. False where it may not be bypassed.
static bool pass(const leat_rewrite_match_t* m, int32_t node, leat_gelu_t* gelu) {
  if (is_on_way(gelu, node)) return true;
  if (gelu->way.count == LEAT_REWRITE_WAY_LENGTH || !m->may_bypass(m, node)) return false;
  gelu->way.nodes[gelu->way.count++] = node;
  return true;
}

// The factors of |node|, a Mul; false when there are too many.
static bool list_factors(const leat_rewrite_match_t* m, int32_t node, leat_gelu_t* gelu,
                         factors_t* out_factors) {
  int32_t muls[MAX_FACTORS] = {node};
  *out_factors = (factors_t){0};
  for (int done = 0, count = 1; done < count; ++done) {
    for (int k = 0; k < 2; ++k) {
      const leat_output_t input = leat_graph_node(m->graph, muls[done])->inputs[k];
      if (is_op(m, input, "Mul")) {
        if (count == MAX_FACTORS || !pass(m, input.node, gelu)) return false;
        muls[count++] = input.node;
      } else {
        if (out_factors->count == MAX_FACTORS) return false;
        out_factors->items[out_factors->count++] = input;
      }
    }
  }
  return true;
}

// The number that a constant of one element holds; NaN for others.
static double number_of(const leat_rewrite_match_t* m, leat_output_t output) {
  const leat_tensor_t* tensor = leat_node_constant(leat_graph_node(m->graph, output.node));
  if (!tensor || tensor->shape.rank > 0) return NAN;
  if (tensor->dtype == LEAT_DTYPE_FLOAT) return leat_tensor_data(tensor, const float)[0];
  if (tensor->dtype != LEAT_DTYPE_HALF && tensor->dtype != LEAT_DTYPE_BFLOAT16) return NAN;
  const uint16_t bits = leat_tensor_data(tensor, const uint16_t)[0];
  // The numbers that are looked for are positive and not subnormal.
  const int width = tensor->dtype == LEAT_DTYPE_HALF ? 10 : 7;
  const int bias = tensor->dtype == LEAT_DTYPE_HALF ? 15 : 127;
  const int mantissa = bits & ((1 << width) - 1), exponent = bits >> width;
  return bits & 0x8000 ? NAN : ldexp(1 + ldexp(mantissa, -width), exponent - bias);
}

// Whether |output| is the constant |value|, but for rounding: somebody may have computed it in the
// type itself.
static bool is_number(const leat_rewrite_match_t* m, leat_output_t output, double value,
                      leat_gelu_t* gelu) {
  const int dtype = leat_graph_output_type(m->graph, output);
  const double tolerance = dtype == LEAT_DTYPE_FLOAT  ? 0x1p-22
                           : dtype == LEAT_DTYPE_HALF ? 0x1p-10
                                                      : 0x1p-7;
  return fabs(number_of(m, output) - value) <= tolerance * value && pass(m, output.node, gelu);
}

// Takes one factor that |is_number| out of the list.
static bool take_number(const leat_rewrite_match_t* m, factors_t* factors, double value,
                        leat_gelu_t* gelu) {
  for (int i = 0; i < factors->count; ++i) {
    if (!is_number(m, factors->items[i], value, gelu)) continue;
    factors->items[i] = factors->items[--factors->count];
    return true;
  }
  return false;
}

// Takes one factor that is |x| out of the list.
static bool take_x(factors_t* factors, leat_output_t x) {
  for (int i = 0; i < factors->count; ++i) {
    if (!leat_output_equal(factors->items[i], x)) continue;
    factors->items[i] = factors->items[--factors->count];
    return true;
  }
  return false;
}

// Takes one factor that is made by |op| out of the list; |*out_node| is that node.
static bool take_op(const leat_rewrite_match_t* m, factors_t* factors, const char* op,
                    leat_gelu_t* gelu, const leat_node_t** out_node) {
  for (int i = 0; i < factors->count; ++i) {
    const leat_output_t item = factors->items[i];
    if (!is_op(m, item, op) || !pass(m, item.node, gelu)) continue;
    *out_node = leat_graph_node(m->graph, item.node);
    factors->items[i] = factors->items[--factors->count];
    return true;
  }
  return false;
}

static bool take_sum(const leat_rewrite_match_t* m, factors_t* factors, leat_gelu_t* gelu,
                     const leat_node_t** out_sum) {
  return take_op(m, factors, "AddV2", gelu, out_sum) || take_op(m, factors, "Add", gelu, out_sum);
}

// Whether the factors are |x|, |power| times: as it is, in a Square or in a Pow.
static bool is_power(const leat_rewrite_match_t* m, factors_t* factors, leat_output_t x, int power,
                     leat_gelu_t* gelu) {
  while (take_x(factors, x)) --power;
  for (int i = 0; i < factors->count; ++i) {
    const leat_output_t item = factors->items[i];
    const leat_node_t* node = leat_graph_node(m->graph, item.node);
    const bool is_square = is_op(m, item, "Square"), is_pow = is_op(m, item, "Pow");
    if ((!is_square && !is_pow) || !leat_output_equal(node->inputs[0], x) ||
        !pass(m, item.node, gelu)) {
      return false;
    }
    const int exponent = is_square || is_number(m, node->inputs[1], 2, gelu) ? 2
                         : is_number(m, node->inputs[1], 3, gelu)            ? 3
                                                                             : 0;
    if (!exponent) return false;
    power -= exponent;
  }
  return power == 0;
}

// Whether |sum| is |first| and 0.044715 times the |power|-th power of x; |first| is x or 1.
static bool is_cubic(const leat_rewrite_match_t* m, const leat_node_t* sum, bool first_is_x,
                     leat_gelu_t* gelu) {
  const leat_output_t x = gelu->x;
  for (int side = 0; side < 2; ++side) {
    const leat_output_t first = sum->inputs[side], rest = sum->inputs[1 - side];
    factors_t factors;
    if (!(first_is_x ? leat_output_equal(first, x) : is_number(m, first, 1, gelu))) continue;
    return is_op(m, rest, "Mul") && pass(m, rest.node, gelu) &&
           list_factors(m, rest.node, gelu, &factors) &&
           take_number(m, &factors, 0.044715, gelu) &&
           is_power(m, &factors, x, first_is_x ? 3 : 2, gelu);
  }
  return false;
}

// Whether |input| is x / √2, or that of -x: the argument of erf, or of erfc.
static bool is_argument_of_erf(const leat_rewrite_match_t* m, leat_output_t input, bool is_negative,
                               leat_gelu_t* gelu) {
  const bool divides = is_op(m, input, "RealDiv");
  const leat_node_t *node = leat_graph_node(m->graph, input.node), *negation;
  factors_t factors = {{node->inputs[0]}, 1};
  if (!pass(m, input.node, gelu)) return false;
  if (divides) {
    if (!is_number(m, node->inputs[1], 1.41421356237309504880, gelu)) return false;
  } else if (!is_op(m, input, "Mul") || !list_factors(m, input.node, gelu, &factors) ||
             !take_number(m, &factors, 0.70710678118654752440, gelu)) {
    return false;
  }
  if (factors.count != 1) return false;
  if (!is_negative) return take_x(&factors, gelu->x);
  return take_op(m, &factors, "Neg", gelu, &negation) &&
         leat_output_equal(negation->inputs[0], gelu->x);
}

// Whether |input| is √(2/π) (x + 0.044715 x³), the argument of tanh.
static bool is_argument_of_tanh(const leat_rewrite_match_t* m, leat_output_t input,
                                leat_gelu_t* gelu) {
  const leat_node_t* sum;
  factors_t factors;
  if (!is_op(m, input, "Mul") || !pass(m, input.node, gelu) ||
      !list_factors(m, input.node, gelu, &factors)) {
    return false;
  }
  if (!take_number(m, &factors, 0.79788456080286535588, gelu) ||
      !take_sum(m, &factors, gelu, &sum)) {
    return false;
  }
  const bool has_x = take_x(&factors, gelu->x);
  return factors.count == 0 && is_cubic(m, sum, !has_x, gelu);
}

// Whether nobody but the root and the nodes on the way reads x or a node on the way. Constants may
// have other readers.
static bool is_unread_elsewhere(const leat_rewrite_match_t* m, const leat_gelu_t* gelu) {
  for (size_t i = 0; i < m->graph->node_count; ++i) {
    const leat_node_t* reader = leat_graph_node(m->graph, (int32_t)i);
    if ((int32_t)i == m->root || is_on_way(gelu, (int32_t)i)) continue;
    for (int k = 0; k < reader->input_count; ++k) {
      const int32_t node = reader->inputs[k].node;
      if (node == gelu->x.node || (is_on_way(gelu, node) &&
                                   !leat_node_constant(leat_graph_node(m->graph, node)))) {
        return false;
      }
    }
  }
  return true;
}

bool leat_gelu_is_only_reader(const leat_rewrite_match_t* match, int32_t node, int32_t reader) {
  for (size_t i = 0; i < match->graph->node_count; ++i) {
    const leat_node_t* other = leat_graph_node(match->graph, (int32_t)i);
    for (int k = 0; k < other->input_count; ++k) {
      if (other->inputs[k].node == node && (int32_t)i != reader) return false;
    }
  }
  return true;
}

bool leat_gelu_find(const leat_rewrite_match_t* match, leat_gelu_t* out_gelu) {
  const leat_rewrite_match_t* m = match;
  const leat_node_t *sum, *erfc;
  factors_t factors;
  const int dtype = leat_rewrite_root(m)->output_types[0];
  *out_gelu = (leat_gelu_t){.x = LEAT_OUTPUT_NONE};
  if (!leat_dtype_in(dtype, LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(HALF) |
                                LEAT_DTYPE_BIT(BFLOAT16)) ||
      !list_factors(m, m->root, out_gelu, &factors) || factors.count != 3 ||
      !take_number(m, &factors, 0.5, out_gelu)) {
    return false;
  }
  if (take_op(m, &factors, "Erfc", out_gelu, &erfc)) {
    out_gelu->x = factors.items[0];
    out_gelu->is_exact = true;
    return is_argument_of_erf(m, erfc->inputs[0], true, out_gelu) &&
           is_unread_elsewhere(m, out_gelu);
  }
  if (!take_sum(m, &factors, out_gelu, &sum)) return false;
  out_gelu->x = factors.items[0];
  for (int side = 0; side < 2; ++side) {
    const leat_output_t one = sum->inputs[side], function = sum->inputs[1 - side];
    out_gelu->is_exact = is_op(m, function, "Erf");
    if (!out_gelu->is_exact && !is_op(m, function, "Tanh")) continue;
    if (!is_number(m, one, 1, out_gelu) || !pass(m, function.node, out_gelu)) return false;
    const leat_output_t argument = leat_graph_node(m->graph, function.node)->inputs[0];
    return (out_gelu->is_exact ? is_argument_of_erf(m, argument, false, out_gelu)
                               : is_argument_of_tanh(m, argument, out_gelu)) &&
           is_unread_elsewhere(m, out_gelu);
  }
  return false;
}
