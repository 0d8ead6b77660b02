// What a task tells its operator. include/leat/cluster.h lists the events and their fields.
#ifndef LEAT_CLUSTER_EVENT_H_
#define LEAT_CLUSTER_EVENT_H_

#include <stdint.h>

#include "base/string_view.h"

typedef struct leat_task_event_s {
  const char* name;  // "session_created"
  leat_string_view_t session, task, address, message;
  int64_t count;
} leat_task_event_t;

// May be called on any thread, on several at once.
typedef void (*leat_task_observer_t)(void* data, const leat_task_event_t* event);

#endif  // LEAT_CLUSTER_EVENT_H_
