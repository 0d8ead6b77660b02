// What a dispatcher and a worker tell whoever runs them.
#ifndef LEAT_DATA_SERVICE_EVENT_H_
#define LEAT_DATA_SERVICE_EVENT_H_

#include "base/string_view.h"

// include/leat/data_service.h lists the events. Texts are borrowed for the call.
typedef struct leat_data_event_s {
  const char* name;
  leat_string_view_t address, message;
  int64_t id;  // of a dataset's iteration or a task; 0: none
} leat_data_event_t;

// Called on any thread, several at once; must not block for long.
typedef void (*leat_data_observer_t)(void* data, const leat_data_event_t* event);

typedef struct leat_data_teller_s {
  leat_data_observer_t fn;  // NULL: nobody listens
  void* data;
} leat_data_teller_t;

static inline void leat_data_tell(const leat_data_teller_t* teller,
                                  const leat_data_event_t* event) {
  if (teller->fn) teller->fn(teller->data, event);
}

#endif  // LEAT_DATA_SERVICE_EVENT_H_
