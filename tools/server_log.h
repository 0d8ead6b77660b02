// What `leat server` says: one line for each event that an operator cares about, or one JSON
// object.
#ifndef LEAT_TOOLS_SERVER_LOG_H_
#define LEAT_TOOLS_SERVER_LOG_H_

#include <stdbool.h>

#include "leat/cluster.h"

// The lines of a server; its fields are for server_log.c.
typedef struct server_log_s {
  const char* job;
  int task;
  bool as_json;
} server_log_t;

// Prints that the server began or ended to serve: "serving", "stopped". |status_url| is where it
// answers questions, or NULL.
void server_log_say(const server_log_t* log, const char* event, const char* target,
                    const char* status_url);
// Prints an event; for leat_server_observe, with the log as |data|.
void server_log_print(void* data, const leat_server_event_t* event);

// Writes a line, in one piece; dropped where the output has no room for it.
void server_log_write(const char* line, size_t size);

#endif  // LEAT_TOOLS_SERVER_LOG_H_
