// CPU kernels that count how often each number occurs in each row. The result is a sparse tensor
// with an entry for each number of a row: how often it occurs, the sum of its weights, or 1.
//
// Each value becomes a key (row, number). The keys are brought into order; equal ones then stand
// together and make one entry. Numbers of maxlength or more do not count. The last dimension of the
// result is maxlength where it is given, and otherwise large enough for all numbers and at least
// minlength.
#include "base/checked.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct count_state_s {
  int64_t least, most;  // minlength and maxlength; negative: there is none
  bool is_binary;
} count_state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  count_state_t* state = memory;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "minlength", &state->least));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "maxlength", &state->most));
  return leat_kernel_attr_bool(c, "binary_output", &state->is_binary);
}

// What is counted, and the keys.
typedef struct count_s {
  const leat_tensor_t* values;
  const leat_tensor_t* weights;  // NULL: each value counts 1
  bool has_rows;                 // false: the result is a vector
  int64_t row_count;
  leat_tensor_t keys;   // [values, 2]: row and number
  int64_t key_count;    // values that count
  leat_tensor_t places;  // [key_count] of each key's value
} count_t;

static leat_status_t read_values(const leat_kernel_context_t* c, int values, count_t* count) {
  const leat_tensor_t* weights = leat_kernel_input(c, leat_kernel_input_count(c) - 1);
  count->values = leat_kernel_input(c, values);
  if (weights->shape.element_count == 0) return leat_ok_status();
  count->weights = weights;
  if (leat_shape_equal(&weights->shape, &count->values->shape)) return leat_ok_status();
  return leat_kernel_invalid(c, "Weights and values must have the same shape. Weight shape: %s; "
                             "values shape: %s",
                             LEAT_SHAPE_TEXT(&weights->shape),
                             LEAT_SHAPE_TEXT(&count->values->shape));
}

// ---- Keys ---------------------------------------------------------------------------------------

static leat_status_t allocate_keys(leat_kernel_context_t* c, count_t* count) {
  int64_t total = count->values->shape.element_count;
  leat_shape_t pairs, vector = leat_shape_vector(total);
  LEAT_RETURN_IF_ERROR(leat_shape_create(2, (int64_t[]){total, 2}, &pairs));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &pairs, &count->keys));
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &vector, &count->places);
}

// Adds the value at |place|, which stands in |row|, unless it is too large to count.
static leat_status_t add_key(const leat_kernel_context_t* c, count_t* count, int64_t row,
                             int64_t place) {
  const count_state_t* state = leat_kernel_state(c);
  int64_t number = leat_tensor_index_at(count->values, place);
  if (number < 0) return leat_kernel_invalid(c, "Input values must all be non-negative");
  if (state->most >= 0 && number >= state->most) return leat_ok_status();
  int64_t* key = leat_tensor_data(&count->keys, int64_t) + 2 * count->key_count;
  key[0] = row;
  key[1] = number;
  leat_tensor_data(&count->places, int64_t)[count->key_count++] = place;
  return leat_ok_status();
}

// ---- Result -------------------------------------------------------------------------------------

// Adds the weight at |place| to the element |to| of |values|, or 1 where there are no weights.
static void add_weight(const count_t* count, int64_t place, leat_tensor_t* values, int64_t to) {
#define CASE(NAME, type, wide)                                                                  \
  case LEAT_DTYPE_##NAME: {                                                                     \
    type weight = count->weights ? leat_tensor_data(count->weights, const type)[place] : 1;     \
    type* sum = leat_tensor_data(values, type) + to;                                            \
    *sum = (type)((wide)*sum + (wide)weight);                                                   \
    break;                                                                                      \
  }
  switch (values->dtype) {
    CASE(INT32, int32_t, uint32_t)
    CASE(INT64, int64_t, uint64_t)
    CASE(FLOAT, float, float)
    CASE(DOUBLE, double, double)
    default: break;
  }
#undef CASE
}

