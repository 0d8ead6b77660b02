// Event files for TensorBoard: events are encoded into a buffer of records, which goes to the file
// when it is full, on flush and on close. One lock is around the buffer, and writing happens under
// it too, so records stay in the order in which they were added.
//
// Every error is told to somebody: by the call that added an event which could not be kept, or by
// the flush or close that could not write. An event whose adding was OK stays in the buffer until
// it is in the file, so after a full disk nothing is missing once there is room again, and the file
// can be read at any time, because the record writer leaves no torn record in it. The events of
// leat/files.h are the callers.
#include "formats/record/event.h"

#include "base/clock.h"
#include "base/host.h"
#include "base/sync.h"
#include "formats/path.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"

#define BUFFER_BYTES ((size_t)1 << 20)

struct leat_event_writer_s {
  leat_allocator_t* allocator;
  leat_arena_t arena;
  const char* path;
  leat_mutex_t mutex;
  leat_file_t* file;
  leat_record_writer_t records;  // of |file|
  leat_string_builder_t buffer;
};

// Moves the buffer's records to the file. A failed write leaves the buffer as it is, so that the
// next one tries again.
static leat_status_t write_buffer(leat_event_writer_t* writer) {
  LEAT_RETURN_IF_ERROR(leat_record_writer_add_encoded(&writer->records,
                                                      leat_string_builder_view(&writer->buffer)));
  writer->buffer.size = 0;
  return leat_ok_status();
}

leat_status_t leat_event_writer_flush(leat_event_writer_t* writer) {
  leat_mutex_lock(&writer->mutex);
  leat_status_t status = write_buffer(writer);
  if (leat_status_is_ok(status)) status = writer->file->vtable->sync(writer->file);
  leat_mutex_unlock(&writer->mutex);
  return status;
}

// Opens the file, whose name has the time and the host in it, so that writers on several machines
// do not overwrite each other. The first event states the version of the format; it is flushed at
// once, so that a reader finds it as soon as the file is there.
static leat_status_t open_file(leat_event_writer_t* writer, leat_file_system_t* fs,
                               const char* prefix, const char* suffix) {
  char host[256];
  const char* directory;
  leat_string_view_t path;
  int64_t seconds = leat_clock_wall_ns() / 1000000000;
  leat_host_name(host, sizeof(host));
  LEAT_RETURN_IF_ERROR(leat_path_directory(prefix, &writer->arena, &directory));
  LEAT_RETURN_IF_ERROR(leat_arena_print(&writer->arena, &path, "%s.out.tfevents.%010lld.%s%s",
                                        prefix, (long long)seconds, host, suffix));
  writer->path = path.data;
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(fs, directory));
  LEAT_RETURN_IF_ERROR(
      leat_file_open(fs, writer->path, LEAT_FILE_WRITE, writer->allocator, &writer->file));
  leat_record_writer_initialize(writer->file, &writer->records);
  leat_pb_source_metadata_t source = {.writer = LEAT_SV("leat.event_writer")};
  leat_pb_event_t first = {.wall_time = (double)seconds,
                           .file_version = LEAT_SV("brain.Event:2"),
                           .what_case = 3,
                           .source_metadata = &source};
  LEAT_RETURN_IF_ERROR(leat_event_writer_add(writer, &first));
  return leat_event_writer_flush(writer);
}

leat_status_t leat_event_writer_create(leat_file_system_t* fs, const char* prefix,
                                       const char* suffix, leat_allocator_t* allocator,
                                       leat_event_writer_t** out_writer) {
  leat_event_writer_t* writer;
  *out_writer = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &writer));
  writer->allocator = allocator;
  leat_arena_initialize(allocator, 1024, &writer->arena);
  leat_mutex_initialize(&writer->mutex);
  leat_string_builder_initialize(allocator, &writer->buffer);
  leat_status_t status = open_file(writer, fs, prefix, suffix);
  if (!leat_status_is_ok(status)) {
    writer->buffer.size = 0;
    return leat_status_join(status, leat_event_writer_close(writer));
  }
  *out_writer = writer;
  return leat_ok_status();
}

