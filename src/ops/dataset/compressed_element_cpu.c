// Kernels that compress an element of a dataset into a variant and take it out again. The variant
// holds a message CompressedElement, whose bytes go to other processes and files as they are, so
// that either library reads what the other has compressed:
//
//   components ──▶ their bytes, one after the other ──▶ one block of Snappy
//                  type, shape and number of bytes  ──▶ metadata of each component
//
// Numbers are the bytes of their tensor. Of strings the texts follow each other, and the metadata
// have the length of each. All else, a tensor of variants, is a serialized TensorProto.
//
// A message may come from anybody: every length is held against the bytes that there are, and
// against the shape, before anything is allocated for it.
#include <string.h>

#include "base/checked.h"
#include "formats/generated/compressed_element.h"
#include "formats/record/snappy_block.h"
#include "formats/record/snappy_file.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "ops/dataset/values.h"
#include "ops/input/serialized_tensor_cpu.h"
#include "ops/kernel_rows.h"

typedef leat_pb_compressed_component_metadata_t metadata_t;

// ---- The value ----------------------------------------------------------------------------------

typedef struct compressed_s {
  leat_reference_count_t references;
  size_t size;
  char message[];
} compressed_t;

static void compressed_retain(void* self) {
  leat_reference_count_retain(&((compressed_t*)self)->references);
}

static void compressed_release(void* self) {
  if (!leat_reference_count_release(&((compressed_t*)self)->references)) return;
  leat_allocator_free(leat_allocator_system(), self);
}

static leat_string_view_t message_of(const compressed_t* compressed) {
  return leat_string_view_make(compressed->message, compressed->size);
}

leat_status_t leat_compressed_element_create(leat_string_view_t message,
                                             leat_variant_t* out_variant) {
  compressed_t* compressed;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      leat_allocator_system(), sizeof *compressed + message.size, (void**)&compressed));
  compressed->references = 1;
  compressed->size = message.size;
  if (message.size) memcpy(compressed->message, message.data, message.size);
  *out_variant = (leat_variant_t){&leat_compressed_element_vtable, compressed};
  return leat_ok_status();
}

static leat_status_t compressed_encode(void* self, char** out_metadata, size_t* out_metadata_size,
                                       struct leat_tensor_s** out_tensors,
                                       size_t* out_tensor_count) {
  const compressed_t* compressed = self;
  *out_tensors = NULL;
  *out_tensor_count = 0;
  *out_metadata_size = compressed->size;
  return leat_allocator_clone_string(leat_allocator_system(), compressed->message,
                                     compressed->size, out_metadata);
}

// What the message says is checked when it is uncompressed.
static leat_status_t compressed_decode(leat_string_view_t metadata, struct leat_tensor_s* tensors,
                                       size_t count, leat_variant_t* out_variant) {
  if (count == 0) return leat_compressed_element_create(metadata, out_variant);
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Tensor decode failed: a compressed element has %zu tensors, must have "
                          "none",
                          count);
}

const leat_variant_vtable_t leat_compressed_element_vtable = {
    .type_name = "tensorflow.data.CompressedElement",
    .retain = compressed_retain,
    .release = compressed_release,
    .encode = compressed_encode,
    .decode = compressed_decode};

// ---- Compressing --------------------------------------------------------------------------------

// What is gathered while the components are added.
typedef struct compression_s {
  leat_arena_t arena;
  leat_string_builder_t bytes, block, message;
  leat_tensor_t text;  // of a component that is a message
} compression_t;

static leat_status_t add_string_component(compression_t* z, const leat_tensor_t* component,
                                          metadata_t* metadata) {
  const size_t count = (size_t)component->shape.element_count;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&z->arena, count, &metadata->uncompressed_bytes.items));
  metadata->uncompressed_bytes.count = count;
  for (size_t i = 0; i < count; ++i) {
    const leat_string_view_t text = leat_tensor_string_at(component, (int64_t)i);
    metadata->uncompressed_bytes.items[i] = text.size;
    leat_string_builder_append(&z->bytes, text);
  }
  return leat_ok_status();
}

