// Queues between steps: who waits always hears in the end, be it of a partner, a closing, a
// timeout, another node's failure, or the session's end. Each test runs one step in a thread of its
// own, gives it a moment to begin waiting, and then does from another step what should end the
// wait. Two long chains show that completions which trigger each other do not use up the stack.
// Queues as a client uses them, with runners and a coordinator, are tested in tests/client.
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/thread.h"
#include "session/scene.h"

// ---- Nodes --------------------------------------------------------------------------------------

static leat_output_t make_queue(scene_t* s, const char* name, int64_t capacity) {
  static const int32_t kTypes[] = {LEAT_DTYPE_FLOAT};
  static const leat_partial_shape_t kShapes[] = {{0, NULL}};
  const leat_attr_t attrs[] = {
      LEAT_INT("capacity", capacity),
      {LEAT_SV("component_types"),
       {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kTypes}},
      {LEAT_SV("shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 1, .shapes = kShapes}}};
  return scene_output(s, "FIFOQueueV2", name, "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 3});
}

static int32_t make_enqueue(scene_t* s, const char* op, leat_output_t queue, leat_output_t x) {
  return scene_node(s, op, "", "", LEAT_INPUTS(queue, x), LEAT_NO_ATTRS);
}

static const int32_t kOneFloat[] = {LEAT_DTYPE_FLOAT};
static const leat_attr_t kDequeueAttr = {
    {"component_types", 15},
    {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 1, .types = kOneFloat}};

static leat_output_t make_dequeue(scene_t* s, leat_output_t queue) {
  return scene_output(s, "QueueDequeueV2", "", "", LEAT_INPUTS(queue),
                      (leat_attrs_t){&kDequeueAttr, 1});
}

static leat_output_t make_dequeue_many(scene_t* s, const char* op, leat_output_t queue, int count) {
  leat_output_t n = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, count);
  return scene_output(s, op, "", "", LEAT_INPUTS(queue, n), (leat_attrs_t){&kDequeueAttr, 1});
}

static int32_t make_close(scene_t* s, leat_output_t queue, bool cancel) {
  return scene_node(s, "QueueCloseV2", "", "", LEAT_INPUTS(queue),
                    LEAT_ATTRS(LEAT_BOOL("cancel_pending_enqueues", cancel)));
}

// ---- A step of its own thread -------------------------------------------------------------------

typedef struct step_s {
  scene_t* scene;
  leat_output_t fetch;  // or
  int32_t target;
  int64_t timeout_ms;
  leat_tensor_t value;
  leat_status_t status;
  leat_thread_t thread;
  _Atomic(bool) ended;
} step_t;

static void run_step(void* data) {
  step_t* step = data;
  bool fetches = leat_output_exists(step->fetch);
  leat_run_t run = {.fetches = &step->fetch,
                    .fetch_values = &step->value,
                    .fetch_count = fetches,
                    .targets = &step->target,
                    .target_count = !fetches,
                    .timeout_ms = step->timeout_ms};
  step->status = leat_session_run(scene_session(step->scene), &run);
  step->ended = true;
}

static void start_step(step_t* step) {
  scene_session(step->scene);
  LEAT_EXPECT_OK(leat_thread_start("step", run_step, step, &step->thread));
}

static void sleep_ms(int ms) { leat_clock_sleep_ns((int64_t)ms * 1000000); }

// ---- Cases --------------------------------------------------------------------------------------

static void batches_may_exceed_the_capacity(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t queue = make_queue(&s, "q", 2);
  leat_output_t batch = make_dequeue_many(&s, "QueueDequeueManyV2", queue, 6);
  int32_t put = make_enqueue(&s, "QueueEnqueueManyV2", queue,
                             scene_floats(&s, 6, (const float[]){1, 2, 3, 4, 5, 6}));
  step_t step = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = put};
  start_step(&step);
  sleep_ms(20);
  assert_false(step.ended);
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(&s, batch, &got));
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  for (int i = 0; i < 6; ++i) assert_true(leat_tensor_data(&got, const float)[i] == i + 1);
  leat_tensor_release(&got);
  scene_close(&s);
}

static void a_timeout_ends_the_wait_and_keeps_the_elements(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t queue = make_queue(&s, "q", -1);
  leat_output_t two = make_dequeue_many(&s, "QueueDequeueManyV2", queue, 2);
  leat_output_t one = make_dequeue(&s, queue);
  int32_t put = make_enqueue(&s, "QueueEnqueueV2", queue, scene_float(&s, 7));
  LEAT_EXPECT_OK(scene_target(&s, put));
  step_t step = {.scene = &s, .fetch = two, .timeout_ms = 30};
  start_step(&step);
  leat_thread_join(step.thread);
  scene_expect(step.status, LEAT_DEADLINE_EXCEEDED, "timeout");
  assert_true(scene_get(&s, one) == 7);  // the first of two had been taken and came back
  scene_close(&s);
}

// Three elements that a step for five had taken lie in the queue as they did before, whether the
// step ran out of time or the queue was closed under it.
static void elements_come_back_in_order(void** state) {
  for (int is_closed = 0; is_closed < 2; ++is_closed) {
    scene_t s;
    scene_open(&s);
    leat_output_t queue = make_queue(&s, "q", -1);
    leat_output_t five = make_dequeue_many(&s, "QueueDequeueManyV2", queue, 5);
    leat_output_t one = make_dequeue(&s, queue);
    int32_t put = make_enqueue(&s, "QueueEnqueueManyV2", queue,
                               scene_floats(&s, 3, (const float[]){1, 2, 3}));
    int32_t end = make_close(&s, queue, false);
    LEAT_EXPECT_OK(scene_target(&s, put));
    step_t step = {.scene = &s, .fetch = five, .timeout_ms = is_closed ? 0 : 30};
    start_step(&step);
    if (is_closed) {
      sleep_ms(20);
      LEAT_EXPECT_OK(scene_target(&s, end));
    }
    leat_thread_join(step.thread);
    scene_expect(step.status, is_closed ? LEAT_OUT_OF_RANGE : LEAT_DEADLINE_EXCEEDED,
                 is_closed ? "insufficient elements" : "timeout");
    for (int i = 1; i <= 3; ++i) assert_true(scene_get(&s, one) == (float)i);
    scene_close(&s);
  }
}

static void closing_the_session_ends_every_wait(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t queue = make_queue(&s, "q", 1);
  leat_output_t take = make_dequeue(&s, queue);
  leat_output_t other = make_queue(&s, "full", 0);
  int32_t put = make_enqueue(&s, "QueueEnqueueV2", other, scene_float(&s, 1));
  step_t taking = {.scene = &s, .fetch = take};
  step_t putting = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = put};
  start_step(&taking);
  start_step(&putting);
  sleep_ms(20);
  LEAT_EXPECT_OK(leat_session_close(s.session));
  leat_thread_join(taking.thread);
  leat_thread_join(putting.thread);
  scene_expect(taking.status, LEAT_CANCELLED, "closed");
  scene_expect(putting.status, LEAT_CANCELLED, "closed");
  scene_close(&s);
}

