// CPU kernels of regular expressions. Patterns are translated to POSIX's syntax and matched by the
// C library. A pattern that is an attribute is compiled once, when the kernel is made.
#include <string.h>

#include "base/regular_expression.h"
#include "ops/kernel_rows.h"
#include "ops/string/regex_syntax_cpu.h"

// Translates and compiles |pattern|; the caller frees the expression.
static leat_status_t compile(leat_string_view_t pattern,
                             leat_regular_expression_t** out_expression) {
  leat_string_builder_t posix;
  leat_string_builder_initialize(leat_allocator_system(), &posix);
  leat_status_t status = leat_regex_to_posix(pattern, &posix);
  if (!status) status = leat_regular_expression_create(posix.data, out_expression);
  leat_string_builder_deinitialize(&posix);
  return leat_status_annotate(status, "Invalid pattern: %.*s, error", LEAT_SV_ARG(pattern));
}

// Sets each element of the output to whether the expression matches the whole string, which the
// translated pattern itself demands.
static leat_status_t match(leat_kernel_context_t* c, const leat_regular_expression_t* expression) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  for (int64_t i = 0; i < input->shape.element_count; ++i) {
    leat_string_view_t text = leat_tensor_string_at(input, i);
    LEAT_RETURN_IF_ERROR(
        leat_regular_expression_search(expression, text, &leat_tensor_data(output, bool)[i]));
  }
  return leat_ok_status();
}

static leat_status_t match__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* pattern = leat_kernel_input(c, 1);
  leat_regular_expression_t* expression;
  if (pattern->shape.rank != 0) {
    return leat_kernel_invalid(c, "Pattern must be scalar, but received %s",
                               LEAT_SHAPE_TEXT(&pattern->shape));
  }
  LEAT_RETURN_IF_ERROR(compile(leat_tensor_string_at(pattern, 0), &expression));
  leat_status_t status = match(c, expression);
  leat_regular_expression_free(expression);
  return status;
}

// ---- A pattern that is an attribute -------------------------------------------------------------

static leat_status_t static_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t pattern;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "pattern", &pattern));
  return compile(pattern, state);
}

static void static_destroy(void* state) {
  leat_regular_expression_free(*(leat_regular_expression_t**)state);
}

static leat_status_t static_match__cpu(leat_kernel_context_t* c) {
  return match(c, *(leat_regular_expression_t**)leat_kernel_state(c));
}

const leat_kernel_row_t leat_regex_kernels_cpu[] = {
    {.op = "RegexFullMatch", .device_type = "CPU", .compute = match__cpu},
    {.op = "StaticRegexFullMatch",
     .device_type = "CPU",
     .create = static_create,
     .destroy = static_destroy,
     .state_bytes = sizeof(leat_regular_expression_t*),
     .compute = static_match__cpu},
    LEAT_KERNEL_ROWS_END,
};
