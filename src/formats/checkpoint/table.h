// Sorted tables of byte strings in a file, in LevelDB's format: checkpoints of the first version,
// and the indexes of the second.
//
//   data block*, metaindex block, index block, footer
//   block      bytes, u8 how they are compressed (0: not, 1: Snappy), u32 masked crc32c of both
//   index      key >= the last of a data block -> handle of it (varint offset, varint size)
//   footer     handles of metaindex and index, zeros up to 40 bytes, u64 magic
//
// Keys are written in ascending order, each once. A table that was opened does not change and may
// be read by several threads, each with a cursor of its own. What is read of a file is checked:
// DATA_LOSS, never a crash.
#ifndef LEAT_FORMATS_CHECKPOINT_TABLE_H_
#define LEAT_FORMATS_CHECKPOINT_TABLE_H_

#include "base/arena.h"
#include "base/file_system.h"
#include "formats/checkpoint/table_block.h"

// Numbers of the format, for reader and writer. The trailer stands behind each block; every 16th
// key of a data block is stored whole.
#define LEAT_TABLE_MAGIC UINT64_C(0xdb4775248b80fb57)
#define LEAT_TABLE_FOOTER_BYTES 48
#define LEAT_TABLE_TRAILER_BYTES 5
#define LEAT_TABLE_RESTART_INTERVAL 16
#define LEAT_TABLE_UNCOMPRESSED 0
#define LEAT_TABLE_SNAPPY 1

typedef struct leat_table_s leat_table_t;

// Reads the footer and the index; the file stays open until the table is freed. DATA_LOSS when it
// is no sound table, NOT_FOUND when there is no file.
LEAT_MUST_USE leat_status_t leat_table_open(leat_file_system_t* fs, const char* path,
                                            leat_allocator_t* allocator, leat_table_t** out_table);
void leat_table_free(leat_table_t* table);  // NULL is allowed

// A place in a table. Key and value are valid until the cursor moves, and only while |is_valid|.
typedef struct leat_table_cursor_s {
  const leat_table_t* table;
  bool is_valid;
  leat_string_view_t key;
  leat_string_view_t value;
  leat_table_block_cursor_t index;
  leat_table_block_cursor_t entries;
  // The data block in memory that |entries| walks through.
  char* block;
} leat_table_cursor_t;

// A cursor that is at no entry yet; seek comes first. |table| must outlive it. It may be
// deinitialized after a failure too.
LEAT_MUST_USE leat_status_t leat_table_cursor_initialize(const leat_table_t* table,
                                                         leat_table_cursor_t* out_cursor);
void leat_table_cursor_deinitialize(leat_table_cursor_t* cursor);
// To the first entry whose key is >= |key| (the empty key: to the first entry); none: not valid.
LEAT_MUST_USE leat_status_t leat_table_cursor_seek(leat_table_cursor_t* cursor,
                                                   leat_string_view_t key);
// To the entry behind; the cursor is not valid when there is none.
LEAT_MUST_USE leat_status_t leat_table_cursor_next(leat_table_cursor_t* cursor);

// The value of |key|, copied into |arena|; NOT_FOUND when there is none.
LEAT_MUST_USE leat_status_t leat_table_find(const leat_table_t* table, leat_string_view_t key,
                                            leat_arena_t* arena, leat_string_view_t* out_value);

// Writes a table at the end of |file| (borrowed), uncompressed. The fields are the writer's own.
// One thread at a time.
typedef struct leat_table_writer_s {
  leat_file_t* file;
  uint64_t offset;
  size_t block_size;
  leat_table_block_builder_t entries;
  leat_table_block_builder_t index;
  leat_string_builder_t last_key;
  bool has_key;
} leat_table_writer_t;

#define LEAT_TABLE_BLOCK_SIZE (256 * 1024)  // TensorFlow's

// |file| is empty; |block_size| 0 takes LEAT_TABLE_BLOCK_SIZE.
void leat_table_writer_initialize(leat_file_t* file, size_t block_size,
                                  leat_allocator_t* allocator, leat_table_writer_t* out_writer);
void leat_table_writer_deinitialize(leat_table_writer_t* writer);
// Keys must come in byte order, each once (INVALID_ARGUMENT).
LEAT_MUST_USE leat_status_t leat_table_writer_add(leat_table_writer_t* writer,
                                                  leat_string_view_t key,
                                                  leat_string_view_t value);
// Writes what is left, index and footer. Nothing may be added after.
LEAT_MUST_USE leat_status_t leat_table_writer_finish(leat_table_writer_t* writer);

#endif  // LEAT_FORMATS_CHECKPOINT_TABLE_H_
