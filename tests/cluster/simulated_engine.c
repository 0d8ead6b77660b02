// The engine of simulated_engine.h, over the clock of simulated_time.h. Handlers, |done| functions
// and functions of cancellations are called without the lock, each on a thread of its own, since
// they may block.
//
// A call is kept alive by its caller, by the engine until its end, by the request at the server
// until it is answered, and by each of its messages. The delays of a call come from the seed, the
// way, the method and how many such calls there were, and not from a common sequence, so that two
// threads that send different things at once cannot change them.
#include "cluster/simulated_engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/test.h"
#include "cluster/simulated_time.h"

#define MAX_HOSTS 8
#define MAX_METHODS 256

typedef struct host_s {
  char name[32];
  leat_rpc_server_t* server;  // NULL: nobody listens
  int life;                   // how often it was killed
  bool is_cut;
  uint64_t sent[MAX_METHODS];  // calls of it, by a hash of the other host and the method
} host_t;

struct leat_rpc_server_s {
  host_t* host;
  leat_rpc_handler_fn_t handler;
  void* data;
  leat_rpc_call_t* requests;  // a list of those that are not answered
  int busy;                   // these, and handlers that run
};

struct leat_rpc_channel_s {
  leat_rpc_channel_t* next;
  host_t *owner, *target;
  leat_rpc_call_t* calls;  // a list of those that have not ended
  int ending;              // |done| functions that have not returned
};

struct leat_rpc_call_s {
  leat_rpc_request_t request;  // at offset 0: what the handler is given
  int references;
  uint64_t word;               // its own, from the seed: the delays of its messages
  leat_rpc_call_t* next;       // of the channel
  leat_rpc_channel_t* channel;
  host_t *owner, *target;
  int owner_life, target_life;
  bool waits, is_patient, has_ended;
  leat_rpc_done_fn_t done;
  void* data;
  leat_rpc_piece_t piece;      // the bytes of the request, then of the answer
  // At the server.
  leat_rpc_server_t* server;   // that serves it; NULL once it is answered
  leat_rpc_call_t* next_request;
  bool is_cancelled;
  void (*on_cancel)(void* data);
  void* cancel_data;
  long canceller;              // the thread that runs |on_cancel|; 0: none
  // The end.
  int code;
  char *message, *details;
  size_t details_size;
};

// What waits until a host is cut off no more.
typedef struct held_s {
  struct held_s* next;
  void (*fn)(void* data);
  void* data;
} held_t;

enum { REQUEST = 1, REPLY, CANCELLATION, LOSS };  // of the messages of a call

static const leat_rpc_host_t* library;
// All under the lock of the simulation.
static host_t hosts[MAX_HOSTS];
static int host_count;
static host_t* owner;
static leat_rpc_channel_t* channels;
static int call_count;  // that are not freed
static held_t *first_held, **last_held = &first_held;
static uint64_t seed, trace, drawn;

static uint64_t mix(uint64_t a, uint64_t b) { return leat_hash_mix(a, b); }

static host_t* find_host(const char* name) {
  for (int i = 0; i < host_count; ++i) {
    if (!strcmp(hosts[i].name, name)) return &hosts[i];
  }
  assert_true(host_count < MAX_HOSTS);
  snprintf(hosts[host_count].name, sizeof hosts->name, "%s", name);
  return &hosts[host_count++];
}

// ---- Events -------------------------------------------------------------------------------------

// Something that happens within a host, at once.
static void add_now(void (*fn)(void* data), void* data) { simulated_add(0, 0, fn, data); }

// A message of a call, from one host to the other: it takes milliseconds, and now and then seconds.
static void add_message(leat_rpc_call_t* call, uint64_t kind, void (*fn)(void* data)) {
  const uint64_t word = mix(call->word, kind);
  const int64_t delay_ms = word % 16 ? 1 + (int64_t)(word >> 8) % 20 : (int64_t)(word >> 8) % 3000;
  ++call->references;
  simulated_add(delay_ms, word, fn, call);
}

// ---- Calls --------------------------------------------------------------------------------------

static void release_call(leat_rpc_call_t* call) {
  if (--call->references > 0) return;
  --call_count;
  free((char*)call->piece.data);
  free(call->message);
  free(call->details);
  free(call);
}

static char* copy_bytes(leat_rpc_bytes_t bytes, size_t* out_size) {
  *out_size = leat_rpc_bytes_size(bytes);
  char* copy = malloc(*out_size + 1);
  char* end = copy;
  for (size_t i = 0; i < bytes.count; ++i) {
    const leat_rpc_piece_t* piece = &bytes.pieces[i];
    if (piece->size) memcpy(end, piece->data, piece->size);
    end += piece->size;
    if (piece->release) piece->release(piece->owner);
  }
  return copy;
}

