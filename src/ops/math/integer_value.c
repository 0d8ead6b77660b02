// Integer arithmetic over partially known scalars and vectors, for value inference. An item is
// LEAT_VALUE_UNKNOWN where an operand is, and where the op's own type would overflow: the kernel
// wraps there, and a wrong shape would be worse than an unknown one.
#include "ops/math/integer_value.h"

bool leat_integer_value_applies(const leat_inference_t* c, int index) {
  leat_output_t source = c->node->inputs[index];
  if (source.index < 0) return false;
  int dtype = leat_dtype_base(leat_graph_output_type(c->graph, source));
  return dtype == LEAT_DTYPE_INT32 || dtype == LEAT_DTYPE_INT64;
}

// true when |value| fits the type of the node's first input.
static bool fits(const leat_inference_t* c, int64_t value) {
  int dtype = leat_dtype_base(leat_graph_output_type(c->graph, c->node->inputs[0]));
  return dtype == LEAT_DTYPE_INT64 || (value >= INT32_MIN && value <= INT32_MAX);
}

static leat_status_t allocate_items(leat_inference_t* c, int count, int64_t** out_items) {
  return LEAT_NEW(c->arena, (size_t)count + 1, out_items);
}

leat_status_t leat_integer_value_binary(leat_inference_t* c, leat_integer_pair_fn_t function) {
  if (!leat_integer_value_applies(c, 0)) return leat_ok_status();
  leat_partial_value_t x, y;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &x));
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 1, &y));
  if (x.rank < 0 || y.rank < 0) return leat_ok_status();
  bool repeats_x = x.rank == 0 || (x.count == 1 && y.count != 1);
  bool repeats_y = y.rank == 0 || (y.count == 1 && x.count != 1);
  if (!repeats_x && !repeats_y && x.count != y.count) return leat_ok_status();
  int rank = x.rank > y.rank ? x.rank : y.rank;
  int count = rank == 0 ? 1 : repeats_x ? y.count : x.count;
  int64_t* items;
  LEAT_RETURN_IF_ERROR(allocate_items(c, count, &items));
  for (int i = 0; i < count; ++i) {
    int64_t a = x.items[repeats_x ? 0 : i], b = y.items[repeats_y ? 0 : i];
    bool is_known = a != LEAT_VALUE_UNKNOWN && b != LEAT_VALUE_UNKNOWN &&
                    function(a, b, &items[i]) && fits(c, items[i]);
    if (!is_known) items[i] = LEAT_VALUE_UNKNOWN;
  }
  return leat_inference_set_output_value(c, 0, rank, count, items);
}

leat_status_t leat_integer_value_unary(leat_inference_t* c, leat_integer_fn_t function) {
  if (!leat_integer_value_applies(c, 0)) return leat_ok_status();
  leat_partial_value_t x;
  LEAT_RETURN_IF_ERROR(leat_inference_input_value(c, 0, &x));
  if (x.rank < 0) return leat_ok_status();
  int64_t* items;
  LEAT_RETURN_IF_ERROR(allocate_items(c, x.count, &items));
  for (int i = 0; i < x.count; ++i) {
    bool is_known = x.items[i] != LEAT_VALUE_UNKNOWN && function(x.items[i], &items[i]) &&
                    fits(c, items[i]);
    if (!is_known) items[i] = LEAT_VALUE_UNKNOWN;
  }
  return leat_inference_set_output_value(c, 0, x.rank, x.count, items);
}
