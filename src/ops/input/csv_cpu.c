// The kernel of DecodeCSV, for the format of RFC 4180: fields are separated by a delimiter, and a
// field in double quotes may contain delimiters, line breaks and, doubled, quotes.
//
//     records [d...] string  ->  for each column a tensor [d...] of the column's type
//
// Each record is parsed on its own. The kernel writes a field into the output of its column as soon
// as it is read. A field that is empty or equals na_value takes the default value of its column,
// the input of the same number; a column whose default is an empty tensor is required. With
// select_cols only these columns are parsed into outputs, and the rest of a record is not read once
// the last of them is found. The attributes are copied when the kernel is made, because attributes
// may not outlive its creation.
#include <string.h>

#include "base/string_builder.h"
#include "ops/kernel_rows.h"
#include "tensor/number_text.h"

typedef struct layout_s {
  leat_allocator_t* allocator;
  char* missing;  // na_value: a field of these bytes has no value
  size_t missing_size;
  int64_t* columns;  // select_cols: the columns that become outputs, ascending; none: all columns
  int column_count;
  char delimiter;
  bool has_quotes;
} layout_t;

static leat_status_t check_columns(const leat_kernel_creation_t* c, const int64_t* columns,
                                   int count) {
  if (count && count != c->kernel->output_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "select_cols should match output size");
  }
  for (int i = 1; i < count; ++i) {
    if (columns[i - 1] < columns[i]) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "select_cols should be strictly increasing indices");
  }
  if (count == 0 || columns[0] >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT, "select_cols should be non-negative indices");
}

static leat_status_t layout_create(leat_kernel_creation_t* c, void* state) {
  layout_t* layout = state;
  leat_string_view_t delimiter, missing;
  const int64_t* columns;
  layout->allocator = c->allocator;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "field_delim", &delimiter));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "use_quote_delim", &layout->has_quotes));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "na_value", &missing));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "select_cols", &columns, &layout->column_count));
  LEAT_RETURN_IF_ERROR(check_columns(c, columns, layout->column_count));
  if (delimiter.size != 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "field_delim should be only 1 char");
  }
  layout->delimiter = delimiter.data[0];
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, missing.size + 1, &layout->missing));
  if (missing.size) memcpy(layout->missing, missing.data, missing.size);
  layout->missing_size = missing.size;
  if (layout->column_count == 0) return leat_ok_status();
  size_t count = (size_t)layout->column_count;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, count, &layout->columns));
  memcpy(layout->columns, columns, count * sizeof *columns);
  return leat_ok_status();
}

static void layout_destroy(void* state) {
  layout_t* layout = state;
  leat_allocator_free(layout->allocator, layout->missing);
  leat_allocator_free(layout->allocator, layout->columns);
}

// ---- Fields -------------------------------------------------------------------------------------

typedef struct parser_s {
  leat_kernel_context_t* context;
  const layout_t* layout;
  int64_t record;  // index of the record that is parsed
  leat_string_view_t rest;  // what of the record is not yet parsed
  leat_string_builder_t field;  // the text of a quoted field, without its quotes
  int seen;   // columns of this record that were read
  int taken;  // columns of this record that were put into outputs
} parser_t;

// Gives |column| its default value. INVALID_ARGUMENT where the column is required.
static leat_status_t set_missing(parser_t* p, int column) {
  const leat_tensor_t* fallback = leat_kernel_input(p->context, column + 1);
  leat_tensor_t* output = leat_kernel_output(p->context, column);
  if (fallback->shape.element_count != 1) {
    return leat_kernel_invalid(p->context, "Field %d is required but missing in record %lld!",
                               column, (long long)p->record);
  }
  size_t size = leat_dtype_size(output->dtype);
  return leat_tensor_copy_elements(output->dtype, fallback->data,
                                   (char*)output->data + (size_t)p->record * size, 1);
}

