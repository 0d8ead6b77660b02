// Recordings of threads below the log directory: their list, and the one that was looked at last,
// since each movement on its page asks for it again. What was read of that one is kept in an index
// file (board/trace_index.h). Without a cache directory it is kept in memory or, if it is large, in
// a temporary file. When a recording has been read, a thread of the store finds the delays of its
// steps.
#ifndef LEAT_BOARD_TRACE_STORE_H_
#define LEAT_BOARD_TRACE_STORE_H_

#include "trace/delay.h"

typedef struct board_trace_store_s board_trace_store_t;

// How often a name occurs in a recording, how long in all, and where it took longest.
typedef struct board_trace_name_s {
  uint64_t count;
  int64_t total_ns, longest_ns;
  uint32_t row, lane;
  size_t slice;
} board_trace_name_t;

// A file that is mapped; NULL: none is.
typedef struct board_trace_mapping_s {
  void* data;
  size_t size_bytes;
} board_trace_mapping_t;

typedef struct board_stored_trace_s {
  leat_timeline_t* timeline;
  board_trace_name_t* names;  // of timeline->names
  leat_delays_t* delays;      // for who walks them; others use board_trace_store_delays
  // The rest is the store's.
  char* path;
  leat_file_stat_t stat;
  board_trace_mapping_t index;        // in which |timeline| lies; NULL: it is in memory
  board_trace_mapping_t delays_file;  // in which |delays| lie, likewise
  leat_string_view_t runs;            // of all lanes, in the index
  uint32_t runs_crc;
  // Whether slices are what was written, so that delays may be walked (board_trace_index_verify).
  // They are where |delays| is NULL: then these are being found, or could not be.
  bool is_verified;
  leat_status_t unfound;                   // why not
  struct board_stored_trace_s* next_open;  // of those whose delays are being found
  uint32_t users;
} board_stored_trace_t;

// A file with a recording; |name| is its path below the log directory.
typedef struct board_trace_file_s {
  leat_string_view_t name;
  leat_file_stat_t stat;
} board_trace_file_t;

// |cache|: the directory of index files, which must outlive the store; NULL: none are kept.
LEAT_MUST_USE leat_status_t board_trace_store_create(const char* cache,
                                                     board_trace_store_t** out_store);
// NULL is allowed. Nothing may be in use.
void board_trace_store_free(board_trace_store_t* store);
// The recordings below |logdir|, by name; symbolic links are not followed. A directory that cannot
// be read has none.
LEAT_MUST_USE leat_status_t board_trace_store_list(const char* logdir, leat_arena_t* arena,
                                                   board_trace_file_t** out_files,
                                                   size_t* out_count);
// The recording |name| below |logdir|, which stays until it is released. Any thread. Reading takes
// seconds, and makes nobody wait but those who ask for the same recording: of two that do at once
// the second gets what the first one read. Who |walks| the delays (leat_delays_path) says so, and
// waits until they are found, which takes longer than the reading. For that, too, all slices of an
// index must be verified, which takes a second for some gigabytes, once; where they are damaged,
// the recording is read again. NOT_FOUND where the name is none of a recording, INVALID_ARGUMENT
// where the file is none.
LEAT_MUST_USE leat_status_t board_trace_store_take(board_trace_store_t* store, const char* logdir,
                                                   leat_string_view_t name, bool walks,
                                                   board_stored_trace_t** out_trace);
// The delays of a recording that was taken, as far as they do not lead to its slices; NULL: they
// are being found. The error is why they could not be.
LEAT_MUST_USE leat_status_t board_trace_store_delays(board_trace_store_t* store,
                                                     const board_stored_trace_t* trace,
                                                     const leat_delays_t** out_delays);
void board_trace_store_release(board_trace_store_t* store, board_stored_trace_t* trace);

// The recording at |path| without a store, for one look at it: what is large of it lies in a file
// without a name. To be freed with board_trace_free. The codes are those of leat_timeline_read.
LEAT_MUST_USE leat_status_t board_trace_read(const char* path, board_stored_trace_t** out_trace);
void board_trace_free(board_stored_trace_t* trace);  // NULL is allowed
// Counts the names of the trace's timeline, for board/trace_index.c.
LEAT_MUST_USE leat_status_t board_trace_count_names(board_stored_trace_t* trace);

#endif  // LEAT_BOARD_TRACE_STORE_H_
