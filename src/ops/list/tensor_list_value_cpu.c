// The list value behind TensorList ops: its life, what it does as a variant, and the helpers of its
// kernels (tensor_list_cpu.h). A variant's vtable lets generic ops treat a list as they treat a
// number: ZerosLike makes a list of zeros, and AddN adds two lists element by element, which is how
// gradients of lists are summed. An element without a tensor stands for zeros of a shape that is
// not known yet, so the sum of such an element and a tensor is the tensor. In a message a list is
// its tensors, and bytes that say which elements have none, the dtype and the shape, as TensorFlow
// writes them; those of a peer are held against each other, since kernels rely on it that a tensor
// of a list has the list's dtype and fits its shape.
//
//   variant ─▶ list: dtype, element shape, items ─▶ [tensor | none | tensor | ...]
//   variant ─────┘  (references = 2: the next op that changes it copies it)
#include <limits.h>
#include <string.h>

#include "base/checked.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/wire.h"
#include "kernel/tensor_sum.h"
#include "kernel/tuple.h"
#include "ops/list/tensor_list_cpu.h"
#include "ops/list/values.h"

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_tensor_list_create(int dtype, leat_partial_shape_t shape, int64_t count,
                                      leat_tensor_list_t** out_list) {
  leat_tensor_list_t* list;
  size_t rank = shape.rank > 0 ? (size_t)shape.rank : 0;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof *list + rank * sizeof(int64_t),
                                               (void**)&list));
  if (rank) memcpy(list->dims, shape.dims, rank * sizeof(int64_t));
  list->references = 1;
  list->dtype = dtype;
  list->limit = -1;
  list->shape = (leat_partial_shape_t){shape.rank, rank ? list->dims : NULL};
  leat_status_t status = leat_tensor_list_resize(list, count);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  *out_list = list;
  return leat_ok_status();
}

void leat_tensor_list_release(leat_tensor_list_t* list) {
  if (!list || !leat_reference_count_release(&list->references)) return;
  leat_tensors_release(list->items, (int64_t)list->count);
  leat_allocator_free(leat_allocator_system(), list->items);
  leat_allocator_free(leat_allocator_system(), list);
}

leat_status_t leat_tensor_list_resize(leat_tensor_list_t* list, int64_t count) {
  while ((int64_t)list->count > count) leat_tensor_release(&list->items[--list->count]);
  LEAT_RETURN_IF_ERROR(
      LEAT_GROW(leat_allocator_system(), (size_t)count, &list->items, &list->room));
  // A pop moves its tensor out, so the places behind the count may hold stale bytes.
  for (size_t i = list->count; i < (size_t)count; ++i) list->items[i] = (leat_tensor_t){0};
  list->count = (size_t)count;
  return leat_ok_status();
}

// Makes a list with the same elements, which share the tensors.
static leat_status_t copy_list(const leat_tensor_list_t* list, leat_tensor_list_t** out_copy) {
  LEAT_RETURN_IF_ERROR(
      leat_tensor_list_create(list->dtype, list->shape, (int64_t)list->count, out_copy));
  (*out_copy)->limit = list->limit;
  for (size_t i = 0; i < list->count; ++i) {
    (*out_copy)->items[i] = leat_tensor_share(&list->items[i]);
  }
  return leat_ok_status();
}

// ---- The variant --------------------------------------------------------------------------------

static void list_retain(void* self) {
  leat_reference_count_retain(&((leat_tensor_list_t*)self)->references);
}

static void list_release(void* self) { leat_tensor_list_release(self); }

// An element without a tensor stays without one.
static leat_status_t zeros_item(const leat_tensor_t* item, leat_tensor_t* out_zeros) {
  *out_zeros = (leat_tensor_t){0};
  return item->dtype ? leat_tensor_zeros_like(item, out_zeros) : leat_ok_status();
}

