// CPU kernels of Assert, PrintV2 and Print, which show tensors in words. A false condition of an
// Assert fails the step with INVALID_ARGUMENT and a message that shows the first elements of the
// data inputs. PrintV2 writes a string and the attribute |end| to the stream that output_stream
// names: stdout, stderr, the log at a level, or a file, to which it appends. The stream is looked
// up when the kernel is created, so that a wrong name fails before the step runs. A listener of the
// process (leat_print_tell), where one is set, gets the text instead. Print passes its first input
// through and writes the others to stderr, at most first_n times in the life of the kernel.
#include <stdio.h>

#include "base/file_system.h"
#include "base/log.h"
#include "base/sync.h"
#include "ops/kernel_rows.h"
#include "tensor/tensor_print.h"

// ---- Assert -------------------------------------------------------------------------------------

typedef struct assert_s {
  int64_t summarize;
} assert_t;

static leat_status_t assert_create(leat_kernel_creation_t* c, void* state) {
  return leat_kernel_attr_int32(c, "summarize", &((assert_t*)state)->summarize);
}

// The status of an Assert whose condition is false. Each data input is shown in brackets, with as
// many elements as the attribute summarize allows.
static LEAT_COLD leat_status_t assertion_failed(const leat_kernel_context_t* c) {
  const assert_t* own = leat_kernel_state(c);
  leat_string_builder_t text;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    leat_string_builder_append(&text, i == 1 ? LEAT_SV("[") : LEAT_SV(" ["));
    leat_tensor_print_elements(leat_kernel_input(c, i), own->summarize, &text);
    leat_string_builder_append_char(&text, ']');
  }
  leat_status_t status = text.status;
  text.status = leat_ok_status();
  if (!status) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT, "assertion failed: %.*s",
                              LEAT_SV_ARG(leat_string_builder_view(&text)));
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static leat_status_t assert__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* condition = leat_kernel_input(c, 0);
  if (LEAT_UNLIKELY(condition->shape.rank != 0)) {
    return leat_kernel_invalid(c, "condition has shape %s, must be a scalar",
                               LEAT_SHAPE_TEXT(&condition->shape));
  }
  if (LEAT_LIKELY(*leat_tensor_data(condition, const bool))) return leat_ok_status();
  return assertion_failed(c);
}

// ---- PrintV2 ------------------------------------------------------------------------------------

typedef struct print_s {
  leat_allocator_t* allocator;
  char* text;  // the attribute end, then the path of the file and NUL
  size_t end_size;
  FILE* stream;            // NULL: the log or a file
  leat_log_level_t level;  // of the log; LEAT_LOG_OFF: a file
} print_t;

// Sets the stream or the log level of |name|; |*out_path| is set for a file.
static leat_status_t choose_stream(print_t* print, leat_string_view_t name,
                                   leat_string_view_t* out_path) {
  static const struct {
    leat_string_view_t name;
    leat_log_level_t level;
  } kLogs[] = {{LEAT_SV("log(info)"), LEAT_LOG_INFO},
               {LEAT_SV("log(warning)"), LEAT_LOG_WARNING},
               {LEAT_SV("log(error)"), LEAT_LOG_ERROR}};
  const leat_string_view_t scheme = LEAT_SV("file://");
  *out_path = leat_string_view_make(NULL, 0);
  print->level = LEAT_LOG_OFF;
  if (name.size > scheme.size && memcmp(name.data, scheme.data, scheme.size) == 0) {
    *out_path = leat_string_view_make(name.data + scheme.size, name.size - scheme.size);
    return leat_ok_status();
  }
  if (leat_string_view_equal(name, LEAT_SV("stdout"))) print->stream = stdout;
  if (leat_string_view_equal(name, LEAT_SV("stderr"))) print->stream = stderr;
  for (size_t i = 0; i < sizeof kLogs / sizeof *kLogs; ++i) {
    if (leat_string_view_equal(name, kLogs[i].name)) print->level = kLogs[i].level;
  }
  if (print->stream || print->level != LEAT_LOG_OFF) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Unknown output stream: %.*s, Valid streams are: stdout stderr log(info) "
                          "log(warning) log(error), or file://<filename>",
                          LEAT_SV_ARG(name));
}

