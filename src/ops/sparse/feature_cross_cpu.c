// CPU kernels of SparseCross: for each row of a batch, all combinations of one feature from each
// column, as texts ("a_X_b") or as hashes.
//
//   column 0: [a, b]   column 1: [x, y]   ->   a_X_x, a_X_y, b_X_x, b_X_y
//
// A column is a sparse matrix, whose rows hold any number of features, or a dense one. A row counts
// only if no column is empty there. Sparse columns are in the order of their rows, so finding such
// rows is a merge: each column moves on to the largest row that any of them has reached, until all
// agree.
//
// The size of the output is not known beforehand. Hence two passes go over the rows: the first
// counts the crosses, the second writes them. The order, the texts and the hashes are TensorFlow's,
// since models store weights by hash.
//
// RaggedCross takes ragged columns besides, in an order of its own. Its result is a ragged tensor,
// which also has the rows in which some column is empty.
#include "base/checked.h"
#include "base/fingerprint.h"
#include "base/string_builder.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef enum kind_e {
  KIND_OLD,     // SparseCross: hashed if the output's type is int64
  KIND_TEXT,    // SparseCrossV2
  KIND_HASHED,  // SparseCrossHashed
  KIND_RAGGED,  // RaggedCross: hashed if the output's type is int64
} kind_t;

typedef struct cross_state_s {
  kind_t kind;
  int64_t sparse_count;
  int64_t bucket_count;  // of KIND_OLD and KIND_RAGGED, as the next one
  uint64_t hash_key;
  int internal_type;  // of KIND_OLD; 0: any
  // Of KIND_RAGGED: how many columns are ragged, and a letter for each column, R, S or D.
  int64_t ragged_count;
  char* order;
  int64_t order_length;
} cross_state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory, kind_t kind) {
  cross_state_t* state = memory;
  const leat_attr_value_t* types;
  state->kind = kind;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "N", &state->sparse_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "sparse_types", &types));
  if ((int64_t)types->count == state->sparse_count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Creating a cross failed: sparse_types has %u types, must have as many "
                          "as there are indices, %lld",
                          types->count, (long long)state->sparse_count);
}

static leat_status_t old_create(leat_kernel_creation_t* c, void* memory) {
  cross_state_t* state = memory;
  int64_t key;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_buckets", &state->bucket_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "hash_key", &key));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "internal_type", &state->internal_type));
  state->hash_key = (uint64_t)key;
  return create(c, memory, KIND_OLD);
}

static leat_status_t text_create(leat_kernel_creation_t* c, void* memory) {
  return create(c, memory, KIND_TEXT);
}

static leat_status_t hashed_create(leat_kernel_creation_t* c, void* memory) {
  return create(c, memory, KIND_HASHED);
}

static void destroy(void* memory) {
  leat_allocator_free(leat_allocator_system(), ((cross_state_t*)memory)->order);
}

static int64_t count_letter(const cross_state_t* state, char letter) {
  int64_t count = 0;
  for (int64_t i = 0; i < state->order_length; ++i) count += state->order[i] == letter;
  return count;
}

static leat_status_t ragged_create(leat_kernel_creation_t* c, void* memory) {
  cross_state_t* state = memory;
  const leat_attr_value_t *ragged, *splits, *sparse, *dense;
  leat_string_view_t order;
  int64_t key;
  state->kind = KIND_RAGGED;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_buckets", &state->bucket_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "hash_key", &key));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "Nsparse", &state->sparse_count));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "ragged_values_types", &ragged));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "ragged_splits_types", &splits));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "sparse_values_types", &sparse));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "dense_types", &dense));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "input_order", &order));
  state->hash_key = (uint64_t)key;
  state->ragged_count = ragged->count;
  state->order_length = (int64_t)order.size;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), order.size + 1, &state->order));
  memcpy(state->order, order.data, order.size);
  if (splits->count == ragged->count && sparse->count == state->sparse_count &&
      count_letter(state, 'R') == ragged->count && count_letter(state, 'S') == sparse->count &&
      count_letter(state, 'D') == dense->count &&
      order.size == (size_t)ragged->count + sparse->count + dense->count) {
    return leat_ok_status();
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Creating a cross failed: Invalid input_order '%.*s': must have an R for "
                          "each of %u ragged inputs, an S for each of %u sparse and a D for each "
                          "of %u dense ones",
                          LEAT_SV_ARG(order), ragged->count, sparse->count, dense->count);
}

