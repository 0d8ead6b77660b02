// Lines for people, on stderr by default. LEAT_LOG=off|error|warning|info|debug (default warning).
#ifndef LEAT_BASE_LOG_H_
#define LEAT_BASE_LOG_H_

#include "base/attributes.h"

typedef enum leat_log_level_e {
  LEAT_LOG_DEBUG, LEAT_LOG_INFO, LEAT_LOG_WARNING, LEAT_LOG_ERROR, LEAT_LOG_OFF
} leat_log_level_t;

typedef void (*leat_log_sink_t)(leat_log_level_t level, const char* line);
void leat_log_set_sink(leat_log_sink_t sink);  // NULL restores stderr
void leat_log(leat_log_level_t level, const char* format, ...) LEAT_PRINTF(2, 3);

#endif  // LEAT_BASE_LOG_H_
