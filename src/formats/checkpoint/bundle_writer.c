// Writing a bundle: the elements of each tensor go to a temporary data file when it is added, and
// its entry to the index, which stays in memory until the bundle is finished. So a checkpoint of
// any size needs memory for the names and shapes only.
//
//   elements ─▶ (buffer of 1 MiB) ─▶ temporary file   ─▶ <prefix>.data-00000-of-00001
//   name, shape, offset, checksum ─▶ index in memory  ─▶ <prefix>.index
//
// Small tensors are gathered in the buffer, large ones are written from where they are. Nothing
// under the prefix changes before leat_bundle_publish, which finish calls; a writer that is freed
// before leaves no file. After an error the index may have an entry whose bytes were not written,
// so that the writer can then only be freed. The kernel of SaveV2 is the caller.
#include "base/crc32c.h"
#include "formats/checkpoint/bundle.h"
#include "formats/checkpoint/bundle_index.h"
#include "formats/path.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/wire.h"

#define BUFFER_BYTES ((size_t)1 << 20)

struct leat_bundle_writer_s {
  leat_allocator_t* allocator;
  leat_file_system_t* fs;
  leat_bundle_index_t index;
  const char* prefix;
  const char* temporary;
  leat_file_t* file;  // NULL once finished
  bool is_published;
  leat_string_builder_t buffer;
  uint64_t offset;  // of what comes next, the buffer included
};

// Opens the temporary file beside the future checkpoint, so that publishing can rename it. What a
// process that died left in the directory is removed first.
static leat_status_t prepare(leat_bundle_writer_t* writer, const char* prefix) {
  leat_arena_t* arena = &writer->index.arena;
  leat_string_view_t copy;
  const char* directory;
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_string_view_from(prefix), &copy));
  writer->prefix = copy.data;
  LEAT_RETURN_IF_ERROR(leat_path_directory(prefix, arena, &directory));
  LEAT_RETURN_IF_ERROR(leat_file_make_directories(writer->fs, directory));
  leat_file_sweep_temporaries(writer->fs, directory);
  LEAT_RETURN_IF_ERROR(leat_file_temporary_path(prefix, arena, &writer->temporary));
  return leat_file_open(writer->fs, writer->temporary, LEAT_FILE_WRITE, writer->allocator,
                        &writer->file);
}

leat_status_t leat_bundle_writer_create(leat_file_system_t* fs, const char* prefix,
                                        leat_allocator_t* allocator,
                                        leat_bundle_writer_t** out_writer) {
  leat_bundle_writer_t* writer;
  *out_writer = NULL;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &writer));
  writer->allocator = allocator;
  writer->fs = fs;
  leat_bundle_index_initialize(allocator, &writer->index);
  leat_string_builder_initialize(allocator, &writer->buffer);
  leat_status_t status = prepare(writer, prefix);
  if (!leat_status_is_ok(status)) {
    leat_bundle_writer_free(writer);
    return status;
  }
  *out_writer = writer;
  return leat_ok_status();
}

void leat_bundle_writer_free(leat_bundle_writer_t* writer) {
  if (!writer) return;
  if (writer->file) leat_status_free(leat_file_close(writer->file));
  if (writer->temporary && !writer->is_published) {
    leat_status_free(writer->fs->vtable->remove(writer->fs, writer->temporary));
  }
  leat_string_builder_deinitialize(&writer->buffer);
  leat_bundle_index_deinitialize(&writer->index);
  leat_allocator_free(writer->allocator, writer);
}

static leat_status_t flush(leat_bundle_writer_t* writer) {
  leat_string_builder_t* buffer = &writer->buffer;
  LEAT_RETURN_IF_ERROR(leat_status_clone(buffer->status));
  if (buffer->size == 0) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(writer->file->vtable->write(writer->file, buffer->data, buffer->size));
  buffer->size = 0;
  return leat_ok_status();
}

