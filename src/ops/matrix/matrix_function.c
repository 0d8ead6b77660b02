// Functions of square matrices: exponential, logarithm, square root.
#include "ops/family.h"
#include "ops/matrix/matrix_shape.h"

#define ANY "T: {double, float, half, complex64, complex128}"

const leat_op_row_t leat_matrix_function_ops[] = {
    {.name = "MatrixExponential",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ANY,
     .shape = leat_shape_matrix_unchanged,
     .deprecated_since = 27,
     .deprecation = "Use Python implementation tf.linalg.matrix_exponential instead.",
     .doc = "exp of square matrices."},
    {.name = "MatrixLogarithm",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = "T: {complex64, complex128}",
     .shape = leat_shape_matrix_unchanged,
     .doc = "The principal logarithm of square matrices."},
    {.name = "MatrixSquareRoot",
     .inputs = "input: T",
     .outputs = "output: T",
     .attrs = ANY,
     .shape = leat_shape_matrix_unchanged,
     .doc = "The principal square root of square matrices."},
    LEAT_OP_ROWS_END,
};
