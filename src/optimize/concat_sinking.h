// What the files of the pass "concat_sinking" share. The pass replaces computations on a
// concatenation that is cut again by computations on its pieces, where that saves copies.
// concat_sinking.c decides which nodes are computed piece by piece, concat_sinking_cost.c whether
// that pays, and concat_sinking_followers.c what has to go on waiting for all pieces;
// concat_sinking_rewrite.c replaces each of the nodes by one node for each piece. Nodes that only
// make sense together form a group, which is rewritten whole or not at all.
#ifndef LEAT_OPTIMIZE_CONCAT_SINKING_H_
#define LEAT_OPTIMIZE_CONCAT_SINKING_H_

#include "graph/rewrite_rule.h"
#include "optimize/domain.h"
#include "optimize/edit.h"

#define LEAT_CONCAT_ALL_PIECES (-2)  // in |taken|: output i of the node is piece i

// What becomes of a node. The output of a JOINED, EACH or FORWARDED node is a value in pieces; the
// roles after those read pieces, and their own output is whole.
typedef enum leat_concat_role_e {
  LEAT_CONCAT_OUTSIDER,   // the node stays as it is
  LEAT_CONCAT_JOINED,     // a concatenation: its inputs are the pieces
  LEAT_CONCAT_EACH,       // replaced by a node for each piece
  LEAT_CONCAT_FORWARDED,  // forwards its input 0, whose pieces become its own
  LEAT_CONCAT_TAKEN,      // a slice: replaced by one of the pieces
  LEAT_CONCAT_COMBINED,   // a reduction: a node for each piece and a chain that combines them
  LEAT_CONCAT_APPLIED,    // an update of rows: replaced by one update after another, one a piece
} leat_concat_role_t;

// Where a value is cut along its axis: the lengths of the pieces, in order.
typedef struct leat_division_s {
  int count;
  const int64_t* lengths;
} leat_division_t;

// The length of the value along that axis.
static inline int64_t leat_division_length(leat_division_t division) {
  int64_t length = 0;
  for (int i = 0; i < division.count; ++i) length += division.lengths[i];
  return length;
}

static inline bool leat_division_equal(leat_division_t a, leat_division_t b) {
  if (a.count != b.count) return false;
  for (int i = 0; i < a.count; ++i) {
    if (a.lengths[i] != b.lengths[i]) return false;
  }
  return true;
}

// What the pass knows of a node. A group is a tree of nodes (a union-find); |is_refused| and
// |gain_ns| are kept at its root and hold for the whole group.
typedef struct leat_concat_value_s {
  leat_concat_role_t role;
  int axis;                  // the axis of the output that is cut, where the output is in pieces
  leat_division_t division;
  uint64_t in_pieces;        // bit i: input i is read in pieces
  uint64_t constants;        // bit i: input i is a constant; the node of each piece gets its own
  int cut;                   // the axis of the node's domain that is cut (optimize/domain.h)
  const leat_rewrite_rule_t* rule;  // of a COMBINED node, the rule by which it is combined
  int taken;                 // of a TAKEN node: the index of the piece, or LEAT_CONCAT_ALL_PIECES
  int32_t group;             // the parent in the union-find; the root is its own parent
  bool is_refused;           // the group stays as it is
  int64_t gain_ns;           // by the cost model, the time that the pieces save a step
  // The outputs that carry the pieces; NULL: not made yet. A concatenation has them from the start.
  // The rewrite gives pieces to NoOps and constants too, which have no role.
  leat_output_t* pieces;
  int32_t gate;              // a NoOp that waits for all pieces; -1: none was needed yet
  int32_t* followers;        // nodes that must wait for all pieces although they depend on some
  int follower_count;
} leat_concat_value_t;

typedef struct leat_concat_s {
  leat_edit_t* edit;
  leat_concat_value_t* values;  // by node, for the nodes that were there when the pass began
  size_t count;
  int32_t* order;  // those of the nodes that are not gone, in topological order
  size_t order_count;
} leat_concat_t;

// Whether the node's output is a value in pieces.
static inline bool leat_concat_gives(const leat_concat_t* p, int32_t node) {
  const leat_concat_role_t role = p->values[node].role;
  return role >= LEAT_CONCAT_JOINED && role <= LEAT_CONCAT_FORWARDED;
}

// The root of the group of |node|.
int32_t leat_concat_group(const leat_concat_t* pieces, int32_t node);
// Replaces every node that has a role.
LEAT_MUST_USE leat_status_t leat_concat_rewrite(leat_concat_t* pieces);

// Whether the group of the node stays as it is: somebody needs a value of it as a whole, or too
// little would be gained.
bool leat_concat_is_refused(const leat_concat_t* p, int32_t node);
// Adds to the node's group what its rewriting saves (concat_sinking_cost.c).
void leat_concat_weigh(leat_concat_t* p, int32_t node);
// Finds the followers of all values that are to be in pieces, and refuses groups whose followers
// cannot be found (concat_sinking_followers.c).
LEAT_MUST_USE leat_status_t leat_concat_find_followers(leat_concat_t* p);
// The input that is split, of a node of LEAT_ACCESS_SPLIT.
static inline int leat_concat_split_input(const leat_node_t* node) {
  return node->input_count == 2 ? 1 : 0;
}

#endif  // LEAT_OPTIMIZE_CONCAT_SINKING_H_
