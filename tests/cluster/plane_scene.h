// Ends of the plane for tests, without tasks around them, and fetches between them. A
// value is a vector of floats: the key says how many, and the number of the step is the first one.
#ifndef LEAT_CLUSTER_PLANE_SCENE_H_
#define LEAT_CLUSTER_PLANE_SCENE_H_

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/test.h"
#include "cluster/plane_message.h"
#include "readable_memory.h"

#define NO_HANG_NS INT64_C(60000000000)

// ---- Ends ---------------------------------------------------------------------------------------

// What the other end answers with: the key says which.
typedef struct serving_s {
  leat_mutex_t mutex;
  leat_rendezvous_receive_fn_t fn;  // of a key "hold"
  void* data;
  _Atomic(int) held;
} serving_t;

static inline leat_slot_t make_floats(int64_t count, float first) {
  leat_slot_t slot = {.alive = true};
  leat_shape_t shape;
  LEAT_EXPECT_OK(leat_shape_create(1, &count, &shape));
  LEAT_EXPECT_OK(
      leat_tensor_allocate(leat_buffer_source_host(), LEAT_DTYPE_FLOAT, &shape, &slot.tensor));
  leat_shape_release(&shape);
  float* data = slot.tensor.data;
  for (int64_t i = 0; i < count; ++i) data[i] = first + (float)(i % 1000);
  return slot;
}

static inline void serve(void* data, int64_t step_id, leat_string_view_t key,
                         leat_string_view_t member, leat_rendezvous_receive_fn_t fn,
                         void* fn_data) {
  serving_t* serving = data;
  int64_t count = 0;
  leat_slot_t slot = {.alive = true};
  if (member.size > 0) {  // a text that tells what was asked for
    char text[8192];
    snprintf(text, sizeof text, "%.*s of %.*s", LEAT_SV_ARG(key), LEAT_SV_ARG(member));
    LEAT_EXPECT_OK(leat_tensor_scalar_string(leat_string_view_from(text), &slot.tensor));
    fn(fn_data, leat_ok_status(), slot);
  } else if (leat_string_view_equals(key, "fail")) {
    fn(fn_data, leat_make_status(LEAT_OUT_OF_RANGE, "step %d has no such value", (int)step_id),
       (leat_slot_t){0});
  } else if (leat_string_view_equals(key, "hold")) {
    leat_mutex_lock(&serving->mutex);
    serving->fn = fn;
    serving->data = fn_data;
    leat_mutex_unlock(&serving->mutex);
    atomic_store(&serving->held, 1);
  } else if (leat_string_view_equals(key, "dead")) {
    slot = make_floats(5, 0);
    slot.alive = false;
    fn(fn_data, leat_ok_status(), slot);
  } else if (leat_string_view_equals(key, "text")) {
    const leat_string_view_t text = LEAT_SV("a text that is no array of numbers");
    LEAT_EXPECT_OK(leat_tensor_scalar_string(text, &slot.tensor));
    fn(fn_data, leat_ok_status(), slot);
  } else if (leat_string_view_equals(key, "bool")) {
    LEAT_EXPECT_OK(leat_tensor_scalar(LEAT_DTYPE_BOOL, &(bool){true}, &slot.tensor));
    fn(fn_data, leat_ok_status(), slot);
  } else {
    leat_string_view_to_int64(key, &count);
    fn(fn_data, leat_ok_status(), make_floats(count, (float)step_id));
  }
}

typedef struct pair_s {
  serving_t serving;
  leat_plane_t *near, *far;  // far serves; each other process has its own pair
  uint64_t incarnation;      // of far
} pair_t;

// Of the ends that are opened.
static bool is_distant;
static leat_rpc_handler_fn_t handler;

static inline leat_plane_t* open_end_with(serving_t* serving, int64_t proof_timeout_ns) {
  leat_plane_t* plane = NULL;
  const leat_plane_options_t options = {.is_local = true,
                                        .is_distant = is_distant,
                                        .allocator = leat_allocator_system(),
                                        .proof_timeout_ns = proof_timeout_ns,
                                        .serve = serve,
                                        .handler = handler,
                                        .data = serving};
  LEAT_EXPECT_OK(leat_plane_create(&options, &plane));
  return plane;
}

