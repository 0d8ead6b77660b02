// CPU kernels of SparseFillEmptyRows, which gives every row of a sparse tensor that has no entry
// one with a default value, and of its gradient. RaggedFillEmptyRows does the same to the rows of a
// ragged tensor, whose values come with the numbers of their rows: these are indices of one column.
//
// It is a counting sort by row. Entries are counted by row; the counts become the places where each
// row begins in the output, an empty row counting as one entry; then each entry goes to the next
// place of its row. reverse_index_map says where each entry went. If no row is empty and the
// entries are in order, the inputs are passed on as they are.
#include "device/cpu/combine.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct fill_s {
  leat_entries_t entries;
  int64_t count, rank, rows;
  int64_t* places;  // by row: first the number of entries, then where the next one goes
  bool is_full;     // no row is empty
  bool is_ordered;  // the entries come in the order of their rows
  leat_tensor_t* is_empty;
  leat_tensor_t* map;
} fill_t;

static leat_status_t count_entries(const leat_kernel_context_t* c, fill_t* f) {
  int64_t former = 0;
  f->is_ordered = true;
  for (int64_t i = 0; i < f->count; ++i) {
    int64_t row = leat_tensor_data(&f->entries.indices, const int64_t)[i * f->rank];
    if (row < 0 || row >= f->rows) {
      return leat_kernel_invalid(c, "indices(%lld, 0) is invalid: %lld >= %lld", (long long)i,
                                 (long long)row, (long long)f->rows);
    }
    ++f->places[row];
    f->is_ordered &= row >= former;
    former = row;
  }
  return leat_ok_status();
}

// Turns counts into places, and gives the number of entries of the output.
static int64_t place_rows(fill_t* f) {
  int64_t next = 0;
  f->is_full = true;
  for (int64_t row = 0; row < f->rows; ++row) {
    bool is_empty = f->places[row] == 0;
    leat_tensor_data(f->is_empty, bool)[row] = is_empty;
    f->is_full &= !is_empty;
    int64_t count = is_empty ? 1 : f->places[row];
    f->places[row] = next;
    next += count;
  }
  return next;
}

// Writes one entry to |place|. |values| is the vector of values, or the default, a scalar; then
// |index| is the row alone and the other indices are 0.
static leat_status_t write_entry(const fill_t* f, const int64_t* index, const leat_tensor_t* values,
                                 int64_t from, const leat_tensor_t* out_indices,
                                 const leat_tensor_t* out_values, int64_t place) {
  int64_t* to = leat_tensor_data(out_indices, int64_t) + place * f->rank;
  size_t bytes = leat_dtype_size(values->dtype);
  to[0] = index[0];
  for (int64_t d = 1; d < f->rank; ++d) to[d] = values->shape.rank ? index[d] : 0;
  return leat_tensor_copy_elements(values->dtype, (const char*)values->data + (size_t)from * bytes,
                                   (char*)out_values->data + (size_t)place * bytes, 1);
}

static leat_status_t write_all(leat_kernel_context_t* c, fill_t* f, int64_t total) {
  const leat_shape_t* like = &leat_kernel_input(c, 0)->shape;
  leat_shape_t vector = leat_shape_vector(total);
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, 0, like->rank, (int64_t[]){total, f->rank}, &indices));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &vector, &values));
  const int64_t* index = f->entries.indices.data;
  for (int64_t row = 0; row < f->rows; ++row) {
    if (!leat_tensor_data(f->is_empty, bool)[row]) continue;
    LEAT_RETURN_IF_ERROR(write_entry(f, &row, leat_kernel_input(c, 3), 0, indices, values,
                                     f->places[row]));
  }
  for (int64_t i = 0; i < f->count; ++i, index += f->rank) {
    int64_t place = f->places[index[0]]++;
    leat_tensor_data(f->map, int64_t)[i] = place;
    LEAT_RETURN_IF_ERROR(
        write_entry(f, index, &f->entries.values, i, indices, values, place));
  }
  return leat_ok_status();
}

static leat_status_t fill(leat_kernel_context_t* c, fill_t* f) {
  LEAT_RETURN_IF_ERROR(count_entries(c, f));
  int64_t total = place_rows(f);
  if (!f->is_full || !f->is_ordered) return write_all(c, f, total);
  leat_kernel_pass_input(c, 0, 0);
  leat_kernel_pass_input(c, 1, 1);
  for (int64_t i = 0; i < f->count; ++i) leat_tensor_data(f->map, int64_t)[i] = i;
  return leat_ok_status();
}

