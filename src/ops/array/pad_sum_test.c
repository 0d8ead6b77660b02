// _SumOfPads is an op that the optimizer makes of a sum of padded tensors, so that the zeros are
// never added. The reference does what the op replaces: it looks up each element of the sum in
// every term. The terms of a case overlap, touch, leave a gap or are empty, since the kernel treats
// these regions differently; two cases are so large that the work is cut into blocks. The attribute
// |names| has the names of the Pad nodes that were replaced, because an error in the paddings must
// name the node that the user wrote.
#include "op_harness/op_harness.h"

#define S(literal) {literal, sizeof(literal) - 1}
#define NAMES(...)                                                                           \
  {LEAT_CASE_LIST_("names", LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)}
#define TWO NAMES(S("first"), S("second"))
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), 1, 9)
#define PADS(...) LEAT_ITEMS(INT32, LEAT_DIMS(2, 2), __VA_ARGS__)

static int64_t read(const leat_tensor_t* paddings, int64_t at) {
  return paddings->dtype == LEAT_DTYPE_INT64 ? leat_tensor_data(paddings, int64_t)[at]
                                             : leat_tensor_data(paddings, int32_t)[at];
}

// Where element |index| of the sum lies in |term|, or -1.
static int64_t find(const leat_tensor_t* term, const leat_tensor_t* paddings,
                    const leat_shape_t* sum, int64_t index) {
  int64_t place = 0, stride = 1;
  for (int d = sum->rank - 1; d >= 0; --d) {
    const int64_t size = leat_shape_dim(&term->shape, d);
    const int64_t at = index % leat_shape_dim(sum, d) - read(paddings, 2 * d);
    if (at < 0 || at >= size) return -1;
    place += at * stride;
    stride *= size;
    index /= leat_shape_dim(sum, d);
  }
  return place;
}

static void add_pads(const leat_reference_t* r) {
  const leat_shape_t* sum = &r->outputs[0].shape;
  const int count = r->input_count / 2;
  for (int64_t i = 0; i < sum->element_count; ++i) {
    r->out[0][i] = 0;
    for (int k = 0; k < count; ++k) {
      const int64_t place = find(&r->inputs[k], &r->inputs[count + k], sum, i);
      if (place >= 0) r->out[0][i] += r->in[k][place];
    }
  }
}

#define CASE(title, names, ...) \
  {.op = "_SumOfPads", .name = title, .attrs = names, .inputs = {__VA_ARGS__},              \
   .types = LEAT_DTYPES_REAL, .reference = add_pads}
#define WRONG(title, text, ...)                                                             \
  {.op = "_SumOfPads", .name = title, .attrs = TWO, .inputs = {__VA_ARGS__},                \
   .code = LEAT_INVALID_ARGUMENT, .message = text}

static const leat_op_case_t kCases[] = {
    CASE("rows apart", TWO, X(2, 3), X(3, 3), PADS(0, 3, 0, 0), PADS(2, 0, 0, 0)),
    CASE("rows with a gap", TWO, X(2, 3), X(2, 3), PADS(5, 0, 0, 0), PADS(0, 5, 0, 0)),
    CASE("columns apart", TWO, X(4, 1), X(4, 2), PADS(0, 0, 0, 2), PADS(0, 0, 1, 0)),
    CASE("one over the other", TWO, X(3, 4), X(2, 3), PADS(0, 1, 0, 1), PADS(1, 1, 1, 1)),
    CASE("in the same place", TWO, X(2, 2), X(2, 2), PADS(1, 0, 0, 1), PADS(1, 0, 0, 1)),
    CASE("nothing is padded", TWO, X(2, 3), X(2, 3), PADS(0, 0, 0, 0), PADS(0, 0, 0, 0)),
    CASE("nothing is there", TWO, X(0, 2), X(0, 2), PADS(1, 2, 0, 0), PADS(3, 0, 0, 0)),
    CASE("nothing at all", TWO, X(0, 2), X(0, 2), PADS(0, 0, 1, 1), PADS(0, 0, 2, 0)),
    CASE("scalars", TWO, LEAT_SCALAR_ITEM(FLOAT, 2), LEAT_SCALAR_ITEM(FLOAT, 3),
         LEAT_NO_ITEMS(INT32, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(INT32, LEAT_DIMS(0, 2))),
    CASE("four of three dimensions", NAMES(S("a"), S("b"), S("c"), S("d")), X(2, 2, 3),
         X(1, 4, 3), X(3, 1, 1), X(3, 4, 1),
         LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 1, 0, 0, 2, 0, 0),
         LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 2, 0, 0, 0, 0),
         LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 3, 0, 2, 0),
         LEAT_ITEMS(INT64, LEAT_DIMS(3, 2), 0, 0, 0, 0, 1, 1)),
    CASE("rows of many blocks", TWO, X(30, 131), X(41, 131), PADS(1, 41, 0, 0), PADS(31, 0, 0, 0)),
    CASE("columns of many blocks", NAMES(S("a"), S("b"), S("c")), X(5, 700), X(5, 1800), X(5, 900),
         PADS(0, 0, 0, 2700), PADS(0, 0, 700, 900), PADS(0, 0, 2500, 0)),
    {.op = "_SumOfPads",
     .name = "complex",
     .attrs = TWO,
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), 1, 2), LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2), 3, 4,
                5, 6), LEAT_ITEMS(INT32, LEAT_DIMS(1, 2), 0, 2),
                LEAT_ITEMS(INT32, LEAT_DIMS(1, 2), 0, 1)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(3), 4, 6, 5, 6, 0, 0)}},
    WRONG("a negative padding", "negative", X(2, 2), X(2, 2),
          PADS(0, 0, 0, 0), PADS(0, 0, 0, -1)),
    WRONG("paddings of another rank", NULL, X(2, 2), X(2), PADS(0, 0, 0, 0), PADS(0, 0, 0, 0)),
    WRONG("sums of unequal shapes", NULL, X(2, 2), X(2, 2), PADS(0, 0, 0, 0), PADS(0, 0, 0, 1)),
    {.op = "_SumOfPads",
     .name = "one name for two",
     .attrs = NAMES(S("first")),
     .inputs = {X(2, 2), X(2, 2), PADS(0, 0, 0, 0), PADS(0, 0, 0, 0)},
     .code = LEAT_INVALID_ARGUMENT},
};

LEAT_OP_TEST_MAIN(kCases)
