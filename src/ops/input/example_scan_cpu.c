// The first half of parsing examples: finding the wanted features in each serialized message and
// counting their values. The messages are read field by field, as protocol-buffer wire format:
//
//     Example          features (1)
//     SequenceExample  context (1), feature_lists (2)
//     Features         map: entries (1) of key (1) and Feature (2)
//     FeatureLists     map: entries (1) of key (1) and FeatureList (2), which holds Features (1)
//
// A hash map from keys to slots says which entries are wanted; the others are skipped over without
// being looked into. What is found is a view of the bytes, and nothing is copied here. Examples are
// scanned in parallel. When several fail, the earliest in the batch is reported, so that the error
// does not depend on the threads.
#include <stdio.h>

#include "base/map.h"
#include "ops/input/example_parse_cpu.h"
#include "ops/input/feature_cpu.h"

void leat_example_fail(leat_example_slots_t* s, int64_t example, leat_status_t status) {
  if (!status) return;
  leat_mutex_lock(&s->mutex);
  bool first = !s->status || example < s->failed;
  leat_status_t worse = first ? s->status : status;
  if (first) {
    s->status = status;
    s->failed = example;
  }
  leat_mutex_unlock(&s->mutex);
  leat_status_free(worse);
}

leat_string_view_t leat_example_name(const leat_example_slots_t* s, int64_t example) {
  const leat_tensor_t* names = s->parse->names;
  bool has_names = names && example < names->shape.element_count;
  return has_names ? leat_tensor_string_at(names, example) : LEAT_SV("<unknown>");
}

static leat_feature_spec_t* spec_at(const leat_example_slots_t* s, int index) {
  leat_example_parse_t* p = s->parse;
  return index < p->feature_count ? &p->features[index] : &p->lists[index - p->feature_count];
}

// ---- Finding ------------------------------------------------------------------------------------

typedef struct scan_s {
  leat_example_slots_t* slots;
  leat_string_map_t features, lists;  // from a wanted key to the column of its slot
} scan_t;

// Splits a map entry into key and value. false where the bytes are malformed.
static bool read_entry(leat_string_view_t entry, leat_string_view_t* out_key,
                       leat_string_view_t* out_value) {
  uint32_t number;
  leat_string_view_t bytes;
  *out_key = *out_value = (leat_string_view_t){0};
  while (leat_field_next(&entry, &number, &bytes)) {
    if (number == 0) return true;
    if (number == 1) *out_key = bytes;
    if (number == 2) *out_value = bytes;
  }
  return false;
}

// Finds the wanted entries of a map of features or feature lists. Of entries with equal keys the
// last one counts. In Examples, but not in SequenceExamples, an entry without content counts as
// absent. false where the bytes are malformed.
static bool find_in_map(const scan_t* scan, const leat_string_map_t* map,
                        leat_string_view_t message, leat_feature_slot_t* slots,
                        int64_t* inout_entries) {
  uint32_t number;
  leat_string_view_t entry, key, value;
  bool empty_counts = scan->slots->parse->is_sequence;
  while (leat_field_next(&message, &number, &entry)) {
    uint64_t index;
    if (number == 0) return true;
    if (number != 1) continue;
    if (!read_entry(entry, &key, &value)) return false;
    ++*inout_entries;
    if (!leat_string_map_get(map, key, &index) || (value.size == 0 && !empty_counts)) continue;
    slots[index].bytes = value;
    slots[index].present = true;
  }
  return false;
}

static bool find_in_example(const scan_t* scan, leat_string_view_t bytes,
                            leat_feature_slot_t* slots, int64_t* inout_entries) {
  uint32_t number;
  leat_string_view_t message;
  while (leat_field_next(&bytes, &number, &message)) {
    if (number == 0) return true;
    bool is_list = number == 2 && scan->slots->parse->is_sequence;
    if (number != 1 && !is_list) continue;
    if (!find_in_map(scan, is_list ? &scan->lists : &scan->features, message, slots,
                     inout_entries)) {
      return false;
    }
  }
  return false;
}

// ---- Counting -----------------------------------------------------------------------------------

