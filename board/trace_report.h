// The report of a recording's delays, for the program `leat`.
#ifndef LEAT_BOARD_TRACE_REPORT_H_
#define LEAT_BOARD_TRACE_REPORT_H_

#include <stddef.h>

// What the steps of the recording at |path| waited for, as text that the caller frees with free().
// NULL, with a message of |message_bytes| at most, where the file cannot be read or is none.
char* board_trace_report(const char* path, char* out_message, size_t message_bytes);

#endif  // LEAT_BOARD_TRACE_REPORT_H_
