// A call under way is an exchange, a resource that whoever may still touch it holds: the try that
// is under way or waits for its pause, and the alarm's thread. It is in one of three states, which
// its mutex guards:
//
//   a try is under way:  |is_under_way|; its end, |answered|, goes on
//   a pause:             |wakes_ns| is set; the alarm goes on, or the cancellation ends the
//   exchange on its way between the two: whoever is there looks at |is_cancelled| before it leaves
//
// So exactly one party goes on at each moment, and |end| runs once. A cancellation never calls
// anything of the carrier with the mutex held, because a carrier may call |answered| at once.
#include "ops/dataset/data_service_call_cpu.h"

#include <string.h>

#include "base/checked.h"
#include "base/log.h"
#include "base/random.h"
#include "base/string_builder.h"
#include "formats/generated/data_service.h"
#include "formats/wire/decode.h"
#include "formats/wire/encode.h"
#include "ops/queue/alarm_cpu.h"

// Of the protocol; every dispatcher of TensorFlow since 2.9 has it.
enum { SERVICE_VERSION = 9 };
#define FIRST_PAUSE_NS INT64_C(50000000)
#define LONGEST_PAUSE_NS INT64_C(10000000000)
#define TOLD_PAUSE_NS INT64_C(100000000)

// ---- Peers --------------------------------------------------------------------------------------

struct leat_service_peer_s {
  leat_reference_count_t references;
  leat_remote_way_t* way;
  _Atomic(bool) is_known;  // no question for the version is needed, or it was answered
  char address[];
};

leat_status_t leat_service_peer_create(leat_string_view_t address, bool is_dispatcher,
                                       leat_service_peer_t** out_peer) {
  leat_service_peer_t* peer;
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(leat_allocator_system(),
                                               sizeof *peer + address.size + 1, (void**)&peer));
  peer->references = 1;
  peer->is_known = !is_dispatcher;
  if (address.size) memcpy(peer->address, address.data, address.size);
  leat_status_t status = leat_remote_open(address, &peer->way);
  if (status) {
    leat_allocator_free(leat_allocator_system(), peer);
    return status;
  }
  *out_peer = peer;
  return leat_ok_status();
}

void leat_service_peer_retain(leat_service_peer_t* peer) {
  leat_reference_count_retain(&peer->references);
}

void leat_service_peer_release(leat_service_peer_t* peer) {
  if (!peer || !leat_reference_count_release(&peer->references)) return;
  leat_remote_close(peer->way);
  leat_allocator_free(leat_allocator_system(), peer);
}

// ---- Pauses -------------------------------------------------------------------------------------

bool leat_service_failure_may_pass(leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  return code == LEAT_UNAVAILABLE || code == LEAT_ABORTED || code == LEAT_CANCELLED;
}

int64_t leat_service_pause_ns(int failures) {
  int64_t pause_ns = FIRST_PAUSE_NS;
  for (int i = 1; i < failures && pause_ns < LONGEST_PAUSE_NS; ++i) pause_ns += pause_ns / 10 * 3;
  if (pause_ns > LONGEST_PAUSE_NS) pause_ns = LONGEST_PAUSE_NS;
  const int64_t chance = (int64_t)(leat_random_seed() % 1024);
  return pause_ns - pause_ns / 4096 * chance;
}

// ---- Exchanges ----------------------------------------------------------------------------------

typedef struct exchange_s {
  leat_resource_t resource;
  leat_service_request_t call;  // the peer and the cancellation are retained
  leat_string_builder_t request;
  leat_mutex_t mutex;
  leat_alarm_t alarm;  // with |mutex|
  uint64_t token;      // in the cancellation
  // Of whoever goes on.
  bool is_registered;
  bool asks_version;
  int failures;
  // Guarded by |mutex|.
  leat_remote_call_t* remote;  // of the try under way, once it is known
  int tries;
  bool is_under_way;
  bool is_cancelled;
  int64_t wakes_ns;  // the end of the pause; LEAT_DEADLINE_NEVER: there is none
} exchange_t;