static void take_out(leat_rpc_call_t* call) {
  leat_rpc_call_t** place = &call->channel->calls;
  while (*place != call) place = &(*place)->next;
  *place = call->next;
  call->has_ended = true;
}

static void finish_call(void* data) {
  leat_rpc_call_t* call = data;
  library->finish(call->done, call->data, call->code, leat_string_view_from(call->message),
                  leat_string_view_make(call->details, call->details_size),
                  (leat_rpc_bytes_t){&call->piece, call->code == LEAT_OK});
  simulated_lock();
  --call->channel->ending;
  simulated_notify();
  release_call(call);
  simulated_unlock();
}

static void start_finish(void* call) { simulated_spawn(finish_call, call); }

// Ends a call that has not ended. The bytes of the answer, if any, are in |piece|.
static void end_call(leat_rpc_call_t* call, int code, const char* message) {
  take_out(call);
  ++call->channel->ending;
  call->code = code;
  free(call->message);
  call->message = strdup(message);
  add_now(start_finish, call);
}

// ---- Cancellation at the server -----------------------------------------------------------------

static void run_on_cancel(void* data) {
  leat_rpc_call_t* call = data;
  simulated_lock();
  void (*fn)(void* data) = call->server ? call->on_cancel : NULL;
  void* fn_data = call->cancel_data;
  call->on_cancel = NULL;
  call->canceller = fn ? syscall(SYS_gettid) : 0;
  simulated_unlock();
  if (fn) fn(fn_data);
  simulated_lock();
  call->canceller = 0;
  simulated_notify();
  release_call(call);
  simulated_unlock();
}

// The server hears that nobody wants the answer any more.
static void cancel_request(void* data) {
  leat_rpc_call_t* call = data;
  if (!call->server || call->is_cancelled) {
    release_call(call);
    return;
  }
  call->is_cancelled = true;
  simulated_spawn(run_on_cancel, call);
}

static void tell_of_cancellation(leat_rpc_call_t* call) {
  add_message(call, CANCELLATION, cancel_request);
}

static void give_up(leat_rpc_call_t* call, int code, const char* message) {
  end_call(call, code, message);
  tell_of_cancellation(call);
}

static void wait_for_canceller(leat_rpc_call_t* call) {
  const long self = syscall(SYS_gettid);
  while (call->canceller && call->canceller != self) simulated_wait();
}

static void request_on_cancel(leat_rpc_request_t* request, void (*fn)(void* data), void* data) {
  leat_rpc_call_t* call = (leat_rpc_call_t*)request;
  simulated_lock();
  wait_for_canceller(call);
  const bool is_late = call->is_cancelled && fn;
  call->on_cancel = is_late ? NULL : fn;
  call->cancel_data = data;
  simulated_unlock();
  if (is_late) fn(data);
}

// ---- Messages -----------------------------------------------------------------------------------

// Whether what was on its way is held, since one of the two is cut off.
static bool is_held(leat_rpc_call_t* call, void (*fn)(void* data)) {
  if (!call->owner->is_cut && !call->target->is_cut) return false;
  held_t* held = malloc(sizeof *held);
  *held = (held_t){.fn = fn, .data = call};
  *last_held = held;
  last_held = &held->next;
  return true;
}

static bool is_of_a_dead_host(const leat_rpc_call_t* call) {
  return call->owner->life != call->owner_life || call->target->life != call->target_life;
}

static void note(const leat_rpc_call_t* call, int what) {
  trace = mix(trace, (uint64_t)(simulated_now_ms() * 8 + what));
  for (const char* c = call->request.method.data; *c; ++c) trace = mix(trace, (uint8_t)*c);
}

static void handle_request(void* data) {
  leat_rpc_call_t* call = data;
  leat_rpc_server_t* server = call->server;  // which waits for this thread before it ends
  server->handler(server->data, &call->request);
  simulated_lock();
  --server->busy;
  simulated_notify();
  simulated_unlock();
}

static void arrive(void* data) {
  leat_rpc_call_t* call = data;
  if (!call->has_ended && is_held(call, arrive)) return;
  leat_rpc_server_t* server = call->target->server;
  const bool is_there = server && !is_of_a_dead_host(call);
  if (!call->has_ended && !is_there && call->waits) {
    call->target_life = call->target->life;
    simulated_add(1000, 1, arrive, call);
    return;
  }
  note(call, 1);
  if (!call->has_ended && !is_there) {
    end_call(call, LEAT_UNAVAILABLE, "Connection refused");
  } else if (!call->has_ended) {
    call->server = server;
    call->next_request = server->requests;
    server->requests = call;
    server->busy += 2;
    ++call->references;
    simulated_spawn(handle_request, call);
  }
  release_call(call);
}

