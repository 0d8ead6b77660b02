// A task of a cluster in this process, for fuzz targets of the services: its handlers are called as
// the engine for gRPC calls them, without a network. An input is a list of calls, one after the
// other, each a method and a message:
//
//   CreateSession
//   #graph_def { node { name: "x" op: "NoOp" } }
//   --
//   RunStep
//   #session_handle: "################" target: "x"
//
// The message is in text form behind '#', else bytes. "################" stands for the handle of
// the last session, "@@@@@@@@@@@@@@@@" for that of the last partial run, "IIIIIIIIIIIIIIII" for the
// incarnation of the task's device. A call "<Method" is the answer that the next call of that
// method to the other task of the cluster gets; without one it fails with UNAVAILABLE. Each call
// has a thread, so that calls wait for one another. In the end all are cancelled, and each must be
// answered, exactly once, and nothing be left: a call that hangs, or is answered twice, is a trap.
#ifndef LEAT_FUZZ_LIVE_TASK_H_
#define LEAT_FUZZ_LIVE_TASK_H_

#define _GNU_SOURCE  // memmem
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/rpc_module.h"
#include "cluster/server.h"
#include "cluster/service.h"
#include "formats/generated/eager_service.h"
#include "formats/generated/worker_service.h"
#include "formats/wire/encode.h"
#include "formats/wire/text.h"
#include "init.h"
#include "memory_limit.h"

enum { LIVE_MOST_BYTES = 1 << 26, LIVE_MOST_CALLS = 24 };

// A call that a thread of its own makes.
typedef struct live_call_s {
  leat_rpc_request_t request;
  leat_rpc_piece_t piece;
  leat_string_view_t name;  // of the method
  char path[128];
  pthread_t thread;
  bool returned, answered, cancelled;
  void (*fn)(void* data);  // of the cancellation
  void* data;
  bool fn_runs;
  pthread_t fn_thread;
} live_call_t;

// An answer of the other task.
typedef struct live_answer_s {
  leat_string_view_t name, bytes;
} live_answer_t;

typedef struct live_task_s {
  leat_server_t* server;
  const char* prefix;  // "/tensorflow.MasterService/"
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  char session[17], partial[17], incarnation[17];
  live_call_t calls[LIVE_MOST_CALLS];
  int call_count;
  live_answer_t answers[LIVE_MOST_CALLS];
  int answer_count;
} live_task_t;

static live_task_t live;

// ---- The engine ---------------------------------------------------------------------------------

// Takes the handle, field 1 of 16 characters, from an answer.
static void live_note_handle(leat_rpc_bytes_t bytes, char handle[17]) {
  if (bytes.count != 1 || bytes.pieces[0].size < 18) return;
  const char* data = bytes.pieces[0].data;
  if (data[0] == 0x0a && data[1] == 16) memcpy(handle, data + 2, 16);
}

static void live_wait_for_fn(live_call_t* call) {
  while (call->fn_runs && !pthread_equal(call->fn_thread, pthread_self())) {
    pthread_cond_wait(&live.changed, &live.mutex);
  }
}

static void live_answer(leat_rpc_request_t* request, int code, leat_string_view_t message,
                        leat_string_view_t details, leat_rpc_bytes_t bytes) {
  live_call_t* call = (live_call_t*)request;
  pthread_mutex_lock(&live.mutex);
  live_wait_for_fn(call);
  if (call->answered) __builtin_trap();
  if (leat_string_view_equals(call->name, "CreateSession")) {
    live_note_handle(bytes, live.session);
  }
  if (leat_string_view_equals(call->name, "PartialRunSetup")) {
    live_note_handle(bytes, live.partial);
  }
  if (getenv("LIVE_TASK_SHOW")) {
    fprintf(stderr, "%.*s: %d %.*s, %zu bytes\n", LEAT_SV_ARG(call->name), code,
            LEAT_SV_ARG(message), leat_rpc_bytes_size(bytes));
  }
  for (size_t i = 0; i < bytes.count; ++i) {
    if (bytes.pieces[i].release) bytes.pieces[i].release(bytes.pieces[i].owner);
  }
  call->answered = true;
  pthread_cond_broadcast(&live.changed);
  pthread_mutex_unlock(&live.mutex);
}

