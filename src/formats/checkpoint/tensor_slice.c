// Slices, which are boxes in a tensor: for each dimension a start and a length, or "all of it".
// Checkpoints store a partitioned variable as several slices, and name each slice in three forms
// that are converted here: a text "0,3:-" in the inputs of SaveV2 and RestoreV2, the message
// TensorSliceProto in an index, and a binary key under which a table holds the slice's elements.
//
// A length of LEAT_TENSOR_SLICE_ALL means the whole dimension, whatever its size;
// leat_tensor_slice_resolve() replaces it by the size once the tensor's shape is known, and tests
// that the slice lies in the shape. Functions that compare or copy boxes need resolved slices,
// whose sums of start and length cannot overflow.
//
// The binary key is TensorFlow's OrderedCode of the name, the rank and the ranges, so that the
// slices of one tensor are neighbours in the sorted table.
#include "formats/checkpoint/tensor_slice.h"

#include "base/checked.h"
#include "formats/checkpoint/ordered_code.h"

// Gives |out_slice| room for |rank| ranges, zeroed, in the arena.
static leat_status_t allocate(int rank, leat_arena_t* arena, leat_tensor_slice_t* out_slice) {
  *out_slice = (leat_tensor_slice_t){0};
  if (rank < 0 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor slice creation failed: rank is %d, must be 0 to %d", rank,
                            LEAT_SHAPE_MAX_RANK);
  }
  void* memory;
  LEAT_RETURN_IF_ERROR(
      leat_arena_allocate_array(arena, 2 * (size_t)rank, sizeof(int64_t), &memory));
  out_slice->rank = rank;
  out_slice->starts = (int64_t*)memory;
  out_slice->lengths = out_slice->starts + rank;
  return leat_ok_status();
}

leat_status_t leat_tensor_slice_make_full(int rank, leat_arena_t* arena,
                                          leat_tensor_slice_t* out_slice) {
  LEAT_RETURN_IF_ERROR(allocate(rank, arena, out_slice));
  for (int i = 0; i < rank; ++i) out_slice->lengths[i] = LEAT_TENSOR_SLICE_ALL;
  return leat_ok_status();
}

static leat_status_t refuse_text(leat_string_view_t text) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor slice parse failed: slice is '%.*s', must be ranges "
                          "'start,length' or '-' joined by ':', lengths positive",
                          LEAT_SV_ARG(text));
}

// The part of |*inout_text| before |separator|, which is removed; all of it when there is none.
static leat_string_view_t take_part(leat_string_view_t* inout_text, char separator) {
  size_t end = leat_string_view_find(*inout_text, separator);
  if (end == SIZE_MAX) end = inout_text->size;
  leat_string_view_t part = leat_string_view_make(inout_text->data, end);
  *inout_text = leat_string_view_from_index(*inout_text, end + 1);
  return part;
}

leat_status_t leat_tensor_slice_parse(leat_string_view_t text, leat_arena_t* arena,
                                      leat_tensor_slice_t* out_slice) {
  int rank = text.size > 0;
  leat_string_view_t rest = text;
  for (size_t i = 0; i < text.size; ++i) rank += text.data[i] == ':' && rank < INT32_MAX;
  LEAT_RETURN_IF_ERROR(allocate(rank, arena, out_slice));
  for (int i = 0; i < rank; ++i) {
    leat_string_view_t range = take_part(&rest, ':');
    if (leat_string_view_equals(range, "-")) {
      out_slice->lengths[i] = LEAT_TENSOR_SLICE_ALL;
      continue;
    }
    leat_string_view_t start = take_part(&range, ',');
    if (!leat_string_view_to_int64(start, &out_slice->starts[i]) ||
        !leat_string_view_to_int64(range, &out_slice->lengths[i]) || out_slice->starts[i] < 0 ||
        out_slice->lengths[i] <= 0) {
      return refuse_text(text);
    }
  }
  return leat_ok_status();
}

leat_status_t leat_tensor_slice_parse_spec(leat_string_view_t text, leat_arena_t* arena,
                                           leat_shape_t* out_full_shape,
                                           leat_tensor_slice_t* out_slice) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  size_t space;
  leat_string_view_t rest = text;
  *out_full_shape = leat_shape_scalar();
  for (; (space = leat_string_view_find(rest, ' ')) != SIZE_MAX; ++rank) {
    if (rank == LEAT_SHAPE_MAX_RANK ||
        !leat_string_view_to_int64(take_part(&rest, ' '), &dims[rank])) {
      return refuse_text(text);
    }
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_parse(rest, arena, out_slice));
  if (rank == 0 || out_slice->rank != rank) return refuse_text(text);
  return leat_shape_create(rank, dims, out_full_shape);
}

