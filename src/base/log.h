// Lines for people, on stderr by default. LEAT_LOG=off|error|warning|info|debug (default warning).
#ifndef LEAT_BASE_LOG_H_
#define LEAT_BASE_LOG_H_

#include <stdbool.h>

#include "base/attributes.h"

typedef enum leat_log_level_e {
  LEAT_LOG_DEBUG, LEAT_LOG_INFO, LEAT_LOG_WARNING, LEAT_LOG_ERROR, LEAT_LOG_OFF
} leat_log_level_t;

typedef void (*leat_log_sink_t)(leat_log_level_t level, const char* line);
void leat_log_set_sink(leat_log_sink_t sink);  // NULL restores stderr
void leat_log(leat_log_level_t level, const char* format, ...) LEAT_PRINTF(2, 3);

// Who wants to hear what graphs print (PrintV2), instead of the stream that they name. A listener
// stays for good; false when there are too many (8).
typedef void (*leat_print_listener_t)(const char* text);
bool leat_print_listen(leat_print_listener_t listener);
// Tells them; false when there is none.
bool leat_print_tell(const char* text);

#endif  // LEAT_BASE_LOG_H_
