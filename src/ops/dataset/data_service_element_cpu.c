// An element comes compressed, as one variant that CompressElement could have made, or as its
// tensors (ops/dataset/data_service_element_cpu.h).
#include "ops/dataset/data_service_element_cpu.h"

#include "base/string_builder.h"
#include "formats/generated/data_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "formats/wire/tensor_content.h"
#include "ops/dataset/dataset_cpu.h"
#include "ops/dataset/values.h"

static leat_status_t make_compressed(const leat_pb_compressed_element_t* compressed,
                                     leat_tensor_t* out) {
  const leat_shape_t scalar = leat_shape_scalar();
  leat_string_builder_t message;
  leat_string_builder_initialize(leat_allocator_system(), &message);
  leat_status_t status =
      leat_message_encode(&leat_pb_compressed_element_descriptor, compressed, &message);
  if (!status) status = leat_status_clone(message.status);
  if (!status) {
    status = leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_VARIANT, &scalar, out);
  }
  if (!status) {
    status = leat_compressed_element_create(leat_string_builder_view(&message),
                                            leat_tensor_data(out, leat_variant_t));
    if (status) leat_tensor_release(out);
  }
  leat_string_builder_deinitialize(&message);
  return status;
}

static leat_status_t check_count(size_t count, const leat_element_spec_t* spec) {
  if (count == (size_t)spec->count) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Reading an element of a worker failed: it has %zu components, must have "
                          "the %d of output_types",
                          count, spec->count);
}

// Makes the tensors; |*out_count| of them are there after a failure.
static leat_status_t make_element(const leat_pb_get_element_response_t* response,
                                  const leat_element_spec_t* spec, leat_arena_t* arena,
                                  leat_tensor_t* out, int* out_count) {
  *out_count = 0;
  if (response->compressed) {
    LEAT_RETURN_IF_ERROR(check_count(1, spec));
    LEAT_RETURN_IF_ERROR(make_compressed(response->compressed, out));
    *out_count = 1;
  } else {
    const leat_pb_uncompressed_element_t* element = response->uncompressed;
    const size_t count = element ? element->components.count : 0;
    LEAT_RETURN_IF_ERROR(check_count(count, spec));
    for (; *out_count < spec->count; ++*out_count) {
      LEAT_RETURN_IF_ERROR(leat_tensor_from_content(&element->components.items[*out_count], arena,
                                                    leat_buffer_source_host(), &out[*out_count]));
    }
  }
  return leat_element_spec_check_element(spec, out, spec->count);
}

leat_status_t leat_service_element_read(leat_string_view_t answer, const leat_element_spec_t* spec,
                                        leat_tensor_t* out_element,
                                        leat_service_answer_t* out_kind) {
  leat_pb_get_element_response_t response;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 1024, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_get_element_response_descriptor, answer,
                                             &arena, NULL, &response);
  if (!status && (response.end_of_sequence || response.skip_task)) {
    *out_kind = response.end_of_sequence ? LEAT_SERVICE_END : LEAT_SERVICE_SKIPPED;
  } else if (!status) {
    int count;
    *out_kind = LEAT_SERVICE_ELEMENT;
    status = make_element(&response, spec, &arena, out_element, &count);
    if (status) leat_element_release(out_element, count);
  }
  leat_arena_deinitialize(&arena);
  return status;
}
