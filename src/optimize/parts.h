// Between the halves of the pass "parts": parts.c says which nodes are worked on in parts,
// parts_rewrite.c puts nodes for each part in their place.
#ifndef LEAT_OPTIMIZE_PARTS_H_
#define LEAT_OPTIMIZE_PARTS_H_

#include "optimize/edit.h"

// What becomes of a node. The first three give a value that is in parts.
typedef enum leat_parts_role_e {
  LEAT_PARTS_STRANGER,   // nothing
  LEAT_PARTS_JOINED,     // the parts are what it reads
  LEAT_PARTS_EACH,       // a node for each part
  LEAT_PARTS_HANDED_ON,  // the parts are those of its input 0
  LEAT_PARTS_TAKEN,      // it is one of the parts
  LEAT_PARTS_SUMMED,     // a node for each part, and their sum
  LEAT_PARTS_APPLIED,    // a node for each part, one after the other
} leat_parts_role_t;

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

typedef struct leat_parted_s {
  leat_parts_role_t role;
  int axis;                  // of the output, where that is in parts
  leat_division_t division;
  uint64_t in_parts;         // bit i: input i is read in parts
  uint64_t constants;        // bit i: it is a constant, of which each part's node has its own
  int from_end;              // the axis of such a constant that is cut: 1 is the last
  int taken;                 // the part
  int32_t group;             // a node of the same group, nearer to the one that stands for it
  bool is_refused;           // the group, where the node stands for it
  int64_t spared, added;     // elements not copied, nodes: by the group
  leat_output_t* parts;      // known from the first for JOINED; of a NoOp, which has no role, too
  int32_t gate;              // waits for all parts; -1: nobody needs it yet
  int32_t* followers;        // nodes that must wait for all parts although they read some
  int follower_count;
} leat_parted_t;

typedef struct leat_parts_s {
  leat_edit_t* edit;
  leat_parted_t* values;  // node; of those that were there when the pass began
  size_t count;
  int32_t* order;  // the same nodes, inputs first
  size_t order_count;
} leat_parts_t;

static inline bool leat_parts_gives(const leat_parts_t* p, int32_t node) {
  const leat_parts_role_t role = p->values[node].role;
  return role >= LEAT_PARTS_JOINED && role <= LEAT_PARTS_HANDED_ON;
}

// The node that stands for the group of |node|.
int32_t leat_parts_group(const leat_parts_t* parts, int32_t node);
// The constant that the node is or hands on; NULL: none. |out_waits| unless NULL: it does not
// always come.
const leat_tensor_t* leat_parts_constant(const leat_parts_t* parts, int32_t node, bool* out_waits);
// Puts nodes for each part in the place of those that have a role.
LEAT_MUST_USE leat_status_t leat_parts_rewrite(leat_parts_t* parts);

#endif  // LEAT_OPTIMIZE_PARTS_H_
