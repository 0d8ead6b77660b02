// The family of ops on matrices: products, decompositions, equations. The last two dimensions of a
// tensor are the matrix, those before them a batch.
#include "graph/rewrite_rule.h"
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

#define LEAT_MATRIX_RULES(X) X(matmul)

LEAT_OP_FAMILY_WITH_RULES(matrix, LEAT_MATRIX_SOURCES, LEAT_MATRIX_RULES)
