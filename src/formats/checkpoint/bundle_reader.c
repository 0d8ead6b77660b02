// Reads checkpoints of the second version (bundle.h has the layout): finds a tensor's entry in the
// index table, and reads its elements from the data file that the entry names. A tensor that was
// saved in slices is assembled from those that overlap the slice asked for.
//
//   name ─▶ index table ─▶ entry {dtype, shape, shard, offset, size, crc32c} ─▶ data file ─▶ tensor
//                           └─ or a list of slices, each with an entry of its own
//
// Checkpoints come from other machines and may be damaged or hostile. An entry is therefore
// believed only as far as the data file goes: locate() tests that the range lies in the file, and
// memory is allocated only for elements whose bytes are known to exist. All bytes are tested
// against their checksum before they are returned.
//
// A reader may be used by several threads. The index does not change after it was opened, and reads
// give their offset; only the map of open data files changes, under the mutex.
#include "base/checked.h"
#include "base/crc32c.h"
#include "base/map.h"
#include "base/sync.h"
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/table.h"
#include "formats/wire/decode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/wire.h"

struct leat_bundle_reader_s {
  leat_allocator_t* allocator;
  leat_file_system_t* fs;
  leat_arena_t arena;
  const char* prefix;
  leat_table_t* table;
  int shard_count;
  leat_mutex_t mutex;     // guards what follows
  leat_word_map_t files;  // shard -> leat_file_t*, opened on first need
};

// Reads the entry of the empty key, which describes the whole checkpoint, and refuses what this
// reader does not understand.
static leat_status_t read_header(leat_bundle_reader_t* reader) {
  leat_pb_bundle_header_proto_t header;
  leat_string_view_t value;
  const char* path = reader->prefix;
  LEAT_RETURN_IF_ERROR(leat_table_find(reader->table, LEAT_SV(""), &reader->arena, &value));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_bundle_header_proto_descriptor, value,
                                           &reader->arena, NULL, &header));
  if (header.num_shards < 0) {
    return leat_make_status(LEAT_DATA_LOSS, "number of shards is %d", header.num_shards);
  }
  if (header.endianness != LEAT_PB_BUNDLE_HEADER_PROTO_ENDIANNESS_LITTLE) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Checkpoint read failed for '%s': byte order is big-endian, must be "
                            "little-endian", path);
  }
  if (header.version && header.version->min_consumer > 1) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Checkpoint read failed for '%s': min_consumer is %d, must be at most "
                            "1",
                            path, header.version->min_consumer);
  }
  reader->shard_count = header.num_shards;
  return leat_ok_status();
}

static leat_status_t open_index(leat_bundle_reader_t* reader, const char* prefix) {
  leat_string_view_t copy;
  const char* path;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(&reader->arena, leat_string_view_from(prefix),
                                              &copy));
  reader->prefix = copy.data;
  LEAT_RETURN_IF_ERROR(leat_bundle_index_path(prefix, &reader->arena, &path));
  LEAT_RETURN_IF_ERROR(leat_table_open(reader->fs, path, reader->allocator, &reader->table));
  leat_status_t status = read_header(reader);
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    status = leat_make_status(LEAT_DATA_LOSS, "the header is not there");
  }
  return leat_status_annotate(status, "Unable to read file (%s)", path);
}

leat_status_t leat_bundle_reader_open(leat_file_system_t* fs, const char* prefix,
                                      leat_allocator_t* allocator,
                                      leat_bundle_reader_t** out_reader) {
  leat_bundle_reader_t* reader;
  *out_reader = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &reader));
  reader->allocator = allocator;
  reader->fs = fs;
  leat_arena_initialize(allocator, 4096, &reader->arena);
  leat_mutex_initialize(&reader->mutex);
  leat_word_map_initialize(allocator, &reader->files);
  leat_status_t status = open_index(reader, prefix);
  if (!leat_status_is_ok(status)) {
    leat_bundle_reader_free(reader);
    return status;
  }
  *out_reader = reader;
  return leat_ok_status();
}

