// Which shapes an op takes and gives, as its row says in one text:
//
//   a[..., m, k] b[..., k, n] -> product[..., m, n]
//
// Each item is a declared argument and the shape of its tensors, from the first dimension on:
//
//   3      a size               m      a size, the same wherever the name stands
//   _      any size             ...    any number of sizes, the same wherever it stands
//   []     a scalar             ...x   the same, where a pattern has several of them
//
// An input that has no item may have any shape, and of an output without one nothing is known. An
// item of an argument that repeats is the shape of each of its tensors.
//
// Both the shape function of such an op and the check before each run of its kernels follow from
// the text (graph/inference/pattern_shape.c, kernel/contract.c), so that they cannot say different
// things.
#ifndef LEAT_GRAPH_OP_SHAPE_PATTERN_H_
#define LEAT_GRAPH_OP_SHAPE_PATTERN_H_

#include "base/arena.h"
#include "base/string_view.h"

struct leat_op_s;

enum { LEAT_PATTERN_MAX_NAMES = 12, LEAT_PATTERN_MAX_GROUPS = 3 };

// A dimension of an item: a size, 0 or more; or this; or LEAT_PATTERN_NAME of a name's number.
#define LEAT_PATTERN_ANY INT32_MIN
#define LEAT_PATTERN_NAME(number) (-1 - (number))

typedef struct leat_shape_item_s {
  int argument;         // index of the declared input or output
  int dim_count;        // without the group
  const int32_t* dims;  // [dim_count]
  int group_at;         // how many of them stand before the group; -1: there is none
  int group;            // its number
  // Of an input: what an error says first about a wrong rank and about a wrong size
  // (leat_op_row_t.misfits); empty: nothing of its own.
  leat_string_view_t rank_words, size_words;
} leat_shape_item_t;

typedef struct leat_shape_pattern_s {
  const char* text;
  leat_shape_item_t* inputs;  // [input_count] items
  int input_count;
  const leat_shape_item_t* outputs;
  int output_count;
  leat_string_view_t names[LEAT_PATTERN_MAX_NAMES];  // of sizes
  int name_count;
  leat_string_view_t groups[LEAT_PATTERN_MAX_GROUPS];  // names of groups; "" is one
  int group_count;
} leat_shape_pattern_t;

// The tensors of an argument in a node's flattened list.
typedef struct leat_argument_range_s {
  int begin, end;
} leat_argument_range_t;

// Parses the texts |shapes| and |misfits| (NULL: none) of a row for |op|, whose arguments are
// known. INVALID_ARGUMENT, with the place, when one is malformed, names no argument of the op or
// one behind two that repeat, or when an output has a name or a group that no input has, and when
// |misfits| speaks of an input without an item. Both texts are borrowed.
LEAT_MUST_USE leat_status_t leat_shape_pattern_parse(const char* shapes, const char* misfits,
                                                     const struct leat_op_s* op,
                                                     leat_arena_t* arena,
                                                     const leat_shape_pattern_t** out_pattern);
// The tensors of input (or output) |argument| in a node that has |tensor_count| of them.
leat_argument_range_t leat_op_input_range(const struct leat_op_s* op, int argument,
                                          int tensor_count);
leat_argument_range_t leat_op_output_range(const struct leat_op_s* op, int argument,
                                           int tensor_count);

#endif  // LEAT_GRAPH_OP_SHAPE_PATTERN_H_