static leat_status_t add_component(compression_t* z, const leat_tensor_t* component,
                                   metadata_t* metadata) {
  const leat_shape_t* shape = &component->shape;
  metadata->dtype = component->dtype;
  LEAT_RETURN_IF_ERROR(leat_partial_shape_to_proto(
      (leat_partial_shape_t){shape->rank, leat_shape_dims(shape)}, &z->arena,
      &metadata->tensor_shape));
  if (component->dtype == LEAT_DTYPE_STRING) return add_string_component(z, component, metadata);
  leat_string_view_t bytes = {component->data, leat_tensor_size_bytes(component)};
  if (leat_dtype_in(component->dtype, LEAT_DTYPES_OBJECT)) {
    const leat_shape_t scalar = leat_shape_scalar();
    if (!z->text.dtype) {
      LEAT_RETURN_IF_ERROR(leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING,
                                                &scalar, &z->text));
    }
    LEAT_RETURN_IF_ERROR(leat_tensor_serialize(component, true, &z->text, 0));
    bytes = leat_tensor_string_at(&z->text, 0);
  }
  if (!bytes.size) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&z->arena, 1, &metadata->uncompressed_bytes.items));
  metadata->uncompressed_bytes.items[0] = bytes.size;
  metadata->uncompressed_bytes.count = 1;
  leat_string_builder_append(&z->bytes, bytes);
  return leat_ok_status();
}

static leat_status_t compress(leat_kernel_context_t* c, compression_t* z,
                              leat_variant_t* out_variant) {
  const int count = leat_kernel_input_count(c);
  leat_pb_compressed_element_t element = {.component_metadata.count = (size_t)count};
  LEAT_RETURN_IF_ERROR(LEAT_NEW(&z->arena, (size_t)count, &element.component_metadata.items));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(
        add_component(z, leat_kernel_input(c, i), &element.component_metadata.items[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(z->bytes.status));
  if (z->bytes.size > UINT32_MAX) {
    return leat_kernel_invalid(c, "the components have %zu bytes, must have fewer than 2^32",
                               z->bytes.size);
  }
  leat_snappy_compress(leat_string_builder_view(&z->bytes), &z->block);
  LEAT_RETURN_IF_ERROR(leat_status_clone(z->block.status));
  element.data = leat_string_builder_view(&z->block);
  LEAT_RETURN_IF_ERROR(
      leat_message_encode(&leat_pb_compressed_element_descriptor, &element, &z->message));
  return leat_compressed_element_create(leat_string_builder_view(&z->message), out_variant);
}

static leat_status_t compress__cpu(leat_kernel_context_t* c) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  compression_t z = {0};
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_arena_initialize(leat_allocator_system(), 1024, &z.arena);
  leat_string_builder_initialize(leat_allocator_system(), &z.bytes);
  leat_string_builder_initialize(leat_allocator_system(), &z.block);
  leat_string_builder_initialize(leat_allocator_system(), &z.message);
  leat_status_t status = compress(c, &z, leat_tensor_data(output, leat_variant_t));
  leat_tensor_release(&z.text);
  leat_string_builder_deinitialize(&z.message);
  leat_string_builder_deinitialize(&z.block);
  leat_string_builder_deinitialize(&z.bytes);
  leat_arena_deinitialize(&z.arena);
  return status;
}

// ---- Uncompressing ------------------------------------------------------------------------------

// Takes |size| bytes off |*inout_rest|.
static leat_status_t take_bytes(uint64_t size, leat_string_view_t* inout_rest,
                                leat_string_view_t* out_bytes) {
  if (size > inout_rest->size) {
    return leat_make_status(LEAT_INTERNAL,
                            "the metadata say that a component has %llu bytes, must be at most the "
                            "%zu that are left",
                            (unsigned long long)size, inout_rest->size);
  }
  *out_bytes = leat_string_view_make(inout_rest->data, (size_t)size);
  *inout_rest = leat_string_view_from_index(*inout_rest, (size_t)size);
  return leat_ok_status();
}

// Makes a component of strings. There is a length for each, which bounds their number.
static leat_status_t take_strings(const metadata_t* metadata, leat_string_view_t* inout_rest,
                                  leat_tensor_t* out) {
  leat_shape_t shape;
  leat_string_view_t text;
  const size_t count = metadata->uncompressed_bytes.count;
  LEAT_RETURN_IF_ERROR(leat_shape_from_proto(metadata->tensor_shape, &shape));
  leat_status_t status = leat_ok_status();
  if ((uint64_t)shape.element_count != count) {
    status = leat_make_status(LEAT_INTERNAL,
                              "the metadata have the lengths of %zu strings, must have one for "
                              "each of shape %s",
                              count, LEAT_SHAPE_TEXT(&shape));
  } else {
    status = leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_STRING, &shape, out);
  }
  leat_shape_release(&shape);
  if (status) return status;
  for (size_t i = 0; i < count && !status; ++i) {
    status = take_bytes(metadata->uncompressed_bytes.items[i], inout_rest, &text);
    if (!status) status = leat_tensor_set_string(out, (int64_t)i, text);
  }
  if (status) leat_tensor_release(out);
  return status;
}