static inline leat_plane_t* open_end(serving_t* serving) { return open_end_with(serving, 0); }

// ---- Fetches ------------------------------------------------------------------------------------

typedef struct fetched_s {
  atomic_int times;
  leat_status_code_t code;
  char message[160];
  leat_slot_t value;
  leat_plane_call_t* call;
} fetched_t;

static inline void note(void* data, leat_status_t status, leat_slot_t value) {
  fetched_t* fetched = data;
  fetched->code = leat_status_code(status);
  snprintf(fetched->message, sizeof fetched->message, "%s", leat_status_message(status));
  fetched->value = value;
  leat_status_free(status);
  atomic_fetch_add(&fetched->times, 1);
}

static inline void expect_end(fetched_t* fetched, leat_status_code_t code, const char* text) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (!atomic_load(&fetched->times)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
  if (fetched->code != code || !strstr(fetched->message, text)) {
    print_error("%d: %s\n", fetched->code, fetched->message);
  }
  assert_int_equal(fetched->code, code);
  assert_non_null(strstr(fetched->message, text));
  assert_int_equal(atomic_load(&fetched->times), 1);
  leat_plane_call_free(fetched->call);
}

// Whether a fetch of |key| began.
static inline bool ask(leat_plane_t* plane, uint64_t incarnation, int64_t step_id, const char* key,
                const char* member, fetched_t* out_fetched) {
  *out_fetched = (fetched_t){0};
  return leat_plane_fetch(plane, incarnation, step_id, leat_string_view_from(key),
                          leat_string_view_from(member), note, out_fetched, &out_fetched->call);
}

// Begins a fetch. The way may not be ready yet.
static inline void start_of_member(pair_t* pair, int64_t step_id, const char* key,
                                   const char* member, fetched_t* out_fetched) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (!ask(pair->near, pair->incarnation, step_id, key, member, out_fetched)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(100000);
  }
}

static inline void start(pair_t* pair, int64_t step_id, const char* key, fetched_t* out_fetched) {
  start_of_member(pair, step_id, key, "", out_fetched);
}

static inline void expect_floats(pair_t* pair, int64_t step_id, int64_t count) {
  char key[32];
  fetched_t fetched;
  snprintf(key, sizeof key, "%d", (int)count);
  start(pair, step_id, key, &fetched);
  expect_end(&fetched, LEAT_OK, "");
  const leat_tensor_t* tensor = &fetched.value.tensor;
  assert_true(fetched.value.alive);
  assert_int_equal(tensor->dtype, LEAT_DTYPE_FLOAT);
  assert_int_equal(tensor->shape.element_count, count);
  const float* data = tensor->data;
  for (int64_t i = 0; i < count; ++i) {
    if (data[i] != (float)step_id + (float)(i % 1000)) fail_msg("element %d", (int)i);
  }
  leat_slot_release(&fetched.value);
}

// ---- Scenes -------------------------------------------------------------------------------------

// Opens two ends, of which one may be distant, and the way between them.
static inline void open_pair(pair_t* pair, bool near_is_distant) {
  const bool all_are_distant = is_distant;
  *pair = (pair_t){.incarnation = 77};
  leat_mutex_initialize(&pair->serving.mutex);
  is_distant = all_are_distant || near_is_distant;
  pair->near = open_end(&pair->serving);
  is_distant = all_are_distant;
  pair->far = open_end(&pair->serving);
  assert_true(leat_plane_asks(pair->near, pair->incarnation));
  assert_false(leat_plane_asks(pair->near, pair->incarnation));
  const leat_pb_plane_offer_t near = leat_plane_offer(pair->near);
  const leat_pb_plane_offer_t far = leat_plane_offer(pair->far);
  LEAT_EXPECT_OK(leat_plane_join(pair->far, &near));
  LEAT_EXPECT_OK(leat_plane_join(pair->near, &far));
  LEAT_EXPECT_OK(leat_plane_join(pair->near, &far));
  leat_plane_answer(pair->near, pair->incarnation, &far);
}

