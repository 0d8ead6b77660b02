// Passes over what crosses devices: Recvs that wait until they are needed (section 5.2), values
// that travel as 16 bits (section 5.5). The devices have counted memories of their own (memory.h),
// so that the effect of scheduling is seen as the peak of the receiver's memory, with the pass and
// without; what is compressed is seen in the bits of the values that arrive. Values that go to and
// fro and branches that are not taken show that nothing waits for ever. What the passes change in a
// graph is tested in src/optimize.
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/thread.h"
#include "session/memory.h"

enum { kRecvs = 50, kItems = 1 << 16 };
static const size_t kBytes = kItems * sizeof(float);

static void open_two(scene_t* s, uint32_t passes) {
  scene_open(s);
  memory_open(s);
  s->options.cpu_device_count = 2;
  s->options.intra_op_threads = 1;
  s->options.optimize = true;
  s->options.optimizer.passes = passes;
}

// |x| times 1, 2, ... in a vector of kItems on device 0.
static leat_output_t large(scene_t* s, leat_output_t x, int factor) {
  s->b.device = LEAT_SV("/device:CPU:0");
  const int32_t count = kItems;
  leat_output_t product = leat_build_binary(&s->b, "Mul", x, scene_float(s, (float)factor));
  leat_output_t y = leat_build_binary(&s->b, "Fill", leat_build_int32_vector(&s->b, &count, 1),
                                      product);
  s->b.device = LEAT_SV("");
  LEAT_EXPECT_OK(s->b.status);
  return y;
}

static leat_output_t sum(scene_t* s, int device, leat_output_t x) {
  return scene_binary(s, "Sum", device, x, leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0));
}

// ---- Recv scheduling ----------------------------------------------------------------------------

// How 50 large values from device 0 are used on device 1.
typedef leat_output_t (*use_fn_t)(scene_t* s, const leat_output_t* values);

// Nothing is used before |*least| bytes have come, and then no more come for a while; or a minute
// has passed.
enum { kGate = 1 };
static void open_gate(void* least) {
  size_t used = 0;
  for (int tries = 0, quiet = 0; tries < 1200 && quiet < 3; ++tries) {
    usleep(50000);
    size_t now = memory_used(1);
    quiet = now >= *(const size_t*)least && now == used ? quiet + 1 : 0;
    used = now;
  }
  probe_open(kGate);
}

// Each is needed when the one before has been used, and the first after a while.
static leat_output_t one_after_another(scene_t* s, const leat_output_t* values) {
  leat_output_t total = scene_wait(s, kGate, 1, scene_unary(s, "ZerosLike", 1, values[0]));
  for (int i = 0; i < kRecvs; ++i) total = scene_binary(s, "AddV2", 1, total, values[i]);
  return sum(s, 1, total);
}

// The last value is needed first.
static leat_output_t in_reverse(scene_t* s, const leat_output_t* values) {
  leat_output_t zeros = scene_unary(s, "ZerosLike", 1, values[kRecvs - 1]);
  leat_output_t total = scene_wait(s, kGate, 1, zeros);
  for (int i = kRecvs; i-- > 0;) total = scene_binary(s, "AddV2", 1, total, values[i]);
  return sum(s, 1, total);
}

static size_t peak_of(use_fn_t use, uint32_t passes) {
  scene_t s;
  open_two(&s, passes);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT), values[kRecvs];
  for (int i = 0; i < kRecvs; ++i) values[i] = large(&s, x, i);
  leat_output_t total = use(&s, values);
  leat_thread_t thread;
  size_t least = passes ? 1 : kRecvs * kBytes;
  LEAT_EXPECT_OK(leat_thread_start("gate", open_gate, &least, &thread));
  assert_true(scene_get_fed(&s, x, 2, total) == 2.0f * kItems * (kRecvs * (kRecvs - 1) / 2));
  leat_thread_join(thread);
  size_t peak = memory_peak(1);
  scene_close(&s);
  return peak;
}

static void fifty_recvs(void** state) {
  static const use_fn_t kUses[] = {one_after_another, in_reverse};
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kUses); ++i) {
    size_t before = peak_of(kUses[i], 0);
    size_t after = peak_of(kUses[i], LEAT_PASS_BIT_RECV_SCHEDULE);
    print_message("50 Recvs of %zu KiB: peak %zu KiB, scheduled %zu KiB\n", kBytes >> 10,
                  before >> 10, after >> 10);
    assert_true(before >= kRecvs * kBytes);
    assert_true(after <= 6 * kBytes);
  }
}

// Values go to and fro: an edge that looked at one device alone would close a cycle.
static void devices_wait_for_each_other(void** state) {
  for (int way = 0; way < 4; ++way) {
    scene_t s;
    open_two(&s, LEAT_PASS_BIT_RECV_SCHEDULE);
    s.options.intra_op_threads = way & 1 ? 4 : 1;
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT), y = x, z = x;
    float expected = 0;
    for (int i = 0; i < 40; ++i) {
      leat_output_t a = scene_binary(&s, "AddV2", i % 2, y, z);
      z = scene_binary(&s, "Maximum", way & 2 ? 1 : i % 3 == 0, z, y);
      y = scene_binary(&s, "Mul", !(i % 2), a, scene_float(&s, 0.5f));
    }
    for (int step = 0; step < 5; ++step) {
      expected = (float)step;
      assert_true(scene_get_fed(&s, x, expected, y) == expected);
    }
    scene_close(&s);
  }
}

