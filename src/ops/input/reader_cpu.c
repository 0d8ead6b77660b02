// The kinds of readers, and the kernels that make them. Each kind is a leat_reader_vtable_t
// (ops/input/reader_cpu.h) that turns one work unit into records:
//
//     TextLineReader            "file:line"      a line of the file, without its end
//     FixedLengthRecordReader   "file:number"    a record of a fixed length
//     TFRecordReader            "file:offset"    a record of a TFRecord file
//     WholeFileReader           "file"           the whole file
//     IdentityReader            the work unit    the work unit
//
// Lines count from 1, fixed records from 0. All kinds share one struct, file_reader_t. A reader is
// made by the first step that runs its op and found by name afterwards; a kernel's state holds the
// options with which it is made. The end of a file is not an error here: |read| says so by not
// producing a record.
#include "ops/input/reader_cpu.h"

#include <inttypes.h>

#include "formats/record/byte_reader.h"
#include "formats/record/compression.h"
#include "formats/record/file_stream.h"
#include "ops/kernel_rows.h"

// The state of a kernel that makes readers: the name of the reader, and its options.
typedef struct reader_maker_s {
  leat_handle_t handle;
  int64_t skipped_lines;
  int64_t header_bytes, record_bytes, footer_bytes, hop_bytes;
  char compression[8];  // name of the compression, NUL-terminated; empty: none
} reader_maker_t;

typedef struct file_reader_s {
  leat_reader_resource_t base;
  reader_maker_t options;  // without the handle, which the kernel owns
  leat_file_stream_t* stream;
  leat_byte_reader_t bytes;
  leat_record_reader_t records;
  char* whole;  // WholeFileReader: the bytes of the file
  int64_t count;  // records, or lines with the header, of this work unit so far
} file_reader_t;

// Appends "work unit:|place|" to |key|.
static void append_key(const leat_reader_resource_t* reader, leat_string_builder_t* key,
                       uint64_t place) {
  leat_string_builder_append(key, leat_string_builder_view(&reader->work));
  leat_string_builder_print(key, ":%" PRIu64, place);
}

static leat_status_t open_stream(file_reader_t* r) {
  r->count = 0;
  return leat_file_stream_open(leat_file_system_default(), r->base.work.data,
                               leat_string_view_from(r->options.compression),
                               leat_allocator_system(), &r->stream);
}

static void close_stream(leat_reader_resource_t* self) {
  file_reader_t* r = (file_reader_t*)self;
  if (r->bytes.source) leat_byte_reader_deinitialize(&r->bytes);
  if (r->records.source) leat_record_reader_deinitialize(&r->records);
  r->records = (leat_record_reader_t){0};
  leat_file_stream_close(r->stream);
  r->stream = NULL;
}

static leat_status_t open_bytes(file_reader_t* r) {
  LEAT_RETURN_IF_ERROR(open_stream(r));
  leat_byte_reader_initialize(leat_file_stream_source(r->stream), leat_allocator_system(),
                              &r->bytes);
  return leat_ok_status();
}

// Turns OUT_OF_RANGE, the end of the file, into OK with |*out_there| false. Other failures are
// returned.
static leat_status_t take_end(leat_status_t status, bool* out_there) {
  *out_there = !status;
  if (leat_status_code(status) != LEAT_OUT_OF_RANGE) return status;
  leat_status_free(status);
  return leat_ok_status();
}

// ---- Lines --------------------------------------------------------------------------------------

static leat_status_t lines_begin(leat_reader_resource_t* self) {
  file_reader_t* r = (file_reader_t*)self;
  leat_string_view_t line;
  bool there = true;
  LEAT_RETURN_IF_ERROR(open_bytes(r));
  while (there && r->count < r->options.skipped_lines) {
    LEAT_RETURN_IF_ERROR(take_end(leat_byte_reader_line(&r->bytes, &line), &there));
    r->count += there;
  }
  return leat_ok_status();
}

static leat_status_t lines_read(leat_reader_resource_t* self, leat_string_builder_t* key,
                                leat_string_view_t* out_value, bool* out_produced,
                                bool* out_is_last) {
  file_reader_t* r = (file_reader_t*)self;
  LEAT_RETURN_IF_ERROR(take_end(leat_byte_reader_line(&r->bytes, out_value), out_produced));
  if (*out_produced) append_key(self, key, (uint64_t)++r->count);
  return leat_ok_status();
}

static const leat_reader_vtable_t kLines = {
    .name = "TextLineReader", .begin = lines_begin, .read = lines_read, .end = close_stream};

// ---- Records of a fixed size --------------------------------------------------------------------

static leat_status_t fixed_begin(leat_reader_resource_t* self) {
  file_reader_t* r = (file_reader_t*)self;
  LEAT_RETURN_IF_ERROR(open_bytes(r));
  return leat_byte_reader_skip(&r->bytes, (uint64_t)r->options.header_bytes);
}

