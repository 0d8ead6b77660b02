// CPU kernel of RaggedTensorToTensor: a dense tensor of a default value, over which the rows of a
// ragged tensor are laid; what does not fit is cut off.
//
//   shape [] or [rank], values [n, ...], default_value, row_partition_tensors -> result
//
// The row partitions lead from the rows of the result to the values. Each is a level: it groups the
// items of the level below it, or values, into rows, which are the items of the level above:
//
//   FIRST_DIM_SIZE  the number of rows; only at the front, where it groups nothing
//   ROW_SPLITS      item i of the level above are the items [splits[i], splits[i + 1])
//   VALUE_ROWIDS    item j is in item ids[j] of the level above; equal ids stand together
//
// For each level the kernel works out where its items lie in the result: a number of a row of inner
// dimensions, or -1 for an item that is cut off. The items of a level follow from those above it,
// and the places of the values are those of the last level. No more items are held than the level
// below asks for, whatever the numbers in the partitions.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"

typedef enum partition_e { FIRST_DIM_SIZE, ROW_SPLITS, VALUE_ROWIDS } partition_t;

typedef struct to_tensor_state_s {
  int count;  // of partitions
  partition_t types[LEAT_SHAPE_MAX_RANK];
} to_tensor_state_t;

static leat_status_t to_tensor_create(leat_kernel_creation_t* c, void* memory) {
  to_tensor_state_t* state = memory;
  const leat_attr_value_t* types;
  int64_t count;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr(c, "row_partition_types", &types));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "num_row_partition_tensors", &count));
  if (types->count != count || count > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Creating a kernel failed: row_partition_types has %u types, must have "
                            "one for each of %lld row partitions, at most %d",
                            types->count, (long long)count, LEAT_SHAPE_MAX_RANK);
  }
  state->count = (int)count;
  for (int i = 0; i < state->count; ++i) {
    leat_string_view_t type = types->strings[i];
    if (leat_string_view_equal(type, LEAT_SV("ROW_SPLITS"))) {
      state->types[i] = ROW_SPLITS;
    } else if (leat_string_view_equal(type, LEAT_SV("VALUE_ROWIDS")) && i > 0) {
      state->types[i] = VALUE_ROWIDS;
    } else if (leat_string_view_equal(type, LEAT_SV("FIRST_DIM_SIZE")) && i == 0) {
      state->types[i] = FIRST_DIM_SIZE;
    } else {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Creating a kernel failed: row partition %d has the type '%.*s', "
                              "must be ROW_SPLITS, or FIRST_DIM_SIZE for the first one, or "
                              "VALUE_ROWIDS for others",
                              i, LEAT_SV_ARG(type));
    }
  }
  return leat_ok_status();
}

// ---- Partitions ---------------------------------------------------------------------------------

typedef struct to_tensor_s {
  const leat_tensor_t* values;
  const leat_tensor_t* fill;  // the default value
  int levels;                 // ragged dimensions
  int first;                  // the input with the partition of the first ragged dimension
  const partition_t* types;   // [levels] of the partitions from there
  int64_t rows;               // of the outermost level
  int64_t dims[LEAT_SHAPE_MAX_RANK];  // of the result
} to_tensor_t;

