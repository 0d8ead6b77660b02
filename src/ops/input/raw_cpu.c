// Kernels of the ops on raw bytes. DecodeRaw and DecodePaddedRaw reinterpret the bytes of strings
// as numbers,
//
//     bytes [d...] string  ->  numbers [d..., size of a string / size of a number]
//
// and DecodeCompressed decompresses each string. The machine is little-endian, so that numbers in
// big-endian order are the bytes of each number reversed. Booleans are normalized to 0 and 1,
// because other kernels rely on that. A compressed string may decompress to at most
// LEAT_COMPRESSION_MAX_BYTES bytes, so that a small input cannot use up the memory.
#include <string.h>

#include "formats/record/compression.h"
#include "ops/kernel_rows.h"

typedef struct order_s {
  int dtype;
  bool little_endian;
} order_t;

static leat_status_t order_create(leat_kernel_creation_t* c, void* state) {
  order_t* order = state;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_type(c, "out_type", &order->dtype));
  return leat_kernel_attr_bool(c, "little_endian", &order->little_endian);
}

// The number of bytes that are reversed together: a complex number is two numbers.
static size_t unit_of(const order_t* order) {
  size_t size = leat_dtype_size(order->dtype);
  return leat_dtype_in(order->dtype, LEAT_DTYPES_COMPLEX) ? size / 2 : size;
}

// Copies |size| bytes of numbers and reverses each number if |order| asks for it. |to| has room for
// whole numbers, also where |size| is no multiple of a number's size.
static void copy_numbers(const order_t* order, const char* from, size_t size, char* to) {
  size_t unit = unit_of(order);
  if (order->little_endian || unit == 1) {
    if (size) memcpy(to, from, size);
    return;
  }
  for (size_t i = 0; i < size; ++i) to[i - i % unit + unit - 1 - i % unit] = from[i];
}

// Allocates output 0: the shape of input 0, then |last|.
static leat_status_t allocate(leat_kernel_context_t* c, int64_t last, leat_tensor_t** out_output) {
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  if (shape->rank == LEAT_SHAPE_MAX_RANK) return leat_kernel_invalid(c, "Too many dimensions");
  for (int i = 0; i < shape->rank; ++i) dims[i] = leat_shape_dim(shape, i);
  dims[shape->rank] = last;
  return leat_kernel_allocate_sized(c, 0, shape->rank + 1, dims, out_output);
}

// All strings must have the size of the first, because the output is one tensor.
static leat_status_t decode_raw__cpu(leat_kernel_context_t* c) {
  const order_t* order = leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  int64_t count = input->shape.element_count;
  size_t item = leat_dtype_size(order->dtype);
  size_t size = count ? leat_tensor_string_at(input, 0).size : 0;
  for (int64_t i = 0; i < count; ++i) {
    size_t own = leat_tensor_string_at(input, i).size;
    if (own == size) continue;
    return leat_kernel_invalid(c,
                               "DecodeRaw requires input strings to all be the same size, but "
                               "element %lld has size %zu != %zu",
                               (long long)i, size, own);
  }
  if (size % item) {
    return leat_kernel_invalid(c,
                               "Input to DecodeRaw has length %zu that is not a multiple of %zu, "
                               "the size of %s",
                               size, item, leat_dtype_name(order->dtype));
  }
  LEAT_RETURN_IF_ERROR(allocate(c, (int64_t)(size / item), &output));
  for (int64_t i = 0; i < count; ++i) {
    copy_numbers(order, leat_tensor_string_at(input, i).data, size,
                 (char*)output->data + (size_t)i * size);
  }
  return leat_tensor_normalize_bools(c->services->memory, output);
}

