// The optimization passes, which rewrite a pruned graph before it runs (section 5 of the white
// paper): the list of passes, the stage and the order in which each runs, its options, and the
// questions about nodes that several passes ask. The master runs them for each signature
// (master/master.h). A pass changes the graph only through an edit (optimize/edit.h); the one that
// runs optimizers of plug-ins makes another graph. A pass does not contain the names of ops; it
// asks the rows of the op and of its kernel, so that a new op takes part without a change of the
// passes.
#ifndef LEAT_OPTIMIZE_PASS_H_
#define LEAT_OPTIMIZE_PASS_H_

#include "base/speed.h"
#include "graph/node_facts.h"
#include "graph/node_map.h"
#include "kernel/registry.h"

// Computes the outputs of one stateless node from constant inputs (folding); given by the session,
// which knows kernels. |out_outputs| are owned by the caller. A failure means: do not fold.
typedef leat_status_t (*leat_evaluate_fn_t)(void* data, const leat_graph_t* graph, int32_t node,
                                            const leat_tensor_t* inputs,
                                            leat_tensor_t* out_outputs);

// Which passes run: bits.
typedef enum leat_pass_bit_e {
  LEAT_PASS_BIT_FOLD = 1 << 0,
  LEAT_PASS_BIT_ARITHMETIC = 1 << 1,
  LEAT_PASS_BIT_DEPENDENCY = 1 << 2,
  LEAT_PASS_BIT_CSE = 1 << 3,
  LEAT_PASS_BIT_RECOMPUTE = 1 << 4,
  LEAT_PASS_BIT_SWAP = 1 << 5,
  LEAT_PASS_BIT_COMPRESS = 1 << 6,       // changes values
  LEAT_PASS_BIT_RECV_SCHEDULE = 1 << 7,
  LEAT_PASS_BIT_RULES = 1 << 8,
  LEAT_PASS_BIT_FUSION = 1 << 9,
  LEAT_PASS_BIT_DEFER = 1 << 10,
  LEAT_PASS_BIT_PROLOGUES = 1 << 11,
  LEAT_PASS_BIT_CONCAT_SINKING = 1 << 12,
  LEAT_PASS_BIT_PLUGIN = 1 << 13,
} leat_pass_bit_t;
typedef struct leat_pass_options_s {
  uint32_t passes;              // leat_pass_bit_t
  leat_evaluate_fn_t evaluate;  // NULL: no folding
  void* evaluate_data;
  int64_t fold_limit_bytes;     // a folded constant is at most this large; 0 takes 10 MiB
  int64_t fold_limit_ns;        // no node is folded after so long; 0 takes 2 s
  char memory_scope[64];        // names of the backward pass begin so; "": see backward.h
  bool memory_by_hand;          // recompute and swap what "_recompute_hint", "_swap_to_host" say
  int64_t swap_limit_bytes;     // smaller values are not swapped; 0 takes 1 MiB
  const int32_t* swap_devices;  // device -> the one whose memory its values may wait in, or -1
  int64_t compress_limit_bytes;  // smaller values are not compressed; 0 takes 1 KiB
  const leat_speed_t* speeds;    // of the devices, by assigned_device; NULL: all alike
  // Nodes known to compute fewer elements are not fused; 0 takes 1,024. Where it is set, it is also
  // what the cost model takes a node more to be worth (concat_sinking).
  int64_t fusion_limit_elements;
  // Returns the kernel that serves a node of |op| on device |device|, or NULL. The master provides
  // the function; where it is NULL, no nodes are fused.
  const leat_kernel_row_t* (*find_kernel)(const void* data, const leat_op_t* op,
                                          const leat_attr_t* attrs, int attr_count,
                                          int32_t device);
  const void* find_kernel_data;
  // The full name of a device, with |find_kernel_data|; "" for a number that no device has. NULL:
  // no optimizers of plug-ins run.
  leat_string_view_t (*device_name)(const void* data, int32_t device);
  const struct leat_pass_observer_s* observer;  // NULL: nobody is told what passes do
} leat_pass_options_t;

// A graph that is being rewritten, with the outputs and nodes that a step needs of it. Compaction
// replaces |graph| and renumbers the fetches and targets.
typedef struct leat_rewrite_s {
  leat_graph_t* graph;
  leat_output_t* fetches;  // in |graph|
  int fetch_count;
  int32_t* targets;        // nodes that must run although nobody reads them
  int target_count;
} leat_rewrite_t;

