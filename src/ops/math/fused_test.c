// Cases of _FusedElementwise: programs over operands of all kinds, and programs that are none. The
// op's attributes hold a program of elementwise steps with broadcasts, reshapes and reductions; the
// harness runs each case and compares every output with a plain loop in double, written here for
// that program, or with numbers worked out by hand. The sizes are chosen to cross what the kernel
// cuts its work by: tiles, short and long rows, operands that are smaller than what reads them.
// Which nodes of a graph become such a program is tested in src/optimize/fusion_test.c.
#include <math.h>

#include "op_harness/op_harness.h"

// Lists of strings as attributes.
#define STRINGS(attr, ...)                                                                    \
  LEAT_CASE_LIST_(attr, LEAT_ATTR_STRING, leat_string_view_t, strings, __VA_ARGS__)
#define S(literal) {literal, sizeof(literal) - 1}
#define F LEAT_DTYPE_FLOAT
#define INTS LEAT_CASE_INTS
#define TYPES LEAT_CASE_TYPES
#define SHAPES(attr, ...) \
  LEAT_CASE_LIST_(attr, LEAT_ATTR_SHAPE, leat_partial_shape_t, shapes, __VA_ARGS__)
#define SHAPE(...) \
  {sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}}

// (x + y) * x, exp of that; both are given.
#define TWO_OF_THREE                                                                          \
  {TYPES("Tin", F, F), TYPES("Tout", F, F),                                   \
   STRINGS("steps", S("AddV2"), S("Mul"), S("Neg")), STRINGS("names", S("a"), S("b"), S("c")), \
   TYPES("types", F, F, F), INTS("arities", 2, 2, 1),                             \
   INTS("operands", 0, 1, 2, 0, 3), INTS("results", 2, 1)}

static void two_of_three(const leat_reference_t* r) {
  const int64_t n = r->outputs[0].shape.element_count;
  const int64_t nx = r->inputs[0].shape.element_count, ny = r->inputs[1].shape.element_count;
  for (int64_t i = 0; i < n; ++i) {
    const float x = (float)r->in[0][nx == 1 ? 0 : i];
    const float y = (float)r->in[1][ny == 1 ? 0 : ny < n ? i % ny : i];
    const float product = (x + y) * x;
    r->out[0][i] = (double)-product;
    r->out[1][i] = (double)product;
  }
}

// (x + a) b, where a and b repeat along x.
#define TWO_ROWS                                                                              \
  {TYPES("Tin", F, F, F), TYPES("Tout", F), STRINGS("steps", S("AddV2"), S("Mul")),           \
   STRINGS("names", S("sum"), S("product")), TYPES("types", F, F), INTS("arities", 2, 2),     \
   INTS("operands", 0, 1, 3, 2), INTS("results", 1)}

static void two_rows(const leat_reference_t* r) {
  const int64_t n = r->outputs[0].shape.element_count;
  const int64_t na = r->inputs[1].shape.element_count, nb = r->inputs[2].shape.element_count;
  for (int64_t i = 0; i < n; ++i) {
    r->out[0][i] = (r->in[0][i] + r->in[1][i % na]) * r->in[2][i % nb];
  }
}

// Are |a| and |b| in order, and where they are, which is larger? A program with bool in it.
#define CHOICE                                                                                \
  {TYPES("Tin", F, F), TYPES("Tout", F), STRINGS("steps", S("Less"), S("SelectV2")), \
   STRINGS("names", S("less"), S("select")), TYPES("types", LEAT_DTYPE_BOOL, F),          \
   INTS("arities", 2, 3), INTS("operands", 0, 1, 2, 1, 0), INTS("results", 1)}

// The same by Select, which does not broadcast alone.
#define STRICT_CHOICE                                                                         \
  {TYPES("Tin", F, F), TYPES("Tout", F), STRINGS("steps", S("Less"), S("Select")),   \
   STRINGS("names", S("less"), S("select")), TYPES("types", LEAT_DTYPE_BOOL, F),          \
   INTS("arities", 2, 3), INTS("operands", 0, 1, 2, 1, 0), INTS("results", 1)}

