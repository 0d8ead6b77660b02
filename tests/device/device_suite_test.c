// What every device must do, over all devices of this build: names and incarnations, memory, copies
// there and back, strings that stay readable, copies of several threads at once, and kernels with
// the CPU's numbers. Each check is one function of a device and runs on every line of |subjects|,
// with a thread pool and without. A new device adds a line there; what it may do otherwise is
// written there with its reason. Copies complete on any thread and exactly once, which the checks
// count, and devices without asynchronous kernels have no synchronize() to test. What only one
// device does is tested with that device.
#include <math.h>
#include <string.h>

#include "base/test.h"
#include "base/thread.h"
#include "device/device_name.h"
#include "device/simulated/simulated_device.h"
#include "init.h"
#include "kernel/registry.h"

#define TASK "/job:localhost/replica:0/task:0/device:"

static leat_status_t open_virtual(leat_string_view_t name, leat_thread_pool_t* pool,
                                  leat_allocator_t* allocator, leat_device_t** out_device) {
  leat_simulated_options_t options = leat_simulated_options_default();
  options.virtual_time = true;
  options.compute_streams = 1;
  return leat_simulated_device_create(name, &options, pool, allocator, out_device);
}

static leat_status_t open_by_type(leat_string_view_t name, leat_thread_pool_t* pool,
                                  leat_allocator_t* allocator, leat_device_t** out_device) {
  const leat_device_request_t request = {.name = name, .pool = pool, .allocator = allocator};
  return leat_simulated_device_type.create(&leat_simulated_device_type, &request, out_device);
}

typedef struct subject_s {
  const char* name;
  leat_status_t (*create)(leat_string_view_t name, leat_thread_pool_t* pool,
                          leat_allocator_t* allocator, leat_device_t** out_device);
} subject_t;

static const subject_t subjects[] = {
    {TASK "CPU:0", leat_cpu_device_create},
    {TASK "SIM:0", open_by_type},
    {TASK "SIM:1", open_virtual},
};

typedef void (*check_t)(leat_device_t* device);

// On every device, without a pool and with one.
static void on_every_device(check_t check) {
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(subjects); ++i) {
    for (int threads = 0; threads <= 2; threads += 2) {
      leat_thread_pool_t* pool = NULL;
      leat_device_t* device = NULL;
      if (threads) LEAT_EXPECT_OK(leat_thread_pool_create(threads, leat_allocator_system(), &pool));
      LEAT_EXPECT_OK(subjects[i].create(leat_string_view_from(subjects[i].name), pool,
                                        leat_allocator_system(), &device));
      leat_thread_pool_release(pool);  // the device keeps it
      check(device);
      leat_device_release(device);
    }
  }
}

// ---- Waiting for what completes -----------------------------------------------------------------

typedef struct completion_s {
  leat_notification_t notification;
  leat_status_t status;
  _Atomic(int) calls;
} completion_t;

static void complete(void* data, leat_status_t status) {
  completion_t* completion = data;
  completion->status = status;
  atomic_fetch_add(&completion->calls, 1);
  leat_notification_open(&completion->notification);
}

static completion_t begin(void) {
  completion_t completion = {.status = NULL};
  leat_notification_initialize(&completion.notification);
  return completion;
}

// Waits for the copy, and checks that its callback was called once.
static leat_status_t end(completion_t* completion) {
  leat_notification_wait(&completion->notification, INT64_MAX);
  leat_notification_deinitialize(&completion->notification);
  assert_int_equal(completion->calls, 1);
  return completion->status;
}

static leat_status_t into(leat_device_t* device, const leat_tensor_t* host, leat_tensor_t* there) {
  return device->vtable->copy_from_host(device, host, there);
}

static leat_status_t out_of(leat_device_t* device, const leat_tensor_t* there,
                            leat_tensor_t* host) {
  completion_t completion = begin();
  leat_status_t status =
      device->vtable->copy_to_host(device, there, host, complete, &completion);
  if (status) leat_notification_deinitialize(&completion.notification);
  return status ? status : end(&completion);
}