leat_status_t leat_event_writer_close(leat_event_writer_t* writer) {
  if (!writer) return leat_ok_status();
  leat_status_t status = leat_ok_status();
  if (writer->file) {
    status = leat_event_writer_flush(writer);
    status = leat_status_join(status, leat_file_close(writer->file));
  }
  leat_record_writer_deinitialize(&writer->records);
  leat_string_builder_deinitialize(&writer->buffer);
  leat_mutex_deinitialize(&writer->mutex);
  leat_arena_deinitialize(&writer->arena);
  leat_allocator_free(writer->allocator, writer);
  return status;
}

const char* leat_event_writer_path(const leat_event_writer_t* writer) { return writer->path; }

leat_status_t leat_event_writer_add_encoded(leat_event_writer_t* writer,
                                            leat_string_view_t event) {
  leat_mutex_lock(&writer->mutex);
  leat_string_builder_t* buffer = &writer->buffer;
  size_t size = buffer->size;
  leat_record_append(buffer, event);
  leat_status_t status = buffer->status;
  buffer->status = leat_ok_status();  // memory that ran out now may be there for the next event
  if (!status && buffer->size >= BUFFER_BYTES) status = write_buffer(writer);
  // Who hears of an error takes the event for lost. To keep it would let the buffer grow without
  // end, should the disk stay full.
  if (status) buffer->size = size;
  leat_mutex_unlock(&writer->mutex);
  return status;
}

leat_status_t leat_event_writer_add(leat_event_writer_t* writer, const leat_pb_event_t* event) {
  leat_string_builder_t bytes;
  leat_pb_event_t stamped = *event;
  if (stamped.wall_time == 0) stamped.wall_time = (double)leat_clock_wall_ns() * 1e-9;
  leat_string_builder_initialize(writer->allocator, &bytes);
  leat_status_t status = leat_message_encode(&leat_pb_event_descriptor, &stamped, &bytes);
  if (leat_status_is_ok(status)) {
    status = leat_event_writer_add_encoded(writer, leat_string_builder_view(&bytes));
  }
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static leat_status_t add_value(leat_event_writer_t* writer, int64_t step,
                               leat_pb_summary_value_t* value) {
  leat_pb_summary_t summary = {.value = {value, 1}};
  leat_pb_event_t event = {.step = step, .summary = &summary, .what_case = 5};
  return leat_event_writer_add(writer, &event);
}

leat_status_t leat_event_writer_add_scalar(leat_event_writer_t* writer, int64_t step,
                                           leat_string_view_t tag, float value) {
  leat_pb_summary_value_t item = {.tag = tag, .simple_value = value, .value_case = 2};
  return add_value(writer, step, &item);
}

leat_status_t leat_event_writer_add_histogram(leat_event_writer_t* writer, int64_t step,
                                              leat_string_view_t tag,
                                              const leat_pb_histogram_proto_t* histogram) {
  leat_pb_histogram_proto_t copy = *histogram;
  leat_pb_summary_value_t item = {.tag = tag, .histo = &copy, .value_case = 5};
  return add_value(writer, step, &item);
}

leat_status_t leat_event_writer_add_graph(leat_event_writer_t* writer, int64_t step,
                                          leat_string_view_t graph_def) {
  leat_pb_event_t event = {.step = step, .graph_def = graph_def, .what_case = 4};
  return leat_event_writer_add(writer, &event);
}

leat_status_t leat_event_reader_open(leat_file_system_t* fs, const char* path,
                                     leat_allocator_t* allocator,
                                     leat_event_reader_t* out_reader) {
  *out_reader = (leat_event_reader_t){0};
  LEAT_RETURN_IF_ERROR(leat_file_open(fs, path, LEAT_FILE_READ, allocator, &out_reader->file));
  leat_record_file_source_initialize(out_reader->file, 0, &out_reader->source);
  leat_record_reader_initialize(&out_reader->source.base, 0, allocator, &out_reader->records);
  return leat_ok_status();
}

void leat_event_reader_close(leat_event_reader_t* reader) {
  if (!reader->file) return;
  leat_record_reader_deinitialize(&reader->records);
  leat_status_free(leat_file_close(reader->file));
  reader->file = NULL;
}

leat_status_t leat_event_reader_next(leat_event_reader_t* reader, leat_arena_t* arena,
                                     leat_pb_event_t* out_event) {
  leat_string_view_t record;
  *out_event = (leat_pb_event_t){0};
  LEAT_RETURN_IF_ERROR(leat_record_reader_next(&reader->records, &record));
  return leat_message_decode(&leat_pb_event_descriptor, record, arena, NULL, out_event);
}
