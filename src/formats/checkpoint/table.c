// Reads sorted tables (table.h has the layout): a look-up by key, and a cursor that visits the
// entries in order. A cursor is two cursors of blocks, one in the index and one in the data block
// to which the index points:
//
//   index block  | key >= last of block 0 ─▶ handle | key >= last of block 1 ─▶ handle | ...
//                                                       └─▶ data block 1: | key, value | ...
//
// The index block is read when the table is opened and stays in memory. A data block is held only
// while a cursor is in it, so that a checkpoint of many gigabytes can be searched with little
// memory. Each block is tested against the size of the file and its checksum before it is used. A
// table does not change after it was opened, so several threads may read it, each with its own
// cursor.
#include "formats/checkpoint/table.h"

#include "base/checked.h"
#include "base/crc32c.h"
#include "formats/record/snappy_block.h"
#include "formats/wire/wire.h"

struct leat_table_s {
  leat_allocator_t* allocator;
  leat_file_t* file;
  uint64_t file_size;
  char* index;
  size_t index_size;
};

typedef struct handle_s {
  uint64_t offset;
  uint64_t size;
} handle_t;

static leat_status_t corrupt(const leat_table_t* table, const char* what) {
  return leat_make_status(LEAT_DATA_LOSS, "Table read failed for '%s': %s", table->file->path,
                          what);
}

static const uint8_t* read_handle(const uint8_t* next, const uint8_t* end, handle_t* out_handle) {
  next = leat_wire_read_varint(next, end, &out_handle->offset);
  return next ? leat_wire_read_varint(next, end, &out_handle->size) : NULL;
}

// Uncompresses the block in |bytes|, whose byte behind the end names the compression. On success
// |bytes| is either the result itself or freed; on failure it still belongs to the caller.
static leat_status_t uncompress(const leat_table_t* table, char* bytes, size_t size,
                                char** out_data, size_t* out_size) {
  switch ((uint8_t)bytes[size]) {
    case LEAT_TABLE_UNCOMPRESSED:
      *out_data = bytes;
      *out_size = size;
      return leat_ok_status();
    case LEAT_TABLE_SNAPPY: {
      leat_status_t status = leat_snappy_decompress(leat_string_view_make(bytes, size),
                                                    table->allocator, out_data, out_size);
      if (leat_status_is_ok(status)) leat_allocator_free(table->allocator, bytes);
      return leat_status_annotate(status, "'%s'", table->file->path);
    }
    default:
      return corrupt(table, "compression of a block is unknown");
  }
}

// The block at |handle|, checked and uncompressed; the caller frees it.
static leat_status_t read_block(const leat_table_t* table, handle_t handle, char** out_data,
                                size_t* out_size) {
  uint64_t end;
  char* bytes = NULL;
  *out_data = NULL;
  if (!leat_checked_add(handle.offset, handle.size, &end) ||
      !leat_checked_add(end, (uint64_t)LEAT_TABLE_TRAILER_BYTES, &end) ||
      end > table->file_size) {
    return corrupt(table, "a block lies outside the file");
  }
  size_t size = (size_t)handle.size;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(
      table->allocator, 16, size + LEAT_TABLE_TRAILER_BYTES, (void**)&bytes));
  leat_status_t status = leat_file_read_exactly(table->file, handle.offset, bytes,
                                                size + LEAT_TABLE_TRAILER_BYTES);
  if (leat_status_is_ok(status) &&
      leat_crc32c_mask(leat_crc32c(bytes, size + 1)) != leat_wire_load32(bytes + size + 1)) {
    status = corrupt(table, "checksum of a block does not match");
  }
  if (leat_status_is_ok(status)) status = uncompress(table, bytes, size, out_data, out_size);
  if (!leat_status_is_ok(status)) leat_allocator_free(table->allocator, bytes);
  return status;
}

// Reads the footer at the end of the file, and the index block that it points at.
static leat_status_t read_index(leat_table_t* table) {
  uint8_t footer[LEAT_TABLE_FOOTER_BYTES];
  handle_t metaindex, index;
  if (table->file_size < LEAT_TABLE_FOOTER_BYTES) {
    return corrupt(table, "not an sstable: the file is too short");
  }
  LEAT_RETURN_IF_ERROR(leat_file_read_exactly(
      table->file, table->file_size - LEAT_TABLE_FOOTER_BYTES, footer, sizeof(footer)));
  if (leat_wire_load64(footer + 40) != LEAT_TABLE_MAGIC) {
    return corrupt(table, "not an sstable: the magic number is another");
  }
  const uint8_t* next = read_handle(footer, footer + 40, &metaindex);
  if (next) next = read_handle(next, footer + 40, &index);
  if (!next) return corrupt(table, "the footer is malformed");
  return read_block(table, index, &table->index, &table->index_size);
}