// ---- Checks -------------------------------------------------------------------------------------

static void identity(leat_device_t* device) {
  leat_device_name_t name;
  LEAT_EXPECT_OK(leat_device_name_parse(device->name, &name));
  assert_true(leat_string_view_equal(name.type, device->type));
  assert_true(name.job.size > 0 && name.replica == 0 && name.task == 0 && name.index >= 0);
  assert_true(device->incarnation != 0);
  assert_true(device->memory_limit_bytes > 0);
  assert_non_null(device->memory);
  assert_non_null(device->host_memory);
  assert_true(device->speed.flops_per_ns > 0 && device->speed.bytes_per_ns > 0);
  leat_device_retain(device);
  leat_device_release(device);
}

static void allocations(leat_device_t* device) {
  leat_buffer_t* buffers[20];
  for (size_t i = 0; i < 20; ++i) {
    LEAT_EXPECT_OK(leat_buffer_allocate(device->memory, 1 + i * 333, &buffers[i]));
    assert_int_equal((uintptr_t)buffers[i]->data % LEAT_BUFFER_ALIGNMENT, 0);
    for (size_t k = 0; k < i; ++k) {
      const char *a = buffers[k]->data, *b = buffers[i]->data;
      assert_true(a + buffers[k]->size_bytes <= b || b + buffers[i]->size_bytes <= a);
    }
  }
  for (size_t i = 0; i < 20; ++i) leat_buffer_release(buffers[i]);
}

static void round_trips(leat_device_t* device) {
  static const int64_t counts[] = {0, 1, 7, 1000, 100000};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(counts); ++i) {
    leat_shape_t shape = leat_shape_vector(counts[i]);
    leat_tensor_t host, there = {0}, back = {0}, target;
    LEAT_EXPECT_OK(leat_tensor_allocate(device->host_memory, LEAT_DTYPE_DOUBLE, &shape, &host));
    for (int64_t k = 0; k < counts[i]; ++k) leat_tensor_data(&host, double)[k] = (double)k / 3;
    LEAT_EXPECT_OK(into(device, &host, &there));
    LEAT_EXPECT_OK(leat_tensor_allocate(device->memory, LEAT_DTYPE_DOUBLE, &shape, &target));
    LEAT_EXPECT_OK(into(device, &host, &target));  // filled, not replaced
    leat_tensor_release(&there);
    LEAT_EXPECT_OK(out_of(device, &target, &back));
    assert_int_equal(back.shape.element_count, counts[i]);
    assert_memory_equal(back.data, host.data, (size_t)counts[i] * sizeof(double));
    leat_tensor_release(&host);
    leat_tensor_release(&back);
    leat_tensor_release(&target);
  }
}

static void a_target_of_another_shape(leat_device_t* device) {
  const float values[] = {1, 2, 3};
  leat_tensor_t host, there = {0}, narrow, other;
  leat_shape_t two = leat_shape_vector(2), three = leat_shape_vector(3);
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 3, &host));
  LEAT_EXPECT_OK(into(device, &host, &there));
  LEAT_EXPECT_OK(leat_tensor_allocate(device->host_memory, LEAT_DTYPE_FLOAT, &two, &narrow));
  LEAT_EXPECT_OK(leat_tensor_allocate(device->host_memory, LEAT_DTYPE_INT32, &three, &other));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, out_of(device, &there, &narrow));
  LEAT_EXPECT_CODE(LEAT_INVALID_ARGUMENT, out_of(device, &there, &other));
  leat_tensor_release(&host);
  leat_tensor_release(&there);
  leat_tensor_release(&narrow);
  leat_tensor_release(&other);
}

