// A box inside a tensor: per dimension a range, or all of it. What checkpoints store of partitioned
// variables. The text form is "-:0,3": all of dimension 0, three rows of dimension 1 from row 0.
#ifndef LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_
#define LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_

#include "base/arena.h"
#include "base/string_builder.h"
#include "formats/generated/tensor.h"
#include "tensor/shape.h"

#define LEAT_TENSOR_SLICE_ALL INT64_C(-1)

typedef struct leat_tensor_slice_s {
  int32_t rank;
  int64_t* starts;   // an arena's; 0 where the length is LEAT_TENSOR_SLICE_ALL
  int64_t* lengths;
} leat_tensor_slice_t;

// All of a tensor of |rank|.
LEAT_MUST_USE leat_status_t leat_tensor_slice_make_full(int rank, leat_arena_t* arena,
                                                        leat_tensor_slice_t* out_slice);
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse(leat_string_view_t text, leat_arena_t* arena,
                                                    leat_tensor_slice_t* out_slice);
LEAT_MUST_USE leat_status_t leat_tensor_slice_from_proto(const leat_pb_tensor_slice_proto_t* proto,
                                                         leat_arena_t* arena,
                                                         leat_tensor_slice_t* out_slice);
LEAT_MUST_USE leat_status_t leat_tensor_slice_to_proto(const leat_tensor_slice_t* slice,
                                                       leat_arena_t* arena,
                                                       leat_pb_tensor_slice_proto_t* out_proto);
// "4 5 -:0,3": the shape of the whole, then the slice. SaveV2 and RestoreV2 state slices so.
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse_spec(leat_string_view_t text,
                                                         leat_arena_t* arena,
                                                         leat_shape_t* out_full_shape,
                                                         leat_tensor_slice_t* out_slice);
void leat_tensor_slice_print(const leat_tensor_slice_t* slice, leat_string_builder_t* out);

// The same slice with every range spelt out, once the whole's shape is known (INVALID_ARGUMENT when
// it does not fit into |full_shape|), and the shape of the slice (not touched on failure).
LEAT_MUST_USE leat_status_t leat_tensor_slice_resolve(leat_tensor_slice_t* slice,
                                                      const leat_shape_t* full_shape,
                                                      leat_shape_t* out_shape);
// Do they have the same ranges as they are written? Is every range all of its dimension?
bool leat_tensor_slice_equal(const leat_tensor_slice_t* a, const leat_tensor_slice_t* b);
bool leat_tensor_slice_is_full(const leat_tensor_slice_t* slice);

// The key under which a slice of tensor |name| is stored.
void leat_tensor_slice_append_key(leat_string_view_t name, const leat_tensor_slice_t* slice,
                                  leat_string_builder_t* out);
// And back; DATA_LOSS when |key| is no such key. |out_name| lies in |arena|.
LEAT_MUST_USE leat_status_t leat_tensor_slice_parse_key(leat_string_view_t key,
                                                        leat_arena_t* arena,
                                                        leat_string_view_t* out_name,
                                                        leat_tensor_slice_t* out_slice);

// How many elements two resolved slices of one tensor share: both are boxes, so is that.
int64_t leat_tensor_slice_count_common(const leat_tensor_slice_t* a,
                                       const leat_tensor_slice_t* b);
// Copies what two resolved slices of one tensor have in common from an array that holds |from| to
// one that holds |to|. Returns the number of elements.
int64_t leat_tensor_slice_copy_common(const leat_tensor_slice_t* from, const void* from_data,
                                      const leat_tensor_slice_t* to, void* to_data,
                                      size_t item_bytes);

#endif  // LEAT_FORMATS_CHECKPOINT_TENSOR_SLICE_H_
