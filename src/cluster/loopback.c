// The loopback transport: it joins the remote worker and the service, which are the two ends of any
// transport, through one simulated network within this process. A session whose target is
// "loopback:SEED,MAX_DELAY_US" runs through it. Requests and replies are encoded as bytes all the
// same, so that tests find whatever does not survive encoding, delay and reordering:
//
//   master ─▶ remote worker ─▶ [ network ] ─▶ service ─▶ worker
//                           ◀─ [ network ] ◀─
//
// Some objects cannot be encoded: functions that kernels call, step statistics, variants. They stay
// behind in a table that both ends see, and the message carries a ticket. Only a transport within a
// process can do that.
#include "cluster/transport.h"

typedef struct loopback_s {
  leat_remote_worker_t remote;
  leat_worker_service_t service;
  leat_object_table_t objects;
} loopback_t;

// Frees the network first, which delivers what is under way, and only then what the receivers use.
static void destroy(leat_remote_worker_t* remote) {
  loopback_t* loopback = (loopback_t*)remote;
  LEAT_DCHECK(remote->objects == &loopback->objects);
  leat_network_free(remote->network);
  leat_remote_worker_deinitialize(remote);
  leat_worker_t* worker = loopback->service.worker;
  worker->vtable->destroy(worker);
  leat_object_table_deinitialize(&loopback->objects);
  leat_allocator_free(remote->allocator, loopback);
}

// Reads "SEED,MAX_DELAY_US".
static leat_status_t parse(leat_string_view_t rest, uint64_t* out_seed, int64_t* out_delay_ns) {
  int64_t seed = 0, delay_us = 0;
  const char* comma = rest.size ? memchr(rest.data, ',', rest.size) : NULL;
  size_t before = comma ? (size_t)(comma - rest.data) : 0;
  bool is_read =
      comma && leat_string_view_to_int64(leat_string_view_make(rest.data, before), &seed) &&
      leat_string_view_to_int64(leat_string_view_from_index(rest, before + 1), &delay_us);
  if (!is_read || seed < 0 || delay_us < 0 || delay_us > INT32_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "NewSession failed: target is 'loopback:%.*s', must be "
                            "'loopback:SEED,MAX_DELAY_US'",
                            LEAT_SV_ARG(rest));
  }
  *out_seed = (uint64_t)seed;
  *out_delay_ns = delay_us * 1000;
  return leat_ok_status();
}

// Makes the two ends and the network between them. |rest| is what the target says behind
// "loopback:".
static leat_status_t join(leat_string_view_t rest, leat_worker_t* worker, leat_op_registry_t* ops,
                          leat_allocator_t* allocator, leat_worker_t** out_worker) {
  uint64_t seed;
  int64_t delay_ns;
  loopback_t* loopback;
  leat_network_t* network;
  LEAT_RETURN_IF_ERROR(parse(rest, &seed, &delay_ns));
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(allocator, 1, &loopback));
  leat_status_t status = leat_network_create(seed, delay_ns, allocator, &network);
  if (status) {
    leat_allocator_free(allocator, loopback);
    return status;
  }
  leat_object_table_initialize(allocator, &loopback->objects);
  loopback->service = (leat_worker_service_t){.worker = worker,
                                              .ops = ops,
                                              .allocator = allocator,
                                              .objects = &loopback->objects,
                                              .network = network,
                                              .receive_reply = leat_remote_worker_receive,
                                              .fail_call = leat_remote_worker_fail,
                                              .replies = &loopback->remote};
  leat_remote_worker_t* remote = &loopback->remote;
  *remote = (leat_remote_worker_t){.allocator = allocator,
                                   .objects = &loopback->objects,
                                   .network = network,
                                   .receive_request = leat_worker_service_receive,
                                   .requests = &loopback->service,
                                   .direct = worker,
                                   .destroy = destroy};
  leat_remote_worker_initialize(remote);
  *out_worker = &remote->base;
  return leat_ok_status();
}

const leat_transport_t leat_loopback_transport = {"loopback", join};
