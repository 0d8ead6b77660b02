// The board as a whole: makes the log directory, the stores of graphs and of recordings and the
// HTTP server, and takes them down again. Signals are blocked in every thread and waited for in the
// one that called board_serve, so that nothing is done in a signal handler. The order at the end
// matters. Loading stops first, because each round that found something new pushes a message to the
// server's clients; then the server, because its requests look at runs; and the runs are freed
// last.
#include "board/board.h"

#include <signal.h>
#include <stdio.h>

#include "board/api.h"
#include "board/dump_store.h"
#include "board/graph_store.h"
#include "board/json_writer.h"
#include "board/trace_store.h"

typedef struct board_s {
  board_api_t api;
  _Atomic(board_http_t*) server;
} board_t;

static void tell_clients(void* data, uint64_t version, bool changed) {
  board_http_t* server = atomic_load(&((board_t*)data)->server);
  char text[24];
  if (!server) return;
  snprintf(text, sizeof text, "%llu", (unsigned long long)version);
  if (changed) {
    board_http_push(server, "version", text);
  } else {
    board_http_ping(server);
  }
}

static void say_ready(const board_options_t* options, uint16_t port) {
  bool is_v6 = strchr(options->host, ':') != NULL;
  leat_string_builder_t url;
  leat_string_builder_initialize(leat_allocator_system(), &url);
  leat_string_builder_print(&url, "http://%s%s%s:%u%s/", is_v6 ? "[" : "", options->host,
                            is_v6 ? "]" : "", port, options->path_prefix);
  if (options->json) {
    leat_string_builder_t line;
    leat_string_builder_initialize(leat_allocator_system(), &line);
    leat_string_builder_append(&line, LEAT_SV("{\"url\":"));
    board_json_string(&line, leat_string_builder_view(&url));
    leat_string_builder_print(&line, ",\"port\":%u,\"logdir\":", port);
    board_json_string(&line, leat_string_view_from(options->logdir));
    printf("%.*s}\n", LEAT_SV_ARG(leat_string_builder_view(&line)));
    leat_string_builder_deinitialize(&line);
  } else {
    printf("leat board: %s shows %s (Ctrl-C ends it)\n", url.data ? url.data : "", options->logdir);
  }
  fflush(stdout);
  leat_string_builder_deinitialize(&url);
}

// The signals are blocked in all threads and waited for in this one, so that nothing is done in a
// signal handler.
static void wait_for_end(const sigset_t* signals) {
  int signal_number;
  while (sigwait(signals, &signal_number)) {
  }
}

bool board_serve(const board_options_t* options, char* out_message, int message_bytes) {
  board_t board = {.api = {.path_prefix = options->path_prefix,
                           .deletes_runs = options->deletes_runs}};
  board_http_t* server = NULL;
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  signal(SIGPIPE, SIG_IGN);
  board_logdir_options_t logdir = {options->logdir, options->cache, options->poll_ms, tell_clients,
                                   &board};
  board_http_options_t http = {.host = options->host, .port = options->port,
                               .path_prefix = options->path_prefix, .token = options->token,
                               .is_framed = options->is_framed,
                               .handler = board_api_handle, .data = &board.api};
  leat_status_t status = board_graph_store_create(&board.api.graphs);
  if (!status) status = board_trace_store_create(options->cache, &board.api.traces);
  if (!status) status = board_dump_store_create(&board.api.dumps);
  if (!status) status = board_logdir_create(&logdir, &board.api.logdir);
  if (!status) status = board_http_start(&http, &server);
  if (!status) {
    atomic_store(&board.server, server);
    say_ready(options, board_http_port(server));
    wait_for_end(&signals);
  }
  // Loading ends first, since it pushes to the server; then the server, since its requests look at
  // runs; and the runs are freed last.
  board_logdir_stop(board.api.logdir);
  bool done = !status;
  if (status) {
    snprintf(out_message, (size_t)message_bytes, "%s", leat_status_message(status));
    leat_status_free(status);
  }
  board_http_stop(server);
  board_graph_store_free(board.api.graphs);
  board_trace_store_free(board.api.traces);
  board_dump_store_free(board.api.dumps);
  board_logdir_free(board.api.logdir);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return done;
}
