// Kernels of the batching datasets. Such a dataset collects |size| consecutive elements of its
// input and gives them as one element, whose components have a new first dimension:
//
//     component k:  size tensors [d1, ..., dn]  ->  one tensor [size, d1, ..., dn]
//
// The plain ops demand that all elements of a batch have the same shape. PaddedBatchDataset accepts
// different shapes of one rank: each component is extended to its padded shape with a padding
// value, and a dimension of -1 in the padded shape becomes the largest size that occurs in this
// batch. The last batch holds what is left of the input; with drop_remainder it is not given.
//
// SlidingWindowDataset gives batches that overlap or leave elements out: a batch takes the elements
// that are |stride| apart among |span|, and the next one begins |shift| elements later. A plain
// batch is one with a stride of 1 whose shift and span are its size. RebatchDatasetV2 batches the
// rows of its elements (window_dataset_cpu.c) by sizes that take turns. ParallelBatchDataset
// is a BatchDatasetV2 whose batches are made ahead (prefetch_dataset_cpu.c). MapAndBatchDataset is
// built as a batch dataset over a parallel map (parallel_map_dataset_cpu.c). Their iterators are in
// batch_iterator_cpu.c.
#include <string.h>

#include "ops/dataset/batch_cpu.h"
#include "ops/kernel_rows.h"

// ---- Kernels ------------------------------------------------------------------------------------

// Makes the spec of a batch: every shape in |elements| gets |size| as its new first dimension,
// which is LEAT_DIM_UNKNOWN where the last batch may be smaller.
static leat_status_t batched_spec(const leat_element_spec_t* elements, int64_t size,
                                  leat_element_spec_t** out_spec) {
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(elements->count, out_spec));
  for (int i = 0; i < elements->count; ++i) {
    int64_t dims[LEAT_SHAPE_MAX_RANK + 1] = {size};
    leat_partial_shape_t shape = elements->shapes[i];
    if (shape.rank > 0) memcpy(dims + 1, shape.dims, (size_t)shape.rank * sizeof *dims);
    if (shape.rank >= 0) shape = (leat_partial_shape_t){shape.rank + 1, dims};
    leat_status_t status = leat_element_spec_set(*out_spec, i, elements->types[i], shape);
    if (!status) continue;
    leat_element_spec_release(*out_spec);
    return status;
  }
  return leat_ok_status();
}

// Makes a batch dataset over |input|. |padded_shapes| is borrowed; it is NULL for the ops that do
// not pad. The size of the first dimension is known when no smaller batch can follow.
static leat_status_t create_batch(leat_kernel_context_t* c, leat_dataset_t* input, int64_t size,
                                  bool drop_remainder, leat_element_spec_t* padded_shapes,
                                  leat_dataset_t** out_dataset) {
  leat_element_spec_t* spec;
  if (size <= 0) return leat_kernel_invalid(c, "Batch size must be greater than zero.");
  bool full = drop_remainder || leat_dataset_cardinality(input) == LEAT_CARDINALITY_INFINITE;
  LEAT_RETURN_IF_ERROR(batched_spec(padded_shapes ? padded_shapes : input->spec,
                                    full ? size : LEAT_DIM_UNKNOWN, &spec));
  LEAT_RETURN_IF_ERROR(
      leat_dataset_create_over(&leat_batch_kind, spec, input, padded_shapes ? spec->count : 0,
                               out_dataset));
  leat_batch_dataset_t* batch = (leat_batch_dataset_t*)*out_dataset;
  batch->span = batch->shift = size;
  batch->stride = 1;
  batch->drop_remainder = drop_remainder;
  batch->padded = padded_shapes != NULL;
  if (padded_shapes) batch->padded_shapes = leat_element_spec_retain(padded_shapes);
  return leat_ok_status();
}

