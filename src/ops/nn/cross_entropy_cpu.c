// CPU kernels of SoftmaxCrossEntropyWithLogits and its sparse form.
//
//   logits [batch, classes], labels [batch, classes] -> loss [batch], backprop [batch, classes]
//   the sparse form: labels [batch], each the number of a class
//
//   loss = sum over classes of labels (log sum exp(logits) - logits)
//   backprop = softmax(logits) - labels, the gradient of the loss with respect to the logits
//
// One pass over a row gives both, since both need the exponentials; softmax_isa.c has the row
// functions. _ScaledCrossEntropy, either of the two by the type of its labels, also multiplies each
// row of backprop by a number: the optimizer makes it where a graph scales backprop, as a training
// graph nearly always does.
//
// Backprop may take the buffer of the logits. Dense logits and labels are broadcast against each
// other by copying, which is rare. Half and bfloat16 are computed in float.
#include <string.h>

#include "ops/kernel_rows.h"
#include "ops/nn/softmax_cpu.h"
#include "ops/nn/widen_cpu.h"

// One run over rows: the labels are dense or sparse, and the other field is NULL.
typedef struct rows_s {
  const leat_softmax_rows_t* functions;
  const char* x;
  const char* labels;              // a row of numbers for each row
  const leat_tensor_t* sparse;     // a class for each row
  const leat_tensor_t* scale;      // what a row of dx is multiplied by; NULL: 1
  char* loss;
  char* dx;
  int64_t batch;  // rows of x and of the loss; dx may have more, where one row is scaled by many
  int64_t classes;
  size_t item_bytes;
} rows_t;

static double scale_of(const leat_tensor_t* scale, int64_t row) {
  if (!scale) return 1;
  if (scale->shape.element_count == 1) row = 0;
  return scale->dtype == LEAT_DTYPE_DOUBLE ? leat_tensor_data(scale, const double)[row]
                                           : leat_tensor_data(scale, const float)[row];
}

static void run_rows(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  const size_t row_bytes = (size_t)rows->classes * rows->item_bytes;
  for (int64_t i = begin; i < end; ++i) {
    char repeated[sizeof(double)];  // the loss of row 0, which is computed for each scale
    const int64_t row = i < rows->batch ? i : 0;
    const char* x = rows->x + (size_t)row * row_bytes;
    char* dx = rows->dx + (size_t)i * row_bytes;
    char* loss = i < rows->batch ? rows->loss + (size_t)i * rows->item_bytes : repeated;
    const double scale = scale_of(rows->scale, i);
    if (rows->sparse) {
      rows->functions->sparse_cross_entropy(x, leat_tensor_index_at(rows->sparse, row), scale,
                                            loss, dx, rows->classes);
    } else {
      rows->functions->cross_entropy(x, rows->labels + (size_t)row * row_bytes, scale, loss, dx,
                                     rows->classes);
    }
  }
}

// The third input of _ScaledCrossEntropy, whose kernels exist for float and double only; else NULL.
static const leat_tensor_t* find_scale(const leat_kernel_context_t* c) {
  return c->kernel->op->input_count > 2 ? leat_kernel_input(c, 2) : NULL;
}

// All tensors are of float or double; |logits| may be |dx|.
static void run(const leat_kernel_context_t* c, const leat_tensor_t* logits,
                const leat_tensor_t* labels, bool is_sparse, leat_tensor_t* loss,
                leat_tensor_t* dx) {
  const int64_t count = leat_shape_dim(&dx->shape, 0), classes = leat_shape_dim(&dx->shape, 1);
  rows_t rows = {.functions = leat_softmax_rows(dx->dtype == LEAT_DTYPE_DOUBLE),
                 .x = logits->data,
                 .labels = is_sparse ? NULL : labels->data,
                 .sparse = is_sparse ? labels : NULL,
                 .scale = find_scale(c),
                 .loss = loss->data,
                 .dx = dx->data,
                 .batch = loss->shape.element_count,
                 .classes = classes,
                 .item_bytes = leat_dtype_size(dx->dtype)};
  leat_kernel_parallel_for(c, count, 1.5 * (double)classes + 30, run_rows, &rows);
}

