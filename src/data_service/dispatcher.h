// A dispatcher of a data service: it keeps the datasets and jobs of clients, and gives each worker
// a task for each iteration of a job.
#ifndef LEAT_DATA_SERVICE_DISPATCHER_H_
#define LEAT_DATA_SERVICE_DISPATCHER_H_

#include "base/file_system.h"
#include "data_service/event.h"
#include "data_service/method.h"
#include "formats/generated/data_service.h"
#include "session/session.h"

typedef struct leat_dispatcher_s leat_dispatcher_t;

// Times in milliseconds; 0: TensorFlow's default.
typedef struct leat_dispatcher_options_s {
  const leat_runtime_t* runtime;
  leat_string_view_t work_dir;  // "": datasets are sent to workers
  bool is_fault_tolerant;  // it keeps its state in |work_dir|, and goes on with what is there
  leat_file_system_t* file_system;  // of that state; NULL: leat_file_system_default()
  leat_pb_string_list_t worker_addresses;
  int32_t deployment_mode;
  int64_t gc_check_ms;       // how often it looks for what follows (10 minutes)
  int64_t gc_timeout_ms;     // when an iteration ends that no client reads (5 minutes); < 0: never
  int64_t client_timeout_ms; // when a silent client is given up (5 minutes)
  int64_t worker_timeout_ms; // when a silent worker is (10 minutes)
  bool collects_dynamic;     // iterations whose splits the dispatcher hands out too
  leat_data_teller_t teller;
} leat_dispatcher_options_t;

// Makes a dispatcher, and its work directory. |options| are copied. One that is fault-tolerant
// first makes every change again that the journal in its work directory has, which TensorFlow's
// dispatcher or Leat's has written, and computes the splits of iterations that go on, which may
// take a minute for each. INVALID_ARGUMENT where it has no work directory, DATA_LOSS for a journal
// that cannot be read (journal.h).
LEAT_MUST_USE leat_status_t leat_dispatcher_create(const leat_dispatcher_options_t* options,
                                                   leat_dispatcher_t** out_dispatcher);
// Ends what calls wait for.
void leat_dispatcher_stop(leat_dispatcher_t* dispatcher);
// Stops the dispatcher first; no call may be served any more. NULL is allowed.
void leat_dispatcher_free(leat_dispatcher_t* dispatcher);

size_t leat_dispatcher_count_workers(leat_dispatcher_t* dispatcher);
// Ends what has been silent for too long, as if it were |now_ns|. For tests; the dispatcher's own
// thread does it.
void leat_dispatcher_collect(leat_dispatcher_t* dispatcher, int64_t now_ns);

// The methods of tensorflow.data.DispatcherService, whose server is the dispatcher.
extern const leat_data_method_t leat_dispatcher_methods[];

#endif  // LEAT_DATA_SERVICE_DISPATCHER_H_
