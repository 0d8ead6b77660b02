// CPU kernels of lists of tensors that make a list, ask for its length, or access its elements one
// at a time. A list is a value in a variant tensor (tensor_list_cpu.h). Kernels that convert
// between lists and tensors of all their elements are in tensor_list_batch_cpu.c.
//
// Each kernel that changes a list first checks its inputs, and only then asks for a list that it
// may change: the output is the input's own list when nobody else holds it, and a copy otherwise.
// The order matters, because input 0 must not be looked at any more once its list may be the
// output's.
//
// An element that was never set has no tensor; reading it gives zeros of the element shape, since
// the gradient of a list that is only partly used has such elements.
#include "ops/list/tensor_list_cpu.h"

#include "base/checked.h"
#include "kernel/tuple.h"
#include "kernel/wait_queue.h"
#include "ops/kernel_rows.h"

typedef struct element_s {
  int dtype;
  bool resizes;  // SetItem: an index behind the end makes the list longer
} element_t;

static leat_status_t element_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_type(c, "element_dtype", &((element_t*)state)->dtype);
}

static int dtype_of(const leat_kernel_context_t* c) {
  return ((const element_t*)leat_kernel_state(c))->dtype;
}

// Reads the int32 at input |index|; |what| is the name that TensorFlow's message gives it.
static leat_status_t read_scalar(const leat_kernel_context_t* c, int index, const char* what,
                                 int64_t* out_value) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "%s expected to be a scalar but got shape: %s", what,
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  *out_value = *leat_tensor_data(input, const int32_t);
  return leat_ok_status();
}

// ---- Making -------------------------------------------------------------------------------------

static leat_status_t empty__cpu(leat_kernel_context_t* c) {
  int64_t limit;
  leat_list_shape_t shape;
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(read_scalar(c, 1, "max_num_elements", &limit));
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 0, &shape));
  LEAT_RETURN_IF_ERROR(leat_tensor_list_create(dtype_of(c), shape.shape, 0, &list));
  list->limit = limit;
  return leat_tensor_list_set_output(c, list);
}

static leat_status_t reserve__cpu(leat_kernel_context_t* c) {
  int64_t count;
  leat_list_shape_t shape;
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_list_read_shape(c, 0, &shape));
  LEAT_RETURN_IF_ERROR(read_scalar(c, 1, "num_elements", &count));
  if (count < 0) {
    return leat_kernel_invalid(c, "The num_elements to reserve must be a non negative number, but "
                                  "got %lld",
                               (long long)count);
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_list_create(dtype_of(c), shape.shape, count, &list));
  return leat_tensor_list_set_output(c, list);
}

static leat_status_t length__cpu(leat_kernel_context_t* c) {
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, 0, &list));
  return leat_kernel_set_output_int32(c, 0, (int64_t)list->count);
}

// Outputs the shape of the list's elements as sizes, -1 where one is unknown; the scalar -1 where
// not even the rank is known.
static leat_status_t element_shape__cpu(leat_kernel_context_t* c) {
  leat_tensor_list_t* list;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, 0, &list));
  int rank = list->shape.rank;
  leat_shape_t shape = rank < 0 ? leat_shape_scalar() : leat_shape_vector(rank);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    int64_t size = rank < 0 ? -1 : list->shape.dims[i];
    if (output->dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(output, int64_t)[i] = size;
    } else {
      leat_tensor_data(output, int32_t)[i] = (int32_t)size;
    }
  }
  return leat_ok_status();
}

// ---- Changing -----------------------------------------------------------------------------------

// Makes output 0 of the list at input 0 and returns its list, which may be changed.
static leat_status_t change_list(leat_kernel_context_t* c, leat_tensor_list_t** out_list) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_change_input(c, &output));
  *out_list = leat_tensor_list_of(leat_tensor_data(output, leat_variant_t));
  return leat_ok_status();
}

