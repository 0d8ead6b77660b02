// Writes sorted tables (table.h has the layout). Entries must come in the order of their keys; they
// are collected in a data block, which is written when it is full. The index receives one entry for
// each data block, and is itself the last block before the footer.
//
// The index's key for a block is the shortest one that is not smaller than the block's last key and
// smaller than the next block's first key: any such key separates the two, and a short one keeps
// the index small. A full block is therefore written only when the next key is known. Blocks end
// exactly where TensorFlow's writer ends them, so that the same entries give the same file, byte
// for byte. Nothing is compressed, as in TensorFlow's checkpoints.
#include "base/crc32c.h"
#include "formats/checkpoint/table.h"
#include "formats/wire/wire.h"

void leat_table_writer_initialize(leat_file_t* file, size_t block_size,
                                  leat_allocator_t* allocator, leat_table_writer_t* out_writer) {
  *out_writer = (leat_table_writer_t){
      .file = file, .block_size = block_size ? block_size : LEAT_TABLE_BLOCK_SIZE};
  leat_table_block_builder_initialize(allocator, &out_writer->entries);
  leat_table_block_builder_initialize(allocator, &out_writer->index);
  leat_string_builder_initialize(allocator, &out_writer->last_key);
}

void leat_table_writer_deinitialize(leat_table_writer_t* writer) {
  leat_table_block_builder_deinitialize(&writer->entries);
  leat_table_block_builder_deinitialize(&writer->index);
  leat_string_builder_deinitialize(&writer->last_key);
}

static leat_status_t write_bytes(leat_table_writer_t* writer, const void* data, size_t size) {
  LEAT_RETURN_IF_ERROR(writer->file->vtable->write(writer->file, data, size));
  writer->offset += size;
  return leat_ok_status();
}

// Writes the builder's block with its trailer and clears the builder. |out_handle|, which has room
// for 20 bytes, receives the block's offset and size as two varints.
static leat_status_t write_block(leat_table_writer_t* writer, leat_table_block_builder_t* builder,
                                 uint8_t* out_handle, size_t* out_handle_size) {
  leat_string_view_t block;
  uint8_t trailer[LEAT_TABLE_TRAILER_BYTES] = {LEAT_TABLE_UNCOMPRESSED};
  LEAT_RETURN_IF_ERROR(leat_table_block_builder_finish(builder, &block));
  uint8_t* end = leat_wire_write_varint(out_handle, writer->offset);
  end = leat_wire_write_varint(end, block.size);
  *out_handle_size = (size_t)(end - out_handle);
  uint32_t crc = leat_crc32c_extend(leat_crc32c(block.data, block.size), trailer, 1);
  leat_wire_store32(trailer + 1, leat_crc32c_mask(crc));
  LEAT_RETURN_IF_ERROR(write_bytes(writer, block.data, block.size));
  LEAT_RETURN_IF_ERROR(write_bytes(writer, trailer, sizeof(trailer)));
  leat_table_block_builder_clear(builder);
  return leat_ok_status();
}

// Makes |key| the shortest key that is not smaller than it and is smaller than |next|. Without
// |next|, which is the case for the last block, only the first condition holds.
static void shorten(leat_string_builder_t* key, const leat_string_view_t* next) {
  size_t i = 0;
  if (next) {
    while (i < key->size && i < next->size && key->data[i] == next->data[i]) ++i;
    if (i == key->size || i == next->size) return;  // a prefix of the other
  } else {
    while (i < key->size && (uint8_t)key->data[i] == 0xff) ++i;
    if (i == key->size) return;
  }
  uint8_t byte = (uint8_t)key->data[i];
  if (byte == 0xff || (next && byte + 1 >= (uint8_t)next->data[i])) return;
  key->data[i] = (char)(byte + 1);
  key->size = i + 1;
}

// Writes the data block and its entry in the index. |next_key| is NULL for the last block.
static leat_status_t finish_data_block(leat_table_writer_t* writer,
                                       const leat_string_view_t* next_key) {
  uint8_t handle[2 * LEAT_WIRE_MAX_VARINT_BYTES];
  size_t size;
  LEAT_RETURN_IF_ERROR(write_block(writer, &writer->entries, handle, &size));
  shorten(&writer->last_key, next_key);
  return leat_table_block_builder_add(&writer->index, leat_string_builder_view(&writer->last_key),
                                      leat_string_view_make((const char*)handle, size), 1);
}

// Whether the block is written before an entry of |next_bytes| is added.
static bool block_is_full(const leat_table_writer_t* writer, size_t next_bytes) {
  const leat_table_block_builder_t* entries = &writer->entries;
  size_t estimate = entries->bytes.size + (entries->restart_count + 1) * sizeof(uint32_t);
  return entries->bytes.size > 0 &&
         (estimate >= writer->block_size || next_bytes / 2 >= writer->block_size);
}

leat_status_t leat_table_writer_add(leat_table_writer_t* writer, leat_string_view_t key,
                                    leat_string_view_t value) {
  if (writer->has_key &&
      leat_string_view_compare(leat_string_builder_view(&writer->last_key), key) >= 0) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Table write failed for '%s': key %.*s comes after %.*s, must be "
                            "greater",
                            writer->file->path, LEAT_SV_ARG(key),
                            LEAT_SV_ARG(leat_string_builder_view(&writer->last_key)));
  }
  if (block_is_full(writer, key.size + value.size)) {
    LEAT_RETURN_IF_ERROR(finish_data_block(writer, &key));
  }
  LEAT_RETURN_IF_ERROR(
      leat_table_block_builder_add(&writer->entries, key, value, LEAT_TABLE_RESTART_INTERVAL));
  writer->has_key = true;
  writer->last_key.size = 0;
  leat_string_builder_append(&writer->last_key, key);
  return leat_status_clone(writer->last_key.status);
}

leat_status_t leat_table_writer_finish(leat_table_writer_t* writer) {
  leat_table_block_builder_t metaindex;
  uint8_t footer[LEAT_TABLE_FOOTER_BYTES] = {0};
  size_t first, second;
  if (writer->entries.bytes.size > 0) LEAT_RETURN_IF_ERROR(finish_data_block(writer, NULL));
  leat_table_block_builder_initialize(writer->last_key.allocator, &metaindex);
  leat_status_t status = write_block(writer, &metaindex, footer, &first);
  leat_table_block_builder_deinitialize(&metaindex);
  LEAT_RETURN_IF_ERROR(status);
  LEAT_RETURN_IF_ERROR(write_block(writer, &writer->index, footer + first, &second));
  leat_wire_store64(footer + 40, LEAT_TABLE_MAGIC);
  return write_bytes(writer, footer, sizeof(footer));
}