static void strings_stay_readable(leat_device_t* device) {
  leat_tensor_t host, there = {0}, back = {0};
  LEAT_EXPECT_OK(leat_tensor_scalar_string(LEAT_SV("a string that is not a short one"), &host));
  LEAT_EXPECT_OK(into(device, &host, &there));
  LEAT_EXPECT_OK(out_of(device, &there, &back));
  assert_true(leat_string_view_equals(leat_tensor_string_at(&back, 0),
                                      "a string that is not a short one"));
  leat_tensor_release(&host);
  leat_tensor_release(&there);
  leat_tensor_release(&back);
}

static void copy_back_and_forth(void* data) {
  leat_device_t* device = data;
  for (float i = 0; i < 50; ++i) {
    float values[64];
    for (int k = 0; k < 64; ++k) values[k] = i + (float)k;
    leat_tensor_t host, there = {0}, back = {0};
    LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 64, &host));
    LEAT_EXPECT_OK(into(device, &host, &there));
    leat_tensor_release(&host);
    LEAT_EXPECT_OK(out_of(device, &there, &back));
    leat_tensor_release(&there);
    assert_memory_equal(back.data, values, sizeof values);
    leat_tensor_release(&back);
  }
}

static void many_threads(leat_device_t* device) {
  leat_thread_t threads[4];
  for (int i = 0; i < 4; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("copies", copy_back_and_forth, device, &threads[i]));
  }
  for (int i = 0; i < 4; ++i) leat_thread_join(threads[i]);
}

static void synchronize(leat_device_t* device) {
  if (!device->vtable->synchronize) return;  // its kernels are synchronous
  const float values[] = {1, 2};
  leat_tensor_t host, there[8] = {{0}};
  completion_t all = begin();
  LEAT_EXPECT_OK(leat_tensor_vector(LEAT_DTYPE_FLOAT, values, 2, &host));
  for (int i = 0; i < 8; ++i) LEAT_EXPECT_OK(into(device, &host, &there[i]));
  device->vtable->synchronize(device, complete, &all);
  LEAT_EXPECT_OK(end(&all));
  for (int i = 0; i < 8; ++i) leat_tensor_release(&there[i]);
  leat_tensor_release(&host);
}

// ---- Kernels: the same numbers as the CPU -------------------------------------------------------

static const struct {
  const char* op;
  int inputs;
} ops[] = {{"Neg", 1}, {"Exp", 1},  {"Tanh", 1},   {"Sigmoid", 1}, {"Relu", 1},     {"Square", 1},
           {"Mul", 2}, {"Sub", 2},  {"RealDiv", 2}, {"Maximum", 2}, {"SquaredDifference", 2},
           {"MatMul", 2}, {"BiasAdd", 0}, {"Softmax", 1}, {"L2Loss", 1}, {"ZerosLike", 1},
           {"TanhGrad", 2}, {"ReluGrad", 2}, {"AddV2", 2}, {"Identity", 1}};

static leat_tensor_t matrix(int rows, int columns, float phase) {
  int64_t dims[] = {rows, columns};
  leat_shape_t shape;
  leat_tensor_t tensor;
  LEAT_EXPECT_OK(leat_shape_create(columns ? 2 : 1, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &tensor));
  for (int64_t i = 0; i < shape.element_count; ++i) {
    leat_tensor_data(&tensor, float)[i] = sinf(phase + 1.3f * (float)i);
  }
  return tensor;
}

