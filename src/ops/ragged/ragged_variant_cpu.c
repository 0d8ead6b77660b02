// CPU kernels that put ragged tensors and other composite values into variants, and take them out
// again. A variant holds a box of tensors (kernel/boxed_tensors.h); that of a ragged tensor has its
// nested splits and then its flat values.
//
//   splits [0, 2, 2, 5], values a b c d e   -- batched -->   {a b} {} {c d e}
//
// A batched ragged tensor becomes a vector of variants, one for each row: their splits count from
// the beginning of the row, and their values are slices of the whole. RaggedTensorFromVariant lays
// the ragged tensors of all variants one behind the other; the dimensions of the tensor of variants
// become the outermost ragged ones.
#include "base/checked.h"
#include "kernel/boxed_tensors.h"
#include "ops/kernel_rows.h"
#include "ops/ragged/splits_cpu.h"

// ---- RaggedTensorToVariant ----------------------------------------------------------------------

static leat_status_t to_variant_create(leat_kernel_creation_t* c, void* memory) {
  return leat_kernel_attr_bool(c, "batched_input", memory);
}

// Gives splits [begin, end] of |splits|, made to begin with 0, as a tensor that may outlive the
// step.
static leat_status_t cut_splits(const leat_kernel_context_t* c, const leat_tensor_t* splits,
                                int64_t begin, int64_t end, leat_tensor_t* out_splits) {
  leat_shape_t vector = leat_shape_vector(end - begin + 1);
  int64_t base = leat_tensor_index_at(splits, begin);
  LEAT_RETURN_IF_ERROR(
      leat_tensor_allocate(leat_buffer_source_host(), splits->dtype, &vector, out_splits));
  for (int64_t i = begin; i <= end; ++i) {
    LEAT_RETURN_IF_ERROR(
        leat_splits_set(c, out_splits, i - begin, leat_tensor_index_at(splits, i) - base));
  }
  return leat_ok_status();
}

// Fills |box| with row |row| of the ragged tensor whose flat values are |values|.
static leat_status_t box_row(const leat_kernel_context_t* c, int levels, int64_t row,
                             const leat_tensor_t* values, leat_boxed_tensors_t* box) {
  int64_t begin = row, end = row + 1;
  for (int level = 0; level < levels; ++level) {
    const leat_tensor_t* splits = leat_kernel_input(c, level);
    if (level) {
      LEAT_RETURN_IF_ERROR(cut_splits(c, splits, begin, end, &box->items[level - 1]));
    }
    begin = leat_tensor_index_at(splits, begin);
    end = leat_tensor_index_at(splits, end);
  }
  leat_tensor_t* slice = &box->items[box->count - 1];
  LEAT_RETURN_IF_ERROR(leat_tensor_slice(values, begin, end, slice));
  if (levels) return leat_ok_status();
  // Without splits a row is one element of the first dimension, which it does not have itself.
  leat_shape_t shape;
  leat_tensor_t whole = leat_tensor_move(slice);
  leat_status_t status =
      leat_shape_create(whole.shape.rank - 1, leat_shape_dims(&whole.shape) + 1, &shape);
  if (!status) status = leat_tensor_reshape(&whole, &shape, slice);
  leat_shape_release(&shape);
  leat_tensor_release(&whole);
  return status;
}

static leat_status_t box_rows(leat_kernel_context_t* c, int levels, const leat_tensor_t* values) {
  int64_t rows = levels ? leat_splits_rows(leat_kernel_input(c, 0))
                        : leat_shape_dim(&values->shape, 0);
  leat_shape_t vector = leat_shape_vector(rows);
  leat_tensor_t* output;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, &output));
  for (int64_t row = 0; row < rows; ++row) {
    leat_boxed_tensors_t* box;
    LEAT_RETURN_IF_ERROR(leat_boxed_tensors_create(
        &leat_ragged_box_vtable, true, levels ? levels : 1,
        leat_tensor_data(output, leat_variant_t) + row, &box));
    LEAT_RETURN_IF_ERROR(box_row(c, levels, row, values, box));
  }
  return leat_ok_status();
}

// Makes output 0 a variant that holds all inputs.
static leat_status_t box_inputs(leat_kernel_context_t* c, const leat_variant_vtable_t* vtable) {
  leat_shape_t scalar = leat_shape_scalar();
  leat_boxed_tensors_t* box;
  leat_tensor_t* output;
  int count = leat_kernel_input_count(c);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &scalar, &output));
  LEAT_RETURN_IF_ERROR(
      leat_boxed_tensors_create(vtable, true, count, output->data, &box));
  for (int i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, i, &box->items[i]));
  }
  return leat_ok_status();
}

