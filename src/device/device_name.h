// Names of devices and constraints on them. A full name is
// "/job:worker/replica:0/task:17/device:GPU:3" (white paper, section 3, "Devices"); a constraint is
// a name with parts missing ("/job:ps", "GPU:0", "/device:CPU:*"). "/cpu:0" and "/gpu:0" are the
// old spelling. The placer merges the constraints of nodes and asks which devices match them;
// sessions and servers parse names that users and peers wrote. A parsed name borrows its text.
//
//   leat_device_name_t wanted, cpu;
//   LEAT_RETURN_IF_ERROR(leat_device_name_parse(LEAT_SV("/job:ps/cpu:*"), &wanted));
//   LEAT_RETURN_IF_ERROR(leat_device_name_parse(device->name, &cpu));
//   if (leat_device_name_matches(&wanted, &cpu)) ...
#ifndef LEAT_DEVICE_DEVICE_NAME_H_
#define LEAT_DEVICE_DEVICE_NAME_H_

#include "base/status.h"
#include "base/string_view.h"

#define LEAT_DEVICE_ANY (-1)

typedef struct leat_device_name_s {
  leat_string_view_t job;   // "" = any
  int replica, task;        // LEAT_DEVICE_ANY = any
  leat_string_view_t type;  // "CPU", compared without case; "" = any
  int index;  // LEAT_DEVICE_ANY = any
} leat_device_name_t;

// Parses a full or partial name; INVALID_ARGUMENT for anything else.
LEAT_MUST_USE leat_status_t leat_device_name_parse(leat_string_view_t text,
                                                   leat_device_name_t* out_name);
// true when the device with the full name |full| satisfies |constraint|.
bool leat_device_name_matches(const leat_device_name_t* constraint, const leat_device_name_t* full);
// Combines two constraints; INVALID_ARGUMENT when they contradict each other. With |soft|, a type
// or index on which they differ becomes any device instead. |out_name| may be |a| or |b|.
LEAT_MUST_USE leat_status_t leat_device_name_merge(const leat_device_name_t* a,
                                                   const leat_device_name_t* b, bool soft,
                                                   leat_device_name_t* out_name);
// Writes the canonical text of |name|, with the parts that it states, to |buffer|, cut to |size|
// bytes; returns |buffer|.
const char* leat_device_name_print(const leat_device_name_t* name, char* buffer, size_t size);

#endif  // LEAT_DEVICE_DEVICE_NAME_H_
