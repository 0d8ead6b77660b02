// What the two files of the pass "scale" share: scale_input.c finds a product that a node reads;
// scale.c finds a product of what a node computes, and replaces node and product by one node in
// both cases.
#ifndef LEAT_OPTIMIZE_SCALE_H_
#define LEAT_OPTIMIZE_SCALE_H_

#include "optimize/edit.h"

#define LEAT_SCALING_MAX_PASSED 32  // nodes in |passed|; a longer way to the product is not taken
#define LEAT_SCALING_NONE (-1)

// A node, and a product (Mul) of an array that the node reads or computes.
typedef struct leat_scaling_s {
  int32_t node, product;
  leat_output_t value;   // the array before the multiplication, which the new node will read
  leat_output_t factor;  // the scalar, or the numbers by which the rows are multiplied
  // The nodes that the new node bypasses: the product, the Reshapes and Identities around it, and
  // their constant inputs. The new node waits for what they waited for. Those up to |behind| lie
  // between the product and the node; from |behind| on stand the product and what it depends on.
  int32_t passed[LEAT_SCALING_MAX_PASSED];
  int passed_count, behind;
  // The bypassed node that broadcasts the factor to the shape of the value; LEAT_SCALING_NONE where
  // there is none.
  int32_t repeats;
  const leat_op_t* op;  // the op that computes node and product together
} leat_scaling_t;

// Whether node |index| is a pure Mul on the device of |beside|.
bool leat_scaling_is_product(const leat_edit_t* edit, int32_t index,
                             const leat_node_t* beside);
// Finds a product in what the node of |inout_scaling| reads at input row.scales, and fills in the
// other fields but |op|. False where there is none that may move into the node.
bool leat_scaling_find_at_input(const leat_edit_t* edit, leat_scaling_t* inout_scaling);

#endif  // LEAT_OPTIMIZE_SCALE_H_
