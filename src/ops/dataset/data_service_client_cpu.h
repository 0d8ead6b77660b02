// A client of tf.data's service: one pass over a dataset that workers make. It asks the dispatcher
// for a job and an iteration, hears by heartbeats which tasks there are, and has calls for elements
// under way to several of them, so that elements lie ready before a step asks for them:
//
//   dispatcher ─▶ job ─▶ iteration ─▶ heartbeat ─▶ tasks     (again and again)
//                                                    │
//   step ◀── [ element | element | on its way ] ◀── calls of workers
//
// As in TensorFlow, elements come in the order in which workers answer; where several consumers
// read together (num_consumers), each gets the element of its round. A failure that may pass leads
// to another task, or to another try; any other is what the client answers from then on.
//
// A client belongs to no step and no session: it uses neither functions nor a device, and goes on
// between steps until it is stopped. No thread waits.
#ifndef LEAT_OPS_DATASET_DATA_SERVICE_CLIENT_CPU_H_
#define LEAT_OPS_DATASET_DATA_SERVICE_CLIENT_CPU_H_

#include "ops/dataset/dataset_cpu.h"

// What a client reads, and how: what the dataset's node says. It lives as long as the dataset.
typedef struct leat_service_job_s {
  leat_string_view_t dataset_id;
  leat_string_view_t address;   // of the dispatcher, "host:port"
  leat_string_view_t name;      // of the job, which clients of one name share; empty: none
  leat_string_view_t transfer;  // the protocol by which elements come: "grpc"
  leat_string_view_t trainer_id;
  bool has_trainer;         // workers keep elements for several trainers
  int32_t sharding_policy;  // of ProcessingModeDef
  int32_t target_workers;   // of TargetWorkers
  int64_t consumer_index;   // -1: none
  int64_t consumer_count;   // -1: the read is not coordinated
  int64_t max_outstanding;  // elements on their way or ready; LEAT_DATASET_AUTOTUNE is allowed
  int64_t refresh_ns;       // between heartbeats
} leat_service_job_t;

typedef struct leat_service_client_s leat_service_client_t;

// Makes a client of pass |repetition| of |job|, which is of |dataset|. Nobody is called yet. Fails
// as leat_remote_open does.
LEAT_MUST_USE leat_status_t leat_service_client_create(leat_dataset_t* dataset,
                                                       const leat_service_job_t* job,
                                                       int64_t repetition,
                                                       leat_service_client_t** out_client);
// Ends what is under way, tells the dispatcher, and gives the client up. Never blocks; NULL is
// allowed.
void leat_service_client_stop(leat_service_client_t* client);
// Takes the next element, as |next| of a kind of dataset does. PENDING: |pull| is woken.
LEAT_MUST_USE leat_status_t leat_service_client_take(leat_service_client_t* client,
                                                     leat_pull_t* pull, leat_tensor_t* out,
                                                     leat_poll_t* out_poll);

#endif  // LEAT_OPS_DATASET_DATA_SERVICE_CLIENT_CPU_H_
