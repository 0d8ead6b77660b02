// Elements in the files of snapshots of versions 0 and 1 (ops/dataset/snapshot_cpu.h). A record is
// preceded by its size in 8 bytes, little-endian, and has no checksum:
//
//   | size | SnapshotRecord: a TensorProto for each component |
//
// In files of version 1 that are compressed with Snappy an element is two records. The first one
// says the shape and the size of each component. The second one is a block of Snappy, of the
// components one behind the other: the bytes of their elements, and of strings and variants a
// TensorProto. The types are written nowhere, so that the reader's spec says them. Every size is
// held against the bytes that there are before anything is allocated for it.
#include "formats/record/snappy_block.h"
#include "formats/record/snappy_file.h"
#include "formats/wire/wire.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "ops/dataset/snapshot_cpu.h"
#include "ops/input/serialized_tensor_cpu.h"

enum { HEAD_BYTES = 8 };

bool leat_snapshot_packs_records(const leat_snapshot_format_t* format) {
  return format->version == LEAT_SNAPSHOT_COMPRESSED_RECORDS &&
         leat_string_view_equals(leat_string_view_from(format->compression), "SNAPPY");
}

// ---- Writing ------------------------------------------------------------------------------------

static void append_record(leat_string_view_t record, leat_string_builder_t* out) {
  char head[HEAD_BYTES];
  leat_wire_store64(head, record.size);
  leat_string_builder_append(out, leat_string_view_make(head, sizeof head));
  leat_string_builder_append(out, record);
}

static leat_status_t append_message(const leat_message_descriptor_t* descriptor,
                                    const void* message, leat_string_builder_t* out) {
  leat_string_builder_t bytes;
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = leat_message_encode(descriptor, message, &bytes);
  if (!status) append_record(leat_string_builder_view(&bytes), out);
  leat_string_builder_deinitialize(&bytes);
  return status;
}

static bool is_message(int dtype) {
  return dtype == LEAT_DTYPE_STRING || leat_dtype_in(dtype, LEAT_DTYPES_OBJECT);
}

static leat_status_t append_plain(const leat_tensor_t* element, int count, leat_arena_t* arena,
                                  leat_tensor_t* text, leat_string_builder_t* out) {
  leat_pb_snapshot_record_t record = {.tensor.count = (size_t)count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &record.tensor.items));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_serialize(&element[i], true, text, 0));
    LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, leat_tensor_string_at(text, 0),
                                                &record.tensor.items[i]));
  }
  return append_message(&leat_pb_snapshot_record_descriptor, &record, out);
}

// Appends the bytes of a component to |bytes|, and says in |metadata| what they are.
static leat_status_t pack_component(const leat_tensor_t* component, leat_arena_t* arena,
                                    leat_tensor_t* text, leat_string_builder_t* bytes,
                                    leat_pb_tensor_metadata_t* metadata) {
  const leat_shape_t* shape = &component->shape;
  leat_string_view_t part = {component->data, leat_tensor_size_bytes(component)};
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(
      (leat_partial_shape_t){shape->rank, leat_shape_dims(shape)}, arena,
      &metadata->tensor_shape));
  if (is_message(component->dtype)) {
    LEAT_RETURN_IF_ERROR(leat_tensor_serialize(component, true, text, 0));
    part = leat_tensor_string_at(text, 0);
  }
  metadata->tensor_size_bytes = (int64_t)part.size;
  leat_string_builder_append(bytes, part);
  return leat_ok_status();
}

static leat_status_t append_packed(const leat_tensor_t* element, int count, leat_arena_t* arena,
                                   leat_tensor_t* text, leat_string_builder_t* bytes,
                                   leat_string_builder_t* out) {
  leat_string_builder_t block;
  leat_pb_snapshot_tensor_metadata_t metadata = {.tensor_metadata.count = (size_t)count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, (size_t)count, &metadata.tensor_metadata.items));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(pack_component(&element[i], arena, text, bytes,
                                        &metadata.tensor_metadata.items[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(bytes->status));
  if (bytes->size > UINT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "an element of a snapshot has %zu bytes, must have fewer than 2^32",
                            bytes->size);
  }
  LEAT_RETURN_IF_ERROR(
      append_message(&leat_pb_snapshot_tensor_metadata_descriptor, &metadata, out));
  leat_string_builder_initialize(leat_allocator_system(), &block);
  leat_snappy_compress(leat_string_builder_view(bytes), &block);
  leat_status_t status = leat_status_clone(block.status);
  append_record(leat_string_builder_view(&block), out);
  leat_string_builder_deinitialize(&block);
  return status;
}

leat_status_t leat_snapshot_record_append(bool packs, const leat_tensor_t* element, int count,
                                          leat_tensor_t* text, leat_string_builder_t* out) {
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  leat_status_t status = packs ? append_packed(element, count, &arena, text, &bytes, out)
                               : append_plain(element, count, &arena, text, out);
  if (!status) status = leat_status_clone(out->status);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return status;
}

// ---- Reading ------------------------------------------------------------------------------------

