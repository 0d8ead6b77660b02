// CPU kernels of set operations: difference, intersection and union of sets, and their sizes.
//
// The last dimension of a tensor holds sets; a group is a place in the dimensions before it, and
// its set is a range of values: a row of a dense tensor, or those entries of a sparse one that
// agree in all indices but the last. The two operands go through their groups in order, side by
// side. The values of a group are sorted, values that come twice are dropped, and the two sets are
// merged:
//
//     a: 3 1 3  ->  1   3           kept by      only in a   in both   only in b
//     b: 4 1    ->  1     4           a-b            x
//                                     intersection              x
//                   |   |  \          union          x          x          x
//              both | a's | b's
//
// The result is a sparse tensor, whose entries of one group are numbered from 0. A value is held as
// a pointer into its tensor, so that one sort and one merge serve all types and strings are not
// copied. Everything runs on one thread.
#include <stdlib.h>

#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

// Which values of a merge an operation keeps; the flags are or-ed.
typedef enum keeps_e { KEEPS_A = 1, KEEPS_BOTH = 2, KEEPS_B = 4 } keeps_t;

typedef struct set_state_s {
  bool is_validated;
  uint8_t keeps;  // flags of keeps_t
} set_state_t;

// Compares two values; |a| and |b| point to pointers to them, as qsort passes them.
typedef int (*compare_fn_t)(const void* a, const void* b);

// An operand and the group that it has come to.
#define NO_GROUP INT64_MAX
typedef struct operand_s {
  const leat_tensor_t* values;
  const int64_t* indices;  // NULL: dense
  const int64_t* dims;
  int64_t rank;
  int64_t begin, end;  // the values of the current group
  int64_t group;       // the number of the current group; NO_GROUP after the last one
} operand_t;

// ---- Values -------------------------------------------------------------------------------------

#define COMPARE(name, type)                                              \
  static int compare_##name(const void* a, const void* b) {              \
    type x = **(const type* const*)a, y = **(const type* const*)b;       \
    return (x > y) - (x < y);                                            \
  }
COMPARE(int8, int8_t)
COMPARE(int16, int16_t)
COMPARE(int32, int32_t)
COMPARE(int64, int64_t)
COMPARE(uint8, uint8_t)
COMPARE(uint16, uint16_t)
#undef COMPARE

static leat_string_view_t text_of(const void* item) {
  const TF_TString* text = *(const TF_TString* const*)item;
  return leat_string_view_make(TF_TString_GetDataPointer(text), TF_TString_GetSize(text));
}
static int compare_string(const void* a, const void* b) {
  return leat_string_view_compare(text_of(a), text_of(b));
}

static compare_fn_t compare_of(int dtype) {
  switch (dtype) {
    case LEAT_DTYPE_INT8: return compare_int8;
    case LEAT_DTYPE_INT16: return compare_int16;
    case LEAT_DTYPE_INT32: return compare_int32;
    case LEAT_DTYPE_INT64: return compare_int64;
    case LEAT_DTYPE_UINT8: return compare_uint8;
    case LEAT_DTYPE_UINT16: return compare_uint16;
    default: return compare_string;
  }
}

// ---- Groups -------------------------------------------------------------------------------------

// Gives the number of the group that entry |place| belongs to. Where indices were not validated
// they may be anything, so they are checked here before anything is computed from them.
static leat_status_t number_group(const leat_kernel_context_t* c, const operand_t* o,
                                  int64_t place, int64_t* out_group) {
  const int64_t* index = o->indices + place * o->rank;
  *out_group = 0;
  for (int64_t d = 0; d < o->rank; ++d) {
    bool is_group = d < o->rank - 1;
    if (index[d] >= o->dims[d] || (is_group && index[d] < 0)) {
      return leat_kernel_error(c, LEAT_INTERNAL, "indices[%lld, %lld] is %lld, must be < %lld",
                               (long long)place, (long long)d, (long long)index[d],
                               (long long)o->dims[d]);
    }
    if (is_group) *out_group = *out_group * o->dims[d] + index[d];
  }
  return leat_ok_status();
}

