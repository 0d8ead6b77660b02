// Clocks whose offset and drift are known: exchanges with them are made from seeds, with ways of
// random lengths there and back, and the fit must find the relation to within what the quickest
// exchanges allow. No real clock takes part, so every run has the same numbers. A way takes 50 to
// 54 microseconds, and one in five is held up by as much as 2 milliseconds. The midpoint of an
// exchange that was not held up is off by 2 microseconds at most, and the fit may err by twice as
// much, at any time of a recording of 20 seconds. A fit that trusts slow exchanges, has the wrong
// sign of a drift, or loses digits of offsets of hours exceeds that. Clocks without a drift must be
// given none, whether the recording is too short or its exchanges are noisy.
#include "trace/clock_fit.h"

#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

#define BATCH 8
#define BATCHES 100
#define LEAST_NS 50000  // of a way

static int64_t random_below(leat_philox_t* random, uint32_t limit) {
  uint32_t words[4];
  leat_philox_next(random, words);
  return words[0] % limit;
}

// A way's length: mostly short, and one in five is held up.
static int64_t way(leat_philox_t* random) {
  const int64_t held_up = random_below(random, 5) ? 0 : random_below(random, 2000000);
  return LEAST_NS + random_below(random, 4000) + held_up;
}

// What a clock shows at |ns| of ours that was |offset_ns| ahead at 0 and gains |drift|.
static int64_t shown(int64_t ns, int64_t offset_ns, double drift) {
  return ns + offset_ns + (int64_t)(drift * (double)ns);
}

static size_t make(uint64_t seed, int64_t offset_ns, double drift, int64_t every_ns,
                   leat_clock_exchange_t* exchanges) {
  leat_philox_t random = leat_philox_make(seed, 5);
  int64_t now = INT64_C(7000000000);
  for (size_t i = 0; i < BATCH * BATCHES; ++i) {
    if (i % BATCH == 0) now += every_ns;
    const int64_t read = now + way(&random);
    exchanges[i] =
        (leat_clock_exchange_t){now, read + way(&random), shown(read, offset_ns, drift)};
    now = exchanges[i].received_ns + 1000;
  }
  return BATCH * BATCHES;
}

// By how much the relation is off at |ns| of our clock.
static int64_t error_at(const leat_clock_relation_t* relation, int64_t ns, int64_t offset_ns,
                        double drift) {
  return llabs(leat_clock_relation_apply(relation, shown(ns, offset_ns, drift)) - ns);
}

static void offset_and_drift_are_found(void** state) {
  static leat_clock_exchange_t exchanges[BATCH * BATCHES];
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const int64_t offset_ns = ((int64_t)seed - 10) * INT64_C(3600000000000) + 12345;
    const double drift = ((double)seed - 10) * 5e-6;  // up to 50 millionths
    const size_t count = make(seed, offset_ns, drift, INT64_C(200000000), exchanges);
    const leat_clock_relation_t relation = leat_clock_fit(exchanges, count, BATCH);
    for (int64_t ns = INT64_C(7000000000); ns < INT64_C(27000000000); ns += 500000000) {
      assert_true(error_at(&relation, ns, offset_ns, drift) < 4000);
    }
    assert_true(relation.residual_ns >= LEAST_NS);
    assert_true(relation.residual_ns < 10 * LEAST_NS);
    assert_true(drift == 0 || (relation.drift > 0) == (drift > 0));
  }
}

// Within less than a second noise would pass for a drift.
static void a_short_recording_has_no_drift(void** state) {
  static leat_clock_exchange_t exchanges[BATCH * BATCHES];
  make(3, 1000000, 0, 1000, exchanges);
  const leat_clock_relation_t relation = leat_clock_fit(exchanges, 3 * BATCH, BATCH);
  assert_true(relation.drift == 0);
  assert_true(error_at(&relation, INT64_C(7001000000), 1000000, 0) < LEAST_NS);
}

// Nor is a drift made of what held the exchanges up.
static void noise_is_no_drift(void** state) {
  static leat_clock_exchange_t exchanges[BATCH * BATCHES];
  for (uint64_t seed = 0; seed < 20; ++seed) {
    make(seed, -5000, 0, INT64_C(200000000), exchanges);
    const leat_clock_relation_t relation = leat_clock_fit(exchanges, 10 * BATCH, BATCH);
    assert_true(relation.drift == 0);
  }
}

static void no_exchange_is_no_difference(void** state) {
  const leat_clock_relation_t relation = leat_clock_fit(NULL, 0, BATCH);
  assert_int_equal(leat_clock_relation_apply(&relation, 123456789), 123456789);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(offset_and_drift_are_found),
      cmocka_unit_test(a_short_recording_has_no_drift),
      cmocka_unit_test(noise_is_no_drift),
      cmocka_unit_test(no_exchange_is_no_difference),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
