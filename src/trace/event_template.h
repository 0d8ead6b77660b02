// Reads the events that begin slices by what was seen of earlier ones. A recording of a program
// that runs step after step has the same events over and over: of two that begin slices of one name
// all bytes are equal but for a few numbers, which are the row, the step, the thread that a kernel
// waited for, and a value, such as how many bytes its inputs have:
//
//   22 LL 20 ## 52 05 bytes | 48 01 58 ## | b2 01 06 kernel ba 01 06 MatMul
//
// A template is such an event without these numbers (## and the length LL, which depends on one).
// Comparing an event with it takes a tenth of the time that walking its fields takes, and gives the
// same: an event that differs from the template anywhere else does not fit.
//
//   template = leat_event_templates_find(templates, event, &numbers);
//   if (!template) { ... walk it ...; leat_event_templates_add(templates, event, name); }
//
// The events are those of formats/proto/perfetto.proto. A table of templates is one thread's.
#ifndef LEAT_TRACE_EVENT_TEMPLATE_H_
#define LEAT_TRACE_EVENT_TEMPLATE_H_

#include "trace/timeline.h"

typedef struct leat_event_templates_s leat_event_templates_t;

typedef struct leat_event_numbers_s {
  uint64_t uuid;  // of the row
  uint32_t name;  // that was given when the template was added
  leat_slice_facts_t facts;
} leat_event_numbers_t;

LEAT_MUST_USE leat_status_t leat_event_templates_create(leat_event_templates_t** out_templates);
void leat_event_templates_free(leat_event_templates_t* templates);  // NULL is allowed
// Finds a template that |event|, a TrackEvent's bytes, fits; false where there is none.
bool leat_event_templates_find(const leat_event_templates_t* templates, leat_string_view_t event,
                               leat_event_numbers_t* out_numbers);
// Makes a template of |event|, which is well-formed, begins a slice, and has this |name|, in place
// of one that fits fewer of the events to come. An event for which there cannot be one, since it
// has fields whose meaning is not known here, is passed over.
LEAT_MUST_USE leat_status_t leat_event_templates_add(leat_event_templates_t* templates,
                                                     leat_string_view_t event, uint32_t name);

#endif  // LEAT_TRACE_EVENT_TEMPLATE_H_
