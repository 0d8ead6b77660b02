// Makes the sets of characters of regular expressions (pattern_class_cpu.h). Letters that are one
// where case does not count form a ring: a table of runs leads from each to the next, and from the
// last to the first. No ring has more than four, so that three steps from a range reach all that is
// one with it; where they come to the same letters again, the ranges meet and are joined later.
// Scripts have the numbers of ICU and the table of the op UnicodeScript, which is of an older
// Unicode than the one of patterns: a short table says which characters came since. Both tables
// are what RE2 within TensorFlow answers (dev/generate-unicode-patterns).
#include "ops/string/pattern_class_cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/checked.h"
#include "ops/string/unicode_category_cpu.h"
#include "ops/string/unicode_script_cpu.h"

enum { MAX_RANGES = 1 << 18, RING = 4 };

// Each |step|-th character from |first| on, up to first + span, moves by |distance|.
typedef struct fold_s {
  uint32_t first;
  int32_t distance;
  uint16_t span, step;
} fold_t;

#define SCRIPT(text)
#define NEWER(first, last, script)
#define FOLD(first, last, step, distance) {first, distance, (last) - (first), step},
static const fold_t kFolds[] = {
#include "ops/string/unicode_pattern.inc"
};

static leat_status_t add_range(leat_pattern_tree_t* tree, uint32_t first, uint32_t last) {
  if (tree->range_count >= MAX_RANGES) return leat_pattern_too_large();
  LEAT_RETURN_IF_ERROR(LEAT_GROW(leat_allocator_system(), tree->range_count + 1, &tree->ranges,
                                 &tree->range_capacity));
  tree->ranges[tree->range_count++] = (leat_pattern_range_t){first, last};
  return leat_ok_status();
}

// Adds what |fold| makes of the characters from |first| to |last|.
static leat_status_t add_moved(leat_pattern_tree_t* tree, const fold_t* fold, uint32_t first,
                               uint32_t last) {
  uint32_t begin = LEAT_MAX(first, fold->first);
  const uint32_t end = LEAT_MIN(last, fold->first + fold->span), move = (uint32_t)fold->distance;
  if (fold->step == 1) {
    return begin <= end ? add_range(tree, begin + move, end + move) : leat_ok_status();
  }
  for (begin += (begin - fold->first) & 1; begin <= end; begin += 2) {
    LEAT_RETURN_IF_ERROR(add_range(tree, begin + move, begin + move));
  }
  return leat_ok_status();
}

// The runs are in the order of their first characters.
static leat_status_t add_next(leat_pattern_tree_t* tree, uint32_t first, uint32_t last) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kFolds) && kFolds[i].first <= last; ++i) {
    if (kFolds[i].first + kFolds[i].span < first) continue;
    LEAT_RETURN_IF_ERROR(add_moved(tree, &kFolds[i], first, last));
  }
  return leat_ok_status();
}

leat_status_t leat_pattern_add_range(leat_pattern_tree_t* tree, uint32_t first, uint32_t last,
                                     bool no_case) {
  size_t begin = tree->range_count;
  LEAT_RETURN_IF_ERROR(add_range(tree, first, last));
  if (!no_case || (first == 0 && last == LEAT_PATTERN_LAST_RUNE)) return leat_ok_status();
  for (int step = 1; step < RING; ++step) {
    const size_t end = tree->range_count;
    for (; begin < end; ++begin) {
      const leat_pattern_range_t range = tree->ranges[begin];
      LEAT_RETURN_IF_ERROR(add_next(tree, range.first, range.last));
    }
  }
  return leat_ok_status();
}

leat_status_t leat_pattern_add_unicode(leat_pattern_tree_t* tree, leat_string_view_t name,
                                       bool no_case, bool* out_known) {
  const uint32_t categories = leat_unicode_categories(name);
  const int32_t script = leat_unicode_script(name);
  uint32_t first, last = 0;
  *out_known = true;
  if (leat_string_view_equals(name, "Any")) {
    return leat_pattern_add_range(tree, 0, LEAT_PATTERN_LAST_RUNE, no_case);
  }
  for (; categories && leat_unicode_next_run(categories, last, &first, &last); ++last) {
    LEAT_RETURN_IF_ERROR(leat_pattern_add_range(tree, first, last, no_case));
  }
  for (last = 0; script >= 0 && leat_unicode_next_script_run(script, last, &first, &last); ++last) {
    LEAT_RETURN_IF_ERROR(leat_pattern_add_range(tree, first, last, no_case));
  }
  *out_known = categories || script >= 0;
  return leat_ok_status();
}

static int order_of_ranges(const void* a, const void* b) {
  uint32_t x = ((const leat_pattern_range_t*)a)->first, y = ((const leat_pattern_range_t*)b)->first;
  return x < y ? -1 : x > y;
}

static void sort_ranges(leat_pattern_tree_t* tree, size_t begin) {
  size_t count = tree->range_count - begin, kept = 0;
  if (count < 2) return;
  leat_pattern_range_t* ranges = tree->ranges + begin;
  qsort(ranges, count, sizeof *ranges, order_of_ranges);
  for (size_t i = 1; i < count; ++i) {
    if (ranges[i].first <= ranges[kept].last + 1) {
      ranges[kept].last = LEAT_MAX(ranges[kept].last, ranges[i].last);
    } else {
      ranges[++kept] = ranges[i];
    }
  }
  tree->range_count = begin + kept + 1;
}

leat_status_t leat_pattern_end_set(leat_pattern_tree_t* tree, size_t begin, bool negated) {
  size_t kept = begin;
  uint32_t next = 0;
  sort_ranges(tree, begin);
  if (!negated) return leat_ok_status();
  for (size_t i = begin, end = tree->range_count; i < end; ++i) {
    leat_pattern_range_t range = tree->ranges[i];
    if (range.first > next) tree->ranges[kept++] = (leat_pattern_range_t){next, range.first - 1};
    next = range.last + 1;
  }
  tree->range_count = kept;
  return next <= LEAT_PATTERN_LAST_RUNE ? add_range(tree, next, LEAT_PATTERN_LAST_RUNE)
                                        : leat_ok_status();
}

bool leat_pattern_is_in_name(uint32_t character) {
  return leat_unicode_is_in(leat_unicode_categories(LEAT_SV("L")) |
                                leat_unicode_categories(LEAT_SV("Mn")) |
                                leat_unicode_categories(LEAT_SV("Mc")) |
                                leat_unicode_categories(LEAT_SV("Nl")) |
                                leat_unicode_categories(LEAT_SV("Nd")) |
                                leat_unicode_categories(LEAT_SV("Pc")),
                            character);
}