// The error of a value: of a feature of the example, or of row |row| of a feature list (-1: of
// none).
static leat_status_t fail(const leat_example_slots_t* s, int64_t example, int64_t row,
                          const leat_feature_spec_t* spec, const char* what) {
  leat_string_view_t name = leat_example_name(s, example);
  return leat_make_status(LEAT_INVALID_ARGUMENT, "Name: %.*s, %s: %.*s, Index: %lld.  %s",
                          LEAT_SV_ARG(name), row < 0 ? "Key" : "Feature list",
                          LEAT_SV_ARG(spec->key), (long long)(row < 0 ? example : row), what);
}

// Counts the values of the Feature message |bytes|, which must be of the wanted type or have no
// values.
static leat_status_t count_values(const leat_example_slots_t* s, int64_t example,
                                  int64_t row, const leat_feature_spec_t* spec,
                                  leat_string_view_t bytes, int64_t* out_count) {
  leat_feature_t feature;
  *out_count = 0;
  if (!leat_feature_read(bytes, &feature)) {
    return fail(s, example, row, spec, "Unsupported datatype.");
  }
  if (feature.dtype == 0) return leat_ok_status();
  if (feature.dtype != spec->dtype) {
    char text[96];
    snprintf(text, sizeof text, "Data types don't match. Expected type: %s, data type: %s",
             leat_dtype_name(spec->dtype), leat_dtype_name(feature.dtype));
    return fail(s, example, row, spec, text);
  }
  if (leat_feature_count(&feature, out_count)) return leat_ok_status();
  return fail(s, example, row, spec, "Can't parse serialized Example.");
}

// The number of values in |shape|; an unknown first size, which sets |*out_is_variable|, counts as
// 1.
static int64_t stride_of(leat_partial_shape_t shape, bool* out_is_variable) {
  int64_t stride = 1;
  *out_is_variable = shape.rank > 0 && shape.dims[0] == LEAT_DIM_UNKNOWN;
  for (int i = *out_is_variable; i < shape.rank; ++i) stride *= shape.dims[i];
  return stride;
}

static leat_status_t wrong_count(const leat_example_slots_t* s, int64_t example, int64_t row,
                                 const leat_feature_spec_t* spec, int64_t count) {
  char text[320];
  snprintf(text, sizeof text,
           "Number of %s values != expected.  Values size: %lld but output shape: %s",
           leat_dtype_name(spec->dtype), (long long)count, LEAT_PARTIAL_SHAPE_TEXT(spec->shape));
  return fail(s, example, row, spec, text);
}

// Counts the values of a feature. A dense one must have as many values as its shape, or a multiple
// of the inner shape where the first size varies; one that is missing needs a default value.
static leat_status_t count_feature(const leat_example_slots_t* s, int64_t example,
                                   const leat_feature_spec_t* spec, leat_feature_slot_t* slot) {
  bool is_variable;
  LEAT_RETURN_IF_ERROR(count_values(s, example, -1, spec, slot->bytes, &slot->count));
  if (spec->kind != LEAT_FEATURE_DENSE) return leat_ok_status();
  int64_t stride = stride_of(spec->shape, &is_variable);
  if (!slot->present) {
    bool has_default = stride && spec->fallback->shape.element_count == stride;
    if (is_variable || has_default) return leat_ok_status();
    leat_string_view_t name = leat_example_name(s, example);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Name: %.*s, Feature: %.*s (data type: %s) is required but could not "
                            "be found.",
                            LEAT_SV_ARG(name), LEAT_SV_ARG(spec->key),
                            leat_dtype_name(spec->dtype));
  }
  bool fits = is_variable ? slot->count == 0 || (stride && slot->count % stride == 0)
                          : slot->count == stride;
  return fits ? leat_ok_status() : wrong_count(s, example, -1, spec, slot->count);
}

