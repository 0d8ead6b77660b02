// Summary messages as the output of a kernel (message_cpu.h).
#include "ops/summary/message_cpu.h"

#include "formats/wire/encode.h"
#include "ops/summary/summary_writer_cpu.h"

leat_status_t leat_summary_set_text(leat_kernel_context_t* c, leat_string_builder_t* text) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  return leat_tensor_set_string(output, 0, leat_string_builder_view(text));
}

leat_status_t leat_summary_set(leat_kernel_context_t* c, leat_pb_summary_value_t* values,
                               size_t count) {
  leat_pb_summary_t summary = {.value = {values, count}};
  leat_string_builder_t text;
  if (!c->kernel->output_count) {
    return leat_summary_write(
        c, (leat_pb_event_t){.summary = &summary, .what_case = LEAT_EVENT_SUMMARY});
  }
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_message_encode(&leat_pb_summary_descriptor, &summary, &text);
  if (!status) status = leat_summary_set_text(c, &text);
  leat_string_builder_deinitialize(&text);
  return status;
}

leat_status_t leat_summary_with_arena(leat_kernel_context_t* c,
                                      leat_status_t (*make)(leat_kernel_context_t* c,
                                                            leat_arena_t* arena)) {
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_status_t status = make(c, &arena);
  leat_arena_deinitialize(&arena);
  return status;
}

leat_status_t leat_summary_read_tag(const leat_kernel_context_t* c, int index,
                                    leat_string_view_t* out_tag) {
  const leat_tensor_t* tag = leat_kernel_input(c, index);
  if (tag->shape.rank != 0) {
    const bool is_image = leat_string_view_equals(c->kernel->op->name, "ImageSummary");
    return leat_kernel_invalid(c, "%s must be a scalar: %.*s has shape %s",
                               is_image ? "Tags" : "Tag",
                               LEAT_SV_ARG(c->kernel->op->inputs[index].name),
                               LEAT_SHAPE_TEXT(&tag->shape));
  }
  *out_tag = leat_tensor_string_at(tag, 0);
  return leat_ok_status();
}

leat_status_t leat_summary_number_tag(leat_arena_t* arena, leat_string_view_t tag, const char* kind,
                                      int64_t index, int64_t max_count,
                                      leat_string_view_t* out_tag) {
  if (max_count == 1) {
    return leat_arena_print(arena, out_tag, "%.*s/%s", LEAT_SV_ARG(tag), kind);
  }
  return leat_arena_print(arena, out_tag, "%.*s/%s/%lld", LEAT_SV_ARG(tag), kind, (long long)index);
}