// Writes through the buffer, keeps count of the offset, and extends the checksum.
static leat_status_t write_bytes(leat_bundle_writer_t* writer, const void* data, size_t size,
                                 uint32_t* inout_crc) {
  *inout_crc = leat_crc32c_extend(*inout_crc, data, size);
  writer->offset += size;
  if (size > BUFFER_BYTES - writer->buffer.size) LEAT_RETURN_IF_ERROR(flush(writer));
  if (size >= BUFFER_BYTES) return writer->file->vtable->write(writer->file, data, size);
  leat_string_builder_append(&writer->buffer, leat_string_view_make((const char*)data, size));
  return leat_status_clone(writer->buffer.status);
}

// Writes a tensor of strings: the sizes of all, a checksum of the sizes, then the bytes of all. The
// entry's checksum covers the last two, and of the sizes their numbers instead of their varints.
static leat_status_t write_strings(leat_bundle_writer_t* writer, const leat_tensor_t* tensor,
                                   uint32_t* inout_crc) {
  uint8_t bytes[LEAT_WIRE_MAX_VARINT_BYTES];
  uint32_t sizes_crc = 0, unused = 0;
  int64_t count = tensor->shape.element_count;
  for (int64_t i = 0; i < count; ++i) {
    uint64_t size = leat_tensor_string_at(tensor, i).size;
    uint8_t* end = leat_wire_write_varint(bytes, size);
    LEAT_RETURN_IF_ERROR(write_bytes(writer, bytes, (size_t)(end - bytes), &unused));
    // The checksum is of the sizes as numbers: of 32 bits, where that is enough.
    leat_wire_store64(bytes, size);
    sizes_crc = leat_crc32c_extend(sizes_crc, bytes, size <= UINT32_MAX ? 4 : 8);
  }
  *inout_crc = sizes_crc;
  leat_wire_store32(bytes, leat_crc32c_mask(sizes_crc));
  LEAT_RETURN_IF_ERROR(write_bytes(writer, bytes, 4, inout_crc));
  for (int64_t i = 0; i < count; ++i) {
    leat_string_view_t string = leat_tensor_string_at(tensor, i);
    LEAT_RETURN_IF_ERROR(write_bytes(writer, string.data, string.size, inout_crc));
  }
  return leat_ok_status();
}

static leat_status_t refuse(leat_string_view_t name, leat_status_code_t code, const char* what) {
  return leat_make_status(code, "Checkpoint write failed for '%.*s': %s", LEAT_SV_ARG(name), what);
}

// Writes the tensor and enters it under |key|, which is |name| or the key of a slice of |name|.
static leat_status_t add(leat_bundle_writer_t* writer, leat_string_view_t key,
                         leat_string_view_t name, const leat_tensor_t* tensor) {
  leat_pb_bundle_entry_proto_t* entry;
  bool added;
  uint32_t crc = 0;
  if (!leat_dtype_is_valid(tensor->dtype) || tensor->dtype == LEAT_DTYPE_RESOURCE ||
      tensor->dtype == LEAT_DTYPE_VARIANT) {
    return refuse(name, LEAT_UNIMPLEMENTED, "dtype must be a number or string");
  }
  LEAT_RETURN_IF_ERROR(leat_bundle_index_get(&writer->index, key, &entry, &added));
  if (!added) return refuse(name, LEAT_INVALID_ARGUMENT, "name must be added once");
  entry->dtype = tensor->dtype;
  entry->offset = (int64_t)writer->offset;
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape),
                                                   &writer->index.arena, &entry->shape));
  if (tensor->dtype == LEAT_DTYPE_STRING) {
    LEAT_RETURN_IF_ERROR(write_strings(writer, tensor, &crc));
  } else {
    LEAT_RETURN_IF_ERROR(
        write_bytes(writer, tensor->data, leat_tensor_size_bytes(tensor), &crc));
  }
  entry->size = (int64_t)writer->offset - entry->offset;
  entry->crc32c = leat_crc32c_mask(crc);
  return leat_ok_status();
}

leat_status_t leat_bundle_writer_add(leat_bundle_writer_t* writer, leat_string_view_t name,
                                     const leat_tensor_t* tensor) {
  if (name.size == 0) return refuse(name, LEAT_INVALID_ARGUMENT, "name must not be empty");
  return add(writer, name, name, tensor);
}

