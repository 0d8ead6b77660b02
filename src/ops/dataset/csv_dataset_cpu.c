// Kernels of CSVDataset and CSVDatasetV2: the records of CSV files, one scalar for each column that
// is wanted.
//
//     file ──bytes──▶ field, field, ... ──columns, types, defaults──▶ element
//
// A record ends with "\n", "\r" or "\r\n", or with the file. A field in quotes may contain these,
// and delimiters, and quotes that are doubled. All fields of a record are read, also those behind
// the last column that is wanted and those behind a fault, so that the next record begins where
// TensorFlow begins it: within quotes, a fault does not end the field. The first fault of a record
// is reported. Between records, faults are forgotten: the reader may go on with the next record.
// A file that cannot be opened or read fails every time, and a header that is faulty once, after
// which the next file is read.
#include <string.h>

#include "base/string_builder.h"
#include "formats/record/byte_reader.h"
#include "formats/record/file_stream.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"
#include "tensor/number_text.h"

// The tensors of the dataset. The default values of the columns stand behind them.
enum { NAMES, COMPRESSION, MISSING, SELECTED, EXCLUDED, DEFAULTS };

typedef struct csv_s {
  leat_dataset_t base;
  char delimiter;
  bool has_quotes, has_header;
} csv_t;

typedef struct csv_iterator_s {
  leat_iterator_t base;
  int64_t file;  // index of the file that is open, or that is opened next
  leat_file_stream_t* stream;
  leat_byte_reader_t bytes;
  leat_string_builder_t field;  // the text of the field that is read, without its quotes
  leat_tensor_t* element;  // components of the record that is read
} csv_iterator_t;

// What stands behind a field.
typedef enum end_e { END_OF_FIELD, END_OF_RECORD, END_OF_FILE } end_t;

static const csv_t* csv_of(const csv_iterator_t* it) { return (const csv_t*)it->base.dataset; }

static leat_status_t csv_start(leat_iterator_t* self) {
  csv_iterator_t* it = (csv_iterator_t*)self;
  leat_string_builder_initialize(leat_allocator_system(), &it->field);
  return LEAT_ALLOCATE(leat_allocator_system(), (size_t)self->dataset->spec->count, &it->element);
}

static void close_file(csv_iterator_t* it) {
  if (it->bytes.source) leat_byte_reader_deinitialize(&it->bytes);
  leat_file_stream_close(it->stream);
  it->stream = NULL;
}

static void csv_stop(leat_iterator_t* self) {
  csv_iterator_t* it = (csv_iterator_t*)self;
  close_file(it);
  leat_string_builder_deinitialize(&it->field);
  leat_allocator_free(leat_allocator_system(), it->element);
}

// ---- Fields -------------------------------------------------------------------------------------

static leat_status_t fault(const char* what) {
  return leat_make_status(LEAT_INVALID_ARGUMENT, "%s", what);
}

// Makes sure that a byte is in the buffer; |*out_is_there| is false at the end of the file.
static leat_status_t look(csv_iterator_t* it, bool* out_is_there) {
  leat_string_view_t byte;
  *out_is_there = true;
  if (LEAT_LIKELY(it->bytes.begin < it->bytes.end)) return leat_ok_status();
  leat_status_t status = leat_byte_reader_peek(&it->bytes, 1, &byte);
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_free(status);
  *out_is_there = false;
  return leat_ok_status();
}

// Moves bytes of the buffer to the field, up to one that ends a plain field or is a quote, or, in
// quotes, up to a quote.
static void take_text(csv_iterator_t* it, bool in_quotes) {
  const csv_t* csv = csv_of(it);
  const char* begin = it->bytes.buffer + it->bytes.begin;
  const char* end = it->bytes.buffer + it->bytes.end;
  const char* at = begin;
  if (in_quotes) {
    const char* quote = memchr(begin, '"', (size_t)(end - begin));
    at = quote ? quote : end;
  } else {
    while (at < end && *at != csv->delimiter && *at != '\n' && *at != '\r' &&
           !(*at == '"' && csv->has_quotes)) {
      ++at;
    }
  }
  leat_string_builder_append(&it->field, leat_string_view_make(begin, (size_t)(at - begin)));
  it->bytes.begin += (size_t)(at - begin);
}