void leat_bundle_reader_free(leat_bundle_reader_t* reader) {
  if (!reader) return;
  for (size_t i = 0; i < reader->files.capacity; ++i) {
    if (!reader->files.used[i]) continue;
    leat_status_free(leat_file_close((leat_file_t*)(uintptr_t)reader->files.values[i]));
  }
  leat_word_map_deinitialize(&reader->files);
  leat_mutex_deinitialize(&reader->mutex);
  leat_table_free(reader->table);
  leat_arena_deinitialize(&reader->arena);
  leat_allocator_free(reader->allocator, reader);
}

leat_status_t leat_bundle_reader_find(const leat_bundle_reader_t* reader, leat_string_view_t name,
                                      leat_arena_t* arena,
                                      leat_pb_bundle_entry_proto_t* out_entry) {
  leat_string_view_t value;
  leat_status_t status = name.size > 0 ? leat_table_find(reader->table, name, arena, &value)
                                       : leat_make_status(LEAT_NOT_FOUND, "no name");
  if (leat_status_code(status) == LEAT_NOT_FOUND) {
    leat_status_free(status);
    return leat_make_status(LEAT_NOT_FOUND, "Key %.*s not found in checkpoint", LEAT_SV_ARG(name));
  }
  LEAT_RETURN_IF_ERROR(status);
  status = leat_message_decode(&leat_pb_bundle_entry_proto_descriptor, value, arena, NULL,
                               out_entry);
  // Only an entry that cannot be parsed means that the file is damaged; memory may also run out.
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_DATA_LOSS, "Entry for key %.*s not parseable.", LEAT_SV_ARG(name));
}

leat_status_t leat_bundle_reader_each(const leat_bundle_reader_t* reader,
                                      leat_bundle_entry_fn_t fn, void* data) {
  leat_table_cursor_t cursor;
  leat_arena_t arena;
  leat_pb_bundle_entry_proto_t entry;
  leat_arena_initialize(reader->allocator, 4096, &arena);
  leat_status_t status = leat_table_cursor_initialize(reader->table, &cursor);
  if (leat_status_is_ok(status)) status = leat_table_cursor_seek(&cursor, LEAT_SV(""));
  while (leat_status_is_ok(status) && cursor.is_valid) {
    // Keys of slices begin with the byte 0; names do not.
    if (cursor.key.size > 0 && cursor.key.data[0] != 0) {
      LEAT_GOTO_IF_ERROR(status, leat_message_decode(&leat_pb_bundle_entry_proto_descriptor,
                                                     cursor.value, &arena, NULL, &entry));
      LEAT_GOTO_IF_ERROR(status, fn(data, cursor.key, &entry));
      leat_arena_deinitialize(&arena);
      leat_arena_initialize(reader->allocator, 4096, &arena);
    }
    status = leat_table_cursor_next(&cursor);
  }
cleanup:
  leat_table_cursor_deinitialize(&cursor);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t open_shard(leat_bundle_reader_t* reader, int shard, leat_file_t** out_file) {
  leat_arena_t arena;
  const char* path;
  leat_arena_initialize(reader->allocator, 1024, &arena);
  leat_status_t status =
      leat_bundle_data_path(reader->prefix, shard, reader->shard_count, &arena, &path);
  if (leat_status_is_ok(status)) {
    status = leat_file_open(reader->fs, path, LEAT_FILE_READ, reader->allocator, out_file);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// The data file of |shard|, which is opened when it is first needed and stays open.
static leat_status_t get_shard(leat_bundle_reader_t* reader, int shard, leat_file_t** out_file) {
  uint64_t word = 0;
  leat_status_t status = leat_ok_status();
  *out_file = NULL;
  // A checkpoint that replaced another counts its shards from another number than 0 on, so any
  // number may be right (bundle_publish.c).
  if (shard < 0) return leat_make_status(LEAT_DATA_LOSS, "shard is %d, must be at least 0", shard);
  leat_mutex_lock(&reader->mutex);
  if (leat_word_map_get(&reader->files, (uint64_t)shard, &word)) {
    *out_file = (leat_file_t*)(uintptr_t)word;
  } else {
    status = open_shard(reader, shard, out_file);
    if (leat_status_is_ok(status)) {
      status = leat_word_map_set(&reader->files, (uint64_t)shard, (uint64_t)(uintptr_t)*out_file);
      if (!leat_status_is_ok(status)) leat_status_free(leat_file_close(*out_file));
    }
  }
  leat_mutex_unlock(&reader->mutex);
  return status;
}

// The bytes of an entry, which locate() has tested to lie inside their file.
typedef struct stored_s {
  leat_file_t* file;
  uint64_t offset;
  size_t size;
  uint32_t crc;  // unmasked
  leat_shape_t shape;
  int dtype;
} stored_t;

// Finds the bytes of |entry| and tests that they lie in the data file. The caller releases
// |out_stored|'s shape after success.
static leat_status_t locate(leat_bundle_reader_t* reader,
                            const leat_pb_bundle_entry_proto_t* entry, stored_t* out_stored) {
  uint64_t end, file_size;
  LEAT_RETURN_IF_ERROR(get_shard(reader, entry->shard_id, &out_stored->file));
  LEAT_RETURN_IF_ERROR(out_stored->file->vtable->size(out_stored->file, &file_size));
  if (entry->offset < 0 || entry->size < 0 ||
      !leat_checked_add((uint64_t)entry->offset, (uint64_t)entry->size, &end) || end > file_size) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "'%s' has %llu bytes, must hold %lld from %lld on",
                            out_stored->file->path, (unsigned long long)file_size,
                            (long long)entry->size, (long long)entry->offset);
  }
  out_stored->offset = (uint64_t)entry->offset;
  out_stored->size = (size_t)entry->size;
  out_stored->crc = leat_crc32c_unmask(entry->crc32c);
  out_stored->dtype = entry->dtype;
  leat_status_t status = leat_shape_from_proto(entry->shape, &out_stored->shape);
  if (leat_status_code(status) != LEAT_INVALID_ARGUMENT) return status;
  leat_status_free(status);
  return leat_make_status(LEAT_DATA_LOSS, "shape is invalid");
}

static leat_status_t check_crc(const stored_t* stored, uint32_t crc) {
  if (crc == stored->crc) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS,
                          "Checksum does not match: stored %08x, of the bytes read %08x",
                          stored->crc, crc);
}