static void live_run_fn(live_call_t* call, void (*fn)(void* data), void* data) {
  call->fn = NULL;
  call->fn_runs = true;
  call->fn_thread = pthread_self();
  pthread_mutex_unlock(&live.mutex);
  fn(data);
  pthread_mutex_lock(&live.mutex);
  call->fn_runs = false;
  pthread_cond_broadcast(&live.changed);
}

static void live_on_cancel(leat_rpc_request_t* request, void (*fn)(void* data), void* data) {
  live_call_t* call = (live_call_t*)request;
  pthread_mutex_lock(&live.mutex);
  live_wait_for_fn(call);
  call->fn = fn;
  call->data = data;
  if (fn && call->cancelled) live_run_fn(call, fn, data);
  pthread_mutex_unlock(&live.mutex);
}

static void live_initialize(const leat_rpc_host_t* host) {}
static int live_channel_create(const char* address, const leat_rpc_credentials_t* credentials,
                               leat_rpc_channel_t** out_channel) {
  *out_channel = (leat_rpc_channel_t*)&live;
  return LEAT_OK;
}
static void live_channel_free(leat_rpc_channel_t* channel) {}
static bool live_channel_is_busy(leat_rpc_channel_t* channel) { return false; }
static void live_channel_fail(leat_rpc_channel_t* channel, int code, const char* message) {}
static void live_cancel(leat_rpc_call_t* call) {}
static void live_call_free(leat_rpc_call_t* call) {}

// Answers a call to the other task at once.
static void live_call_out(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                          leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call) {
  const char* name = strrchr(options->method, '/') + 1;
  leat_rpc_piece_t piece = {0};
  bool is_there = false;
  if (out_call) *out_call = (leat_rpc_call_t*)&live;
  for (size_t i = 0; i < options->bytes.count; ++i) {
    const leat_rpc_piece_t* sent = &options->bytes.pieces[i];
    if (sent->release) sent->release(sent->owner);
  }
  pthread_mutex_lock(&live.mutex);
  for (int i = 0; i < live.answer_count && !is_there; ++i) {
    live_answer_t* answer = &live.answers[i];
    if (!leat_string_view_equals(answer->name, name)) continue;
    piece = (leat_rpc_piece_t){.data = answer->bytes.data, .size = answer->bytes.size};
    answer->name.size = 0;
    is_there = true;
  }
  pthread_mutex_unlock(&live.mutex);
  done(data,
       is_there ? NULL : leat_make_status(LEAT_UNAVAILABLE, "there is no answer to %s", name),
       LEAT_SV(""), (leat_rpc_bytes_t){&piece, is_there});
}

static const leat_rpc_module_t live_module = {
    .struct_size = sizeof live_module,
    .version = "none",
    .initialize = live_initialize,
    .answer = live_answer,
    .request_on_cancel = live_on_cancel,
    .channel_create = live_channel_create,
    .channel_free = live_channel_free,
    .call = live_call_out,
    .cancel = live_cancel,
    .call_free = live_call_free,
    .channel_is_busy = live_channel_is_busy,
    .channel_fail = live_channel_fail,
};

// ---- Inputs -------------------------------------------------------------------------------------

static void live_replace(char* text, size_t size, char mark, const char* value) {
  char marks[16];
  memset(marks, mark, sizeof marks);
  for (char* at; (at = memmem(text, size, marks, sizeof marks));) memcpy(at, value, 16);
}