static leat_status_t to_variant__cpu(leat_kernel_context_t* c) {
  int levels = leat_kernel_input_count(c) - 1;
  bool is_batched = *(const bool*)leat_kernel_state(c);
  leat_tensor_t values;
  if (levels || is_batched) LEAT_RETURN_IF_ERROR(leat_splits_check(c, 0, levels, true));
  if (!is_batched) return box_inputs(c, &leat_ragged_box_vtable);
  LEAT_RETURN_IF_ERROR(leat_kernel_keep_input(c, levels, &values));
  leat_status_t status = box_rows(c, levels, &values);
  leat_tensor_release(&values);
  return status;
}

// ---- RaggedTensorFromVariant --------------------------------------------------------------------

static leat_status_t from_variant_create(leat_kernel_creation_t* c, void* memory) {
  return leat_kernel_attr_int(c, "input_ragged_rank", memory);
}

// The variants, and what they have in common.
typedef struct encoded_s {
  const leat_tensor_t* variants;
  int levels;  // splits in each variant
} encoded_t;

static const leat_boxed_tensors_t* box_at(const encoded_t* e, int64_t index) {
  return leat_boxed_tensors_of(leat_tensor_data(e->variants, const leat_variant_t) + index,
                               &leat_ragged_box_vtable);
}

// Checks variant |index|: what it holds, and that its values fit to those of the first one.
static leat_status_t check_variant(const leat_kernel_context_t* c, const encoded_t* e,
                                   int64_t index) {
  const leat_boxed_tensors_t *box = box_at(e, index), *first = box_at(e, 0);
  int outputs = c->kernel->output_count;
  if (!box) {
    return leat_kernel_invalid(c, "Input Variant element at index %lld doesn't hold a "
                               "RaggedTensorVariant",
                               (long long)index);
  }
  if (box->count - 1 != e->levels) {
    return leat_kernel_invalid(c, "Encoded input RaggedTensorVariant has ragged_rank=%d.  Expected "
                               "ragged_rank=%d.",
                               box->count - 1, e->levels);
  }
  for (int i = 0; i < box->count; ++i) {
    int wanted = c->kernel->output_types[i == e->levels ? outputs - 1 : 0];
    if (box->items[i].dtype == wanted) continue;
    return leat_kernel_invalid(c, "Expected %s Tensor dtype: %s, found: %s",
                               i == e->levels ? "values" : "row_splits", leat_dtype_name(wanted),
                               leat_dtype_name(box->items[i].dtype));
  }
  const leat_shape_t *shape = &box->items[e->levels].shape, *like = &first->items[e->levels].shape;
  if (e->variants->shape.rank == 0) return leat_ok_status();
  bool fits = shape->rank > 0 && shape->rank == like->rank;
  for (int d = 1; fits && d < shape->rank; ++d) {
    fits = leat_shape_dim(shape, d) == leat_shape_dim(like, d);
  }
  if (fits) return leat_ok_status();
  return leat_kernel_invalid(c, "All flat_values must have compatible shapes of rank >= 1.  Shape "
                             "at index 0: %s.  Shape at index %lld: %s",
                             LEAT_SHAPE_TEXT(like), (long long)index, LEAT_SHAPE_TEXT(shape));
}

// The number of items of variant |index| at |level|: its rows at level 0, values behind the last.
static int64_t items_at(const encoded_t* e, int64_t index, int level) {
  const leat_tensor_t* items = &box_at(e, index)->items[level];
  return level < e->levels ? leat_splits_rows(items) : leat_shape_dim(&items->shape, 0);
}

// Allocates output |output|, of one number more than the variants have items at |level|.
static leat_status_t allocate_splits(leat_kernel_context_t* c, const encoded_t* e, int level,
                                     int output, leat_tensor_t** out_splits) {
  int64_t size = 1;
  for (int64_t i = 0; i < e->variants->shape.element_count; ++i) {
    if (!leat_checked_add(size, items_at(e, i, level), &size)) {
      return leat_kernel_invalid(c, "the result has too many rows");
    }
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, output, 1, &size, out_splits));
  return leat_splits_set(c, *out_splits, 0, 0);
}

// Writes the splits that group the variants' own rows: an element for each variant.
static leat_status_t write_variant_splits(leat_kernel_context_t* c, const encoded_t* e,
                                          int output) {
  leat_shape_t vector = leat_shape_vector(e->variants->shape.element_count + 1);
  leat_tensor_t* splits;
  int64_t end = 0;
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, output, &vector, &splits));
  LEAT_RETURN_IF_ERROR(leat_splits_set(c, splits, 0, 0));
  for (int64_t i = 0; i < e->variants->shape.element_count; ++i) {
    if (!leat_checked_add(end, items_at(e, i, 0), &end)) {
      return leat_kernel_invalid(c, "the result has too many rows");
    }
    LEAT_RETURN_IF_ERROR(leat_splits_set(c, splits, i + 1, end));
  }
  return leat_ok_status();
}

