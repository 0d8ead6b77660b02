// CPU kernels of StringSplit and StringSplitV2. The parts of all strings become a sparse matrix:
// part k of string i is the value at (i, k).
//
//   input [n], separator [] -> indices [parts, 2], values [parts], shape [2]
//
// StringSplit cuts at any byte of the delimiter and may leave out empty parts. StringSplitV2 cuts
// at the whole separator, or at white space if that is empty, as Python's str.split does, at most
// |maxsplit| times.
//
// Both are an iterator over the parts of one string (next_fn_t). It runs twice over every string:
// the first time to count, because sizes must be known before outputs are allocated, the second to
// write.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/kernel_rows.h"
#include "ops/sparse/entries_cpu.h"

typedef struct cut_s {
  bool skip_empty;
  int64_t most;  // the largest number of cuts; negative: no limit
} cut_t;

// The state of an iterator: what is left of a string.
typedef struct splitter_s {
  const cut_t* cut;
  leat_string_view_t separator;
  leat_string_view_t rest;
  int64_t cuts;
  bool ended;  // the last part has been given
} splitter_t;

// Gives the next part; false when there are no more.
typedef bool (*next_fn_t)(splitter_t* s, leat_string_view_t* out_part);

// Gives what is left as the last part.
static bool end_with_rest(splitter_t* s, leat_string_view_t* out_part) {
  *out_part = s->rest;
  s->ended = true;
  return true;
}

// Gives the part before |at|; the |skipped| bytes after it belong to no part.
static bool cut_at(splitter_t* s, size_t at, size_t skipped, leat_string_view_t* out_part) {
  *out_part = leat_string_view_make(s->rest.data, at);
  s->rest = leat_string_view_from_index(s->rest, at + skipped);
  ++s->cuts;
  return true;
}

// ---- StringSplit --------------------------------------------------------------------------------

// The iterator of StringSplit. An empty separator cuts between all bytes.
static bool next_between(splitter_t* s, leat_string_view_t* out_part) {
  leat_string_view_t separator = s->separator;
  if (s->rest.size == 0 && s->cuts == 0) return false;  // an empty string has no parts
  if (separator.size == 0) return s->rest.size > 0 && cut_at(s, 1, 0, out_part);
  while (!s->ended) {
    size_t at = 0;
    while (at < s->rest.size && !memchr(separator.data, s->rest.data[at], separator.size)) ++at;
    if (at < s->rest.size) {
      cut_at(s, at, 1, out_part);
    } else {
      end_with_rest(s, out_part);
    }
    if (out_part->size > 0 || !s->cut->skip_empty) return true;
  }
  return false;
}

// ---- StringSplitV2 ------------------------------------------------------------------------------

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static void skip_spaces(splitter_t* s) {
  size_t at = 0;
  while (at < s->rest.size && is_space(s->rest.data[at])) ++at;
  s->rest = leat_string_view_from_index(s->rest, at);
}

// The next word of StringSplitV2 at white space.
static bool next_word(splitter_t* s, leat_string_view_t* out_part) {
  size_t at = 0;
  skip_spaces(s);
  while (at < s->rest.size && !is_space(s->rest.data[at])) ++at;
  if (at == 0) return false;
  cut_at(s, at, 0, out_part);
  skip_spaces(s);
  return true;
}

// Gives where the separator begins; the size of the rest when it is not there.
static size_t find_separator(const splitter_t* s) {
  size_t size = s->separator.size;
  for (size_t at = 0; at + size <= s->rest.size; ++at) {
    if (memcmp(s->rest.data + at, s->separator.data, size) == 0) return at;
  }
  return s->rest.size;
}

// The iterator of StringSplitV2.
static bool next_separated(splitter_t* s, leat_string_view_t* out_part) {
  if (s->ended) return false;
  if (s->cut->most >= 0 && s->cuts == s->cut->most) return end_with_rest(s, out_part);
  if (s->separator.size == 0) return next_word(s, out_part);
  size_t at = find_separator(s);
  return at < s->rest.size ? cut_at(s, at, s->separator.size, out_part)
                           : end_with_rest(s, out_part);
}

// ---- Both ---------------------------------------------------------------------------------------

// An iterator over string |row|.
static splitter_t begin(const leat_kernel_context_t* c, int64_t row) {
  leat_string_view_t text = leat_tensor_string_at(leat_kernel_input(c, 0), row);
  splitter_t s = {.cut = leat_kernel_state(c),
                  .separator = leat_tensor_string_at(leat_kernel_input(c, 1), 0),
                  .rest = text};
  return s;
}

// About how long a string takes: each of its characters is compared with those of the separator.
static double row_ns(const splitter_t* s) {
  return 50 + (double)s->rest.size * (1 + (double)s->separator.size / 16);
}

static leat_status_t write_parts(leat_kernel_context_t* c, next_fn_t next, int64_t count) {
  leat_tensor_t *indices, *values;
  LEAT_RETURN_IF_ERROR(leat_entries_allocate(c, 0, 1, count, 2, &indices, &values));
  int64_t* index = indices->data;
  int64_t rows = leat_kernel_input(c, 0)->shape.element_count;
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t row = 0, part = 0; row < rows; ++row) {
    splitter_t s = begin(c, row);
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, row_ns(&s)));
    leat_string_view_t text;
    for (int64_t column = 0; next(&s, &text); ++column, ++part) {
      *index++ = row;
      *index++ = column;
      LEAT_RETURN_IF_ERROR(leat_tensor_set_string(values, part, text));
    }
  }
  return leat_ok_status();
}

static leat_status_t split(leat_kernel_context_t* c, next_fn_t next) {
  int64_t rows = leat_kernel_input(c, 0)->shape.element_count, total = 0, widest = 0;
  leat_step_pace_t pace = leat_step_pace_of(c);
  for (int64_t row = 0; row < rows; ++row) {
    splitter_t s = begin(c, row);
    LEAT_RETURN_IF_ERROR(leat_step_pace_count(&pace, row_ns(&s)));
    leat_string_view_t text;
    int64_t count = 0;
    while (next(&s, &text)) ++count;
    total += count;
    widest = LEAT_MAX(widest, count);
  }
  LEAT_RETURN_IF_ERROR(write_parts(c, next, total));
  leat_shape_t two = leat_shape_vector(2);
  leat_tensor_t* shape;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 2, &two, &shape));
  leat_tensor_data(shape, int64_t)[0] = rows;
  leat_tensor_data(shape, int64_t)[1] = widest;
  return leat_ok_status();
}

static leat_status_t split__cpu(leat_kernel_context_t* c) { return split(c, next_between); }
static leat_status_t split_v2__cpu(leat_kernel_context_t* c) { return split(c, next_separated); }

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  cut_t* cut = memory;
  return leat_op_find_attr(c->kernel->op, LEAT_SV("maxsplit")) >= 0
             ? leat_kernel_attr_int32(c, "maxsplit", &cut->most)
             : leat_kernel_attr_bool(c, "skip_empty", &cut->skip_empty);
}

const leat_kernel_row_t leat_string_split_kernels_cpu[] = {
    {.op = "StringSplit",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(cut_t),
     .compute = split__cpu},
    {.op = "StringSplitV2",
     .device_type = "CPU",
     .create = create,
     .state_bytes = sizeof(cut_t),
     .compute = split_v2__cpu},
    LEAT_KERNEL_ROWS_END,
};
