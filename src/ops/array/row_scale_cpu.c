// Products of rows and numbers (row_scale_cpu.h). Elements are taken run by run, where a run is the
// elements that are multiplied by the same number.
#include "ops/array/row_scale_cpu.h"

#include "base/checked.h"

leat_status_t leat_row_scale_open(const leat_kernel_context_t* c, int values, int factor,
                                  leat_row_scale_t* out_scale) {
  const leat_tensor_t* x = leat_kernel_input(c, values);
  const leat_tensor_t* numbers = leat_kernel_input(c, factor);
  const int64_t rows = x->shape.rank ? leat_shape_dim(&x->shape, 0) : 1;
  const int64_t count = numbers->shape.element_count;
  if (count != 1 && count != rows) {
    return leat_kernel_invalid(c, "factor has shape %s, must be a scalar or a number for each row "
                               "of %s",
                               LEAT_SHAPE_TEXT(&numbers->shape), LEAT_SHAPE_TEXT(&x->shape));
  }
  const int64_t run = count ? x->shape.element_count / count : 0;
  *out_scale = (leat_row_scale_t){
      .dtype = x->dtype, .values = x->data, .numbers = numbers->data, .run = LEAT_MAX(run, 1)};
  return leat_ok_status();
}

void leat_row_scale_apply(const leat_row_scale_t* scale, leat_row_scale_end_t end, int64_t begin,
                          int64_t count, void* to) {
  const leat_row_scale_loops_t* loops = LEAT_ISA_SELECT(leat_row_scale_loops);
  const leat_row_scale_loop_t loop =
      scale->dtype == LEAT_DTYPE_DOUBLE ? loops->f64[end] : loops->f32[end];
  const size_t size = leat_dtype_size(scale->dtype);
  const char *from = scale->values, *numbers = scale->numbers;
  for (int64_t at = begin, stop; at < begin + count; at = stop) {
    const int64_t row = at / scale->run;
    stop = LEAT_MIN(begin + count, (row + 1) * scale->run);
    loop(from + (size_t)at * size, numbers + (size_t)row * size, stop - at,
         (char*)to + (size_t)(at - begin) * size);
  }
}