// Moves |o| to its next group, which may be out of order if indices were not validated.
static leat_status_t next_group(const leat_kernel_context_t* c, operand_t* o) {
  int64_t count = o->values->shape.element_count, group;
  o->begin = o->end;
  o->group = NO_GROUP;
  if (o->begin == count) return leat_ok_status();
  if (!o->indices) {
    o->group = o->begin / o->dims[o->rank - 1];
    o->end += o->dims[o->rank - 1];
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(number_group(c, o, o->begin, &o->group));
  for (group = o->group; group == o->group && ++o->end < count;) {
    LEAT_RETURN_IF_ERROR(number_group(c, o, o->end, &group));
  }
  return leat_ok_status();
}

// Writes pointers to the values of the current group to |items|, sorted and each once; gives their
// number.
static int64_t write_set(const operand_t* o, compare_fn_t compare, const void** items) {
  int64_t count = o->end - o->begin, size = 0;
  size_t bytes = leat_dtype_size(o->values->dtype);
  bool is_ordered = true;
  for (int64_t i = 0; i < count; ++i) {
    items[i] = (const char*)o->values->data + (size_t)(o->begin + i) * bytes;
    is_ordered &= i == 0 || compare(&items[i - 1], &items[i]) <= 0;
  }
  if (!is_ordered) qsort(items, (size_t)count, sizeof *items, compare);
  for (int64_t i = 0; i < count; ++i) {
    if (size == 0 || compare(&items[size - 1], &items[i]) != 0) items[size++] = items[i];
  }
  return size;
}

static operand_t dense_operand(const leat_tensor_t* tensor) {
  return (operand_t){
      .values = tensor, .dims = leat_shape_dims(&tensor->shape), .rank = tensor->shape.rank};
}

// Makes an operand of inputs [first, first + 3). It points into |out_entries|, which must stay.
static leat_status_t sparse_operand(const leat_kernel_context_t* c, int first,
                                    leat_entries_t* out_entries, operand_t* out_operand) {
  const set_state_t* state = leat_kernel_state(c);
  LEAT_RETURN_IF_ERROR(leat_entries_of_batch(c, first, state->is_validated, out_entries));
  *out_operand = (operand_t){.values = &out_entries->values,
                             .indices = out_entries->indices.data,
                             .dims = out_entries->shape.data,
                             .rank = out_entries->shape.shape.element_count};
  return leat_ok_status();
}

// ---- SetSize ------------------------------------------------------------------------------------

// Writes the size of each set that has values.
static leat_status_t count_sets(const leat_kernel_context_t* c, operand_t* o, const void** items,
                                int32_t* sizes) {
  compare_fn_t compare = compare_of(o->values->dtype);
  LEAT_RETURN_IF_ERROR(next_group(c, o));
  while (o->group != NO_GROUP) {
    sizes[o->group] = (int32_t)write_set(o, compare, items);
    LEAT_RETURN_IF_ERROR(next_group(c, o));
  }
  return leat_ok_status();
}

// Allocates temporary memory for |count| items of |words| words of 8 bytes.
static leat_status_t allocate_words(leat_kernel_context_t* c, int64_t count, int64_t words,
                                    leat_tensor_t* out_room) {
  leat_shape_t room;
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){count, words}, &room));
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &room, out_room);
}

static leat_status_t set_size__cpu(leat_kernel_context_t* c) {
  leat_entries_t entries;
  operand_t o;
  leat_tensor_t *sizes, items;
  LEAT_RETURN_IF_ERROR(sparse_operand(c, 0, &entries, &o));
  leat_status_t status = leat_kernel_allocate_sized(c, 0, (int)o.rank - 1, o.dims, &sizes);
  LEAT_RETURN_IF_ERROR(status);
  leat_tensor_fill_zero(sizes);
  LEAT_RETURN_IF_ERROR(allocate_words(c, o.values->shape.element_count, 1, &items));
  status = count_sets(c, &o, items.data, sizes->data);
  leat_tensor_release(&items);
  return status;
}

// ---- Operations on two --------------------------------------------------------------------------

// A value of the result.
typedef struct found_s {
  const void* item;
  int64_t group;
  int64_t place;  // its number in its set
} found_t;

