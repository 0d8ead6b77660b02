// Constant folding runs single nodes while a graph is optimized, with no session and no step around
// them; the evaluator does that. It must give the value of the kernel, leave its inputs as they
// were even if the kernel may write in place, and keep the contract between node and kernel. A node
// without a kernel, a kernel that fails, and shapes that contradict each other end in the status
// that a step would have, because folding then simply leaves the node in the graph. Finally each
// allocation fails once.
#include "session/evaluate.h"

#include "base/fault.h"
#include "session/scene.h"

typedef struct fixture_s {
  scene_t s;
  leat_device_t* device;
  leat_evaluator_t evaluator;
} fixture_t;

static int set_up(void** state) {
  static fixture_t f;
  scene_open(&f.s);
  LEAT_EXPECT_OK(leat_cpu_device_create(LEAT_SV("/job:localhost/replica:0/task:0/device:CPU:0"),
                                        NULL, leat_allocator_system(), &f.device));
  leat_evaluator_initialize(f.s.runtime->kernels, f.device, leat_allocator_system(), &f.evaluator);
  *state = &f;
  return 0;
}

static int tear_down(void** state) {
  fixture_t* f = *state;
  leat_device_release(f->device);
  scene_close(&f->s);
  return 0;
}

static void values(void** state) {
  fixture_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_binary(&f->s, "Sub", -1, x, x);
  leat_tensor_t inputs[] = {scene_value(7), scene_value(4)}, got;
  LEAT_EXPECT_OK(leat_evaluator_run(&f->evaluator, f->s.graph, y.node, inputs, &got));
  assert_true(leat_tensor_data(&got, const float)[0] == 3);
  assert_true(leat_tensor_data(&inputs[0], const float)[0] == 7);
  for (int i = 0; i < 2; ++i) leat_tensor_release(&inputs[i]);
  leat_tensor_release(&got);
}

static void failures(void** state) {
  fixture_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t nowhere = scene_unary(&f->s, "ProbeNowhere", -1, x);
  leat_output_t fails = scene_fail(&f->s, LEAT_DATA_LOSS, -1, x);
  leat_output_t matrix = scene_binary(&f->s, "MatMul", -1, x, x);  // of two scalars
  leat_tensor_t inputs[] = {scene_value(7), scene_value(4)}, got[1];
  scene_expect(leat_evaluator_run(&f->evaluator, f->s.graph, nowhere.node, inputs, got),
               LEAT_NOT_FOUND, "ProbeNowhere");
  scene_expect(leat_evaluator_run(&f->evaluator, f->s.graph, fails.node, inputs, got),
               LEAT_DATA_LOSS, "the probe fails");
  scene_expect(leat_evaluator_run(&f->evaluator, f->s.graph, matrix.node, inputs, got),
               LEAT_INVALID_ARGUMENT, "MatMul");  // the contract holds here too
  for (int i = 0; i < 2; ++i) leat_tensor_release(&inputs[i]);
}

static void memory_may_end(void** state) {
  fixture_t* f = *state;
  leat_output_t x = scene_placeholder(&f->s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t y = scene_binary(&f->s, "Sub", -1, x, x);
  leat_tensor_t inputs[] = {scene_value(7), scene_value(4)};
  for (int64_t n = 1;; ++n) {
    leat_fault_t fault;
    leat_tensor_t got;
    leat_fault_install(&fault, LEAT_FAULT_ALLOCATION, n);
    leat_status_t status = leat_evaluator_run(&f->evaluator, f->s.graph, y.node, inputs, &got);
    bool met = leat_fault_remove(&fault);
    if (!status) leat_tensor_release(&got);
    if (!met) {
      LEAT_EXPECT_OK(status);
      break;
    }
    LEAT_EXPECT_CODE(LEAT_RESOURCE_EXHAUSTED, status);
  }
  for (int i = 0; i < 2; ++i) leat_tensor_release(&inputs[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(values),
      TEST(failures),
      TEST(memory_may_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
