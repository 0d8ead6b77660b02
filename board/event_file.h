// Follows one event file while it is written, record by record.
//
//   board_event_file_t file;
//   board_event_file_initialize(path, 0, &file);
//   LEAT_RETURN_IF_ERROR(board_event_file_open(&file));
//   while (board_event_file_next(&file, &record)) ...
//   board_event_file_close(&file);   // and open it again when it has grown
//
// A record that is not whole yet ends the walk and is read again later. One that is damaged is
// stepped over and counted. Nothing here trusts a length: memory is taken for bytes that are there.
// A file belongs to one thread at a time.
#ifndef LEAT_BOARD_EVENT_FILE_H_
#define LEAT_BOARD_EVENT_FILE_H_

#include "base/file_system.h"

typedef struct board_event_file_s {
  char* path;  // owned
  leat_file_t* file;  // NULL while it is closed
  uint64_t offset;  // where the next record begins
  uint64_t size;  // of the file when it was opened
  uint64_t damaged;  // records that were stepped over
  uint64_t searched;  // behind a damaged length: up to here no record begins
  uint64_t last_length;  // of the last head that was right, and its checksum
  uint32_t last_checksum;
  // The bytes of the file from |window_offset| on.
  char* window;
  size_t window_capacity, window_size;
  uint64_t window_offset;
  leat_status_t broken;  // the error that ended the last walk, or OK
} board_event_file_t;

typedef struct board_record_s {
  leat_string_view_t bytes;  // valid until the next call
  uint64_t offset;           // of the bytes in the file
} board_record_t;

// |path| is copied.
LEAT_MUST_USE leat_status_t board_event_file_initialize(const char* path,
                                                        board_event_file_t* out_file);
void board_event_file_deinitialize(board_event_file_t* file);
LEAT_MUST_USE leat_status_t board_event_file_open(board_event_file_t* file);
// Frees the window too, so that a thousand files at rest hold nothing.
void board_event_file_close(board_event_file_t* file);
// The next whole record. false where there is none yet, or when reading failed: |broken| says so.
bool board_event_file_next(board_event_file_t* file, board_record_t* out_record);
// |size| bytes at |offset| of the file |path|, for the caller to free; NOT_FOUND, OUT_OF_RANGE.
LEAT_MUST_USE leat_status_t board_event_file_read(const char* path, uint64_t offset, uint32_t size,
                                                  char** out_bytes);

#endif  // LEAT_BOARD_EVENT_FILE_H_