static void exchange_destroy(leat_resource_t* resource) {
  exchange_t* exchange = (exchange_t*)resource;
  leat_alarm_deinitialize(&exchange->alarm);
  leat_mutex_deinitialize(&exchange->mutex);
  leat_string_builder_deinitialize(&exchange->request);
  leat_cancellation_release(exchange->call.cancellation);
  leat_service_peer_release(exchange->call.peer);
  leat_allocator_free(leat_allocator_system(), exchange);
}

static const leat_resource_kind_t kExchange = {.name = "DataServiceCall",
                                               .destroy = exchange_destroy};

// The exchange is over, and nobody else goes on with it.
static void end(exchange_t* exchange, leat_status_t status, leat_string_view_t answer) {
  const leat_service_request_t* call = &exchange->call;
  if (exchange->is_registered) leat_cancellation_deregister(call->cancellation, exchange->token);
  if (exchange->asks_version) {
    status = leat_status_annotate(status,
                                  "Failed to get dispatcher version from dispatcher running at %s",
                                  call->peer->address);
  } else {
    status = leat_status_annotate(status, "%s", call->method->failure);
  }
  call->done(call->data, status, answer);
  leat_resource_release(&exchange->resource);
}

static leat_status_t cancelled(void) {
  return leat_make_status(LEAT_CANCELLED, "the call was cancelled");
}

static void answered(void* data, leat_status_t status, leat_string_view_t answer);

static const leat_service_question_t kGetVersion = {
    .path = "/tensorflow.data.DispatcherService/GetVersion"};

// Makes a try. A cancellation that came before the try's handle was known left it to this function.
static void try_now(exchange_t* exchange) {
  leat_service_peer_t* peer = exchange->call.peer;
  exchange->asks_version = !atomic_load_explicit(&peer->is_known, memory_order_relaxed);
  const leat_remote_request_t request = {
      .method = (exchange->asks_version ? &kGetVersion : exchange->call.method)->path,
      .bytes = exchange->asks_version ? LEAT_SV("") : leat_string_builder_view(&exchange->request),
      .deadline_ns = exchange->call.deadline_ns ? exchange->call.deadline_ns : LEAT_DEADLINE_NEVER};
  leat_remote_call_t* remote;
  leat_resource_retain(&exchange->resource);
  leat_mutex_lock(&exchange->mutex);
  const int number = ++exchange->tries;
  exchange->is_under_way = true;
  leat_mutex_unlock(&exchange->mutex);
  leat_remote_call(peer->way, &request, answered, exchange, &remote);
  leat_mutex_lock(&exchange->mutex);
  const bool goes_on = exchange->is_under_way && exchange->tries == number;
  const bool is_cancelled = exchange->is_cancelled;
  if (goes_on && !is_cancelled) {
    exchange->remote = remote;
    remote = NULL;
  }
  leat_mutex_unlock(&exchange->mutex);
  if (goes_on && is_cancelled) leat_remote_cancel(remote);
  leat_remote_call_free(remote);
  leat_resource_release(&exchange->resource);
}

// The alarm's callback: the pause is over.
static int64_t ring(leat_resource_t* owner) {
  exchange_t* exchange = (exchange_t*)owner;
  if (exchange->wakes_ns > leat_clock_now_ns()) return exchange->wakes_ns;
  exchange->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_mutex_unlock(&exchange->mutex);
  try_now(exchange);
  leat_mutex_lock(&exchange->mutex);
  return exchange->wakes_ns;
}

// Begins the pause after a failure, or ends the exchange with it.
static void pause_or_end(exchange_t* exchange, leat_status_t status) {
  const int64_t now_ns = leat_clock_now_ns();
  const int64_t pause_ns = leat_service_pause_ns(++exchange->failures);
  const int64_t gives_up_ns = exchange->call.gives_up_ns;
  if (!leat_service_failure_may_pass(status) || now_ns >= gives_up_ns) {
    end(exchange, status, LEAT_SV(""));
    return;
  }
  if (pause_ns > TOLD_PAUSE_NS) {
    leat_log(LEAT_LOG_INFO, "Calling %s of %s failed, and is tried again in %lld ms: %s",
             exchange->call.method->path, exchange->call.peer->address,
             (long long)(pause_ns / 1000000), leat_status_message(status));
  }
  leat_mutex_lock(&exchange->mutex);
  leat_status_t failure = exchange->is_cancelled ? cancelled() : leat_ok_status();
  if (!failure) {
    exchange->wakes_ns = LEAT_MIN(now_ns + pause_ns, gives_up_ns);
    failure = leat_alarm_set(&exchange->alarm, exchange->wakes_ns);
    if (failure) exchange->wakes_ns = LEAT_DEADLINE_NEVER;
  }
  leat_mutex_unlock(&exchange->mutex);
  leat_status_free(status);
  if (failure) end(exchange, failure, LEAT_SV(""));
}

