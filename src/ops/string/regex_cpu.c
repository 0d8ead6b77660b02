// CPU kernels of RegexFullMatch and StaticRegexFullMatch. A pattern that is an attribute is
// compiled once, when the kernel is made.
#include "ops/kernel_rows.h"
#include "ops/string/pattern_cpu.h"

// Sets each element of the output to whether the pattern matches the whole string.
static leat_status_t match(leat_kernel_context_t* c, const leat_pattern_t* pattern) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_pattern_matcher_t* matcher;
  leat_step_pace_t pace = leat_step_pace_of(c);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_pattern_matcher_create(pattern, 0, &pace, &matcher));
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < input->shape.element_count && !status; ++i) {
    status = leat_pattern_matches(matcher, leat_tensor_string_at(input, i),
                                  &leat_tensor_data(output, bool)[i]);
  }
  leat_pattern_matcher_free(matcher);
  return status;
}

static leat_status_t match__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* text = leat_kernel_input(c, 1);
  leat_pattern_t* pattern;
  LEAT_RETURN_IF_ERROR(leat_pattern_create(leat_tensor_string_at(text, 0), &pattern));
  leat_status_t status = match(c, pattern);
  leat_pattern_free(pattern);
  return status;
}

// ---- A pattern that is an attribute -------------------------------------------------------------

static leat_status_t static_create(leat_kernel_creation_t* c, void* state) {
  leat_string_view_t pattern;
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "pattern", &pattern));
  return leat_pattern_create(pattern, state);
}

static void static_destroy(void* state) { leat_pattern_free(*(leat_pattern_t**)state); }

static leat_status_t static_match__cpu(leat_kernel_context_t* c) {
  return match(c, *(leat_pattern_t**)leat_kernel_state(c));
}

const leat_kernel_row_t leat_regex_kernels_cpu[] = {
    {.op = "RegexFullMatch", .device_type = "CPU", .compute = match__cpu},
    {.op = "StaticRegexFullMatch",
     .device_type = "CPU",
     .create = static_create,
     .destroy = static_destroy,
     .state_bytes = sizeof(leat_pattern_t*),
     .compute = static_match__cpu},
    LEAT_KERNEL_ROWS_END,
};
