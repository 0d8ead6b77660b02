// What kernels of summaries share: messages made in an arena, encoded into output 0, a string.
#ifndef LEAT_OPS_SUMMARY_MESSAGE_CPU_H_
#define LEAT_OPS_SUMMARY_MESSAGE_CPU_H_

#include "formats/generated/summary.h"
#include "kernel/kernel.h"

// Numbers of Summary.Value's fields.
enum {
  LEAT_SUMMARY_SIMPLE_VALUE = 2,
  LEAT_SUMMARY_IMAGE = 4,
  LEAT_SUMMARY_HISTOGRAM = 5,
  LEAT_SUMMARY_AUDIO = 6,
  LEAT_SUMMARY_TENSOR = 8,
};

// Output 0 becomes |text|, or fails as it did.
LEAT_MUST_USE leat_status_t leat_summary_set_text(leat_kernel_context_t* c,
                                                  leat_string_builder_t* text);
// Output 0 becomes a Summary of |values|.
LEAT_MUST_USE leat_status_t leat_summary_set(leat_kernel_context_t* c,
                                             leat_pb_summary_value_t* values, size_t count);
// Runs a kernel that makes messages in an arena.
LEAT_MUST_USE leat_status_t leat_summary_with_arena(
    leat_kernel_context_t* c, leat_status_t (*make)(leat_kernel_context_t* c, leat_arena_t* arena));
// Input |index|, which must be a scalar.
LEAT_MUST_USE leat_status_t leat_summary_read_tag(const leat_kernel_context_t* c, int index,
                                                  leat_string_view_t* out_tag);
// "tag/kind/index", or "tag/kind" where at most one is asked for.
LEAT_MUST_USE leat_status_t leat_summary_number_tag(leat_arena_t* arena, leat_string_view_t tag,
                                                    const char* kind, int64_t index,
                                                    int64_t max_count,
                                                    leat_string_view_t* out_tag);

#endif  // LEAT_OPS_SUMMARY_MESSAGE_CPU_H_