// Strings are cut or padded with zeros to fixed_length bytes.
static leat_status_t decode_padded__cpu(leat_kernel_context_t* c) {
  const order_t* order = leat_kernel_state(c);
  const leat_tensor_t *input = leat_kernel_input(c, 0), *length = leat_kernel_input(c, 1);
  leat_tensor_t* output;
  int64_t item = (int64_t)leat_dtype_size(order->dtype);
  if (length->shape.rank != 0) {
    return leat_kernel_invalid(c, "fixed_length must be scalar, got shape %s",
                               LEAT_SHAPE_TEXT(&length->shape));
  }
  int64_t bytes = *leat_tensor_data(length, const int32_t);
  if (bytes <= 0 || bytes % item) {
    return leat_kernel_invalid(c, "fixed_length (%lld) must be a positive multiple of %lld",
                               (long long)bytes, (long long)item);
  }
  LEAT_RETURN_IF_ERROR(allocate(c, bytes / item, &output));
  leat_tensor_fill_zero(output);
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t from = leat_tensor_string_at(input, i);
    size_t size = from.size < (size_t)bytes ? from.size : (size_t)bytes;
    copy_numbers(order, from.data, size, (char*)output->data + i * bytes);
  }
  return leat_ok_status();
}

// ---- Decompressing ------------------------------------------------------------------------------

static leat_status_t decompress_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t name;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "compression_type", &name));
  if (leat_compression_from_name(name, state)) return leat_ok_status();
  bool is_zstd = leat_string_view_equals(name, "ZSTD");
  return leat_make_status(is_zstd ? LEAT_UNIMPLEMENTED : LEAT_INVALID_ARGUMENT,
                          "Create failed for node '%.*s' (DecodeCompressed): compression_type is "
                          "'%.*s', must be ZLIB, GZIP or empty",
                          LEAT_SV_ARG(c->kernel->node_name), LEAT_SV_ARG(name));
}

// Appends all bytes of |source| to |out|, in pieces whose sizes double. A source gives fewer bytes
// than it is asked for only at its end.
static leat_status_t read_all(leat_record_source_t* source, leat_string_builder_t* out) {
  for (size_t part = 1 << 16;; part *= 2) {
    size_t before = out->size, size;
    char* room = leat_string_builder_reserve(out, part);
    if (!room) return leat_status_clone(out->status);
    LEAT_RETURN_IF_ERROR(source->read(source, room, part, &size));
    out->size = before + size;
    if (size < part) return leat_ok_status();
  }
}

static leat_status_t decompress_one(leat_compression_t compression, leat_string_view_t bytes,
                                    leat_string_builder_t* out) {
  leat_record_bytes_source_t source;
  leat_decompressor_t* decompressor;
  out->size = 0;
  leat_record_bytes_source_initialize(bytes, &source);
  LEAT_RETURN_IF_ERROR(leat_decompressor_create(&source.base, compression,
                                                LEAT_COMPRESSION_MAX_BYTES,
                                                leat_allocator_system(), &decompressor));
  leat_status_t status = read_all(leat_decompressor_source(decompressor), out);
  leat_decompressor_free(decompressor);
  return status;
}

static leat_status_t decompress__cpu(leat_kernel_context_t* c) {
  leat_compression_t compression = *(leat_compression_t*)leat_kernel_state(c);
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_string_builder_t text;
  if (compression == LEAT_COMPRESSION_NONE) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < input->shape.element_count && !status; ++i) {
    status = decompress_one(compression, leat_tensor_string_at(input, i), &text);
    if (!status) status = leat_tensor_set_string(output, i, leat_string_builder_view(&text));
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

#define ORDER .device_type = "CPU", .create = order_create, .state_bytes = sizeof(order_t)

const leat_kernel_row_t leat_raw_kernels_cpu[] = {
    {.op = "DecodeRaw", ORDER, .compute = decode_raw__cpu},
    {.op = "DecodePaddedRaw",
     ORDER,
     .constraints = "out_type: float, double, int32, uint16, uint8, int16, int8, int64, bfloat16",
     .compute = decode_padded__cpu},
    {.op = "DecodeCompressed",
     .device_type = "CPU",
     .create = decompress_create,
     .state_bytes = sizeof(leat_compression_t),
     .compute = decompress__cpu,
     .expensive = true},
    LEAT_KERNEL_ROWS_END,
};
