// The family of ops on matrices: products, decompositions, equations. The last two dimensions of a
// tensor are the matrix, those before them a batch.
#include "ops/family.h"

#define LEAT_MATRIX_SOURCES(X) \
  X(matmul)                  \
  X(fused_matmul)            \
  X(product_sum)             \
  X(solve)                   \
  X(decomposition)           \
  X(matrix_function)         \
  X(einsum)                  \
  X(solve_ls)                \
  X(tridiagonal)

LEAT_OP_FAMILY(matrix, LEAT_MATRIX_SOURCES)
