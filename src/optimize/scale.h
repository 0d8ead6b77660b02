// Between the halves of the pass "scale": scale_input.c finds the product that a node reads,
// scale.c those of what nodes give, and puts one node in the place of two.
#ifndef LEAT_OPTIMIZE_SCALE_H_
#define LEAT_OPTIMIZE_SCALE_H_

#include "optimize/edit.h"

#define LEAT_SCALING_MAX_PASSED 32
#define LEAT_SCALING_NONE (-1)

// A node and the product of what it gives or reads.
typedef struct leat_scaling_s {
  int32_t node, product;
  leat_output_t value;   // what is multiplied, as the node is to read it
  leat_output_t factor;  // the few numbers
  // The product and what the new node sees through: it waits for what those wait for. From
  // |behind| on they come before the product, or are it.
  int32_t passed[LEAT_SCALING_MAX_PASSED];
  int passed_count, behind;
  int32_t repeats;      // that of them which repeats the factor
  const leat_op_t* op;  // does both
} leat_scaling_t;

// Is node |index| a product that is made where |beside| is?
bool leat_scaling_is_product(const leat_edit_t* edit, int32_t index,
                             const leat_node_t* beside);
// Finds the product that |inout_scaling|'s node reads; false: there is none to be taken.
bool leat_scaling_find_at_input(const leat_edit_t* edit, leat_scaling_t* inout_scaling);

#endif  // LEAT_OPTIMIZE_SCALE_H_
