// CPU kernels that fill static lookup tables, from a pair of tensors or from a text file. The file
// is read whole; each line makes one key and one value, which may be a field of the line, the whole
// line, or the number of the line:
//
//   key_index = -2 (whole line), value_index = -1 (line number):   "cat\ndog\n"  ->  cat: 0, dog: 1
//   key_index = 0, value_index = 1, delimiter ",":                 "cat,5\n"     ->  cat: 5
//
// The reader gives the table one pair at a time, so that no second copy of a large vocabulary is
// held. Where vocab_size is given, the file must have that many lines at least, and more are
// ignored. A table that another session has already filled is left as it is, without an error.
#include <string.h>

#include "base/file_system.h"
#include "ops/kernel_rows.h"
#include "ops/lookup/table_cpu.h"
#include "tensor/number_text.h"

// Finds the table of input 0, which must be a static one.
static leat_status_t find_table(leat_kernel_context_t* c, leat_lookup_t** out_table) {
  LEAT_RETURN_IF_ERROR(leat_lookup_find(c, out_table));
  if ((*out_table)->vtable->fills_once) return leat_ok_status();
  leat_resource_release(&(*out_table)->resource);
  return leat_kernel_invalid(c, "Table is not initializable");
}

// ---- From tensors -------------------------------------------------------------------------------

static leat_status_t fill(leat_kernel_context_t* c, leat_lookup_t* table) {
  const leat_tensor_t *keys = leat_kernel_input(c, 1), *values = leat_kernel_input(c, 2);
  if (keys->dtype != table->key_dtype || values->dtype != table->value_dtype) {
    return leat_kernel_invalid(c, "keys and values are %s and %s, must be %s and %s",
                               leat_dtype_name(keys->dtype), leat_dtype_name(values->dtype),
                               leat_dtype_name(table->key_dtype),
                               leat_dtype_name(table->value_dtype));
  }
  if (keys->shape.rank != 1 || !leat_shape_equal(&keys->shape, &values->shape)) {
    return leat_kernel_invalid(c, "Keys and values must be vectors of the same size, got %s and %s",
                               LEAT_SHAPE_TEXT(&keys->shape), LEAT_SHAPE_TEXT(&values->shape));
  }
  return table->vtable->import(table, keys, values);
}

static leat_status_t fill__cpu(leat_kernel_context_t* c) {
  leat_lookup_t* table;
  LEAT_RETURN_IF_ERROR(find_table(c, &table));
  leat_status_t status = fill(c, table);
  leat_resource_release(&table->resource);
  return status;
}

// ---- From lines ---------------------------------------------------------------------------------

enum { LINE_NUMBER = -1, WHOLE_LINE = -2 };

// The attributes: where in a line the key and the value stand.
typedef struct layout_s {
  int64_t key_index;
  int64_t value_index;
  int64_t vocabulary_size;  // lines to read; -1: all
  int64_t offset;           // added to line numbers and to int32 fields
  char delimiter;
} layout_t;

static leat_status_t layout_create(leat_kernel_creation_t* c, void* state) {
  layout_t* layout = state;
  leat_string_view_t delimiter;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "key_index", &layout->key_index));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "value_index", &layout->value_index));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "vocab_size", &layout->vocabulary_size));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "offset", &layout->offset));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "delimiter", &delimiter));
  if (delimiter.size != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Create failed for node '%.*s' (%s): delimiter has %zu bytes, must "
                            "have 1",
                            LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, delimiter.size);
  }
  layout->delimiter = delimiter.data[0];
  return leat_ok_status();
}

// The text of a file that is read line by line, and the key and the value of the last line read.
typedef struct line_reader_s {
  const layout_t* layout;
  const char* path;
  leat_string_view_t rest;
  int64_t line_count;  // lines read so far
  leat_tensor_t key, value;
} line_reader_t;

// Finds field |index| of |line|; returns false when the line has fewer.
static bool find_field(leat_string_view_t line, char delimiter, int64_t index,
                       leat_string_view_t* out_field) {
  for (;;) {
    size_t end = leat_string_view_find(line, delimiter);
    *out_field = leat_string_view_make(line.data, end == SIZE_MAX ? line.size : end);
    if (index-- == 0) return true;
    if (end == SIZE_MAX) return false;
    line = leat_string_view_from_index(line, end + 1);
  }
}

// Sets |item|, the key or the value, from |line| as |index| says. TensorFlow adds the offset to
// line numbers and to int32 fields alone.
static leat_status_t set_item(const line_reader_t* r, leat_string_view_t line, int64_t index,
                              leat_tensor_t* item) {
  leat_string_view_t field = line;
  if (index == LINE_NUMBER) {
    *leat_tensor_data(item, int64_t) = (int64_t)((uint64_t)r->line_count +
                                                 (uint64_t)r->layout->offset);
    return leat_ok_status();
  }
  if (index >= 0 && !find_field(line, r->layout->delimiter, index, &field)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid number of columns in %s line %lld (%.*s) : expected at least "
                            "%lld",
                            r->path, (long long)r->line_count, LEAT_SV_ARG(line),
                            (long long)index + 1);
  }
  if (item->dtype == LEAT_DTYPE_STRING) return leat_tensor_set_string(item, 0, field);
  if (item->dtype == LEAT_DTYPE_BOOL || !leat_number_parse(field, item->dtype, item->data)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Field %.*s in line %lld is not a valid %s.",
                            LEAT_SV_ARG(field), (long long)r->line_count,
                            leat_dtype_name(item->dtype));
  }
  if (item->dtype == LEAT_DTYPE_INT32) {
    uint32_t* number = (uint32_t*)item->data;
    *number += (uint32_t)r->layout->offset;
  }
  return leat_ok_status();
}

