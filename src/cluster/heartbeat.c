// One thread beats for all tasks. At each beat it asks those tasks that have calls under way, or
// were lost, and goes back to sleep; the answers come on threads of the engine (cluster/rpc.h).
// Each question has one interval to be answered, so no task is ever asked twice at a time.
//
// A question is itself a call on the channel that it is about. When it fails, its end is under way
// while the other calls are failed, which is harmless, since it has its own end by then.
#include "cluster/heartbeat.h"

#include "base/clock.h"
#include "base/sync.h"
#include "base/thread.h"

typedef struct peer_s {
  leat_heartbeat_t* heartbeat;
  int number;
  leat_rpc_channel_t* channel;  // NULL: nobody has called this task yet
  bool is_asked;                // a question is under way
  bool is_lost;
  int expected;                 // how many expect something of it without a call
} peer_t;

struct leat_heartbeat_s {
  leat_heartbeat_options_t options;
  leat_thread_t thread;
  leat_mutex_t mutex;  // guards what follows, and the peers
  leat_condition_t changed;
  bool is_started, is_stopping;
  peer_t peers[];  // by task
};

// Whether |status| says that nobody is there, and not that somebody refused.
static bool tells_of_silence(leat_status_t status) {
  const leat_status_code_t code = leat_status_code(status);
  return code == LEAT_UNAVAILABLE || code == LEAT_DEADLINE_EXCEEDED;
}

static leat_status_t silence(const peer_t* peer) {
  const leat_heartbeat_options_t* options = &peer->heartbeat->options;
  const leat_cluster_task_t* task = &options->spec->tasks[peer->number];
  return leat_make_status(LEAT_UNAVAILABLE,
                          "Task %.*s at %.*s is silent: it did not answer a heartbeat within %lld "
                          "ms. Its process is stopped or its host or network is down",
                          LEAT_SV_ARG(task->name), LEAT_SV_ARG(task->address),
                          (long long)options->interval_ms);
}

// A leat_rpc_done_fn_t: the answer to a question.
static void answered(void* data, leat_status_t status, leat_string_view_t details,
                     leat_rpc_bytes_t answer) {
  peer_t* peer = data;
  leat_heartbeat_t* heartbeat = peer->heartbeat;
  const bool is_lost = tells_of_silence(status);
  leat_mutex_lock(&heartbeat->mutex);
  const bool has_changed = is_lost != peer->is_lost && !heartbeat->is_stopping;
  const bool is_missed = is_lost && peer->expected > 0 && !heartbeat->is_stopping;
  peer->is_lost = is_lost;
  peer->is_asked = false;
  leat_mutex_unlock(&heartbeat->mutex);
  leat_status_free(status);
  if (is_lost) leat_rpc_channel_fail(peer->channel, silence(peer));
  if (has_changed) heartbeat->options.tell(heartbeat->options.data, peer->number, is_lost);
  if (is_missed) heartbeat->options.miss(heartbeat->options.data, peer->number, silence(peer));
}

static void ask(peer_t* peer) {
  const leat_rpc_call_options_t options = {
      .method = "/tensorflow.WorkerService/GetStatus",
      .deadline_ns = leat_clock_deadline_after_ms(peer->heartbeat->options.interval_ms)};
  leat_rpc_call(peer->channel, &options, answered, peer, NULL);
}

// Marks the task as asked if it is to be.
static bool is_to_be_asked(leat_heartbeat_t* heartbeat, peer_t* peer) {
  leat_mutex_lock(&heartbeat->mutex);
  const bool asks = peer->channel && !peer->is_asked && !heartbeat->is_stopping &&
                    (peer->is_lost || peer->expected > 0 ||
                     leat_rpc_channel_is_busy(peer->channel));
  if (asks) peer->is_asked = true;
  leat_mutex_unlock(&heartbeat->mutex);
  return asks;
}