static leat_status_t resize__cpu(leat_kernel_context_t* c) {
  int64_t size;
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, 0, &list));
  LEAT_RETURN_IF_ERROR(read_scalar(c, 1, "size", &size));
  if (size < 0) {
    return leat_kernel_invalid(c, "TensorListSlice expects size to be non-negative. Got: %lld",
                               (long long)size);
  }
  LEAT_RETURN_IF_ERROR(change_list(c, &list));
  return leat_tensor_list_resize(list, size);
}

// Checks that |shape| is one that an element of the list may have.
static leat_status_t check_item(const leat_kernel_context_t* c, const leat_tensor_list_t* list,
                                const leat_shape_t* shape) {
  if (leat_partial_shape_admits(list->shape, shape)) return leat_ok_status();
  return leat_kernel_invalid(c, "Tried to put a tensor with incompatible shape into a list. Op "
                                "element shape: %s list shape: %s",
                             LEAT_SHAPE_TEXT(shape), LEAT_PARTIAL_SHAPE_TEXT(list->shape));
}

// Appends an element, which shares the memory of the tensor that was pushed.
static leat_status_t push_back__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* item = leat_kernel_input(c, 1);
  leat_tensor_list_t* list;
  leat_tensor_t kept;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, item->dtype, &list));
  LEAT_RETURN_IF_ERROR(check_item(c, list, &item->shape));
  if (list->limit >= 0 && (int64_t)list->count >= list->limit) {
    return leat_kernel_invalid(c, "Tried to push item into a full list list size: %zu "
                                  "max_num_elements: %lld",
                               list->count, (long long)list->limit);
  }
  LEAT_RETURN_IF_ERROR(change_list(c, &list));
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, 1, &kept));
  leat_status_t status = leat_tensor_list_resize(list, (int64_t)list->count + 1);
  if (status) {
    leat_tensor_release(&kept);
  } else {
    list->items[list->count - 1] = kept;
  }
  return status;
}

// Sets |output| to the zeros that an element without a tensor stands for. Their shape comes from
// input |shape_input|, from the list, and, where |look|, from the list's tensors.
static leat_status_t output_zeros(leat_kernel_context_t* c, const leat_tensor_list_t* list,
                                  int shape_input, bool look, int output) {
  leat_shape_t shape;
  leat_tensor_t* zeros;
  LEAT_RETURN_IF_ERROR(leat_list_element_shape(c, list, shape_input, look, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, output, &shape, &zeros);
  leat_shape_release(&shape);
  if (!status) leat_tensor_fill_zero(zeros);
  return status;
}

// The zeros are allocated before the list is changed, so that a failure leaves the list as it is.
static leat_status_t pop_back__cpu(leat_kernel_context_t* c) {
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, dtype_of(c), &list));
  if (list->count == 0) return leat_kernel_invalid(c, "Trying to pop from an empty list.");
  if (!list->items[list->count - 1].dtype) {
    if (list->dtype == LEAT_DTYPE_RESOURCE) {
      return leat_kernel_invalid(c, "Trying to pop a handle that was not set.");
    }
    LEAT_RETURN_IF_ERROR(output_zeros(c, list, 1, false, 1));
  }
  LEAT_RETURN_IF_ERROR(change_list(c, &list));
  leat_tensor_t* last = &list->items[--list->count];
  if (last->dtype) leat_kernel_set_output(c, 1, leat_tensor_move(last));
  return leat_ok_status();
}

static leat_status_t get_item__cpu(leat_kernel_context_t* c) {
  leat_tensor_list_t* list;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, dtype_of(c), &list));
  const leat_tensor_t* place = leat_kernel_input(c, 1);
  if (place->shape.element_count < 1) return leat_kernel_invalid(c, "index must be a scalar");
  int64_t index = *leat_tensor_data(place, const int32_t);
  if (index < 0 || (size_t)index >= list->count) {
    return leat_kernel_invalid(c, "Trying to access element %lld in a list with %zu elements.",
                               (long long)index, list->count);
  }
  if (!list->items[index].dtype) return output_zeros(c, list, 2, true, 0);
  leat_kernel_set_output(c, 0, leat_tensor_share(&list->items[index]));
  return leat_ok_status();
}

