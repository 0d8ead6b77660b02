// The server and the channel of rpc_scene.h, and the methods that its handler knows: Echo,
// Describe, Fail, Lend, Gather (which waits until a number of calls have come) and Hold (whose
// answer the test gives). Stream is a stream whose messages say what is to come of them. The
// handler checks what it can on the server's side and counts the rest, because an assertion on a
// thread of the engine could not end the test. rpc_scene_share() takes and gives back a mutex on
// both sides of each call: gRPC orders the two sides by means that ThreadSanitizer does not see.
// Ends of calls note how often they were called, so that a second call shows.
#include "cluster/rpc_scene.h"

#include <arpa/inet.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/checked.h"
#include "base/test.h"

void rpc_scene_share(rpc_scene_t* scene) {
  leat_mutex_lock(&scene->mutex);
  leat_mutex_unlock(&scene->mutex);
}

// ---- The handler --------------------------------------------------------------------------------

static const leat_rpc_bytes_t kNoBytes = {NULL, 0};

static void answer_text(leat_rpc_request_t* request, const char* text) {
  const leat_rpc_piece_t piece = {text, strlen(text), NULL, NULL};
  leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){&piece, 1});
}

static void describe(leat_rpc_request_t* request) {
  char text[256], deadline[64] = "without a deadline";
  if (request->deadline_ns != LEAT_DEADLINE_NEVER) {
    snprintf(deadline, sizeof deadline, "within %" PRId64 " ms",
             (request->deadline_ns - leat_clock_now_ns()) / 1000000);
  }
  snprintf(text, sizeof text, "%.*s %s from %.*s", LEAT_SV_ARG(request->method), deadline,
           LEAT_SV_ARG(request->peer));
  answer_text(request, text);
}

static bool pieces_equal(leat_rpc_bytes_t bytes, const char* expected, size_t size) {
  size_t at = 0;
  for (size_t i = 0; i < bytes.count; ++i) {
    const leat_rpc_piece_t* piece = &bytes.pieces[i];
    if (at + piece->size > size || memcmp(piece->data, expected + at, piece->size)) return false;
    at += piece->size;
  }
  return at == size;
}

// No call is answered before as many have come as the test asked for: this needs them all at once.
static void gather(rpc_scene_t* scene, leat_rpc_request_t* request) {
  leat_mutex_lock(&scene->mutex);
  ++scene->gathered;
  leat_condition_notify_all(&scene->changed);
  while (scene->gathered < scene->gathered_at) {
    leat_condition_wait(&scene->changed, &scene->mutex);
  }
  leat_mutex_unlock(&scene->mutex);
  leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), kNoBytes);
}

void rpc_scene_on_cancel(void* data) {
  rpc_scene_t* scene = data;
  if (atomic_fetch_add(&scene->cancellations, 1) == 0) leat_notification_open(&scene->cancelled);
  leat_clock_sleep_ns(scene->cancellation_takes_ns);
  atomic_fetch_add(&scene->cancellations_ended, 1);
}

// Keeps the call unanswered in a list, until the test answers it or the scene closes.
static void hold(rpc_scene_t* scene, leat_rpc_request_t* request) {
  if (!scene->holds_without_asking && !scene->holds_many) {
    leat_rpc_request_on_cancel(request, rpc_scene_on_cancel, scene);
  }
  leat_mutex_lock(&scene->mutex);
  const bool holds = !scene->is_closing;
  if (holds) scene->held[scene->held_count++] = request;
  leat_condition_notify_all(&scene->changed);
  leat_mutex_unlock(&scene->mutex);
  if (!holds) answer_text(request, "too late");
}

static void fail_request(rpc_scene_t* scene, leat_rpc_request_t* request) {
  leat_status_t status =
      leat_make_status((leat_status_code_t)scene->fails_with, "%s", scene->fails_saying);
  const leat_string_view_t details = scene->fails_with_details;
  rpc_scene_share(scene);
  leat_rpc_answer(request, status, details, kNoBytes);
}

// Whether the method is a stream.
static bool streams(leat_string_view_t method) {
  return leat_string_view_equals(method, "/test/Stream");
}

static void serve_message(rpc_scene_t* scene, leat_rpc_request_t* request) {
  atomic_fetch_add(&scene->streamed, 1);
  if (pieces_equal(request->bytes, "fail", 4)) {
    fail_request(scene, request);
  } else if (pieces_equal(request->bytes, "hold", 4)) {
    hold(scene, request);
  } else {
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), request->bytes);
  }
}