// The bytes of a message, which the caller frees.
static char* live_message(leat_string_view_t text, const leat_message_descriptor_t* descriptor,
                          size_t* out_size) {
  char* copy = malloc(text.size + 1);
  memcpy(copy, text.data, text.size);
  live_replace(copy, text.size, '#', live.session);
  live_replace(copy, text.size, '@', live.partial);
  live_replace(copy, text.size, 'I', live.incarnation);
  *out_size = text.size;
  if (text.size == 0 || copy[0] != '#' || !descriptor) return copy;
  leat_arena_t arena;
  leat_string_builder_t bytes;
  leat_arena_initialize(leat_allocator_system(), 0, &arena);
  leat_string_builder_initialize(leat_allocator_system(), &bytes);
  void* message = calloc(1, descriptor->size_bytes);
  leat_status_t status = leat_text_parse(
      descriptor, leat_string_view_make(copy + 1, text.size - 1), &arena, message);
  if (!status) status = leat_message_encode(descriptor, message, &bytes);
  if (getenv("LIVE_TASK_SHOW") && status) fprintf(stderr, "%s\n", leat_status_message(status));
  leat_status_free(status);
  free(copy);
  copy = malloc(bytes.size + 1);
  memcpy(copy, bytes.data ? bytes.data : "", bytes.size);
  *out_size = bytes.size;
  free(message);
  leat_string_builder_deinitialize(&bytes);
  leat_arena_deinitialize(&arena);
  return copy;
}

static void* live_serve(void* data) {
  live_call_t* call = data;
  leat_service_handle(leat_server_task(live.server), &call->request);
  pthread_mutex_lock(&live.mutex);
  call->returned = true;
  pthread_cond_broadcast(&live.changed);
  pthread_mutex_unlock(&live.mutex);
  return NULL;
}

// Waits until the handler has returned, or |milliseconds| have passed.
static bool live_wait(const bool* flag, int milliseconds) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += (milliseconds % 1000) * 1000000L;
  until.tv_sec += milliseconds / 1000 + until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&live.mutex);
  while (!*flag && pthread_cond_timedwait(&live.changed, &live.mutex, &until) == 0) {
  }
  const bool is_set = *flag;
  pthread_mutex_unlock(&live.mutex);
  return is_set;
}

// What the other task answers to a call of the method; NULL: nothing that has fields.
static const leat_message_descriptor_t* live_answer_descriptor(leat_string_view_t name) {
  static const struct {
    const char* name;
    const leat_message_descriptor_t* descriptor;
  } kAnswers[] = {
      {"CompleteGroup", &leat_pb_complete_group_response_descriptor},
      {"CompleteInstance", &leat_pb_complete_instance_response_descriptor},
      {"Enqueue", &leat_pb_enqueue_response_descriptor},
      {"GetStatus", &leat_pb_get_status_response_descriptor},
      {"GetStepSequence", &leat_pb_get_step_sequence_response_descriptor},
      {"Logging", &leat_pb_logging_response_descriptor},
      {"RecvBuf", &leat_pb_recv_buf_response_descriptor},
      {"RecvTensor", &leat_pb_recv_tensor_response_descriptor},
      {"RegisterGraph", &leat_pb_register_graph_response_descriptor},
      {"RunGraph", &leat_pb_run_graph_response_descriptor},
  };
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kAnswers); ++i) {
    if (leat_string_view_equals(name, kAnswers[i].name)) return kAnswers[i].descriptor;
  }
  return NULL;
}

static const leat_message_descriptor_t* live_descriptor(const leat_service_method_t* methods,
                                                        leat_string_view_t name) {
  for (; methods->name; ++methods) {
    if (leat_string_view_equals(name, methods->name)) return methods->descriptor;
  }
  return NULL;
}

static void live_start(leat_string_view_t name, char* bytes, size_t size) {
  live_call_t* call = &live.calls[live.call_count];
  *call = (live_call_t){.name = name, .piece = {.data = bytes, .size = size}};
  snprintf(call->path, sizeof call->path, "%s%.*s", live.prefix, LEAT_SV_ARG(name));
  call->request = (leat_rpc_request_t){.method = leat_string_view_from(call->path),
                                       .bytes = {&call->piece, 1},
                                       .deadline_ns = leat_clock_now_ns() + 200000000,
                                       .peer = LEAT_SV("ipv4:127.0.0.1:1")};
  if (pthread_create(&call->thread, NULL, live_serve, call)) {
    free(bytes);
    return;
  }
  ++live.call_count;
  live_wait(&call->returned, 2);
}