// Writes the next output column of the record. Fields beyond the last output are only counted:
// parse_all reports them.
static leat_status_t set_field(parser_t* p, leat_string_view_t field) {
  int column = p->taken++;
  if (column >= p->context->kernel->output_count) return leat_ok_status();  // too many: told later
  bool missing = field.size == 0 ||
                 leat_string_view_equal(field, leat_string_view_make(p->layout->missing,
                                                                     p->layout->missing_size));
  if (missing) return set_missing(p, column);
  leat_tensor_t* output = leat_kernel_output(p->context, column);
  if (output->dtype == LEAT_DTYPE_STRING) return leat_tensor_set_string(output, p->record, field);
  size_t size = leat_dtype_size(output->dtype);
  if (leat_number_parse(field, output->dtype, (char*)output->data + (size_t)p->record * size)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(p->context, "Field %d in record %lld is not a valid %s: %.*s", column,
                             (long long)p->record, leat_dtype_name(output->dtype),
                             LEAT_SV_ARG(field));
}

// Takes a field without quotes, up to the delimiter or the end.
static leat_status_t take_plain(parser_t* p, leat_string_view_t* out_field) {
  const char* data = p->rest.data;
  size_t i = 0;
  for (; i < p->rest.size && data[i] != p->layout->delimiter; ++i) {
    if ((p->layout->has_quotes && data[i] == '"') || data[i] == '\n' || data[i] == '\r') {
      return leat_kernel_invalid(p->context, "Unquoted fields cannot have quotes/CRLFs inside");
    }
  }
  *out_field = leat_string_view_make(data, i);
  p->rest = leat_string_view_from_index(p->rest, i + 1);
  return leat_ok_status();
}

// Takes the rest of a field whose opening quote was passed. Two quotes stand for one quote; a
// single one ends the field and must be followed by the delimiter or the end of the record.
static leat_status_t take_quoted(parser_t* p, leat_string_view_t* out_field) {
  const char* data = p->rest.data;
  size_t size = p->rest.size, i = 0;
  char delimiter = p->layout->delimiter;
  p->field.size = 0;
  while (i + 1 < size && (data[i] != '"' || data[i + 1] != delimiter)) {
    if (data[i] != '"') {
      leat_string_builder_append_char(&p->field, data[i++]);
      continue;
    }
    if (data[i + 1] != '"') {
      return leat_kernel_invalid(p->context,
                                 "Quote inside a string has to be escaped by another quote");
    }
    leat_string_builder_append_char(&p->field, '"');
    i += 2;
  }
  if (i >= size || data[i] != '"') {
    return leat_kernel_invalid(p->context,
                               "Quoted field has to end with quote followed by delim or end");
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(p->field.status));
  *out_field = leat_string_builder_view(&p->field);
  p->rest = leat_string_view_from_index(p->rest, i + 2);
  return leat_ok_status();
}

// True when the next column of the record becomes an output.
static bool is_wanted(const parser_t* p) {
  if (p->layout->column_count == 0) return true;
  return p->taken < p->layout->column_count && p->layout->columns[p->taken] == p->seen;
}

// Parses one record and writes its fields into the outputs.
static leat_status_t parse_record(parser_t* p, leat_string_view_t record) {
  const layout_t* layout = p->layout;
  p->rest = record;
  p->seen = p->taken = 0;
  while (p->rest.size) {
    leat_string_view_t field;
    // Line breaks before a field are skipped, as in TensorFlow.
    if (p->rest.data[0] == '\n' || p->rest.data[0] == '\r') {
      p->rest = leat_string_view_from_index(p->rest, 1);
      continue;
    }
    bool wanted = is_wanted(p);
    if (layout->has_quotes && p->rest.data[0] == '"') {
      p->rest = leat_string_view_from_index(p->rest, 1);
      LEAT_RETURN_IF_ERROR(take_quoted(p, &field));
    } else {
      LEAT_RETURN_IF_ERROR(take_plain(p, &field));
    }
    ++p->seen;
    if (wanted) LEAT_RETURN_IF_ERROR(set_field(p, field));
    if (layout->column_count && p->taken == layout->column_count) return leat_ok_status();
  }
  // A delimiter at the very end of a record stands before one more field, an empty one.
  bool ends_empty = record.size && record.data[record.size - 1] == layout->delimiter;
  return ends_empty && is_wanted(p) ? set_field(p, (leat_string_view_t){0}) : leat_ok_status();
}

// ---- The kernel ---------------------------------------------------------------------------------

static leat_status_t check_defaults(leat_kernel_context_t* c) {
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    const leat_tensor_t* fallback = leat_kernel_input(c, i);
    if (fallback->shape.rank > 1 || fallback->shape.element_count > 1) {
      return leat_kernel_invalid(c,
                                 "There should only be 1 default per field but field %d has shape "
                                 "%s",
                                 i - 1, LEAT_SHAPE_TEXT(&fallback->shape));
    }
  }
  return leat_ok_status();
}

static leat_status_t parse_all(parser_t* p) {
  const leat_tensor_t* records = leat_kernel_input(p->context, 0);
  int wanted = p->context->kernel->output_count;
  for (int64_t i = 0; i < records->shape.element_count; ++i) {
    p->record = i;
    LEAT_RETURN_IF_ERROR(parse_record(p, leat_tensor_string_at(records, i)));
    if (p->taken == wanted) continue;
    return leat_kernel_invalid(p->context, "Expect %d fields but have %d in record %lld", wanted,
                               p->taken, (long long)i);
  }
  return leat_ok_status();
}

static leat_status_t decode_csv__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  LEAT_RETURN_IF_ERROR(check_defaults(c));
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, i, shape, &output));
  }
  parser_t parser = {.context = c, .layout = leat_kernel_state(c)};
  leat_string_builder_initialize(leat_allocator_system(), &parser.field);
  leat_status_t status = parse_all(&parser);
  leat_string_builder_deinitialize(&parser.field);
  return status;
}

const leat_kernel_row_t leat_csv_kernels_cpu[] = {
    {.op = "DecodeCSV",
     .device_type = "CPU",
     .create = layout_create,
     .destroy = layout_destroy,
     .state_bytes = sizeof(layout_t),
     .compute = decode_csv__cpu},
    LEAT_KERNEL_ROWS_END,
};
