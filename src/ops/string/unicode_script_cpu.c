// CPU kernel of UnicodeScript: the script in which a character is written, by the numbers of ICU
// (25 is Latin). The table of runs is in order and covers all of Unicode, so a binary search finds
// the run of a character. What is no character has the number -1. Regular expressions look the
// scripts up by name, of a newer Unicode: what came since is in a table of its own.
#include "ops/string/unicode_script_cpu.h"

#include <string.h>

#include "base/attributes.h"
#include "ops/kernel_rows.h"

enum { LAST_RUNE = 0x10ffff };

static const uint32_t kRuns[] = {
#include "ops/string/unicode_script.inc"
};

// Each script: its number in three octal digits, which are one byte, and its name.
#define SCRIPT(text) text "\0"
#define NEWER(first, last, script)
#define FOLD(first, last, step, distance)
static const char kNames[] =
#include "ops/string/unicode_pattern.inc"
    ;
#undef SCRIPT
#undef NEWER

// In order; each is within a run of kRuns.
static const struct newer_s {
  uint32_t first, last, script;
} kNewer[] = {
#define SCRIPT(text)
#define NEWER(first, last, script) {first, last, script},
#include "ops/string/unicode_pattern.inc"
};

static size_t run_of(uint32_t character) {
  size_t low = 0, high = LEAT_ARRAY_SIZE(kRuns);
  // The run of the character is in [low, high).
  while (high - low > 1) {
    const size_t middle = low + (high - low) / 2;
    if (kRuns[middle] >> 8 <= character) low = middle;
    else high = middle;
  }
  return low;
}

static int32_t script_of(int32_t character) {
  if (character < 0 || character > LAST_RUNE) return -1;
  return (int32_t)(kRuns[run_of((uint32_t)character)] & 0xff);
}

int32_t leat_unicode_script(leat_string_view_t name) {
  for (const char* at = kNames; at < kNames + sizeof kNames - 1;) {
    if (leat_string_view_equals(name, at + 1)) return (unsigned char)*at;
    at += 2 + strlen(at + 1);
  }
  return -1;
}

bool leat_unicode_next_script_run(int32_t script, uint32_t from, uint32_t* out_first,
                                  uint32_t* out_last) {
  size_t newer = 0;
  while (from <= LAST_RUNE) {
    // Up to |last| all characters have the script |found|.
    const size_t run = run_of(from);
    uint32_t found = kRuns[run] & 0xff;
    uint32_t last = run + 1 < LEAT_ARRAY_SIZE(kRuns) ? (kRuns[run + 1] >> 8) - 1 : LAST_RUNE;
    while (newer < LEAT_ARRAY_SIZE(kNewer) && kNewer[newer].last < from) ++newer;
    if (newer < LEAT_ARRAY_SIZE(kNewer) && kNewer[newer].first <= last) {
      const bool is_newer = kNewer[newer].first <= from;
      if (is_newer) found = kNewer[newer].script;
      last = is_newer ? kNewer[newer].last : kNewer[newer].first - 1;
    }
    *out_first = from;
    *out_last = last;
    if (found == (uint32_t)script) return true;
    from = last + 1;
  }
  return false;
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