leat_status_t leat_tensor_slice_from_proto(const leat_pb_tensor_slice_proto_t* proto,
                                           leat_arena_t* arena, leat_tensor_slice_t* out_slice) {
  size_t rank = proto->extent.count;
  LEAT_RETURN_IF_ERROR(allocate(rank < INT32_MAX ? (int)rank : INT32_MAX, arena, out_slice));
  for (size_t i = 0; i < rank; ++i) {
    const leat_pb_tensor_slice_proto_extent_t* extent = &proto->extent.items[i];
    bool is_all = extent->has_length_case == 0;
    out_slice->starts[i] = is_all ? 0 : extent->start;
    out_slice->lengths[i] = is_all ? LEAT_TENSOR_SLICE_ALL : extent->length;
    if (!is_all && (extent->start < 0 || extent->length <= 0)) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Tensor slice decode failed: range %zu is %lld,%lld, must not be "
                              "negative or empty",
                              i, (long long)extent->start, (long long)extent->length);
    }
  }
  return leat_ok_status();
}

leat_status_t leat_tensor_slice_to_proto(const leat_tensor_slice_t* slice, leat_arena_t* arena,
                                         leat_pb_tensor_slice_proto_t* out_proto) {
  *out_proto = (leat_pb_tensor_slice_proto_t){0};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)slice->rank, &out_proto->extent.items));
  out_proto->extent.count = (size_t)slice->rank;
  for (int i = 0; i < slice->rank; ++i) {
    if (slice->lengths[i] == LEAT_TENSOR_SLICE_ALL) continue;
    out_proto->extent.items[i] = (leat_pb_tensor_slice_proto_extent_t){
        .start = slice->starts[i], .length = slice->lengths[i], .has_length_case = 2};
  }
  return leat_ok_status();
}

void leat_tensor_slice_print(const leat_tensor_slice_t* slice, leat_string_builder_t* out) {
  for (int i = 0; i < slice->rank; ++i) {
    if (i > 0) leat_string_builder_append_char(out, ':');
    if (slice->lengths[i] == LEAT_TENSOR_SLICE_ALL) {
      leat_string_builder_append_char(out, '-');
    } else {
      leat_string_builder_print(out, "%lld,%lld", (long long)slice->starts[i],
                                (long long)slice->lengths[i]);
    }
  }
}

leat_status_t leat_tensor_slice_resolve(leat_tensor_slice_t* slice, const leat_shape_t* full_shape,
                                        leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  if (slice->rank != full_shape->rank) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Tensor slice failed: rank is %d, must be %d, the tensor's",
                            slice->rank, full_shape->rank);
  }
  for (int i = 0; i < slice->rank; ++i) {
    int64_t size = leat_shape_dim(full_shape, i);
    if (slice->lengths[i] == LEAT_TENSOR_SLICE_ALL) {
      slice->starts[i] = 0;
      slice->lengths[i] = size;
    }
    if (slice->lengths[i] < 0 || slice->starts[i] < 0 || slice->starts[i] > size ||
        slice->lengths[i] > size - slice->starts[i]) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Tensor slice failed: range %d is %lld,%lld, must lie within 0,%lld",
                              i, (long long)slice->starts[i], (long long)slice->lengths[i],
                              (long long)size);
    }
    dims[i] = slice->lengths[i];
  }
  return leat_shape_create(slice->rank, dims, out_shape);
}

bool leat_tensor_slice_equal(const leat_tensor_slice_t* a, const leat_tensor_slice_t* b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; ++i) {
    if (a->starts[i] != b->starts[i] || a->lengths[i] != b->lengths[i]) return false;
  }
  return true;
}

bool leat_tensor_slice_is_full(const leat_tensor_slice_t* slice) {
  for (int i = 0; i < slice->rank; ++i) {
    if (slice->lengths[i] != LEAT_TENSOR_SLICE_ALL) return false;
  }
  return true;
}

void leat_tensor_slice_append_key(leat_string_view_t name, const leat_tensor_slice_t* slice,
                                  leat_string_builder_t* out) {
  leat_ordered_code_append_uint64(out, 0);
  leat_ordered_code_append_string(out, name);
  leat_ordered_code_append_uint64(out, (uint64_t)slice->rank);
  for (int i = 0; i < slice->rank; ++i) {
    leat_ordered_code_append_int64(out, slice->starts[i]);
    leat_ordered_code_append_int64(out, slice->lengths[i]);
  }
}

