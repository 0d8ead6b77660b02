// Event files: the bytes as they are, and as the contents of records whose sizes and checksums are
// right (u8 size, bytes, again).
#include "base/crc32c.h"
#include "formats/record/event.h"
#include "memory_file.h"

static void append_number(leat_string_builder_t* out, uint64_t number, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; ++i) text[i] = (char)(number >> 8 * i);
  leat_string_builder_append(out, leat_string_view_make(text, (size_t)bytes));
}

static uint32_t masked(const void* data, size_t size) {
  return leat_crc32c_mask(leat_crc32c(data, size));
}

static void append_record(leat_string_builder_t* out, const uint8_t* data, size_t size) {
  char length[8];
  for (int i = 0; i < 8; ++i) length[i] = (char)((uint64_t)size >> 8 * i);
  append_number(out, size, 8);
  append_number(out, masked(length, 8), 4);
  leat_string_builder_append(out, leat_string_view_make((const char*)data, size));
  append_number(out, masked(data, size), 4);
}

static void read_events(const uint8_t* data, size_t size) {
  memory_file_system_t fs;
  leat_event_reader_t reader;
  leat_arena_t arena;
  memory_file_system_initialize(data, size, &fs);
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_event_reader_open(&fs.base, "events", leat_allocator_system(), &reader);
  if (!status) {
    leat_pb_event_t event;
    int refused = 0;
    do {
      leat_status_free(status);
      status = leat_event_reader_next(&reader, &arena, &event);
      // An event that does not decode is passed over.
    } while (!status || ++refused < 4);
    leat_event_reader_close(&reader);
  }
  leat_status_free(status);
  leat_arena_deinitialize(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  leat_string_builder_t records;
  read_events(data, size);
  leat_string_builder_initialize(leat_allocator_system(), &records);
  for (size_t at = 0; at < size;) {
    size_t length = data[at++];
    if (length > size - at) length = size - at;
    append_record(&records, data + at, length);
    at += length;
  }
  leat_string_view_t view = leat_string_builder_view(&records);
  read_events((const uint8_t*)view.data, view.size);
  leat_string_builder_deinitialize(&records);
  return 0;
}