// Serves BatchDataset, BatchDatasetV2 and ParallelBatchDataset. Where the op has drop_remainder, it
// is the last input, and where it has num_parallel_calls, that comes before it: so many batches are
// made ahead. TensorFlow does not check the number here, and with 0 it waits forever for a batch.
static leat_status_t batch__cpu(leat_kernel_context_t* c) {
  int64_t size, calls = 0;
  bool drop_remainder = false;
  leat_dataset_t *input, *dataset, *ahead;
  int last = leat_kernel_input_count(c) - 1;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "batch_size", &size));
  if (last > 2) {
    LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 2, "num_parallel_calls", &calls));
    if (calls <= 0 && calls != LEAT_DATASET_AUTOTUNE) {
      return leat_kernel_invalid(c, "num_parallel_calls must be greater than zero.");
    }
  }
  if (last > 1) {
    LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, last, "drop_remainder", &drop_remainder));
  }
  LEAT_RETURN_IF_ERROR(create_batch(c, input, size, drop_remainder, NULL, &dataset));
  if (!calls) return leat_dataset_set_output(c, dataset);
  leat_status_t status = leat_prefetch_create(dataset, calls, &ahead);
  leat_dataset_release(dataset);
  return status ? status : leat_dataset_set_output(c, ahead);
}

// ---- Map and batch in one op --------------------------------------------------------------------

// Makes the map dataset that a MapAndBatchDataset batches. The op's attributes describe batches, so
// that the function's results have the shapes of their rows.
static leat_status_t make_map(leat_kernel_context_t* c, int captured_count, int64_t calls,
                              leat_dataset_t** out_map) {
  const leat_dataset_function_t* function = leat_kernel_state(c);
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(leat_element_spec_of_rows(function->spec, &spec));
  leat_status_t status = leat_parallel_map_create(c, NULL, spec, captured_count, calls, out_map);
  leat_element_spec_release(spec);
  return status;
}

static leat_status_t map_and_batch__cpu(leat_kernel_context_t* c) {
  int last = leat_kernel_input_count(c) - 1;
  int64_t size, calls;
  bool drop_remainder;
  leat_dataset_t *map, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last - 2, "batch_size", &size));
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, last - 1, "num_parallel_calls", &calls));
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, last, "drop_remainder", &drop_remainder));
  LEAT_RETURN_IF_ERROR(make_map(c, last - 3, calls, &map));
  leat_status_t status = create_batch(c, map, size, drop_remainder, NULL, &dataset);
  leat_dataset_release(map);
  return status ? status : leat_dataset_set_output(c, dataset);
}

// ---- Sliding windows, and batches whose sizes take turns ----------------------------------------

// Reads an input of SlidingWindowDataset, which must be positive.
static leat_status_t read_positive(leat_kernel_context_t* c, int index, const char* name,
                                   int64_t* out_value) {
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, index, name, out_value));
  if (*out_value > 0) return leat_ok_status();
  return leat_kernel_invalid(c, "%s is %lld, must be greater than zero.", name,
                             (long long)*out_value);
}

static leat_status_t sliding__cpu(leat_kernel_context_t* c) {
  int64_t size, shift, stride, span;
  leat_dataset_t *input, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(read_positive(c, 1, "window_size", &size));
  LEAT_RETURN_IF_ERROR(read_positive(c, 2, "window_shift", &shift));
  LEAT_RETURN_IF_ERROR(read_positive(c, 3, "window_stride", &stride));
  if (__builtin_mul_overflow(size - 1, stride, &span) || span == INT64_MAX) {
    return leat_kernel_invalid(c, "the window spans more elements than can be counted");
  }
  const bool drops = *(const bool*)leat_kernel_state(c);
  LEAT_RETURN_IF_ERROR(create_batch(c, input, size, drops, NULL, &dataset));
  leat_batch_dataset_t* batch = (leat_batch_dataset_t*)dataset;
  batch->span = span + 1;
  batch->stride = stride;
  batch->shift = shift;
  batch->keeps_elements = true;
  return leat_dataset_set_output(c, dataset);
}

// ExperimentalSlidingWindowDataset lacks the attribute and drops the windows that are not full.
static leat_status_t sliding_create(leat_kernel_creation_t* c, void* state) {
  const leat_attr_value_t* drops =
      leat_attr_find(c->attrs, c->attr_count, LEAT_SV("drop_remainder"));
  *(bool*)state = !drops || drops->b;
  return leat_ok_status();
}