static leat_status_t bad_size(const stored_t* stored) {
  return leat_make_status(LEAT_DATA_LOSS, "size is %zu bytes, must be that of shape %s of %s",
                          stored->size, LEAT_SHAPE_TEXT(&stored->shape),
                          leat_dtype_name(stored->dtype));
}

// |bytes| is the whole entry: the sizes of all strings as varints, the checksum of the sizes, then
// the bytes of all strings. The checksum of the sizes runs over them as numbers of 4 or 8 bytes;
// the checksum of the entry continues it over all that follows.
static leat_status_t parse_strings(const stored_t* stored, const uint8_t* bytes,
                                   leat_tensor_t* tensor) {
  const uint8_t *next = bytes, *end = bytes + stored->size;
  int64_t count = tensor->shape.element_count;
  uint64_t size = 0;
  uint32_t crc = 0;
  uint8_t number[8];
  for (int64_t i = 0; i < count && next; ++i) {
    next = leat_wire_read_varint(next, end, &size);
    leat_wire_store64(number, size);
    crc = leat_crc32c_extend(crc, number, size <= UINT32_MAX ? 4 : 8);
  }
  if (!next || end - next < 4) return bad_size(stored);
  if (leat_crc32c_unmask(leat_wire_load32(next)) != crc) {
    return leat_make_status(LEAT_DATA_LOSS, "The length checksum does not match");
  }
  LEAT_RETURN_IF_ERROR(
      check_crc(stored, leat_crc32c_extend(crc, next, (size_t)(end - next))));
  const uint8_t* text = next + 4;
  next = bytes;
  for (int64_t i = 0; i < count; ++i) {
    next = leat_wire_read_varint(next, end, &size);
    if (size > (uint64_t)(end - text)) return bad_size(stored);
    LEAT_RETURN_IF_ERROR(leat_tensor_set_string(
        tensor, i, leat_string_view_make((const char*)text, (size_t)size)));
    text += size;
  }
  return text == end ? leat_ok_status() : bad_size(stored);
}

