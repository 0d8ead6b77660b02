// The plain loops are the reference of the vectorized ones, and the engine's last choice. Where an
// op and a type have both, a vectorized loop of every machine comes before the plain one, which
// therefore runs here only: over pairs of numbers in which quotients are exact, rounded, overflow
// or do not exist, both give the same bits and the same fault.
#include <string.h>

#include "base/test.h"
#include "ops/math/elementwise_loops_cpu.h"

#define SIDE 64
#define INT32 LEAT_LOOP_TYPE_INT32
static int32_t numbers[SIDE];

// Numbers around 0 and the ends of int32, and others of all sizes.
static void make_numbers(void) {
  static const int32_t kEdges[] = {0, 1, -1, 2, -2, 3, -3, 7, -7, 10, INT32_MAX, INT32_MAX - 1,
                                   INT32_MIN, INT32_MIN + 1, 1 << 30, -(1 << 30), 65536, 46341};
  uint32_t state = 1;
  for (int i = 0; i < SIDE; ++i) {
    state = state * 1664525u + 1013904223u;
    numbers[i] = (int32_t)state >> (i % 31);
  }
  memcpy(numbers, kEdges, sizeof kEdges);
}

// Runs both loops over all pairs with |divisors|, and compares.
static void compare_loops(leat_elementwise_loop_t vector, leat_elementwise_loop_t plain,
                          const int32_t* divisors, int count) {
  int32_t x[SIDE * SIDE], y[SIDE * SIDE], fast[SIDE * SIDE], slow[SIDE * SIDE];
  for (int i = 0; i < SIDE * count; ++i) x[i] = numbers[i / count], y[i] = divisors[i % count];
  const void* const inputs[] = {x, y};
  assert_int_equal(vector(inputs, fast, SIDE * count), plain(inputs, slow, SIDE * count));
  for (int i = 0; i < SIDE * count; ++i) {
    if (y[i] == 0) continue;  // a fault, whose result nobody sees
    if (fast[i] != slow[i]) print_message("x is %d, y is %d\n", x[i], y[i]);
    assert_int_equal(fast[i], slow[i]);
  }
}

static void plain_loops_are_the_reference(void** state) {
  int compared = 0;
  make_numbers();
  for (int op = 0; op < LEAT_BINARY_COUNT; ++op) {
    const leat_elementwise_loop_t plain = leat_binary_plain_loops[op][INT32];
    const leat_elementwise_loop_t vector =
        leat_binary_vector_loop((leat_binary_t)op, LEAT_DTYPE_INT32);
    if (!plain || !vector) continue;
    const leat_elementwise_loop_t base = leat_binary_loops_base.items[op][INT32];
    compare_loops(vector, plain, numbers + 1, SIDE - 1);  // without 0
    compare_loops(vector, plain, numbers, SIDE);
    compare_loops(base, plain, numbers, SIDE);
    ++compared;
  }
  assert_int_equal(compared, 5);  // DIV, TRUNCATE_DIV, FLOOR_DIV, MOD, FLOOR_MOD
}

// Every other type has one loop for an op at most, so that nothing else is out of reach.
static void no_other_loop_is_out_of_reach(void** state) {
  for (int op = 0; op < LEAT_BINARY_COUNT; ++op) {
    for (int type = 0; type < LEAT_LOOP_TYPE_COUNT; ++type) {
      if (type == INT32) continue;
      assert_true(!leat_binary_plain_loops[op][type] ||
                  !leat_binary_loops_base.items[op][type]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(plain_loops_are_the_reference),
      cmocka_unit_test(no_other_loop_is_out_of_reach),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
