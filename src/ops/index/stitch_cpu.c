// The CPU kernels of DynamicPartition and DynamicStitch (ParallelDynamicStitch uses the second).
// Both move slices of |run| contiguous elements.
//
// DynamicPartition counts the slices of each partition first, since the outputs must be allocated
// before they are written, and then deals the slices out in order. DynamicStitch checks all pairs
// of indices and data, then writes them in the order of the inputs on one thread, because of
// several slices for one position the last must win. Positions that no index names are zero; the
// output is zeroed before only if there may be such, since that would write it twice.
#include "base/checked.h"
#include "ops/array/index_cpu.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/types.h"
#include "ops/kernel_rows.h"

static bool starts_with(const leat_shape_t* shape, const leat_shape_t* prefix) {
  if (prefix->rank > shape->rank) return false;
  for (int d = 0; d < prefix->rank; ++d) {
    if (leat_shape_dim(shape, d) != leat_shape_dim(prefix, d)) return false;
  }
  return true;
}

// Makes the shape [size, the dimensions of |shape| from |begin| on].
static leat_status_t make_shape(int64_t size, const leat_shape_t* shape, int begin,
                                leat_shape_t* out_shape) {
  int64_t dims[LEAT_SHAPE_MAX_RANK + 1] = {size};
  int rank = 1;
  for (int d = begin; d < shape->rank; ++d) dims[rank++] = leat_shape_dim(shape, d);
  return leat_shape_create(rank, dims, out_shape);
}

// Copies |run| elements from element |from| of |data| to element |to| of |output|.
static inline leat_status_t copy_slice(const leat_tensor_t* data, int64_t from,
                                       const leat_tensor_t* output, int64_t to, int64_t run) {
  if (run == 1 && leat_dtype_size(data->dtype) == 4) {
    leat_tensor_data(output, uint32_t)[to] = leat_tensor_data(data, uint32_t)[from];
    return leat_ok_status();
  }
  return leat_tensor_copy_elements(data->dtype, leat_element_at(data->data, data->dtype, from),
                                   leat_element_at(output->data, data->dtype, to), run);
}

// ---- DynamicPartition ---------------------------------------------------------------------------

// Counts the slices of each partition, and checks the partition numbers.
static leat_status_t count_partitions(const leat_kernel_context_t* c, int64_t* counts) {
  const leat_tensor_t* partitions = leat_kernel_input(c, 1);
  int count = c->kernel->output_count;
  for (int i = 0; i < count; ++i) counts[i] = 0;
  const int32_t* items = partitions->data;
  for (int64_t i = 0; i < partitions->shape.element_count; ++i) {
    if (items[i] < 0 || items[i] >= count) {
      return leat_kernel_invalid(c, "partitions%s = %d is not in [0, %d)",
                                 LEAT_INDEX_PLACE(&partitions->shape, partitions->shape.rank, i),
                                 items[i], count);
    }
    ++counts[items[i]];
  }
  return leat_ok_status();
}

// Allocates the outputs and deals the slices out. |counts| holds the slices of each partition, and
// then counts those that were dealt.
static leat_status_t deal(leat_kernel_context_t* c, int64_t* counts) {
  const leat_tensor_t* data = leat_kernel_input(c, 0);
  const leat_tensor_t* partitions = leat_kernel_input(c, 1);
  for (int i = 0; i < c->kernel->output_count; ++i) {
    leat_shape_t shape;
    leat_tensor_t* output;
    LEAT_RETURN_IF_ERROR(make_shape(counts[i], &data->shape, partitions->shape.rank, &shape));
    leat_status_t status = leat_kernel_allocate_output(c, i, &shape, &output);
    leat_shape_release(&shape);
    if (status) return status;
    counts[i] = 0;  // from here on the slices that were dealt so far
  }
  int64_t count = partitions->shape.element_count;
  int64_t run = count ? data->shape.element_count / count : 0;
  const int32_t* items = partitions->data;
  for (int64_t i = 0; run > 0 && i < count; ++i) {
    leat_tensor_t* output = leat_kernel_output(c, items[i]);
    LEAT_RETURN_IF_ERROR(
        copy_slice(data, i * run, output, counts[items[i]]++ * run, run));
  }
  return leat_ok_status();
}

static leat_status_t dynamic_partition__cpu(leat_kernel_context_t* c) {
  const leat_shape_t* data = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* partitions = &leat_kernel_input(c, 1)->shape;
  if (!starts_with(data, partitions)) {
    return leat_kernel_invalid(c, "data has shape %s, must begin with that of partitions, %s",
                               LEAT_SHAPE_TEXT(data), LEAT_SHAPE_TEXT(partitions));
  }
  leat_tensor_t counts;
  leat_shape_t shape = leat_shape_vector(c->kernel->output_count);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_INT64, &shape, &counts));
  leat_status_t status = count_partitions(c, counts.data);
  if (!status) status = deal(c, counts.data);
  leat_tensor_release(&counts);
  return status;
}

// ---- DynamicStitch ------------------------------------------------------------------------------

