// A block of a table: sorted entries whose keys share prefixes, and the offsets ("restarts") of
// those that share none. A key is stored as the number of bytes that it has in common with the key
// before it, and the rest; a search bisects the restarts, whose keys are whole, and then walks.
//
//   entry*   varint shared, varint unshared, varint value size, the unshared bytes, the value
//   u32*     restarts
//   u32      how many restarts
//
// The data blocks and the index block of a table (formats/checkpoint/table.h) have this form. The
// bytes come from a file, so a cursor checks each entry: what breaks a rule is DATA_LOSS.
#ifndef LEAT_FORMATS_CHECKPOINT_TABLE_BLOCK_H_
#define LEAT_FORMATS_CHECKPOINT_TABLE_BLOCK_H_

#include "base/allocator.h"
#include "base/string_builder.h"
#include "base/string_view.h"

// A place in a block. The block is borrowed. Key and value are valid until the cursor moves.
typedef struct leat_table_block_cursor_s {
  leat_string_view_t block;
  uint32_t restart_count;
  // Bytes before the restarts.
  uint32_t entries_size;
  uint32_t next;  // offset of the entry after the current one
  bool is_valid;  // there is a current entry
  // Put together from the entries since the last restart.
  leat_string_builder_t key;
  // A view of the block.
  leat_string_view_t value;
} leat_table_block_cursor_t;

// DATA_LOSS when the block has no sound restarts. Initialized either way.
LEAT_MUST_USE leat_status_t leat_table_block_cursor_initialize(
    leat_string_view_t block, leat_allocator_t* allocator, leat_table_block_cursor_t* out_cursor);
void leat_table_block_cursor_deinitialize(leat_table_block_cursor_t* cursor);
// To the first entry whose key is >= |key|, in byte order; none: not valid.
LEAT_MUST_USE leat_status_t leat_table_block_cursor_seek(leat_table_block_cursor_t* cursor,
                                                         leat_string_view_t key);
// To the next entry; the first one after initialization.
LEAT_MUST_USE leat_status_t leat_table_block_cursor_next(leat_table_block_cursor_t* cursor);

// Builds a block. Keys must come in order.
typedef struct leat_table_block_builder_s {
  leat_string_builder_t bytes;
  leat_string_builder_t last_key;
  // Offsets in |bytes|, [restart_count]; the builder owns the array.
  uint32_t* restarts;
  size_t restart_count;
  size_t restart_capacity;
  size_t entries_since_restart;
} leat_table_block_builder_t;

void leat_table_block_builder_initialize(leat_allocator_t* allocator,
                                         leat_table_block_builder_t* out_builder);
void leat_table_block_builder_deinitialize(leat_table_block_builder_t* builder);
// Appends an entry; after |restart_interval| entries a key is stored whole (1: every key).
LEAT_MUST_USE leat_status_t leat_table_block_builder_add(leat_table_block_builder_t* builder,
                                                         leat_string_view_t key,
                                                         leat_string_view_t value,
                                                         size_t restart_interval);
// The finished block, valid until the builder is cleared.
LEAT_MUST_USE leat_status_t leat_table_block_builder_finish(leat_table_block_builder_t* builder,
                                                            leat_string_view_t* out_block);
// Begins the next block with the memory of this one.
void leat_table_block_builder_clear(leat_table_block_builder_t* builder);

#endif  // LEAT_FORMATS_CHECKPOINT_TABLE_BLOCK_H_