typedef struct operation_s {
  operand_t a, b;
  compare_fn_t compare;
  const void **items_a, **items_b;  // the sets of the current group
  found_t* found;
  int64_t count;
  int64_t largest;  // the size of the largest set of the result
} operation_t;

static void keep(operation_t* op, const void* item, int64_t group, int64_t place) {
  op->found[op->count++] = (found_t){item, group, place};
  op->largest = LEAT_MAX(op->largest, place + 1);
}

// Merges the sets of one group and keeps what the operation asks for.
static void merge_sets(operation_t* op, int keeps, int64_t size_a, int64_t size_b, int64_t group) {
  const void *const *a = op->items_a, *const *b = op->items_b;
  int64_t place = 0;
  for (int64_t i = 0, j = 0; i < size_a || j < size_b;) {
    int order = i == size_a ? 1 : j == size_b ? -1 : op->compare(&a[i], &b[j]);
    const void* item = order <= 0 ? a[i] : b[j];
    if (keeps & (order < 0 ? KEEPS_A : order > 0 ? KEEPS_B : KEEPS_BOTH)) {
      keep(op, item, group, place++);
    }
    i += order <= 0;
    j += order >= 0;
  }
}

// Goes through the groups of both operands. With a dense first operand, a sparse second one is read
// only as long as its groups come in order: TensorFlow walks along the dense one.
static leat_status_t find(const leat_kernel_context_t* c, operation_t* op) {
  const set_state_t* state = leat_kernel_state(c);
  operand_t *a = &op->a, *b = &op->b;
  bool is_led = !a->indices && a->values->shape.element_count > 0;
  LEAT_RETURN_IF_ERROR(next_group(c, a));
  LEAT_RETURN_IF_ERROR(next_group(c, b));
  while (a->group != NO_GROUP || b->group != NO_GROUP) {
    int64_t group = LEAT_MIN(a->group, b->group), size_a = 0, size_b = 0;
    bool is_of_a = a->group == group, is_of_b = b->group == group;
    if (is_led && !is_of_a) {
      b->group = NO_GROUP;
      continue;
    }
    if (is_of_a) size_a = write_set(a, op->compare, op->items_a);
    if (is_of_b) size_b = write_set(b, op->compare, op->items_b);
    merge_sets(op, state->keeps, size_a, size_b, group);
    if (is_of_a) LEAT_RETURN_IF_ERROR(next_group(c, a));
    if (is_of_b) LEAT_RETURN_IF_ERROR(next_group(c, b));
  }
  return leat_ok_status();
}

// Writes the result as a sparse tensor to outputs 0 to 2.
static leat_status_t write_found(leat_kernel_context_t* c, const operation_t* op) {
  leat_tensor_t *indices, *values, *shape;
  int64_t rank = op->a.rank, *index;
  leat_shape_t dense, dims = leat_shape_vector(rank);
  size_t bytes = leat_dtype_size(op->a.values->dtype);
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, op->count, rank, &indices, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &dims, &shape));
  memcpy(shape->data, op->a.dims, (size_t)(rank - 1) * sizeof *index);
  leat_tensor_data(shape, int64_t)[rank - 1] = op->largest;
  LEAT_RETURN_IF_ERROR(leat_shape_create((int)rank, shape->data, &dense));
  leat_shape_release(&dense);
  index = indices->data;
  for (int64_t i = 0; i < op->count; ++i, index += rank) {
    int64_t rest = op->found[i].group;
    index[rank - 1] = op->found[i].place;
    for (int64_t d = rank - 2; d >= 0; --d) {
      index[d] = rest % op->a.dims[d];
      rest /= op->a.dims[d];
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(values->dtype, op->found[i].item,
                                                   (char*)values->data + (size_t)i * bytes, 1));
  }
  return leat_ok_status();
}