void rpc_scene_serve(void* data, leat_rpc_request_t* request) {
  rpc_scene_t* scene = data;
  const leat_string_view_t method = request->method;
  rpc_scene_share(scene);
  if (streams(method)) {
    serve_message(scene, request);
  } else if (leat_string_view_equals(method, "/test/Echo")) {
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), request->bytes);
  } else if (leat_string_view_equals(method, "/test/Describe")) {
    describe(request);
  } else if (leat_string_view_equals(method, "/test/Gather")) {
    gather(scene, request);
  } else if (leat_string_view_equals(method, "/test/Hold")) {
    hold(scene, request);
  } else if (leat_string_view_equals(method, "/test/Lend")) {
    scene->lent_equalled = pieces_equal(request->bytes, scene->lent.data, scene->lent.size);
    rpc_scene_share(scene);
    leat_rpc_answer(request, leat_ok_status(), LEAT_SV(""), (leat_rpc_bytes_t){&scene->lent, 1});
  } else if (leat_string_view_equals(method, "/test/FailLending")) {
    leat_rpc_answer(request, leat_make_status(LEAT_ABORTED, "no"), LEAT_SV(""),
                    (leat_rpc_bytes_t){&scene->lent, 1});
  } else if (leat_string_view_equals(method, "/test/Fail")) {
    fail_request(scene, request);
  } else {
    leat_rpc_answer(request, leat_make_status(LEAT_UNIMPLEMENTED, "no such method"), LEAT_SV(""),
                    kNoBytes);
  }
}

// ---- Ends ---------------------------------------------------------------------------------------

void rpc_end_initialize(rpc_end_t* end) {
  *end = (rpc_end_t){.code = LEAT_OK};
  leat_notification_initialize(&end->ended);
}

void rpc_end_wait(rpc_end_t* end) {
  assert_true(leat_notification_wait(&end->ended, leat_clock_deadline_after_ms(60000)));
}

void rpc_end_free(rpc_end_t* end) {
  leat_notification_deinitialize(&end->ended);
  free(end->answer);
  end->answer = NULL;
}

void rpc_scene_done(void* data, leat_status_t status, leat_string_view_t details,
                    leat_rpc_bytes_t answer) {
  rpc_end_t* end = data;
  end->code = leat_status_code(status);
  snprintf(end->message, sizeof end->message, "%s", leat_status_message(status));
  leat_status_free(status);
  end->details_size = details.size;
  if (details.size) memcpy(end->details, details.data, LEAT_MIN(details.size, sizeof end->details));
  end->answer_size = leat_rpc_bytes_size(answer);
  end->answer = malloc(end->answer_size + 1);
  char* at = end->answer;
  for (size_t i = 0; i < answer.count; ++i) {
    memcpy(at, answer.pieces[i].data, answer.pieces[i].size);
    at += answer.pieces[i].size;
  }
  *at = '\0';
  atomic_fetch_add(&end->times, 1);
  leat_notification_open(&end->ended);
}

static void start_call(rpc_scene_t* scene, const char* method, leat_rpc_bytes_t bytes,
                       rpc_end_t* out_end, leat_rpc_call_t** out_call) {
  const leat_rpc_call_options_t options = {.method = method, .bytes = bytes,
                                           .deadline_ns = LEAT_DEADLINE_NEVER};
  rpc_end_initialize(out_end);
  rpc_scene_share(scene);
  leat_rpc_call(scene->channel, &options, rpc_scene_done, out_end, out_call);
}

void rpc_scene_call(rpc_scene_t* scene, const char* method, const char* text, size_t size,
                    rpc_end_t* out_end) {
  const leat_rpc_piece_t piece = {text, size, NULL, NULL};
  start_call(scene, method, (leat_rpc_bytes_t){&piece, 1}, out_end, NULL);
  rpc_end_wait(out_end);
  rpc_scene_share(scene);
}

void rpc_scene_start(rpc_scene_t* scene, const char* method, rpc_end_t* out_end,
                     leat_rpc_call_t** out_call) {
  start_call(scene, method, kNoBytes, out_end, out_call);
}