static void reply(void* data) {
  leat_rpc_call_t* call = data;
  if (!call->has_ended && !is_of_a_dead_host(call) && is_held(call, reply)) return;
  note(call, 2);
  if (!call->has_ended && !is_of_a_dead_host(call)) {
    char* message = call->message;
    call->message = NULL;
    end_call(call, call->code, message);
    free(message);
  }
  release_call(call);
}

static void answer(leat_rpc_request_t* request, int code, leat_string_view_t message,
                   leat_string_view_t details, leat_rpc_bytes_t bytes) {
  leat_rpc_call_t* call = (leat_rpc_call_t*)request;
  size_t size;
  char* copy = copy_bytes(bytes, &size);
  simulated_lock();
  wait_for_canceller(call);
  leat_rpc_server_t* server = call->server;
  leat_rpc_call_t** place = &server->requests;
  while (*place != call) place = &(*place)->next_request;
  *place = call->next_request;
  call->server = NULL;
  if (!call->has_ended) {
    free((char*)call->piece.data);
    call->piece = (leat_rpc_piece_t){.data = copy, .size = size};
    copy = NULL;
    call->code = code;
    call->message = strndup(message.data ? message.data : "", message.size);
    call->details = malloc(details.size + 1);
    if (details.size) memcpy(call->details, details.data, details.size);
    call->details_size = details.size;
    add_message(call, REPLY, reply);
  }
  release_call(call);
  --server->busy;
  simulated_notify();
  simulated_unlock();
  free(copy);
}

static void expire(void* data) {
  leat_rpc_call_t* call = data;
  if (!call->has_ended) give_up(call, LEAT_DEADLINE_EXCEEDED, "Deadline Exceeded");
  release_call(call);
}

// ---- Channels -----------------------------------------------------------------------------------

static int channel_create(const char* address, const leat_rpc_credentials_t* credentials,
                          leat_rpc_channel_t** out_channel) {
  leat_rpc_channel_t* channel = calloc(1, sizeof *channel);
  simulated_lock();
  channel->owner = owner;
  channel->target = find_host(address);
  channel->next = channels;
  channels = channel;
  simulated_unlock();
  *out_channel = channel;
  return LEAT_OK;
}

// The n-th call of a method on a way has the same number in each life of the same seed.
static uint64_t draw_word(leat_rpc_call_t* call) {
  uint64_t word = mix(seed, (uint64_t)(call->target - hosts));
  for (const char* c = call->request.method.data; *c; ++c) word = mix(word, (uint8_t)*c);
  return mix(word, call->owner->sent[word % MAX_METHODS]++);
}

static void make_call(leat_rpc_channel_t* channel, const leat_rpc_call_options_t* options,
                      leat_rpc_done_fn_t done, void* data, leat_rpc_call_t** out_call) {
  leat_rpc_call_t* call = calloc(1, sizeof *call);
  call->piece.data = copy_bytes(options->bytes, &call->piece.size);
  call->request = (leat_rpc_request_t){.method = leat_string_view_from(options->method),
                                       .bytes = {&call->piece, 1},
                                       .deadline_ns = LEAT_DEADLINE_NEVER,
                                       .peer = LEAT_SV("simulated")};
  call->references = 1 + (out_call != NULL);
  call->channel = channel;
  call->done = done;
  call->data = data;
  call->waits = options->waits;
  call->is_patient = options->is_patient;
  if (out_call) *out_call = call;
  simulated_lock();
  call->owner = channel->owner;
  call->target = channel->target;
  call->owner_life = call->owner->life;
  call->target_life = call->target->life;
  call->next = channel->calls;
  channel->calls = call;
  ++call_count;
  call->word = draw_word(call);
  add_message(call, REQUEST, arrive);
  if (options->deadline_ns != LEAT_DEADLINE_NEVER) {
    // Rounded, so that the time which the machine took to come here does not matter.
    const int64_t left_ms = (options->deadline_ns - library->now_ns()) / 1000000;
    ++call->references;
    simulated_add((left_ms / 1000 + 1) * 1000, 2, expire, call);
  }
  simulated_unlock();
}

static void cancel(leat_rpc_call_t* call) {
  simulated_lock();
  if (!call->has_ended) give_up(call, LEAT_CANCELLED, "Cancelled");
  simulated_unlock();
}

static void call_free(leat_rpc_call_t* call) {
  simulated_lock();
  release_call(call);
  simulated_unlock();
}

static bool channel_is_busy(leat_rpc_channel_t* channel) {
  bool is_busy = false;
  simulated_lock();
  for (leat_rpc_call_t* c = channel->calls; c; c = c->next) is_busy |= !c->waits && !c->is_patient;
  simulated_unlock();
  return is_busy;
}

