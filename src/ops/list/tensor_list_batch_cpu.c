// CPU kernels that convert between lists of tensors and one tensor:
//
//   Stack, Gather(indices)              elements [shape]        ─▶ tensor [count, shape]
//   Concat                              elements [rows_i, rest] ─▶ tensor [sum rows_i, rest]
//   FromTensor, Scatter(indices)        tensor [count, shape]   ─▶ list of rows
//   Split(lengths)                      tensor [rows, rest]     ─▶ list of row ranges
//
// Lists that are made of a tensor share its memory; a tensor that is made of a list is a copy.
// Elements without a tensor become zeros. Their shape is put together from three sources: the
// kernel's shape input or attribute, the list's element shape, and the tensors that are there. The
// kernels fail with INVALID_ARGUMENT where these contradict or leave a needed size open.
#include <string.h>

#include "base/checked.h"
#include "kernel/tuple.h"
#include "ops/kernel_rows.h"
#include "ops/list/tensor_list_cpu.h"

typedef struct batch_s {
  int dtype;
  int64_t count;  // Stack: how many elements the list must have; -1: any number
  leat_arena_t arena;
  leat_partial_shape_t shape;  // Concat: the attribute element_shape, in |arena|
} batch_t;

static leat_status_t batch_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_type(c, "element_dtype", &((batch_t*)state)->dtype);
}

static leat_status_t stack_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_elements", &((batch_t*)state)->count));
  return batch_create(c, state);
}

static leat_status_t concat_create(leat_kernel_creation_t* c, void* state) {
  batch_t* batch = state;
  leat_partial_shape_t shape;
  leat_arena_initialize(c->allocator, 256, &batch->arena);
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_shape(c, "element_shape", &shape));
  LEAT_RETURN_IF_ERROR(
      leat_partial_shape_create(shape.rank, shape.dims, &batch->arena, &batch->shape));
  return batch_create(c, state);
}

static void concat_destroy(void* state) {
  batch_t* batch = state;
  if (batch->arena.allocator) leat_arena_deinitialize(&batch->arena);
}

// ---- Stacking -----------------------------------------------------------------------------------

// Sets output 0 to [count, shape...]: row i is the element |indices[i]| (NULL: i), or zeros where
// that has no tensor.
static leat_status_t output_stack(leat_kernel_context_t* c, const leat_tensor_list_t* list,
                                  const int32_t* indices, int64_t count,
                                  const leat_shape_t* shape) {
  leat_shape_t whole;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_batch_shape(count, shape, &whole));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &whole, &output);
  leat_shape_release(&whole);
  size_t row_bytes = (size_t)shape->element_count * leat_dtype_size(list->dtype);
  bool plain = !leat_dtype_in(list->dtype, LEAT_DTYPES_OBJECT);
  for (int64_t i = 0; i < count && !status && row_bytes; ++i) {
    const leat_tensor_t* item = &list->items[indices ? indices[i] : i];
    char* row = (char*)output->data + (size_t)i * row_bytes;
    if (!item->dtype) {
      if (plain) memset(row, 0, row_bytes);
    } else if (!leat_shape_equal(&item->shape, shape)) {
      status = leat_kernel_invalid(c, "element %lld has shape %s, must be %s", (long long)i,
                                   LEAT_SHAPE_TEXT(&item->shape), LEAT_SHAPE_TEXT(shape));
    } else {
      status = leat_tensor_copy_elements(list->dtype, item->data, row, shape->element_count);
    }
  }
  return status;
}