// Takes the next record, which is copied into |arena|.
static leat_status_t take_record(leat_byte_reader_t* bytes, leat_arena_t* arena,
                                 leat_string_view_t* out_record) {
  leat_string_view_t view;
  LEAT_RETURN_IF_ERROR(leat_byte_reader_peek(bytes, HEAD_BYTES, &view));
  const uint64_t size = leat_wire_load64(view.data);
  LEAT_RETURN_IF_ERROR(leat_byte_reader_skip(bytes, HEAD_BYTES));
  LEAT_RETURN_IF_ERROR(leat_byte_reader_peek(bytes, (size_t)size, &view));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, view, out_record));
  return leat_byte_reader_skip(bytes, size);
}

static leat_status_t check_count(size_t count, const leat_element_spec_t* spec) {
  if (count == (size_t)spec->count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "an element of a snapshot has %zu components, must have %d", count,
                          spec->count);
}

static leat_status_t take_plain(const leat_element_spec_t* spec, leat_byte_reader_t* bytes,
                                leat_arena_t* arena, leat_tensor_t* out, int* out_filled) {
  leat_string_view_t bytes_of_record;
  leat_pb_snapshot_record_t record;
  LEAT_RETURN_IF_ERROR(take_record(bytes, arena, &bytes_of_record));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_snapshot_record_descriptor, bytes_of_record,
                                           arena, NULL, &record));
  LEAT_RETURN_IF_ERROR(check_count(record.tensor.count, spec));
  for (int i = 0; i < spec->count; ++i, ++*out_filled) {
    LEAT_RETURN_IF_ERROR(leat_tensor_parse(record.tensor.items[i], LEAT_DTYPE_INVALID,
                                           leat_buffer_source_host(), &out[i]));
  }
  return leat_ok_status();
}

// Makes the component of type |dtype| that |metadata| describe of the first of the bytes |*rest|.
static leat_status_t unpack_component(const leat_pb_tensor_metadata_t* metadata, int dtype,
                                      leat_arena_t* arena, leat_string_view_t* rest,
                                      leat_tensor_t* out) {
  leat_shape_t shape;
  const int64_t size = metadata->tensor_size_bytes;
  if (size < 0 || (uint64_t)size > rest->size) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "the metadata say that a component has %lld bytes, must be at most the "
                            "%zu that are left",
                            (long long)size, rest->size);
  }
  const leat_string_view_t part = leat_string_view_make(rest->data, (size_t)size);
  *rest = leat_string_view_from_index(*rest, (size_t)size);
  if (is_message(dtype)) return leat_tensor_parse(part, dtype, leat_buffer_source_host(), out);
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(metadata->tensor_shape, &shape));
  const int64_t count = shape.element_count;
  leat_shape_release(&shape);
  // Without a content a TensorProto stands for as many zeros as its shape says.
  if (!size && count) {
    return leat_make_status(LEAT_DATA_LOSS,
                            "the metadata give no bytes to a component of %lld elements",
                            (long long)count);
  }
  const leat_pb_tensor_proto_t proto = {
      .dtype = dtype, .tensor_shape = metadata->tensor_shape, .tensor_content = part};
  return leat_tensor_from_content(&proto, arena, leat_buffer_source_host(), out);
}

static leat_status_t unpack(const leat_element_spec_t* spec,
                            const leat_pb_snapshot_tensor_metadata_t* metadata,
                            leat_string_view_t rest, leat_arena_t* arena, leat_tensor_t* out,
                            int* out_filled) {
  for (int i = 0; i < spec->count; ++i, ++*out_filled) {
    LEAT_RETURN_IF_ERROR(unpack_component(&metadata->tensor_metadata.items[i], spec->types[i],
                                          arena, &rest, &out[i]));
  }
  if (!rest.size) return leat_ok_status();
  return leat_make_status(LEAT_DATA_LOSS,
                          "%zu bytes are left that the metadata give to no component", rest.size);
}

static leat_status_t take_packed(const leat_element_spec_t* spec, leat_byte_reader_t* bytes,
                                 leat_arena_t* arena, leat_tensor_t* out, int* out_filled) {
  leat_string_view_t record;
  leat_pb_snapshot_tensor_metadata_t metadata;
  char* data;
  size_t size;
  LEAT_RETURN_IF_ERROR(take_record(bytes, arena, &record));
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_snapshot_tensor_metadata_descriptor, record,
                                           arena, NULL, &metadata));
  LEAT_RETURN_IF_ERROR(check_count(metadata.tensor_metadata.count, spec));
  LEAT_RETURN_IF_ERROR(take_record(bytes, arena, &record));
  LEAT_RETURN_IF_ERROR(leat_snappy_decompress(record, leat_allocator_system(), &data, &size));
  leat_status_t status =
      unpack(spec, &metadata, leat_string_view_make(data, size), arena, out, out_filled);
  leat_allocator_free(leat_allocator_system(), data);
  return status;
}

leat_status_t leat_snapshot_record_read(bool packs, const leat_element_spec_t* spec,
                                        leat_byte_reader_t* bytes, leat_tensor_t* out) {
  leat_arena_t arena;
  int filled = 0;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = packs ? take_packed(spec, bytes, &arena, out, &filled)
                               : take_plain(spec, bytes, &arena, out, &filled);
  leat_arena_deinitialize(&arena);
  if (status) leat_element_release(out, filled);
  return status;
}