static void another_node_s_failure_ends_the_wait(void** state) {
  scene_t s;
  scene_open(&s);
  s.options.cpu_device_count = 2;
  leat_output_t queue = make_queue(&s, "q", 1);
  leat_output_t take = make_dequeue(&s, queue);
  leat_output_t bad = scene_fail(&s, LEAT_DATA_LOSS, 1, scene_float(&s, 1));
  leat_output_t sum = scene_binary(&s, "AddV2", 0, take, bad);
  leat_tensor_t got;
  scene_expect(scene_fetch(&s, sum, &got), LEAT_DATA_LOSS, "ProbeFail");
  leat_output_t near = scene_fail(&s, LEAT_DATA_LOSS, 0, scene_wait(&s, 1, 0, scene_float(&s, 1)));
  leat_output_t late = scene_binary(&s, "AddV2", 0, take, near);
  step_t step = {.scene = &s, .fetch = late};
  start_step(&step);
  while (!probe_waiting(1)) sleep_ms(1);
  probe_open(1);
  leat_thread_join(step.thread);
  scene_expect(step.status, LEAT_DATA_LOSS, "ProbeFail");
  scene_close(&s);
}

// A full queue is closed |pause_ms| after a step began that has an element for it. Returns whether
// that one waited by then: a closed queue takes what waits for room, and nothing later.
static bool close_after(int pause_ms) {
  scene_t s;
  scene_open(&s);
  leat_output_t queue = make_queue(&s, "q", 1), take = make_dequeue(&s, queue);
  leat_output_t up_to = make_dequeue_many(&s, "QueueDequeueUpToV2", queue, 3);
  int32_t put = make_enqueue(&s, "QueueEnqueueV2", queue, scene_float(&s, 1));
  int32_t close = make_close(&s, queue, false);
  LEAT_EXPECT_OK(scene_target(&s, put));
  step_t putting = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = put};
  start_step(&putting);
  sleep_ms(pause_ms);
  step_t closing = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = close};
  start_step(&closing);  // waits for those before it
  sleep_ms(20);
  const bool ended_early = closing.ended;
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(&s, up_to, &got));
  const int64_t count = got.shape.element_count;
  leat_tensor_release(&got);
  leat_thread_join(putting.thread);
  leat_thread_join(closing.thread);
  LEAT_EXPECT_OK(closing.status);
  const bool has_waited = !putting.status;
  if (has_waited) {
    assert_false(ended_early);
    assert_int_equal(count, 2);
  } else {
    scene_expect(putting.status, LEAT_CANCELLED, "is closed");
    assert_int_equal(count, 1);
  }
  scene_expect(scene_target(&s, put), LEAT_CANCELLED, "is closed");
  scene_expect(scene_fetch(&s, take, &got), LEAT_OUT_OF_RANGE, "insufficient elements");
  scene_expect(scene_target(&s, close), LEAT_CANCELLED, "already closed");
  scene_close(&s);
  return has_waited;
}

