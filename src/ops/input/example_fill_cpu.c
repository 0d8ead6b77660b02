// The second half of parsing examples: making tensors of the right sizes and copying the values
// into them. The first half (example_scan_cpu.c) has found each wanted feature in each example and
// counted its values. From these counts follow, for each feature,
//
//     offset[e]     = count[0] + ... + count[e - 1]        where sparse and ragged values begin
//     row_offset[e] = rows[0] + ... + rows[e - 1]
//     the largest count, rows and columns                  the sizes of padded tensors
//
// so that every example knows where its values go and the examples can be filled in parallel
// without locks. Dense values of example e begin at e times the size of one example.
// leat_example_parse, which runs both halves, is at the end of the file.
#include <string.h>

#include "base/checked.h"
#include "ops/input/example_parse_cpu.h"
#include "ops/input/feature_cpu.h"

// The counts of one feature over all examples.
typedef struct total_s {
  int64_t count, rows;                 // sums over the examples
  // largest of any example: values, rows, and values in a row
  int64_t most, most_rows, most_columns;
} total_t;

// Adds up the counts of the feature or list in column |index| of the slots, and sets each slot's
// offsets on the way.
static total_t sum_up(leat_example_slots_t* s, int index) {
  total_t total = {0};
  for (int64_t e = 0; e < s->example_count; ++e) {
    leat_feature_slot_t* slot = leat_example_slot(s, e, index);
    slot->offset = total.count;
    slot->row_offset = total.rows;
    total.count += slot->count;
    total.rows += slot->rows;
    if (slot->count > total.most) total.most = slot->count;
    if (slot->rows > total.most_rows) total.most_rows = slot->rows;
    if (slot->columns > total.most_columns) total.most_columns = slot->columns;
  }
  return total;
}

// ---- Making tensors -----------------------------------------------------------------------------

static leat_status_t make(const leat_example_slots_t* s, int dtype, int rank, const int64_t* dims,
                          leat_tensor_t* out_tensor) {
  leat_shape_t shape;
  LEAT_RETURN_IF_ERROR(leat_shape_create(rank, dims, &shape));
  leat_status_t status = leat_tensor_allocate(s->parse->memory, dtype, &shape, out_tensor);
  leat_shape_release(&shape);
  return status;
}

static leat_status_t make_vector(const leat_example_slots_t* s, int dtype, int64_t size,
                                 leat_tensor_t* out_tensor) {
  return make(s, dtype, 1, &size, out_tensor);
}

// Allocates |spec->values| with shape [examples (in a batch), |first| (if not negative), sizes of
// the spec from |skipped| on].
static leat_status_t make_dense(const leat_example_slots_t* s, leat_feature_spec_t* spec,
                                int64_t first, int skipped) {
  int64_t dims[LEAT_SHAPE_MAX_RANK];
  int rank = 0;
  if (spec->shape.rank + 2 > LEAT_SHAPE_MAX_RANK) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "Too many dimensions");
  }
  if (s->is_batch) dims[rank++] = s->example_count;
  if (first >= 0) dims[rank++] = first;
  for (int i = skipped; i < spec->shape.rank; ++i) dims[rank++] = spec->shape.dims[i];
  return make(s, spec->dtype, rank, dims, &spec->values);
}

static leat_status_t fill_with(const leat_tensor_t* value, leat_tensor_t* tensor) {
  size_t size = leat_dtype_size(tensor->dtype);
  for (int64_t i = 0; i < tensor->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(tensor->dtype, value->data,
                                                   (char*)tensor->data + (size_t)i * size, 1));
  }
  return leat_ok_status();
}

// A feature whose first dimension varies is as long as the longest one in the batch; shorter ones
// are padded with the default value.
static leat_status_t make_dense_feature(const leat_example_slots_t* s, leat_feature_spec_t* spec,
                                        const total_t* total) {
  bool is_variable = spec->shape.rank > 0 && spec->shape.dims[0] == LEAT_DIM_UNKNOWN;
  if (!is_variable) return make_dense(s, spec, -1, 0);
  int64_t stride = 1;
  for (int i = 1; i < spec->shape.rank; ++i) stride *= spec->shape.dims[i];
  LEAT_RETURN_IF_ERROR(make_dense(s, spec, stride ? total->most / stride : 0, 1));
  return s->is_batch ? fill_with(spec->fallback, &spec->values) : leat_ok_status();
}

// A dense feature list is as long as the longest one in the batch and padded with zeros; the extent
// holds each example's number of rows.
static leat_status_t make_dense_list(leat_example_slots_t* s, leat_feature_spec_t* spec, int index,
                                     const total_t* total) {
  LEAT_RETURN_IF_ERROR(make_dense(s, spec, total->most_rows, 0));
  leat_tensor_fill_zero(&spec->values);
  LEAT_RETURN_IF_ERROR(
      make(s, LEAT_DTYPE_INT64, s->is_batch, &s->example_count, &spec->extent));
  int64_t* lengths = leat_tensor_data(&spec->extent, int64_t);
  for (int64_t e = 0; e < s->example_count; ++e) lengths[e] = leat_example_slot(s, e, index)->rows;
  return leat_ok_status();
}

