// An HTTP server in a few functions of our own. Behind them stands libmicrohttpd, which nothing
// else of the board knows.
//
// Requests are answered on the server's own threads, several at once: the handler reads its
// request, fills its response and returns. What it allocates in the request's arena lives until
// then. A response may be a stream of server-sent events instead, which stays open.
#ifndef LEAT_BOARD_HTTP_H_
#define LEAT_BOARD_HTTP_H_

#include "base/string_builder.h"
#include "board/query.h"

typedef struct board_http_s board_http_t;

typedef struct board_request_s {
  leat_arena_t* arena;
  leat_string_view_t path;  // decoded, without the prefix and the query
  bool is_post;
  // The header X-Leat-Board is there. A browser sends it for pages of this server alone, since
  // others would have to ask first, and are not answered.
  bool is_of_page;
  board_query_t query;  // the URL's
  // What a POST brought, of 16 MiB at most: a form, urlencoded or multipart, or else the bytes.
  board_query_t form;
  leat_string_view_t body;
} board_request_t;

typedef struct board_response_s {
  int code;  // 200 unless it is set
  const char* content_type;
  leat_string_builder_t body;
  // Where there is any, the body as gzip, for clients that take it. It lives as long as the
  // program.
  leat_string_view_t gzip;
  bool is_stream;  // of server-sent events; the body is the first of them
} board_response_t;

typedef void (*board_handler_t)(void* data, const board_request_t* request,
                                board_response_t* response);

typedef struct board_http_options_s {
  const char* host;         // an address or "localhost"
  uint16_t port;            // 0: any that is free
  const char* path_prefix;  // "" or "/x"
  const char* token;        // NULL: none is asked
  bool is_framed;           // pages of this machine, at any port, may show it in a frame
  board_handler_t handler;
  void* data;
} board_http_options_t;

// Starts to answer. The options' texts must live until the server is stopped. INVALID_ARGUMENT for
// a host that is not this machine's and no token, UNAVAILABLE when the port is taken.
LEAT_MUST_USE leat_status_t board_http_start(const board_http_options_t* options,
                                             board_http_t** out_server);
uint16_t board_http_port(const board_http_t* server);
// Sends an event, of 200 bytes at most, to every stream that is open. Any thread.
void board_http_push(board_http_t* server, const char* event, const char* data);
// Sends a comment, which clients pass over, so that streams without a client end. Any thread.
void board_http_ping(board_http_t* server);
// Ends every request and stream. NULL is allowed.
void board_http_stop(board_http_t* server);
// Whether |host| names this machine alone.
bool board_http_is_loopback(const char* host);

#endif  // LEAT_BOARD_HTTP_H_