void leat_heartbeat_beat(leat_heartbeat_t* heartbeat, int64_t now_ns) {
  for (int i = 0; heartbeat->options.asks && i < heartbeat->options.spec->task_count; ++i) {
    peer_t* peer = &heartbeat->peers[i];
    if (is_to_be_asked(heartbeat, peer)) ask(peer);
  }
  heartbeat->options.each_beat(heartbeat->options.data, now_ns);
}

static void run(void* data) {
  leat_heartbeat_t* heartbeat = data;
  leat_mutex_lock(&heartbeat->mutex);
  while (!heartbeat->is_stopping) {
    const int64_t deadline_ns = leat_clock_deadline_after_ms(heartbeat->options.interval_ms);
    while (!heartbeat->is_stopping &&
           leat_condition_wait_until(&heartbeat->changed, &heartbeat->mutex, deadline_ns)) {
    }
    if (heartbeat->is_stopping) break;
    leat_mutex_unlock(&heartbeat->mutex);
    leat_heartbeat_beat(heartbeat, leat_clock_now_ns());
    leat_mutex_lock(&heartbeat->mutex);
  }
  leat_mutex_unlock(&heartbeat->mutex);
}

// ---- Life ---------------------------------------------------------------------------------------

leat_status_t leat_heartbeat_create(const leat_heartbeat_options_t* options,
                                    leat_heartbeat_t** out_heartbeat) {
  leat_heartbeat_t* heartbeat;
  const size_t count = (size_t)options->spec->task_count;
  LEAT_DCHECK(options->interval_ms > 0);
  LEAT_RETURN_IF_ERROR(leat_allocator_allocate(
      options->allocator, sizeof *heartbeat + count * sizeof(peer_t), (void**)&heartbeat));
  heartbeat->options = *options;
  leat_mutex_initialize(&heartbeat->mutex);
  leat_condition_initialize(&heartbeat->changed);
  for (size_t i = 0; i < count; ++i) {
    heartbeat->peers[i] = (peer_t){.heartbeat = heartbeat, .number = (int)i};
  }
  *out_heartbeat = heartbeat;
  return leat_ok_status();
}

leat_status_t leat_heartbeat_start(leat_heartbeat_t* heartbeat) {
  leat_mutex_lock(&heartbeat->mutex);
  leat_status_t status = leat_ok_status();
  if (!heartbeat->is_started) {
    status = leat_thread_start("leat-heartbeat", run, heartbeat, &heartbeat->thread);
    heartbeat->is_started = !status;
  }
  leat_mutex_unlock(&heartbeat->mutex);
  return status;
}

void leat_heartbeat_watch(leat_heartbeat_t* heartbeat, int number, leat_rpc_channel_t* channel) {
  leat_mutex_lock(&heartbeat->mutex);
  heartbeat->peers[number].channel = channel;
  leat_mutex_unlock(&heartbeat->mutex);
}

void leat_heartbeat_expect(leat_heartbeat_t* heartbeat, int number, int change) {
  leat_mutex_lock(&heartbeat->mutex);
  heartbeat->peers[number].expected += change;
  LEAT_DCHECK(heartbeat->peers[number].expected >= 0);
  leat_mutex_unlock(&heartbeat->mutex);
}

void leat_heartbeat_stop(leat_heartbeat_t* heartbeat) {
  if (!heartbeat) return;
  leat_mutex_lock(&heartbeat->mutex);
  const bool joins = heartbeat->is_started && !heartbeat->is_stopping;
  heartbeat->is_stopping = true;
  leat_condition_notify_all(&heartbeat->changed);
  leat_mutex_unlock(&heartbeat->mutex);
  if (joins) leat_thread_join(heartbeat->thread);
}

void leat_heartbeat_free(leat_heartbeat_t* heartbeat) {
  if (!heartbeat) return;
  leat_heartbeat_stop(heartbeat);
  leat_condition_deinitialize(&heartbeat->changed);
  leat_mutex_deinitialize(&heartbeat->mutex);
  leat_allocator_free(heartbeat->options.allocator, heartbeat);
}