// The sum of two elements, of which either may have no tensor.
static leat_status_t add_items(const leat_tensor_t* a, const leat_tensor_t* b,
                               leat_tensor_t* out_sum) {
  *out_sum = (leat_tensor_t){0};
  if (a->dtype && b->dtype) return leat_tensor_sum(a, b, out_sum);
  const leat_tensor_t* only = a->dtype ? a : b;
  if (only->dtype) *out_sum = leat_tensor_share(only);
  return leat_ok_status();
}

// A list of as many elements, each of them zeros; its dtype and element shape are kept.
static leat_status_t list_zeros_like(void* self, leat_variant_t* out_variant) {
  const leat_tensor_list_t* list = self;
  leat_tensor_list_t* zeros;
  LEAT_RETURN_IF_ERROR(
      leat_tensor_list_create(list->dtype, list->shape, (int64_t)list->count, &zeros));
  for (size_t i = 0; i < list->count; ++i) {
    leat_status_t status = zeros_item(&list->items[i], &zeros->items[i]);
    if (status) {
      leat_tensor_list_release(zeros);
      return status;
    }
  }
  *out_variant = (leat_variant_t){&leat_tensor_list_vtable, zeros};
  return leat_ok_status();
}

// Whether some shape is described by both |a| and |b|.
static bool shapes_agree(leat_partial_shape_t a, leat_partial_shape_t b) {
  if (a.rank < 0 || b.rank < 0) return true;
  if (a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; ++i) {
    if (a.dims[i] >= 0 && b.dims[i] >= 0 && a.dims[i] != b.dims[i]) return false;
  }
  return true;
}

// The sum of two lists of equal length; its element shape has the sizes that either list knows.
static leat_status_t list_add(void* a_self, void* b_self, leat_variant_t* out_variant) {
  const leat_tensor_list_t *a = a_self, *b = b_self;
  if (a->dtype != b->dtype || a->count != b->count || !shapes_agree(a->shape, b->shape)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Trying to add two lists of tensors with different dtypes, lengths or "
                            "element shapes: %zu %s of %s and %zu %s of %s",
                            a->count, leat_dtype_name(a->dtype),
                            LEAT_PARTIAL_SHAPE_TEXT(a->shape), b->count,
                            leat_dtype_name(b->dtype), LEAT_PARTIAL_SHAPE_TEXT(b->shape));
  }
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  leat_partial_shape_t shape = a->shape.rank >= 0 ? a->shape : b->shape;
  for (int i = 0; i < shape.rank && a->shape.rank >= 0 && b->shape.rank >= 0; ++i) {
    dims[i] = a->shape.dims[i] >= 0 ? a->shape.dims[i] : b->shape.dims[i];
  }
  if (a->shape.rank > 0 && b->shape.rank > 0) shape.dims = dims;
  leat_tensor_list_t* sum;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_create(a->dtype, shape, (int64_t)a->count, &sum));
  for (size_t i = 0; i < a->count; ++i) {
    leat_status_t status = add_items(&a->items[i], &b->items[i], &sum->items[i]);
    if (status) {
      leat_tensor_list_release(sum);
      return status;
    }
  }
  *out_variant = (leat_variant_t){&leat_tensor_list_vtable, sum};
  return leat_ok_status();
}

// ---- In messages --------------------------------------------------------------------------------

// The metadata of a list: the number of elements without a tensor, their indices, the dtype and the
// limit, all as varints, and behind them the element shape as a TensorShapeProto.
static leat_status_t write_metadata(const leat_tensor_list_t* list, leat_string_builder_t* out) {
  leat_pb_tensor_shape_proto_t* shape;
  leat_arena_t arena;
  uint64_t missing = 0;
  for (size_t i = 0; i < list->count; ++i) missing += !list->items[i].dtype;
  leat_wire_append_varint(out, missing);
  for (size_t i = 0; i < list->count; ++i) {
    if (!list->items[i].dtype) leat_wire_append_varint(out, i);
  }
  leat_wire_append_varint(out, (uint64_t)list->dtype);
  leat_wire_append_varint(out, (uint64_t)list->limit);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = leat_partial_shape_to_proto(list->shape, &arena, &shape);
  if (!status) status = leat_message_encode(&leat_pb_tensor_shape_proto_descriptor, shape, out);
  leat_arena_deinitialize(&arena);
  return status ? status : leat_status_clone(out->status);
}