static inline int set_up(void** state) {
  static pair_t pair;
  open_pair(&pair, false);
  *state = &pair;
  return 0;
}

static inline int tear_down(void** state) {
  pair_t* pair = *state;
  leat_plane_free(pair->near);
  leat_plane_free(pair->far);
  leat_mutex_deinitialize(&pair->serving.mutex);
  return 0;
}

static inline void wait_until_held(pair_t* pair) {
  const int64_t begin_ns = leat_clock_now_ns();
  while (!atomic_exchange(&pair->serving.held, 0)) {
    assert_true(leat_clock_now_ns() - begin_ns < NO_HANG_NS);
    leat_clock_sleep_ns(20000);
  }
}

// ---- Another process ----------------------------------------------------------------------------

static inline void write_offer(int to, const leat_plane_t* plane) {
  const leat_pb_plane_offer_t offer = leat_plane_offer(plane);
  assert_int_equal(write(to, &offer.version, 4), 4);
  assert_int_equal(write(to, &offer.end, 8), 8);
  assert_int_equal(write(to, &offer.address.size, 8), 8);
  assert_int_equal(write(to, offer.address.data, offer.address.size),
                   (ssize_t)offer.address.size);
}

static inline leat_pb_plane_offer_t read_offer(int from, char room[4096]) {
  leat_pb_plane_offer_t offer = {0};
  assert_int_equal(read(from, &offer.version, 4), 4);
  assert_int_equal(read(from, &offer.end, 8), 8);
  assert_int_equal(read(from, &offer.address.size, 8), 8);
  assert_true(offer.address.size <= 4096);
  assert_int_equal(read(from, room, offer.address.size), (ssize_t)offer.address.size);
  offer.address.data = room;
  return offer;
}

// The program again, as an end that serves until it is killed.
static inline int serve_for_ever(int from, int to, const char* place) {
  static serving_t serving;
  is_distant = !strcmp(place, "distant");
  char room[4096];
  leat_mutex_initialize(&serving.mutex);
  leat_plane_t* plane = open_end(&serving);
  write_offer(to, plane);
  const leat_pb_plane_offer_t offer = read_offer(from, room);
  LEAT_EXPECT_OK(leat_plane_join(plane, &offer));
  assert_int_equal(write(to, "", 1), 1);
  for (;;) pause();
  return 1;
}

typedef struct process_s {
  pid_t number;
  int there[2], back[2];
} process_t;

// Starts another process, as an end that pair->near has joined and can fetch from.
static inline void start_process(pair_t* pair, process_t* process) {
  char number[2][16], room[4096], byte;
  assert_int_equal(pipe(process->there), 0);
  assert_int_equal(pipe(process->back), 0);
  snprintf(number[0], sizeof number[0], "%d", process->there[0]);
  snprintf(number[1], sizeof number[1], "%d", process->back[1]);
  process->number = fork();
  if (process->number == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // where a failed test leaves it
    execl("/proc/self/exe", "plane_test", number[0], number[1], is_distant ? "distant" : "near",
          (char*)NULL);
    _exit(1);
  }
  *pair = (pair_t){.incarnation = 78};
  pair->near = open_end(&pair->serving);
  leat_pb_plane_offer_t offer = read_offer(process->back[0], room);
  write_offer(process->there[1], pair->near);
  assert_int_equal(read(process->back[0], &byte, 1), 1);
  assert_true(leat_plane_asks(pair->near, pair->incarnation));
  LEAT_EXPECT_OK(leat_plane_join(pair->near, &offer));
  leat_plane_answer(pair->near, pair->incarnation, &offer);
}

static inline void kill_process(process_t* process) {
  kill(process->number, SIGKILL);
  waitpid(process->number, NULL, 0);
  for (int i = 0; i < 2; ++i) {
    close(process->there[i]);
    close(process->back[i]);
  }
}

#endif  // LEAT_CLUSTER_PLANE_SCENE_H_
