// The blocks of a table: reading entries in order, seeking a key, and building a block. In a block
// each key is stored as the number of bytes that it shares with the key before it, and the rest.
// Every few entries there is a restart, an entry whose key is stored whole; the offsets of the
// restarts stand at the block's end, so that a key is sought by bisection over them:
//
//   | shared, rest size, value size, rest, value | ... | u32 restart offsets | u32 their count |
//
// Blocks are read in place, and only the current key is assembled in a builder. Every offset and
// size is tested against the block before it is used. A checksum alone is no reason to trust it: it
// proves that the bytes are those which somebody wrote, not that he wrote a sound block.
#include "formats/checkpoint/table_block.h"

#include "formats/wire/wire.h"

static leat_status_t corrupt(uint32_t offset) {
  return leat_make_status(LEAT_DATA_LOSS, "Table read failed: entry at byte %u of a block is "
                          "malformed", offset);
}

leat_status_t leat_table_block_cursor_initialize(leat_string_view_t block,
                                                 leat_allocator_t* allocator,
                                                 leat_table_block_cursor_t* out_cursor) {
  *out_cursor = (leat_table_block_cursor_t){.block = block};
  leat_string_builder_initialize(allocator, &out_cursor->key);
  size_t count = block.size >= 4 && block.size <= UINT32_MAX
                     ? leat_wire_load32(block.data + block.size - 4) : 0;
  // A block without entries has one restart.
  if (count == 0 || count > (block.size - 4) / 4) {
    return leat_make_status(LEAT_DATA_LOSS, "Table read failed: a block of %zu bytes has %zu "
                            "restarts, must have room for them", block.size, count);
  }
  out_cursor->restart_count = (uint32_t)count;
  out_cursor->entries_size = (uint32_t)(block.size - 4 * (count + 1));
  return leat_ok_status();
}

void leat_table_block_cursor_deinitialize(leat_table_block_cursor_t* cursor) {
  leat_string_builder_deinitialize(&cursor->key);
  cursor->is_valid = false;
}

typedef struct entry_s {
  size_t shared;
  leat_string_view_t unshared;
  leat_string_view_t value;
  uint32_t end;
} entry_t;

// Reads the entry at |offset|; false when it does not fit into the block.
static bool read_entry(const leat_table_block_cursor_t* cursor, uint32_t offset,
                       entry_t* out_entry) {
  const uint8_t* begin = (const uint8_t*)cursor->block.data;
  const uint8_t* end = begin + cursor->entries_size;
  const uint8_t* next = begin + offset;
  uint64_t shared, unshared, value_size;
  next = leat_wire_read_varint(next, end, &shared);
  if (next) next = leat_wire_read_varint(next, end, &unshared);
  if (next) next = leat_wire_read_varint(next, end, &value_size);
  if (!next || unshared > (uint64_t)(end - next) ||
      value_size > (uint64_t)(end - next) - unshared || shared > UINT32_MAX) {
    return false;
  }
  out_entry->shared = (size_t)shared;
  out_entry->unshared = leat_string_view_make((const char*)next, (size_t)unshared);
  out_entry->value = leat_string_view_make((const char*)next + unshared, (size_t)value_size);
  out_entry->end = (uint32_t)(next - begin + unshared + value_size);
  return true;
}

leat_status_t leat_table_block_cursor_next(leat_table_block_cursor_t* cursor) {
  entry_t entry;
  cursor->is_valid = false;
  if (cursor->next >= cursor->entries_size) return leat_ok_status();
  if (!read_entry(cursor, cursor->next, &entry) || entry.shared > cursor->key.size) {
    return corrupt(cursor->next);
  }
  cursor->key.size = entry.shared;
  leat_string_builder_append(&cursor->key, entry.unshared);
  if (cursor->key.status) return leat_status_clone(cursor->key.status);
  cursor->value = entry.value;
  cursor->next = entry.end;
  cursor->is_valid = true;
  return leat_ok_status();
}

// Moves the cursor to just before the entry of restart |index|.
static leat_status_t go_to_restart(leat_table_block_cursor_t* cursor, uint32_t index) {
  uint32_t offset =
      leat_wire_load32(cursor->block.data + cursor->entries_size + (size_t)index * 4);
  if (offset > cursor->entries_size) return corrupt(offset);
  cursor->next = offset;
  cursor->key.size = 0;
  return leat_ok_status();
}