// x where it is less than y, else 0: bool becomes float in two loops.
#define MASKED                                                                                \
  {TYPES("Tin", F, F), TYPES("Tout", F), STRINGS("steps", S("Less"), S("Cast"), S("Mul")),    \
   STRINGS("names", S("less"), S("cast"), S("masked")), TYPES("types", LEAT_DTYPE_BOOL, F, F), \
   INTS("arities", 2, 1, 2), INTS("operands", 0, 1, 2, 3, 0), INTS("results", 2)}

// s * 2 is smaller than what reads it, and runs whole before that; then x / (s * 2) - x.
#define SMALL_FIRST                                                                           \
  {TYPES("Tin", F, F), TYPES("Tout", F, F),                                   \
   STRINGS("steps", S("AddV2"), S("RealDiv"), S("Sub")),                                      \
   STRINGS("names", S("twice"), S("ratio"), S("rest")), TYPES("types", F, F, F),  \
   INTS("arities", 2, 2, 2), INTS("operands", 1, 1, 0, 2, 3, 0), INTS("results", 0, 2)}

static void small_first(const leat_reference_t* r) {
  const int64_t rows = r->inputs[1].shape.element_count;
  const int64_t n = r->outputs[1].shape.element_count;
  for (int64_t i = 0; i < rows; ++i) r->out[0][i] = 2 * r->in[1][i];
  for (int64_t i = 0; i < n; ++i) {
    const double x = r->in[0][i];
    r->out[1][i] = x / (2 * r->in[1][i / (n / rows)]) - x;
  }
}

// (x + x) under another shape, times y; x under that shape, less that.
#define RESHAPED(...)                                                                         \
  {TYPES("Tin", F, F), TYPES("Tout", F, F),                                                   \
   STRINGS("steps", S("AddV2"), S("Reshape"), S("Mul"), S("Reshape"), S("Sub")),              \
   STRINGS("names", S("twice"), S("seen"), S("product"), S("x_seen"), S("rest")),             \
   TYPES("types", F, F, F, F, F), INTS("arities", 2, 1, 2, 1, 2),                             \
   INTS("operands", 0, 0, 2, 3, 1, 0, 5, 4), INTS("results", 0, 4),                           \
   SHAPES("shapes", SHAPE(__VA_ARGS__), SHAPE(__VA_ARGS__))}

// y repeated to a shape, and that by x; the product is given first.
#define REPEATED(...)                                                                         \
  {TYPES("Tin", F, F), TYPES("Tout", F, F), STRINGS("steps", S("BroadcastTo"), S("Mul")),     \
   STRINGS("names", S("spread"), S("product")), TYPES("types", F, F), INTS("arities", 1, 2),  \
   INTS("operands", 1, 2, 0), INTS("results", 1, 0), SHAPES("shapes", SHAPE(__VA_ARGS__))}

// y is one row, or one element for each row.
static void repeated(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->outputs[1].shape;
  const int64_t ny = r->inputs[1].shape.element_count, width = leat_shape_dim(shape, 1);
  for (int64_t i = 0; i < shape->element_count; ++i) {
    const double y = r->in[1][ny == 1 ? 0 : ny == width ? i % width : i / width];
    r->out[1][i] = y;
    r->out[0][i] = y * r->in[0][i];
  }
}

static void reshaped(const leat_reference_t* r) {
  const leat_shape_t* shape = &r->outputs[1].shape;
  const int64_t width = leat_shape_dim(shape, 2), rows = r->inputs[1].shape.element_count;
  const int64_t count = r->inputs[0].shape.element_count;
  for (int64_t i = 0; i < count; ++i) r->out[0][i] = 2 * r->in[0][i];
  for (int64_t i = 0; i < shape->element_count; ++i) {
    const double x = r->in[0][i % count];
    r->out[1][i] = x - 2 * x * r->in[1][i / width % rows];
  }
}