// Reads the ranges at the end of a key, which must fill it. TensorFlow writes "all" as the length
// -1.
static bool read_ranges(leat_string_view_t* code, leat_tensor_slice_t* slice) {
  for (int i = 0; i < slice->rank; ++i) {
    if (!leat_ordered_code_read_int64(code, &slice->starts[i]) ||
        !leat_ordered_code_read_int64(code, &slice->lengths[i])) {
      return false;
    }
    if (slice->lengths[i] < 0) {
      slice->starts[i] = 0;
      slice->lengths[i] = LEAT_TENSOR_SLICE_ALL;
    }
  }
  return code->size == 0;
}

leat_status_t leat_tensor_slice_parse_key(leat_string_view_t key, leat_arena_t* arena,
                                          leat_string_view_t* out_name,
                                          leat_tensor_slice_t* out_slice) {
  uint64_t zero, rank = 0;
  leat_string_builder_t name;
  leat_string_view_t code = key;
  leat_string_builder_initialize(arena->allocator, &name);
  bool valid = leat_ordered_code_read_uint64(&code, &zero) && zero == 0 &&
               leat_ordered_code_read_string(&code, &name) &&
               leat_ordered_code_read_uint64(&code, &rank) && rank <= LEAT_SHAPE_MAX_RANK;
  leat_status_t status = leat_status_clone(name.status);
  if (leat_status_is_ok(status)) {
    status = leat_arena_copy_string(arena, leat_string_builder_view(&name), out_name);
  }
  leat_string_builder_deinitialize(&name);
  LEAT_RETURN_IF_ERROR(status);
  if (valid) LEAT_RETURN_IF_ERROR(allocate((int)rank, arena, out_slice));
  if (valid && read_ranges(&code, out_slice)) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS, "Tensor slice decode failed: a key of %zu bytes is none",
                          key.size);
}

// The number of elements in both boxes, which must be resolved and of one rank.
int64_t leat_tensor_slice_count_common(const leat_tensor_slice_t* a,
                                       const leat_tensor_slice_t* b) {
  int64_t count = 1;
  for (int i = 0; i < a->rank; ++i) {
    int64_t begin = LEAT_MAX(a->starts[i], b->starts[i]);
    int64_t end = LEAT_MIN(a->starts[i] + a->lengths[i], b->starts[i] + b->lengths[i]);
    if (end <= begin) return 0;
    count *= end - begin;
  }
  return count;
}

// Copies the elements that lie in both boxes, one row of the last dimension after the other, and
// returns their number. |from_data| are the elements of the box |from| alone, row-major, and
// |to_data| those of |to|.
int64_t leat_tensor_slice_copy_common(const leat_tensor_slice_t* from, const void* from_data,
                                      const leat_tensor_slice_t* to, void* to_data,
                                      size_t item_bytes) {
  int64_t starts[LEAT_SHAPE_MAX_RANK], lengths[LEAT_SHAPE_MAX_RANK], at[LEAT_SHAPE_MAX_RANK] = {0};
  int rank = from->rank;
  int64_t copied = 0;
  for (int i = 0; i < rank; ++i) {
    int64_t end = from->starts[i] + from->lengths[i], to_end = to->starts[i] + to->lengths[i];
    starts[i] = from->starts[i] > to->starts[i] ? from->starts[i] : to->starts[i];
    lengths[i] = (end < to_end ? end : to_end) - starts[i];
    if (lengths[i] <= 0) return 0;
  }
  int64_t row = rank > 0 ? lengths[rank - 1] : 1;
  for (;;) {
    // One row of the last dimension.
    int64_t from_index = 0, to_index = 0;
    for (int i = 0; i < rank; ++i) {
      from_index = from_index * from->lengths[i] + starts[i] + at[i] - from->starts[i];
      to_index = to_index * to->lengths[i] + starts[i] + at[i] - to->starts[i];
    }
    memcpy((char*)to_data + (size_t)to_index * item_bytes,
           (const char*)from_data + (size_t)from_index * item_bytes, (size_t)row * item_bytes);
    copied += row;
    int axis = rank - 2;
    while (axis >= 0 && ++at[axis] == lengths[axis]) at[axis--] = 0;
    if (axis < 0) return copied;
  }
}