// Makes the calls of |text|, of methods that |methods| lists.
static void live_make_calls(leat_string_view_t text, const leat_service_method_t* methods) {
  while (text.size && live.call_count < LIVE_MOST_CALLS && live.answer_count < LIVE_MOST_CALLS) {
    const char* end = memmem(text.data, text.size, "\n--\n", 4);
    leat_string_view_t part = {text.data, end ? (size_t)(end - text.data) : text.size};
    text = end ? leat_string_view_from_index(text, part.size + 4) : LEAT_SV("");
    const char* line = memchr(part.data, '\n', part.size);
    leat_string_view_t name = {part.data, line ? (size_t)(line - part.data) : part.size};
    part = leat_string_view_from_index(part, name.size + (line != NULL));
    const bool is_answer = name.size && name.data[0] == '<';
    if (is_answer) name = leat_string_view_from_index(name, 1);
    size_t size;
    char* bytes = live_message(
        part, is_answer ? live_answer_descriptor(name) : live_descriptor(methods, name), &size);
    if (is_answer) {
      live.answers[live.answer_count++] =
          (live_answer_t){name, leat_string_view_make(bytes, size)};
    } else {
      live_start(name, bytes, size);
    }
  }
}

// Cancels what is not answered, and waits for the end of all.
static void live_end(void) {
  for (int i = 0; i < live.call_count; ++i) {
    live_call_t* call = &live.calls[i];
    pthread_mutex_lock(&live.mutex);
    call->cancelled = true;
    if (call->fn && !call->answered) live_run_fn(call, call->fn, call->data);
    pthread_mutex_unlock(&live.mutex);
  }
  for (int i = 0; i < live.call_count; ++i) {
    live_call_t* call = &live.calls[i];
    if (!live_wait(&call->returned, 8000) || !live_wait(&call->answered, 8000)) {
      fprintf(stderr, "%.*s is not answered\n", LEAT_SV_ARG(call->name));
      __builtin_trap();
    }
    pthread_join(call->thread, NULL);
  }
}

// Two tasks, of which the second is this one; job "ps" is the other, whose answers the input gives.
#define LIVE_SERVER_DEF                                                                       \
  "\x0a\x32\x0a\x14\x0a\x02ps\x12\x0e\x12\x0clocalhost:11\x0a\x1a\x0a\x06worker\x12\x10\x12" \
  "\x0elocalhost:2222\x12\x06worker*\x04grpc"

static const char* const kLiveWords[] = {"Save",   "Write",  "File",    "Restore", "Summary",
                                         "Print",  "Reader", "Dataset", "MergeV2", "Checkpoint",
                                         "MakeDir"};

// Has a task, new for each input, serve the calls of |data|.
static void live_task_run(const uint8_t* data, size_t size, const char* prefix,
                          const leat_service_method_t* methods) {
  const leat_runtime_t* runtime;
  for (size_t i = 0; i < LEAT_ARRAY_SIZE(kLiveWords); ++i) {  // files are not the target's to write
    if (memmem(data, size, kLiveWords[i], strlen(kLiveWords[i]))) return;
  }
  memory_limit_install(LIVE_MOST_BYTES);
  leat_rpc_use_module(&live_module);
  live = (live_task_t){.prefix = prefix,
                       .mutex = PTHREAD_MUTEX_INITIALIZER,
                       .changed = PTHREAD_COND_INITIALIZER,
                       .session = "0000000000000000",
                       .partial = "0000000000000000"};
  if (leat_runtime_get(&runtime)) __builtin_trap();
  leat_status_t status = leat_server_create(
      runtime, leat_string_view_make(LIVE_SERVER_DEF, sizeof LIVE_SERVER_DEF - 1), &live.server);
  if (status) {
    fprintf(stderr, "%s\n", leat_status_message(status));
    __builtin_trap();
  }
  leat_task_t* task = leat_server_task(live.server);
  snprintf(live.incarnation, sizeof live.incarnation, "%016llx",
           (unsigned long long)task->devices[0]->incarnation);
  live_make_calls(leat_string_view_make((const char*)data, size), methods);
  live_end();
  leat_server_free(live.server);
  for (int i = 0; i < live.call_count; ++i) free((char*)live.calls[i].piece.data);
  for (int i = 0; i < live.answer_count; ++i) free((char*)live.answers[i].bytes.data);
}

#endif  // LEAT_FUZZ_LIVE_TASK_H_