static leat_status_t read_strings(leat_bundle_reader_t* reader, const stored_t* stored,
                                  leat_tensor_t* tensor) {
  void* bytes;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate_uninitialized(reader->allocator, 16,
                                                             stored->size + 1, &bytes));
  leat_status_t status =
      leat_file_read_exactly(stored->file, stored->offset, bytes, stored->size);
  if (leat_status_is_ok(status)) status = parse_strings(stored, (const uint8_t*)bytes, tensor);
  leat_allocator_free(reader->allocator, bytes);
  return status;
}

// Reads the elements of one entry. The size that the entry states must be that of its elements; a
// string takes at least one byte, that of its length.
static leat_status_t read_stored(leat_bundle_reader_t* reader, const stored_t* stored,
                                 leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  bool is_string = stored->dtype == LEAT_DTYPE_STRING;
  int64_t count = stored->shape.element_count;
  if (!leat_dtype_is_valid(stored->dtype) || leat_dtype_is_ref(stored->dtype) ||
      stored->dtype == LEAT_DTYPE_RESOURCE || stored->dtype == LEAT_DTYPE_VARIANT) {
    return leat_make_status(LEAT_UNIMPLEMENTED, "dtype is %d, must be a number or string",
                            stored->dtype);
  }
  size_t bytes;
  bool fits = is_string ? (uint64_t)count <= stored->size
                        : leat_checked_multiply((size_t)count, leat_dtype_size(stored->dtype),
                                                &bytes) && bytes == stored->size;
  if (!fits) return bad_size(stored);
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(source, stored->dtype, &stored->shape, out_tensor));
  // For a tensor without strings TensorFlow writes either no bytes or the checksum of no sizes.
  if (is_string && stored->size > 0) return read_strings(reader, stored, out_tensor);
  if (is_string) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      leat_file_read_exactly(stored->file, stored->offset, out_tensor->data, stored->size));
  LEAT_RETURN_IF_ERROR(check_crc(stored, leat_crc32c(out_tensor->data, stored->size)));
  return leat_tensor_normalize_bools(source, out_tensor);
}

// Reads the elements of one entry as a tensor.
static leat_status_t read_entry(leat_bundle_reader_t* reader, leat_string_view_t name,
                                const leat_pb_bundle_entry_proto_t* entry,
                                leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  stored_t stored = {.shape = leat_shape_scalar()};
  leat_status_t status = locate(reader, entry, &stored);
  *out_tensor = (leat_tensor_t){0};
  if (leat_status_is_ok(status)) status = read_stored(reader, &stored, source, out_tensor);
  leat_shape_release(&stored.shape);
  if (leat_status_is_ok(status)) return status;
  leat_tensor_release(out_tensor);
  return leat_status_annotate(status, "Checkpoint read failed for '%.*s'", LEAT_SV_ARG(name));
}

// A stored slice of a tensor: the box that it covers, and its entry.
typedef struct stored_slice_s {
  leat_tensor_slice_t box;
  leat_pb_bundle_entry_proto_t entry;
} stored_slice_t;

// Finds the entry of one stored slice by its binary key.
static leat_status_t find_slice(leat_bundle_reader_t* reader, leat_string_view_t name,
                                const leat_shape_t* full_shape, const leat_tensor_slice_t* slice,
                                leat_arena_t* arena, stored_slice_t* out_slice) {
  leat_string_builder_t key;
  leat_shape_t shape;
  leat_string_builder_initialize(reader->allocator, &key);
  leat_tensor_slice_append_key(name, slice, &key);
  leat_status_t status = leat_status_clone(key.status);
  if (leat_status_is_ok(status)) {
    status =
        leat_bundle_reader_find(reader, leat_string_builder_view(&key), arena, &out_slice->entry);
  }
  leat_string_builder_deinitialize(&key);
  LEAT_RETURN_IF_ERROR(status);
  out_slice->box = *slice;
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_resolve(&out_slice->box, full_shape, &shape));
  leat_shape_release(&shape);
  return leat_ok_status();
}