// Finds the one shape of the elements at |indices| (NULL: 0 to count - 1) from input |index|, from
// the list, and, where the list leaves sizes open, from the tensors.
static leat_status_t common_shape(const leat_kernel_context_t* c, const leat_tensor_list_t* list,
                                  int index, const int32_t* indices, int64_t count,
                                  leat_shape_t* out_shape) {
  leat_list_shape_t known;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, index, &known));
  LEAT_RETURN_IF_ERROR(leat_list_merge_shape(c, &known, list->shape));
  bool open = !leat_partial_shape_is_full(list->shape);
  for (int64_t i = 0; open && i < count; ++i) {
    const leat_tensor_t* item = &list->items[indices ? indices[i] : i];
    if (!item->dtype) continue;
    LEAT_RETURN_IF_ERROR(leat_list_merge_shape(c, &known, leat_partial_shape_of(&item->shape)));
  }
  if (leat_partial_shape_is_full(known.shape)) {
    return leat_partial_shape_to_full(known.shape, out_shape);
  }
  return leat_kernel_invalid(c, "Tried to stack %s elements of a list with non-fully-defined "
                                "element_shape: %s",
                             count ? "uninitialized" : "no", LEAT_PARTIAL_SHAPE_TEXT(known.shape));
}

static leat_status_t stack_items(leat_kernel_context_t* c, const leat_tensor_list_t* list,
                                 int shape_input, const int32_t* indices, int64_t count) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(common_shape(c, list, shape_input, indices, count, &shape));
  leat_status_t status = output_stack(c, list, indices, count, &shape);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t stack__cpu(leat_kernel_context_t* c) {
  const batch_t* batch = leat_kernel_state(c);
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, batch->dtype, &list));
  int64_t count = (int64_t)list->count;
  if (batch->count != -1 && batch->count != count) {
    return leat_kernel_invalid(c, "Operation expected a list with %lld elements but got a list "
                                  "with %lld elements.",
                               (long long)batch->count, (long long)count);
  }
  return stack_items(c, list, 1, NULL, count);
}

static leat_status_t gather__cpu(leat_kernel_context_t* c) {
  const batch_t* batch = leat_kernel_state(c);
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, batch->dtype, &list));
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  const int32_t* items = leat_tensor_data(indices, const int32_t);
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    if (items[i] >= 0 && (size_t)items[i] < list->count) continue;
    return leat_kernel_invalid(c, "Trying to gather element %d in a list with %zu elements.",
                               items[i], list->count);
  }
  return stack_items(c, list, 2, items, indices->shape.element_count);
}

// ---- Concatenating ------------------------------------------------------------------------------

// What is known of a list's elements that are to be concatenated.
typedef struct joint_s {
  const leat_tensor_list_t* list;
  int64_t first;           // the first size of all; -1: unknown, or not the same for all
  leat_list_shape_t rest;  // the other sizes, which must be the same for all
} joint_t;

// Fills |out_joint| from an element shape.
static void split_first(leat_partial_shape_t shape, joint_t* out_joint) {
  out_joint->first = -1;
  out_joint->rest.shape = leat_partial_shape_unknown();
  if (shape.rank < 1) return;
  out_joint->first = shape.dims[0];
  memmove(out_joint->rest.dims, shape.dims + 1, (size_t)(shape.rank - 1) * sizeof(int64_t));
  out_joint->rest.shape = (leat_partial_shape_t){shape.rank - 1, out_joint->rest.dims};
}

// Reads the stated shape: TensorListConcatV2 has it as input 1, TensorListConcat as an attribute,
// whose first size does not count.
static leat_status_t read_joint(leat_kernel_context_t* c, joint_t* joint) {
  const batch_t* batch = leat_kernel_state(c);
  leat_partial_shape_t stated = batch->shape;
  leat_list_shape_t shape;
  if (c->kernel->input_count > 1) {
    LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 1, &shape));
    LEAT_RETURN_IF_ERROR(leat_list_merge_shape(c, &shape, joint->list->shape));
    stated = shape.shape;
  }
  if (stated.rank == 0) {
    return leat_kernel_invalid(c, "Concat requires elements to be at least vectors, found scalars "
                                  "instead.");
  }
  split_first(stated, joint);
  if (c->kernel->input_count == 1) joint->first = -1;
  if (joint->list->count || leat_partial_shape_is_full(joint->rest.shape)) return leat_ok_status();
  return leat_kernel_invalid(c,
                             "All except the first dimension must be fully defined when concating "
                             "an empty tensor list. element_shape: %s",
                             LEAT_PARTIAL_SHAPE_TEXT(joint->rest.shape));
}

