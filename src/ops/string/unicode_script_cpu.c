// CPU kernel of UnicodeScript: the script in which a character is written, by the numbers of ICU
// (25 is Latin). The table of runs is in order and covers all of Unicode, so a binary search finds
// the run of a character. What is no character has the number -1.
#include "base/attributes.h"
#include "ops/kernel_rows.h"

enum { LAST_RUNE = 0x10ffff };

static const uint32_t kRuns[] = {
#include "ops/string/unicode_script.inc"
};

static int32_t script_of(int32_t character) {
  size_t low = 0, high = LEAT_ARRAY_SIZE(kRuns);
  if (character < 0 || character > LAST_RUNE) return -1;
  // The run of the character is in [low, high).
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (kRuns[middle] >> 8 <= (uint32_t)character) low = middle;
    else high = middle;
  }
  return (int32_t)(kRuns[low] & 0xff);
}

typedef struct job_s {
  const int32_t* characters;
  int32_t* scripts;
} job_t;

static void find_scripts(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  for (int64_t i = begin; i < end; ++i) job->scripts[i] = script_of(job->characters[i]);
}

static leat_status_t script__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &input->shape, &output));
  job_t job = {.characters = input->data, .scripts = output->data};
  leat_kernel_parallel_for(c, input->shape.element_count, 30, find_scripts, &job);
  return leat_ok_status();
}

const leat_kernel_row_t leat_unicode_script_kernels_cpu[] = {
    {.op = "UnicodeScript", .device_type = "CPU", .compute = script__cpu},
    LEAT_KERNEL_ROWS_END,
};
