// Conversion of whole tensors of half and bfloat16 to float and back, on the step's pool;
// widen_cpu.h says how a kernel uses it.
#include "ops/nn/widen_cpu.h"

#include "device/cpu/vector_math.h"

void leat_widen_elements(int dtype, const void* from, float* to, int64_t count) {
  const leat_vector_math_t* math = leat_vector_math();
  (dtype == LEAT_DTYPE_HALF ? math->half_to_float : math->bfloat16_to_float)(from, to, count);
}

void leat_narrow_elements(int dtype, const float* from, void* to, int64_t count) {
  const leat_vector_math_t* math = leat_vector_math();
  (dtype == LEAT_DTYPE_HALF ? math->half_from_float : math->bfloat16_from_float)(from, to, count);
}

// One conversion in either direction; the fields of the other direction are NULL.
typedef struct conversion_s {
  int dtype;
  const uint16_t* narrow_from;
  uint16_t* narrow_to;
  const float* wide_from;
  float* wide_to;
} conversion_t;

static void widen_shard(void* data, int64_t begin, int64_t end) {
  const conversion_t* s = data;
  leat_widen_elements(s->dtype, s->narrow_from + begin, s->wide_to + begin, end - begin);
}
static void narrow_shard(void* data, int64_t begin, int64_t end) {
  const conversion_t* s = data;
  leat_narrow_elements(s->dtype, s->wide_from + begin, s->narrow_to + begin, end - begin);
}

leat_status_t leat_widen(leat_kernel_context_t* c, const leat_tensor_t* tensor,
                         leat_tensor_t* out_wide) {
  if (!leat_is_narrow(tensor->dtype)) {
    *out_wide = leat_tensor_share(tensor);
    return leat_ok_status();
  }
  LEAT_RETURN_IF_ERROR(
      leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &tensor->shape, out_wide));
  conversion_t conversion = {
      .dtype = tensor->dtype, .narrow_from = tensor->data, .wide_to = out_wide->data};
  leat_kernel_parallel_for(c, tensor->shape.element_count, 0.3, widen_shard, &conversion);
  return leat_ok_status();
}

leat_status_t leat_widen_output(leat_kernel_context_t* c, const leat_tensor_t* output,
                                leat_tensor_t* out_wide) {
  if (leat_is_narrow(output->dtype)) {
    return leat_kernel_allocate_temporary(c, LEAT_DTYPE_FLOAT, &output->shape, out_wide);
  }
  *out_wide = leat_tensor_share(output);
  return leat_ok_status();
}

void leat_narrow(leat_kernel_context_t* c, const leat_tensor_t* wide, leat_tensor_t* output) {
  if (!leat_is_narrow(output->dtype)) return;
  conversion_t conversion = {
      .dtype = output->dtype, .wide_from = wide->data, .narrow_to = output->data};
  leat_kernel_parallel_for(c, output->shape.element_count, 0.3, narrow_shard, &conversion);
}

leat_status_t leat_wide_begin(leat_kernel_context_t* c, leat_wide_t* out_wide) {
  out_wide->input_count = 0;
  const int count = leat_kernel_input_count(c);
  leat_status_t status = leat_ok_status();
  for (int i = 0; i < count && i < LEAT_WIDE_MAX_INPUTS && !status; ++i) {
    status = leat_widen(c, leat_kernel_input(c, i), &out_wide->inputs[i]);
    if (!status) ++out_wide->input_count;
  }
  if (status) leat_wide_end(out_wide);
  return status;
}

void leat_wide_end(leat_wide_t* wide) {
  while (wide->input_count > 0) leat_tensor_release(&wide->inputs[--wide->input_count]);
}
