// Writes the events of a server (its start, sessions, lost tasks, refusals) as lines of text, or of
// JSON for machines. A line is written whole, by one call, so that lines of several threads never
// mix. Events come on the threads that answer calls, which must not wait for a reader of the
// output: where it is a pipe that is full, the line is dropped, and the server goes on. Texts of an
// event may come from a stranger, so that control characters in them are replaced before they reach
// a terminal.
#include "server_log.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "json.h"

#define LONGEST_LINE 4000  // a pipe with room for it at all takes it whole

static bool has_room(void) {
  struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
  return poll(&out, 1, 0) > 0 && (out.revents & POLLOUT);
}

static double now(void) {
  struct timespec time = {0};
  clock_gettime(CLOCK_REALTIME, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void print_member(FILE* out, const char* name, const char* text) {
  if (!text || !*text) return;
  fprintf(out, ", \"%s\": ", name);
  json_print_string(out, text, strlen(text));
}

static void print_json(const server_log_t* log, FILE* out, const leat_server_event_t* event,
                       const char* target, const char* status_url) {
  fprintf(out, "{\"event\": \"%s\", \"job\": ", event->name);
  json_print_string(out, log->job, strlen(log->job));
  fprintf(out, ", \"task\": %d", log->task);
  print_member(out, "target", target);
  print_member(out, "status", status_url);
  print_member(out, "session", event->session);
  print_member(out, "peer_task", event->task);
  print_member(out, "address", event->address);
  print_member(out, "message", event->message);
  if (event->count) fprintf(out, ", \"count\": %lld", (long long)event->count);
  fprintf(out, ", \"time\": %.3f}\n", now());
}

// Prints a text on one line: of a message with several, a client may have made up any.
static void print_plain(FILE* out, const char* before, const char* text) {
  if (!text || !*text) return;
  fputs(before, out);
  for (; *text; ++text) fputc((unsigned char)*text < ' ' ? ' ' : *text, out);
}

static void print_text(const server_log_t* log, FILE* out, const leat_server_event_t* event,
                       const char* target, const char* status_url) {
  fprintf(out, "%s:", event->name);
  if (target) fprintf(out, " /job:%s/task:%d at %s", log->job, log->task, target);
  print_plain(out, ", status at ", status_url);
  print_plain(out, " session ", event->session);
  print_plain(out, " task ", event->task);
  print_plain(out, " at ", event->address);
  if (event->count) fprintf(out, " count %lld", (long long)event->count);
  print_plain(out, ": ", event->message);
  fputs("\n", out);
}

void server_log_write(const char* line, size_t size) {
  if (size > LONGEST_LINE || !has_room()) return;
  const ssize_t written = write(STDOUT_FILENO, line, size);
  (void)written;  // nobody could be told
}

static void print(const server_log_t* log, const leat_server_event_t* event, const char* target,
                  const char* status_url) {
  char* line = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&line, &size);
  if (!out) return;
  (log->as_json ? print_json : print_text)(log, out, event, target, status_url);
  if (!fclose(out)) server_log_write(line, size);
  free(line);
}

void server_log_say(const server_log_t* log, const char* event, const char* target,
                    const char* status_url) {
  const leat_server_event_t said = {.name = event};
  print(log, &said, target, status_url);
}

void server_log_print(void* data, const leat_server_event_t* event) {
  print(data, event, NULL, NULL);
}
