// CPU kernel of StringFormat: a template in which each placeholder is replaced by an input, printed
// as a short text. The template is kept in the kernel's state; its placeholders are counted when
// the kernel is made.
#include "ops/kernel_rows.h"
#include "ops/string/format.h"
#include "tensor/tensor_print.h"

typedef struct format_s {
  leat_allocator_t* allocator;
  char* text;  // the template, followed by the placeholder
  size_t size, placeholder_size;
  int64_t summarize;
} format_t;

// The attributes are copied, because the kernel's creation only lends them.
static leat_status_t format_create(leat_kernel_creation_t* c, void* state) {
  format_t* f = state;
  leat_string_view_t text, placeholder;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "template", &text));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "placeholder", &placeholder));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "summarize", &f->summarize));
  int places = leat_format_count(text, placeholder);
  if (places != c->kernel->input_count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "num placeholders in template and num inputs must match: %d vs. %d",
                            places, c->kernel->input_count);
  }
  f->allocator = c->allocator;
  f->size = text.size;
  f->placeholder_size = placeholder.size;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(c->allocator, text.size + placeholder.size + 1, &f->text));
  if (text.size) memcpy(f->text, text.data, text.size);
  if (placeholder.size) memcpy(f->text + text.size, placeholder.data, placeholder.size);
  return leat_ok_status();
}

static void format_destroy(void* state) {
  format_t* f = state;
  if (f->allocator) leat_allocator_free(f->allocator, f->text);
}

static leat_status_t format__cpu(leat_kernel_context_t* c) {
  const format_t* f = leat_kernel_state(c);
  leat_shape_t scalar = leat_shape_scalar();
  leat_tensor_t* output;
  leat_string_builder_t text;
  leat_string_view_t part, rest = leat_string_view_make(f->text, f->size);
  leat_string_view_t placeholder = leat_string_view_make(f->text + f->size, f->placeholder_size);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int i = 0; leat_format_next(&rest, placeholder, &part); ++i) {
    leat_string_builder_append(&text, part);
    leat_tensor_print_ends(leat_kernel_input(c, i), f->summarize, &text);
  }
  leat_string_builder_append(&text, part);
  leat_status_t status = leat_status_clone(text.status);
  if (!status) status = leat_tensor_set_string(output, 0, leat_string_builder_view(&text));
  leat_string_builder_deinitialize(&text);
  return status;
}

const leat_kernel_row_t leat_format_kernels_cpu[] = {
    {.op = "StringFormat",
     .device_type = "CPU",
     .create = format_create,
     .destroy = format_destroy,
     .state_bytes = sizeof(format_t),
     .compute = format__cpu},
    LEAT_KERNEL_ROWS_END,
};