// ---- Columns ------------------------------------------------------------------------------------

// A column, and how far its rows have been read.
typedef struct column_s {
  const leat_tensor_t* values;
  const int64_t* indices;  // [entry_count, 2]; NULL: dense or ragged
  const leat_tensor_t* splits;  // of a ragged column; else NULL
  int64_t entry_count;
  int64_t next;       // the first entry that has not been read
  int64_t last_row;   // the row of the entries that were read last
  int64_t first, count;  // the values of this row
  int64_t at;            // which of them is in the current cross
} column_t;

typedef struct cross_s {
  const cross_state_t* state;
  column_t* columns;
  int64_t column_count, sparse_count;
  int64_t row_count;
  int64_t row;  // -1 before the first
  // How crosses are hashed or printed.
  int64_t bucket_count;
  const uint64_t* salt;  // NULL: no strong hash
  leat_string_view_t separator;
} cross_t;

// Checks sparse column |number| and reads all but how many rows it has. |first| is the input with
// the indices of the first one.
static leat_status_t read_sparse(const leat_kernel_context_t* c, int first, int64_t number,
                                 column_t* column, int64_t* out_row_count) {
  int count = (int)((const cross_state_t*)leat_kernel_state(c))->sparse_count, i = (int)number;
  const leat_shape_t* indices = &leat_kernel_input(c, first + i)->shape;
  const leat_shape_t* values = &leat_kernel_input(c, first + count + i)->shape;
  const leat_shape_t* shape = &leat_kernel_input(c, first + 2 * count + i)->shape;
  if (indices->rank == 2 && leat_shape_dim(indices, 1) == 2 && values->rank == 1 &&
      values->element_count == leat_shape_dim(indices, 0) && shape->rank == 1 &&
      shape->element_count == 2) {
    column->values = leat_kernel_input(c, first + count + i);
    column->indices = leat_kernel_input(c, first + i)->data;
    column->entry_count = column->values->shape.element_count;
    column->last_row = -1;
    *out_row_count =
        leat_tensor_data(leat_kernel_input(c, first + 2 * count + i), const int64_t)[0];
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "indices, values and shapes of column %d have shapes %s, %s and "
                             "%s, must be [n, 2], [n] and [2]",
                             i, LEAT_SHAPE_TEXT(indices), LEAT_SHAPE_TEXT(values),
                             LEAT_SHAPE_TEXT(shape));
}

static leat_status_t read_dense(const leat_kernel_context_t* c, int input, column_t* column,
                                int64_t* out_row_count) {
  column->values = leat_kernel_input(c, input);
  if (column->values->shape.rank != 2) {
    return leat_kernel_invalid(c, "a dense input has shape %s, must be a matrix",
                               LEAT_SHAPE_TEXT(&column->values->shape));
  }
  *out_row_count = leat_shape_dim(&column->values->shape, 0);
  return leat_ok_status();
}

static leat_status_t read_ragged(const leat_kernel_context_t* c, int64_t number, column_t* column,
                                 int64_t* out_row_count) {
  const cross_state_t* state = leat_kernel_state(c);
  column->values = leat_kernel_input(c, (int)number);
  column->splits = leat_kernel_input(c, (int)(state->ragged_count + number));
  const leat_shape_t *values = &column->values->shape, *splits = &column->splits->shape;
  bool fits = values->rank == 1 && splits->rank == 1 && splits->element_count > 0;
  *out_row_count = splits->element_count - 1;
  for (int64_t i = 0; fits && i <= *out_row_count; ++i) {
    int64_t split = leat_tensor_index_at(column->splits, i);
    fits = i == 0 ? split == 0 : split >= leat_tensor_index_at(column->splits, i - 1);
    if (i == *out_row_count) fits = fits && split == values->element_count;
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "Invalid ragged splits of ragged input %lld: values have shape %s "
                             "and splits %s, must be vectors, the splits sorted from 0 to the "
                             "number of values",
                             (long long)number, LEAT_SHAPE_TEXT(values), LEAT_SHAPE_TEXT(splits));
}