// Checks that the operands have the same groups, and runs the operation. There is room for all
// values of both operands, because no group can have more, nor can all results together.
static leat_status_t operate(leat_kernel_context_t* c, operation_t* op) {
  const operand_t *a = &op->a, *b = &op->b;
  if (a->rank < 2 || a->rank != b->rank ||
      memcmp(a->dims, b->dims, (size_t)(a->rank - 1) * sizeof *a->dims) != 0) {
    return leat_kernel_invalid(c, "Mismatched shapes: the sets have ranks %lld and %lld, must have "
                               "the same >= 2, and all dimensions but the last the same",
                               (long long)a->rank, (long long)b->rank);
  }
  leat_tensor_t items, found;
  int64_t count_a = a->values->shape.element_count;
  int64_t count = count_a + b->values->shape.element_count;
  op->compare = compare_of(a->values->dtype);
  LEAT_RETURN_IF_ERROR(allocate_words(c, count, 1, &items));
  leat_status_t status =
      allocate_words(c, count, (int64_t)(sizeof(found_t) / sizeof(int64_t)), &found);
  if (!status) {
    op->items_a = items.data;
    op->items_b = op->items_a + count_a;
    op->found = found.data;
    status = find(c, op);
    if (!status) status = write_found(c, op);
    leat_tensor_release(&found);
  }
  leat_tensor_release(&items);
  return status;
}

static leat_status_t dense_to_dense__cpu(leat_kernel_context_t* c) {
  operation_t op = {.a = dense_operand(leat_kernel_input(c, 0)),
                    .b = dense_operand(leat_kernel_input(c, 1))};
  return operate(c, &op);
}

static leat_status_t dense_to_sparse__cpu(leat_kernel_context_t* c) {
  leat_entries_t entries;
  operation_t op = {.a = dense_operand(leat_kernel_input(c, 0))};
  LEAT_RETURN_IF_ERROR(sparse_operand(c, 1, &entries, &op.b));
  return operate(c, &op);
}

static leat_status_t sparse_to_sparse__cpu(leat_kernel_context_t* c) {
  leat_entries_t a, b;
  operation_t op = {0};
  LEAT_RETURN_IF_ERROR(sparse_operand(c, 0, &a, &op.a));
  LEAT_RETURN_IF_ERROR(sparse_operand(c, 3, &b, &op.b));
  return operate(c, &op);
}

// ---- Rows ---------------------------------------------------------------------------------------

static leat_status_t size_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_bool(c, "validate_indices", &((set_state_t*)state)->is_validated);
}

// Says whether |name| is |operation|, in upper or lower case.
static bool is_named(leat_string_view_t name, const char* operation) {
  if (name.size != strlen(operation)) return false;
  for (size_t i = 0; i < name.size; ++i) {
    char letter = name.data[i];
    if (letter >= 'A' && letter <= 'Z') letter += 'a' - 'A';
    if (letter != operation[i]) return false;
  }
  return true;
}

// Turns the attribute set_operation into the values that the merge keeps: those in a alone, in
// both, or in b alone.
static leat_status_t operation_create(leat_kernel_creation_t* c, void* state) {
  static const struct {
    char name[16];
    uint8_t keeps;
  } kOperations[] = {{"a-b", KEEPS_A},
                     {"b-a", KEEPS_B},
                     {"intersection", KEEPS_BOTH},
                     {"union", KEEPS_A | KEEPS_BOTH | KEEPS_B}};
  set_state_t* set = state;
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(size_create(c, state));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "set_operation", &name));
  for (size_t i = 0; i < sizeof kOperations / sizeof *kOperations; ++i) {
    if (!is_named(name, kOperations[i].name)) continue;
    set->keeps = kOperations[i].keeps;
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Invalid set_operation %.*s.", LEAT_SV_ARG(name));
}

#define ROW(op_name, create_fn, compute_fn)                                                    \
  LEAT_CPU_KERNEL(op_name, "T: int16, int32, int64, int8, string, uint16, uint8", set_state_t, \
                  create_fn, compute_fn)

const leat_kernel_row_t leat_set_operation_kernels_cpu[] = {
    ROW("SetSize", size_create, set_size__cpu),
    ROW("DenseToDenseSetOperation", operation_create, dense_to_dense__cpu),
    ROW("DenseToSparseSetOperation", operation_create, dense_to_sparse__cpu),
    ROW("SparseToSparseSetOperation", operation_create, sparse_to_sparse__cpu),
    LEAT_KERNEL_ROWS_END,
};