static leat_status_t set_item_create(leat_kernel_creation_t* c, void* state) {
  element_t* element = state;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_attr_bool(c, "resize_if_index_out_of_bounds", &element->resizes));
  return element_create(c, state);
}

static leat_status_t set_item__cpu(leat_kernel_context_t* c) {
  const element_t* element = leat_kernel_state(c);
  leat_tensor_list_t* list;
  leat_tensor_t kept;
  int64_t index;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_input(c, 0, element->dtype, &list));
  LEAT_RETURN_IF_ERROR(read_scalar(c, 1, "index", &index));
  LEAT_RETURN_IF_ERROR(check_item(c, list, &leat_kernel_input(c, 2)->shape));
  bool inside = index >= 0 && (size_t)index < list->count;
  if (index < 0 || (!inside && !element->resizes)) {
    return leat_kernel_invalid(c, "Trying to modify element %lld in a list with %zu elements.",
                               (long long)index, list->count);
  }
  LEAT_RETURN_IF_ERROR(change_list(c, &list));
  if (!inside) LEAT_RETURN_IF_ERROR(leat_tensor_list_resize(list, index + 1));
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, 2, &kept));
  leat_tensor_release(&list->items[index]);
  list->items[index] = kept;
  return leat_ok_status();
}

// ---- Several lists ------------------------------------------------------------------------------

// Checks that each element of input |index| is a list of elements of |dtype|.
static leat_status_t check_lists(const leat_kernel_context_t* c, int index, int dtype) {
  const leat_tensor_t* input = leat_kernel_input(c, index);
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    const leat_tensor_list_t* list =
        leat_tensor_list_of(&leat_tensor_data(input, const leat_variant_t)[i]);
    if (!list) {
      return leat_kernel_invalid(c, "input %d is not a TensorList at index %lld", index,
                                 (long long)i);
    }
    if (list->dtype != dtype) {
      return leat_kernel_invalid(c, "input %d has elements of %s at index %lld, must be %s", index,
                                 leat_dtype_name(list->dtype), (long long)i,
                                 leat_dtype_name(dtype));
    }
  }
  return leat_ok_status();
}

// Appends the elements of |from|, sharing their tensors.
static leat_status_t append_list(leat_tensor_list_t* to, const leat_tensor_list_t* from) {
  size_t first = to->count, count = from->count;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_resize(to, (int64_t)(first + count)));
  for (size_t i = 0; i < count; ++i) to->items[first + i] = leat_tensor_share(&from->items[i]);
  return leat_ok_status();
}

// Appends to each list of input 0 the elements of the list at the same place in input 1.
static leat_status_t concat_lists__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* a = leat_kernel_input(c, 0);
  const leat_tensor_t* b = leat_kernel_input(c, 1);
  if (!leat_shape_equal(&a->shape, &b->shape)) {
    return leat_kernel_invalid(c, "Incompatible input TensorList tensor shapes: %s vs. %s",
                               LEAT_SHAPE_TEXT(&a->shape), LEAT_SHAPE_TEXT(&b->shape));
  }
  LEAT_RETURN_IF_ERROR(check_lists(c, 0, dtype_of(c)));
  LEAT_RETURN_IF_ERROR(check_lists(c, 1, dtype_of(c)));
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_change_input(c, &output));
  for (int64_t i = 0; i < output->shape.element_count; ++i) {
    leat_tensor_list_t* to = leat_tensor_list_of(&leat_tensor_data(output, leat_variant_t)[i]);
    const leat_tensor_list_t* from =
        leat_tensor_list_of(&leat_tensor_data(b, const leat_variant_t)[i]);
    if (!leat_partial_shape_equal(to->shape, from->shape)) {
      return leat_kernel_invalid(c, "input_a and input_b TensorList element shapes are not "
                                    "identical at index %lld.  Saw %s vs. %s",
                                 (long long)i, LEAT_PARTIAL_SHAPE_TEXT(to->shape),
                                 LEAT_PARTIAL_SHAPE_TEXT(from->shape));
    }
    LEAT_RETURN_IF_ERROR(append_list(to, from));
  }
  return leat_ok_status();
}

