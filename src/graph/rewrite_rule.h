// Rewrite rules, by which the author of an op family says which nodes one node of his op can
// replace, and which nodes may change places. A rule is data with two small functions, and lies
// with the op that it makes (ops/nn/epilogue_rules.c, ops/train/update_rules.c). The optimizer,
// which applies it (optimize/rules.c), therefore knows no op:
//
//   x ─▶ MatMul ─▶ Reshape ─▶ BiasAdd ─▶       a rule without |through| has no node in the middle
//        producer  through    root
//
// The optimizer finds the nodes and makes sure that all of them from producer to root may
// disappear: each is pure, is read by the next one alone, lies on the root's device, and has the
// root's conditions (optimize/conditions.h). It then asks |applies|, and |make| adds the nodes that
// replace the root. The new nodes wait for whatever the old ones waited for; a node that waited for
// an old one waits for the inputs of that one instead.
//
// Where several rules apply to a root, the one is taken that gains most time by the cost model
// (graph/cost/cost.h): a rule needs no figure of its own. One that only brings nodes into a form of
// which other rules know more says so (|normalizes|).
//
// Nodes that a rule adds are visited too, so that a chain of ops becomes one node step by step. Two
// rules that undo each other would never end. A rule that gains cannot be undone by one that gains;
// one that normalizes must move an op in one direction only.
#ifndef LEAT_GRAPH_REWRITE_RULE_H_
#define LEAT_GRAPH_REWRITE_RULE_H_

#include "graph/node_facts.h"

// When the optimizer tries a rule. One pass tries the rules of EPILOGUE and SUM, the next ones read
// those of LOOP and of PIECES, and the last tries those of PROLOGUE (optimize/pass.c).
typedef enum leat_rewrite_phase_e {
  LEAT_REWRITE_EPILOGUE,  // first: what follows a node goes into that node
  LEAT_REWRITE_SUM,       // beside it, behind it where both gain alike: a sum computes its terms
  LEAT_REWRITE_LOOP,      // then: |deferral| says what a loop may put off; it has no |make|
  LEAT_REWRITE_PIECES,    // then: |combination| says how a concatenation is reduced; likewise
  LEAT_REWRITE_PROLOGUE,  // last, when concatenations are gone: what comes before a node
} leat_rewrite_phase_t;

// The ops by which a loop puts additions off (optimize/defer.c). The loop carries a tensor, and in
// each iteration the op that the rule names as its root reads it as last input and adds to it.
// |append| reads a variant instead of that input; it appends the other inputs to the variant, and
// from time to time adds up what the variant holds; its attribute T is the type of the tensor.
// |convert| makes the variant of the tensor before the loop, and the tensor of the variant after
// it; its attributes From and To are the types.
typedef struct leat_deferral_s {
  const char *convert, *append;
} leat_deferral_t;

// How the reduction of a concatenation follows from its pieces (optimize/concat_sinking.c): |each|
// reduces a piece, with the attributes of the rule's root, and |combine| takes two results. All are
// names of ops with the attribute T.
typedef struct leat_combination_s {
  const char* each;     // NULL: the root's op
  const char* combine;  // "AddV2"
  // NULL, or the op that at last divides by the number of elements that were combined; the rule
  // then holds for float and double alone.
  const char* divide;
} leat_combination_t;

// Which inputs of the root lead to a producer.
typedef enum leat_rewrite_inputs_e {
  LEAT_REWRITE_ONE_INPUT,           // the one that the rule names
  LEAT_REWRITE_EVERY_INPUT,         // each of two or more
  LEAT_REWRITE_ALL_INPUTS_BUT_ONE,  // each of two or more but one, which the new nodes read too
} leat_rewrite_inputs_t;

typedef struct leat_rewrite_match_s {
  const leat_graph_t* graph;  // adding a node invalidates pointers to its nodes
  int32_t root;      // the node that the nodes of |make| replace
  int32_t producer;  // the node at the other end, of which one output is read; -1: none
  int32_t through;   // the node between them; -1: none, the root reads the producer
  int side;          // the input of the root that leads to them
  // For a rule of more inputs than one: the producer for each input of the root, -1 for the one
  // that stays. |applies| sees those behind |side| and that of |side|, |make| sees all.
  const int32_t* producers;
  bool is_reshaped;  // a Reshape was looked through: the root reads another shape than was produced
  leat_arena_t* arena;  // until the pass ends
  // Adds a node named after the root. NOT_FOUND where no kernel serves it on the root's device; the
  // rule returns that status, and the optimizer then treats the rule as one that does not apply.
  leat_status_t (*add)(struct leat_rewrite_match_s* match, const char* op, leat_node_spec_t* spec,
                       leat_output_t* out_output);
  // Whether the new nodes may read what |node| reads instead of its output, though |node| may go on
  // living for others: it is pure and comes with the root. What it computes only the rule knows.
  bool (*may_bypass)(const struct leat_rewrite_match_s* match, int32_t node);
  // Says, before the first |add|, that they do: they will wait for whatever |node| waits for.
  leat_status_t (*bypass)(struct leat_rewrite_match_s* match, int32_t node);
  void* optimizer;  // for these functions
} leat_rewrite_match_t;

