// Log lines for people, and the listeners of what graphs print. A line goes to stderr unless a
// program installs a sink. The environment variable LEAT_LOG (off, error, warning, info or debug;
// warning when it is not set) says which lines are written, and is read once, at the first line.
// Errors do not belong here: they are statuses (base/status.h) and go to the caller. Any thread may
// call these functions.
#ifndef LEAT_BASE_LOG_H_
#define LEAT_BASE_LOG_H_

#include <stdbool.h>

#include "base/attributes.h"

// In rising order of weight: a line is written when its level is at least that of LEAT_LOG.
// LEAT_LOG_OFF is the level of no line.
typedef enum leat_log_level_e {
  LEAT_LOG_DEBUG, LEAT_LOG_INFO, LEAT_LOG_WARNING, LEAT_LOG_ERROR, LEAT_LOG_OFF
} leat_log_level_t;

// Receives a formatted line without its end. |line| is borrowed for the call. The sink runs on the
// thread that logs, perhaps on several at once.
typedef void (*leat_log_sink_t)(leat_log_level_t level, const char* line);
// For the whole process. NULL restores stderr.
void leat_log_set_sink(leat_log_sink_t sink);
// Formats as printf. A line is at most 4095 bytes; what is longer is cut and ends with "...". Lines
// below the threshold cost one relaxed load and the evaluation of their arguments.
void leat_log(leat_log_level_t level, const char* format, ...) LEAT_PRINTF(2, 3);

// Registers a listener, which from now on gets what graphs print (PrintV2) in place of the stream
// that they name. A listener cannot be removed. Returns false when there are 8 already.
typedef void (*leat_print_listener_t)(const char* text);
bool leat_print_listen(leat_print_listener_t listener);
// Passes |text| to all listeners; false when there is none, so that the caller prints it.
bool leat_print_tell(const char* text);

#endif  // LEAT_BASE_LOG_H_
