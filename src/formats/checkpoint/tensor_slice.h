// A slice is a box in a tensor: for each dimension a range, or all of it. Checkpoints store a
// partitioned variable as several slices. In the text form "-:0,3", '-' is all of dimension 0, and
// "0,3" is three rows of dimension 1 from row 0 on.
//
//   full shape [4, 5]     0 1 2 3 4
//   slice "1,2:2,3"     0 . . . . .
//                       1 . . x x x      rows 1 and 2 (1,2), columns 2, 3 and 4 (2,3)
//                       2 . . x x x
//                       3 . . . . .
//
// A slice that was parsed says "all" without knowing how much that is; leat_tensor_slice_resolve()
// puts the numbers in, and functions that count or copy elements need resolved slices. The arrays
// of a slice lie in an arena; nothing is freed.
#ifndef LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_
#define LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_

#include "base/arena.h"
#include "base/string_builder.h"
#include "formats/generated/tensor.h"
#include "tensor/shape.h"

#define LEAT_TENSOR_SLICE_ALL INT64_C(-1)

typedef struct leat_tensor_slice_s {
  int32_t rank;
  // [rank], an arena's; 0 where the length is LEAT_TENSOR_SLICE_ALL.
  int64_t* starts;
  // LEAT_TENSOR_SLICE_ALL: all of the dimension.
  int64_t* lengths;
} leat_tensor_slice_t;

// The slice that is all of a tensor of |rank|.
LEAT_MUST_USE leat_status_t leat_tensor_slice_make_full(int rank, leat_arena_t* arena,
                                                        leat_tensor_slice_t* out_slice);
// Reads the text form; INVALID_ARGUMENT when |text| is none.
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse(leat_string_view_t text, leat_arena_t* arena,
                                                    leat_tensor_slice_t* out_slice);
LEAT_MUST_USE leat_status_t leat_tensor_slice_from_proto(const leat_pb_tensor_slice_proto_t* proto,
                                                         leat_arena_t* arena,
                                                         leat_tensor_slice_t* out_slice);
// The message that an index of a checkpoint states slices in, in |arena|.
LEAT_MUST_USE leat_status_t leat_tensor_slice_to_proto(const leat_tensor_slice_t* slice,
                                                       leat_arena_t* arena,
                                                       leat_pb_tensor_slice_proto_t* out_proto);
// Parses "4 5 -:0,3", the shape of the whole and then the slice, as the inputs of SaveV2 and
// RestoreV2 state it.
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse_spec(leat_string_view_t text,
                                                         leat_arena_t* arena,
                                                         leat_shape_t* out_full_shape,
                                                         leat_tensor_slice_t* out_slice);
// Appends the text form.
void leat_tensor_slice_print(const leat_tensor_slice_t* slice, leat_string_builder_t* out);

// Resolves |slice|: replaces "all" by the size of the dimension in |full_shape|, and gives the
// shape of the slice. INVALID_ARGUMENT when the slice does not fit into |full_shape|; |out_shape|
// is then not touched.
LEAT_MUST_USE leat_status_t leat_tensor_slice_resolve(leat_tensor_slice_t* slice,
                                                      const leat_shape_t* full_shape,
                                                      leat_shape_t* out_shape);
// Whether two slices state the same ranges, and whether every range is stated as "all".
bool leat_tensor_slice_equal(const leat_tensor_slice_t* a, const leat_tensor_slice_t* b);
bool leat_tensor_slice_is_full(const leat_tensor_slice_t* slice);

// The key under which a slice of tensor |name| is stored.
void leat_tensor_slice_append_key(leat_string_view_t name, const leat_tensor_slice_t* slice,
                                  leat_string_builder_t* out);
// Parses such a key; DATA_LOSS when |key| is none. |out_name| lies in |arena|.
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse_key(leat_string_view_t key,
                                                        leat_arena_t* arena,
                                                        leat_string_view_t* out_name,
                                                        leat_tensor_slice_t* out_slice);

// The number of elements that two resolved slices of one tensor have in common.
int64_t leat_tensor_slice_count_common(const leat_tensor_slice_t* a,
                                       const leat_tensor_slice_t* b);
// Copies what two resolved slices of one tensor have in common from an array that holds |from| to
// one that holds |to|. Returns the number of elements.
int64_t leat_tensor_slice_copy_common(const leat_tensor_slice_t* from, const void* from_data,
                                      const leat_tensor_slice_t* to, void* to_data,
                                      size_t item_bytes);

#endif  // LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_