// Fills the rows of |f|, of which entries, count, rank and rows are set.
static leat_status_t fill_rows(leat_kernel_context_t* c, fill_t* f) {
  leat_tensor_t places;
  leat_shape_t rows, entries = leat_shape_vector(f->count);
  LEAT_RETURN_IF_ERROR(leat_shape_create(1, &f->rows, &rows));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &rows, &f->is_empty));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 3, &entries, &f->map));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &rows, &places));
  leat_tensor_fill_zero(&places);
  f->places = places.data;
  leat_status_t status = fill(c, f);
  leat_tensor_release(&places);
  return status;
}

static leat_status_t fill__cpu(leat_kernel_context_t* c) {
  fill_t f = {.entries = leat_entries_of_inputs(c, 0)};
  f.count = f.entries.values.shape.element_count;
  f.rank = f.entries.shape.shape.element_count;
  if (f.rank == 0) return leat_kernel_invalid(c, "Dense shape cannot be empty.");
  f.rows = *leat_tensor_data(&f.entries.shape, const int64_t);
  return fill_rows(c, &f);
}

static leat_status_t ragged_fill__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *ids = leat_kernel_input(c, 0), *values = leat_kernel_input(c, 1),
                      *rows = leat_kernel_input(c, 2);
  fill_t f = {.entries = {.indices = *ids, .values = *values},
              .count = ids->shape.element_count,
              .rank = 1,
              .rows = *leat_tensor_data(rows, const int64_t)};
  return fill_rows(c, &f);
}

// ---- The gradient -------------------------------------------------------------------------------

// Gathers the gradient of each value from where its entry went, and marks those places in
// |is_visited|. What was not visited belongs to the default value.
static leat_status_t gather(leat_kernel_context_t* c, leat_tensor_t* values, bool* is_visited) {
  const leat_tensor_t *map = leat_kernel_input(c, 0), *from = leat_kernel_input(c, 1);
  size_t bytes = leat_dtype_size(from->dtype);
  for (int64_t i = 0; i < map->shape.element_count; ++i) {
    int64_t place = leat_tensor_data(map, const int64_t)[i];
    if (place < 0 || place >= from->shape.element_count) {
      return leat_kernel_invalid(c, "Elements in reverse index must be in [0, %lld) but got %lld",
                                 (long long)from->shape.element_count, (long long)place);
    }
    memcpy((char*)values->data + (size_t)i * bytes,
           (const char*)from->data + (size_t)place * bytes, bytes);
    is_visited[place] = true;
  }
  return leat_ok_status();
}

// The gradient of an entry is that of the place it went to; the gradients of all other places
// belong to the default value, and are added up.
static leat_status_t gradient__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t *map = leat_kernel_input(c, 0), *from = leat_kernel_input(c, 1);
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t *values, *rest, visited;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &map->shape, &values));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &scalar, &rest));
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_BOOL, &from->shape, &visited));
  leat_tensor_fill_zero(&visited);
  leat_tensor_fill_zero(rest);
  leat_status_t status = gather(c, values, visited.data);
  size_t bytes = leat_dtype_size(from->dtype);
  for (int64_t i = 0; i < from->shape.element_count && !status; ++i) {
    if (leat_tensor_data(&visited, bool)[i]) continue;
    leat_numbers_add(from->dtype, rest->data, (const char*)from->data + (size_t)i * bytes,
                     rest->data, 1);
  }
  leat_tensor_release(&visited);
  return status;
}

#define NUMBERS \
  "bfloat16, complex128, complex64, double, float, half, int16, int32, int64, int8, uint16, " \
  "uint32, uint64, uint8"

#define KERNEL(op_name, types, fn) \
  {.op = op_name, .device_type = "CPU", .constraints = "T: " types, .compute = fn##__cpu}
#define ALL "bool, resource, string, variant, " NUMBERS

const leat_kernel_row_t leat_empty_rows_kernels_cpu[] = {
    KERNEL("SparseFillEmptyRows", ALL, fill),
    KERNEL("SparseFillEmptyRowsGrad", NUMBERS, gradient),
    KERNEL("RaggedFillEmptyRows", ALL, ragged_fill),
    KERNEL("RaggedFillEmptyRowsGrad", NUMBERS, gradient),
    LEAT_KERNEL_ROWS_END,
};
