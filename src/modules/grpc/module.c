// The gRPC module's table of functions, and what channels (client.c) and servers (server.c) of the
// C core have in common: their settings and their deadlines. cluster/rpc.c opens
// leat_module_grpc.so when it first needs it and finds the one exported symbol, leat_module_grpc; a
// static program cannot open a library, so deploy/image/main.c links the module and gives its table
// to cluster/rpc.c. The C core lies behind this table because the library must start, and work
// within one process, on a machine that does not have it.
//
// Channels and servers begin with the same settings, since both ends of a connection must agree
// about some of them: a client that pings more often than its server allows loses the connection.
// The limit of received messages is the first setting, because server.c overwrites that entry where
// its caller states a limit. A deadline crosses the boundary as the time that is left, since the
// clocks of Leat and of the C core need not start alike. "Never" has a value of its own on either
// side. A deadline that has passed becomes the infinite past, because the C core rounds up to a
// millisecond in which the call might still succeed.
#include <grpc/support/time.h>

#include "modules/grpc/engine.h"

grpc_arg rpc_integer_argument(const char* key, int value) {
  return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = (char*)key, .value.integer = value};
}

size_t rpc_shared_arguments(grpc_arg* room) {
  static const struct {
    const char* key;
    int value;
  } kArguments[] = {
      {GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1},  // first: a server may limit it
      {GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1},
      {GRPC_ARG_ENABLE_RETRIES, 0},
      // What each call would pay for and nobody uses: statistics, compression of what is sent
      // (what a peer compressed is still understood), and the timer that closes idle connections.
      {GRPC_ARG_ENABLE_CHANNELZ, 0},
      {GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0},
      {GRPC_ARG_CLIENT_IDLE_TIMEOUT_MS, INT32_MAX},
      // Large tensors: larger frames, of which a small message then waits for one at most, and more
      // bytes on their way before the receiver must ask for more.
      {GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 1 << 20},
      {GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20},
      // A peer that is gone without a word is noticed after half a minute, unless the connection
      // was silent for longer: a client sends two pings in silence and then none until it has sent
      // something else. More would break calls to servers that are not ours, TensorFlow's among
      // them, which close a connection at the third ping of a silence (ENHANCE_YOUR_CALM).
      {GRPC_ARG_KEEPALIVE_TIME_MS, 20000},
      {GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10000},
      {GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1},
      {GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 2},
      {GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5000},
  };
  const size_t count = sizeof kArguments / sizeof *kArguments;
  for (size_t i = 0; i < count; ++i) {
    room[i] = rpc_integer_argument(kArguments[i].key, kArguments[i].value);
  }
  return count;
}

// Both clocks are monotonic, but nobody says that they start alike: only differences are passed on.
gpr_timespec rpc_deadline_to_core(int64_t deadline_ns) {
  if (deadline_ns == LEAT_DEADLINE_NEVER) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
  const int64_t left_ns = deadline_ns - rpc_host->now_ns();
  // The C core rounds up to milliseconds, in which a call might still come through.
  if (deadline_ns <= 0 || left_ns <= 0) return gpr_inf_past(GPR_CLOCK_MONOTONIC);
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(left_ns, GPR_TIMESPAN));
}

int64_t rpc_deadline_from_core(gpr_timespec deadline) {
  if (deadline.tv_sec == INT64_MAX) return LEAT_DEADLINE_NEVER;
  const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
  if (left.tv_sec > INT32_MAX) return LEAT_DEADLINE_NEVER;
  return rpc_host->now_ns() + left.tv_sec * 1000000000 + left.tv_nsec;
}

__attribute__((visibility("default"))) const leat_rpc_module_t* leat_module_grpc(void) {
  static const leat_rpc_module_t kModule = {
      .struct_size = sizeof(leat_rpc_module_t),
      .version = "gRPC C core 1.51 or later",
      .initialize = rpc_initialize,
      .server_start = rpc_server_start,
      .server_stop = rpc_server_stop,
      .answer = rpc_answer,
      .request_on_cancel = rpc_request_on_cancel,
      .channel_create = rpc_channel_create,
      .channel_free = rpc_channel_free,
      .call = rpc_call,
      .cancel = rpc_cancel,
      .call_free = rpc_call_free,
      .channel_is_busy = rpc_channel_is_busy,
      .channel_fail = rpc_channel_fail,
      .check_credentials = rpc_check_credentials,
  };
  return &kModule;
}