static leat_status_t list_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                 struct leat_tensor_s** out_tensors, size_t* out_tensor_count) {
  const leat_tensor_list_t* list = self;
  leat_string_builder_t metadata;
  leat_tensor_t* tensors = NULL;
  leat_string_builder_initialize(leat_allocator_system(), &metadata);
  leat_status_t status = write_metadata(list, &metadata);
  if (!status) status = LEAT_ALLOCATE(leat_allocator_system(), list->count + 1, &tensors);
  if (!status) status = leat_string_builder_finish(&metadata, out_metadata, out_metadata_size);
  leat_string_builder_deinitialize(&metadata);
  if (status) {
    leat_allocator_free(leat_allocator_system(), tensors);
    return status;
  }
  *out_tensor_count = 0;
  for (size_t i = 0; i < list->count; ++i) {
    if (list->items[i].dtype) tensors[(*out_tensor_count)++] = leat_tensor_share(&list->items[i]);
  }
  *out_tensors = tensors;
  return leat_ok_status();
}

static leat_status_t malformed(const char* why) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: a list of tensors %s", why);
}

// What stands in the metadata, of which the indices from |missing| to |end| are a part.
typedef struct described_s {
  uint64_t missing_count;
  const uint8_t *missing, *end;
  uint64_t dtype, limit;
  leat_partial_shape_t shape;  // in the arena
} described_t;

static leat_status_t read_metadata(leat_string_view_t metadata, leat_arena_t* arena,
                                   described_t* out) {
  const uint8_t* next = (const uint8_t*)metadata.data;
  const uint8_t* end = next + metadata.size;
  leat_pb_tensor_shape_proto_t shape;
  uint64_t index;
  next = leat_wire_read_varint(next, end, &out->missing_count);
  out->missing = next;
  out->end = end;
  for (uint64_t i = 0; next && i < out->missing_count; ++i) {
    next = leat_wire_read_varint(next, end, &index);
  }
  if (next) next = leat_wire_read_varint(next, end, &out->dtype);
  if (next) next = leat_wire_read_varint(next, end, &out->limit);
  if (!next) return malformed("has metadata that ends early");
  if (out->dtype > INT_MAX || !leat_dtype_is_valid((int)out->dtype) ||
      leat_dtype_is_ref((int)out->dtype)) {
    return malformed("is of no known type");
  }
  if ((int64_t)out->limit < -1) return malformed("has a negative limit of elements");
  LEAT_RETURN_IF_ERROR(leat_message_decode(
      &leat_pb_tensor_shape_proto_descriptor,
      leat_string_view_make((const char*)next, (size_t)(end - next)), arena, NULL, &shape));
  return leat_partial_shape_from_proto(&shape, arena, &out->shape);
}

// Deals the tensors out to the elements that are not missing, whose indices rise.
static leat_status_t deal_out(const described_t* described, leat_tensor_t* tensors,
                              leat_tensor_list_t* list) {
  const uint8_t* next = described->missing;
  uint64_t missing = list->count, left = described->missing_count;
  size_t taken = 0;
  for (size_t i = 0; i < list->count; ++i) {
    if (missing == list->count && left > 0) {
      next = leat_wire_read_varint(next, described->end, &missing);
      --left;
      if (missing < i || missing >= list->count) return malformed("misses elements out of order");
    }
    if (missing == i) {
      missing = list->count;
      continue;
    }
    leat_tensor_t* tensor = &tensors[taken++];
    if (tensor->dtype != list->dtype) return malformed("holds a tensor of another type");
    if (!shapes_agree(list->shape, leat_partial_shape_of(&tensor->shape))) {
      return malformed("holds a tensor that its element shape does not allow");
    }
    list->items[i] = leat_tensor_move(tensor);
  }
  return left ? malformed("misses an element twice") : leat_ok_status();
}