// Collects the stored slices that overlap |wanted|, and tests that together they cover it. The
// slices of one tensor do not overlap each other, so comparing numbers of elements is enough. Each
// slice is tested to lie in its file, hence memory may be taken for the whole.
static leat_status_t find_slices(leat_bundle_reader_t* reader, leat_string_view_t name,
                                 const leat_pb_bundle_entry_proto_t* entry,
                                 const leat_shape_t* full_shape, const leat_tensor_slice_t* wanted,
                                 int64_t wanted_count, leat_arena_t* arena,
                                 stored_slice_t** out_slices, size_t* out_count) {
  uint64_t stored_bytes = 0;
  int64_t covered = 0;
  *out_count = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, entry->slices.count, out_slices));
  for (size_t i = 0; i < entry->slices.count; ++i) {
    leat_tensor_slice_t slice;
    stored_slice_t* stored_slice = &(*out_slices)[*out_count];
    stored_t stored;
    LEAT_RETURN_IF_ERROR(leat_tensor_slice_from_proto(&entry->slices.items[i], arena, &slice));
    LEAT_RETURN_IF_ERROR(find_slice(reader, name, full_shape, &slice, arena, stored_slice));
    int64_t common = leat_tensor_slice_count_common(&stored_slice->box, wanted);
    if (common == 0) continue;
    LEAT_RETURN_IF_ERROR(locate(reader, &stored_slice->entry, &stored));
    leat_shape_release(&stored.shape);
    stored_bytes += stored.size;
    covered += common;
    ++*out_count;
  }
  if (covered != wanted_count ||
      (uint64_t)wanted_count > stored_bytes / leat_dtype_size(entry->dtype)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Does not have sufficient slices for partitioned tensor %.*s",
                            LEAT_SV_ARG(name));
  }
  return leat_ok_status();
}

static leat_status_t copy_slice(leat_bundle_reader_t* reader, leat_string_view_t name,
                                const stored_slice_t* stored_slice,
                                const leat_tensor_slice_t* wanted, leat_tensor_t* target) {
  leat_tensor_t stored;
  LEAT_RETURN_IF_ERROR(
      read_entry(reader, name, &stored_slice->entry, leat_buffer_source_host(), &stored));
  bool fits = stored.dtype == target->dtype && stored.shape.rank == stored_slice->box.rank;
  for (int i = 0; fits && i < stored_slice->box.rank; ++i) {
    fits = leat_shape_dim(&stored.shape, i) == stored_slice->box.lengths[i];
  }
  if (fits) {
    leat_tensor_slice_copy_common(&stored_slice->box, stored.data, wanted, target->data,
                                  leat_dtype_size(stored.dtype));
  }
  leat_tensor_release(&stored);
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS, "Checkpoint read failed for '%.*s': a slice has another "
                          "shape or dtype than stated", LEAT_SV_ARG(name));
}