// On a busy machine the step may need more time to begin.
static void closing_the_queue(void** state) {
  int pause_ms = 20;
  while (!close_after(pause_ms)) {
    pause_ms *= 4;
    assert_true(pause_ms < 60000);
  }
}

// Each completion runs the rest of a step, which completes the next: the stack must not grow.
static void a_long_chain_of_steps(void** state) {
  enum { kLinks = 400 };
  scene_t s;
  scene_open(&s);
  s.options.intra_op_threads = 2;
  leat_output_t queues[kLinks + 1];
  for (int i = 0; i <= kLinks; ++i) {
    char name[24];
    snprintf(name, sizeof name, "q%d", i);
    queues[i] = make_queue(&s, name, -1);
  }
  static step_t steps[kLinks];
  for (int i = 0; i < kLinks; ++i) {
    leat_output_t taken = make_dequeue(&s, queues[i]);
    steps[i] = (step_t){.scene = &s,
                        .fetch = LEAT_OUTPUT_NONE,
                        .target = make_enqueue(&s, "QueueEnqueueV2", queues[i + 1], taken)};
  }
  leat_output_t last = make_dequeue(&s, queues[kLinks]);
  int32_t first = make_enqueue(&s, "QueueEnqueueV2", queues[0], scene_float(&s, 3));
  for (int i = 0; i < kLinks; ++i) start_step(&steps[i]);
  LEAT_EXPECT_OK(scene_target(&s, first));
  assert_true(scene_get(&s, last) == 3);
  for (int i = 0; i < kLinks; ++i) {
    leat_thread_join(steps[i].thread);
    LEAT_EXPECT_OK(steps[i].status);
  }
  scene_close(&s);
}

// Who ends the wait of another step is not held up by what is left of it, also when that one's
// thread has long been parked.
static void the_rest_of_a_step_runs_where_it_is_waited_for(void** state) {
  for (int parked = 0; parked < 2; ++parked) {
    scene_t s;
    scene_open(&s);
    probe_reset();
    leat_output_t queue = make_queue(&s, "q", 1);
    step_t step = {.scene = &s, .fetch = scene_pass(&s, 1, -1, make_dequeue(&s, queue))};
    int32_t put = make_enqueue(&s, "QueueEnqueueV2", queue, scene_float(&s, 3));
    start_step(&step);
    sleep_ms(parked ? 20 : 0);
    LEAT_EXPECT_OK(scene_target(&s, put));
    leat_thread_join(step.thread);
    LEAT_EXPECT_OK(step.status);
    assert_true(leat_tensor_data(&step.value, const float)[0] == 3);
    leat_tensor_release(&step.value);
    assert_int_equal(probe_count(1), 1);
    assert_false(probe_ran_here(1));
    scene_close(&s);
  }
}

// Thousands of asynchronous kernels one after another in a step.
static void a_long_chain_in_a_step(void** state) {
  enum { kLinks = 20000 };
  scene_t s;
  scene_open(&s);
  leat_output_t queue = make_queue(&s, "q", -1), one = scene_float(&s, 1);
  int32_t before = -1;
  for (int i = 0; i < kLinks; ++i) {
    int32_t put = make_enqueue(&s, "QueueEnqueueV2", queue, one);
    if (before >= 0) scene_after(&s, put, before);
    before = put;
  }
  LEAT_EXPECT_OK(scene_target(&s, before));
  leat_tensor_t got;
  leat_output_t all = make_dequeue_many(&s, "QueueDequeueManyV2", queue, kLinks);
  LEAT_EXPECT_OK(scene_fetch(&s, all, &got));
  leat_tensor_release(&got);
  scene_close(&s);
}