static leat_status_t fixed_read(leat_reader_resource_t* self, leat_string_builder_t* key,
                                leat_string_view_t* out_value, bool* out_produced,
                                bool* out_is_last) {
  file_reader_t* r = (file_reader_t*)self;
  const reader_maker_t* o = &r->options;
  int64_t hop = o->hop_bytes ? o->hop_bytes : o->record_bytes;
  bool there = true;
  // The reader stands at the record that it gave last, because that record's bytes were only peeked
  // at. Hops that are shorter than a record make records overlap.
  if (r->count) {
    LEAT_RETURN_IF_ERROR(take_end(leat_byte_reader_skip(&r->bytes, (uint64_t)hop), &there));
    if (!there) return leat_ok_status();
  }
  // The footer is no part of a record, so that it must still lie behind the last one.
  size_t wanted = (size_t)o->record_bytes + (size_t)o->footer_bytes;
  LEAT_RETURN_IF_ERROR(
      take_end(leat_byte_reader_peek(&r->bytes, wanted, out_value), out_produced));
  out_value->size = (size_t)o->record_bytes;
  if (*out_produced) append_key(self, key, (uint64_t)r->count++);
  return leat_ok_status();
}

static const leat_reader_vtable_t kFixed = {.name = "FixedLengthRecordReader",
                                            .begin = fixed_begin,
                                            .read = fixed_read,
                                            .end = close_stream};

// ---- TFRecord -----------------------------------------------------------------------------------

static leat_status_t records_begin(leat_reader_resource_t* self) {
  file_reader_t* r = (file_reader_t*)self;
  LEAT_RETURN_IF_ERROR(open_stream(r));
  leat_record_reader_initialize(leat_file_stream_source(r->stream),
                                r->options.compression[0] ? LEAT_COMPRESSION_MAX_BYTES : 0,
                                leat_allocator_system(), &r->records);
  return leat_ok_status();
}

static leat_status_t records_read(leat_reader_resource_t* self, leat_string_builder_t* key,
                                  leat_string_view_t* out_value, bool* out_produced,
                                  bool* out_is_last) {
  file_reader_t* r = (file_reader_t*)self;
  uint64_t offset = r->records.offset;
  LEAT_RETURN_IF_ERROR(take_end(leat_record_reader_next(&r->records, out_value), out_produced));
  if (*out_produced) append_key(self, key, offset);
  return leat_ok_status();
}

static const leat_reader_vtable_t kRecords = {
    .name = "TFRecordReader", .begin = records_begin, .read = records_read, .end = close_stream};

// ---- Whole files, and work units themselves -----------------------------------------------------

static void drop_whole(leat_reader_resource_t* self) {
  file_reader_t* r = (file_reader_t*)self;
  leat_allocator_free(leat_allocator_system(), r->whole);
  r->whole = NULL;
}

static leat_status_t whole_read(leat_reader_resource_t* self, leat_string_builder_t* key,
                                leat_string_view_t* out_value, bool* out_produced,
                                bool* out_is_last) {
  file_reader_t* r = (file_reader_t*)self;
  drop_whole(self);
  LEAT_RETURN_IF_ERROR(leat_file_read_all(leat_file_system_default(), self->work.data,
                                          leat_allocator_system(), &r->whole, &out_value->size));
  out_value->data = r->whole;
  leat_string_builder_append(key, leat_string_builder_view(&self->work));
  *out_produced = *out_is_last = true;
  return leat_ok_status();
}

static const leat_reader_vtable_t kWhole = {
    .name = "WholeFileReader", .read = whole_read, .end = drop_whole, .has_state = true};

static leat_status_t identity_read(leat_reader_resource_t* self, leat_string_builder_t* key,
                                   leat_string_view_t* out_value, bool* out_produced,
                                   bool* out_is_last) {
  *out_value = leat_string_builder_view(&self->work);
  leat_string_builder_append(key, *out_value);
  *out_produced = *out_is_last = true;
  return leat_ok_status();
}

static const leat_reader_vtable_t kIdentity = {
    .name = "IdentityReader", .read = identity_read, .has_state = true};

// ---- Creation -----------------------------------------------------------------------------------

static leat_status_t names_create(leat_kernel_creation_t* c, void* state) {
  return leat_handle_initialize(c, &leat_reader_kind, false, &((reader_maker_t*)state)->handle);
}

static leat_status_t read_size(leat_kernel_creation_t* c, const char* name, int64_t* out_size) {
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int(c, name, out_size));
  if (*out_size >= 0) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (%s): %s is %lld, must be >= 0",
                          LEAT_SV_ARG(c->kernel->node_name), c->kernel->row->op, name,
                          (long long)*out_size);
}

// Reads the compression from attribute |name|. Any other name means no compression, as in
// TensorFlow.
static leat_status_t read_compression(leat_kernel_creation_t* c, const char* name, bool snappy,
                                      reader_maker_t* maker) {
  leat_string_view_t value;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, name, &value));
  bool known = leat_string_view_equals(value, "ZLIB") || leat_string_view_equals(value, "GZIP") ||
               (snappy && leat_string_view_equals(value, "SNAPPY"));
  if (known) memcpy(maker->compression, value.data, value.size);
  return leat_ok_status();
}

