#include "board/trace_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "trace/delay.h"

char* board_trace_report(const char* path, char* out_message, size_t message_bytes) {
  leat_timeline_t* timeline = NULL;
  leat_delays_t* delays = NULL;
  leat_string_builder_t text;
  char* report = NULL;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = leat_timeline_read(leat_file_system_default(), path, &timeline);
  if (!status) status = leat_delays_find(timeline, &delays);
  if (!status) status = leat_delays_report(delays, &text);
  if (!status) status = leat_status_clone(text.status);
  if (!status) report = strndup(text.data, text.size);
  if (!report) {
    snprintf(out_message, message_bytes, "%s", status ? leat_status_message(status) : "no memory");
  }
  leat_status_free(status);
  leat_string_builder_deinitialize(&text);
  leat_delays_free(delays);
  leat_timeline_free(timeline);
  return report;
}
