// Which devices of a kind a session opens: as many as ConfigProto's device_count states, of those
// that its visible_device_list names, in that order. The messages are TensorFlow's.
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "session/session.h"

// Reads the number at the start of |text|, up to a comma or the end. |*out_rest| is behind it;
// NULL: nothing follows.
static leat_status_t read_number(const char* text, int count, int* out_number,
                                 const char** out_rest) {
  const size_t size = strcspn(text, ",");
  char* end = NULL;
  const long number = strtol(text, &end, 10);
  if (size == 0 || end != text + size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Could not parse entry in 'visible_device_list': '%.*s'.", (int)size,
                            text);
  }
  if (number < 0 || number >= count) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "'visible_device_list' listed an invalid Device id '%ld' but visible "
                            "device count is %d",
                            number, count);
  }
  *out_number = (int)number;
  *out_rest = text[size] ? text + size + 1 : NULL;
  return leat_ok_status();
}

static leat_status_t read_list(const char* list, int count, int* out_numbers, int* out_count) {
  uint64_t seen = 0;
  *out_count = 0;
  for (const char* rest = list; rest;) {
    int number = 0;
    LEAT_RETURN_IF_ERROR(read_number(rest, count, &number, &rest));
    if (seen >> number & 1) {
      return leat_make_status(LEAT_INVALID_ARGUMENT,
                              "visible_device_list contained a duplicate entry: %s", list);
    }
    seen |= UINT64_C(1) << number;
    out_numbers[(*out_count)++] = number;
  }
  return leat_ok_status();
}

leat_status_t leat_session_options_find_devices(const leat_session_options_t* options,
                                                const char* type, int available, int* out_numbers,
                                                int* out_count) {
  int stated = available < 0 ? 0 : INT32_MAX;
  if (available >= 0 && options->omits_plugin_devices) {
    *out_count = 0;
    return leat_ok_status();
  }
  for (int i = 0; i < LEAT_SESSION_DEVICE_TYPES; ++i) {
    const leat_device_count_t* entry = &options->device_counts[i];
    if (strcmp(entry->type, type) == 0) stated = entry->count;
  }
  *out_count = 0;
  if (stated == 0) return leat_ok_status();
  const int count = available < 0 ? LEAT_SESSION_MAX_ACCELERATORS
                                  : LEAT_MIN(available, LEAT_SESSION_MAX_ACCELERATORS);
  for (; *out_count < count; ++*out_count) out_numbers[*out_count] = *out_count;
  if (available > 0 && options->visible_devices[0]) {
    LEAT_RETURN_IF_ERROR(read_list(options->visible_devices, count, out_numbers, out_count));
  }
  *out_count = LEAT_MIN(*out_count, stated);
  return leat_ok_status();
}