// Adds what the list's tensors tell: the other sizes, and the first size where all have the same
// and none was stated.
static leat_status_t look_at_items(leat_kernel_context_t* c, joint_t* joint) {
  int64_t stated = joint->first, common = stated;
  bool differs = stated != -1;
  for (size_t i = 0; i < joint->list->count; ++i) {
    const leat_shape_t* shape = &joint->list->items[i].shape;
    if (!joint->list->items[i].dtype) continue;
    if (shape->rank == 0) {
      return leat_kernel_invalid(c, "Concat saw a scalar shape at index %zu but requires at least "
                                    "vectors.",
                                 i);
    }
    leat_partial_shape_t rest = {shape->rank - 1, leat_shape_dims(shape) + 1};
    LEAT_RETURN_IF_ERROR(leat_list_merge_shape(c, &joint->rest, rest));
    int64_t first = leat_shape_dim(shape, 0);
    if (stated != -1 && stated != first) {
      return leat_kernel_invalid(c,
                                 "First entry of element_shape input does not match the first dim "
                                 "of list element at index: %zu Expected: %lld Actual: %lld",
                                 i, (long long)stated, (long long)first);
    }
    if (differs) continue;
    if (common == -1) common = first;
    differs = common != first;
    if (differs) common = -1;
  }
  joint->first = common;
  return leat_ok_status();
}

// Finds how many rows element |index| has. Where it has no tensor, input 2 (leading_dims) tells, or
// the first size that all elements have.
static leat_status_t rows_of(leat_kernel_context_t* c, const joint_t* joint, size_t index,
                             int64_t* out_rows) {
  const leat_tensor_t* item = &joint->list->items[index];
  if (item->dtype) {
    *out_rows = leat_shape_dim(&item->shape, 0);
    return leat_ok_status();
  }
  const leat_tensor_t* leading = c->kernel->input_count > 2 ? leat_kernel_input(c, 2) : NULL;
  bool has_leading = leading && (int64_t)index < leading->shape.element_count;
  if (!has_leading && joint->first == -1) {
    return leat_kernel_invalid(c,
                               "List contains uninitialized tensor at index %zu whose first size "
                               "is not known",
                               index);
  }
  *out_rows = has_leading ? leat_tensor_data(leading, const int64_t)[index] : joint->first;
  if (*out_rows >= 0) return leat_ok_status();
  return leat_kernel_invalid(c, "leading_dims has %lld at index %zu, must be >= 0",
                             (long long)*out_rows, index);
}

// Sets output 1 to the elements' numbers of rows; |*out_rows| is their sum.
static leat_status_t output_lengths(leat_kernel_context_t* c, const joint_t* joint,
                                    int64_t* out_rows) {
  leat_shape_t vector = leat_shape_vector((int64_t)joint->list->count);
  leat_tensor_t* lengths;
  *out_rows = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &vector, &lengths));
  for (size_t i = 0; i < joint->list->count; ++i) {
    int64_t* rows = &leat_tensor_data(lengths, int64_t)[i];
    LEAT_RETURN_IF_ERROR(rows_of(c, joint, i, rows));
    if (!leat_checked_add(*out_rows, *rows, out_rows)) {
      return leat_kernel_invalid(c, "the lengths are too large");
    }
  }
  return leat_ok_status();
}

