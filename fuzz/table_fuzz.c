// Tables on arbitrary bytes: as a file, and as a block whose checksum would be right; and Snappy.
#include "formats/checkpoint/table.h"
#include "formats/record/snappy_block.h"
#include "memory_file.h"

static leat_status_t walk_table(leat_table_t* table) {
  leat_table_cursor_t cursor;
  leat_status_t status = leat_table_cursor_initialize(table, &cursor);
  if (!status) status = leat_table_cursor_seek(&cursor, LEAT_SV(""));
  while (!status && cursor.is_valid) status = leat_table_cursor_next(&cursor);
  if (!status) status = leat_table_cursor_seek(&cursor, LEAT_SV("m"));
  leat_table_cursor_deinitialize(&cursor);
  return status;
}

static void walk_block(leat_string_view_t block) {
  leat_table_block_cursor_t cursor;
  leat_status_t status =
      leat_table_block_cursor_initialize(block, leat_allocator_system(), &cursor);
  if (!status) status = leat_table_block_cursor_seek(&cursor, LEAT_SV("m"));
  while (!status && cursor.is_valid) status = leat_table_block_cursor_next(&cursor);
  leat_status_free(status);
  leat_table_block_cursor_deinitialize(&cursor);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  memory_file_system_t fs;
  leat_table_t* table;
  char* bytes;
  size_t count;
  leat_string_view_t view = leat_string_view_make((const char*)data, size);
  memory_file_system_initialize(data, size, &fs);
  leat_status_t status = leat_table_open(&fs.base, "t", leat_allocator_system(), &table);
  if (!status) {
    status = walk_table(table);
    leat_table_free(table);
  }
  leat_status_free(status);
  walk_block(view);
  status = leat_snappy_decompress(view, leat_allocator_system(), &bytes, &count);
  if (!status) leat_allocator_free(leat_allocator_system(), bytes);
  leat_status_free(status);
  return 0;
}