// Reads the next line into the reader's key and value, for leat_static_table_fill.
static leat_status_t next_line(void* data, const leat_tensor_t** out_key,
                               const leat_tensor_t** out_value, bool* out_end) {
  line_reader_t* r = data;
  leat_string_view_t line;
  int64_t wanted = r->layout->vocabulary_size;
  *out_key = &r->key;
  *out_value = &r->value;
  *out_end = !leat_string_view_take_line(&r->rest, &line);
  if (*out_end && wanted != -1 && r->line_count != wanted) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid vocab_size in %s: expected %lld but got %lld", r->path,
                            (long long)wanted, (long long)r->line_count);
  }
  if (wanted != -1 && r->line_count >= wanted) *out_end = true;
  if (*out_end) {
    if (r->line_count) return leat_ok_status();
    return leat_make_status(LEAT_OUT_OF_RANGE, "%s has no lines", r->path);
  }
  if (line.size == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Invalid content in %s: empty line found at line %lld.", r->path,
                            (long long)r->line_count);
  }
  LEAT_RETURN_IF_ERROR(set_item(r, line, r->layout->key_index, &r->key));
  LEAT_RETURN_IF_ERROR(set_item(r, line, r->layout->value_index, &r->value));
  ++r->line_count;
  return leat_ok_status();
}

// Whether a column |index| can give keys or values of |dtype|.
static bool is_allowed(int64_t index, int dtype) {
  if (index == LINE_NUMBER) return dtype == LEAT_DTYPE_INT64;
  return index != WHOLE_LINE || dtype == LEAT_DTYPE_STRING ||
         leat_dtype_in(dtype, LEAT_DTYPES_INTEGER);
}

static int64_t count_lines(leat_string_view_t text) {
  int64_t count = 0;
  leat_string_view_t line;
  while (leat_string_view_take_line(&text, &line)) ++count;
  return count;
}

static leat_status_t fill_from_text(line_reader_t* r, leat_lookup_t* table) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_buffer_source_t* memory = leat_buffer_source_host();
  int64_t total = r->layout->vocabulary_size;
  if (total == -1) total = count_lines(r->rest);
  leat_status_t status = leat_tensor_allocate(memory, table->key_dtype, &scalar, &r->key);
  if (!status) status = leat_tensor_allocate(memory, table->value_dtype, &scalar, &r->value);
  if (!status) status = leat_static_table_fill(table, total, next_line, r);
  // A table that several sessions share is filled by the first.
  if (leat_status_code(status) == LEAT_FAILED_PRECONDITION && leat_static_table_is_filled(table)) {
    leat_status_free(status);
    status = leat_ok_status();
  }
  leat_tensor_release(&r->key);
  leat_tensor_release(&r->value);
  return status;
}

// Fills the table from the file at |path|, once the parts of a line that the node asks for fit the
// table's types.
static leat_status_t fill_from_path(leat_kernel_context_t* c, leat_lookup_t* table,
                                    const char* path) {
  const layout_t* layout = leat_kernel_state(c);
  char* text;
  size_t size;
  if (!is_allowed(layout->key_index, table->key_dtype) ||
      !is_allowed(layout->value_index, table->value_dtype)) {
    return leat_kernel_invalid(c,
                               "key_index %lld and value_index %lld do not fit a table of %s and "
                               "%s: a line's number (-1) is int64, a whole line (-2) a string or "
                               "an integer",
                               (long long)layout->key_index, (long long)layout->value_index,
                               leat_dtype_name(table->key_dtype),
                               leat_dtype_name(table->value_dtype));
  }
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), path, leat_allocator_system(),
                                          &text, &size));
  line_reader_t reader = {
      .layout = layout, .path = path, .rest = leat_string_view_make(text, size)};
  leat_status_t status = fill_from_text(&reader, table);
  leat_allocator_free(leat_allocator_system(), text);
  return status;
}

static leat_status_t fill_from_file__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* name = leat_kernel_input(c, 1);
  leat_lookup_t* table;
  LEAT_RETURN_IF_ERROR(find_table(c, &table));
  leat_string_view_t path = {0};
  if (name->shape.rank == 0) path = leat_tensor_string_at(name, 0);
  char buffer[4096];
  leat_status_t status = leat_ok_status();
  if (path.size == 0 || path.size >= sizeof buffer) {
    status = leat_kernel_invalid(c, "filename should be a single string that is not empty, got %s",
                                 LEAT_SHAPE_TEXT(&name->shape));
  } else {
    memcpy(buffer, path.data, path.size);
    buffer[path.size] = 0;
    status = fill_from_path(c, table, buffer);
  }
  leat_resource_release(&table->resource);
  return status;
}

#define FROM_FILE                                                             \
  .device_type = "CPU", .create = layout_create, .state_bytes = sizeof(layout_t), \
  .compute = fill_from_file__cpu, .expensive = true

const leat_kernel_row_t leat_table_initialize_kernels_cpu[] = {
    {.op = "InitializeTable", .device_type = "CPU", .compute = fill__cpu},
    {.op = "InitializeTableV2", .device_type = "CPU", .compute = fill__cpu},
    {.op = "InitializeTableFromTextFile", FROM_FILE},
    {.op = "InitializeTableFromTextFileV2", FROM_FILE},
    LEAT_KERNEL_ROWS_END,
};