static leat_tensor_t compute(const leat_runtime_t* runtime, leat_device_t* device, const char* name,
                             const leat_tensor_t* inputs, int input_count) {
  const leat_op_t* op;
  const leat_kernel_row_t* row;
  leat_kernel_t* kernel;
  LEAT_EXPECT_OK(leat_op_registry_find(runtime->ops, leat_string_view_from(name), &op));
  leat_attr_t attrs[8];
  int attr_count = 0;
  for (int i = 0; i < op->attr_count; ++i) {
    attrs[attr_count].name = op->attrs[i].name;
    attrs[attr_count].value = op->attrs[i].default_value;
    if (leat_string_view_equals(op->attrs[i].name, "T")) {
      attrs[attr_count] = (leat_attr_t)LEAT_TYPE("T", LEAT_DTYPE_FLOAT);
    }
    ++attr_count;
  }
  uint8_t types[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
  LEAT_EXPECT_OK(leat_kernel_registry_find(runtime->kernels, op, attrs, attr_count, device->type,
                                           &row));
  LEAT_EXPECT_OK(leat_kernel_create(
      &(leat_kernel_spec_t){.row = row, .op = op, .node_name = LEAT_SV("n"), .attrs = attrs,
          .attr_count = attr_count, .input_types = types, .input_count = input_count,
          .output_types = types, .output_count = 1, .device = device,
          .allocator = leat_allocator_system()}, &kernel));
  leat_tensor_t there[2] = {{0}}, result = {0}, back = {0};
  for (int i = 0; i < input_count; ++i) LEAT_EXPECT_OK(into(device, &inputs[i], &there[i]));
  LEAT_EXPECT_OK(leat_kernel_invoke(kernel, NULL, there, &result));
  LEAT_EXPECT_OK(out_of(device, &result, &back));
  for (int i = 0; i < input_count; ++i) leat_tensor_release(&there[i]);
  leat_tensor_release(&result);
  leat_kernel_free(kernel);
  return back;
}

static void kernels(leat_device_t* device) {
  const leat_runtime_t* runtime;
  leat_device_t* cpu;
  LEAT_EXPECT_OK(leat_runtime_get(&runtime));
  LEAT_EXPECT_OK(
      leat_cpu_device_create(LEAT_SV(TASK "CPU:0"), NULL, leat_allocator_system(), &cpu));
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(ops); ++i) {
    bool bias = ops[i].inputs == 0;
    leat_tensor_t inputs[] = {matrix(6, 6, 1), matrix(6, bias ? 0 : 6, 2)};
    int count = bias ? 2 : ops[i].inputs;
    leat_tensor_t expected = compute(runtime, cpu, ops[i].op, inputs, count);
    leat_tensor_t got = compute(runtime, device, ops[i].op, inputs, count);
    assert_true(leat_shape_equal(&expected.shape, &got.shape));
    assert_memory_equal(expected.data, got.data, leat_tensor_size_bytes(&expected));
    leat_tensor_release(&expected);
    leat_tensor_release(&got);
    leat_tensor_release(&inputs[0]);
    leat_tensor_release(&inputs[1]);
  }
  leat_device_release(cpu);
}

#define CHECK(name) \
  static void every_device_##name(void** state) { on_every_device(name); }
CHECK(identity)
CHECK(allocations)
CHECK(round_trips)
CHECK(a_target_of_another_shape)
CHECK(strings_stay_readable)
CHECK(many_threads)
CHECK(synchronize)
CHECK(kernels)

static void every_creation_is_another(void** state) {
  leat_device_t* devices[4];
  for (int i = 0; i < 4; ++i) {
    const leat_device_type_t* type = i % 2 ? &leat_cpu_device_type : &leat_simulated_device_type;
    const leat_device_request_t request = {
        .name = i % 2 ? LEAT_SV(TASK "CPU:0") : LEAT_SV(TASK "SIM:0"),
        .allocator = leat_allocator_system()};
    LEAT_EXPECT_OK(type->create(type, &request, &devices[i]));
    for (int k = 0; k < i; ++k) assert_true(devices[k]->incarnation != devices[i]->incarnation);
  }
  for (int i = 0; i < 4; ++i) leat_device_release(devices[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_device_identity),
      cmocka_unit_test(every_device_allocations),
      cmocka_unit_test(every_device_round_trips),
      cmocka_unit_test(every_device_a_target_of_another_shape),
      cmocka_unit_test(every_device_strings_stay_readable),
      cmocka_unit_test(every_device_many_threads),
      cmocka_unit_test(every_device_synchronize),
      cmocka_unit_test(every_device_kernels),
      cmocka_unit_test(every_creation_is_another),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