// All columns must have as many rows as the first one.
static leat_status_t check_column(const leat_kernel_context_t* c, const cross_t* cross,
                                  const column_t* column, int64_t row_count) {
  int64_t number = column - cross->columns;
  if (cross->state->internal_type == LEAT_DTYPE_STRING &&
      column->values->dtype == LEAT_DTYPE_INT64) {
    return leat_kernel_invalid(c, "values of column %lld are int64, must be of internal type "
                               "string", (long long)number);
  }
  if (row_count == cross->row_count) return leat_ok_status();
  return leat_kernel_invalid(c, "Expected batch size %lld got %lld at position %lld",
                             (long long)cross->row_count, (long long)row_count,
                             (long long)number);
}

static leat_status_t read_columns(const leat_kernel_context_t* c, cross_t* cross) {
  int n = (int)cross->sparse_count;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    column_t* column = &cross->columns[i];
    int64_t row_count = 0;
    if (i < n) {
      LEAT_RETURN_IF_ERROR(read_sparse(c, 0, i, column, &row_count));
    } else {
      LEAT_RETURN_IF_ERROR(read_dense(c, 2 * n + (int)i, column, &row_count));
    }
    if (i == 0) cross->row_count = row_count;
    LEAT_RETURN_IF_ERROR(check_column(c, cross, column, row_count));
  }
  return leat_ok_status();
}

// Reads the columns of RaggedCross, whose inputs are those of all ragged columns, then those of all
// sparse and of all dense ones.
static leat_status_t read_ordered_columns(const leat_kernel_context_t* c, cross_t* cross) {
  const cross_state_t* state = cross->state;
  int first_sparse = 2 * (int)state->ragged_count;
  int dense = first_sparse + 3 * (int)state->sparse_count;
  int64_t ragged = 0, sparse = 0;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    column_t* column = &cross->columns[i];
    int64_t row_count = 0;
    switch (state->order[i]) {
      case 'R': LEAT_RETURN_IF_ERROR(read_ragged(c, ragged++, column, &row_count)); break;
      case 'S':
        LEAT_RETURN_IF_ERROR(read_sparse(c, first_sparse, sparse++, column, &row_count));
        break;
      default: LEAT_RETURN_IF_ERROR(read_dense(c, dense++, column, &row_count));
    }
    if (i == 0) cross->row_count = row_count;
    LEAT_RETURN_IF_ERROR(check_column(c, cross, column, row_count));
  }
  return leat_ok_status();
}

// ---- Rows ---------------------------------------------------------------------------------------

// Moves |column| to its next row. Entries must come in the order of their rows: one that does not
// ends its column. false when there are no more rows.
static bool take_row(column_t* column) {
  if (column->next == column->entry_count) return false;
  int64_t row = column->indices[2 * column->next];
  if (row <= column->last_row) return false;
  column->last_row = row;
  column->first = column->next;
  while (column->next < column->entry_count && column->indices[2 * column->next] == row) {
    ++column->next;
  }
  column->count = column->next - column->first;
  return true;
}

// Moves all sparse columns to the next row that each of them has. |agreed| counts the columns, one
// after the other, that are known to be at cross->row; when one is beyond it, that row becomes the
// goal and counting begins anew.
static bool find_sparse_row(cross_t* cross) {
  int64_t agreed = 0;
  ++cross->row;
  for (int64_t i = 0; agreed < cross->sparse_count; i = (i + 1) % cross->sparse_count, ++agreed) {
    column_t* column = &cross->columns[i];
    while (column->last_row < cross->row) {
      if (!take_row(column)) return false;
    }
    if (column->last_row > cross->row) {
      cross->row = column->last_row;
      agreed = 0;
    }
  }
  return cross->row < cross->row_count;
}

// Moves to the next row in which every column has values, and to its first cross.
static bool next_row(cross_t* cross) {
  if (!find_sparse_row(cross)) return false;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    column_t* column = &cross->columns[i];
    if (!column->indices) {
      column->count = leat_shape_dim(&column->values->shape, 1);
      column->first = cross->row * column->count;
    }
    if (column->count == 0) return false;
    column->at = 0;
  }
  return cross->column_count > 0;
}