// A value of the other device in one branch, and in a loop: nothing is delayed that may not come.
static void branches_are_left_alone(void** state) {
  scene_t s;
  open_two(&s, LEAT_PASS_BIT_RECV_SCHEDULE);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t zero = scene_float(&s, 0);
  leat_output_t p = scene_binary(&s, "Less", 0, x, zero);
  int32_t sw = scene_node(&s, "Switch", "sw", "/device:CPU:0", LEAT_INPUTS(x, p), LEAT_NO_ATTRS);
  leat_output_t a = scene_unary(&s, "Neg", 1, leat_node_output(sw, 1));
  leat_output_t b = scene_unary(&s, "Square", 1, leat_node_output(sw, 0)), c = b;
  for (int i = 0; i < 5; ++i) c = scene_unary(&s, "Abs", 1, c);
  leat_output_t m = scene_output(&s, "Merge", "m", "/device:CPU:1", LEAT_INPUTS(a, c),
                                 LEAT_NO_ATTRS);
  assert_true(scene_get_fed(&s, x, 3, m) == 9);
  assert_true(scene_get_fed(&s, x, -3, m) == 3);
  scene_close(&s);
}

// ---- Compression --------------------------------------------------------------------------------

static void floats_travel_as_16_bits(void** state) {
  const float kValues[] = {0, -0.0f, 1, 1.0f / 3, -3.14159265f, 3e38f, -2e-38f, 1.2e-38f, INFINITY,
                           -INFINITY, 123456.789f};
  for (int on = 0; on < 2; ++on) {
    scene_t s;
    open_two(&s, on ? LEAT_PASS_BIT_COMPRESS : 0);
    leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
    leat_output_t there = scene_unary(&s, "Identity", 1, large(&s, x, 1));
    for (size_t i = 0; i < LEAT_ARRAY_SIZE(kValues); ++i) {
      uint32_t sent, cut, got_bits;
      float got = scene_get_fed(&s, x, kValues[i], there);
      memcpy(&sent, &kValues[i], 4);
      memcpy(&got_bits, &got, 4);
      cut = on ? sent & 0xffff0000u : sent;
      assert_int_equal(got_bits, cut);
    }
    scene_close(&s);
  }
}

static size_t received_bytes(uint32_t passes) {
  scene_t s;
  open_two(&s, passes);
  leat_output_t x = scene_placeholder(&s, "x", LEAT_DTYPE_FLOAT);
  leat_output_t there = sum(&s, 1, large(&s, x, 1));
  assert_true(scene_get_fed(&s, x, 1, there) == kItems);
  size_t peak = memory_peak(0);  // what the sender keeps until it is fetched
  scene_close(&s);
  return peak;
}

static void what_is_not_compressed(void** state) {
  scene_t s;
  open_two(&s, LEAT_PASS_BIT_COMPRESS);
  // Small values, other types, control edges.
  leat_output_t x = scene_output(&s, "Placeholder", "x", "", LEAT_NO_INPUTS,
                                 LEAT_ATTRS(LEAT_TYPE("dtype", LEAT_DTYPE_FLOAT),
                                            LEAT_SHAPE("shape", leat_partial_shape_scalar())));
  leat_output_t third = scene_unary(&s, "Identity", 1, scene_unary(&s, "Exp", 0, x));
  assert_true(scene_get_fed(&s, x, 1, third) == expf(1));
  leat_output_t wide = scene_output(&s, "Cast", "", "/device:CPU:0", LEAT_INPUTS(large(&s, x, 1)),
                                    LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_DOUBLE)));
  leat_output_t back = scene_output(&s, "Cast", "", "/device:CPU:1", LEAT_INPUTS(wide),
                                    LEAT_ATTRS(LEAT_TYPE("DstT", LEAT_DTYPE_FLOAT)));
  assert_true(scene_get_fed(&s, x, 1.0f / 3, back) == 1.0f / 3);
  scene_after(&s, back.node, scene_mark(&s, 1, 0));
  assert_true(scene_get_fed(&s, x, 1.0f / 3, scene_unary(&s, "Neg", 1, back)) == -1.0f / 3);
  assert_int_equal(probe_count(1), 1);
  scene_close(&s);
  assert_true(received_bytes(LEAT_PASS_BIT_COMPRESS | LEAT_PASS_BIT_RECV_SCHEDULE) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fifty_recvs),
      cmocka_unit_test(devices_wait_for_each_other),
      cmocka_unit_test(branches_are_left_alone),
      cmocka_unit_test(floats_travel_as_16_bits),
      cmocka_unit_test(what_is_not_compressed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