// Takes the byte at the front, which ends a field; false: it ends none, and is not taken.
static leat_status_t take_end(csv_iterator_t* it, end_t* out_end, bool* out_is_end) {
  const char byte = it->bytes.buffer[it->bytes.begin];
  bool is_there;
  *out_is_end = byte == csv_of(it)->delimiter || byte == '\n' || byte == '\r';
  if (!*out_is_end) return leat_ok_status();
  ++it->bytes.begin;
  *out_end = byte == csv_of(it)->delimiter ? END_OF_FIELD : END_OF_RECORD;
  if (*out_end == END_OF_FIELD || byte == '\n') return leat_ok_status();
  LEAT_RETURN_IF_ERROR(look(it, &is_there));
  if (is_there && it->bytes.buffer[it->bytes.begin] == '\n') ++it->bytes.begin;
  return leat_ok_status();
}

// Reads a field without quotes and what ends it. A fault is joined to |*inout_fault|; what is
// returned is a failure of the file.
static leat_status_t read_plain(csv_iterator_t* it, end_t* out_end, leat_status_t* inout_fault) {
  for (;;) {
    bool is_there, is_end;
    LEAT_RETURN_IF_ERROR(look(it, &is_there));
    if (!is_there) {
      *out_end = END_OF_FILE;
      return leat_ok_status();
    }
    take_text(it, false);
    if (it->bytes.begin == it->bytes.end) continue;
    LEAT_RETURN_IF_ERROR(take_end(it, out_end, &is_end));
    if (is_end) return leat_ok_status();
    *inout_fault =
        leat_status_join(*inout_fault, fault("Unquoted fields cannot have quotes inside"));
    ++it->bytes.begin;
  }
}

// The same of a field whose opening quote was taken.
static leat_status_t read_quoted(csv_iterator_t* it, end_t* out_end, leat_status_t* inout_fault) {
  for (;;) {
    bool is_there, is_end;
    LEAT_RETURN_IF_ERROR(look(it, &is_there));
    *out_end = END_OF_FILE;
    if (!is_there) {
      *inout_fault = leat_status_join(
          *inout_fault, fault("Reached end of file without closing quoted field in record"));
      return leat_ok_status();
    }
    take_text(it, true);
    if (it->bytes.begin == it->bytes.end) continue;
    ++it->bytes.begin;  // a quote
    LEAT_RETURN_IF_ERROR(look(it, &is_there));
    if (!is_there) return leat_ok_status();
    if (it->bytes.buffer[it->bytes.begin] == '"') {
      leat_string_builder_append_char(&it->field, '"');
      ++it->bytes.begin;
      continue;
    }
    LEAT_RETURN_IF_ERROR(take_end(it, out_end, &is_end));
    if (is_end) return leat_ok_status();
    *inout_fault = leat_status_join(
        *inout_fault, fault("Quote inside a string has to be escaped by another quote"));
  }
}

// Reads the next field into |it->field|.
static leat_status_t read_field(csv_iterator_t* it, end_t* out_end, leat_status_t* inout_fault) {
  bool is_there;
  it->field.size = 0;
  LEAT_RETURN_IF_ERROR(look(it, &is_there));
  if (is_there && csv_of(it)->has_quotes && it->bytes.buffer[it->bytes.begin] == '"') {
    ++it->bytes.begin;
    LEAT_RETURN_IF_ERROR(read_quoted(it, out_end, inout_fault));
  } else {
    LEAT_RETURN_IF_ERROR(read_plain(it, out_end, inout_fault));
  }
  return leat_status_clone(it->field.status);
}

// ---- Records ------------------------------------------------------------------------------------

