// The file is read through a window of memory, 256 KiB at a time, which stays in the cache of a
// core while its records are checked and decoded. The window grows only to hold a record that is
// longer, and only when the file has as many bytes: a length that lies costs nothing.
//
// What follows a damaged record is still wanted. Where the length's own checksum holds, the length
// is right and the next record begins behind it. Where it does not, the next record is searched:
// the first place where a length, the length's checksum and the checksum of as many bytes fit each
// other. Where nothing fits, the file may still grow, so the walk ends there, and later calls
// search only what is new. The run that owns the file calls this, on the thread that loads it.
#include "board/event_file.h"

#include "base/crc32c.h"
#include "formats/wire/wire.h"

#define HEAD_BYTES 12
#define FOOT_BYTES 4
#define WINDOW_BYTES ((size_t)256 << 10)

leat_status_t board_event_file_initialize(const char* path, board_event_file_t* out_file) {
  // The length 0 has another checksum than 0, so that no head is right before one was checked.
  *out_file = (board_event_file_t){0};
  return leat_allocator_clone_string(leat_allocator_system(), path, strlen(path), &out_file->path);
}

void board_event_file_deinitialize(board_event_file_t* file) {
  board_event_file_close(file);
  leat_allocator_free(leat_allocator_system(), file->path);
  file->path = NULL;
}

leat_status_t board_event_file_open(board_event_file_t* file) {
  leat_status_free(file->broken);
  file->broken = leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_file_open(leat_file_system_default(), file->path, LEAT_FILE_READ,
                                      leat_allocator_system(), &file->file));
  return file->file->vtable->size(file->file, &file->size);
}

void board_event_file_close(board_event_file_t* file) {
  if (file->file) leat_status_free(leat_file_close(file->file));
  leat_allocator_free(leat_allocator_system(), file->window);
  leat_status_free(file->broken);
  file->broken = leat_ok_status();
  file->file = NULL;
  file->window = NULL;
  file->window_capacity = file->window_size = 0;
}

// Reads the window from |offset| on, so that it has |size| bytes; false when they are not all
// there, or on an error, which |broken| keeps.
static bool move_window(board_event_file_t* file, uint64_t offset, uint64_t size) {
  if (file->broken || offset > file->size || size > file->size - offset) return false;
  size_t wanted = size > WINDOW_BYTES ? (size_t)size : WINDOW_BYTES;
  if (wanted > file->window_capacity) {
    char* grown;
    file->broken = leat_allocator_allocate_uninitialized(leat_allocator_system(), 16, wanted,
                                                         (void**)&grown);
    if (file->broken) return false;
    leat_allocator_free(leat_allocator_system(), file->window);
    file->window = grown;
    file->window_capacity = wanted;
  }
  file->window_offset = offset;
  file->window_size = 0;
  file->broken = file->file->vtable->read_at(file->file, offset, file->window,
                                             file->window_capacity, &file->window_size);
  return !file->broken && file->window_size >= size;
}

// Makes |*out_data| the |size| bytes at |offset|; false as in move_window.
static inline bool see(board_event_file_t* file, uint64_t offset, uint64_t size,
                       const char** out_data) {
  uint64_t at = offset - file->window_offset;  // huge where |offset| lies before the window
  if (LEAT_UNLIKELY(at > file->window_size || size > file->window_size - at)) {
    if (!move_window(file, offset, size)) return false;
    at = 0;
  }
  *out_data = file->window + at;
  return true;
}

static bool is_length(const char* head, uint64_t* out_length) {
  *out_length = leat_wire_load64(head);
  return leat_crc32c_mask(leat_crc32c(head, 8)) == leat_wire_load32(head + 8);
}

// The same for the next record, which mostly is as long as one before: an equal head is right too.
static inline bool is_next_length(board_event_file_t* file, const char* head,
                                  uint64_t* out_length) {
  uint32_t checksum = leat_wire_load32(head + 8);
  *out_length = leat_wire_load64(head);
  if (LEAT_LIKELY(*out_length == file->last_length && checksum == file->last_checksum)) {
    return true;
  }
  if (!is_length(head, out_length)) return false;
  file->last_length = *out_length;
  file->last_checksum = checksum;
  return true;
}

static bool is_body(const char* body, uint64_t length) {
  return leat_crc32c_mask(leat_crc32c(body, (size_t)length)) == leat_wire_load32(body + length);
}

// Moves to the next place at or behind |searched| where a whole record lies; false when none does
// yet. A place whose length leads beyond the end of the file is looked at again when the file has
// grown, and all before it never again.
static bool search(board_event_file_t* file) {
  const char* data;
  uint64_t length, at = file->searched, unfinished = 0;
  for (; see(file, at, HEAD_BYTES, &data); ++at) {
    if (!is_length(data, &length)) continue;
    if (length > file->size || !see(file, at + HEAD_BYTES, length + FOOT_BYTES, &data)) {
      if (!unfinished) unfinished = at;
    } else if (is_body(data, length)) {
      file->offset = at;
      file->searched = 0;
      return true;
    }
  }
  file->searched = unfinished ? unfinished : at;
  return false;
}

bool board_event_file_next(board_event_file_t* file, board_record_t* out_record) {
  const char* data;
  uint64_t length;
  while (!file->searched || search(file)) {
    if (!see(file, file->offset, HEAD_BYTES, &data)) return false;
    if (!is_next_length(file, data, &length)) {
      ++file->damaged;
      file->searched = file->offset + 1;
      continue;
    }
    if (length > UINT64_MAX / 2) return false;
    if (!see(file, file->offset + HEAD_BYTES, length + FOOT_BYTES, &data)) return false;
    out_record->offset = file->offset + HEAD_BYTES;
    out_record->bytes = leat_string_view_make(data, (size_t)length);
    file->offset += HEAD_BYTES + length + FOOT_BYTES;
    if (is_body(data, length)) return true;
    ++file->damaged;
  }
  return false;
}

leat_status_t board_event_file_read(const char* path, uint64_t offset, uint32_t size,
                                    char** out_bytes) {
  leat_file_t* file = NULL;
  leat_allocator_t* allocator = leat_allocator_system();
  *out_bytes = NULL;
  LEAT_RETURN_IF_ERROR(
      leat_file_open(leat_file_system_default(), path, LEAT_FILE_READ, allocator, &file));
  leat_status_t status = leat_allocator_allocate_uninitialized(allocator, 16, (size_t)size + 1,
                                                               (void**)out_bytes);
  if (!status) status = leat_file_read_exactly(file, offset, *out_bytes, size);
  if (status) {
    leat_allocator_free(allocator, *out_bytes);
    *out_bytes = NULL;
  }
  leat_status_free(leat_file_close(file));
  return status;
}
