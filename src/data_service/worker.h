// A worker of a data service: it makes the elements of the tasks that its dispatcher gives it, and
// hands them to clients.
#ifndef LEAT_DATA_SERVICE_WORKER_H_
#define LEAT_DATA_SERVICE_WORKER_H_

#include "cluster/rpc.h"
#include "data_service/event.h"
#include "data_service/method.h"
#include "formats/generated/data_service.h"
#include "session/session.h"

typedef struct leat_data_worker_s leat_data_worker_t;

typedef struct leat_data_worker_options_s {
  const leat_runtime_t* runtime;
  leat_string_view_t dispatcher_address;  // "host:port"
  leat_pb_string_list_t tags;
  int64_t heartbeat_ms, dispatcher_timeout_ms, window_bytes;
  leat_data_teller_t teller;
} leat_data_worker_options_t;

// Makes a worker, which is to be started when its address is known. |options| are copied.
// FAILED_PRECONDITION for an empty tag.
LEAT_MUST_USE leat_status_t leat_data_worker_create(const leat_data_worker_options_t* options,
                                                    leat_data_worker_t** out_worker);
// Registers with the dispatcher, again and again until it is there, and serves from then on.
// |address| is what clients reach it by. Does not wait.
LEAT_MUST_USE leat_status_t leat_data_worker_start(leat_data_worker_t* worker,
                                                   leat_string_view_t address);
// Ends the tasks, so that whoever waits for an element gets CANCELLED.
void leat_data_worker_stop(leat_data_worker_t* worker);
// Stops the worker first; no call may be served any more. NULL is allowed.
void leat_data_worker_free(leat_data_worker_t* worker);

bool leat_data_worker_is_registered(leat_data_worker_t* worker);
size_t leat_data_worker_count_tasks(leat_data_worker_t* worker);

// The methods of tensorflow.data.WorkerService, whose server is the worker.
extern const leat_data_method_t leat_data_worker_methods[];

#endif  // LEAT_DATA_SERVICE_WORKER_H_