static leat_status_t check_version(leat_string_view_t answer) {
  leat_pb_get_version_response_t response;
  leat_arena_t arena;
  leat_arena_initialize(leat_allocator_system(), 256, &arena);
  leat_status_t status = leat_message_decode(&leat_pb_get_version_response_descriptor, answer,
                                             &arena, NULL, &response);
  if (!status && response.version != SERVICE_VERSION) {
    status = leat_make_status(LEAT_FAILED_PRECONDITION,
                              "Version mismatch with tf.data service server. The server is running "
                              "version %lld, while the client is running version %d",
                              (long long)response.version, SERVICE_VERSION);
  }
  leat_arena_deinitialize(&arena);
  return status;
}

// The end of a try.
static void answered(void* data, leat_status_t status, leat_string_view_t answer) {
  exchange_t* exchange = data;
  leat_mutex_lock(&exchange->mutex);
  leat_remote_call_t* remote = exchange->remote;
  exchange->remote = NULL;
  exchange->is_under_way = false;
  const bool is_cancelled = exchange->is_cancelled;
  leat_mutex_unlock(&exchange->mutex);
  leat_remote_call_free(remote);
  if (status && is_cancelled) {
    end(exchange, status, LEAT_SV(""));
  } else if (status) {
    pause_or_end(exchange, status);
  } else if (!exchange->asks_version) {
    end(exchange, status, answer);
  } else {
    status = check_version(answer);
    if (status) {
      end(exchange, status, LEAT_SV(""));
      return;
    }
    atomic_store_explicit(&exchange->call.peer->is_known, true, memory_order_relaxed);
    try_now(exchange);
  }
}

// The callback of the cancellation.
static void on_cancel(void* data) {
  exchange_t* exchange = data;
  leat_mutex_lock(&exchange->mutex);
  leat_remote_call_t* remote = exchange->remote;
  const bool pauses = exchange->wakes_ns != LEAT_DEADLINE_NEVER;
  exchange->remote = NULL;
  exchange->is_cancelled = true;
  exchange->wakes_ns = LEAT_DEADLINE_NEVER;
  if (pauses) leat_alarm_look(&exchange->alarm);
  leat_mutex_unlock(&exchange->mutex);
  leat_remote_cancel(remote);
  leat_remote_call_free(remote);
  if (pauses) end(exchange, cancelled(), LEAT_SV(""));
}

static leat_status_t create(const leat_service_request_t* call, exchange_t** out_exchange) {
  exchange_t* exchange;
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &exchange));
  exchange->resource = (leat_resource_t){.kind = &kExchange, .references = 1};
  exchange->call = *call;
  exchange->wakes_ns = LEAT_DEADLINE_NEVER;
  leat_service_peer_retain(call->peer);
  if (call->cancellation) leat_cancellation_retain(call->cancellation);
  leat_string_builder_initialize(leat_allocator_system(), &exchange->request);
  leat_mutex_initialize(&exchange->mutex);
  leat_alarm_initialize(&exchange->resource, &exchange->mutex, ring, &exchange->alarm);
  *out_exchange = exchange;
  if (!call->method->request) return leat_ok_status();
  return leat_message_encode(call->method->request, call->request, &exchange->request);
}

void leat_service_call(const leat_service_request_t* call) {
  exchange_t* exchange = NULL;
  leat_status_t status = create(call, &exchange);
  if (!status) status = leat_status_clone(exchange->request.status);
  if (!status && call->cancellation) {
    exchange->is_registered =
        leat_cancellation_register(call->cancellation, on_cancel, exchange, &exchange->token);
    if (!exchange->is_registered) status = cancelled();
  }
  if (!status) {
    try_now(exchange);
  } else if (exchange) {
    end(exchange, status, LEAT_SV(""));
  } else {
    call->done(call->data, status, LEAT_SV(""));
  }
}