// Moves to the next row of RaggedCross, also where it has no crosses because some column is empty
// there. The entries of a sparse column belong to the first row that they may belong to.
static bool next_ragged_row(cross_t* cross) {
  if (++cross->row >= cross->row_count) return false;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    column_t* column = &cross->columns[i];
    if (column->splits) {
      column->first = leat_tensor_index_at(column->splits, cross->row);
      column->count = leat_tensor_index_at(column->splits, cross->row + 1) - column->first;
    } else if (column->indices) {
      column->first = column->next;
      while (column->next < column->entry_count &&
             column->indices[2 * column->next] <= cross->row) {
        ++column->next;
      }
      column->count = column->next - column->first;
    } else {
      column->count = leat_shape_dim(&column->values->shape, 1);
      column->first = cross->row * column->count;
    }
    column->at = 0;
  }
  return true;
}

static void rewind_rows(cross_t* cross) {
  cross->row = -1;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    cross->columns[i].next = 0;
    cross->columns[i].last_row = -1;
  }
}

// Moves to the next cross of the row, like an odometer whose last column turns fastest.
static bool next_cross(cross_t* cross) {
  for (int64_t i = cross->column_count - 1; i >= 0; --i) {
    if (++cross->columns[i].at < cross->columns[i].count) return true;
    cross->columns[i].at = 0;
  }
  return false;
}

// ---- Crosses ------------------------------------------------------------------------------------

static uint64_t shift_mix(uint64_t value) { return value ^ (value >> 47); }

// TensorFlow's hash of two hashes, in this order.
static uint64_t join_hashes(uint64_t a, uint64_t b) {
  const uint64_t kMultiplier = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t hash = a ^ kMultiplier;
  hash ^= shift_mix(b * kMultiplier) * kMultiplier;
  hash *= kMultiplier;
  return shift_mix(shift_mix(hash) * kMultiplier);
}

// SparseCross and RaggedCross begin a hash with the key in their attributes.
static bool has_key(const cross_t* cross) {
  return cross->state->kind == KIND_OLD || cross->state->kind == KIND_RAGGED;
}

// Hashes the feature of |column| that is in the current cross. SparseCrossHashed hashes the lower
// half of an integer, as TensorFlow does; but integers of dense columns without a strong hash stay
// as they are, and so do all integers of SparseCross and RaggedCross.
static uint64_t hash_feature(const cross_t* cross, const column_t* column) {
  int64_t at = column->first + column->at;
  leat_string_view_t bytes;
  if (column->values->dtype == LEAT_DTYPE_STRING) {
    bytes = leat_tensor_string_at(column->values, at);
  } else {
    const int64_t* value = leat_tensor_data(column->values, const int64_t) + at;
    bool is_own_hash = has_key(cross) || (!column->indices && !cross->salt);
    if (is_own_hash) return (uint64_t)*value;
    bytes = leat_string_view_make((const char*)value, sizeof(int32_t));
  }
  return cross->salt ? leat_fingerprint_keyed(cross->salt, bytes) : leat_fingerprint64(bytes);
}

static int64_t hash_cross(const cross_t* cross) {
  bool is_keyed = has_key(cross);
  uint64_t hash = is_keyed ? cross->state->hash_key : hash_feature(cross, &cross->columns[0]);
  for (int64_t i = !is_keyed; i < cross->column_count; ++i) {
    hash = join_hashes(hash, hash_feature(cross, &cross->columns[i]));
  }
  return (int64_t)(hash % (uint64_t)(cross->bucket_count > 0 ? cross->bucket_count : INT64_MAX));
}

// Appends the features of the current cross with separators between.
static void print_cross(const cross_t* cross, leat_string_builder_t* out) {
  for (int64_t i = 0; i < cross->column_count; ++i) {
    const column_t* column = &cross->columns[i];
    int64_t at = column->first + column->at;
    if (i) leat_string_builder_append(out, cross->separator);
    if (column->values->dtype == LEAT_DTYPE_STRING) {
      leat_string_builder_append(out, leat_tensor_string_at(column->values, at));
    } else {
      leat_string_builder_print(out, "%lld",
                                (long long)leat_tensor_data(column->values, const int64_t)[at]);
    }
  }
}