// When a pass runs.
typedef enum leat_pass_stage_e {
  LEAT_PASS_WHOLE,       // on the whole graph, before it is placed
  LEAT_PASS_PLACED,      // on the whole graph, when every node has its device
  LEAT_PASS_PARTITIONS,  // on the graphs into which it was partitioned, one for each device
} leat_pass_stage_t;

struct leat_edit_s;

typedef struct leat_pass_s {
  const char* name;   // "fold"
  const char* doc;    // one line for listings
  const char* after;  // the names of passes that must run before it where they run, "fold,cse"
  leat_pass_stage_t stage;
  uint32_t bit;  // leat_pass_bit_t
  // The field of TensorFlow's RewriterConfig that turns the pass off. NULL: the pass is off unless
  // another option asks for it.
  const char* option;
  // False where the graph surely has nothing for the pass. NULL: one cannot tell without an edit,
  // which is made only when the first pass of a stage has work.
  bool (*has_work)(const leat_graph_t* graph);
  leat_status_t (*run)(struct leat_edit_s* edit);
  // Instead of |run|, for a pass that makes another graph in place of edits; none is open then.
  leat_status_t (*run_graph)(leat_rewrite_t* rewrite, const leat_pass_options_t* options);
  // Instead of |run|, for a pass over partitions: |edits| has one edit for each graph.
  leat_status_t (*run_partitions)(struct leat_edit_s* edits, int count);
} leat_pass_t;

// All passes, in the order in which they run; ends with a NULL. Options, tools and documents take
// what they say of passes from here.
extern const leat_pass_t* const leat_passes[];

// Who is told what passes do, for tools. Slots may be NULL; they are called by the thread that runs
// the passes.
typedef struct leat_pass_observer_s {
  void* data;
  // |pass|, which is not one over partitions, has run: of the nodes that there were before it
  // |removed| are gone, and |added| are new.
  void (*on_pass)(void* data, const leat_pass_t* pass, size_t removed, size_t added);
  // |rule| has changed the graph, in the pass that is told next.
  void (*on_rule)(void* data, const struct leat_rewrite_rule_s* rule);
  // The graph that |pass| has left, or those of all devices; they are valid during the call. A
  // failure ends the passes.
  leat_status_t (*on_graphs)(void* data, const leat_pass_t* pass,
                             const leat_graph_t* const* graphs, int count);
} leat_pass_observer_t;
// The bits of the passes that |option| turns off; NULL: of all that run by default.
uint32_t leat_passes_of_option(const char* option);

// Runs the passes of |stage|, WHOLE or PLACED, whose bits are set in |options|, and drops the nodes
// that are not needed any more. Errors name the pass. Debug builds verify the graph after each
// pass: INTERNAL when it is not well formed (graph/verify.h), or fetches and targets are not in it.
LEAT_MUST_USE leat_status_t leat_passes_run(leat_rewrite_t* rewrite,
                                            const leat_pass_options_t* options,
                                            leat_pass_stage_t stage);
// Runs one pass in the same way, whatever the options' bits say.
LEAT_MUST_USE leat_status_t leat_pass_run(const leat_pass_t* pass, leat_rewrite_t* rewrite,
                                          const leat_pass_options_t* options);
// Runs the passes of stage PARTITIONS whose bits are set in |options| on all partitions of a graph;
// if |only| is not NULL, runs that pass and no other.
LEAT_MUST_USE leat_status_t leat_passes_run_partitions(leat_graph_t* const* graphs, int graph_count,
                                                       const leat_pass_options_t* options,
                                                       const leat_pass_t* only);

// Prune (§4.2): the child of |graph| with what |fetches| and |targets| need; a fed output becomes
// an ARGUMENT node ("_Arg", attribute index = its place in |feeds|). |rewrite| is initialised with
// allocator-owned arrays: end with leat_rewrite_deinitialize. INVALID_ARGUMENT when what is needed
// has a cycle that no loop closes, on whose absence all passes rely.
LEAT_MUST_USE leat_status_t leat_prune(const leat_graph_t* graph, const leat_output_t* feeds,
                                       int feed_count, const leat_output_t* fetches,
                                       int fetch_count, const int32_t* targets, int target_count,
                                       leat_rewrite_t* out_rewrite);