// Gives |tensor| in the type that computes, repeated to |shape|, a matrix that it broadcasts to.
// The caller ends |out_tensor| by leat_tensor_release.
static leat_status_t spread(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                            const leat_shape_t* shape, leat_tensor_t* out_tensor) {
  leat_tensor_t wide;
  LEAT_RETURN_IF_ERROR(leat_widen(c, tensor, &wide));
  if (leat_shape_equal(&wide.shape, shape)) {
    *out_tensor = wide;
    return leat_ok_status();
  }
  leat_status_t status = leat_kernel_allocate_temporary(c, wide.dtype, shape, out_tensor);
  if (!status) {
    const size_t item = leat_dtype_size(wide.dtype);
    const int rank = wide.shape.rank;
    const int64_t columns = leat_shape_dim(shape, 1);
    const bool one_row = rank < 2 || leat_shape_dim(&wide.shape, 0) == 1;
    const bool one_column = rank < 1 || leat_shape_dim(&wide.shape, rank - 1) == 1;
    for (int64_t i = 0; i < shape->element_count; ++i) {
      const int64_t row = one_row ? 0 : i / columns, column = one_column ? 0 : i % columns;
      const int64_t from = row * (one_column ? 1 : columns) + column;
      memcpy((char*)out_tensor->data + (size_t)i * item, (char*)wide.data + (size_t)from * item,
             item);
    }
  }
  leat_tensor_release(&wide);
  return status;
}

static leat_status_t find_shape(const leat_kernel_context_t* c, leat_shape_t* out_shape) {
  const leat_shape_t* logits = &leat_kernel_input(c, 0)->shape;
  const leat_shape_t* labels = &leat_kernel_input(c, 1)->shape;
  leat_status_t status = leat_shape_broadcast(logits, labels, out_shape);
  if (!status && out_shape->rank == 2) return leat_ok_status();
  leat_status_free(status);
  return leat_kernel_invalid(c, "logits and labels must broadcast to a matrix: logits is %s, "
                             "labels is %s", LEAT_SHAPE_TEXT(logits), LEAT_SHAPE_TEXT(labels));
}

// Allocates both outputs, backprop with the shape to which |shape| and the scales broadcast.
// Backprop gets the buffer of the logits where nobody else needs it.
static leat_status_t allocate(leat_kernel_context_t* c, const leat_shape_t* shape,
                              leat_tensor_t** out_loss, leat_tensor_t** out_dx) {
  const leat_shape_t vector = leat_shape_vector(leat_shape_dim(shape, 0));
  const leat_tensor_t* scale = find_scale(c);
  const int64_t rows = leat_shape_dim(shape, 0);
  const int64_t scales = scale && scale->shape.rank == 2 ? leat_shape_dim(&scale->shape, 0) : rows;
  if (scale && (scale->shape.rank != 2 || leat_shape_dim(&scale->shape, 1) != 1 ||
                (scales != rows && scales != 1 && rows != 1))) {
    return leat_kernel_invalid(c, "Incompatible shapes: scale has %s, must be a column of a number "
                               "for each row of %s",
                               LEAT_SHAPE_TEXT(&scale->shape), LEAT_SHAPE_TEXT(shape));
  }
  LEAT_RETURN_IF_ERROR(leat_kernel_allocate_output(c, 0, &vector, out_loss));
  if (scales == rows || scales == 1) return leat_kernel_forward_or_allocate(c, 0, 1, shape, out_dx);
  leat_shape_t many;
  LEAT_RETURN_IF_ERROR(
      leat_shape_create(2, (const int64_t[]){scales, leat_shape_dim(shape, 1)}, &many));
  leat_status_t status = leat_kernel_allocate_output(c, 1, &many, out_dx);
  leat_shape_release(&many);
  return status;
}

// Runs over |logits| and |labels|, which are wide and have the shape of backprop, and narrows the
// results.
static leat_status_t finish(leat_kernel_context_t* c, const leat_tensor_t* logits,
                            const leat_tensor_t* labels, bool is_sparse, leat_tensor_t* loss,
                            leat_tensor_t* dx) {
  leat_tensor_t wide_loss, wide_dx;
  LEAT_RETURN_IF_ERROR(leat_widen_output(c, loss, &wide_loss));
  leat_status_t status = leat_widen_output(c, dx, &wide_dx);
  if (!status) {
    run(c, logits, labels, is_sparse, &wide_loss, &wide_dx);
    leat_narrow(c, &wide_loss, loss);
    leat_narrow(c, &wide_dx, dx);
    leat_tensor_release(&wide_dx);
  }
  leat_tensor_release(&wide_loss);
  return status;
}