// INVALID_ARGUMENT unless |sizes| are one or more numbers from 0 on.
static leat_status_t check_sizes(leat_kernel_context_t* c, const leat_tensor_t* sizes) {
  if (sizes->shape.rank > 1 || sizes->shape.element_count == 0) {
    return leat_kernel_invalid(c,
                               "`batch_sizes` has shape %s, must be a scalar or a vector with at "
                               "least one element.",
                               LEAT_SHAPE_TEXT(&sizes->shape));
  }
  for (int64_t i = 0; i < sizes->shape.element_count; ++i) {
    if (leat_tensor_index_at(sizes, i) >= 0) continue;
    return leat_kernel_invalid(c, "`batch_sizes` holds %lld, must hold no negative numbers",
                               (long long)leat_tensor_index_at(sizes, i));
  }
  return leat_ok_status();
}

static leat_status_t make_rebatch(leat_kernel_context_t* c, leat_dataset_t* rows,
                                  leat_dataset_t** out_dataset) {
  leat_element_spec_t* spec;
  LEAT_RETURN_IF_ERROR(batched_spec(rows->spec, LEAT_DIM_UNKNOWN, &spec));
  LEAT_RETURN_IF_ERROR(leat_dataset_create_over(&leat_batch_kind, spec, rows, 1, out_dataset));
  leat_batch_dataset_t* batch = (leat_batch_dataset_t*)*out_dataset;
  batch->stride = 1;
  batch->takes_turns = true;
  leat_status_t status = leat_dataset_keep_inputs(c, 1, 0, 1, *out_dataset);
  if (!status) status = leat_dataset_bool_input(c, 2, "drop_remainder", &batch->drop_remainder);
  if (status) leat_dataset_release(*out_dataset);
  return status;
}

static leat_status_t rebatch__cpu(leat_kernel_context_t* c) {
  leat_dataset_t *input, *rows, *dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(check_sizes(c, leat_kernel_input(c, 1)));
  LEAT_RETURN_IF_ERROR(leat_unbatch_create(input, &rows));
  leat_status_t status = make_rebatch(c, rows, &dataset);
  leat_dataset_release(rows);
  return status ? status : leat_dataset_set_output(c, dataset);
}

// ---- Padded -------------------------------------------------------------------------------------

// Checks the inputs of the padding ops: the input dataset, the batch size, |count| padded shapes
// and |count| padding values.
static leat_status_t check_padding(leat_kernel_context_t* c, const leat_element_spec_t* elements,
                                   int count) {
  if (count != elements->count) {
    return leat_kernel_invalid(c,
                               "Number of padded shapes (%d) must match the number of "
                               "components in the input dataset's elements (%d)",
                               count, elements->count);
  }
  for (int i = 0; i < count; ++i) {
    const leat_tensor_t* shape = leat_kernel_input(c, 2 + i);
    const leat_tensor_t* value = leat_kernel_input(c, 2 + count + i);
    if (shape->dtype != LEAT_DTYPE_INT64 || shape->shape.rank != 1) {
      return leat_kernel_invalid(c, "All padded shapes must be vectors");
    }
    if (value->shape.rank != 0) {
      return leat_kernel_invalid(c, "All padding values must be scalars");
    }
    if (value->dtype != elements->types[i]) {
      return leat_kernel_invalid(c,
                                 "Mismatched type between padding value %d and input dataset's "
                                 "component %d: %s vs. %s",
                                 i, i, leat_dtype_name(value->dtype),
                                 leat_dtype_name(elements->types[i]));
    }
  }
  return leat_ok_status();
}