static leat_status_t list_decode(leat_string_view_t metadata, leat_tensor_t* tensors, size_t count,
                                 leat_variant_t* out_variant) {
  described_t described = {0};
  leat_tensor_list_t* list = NULL;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = read_metadata(metadata, &arena, &described);
  if (!status) {
    status = leat_tensor_list_create((int)described.dtype, described.shape,
                                     (int64_t)(described.missing_count + count), &list);
  }
  if (!status) {
    list->limit = (int64_t)described.limit;
    status = deal_out(&described, tensors, list);
  }
  leat_arena_deinitialize(&arena);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  *out_variant = (leat_variant_t){&leat_tensor_list_vtable, list};
  return leat_ok_status();
}

const leat_variant_vtable_t leat_tensor_list_vtable = {
    .type_name = "tensorflow::TensorList",
    .retain = list_retain,
    .release = list_release,
    .zeros_like = list_zeros_like,
    .add = list_add,
    .encode = list_encode,
    .decode = list_decode,
};

// ---- In kernels ---------------------------------------------------------------------------------

leat_tensor_list_t* leat_tensor_list_of(const leat_variant_t* variant) {
  return variant->vtable == &leat_tensor_list_vtable ? variant->self : NULL;
}

leat_status_t leat_tensor_list_input(leat_kernel_context_t* c, int index, int dtype,
                                     leat_tensor_list_t** out_list) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Input list must be a scalar saw: %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  *out_list = leat_tensor_list_of(leat_tensor_data(input, leat_variant_t));
  if (!*out_list) return leat_kernel_invalid(c, "Input handle is not a list.");
  if (!dtype || dtype == (*out_list)->dtype) return leat_ok_status();
  return leat_kernel_invalid(c, "Invalid data types; op elements %s but list elements %s",
                             leat_dtype_name(dtype), leat_dtype_name((*out_list)->dtype));
}

leat_status_t leat_tensor_list_set_output(leat_kernel_context_t* c, leat_tensor_list_t* list) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_status_t status = leat_kernel_allocate_output(c, 0, &scalar, &output);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  *leat_tensor_data(output, leat_variant_t) = (leat_variant_t){&leat_tensor_list_vtable, list};
  return leat_ok_status();
}

// A list is kept only when the output has taken over the input's buffer and nothing else refers to
// the list; otherwise it is replaced by a copy.
leat_status_t leat_tensor_list_change_input(leat_kernel_context_t* c, leat_tensor_t** out_lists) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, out_lists));
  leat_variant_t* to = leat_tensor_data(*out_lists, leat_variant_t);
  const leat_variant_t* from = input->data;
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_tensor_list_t* list = leat_tensor_list_of(&from[i]);
    bool mine = to == from && atomic_load(&list->references) == 1;
    if (mine) continue;
    leat_tensor_list_t* copy;
    LEAT_RETURN_IF_ERROR(copy_list(list, &copy));
    leat_variant_t former = to[i];
    to[i] = (leat_variant_t){&leat_tensor_list_vtable, copy};
    if (former.vtable) former.vtable->release(former.self);
  }
  return leat_ok_status();
}

// ---- Shapes -------------------------------------------------------------------------------------

