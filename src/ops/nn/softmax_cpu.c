// CPU kernels of Softmax and LogSoftmax over the last dimension. Rows are shared among threads; the
// result may overwrite the logits. Half and bfloat16 are computed in float.
#include "ops/nn/softmax_cpu.h"

#include "ops/kernel_rows.h"
#include "ops/nn/widen_cpu.h"

typedef struct rows_s {
  void (*run)(const void* x, void* y, int64_t n);
  const char* x;
  char* y;
  int64_t classes;
  size_t row_bytes;
} rows_t;

static void run_rows(void* data, int64_t begin, int64_t end) {
  const rows_t* rows = data;
  for (int64_t i = begin; i < end; ++i) {
    const size_t offset = (size_t)i * rows->row_bytes;
    rows->run(rows->x + offset, rows->y + offset, rows->classes);
  }
}

// Both are of float or double; |y| may be |x|.
static void run(const leat_kernel_context_t* c, bool is_log, const leat_tensor_t* x,
                leat_tensor_t* y) {
  const leat_softmax_rows_t* functions = leat_softmax_rows(x->dtype == LEAT_DTYPE_DOUBLE);
  const int64_t classes = leat_shape_dim(&x->shape, x->shape.rank - 1);
  rows_t rows = {.run = is_log ? functions->log_softmax : functions->softmax,
                 .x = x->data,
                 .y = y->data,
                 .classes = classes,
                 .row_bytes = (size_t)classes * leat_dtype_size(x->dtype)};
  leat_kernel_parallel_for(c, x->shape.element_count / classes, (double)classes + 20, run_rows,
                           &rows);
}

static leat_status_t compute(leat_kernel_context_t* c, bool is_log) {
  const leat_tensor_t* x = leat_kernel_input(c, 0);
  leat_tensor_t* y;
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, &x->shape, &y));
  x = leat_kernel_input(c, 0);
  if (y->shape.element_count == 0) return leat_ok_status();
  if (!leat_is_narrow(x->dtype)) {
    run(c, is_log, x, y);
    return leat_ok_status();
  }
  leat_tensor_t wide;
  LEAT_RETURN_IF_ERROR(leat_widen(c, x, &wide));
  run(c, is_log, &wide, &wide);
  leat_narrow(c, &wide, y);
  leat_tensor_release(&wide);
  return leat_ok_status();
}

static leat_status_t softmax__cpu(leat_kernel_context_t* c) { return compute(c, false); }
static leat_status_t log_softmax__cpu(leat_kernel_context_t* c) { return compute(c, true); }

#define ROW(name, compute_fn)                         \
  {.op = name,                                        \
   .device_type = "CPU",                              \
   .constraints = "T: half, bfloat16, float, double", \
   .access = LEAT_ACCESS_ROWS,                        \
   .compute = compute_fn}

const leat_kernel_row_t leat_softmax_kernels_cpu[] = {
    ROW("Softmax", softmax__cpu),
    ROW("LogSoftmax", log_softmax__cpu),
    LEAT_KERNEL_ROWS_END,
};
