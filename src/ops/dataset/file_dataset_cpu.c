// Kernels of the datasets whose elements are scalar strings read from files: the lines of text
// files, the records of TFRecord files (formats/record/record.h), and records of a fixed length.
// The files are read one after the other, as a stream through the library's file system; each may
// be compressed with ZLIB or GZIP, records also with Snappy.
//
// The kinds differ in one function, read_t: it opens the file when none is open and gives the next
// record. files_next does the rest. At the end of a file it closes it and goes to the next one.
// Failures follow TensorFlow: a file with corrupt data (DATA_LOSS) and a TFRecord file with any
// failure are reported once, and the next call goes on with the next file; any other failure, such
// as a file that does not exist, is reported again by every call.
#include <stdio.h>

#include "base/log.h"
#include "base/string_builder.h"
#include "formats/record/byte_reader.h"
#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct files_s {
  // tensors: the file names, the compression, and for TFRecordDatasetV2 the offsets
  leat_dataset_t base;
  int64_t header_bytes, record_bytes, footer_bytes;
} files_t;

typedef struct files_iterator_s {
  leat_iterator_t base;
  int64_t file;  // index of the file that is open, or that is opened next
  leat_file_stream_t* stream;
  leat_byte_reader_t bytes;
  leat_record_reader_t records;
} files_iterator_t;

// Reads the next record of the file |it->file|, which it opens if need be. OUT_OF_RANGE at the end
// of the file.
typedef leat_status_t (*read_t)(files_iterator_t* it, leat_string_view_t* out_record);

static leat_string_view_t file_name(const files_iterator_t* it) {
  return leat_tensor_string_at(&it->base.dataset->tensors[0], it->file);
}

static leat_string_view_t compression_of(const files_iterator_t* it) {
  return leat_tensor_string_at(&it->base.dataset->tensors[1], 0);
}

static void close_file(files_iterator_t* it) {
  if (it->bytes.source) leat_byte_reader_deinitialize(&it->bytes);
  if (it->records.source) leat_record_reader_deinitialize(&it->records);
  it->bytes = (leat_byte_reader_t){0};
  it->records = (leat_record_reader_t){0};
  leat_file_stream_close(it->stream);
  it->stream = NULL;
}

static void files_stop(leat_iterator_t* self) { close_file((files_iterator_t*)self); }

leat_status_t leat_dataset_open_stream(leat_string_view_t name, leat_string_view_t compression,
                                       leat_file_stream_t** out_stream) {
  leat_string_builder_t path;
  leat_string_builder_initialize(leat_allocator_system(), &path);
  leat_string_builder_append(&path, name);  // the file system wants it to end in NUL
  leat_status_t status = leat_status_clone(path.status);
  if (!status) {
    status = leat_file_stream_open(leat_file_system_default(), path.data ? path.data : "",
                                   compression, leat_allocator_system(), out_stream);
  }
  leat_string_builder_deinitialize(&path);
  return status;
}

// Opens file |it->file|.
static leat_status_t open_stream(files_iterator_t* it) {
  return leat_dataset_open_stream(file_name(it), compression_of(it), &it->stream);
}

// ---- Lines --------------------------------------------------------------------------------------

static leat_status_t open_bytes(files_iterator_t* it) {
  LEAT_RETURN_IF_ERROR(open_stream(it));
  leat_byte_reader_initialize(leat_file_stream_source(it->stream), leat_allocator_system(),
                              &it->bytes);
  return leat_ok_status();
}

static leat_status_t read_line(files_iterator_t* it, leat_string_view_t* out_record) {
  if (!it->stream) LEAT_RETURN_IF_ERROR(open_bytes(it));
  return leat_byte_reader_line(&it->bytes, out_record);
}

// ---- TFRecords ----------------------------------------------------------------------------------

