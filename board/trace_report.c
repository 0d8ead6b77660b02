#include "board/trace_report.h"

#include <stdio.h>
#include <stdlib.h>

#include "board/trace_store.h"

char* board_trace_report(const char* path, char* out_message, size_t message_bytes) {
  board_stored_trace_t* trace = NULL;
  leat_string_builder_t text;
  char* report = NULL;
  leat_string_builder_initialize(leat_allocator_system(), &text);
  leat_status_t status = board_trace_read(path, &trace);
  if (!status) status = leat_delays_report(trace->delays, &text);
  if (!status) status = leat_status_clone(text.status);
  if (!status) report = strndup(text.data, text.size);
  if (!report) {
    snprintf(out_message, message_bytes, "%s", status ? leat_status_message(status) : "no memory");
  }
  leat_status_free(status);
  leat_string_builder_deinitialize(&text);
  board_trace_free(trace);
  return report;
}