typedef struct leat_rewrite_rule_s {
  const char* name;      // "product_bias"
  const char* root;      // names of ops, "BiasAdd|BiasAddV1"
  const char* producer;  // likewise; NULL: the rule looks at the root only
  const char* through;   // likewise; NULL: the root reads the producer
  uint8_t phase;         // leat_rewrite_phase_t
  uint8_t inputs;        // leat_rewrite_inputs_t; 0: ONE_INPUT
  bool keeps_shape;      // output 0 of the root has the shape of the producer's
  bool commutes;         // the producer may be at input 0 or 1 of the root; else it is at input 0
  bool passes_reshapes;  // Reshapes to constant shapes may lie before the producer's reader
  // What is made takes as long as what goes, but other rules and passes know more of it. The rule
  // is taken where no rule applies that gains; any other rule is taken only where it gains.
  bool normalizes;
  // The root may have effects and any number of outputs; the new node has the same ones.
  bool has_effects;
  // The producer's output that is read. Where it is not 0, others may read the producer's other
  // outputs: the new node has all outputs of the producer, and replaces it as well as the root.
  int8_t producer_output;
  // The input of the root that leads to the producer, -1: none does; NULL: see |commutes|.
  int (*input)(const leat_node_t* root);
  // Whether shapes, types and attributes allow the rewrite. NULL: they always do. A rule of more
  // inputs than one is asked for each of them, from the last to the first; if it refuses one, that
  // is the one that stays.
  bool (*applies)(const leat_rewrite_match_t* match);
  const leat_deferral_t* deferral;  // of a LOOP rule, whose |root| is the op that adds
  const leat_combination_t* combination;  // of a PIECES rule, whose |root| is the op that reduces
  // Adds the new nodes. |*out_by| replaces output 0 of the root, the only one that is read.
  leat_status_t (*make)(leat_rewrite_match_t* match, leat_output_t* out_by);
  const char* doc;  // one line: "x w + b in one node"
} leat_rewrite_rule_t;

// Walks the rules of all families in the order of their tables, as |rule|. A |break| in the body
// ends the walk of one table only.
#define LEAT_REWRITE_FOR_EACH_RULE(registry, rule)                                      \
  for (int table_ = 0; table_ < leat_op_registry_rules_count(registry); ++table_)       \
    for (const leat_rewrite_rule_t* rule = leat_op_registry_rules(registry, table_);    \
         rule->name; ++rule)

// Ends a table of rules.
#define LEAT_REWRITE_RULES_END {.name = 0}

static inline const leat_node_t* leat_rewrite_root(const leat_rewrite_match_t* match) {
  return leat_graph_node(match->graph, match->root);
}
static inline const leat_node_t* leat_rewrite_producer(const leat_rewrite_match_t* match) {
  return leat_graph_node(match->graph, match->producer);
}

// ---- For |applies| and |make| -------------------------------------------------------------------

// Nodes that a rule has stepped over on its way back from the producer: |applies| only looks how
// far it can go, and |make| goes the same way and bypasses them.
#define LEAT_REWRITE_WAY_LENGTH 16
typedef struct leat_rewrite_way_s {
  int32_t nodes[LEAT_REWRITE_WAY_LENGTH];
  int count;
} leat_rewrite_way_t;

// Steps from |*inout_output| back over its node to what that reads at input 0. False, with nothing
// changed, where the node may not be bypassed, or another of its inputs is not a constant.
bool leat_rewrite_step_back(const leat_rewrite_match_t* match, leat_rewrite_way_t* inout_way,
                            leat_output_t* inout_output);
// Steps back from |*inout_output| over Reshapes and Identities, which keep the elements and their
// order, until the output has |shape|. False where it does not come to that.
bool leat_rewrite_find_shape(const leat_rewrite_match_t* match, leat_partial_shape_t shape,
                             leat_rewrite_way_t* inout_way, leat_output_t* inout_output);
LEAT_MUST_USE leat_status_t leat_rewrite_bypass(leat_rewrite_match_t* match,
                                                const leat_rewrite_way_t* way);
// Adds a constant int64 vector of |count| items.
LEAT_MUST_USE leat_status_t leat_rewrite_add_vector(leat_rewrite_match_t* match,
                                                    const int64_t* items, int count,
                                                    leat_output_t* out_vector);

// Takes the next name off a list of ops, "A|B|C"; false at its end.
bool leat_rewrite_take_name(const char** inout_list, leat_string_view_t* out_name);
bool leat_rewrite_is_listed(const char* list, leat_string_view_t op);
// The rule of |phase| whose root is |root|, for phases that have one rule for each root (LOOP,
// PIECES); NULL: there is none.
const leat_rewrite_rule_t* leat_rewrite_find_rule(const leat_op_registry_t* ops,
                                                  leat_rewrite_phase_t phase,
                                                  leat_string_view_t root);

#endif  // LEAT_GRAPH_REWRITE_RULE_H_
