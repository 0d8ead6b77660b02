// Transpose moves blocks through registers, with other code for each element width and for the
// edges that fill no block. The sizes are chosen so that both occur (67 x 45 leaves edges, 16 x 32
// none), and every width from 1 to 16 bytes takes part. The reference walks over the output's
// positions and counts where in the input each comes from, so it shares no code with the kernel.
// Permutations that move nothing but sizes of 1, or keep the last dimensions together, take shorter
// ways and have cases of their own.
#include "op_harness/op_harness.h"

// Walks the output's positions and counts the input's place of each.
static void transpose_reference(const leat_reference_t* r) {
  const leat_shape_t* to = &r->outputs[0].shape;
  const leat_shape_t* from = &r->inputs[0].shape;
  bool is_complex = leat_dtype_in(r->inputs[0].dtype, LEAT_DTYPES_COMPLEX);
  for (int64_t i = 0; i < to->element_count; ++i) {
    int64_t position[LEAT_CASE_MAX_RANK], rest = i, at = 0;
    for (int d = to->rank - 1; d >= 0; --d) {
      int axis = (int)r->in[1][d];
      position[axis < 0 ? axis + to->rank : axis] = rest % leat_shape_dim(to, d);
      rest /= leat_shape_dim(to, d);
    }
    for (int d = 0; d < from->rank; ++d) at = at * leat_shape_dim(from, d) + position[d];
    for (int part = 0; part < 1 + is_complex; ++part) {
      r->out[0][i * (1 + is_complex) + part] = r->in[0][at * (1 + is_complex) + part];
    }
  }
}

#define EVERY_WIDTH                                                                      \
  (LEAT_DTYPE_BIT(FLOAT) | LEAT_DTYPE_BIT(DOUBLE) | LEAT_DTYPE_BIT(INT8) |               \
   LEAT_DTYPE_BIT(INT16) | LEAT_DTYPE_BIT(COMPLEX64) | LEAT_DTYPE_BIT(COMPLEX128) |      \
   LEAT_DTYPE_BIT(HALF))

static const leat_op_case_t kCases[] = {
    {.op = "Transpose",
     .name = "matrix with edges",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(67, 45), -100, 100),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 0)},
     .types = EVERY_WIDTH,
     .reference = transpose_reference},
    {.op = "Transpose",
     .name = "batch of matrices",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(3, 16, 32), -100, 100),
                LEAT_ITEMS(INT64, LEAT_DIMS(3), 0, 2, 1)},
     .types = EVERY_WIDTH,
     .reference = transpose_reference,
     .gradient = LEAT_GRADIENT_UNCHECKED},
    {.op = "Transpose",
     .name = "all dimensions reversed",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(5, 4, 9, 6), -100, 100),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 3, 2, 1, 0)},
     .types = EVERY_WIDTH,
     .reference = transpose_reference},
    {.op = "Transpose",
     .name = "runs kept together",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(4, 3, 5, 2), -100, 100),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 2, 0, 1, 3)},
     .types = EVERY_WIDTH,
     .reference = transpose_reference},
    {.op = "Transpose",
     .name = "gradient",
     .inputs = {LEAT_RANDOM(DOUBLE, LEAT_DIMS(2, 3, 2), -1, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(3), 2, 0, 1)},
     .reference = transpose_reference,
     .gradient = LEAT_GRADIENT_TWICE,
     .constant_inputs = 2},
    {.op = "Transpose",
     .name = "only sizes of 1 move",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(1, 6, 1, 2), -1, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 0, 3, 2)},
     .reference = transpose_reference},
    {.op = "Transpose",
     .name = "strings",
     .inputs = {LEAT_TEXTS(LEAT_DIMS(2, 2), "a", "b", "c", "d"),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 0)},
     .expected = {LEAT_TEXTS(LEAT_DIMS(2, 2), "a", "c", "b", "d")}},
    {.op = "Transpose",
     .name = "nothing in it",
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 3)), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 0)},
     .expected = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(3, 0))}},
    {.op = "Transpose",
     .name = "an axis twice",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2), -1, 1), LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Transpose",
     .name = "no such axis",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2, 2), -1, 1), LEAT_ITEMS(INT32, LEAT_DIMS(2), 0, 2)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "ConjugateTranspose",
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1, 2), 1, 2, 3, -4),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 0)},
     .types = LEAT_DTYPES_COMPLEX,
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(2, 1), 1, -2, 3, 4)}},
    {.op = "InvertPermutation",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 2, 0, 3, 1)},
     .types = LEAT_DTYPE_BIT(INT64),
     .expected = {LEAT_ITEMS(INT32, LEAT_DIMS(4), 1, 3, 0, 2)}},
    {.op = "InvertPermutation",
     .name = "none",
     .inputs = {LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 1)},
     .code = LEAT_INVALID_ARGUMENT},
    {.op = "Transpose",
     .name = "speed",
     .inputs = {LEAT_RANDOM(FLOAT, LEAT_DIMS(2048, 2048), -1, 1),
                LEAT_ITEMS(INT32, LEAT_DIMS(2), 1, 0)},
     .reference = transpose_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