static leat_status_t lines_create(leat_kernel_creation_t* c, void* state) {
  reader_maker_t* maker = state;
  LEAT_RETURN_IF_ERROR(read_size(c, "skip_header_lines", &maker->skipped_lines));
  return names_create(c, state);
}

static leat_status_t fixed_create(leat_kernel_creation_t* c, void* state) {
  reader_maker_t* maker = state;
  LEAT_RETURN_IF_ERROR(read_size(c, "header_bytes", &maker->header_bytes));
  LEAT_RETURN_IF_ERROR(read_size(c, "record_bytes", &maker->record_bytes));
  LEAT_RETURN_IF_ERROR(read_size(c, "footer_bytes", &maker->footer_bytes));
  LEAT_RETURN_IF_ERROR(read_size(c, "hop_bytes", &maker->hop_bytes));
  return names_create(c, state);
}

// TensorFlow's kernel asks for the attribute encoding, which only FixedLengthRecordReaderV2 has, so
// that the first version can never run.
static leat_status_t fixed_old_create(leat_kernel_creation_t* c, void* state) {
  return leat_make_status(LEAT_NOT_FOUND,
                          "Create failed for node '%.*s' (FixedLengthRecordReader): encoding is "
                          "missing; use FixedLengthRecordReaderV2",
                          LEAT_SV_ARG(c->kernel->node_name));
}

static leat_status_t fixed_v2_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(read_compression(c, "encoding", false, state));
  return fixed_create(c, state);
}

static leat_status_t records_create(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(read_compression(c, "compression_type", true, state));
  return names_create(c, state);
}

static leat_status_t removed_create(leat_kernel_creation_t* c, void* state) {
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "Create failed for node '%.*s' (LMDBReader): LMDB support was removed",
                          LEAT_SV_ARG(c->kernel->node_name));
}

static void maker_destroy(void* state) {
  leat_handle_deinitialize(&((reader_maker_t*)state)->handle);
}

typedef struct making_s {
  const leat_reader_vtable_t* vtable;
  const reader_maker_t* maker;
  leat_string_view_t node_name;
} making_t;

// Makes the reader, as a leat_resource_make_fn_t; |data| is a making_t.
static leat_status_t make_reader(void* data, leat_resource_t** out_resource) {
  const making_t* making = data;
  file_reader_t* r;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &r));
  leat_reader_initialize(making->vtable, making->node_name, &r->base);
  r->options = *making->maker;
  r->options.handle = (leat_handle_t){0};
  *out_resource = &r->base.resource;
  return leat_ok_status();
}

static leat_status_t make(leat_kernel_context_t* c, const leat_reader_vtable_t* vtable) {
  reader_maker_t* maker = leat_kernel_state(c);
  making_t making = {vtable, maker, c->kernel->node_name};
  leat_resource_t* reader;
  LEAT_RETURN_IF_ERROR(leat_handle_find_or_make(c, &maker->handle, &leat_reader_kind, make_reader,
                                                &making, &reader));
  leat_resource_release(reader);
  leat_handle_set_output(c, &maker->handle);
  return leat_ok_status();
}

static leat_status_t lines__cpu(leat_kernel_context_t* c) { return make(c, &kLines); }
static leat_status_t fixed__cpu(leat_kernel_context_t* c) { return make(c, &kFixed); }
static leat_status_t records__cpu(leat_kernel_context_t* c) { return make(c, &kRecords); }
static leat_status_t whole__cpu(leat_kernel_context_t* c) { return make(c, &kWhole); }
static leat_status_t identity__cpu(leat_kernel_context_t* c) { return make(c, &kIdentity); }

#define READER(op_name, create_fn, compute_fn)                          \
  LEAT_CPU_KERNEL(op_name, NULL, reader_maker_t, create_fn, compute_fn, \
                  .destroy = maker_destroy)

const leat_kernel_row_t leat_reader_kernels_cpu[] = {
    READER("TextLineReader", lines_create, lines__cpu),
    READER("TextLineReaderV2", lines_create, lines__cpu),
    READER("FixedLengthRecordReader", fixed_old_create, fixed__cpu),
    READER("FixedLengthRecordReaderV2", fixed_v2_create, fixed__cpu),
    READER("TFRecordReader", records_create, records__cpu),
    READER("TFRecordReaderV2", records_create, records__cpu),
    READER("WholeFileReader", names_create, whole__cpu),
    READER("WholeFileReaderV2", names_create, whole__cpu),
    READER("IdentityReader", names_create, identity__cpu),
    READER("IdentityReaderV2", names_create, identity__cpu),
    READER("LMDBReader", removed_create, identity__cpu),
    LEAT_KERNEL_ROWS_END,
};
