// What the files have in common that the cache directory holds of a recording: the index
// (board/trace_index.h) and the delays of its steps (board/trace_delays.h). For those two.
#ifndef LEAT_BOARD_TRACE_FILE_H_
#define LEAT_BOARD_TRACE_FILE_H_

#include <limits.h>

#include "board/trace_store.h"
#include "trace/image_bytes.h"

typedef struct board_trace_kind_s {
  char magic[9];
  const char* suffix;
} board_trace_kind_t;
extern const board_trace_kind_t board_trace_index_kind, board_trace_delays_kind;

typedef struct board_trace_trailer_s {
  char magic[8];
  uint64_t image_bytes, body_bytes, section_bytes;
  uint32_t crc;  // of the other numbers and the section
  uint32_t body_crc;
} board_trace_trailer_t;
_Static_assert(sizeof(board_trace_trailer_t) == 40, "no byte of it is without meaning");

// A file of a recording that is being written.
typedef struct board_trace_making_s {
  const board_trace_kind_t* kind;
  char recording[PATH_MAX];  // its path from the root
  uint32_t recording_crc;    // of its ends
  leat_string_view_t name;   // that the file is to have
  const char* temporary;     // and has
  bool is_kept;
  leat_file_t* file;
  board_trace_trailer_t trailer;
} board_trace_making_t;

// Maps the file of |kind| that |cache| has of the recording of |trace|. False where there is none,
// or it is damaged, of another version, or of another state of the recording. What follows the
// identity in the section is then at |*out_section|. The mapping is to be unmapped.
bool board_trace_file_open(const board_stored_trace_t* trace, const board_trace_kind_t* kind,
                           const char* cache, board_trace_mapping_t* out_mapping,
                           board_trace_trailer_t* out_trailer, leat_image_reader_t* out_section);
// The same of a file that is mapped.
bool board_trace_file_take(const board_stored_trace_t* trace, const board_trace_kind_t* kind,
                           const char* recording, const board_trace_mapping_t* mapping,
                           board_trace_trailer_t* out_trailer, leat_image_reader_t* out_section);
// Begins a file of the recording of |trace| in |cache|, or where that is NULL in the directory for
// temporary files. Texts lie in |arena|. To be ended, after a failure too.
LEAT_MUST_USE leat_status_t board_trace_file_begin(const board_stored_trace_t* trace,
                                                   const board_trace_kind_t* kind,
                                                   const char* cache, leat_arena_t* arena,
                                                   board_trace_making_t* out_making);
// Writes a part of the body, behind the image.
LEAT_MUST_USE leat_status_t board_trace_file_write(board_trace_making_t* making, const void* data,
                                                   size_t size);
// Writes the section, which is the identity and |rest|, and the trailer. The file is whole then,
// and is mapped.
LEAT_MUST_USE leat_status_t board_trace_file_finish(board_trace_making_t* making,
                                                    const board_stored_trace_t* trace,
                                                    const leat_string_builder_t* rest,
                                                    board_trace_mapping_t* out_mapping);
// Gives the file its name if |is_whole|, and removes it otherwise, and where nothing is kept. What
// is mapped stays so.
void board_trace_file_end(board_trace_making_t* making, bool is_whole);

// Maps what was written so far of a file.
LEAT_MUST_USE leat_status_t board_trace_file_map(board_trace_making_t* making,
                                                 board_trace_mapping_t* out_mapping);
void board_trace_file_unmap(board_trace_mapping_t* mapping);  // an empty one is allowed
// Removes the files of recordings that are gone, and what boards that died had begun to write.
void board_trace_file_sweep(const char* cache);

#endif  // LEAT_BOARD_TRACE_FILE_H_