// Allocates the three tensors of a sparse feature and writes its dense shape: [examples, most
// values], or [examples, most rows, most values of a row] for a feature list.
static leat_status_t make_sparse(const leat_example_slots_t* s, leat_feature_spec_t* spec,
                                 bool is_list, const total_t* total) {
  int64_t dims[3] = {0}, rank = 0;
  if (s->is_batch) dims[rank++] = s->example_count;
  if (is_list) dims[rank++] = total->most_rows;
  dims[rank++] = is_list ? total->most_columns : total->most;
  LEAT_RETURN_IF_ERROR(make_vector(s, LEAT_DTYPE_INT64, rank, &spec->extent));
  memcpy(spec->extent.data, dims, (size_t)rank * sizeof *dims);
  LEAT_RETURN_IF_ERROR(make_vector(s, spec->dtype, total->count, &spec->values));
  return make(s, LEAT_DTYPE_INT64, 2, (const int64_t[]){total->count, rank}, &spec->indices);
}

static void set_split(leat_tensor_t* splits, int64_t index, int64_t value) {
  if (splits->dtype == LEAT_DTYPE_INT32) {
    leat_tensor_data(splits, int32_t)[index] = (int32_t)value;
  } else {
    leat_tensor_data(splits, int64_t)[index] = value;
  }
}

// Allocates a ragged feature and writes the splits of the examples. Without a batch there are no
// such splits: the tensor is empty, for an Example a vector and for a SequenceExample a scalar.
static leat_status_t make_ragged(leat_example_slots_t* s, leat_feature_spec_t* spec, int index,
                                 bool is_list, const total_t* total) {
  int64_t size = s->is_batch ? s->example_count + 1 : 0;
  LEAT_RETURN_IF_ERROR(make_vector(s, spec->dtype, total->count, &spec->values));
  LEAT_RETURN_IF_ERROR(make(s, spec->splits_dtype, s->is_batch || !s->parse->is_sequence, &size,
                            &spec->extent));
  if (spec->extent.shape.element_count) set_split(&spec->extent, 0, 0);
  for (int64_t e = 0; e < s->example_count && s->is_batch; ++e) {
    const leat_feature_slot_t* slot = leat_example_slot(s, e, index);
    set_split(&spec->extent, e + 1,
              is_list ? slot->row_offset + slot->rows : slot->offset + slot->count);
  }
  if (!is_list) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(
      make_vector(s, spec->splits_dtype, total->rows + 1, &spec->inner_splits));
  set_split(&spec->inner_splits, 0, 0);
  return leat_ok_status();
}

// INVALID_ARGUMENT where an int32 split could not hold the number of values.
static leat_status_t check_splits(const leat_feature_spec_t* spec, const total_t* total) {
  bool fits = spec->splits_dtype == LEAT_DTYPE_INT64 ||
              (total->count <= INT32_MAX && total->rows <= INT32_MAX);
  if (fits) return leat_ok_status();
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Feature %.*s has too many values for int32 splits",
                          LEAT_SV_ARG(spec->key));
}

static leat_status_t make_results(leat_example_slots_t* s, leat_feature_spec_t* spec, int index,
                                  bool is_list) {
  total_t total = sum_up(s, index);
  switch (spec->kind) {
    case LEAT_FEATURE_DENSE:
      return is_list ? make_dense_list(s, spec, index, &total)
                     : make_dense_feature(s, spec, &total);
    case LEAT_FEATURE_SPARSE: return make_sparse(s, spec, is_list, &total);
    default:
      LEAT_RETURN_IF_ERROR(check_splits(spec, &total));
      return make_ragged(s, spec, index, is_list, &total);
  }
}

// ---- Filling ------------------------------------------------------------------------------------

// Copies the values of the Feature message |bytes| to |spec->values| from element |offset| on. The
// scan has checked the type and the count.
static leat_status_t copy_values(leat_string_view_t bytes, leat_feature_spec_t* spec,
                                 int64_t offset) {
  leat_feature_t feature;
  if (!leat_feature_read(bytes, &feature) || feature.dtype == 0) return leat_ok_status();
  return leat_feature_copy(&feature, (char*)spec->values.data +
                                         (size_t)offset * leat_dtype_size(spec->dtype));
}

// Writes the indices of |count| values from the |offset|-th on: [example, row, 0], [example, row,
// 1], ...; the example is left out without a batch, the row outside feature lists.
static void fill_indices(const leat_example_slots_t* s, leat_feature_spec_t* spec, bool is_list,
                         int64_t offset, int64_t count, int64_t example, int64_t row) {
  int64_t width = leat_shape_dim(&spec->indices.shape, 1);
  int64_t* to = leat_tensor_data(&spec->indices, int64_t) + offset * width;
  for (int64_t i = 0; i < count; ++i) {
    if (s->is_batch) *to++ = example;
    if (is_list) *to++ = row;
    *to++ = i;
  }
}

