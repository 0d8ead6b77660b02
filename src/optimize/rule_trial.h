// The trial of a rewrite rule (graph/rewrite_rule.h) at a node, for the passes that choose among
// rules (optimize/rules.c). It goes through these steps, and any of them may be its last:
//
//   leat_trial_begin ─▶ leat_trial_match ─▶ leat_trial_make ─▶ leat_trial_gain_ns
//   at a root            finds the nodes     adds the nodes     compares the time of both │
//                        that would go       that would come                              ▼
//                                                  puts the new in their place  leat_trial_replace
//
// Until leat_trial_replace nobody reads what was added, so that leat_trial_drop can take it away
// again, and other rules can be tried at the same node.
#ifndef LEAT_OPTIMIZE_RULE_TRIAL_H_
#define LEAT_OPTIMIZE_RULE_TRIAL_H_

#include "graph/rewrite_rule.h"
#include "optimize/edit.h"

// Nodes between a producer and the root, the producer too; and bypassed ones.
#define LEAT_TRIAL_MAX_PASSED 32

typedef struct leat_trial_s {
  leat_rewrite_match_t match;  // comes first: the rule sees nothing else
  leat_edit_t* edit;
  const leat_rewrite_rule_t* rule;  // the last that was matched
  bool has_loops;                   // the graph has frames
  // The nodes that go, from the root's side on; and those that the new nodes only read no longer.
  int32_t *producers, *passed;  // [inputs], and [inputs * LEAT_TRIAL_MAX_PASSED]
  int inputs, passed_count, bypassed_count;
  int32_t bypassed[LEAT_TRIAL_MAX_PASSED];
  bool bypassed_goes[LEAT_TRIAL_MAX_PASSED];
  const char* suffix;  // of the names of new nodes
  leat_waits_t waits;  // of the new nodes
  size_t first_made;   // the new nodes are those from here on
  leat_output_t by;    // of them, what replaces the root
} leat_trial_t;

// For any number of trials with |edit|, one after the other. The edit must know the conditions of
// its nodes; memory comes from its scratch arena.
void leat_trial_initialize(leat_edit_t* edit, leat_trial_t* out_trial);
// Begins trials at |root|.
LEAT_MUST_USE leat_status_t leat_trial_begin(leat_trial_t* trial, int32_t root);
// Whether the rule applies to what input |side| of the root leads to. A rule of more inputs than
// one looks at all of them, whatever |side| is.
bool leat_trial_match(leat_trial_t* trial, const leat_rewrite_rule_t* rule, int side);
// Adds the new nodes of the rule that matches. |*out_made| is false where a kernel is missing;
// nothing was added then.
LEAT_MUST_USE leat_status_t leat_trial_make(leat_trial_t* trial, bool* out_made);
// How much less time the new nodes take than those that go, by the cost model (graph/cost/cost.h).
int64_t leat_trial_gain_ns(leat_trial_t* trial);
// Gives up what was made.
void leat_trial_drop(leat_trial_t* trial);
// Puts what was made in the place of the root, and of the producer where the rule replaces that.
LEAT_MUST_USE leat_status_t leat_trial_replace(leat_trial_t* trial);

#endif  // LEAT_OPTIMIZE_RULE_TRIAL_H_