leat_status_t leat_list_read_shape(const leat_kernel_context_t* c, int index,
                                   leat_list_shape_t* out_shape) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  int64_t rank = input->shape.element_count;
  if (input->shape.rank > 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "Shape must be at most rank 1 but is rank %d",
                               input->shape.rank);
  }
  if (input->shape.rank == 0) {
    if (leat_tensor_index_at(input, 0) != -1) {
      return leat_kernel_invalid(c, "The only valid scalar shape tensor is the fully unknown shape "
                                    "specified as -1.");
    }
    out_shape->shape = leat_partial_shape_unknown();
    return leat_ok_status();
  }
  int64_t count = 1;
  bool is_known = true, fits = true;
  for (int64_t i = 0; i < rank; ++i) {
    out_shape->dims[i] = leat_tensor_index_at(input, i);
    is_known &= out_shape->dims[i] >= 0;
    fits &= leat_checked_multiply(count, out_shape->dims[i], &count);
    if (out_shape->dims[i] < -1) {
      return leat_kernel_invalid(c, "element_shape has size %lld, must be >= -1",
                                 (long long)out_shape->dims[i]);
    }
  }
  out_shape->shape = (leat_partial_shape_t){(int32_t)rank, out_shape->dims};
  if (is_known && !fits) {
    return leat_kernel_invalid(c, "element_shape is %s, must have fewer than 2^63 elements",
                               LEAT_PARTIAL_SHAPE_TEXT(out_shape->shape));
  }
  return leat_ok_status();
}

leat_status_t leat_list_merge_shape(const leat_kernel_context_t* c, leat_list_shape_t* shape,
                                    leat_partial_shape_t other) {
  if (other.rank < 0) return leat_ok_status();
  if (shape->shape.rank < 0) {
    if (other.rank) memcpy(shape->dims, other.dims, (size_t)other.rank * sizeof(int64_t));
    shape->shape = (leat_partial_shape_t){other.rank, shape->dims};
    return leat_ok_status();
  }
  if (!shapes_agree(shape->shape, other)) {
    return leat_kernel_invalid(c, "Incompatible shapes during merge: %s vs. %s",
                               LEAT_PARTIAL_SHAPE_TEXT(shape->shape),
                               LEAT_PARTIAL_SHAPE_TEXT(other));
  }
  for (int i = 0; i < other.rank; ++i) {
    if (shape->dims[i] < 0) shape->dims[i] = other.dims[i];
  }
  return leat_ok_status();
}

leat_status_t leat_list_element_shape(const leat_kernel_context_t* c,
                                      const leat_tensor_list_t* list, int index, bool look,
                                      leat_shape_t* out_shape) {
  leat_list_shape_t known;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, index, &known));
  LEAT_RETURN_IF_ERROR(leat_list_merge_shape(c, &known, list->shape));
  bool open = look && !leat_partial_shape_is_full(known.shape);
  for (size_t i = 0; open && i < list->count; ++i) {
    if (!list->items[i].dtype) continue;
    LEAT_RETURN_IF_ERROR(
        leat_list_merge_shape(c, &known, leat_partial_shape_of(&list->items[i].shape)));
  }
  if (leat_partial_shape_is_full(known.shape)) {
    return leat_partial_shape_to_full(known.shape, out_shape);
  }
  return leat_kernel_invalid(c, "Trying to read an uninitialized tensor but element_shape is not "
                                "fully defined: %s and no list element is set.",
                             LEAT_PARTIAL_SHAPE_TEXT(known.shape));
}

leat_status_t leat_list_split_input(leat_kernel_context_t* c, int input, const int64_t* lengths,
                                    int64_t count, leat_tensor_t* out_items) {
  leat_tensor_t value;
  leat_shape_t row_shape = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, input, &value));
  leat_status_t status = leat_row_shape(&value.shape, &row_shape);
  int64_t begin = 0, done = 0;
  for (; done < count && !status; ++done) {
    int64_t length = lengths ? lengths[done] : 1;
    leat_tensor_t part;
    status = leat_tensor_slice(&value, begin, begin + length, &part);
    begin += length;
    if (status) break;
    if (lengths) {
      out_items[done] = part;
    } else {
      status = leat_tensor_reshape(&part, &row_shape, &out_items[done]);
      leat_tensor_release(&part);
    }
  }
  if (status) leat_tensors_release(out_items, done);
  leat_shape_release(&row_shape);
  leat_tensor_release(&value);
  return status;
}
