// Helpers of the summary kernels. A kernel builds a Summary message (the protocol buffer that event
// files hold for TensorBoard) whose parts lie in a temporary arena, and sets output 0, a scalar
// string, to its encoding. The same kernels serve the ops that write the message to an event file
// (summary_writer_cpu.h): those take a writer and a step before the other inputs. The functions run
// on the kernel's thread; errors name the kernel's input.
#ifndef LEAT_OPS_SUMMARY_MESSAGE_CPU_H_
#define LEAT_OPS_SUMMARY_MESSAGE_CPU_H_

#include "formats/generated/summary.h"
#include "kernel/kernel.h"

// The field numbers in Summary.Value, which select the kind of a value.
enum {
  LEAT_SUMMARY_SIMPLE_VALUE = 2,
  LEAT_SUMMARY_IMAGE = 4,
  LEAT_SUMMARY_HISTOGRAM = 5,
  LEAT_SUMMARY_AUDIO = 6,
  LEAT_SUMMARY_TENSOR = 8,
};

// Sets output 0 to |text|, or fails with a copy of the status that building the text left in it.
// The caller keeps |text|.
LEAT_MUST_USE leat_status_t leat_summary_set_text(leat_kernel_context_t* c,
                                                  leat_string_builder_t* text);
// The first input that describes a value: behind the writer and the step, where the kernel's op
// adds an event to a writer and has no output.
static inline int leat_summary_first_input(const leat_kernel_context_t* c) {
  return c->kernel->output_count ? 0 : 2;
}
// Sets output 0 to an encoded Summary of |values|, which are borrowed, or adds an event with the
// Summary where the op has no output.
LEAT_MUST_USE leat_status_t leat_summary_set(leat_kernel_context_t* c,
                                             leat_pb_summary_value_t* values, size_t count);
// Runs |make| with an arena that is freed when it returns.
LEAT_MUST_USE leat_status_t leat_summary_with_arena(
    leat_kernel_context_t* c, leat_status_t (*make)(leat_kernel_context_t* c, leat_arena_t* arena));
// Borrows the string of input |index|, which must be a scalar (INVALID_ARGUMENT otherwise), until
// the kernel ends.
LEAT_MUST_USE leat_status_t leat_summary_read_tag(const leat_kernel_context_t* c, int index,
                                                  leat_string_view_t* out_tag);
// Makes the tag "tag/kind/index", or "tag/kind" where |max_count| is 1, in |arena|. The ops that
// may write several images or clips number them so.
LEAT_MUST_USE leat_status_t leat_summary_number_tag(leat_arena_t* arena, leat_string_view_t tag,
                                                    const char* kind, int64_t index,
                                                    int64_t max_count,
                                                    leat_string_view_t* out_tag);

#endif  // LEAT_OPS_SUMMARY_MESSAGE_CPU_H_