static leat_status_t print_create(leat_kernel_creation_t* c, void* state) {
  print_t* print = state;
  leat_string_view_t name, path, end;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "output_stream", &name));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "end", &end));
  LEAT_RETURN_IF_ERROR(choose_stream(print, name, &path));
  print->allocator = c->allocator;
  print->end_size = end.size;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, end.size + path.size + 1, &print->text));
  if (end.size) memcpy(print->text, end.data, end.size);
  if (path.size) memcpy(print->text + end.size, path.data, path.size);
  print->text[end.size + path.size] = '\0';
  return leat_ok_status();
}

static void print_destroy(void* state) {
  print_t* print = state;
  if (print->allocator) leat_allocator_free(print->allocator, print->text);
}

// Writes |text| to where the node sends it. A file is opened and closed for each text, so that all
// of it is in the file when the kernel ends.
static leat_status_t write_text(const print_t* print, leat_string_view_t text) {
  leat_file_t* file;
  if (leat_print_tell(text.data ? text.data : "")) return leat_ok_status();
  if (print->stream) {
    fwrite(text.data, 1, text.size, print->stream);
    fflush(print->stream);
    return leat_ok_status();
  }
  if (print->level != LEAT_LOG_OFF) {
    leat_log(print->level, "%.*s", LEAT_SV_ARG(text));
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), print->text + print->end_size,
                                      LEAT_FILE_APPEND, leat_allocator_system(), &file));
  leat_status_t status = file->vtable->write(file, text.data, text.size);
  leat_status_t closed = leat_file_close(file);
  if (!status) return closed;
  leat_status_free(closed);
  return status;
}

static leat_status_t print__cpu(leat_kernel_context_t* c) {
  const print_t* print = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_string_builder_t text;
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Input is expected to be scalar, but got %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_append(&text, leat_tensor_string_at(input, 0));
  leat_string_builder_append(&text, leat_string_view_make(print->text, print->end_size));
  leat_status_t status = leat_status_clone(text.status);
  if (!status) status = write_text(print, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

// ---- Print --------------------------------------------------------------------------------------

typedef struct print_data_s {
  leat_allocator_t* allocator;
  char* message;
  size_t message_size;
  int64_t summarize;
  int64_t first_n;          // how often the kernel writes at most; negative: no limit
  _Atomic int64_t written;  // runs so far, counted only where |first_n| is a limit
} print_data_t;

static leat_status_t data_create(leat_kernel_creation_t* c, void* state) {
  print_data_t* print = state;
  leat_string_view_t message;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, "first_n", &print->first_n));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "summarize", &print->summarize));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "message", &message));
  print->allocator = c->allocator;
  print->message_size = message.size;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, message.size + 1, &print->message));
  if (message.size) memcpy(print->message, message.data, message.size);
  return leat_ok_status();
}

static void data_destroy(void* state) {
  print_data_t* print = state;
  if (print->allocator) leat_allocator_free(print->allocator, print->message);
}

// The kernel of Print. The input is passed on whether anything is written or not.
static leat_status_t data__cpu(leat_kernel_context_t* c) {
  print_data_t* print = leat_kernel_state(c);
  leat_string_builder_t text;
  leat_kernel_pass_input(c, 0, 0);
  if (print->first_n >= 0 && atomic_fetch_add(&print->written, 1) >= print->first_n) {
    return leat_ok_status();
  }
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_append(&text, leat_string_view_make(print->message, print->message_size));
  for (int i = 1; i < leat_kernel_input_count(c); ++i) {
    leat_string_builder_append_char(&text, '[');
    leat_tensor_print_elements(leat_kernel_input(c, i), print->summarize, &text);
    leat_string_builder_append_char(&text, ']');
  }
  leat_string_builder_append_char(&text, '\n');
  leat_status_t status = leat_status_clone(text.status);
  leat_string_view_t line = leat_string_builder_view(&text);
  if (!status) {
    fwrite(line.data, 1, line.size, stderr);
    fflush(stderr);
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

const leat_kernel_row_t leat_print_kernels_cpu[] = {
    {.op = "Assert",
     .device_type = "CPU",
     .create = assert_create,
     .state_bytes = sizeof(assert_t),
     .compute = assert__cpu},
    {.op = "Print",
     .device_type = "CPU",
     .create = data_create,
     .destroy = data_destroy,
     .state_bytes = sizeof(print_data_t),
     .compute = data__cpu},
    {.op = "PrintV2",
     .device_type = "CPU",
     .create = print_create,
     .destroy = print_destroy,
     .state_bytes = sizeof(print_t),
     .compute = print__cpu},
    LEAT_KERNEL_ROWS_END,
};
