// The cache of convolution plans and the packed filters that it holds. The convolution runs over an
// image of ones, so every result is the sum of the filter's weights for its channel, and a stale
// filter shows at once as a wrong number. Whether a filter is packed and held is decided by what
// was seen before: a filter that stays the same is held at its third run, one that changes in
// training hardly ever, and memory that can be written in spite of references never. Three threads
// run steps while the variable is replaced; a hook on the second allocation of a run lets another
// run come in between or lets memory run out. The test needs oneDNN, whose layouts are why filters
// are packed at all, and is skipped without it.
#include <string.h>

#include "base/test.h"
#include "base/observer.h"
#include "base/thread.h"
#include "device/cpu/module.h"
#include "kernel/resource.h"
#include "ops/nn/conv2d_cpu.h"

enum { kChannels = 16, kTaps = 9 * kChannels, kWeights = kTaps * kChannels, kSize = 6 };

static void need_onednn(void) {
#ifdef LEAT_HAVE_ONEDNN
  assert_non_null(leat_cpu_onednn());
#else
  if (!leat_cpu_onednn()) skip();
#endif
}

static leat_tensor_t make_filter(float weight) {
  const int64_t dims[] = {3, 3, kChannels, kChannels};
  leat_shape_t shape;
  leat_tensor_t filter;
  LEAT_EXPECT_OK(leat_shape_create(4, dims, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &filter));
  leat_shape_release(&shape);
  for (int i = 0; i < kWeights; ++i) leat_tensor_data(&filter, float)[i] = weight;
  return filter;
}

static leat_convolution_shape_t shape_of(int64_t batch) {
  return (leat_convolution_shape_t){.batch = batch,
                                    .in_height = kSize,
                                    .in_width = kSize,
                                    .in_channels = kChannels,
                                    .filter_height = 3,
                                    .filter_width = 3,
                                    .out_height = kSize - 2,
                                    .out_width = kSize - 2,
                                    .out_channels = kChannels,
                                    .stride_height = 1,
                                    .stride_width = 1,
                                    .dilation_height = 1,
                                    .dilation_width = 1,
                                    .groups = 1};
}

// Runs the convolution of |batch| images. Returns the one value that all results have; -1 where
// they differ or the run fails.
static float run_batch(leat_convolution_cache_t* cache, const leat_tensor_t* filter,
                       int64_t batch) {
  leat_step_services_t services = {.memory = leat_buffer_source_host()};
  leat_kernel_context_t context = {.services = &services};
  const leat_convolution_shape_t shape = shape_of(batch);
  enum { kMost = 8 * kSize * kSize * kChannels };
  LEAT_ALIGNED(64) float ones[kMost], result[kMost];
  for (int i = 0; i < kMost; ++i) ones[i] = 1;
  leat_convolution_run_t run = {.direction = LEAT_CONVOLUTION_FORWARD, .shape = &shape,
                                .dtype = LEAT_DTYPE_FLOAT, .first = ones, .second = filter->data,
                                .filter = filter, .result = result};
  leat_status_t status = leat_convolution_cache_run(cache, &context, &run);
  const bool failed = status != leat_ok_status();
  leat_status_free(status);
  if (failed) return -1;
  const int64_t count = leat_convolution_output_count(&shape);
  for (int64_t i = 1; i < count; ++i) {
    if (result[i] != result[0]) return -1;
  }
  return result[0];
}

static float run(leat_convolution_cache_t* cache, const leat_tensor_t* filter) {
  return run_batch(cache, filter, 1);
}

static void expect(leat_convolution_cache_t* cache, const leat_tensor_t* filter, float weight,
                   int held) {
  const float seen = run(cache, filter);
  if (seen != kTaps * weight) fail_msg("%g, must be %g", (double)seen, (double)(kTaps * weight));
  assert_int_equal(leat_convolution_cache_held(cache), held);
  assert_true(leat_buffer_is_exclusive(filter->buffer) == !held);
}

// Writing the buffer of a held filter is against the rules; here it shows that nobody reads it.
static void an_unchanged_filter_is_packed_once(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_tensor_t filter = make_filter(2);
  expect(&cache, &filter, 2, 0);
  expect(&cache, &filter, 2, 0);
  expect(&cache, &filter, 2, 1);
  memset(filter.data, 0xff, kWeights * sizeof(float));
  for (int i = 0; i < 5; ++i) expect(&cache, &filter, 2, 1);
  leat_convolution_cache_clear(&cache);
  assert_true(leat_buffer_is_exclusive(filter.buffer));
  leat_tensor_release(&filter);
}

