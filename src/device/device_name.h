// Device names and constraints: "/job:worker/replica:0/task:17/device:GPU:3", any part may be
// missing ("/job:ps", "GPU:0", "/device:CPU:*"); "/cpu:0" and "/gpu:0" are the old spelling.
#ifndef LEAT_DEVICE_DEVICE_NAME_H_
#define LEAT_DEVICE_DEVICE_NAME_H_

#include "base/status.h"
#include "base/string_view.h"

#define LEAT_DEVICE_ANY (-1)

typedef struct leat_device_name_s {
  leat_string_view_t job;   // "" = any
  int replica, task;        // LEAT_DEVICE_ANY = any
  leat_string_view_t type;  // "CPU", compared without case; "" = any
  int index;
} leat_device_name_t;

LEAT_MUST_USE leat_status_t leat_device_name_parse(leat_string_view_t text,
                                                   leat_device_name_t* out_name);
// Does a full name fulfil a constraint?
bool leat_device_name_matches(const leat_device_name_t* constraint, const leat_device_name_t* full);
// Both constraints together; INVALID_ARGUMENT when they contradict. |soft| lets go of a type or
// index on which the two differ instead (|out_name| may be one of the two).
LEAT_MUST_USE leat_status_t leat_device_name_merge(const leat_device_name_t* a,
                                                   const leat_device_name_t* b, bool soft,
                                                   leat_device_name_t* out_name);
// Writes the canonical text; returns |buffer|.
const char* leat_device_name_print(const leat_device_name_t* name, char* buffer, size_t size);

#endif  // LEAT_DEVICE_DEVICE_NAME_H_