// Ends the calls of the channel, those that wait for a server only with |all|.
static void give_up_calls(leat_rpc_channel_t* channel, bool all, int code, const char* message) {
  for (leat_rpc_call_t *c = channel->calls, *next; c; c = next) {
    next = c->next;
    if (all || !c->waits) give_up(c, code, message);
  }
}

static void channel_fail(leat_rpc_channel_t* channel, int code, const char* message) {
  simulated_lock();
  give_up_calls(channel, false, code, message);
  simulated_unlock();
}

static void channel_free(leat_rpc_channel_t* channel) {
  simulated_lock();
  give_up_calls(channel, true, LEAT_CANCELLED, "Cancelled");
  while (channel->ending > 0) simulated_wait();
  leat_rpc_channel_t** place = &channels;
  while (*place != channel) place = &(*place)->next;
  *place = channel->next;
  simulated_unlock();
  free(channel);
}

// ---- Servers ------------------------------------------------------------------------------------

static int server_start(const leat_rpc_server_settings_t* settings, int* out_port,
                        leat_rpc_server_t** out_server) {
  leat_rpc_server_t* server = calloc(1, sizeof *server);
  *server = (leat_rpc_server_t){.handler = settings->handler, .data = settings->data};
  simulated_lock();
  server->host = find_host(settings->address);
  server->host->server = server;
  simulated_unlock();
  *out_port = atoi(strrchr(settings->address, ':') + 1);
  *out_server = server;
  return LEAT_OK;
}

static void server_stop(leat_rpc_server_t* server) {
  simulated_lock();
  if (server->host->server == server) server->host->server = NULL;
  for (leat_rpc_call_t* call = server->requests; call; call = call->next_request) {
    ++call->references;
    add_now(cancel_request, call);
  }
  while (server->busy > 0) simulated_wait();
  simulated_unlock();
  free(server);
}

static void initialize(const leat_rpc_host_t* host) { library = host; }

static const leat_rpc_module_t engine = {.struct_size = sizeof engine,
                                         .version = "simulated",
                                         .initialize = initialize,
                                         .server_start = server_start,
                                         .server_stop = server_stop,
                                         .answer = answer,
                                         .request_on_cancel = request_on_cancel,
                                         .channel_create = channel_create,
                                         .channel_free = channel_free,
                                         .call = make_call,
                                         .cancel = cancel,
                                         .call_free = call_free,
                                         .channel_is_busy = channel_is_busy,
                                         .channel_fail = channel_fail};

// ---- What tests do ------------------------------------------------------------------------------

void simulated_begin(uint64_t new_seed) {
  leat_rpc_use_module(&engine);
  simulated_time_begin();
  simulated_lock();
  assert_null(channels);
  assert_int_equal(call_count, 0);
  memset(hosts, 0, sizeof hosts);
  host_count = 0;
  owner = find_host("");
  seed = new_seed;
  trace = drawn = 0;
  simulated_unlock();
}

void simulated_set_owner(const char* host) {
  simulated_lock();
  owner = find_host(host);
  simulated_unlock();
}

uint32_t simulated_draw(uint32_t bound) {
  simulated_lock();
  const uint64_t word = mix(mix(seed, UINT64_MAX), drawn++);
  simulated_unlock();
  return (uint32_t)(word >> 16) % bound;
}

void simulated_cut(const char* host, bool is_cut) {
  simulated_lock();
  find_host(host)->is_cut = is_cut;
  // All is looked at again; what another cut still holds is held again.
  for (uint64_t i = 0; !is_cut && first_held; ++i) {
    held_t* held = first_held;
    first_held = held->next;
    if (!first_held) last_held = &first_held;
    simulated_add(0, i, held->fn, held->data);
    free(held);
  }
  simulated_unlock();
}

// The connection to a host that was killed is gone, as the caller finds out.
static void lose_connection(void* data) {
  leat_rpc_call_t* call = data;
  if (!call->has_ended && is_held(call, lose_connection)) return;
  if (!call->has_ended) end_call(call, LEAT_UNAVAILABLE, "Socket closed");
  release_call(call);
}

void simulated_kill(const char* name) {
  simulated_lock();
  host_t* host = find_host(name);
  ++host->life;
  host->server = NULL;
  for (leat_rpc_channel_t* channel = channels; channel; channel = channel->next) {
    if (channel->owner == host) give_up_calls(channel, true, LEAT_CANCELLED, "Cancelled");
    if (channel->target != host) continue;
    for (leat_rpc_call_t* call = channel->calls; call; call = call->next) {
      add_message(call, LOSS, lose_connection);
    }
  }
  simulated_unlock();
}

uint64_t simulated_trace(void) {
  simulated_lock();
  const uint64_t so_far = trace;
  simulated_unlock();
  return so_far;
}
