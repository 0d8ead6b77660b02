// The time of one call of a kernel, everything around it left out: no executor, no making of
// inputs, no copies. The kernel is called twice as often each time until a series lasts a tenth of
// a second, and the time of that series divided by its calls is the result. Outputs are released
// after every call, so their memory comes from the pool as in a step that runs again. Printed are
// microseconds and the bytes of inputs and outputs per second, which for most ops is the figure
// that can be compared with the machine's memory. Asynchronous kernels are not timed, since they
// wait for others.
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "op_harness/checks.h"

#define LEAST_NS INT64_C(100000000)

static size_t bytes_of(const leat_slot_t* slots, int count) {
  size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (slots[i].tensor.dtype) bytes += leat_tensor_size_bytes(&slots[i].tensor);
  }
  return bytes;
}

static leat_status_t call(leat_kernel_context_t* context) {
  LEAT_RETURN_IF_ERROR(leat_kernel_check_contract(context));
  return context->kernel->row->compute(context);
}

static leat_status_t call_many(leat_kernel_context_t* context, int64_t count, int64_t* out_ns,
                               size_t* out_bytes) {
  int outputs = context->kernel->output_count;
  int64_t begin = leat_clock_now_ns();
  for (int64_t i = 0; i < count; ++i) {
    LEAT_RETURN_IF_ERROR(call(context));
    *out_bytes = bytes_of(context->outputs, outputs);
    for (int o = 0; o < outputs; ++o) leat_slot_release(&context->outputs[o]);
  }
  *out_ns = leat_clock_now_ns() - begin;
  return leat_ok_status();
}

static leat_status_t measure(const leat_subject_t* subject, leat_kernel_context_t* context) {
  size_t bytes = 0;
  int64_t ns = 0, count = 1;
  LEAT_RETURN_IF_ERROR(call_many(context, 1, &ns, &bytes));
  while (ns < LEAST_NS) {
    count *= 2;
    LEAT_RETURN_IF_ERROR(call_many(context, count, &ns, &bytes));
  }
  double per_call = (double)ns / (double)count;
  bytes += bytes_of(context->slots, subject->input_count);
  char types[160] = "";
  size_t used = 0;
  for (int i = 0; i < subject->input_count && used < sizeof(types); ++i) {
    int written = snprintf(types + used, sizeof(types) - used, " %s%s",
                           leat_dtype_name(subject->inputs[i].dtype),
                           LEAT_SHAPE_TEXT(&subject->inputs[i].shape));
    used += written > 0 ? (size_t)written : 0;
  }
  printf("bench %-24s%s  %.4g us  %.3g GB/s\n", subject->op_case->op, types, per_call / 1e3,
         (double)bytes / per_call);
  return leat_ok_status();
}

static leat_status_t measure_kernel(const leat_subject_t* subject, const leat_kernel_t* kernel,
                                    const leat_step_services_t* services) {
  const leat_subject_way_t way = {.name = "borrowed inputs"};
  uint32_t numbers[LEAT_CASE_MAX_VALUES];
  leat_slot_t slots[LEAT_CASE_MAX_VALUES];
  leat_slot_t outputs[LEAT_CASE_MAX_OUTPUTS] = {0};
  for (uint32_t i = 0; i < LEAT_CASE_MAX_VALUES; ++i) numbers[i] = i;
  if (!kernel->row->compute) return leat_ok_status();  // asynchronous ones are not timed alone
  LEAT_RETURN_IF_ERROR(leat_subject_make_slots(subject, &way, slots));
  leat_kernel_context_t context = {.kernel = kernel,
                                   .slots = slots,
                                   .input_slots = numbers,
                                   .outputs = outputs,
                                   .services = services};
  leat_status_t status = measure(subject, &context);
  leat_subject_free_slots(subject, slots);
  return status;
}

leat_status_t leat_check_speed(const leat_subject_t* subject) {
  int32_t sources[LEAT_CASE_MAX_VALUES];
  int32_t node = -1;
  leat_graph_t* graph = NULL;
  leat_fixture_kernel_t kernel = {0};
  leat_fixture_step_t step = {0};
  leat_thread_pool_t* pool = NULL;
  const char* threads = getenv("LEAT_BENCH_THREADS");
  int thread_count = threads ? atoi(threads) : 1;
  leat_status_t status =
      leat_subject_build(subject, LEAT_SOURCES_SHAPED, 0, &graph, sources, &node);
  if (!status) status = leat_fixture_kernel_make(subject->fixture, graph, node, &kernel);
  if (!status && thread_count > 1) {
    status = leat_thread_pool_create(thread_count, leat_allocator_system(), &pool);
  }
  if (!status) status = leat_fixture_step_begin(subject->fixture, pool, &step);
  if (!status) status = measure_kernel(subject, kernel.kernel, &step.services);
  leat_fixture_step_end(&step);
  leat_thread_pool_release(pool);
  leat_fixture_kernel_free(&kernel);
  leat_graph_free(graph);
  return status;
}