leat_status_t leat_table_block_cursor_seek(leat_table_block_cursor_t* cursor,
                                           leat_string_view_t key) {
  // Finds the last restart whose key is smaller than |key|, or the first restart of all; the first
  // entry that is not smaller than |key| cannot come before it.
  uint32_t low = 0, high = cursor->restart_count - 1;
  while (low < high) {
    uint32_t middle = low + (high - low + 1) / 2;
    entry_t entry;
    LEAT_RETURN_IF_ERROR(go_to_restart(cursor, middle));
    if (!read_entry(cursor, cursor->next, &entry) || entry.shared != 0) {
      return corrupt(cursor->next);
    }
    if (leat_string_view_compare(entry.unshared, key) < 0) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  LEAT_RETURN_IF_ERROR(go_to_restart(cursor, low));
  do {
    LEAT_RETURN_IF_ERROR(leat_table_block_cursor_next(cursor));
  } while (cursor->is_valid &&
           leat_string_view_compare(leat_string_builder_view(&cursor->key), key) < 0);
  return leat_ok_status();
}

void leat_table_block_builder_initialize(leat_allocator_t* allocator,
                                         leat_table_block_builder_t* out_builder) {
  *out_builder = (leat_table_block_builder_t){0};
  leat_string_builder_initialize(allocator, &out_builder->bytes);
  leat_string_builder_initialize(allocator, &out_builder->last_key);
}

void leat_table_block_builder_deinitialize(leat_table_block_builder_t* builder) {
  leat_allocator_free(builder->bytes.allocator, builder->restarts);
  leat_string_builder_deinitialize(&builder->bytes);
  leat_string_builder_deinitialize(&builder->last_key);
}

static leat_status_t add_restart(leat_table_block_builder_t* builder) {
  LEAT_RETURN_IF_ERROR(LEAT_GROW(builder->bytes.allocator, builder->restart_count + 1,
                                 &builder->restarts, &builder->restart_capacity));
  builder->restarts[builder->restart_count++] = (uint32_t)builder->bytes.size;
  builder->entries_since_restart = 0;
  builder->last_key.size = 0;
  return leat_ok_status();
}

leat_status_t leat_table_block_builder_add(leat_table_block_builder_t* builder,
                                           leat_string_view_t key, leat_string_view_t value,
                                           size_t restart_interval) {
  if (key.size + value.size > UINT32_MAX / 2 - builder->bytes.size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Table write failed: an entry has %zu bytes, "
                            "must be under 2 GiB", key.size + value.size);
  }
  if (builder->restart_count == 0 || builder->entries_since_restart == restart_interval) {
    LEAT_RETURN_IF_ERROR(add_restart(builder));
  }
  size_t shared = 0;
  while (shared < key.size && shared < builder->last_key.size &&
         key.data[shared] == builder->last_key.data[shared]) {
    ++shared;
  }
  uint8_t head[3 * LEAT_WIRE_MAX_VARINT_BYTES];
  uint8_t* end = leat_wire_write_varint(head, shared);
  end = leat_wire_write_varint(end, key.size - shared);
  end = leat_wire_write_varint(end, value.size);
  leat_string_view_t unshared = leat_string_view_from_index(key, shared);
  leat_string_builder_append(&builder->bytes,
                             leat_string_view_make((const char*)head, (size_t)(end - head)));
  leat_string_builder_append(&builder->bytes, unshared);
  leat_string_builder_append(&builder->bytes, value);
  builder->last_key.size = shared;
  leat_string_builder_append(&builder->last_key, unshared);
  ++builder->entries_since_restart;
  LEAT_RETURN_IF_ERROR(leat_status_clone(builder->bytes.status));
  return leat_status_clone(builder->last_key.status);
}

leat_status_t leat_table_block_builder_finish(leat_table_block_builder_t* builder,
                                              leat_string_view_t* out_block) {
  if (builder->restart_count == 0) LEAT_RETURN_IF_ERROR(add_restart(builder));
  for (size_t i = 0; i <= builder->restart_count; ++i) {
    char number[4];
    leat_wire_store32(number, i < builder->restart_count ? builder->restarts[i]
                                                         : (uint32_t)builder->restart_count);
    leat_string_builder_append(&builder->bytes, leat_string_view_make(number, 4));
  }
  *out_block = leat_string_builder_view(&builder->bytes);
  return leat_status_clone(builder->bytes.status);
}

void leat_table_block_builder_clear(leat_table_block_builder_t* builder) {
  builder->bytes.size = 0;
  builder->last_key.size = 0;
  builder->restart_count = 0;
}
