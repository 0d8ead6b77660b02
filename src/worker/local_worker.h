// The worker of this process: a graph table, plans, running steps, one rendezvous a step.
// src/init.c makes one over the devices of this process when a session opens its target; a
// transport then may stand in front of it. The plans, the step containers and the tensors under
// handles belong to the worker and end with it.
#ifndef LEAT_WORKER_LOCAL_WORKER_H_
#define LEAT_WORKER_LOCAL_WORKER_H_

#include "worker/worker.h"

typedef struct leat_local_worker_options_s {
  leat_device_t* const* devices;  // retained
  int device_count;
  // One a device: where its named containers live (borrowed, must outlive the worker). NULL: they
  // are this worker's own.
  struct leat_resource_manager_s* const* shared_containers;
  // One a device: where all of its containers live, instead of the above (borrowed likewise), so
  // that workers with the same ones share all state. NULL: they are this worker's own.
  struct leat_resource_manager_s* const* resources;
  // The name of the default container where they are its own; borrowed. "": LEAT_DEFAULT_CONTAINER.
  leat_string_view_t default_container;
  // Where values meet that come from other workers or go to them (worker/step_table.h); borrowed.
  // NULL: there are no other workers.
  struct leat_rendezvous_source_s* rendezvous_source;
  // Tensors under handles (GetSessionHandle) are kept. TensorFlow's workers of a cluster keep none.
  bool keeps_session_tensors;
  const leat_kernel_registry_t* kernels;
  leat_thread_pool_t* pool;  // retained
  leat_allocator_t* allocator;
} leat_local_worker_options_t;

// Makes a worker, which its vtable's destroy ends. |options| is needed for the call only.
LEAT_MUST_USE leat_status_t leat_local_worker_create(const leat_local_worker_options_t* options,
                                                     leat_worker_t** out_worker);

#endif  // LEAT_WORKER_LOCAL_WORKER_H_