// Sets output 0 to [rows, rest...]: the elements in order, zeros for those without a tensor. Output
// 1 must have been set.
static leat_status_t output_joined(leat_kernel_context_t* c, const joint_t* joint, int64_t rows,
                                   const leat_shape_t* rest) {
  const leat_tensor_list_t* list = joint->list;
  leat_shape_t whole;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_batch_shape(rows, rest, &whole));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &whole, &output);
  leat_shape_release(&whole);
  if (status) return status;
  size_t item_bytes = leat_dtype_size(list->dtype), offset = 0;
  const int64_t* lengths = leat_tensor_data(leat_kernel_output(c, 1), const int64_t);
  bool plain = !leat_dtype_in(list->dtype, LEAT_DTYPES_OBJECT);
  for (size_t i = 0; i < list->count; ++i) {
    int64_t count = lengths[i] * rest->element_count;
    char* target = (char*)output->data + offset;
    if (list->items[i].dtype) {
      LEAT_RETURN_IF_ERROR(
          leat_tensor_copy_elements(list->dtype, list->items[i].data, target, count));
    } else if (plain && count) {
      memset(target, 0, (size_t)count * item_bytes);
    }
    offset += (size_t)count * item_bytes;
  }
  return leat_ok_status();
}

// The elements may differ in their first size only. All other sizes must be known, from the list or
// the node, before anything is joined.
static leat_status_t concat__cpu(leat_kernel_context_t* c) {
  leat_tensor_list_t* list;
  joint_t joint;
  int64_t rows;
  leat_shape_t rest;
  LEAT_RETURN_IF_ERROR(
      leat_tensor_list_input(c, 0, ((const batch_t*)leat_kernel_state(c))->dtype, &list));
  joint.list = list;
  LEAT_RETURN_IF_ERROR(read_joint(c, &joint));
  LEAT_RETURN_IF_ERROR(look_at_items(c, &joint));
  if (!leat_partial_shape_is_full(joint.rest.shape)) {
    return leat_kernel_invalid(c, "Trying to concat list with only uninitialized tensors but "
                                  "element_shape_except_first_dim is not fully defined: %s",
                               LEAT_PARTIAL_SHAPE_TEXT(joint.rest.shape));
  }
  LEAT_RETURN_IF_ERROR(output_lengths(c, &joint, &rows));
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_full(joint.rest.shape, &rest));
  leat_status_t status = output_joined(c, &joint, rows, &rest);
  leat_shape_release(&rest);
  return status;
}

// ---- Splitting ----------------------------------------------------------------------------------

// Checks that the rows of |input| have |row_shape|.
static leat_status_t check_rows(const leat_kernel_context_t* c, int input,
                                leat_partial_shape_t row_shape) {
  const leat_tensor_t* value = leat_kernel_input(c, input);
  if (value->shape.rank < 1) {
    return leat_kernel_invalid(c, "Tensor must be at least a vector, but saw shape: %s",
                               LEAT_SHAPE_TEXT(&value->shape));
  }
  leat_shape_t row;
  LEAT_RETURN_IF_ERROR(leat_row_shape(&value->shape, &row));
  bool fits = leat_partial_shape_admits(row_shape, &row);
  leat_shape_release(&row);
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "Specified a list with shape %s from a tensor with shape %s",
                             LEAT_PARTIAL_SHAPE_TEXT(row_shape), LEAT_SHAPE_TEXT(&value->shape));
}

static leat_status_t from_tensor__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 0);
  leat_list_shape_t shape;
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 1, &shape));
  LEAT_RETURN_IF_ERROR(check_rows(c, 0, shape.shape));
  int64_t count = leat_shape_dim(&value->shape, 0);
  LEAT_RETURN_IF_ERROR(leat_tensor_list_create(value->dtype, shape.shape, count, &list));
  leat_status_t status = leat_list_split_input(c, 0, NULL, count, list->items);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  return leat_tensor_list_set_output(c, list);
}