static void set_one(leat_tensor_t* values, int64_t to) {
  static const count_t kUnweighted = {0};
  add_weight(&kUnweighted, 0, values, to);
}

static leat_status_t write_shape(leat_kernel_context_t* c, const count_t* count) {
  const count_state_t* state = leat_kernel_state(c);
  const int64_t* key = count->keys.data;
  int64_t numbers = state->most;
  if (numbers < 0) {
    int64_t largest = 0;
    for (int64_t i = 0; i < count->key_count; ++i) largest = LEAT_MAX(largest, key[2 * i + 1]);
    if (!leat_checked_add(largest, 1, &numbers)) {
      return leat_kernel_invalid(c, "the value %lld is too large", (long long)largest);
    }
    numbers = LEAT_MAX(numbers, state->least);
  }
  leat_tensor_t* shape;
  leat_shape_t vector = leat_shape_vector(count->has_rows ? 2 : 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &vector, &shape));
  int64_t* dims = shape->data;
  if (count->has_rows) *dims++ = count->row_count;
  *dims = numbers;
  return leat_ok_status();
}

// Makes an entry of each run of equal keys.
static leat_status_t write_runs(leat_kernel_context_t* c, const count_t* count,
                                const int64_t* order) {
  const count_state_t* state = leat_kernel_state(c);
  const int64_t *keys = count->keys.data, *places = count->places.data;
  leat_tensor_t *indices, *values;
  int64_t total = 0, rank = count->has_rows ? 2 : 1;
#define IS_FIRST(i) \
  ((i) == 0 || leat_index_compare(keys + 2 * order[(i) - 1], keys + 2 * order[i], 2) != 0)
  for (int64_t i = 0; i < count->key_count; ++i) total += IS_FIRST(i);
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, total, rank, &indices, &values));
  leat_tensor_fill_zero(values);
  int64_t* index = indices->data;
  int64_t entry = -1;
  for (int64_t i = 0; i < count->key_count; ++i) {
    const int64_t* key = keys + 2 * order[i];
    bool is_first = IS_FIRST(i);
    if (is_first) {
      ++entry;
      if (count->has_rows) *index++ = key[0];
      *index++ = key[1];
    }
    if (!state->is_binary) {
      add_weight(count, places[order[i]], values, entry);
    } else if (is_first) {
      set_one(values, entry);
    }
  }
#undef IS_FIRST
  return write_shape(c, count);
}

// Writes the outputs, unless |status| says that there was an error before. Ends |count|.
static leat_status_t finish(leat_kernel_context_t* c, count_t* count, leat_status_t status) {
  leat_tensor_t order = {0};
  if (!status) {
    status = leat_entries_order(c, count->keys.data, count->key_count, 2, &order);
  }
  if (!status) status = write_runs(c, count, order.data);
  leat_tensor_release(&order);
  leat_tensor_release(&count->keys);
  leat_tensor_release(&count->places);
  return status;
}

// ---- Dense tensors ------------------------------------------------------------------------------

static leat_status_t add_dense(leat_kernel_context_t* c, count_t* count) {
  LEAT_RETURN_IF_ERROR(allocate_keys(c, count));
  int64_t total = count->values->shape.element_count;
  int64_t width = total / LEAT_MAX(count->row_count, INT64_C(1));
  for (int64_t i = 0; i < total; ++i) {
    LEAT_RETURN_IF_ERROR(add_key(c, count, i / width, i));
  }
  return leat_ok_status();
}

