// Which features the ops that parse examples want, and where they say so: in attributes or inputs.
#ifndef LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_
#define LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_

#include "kernel/kernel.h"
#include "ops/input/example_parse_cpu.h"

// Features of a kind, whose names, types and outputs stand together.
typedef struct leat_example_group_s {
  leat_feature_kind_t kind;
  bool is_list;
  int count;
  const int32_t* types;
  const int32_t* splits_types;         // ragged
  const leat_partial_shape_t* shapes;  // dense
  const leat_string_view_t* keys;      // NULL: input |keys_input| on
  int keys_input;
  bool has_scalar_keys;  // an input each, else one vector
  int first_output;
} leat_example_group_t;

enum { LEAT_EXAMPLE_GROUP_MAX = 6 };

typedef struct leat_example_layout_s {
  leat_arena_t arena;  // of copies of attributes
  leat_example_group_t groups[LEAT_EXAMPLE_GROUP_MAX];
  int group_count;
  int output_count;
  int next_input;  // while it is made
  bool is_sequence;
  bool has_lengths;  // dense feature lists
  int least_rank, most_rank;  // of the messages
  int names_input;            // -1: none
  int defaults_input;
  int missing_input;  // -1: none; bools or strings
  const leat_string_view_t* missing_keys;
  int missing_count;
} leat_example_layout_t;

// Of ParseExampleDataset: all in attributes but for the defaults, inputs 2 and on.
LEAT_MUST_USE leat_status_t leat_example_layout_create_of_dataset(
    leat_kernel_creation_t* c, leat_example_layout_t* out_layout);
void leat_example_layout_destroy(void* layout);

// Sets what |parse| looks for: the features lie in |arena|, and point into the layout and the
// kernel's inputs.
LEAT_MUST_USE leat_status_t leat_example_layout_read(const leat_kernel_context_t* c,
                                                     const leat_example_layout_t* layout,
                                                     leat_arena_t* arena,
                                                     leat_example_parse_t* parse);

#endif  // LEAT_OPS_INPUT_EXAMPLE_LAYOUT_CPU_H_