// Adds |slice| to the entry of the whole tensor, which lists its slices and has no bytes of its
// own. All slices must agree on the type and on the shape of the whole.
static leat_status_t add_to_whole(leat_bundle_writer_t* writer, leat_string_view_t name,
                                  const leat_shape_t* full_shape,
                                  const leat_tensor_slice_t* slice, int dtype) {
  leat_pb_bundle_entry_proto_t* whole;
  leat_arena_t* arena = &writer->index.arena;
  bool added;
  void* item;
  LEAT_RETURN_IF_ERROR(leat_bundle_index_get(&writer->index, name, &whole, &added));
  if (added) {
    whole->dtype = dtype;
    LEAT_RETURN_IF_ERROR(
        leat_partial_shape_to_proto(leat_partial_shape_of(full_shape), arena, &whole->shape));
  } else {
    leat_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_shape_from_proto(whole->shape, &shape));
    bool fits = whole->dtype == dtype && whole->slices.count > 0 &&
                leat_shape_equal(&shape, full_shape);
    leat_shape_release(&shape);
    if (!fits) {
      return refuse(name, LEAT_INVALID_ARGUMENT, "slices must agree in dtype and whole shape");
    }
  }
  LEAT_RETURN_IF_ERROR(leat_message_list_append(arena, &whole->slices,
                                                sizeof(whole->slices.items[0]), &item));
  return leat_tensor_slice_to_proto(slice, arena, (leat_pb_tensor_slice_proto_t*)item);
}

leat_status_t leat_bundle_writer_add_slice(leat_bundle_writer_t* writer, leat_string_view_t name,
                                           const leat_shape_t* full_shape,
                                           const leat_tensor_slice_t* slice,
                                           const leat_tensor_t* tensor) {
  leat_tensor_slice_t resolved;
  leat_shape_t shape;
  leat_arena_t* arena = &writer->index.arena;
  if (name.size == 0) return refuse(name, LEAT_INVALID_ARGUMENT, "name must not be empty");
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_make_full(slice->rank, arena, &resolved));
  memcpy(resolved.starts, slice->starts, (size_t)slice->rank * sizeof(int64_t));
  memcpy(resolved.lengths, slice->lengths, (size_t)slice->rank * sizeof(int64_t));
  LEAT_RETURN_IF_ERROR(leat_tensor_slice_resolve(&resolved, full_shape, &shape));
  bool fits = leat_shape_equal(&shape, &tensor->shape);
  bool is_whole = leat_shape_equal(&shape, full_shape);
  leat_shape_release(&shape);
  if (!fits) return refuse(name, LEAT_INVALID_ARGUMENT, "tensor must have the slice's shape");
  if (is_whole) return leat_bundle_writer_add(writer, name, tensor);
  LEAT_RETURN_IF_ERROR(add_to_whole(writer, name, full_shape, slice, tensor->dtype));
  leat_string_builder_t key;
  leat_string_builder_initialize(writer->allocator, &key);
  leat_tensor_slice_append_key(name, slice, &key);
  leat_status_t status = leat_status_clone(key.status);
  if (leat_status_is_ok(status)) {
    status = add(writer, leat_string_builder_view(&key), name, tensor);
  }
  leat_string_builder_deinitialize(&key);
  return status;
}

leat_status_t leat_bundle_writer_finish(leat_bundle_writer_t* writer) {
  if (!writer->file) {
    return leat_make_status(LEAT_FAILED_PRECONDITION,
                            "Checkpoint write failed for '%s': it is finished", writer->prefix);
  }
  LEAT_RETURN_IF_ERROR(flush(writer));
  LEAT_RETURN_IF_ERROR(writer->file->vtable->sync(writer->file));
  leat_file_t* file = writer->file;
  writer->file = NULL;
  LEAT_RETURN_IF_ERROR(leat_file_close(file));
  leat_bundle_shard_t data = {.path = writer->temporary};
  LEAT_RETURN_IF_ERROR(
      leat_bundle_publish(writer->fs, &writer->index, writer->prefix, &data, 1));
  writer->is_published = true;
  return leat_ok_status();
}