// Reads and drops |count| bytes, because a record source can only be read forwards.
static leat_status_t pass_over(leat_record_source_t* source, int64_t count) {
  char bytes[4096];
  while (count > 0) {
    size_t wanted = count < (int64_t)sizeof bytes ? (size_t)count : sizeof bytes, got;
    LEAT_RETURN_IF_ERROR(source->read(source, bytes, wanted, &got));
    // a short file: the first read of a record finds the end
    if (got < wanted) return leat_ok_status();
    count -= (int64_t)got;
  }
  return leat_ok_status();
}

static leat_status_t open_records(files_iterator_t* it) {
  const leat_dataset_t* dataset = it->base.dataset;
  LEAT_RETURN_IF_ERROR(open_stream(it));
  leat_record_source_t* source = leat_file_stream_source(it->stream);
  if (dataset->tensor_count > 2) {
    LEAT_RETURN_IF_ERROR(pass_over(source, leat_tensor_index_at(&dataset->tensors[2], it->file)));
  }
  leat_record_reader_initialize(source, compression_of(it).size ? LEAT_COMPRESSION_MAX_BYTES : 0,
                                leat_allocator_system(), &it->records);
  return leat_ok_status();
}

static leat_status_t read_record(files_iterator_t* it, leat_string_view_t* out_record) {
  if (!it->stream) LEAT_RETURN_IF_ERROR(open_records(it));
  return leat_record_reader_next(&it->records, out_record);
}

// ---- Records of a fixed size --------------------------------------------------------------------

// Says that the body of the current file cannot be cut into records. |body_bytes| is its length, or
// negative where the file is compressed and its length not known.
static leat_status_t wrong_length(const files_iterator_t* it, leat_status_code_t code,
                                  int64_t body_bytes) {
  const files_t* files = (const files_t*)it->base.dataset;
  char length[48] = "a body length";
  if (body_bytes >= 0) {
    snprintf(length, sizeof length, "body length %lld bytes,", (long long)body_bytes);
  }
  return leat_make_status(code,
                          "Excluding the header (%lld bytes) and footer (%lld bytes), input file "
                          "\"%.*s\" has %s which is not an exact multiple of the record length "
                          "(%lld bytes).",
                          (long long)files->header_bytes, (long long)files->footer_bytes,
                          LEAT_SV_ARG(file_name(it)), length, (long long)files->record_bytes);
}

// The length of a file that is not compressed is known and checked before its first record is
// given.
static leat_status_t open_fixed(files_iterator_t* it) {
  const files_t* files = (const files_t*)it->base.dataset;
  LEAT_RETURN_IF_ERROR(open_bytes(it));
  if (!compression_of(it).size) {
    uint64_t size;
    LEAT_RETURN_IF_ERROR(leat_file_stream_size(it->stream, &size));
    int64_t body = (int64_t)size - files->header_bytes - files->footer_bytes;
    if (body < 0 || body % files->record_bytes) {
      return wrong_length(it, LEAT_INVALID_ARGUMENT, body);
    }
  }
  return leat_byte_reader_skip(&it->bytes, (uint64_t)files->header_bytes);
}

// Gives the next record. The last |footer_bytes| of the file are no record, so that there must be
// |record| + |footer| bytes ahead; where fewer are ahead, anything more than the footer means that
// the file is cut off.
static leat_status_t read_fixed(files_iterator_t* it, leat_string_view_t* out_record) {
  const files_t* files = (const files_t*)it->base.dataset;
  leat_status_t opened = it->stream ? leat_ok_status() : open_fixed(it);
  if (opened) {
    close_file(it);
    return opened;
  }
  size_t footer = (size_t)files->footer_bytes, record = (size_t)files->record_bytes;
  leat_string_view_t rest;
  leat_status_t status = leat_byte_reader_peek(&it->bytes, record + footer, &rest);
  if (leat_status_code(status) == LEAT_OUT_OF_RANGE) {
    leat_string_view_t more;
    leat_status_t longer = leat_byte_reader_peek(&it->bytes, footer + 1, &more);
    if (longer) {
      leat_status_free(longer);
      return status;
    }
    leat_status_free(status);
    return wrong_length(it, LEAT_DATA_LOSS, -1);
  }
  if (status) return status;
  *out_record = leat_string_view_make(rest.data, record);
  return leat_ok_status();
}