void leat_rewrite_deinitialize(leat_rewrite_t* rewrite);
// The name of the node that the client feeds, for an argument that prune made; of another argument
// its own.
leat_string_view_t leat_argument_fed_name(const leat_node_t* argument);

// ---- For passes ---------------------------------------------------------------------------------

// Tells the observer, if there is one, that |rule| has changed the graph.
static inline void leat_pass_note_rule(const leat_pass_options_t* options,
                                       const struct leat_rewrite_rule_s* rule) {
  const leat_pass_observer_t* observer = options->observer;
  if (observer && observer->on_rule) observer->on_rule(observer->data, rule);
}

// Whether a kernel serves the node as a matrix product, and input 1 is a constant column of ones
// (leat_node_multiplies_ones).
bool leat_node_sums_rows(const leat_graph_t* graph, const leat_node_t* node,
                         const leat_pass_options_t* options);
// The name of a transfer, which a Send and its Recv share: both devices and the tensor's name.
LEAT_MUST_USE leat_status_t leat_transfer_name(const leat_node_t* node, leat_arena_t* arena,
                                               leat_string_view_t* out_name);
// Whether the node is pure: equal inputs give equal outputs, and it has no other effect. A pass may
// compute such a node early, merge it or leave it out. A node that reads a variable through a
// reference is not pure, since the variable may change.
bool leat_node_is_pure(const leat_graph_t* graph, const leat_node_t* node);
// Whether the node's only output is its input 0 (an Identity).
static inline bool leat_node_forwards(const leat_node_t* node) {
  return node->op->flags & LEAT_OP_PASS_THROUGH && node->output_count == 1;
}
// Whether an input of the node is the output of a Switch, of which only one is alive, or of a Recv,
// which may bring a dead value (where a graph comes as a part of a larger one, as another master or
// a client has cut it). A node that waits for this one cannot wait for its inputs instead, since a
// control edge does not say which output of the Switch is meant, and one from a Recv is alive
// whatever has come.
bool leat_node_reads_switch_or_recv(const leat_graph_t* graph, const leat_node_t* node);

// Whether a node computes a value from others. Without one there is nothing to fold or fuse.
// (leat_pass_t.has_work)
bool leat_graph_computes(const leat_graph_t* graph);
// How many elements a tensor of |shape| has; -1: it is not known.
int64_t leat_shape_count_known(leat_partial_shape_t shape);
// Whether a tensor of |shape| may have |element_count| elements or more. False where it is known to
// have fewer, or none.
bool leat_shape_may_reach(leat_partial_shape_t shape, int64_t element_count);
// The kernel that serves a placed node, or NULL.
const leat_kernel_row_t* leat_node_kernel(const leat_node_t* node,
                                          const leat_pass_options_t* options);
// Returns the op |name| if a kernel serves it with the attributes and on the device of |node|; else
// NULL.
const leat_op_t* leat_node_served_as(const leat_graph_t* graph, const leat_node_t* node,
                                     const char* name, const leat_pass_options_t* options);
// The speed of a device; a plausible one of a CPU where the options tell none.
leat_speed_t leat_pass_speed(const leat_pass_options_t* options, int32_t device);
// The access in the row of the kernel that serves a placed node (kernel/kernel.h). OTHER where none
// does, or the node does not meet the conditions of the access: of an elementwise node all
// attributes but types must have their defaults, and a bias must be known to be as long as a row.
leat_access_t leat_node_access(const leat_graph_t* graph, const leat_node_t* node,
                               const leat_pass_options_t* options);

extern const leat_pass_t leat_pass_fold;
extern const leat_pass_t leat_pass_arithmetic;
extern const leat_pass_t leat_pass_dependency;
extern const leat_pass_t leat_pass_cse;
extern const leat_pass_t leat_pass_plugin;
extern const leat_pass_t leat_pass_rules;
extern const leat_pass_t leat_pass_prologues;
extern const leat_pass_t leat_pass_defer;
extern const leat_pass_t leat_pass_concat_sinking;
extern const leat_pass_t leat_pass_fusion;
extern const leat_pass_t leat_pass_recompute;
extern const leat_pass_t leat_pass_swap;
extern const leat_pass_t leat_pass_compress;
extern const leat_pass_t leat_pass_recv_schedule;

#endif  // LEAT_OPTIMIZE_PASS_H_