leat_status_t leat_table_open(leat_file_system_t* fs, const char* path,
                              leat_allocator_t* allocator, leat_table_t** out_table) {
  leat_table_t* table;
  leat_status_t status = leat_ok_status();
  *out_table = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &table));
  table->allocator = allocator;
  LEAT_GOTO_IF_ERROR(status,
                     leat_file_open(fs, path, LEAT_FILE_READ, allocator, &table->file));
  LEAT_GOTO_IF_ERROR(status, table->file->vtable->size(table->file, &table->file_size));
  LEAT_GOTO_IF_ERROR(status, read_index(table));
  *out_table = table;
  return leat_ok_status();
cleanup:
  leat_table_free(table);
  return status;
}

void leat_table_free(leat_table_t* table) {
  if (!table) return;
  leat_status_free(leat_file_close(table->file));
  leat_allocator_free(table->allocator, table->index);
  leat_allocator_free(table->allocator, table);
}

static void leave_block(leat_table_cursor_t* cursor) {
  if (!cursor->block) return;
  leat_table_block_cursor_deinitialize(&cursor->entries);
  leat_allocator_free(cursor->table->allocator, cursor->block);
  cursor->block = NULL;
}

// Goes into the data block of the index cursor's entry.
static leat_status_t enter_block(leat_table_cursor_t* cursor) {
  const leat_table_t* table = cursor->table;
  leat_string_view_t value = cursor->index.value;
  handle_t handle;
  size_t size;
  leave_block(cursor);
  const uint8_t* begin = (const uint8_t*)value.data;
  if (!read_handle(begin, begin + value.size, &handle)) {
    return corrupt(table, "a block's handle is malformed");
  }
  LEAT_RETURN_IF_ERROR(read_block(table, handle, &cursor->block, &size));
  return leat_table_block_cursor_initialize(leat_string_view_make(cursor->block, size),
                                            table->allocator, &cursor->entries);
}

// Makes the current entry visible in the cursor's |key| and |value|.
static void publish(leat_table_cursor_t* cursor) {
  cursor->is_valid = cursor->block && cursor->entries.is_valid;
  if (!cursor->is_valid) return;
  cursor->key = leat_string_builder_view(&cursor->entries.key);
  cursor->value = cursor->entries.value;
}

// When the current data block has no entry left, goes to the first entry of the next block that has
// one.
static leat_status_t skip_finished_blocks(leat_table_cursor_t* cursor) {
  while (cursor->block && !cursor->entries.is_valid) {
    LEAT_RETURN_IF_ERROR(leat_table_block_cursor_next(&cursor->index));
    if (!cursor->index.is_valid) {
      leave_block(cursor);
      break;
    }
    LEAT_RETURN_IF_ERROR(enter_block(cursor));
    LEAT_RETURN_IF_ERROR(leat_table_block_cursor_next(&cursor->entries));
  }
  publish(cursor);
  return leat_ok_status();
}

leat_status_t leat_table_cursor_initialize(const leat_table_t* table,
                                           leat_table_cursor_t* out_cursor) {
  *out_cursor = (leat_table_cursor_t){.table = table};
  return leat_table_block_cursor_initialize(leat_string_view_make(table->index, table->index_size),
                                            table->allocator, &out_cursor->index);
}

void leat_table_cursor_deinitialize(leat_table_cursor_t* cursor) {
  if (!cursor->table) return;
  leave_block(cursor);
  leat_table_block_cursor_deinitialize(&cursor->index);
  cursor->table = NULL;
}

leat_status_t leat_table_cursor_seek(leat_table_cursor_t* cursor, leat_string_view_t key) {
  cursor->is_valid = false;
  leave_block(cursor);
  LEAT_RETURN_IF_ERROR(leat_table_block_cursor_seek(&cursor->index, key));
  if (!cursor->index.is_valid) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(enter_block(cursor));
  LEAT_RETURN_IF_ERROR(leat_table_block_cursor_seek(&cursor->entries, key));
  return skip_finished_blocks(cursor);
}

leat_status_t leat_table_cursor_next(leat_table_cursor_t* cursor) {
  cursor->is_valid = false;
  if (!cursor->block) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(leat_table_block_cursor_next(&cursor->entries));
  return skip_finished_blocks(cursor);
}

leat_status_t leat_table_find(const leat_table_t* table, leat_string_view_t key,
                              leat_arena_t* arena, leat_string_view_t* out_value) {
  leat_table_cursor_t cursor;
  leat_status_t status = leat_table_cursor_initialize(table, &cursor);
  if (leat_status_is_ok(status)) status = leat_table_cursor_seek(&cursor, key);
  if (leat_status_is_ok(status)) {
    if (cursor.is_valid && leat_string_view_equal(cursor.key, key)) {
      status = leat_arena_copy_string(arena, cursor.value, out_value);
    } else {
      status = leat_make_status(LEAT_NOT_FOUND, "Table read failed for '%s': key %.*s is not there",
                                table->file->path, LEAT_SV_ARG(key));
    }
  }
  leat_table_cursor_deinitialize(&cursor);
  return status;
}
