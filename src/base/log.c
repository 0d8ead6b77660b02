// A line is formatted whole and written with one call, so that lines of several threads do not mix.
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINE_LIMIT_BYTES 4096
#define LEVEL_UNKNOWN (-1)

static _Atomic(leat_log_sink_t) current_sink;
static _Atomic int cached_threshold = LEVEL_UNKNOWN;

static int threshold(void) {
  int level = atomic_load_explicit(&cached_threshold, memory_order_relaxed);
  if (level != LEVEL_UNKNOWN) return level;
  static const char* const names[] = {"debug", "info", "warning", "error", "off"};
  level = LEAT_LOG_WARNING;
  const char* wanted = getenv("LEAT_LOG");
  for (int i = 0; wanted && i < (int)LEAT_ARRAY_SIZE(names); ++i) {
    if (!strcmp(wanted, names[i])) level = i;
  }
  atomic_store_explicit(&cached_threshold, level, memory_order_relaxed);
  return level;
}

static void write_to_stderr(leat_log_level_t level, const char* line) {
  static const char letters[] = "DIWE";
  fprintf(stderr, "leat %c %s\n", letters[level], line);
}

void leat_log_set_sink(leat_log_sink_t sink) { atomic_store(&current_sink, sink); }

void leat_log(leat_log_level_t level, const char* format, ...) {
  if ((int)level < threshold() || level < LEAT_LOG_DEBUG || level >= LEAT_LOG_OFF) return;
  char line[LINE_LIMIT_BYTES];
  va_list arguments;
  va_start(arguments, format);
  int size = vsnprintf(line, sizeof(line), format, arguments);
  va_end(arguments);
  if (size < 0) return;
  if ((size_t)size >= sizeof(line)) strcpy(line + sizeof(line) - 4, "...");
  leat_log_sink_t sink = atomic_load(&current_sink);
  (sink ? sink : write_to_stderr)(level, line);
}

// ---- What graphs print --------------------------------------------------------------------------

#define MAX_LISTENERS 8
static _Atomic(leat_print_listener_t) listeners[MAX_LISTENERS];

bool leat_print_listen(leat_print_listener_t listener) {
  for (int i = 0; i < MAX_LISTENERS; ++i) {
    leat_print_listener_t free_place = NULL;
    if (atomic_compare_exchange_strong(&listeners[i], &free_place, listener)) return true;
  }
  return false;
}

bool leat_print_tell(const char* text) {
  bool is_heard = false;
  for (int i = 0; i < MAX_LISTENERS; ++i) {
    leat_print_listener_t listener = atomic_load(&listeners[i]);
    if (listener) listener(text);
    is_heard |= listener != NULL;
  }
  return is_heard;
}