// Checks the partition of |level|, and gives the length of its longest row.
static leat_status_t measure(const leat_kernel_context_t* c, const to_tensor_t* t, int level,
                             int64_t* out_longest) {
  const leat_tensor_t* partition = leat_kernel_input(c, t->first + level);
  int64_t count = partition->shape.element_count, length = 0;
  *out_longest = 0;
  if (partition->shape.rank != 1) {
    return leat_kernel_invalid(c, "a row partition has shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(&partition->shape));
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = leat_tensor_index_at(partition, i);
    int64_t former = i ? leat_tensor_index_at(partition, i - 1) : 0;
    if (t->types[level] == VALUE_ROWIDS) {
      length = i && number == former ? length + 1 : 1;
    } else if (number < former || (i == 0 && number != 0)) {
      return leat_kernel_invalid(c, "Invalid row split size: row splits begin with 0 and do not "
                                 "get smaller, but element %lld is %lld",
                                 (long long)i, (long long)number);
    } else {
      length = number - former;
    }
    *out_longest = LEAT_MAX(*out_longest, length);
  }
  return leat_ok_status();
}

// How many items |level| groups. Row splits without an element are those of no rows.
static int64_t item_count(const leat_kernel_context_t* c, const to_tensor_t* t, int level) {
  const leat_tensor_t* partition = leat_kernel_input(c, t->first + level);
  int64_t count = partition->shape.element_count;
  if (t->types[level] == VALUE_ROWIDS || count == 0) return count;
  return leat_tensor_index_at(partition, count - 1);
}

// Checks that the partition of |level| asks for no more than |available| items of the level above
// it, and gives how many it asks for.
static leat_status_t count_parents(const leat_kernel_context_t* c, const to_tensor_t* t, int level,
                                   int64_t available, int64_t* out_count) {
  const leat_tensor_t* partition = leat_kernel_input(c, t->first + level);
  int64_t count = partition->shape.element_count;
  *out_count = t->types[level] == ROW_SPLITS && count > 0 ? count - 1 : 0;
  for (int64_t i = 0; t->types[level] == VALUE_ROWIDS && i < count; ++i) {
    int64_t id = leat_tensor_index_at(partition, i);
    if (id < 0 || id >= available) {
      return leat_kernel_invalid(c, "Got next_value_rowid=%lld which is not less than %lld",
                                 (long long)id, (long long)available);
    }
    *out_count = LEAT_MAX(*out_count, id + 1);
  }
  if (*out_count <= available) return leat_ok_status();
  return leat_kernel_invalid(c, "Row partition size is greater than output size: %lld > %lld",
                             (long long)*out_count, (long long)available);
}

// ---- The shape of the result --------------------------------------------------------------------

// As in TensorFlow, the dimensions of the default value must fit to the last dimensions of a value,
// to which it is broadcast, and to the first ones.
static leat_status_t check_default(const leat_kernel_context_t* c, const to_tensor_t* t) {
  const leat_shape_t *fill = &t->fill->shape, *values = &t->values->shape;
  bool fits = fill->rank < values->rank;
  for (int d = 1; fits && d <= fill->rank; ++d) {
    int64_t size = leat_shape_dim(fill, fill->rank - d), first = leat_shape_dim(fill, d - 1);
    fits = (size == 1 || size == leat_shape_dim(values, values->rank - d)) &&
           (first == 1 || first == leat_shape_dim(values, d));
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "default_value.shape=%s and rt_input.flat_values.shape=%s are "
                             "incompatible",
                             LEAT_SHAPE_TEXT(fill), LEAT_SHAPE_TEXT(values));
}

// Puts the sizes that input 0 states in the place of those of the ragged tensor.
static leat_status_t apply_wanted(const leat_kernel_context_t* c, to_tensor_t* t, int rank) {
  const leat_tensor_t* wanted = leat_kernel_input(c, 0);
  if (wanted->shape.rank == 0 && leat_tensor_index_at(wanted, 0) == -1) return leat_ok_status();
  if (wanted->shape.rank == 0) {
    return leat_kernel_invalid(c, "The only valid scalar shape tensor is the fully unknown shape "
                               "specified as -1.");
  }
  if (wanted->shape.rank != 1 || wanted->shape.element_count != rank) {
    return leat_kernel_invalid(c, "shape is of shape %s, must be [%d], the rank of the ragged "
                               "tensor",
                               LEAT_SHAPE_TEXT(&wanted->shape), rank);
  }
  for (int d = 0; d < rank; ++d) {
    int64_t size = leat_tensor_index_at(wanted, d);
    if (size < -1) return leat_kernel_invalid(c, "Dimension %lld must be >= -1", (long long)size);
    if (size >= 0 && d > t->levels && size != t->dims[d]) {
      return leat_kernel_invalid(c, "rt_input.shape and shape are incompatible: rt_input.shape[%d] "
                                 "= %lld but shape[%d] = %lld",
                                 d, (long long)t->dims[d], d, (long long)size);
    }
    if (size >= 0) t->dims[d] = size;
  }
  return leat_ok_status();
}

static leat_status_t read_inputs(const leat_kernel_context_t* c, to_tensor_t* t) {
  const to_tensor_state_t* state = leat_kernel_state(c);
  bool counts_rows = state->types[0] == FIRST_DIM_SIZE;
  const leat_tensor_t* outermost = leat_kernel_input(c, 3);
  t->values = leat_kernel_input(c, 1);
  t->fill = leat_kernel_input(c, 2);
  t->levels = state->count - counts_rows;
  t->first = 3 + counts_rows;
  t->types = state->types + counts_rows;
  int rank = t->levels + t->values->shape.rank;
  LEAT_RETURN_IF_ERROR(check_default(c, t));
  if (rank > LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "the rank is too large");
  if (outermost->shape.element_count == 0) {
    return leat_kernel_invalid(c, "Invalid first partition input. Tensor requires at least one "
                               "element.");
  }
  t->rows = counts_rows ? leat_tensor_index_at(outermost, 0) : outermost->shape.element_count - 1;
  if (t->rows < 0) return leat_kernel_invalid(c, "Dimension %lld must be >= 0", (long long)t->rows);
  t->dims[0] = t->rows;
  for (int level = 0; level < t->levels; ++level) {
    LEAT_RETURN_IF_ERROR(measure(c, t, level, &t->dims[level + 1]));
  }
  for (int d = 1; d < t->values->shape.rank; ++d) {
    t->dims[t->levels + d] = leat_shape_dim(&t->values->shape, d);
  }
  return apply_wanted(c, t, rank);
}

// ---- Places -------------------------------------------------------------------------------------

// The places of the first |count| items of a level; |step| is from one item of a row to the next.
typedef struct places_s {
  leat_tensor_t memory;
  int64_t count;
  int64_t step;
} places_t;

static leat_status_t allocate_places(leat_kernel_context_t* c, int64_t count, places_t* places) {
  leat_shape_t vector = leat_shape_vector(count);
  places->count = count;
  return leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &vector, &places->memory);
}