// Checks that the lengths are not negative and that their sum is |rows|.
static leat_status_t check_lengths(const leat_kernel_context_t* c, const leat_tensor_t* lengths,
                                   int64_t rows) {
  int64_t end = 0;
  if (lengths->shape.rank != 1) {
    return leat_kernel_invalid(c, "Expected lengths to be a vector, received shape: %s",
                               LEAT_SHAPE_TEXT(&lengths->shape));
  }
  for (int64_t i = 0; i < lengths->shape.element_count; ++i) {
    int64_t length = leat_tensor_data(lengths, const int64_t)[i];
    if (length < 0 || !leat_checked_add(end, length, &end) || end > rows) {
      return leat_kernel_invalid(c, "Invalid value in lengths: %lld of %lld rows",
                                 (long long)length, (long long)rows);
    }
  }
  if (end == rows) return leat_ok_status();
  return leat_kernel_invalid(c, "Unused values in tensor. Length of tensor: %lld Values used: %lld",
                             (long long)rows, (long long)end);
}

// The first size of the elements comes from the lengths, so that it is left out when the tensor's
// rows are checked.
static leat_status_t split__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 0);
  const leat_tensor_t* lengths = leat_kernel_input(c, 2);
  leat_list_shape_t shape;
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 1, &shape));
  if (shape.shape.rank == 0) {
    return leat_kernel_invalid(c,
                               "TensorListSplit requires element_shape to be at least of rank 1, "
                               "but saw: []");
  }
  leat_partial_shape_t row = shape.shape;
  if (row.rank > 0) row = (leat_partial_shape_t){row.rank - 1, row.dims + 1};
  LEAT_RETURN_IF_ERROR(check_rows(c, 0, row));
  LEAT_RETURN_IF_ERROR(check_lengths(c, lengths, leat_shape_dim(&value->shape, 0)));
  int64_t count = lengths->shape.element_count;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_create(value->dtype, shape.shape, count, &list));
  leat_status_t status = leat_list_split_input(c, 0, leat_tensor_data(lengths, const int64_t),
                                               count, list->items);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  return leat_tensor_list_set_output(c, list);
}

// ---- Scattering ---------------------------------------------------------------------------------

// Checks that there is an index for each row of |value|, and that it is below |limit| (-1: any).
// Returns the size that a list needs for them: the largest index + 1.
static leat_status_t check_indices(const leat_kernel_context_t* c, const leat_tensor_t* indices,
                                   const leat_tensor_t* value, int64_t limit, int64_t* out_size) {
  int64_t count = indices->shape.element_count;
  *out_size = 0;
  if (value->shape.rank < 1 || leat_shape_dim(&value->shape, 0) != count) {
    return leat_kernel_invalid(c,
                               "Invalid number of rows in input tensor. Expected: %lld, shape %s",
                               (long long)count, LEAT_SHAPE_TEXT(&value->shape));
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t index = leat_tensor_data(indices, const int32_t)[i];
    if (index < 0 || (limit != -1 && index >= limit)) {
      return leat_kernel_invalid(c,
                                 "TensorListScatter: Trying to scatter at index %lld in list with "
                                 "size %lld",
                                 (long long)index, (long long)limit);
    }
    *out_size = LEAT_MAX(*out_size, index + 1);
  }
  return leat_ok_status();
}

// Puts row i of |input| at |indices[i]| of |list|, which is long enough. Where an index comes
// twice, the later row stays.
static leat_status_t scatter_rows(leat_kernel_context_t* c, int input,
                                  const leat_tensor_t* indices, leat_tensor_list_t* list) {
  int64_t count = indices->shape.element_count;
  leat_tensor_t* rows;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count + 1, &rows));
  leat_status_t status = leat_list_split_input(c, input, NULL, count, rows);
  for (int64_t i = 0; i < count && !status; ++i) {
    leat_tensor_t* item = &list->items[leat_tensor_data(indices, const int32_t)[i]];
    leat_tensor_release(item);
    *item = rows[i];
  }
  leat_allocator_free(leat_allocator_system(), rows);
  return status;
}