// Makes the component that |metadata| describe of the first of the bytes |*inout_rest|.
static leat_status_t take_component(const metadata_t* metadata, leat_arena_t* arena,
                                    leat_string_view_t* inout_rest, leat_tensor_t* out) {
  leat_string_view_t bytes;
  if (metadata->dtype == LEAT_DTYPE_STRING) return take_strings(metadata, inout_rest, out);
  const bool has_bytes = metadata->uncompressed_bytes.count;
  LEAT_RETURN_IF_ERROR(take_bytes(has_bytes ? metadata->uncompressed_bytes.items[0] : 0,
                                  inout_rest, &bytes));
  if (leat_dtype_in(metadata->dtype, LEAT_DTYPES_OBJECT)) {
    return leat_tensor_parse(bytes, metadata->dtype, leat_buffer_source_host(), out);
  }
  const leat_pb_tensor_proto_t proto = {.dtype = metadata->dtype,
                                        .tensor_shape = metadata->tensor_shape,
                                        .tensor_content = bytes};
  if (!bytes.size) {
    // Without a content a TensorProto stands for as many zeros as its shape says.
    leat_shape_t shape;
    LEAT_RETURN_IF_ERROR(leat_shape_from_proto(metadata->tensor_shape, &shape));
    const int64_t count = shape.element_count;
    leat_shape_release(&shape);
    if (count) {
      return leat_make_status(LEAT_INTERNAL,
                              "the metadata give no bytes to a component of %lld elements",
                              (long long)count);
    }
  }
  return leat_tensor_from_content(&proto, arena, leat_buffer_source_host(), out);
}

static leat_status_t check_types(const leat_kernel_context_t* c,
                                 const leat_pb_compressed_element_t* element) {
  const int wanted = c->kernel->output_count;
  if (element->component_metadata.count != (size_t)wanted) {
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Expected %d outputs from uncompress, but got %zu", wanted,
                             element->component_metadata.count);
  }
  for (int i = 0; i < wanted; ++i) {
    const int dtype = element->component_metadata.items[i].dtype;
    if (dtype == c->kernel->output_types[i]) continue;
    return leat_kernel_error(c, LEAT_FAILED_PRECONDITION,
                             "Expected a tensor of type %s but got a tensor of type %s",
                             leat_dtype_name(c->kernel->output_types[i]), leat_dtype_name(dtype));
  }
  return leat_ok_status();
}

static leat_status_t set_outputs(leat_kernel_context_t* c, leat_string_view_t bytes,
                                 const leat_pb_compressed_element_t* element,
                                 leat_arena_t* arena) {
  for (size_t i = 0; i < element->component_metadata.count; ++i) {
    leat_tensor_t component;
    LEAT_RETURN_IF_ERROR(
        take_component(&element->component_metadata.items[i], arena, &bytes, &component));
    leat_kernel_set_output(c, (int)i, component);
  }
  if (!bytes.size) return leat_ok_status();
  return leat_kernel_error(c, LEAT_INTERNAL,
                           "%zu bytes are left that the metadata give to no component",
                           bytes.size);
}

static leat_status_t uncompress(leat_kernel_context_t* c, leat_string_view_t message,
                                leat_arena_t* arena) {
  leat_pb_compressed_element_t element;
  char* data;
  size_t size;
  LEAT_RETURN_IF_ERROR(leat_message_decode(&leat_pb_compressed_element_descriptor, message, arena,
                                           NULL, &element));
  LEAT_RETURN_IF_ERROR(check_types(c, &element));
  LEAT_RETURN_IF_ERROR(
      leat_snappy_decompress(element.data, leat_allocator_system(), &data, &size));
  leat_status_t status = set_outputs(c, leat_string_view_make(data, size), &element, arena);
  leat_allocator_free(leat_allocator_system(), data);
  return status;
}

static leat_status_t uncompress__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_arena_t arena;
  const leat_variant_t* variant = input->shape.rank == 0 ? input->data : NULL;
  if (!variant || variant->vtable != &leat_compressed_element_vtable) {
    return leat_kernel_invalid(c, "Tensor must be a compressed element.");
  }
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = uncompress(c, message_of(variant->self), &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

const leat_kernel_row_t leat_compressed_element_kernels_cpu[] = {
    {.op = "CompressElement", .device_type = "CPU", .compute = compress__cpu},
    {.op = "UncompressElement", .device_type = "CPU", .compute = uncompress__cpu},
    LEAT_KERNEL_ROWS_END,
};