// Writes the splits of |level| of all variants one behind the other.
static leat_status_t write_joined_splits(leat_kernel_context_t* c, const encoded_t* e, int level,
                                         int output) {
  leat_tensor_t* splits;
  int64_t place = 0, base = 0;
  LEAT_RETURN_IF_ERROR(allocate_splits(c, e, level, output, &splits));
  for (int64_t i = 0; i < e->variants->shape.element_count; ++i) {
    const leat_tensor_t* from = &box_at(e, i)->items[level];
    int64_t rows = leat_splits_rows(from);
    for (int64_t row = 1; row <= rows; ++row) {
      LEAT_RETURN_IF_ERROR(
          leat_splits_set(c, splits, ++place, base + leat_tensor_index_at(from, row)));
    }
    base += leat_tensor_index_at(from, rows);
  }
  return leat_ok_status();
}

static leat_status_t write_values(leat_kernel_context_t* c, const encoded_t* e, int output) {
  int64_t count = e->variants->shape.element_count, dims[LEAT_SHAPE_MAX_RANK] = {0};
  const leat_shape_t* like = count ? &box_at(e, 0)->items[e->levels].shape : NULL;
  leat_tensor_t* values;
  for (int d = 1; like && d < like->rank; ++d) dims[d] = leat_shape_dim(like, d);
  for (int64_t i = 0; i < count; ++i) {
    if (!leat_checked_add(dims[0], items_at(e, i, e->levels), &dims[0])) {
      return leat_kernel_invalid(c, "the result has too many values");
    }
  }
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_sized(c, output, like ? like->rank : 1, dims, &values));
  char* to = values->data;
  for (int64_t i = 0; i < count; ++i) {
    const leat_tensor_t* from = &box_at(e, i)->items[e->levels];
    LEAT_RETURN_IF_ERROR(
        leat_tensor_copy_elements(values->dtype, from->data, to, from->shape.element_count));
    to += leat_tensor_size_bytes(from);
  }
  return leat_ok_status();
}

static leat_status_t from_variant__cpu(leat_kernel_context_t* c) {
  int outputs = c->kernel->output_count;
  int64_t stated = *(const int64_t*)leat_kernel_state(c);
  encoded_t e = {.variants = leat_kernel_input(c, 0)};
  int rank = e.variants->shape.rank;
  e.levels = outputs - 1 - rank;
  if (e.levels < 0 || (stated >= 0 && stated != e.levels)) {
    return leat_kernel_invalid(c, "output_ragged_rank must be equal to input_ragged_rank + "
                               "encoded_ragged.dims(); output_ragged_rank: %d, input_ragged_rank: "
                               "%lld, encoded_variant.dims(): %d",
                               outputs - 1, (long long)stated, rank);
  }
  for (int64_t i = 0; i < e.variants->shape.element_count; ++i) {
    LEAT_RETURN_IF_ERROR(check_variant(c, &e, i));
  }
  if (rank == 0) {
    const leat_boxed_tensors_t* box = box_at(&e, 0);
    for (int i = 0; i < outputs; ++i) {
      leat_kernel_set_output(c, i, leat_tensor_share(&box->items[i]));
    }
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(leat_splits_write_uniform(c, &e.variants->shape));
  LEAT_RETURN_IF_ERROR(write_variant_splits(c, &e, rank - 1));
  for (int level = 0; level < e.levels; ++level) {
    LEAT_RETURN_IF_ERROR(write_joined_splits(c, &e, level, rank + level));
  }
  return write_values(c, &e, outputs - 1);
}

// ---- Gradient of RaggedTensorToVariant ----------------------------------------------------------

// How many elements variant |index| of |count| stands for, where it holds nothing: its rows by the
// row splits, or an equal share where there are none.
static leat_status_t missing_elements(const leat_kernel_context_t* c, int64_t index, int64_t count,
                                      const leat_shape_t* shape, int64_t* out_elements) {
  const leat_tensor_t* splits = leat_kernel_input(c, 1);
  if (splits->shape.rank == 0) {
    *out_elements = shape->element_count / count;
    return leat_ok_status();
  }
  if (index + 1 >= splits->shape.element_count) {
    return leat_kernel_invalid(c, "row_splits have %lld elements, must have one more than there "
                               "are variants, %lld",
                               (long long)splits->shape.element_count, (long long)count);
  }
  int64_t width = shape->rank ? leat_shape_product(shape, 1, shape->rank) : 1;
  int64_t begin = leat_tensor_index_at(splits, index);
  int64_t end = leat_tensor_index_at(splits, index + 1);
  if (begin >= 0 && begin <= end && leat_checked_multiply(end - begin, width, out_elements)) {
    return leat_ok_status();
  }
  return leat_kernel_invalid(c, "row_splits go from %lld to %lld, must not get smaller",
                             (long long)begin, (long long)end);
}

// Lays the values of all variants one behind the other. Those of a variant that holds nothing are
// zeros, with which |output| is filled.
static leat_status_t join_gradients(leat_kernel_context_t* c, leat_tensor_t* output) {
  const encoded_t e = {.variants = leat_kernel_input(c, 0)};
  int64_t count = e.variants->shape.element_count, done = 0, total = output->shape.element_count;
  size_t bytes = leat_dtype_size(output->dtype);
  for (int64_t i = 0; i < count; ++i) {
    const leat_boxed_tensors_t* box = box_at(&e, i);
    const leat_tensor_t* values = box ? &box->items[box->count - 1] : NULL;
    int64_t some = 0;
    if (values) {
      some = values->shape.element_count;
    } else {
      LEAT_RETURN_IF_ERROR(missing_elements(c, i, count, &output->shape, &some));
    }
    if (some > total - done || (values && values->dtype != output->dtype)) {
      return leat_kernel_invalid(c, "the variants do not hold %s values of shape %s",
                                 leat_dtype_name(output->dtype), LEAT_SHAPE_TEXT(&output->shape));
    }
    if (values) {
      LEAT_RETURN_IF_ERROR(leat_tensor_copy_elements(
          output->dtype, values->data, (char*)output->data + (size_t)done * bytes, some));
    }
    done += some;
  }
  return leat_ok_status();
}

static leat_status_t variant_gradient__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* wanted = leat_kernel_input(c, 2);
  if (leat_kernel_input(c, 1)->shape.rank > 0) LEAT_RETURN_IF_ERROR(leat_splits_check_order(c, 1));
  int64_t dims[LEAT_SHAPE_MAX_RANK], rank = wanted->shape.element_count;
  leat_tensor_t* output;
  if (wanted->shape.rank != 1 || rank > LEAT_SHAPE_MAX_RANK) {
    return leat_kernel_invalid(c, "dense_values_shape is of shape %s, must be a vector",
                               LEAT_SHAPE_TEXT(&wanted->shape));
  }
  for (int64_t d = 0; d < rank; ++d) dims[d] = leat_tensor_index_at(wanted, d);
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_sized(c, 0, (int)rank, dims, &output));
  leat_tensor_fill_zero(output);
  return join_gradients(c, output);
}

