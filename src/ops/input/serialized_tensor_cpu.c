// Kernels of ParseTensor and SerializeTensor, which convert between a tensor and a serialized
// TensorProto; other kernels and readers use the two functions as well. Numbers are written as the
// bytes of the tensor (tensor_content), which is the smallest and fastest form. Strings are written
// as a list, or packed into tensor_content where the caller wants TensorFlow's packed form.
// Resources and variants have no bytes of their own and go through leat_tensor_to_proto; they are
// read in TensorFlow's form, which packs them into tensor_content, as well.
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/shape_proto.h"
#include "formats/wire/tensor_content.h"
#include "formats/wire/tensor_proto.h"
#include "ops/input/serialized_tensor_cpu.h"
#include "ops/kernel_rows.h"

leat_status_t leat_tensor_parse(leat_string_view_t text, int dtype, leat_buffer_source_t* source,
                                leat_tensor_t* out_tensor) {
  leat_arena_t arena;
  leat_pb_tensor_proto_t proto;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status =
      leat_message_decode(&leat_pb_tensor_proto_descriptor, text, &arena, NULL, &proto);
  if (!status && dtype != LEAT_DTYPE_INVALID && proto.dtype != dtype) {
    status = leat_make_status(LEAT_INVALID_ARGUMENT,
                              "Type mismatch between parsed tensor (%s) and dtype (%s)",
                              leat_dtype_name(proto.dtype), leat_dtype_name(dtype));
  }
  if (!status) status = leat_tensor_from_content(&proto, &arena, source, out_tensor);
  leat_arena_deinitialize(&arena);
  return status;
}

// Appends TensorFlow's packed form of strings: the lengths of all as varints, then the bytes of
// all.
static leat_status_t pack_strings(const leat_tensor_t* tensor, leat_string_builder_t* out) {
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    size_t size = leat_tensor_string_at(tensor, i).size;
    for (; size > 127; size >>= 7) leat_string_builder_append_char(out, (char)(size | 128));
    leat_string_builder_append_char(out, (char)size);
  }
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    leat_string_builder_append(out, leat_tensor_string_at(tensor, i));
  }
  return leat_status_clone(out->status);
}

// Fills |out_proto|, which borrows |tensor|'s bytes and |arena|. |packed| is memory for the packed
// form of strings; NULL: strings are a list.
static leat_status_t fill_proto(const leat_tensor_t* tensor, leat_string_builder_t* packed,
                                leat_arena_t* arena, leat_pb_tensor_proto_t* out_proto) {
  bool is_packed = packed && tensor->dtype == LEAT_DTYPE_STRING;
  if (leat_dtype_in(tensor->dtype, LEAT_DTYPES_OBJECT) && !is_packed) {
    return leat_tensor_to_proto(tensor, arena, out_proto);
  }
  *out_proto = (leat_pb_tensor_proto_t){.dtype = tensor->dtype};
  size_t size = (size_t)tensor->shape.element_count * leat_dtype_size(tensor->dtype);
  out_proto->tensor_content = leat_string_view_make(tensor->data, size);
  if (is_packed) {
    LEAT_RETURN_IF_ERROR(pack_strings(tensor, packed));
    out_proto->tensor_content = leat_string_builder_view(packed);
  }
  return leat_partial_shape_to_proto(leat_partial_shape_of(&tensor->shape), arena,
                                     &out_proto->tensor_shape);
}

leat_status_t leat_tensor_serialize(const leat_tensor_t* tensor, bool packs_strings,
                                    leat_tensor_t* target, int64_t index) {
  leat_arena_t arena;
  leat_pb_tensor_proto_t proto;
  leat_string_builder_t text, packed;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_string_builder_initialize(leat_allocator_system(), &packed);
  leat_status_t status = fill_proto(tensor, packs_strings ? &packed : NULL, &arena, &proto);
  if (!status) status = leat_message_encode(&leat_pb_tensor_proto_descriptor, &proto, &text);
  if (!status) status = leat_tensor_set_string(target, index, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  leat_string_builder_deinitialize(&packed);
  leat_arena_deinitialize(&arena);
  return status;
}

static leat_status_t parse__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t tensor;
  if (input->shape.rank != 0) {
    return leat_kernel_invalid(c, "Expected `serialized` to be a scalar, got shape: %s",
                               LEAT_SHAPE_TEXT(&input->shape));
  }
  LEAT_RETURN_IF_ERROR(leat_tensor_parse(leat_tensor_string_at(input, 0),
                                         (int)leat_dtype_base(c->kernel->output_types[0]),
                                         c->services->memory, &tensor));
  leat_kernel_set_output(c, 0, tensor);
  return leat_ok_status();
}

static leat_status_t serialize__cpu(leat_kernel_context_t* c) {
  leat_tensor_t* output;
  leat_shape_t scalar = leat_shape_scalar();
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_tensor_serialize(leat_kernel_input(c, 0), false, output, 0);
}

const leat_kernel_row_t leat_serialized_tensor_kernels_cpu[] = {
    {.op = "ParseTensor", .device_type = "CPU", .compute = parse__cpu},
    {.op = "SerializeTensor",
     .device_type = "CPU",
     .constraints = "T: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, "
                    "int64, int8, resource, string, uint16, uint32, uint64, uint8, variant",
     .compute = serialize__cpu},
    LEAT_KERNEL_ROWS_END,
};
