// For the rewrite rule "product_gelu" (epilogue_rules.c): finds the GELU of which a Mul is the last
// node. TensorFlow has no op for it; its Python and other people's models spell it as six to nine
// nodes, in many orders:
//
//   exact           x · 0.5 · (1 + erf(x / √2))  or  x · 0.5 · erfc(-x / √2);  x · 0.70710678 for
//                                                                              the division
//   approximation   x · 0.5 · (1 + tanh(√(2/π) · (x + 0.044715 · x³)))    x³: Pow, Square or Muls;
//                                                        or √(2/π) · x · (1 + 0.044715 · x²)
#ifndef LEAT_OPS_NN_GELU_H_
#define LEAT_OPS_NN_GELU_H_

#include "graph/rewrite_rule.h"

typedef struct leat_gelu_s {
  bool is_exact;
  leat_output_t x;
  leat_rewrite_way_t way;  // the nodes between x and the root, and the constants that they read
} leat_gelu_t;

// False where the match's root, a Mul, is not the last node of a GELU of a float, half or bfloat16
// whose constants are the exact ones, rounded, or where a node other than these reads x or one of
// the nodes: x would then be needed all the same. Fetches are not seen: x is computed twice where
// it is fetched as well.
bool leat_gelu_find(const leat_rewrite_match_t* match, leat_gelu_t* out_gelu);
// Whether no node but |reader| reads |node|.
bool leat_gelu_is_only_reader(const leat_rewrite_match_t* match, int32_t node, int32_t reader);

#endif  // LEAT_OPS_NN_GELU_H_
