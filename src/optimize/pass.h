// Rewriting passes over a pruned graph (section 5). A pass reads one graph and writes a new one (a
// child that shares the old one's storage); |fetches| are carried along. Passes name no op: they
// ask flags and hooks of the op's row.
#ifndef LEAT_OPTIMIZE_PASS_H_
#define LEAT_OPTIMIZE_PASS_H_

#include "graph/node_map.h"

// Computes the outputs of one stateless node from constant inputs (folding); given by the session,
// which knows kernels. |out_outputs| are owned by the caller. A failure means: do not fold.
typedef leat_status_t (*leat_evaluate_fn_t)(void* data, const leat_graph_t* graph, int32_t node,
                                            const leat_tensor_t* inputs,
                                            leat_tensor_t* out_outputs);

typedef struct leat_pass_options_s {
  leat_evaluate_fn_t evaluate;  // NULL: no folding
  void* evaluate_data;
  int64_t fold_limit_bytes;     // a folded constant is at most this large; 0 takes 10 MiB
} leat_pass_options_t;

// What is rewritten: |graph| is replaced (the old one freed), outputs follow.
typedef struct leat_rewrite_s {
  leat_graph_t* graph;
  leat_output_t* fetches;  // in |graph|
  int fetch_count;
  int32_t* targets;        // nodes that must run although nobody reads them
  int target_count;
} leat_rewrite_t;

typedef struct leat_pass_s {
  const char* name;  // "fold"
  const char* doc;
  leat_status_t (*run)(leat_rewrite_t* rewrite, const leat_pass_options_t* options);
} leat_pass_t;

// Prune (§4.2): the child of |graph| with what |fetches| and |targets| need; a fed output becomes
// an ARGUMENT node ("_Arg", attribute index = its place in |feeds|). |rewrite| is initialised with
// allocator-owned arrays: end with leat_rewrite_deinitialize.
LEAT_MUST_USE leat_status_t leat_prune(const leat_graph_t* graph, const leat_output_t* feeds,
                                       int feed_count, const leat_output_t* fetches,
                                       int fetch_count, const int32_t* targets, int target_count,
                                       leat_rewrite_t* out_rewrite);
void leat_rewrite_deinitialize(leat_rewrite_t* rewrite);

// ---- For passes ---------------------------------------------------------------------------------

// Puts |graph| in the place of rewrite->graph and maps fetches and targets.
void leat_rewrite_replace(leat_rewrite_t* rewrite, leat_graph_t* graph, const leat_node_map_t* map);
// |out_needed| [node_count]: nodes that fetches and targets depend on.
LEAT_MUST_USE leat_status_t leat_rewrite_mark_needed(const leat_rewrite_t* rewrite,
                                                     bool* out_needed);
// Pure: same inputs, same outputs, nothing else happens; so nothing that reads a variable through
// its reference. What passes may compute early, merge or leave out.
bool leat_node_is_pure(const leat_graph_t* graph, const leat_node_t* node);

extern const leat_pass_t leat_pass_fold;
extern const leat_pass_t leat_pass_dependency;
extern const leat_pass_t leat_pass_cse;
// The passes in the order in which they run by default; ends with a NULL.
extern const leat_pass_t* const leat_passes[];

#endif  // LEAT_OPTIMIZE_PASS_H_