// Sets values[at] to the current cross.
static leat_status_t write_cross(const cross_t* cross, leat_tensor_t* values, int64_t at) {
  if (values->dtype == LEAT_DTYPE_INT64) {
    leat_tensor_data(values, int64_t)[at] = hash_cross(cross);
    return leat_ok_status();
  }
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  print_cross(cross, &text);
  leat_status_t status = leat_status_clone(text.status);
  if (!status) status = leat_tensor_set_string(values, at, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t write_crosses(const leat_kernel_context_t* c, cross_t* cross,
                                   int64_t* indices, leat_tensor_t* values) {
  leat_step_pace_t pace = leat_step_pace_of(c);
  int64_t at = 0;
  while (next_row(cross)) {
    int64_t number = 0;
    do {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 50.0 * (double)cross->column_count));
      indices[2 * at] = cross->row;
      indices[2 * at + 1] = number++;
      LEAT_RETURN_IF_ERROR(write_cross(cross, values, at++));
    } while (next_cross(cross));
  }
  return leat_ok_status();
}

// Adds the number of crosses of the current row to |*inout_total|, and gives it.
static leat_status_t count_row(const leat_kernel_context_t* c, const cross_t* cross,
                               int64_t* inout_total, int64_t* out_count) {
  bool fits = true;
  *out_count = cross->column_count > 0;
  for (int64_t i = 0; i < cross->column_count; ++i) {
    fits = fits && leat_checked_multiply(*out_count, cross->columns[i].count, out_count);
  }
  if (fits && leat_checked_add(*inout_total, *out_count, inout_total)) return leat_ok_status();
  return leat_kernel_invalid(c, "there are more than 2^63 crosses");
}

// Counts the crosses: in all, and in the row that has most.
static leat_status_t count_crosses(const leat_kernel_context_t* c, cross_t* cross,
                                   int64_t* out_total, int64_t* out_most) {
  int64_t count;
  *out_total = *out_most = 0;
  while (next_row(cross)) {
    LEAT_RETURN_IF_ERROR(count_row(c, cross, out_total, &count));
    *out_most = LEAT_MAX(*out_most, count);
  }
  rewind_rows(cross);
  return leat_ok_status();
}

// ---- Ragged results -----------------------------------------------------------------------------

// Writes output 1, the splits, and gives the number of crosses.
static leat_status_t write_splits(leat_kernel_context_t* c, cross_t* cross, int64_t* out_total) {
  leat_tensor_t* splits;
  int64_t size, count;
  *out_total = 0;
  if (cross->row_count < 0 || !leat_checked_add(cross->row_count, 1, &size)) {
    return leat_kernel_invalid(c, "the number of rows is %lld", (long long)cross->row_count);
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 1, 1, &size, &splits));
  do {
    if (splits->dtype == LEAT_DTYPE_INT64) {
      leat_tensor_data(splits, int64_t)[cross->row + 1] = *out_total;
    } else if (*out_total <= INT32_MAX) {
      leat_tensor_data(splits, int32_t)[cross->row + 1] = (int32_t)*out_total;
    } else {
      return leat_kernel_invalid(c, "there are more than 2^31 crosses, for which splits of type "
                                 "int32 are too small");
    }
    if (!next_ragged_row(cross)) break;
    LEAT_RETURN_IF_ERROR(count_row(c, cross, out_total, &count));
  } while (true);
  rewind_rows(cross);
  return leat_ok_status();
}

static leat_status_t write_ragged(leat_kernel_context_t* c, cross_t* cross) {
  int64_t total, at = 0, count, seen = 0;
  leat_tensor_t* values;
  LEAT_RETURN_IF_ERROR(write_splits(c, cross, &total));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, 1, &total, &values));
  leat_step_pace_t pace = leat_step_pace_of(c);
  while (next_ragged_row(cross)) {
    LEAT_RETURN_IF_ERROR(count_row(c, cross, &seen, &count));
    for (; count > 0; --count) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 50.0 * (double)cross->column_count));
      LEAT_RETURN_IF_ERROR(write_cross(cross, values, at++));
      next_cross(cross);
    }
  }
  return leat_ok_status();
}