// Places item |item| as number |number| of its row, which begins at the place |parent|.
static void place_item(const to_tensor_t* t, int level, places_t* places, int64_t item,
                       int64_t parent, int64_t number) {
  bool is_cut = parent < 0 || number >= t->dims[level + 1];
  leat_tensor_data(&places->memory, int64_t)[item] =
      is_cut ? -1 : parent + number * places->step;
}

// Places the items of |level| in the rows that |parents| are.
static void place_items(const leat_kernel_context_t* c, const to_tensor_t* t, int level,
                        const places_t* parents, places_t* places) {
  const leat_tensor_t* partition = leat_kernel_input(c, t->first + level);
  const int64_t* parent = parents->memory.data;
  if (t->types[level] == VALUE_ROWIDS) {
    for (int64_t item = 0, number = 0; item < places->count; ++item) {
      int64_t id = leat_tensor_index_at(partition, item);
      number = item && id == leat_tensor_index_at(partition, item - 1) ? number + 1 : 0;
      place_item(t, level, places, item, parent[id], number);
    }
    return;
  }
  for (int64_t row = 0, item = 0; item < places->count; ++row) {
    int64_t begin = item, end = leat_tensor_index_at(partition, row + 1);
    for (; item < LEAT_MIN(end, places->count); ++item) {
      place_item(t, level, places, item, parent[row], item - begin);
    }
  }
}

// Places the rows of the outermost level.
static void place_rows(const to_tensor_t* t, places_t* places) {
  for (int64_t row = 0; row < places->count; ++row) {
    leat_tensor_data(&places->memory, int64_t)[row] = row < t->dims[0] ? row * places->step : -1;
  }
}

