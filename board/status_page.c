#include "board/status_page.h"

#include <stdio.h>
#include <stdlib.h>

#include "board/http.h"

struct board_status_page_s {
  board_http_t* server;
  board_status_options_t options;
};

// A board_handler_t.
static void answer(void* data, const board_request_t* request, board_response_t* response) {
  const board_status_page_t* page = data;
  response->content_type = "text/plain; charset=utf-8";
  if (leat_string_view_equals(request->path, "/healthz")) {
    leat_string_builder_append(&response->body, LEAT_SV("ok\n"));
  } else if (leat_string_view_equals(request->path, "/metrics")) {
    char* text = page->options.metrics(page->options.data);
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
    if (!text) response->code = 500;
    leat_string_builder_append(&response->body,
                               leat_string_view_from(text ? text : "out of memory\n"));
    free(text);
  } else {
    response->code = 404;
    leat_string_builder_append(&response->body,
                               LEAT_SV("there are /healthz and /metrics here\n"));
  }
}

board_status_page_t* board_status_start(const board_status_options_t* options, char* out_message,
                                        int message_bytes) {
  board_status_page_t* page = calloc(1, sizeof *page);
  if (!page) {
    snprintf(out_message, (size_t)message_bytes, "there is no memory");
    return NULL;
  }
  page->options = *options;
  const board_http_options_t http = {.host = options->host,
                                     .port = options->port,
                                     .path_prefix = "",
                                     .token = options->token,
                                     .handler = answer,
                                     .data = page};
  leat_status_t status = board_http_start(&http, &page->server);
  if (!status) return page;
  snprintf(out_message, (size_t)message_bytes, "%s", leat_status_message(status));
  leat_status_free(status);
  free(page);
  return NULL;
}

uint16_t board_status_port(const board_status_page_t* page) {
  return board_http_port(page->server);
}

void board_status_stop(board_status_page_t* page) {
  if (!page) return;
  board_http_stop(page->server);
  free(page);
}