// ---- Barriers -----------------------------------------------------------------------------------

static int32_t insert(scene_t* s, leat_output_t barrier, int component, leat_output_t keys,
                      leat_output_t values) {
  return scene_node(s, "BarrierInsertMany", "", "", LEAT_INPUTS(barrier, keys, values),
                    LEAT_ATTRS(LEAT_INT("component_index", component)));
}

static leat_output_t make_key(scene_t* s, const char* key) {
  leat_tensor_t scalar;
  LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(key), &scalar));
  leat_output_t output = leat_build_constant(&s->b, &scalar);
  leat_tensor_release(&scalar);
  return output;
}

static leat_output_t make_rows(scene_t* s, int64_t rows, int64_t columns) {
  return scene_output(s, "Fill", "", "",
                      LEAT_INPUTS(leat_build_int32_vector(
                                      &s->b, (const int32_t[]){(int32_t)rows, (int32_t)columns}, 2),
                                  scene_float(s, 1)),
                      LEAT_NO_ATTRS);
}

static const int32_t kPairTypes[] = {LEAT_DTYPE_FLOAT, LEAT_DTYPE_FLOAT};
static const leat_attr_t kPairAttr = {
    {"component_types", 15},
    {.kind = LEAT_ATTR_TYPE, .is_list = true, .count = 2, .types = kPairTypes}};

// A barrier of pairs of floats.
static leat_output_t make_barrier(scene_t* s) {
  static const leat_partial_shape_t kShapes[] = {{0, NULL}, {0, NULL}};
  const leat_attr_t attrs[] = {
      kPairAttr,
      {LEAT_SV("shapes"),
       {.kind = LEAT_ATTR_SHAPE, .is_list = true, .count = 2, .shapes = kShapes}}};
  return scene_output(s, "Barrier", "b", "", LEAT_NO_INPUTS, (leat_attrs_t){attrs, 2});
}

static leat_output_t make_take(scene_t* s, leat_output_t barrier, int count) {
  leat_output_t n = leat_build_scalar(&s->b, LEAT_DTYPE_INT32, count);
  return scene_output(s, "BarrierTakeMany", "", "", LEAT_INPUTS(barrier, n),
                      (leat_attrs_t){&kPairAttr, 1});
}

static int32_t make_barrier_close(scene_t* s, leat_output_t barrier) {
  return scene_node(s, "BarrierClose", "", "", LEAT_INPUTS(barrier), LEAT_NO_ATTRS);
}

// The last tuples of a closed barrier have unlike shapes: their insertion fails, and who waits for
// them must hear that they will never come.
static void takers_hear_of_tuples_that_cannot_be_batched(void** state) {
  scene_t s;
  scene_open(&s);
  leat_output_t barrier = make_barrier(&s);
  leat_output_t key_a = make_key(&s, "a"), key_b = make_key(&s, "b");
  leat_output_t a = leat_build(&s.b, "Pack", LEAT_INPUTS(key_a), LEAT_NO_ATTRS);
  leat_output_t b = leat_build(&s.b, "Pack", LEAT_INPUTS(key_b), LEAT_NO_ATTRS);
  leat_output_t both = leat_build(&s.b, "Pack", LEAT_INPUTS(key_a, key_b), LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(scene_target(&s, insert(&s, barrier, 0, a, make_rows(&s, 1, 2))));
  LEAT_EXPECT_OK(scene_target(&s, insert(&s, barrier, 0, b, make_rows(&s, 1, 3))));
  LEAT_EXPECT_OK(scene_target(&s, make_barrier_close(&s, barrier)));
  step_t step = {.scene = &s, .fetch = make_take(&s, barrier, 2), .timeout_ms = 60000};
  int32_t last = insert(&s, barrier, 1, both, make_rows(&s, 2, 1));
  start_step(&step);
  sleep_ms(20);
  assert_false(step.ended);
  scene_expect(scene_target(&s, last), LEAT_INVALID_ARGUMENT, "Shape mismatch");
  leat_thread_join(step.thread);
  scene_expect(step.status, LEAT_OUT_OF_RANGE, "insufficient elements");
  scene_close(&s);
}

enum { kPairs = 6000 };

static leat_output_t make_ones(scene_t* s, int32_t count) {
  return scene_output(
      s, "Fill", "", "",
      LEAT_INPUTS(leat_build_int32_vector(&s->b, &count, 1), scene_float(s, 1)), LEAT_NO_ATTRS);
}

// A barrier with the first components of kPairs tuples, and of one more, "last". |out_insert|
// inserts the second components of the many, which takes some milliseconds.
static leat_output_t open_pairs(scene_t* s, int32_t* out_insert, int32_t* out_last) {
  scene_open(s);
  leat_output_t barrier = make_barrier(s);
  leat_output_t numbers =
      scene_output(s, "Range", "", "",
                   LEAT_INPUTS(leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 0),
                               leat_build_scalar(&s->b, LEAT_DTYPE_INT32, kPairs),
                               leat_build_scalar(&s->b, LEAT_DTYPE_INT32, 1)),
                   LEAT_NO_ATTRS);
  leat_output_t keys = scene_output(s, "AsString", "", "", LEAT_INPUTS(numbers), LEAT_NO_ATTRS);
  leat_output_t key = make_key(s, "last");
  leat_output_t last = leat_build(&s->b, "Pack", LEAT_INPUTS(key), LEAT_NO_ATTRS);
  LEAT_EXPECT_OK(scene_target(s, insert(s, barrier, 0, keys, make_ones(s, kPairs))));
  LEAT_EXPECT_OK(scene_target(s, insert(s, barrier, 0, last, make_ones(s, 1))));
  *out_insert = insert(s, barrier, 1, keys, make_ones(s, kPairs));
  *out_last = insert(s, barrier, 1, last, make_ones(s, 1));
  return barrier;
}

