// CPU kernel of StringNGrams: runs of |width| neighbouring strings of a row, joined by a separator.
//
//   data [n], data_splits [rows + 1] -> ngrams, ngrams_splits [rows + 1]
//   Row i is data [splits[i], splits[i + 1]).
//
//   width 2, one pad at each side:    L a b c R    ->    "L a", "a b", "b c", "c R"
//
// A row has pads before and after it, at most width - 1 of them, so that every ngram holds at least
// one string of the row. For each row come the ngrams of all widths, in the order of ngram_widths.
// A row that is too short for any of them is lost, or with preserve_short_sequences becomes one
// ngram, pads included.
//
// The ngrams of each row are counted first, which gives the splits and the size of the output; then
// they are written.
#include "base/checked.h"
#include "kernel/step_check.h"
#include "ops/array/index_cpu.h"
#include "ops/kernel_rows.h"

// The attributes that are texts.
enum { SEPARATOR, LEFT_PAD, RIGHT_PAD, TEXTS };
static const char* const kTexts[] = {"separator", "left_pad", "right_pad"};

typedef struct ngrams_s {
  char* texts[TEXTS];
  size_t text_sizes[TEXTS];
  int64_t* widths;
  int width_count;
  int64_t pad_width;  // negative: width - 1
  bool preserve_short;
} ngrams_t;

static leat_status_t create(leat_kernel_creation_t* c, void* memory) {
  ngrams_t* n = memory;
  leat_allocator_t* allocator = leat_allocator_system();
  const int64_t* widths;
  for (int i = 0; i < TEXTS; ++i) {
    leat_string_view_t text;
    LEAT_RETURN_IF_ERROR(leat_kernel_attr_string(c, kTexts[i], &text));
    n->text_sizes[i] = text.size;
    LEAT_RETURN_IF_ERROR(
        leat_allocator_clone_string(allocator, text.data, text.size, &n->texts[i]));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_int32(c, "pad_width", &n->pad_width));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_bool(c, "preserve_short_sequences", &n->preserve_short));
  LEAT_RETURN_IF_ERROR(leat_kernel_attr_ints(c, "ngram_widths", &widths, &n->width_count));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, (size_t)n->width_count + 1, &n->widths));
  for (int i = 0; i < n->width_count; ++i) n->widths[i] = widths[i];
  return leat_ok_status();
}

static void destroy(void* memory) {
  ngrams_t* n = memory;
  for (int i = 0; i < TEXTS; ++i) leat_allocator_free(leat_allocator_system(), n->texts[i]);
  leat_allocator_free(leat_allocator_system(), n->widths);
}

// ---- How many -----------------------------------------------------------------------------------

// The number of pads on each side of a row, for ngrams of |width|.
static int64_t pad_of(const ngrams_t* n, int64_t width) {
  return n->pad_width < 0 ? width - 1 : LEAT_MIN(n->pad_width, width - 1);
}

// The number of ngrams of |width| in a row of |length| strings.
static int64_t count_of(const ngrams_t* n, int64_t length, int64_t width) {
  return LEAT_MAX(length + 2 * pad_of(n, width) - width + 1, 0);
}

// The width of the ngram that a whole row becomes when it gives no other, and 0 if it does not
// become one. |count| is the number of its other ngrams.
static int64_t width_of_short(const ngrams_t* n, int64_t length, int64_t count) {
  return n->preserve_short && length > 0 && count == 0 ? length + 2 * n->pad_width : 0;
}

