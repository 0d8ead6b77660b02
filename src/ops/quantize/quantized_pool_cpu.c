// CPU kernels of the pools of quantised images [batch, height, width, channels] and of volumes
// [batch, planes, height, width, channels]: the greatest integer of each window, and the mean. The
// range of the output is that of the input, so that the pools are those of plain integers. The
// fraction of a mean is cut off, as TensorFlow's own kernel does it (that of oneDNN rounds to the
// nearest integer).
#include "ops/kernel_rows.h"
#include "ops/nn/pool_cpu.h"
#include "ops/quantize/quantized_range_cpu.h"

static leat_status_t create(leat_kernel_creation_t* c, void* state) {
  return leat_pool_create(c, state, 2, "T");
}
static leat_status_t create_3d(leat_kernel_creation_t* c, void* state) {
  LEAT_RETURN_IF_ERROR(leat_pool_create(c, state, 3, "T"));
  if (!((const leat_pool_kernel_t*)state)->window.channels_first) return leat_ok_status();
  return leat_make_status(LEAT_UNIMPLEMENTED,
                          "attribute data_format is NCDHW, must be NDHWC on the CPU");
}

typedef struct job_s {
  leat_pool_t pool;
  const leat_tensor_t* input;
  void* output;
  const leat_max_pool_loops_t* maxima;
} job_t;

static void max_shard(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  job->maxima->maxima(&job->pool, job->input->data, job->output, begin, end);
}

// The mean of channel |k| over a window.
static int mean_of(const job_t* job, const leat_pool_row_t* row, leat_pool_span_t columns,
                   int64_t k) {
  const leat_pool_t* p = &job->pool;
  const bool is_signed = job->input->dtype == LEAT_DTYPE_QINT8;
  const uint8_t* x = job->input->data;
  int64_t sum = 0, count = 0;
  LEAT_POOL_EACH(p, *row, columns, at) {
    const uint8_t bits = x[at * p->channels + k];
    sum += is_signed ? (int8_t)bits : bits;
    ++count;
  }
  return count ? (int)(sum / count) : 0;
}

static void mean_shard(void* data, int64_t begin, int64_t end) {
  const job_t* job = data;
  const leat_pool_t* p = &job->pool;
  leat_pool_pace_t pace = leat_pool_pace_of(p);
  for (int64_t index = begin; index < end; ++index) {
    const leat_pool_row_t row = leat_pool_row(p, index);
    uint8_t* y = (uint8_t*)job->output + index * p->out[2] * p->channels;
    for (int64_t column = 0; column < p->out[2]; ++column, y += p->channels) {
      if (leat_pool_is_over(&pace)) return;
      const leat_pool_span_t columns = leat_pool_span(p, 2, column);
      for (int64_t k = 0; k < p->channels; ++k) y[k] = (uint8_t)mean_of(job, &row, columns, k);
    }
  }
}

static leat_status_t run(leat_kernel_context_t* c, leat_shard_fn_t fn) {
  job_t job = {.input = leat_kernel_input(c, 0)};
  leat_window_t window;
  leat_shape_t shape;
  leat_tensor_t* output;
  const bool is_signed = job.input->dtype == LEAT_DTYPE_QINT8;
  job.maxima = leat_max_pool_plain_loops(is_signed ? LEAT_DTYPE_INT8 : LEAT_DTYPE_UINT8);
  LEAT_RETURN_IF_ERROR(leat_pool_window(c, false, &window));
  LEAT_RETURN_IF_ERROR(leat_pool_measure(c, &window, &job.input->shape, &job.pool, &shape));
  leat_status_t status = leat_kernel_allocate_output(c, 0, &shape, &output);
  if (!status && shape.element_count > 0) {
    job.output = output->data;
    leat_kernel_parallel_for(c, leat_pool_rows(&job.pool), leat_pool_row_ns(&job.pool), fn, &job);
  }
  leat_shape_release(&shape);
  if (status) return status;
  return leat_range_output(c, 1, leat_range_input(c, 1));
}

static leat_status_t max_pool__cpu(leat_kernel_context_t* c) { return run(c, max_shard); }
static leat_status_t avg_pool__cpu(leat_kernel_context_t* c) { return run(c, mean_shard); }

const leat_kernel_row_t leat_quantized_pool_kernels_cpu[] = {
    LEAT_CPU_KERNEL("QuantizedMaxPool", "T: quint8, qint8", leat_pool_kernel_t, create,
                    max_pool__cpu),
    LEAT_CPU_KERNEL("QuantizedAvgPool", "T: quint8, qint8", leat_pool_kernel_t, create,
                    avg_pool__cpu),
    LEAT_CPU_KERNEL("_QuantizedMaxPool3D", "T: quint8, qint8", leat_pool_kernel_t, create_3d,
                    max_pool__cpu),
    LEAT_KERNEL_ROWS_END,
};
