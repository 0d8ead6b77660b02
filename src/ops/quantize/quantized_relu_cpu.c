// CPU kernels of QuantizedRelu, QuantizedRelu6 and QuantizedReluX: the integers limited to those
// that stand for 0 and for an upper limit. The range of the output is that of the input.
#include "ops/kernel_rows.h"
#include "ops/quantize/quantized_range_cpu.h"

typedef struct relu_s {
  const leat_tensor_t* input;
  leat_tensor_t* output;
  int32_t least, most;
} relu_t;

#define LIMIT_LOOP(type)                                                            \
  for (int64_t i = begin; i < end; ++i) {                                           \
    const type x = leat_tensor_data(job->input, const type)[i];                     \
    const type limited = LEAT_MAX(x, (type)job->least);                             \
    leat_tensor_data(job->output, type)[i] = LEAT_MIN(limited, (type)job->most);    \
  }

static void relu_shard(void* data, int64_t begin, int64_t end) {
  const relu_t* job = data;
  if (job->input->dtype == LEAT_DTYPE_QUINT8) {
    LIMIT_LOOP(uint8_t)
  } else {
    LIMIT_LOOP(int32_t)
  }
}

// The input limited to [0, |limit|] over the range in inputs |range_input| and the next.
static leat_status_t limit(leat_kernel_context_t* c, int range_input, float limit) {
  relu_t job = {.input = leat_kernel_input(c, 0)};
  const leat_shape_t* shape = &job.input->shape;
  const leat_range_t range = leat_range_input(c, range_input);
  const leat_integers_t n = leat_integers_of(job.input->dtype);
  LEAT_RETURN_IF_ERROR(leat_kernel_forward_or_allocate(c, 0, 0, shape, &job.output));
  job.least = leat_quantized_of(n, 0, range);
  job.most = limit == INFINITY ? n.max : leat_quantized_of(n, limit, range);
  leat_kernel_parallel_for(c, shape->element_count, 0.3, relu_shard, &job);
  return leat_range_output(c, 1, range);
}

static leat_status_t relu__cpu(leat_kernel_context_t* c) { return limit(c, 1, INFINITY); }
static leat_status_t relu6__cpu(leat_kernel_context_t* c) { return limit(c, 1, 6); }

#define CPU_ROW(name, types, fn) \
  {.op = name, .device_type = "CPU", .constraints = types, .compute = fn}

const leat_kernel_row_t leat_quantized_relu_kernels_cpu[] = {
    CPU_ROW("QuantizedRelu", "Tinput: quint8; out_type: quint8", relu__cpu),
    CPU_ROW("QuantizedRelu", "Tinput: qint32; out_type: qint32", relu__cpu),
    CPU_ROW("QuantizedRelu6", "Tinput: quint8; out_type: quint8", relu6__cpu),
    CPU_ROW("QuantizedRelu6", "Tinput: qint32; out_type: qint32", relu6__cpu),
    LEAT_KERNEL_ROWS_END,
};