// Gives the places of the values, which the caller releases.
static leat_status_t place_values(leat_kernel_context_t* c, const to_tensor_t* t,
                                  places_t* out_places) {
  int64_t value_count = leat_shape_dim(&t->values->shape, 0), available = t->rows;
  places_t places = {.step = 1};
  for (int d = 1; d <= t->levels; ++d) places.step *= t->dims[d];  // divides the result's size
  leat_status_t status = leat_ok_status();
  for (int level = -1; level < t->levels && !status; ++level) {
    places_t next = {.step = level < 0 ? places.step : places.step / t->dims[level + 1]};
    int64_t count = LEAT_MIN(value_count, available);
    if (level + 1 < t->levels) status = count_parents(c, t, level + 1, available, &count);
    if (!status && level + 1 == t->levels && available > value_count) {
      status = leat_kernel_invalid(c, "the row partitions have %lld values, there are %lld",
                                   (long long)available, (long long)value_count);
    }
    if (!status) status = allocate_places(c, count, &next);
    if (!status && level < 0) place_rows(t, &next);
    if (!status && level >= 0) place_items(c, t, level, &places, &next);
    leat_tensor_release(&places.memory);
    places = next;
    if (level + 1 < t->levels) available = item_count(c, t, level + 1);
  }
  if (status) leat_tensor_release(&places.memory);
  *out_places = places;
  return status;
}

// ---- The result ---------------------------------------------------------------------------------

// Writes the default value, broadcast to one row of the inner dimensions, at the front of |output|.
static leat_status_t write_default(const to_tensor_t* t, int64_t width, leat_tensor_t* output) {
  const leat_shape_t *fill = &t->fill->shape, *values = &t->values->shape;
  size_t bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < width; ++i) {
    int64_t rest = i, from = 0, stride = 1;
    for (int d = 1; d <= fill->rank; ++d) {
      int64_t size = leat_shape_dim(fill, fill->rank - d);
      int64_t wanted = leat_shape_dim(values, values->rank - d);
      from += rest % wanted % size * stride;
      rest /= wanted;
      stride *= size;
    }
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy_elements(output->dtype, (const char*)t->fill->data + (size_t)from * bytes,
                                  (char*)output->data + (size_t)i * bytes, 1));
  }
  return leat_ok_status();
}

// Fills the result with the default value, by copying what is there already, twice as much each
// time. Then copies each value to its place.
static leat_status_t write_result(leat_kernel_context_t* c, const to_tensor_t* t,
                                  const places_t* places, leat_tensor_t* output) {
  int64_t width = leat_shape_product(&t->values->shape, 1, t->values->shape.rank);
  int64_t total = output->shape.element_count;
  size_t bytes = leat_dtype_size(output->dtype);
  leat_step_pace_t pace = leat_step_pace_of(c);
  LEAT_RETURN_IF_ERROR(write_default(t, width, output));
  for (int64_t done = width, some; done < total; done += some) {
    some = LEAT_MIN(done, total - done);
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
        output->dtype, output->data, (char*)output->data + (size_t)done * bytes, some));
  }
  size_t row_bytes = (size_t)width * bytes;
  const char* value = t->values->data;
  for (int64_t i = 0; i < places->count; ++i, value += row_bytes) {
    const int64_t* place = leat_tensor_data(&places->memory, const int64_t) + i;
    if (*place < 0) continue;
    LEAT_DCHECK(*place < total / width);
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, 5 + (double)width));
    char* to = (char*)output->data + (size_t)*place * row_bytes;
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(output->dtype, value, to, width));
  }
  return leat_ok_status();
}

static leat_status_t to_tensor__cpu(leat_kernel_context_t* c) {
  to_tensor_t t;
  leat_tensor_t* output;
  places_t places;
  LEAT_RETURN_IF_ERROR(read_inputs(c, &t));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, t.levels + t.values->shape.rank, t.dims,
                                                  &output));
  if (output->shape.element_count == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(place_values(c, &t, &places));
  leat_status_t status = write_result(c, &t, &places, output);
  leat_tensor_release(&places.memory);
  return status;
}

const leat_kernel_row_t leat_ragged_to_tensor_kernels_cpu[] = {
    LEAT_CPU_KERNEL("RaggedTensorToTensor",
                    "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, qint16, qint32, qint8, quint16, quint8, string, uint16, uint32, "
                    "uint64, uint8",
                    to_tensor_state_t, to_tensor_create, to_tensor__cpu),
    LEAT_KERNEL_ROWS_END,
};