// Reads num_elements, which only TensorListScatterV2 has; -1 means that the indices decide.
static leat_status_t read_size(const leat_kernel_context_t* c, int64_t* out_size) {
  *out_size = -1;
  if (c->kernel->input_count < 4) return leat_ok_status();
  const leat_tensor_t* size = leat_kernel_input(c, 3);
  if (size->shape.rank != 0) return leat_kernel_invalid(c, "num_elements must be a scalar");
  *out_size = *leat_tensor_data(size, const int32_t);
  if (*out_size >= -1) return leat_ok_status();
  return leat_kernel_invalid(c, "TensorListScatter expects num_elements >= -1, found: %lld",
                             (long long)*out_size);
}

// The list is as long as the greatest index demands, or as num_elements says where that is more.
static leat_status_t scatter__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 0);
  const leat_tensor_t* indices = leat_kernel_input(c, 1);
  leat_list_shape_t shape;
  leat_tensor_list_t* list;
  int64_t limit, size;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 2, &shape));
  LEAT_RETURN_IF_ERROR(read_size(c, &limit));
  LEAT_RETURN_IF_ERROR(check_rows(c, 0, shape.shape));
  LEAT_RETURN_IF_ERROR(check_indices(c, indices, value, limit, &size));
  LEAT_RETURN_IF_ERROR(
      leat_tensor_list_create(value->dtype, shape.shape, LEAT_MAX(size, limit), &list));
  leat_status_t status = scatter_rows(c, 0, indices, list);
  if (status) {
    leat_tensor_list_release(list);
    return status;
  }
  return leat_tensor_list_set_output(c, list);
}

// As in TensorFlow, rows of any shape go into a list that exists, although Scatter and SetItem look
// at the element shape. Nothing relies on it: whoever joins elements compares their own shapes.
static leat_status_t scatter_into__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  const leat_tensor_t* indices = leat_kernel_input(c, 2);
  leat_tensor_list_t* list;
  leat_tensor_t* output;
  int64_t size;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, value->dtype, &list));
  if (indices->shape.rank != 1) {
    return leat_kernel_invalid(c, "Expected indices to be a vector, but received shape: %s",
                               LEAT_SHAPE_TEXT(&indices->shape));
  }
  LEAT_RETURN_IF_ERROR(check_indices(c, indices, value, -1, &size));
  LEAT_RETURN_IF_ERROR(leat_tensor_list_change_input(c, &output));
  list = leat_tensor_list_of(leat_tensor_data(output, leat_variant_t));
  if (size > (int64_t)list->count) LEAT_RETURN_IF_ERROR(leat_tensor_list_resize(list, size));
  return scatter_rows(c, 1, indices, list);
}

#define KERNEL(name, create_fn, destroy_fn, fn)                                         \
  LEAT_CPU_KERNEL(name, LEAT_LIST_TYPES, batch_t, create_fn, fn, .destroy = destroy_fn)

const leat_kernel_row_t leat_tensor_list_batch_kernels_cpu[] = {
    KERNEL("TensorListStack", stack_create, NULL, stack__cpu),
    KERNEL("TensorListGather", batch_create, NULL, gather__cpu),
    KERNEL("TensorListConcat", concat_create, concat_destroy, concat__cpu),
    KERNEL("TensorListConcatV2", batch_create, NULL, concat__cpu),
    KERNEL("TensorListFromTensor", batch_create, NULL, from_tensor__cpu),
    KERNEL("TensorListSplit", batch_create, NULL, split__cpu),
    KERNEL("TensorListScatter", batch_create, NULL, scatter__cpu),
    KERNEL("TensorListScatterV2", batch_create, NULL, scatter__cpu),
    KERNEL("TensorListScatterIntoExistingList", batch_create, NULL, scatter_into__cpu),
    LEAT_KERNEL_ROWS_END,
};