// Counts the rows of a feature list and the values in them. Each row of a dense list has the same
// number of values.
static leat_status_t count_list(const leat_example_slots_t* s, int64_t example,
                                const leat_feature_spec_t* spec, leat_feature_slot_t* slot) {
  bool is_dense = spec->kind == LEAT_FEATURE_DENSE, is_variable;
  int64_t row_count = is_dense ? stride_of(spec->shape, &is_variable) : 0, count;
  leat_string_view_t rest = slot->bytes, row;
  uint32_t number;
  if (is_dense && !slot->present && !spec->may_be_missing) {
    leat_string_view_t name = leat_example_name(s, example);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Name: %.*s, Feature list '%.*s' is required but could not be found.  "
                            "Did you mean to include it in "
                            "feature_list_dense_missing_assumed_empty or "
                            "feature_list_dense_defaults?",
                            LEAT_SV_ARG(name), LEAT_SV_ARG(spec->key));
  }
  while (leat_field_next(&rest, &number, &row)) {
    if (number == 0) return leat_ok_status();
    if (number != 1) continue;
    LEAT_RETURN_IF_ERROR(count_values(s, example, slot->rows, spec, row, &count));
    if (is_dense && count != row_count) return wrong_count(s, example, slot->rows, spec, count);
    slot->count += count;
    if (count > slot->columns) slot->columns = count;
    ++slot->rows;
  }
  return fail(s, example, slot->rows, spec, "Error in the feature list.");
}

static leat_status_t scan_one(const scan_t* scan, int64_t example) {
  leat_example_slots_t* s = scan->slots;
  leat_feature_slot_t* slots = leat_example_slot(s, example, 0);
  leat_string_view_t bytes = leat_tensor_string_at(s->parse->serialized, example);
  leat_example_counts_t counts = {0};
  if (!find_in_example(scan, bytes, slots, &counts.features)) {
    leat_string_view_t name = leat_example_name(s, example);
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not parse example input %.*s, index %lld", LEAT_SV_ARG(name),
                            (long long)example);
  }
  for (int i = 0; i < s->width; ++i) {
    bool is_list = i >= s->parse->feature_count;
    LEAT_RETURN_IF_ERROR(is_list ? count_list(s, example, spec_at(s, i), &slots[i])
                                 : count_feature(s, example, spec_at(s, i), &slots[i]));
    counts.values += slots[i].count;
  }
  if (s->parse->counts) s->parse->counts[example] = counts;
  return leat_ok_status();
}

static void scan_range(void* data, int64_t begin, int64_t end) {
  const scan_t* scan = data;
  for (int64_t i = begin; i < end; ++i) leat_example_fail(scan->slots, i, scan_one(scan, i));
}

// ---- All examples -------------------------------------------------------------------------------

// Maps the keys of |specs| to the columns from |first| on. INVALID_ARGUMENT for equal keys.
static leat_status_t add_keys(leat_string_map_t* map, const leat_feature_spec_t* specs, int count,
                              int first) {
  leat_string_map_initialize(leat_allocator_system(), map);
  LEAT_RETURN_IF_ERROR(leat_string_map_reserve(map, (size_t)count));
  for (int i = 0; i < count; ++i) {
    uint64_t* value;
    bool inserted;
    LEAT_RETURN_IF_ERROR(leat_string_map_insert(map, specs[i].key, (uint64_t)(first + i), &value,
                                                &inserted));
    if (inserted) continue;
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Feature %.*s is wanted twice",
                            LEAT_SV_ARG(specs[i].key));
  }
  return leat_ok_status();
}

// Estimates the cost of an example from the one in the middle.
static double bytes_per_example(const leat_tensor_t* serialized) {
  int64_t count = serialized->shape.element_count;
  return count ? (double)leat_tensor_string_at(serialized, count / 2).size : 0;
}

leat_status_t leat_example_scan(leat_example_slots_t* s) {
  leat_example_parse_t* p = s->parse;
  scan_t scan = {.slots = s};
  leat_status_t status = add_keys(&scan.features, p->features, p->feature_count, 0);
  leat_status_t more = add_keys(&scan.lists, p->lists, p->list_count, p->feature_count);
  // Errors of the keys come before those of any example.
  leat_example_fail(s, -2, status);
  leat_example_fail(s, -1, more);
  if (!s->status) {
    double cost_ns = 100 + bytes_per_example(p->serialized);
    leat_thread_pool_parallel_for(p->pool, 0, s->example_count, cost_ns, scan_range, &scan);
  }
  leat_string_map_deinitialize(&scan.features);
  leat_string_map_deinitialize(&scan.lists);
  status = s->status;
  s->status = NULL;
  return status;
}