// Checks that every ngram has fewer than 2^31 strings, so that the counts below cannot overflow.
// That holds for the ngram of a whole row too: where there are widths, a row becomes one only if
// the pad is less than a width allows, and then the pad has been checked with that width; where
// there are none, the pad is checked by itself. |length| is the number of all strings.
static leat_status_t check_widths(const leat_kernel_context_t* c, const ngrams_t* n,
                                  int64_t length) {
  for (int i = 0; i < n->width_count; ++i) {
    if (n->widths[i] <= 0) {
      return leat_kernel_invalid(c, "ngram_widths must contain positive values");
    }
    if (n->widths[i] > INT32_MAX || pad_of(n, n->widths[i]) > INT32_MAX / 2 - length) {
      return leat_kernel_invalid(c,
                                 "Pad width could lead to integer overflow, got pad_width = %lld",
                                 (long long)pad_of(n, n->widths[i]));
    }
  }
  if (n->width_count > 0 || !n->preserve_short) return leat_ok_status();
  if (n->pad_width < 0) {
    return leat_kernel_invalid(c,
                               "Pad width should be >= 0 when preserve_short_sequences is True "
                               "and ngram_widths are not provided, got %lld",
                               (long long)n->pad_width);
  }
  if (n->pad_width > INT32_MAX / 2 - length) {
    return leat_kernel_invalid(c,
                               "Pad width could lead to integer overflow, got pad_width = %lld",
                               (long long)n->pad_width);
  }
  return leat_ok_status();
}

// The splits must divide the data into rows, one after the other and all of it.
static leat_status_t check_splits(const leat_kernel_context_t* c) {
  const leat_tensor_t* splits = leat_kernel_input(c, 1);
  int64_t size = leat_kernel_input(c, 0)->shape.element_count, before = 0;
  int64_t count = splits->shape.element_count;
  if (count == 0) return leat_ok_status();
  if (leat_index_read(splits, 0) != 0) {
    return leat_kernel_invalid(c, "First split value must be 0, got %lld",
                               (long long)leat_index_read(splits, 0));
  }
  for (int64_t i = 1; i < count; ++i) {
    int64_t split = leat_index_read(splits, i);
    if (split < before || split > size) {
      return leat_kernel_invalid(c, "Invalid split value %lld, must be in [%lld, %lld]",
                                 (long long)split, (long long)before, (long long)size);
    }
    before = split;
  }
  if (before == size) return leat_ok_status();
  return leat_kernel_invalid(c, "Last split value must be data size. Expected %lld, got %lld",
                             (long long)size, (long long)before);
}

// ---- What they are ------------------------------------------------------------------------------

// One row: |length| strings of |data| from |begin| on.
typedef struct row_s {
  const leat_tensor_t* data;
  int64_t begin, length;
} row_t;

static leat_string_view_t text_of(const ngrams_t* n, int which) {
  return leat_string_view_make(n->texts[which], n->text_sizes[which]);
}

// Sets element |place| of the output to ngram |first| of |row|. |text| is scratch, empty before and
// after.
static leat_status_t write_ngram(const ngrams_t* n, const row_t* row, int64_t first, int64_t width,
                                 leat_string_builder_t* text, leat_tensor_t* output,
                                 int64_t place) {
  int64_t pad = pad_of(n, width);
  for (int64_t i = 0; i < width; ++i) {
    int64_t at = first + i - pad;
    if (i > 0) leat_string_builder_append(text, text_of(n, SEPARATOR));
    leat_string_builder_append(text, at < 0 ? text_of(n, LEFT_PAD)
                                     : at < row->length
                                         ? leat_tensor_string_at(row->data, row->begin + at)
                                         : text_of(n, RIGHT_PAD));
  }
  LEAT_RETURN_IF_ERROR(leat_status_clone(text->status));
  LEAT_RETURN_IF_ERROR(leat_tensor_set_string(output, place, leat_string_builder_view(text)));
  text->size = 0;
  return leat_ok_status();
}

// Writes the ngrams of a row from element |place| on.
static leat_status_t write_row(leat_step_pace_t* pace, const ngrams_t* n, const row_t* row,
                               leat_string_builder_t* text, leat_tensor_t* output, int64_t place) {
  int64_t begin = place;
  for (int i = 0; i < n->width_count; ++i) {
    int64_t count = count_of(n, row->length, n->widths[i]);
    for (int64_t k = 0; k < count; ++k) {
      LEAT_RETURN_IF_ERROR(leat_step_pace_count(pace, 50 + 20.0 * (double)n->widths[i]));
      LEAT_RETURN_IF_ERROR(write_ngram(n, row, k, n->widths[i], text, output, place++));
    }
  }
  int64_t width = width_of_short(n, row->length, place - begin);
  return width ? write_ngram(n, row, 0, width, text, output, place) : leat_ok_status();
}