// Reads the padded shape at input |input| into component |index| of |padded_shapes|. The rank must
// leave room for the dimension of the batch.
static leat_status_t read_padded_shape(const leat_kernel_context_t* c, int input, int dtype,
                                       int index, leat_element_spec_t* padded_shapes) {
  const leat_tensor_t* tensor = leat_kernel_input(c, input);
  const int64_t* dims = leat_tensor_data(tensor, const int64_t);
  int64_t rank = tensor->shape.element_count;
  if (rank >= LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "padded shape %d has rank %lld, must be less than %d", index,
                               (long long)rank, LEAT_SHAPE_MAX_RANK);
  }
  for (int64_t i = 0; i < rank; ++i) {
    if (dims[i] >= LEAT_DIM_UNKNOWN) continue;
    return leat_kernel_invalid(c, "size %lld of padded shape %d is %lld, must be >= -1",
                               (long long)i, index, (long long)dims[i]);
  }
  return leat_element_spec_set(padded_shapes, index, dtype,
                               (leat_partial_shape_t){(int)rank, dims});
}

static leat_status_t make_padded(leat_kernel_context_t* c, leat_dataset_t* input, int count,
                                 bool drop_remainder, leat_element_spec_t* padded_shapes) {
  int64_t size;
  leat_dataset_t* dataset;
  LEAT_RETURN_IF_ERROR(leat_dataset_int_input(c, 1, "batch_size", &size));
  for (int i = 0; i < count; ++i) {
    int dtype = leat_kernel_input(c, 2 + count + i)->dtype;
    LEAT_RETURN_IF_ERROR(read_padded_shape(c, 2 + i, dtype, i, padded_shapes));
  }
  LEAT_RETURN_IF_ERROR(create_batch(c, input, size, drop_remainder, padded_shapes, &dataset));
  leat_status_t status = leat_dataset_keep_inputs(c, 2 + count, 0, count, dataset);
  if (status) {
    leat_dataset_release(dataset);
    return status;
  }
  return leat_dataset_set_output(c, dataset);
}

static leat_status_t padded(leat_kernel_context_t* c, bool drop_remainder) {
  leat_dataset_t* input;
  leat_element_spec_t* padded_shapes;
  int count = (leat_kernel_input_count(c) - 2) / 2;
  LEAT_RETURN_IF_ERROR(leat_dataset_of(leat_kernel_input(c, 0), &input));
  LEAT_RETURN_IF_ERROR(check_padding(c, input->spec, count));
  LEAT_RETURN_IF_ERROR(leat_element_spec_create(count, &padded_shapes));
  leat_status_t status = make_padded(c, input, count, drop_remainder, padded_shapes);
  leat_element_spec_release(padded_shapes);
  return status;
}

static leat_status_t padded__cpu(leat_kernel_context_t* c) { return padded(c, false); }

static leat_status_t padded_v2__cpu(leat_kernel_context_t* c) {
  bool drop_remainder;
  LEAT_RETURN_IF_ERROR(leat_dataset_bool_input(c, leat_kernel_input_count(c) - 1, "drop_remainder",
                                               &drop_remainder));
  return padded(c, drop_remainder);
}

#define KERNEL(name, how) LEAT_DATASET_KERNEL(name, how##__cpu)
#define MAP_AND_BATCH(name)                                                            \
  LEAT_CPU_KERNEL(name, NULL, leat_dataset_function_t, leat_map_dataset_kernel_create, \
                  map_and_batch__cpu, .destroy = leat_dataset_function_destroy)

const leat_kernel_row_t leat_batch_dataset_kernels_cpu[] = {
    KERNEL("BatchDataset", batch),
    KERNEL("BatchDatasetV2", batch),
    KERNEL("ParallelBatchDataset", batch),
    MAP_AND_BATCH("MapAndBatchDataset"),
    MAP_AND_BATCH("ExperimentalMapAndBatchDataset"),
    KERNEL("RebatchDatasetV2", rebatch),
    LEAT_CPU_KERNEL("SlidingWindowDataset", NULL, bool, sliding_create, sliding__cpu),
    LEAT_CPU_KERNEL("ExperimentalSlidingWindowDataset", NULL, bool, sliding_create, sliding__cpu),
    KERNEL("PaddedBatchDataset", padded),
    KERNEL("PaddedBatchDatasetV2", padded_v2),
    LEAT_KERNEL_ROWS_END,
};