static void a_replaced_filter_is_let_go(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_tensor_t first = make_filter(2), second = make_filter(3);
  for (int i = 0; i < 3; ++i) expect(&cache, &first, 2, i == 2);
  // It served one run: the next is held after twice as many.
  for (int i = 0; i < 5; ++i) expect(&cache, &second, 3, i == 4);
  assert_true(leat_buffer_is_exclusive(first.buffer));
  // This one serves many: the next is held as soon as at first.
  for (int i = 0; i < 20; ++i) expect(&cache, &second, 3, 1);
  for (int i = 0; i < 3; ++i) expect(&cache, &first, 2, i == 2);
  assert_true(leat_buffer_is_exclusive(second.buffer));
  leat_convolution_cache_clear(&cache);
  leat_tensor_release(&first);
  leat_tensor_release(&second);
}

// An optimizer that updates in place where it may, and otherwise a copy.
static void a_filter_in_training_is_rarely_held(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_cell_t* cell;
  LEAT_EXPECT_OK(leat_cell_create(leat_string_view_from("filter"), NULL, &cell));
  leat_cell_set(cell, make_filter(0));
  int held = 0;
  for (int step = 0; step < 1000; ++step) {
    leat_tensor_t value;
    assert_true(leat_cell_read(cell, &value));
    assert_true(run(&cache, &value) == (float)(kTaps * step));
    leat_tensor_release(&value);
    const leat_buffer_t* before = cell->tensor.buffer;
    LEAT_EXPECT_OK(leat_cell_make_exclusive(cell, leat_buffer_source_host()));
    held += cell->tensor.buffer != before;
    for (int i = 0; i < kWeights; ++i) leat_tensor_data(&cell->tensor, float)[i] += 1;
  }
  assert_int_equal(held, 8);
  leat_convolution_cache_clear(&cache);
  leat_cell_release(cell);
}

// Memory that is written in spite of references, and filters without a name to know them by.
static void what_may_change_is_never_held(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_tensor_t filter = make_filter(2);
  filter.buffer->planned = true;
  for (int i = 0; i < 10; ++i) expect(&cache, &filter, 2, 0);
  filter.buffer->planned = false;
  leat_buffer_mark_lent(filter.buffer);
  for (int i = 0; i < 10; ++i) expect(&cache, &filter, 2, 0);
  leat_tensor_release(&filter);
  // A filter that is lent later is let go.
  filter = make_filter(3);
  for (int i = 0; i < 3; ++i) expect(&cache, &filter, 3, i == 2);
  leat_buffer_mark_lent(filter.buffer);
  for (int i = 0; i < 10; ++i) expect(&cache, &filter, 3, 0);
  leat_convolution_cache_clear(&cache);
  leat_tensor_release(&filter);
}

// Two filters in one buffer are two filters.
static void parts_of_a_buffer_differ(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_buffer_t* buffer;
  LEAT_EXPECT_OK(leat_buffer_allocate(leat_buffer_source_host(), 2 * kWeights * sizeof(float),
                                      &buffer));
  leat_tensor_t whole = make_filter(0), parts[2];
  for (int p = 0; p < 2; ++p) {
    LEAT_EXPECT_OK(leat_tensor_of_buffer(buffer, LEAT_DTYPE_FLOAT, &whole.shape, &parts[p]));
    parts[p].data = (float*)buffer->data + p * kWeights;
    for (int i = 0; i < kWeights; ++i) leat_tensor_data(&parts[p], float)[i] = (float)(p + 1);
  }
  for (int i = 0; i < 40; ++i) {
    assert_true(run(&cache, &parts[i / 5 % 2]) == (float)(kTaps * (i / 5 % 2 + 1)));
  }
  leat_convolution_cache_clear(&cache);
  for (int p = 0; p < 2; ++p) leat_tensor_release(&parts[p]);
  assert_true(leat_buffer_is_exclusive(buffer));
  leat_buffer_release(buffer);
  leat_tensor_release(&whole);
}

static void few_shapes_hold_their_filter(void** state) {
  (void)state;
  need_onednn();
  leat_convolution_cache_t cache = {0};
  leat_tensor_t filter = make_filter(2);
  for (int batch = 1; batch <= 8; ++batch) {
    for (int i = 0; i < 4; ++i) {
      assert_true(run_batch(&cache, &filter, batch) == kTaps * 2);
    }
    assert_int_equal(leat_convolution_cache_held(&cache), batch < 4 ? batch : 4);
  }
  for (int batch = 1; batch <= 8; ++batch) {
    assert_true(run_batch(&cache, &filter, batch) == kTaps * 2);
  }
  leat_convolution_cache_clear(&cache);
  assert_true(leat_buffer_is_exclusive(filter.buffer));
  leat_tensor_release(&filter);
}

// Steps that run at once, each with the value that the variable had when the step read it, while
// the variable is replaced now and then.
typedef struct steps_s {
  leat_convolution_cache_t cache;
  leat_cell_t* cell;
  _Atomic(int) wrong;
  _Atomic(int) running;
} steps_t;