// Appends rows[i] to the i-th list of input 0; the rows are moved. As in TensorFlow, the lists'
// limits (max_num_elements) hold for PushBack alone.
static leat_status_t push_rows(leat_kernel_context_t* c, leat_tensor_t* rows, int64_t count) {
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_tensor_list_change_input(c, &output));
  for (int64_t i = 0; i < count; ++i) {
    leat_tensor_list_t* list = leat_tensor_list_of(&leat_tensor_data(output, leat_variant_t)[i]);
    LEAT_RETURN_IF_ERROR(leat_tensor_list_resize(list, (int64_t)list->count + 1));
    list->items[list->count - 1] = leat_tensor_move(&rows[i]);
  }
  return leat_ok_status();
}

// Appends row i of the tensor to list i. All lists are checked before the first is changed.
static leat_status_t push_back_batch__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* lists = leat_kernel_input(c, 0);
  const leat_tensor_t* value = leat_kernel_input(c, 1);
  int64_t count = lists->shape.element_count;
  bool fits = lists->shape.rank == 1 && value->shape.rank >= 1 &&
              leat_shape_dim(&value->shape, 0) == count;
  if (!fits) {
    return leat_kernel_invalid(c, "input_handles have shape %s and tensor %s, must be a vector and "
                                  "as many rows",
                               LEAT_SHAPE_TEXT(&lists->shape), LEAT_SHAPE_TEXT(&value->shape));
  }
  LEAT_RETURN_IF_ERROR(check_lists(c, 0, value->dtype));
  leat_shape_t row;
  LEAT_RETURN_IF_ERROR(leat_row_shape(&value->shape, &row));
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < count && !status; ++i) {
    status = check_item(c, leat_tensor_list_of(&leat_tensor_data(lists, const leat_variant_t)[i]),
                        &row);
  }
  leat_shape_release(&row);
  if (status) return status;
  leat_tensor_t* rows;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count + 1, &rows));
  status = leat_list_split_input(c, 1, NULL, count, rows);
  if (!status) {
    status = push_rows(c, rows, count);
    leat_tensors_release(rows, count);
  }
  leat_allocator_free(leat_allocator_system(), rows);
  return status;
}

#define KERNEL(name, types, create_fn, fn)               \
  LEAT_CPU_KERNEL(name, types, element_t, create_fn, fn)

const leat_kernel_row_t leat_tensor_list_kernels_cpu[] = {
    KERNEL("EmptyTensorList", NULL, element_create, empty__cpu),
    KERNEL("TensorListReserve", NULL, element_create, reserve__cpu),
    KERNEL("TensorListLength", NULL, NULL, length__cpu),
    KERNEL("TensorListElementShape", NULL, NULL, element_shape__cpu),
    KERNEL("TensorListResize", NULL, NULL, resize__cpu),
    KERNEL("TensorListPushBack", NULL, element_create, push_back__cpu),
    KERNEL("TensorListPopBack", LEAT_LIST_TYPES ", resource", element_create, pop_back__cpu),
    KERNEL("TensorListGetItem", LEAT_LIST_TYPES, element_create, get_item__cpu),
    KERNEL("TensorListSetItem", NULL, set_item_create, set_item__cpu),
    KERNEL("TensorListConcatLists", NULL, element_create, concat_lists__cpu),
    KERNEL("TensorListPushBackBatch", LEAT_LIST_TYPES, element_create, push_back_batch__cpu),
    LEAT_KERNEL_ROWS_END,
};
