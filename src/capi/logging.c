// TF_Log, TF_VLog and TF_DVLog: they write to the library's log, one line each.
#include "tensorflow/c/logging.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

static void write_line(leat_log_level_t level, const char* format, va_list arguments) {
  char line[1024];
  if (!format || vsnprintf(line, sizeof line, format, arguments) < 0) return;
  leat_log(level, "%s", line);
}

void TF_Log(TF_LogLevel level, const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level >= TF_ERROR ? LEAT_LOG_ERROR : LEAT_LOG_INFO + (level == TF_WARNING), fmt,
             arguments);
  va_end(arguments);
}

void TF_VLog(int level, const char* fmt, ...) {
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level ? LEAT_LOG_DEBUG : LEAT_LOG_INFO, fmt, arguments);
  va_end(arguments);
}

void TF_DVLog(int level, const char* fmt, ...) {
#ifdef LEAT_DEBUG
  va_list arguments;
  va_start(arguments, fmt);
  write_line(level ? LEAT_LOG_DEBUG : LEAT_LOG_INFO, fmt, arguments);
  va_end(arguments);
#endif
}