static void run_steps(void* data) {
  steps_t* s = data;
  for (int i = 0; i < 400; ++i) {
    leat_tensor_t value;
    if (!leat_cell_read(s->cell, &value)) continue;
    const float weight = leat_tensor_data(&value, float)[0];
    if (run(&s->cache, &value) != kTaps * weight) ++s->wrong;
    leat_tensor_release(&value);
  }
  --s->running;
}

static void steps_may_run_at_once(void** state) {
  (void)state;
  need_onednn();
  steps_t s = {.running = 3};
  leat_thread_t threads[3];
  LEAT_EXPECT_OK(leat_cell_create(leat_string_view_from("filter"), NULL, &s.cell));
  leat_cell_set(s.cell, make_filter(1));
  for (int i = 0; i < 3; ++i) {
    LEAT_EXPECT_OK(leat_thread_start("step", run_steps, &s, &threads[i]));
  }
  for (int weight = 2; s.running > 0; ++weight) {
    leat_tensor_t next = make_filter((float)(weight % 1000));
    leat_mutex_lock(&s.cell->mutex);
    leat_cell_set(s.cell, next);
    leat_mutex_unlock(&s.cell->mutex);
    for (int i = 0; i < 5000 && s.running > 0; ++i) leat_cpu_relax();
  }
  for (int i = 0; i < 3; ++i) leat_thread_join(threads[i]);
  assert_int_equal(s.wrong, 0);
  leat_convolution_cache_clear(&s.cache);
  assert_true(leat_buffer_is_exclusive(s.cell->tensor.buffer));
  leat_cell_release(s.cell);
}

// ---- While a filter is packed -------------------------------------------------------------------

// A run allocates its workspace and then the packed filter. At that second allocation of the run
// that is to pack, the hook lets another thread's run begin and end, or has memory run out.
typedef struct moment_s {
  leat_convolution_cache_t* cache;
  const leat_tensor_t* other;  // the other run's filter; NULL: memory runs out instead
  _Atomic(int) allocations;
  _Atomic(bool) comes, has_ended;
  float seen;
} moment_t;

static void run_other(void* data) {
  moment_t* m = data;
  while (!m->comes) leat_cpu_relax();
  m->seen = run(m->cache, m->other);
  m->has_ended = true;
}

static leat_status_t on_allocation(void* data, size_t size_bytes) {
  moment_t* m = data;
  (void)size_bytes;
  if (++m->allocations != 2) return leat_ok_status();
  if (!m->other) return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "no memory");
  m->comes = true;
  while (!m->has_ended) leat_cpu_relax();
  return leat_ok_status();
}

// The third run with |filter| is the one that packs it. What happens in that moment must spoil
// neither its result nor that of |other|, nor the eight convolutions after it.
static void check_moment(const leat_tensor_t* filter, const leat_tensor_t* other, float weight) {
  leat_convolution_cache_t cache = {0};
  moment_t moment = {.cache = &cache, .other = other};
  const leat_observer_t observer = {.data = &moment, .on_allocation = on_allocation};
  leat_thread_t thread;
  for (int i = 0; i < 2; ++i) expect(&cache, filter, 2, 0);
  if (other) LEAT_EXPECT_OK(leat_thread_start("other", run_other, &moment, &thread));
  leat_observer_install(&observer);
  const float seen = run(&cache, filter);
  leat_observer_install(NULL);
  if (other) leat_thread_join(thread);
  assert_true(moment.allocations >= 2);
  assert_true(seen == kTaps * 2);
  if (other) assert_true(moment.seen == kTaps * weight);
  assert_int_equal(leat_convolution_cache_held(&cache), other == filter);
  for (int i = 0; i < 8; ++i) {
    assert_true(run(&cache, filter) == kTaps * 2);
    if (other && i == 4) assert_true(run(&cache, other) == kTaps * weight);
  }
  leat_convolution_cache_clear(&cache);
  assert_true(leat_buffer_is_exclusive(filter->buffer));
  if (other) assert_true(leat_buffer_is_exclusive(other->buffer));
}

static void another_run_may_come_while_a_filter_is_packed(void** state) {
  (void)state;
  need_onednn();
  leat_tensor_t filter = make_filter(2), other = make_filter(3);
  check_moment(&filter, &filter, 2);
  check_moment(&filter, &other, 3);
  check_moment(&filter, NULL, 0);
  leat_tensor_release(&filter);
  leat_tensor_release(&other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_unchanged_filter_is_packed_once),
      cmocka_unit_test(a_replaced_filter_is_let_go),
      cmocka_unit_test(a_filter_in_training_is_rarely_held),
      cmocka_unit_test(what_may_change_is_never_held),
      cmocka_unit_test(parts_of_a_buffer_differ),
      cmocka_unit_test(few_shapes_hold_their_filter),
      cmocka_unit_test(steps_may_run_at_once),
      cmocka_unit_test(another_run_may_come_while_a_filter_is_packed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
