// What the two halves of the pass "concat_sinking" share: concat_sinking.c decides which nodes are
// worked on in pieces, and concat_sinking_rewrite.c puts nodes for each piece in their place.
#ifndef LEAT_OPTIMIZE_CONCAT_SINKING_H_
#define LEAT_OPTIMIZE_CONCAT_SINKING_H_

#include "optimize/edit.h"

// What becomes of a node. The first three give a value that is in pieces.
typedef enum leat_concat_role_e {
  LEAT_CONCAT_OUTSIDER,   // nothing
  LEAT_CONCAT_JOINED,     // the pieces are what it reads
  LEAT_CONCAT_EACH,       // a node for each piece
  LEAT_CONCAT_FORWARDED,  // the pieces are those of its input 0
  LEAT_CONCAT_TAKEN,      // it is one of the pieces
  LEAT_CONCAT_SUMMED,     // a node for each piece, and their sum
  LEAT_CONCAT_APPLIED,    // a node for each piece, one after the other
} leat_concat_role_t;

// Where a value is cut: its lengths along an axis.
typedef struct leat_division_s {
  int count;
  const int64_t* lengths;
} leat_division_t;

static inline bool leat_division_equal(leat_division_t a, leat_division_t b) {
  if (a.count != b.count) return false;
  for (int i = 0; i < a.count; ++i) {
    if (a.lengths[i] != b.lengths[i]) return false;
  }
  return true;
}

typedef struct leat_concat_value_s {
  leat_concat_role_t role;
  int axis;                  // of the output, where that is in pieces
  leat_division_t division;
  uint64_t in_pieces;         // bit i: input i is read in pieces
  uint64_t constants;        // bit i: it is a constant, of which each piece's node has its own
  int from_end;              // the axis of such a constant that is cut: 1 is the last
  int taken;                 // the piece
  int32_t group;             // a node of the same group, nearer to the one that stands for it
  bool is_refused;           // the group, where the node stands for it
  int64_t spared, added;     // elements not copied, nodes: by the group
  leat_output_t* pieces;      // known from the first for JOINED; of a NoOp, which has no role, too
  int32_t gate;              // waits for all pieces; -1: nobody needs it yet
  int32_t* followers;        // nodes that must wait for all pieces although they read some
  int follower_count;
} leat_concat_value_t;

typedef struct leat_concat_s {
  leat_edit_t* edit;
  leat_concat_value_t* values;  // node; of those that were there when the pass began
  size_t count;
  int32_t* order;  // the same nodes, inputs first
  size_t order_count;
} leat_concat_t;

static inline bool leat_concat_gives(const leat_concat_t* p, int32_t node) {
  const leat_concat_role_t role = p->values[node].role;
  return role >= LEAT_CONCAT_JOINED && role <= LEAT_CONCAT_FORWARDED;
}

// The node that stands for the group of |node|.
int32_t leat_concat_group(const leat_concat_t* pieces, int32_t node);
// The constant that the node is or forwards; NULL: none. |out_waits| unless NULL: it does not
// always come.
const leat_tensor_t* leat_concat_constant(const leat_concat_t* pieces, int32_t node,
                                          bool* out_waits);
// Puts nodes for each piece in the place of those that have a role.
LEAT_MUST_USE leat_status_t leat_concat_rewrite(leat_concat_t* pieces);

#endif  // LEAT_OPTIMIZE_CONCAT_SINKING_H_