static leat_status_t cross_entropy__cpu(leat_kernel_context_t* c) {
  leat_shape_t shape;
  leat_tensor_t *loss, *dx;
  LEAT_RETURN_IF_ERROR(find_shape(c, &shape));
  LEAT_RETURN_IF_ERROR(allocate(c, &shape, &loss, &dx));
  if (shape.element_count == 0) {
    leat_tensor_fill_zero(loss);
    return leat_ok_status();
  }
  leat_tensor_t logits, labels;
  LEAT_RETURN_IF_ERROR(spread(c, leat_kernel_input(c, 0), &shape, &logits));
  leat_status_t status = spread(c, leat_kernel_input(c, 1), &shape, &labels);
  if (!status) {
    status = finish(c, &logits, &labels, false, loss, dx);
    leat_tensor_release(&labels);
  }
  leat_tensor_release(&logits);
  return status;
}

// Labels are checked before anything is written, because each is used as an index.
static leat_status_t sparse_cross_entropy__cpu(leat_kernel_context_t* c) {
  const leat_tensor_t* labels = leat_kernel_input(c, 1);
  const leat_shape_t* shape = &leat_kernel_input(c, 0)->shape;
  if (shape->rank != 2) {
    return leat_kernel_invalid(c, "logits must be rank 2 but is rank %d", shape->rank);
  }
  const int64_t classes = leat_shape_dim(shape, 1);
  if (labels->shape.rank != 1) {
    return leat_kernel_invalid(c, "labels must be 1-D, but got shape %s",
                               LEAT_SHAPE_TEXT(&labels->shape));
  }
  if (labels->shape.element_count != leat_shape_dim(shape, 0)) {
    return leat_kernel_invalid(c,
                               "logits and labels must have the same first dimension, got logits "
                               "shape %s and labels shape %s",
                               LEAT_SHAPE_TEXT(shape), LEAT_SHAPE_TEXT(&labels->shape));
  }
  if (classes == 0) {
    return leat_kernel_invalid(c, "Must have at least one class, but got logits shape %s",
                               LEAT_SHAPE_TEXT(shape));
  }
  for (int64_t i = 0; i < labels->shape.element_count; ++i) {
    const int64_t label = leat_tensor_index_at(labels, i);
    if (label >= 0 && label < classes) continue;
    return leat_kernel_invalid(c, "Received a label value of %lld which is outside the valid range "
                               "of [0, %lld)", (long long)label, (long long)classes);
  }
  leat_tensor_t *loss, *dx, logits;
  LEAT_RETURN_IF_ERROR(allocate(c, shape, &loss, &dx));
  LEAT_RETURN_IF_ERROR(leat_widen(c, leat_kernel_input(c, 0), &logits));
  leat_status_t status = finish(c, &logits, labels, true, loss, dx);
  leat_tensor_release(&logits);
  return status;
}

#define FLOATING "T: half, bfloat16, float, double"
#define CROSS_ENTROPY(op_name, types, compute_fn) \
  {.op = op_name, .device_type = "CPU", .constraints = types, .compute = compute_fn}

const leat_kernel_row_t leat_cross_entropy_kernels_cpu[] = {
    CROSS_ENTROPY("SoftmaxCrossEntropyWithLogits", FLOATING, cross_entropy__cpu),
    CROSS_ENTROPY("SparseSoftmaxCrossEntropyWithLogits", FLOATING "; Tlabels: int32, int64",
                  sparse_cross_entropy__cpu),
    CROSS_ENTROPY("_ScaledCrossEntropy", "T: float; Tlabels: float", cross_entropy__cpu),
    CROSS_ENTROPY("_ScaledCrossEntropy", "T: double; Tlabels: double", cross_entropy__cpu),
    CROSS_ENTROPY("_ScaledCrossEntropy", "T: float, double; Tlabels: int32, int64",
                  sparse_cross_entropy__cpu),
    LEAT_KERNEL_ROWS_END,
};