// The sums of the rows of x y, their last axis or two, and x y.
#define DOTS(axes, keep)                                                                      \
  {TYPES("Tin", F, F), TYPES("Tout", F, F), STRINGS("steps", S("Mul"), S("Sum")),             \
   STRINGS("names", S("product"), S("sum")), TYPES("types", F, F), INTS("arities", 2, 1),     \
   INTS("operands", 0, 1, 2), INTS("results", 1, 0), INTS("axes", axes),                      \
   LEAT_CASE_BOOLS("keep_dims", keep)}

static void dots(const leat_reference_t* r) {
  const int64_t n = r->inputs[0].shape.element_count, rows = r->outputs[0].shape.element_count;
  for (int64_t i = 0; i < rows; ++i) r->out[0][i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    r->out[1][i] = r->in[0][i] * r->in[1][i];
    r->out[0][i / (n / rows)] += r->out[1][i];
  }
}

// Of |x| the largest of each row and, under another shape, the means of its pairs.
#define TWO_REDUCTIONS(...)                                                                   \
  {TYPES("Tin", F), TYPES("Tout", F, F),                                                      \
   STRINGS("steps", S("Abs"), S("Max"), S("Reshape"), S("Mean")),                             \
   STRINGS("names", S("size"), S("max"), S("pairs"), S("mean")), TYPES("types", F, F, F, F),  \
   INTS("arities", 1, 1, 1, 1), INTS("operands", 0, 1, 1, 3), INTS("results", 1, 3),          \
   SHAPES("shapes", SHAPE(__VA_ARGS__)), INTS("axes", 1, 1),                                  \
   LEAT_CASE_BOOLS("keep_dims", false, true)}

static void two_reductions(const leat_reference_t* r) {
  const int64_t n = r->inputs[0].shape.element_count, rows = r->outputs[0].shape.element_count;
  for (int64_t i = 0; i < rows; ++i) r->out[0][i] = 0;
  for (int64_t i = 0; i < n / 2; ++i) r->out[1][i] = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double size = fabs(r->in[0][i]);
    r->out[0][i / (n / rows)] = fmax(r->out[0][i / (n / rows)], size);
    r->out[1][i / 2] += size / 2;
  }
}

// Are all of a row of x less than y's?
#define ALL_LESS                                                                              \
  {TYPES("Tin", F, F), TYPES("Tout", LEAT_DTYPE_BOOL), STRINGS("steps", S("Less"), S("All")), \
   STRINGS("names", S("less"), S("all")), TYPES("types", LEAT_DTYPE_BOOL, LEAT_DTYPE_BOOL),   \
   INTS("arities", 2, 1), INTS("operands", 0, 1, 2), INTS("results", 1), INTS("axes", 1),     \
   LEAT_CASE_BOOLS("keep_dims", false)}

// Negates a sum.
#define AFTER_A_SUM                                                                           \
  {TYPES("Tin", F), TYPES("Tout", F, F), STRINGS("steps", S("Abs"), S("Sum"), S("Neg")),      \
   STRINGS("names", S("a"), S("b"), S("c")), TYPES("types", F, F, F), INTS("arities", 1, 1, 1), \
   INTS("operands", 0, 1, 2), INTS("results", 1, 2), INTS("axes", 1),                         \
   LEAT_CASE_BOOLS("keep_dims", false)}

// softplus(relu_grad(dy, x)): one loop takes halves through float, one as they are.
#define H LEAT_DTYPE_HALF
#define ACTIVATIONS                                                                           \
  {TYPES("Tin", H, H), TYPES("Tout", H), STRINGS("steps", S("ReluGrad"), S("Softplus")),      \
   STRINGS("names", S("slope"), S("plus")), TYPES("types", H, H), INTS("arities", 2, 1),      \
   INTS("operands", 0, 1, 2), INTS("results", 1)}

#define ONE(op, tin, tout, type)                                                              \
  {TYPES("Tin", tin, tin), TYPES("Tout", tout), STRINGS("steps", S(op)), STRINGS("names", S("n")), \
   TYPES("types", type), INTS("arities", 2), INTS("operands", 0, 1), INTS("results", 0)}
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define SCALAR LEAT_SCALAR_ITEM(FLOAT, 1.5)
#define I(...) LEAT_ITEMS(INT32, LEAT_DIMS(2), __VA_ARGS__)