// ---- Kernels ------------------------------------------------------------------------------------

static leat_status_t read_hash_inputs(const leat_kernel_context_t* c, int first, cross_t* cross) {
  const leat_tensor_t* buckets = leat_kernel_input(c, first);
  const leat_tensor_t* strong = leat_kernel_input(c, first + 1);
  const leat_tensor_t* salt = leat_kernel_input(c, first + 2);
  if (buckets->shape.element_count != 1 || strong->shape.element_count != 1 ||
      salt->shape.element_count != 2) {
    return leat_kernel_invalid(c, "num_buckets, strong_hash and salt have shapes %s, %s and %s, "
                               "must be two scalars and [2]",
                               LEAT_SHAPE_TEXT(&buckets->shape), LEAT_SHAPE_TEXT(&strong->shape),
                               LEAT_SHAPE_TEXT(&salt->shape));
  }
  cross->bucket_count = *leat_tensor_data(buckets, const int64_t);
  cross->salt = *leat_tensor_data(strong, const bool) ? salt->data : NULL;
  return leat_ok_status();
}

static leat_status_t read_separator(const leat_kernel_context_t* c, int index, cross_t* cross) {
  const leat_tensor_t* separator = leat_kernel_input(c, index);
  if (separator->shape.rank != 0) {
    return leat_kernel_invalid(c, "sep has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&separator->shape));
  }
  cross->separator = leat_tensor_string_at(separator, 0);
  return leat_ok_status();
}

// Reads the columns and, from the last inputs, what the kind of op has besides.
static leat_status_t read_inputs(const leat_kernel_context_t* c, leat_arena_t* arena,
                                 cross_t* cross) {
  static const int kOwnInputs[] = {
      [KIND_OLD] = 0, [KIND_TEXT] = 1, [KIND_HASHED] = 3, [KIND_RAGGED] = 0};
  const cross_state_t* state = leat_kernel_state(c);
  int own = kOwnInputs[state->kind], first = leat_kernel_input_count(c) - own;
  *cross = (cross_t){.state = state,
                     .sparse_count = state->sparse_count,
                     .column_count = state->kind == KIND_RAGGED
                                         ? state->order_length
                                         : first - 2 * state->sparse_count,
                     .row = -1,
                     .bucket_count = state->bucket_count,
                     .separator = LEAT_SV("_X_")};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)cross->column_count + 1, &cross->columns));
  if (state->kind == KIND_TEXT) LEAT_RETURN_IF_ERROR(read_separator(c, first, cross));
  if (state->kind == KIND_HASHED) LEAT_RETURN_IF_ERROR(read_hash_inputs(c, first, cross));
  return state->kind == KIND_RAGGED ? read_ordered_columns(c, cross) : read_columns(c, cross);
}

static leat_status_t run(leat_kernel_context_t* c, leat_arena_t* arena) {
  cross_t cross;
  int64_t total, most;
  leat_shape_t pair = leat_shape_vector(2);
  leat_tensor_t *indices, *values, *dense;
  LEAT_RETURN_IF_ERROR(read_inputs(c, arena, &cross));
  if (cross.state->kind == KIND_RAGGED) return write_ragged(c, &cross);
  LEAT_RETURN_IF_ERROR(count_crosses(c, &cross, &total, &most));
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, total, 2, &indices, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &pair, &dense));
  leat_tensor_data(dense, int64_t)[0] = cross.row_count;
  leat_tensor_data(dense, int64_t)[1] = most;
  return write_crosses(c, &cross, indices->data, values);
}

static leat_status_t cross__cpu(leat_kernel_context_t* c) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = run(c, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

#define ROW(name, made)                                        \
  LEAT_CPU_KERNEL(name, NULL, cross_state_t, made, cross__cpu)

const leat_kernel_row_t leat_feature_cross_kernels_cpu[] = {
    ROW("SparseCross", old_create),
    ROW("SparseCrossV2", text_create),
    ROW("SparseCrossHashed", hashed_create),
    LEAT_CPU_KERNEL("RaggedCross", NULL, cross_state_t, ragged_create, cross__cpu,
                    .destroy = destroy),
    LEAT_KERNEL_ROWS_END,
};