static leat_status_t fill_feature(const leat_example_slots_t* s, leat_feature_spec_t* spec,
                                  const leat_feature_slot_t* slot, int64_t example) {
  if (spec->kind == LEAT_FEATURE_DENSE) {
    int64_t stride = spec->values.shape.element_count;
    if (s->is_batch) stride /= s->example_count;
    // A variable feature that is missing has its padding already; a fixed one gets its default
    // value.
    bool is_missing = !slot->present && spec->fallback->shape.element_count == stride;
    if (!is_missing) return copy_values(slot->bytes, spec, example * stride);
    return leat_tensor_copy_elements(
        spec->dtype, spec->fallback->data,
        (char*)spec->values.data + (size_t)(example * stride) * leat_dtype_size(spec->dtype),
        stride);
  }
  if (spec->kind == LEAT_FEATURE_SPARSE) {
    fill_indices(s, spec, false, slot->offset, slot->count, example, 0);
  }
  return copy_values(slot->bytes, spec, slot->offset);
}

// Copies the rows of a feature list, one Feature message after the other.
static leat_status_t fill_list(const leat_example_slots_t* s, leat_feature_spec_t* spec,
                               const leat_feature_slot_t* slot, int64_t example) {
  leat_string_view_t rest = slot->bytes, bytes;
  uint32_t number;
  int64_t row = 0, offset = slot->offset;
  if (spec->kind == LEAT_FEATURE_DENSE && s->is_batch) {
    offset = example * (spec->values.shape.element_count / s->example_count);
  }
  while (leat_field_next(&rest, &number, &bytes) && number) {
    leat_feature_t feature;
    int64_t count = 0;
    if (number != 1) continue;
    if (!leat_feature_read(bytes, &feature) || !leat_feature_count(&feature, &count)) break;
    LEAT_RETURN_IF_ERROR(copy_values(bytes, spec, offset));
    if (spec->kind == LEAT_FEATURE_SPARSE) {
      fill_indices(s, spec, true, offset, count, example, row);
    }
    offset += count;
    ++row;
    if (spec->kind == LEAT_FEATURE_RAGGED) {
      set_split(&spec->inner_splits, slot->row_offset + row, offset);
    }
  }
  return leat_ok_status();
}

static leat_status_t fill_one(const leat_example_slots_t* s, int64_t example) {
  leat_example_parse_t* p = s->parse;
  const leat_feature_slot_t* slot = leat_example_slot(s, example, 0);
  for (int i = 0; i < p->feature_count; ++i, ++slot) {
    LEAT_RETURN_IF_ERROR(fill_feature(s, &p->features[i], slot, example));
  }
  for (int i = 0; i < p->list_count; ++i, ++slot) {
    LEAT_RETURN_IF_ERROR(fill_list(s, &p->lists[i], slot, example));
  }
  return leat_ok_status();
}

static void fill_range(void* data, int64_t begin, int64_t end) {
  leat_example_slots_t* s = data;
  for (int64_t i = begin; i < end; ++i) leat_example_fail(s, i, fill_one(s, i));
}

leat_status_t leat_example_fill(leat_example_slots_t* s) {
  leat_example_parse_t* p = s->parse;
  for (int i = 0; i < p->feature_count; ++i) {
    LEAT_RETURN_IF_ERROR(make_results(s, &p->features[i], i, false));
  }
  for (int i = 0; i < p->list_count; ++i) {
    LEAT_RETURN_IF_ERROR(make_results(s, &p->lists[i], p->feature_count + i, true));
  }
  double cost_ns = 100 + 200 * s->width;
  leat_thread_pool_parallel_for(p->pool, 0, s->example_count, cost_ns, fill_range, s);
  leat_status_t status = s->status;
  s->status = NULL;
  return status;
}

// ---- The whole ----------------------------------------------------------------------------------

static leat_status_t run(leat_example_slots_t* s) {
  LEAT_RETURN_IF_ERROR(leat_example_scan(s));
  return leat_example_fill(s);
}

leat_status_t leat_example_parse(leat_example_parse_t* parse) {
  leat_example_slots_t s = {.parse = parse,
                            .example_count = parse->serialized->shape.element_count,
                            .is_batch = parse->serialized->shape.rank > 0,
                            .width = parse->feature_count + parse->list_count};
  int64_t count;
  if (!leat_checked_multiply(s.example_count, s.width, &count)) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "Too many features in one call");
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), (size_t)count + 1, &s.slots));
  leat_mutex_initialize(&s.mutex);
  leat_status_t status = run(&s);
  leat_mutex_deinitialize(&s.mutex);
  leat_allocator_free(leat_allocator_system(), s.slots);
  return status;
}

static void release_results(leat_feature_spec_t* specs, int count) {
  for (int i = 0; i < count; ++i) {
    leat_tensor_release(&specs[i].values);
    leat_tensor_release(&specs[i].indices);
    leat_tensor_release(&specs[i].extent);
    leat_tensor_release(&specs[i].inner_splits);
  }
}

void leat_example_parse_release(leat_example_parse_t* parse) {
  release_results(parse->features, parse->feature_count);
  release_results(parse->lists, parse->list_count);
}