static const leat_op_case_t kCases[] = {
    {.op = "_FusedElementwise",
     .attrs = TWO_OF_THREE,
     .inputs = {X(3, 5), X(3, 5)},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "more than a tile",
     .attrs = TWO_OF_THREE,
     .inputs = {X(130, 97), X(130, 97)},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "a scalar",
     .attrs = TWO_OF_THREE,
     .inputs = {X(61, 131), SCALAR},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "a row",
     .attrs = TWO_OF_THREE,
     .inputs = {X(70, 131), X(131)},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "a row, in shards",
     .attrs = TWO_OF_THREE,
     .inputs = {X(6001, 37), X(37)},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "rows of two lengths",
     .attrs = TWO_ROWS,
     .inputs = {X(400, 33, 7), X(33, 7), X(7)},
     .reference = two_rows},
    {.op = "_FusedElementwise",
     .name = "a short row",
     .attrs = TWO_OF_THREE,
     .inputs = {X(3000, 3), X(3)},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "scalars only",
     .attrs = TWO_OF_THREE,
     .inputs = {SCALAR, SCALAR},
     .reference = two_of_three},
    {.op = "_FusedElementwise",
     .name = "nothing",
     .attrs = TWO_OF_THREE,
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), SCALAR},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))}},
    {.op = "_FusedElementwise",
     .name = "a bool in between",
     .attrs = CHOICE,
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 5, 3), LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 2, 4, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 2, 5, 3)}},
    {.op = "_FusedElementwise",
     .name = "a column, which runs first",
     .attrs = SMALL_FIRST,
     .inputs = {X(200, 33), LEAT_RANDOM(FLOAT, LEAT_DIMS(200, 1), 1, 2)},
     .reference = small_first},
    {.op = "_FusedElementwise",
     .name = "a column under short rows",
     .attrs = SMALL_FIRST,
     .inputs = {X(3000, 3), LEAT_RANDOM(FLOAT, LEAT_DIMS(3000, 1), 1, 2)},
     .reference = small_first},
    {.op = "_FusedElementwise",
     .name = "a column under long rows",
     .attrs = SMALL_FIRST,
     .inputs = {X(7, 3001), LEAT_RANDOM(FLOAT, LEAT_DIMS(7, 1), 1, 2)},
     .reference = small_first},
    {.op = "_FusedElementwise",
     .name = "a step broadcasts where its op does not",
     .attrs = STRICT_CHOICE,
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1, 5, 3, 4, -1, 2), SCALAR},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3), 1.5, 5, 3, 4, 1.5, 2)}},
    {.op = "_FusedElementwise",
     .name = "another shape in between",
     .attrs = RESHAPED(1000, 3, 4),
     .inputs = {X(600, 20), X(3, 1)},
     .reference = reshaped},
    {.op = "_FusedElementwise",
     .name = "another shape in between, smaller than what reads it",
     .attrs = RESHAPED(1, 3, 4),
     .inputs = {X(12), X(50, 3, 1)},
     .reference = reshaped},
    {.op = "_FusedElementwise",
     .name = "another shape of nothing",
     .attrs = RESHAPED(0, 3, 4),
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(5, 0)), X(3, 1)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(5, 0)),
                  LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3, 4))}},
    {.op = "_FusedElementwise",
     .name = "a shape of other elements",
     .attrs = RESHAPED(10, 3, 4),
     .inputs = {X(30, 5), X(3, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "as many elements"},
    {.op = "_FusedElementwise",
     .name = "a shape that is not known",
     .attrs = RESHAPED(10, 3, -1),
     .inputs = {X(30, 4), X(3, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "a known one"},
    {.op = "_FusedElementwise",
     .name = "a column repeated",
     .attrs = REPEATED(900, 33),
     .inputs = {X(900, 33), X(900, 1)},
     .reference = repeated},
    {.op = "_FusedElementwise",
     .name = "a row repeated",
     .attrs = REPEATED(900, 33),
     .inputs = {X(900, 33), X(33)},
     .reference = repeated},
    {.op = "_FusedElementwise",
     .name = "an element repeated",
     .attrs = REPEATED(900, 33),
     .inputs = {X(900, 33), SCALAR},
     .reference = repeated},
    {.op = "_FusedElementwise",
     .name = "a column repeated, smaller than what reads it",
     .attrs = {TYPES("Tin", F, F), TYPES("Tout", F), STRINGS("steps", S("BroadcastTo"), S("Mul")),
               STRINGS("names", S("spread"), S("product")), TYPES("types", F, F),
               INTS("arities", 1, 2), INTS("operands", 1, 2, 0), INTS("results", 1),
               SHAPES("shapes", SHAPE(2, 3))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1), 1, 10),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 3), 2, 2, 2, 3, 3, 3, 20, 20, 20, 30, 30,
                             30)}},
    {.op = "_FusedElementwise",
     .name = "repeated and under another shape",
     .attrs = {TYPES("Tin", F, F), TYPES("Tout", F),
               STRINGS("steps", S("BroadcastTo"), S("Reshape"), S("Mul")),
               STRINGS("names", S("tile"), S("seen"), S("product")), TYPES("types", F, F, F),
               INTS("arities", 1, 1, 2), INTS("operands", 0, 2, 3, 1), INTS("results", 2),
               SHAPES("shapes", SHAPE(2, 3), SHAPE(3, 2))},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 2, 3),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 1, 10, 1, 10, 1, 10)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 2), 2, 20, 2, 30, 3, 30)}},
    {.op = "_FusedElementwise",
     .name = "repeated to nothing",
     .attrs = REPEATED(0, 33),
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 33)), X(33)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 33)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 33))}},
    {.op = "_FusedElementwise",
     .name = "repeated to a shape that does not fit",
     .attrs = REPEATED(900, 33),
     .inputs = {X(900, 33), X(30, 1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "broadcast to"},
    {.op = "_FusedElementwise",
     .name = "repeated to what it is",
     .attrs = REPEATED(900, 33),
     .inputs = {X(900, 33), X(900, 33)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "smaller"},
    {.op = "_FusedElementwise",
     .name = "sums of rows",
     .attrs = DOTS(1, false),
     .inputs = {X(300, 65), X(300, 65)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "sums of short rows, in shards",
     .attrs = DOTS(1, true),
     .inputs = {X(90000, 3), X(90000, 3)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "sums of rows longer than a tile",
     .attrs = DOTS(1, false),
     .inputs = {X(3, 20011), X(3, 20011)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "sums over two axes",
     .attrs = DOTS(2, true),
     .inputs = {X(40, 7, 31), X(40, 7, 31)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "the sum of all",
     .attrs = DOTS(2, false),
     .inputs = {X(12, 31), X(12, 31)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "sums of rows of one",
     .attrs = DOTS(1, false),
     .inputs = {X(2000, 1), X(2000, 1)},
     .reference = dots},
    {.op = "_FusedElementwise",
     .name = "sums of no rows",
     .attrs = DOTS(1, false),
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3))}},
    {.op = "_FusedElementwise",
     .name = "sums of rows of nothing",
     .attrs = DOTS(1, false),
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 0, 0),
                  LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0))}},
    {.op = "_FusedElementwise",
     .name = "two reductions, one of reshaped rows",
     .attrs = TWO_REDUCTIONS(700, 3, 2),
     .inputs = {X(100, 42)},
     .reference = two_reductions},
    {.op = "_FusedElementwise",
     .name = "two reductions whose rows do not fit each other",
     .attrs = TWO_REDUCTIONS(700, 3, 2),
     .inputs = {X(200, 21)},
     .reference = two_reductions},
    {.op = "_FusedElementwise",
     .name = "rows of bool",
     .attrs = ALL_LESS,
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 1, 4), LEAT_ITEMS(FLOAT, LEAT_DIMS(), 3)},
     .expected = {LEAT_ITEMS(BOOL, LEAT_DIMS(2), 1, 0)}},
    {.op = "_FusedElementwise",
     .name = "an axis that is not there",
     .attrs = DOTS(2, false),
     .inputs = {X(5), X(5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "ax"},
    {.op = "_FusedElementwise",
     .name = "no axis",
     .attrs = DOTS(0, false),
     .inputs = {X(5), X(5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "one or more"},
    {.op = "_FusedElementwise",
     .name = "a step that reads a reduction",
     .attrs = AFTER_A_SUM,
     .inputs = {X(5)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "no reduction"},
    {.op = "_FusedElementwise",
     .name = "a cast",
     .attrs = MASKED,
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 5, 3), LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 2, 4, 3)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(3), 1, 0, 0)}},
    {.op = "_FusedElementwise",
     .name = "activations of half",
     .attrs = ACTIVATIONS,
     .inputs = {LEAT_ITEMS(HALF, LEAT_DIMS(3), 3, 8, 0), LEAT_ITEMS(HALF, LEAT_DIMS(3), -1, 5, 2)},
     .expected = {LEAT_ITEMS(HALF, LEAT_DIMS(3), M_LN2, 8, M_LN2)}},
    {.op = "_FusedElementwise",
     .name = "shapes that do not fit are the step's error",
     .attrs = ONE("AddV2", F, F, F),
     .inputs = {X(3), X(4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_FusedElementwise",
     .name = "a division by 0 is the step's error",
     .attrs = ONE("FloorDiv", LEAT_DTYPE_INT32, LEAT_DTYPE_INT32, LEAT_DTYPE_INT32),
     .inputs = {I(4, 5), I(2, 0)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "Integer division by zero"},
    {.op = "_FusedElementwise",
     .name = "no elementwise op",
     .attrs = ONE("MatMul", F, F, F),
     .inputs = {X(3), X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "no such op"},
    {.op = "_FusedElementwise",
     .name = "operands of one op",
     .attrs = ONE("Neg", F, F, F),
     .inputs = {X(3), X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "number of operands"},
    {.op = "_FusedElementwise",
     .name = "a type that the op does not give",
     .attrs = ONE("AddV2", F, LEAT_DTYPE_DOUBLE, LEAT_DTYPE_DOUBLE),
     .inputs = {X(3), X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "other types"},
    {.op = "_FusedElementwise",
     .name = "an output of another type than the step's",
     .attrs = ONE("AddV2", F, LEAT_DTYPE_DOUBLE, F),
     .inputs = {X(3), X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "another type"},
    {.op = "_FusedElementwise",
     .name = "a step that reads itself",
     .attrs = {TYPES("Tin", F), TYPES("Tout", F), STRINGS("steps", S("Neg")),
               STRINGS("names", S("n")), TYPES("types", F), INTS("arities", 1),
               INTS("operands", 1), INTS("results", 0)},
     .inputs = {X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "an earlier step"},
    {.op = "_FusedElementwise",
     .name = "lists of different lengths",
     .attrs = {TYPES("Tin", F), TYPES("Tout", F), STRINGS("steps", S("Neg")),
               STRINGS("names", S("n"), S("m")), TYPES("types", F), INTS("arities", 1),
               INTS("operands", 0), INTS("results", 0)},
     .inputs = {X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "as long as"},
    {.op = "_FusedElementwise",
     .name = "one result twice",
     .attrs = {TYPES("Tin", F), TYPES("Tout", F, F), STRINGS("steps", S("Neg")),
               STRINGS("names", S("n")), TYPES("types", F), INTS("arities", 1),
               INTS("operands", 0), INTS("results", 0, 0)},
     .inputs = {X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "given once"},
    {.op = "_FusedElementwise",
     .name = "too few operands",
     .attrs = {TYPES("Tin", F), TYPES("Tout", F), STRINGS("steps", S("AddV2")),
               STRINGS("names", S("n")), TYPES("types", F), INTS("arities", 2),
               INTS("operands", 0), INTS("results", 0)},
     .inputs = {X(3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "one for each operand"},
};

LEAT_OP_TEST_MAIN(kCases)
