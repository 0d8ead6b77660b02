// CPU kernels of RegexReplace and StaticRegexReplace.
//
// In the rewrite \0 stands for the match, \1 to \9 for its groups, \\ for a backslash. As in
// TensorFlow a rewrite with a group that the pattern has not leaves strings as they are. A
// backslash before anything else ends a rewrite; where only the first match is replaced, the string
// then stays as it is. An empty match right behind the match before is none.
#include "base/checked.h"
#include "base/string_builder.h"
#include "ops/kernel_rows.h"
#include "ops/string/pattern_cpu.h"

typedef struct replacement_s {
  const leat_pattern_t* pattern;
  leat_string_view_t rewrite;
  bool is_global;
} replacement_t;

// Finds the highest group that the rewrite asks for, and whether its backslashes are right.
static bool check_rewrite(leat_string_view_t rewrite, int* out_highest) {
  *out_highest = 0;
  for (size_t i = 0; i < rewrite.size; ++i) {
    if (rewrite.data[i] != '\\') continue;
    char c = ++i < rewrite.size ? rewrite.data[i] : 0;
    bool is_group = c >= '0' && c <= '9';
    if (is_group) *out_highest = LEAT_MAX(*out_highest, c - '0');
    if (!is_group && c != '\\') return false;
  }
  return true;
}

// Appends the rewrite of the match at |at|, as leat_pattern_find gives it.
static void append_rewrite(leat_string_view_t rewrite, leat_string_view_t text,
                           const int64_t* at, leat_string_builder_t* out) {
  for (size_t i = 0; i < rewrite.size; ++i) {
    char c = rewrite.data[i];
    if (c != '\\') {
      leat_string_builder_append_char(out, c);
      continue;
    }
    c = ++i < rewrite.size ? rewrite.data[i] : 0;
    if (c == '\\') {
      leat_string_builder_append_char(out, c);
    } else if (c >= '0' && c <= '9') {
      const int64_t* group = at + 2 * (c - '0');
      if (group[1] < 0) continue;
      leat_string_builder_append(
          out, leat_string_view_make(text.data + group[0], (size_t)(group[1] - group[0])));
    } else {
      return;
    }
  }
}

// The bytes at |at| that an empty match passes over.
static size_t passed_over(leat_string_view_t text, size_t at) {
  uint32_t rune;
  const size_t size = leat_pattern_character(text, at, &rune);
  return rune == LEAT_PATTERN_MISFORMED ? 1 : size;
}

// Appends |text| with its matches replaced.
static leat_status_t replace_in(const replacement_t* r, leat_pattern_matcher_t* matcher,
                                leat_string_view_t text, leat_string_builder_t* out) {
  size_t copied = 0, from = 0;
  int64_t at[2 * LEAT_PATTERN_GROUPS];
  for (bool found, any = false;; any = true) {
    LEAT_RETURN_IF_ERROR(leat_pattern_find(matcher, text, from, at, &found));
    if (!found) break;
    size_t begin = (size_t)at[0], end = (size_t)at[1];
    if (any && begin == end && begin == copied) {
      if (begin == text.size) break;
      from = begin + passed_over(text, begin);
      continue;
    }
    leat_string_builder_append(out, leat_string_view_make(text.data + copied, begin - copied));
    append_rewrite(r->rewrite, text, at, out);
    copied = from = end;
    if (!r->is_global) break;
  }
  leat_string_builder_append(out, leat_string_view_make(text.data + copied, text.size - copied));
  return leat_status_clone(out->status);
}

static leat_status_t replace_all(leat_kernel_context_t* c, const replacement_t* r) {
  const leat_tensor_t* input = leat_kernel_input(c, 0);
  leat_tensor_t* output;
  leat_string_builder_t text;
  leat_pattern_matcher_t* matcher;
  leat_step_pace_t pace = leat_step_pace_of(c);
  int highest;
  bool is_right = check_rewrite(r->rewrite, &highest);
  if (highest > leat_pattern_group_count(r->pattern) || (!is_right && !r->is_global)) {
    leat_kernel_pass_input(c, 0, 0);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &input->shape, &output));
  LEAT_RETURN_IF_ERROR(leat_pattern_matcher_create(r->pattern, highest + 1, &pace, &matcher));
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_ok_status();
  for (int64_t i = 0; i < input->shape.element_count && !status; ++i) {
    text.size = 0;
    status = replace_in(r, matcher, leat_tensor_string_at(input, i), &text);
    if (!status) status = leat_tensor_set_string(output, i, leat_string_builder_view(&text));
  }
  leat_string_builder_deinitialize(&text);
  leat_pattern_matcher_free(matcher);
  return status;
}

// ---- Kernels ------------------------------------------------------------------------------------

// What is known of the replacement when the kernel is made.
typedef struct state_s {
  leat_pattern_t* pattern;   // NULL where it is an input
  leat_string_view_t rewrite;
  bool is_global;
} state_t;

static leat_status_t create(leat_kernel_creation_t* c, void* data) {
  return leat_kernel_attr_bool(c, "replace_global", &((state_t*)data)->is_global);
}

static leat_status_t static_create(leat_kernel_creation_t* c, void* data) {
  state_t* state = data;
  leat_string_view_t pattern;
  LEAT_RETURN_IF_ERROR(create(c, data));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "rewrite", &state->rewrite));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, "pattern", &pattern));
  return leat_pattern_create(pattern, &state->pattern);
}

static void static_destroy(void* data) { leat_pattern_free(((state_t*)data)->pattern); }

static leat_status_t static_replace__cpu(leat_kernel_context_t* c) {
  const state_t* state = leat_kernel_state(c);
  return replace_all(c, &(replacement_t){state->pattern, state->rewrite, state->is_global});
}

static leat_status_t replace__cpu(leat_kernel_context_t* c) {
  const state_t* state = leat_kernel_state(c);
  leat_pattern_t* pattern;
  LEAT_RETURN_IF_ERROR(
      leat_pattern_create(leat_tensor_string_at(leat_kernel_input(c, 1), 0), &pattern));
  leat_status_t status = replace_all(
      c, &(replacement_t){pattern, leat_tensor_string_at(leat_kernel_input(c, 2), 0),
                          state->is_global});
  leat_pattern_free(pattern);
  return status;
}

const leat_kernel_row_t leat_regex_replace_kernels_cpu[] = {
    {.op = "RegexReplace",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(state_t),
     .compute = replace__cpu},
    {.op = "StaticRegexReplace",
     .device_type = "CPU",
     .create = static_create,
     .destroy = static_destroy,
     .state_bytes = sizeof(state_t),
     .compute = static_replace__cpu},
    LEAT_KERNEL_ROWS_END,
};