static void expect_all_pairs(scene_t* s, leat_output_t barrier) {
  leat_tensor_t got;
  LEAT_EXPECT_OK(scene_fetch(s, make_take(s, barrier, kPairs + 1), &got));
  assert_int_equal(got.shape.element_count, kPairs + 1);
  leat_tensor_release(&got);
  scene_expect(scene_fetch(s, make_take(s, barrier, 1), &got), LEAT_OUT_OF_RANGE, "insufficient");
}

// Tuples that left the incomplete ones are on their way to those that are ready when another step
// completes the last tuple of a closed barrier. None may be lost.
static void two_insertions_end_a_closed_barrier(void** state) {
  for (int round = 0; round < 8; ++round) {
    scene_t s;
    int32_t many, last;
    leat_output_t barrier = open_pairs(&s, &many, &last);
    LEAT_EXPECT_OK(scene_target(&s, make_barrier_close(&s, barrier)));
    step_t step = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = many};
    start_step(&step);
    leat_clock_sleep_ns((int64_t)round * 300000);
    LEAT_EXPECT_OK(scene_target(&s, last));
    leat_thread_join(step.thread);
    LEAT_EXPECT_OK(step.status);
    expect_all_pairs(&s, barrier);
    scene_close(&s);
  }
}

// The barrier is closed as soon as no tuple is incomplete: all must then be ready.
static void what_is_not_incomplete_is_ready(void** state) {
  scene_t s;
  int32_t many, last, incomplete = 1;
  leat_output_t barrier = open_pairs(&s, &many, &last);
  leat_output_t size = scene_output(&s, "BarrierIncompleteSize", "", "", LEAT_INPUTS(barrier),
                                    LEAT_NO_ATTRS);
  int32_t end = make_barrier_close(&s, barrier);
  LEAT_EXPECT_OK(scene_target(&s, last));
  step_t step = {.scene = &s, .fetch = LEAT_OUTPUT_NONE, .target = many};
  start_step(&step);
  while (incomplete) {
    leat_tensor_t got;
    LEAT_EXPECT_OK(scene_fetch(&s, size, &got));
    incomplete = *leat_tensor_data(&got, const int32_t);
    leat_tensor_release(&got);
  }
  LEAT_EXPECT_OK(scene_target(&s, end));
  leat_thread_join(step.thread);
  LEAT_EXPECT_OK(step.status);
  expect_all_pairs(&s, barrier);
  scene_close(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(batches_may_exceed_the_capacity),
      cmocka_unit_test(a_timeout_ends_the_wait_and_keeps_the_elements),
      cmocka_unit_test(elements_come_back_in_order),
      cmocka_unit_test(closing_the_session_ends_every_wait),
      cmocka_unit_test(another_node_s_failure_ends_the_wait),
      cmocka_unit_test(closing_the_queue),
      cmocka_unit_test(a_long_chain_of_steps),
      cmocka_unit_test(the_rest_of_a_step_runs_where_it_is_waited_for),
      cmocka_unit_test(a_long_chain_in_a_step),
      cmocka_unit_test(takers_hear_of_tuples_that_cannot_be_batched),
      cmocka_unit_test(two_insertions_end_a_closed_barrier),
      cmocka_unit_test(what_is_not_incomplete_is_ready),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