static leat_status_t dense__cpu(leat_kernel_context_t* c) {
  count_t count = {0};
  LEAT_RETURN_IF_ERROR(read_values(c, 0, &count));
  const leat_shape_t* shape = &count.values->shape;
  if (shape->rank != 1 && shape->rank != 2) {
    return leat_kernel_invalid(c, "Input must be a 1 or 2-dimensional tensor. Got: %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  count.has_rows = shape->rank == 2;
  count.row_count = count.has_rows ? leat_shape_dim(shape, 0) : 1;
  if (count.row_count == 0) {
    return leat_kernel_invalid(c, "Invalid input: Shapes dimension cannot be 0.");
  }
  return finish(c, &count, add_dense(c, &count));
}

// ---- Sparse tensors -----------------------------------------------------------------------------

static leat_status_t add_sparse(leat_kernel_context_t* c, const leat_entries_t* entries,
                                count_t* count) {
  int64_t rank = entries->shape.shape.element_count;
  const int64_t* index = entries->indices.data;
  LEAT_RETURN_IF_ERROR(allocate_keys(c, count));
  for (int64_t i = 0; i < count->values->shape.element_count; ++i, index += rank) {
    LEAT_RETURN_IF_ERROR(add_key(c, count, count->has_rows ? index[0] : 0, i));
  }
  return leat_ok_status();
}

static leat_status_t sparse__cpu(leat_kernel_context_t* c) {
  count_t count = {0};
  const leat_entries_t entries = leat_entries_of_inputs(c, 0);
  LEAT_RETURN_IF_ERROR(read_values(c, 1, &count));
  const int64_t* dims = entries.shape.data;
  int64_t rank = entries.shape.shape.element_count;
  if (rank == 0) {
    return leat_kernel_invalid(c, "The shape argument requires at least one element.");
  }
  count.has_rows = rank > 1;
  count.row_count = count.has_rows ? dims[0] : 1;
  if (count.row_count <= 0 || count.row_count > INT32_MAX) {
    return leat_kernel_invalid(c, "Cannot allocate %lld batches, is the dense shape too wide?",
                               (long long)count.row_count);
  }
  LEAT_RETURN_IF_ERROR(leat_entries_check_bounds(c, &entries.indices, dims));
  return finish(c, &count, add_sparse(c, &entries, &count));
}

// ---- Ragged tensors -----------------------------------------------------------------------------

// Each value belongs to the first row that ends behind it; so it is in TensorFlow, also where the
// splits are not in order.
static leat_status_t add_ragged(leat_kernel_context_t* c, count_t* count) {
  const int64_t* splits = leat_kernel_input(c, 0)->data;
  int64_t row = 0;
  LEAT_RETURN_IF_ERROR(allocate_keys(c, count));
  for (int64_t i = 0; i < count->values->shape.element_count; ++i) {
    while (i >= splits[row + 1]) ++row;  // the last split is behind all values
    LEAT_RETURN_IF_ERROR(add_key(c, count, row, i));
  }
  return leat_ok_status();
}

static leat_status_t ragged__cpu(leat_kernel_context_t* c) {
  count_t count = {.has_rows = true};
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  const int64_t* splits = input->data;
  LEAT_RETURN_IF_ERROR(read_values(c, 1, &count));
  count.row_count = input->shape.element_count - 1;
  if (count.row_count < 1) {
    return leat_kernel_invalid(c, "Must provide at least 2 elements for the splits argument");
  }
  if (splits[0] != 0) {
    return leat_kernel_invalid(c, "Splits must start with 0, not with %lld", (long long)splits[0]);
  }
  if (splits[count.row_count] != count.values->shape.element_count) {
    return leat_kernel_invalid(c, "Splits must end with the number of values, got %lld instead of "
                               "%lld",
                               (long long)splits[count.row_count],
                               (long long)count.values->shape.element_count);
  }
  return finish(c, &count, add_ragged(c, &count));
}

#define KERNEL(op, fn)                                                                           \
  LEAT_CPU_KERNEL(op, "T: int32, int64; output_type: double, float, int32, int64",               \
                  count_state_t, create, fn##__cpu)

const leat_kernel_row_t leat_sparse_count_kernels_cpu[] = {
    KERNEL("DenseCountSparseOutput", dense),
    KERNEL("SparseCountSparseOutput", sparse),
    KERNEL("RaggedCountSparseOutput", ragged),
    LEAT_KERNEL_ROWS_END,
};
