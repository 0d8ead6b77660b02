// The elements of tensors in messages, as lists of numbers or texts.
#ifndef LEAT_BOARD_TENSOR_LIST_H_
#define LEAT_BOARD_TENSOR_LIST_H_

#include "base/arena.h"
#include "base/string_builder.h"
#include "board/json_writer.h"
#include "formats/generated/summary.h"

#define BOARD_MAX_RANK 8

typedef struct board_tensor_list_s {
  uint32_t rank;
  uint32_t dims[BOARD_MAX_RANK];
  size_t count;  // the product of the sizes
  // One of them is there.
  double* numbers;
  leat_string_view_t* texts;
  board_number_kind_t kind;  // of |numbers|: how they are printed
} board_tensor_list_t;

// The elements of |tensor|, in |arena|; texts are views of the message. INVALID_ARGUMENT for types
// that are neither numbers nor texts, more than 2^20 elements or 8 dimensions, and contents of
// another size than the shape's.
LEAT_MUST_USE leat_status_t board_tensor_list_read(const leat_pb_tensor_proto_t* tensor,
                                                   leat_arena_t* arena,
                                                   board_tensor_list_t* out_list);
// A histogram of either generation as rows of left edge, right edge, count.
LEAT_MUST_USE leat_status_t board_tensor_list_of_histogram(const leat_pb_summary_value_t* value,
                                                           leat_arena_t* arena,
                                                           board_tensor_list_t* out_list);
// Appends the numbers as JSON, nested as the shape says.
void board_tensor_list_print(const board_tensor_list_t* list, leat_string_builder_t* out);

#endif  // LEAT_BOARD_TENSOR_LIST_H_