// ---- Files --------------------------------------------------------------------------------------

// Copies |record| into |out|. read_fixed only looks ahead, so that its record is consumed here.
static leat_status_t take_record(files_iterator_t* it, leat_string_view_t record, read_t read,
                                 leat_tensor_t* out) {
  LEAT_RETURN_IF_ERROR(leat_tensor_scalar_string(record, out));
  return read == read_fixed ? leat_byte_reader_skip(&it->bytes, record.size) : leat_ok_status();
}

// Gives the next record of the current file, or of the next file that has one.
static leat_status_t files_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out,
                                leat_poll_t* out_poll, read_t read) {
  files_iterator_t* it = (files_iterator_t*)self;
  int64_t count = self->dataset->tensors[0].shape.element_count;
  while (it->file < count) {
    leat_string_view_t record;
    leat_status_t status = read(it, &record);
    if (!status) {
      *out_poll = LEAT_POLL_ELEMENT;
      return take_record(it, record, read, out);
    }
    leat_status_code_t code = leat_status_code(status);
    bool at_end = code == LEAT_OUT_OF_RANGE;
    if (at_end || code == LEAT_DATA_LOSS || read == read_record) {
      close_file(it);
      ++it->file;
    }
    if (!at_end) return status;
    leat_status_free(status);
    LEAT_RETURN_IF_ERROR(leat_pull_check(pull));
  }
  return leat_ok_status();
}

#define FILES(label, constant, noun, read)                                                       \
  static leat_status_t noun##_next(leat_iterator_t* self, leat_pull_t* pull, leat_tensor_t* out, \
                                   leat_poll_t* out_poll) {                                      \
    return files_next(self, pull, out, out_poll, read);                                          \
  }                                                                                              \
  static const leat_dataset_kind_t constant = {.name = label,                                    \
                                               .dataset_bytes = sizeof(files_t),                 \
                                               .iterator_bytes = sizeof(files_iterator_t),       \
                                               .next = noun##_next,                              \
                                               .stop = files_stop,                               \
                                               .cardinality = leat_dataset_unknown_cardinality};
FILES("TextLine", kTextLines, lines, read_line)
FILES("TFRecord", kRecords, records, read_record)
FILES("FixedLengthRecord", kFixedRecords, fixed, read_fixed)

// ---- Kernels ------------------------------------------------------------------------------------

leat_status_t leat_dataset_check_compression(leat_kernel_context_t* c,
                                             leat_string_view_t compression) {
  if (!compression.size || leat_string_view_equals(compression, "ZLIB") ||
      leat_string_view_equals(compression, "GZIP")) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "Unsupported compression_type.");
}

static leat_status_t check_arguments(leat_kernel_context_t* c, int buffer_input,
                                     int64_t least_buffer_size) {
  int64_t buffer_size;
  if (leat_kernel_input(c, 0)->shape.rank > 1) {
    return leat_kernel_invalid(c, "`filenames` must be a scalar or a vector.");
  }
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, buffer_input, "buffer_size", &buffer_size));
  if (buffer_size < least_buffer_size) {
    return leat_kernel_invalid(c, "`buffer_size` must be >= %lld (0 == default)",
                               (long long)least_buffer_size);
  }
  return leat_ok_status();
}

// As in TensorFlow, records are read as they are where the name of the compression is unknown.
static leat_string_view_t record_compression(leat_string_view_t name) {
  leat_compression_t compression;
  if (leat_compression_from_name(name, &compression) || leat_string_view_equals(name, "SNAPPY")) {
    return name;
  }
  leat_log(LEAT_LOG_WARNING, "Unsupported compression_type: %.*s. No compression will be used.",
           LEAT_SV_ARG(name));
  return (leat_string_view_t){0};
}

