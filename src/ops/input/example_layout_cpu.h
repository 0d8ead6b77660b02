// What the ops that parse examples want, and where each op says so: which features of which kinds,
// whether their names are attributes or inputs, and which outputs they have. The ops (ParseExample,
// ParseSingleExample, ParseSequenceExample, their second versions and ParseExampleDataset) differ
// in nothing else, so that one kernel serves them all. A layout is made once with its kernel, by
// example_cpu.c, and only read afterwards, by any number of steps.
//
//   node's attributes ─▶ layout ─(with a step's inputs)▶ specs ─▶ leat_example_parse ─▶ outputs
#ifndef LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_
#define LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_

#include "kernel/kernel.h"
#include "ops/input/example_parse_cpu.h"

// A group of features of one kind; their names, types and outputs are consecutive. A feature has
// one output if it is dense (two as a list with lengths), three if it is sparse, and two if it is
// ragged (three as a list). The arrays have |count| items.
typedef struct leat_example_group_s {
  leat_feature_kind_t kind;
  bool is_list;  // of feature lists, else of an Example or a context
  int count;  // features in the group
  const int32_t* types;
  const int32_t* splits_types;         // ragged
  const leat_partial_shape_t* shapes;  // dense
  const leat_string_view_t* keys;      // [count]; NULL: the keys are inputs from |keys_input| on
  int keys_input;
  // each key is an input of its own; false: one input is a vector of the keys
  bool has_scalar_keys;
  int first_output;  // the first output of the group
} leat_example_group_t;

// ParseSequenceExampleV2 has the most groups: three kinds in contexts and three in lists.
enum { LEAT_EXAMPLE_GROUP_MAX = 6 };

// The layout. It copies the attributes that it needs into |arena|, so that it does not depend on
// the node.
typedef struct leat_example_layout_s {
  leat_arena_t arena;  // of the copies of attributes
  leat_example_group_t groups[LEAT_EXAMPLE_GROUP_MAX];
  int group_count;
  int output_count;
  int next_input;  // the input after those of the groups so far, while the layout is made
  bool is_sequence;
  bool has_lengths;  // dense feature lists have an output of lengths
  int least_rank, most_rank;  // ranks that the serialized messages may have
  int names_input;            // input with the examples' names; -1: none
  int defaults_input;  // first of the inputs with default values
  int missing_input;  // input with booleans or keys of the lists that may be missing; -1: none
  // keys of the lists that may be missing, from an attribute
  const leat_string_view_t* missing_keys;
  int missing_count;
} leat_example_layout_t;

// Makes the layout of ParseExampleDataset, which has everything in attributes but the default
// values, its inputs 2 and following. |out_layout| must be zeroed, and is to be destroyed even
// after a failure. INVALID_ARGUMENT where attributes differ in length or a dense shape is too
// large.
LEAT_MUST_USE leat_status_t leat_example_layout_create_of_dataset(
    leat_kernel_creation_t* c, leat_example_layout_t* out_layout);
// Frees the layout; the type of the argument is that of a kernel row's destroy function.
void leat_example_layout_destroy(void* layout);

// Sets the features that |parse| looks for. They lie in |arena| and point into the layout and the
// kernel's inputs. INVALID_ARGUMENT where inputs do not fit the layout.
LEAT_MUST_USE leat_status_t leat_example_layout_read(const leat_kernel_context_t* c,
                                                     const leat_example_layout_t* layout,
                                                     leat_arena_t* arena,
                                                     leat_example_parse_t* parse);

#endif  // LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_