typedef struct stitch_s {
  int count;         // pairs of inputs
  int64_t last;      // highest index
  int64_t elements;  // indices in all
} stitch_t;

// Checks pair |index| of indices and data against each other and against the first pair, and takes
// its indices into |s|.
static leat_status_t check_pair(const leat_kernel_context_t* c, int index, stitch_t* s) {
  const leat_tensor_t* indices = leat_kernel_input(c, index);
  const leat_shape_t* data = &leat_kernel_input(c, s->count + index)->shape;
  const leat_shape_t* first = &leat_kernel_input(c, s->count)->shape;
  int first_rank = leat_kernel_input(c, 0)->shape.rank, rank = indices->shape.rank;
  bool fits = starts_with(data, &indices->shape) &&
              starts_with(first, &leat_kernel_input(c, 0)->shape);
  fits = fits && data->rank - rank == first->rank - first_rank;
  for (int d = rank; fits && d < data->rank; ++d) {
    fits = leat_shape_dim(data, d) == leat_shape_dim(first, d - rank + first_rank);
  }
  if (!fits) {
    return leat_kernel_invalid(c, "data[%d] has shape %s, must be that of indices, %s, and the "
                               "rest of data[0]'s, %s",
                               index, LEAT_SHAPE_TEXT(data), LEAT_SHAPE_TEXT(&indices->shape),
                               LEAT_SHAPE_TEXT(first));
  }
  const int32_t* items = indices->data;
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    if (items[i] < 0 || items[i] == INT32_MAX) {
      return leat_kernel_invalid(c, "indices[%d][%lld] is %d, must be in [0, 2^31 - 1)", index,
                                 (long long)i, items[i]);
    }
    s->last = LEAT_MAX(s->last, items[i]);
  }
  s->elements += indices->shape.element_count;
  return leat_ok_status();
}

// Says whether every position of the output is named by an index. If there are not as many indices
// as positions it says no: a position may then be missing, or one is named twice, which is rare.
static leat_status_t names_every_place(leat_kernel_context_t* c, const stitch_t* s,
                                       bool* out_is_complete) {
  *out_is_complete = false;
  if (s->elements != s->last + 1) return leat_ok_status();
  leat_tensor_t marks;
  leat_shape_t shape = leat_shape_vector(s->last + 1);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_temporary(c, LEAT_DTYPE_BOOL, &shape, &marks));
  leat_tensor_fill_zero(&marks);
  bool* named = marks.data;
  for (int i = 0; i < s->count; ++i) {
    const leat_tensor_t* indices = leat_kernel_input(c, i);
    const int32_t* items = indices->data;
    for (int64_t k = 0; k < indices->shape.element_count; ++k) named[items[k]] = true;
  }
  *out_is_complete = memchr(named, 0, (size_t)s->last + 1) == NULL;
  leat_tensor_release(&marks);
  return leat_ok_status();
}

// Writes the slices of pair |index| into the output.
static leat_status_t put_pair(leat_kernel_context_t* c, int index, const stitch_t* s) {
  const leat_tensor_t* indices = leat_kernel_input(c, index);
  const leat_tensor_t* data = leat_kernel_input(c, s->count + index);
  leat_tensor_t* output = leat_kernel_output(c, 0);
  int64_t run = output->shape.element_count / (s->last + 1);
  const int32_t* items = indices->data;
  for (int64_t i = 0; i < indices->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(copy_slice(data, i * run, output, items[i] * run, run));
  }
  return leat_ok_status();
}

static leat_status_t dynamic_stitch__cpu(leat_kernel_context_t* c) {
  stitch_t s = {.count = leat_kernel_input_count(c) / 2, .last = -1};
  for (int i = 0; i < s.count; ++i) LEAT_RETURN_IF_ERROR(check_pair(c, i, &s));
  leat_shape_t shape;
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(make_shape(s.last + 1, &leat_kernel_input(c, s.count)->shape,
                                  leat_kernel_input(c, 0)->shape.rank, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  leat_shape_release(&shape);
  if (status || output->shape.element_count == 0) return status;
  bool is_complete;
  LEAT_RETURN_IF_ERROR(names_every_place(c, &s, &is_complete));
  if (!is_complete && !leat_dtype_is_object(output->dtype)) leat_tensor_fill_zero(output);
  for (int i = 0; i < s.count; ++i) LEAT_RETURN_IF_ERROR(put_pair(c, i, &s));
  return leat_ok_status();
}

#define STITCH_TYPES "T: " LEAT_TYPES_STRINGS ", variant, qint8, qint32, quint8"

const leat_kernel_row_t leat_stitch_kernels_cpu[] = {
    {.op = "DynamicPartition",
     .device_type = "CPU",
     .constraints = "T: " LEAT_TYPES_ALL,
     .compute = dynamic_partition__cpu},
    {.op = "DynamicStitch",
     .device_type = "CPU",
     .constraints = STITCH_TYPES,
     .compute = dynamic_stitch__cpu},
    {.op = "ParallelDynamicStitch",
     .device_type = "CPU",
     .constraints = STITCH_TYPES,
     .compute = dynamic_stitch__cpu},
    LEAT_KERNEL_ROWS_END,
};