// Makes the dataset. |offsets_input| is the input with the files' offsets; negative: each file is
// read from its start.
static leat_status_t make(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                          leat_string_view_t compression, int offsets_input,
                          const files_t* options) {
  leat_dataset_t* dataset;
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_scalar(LEAT_DTYPE_STRING, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create(kind, spec, 0, offsets_input < 0 ? 2 : 3, &dataset));
  files_t* files = (files_t*)dataset;
  files->header_bytes = options->header_bytes;
  files->record_bytes = options->record_bytes;
  files->footer_bytes = options->footer_bytes;
  leat_status_t status = leat_dataset_keep_inputs(c, 0, 0, 1, dataset);
  if (!status) status = leat_tensor_scalar_string(compression, &dataset->tensors[1]);
  if (!status && offsets_input >= 0) {
    status = leat_dataset_keep_inputs(c, offsets_input, 2, 1, dataset);
  }
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t make_compressed(leat_kernel_context_t* c, const leat_dataset_kind_t* kind,
                                     int offsets_input) {
  leat_string_view_t compression;
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "compression_type", &compression));
  if (kind == &kRecords) {
    compression = record_compression(compression);
    LEAT_RETURN_IF_ERROR(check_arguments(c, 2, LEAT_DATASET_AUTOTUNE));
  } else {
    LEAT_RETURN_IF_ERROR(check_arguments(c, 2, 0));
    LEAT_RETURN_IF_ERROR(leat_dataset_check_compression(c, compression));
  }
  return make(c, kind, compression, offsets_input, &(files_t){0});
}

static leat_status_t lines__cpu(leat_kernel_context_t* c) {
  return make_compressed(c, &kTextLines, -1);
}

static leat_status_t records__cpu(leat_kernel_context_t* c) {
  return make_compressed(c, &kRecords, -1);
}

static leat_status_t records_v2__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* offsets = leat_kernel_input(c, 3);
  if (offsets->shape.element_count != leat_kernel_input(c, 0)->shape.element_count) {
    return leat_kernel_invalid(c, "`byte_offsets` must be of same size as `filenames`");
  }
  return make_compressed(c, &kRecords, 3);
}

static leat_status_t fixed__cpu(leat_kernel_context_t* c) {
  files_t options = {0};
  leat_string_view_t compression = {0};
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "header_bytes", &options.header_bytes));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "record_bytes", &options.record_bytes));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 3, "footer_bytes", &options.footer_bytes));
  if (leat_kernel_input_count(c) > 5) {
    LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 5, "compression_type", &compression));
  }
  LEAT_RETURN_IF_ERROR(check_arguments(c, 4, 0));
  LEAT_RETURN_IF_ERROR(leat_dataset_check_compression(c, compression));
  int64_t sum;
  if (options.header_bytes < 0) return leat_kernel_invalid(c, "`header_bytes` must be >= 0");
  if (options.record_bytes <= 0) return leat_kernel_invalid(c, "`record_bytes` must be > 0");
  if (options.footer_bytes < 0) return leat_kernel_invalid(c, "`footer_bytes` must be >= 0");
  if (__builtin_add_overflow(options.record_bytes, options.footer_bytes, &sum) ||
      __builtin_add_overflow(options.header_bytes, sum, &sum)) {
    return leat_kernel_invalid(c, "header, record and footer are more than can be counted");
  }
  return make(c, &kFixedRecords, compression, -1, &options);
}

#define KERNEL(name, how) LEAT_DATASET_KERNEL(name, how##__cpu)

const leat_kernel_row_t leat_file_dataset_kernels_cpu[] = {
    KERNEL("TextLineDataset", lines),
    KERNEL("TFRecordDataset", records),
    KERNEL("TFRecordDatasetV2", records_v2),
    KERNEL("FixedLengthRecordDataset", fixed),
    KERNEL("FixedLengthRecordDatasetV2", fixed),
    LEAT_KERNEL_ROWS_END,
};