// Sets component |index| to its default value.
static leat_status_t set_missing(csv_iterator_t* it, int index) {
  const leat_tensor_t* fallback = &it->base.dataset->tensors[DEFAULTS + index];
  if (fallback->shape.element_count == 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Field %d is required but missing in record!", index);
  }
  if (fallback->dtype == LEAT_DTYPE_STRING) {
    return leat_tensor_scalar_string(leat_tensor_string_at(fallback, 0), &it->element[index]);
  }
  return leat_tensor_scalar(fallback->dtype, fallback->data, &it->element[index]);
}

// Sets component |index| to what |it->field| says.
static leat_status_t set_component(csv_iterator_t* it, int index) {
  const leat_dataset_t* dataset = it->base.dataset;
  const leat_string_view_t field = leat_string_builder_view(&it->field);
  const int dtype = dataset->spec->types[index];
  uint64_t number;
  if (field.size == 0 ||
      leat_string_view_equal(field, leat_tensor_string_at(&dataset->tensors[MISSING], 0))) {
    return set_missing(it, index);
  }
  if (dtype == LEAT_DTYPE_STRING) return leat_tensor_scalar_string(field, &it->element[index]);
  if (leat_number_parse(field, dtype, &number)) {
    return leat_tensor_scalar(dtype, &number, &it->element[index]);
  }
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Field %d in record is not a valid %s: %.*s",
                          index, leat_dtype_name(dtype), LEAT_SV_ARG(field));
}

// Which columns of a record have been read.
typedef struct progress_s {
  int64_t column;  // the next one
  int taken;       // columns that became components
  int64_t passed;  // columns in EXCLUDED that were passed over
} progress_t;

// Whether the next column becomes a component.
static bool is_wanted(const leat_dataset_t* dataset, progress_t* p) {
  const leat_tensor_t* selected = &dataset->tensors[SELECTED];
  const leat_tensor_t* excluded = &dataset->tensors[EXCLUDED];
  if (selected->shape.element_count) {
    return p->taken < selected->shape.element_count &&
           leat_tensor_index_at(selected, p->taken) == p->column;
  }
  if (p->passed < excluded->shape.element_count &&
      leat_tensor_index_at(excluded, p->passed) == p->column) {
    ++p->passed;
    return false;
  }
  return true;
}

// Makes a component of the field that was read, where it is wanted.
static leat_status_t take_field(csv_iterator_t* it, progress_t* p) {
  const int count = it->base.dataset->spec->count;
  if (!is_wanted(it->base.dataset, p)) return leat_ok_status();
  if (p->taken < count) return set_component(it, p->taken++);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Expect %d fields but have more in record",
                          count);
}

// Reads a record into |it->element|. |*out_fault| says what is wrong with it; what is returned is a
// failure of the file.
static leat_status_t read_record(csv_iterator_t* it, leat_status_t* out_fault) {
  const int count = it->base.dataset->spec->count;
  progress_t progress = {0};
  end_t end = END_OF_FIELD;
  *out_fault = leat_ok_status();
  for (; end == END_OF_FIELD; ++progress.column) {
    leat_status_t status = read_field(it, &end, out_fault);
    if (status) {
      leat_status_free(*out_fault);
      return status;
    }
    if (!*out_fault) *out_fault = take_field(it, &progress);
  }
  if (!*out_fault && progress.taken < count) {
    *out_fault = leat_make_status(LEAT_INVALID_ARGUMENT, "Expect %d fields but have %d in record",
                                  count, progress.taken);
  }
  return leat_ok_status();
}

// ---- Files --------------------------------------------------------------------------------------

// Passes over the header, whose fields may be of any number.
static leat_status_t pass_header(csv_iterator_t* it) {
  end_t end = END_OF_FIELD;
  bool is_there;
  leat_status_t faulty = leat_ok_status(), status = look(it, &is_there);
  if (!status && !is_there) faulty = fault("the file is empty");
  while (!status && !faulty && end == END_OF_FIELD) status = read_field(it, &end, &faulty);
  if (!faulty) return status;
  leat_status_free(status);
  return leat_status_annotate(faulty, "Can't read header of file");
}

