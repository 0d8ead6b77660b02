// Cases of the matrix products, with and without batches and transposed operands. The reference is
// the textbook's sum over the inner dimension, in double. It broadcasts no batch but that of a
// second input without one, so cases that broadcast otherwise, complex numbers and products of
// integers have expected values written by hand. The last cases are there for the benchmark only.
#include "op_harness/op_harness.h"

static bool flag(const leat_reference_t* r, const char* name) {
  for (int i = 0; i < LEAT_CASE_MAX_ATTRS; ++i) {
    const leat_attr_t* attr = &r->op_case->attrs[i];
    if (leat_string_view_equals(attr->name, name)) return attr->value.b;
  }
  return false;
}

// Matrices in the last two dimensions; batch dimensions equal, or none in the second input.
static void product_reference(const leat_reference_t* r) {
  const bool ta = flag(r, "transpose_a") || flag(r, "adj_x");
  const bool tb = flag(r, "transpose_b") || flag(r, "adj_y");
  const leat_shape_t *a = &r->inputs[0].shape, *c = &r->outputs[0].shape;
  const int64_t m = leat_shape_dim(c, c->rank - 2), n = leat_shape_dim(c, c->rank - 1);
  const int64_t k = leat_shape_dim(a, a->rank - (ta ? 2 : 1));
  const int64_t b_matrices = r->inputs[1].shape.element_count / (k * n);
  for (int64_t i = 0; i < c->element_count; ++i) {
    const int64_t matrix = i / (m * n), row = i / n % m, column = i % n;
    const double* x = r->in[0] + matrix * m * k;
    const double* y = r->in[1] + matrix % b_matrices * k * n;
    r->out[0][i] = 0;
    for (int64_t j = 0; j < k; ++j) {
      r->out[0][i] += x[ta ? j * m + row : row * k + j] * y[tb ? column * k + j : j * n + column];
    }
  }
}
// The product and what it is added to, of the same shape.
static void sum_reference(const leat_reference_t* r) {
  product_reference(r);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) r->out[0][i] += r->in[2][i];
}
// What it is added to is multiplied first, by a number for each row.
static void scaled_sum_reference(const leat_reference_t* r) {
  const int64_t row = leat_shape_dim(&r->outputs[0].shape, 1);
  const int64_t numbers = r->inputs[3].shape.element_count;
  product_reference(r);
  for (int64_t i = 0; i < r->outputs[0].shape.element_count; ++i) {
    r->out[0][i] += r->in[2][i] * r->in[3][numbers == 1 ? 0 : i / row];
  }
}
#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define TRANSPOSED(a, b) {LEAT_CASE_BOOL("transpose_a", a), LEAT_CASE_BOOL("transpose_b", b)}
#define ADJOINT(a, b) {LEAT_CASE_BOOL("adj_x", a), LEAT_CASE_BOOL("adj_y", b)}

