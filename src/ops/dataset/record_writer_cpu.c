// The kernel of DatasetToTFRecord, which writes the elements of a dataset, scalar strings, to a
// TFRecord file. The file is written as elements come; where the step fails, what was written stays
// and may be cut off. The kernel runs a pull (ops/dataset/pull_cpu.h), so that no thread waits
// while a function of the pipeline is called. Closing the file may fail too, since the last bytes
// are written then; the step fails with the first error that there was.
#include "base/string_builder.h"
#include "formats/record/compression.h"
#include "formats/record/record.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/kernel_rows.h"

typedef struct writing_s {
  leat_pull_t pull;
  leat_iterator_t* iterator;
  leat_file_t* file;
  leat_record_writer_t writer;
} writing_t;

static leat_status_t write_step(leat_pull_t* pull, leat_poll_t* out_poll) {
  writing_t* w = (writing_t*)pull;
  leat_tensor_t element;
  while (true) {
    LEAT_RETURN_IF_ERROR(leat_iterator_next(w->iterator, pull, &element, out_poll));
    if (*out_poll != LEAT_POLL_ELEMENT) return leat_ok_status();
    leat_status_t status =
        element.shape.rank
            ? leat_make_status(LEAT_INVALID_ARGUMENT, "an element has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&element.shape))
            : leat_record_writer_add(&w->writer, leat_tensor_string_at(&element, 0));
    leat_tensor_release(&element);
    if (status) return status;
  }
}

// Frees what the pull holds and closes the file, which may fail too.
static leat_status_t end_writing(writing_t* w, leat_status_t status) {
  if (w->file) {
    leat_record_writer_deinitialize(&w->writer);
    leat_status_t closed = leat_file_close(w->file);
    if (status) {
      leat_status_free(closed);
    } else {
      status = closed;
    }
  }
  leat_iterator_free(w->iterator);
  leat_allocator_free(leat_allocator_system(), w);
  return status;
}

static void write_finish(leat_pull_t* pull, leat_status_t status) {
  leat_kernel_context_t* context = pull->context;
  leat_kernel_done_fn_t done = pull->done;
  done(context, end_writing((writing_t*)pull, status));
}

// Opens the file |name|, which is copied because the file system wants it to end in NUL.
static leat_status_t open_file(leat_string_view_t name, leat_compression_t compression,
                               leat_file_t** out_file) {
  leat_string_builder_t path;
  leat_allocator_t* allocator = leat_allocator_system();
  leat_string_builder_initialize(allocator, &path);
  leat_string_builder_append(&path, name);
  leat_status_t status = leat_status_clone(path.status);
  if (!status) {
    status = leat_file_open(leat_file_system_default(), path.data ? path.data : "",
                            LEAT_FILE_WRITE, allocator, out_file);
  }
  leat_string_builder_deinitialize(&path);
  if (status || compression == LEAT_COMPRESSION_NONE) return status;
  return leat_compressed_file_create(*out_file, compression, allocator, out_file);
}

static leat_status_t begin_writing(leat_kernel_context_t* c, writing_t* w) {
  leat_dataset_t* dataset;
  leat_string_view_t name, compression_type;
  leat_compression_t compression;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &dataset));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 1, "filename", &name));
  LEAT_RETURN_IF_ERROR(leat_dataset_string_input(c, 2, "compression_type", &compression_type));
  if (dataset->spec->count != 1 || dataset->spec->types[0] != LEAT_DTYPE_STRING) {
    return leat_kernel_invalid(c, "the elements of the dataset must be scalar strings");
  }
  if (!leat_compression_from_name(compression_type, &compression)) {
    return leat_kernel_invalid(c, "Unsupported compression_type.");
  }
  LEAT_RETURN_IF_ERROR(leat_iterator_create(dataset, NULL, &w->iterator));
  leat_file_t* file;
  LEAT_RETURN_IF_ERROR(open_file(name, compression, &file));
  w->file = file;
  leat_record_writer_initialize(file, &w->writer);
  return leat_ok_status();
}

static void write__cpu(leat_kernel_context_t* c, leat_kernel_done_fn_t done) {
  writing_t* w;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &w);
  if (status) {
    done(c, status);
    return;
  }
  w->pull = (leat_pull_t){.services = c->services,
                          .context = c,
                          .done = done,
                          .step = write_step,
                          .finish = write_finish};
  status = begin_writing(c, w);
  if (status) {
    done(c, end_writing(w, status));
  } else {
    leat_pull_run(&w->pull);
  }
}

const leat_kernel_row_t leat_record_writer_kernels_cpu[] = {
    {.op = "DatasetToTFRecord", .device_type = "CPU", .compute_async = write__cpu},
    {.op = "ExperimentalDatasetToTFRecord", .device_type = "CPU", .compute_async = write__cpu},
    LEAT_KERNEL_ROWS_END,
};