// Reads |wanted| from a tensor that is stored in slices, or from one that is stored whole, which
// then counts as a single slice.
static leat_status_t assemble(leat_bundle_reader_t* reader, leat_string_view_t name,
                              const leat_pb_bundle_entry_proto_t* entry,
                              const leat_shape_t* full_shape, const leat_shape_t* shape,
                              const leat_tensor_slice_t* wanted, leat_arena_t* arena,
                              leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  stored_slice_t whole = {.entry = *entry}, *slices = &whole;
  size_t count = 1;
  if (entry->slices.count > 0) {
    LEAT_RETURN_IF_ERROR(find_slices(reader, name, entry, full_shape, wanted, shape->element_count,
                                     arena, &slices, &count));
  } else {
    leat_shape_t same;
    stored_t stored;
    LEAT_RETURN_IF_ERROR(leat_tensor_slice_make_full(full_shape->rank, arena, &whole.box));
    LEAT_RETURN_IF_ERROR(leat_tensor_slice_resolve(&whole.box, full_shape, &same));
    leat_shape_release(&same);
    LEAT_RETURN_IF_ERROR(locate(reader, entry, &stored));
    leat_shape_release(&stored.shape);
    if (stored.size / leat_dtype_size(entry->dtype) < (uint64_t)shape->element_count) {
      return leat_make_status(LEAT_DATA_LOSS, "Checkpoint read failed for '%.*s': size is %zu "
                              "bytes, must be the shape's", LEAT_SV_ARG(name), stored.size);
    }
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_allocate(source, entry->dtype, shape, out_tensor));
  // Slices that overlap against the rule would leave elements unset; those shall not be the bytes
  // of some earlier tensor.
  leat_tensor_fill_zero(out_tensor);
  for (size_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(copy_slice(reader, name, &slices[i], wanted, out_tensor));
  }
  return leat_ok_status();
}

// Reads |slice|, or the whole tensor where it is NULL, of a tensor that was saved in slices.
static leat_status_t read_slice(leat_bundle_reader_t* reader, leat_string_view_t name,
                                const leat_pb_bundle_entry_proto_t* entry,
                                const leat_tensor_slice_t* slice, leat_arena_t* arena,
                                leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  leat_shape_t full_shape, shape = leat_shape_scalar();
  leat_tensor_slice_t wanted;
  if (!leat_dtype_is_valid(entry->dtype) || leat_dtype_is_ref(entry->dtype) ||
      leat_dtype_in(entry->dtype, LEAT_DTYPES_OBJECT)) {
    return leat_make_status(LEAT_UNIMPLEMENTED,
                            "Checkpoint read failed for '%.*s': slices are of %s, must be numbers",
                            LEAT_SV_ARG(name), leat_dtype_name(entry->dtype));
  }
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(entry->shape, &full_shape));
  int rank = slice ? slice->rank : full_shape.rank;
  leat_status_t status = leat_tensor_slice_make_full(rank, arena, &wanted);
  if (leat_status_is_ok(status) && slice) {
    memcpy(wanted.starts, slice->starts, (size_t)rank * sizeof(int64_t));
    memcpy(wanted.lengths, slice->lengths, (size_t)rank * sizeof(int64_t));
  }
  if (leat_status_is_ok(status)) {
    status = leat_tensor_slice_resolve(&wanted, &full_shape, &shape);
  }
  if (leat_status_is_ok(status)) {
    status = assemble(reader, name, entry, &full_shape, &shape, &wanted, arena, source, out_tensor);
  }
  leat_shape_release(&full_shape);
  leat_shape_release(&shape);
  return status;
}

leat_status_t leat_bundle_reader_read_slice(leat_bundle_reader_t* reader, leat_string_view_t name,
                                            const leat_tensor_slice_t* slice,
                                            leat_buffer_source_t* source,
                                            leat_tensor_t* out_tensor) {
  leat_pb_bundle_entry_proto_t entry;
  leat_arena_t arena;
  *out_tensor = (leat_tensor_t){0};
  leat_arena_initialize(reader->allocator, 4096, &arena);
  leat_status_t status = leat_bundle_reader_find(reader, name, &arena, &entry);
  if (leat_status_is_ok(status)) {
    bool is_plain = entry.slices.count == 0 && (!slice || leat_tensor_slice_is_full(slice));
    status = is_plain
                 ? read_entry(reader, name, &entry, source, out_tensor)
                 : read_slice(reader, name, &entry, slice, &arena, source, out_tensor);
  }
  leat_arena_deinitialize(&arena);
  if (!leat_status_is_ok(status)) leat_tensor_release(out_tensor);
  return status;
}

leat_status_t leat_bundle_reader_read(leat_bundle_reader_t* reader, leat_string_view_t name,
                                      leat_buffer_source_t* source, leat_tensor_t* out_tensor) {
  return leat_bundle_reader_read_slice(reader, name, NULL, source, out_tensor);
}
