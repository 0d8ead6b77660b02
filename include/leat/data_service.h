/* leat/data_service.h: the processes of a data service.
 *
 * A data service makes the elements of datasets in processes of their own, for any number of
 * programs that train. One dispatcher keeps the datasets that programs register, and workers make
 * the elements. The protocol is that of TensorFlow 2.21's tf.data service, so that its clients,
 * dispatchers and workers may be any of these. `leat data-service` runs one of the two;
 * docs/data-service.md says which parts of TensorFlow's service are there.
 *
 * Certificates are the environment's, as leat/cluster.h says. Without them whoever reaches the port
 * of a worker may have it run graphs, which read and write files. */
#ifndef LEAT_DATA_SERVICE_H_
#define LEAT_DATA_SERVICE_H_

#include <stddef.h>
#include <stdint.h>

#include "tensorflow/c/c_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Something that happened. Texts are never NULL, but may be empty, and are borrowed for the call.
 * The observer must not block for long, nor call functions of the service.
 *
 *   name                 where           what happened                             what else is set
 *   worker_registered    dispatcher      a worker reported for the first time      address
 *   worker_lost          dispatcher      it has been silent for too long           address
 *   client_lost          dispatcher      a client was silent, and is given up      id
 *   iteration_collected  dispatcher      no client reads it any more               id
 *   registered           worker          the dispatcher knows it                   address (its)
 *   dispatcher_lost      worker          it does not answer; tried again           address, message
 */
typedef struct leat_data_service_event_t {
  size_t struct_size; /* what lies beyond is absent */
  const char* name;
  const char* address;
  const char* message;
  int64_t id;
} leat_data_service_event_t;

/* How to start one. Zeroed but for |struct_size| it is a dispatcher on a free port of this machine.
 * Texts are copied. Times are in milliseconds, and 0 is the default in brackets. */
typedef struct leat_data_service_options_t {
  size_t struct_size; /* sizeof(leat_data_service_options_t); what lies beyond is as if zeroed */
  const char* host;   /* by which the others reach this process; NULL: "localhost", and it listens
                         for this machine alone; any other than a loopback address: for all */
  int port;           /* 0: a free one */
  void (*observer)(void* data, const leat_data_service_event_t* event); /* NULL; any thread */
  void* observer_data;                                                  /* until the end */
  /* ---- Of a dispatcher ---- */
  const char* work_dir; /* where it keeps datasets, for workers that see the same files; NULL: in
                           memory, and they are sent to the workers */
  const char* const* worker_addresses; /* for static sharding: all workers, "host:port", or "host"
                                          where the port is not known */
  int worker_address_count;
  int64_t job_gc_check_interval_ms;  /* how often the following is looked at (600000) */
  int64_t job_gc_timeout_ms;         /* when an iteration ends that nobody reads (300000); < 0:
                                        never */
  int64_t client_timeout_ms;         /* when a client that is silent is given up (300000) */
  int64_t worker_timeout_ms;         /* when a worker that is silent counts as lost (600000) */
  /* ---- Of a worker ---- */
  const char* dispatcher_address;    /* "host:port"; NULL: this is a dispatcher */
  const char* const* worker_tags;    /* texts that clients are told of */
  int worker_tag_count;
  int64_t heartbeat_interval_ms;     /* (30000) */
  int64_t dispatcher_timeout_ms;     /* for the dispatcher to give a dataset or a split (3600000) */
  int64_t cross_trainer_cache_bytes; /* of elements kept for other trainers (10 GiB) */
  /* ---- Of a dispatcher, again: fields are added at the end ---- */
  int is_fault_tolerant; /* nonzero: it writes each change of its state to a journal in |work_dir|,
                            and begins with what a dispatcher before it has written there */
} leat_data_service_options_t;

typedef struct leat_data_service_t leat_data_service_t;

/* Starts a dispatcher or, with a |dispatcher_address|, a worker. A worker registers by itself, and
 * tries until the dispatcher is there; nobody waits for that. The caller deletes it. NULL on error:
 * UNIMPLEMENTED where the module for gRPC is absent, UNAVAILABLE where the port is taken,
 * INVALID_ARGUMENT for a port, an address or certificates that are not right, or a fault-tolerant
 * dispatcher without a |work_dir|, DATA_LOSS for a journal that cannot be read. Any thread. */
TF_CAPI_EXPORT extern leat_data_service_t* leat_data_service_start(
    const leat_data_service_options_t* options, TF_Status* status);
/* "host:port", by which the others reach it; lives as long as the service. Clients of a dispatcher
 * name it "grpc://host:port". */
TF_CAPI_EXPORT extern const char* leat_data_service_address(const leat_data_service_t* service);
TF_CAPI_EXPORT extern int leat_data_service_port(const leat_data_service_t* service);
/* Of a dispatcher how many workers have registered, of a worker how many tasks it has. Any thread.
 */
TF_CAPI_EXPORT extern int64_t leat_data_service_count(leat_data_service_t* service);
/* Whether a worker has registered with its dispatcher; 1 of a dispatcher. Any thread. */
TF_CAPI_EXPORT extern int leat_data_service_is_ready(leat_data_service_t* service);
/* Ends it: no more calls are taken, and those under way end with CANCELLED. Blocks until they have
 * ended; then it is gone, and no thread may use it. NULL is allowed. Not from an observer. */
TF_CAPI_EXPORT extern void leat_data_service_delete(leat_data_service_t* service);

#ifdef __cplusplus
}
#endif

#endif /* LEAT_DATA_SERVICE_H_ */