// Opens file |it->file|. A header that cannot be read is the failure of this file alone.
static leat_status_t open_file(csv_iterator_t* it) {
  const leat_tensor_t* tensors = it->base.dataset->tensors;
  LEAT_RETURN_IF_ERROR(leat_dataset_open_stream(leat_tensor_string_at(&tensors[NAMES], it->file),
                                                leat_tensor_string_at(&tensors[COMPRESSION], 0),
                                                &it->stream));
  leat_byte_reader_initialize(leat_file_stream_source(it->stream), leat_allocator_system(),
                              &it->bytes);
  leat_status_t status = csv_of(it)->has_header ? pass_header(it) : leat_ok_status();
  if (!status) return status;
  close_file(it);
  it->file += leat_status_code(status) == LEAT_INVALID_ARGUMENT;
  return status;
}

static leat_status_t csv_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                              leat_poll_t* out_poll) {
  csv_iterator_t* it = (csv_iterator_t*)self;
  const int components = self->dataset->spec->count;
  while (it->file < self->dataset->tensors[NAMES].shape.element_count) {
    bool is_there;
    leat_status_t faulty;
    if (!it->stream) LEAT_RETURN_IF_ERROR(open_file(it));
    LEAT_RETURN_IF_ERROR(look(it, &is_there));
    if (is_there) {
      leat_status_t status = read_record(it, &faulty);
      if (!status) status = faulty;
      if (status) {
        leat_element_release(it->element, components);
        return status;
      }
      leat_element_move(it->element, out, components);
      memset(it->element, 0, (size_t)components * sizeof *it->element);
      *out_poll = LEAT_POLL_ELEMENT;
      return leat_ok_status();
    }
    close_file(it);
    ++it->file;
    LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
  }
  return leat_ok_status();
}

static const leat_dataset_kind_t kCsv = {.name = "CSV",
                                         .dataset_bytes = sizeof(csv_t),
                                         .iterator_bytes = sizeof(csv_iterator_t),
                                         .start = csv_start,
                                         .next = csv_next,
                                         .stop = csv_stop,
                                         .cardinality = leat_dataset_unknown_cardinality};

// ---- The kernel ---------------------------------------------------------------------------------

// Numbers of columns ascend and are not negative.
static leat_status_t check_columns(leat_kernel_context_t* c, const leat_tensor_t* columns,
                                   const char* name) {
  int64_t last = -1;
  for (int64_t i = 0; i < columns->shape.element_count; ++i) {
    const int64_t column = leat_tensor_index_at(columns, i);
    if (column <= last) {
      return leat_kernel_invalid(c, "%s should be strictly increasing non-negative indices", name);
    }
    last = column;
  }
  return leat_ok_status();
}

static leat_status_t check_defaults(leat_kernel_context_t* c, int first, int count) {
  for (int i = 0; i < count; ++i) {
    const leat_shape_t* shape = &leat_kernel_input(c, first + i)->shape;
    if (shape->rank <= 1 && shape->element_count <= 1) continue;
    return leat_kernel_invalid(c,
                               "Each record default has to be a scalar or a vector with at most "
                               "one element, but that of field %d has shape %s",
                               i, LEAT_SHAPE_TEXT(shape));
  }
  return leat_ok_status();
}

// Checks the numbers of columns, which are inputs |selected| and |excluded|; that is -1 where the
// op has none.
static leat_status_t check_selection(leat_kernel_context_t* c, int selected, int excluded,
                                     int component_count) {
  const leat_tensor_t* columns = leat_kernel_input(c, selected);
  const int64_t count = columns->shape.element_count;
  LEAT_RETURN_IF_ERROR(check_columns(c, columns, "select_cols"));
  if (count && count != component_count) {
    return leat_kernel_invalid(c, "select_cols should match output size");
  }
  if (excluded < 0) return leat_ok_status();
  const leat_tensor_t* others = leat_kernel_input(c, excluded);
  if (count && others->shape.element_count) {
    return leat_kernel_invalid(c, "Either select_cols or exclude_cols should be empty");
  }
  return check_columns(c, others, "exclude_cols");
}