static const leat_op_case_t kCases[] = {
    {.op = "MatMul",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 1, 2, 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 7, 10)}},
    {.op = "MatMul",
     .name = "every type",
     .inputs = {X(3, 4), X(4, 5)},
     .types = LEAT_DTYPES_FLOATING | LEAT_DTYPE_BIT(INT32) | LEAT_DTYPE_BIT(INT64),
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatMul",
     .name = "a transposed",
     .attrs = TRANSPOSED(true, false),
     .inputs = {X(4, 3), X(4, 5)},
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatMul",
     .name = "b transposed",
     .attrs = TRANSPOSED(false, true),
     .inputs = {X(3, 4), X(5, 4)},
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatMul",
     .name = "both transposed",
     .attrs = TRANSPOSED(true, true),
     .inputs = {X(4, 3), X(5, 4)},
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "MatMul",
     .name = "blocks and their rests",
     .inputs = {X(67, 131), X(131, 45)},
     .reference = product_reference,
     .tolerance = 1e-4},
    {.op = "MatMul",
     .name = "nothing to add up is 0",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 0, 0, 0, 0)}},
    {.op = "MatMul",
     .name = "inner sizes that differ",
     .inputs = {X(2, 3), X(2, 3)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "MatMul",
     .name = "a vector",
     .inputs = {X(3), X(3, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_MatMulAdd",
     .inputs = {X(3, 4), X(4, 5), X(3, 5)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .reference = sum_reference},
    {.op = "_MatMulAdd",
     .name = "both transposed",
     .attrs = TRANSPOSED(true, true),
     .inputs = {X(20, 70), X(90, 20), X(70, 90)},
     .reference = sum_reference,
     .tolerance = 1e-4},
    {.op = "_MatMulAdd",
     .name = "nothing to add up leaves what is there",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(2, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 1)),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 3, 4)}},
    {.op = "_MatMulAdd",
     .name = "a row is repeated",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 10),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 100, 200)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 101, 210, 102, 220)}},
    {.op = "_MatMulAdd",
     .name = "the product is repeated",
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 10),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 1), 1, 2, 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2, 2), 3, 21, 4, 22, 5, 23, 6, 24)}},
    {.op = "_MatMulAdd",
     .name = "shapes that do not fit",
     .inputs = {X(2, 3), X(3, 4), X(3, 4)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_MatMulAdd",
     .name = "scaled",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {X(3, 4), X(4, 5), X(3, 5), X(3, 1)},
     .types = LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE),
     .reference = scaled_sum_reference},
    {.op = "_MatMulAdd",
     .name = "scaled: blocks of rows",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {X(700, 60), X(60, 400), X(700, 400), X(700, 1)},
     .reference = scaled_sum_reference,
     .tolerance = 1e-4},
    {.op = "_MatMulAdd",
     .name = "scaled: blocks of rows of doubles, both transposed",
     .attrs = {LEAT_CASE_BOOL("transpose_a", true), LEAT_CASE_BOOL("transpose_b", true),
               LEAT_CASE_INT("N", 1)},
     .inputs = {X(20, 700), X(400, 20), X(700, 400), X(1)},
     .types = LEAT_DTYPE_BIT(DOUBLE),
     .reference = scaled_sum_reference},
    {.op = "_MatMulAdd",
     .name = "scaled: a row is repeated",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 10),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 100, 200), LEAT_SCALAR_ITEM(FLOAT, 2)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 201, 410, 202, 420)}},
    {.op = "_MatMulAdd",
     .name = "scaled: the product is repeated",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 1), 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 1, 10),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1), 1, 2), LEAT_ITEMS(FLOAT, LEAT_DIMS(2), 3, 4)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 2), 5, 23, 10, 28)}},
    {.op = "_MatMulAdd",
     .name = "scaled: nothing to add up, and no rows",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), X(3, 2),
                LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 1))},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))}},
    {.op = "_MatMulAdd",
     .name = "scaled: numbers for other rows",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {X(2, 3), X(3, 4), X(2, 4), X(4)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "factor has shape [4]"},
    {.op = "_MatMulAdd",
     .name = "scaled: shapes that do not fit",
     .attrs = {LEAT_CASE_INT("N", 1)},
     .inputs = {X(2, 3), X(3, 4), X(3, 4), X(1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "_MatMulAdd",
     .name = "two factors",
     .attrs = {LEAT_CASE_INT("N", 2)},
     .inputs = {X(2, 3), X(3, 4), X(2, 4), X(1), X(1)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "N is 2, must be 0 or 1"},
    {.op = "BatchMatMul",
     .inputs = {X(2, 3, 4), X(2, 4, 2)},
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BatchMatMul",
     .name = "does not broadcast",
     .inputs = {X(2, 3, 4), X(4, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "BatchMatMulV2",
     .name = "a matrix for the whole batch",
     .attrs = ADJOINT(true, true),
     .inputs = {X(2, 3, 4, 5), X(2, 4)},
     .reference = product_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BatchMatMulV2",
     .name = "both broadcast",
     .inputs = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 1, 1, 1), 1, 2),
                LEAT_ITEMS(FLOAT, LEAT_DIMS(3, 1, 1), 1, 10, 100)},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(2, 3, 1, 1), 1, 10, 100, 2, 20, 200)},
     .gradient = LEAT_GRADIENT_TWICE},
    {.op = "BatchMatMulV2",
     .name = "conjugates",
     .attrs = ADJOINT(true, false),
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 1, 2),
                LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 0, 1)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 1), 2, 1)}},
    {.op = "BatchMatMulV3",
     .attrs = {LEAT_CASE_TYPE("Tout", INT32)},
     .inputs = {LEAT_ITEMS(INT8, LEAT_DIMS(1, 2), 100, 100),
                LEAT_ITEMS(UINT8, LEAT_DIMS(2, 1), 200, 200)},
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(1, 1), 40000)}},
    {.op = "MatMul",
     .name = "256",
     .inputs = {X(256, 256), X(256, 256)},
     .reference = product_reference,
     .bench = true,
     .bench_only = true},
    {.op = "BatchMatMulV2",
     .name = "many of 32",
     .inputs = {X(512, 32, 32), X(512, 32, 32)},
     .reference = product_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