leat_rpc_request_t* rpc_scene_wait_for_held(rpc_scene_t* scene) {
  leat_mutex_lock(&scene->mutex);
  while (scene->held_count == 0) leat_condition_wait(&scene->changed, &scene->mutex);
  leat_rpc_request_t* first = scene->held[0];
  leat_mutex_unlock(&scene->mutex);
  return first;
}

void rpc_scene_answer_held(rpc_scene_t* scene) {
  leat_mutex_lock(&scene->mutex);
  const int count = scene->held_count;
  scene->held_count = 0;
  leat_mutex_unlock(&scene->mutex);
  for (int i = 0; i < count; ++i) answer_text(scene->held[i], "held");
}

void rpc_scene_count(void* owner) { atomic_fetch_add((atomic_int*)owner, 1); }

void rpc_scene_expect_count(atomic_int* count, int expected) {
  for (int i = 0; i < 6000 && atomic_load(count) < expected; ++i) leat_clock_sleep_ns(10000000);
  leat_clock_sleep_ns(20000000);
  assert_int_equal(atomic_load(count), expected);
}

// ---- The scene ----------------------------------------------------------------------------------

// Takes the port's lock, which this process keeps until it ends: a socket of the abstract
// namespace, named after the port. python/tests/free_ports.py and tools/free_port.c take the same
// locks.
static bool lock_port(int port) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  const int length =
      snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "leat-port-%d", port);
  const socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
  const int lock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  assert_true(lock >= 0);
  if (bind(lock, (struct sockaddr*)&name, size) == 0) return true;
  close(lock);
  return false;
}

static bool is_free(int port) {
  const struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  const int tried = socket(AF_INET, SOCK_STREAM, 0);
  assert_true(tried >= 0);
  const bool is_bound = bind(tried, (const struct sockaddr*)&address, sizeof address) == 0;
  close(tried);
  return is_bound;
}

// Ports below those that the system gives away by itself. Tests that run side by side begin at
// different ones, by the number of their process.
int rpc_scene_free_port(void) {
  enum { FIRST = 10000, COUNT = 20000 };
  static atomic_int tries;
  for (int i = 0; i < COUNT; ++i) {
    const unsigned place = (unsigned)getpid() * 617u + (unsigned)atomic_fetch_add(&tries, 1);
    const int port = FIRST + (int)(place % COUNT);
    if (lock_port(port) && is_free(port)) return port;
  }
  fail_msg("no port is free");
  return 0;
}

void rpc_scene_open(rpc_scene_t* scene, const rpc_scene_options_t* options) {
  char address[32];
  *scene = (rpc_scene_t){.fails_saying = ""};
  leat_mutex_initialize(&scene->mutex);
  leat_condition_initialize(&scene->changed);
  leat_notification_initialize(&scene->cancelled);
  snprintf(address, sizeof address, "127.0.0.1:%d", options->port);
  const leat_rpc_server_options_t server = {.address = leat_string_view_from(address),
                                            .security = options->server_security,
                                            .max_message_bytes = options->max_message_bytes,
                                            .handler = rpc_scene_serve,
                                            .data = scene,
                                            .streams = streams};
  LEAT_EXPECT_OK(leat_rpc_server_start(&server, &scene->port, &scene->server));
  snprintf(address, sizeof address, "127.0.0.1:%d", scene->port);
  LEAT_EXPECT_OK(leat_rpc_channel_create(leat_string_view_from(address), &options->client_security,
                                         &scene->channel));
}

void rpc_scene_close(rpc_scene_t* scene) {
  leat_rpc_channel_free(scene->channel);
  // Stopping waits for answers, also of calls that the channel has given up and that come only now.
  leat_mutex_lock(&scene->mutex);
  scene->is_closing = true;
  leat_mutex_unlock(&scene->mutex);
  rpc_scene_answer_held(scene);
  leat_rpc_server_stop(scene->server);
  leat_notification_deinitialize(&scene->cancelled);
  leat_condition_deinitialize(&scene->changed);
  leat_mutex_deinitialize(&scene->mutex);
}

int rpc_scene_set_up(void** state) {
  rpc_scene_t* scene = malloc(sizeof *scene);
  rpc_scene_open(scene, &(rpc_scene_options_t){0});
  *state = scene;
  return 0;
}

int rpc_scene_tear_down(void** state) {
  rpc_scene_close(*state);
  free(*state);
  return 0;
}