static leat_status_t write_all(const leat_kernel_context_t* c, leat_tensor_t* output,
                               const leat_tensor_t* places) {
  const leat_tensor_t* splits = leat_kernel_input(c, 1);
  leat_string_builder_t text;
  leat_status_t status = leat_ok_status();
  leat_step_pace_t pace = leat_step_pace_of(c);
  leat_string_builder_initialize(leat_allocator_system(), &text);
  for (int64_t i = 0; i + 1 < splits->shape.element_count && !status; ++i) {
    row_t row = {leat_kernel_input(c, 0), leat_index_read(splits, i), 0};
    row.length = leat_index_read(splits, i + 1) - row.begin;
    status =
        write_row(&pace, leat_kernel_state(c), &row, &text, output, leat_index_read(places, i));
  }
  leat_string_builder_deinitialize(&text);
  return status;
}

static int64_t count_row(const ngrams_t* n, int64_t length) {
  int64_t count = 0;
  for (int i = 0; i < n->width_count; ++i) count += count_of(n, length, n->widths[i]);
  return count + (width_of_short(n, length, count) > 0);
}

// Writes to |places| where the ngrams of each row begin, and the number of all of them to
// |*out_total|. INVALID_ARGUMENT where the type of the splits cannot hold that number: the places
// are read back as positions of the output, so none of them may be cut to the type's size.
static leat_status_t count_all(const leat_kernel_context_t* c, leat_tensor_t* places,
                               int64_t* out_total) {
  const ngrams_t* n = leat_kernel_state(c);
  const leat_tensor_t* splits = leat_kernel_input(c, 1);
  const bool has_rows = leat_kernel_input(c, 0)->shape.element_count > 0;
  const int64_t most = splits->dtype == LEAT_DTYPE_INT32 ? INT32_MAX : INT64_MAX;
  int64_t total = 0;
  for (int64_t i = 0; i < splits->shape.element_count; ++i) {
    if (i > 0 && has_rows) {
      const int64_t length = leat_index_read(splits, i) - leat_index_read(splits, i - 1);
      const bool fits = leat_checked_add(total, count_row(n, length), &total);
      if (!fits || total > most) {
        return leat_kernel_invalid(c, "ngrams_splits is %lld, must be at most %lld",
                                   (long long)(fits ? total : INT64_MAX), (long long)most);
      }
    }
    leat_index_write(places, i, total);
  }
  *out_total = total;
  return leat_ok_status();
}

static leat_status_t ngrams__cpu(leat_kernel_context_t* c) {
  const ngrams_t* n = leat_kernel_state(c);
  const leat_tensor_t *data = leat_kernel_input(c, 0), *splits = leat_kernel_input(c, 1);
  int64_t total = 0;
  leat_tensor_t *places, *output;
  LEAT_RETURN_IF_ERROR(check_widths(c, n, data->shape.element_count));
  LEAT_RETURN_IF_ERROR(check_splits(c));
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 1, &splits->shape, &places));
  LEAT_RETURN_IF_ERROR(count_all(c, places, &total));
  leat_shape_t shape = leat_shape_vector(total);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &shape, &output));
  return total ? write_all(c, output, places) : leat_ok_status();
}

const leat_kernel_row_t leat_ngrams_kernels_cpu[] = {
    {.op = "StringNGrams",
     .device_type = "CPU",
     .constraints = "Tsplits: int32, int64",
     .create = create,
     .destroy = destroy,
     .state_bytes = sizeof(ngrams_t),
     .compute = ngrams__cpu},
    LEAT_KERNEL_ROWS_END,
};