// The inputs, by position.
enum { IN_NAMES, IN_COMPRESSION, IN_BUFFER, IN_HEADER, IN_DELIMITER, IN_QUOTES, IN_MISSING,
       IN_SELECTED, IN_DEFAULTS };

static leat_status_t read_options(leat_kernel_context_t* c, csv_t* out_options) {
  int64_t buffer_size;
  leat_string_view_t delimiter, missing, compression;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, IN_COMPRESSION, "compression_type",
                                                 &compression));
  LEAT_RETURN_IF_ERROR(leat_dataset_check_compression(c, compression));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, IN_BUFFER, "buffer_size", &buffer_size));
  if (buffer_size <= 0) return leat_kernel_invalid(c, "buffer_size should be positive");
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, IN_HEADER, "header", &out_options->has_header));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, IN_DELIMITER, "field_delim", &delimiter));
  if (delimiter.size != 1) return leat_kernel_invalid(c, "field_delim should be only 1 char");
  out_options->delimiter = delimiter.data[0];
  LEAT_RETURN_IF_ERROR(
      leat_dataset_bool_input(c, IN_QUOTES, "use_quote_delim", &out_options->has_quotes));
  return leat_dataset_string_input(c, IN_MISSING, "na_value", &missing);
}

// Keeps the inputs as the dataset's tensors. The op without exclude_cols excludes no column.
static leat_status_t keep_inputs(leat_kernel_context_t* c, int excluded, leat_dataset_t* dataset) {
  const leat_shape_t none = leat_shape_vector(0);
  LEAT_RETURN_IF_ERROR(leat_dataset_keep_inputs(c, IN_NAMES, NAMES, 2, dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_keep_inputs(c, IN_MISSING, MISSING, 2, dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_keep_inputs(c, IN_DEFAULTS, DEFAULTS, dataset->spec->count,
                                                dataset));
  if (excluded >= 0) return leat_dataset_keep_inputs(c, excluded, EXCLUDED, 1, dataset);
  return leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_INT64, &none,
                              &dataset->tensors[EXCLUDED]);
}

static leat_status_t csv__cpu(leat_kernel_context_t* c) {
  const leat_element_spec_state_t* state = leat_kernel_state(c);
  const int count = state->spec->count, behind = IN_DEFAULTS + count;
  const int excluded = leat_kernel_input_count(c) > behind ? behind : -1;
  csv_t options = {.delimiter = 0};
  leat_dataset_t* dataset;
  if (leat_kernel_input(c, IN_NAMES)->shape.rank > 1) {
    return leat_kernel_invalid(c, "`filenames` must be a scalar or a vector.");
  }
  LEAT_RETURN_IF_ERROR(check_defaults(c, IN_DEFAULTS, count));
  LEAT_RETURN_IF_ERROR(read_options(c, &options));
  LEAT_RETURN_IF_ERROR(check_selection(c, IN_SELECTED, excluded, count));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(&kCsv, leat_element_spec_retain(state->spec), 0,
                                           DEFAULTS + count, &dataset));
  csv_t* csv = (csv_t*)dataset;
  csv->delimiter = options.delimiter;
  csv->has_quotes = options.has_quotes;
  csv->has_header = options.has_header;
  leat_status_t status = keep_inputs(c, excluded, dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

#define KERNEL(name)                                                                            \
  LEAT_CPU_KERNEL(name, NULL, leat_element_spec_state_t, leat_element_spec_state_create, csv__cpu, \
                  .destroy = leat_element_spec_state_destroy)

const leat_kernel_row_t leat_csv_dataset_kernels_cpu[] = {
    KERNEL("CSVDataset"),
    KERNEL("ExperimentalCSVDataset"),
    KERNEL("CSVDatasetV2"),
    LEAT_KERNEL_ROWS_END,
};