// ---- Composite values ---------------------------------------------------------------------------

static leat_status_t from_components__cpu(leat_kernel_context_t* c) {
  return box_inputs(c, &leat_composite_box_vtable);
}

static leat_status_t to_components__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* encoded = leat_kernel_input(c, 0);
  const leat_boxed_tensors_t* box = NULL;
  if (encoded->shape.element_count == 1) {
    box = leat_boxed_tensors_of(encoded->data, &leat_composite_box_vtable);
  }
  if (!box) {
    return leat_kernel_invalid(c, "The input `encoded` is not a valid CompositeTensorVariant "
                               "tensor");
  }
  if (box->count != c->kernel->output_count) {
    return leat_kernel_invalid(c, "Encoded value has %d tensor components; expected %d components "
                               "based on type_spec",
                               box->count, c->kernel->output_count);
  }
  for (int i = 0; i < box->count; ++i) {
    if (box->items[i].dtype != c->kernel->output_types[i]) {
      return leat_kernel_invalid(c, "Tensor component %d had dtype %s; expected dtype %s", i,
                                 leat_dtype_name(box->items[i].dtype),
                                 leat_dtype_name(c->kernel->output_types[i]));
    }
    leat_kernel_set_output(c, i, leat_tensor_share(&box->items[i]));
  }
  return leat_ok_status();
}

#define TYPES                                                                                   \
  "Tvalues: bfloat16, bool, complex128, complex64, double, float, half, int16, int32, int64, "  \
  "int8, qint16, qint32, qint8, quint16, quint8, string, uint16, uint32, uint64, uint8"

const leat_kernel_row_t leat_ragged_variant_kernels_cpu[] = {
    LEAT_CPU_KERNEL("RaggedTensorToVariant", TYPES, bool, to_variant_create, to_variant__cpu),
    LEAT_CPU_KERNEL("RaggedTensorFromVariant", TYPES, int64_t, from_variant_create,
                    from_variant__cpu),
    {.op = "RaggedTensorToVariantGradient",
     .device_type = "CPU",
     .constraints = TYPES,
     .compute = variant_gradient__cpu},
    {.op = "CompositeTensorVariantFromComponents",
     .device_type = "CPU",
     .compute = from_components__cpu},
    {.op = "CompositeTensorVariantToComponents",
     .device_type = "CPU",
     .compute = to_components__cpu},
    LEAT_KERNEL_ROWS_END,
};
