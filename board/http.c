// libmicrohttpd reads and writes; here it is decided who may ask, and what of a request the handler
// sees. The URL is taken as it was sent and decoded once by board/query.c, since decoding twice has
// opened many servers. Nothing of a URL ever becomes the name of a file.
//
// Who may ask: without a token only who comes to this machine by a name of its own, because a page
// from elsewhere can make a browser send requests to a loopback port under the page's own host
// name. With a token, who knows it: in the header "Authorization: Bearer", in a cookie, or in the
// parameter "token", which sets the cookie.
//
// A stream of events costs no thread. When all its bytes are sent the connection is suspended, and
// a push appends to what each stream shall send and wakes it. A client that does not read keeps at
// most STREAM_BYTES: what comes beyond is dropped, since the next event says as much. One that is
// gone is noticed when something is sent to it, hence the pings.
#include "board/http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>

#include "base/sync.h"
#include "board/gzip.h"

#define POST_BYTES ((size_t)16 << 20)
#define STREAM_BYTES ((size_t)64 << 10)
#define GZIP_FROM 1024  // bytes; below it nothing is gained
#define CONNECTIONS 1024
#define TIMEOUT_S 30
#define THREADS 4

typedef struct stream_s stream_t;
struct stream_s {
  board_http_t* server;
  struct MHD_Connection* connection;
  leat_string_builder_t pending;
  size_t sent;
  bool is_suspended;
  stream_t *next, **link;  // |*link| is this stream
};

struct board_http_s {
  struct MHD_Daemon* daemon;
  board_http_options_t options;
  uint16_t port;
  leat_mutex_t lock;  // guards what follows, and the streams
  stream_t* streams;
  bool is_ending;
};

// A request on its way.
typedef struct exchange_s {
  leat_arena_t arena;
  leat_string_view_t url;  // as it was sent
  board_request_t request;
  bool sets_cookie;  // the token came as a parameter
  struct MHD_PostProcessor* post;
  bool is_form;
  // The field of the form that is being received, or the whole body that is no form.
  leat_string_view_t field;
  leat_string_builder_t value;
  size_t received;
  bool has_begun;
} exchange_t;

bool board_http_is_loopback(const char* host) {
  struct in_addr v4;
  if (!strcmp(host, "localhost") || !strcmp(host, "::1")) return true;
  return inet_pton(AF_INET, host, &v4) == 1 && ntohl(v4.s_addr) >> 24 == 127;
}

// ---- The life of a request ----------------------------------------------------------------------
// libmicrohttpd calls this with the URL before anything else; what it returns comes with each call.
static void* begin_exchange(void* data, const char* url, struct MHD_Connection* connection) {
  exchange_t* exchange = NULL;
  (void)data;
  (void)connection;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &exchange);
  if (status) {
    leat_status_free(status);
    return NULL;
  }
  leat_arena_initialize(leat_allocator_system(), 0, &exchange->arena);
  leat_string_builder_initialize(leat_allocator_system(), &exchange->value);
  status = leat_arena_copy_string(&exchange->arena, leat_string_view_from(url), &exchange->url);
  leat_status_free(status);
  return exchange;
}

static void end_exchange(void* data, struct MHD_Connection* connection, void** state,
                         enum MHD_RequestTerminationCode why) {
  exchange_t* exchange = *state;
  (void)data;
  (void)connection;
  (void)why;
  if (!exchange) return;
  if (exchange->post) MHD_destroy_post_processor(exchange->post);
  leat_string_builder_deinitialize(&exchange->value);
  leat_arena_deinitialize(&exchange->arena);
  leat_allocator_free(leat_allocator_system(), exchange);
  *state = NULL;
}

// The field that was being received is whole.
static leat_status_t end_field(exchange_t* exchange) {
  leat_status_t status = leat_ok_status();
  if (exchange->field.data) {
    status = board_query_add(&exchange->arena, exchange->field,
                             leat_string_builder_view(&exchange->value), &exchange->request.form);
  }
  exchange->field = leat_string_view_make(NULL, 0);
  exchange->value.size = 0;
  return status;
}

// What came is no form; a body that could not be kept is an error.
static leat_status_t take_whole_body(exchange_t* exchange) {
  if (exchange->value.status) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED, "there is no memory for the request");
  }
  exchange->request.body = leat_string_builder_view(&exchange->value);
  return leat_ok_status();
}

// A piece of a field of a form; |offset| 0 begins a field.
static enum MHD_Result take_piece(void* data, enum MHD_ValueKind kind, const char* key,
                                  const char* file, const char* type, const char* encoding,
                                  const char* bytes, uint64_t offset, size_t size) {
  exchange_t* exchange = data;
  (void)kind;
  (void)file;
  (void)type;
  (void)encoding;
  leat_status_t status = leat_ok_status();
  if (offset == 0) {
    status = end_field(exchange);
    if (!status) {
      status =
          leat_arena_copy_string(&exchange->arena, leat_string_view_from(key), &exchange->field);
    }
  }
  leat_string_builder_append(&exchange->value, leat_string_view_make(bytes, size));
  bool failed = status != leat_ok_status();
  leat_status_free(status);
  return failed ? MHD_NO : MHD_YES;
}

// ---- Who may ask --------------------------------------------------------------------------------
// Takes as long for a wrong token as for a right one.
static bool is_token(const char* token, const char* given, size_t given_size) {
  size_t size = strlen(token);
  unsigned char differs = size != given_size;
  for (size_t i = 0; i < size && given_size; ++i) {
    differs |= (unsigned char)(token[i] ^ given[i % given_size]);
  }
  return !differs && size > 0;
}

// The host of the header "Host" without its port is one of this machine's own.
static bool is_own_host(const char* header) {
  char host[64];
  size_t size = strlen(header);
  const char* colon = strrchr(header, ':');
  if (colon && !strchr(colon, ']')) size = (size_t)(colon - header);
  if (size > 2 && header[0] == '[' && header[size - 1] == ']') {
    ++header;
    size -= 2;
  }
  if (size >= sizeof host) return false;
  memcpy(host, header, size);
  host[size] = 0;
  return board_http_is_loopback(host);
}

static bool may_ask(const board_http_t* server, struct MHD_Connection* connection,
                    const board_query_t* query, bool* out_by_parameter) {
  const char* token = server->options.token;
  const char* bearer = "Bearer ";
  const char* header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
  const char* host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
  leat_string_view_t given;
  *out_by_parameter = false;
  if (!token) return host && is_own_host(host);
  if (header && !strncmp(header, bearer, strlen(bearer))) {
    return is_token(token, header + strlen(bearer), strlen(header) - strlen(bearer));
  }
  if (board_query_get(query, "token", &given)) {
    return *out_by_parameter = is_token(token, given.data, given.size);
  }
  header = MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, "leat_board");
  return header && is_token(token, header, strlen(header));
}

// ---- Streams ------------------------------------------------------------------------------------
static ssize_t read_stream(void* data, uint64_t position, char* out, size_t size) {
  stream_t* stream = data;
  (void)position;
  leat_mutex_lock(&stream->server->lock);
  size_t left = stream->pending.size - stream->sent;
  ssize_t given = 0;
  if (stream->server->is_ending) {
    given = MHD_CONTENT_READER_END_OF_STREAM;
  } else if (left) {
    given = (ssize_t)(left < size ? left : size);
    memcpy(out, stream->pending.data + stream->sent, (size_t)given);
    stream->sent += (size_t)given;
    if (stream->sent == stream->pending.size) stream->sent = stream->pending.size = 0;
  } else {
    stream->is_suspended = true;
    MHD_suspend_connection(stream->connection);
  }
  leat_mutex_unlock(&stream->server->lock);
  return given;
}

static void free_stream(void* data) {
  stream_t* stream = data;
  leat_mutex_lock(&stream->server->lock);
  if (stream->link) {
    *stream->link = stream->next;
    if (stream->next) stream->next->link = stream->link;
  }
  leat_mutex_unlock(&stream->server->lock);
  leat_string_builder_deinitialize(&stream->pending);
  leat_allocator_free(leat_allocator_system(), stream);
}

static struct MHD_Response* make_stream(board_http_t* server, struct MHD_Connection* connection,
                                        leat_string_view_t first) {
  stream_t* stream = NULL;
  leat_status_t status = LEAT_ALLOCATE(leat_allocator_system(), 1, &stream);
  leat_status_free(status);
  if (!stream) return NULL;
  stream->server = server;
  stream->connection = connection;
  leat_string_builder_initialize(leat_allocator_system(), &stream->pending);
  leat_string_builder_append(&stream->pending, first);
  struct MHD_Response* response = MHD_create_response_from_callback(
      MHD_SIZE_UNKNOWN, 4096, read_stream, stream, free_stream);
  if (!response) {
    free_stream(stream);
    return NULL;
  }
  leat_mutex_lock(&server->lock);
  stream->next = server->streams;
  stream->link = &server->streams;
  if (stream->next) stream->next->link = &stream->next;
  server->streams = stream;
  leat_mutex_unlock(&server->lock);
  return response;
}

static void wake_locked(stream_t* stream) {
  if (!stream->is_suspended) return;
  stream->is_suspended = false;
  MHD_resume_connection(stream->connection);
}

static void send_to_streams(board_http_t* server, leat_string_view_t bytes) {
  leat_mutex_lock(&server->lock);
  for (stream_t* stream = server->streams; stream; stream = stream->next) {
    if (stream->pending.size < STREAM_BYTES) leat_string_builder_append(&stream->pending, bytes);
    wake_locked(stream);
  }
  leat_mutex_unlock(&server->lock);
}

void board_http_push(board_http_t* server, const char* event, const char* data) {
  char text[256];
  int size = snprintf(text, sizeof text, "event: %s\ndata: %s\n\n", event, data);
  LEAT_DCHECK(size > 0 && (size_t)size < sizeof text);
  send_to_streams(server, leat_string_view_make(text, (size_t)size));
}

void board_http_ping(board_http_t* server) { send_to_streams(server, LEAT_SV(":\n\n")); }

// ---- Answers ------------------------------------------------------------------------------------
static void free_body(void* body) { leat_allocator_free(leat_allocator_system(), body); }

// Where the pages may be shown in a frame: in those of this server, and where |is_framed| of any
// server of this machine, such as a notebook's.
#define POLICY                                                                              \
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "  \
  "media-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "            \
  "frame-ancestors 'self'"
#define LOCAL_PAGES \
  " http://localhost:* http://127.0.0.1:* https://localhost:* https://127.0.0.1:*"

static void add_headers(struct MHD_Response* answer, const char* content_type, bool is_framed) {
  static const char* const headers[][2] = {
      {"X-Content-Type-Options", "nosniff"},
      {"Cache-Control", "no-cache, must-revalidate"},
      {"Referrer-Policy", "no-referrer"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; ++i) {
    MHD_add_response_header(answer, headers[i][0], headers[i][1]);
  }
  MHD_add_response_header(answer, "Content-Security-Policy",
                          is_framed ? POLICY LOCAL_PAGES : POLICY);
  MHD_add_response_header(answer, "Content-Type", content_type);
}

static enum MHD_Result send_text(struct MHD_Connection* connection, unsigned code,
                                 const char* text) {
  struct MHD_Response* answer = MHD_create_response_from_buffer(strlen(text), (void*)text,
                                                                MHD_RESPMEM_PERSISTENT);
  if (!answer) return MHD_NO;
  add_headers(answer, "text/plain; charset=utf-8", false);
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) MHD_add_response_header(answer, "Allow", "GET, POST");
  if (code == MHD_HTTP_UNAUTHORIZED) MHD_add_response_header(answer, "WWW-Authenticate", "Bearer");
  enum MHD_Result result = MHD_queue_response(connection, code, answer);
  MHD_destroy_response(answer);
  return result;
}

static enum MHD_Result send_no_memory(struct MHD_Connection* connection, leat_status_t status) {
  leat_status_free(status);
  return send_text(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
}

// Compresses the body where the client can take it and it is a text, or takes what is compressed
// already; images and sounds are so by themselves.
static bool compress(struct MHD_Connection* connection, board_response_t* response) {
  leat_string_view_t type = leat_string_view_from(response->content_type);
  bool is_text = leat_string_view_starts_with(type, LEAT_SV("text/")) ||
                 leat_string_view_starts_with(type, LEAT_SV("application/json"));
  const char* accepted =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Accept-Encoding");
  if (!is_text || response->body.size < GZIP_FROM || !board_gzip_is_accepted(accepted)) {
    return false;
  }
  if (!response->gzip.size) return board_gzip(&response->body);
  response->body.size = 0;
  leat_string_builder_append(&response->body, response->gzip);
  return true;
}

// Sends what the handler has made; the body moves into the answer.
static enum MHD_Result send_response(board_http_t* server, struct MHD_Connection* connection,
                                     board_response_t* response, bool sets_cookie) {
  struct MHD_Response* answer;
  char *body, cookie[512];
  size_t size;
  bool is_compressed = !response->is_stream && compress(connection, response);
  if (response->is_stream) {
    answer = make_stream(server, connection, leat_string_builder_view(&response->body));
  } else {
    leat_status_t status = leat_string_builder_finish(&response->body, &body, &size);
    if (status) return send_no_memory(connection, status);
    answer = MHD_create_response_from_buffer_with_free_callback(size, body, free_body);
    if (!answer) free_body(body);
  }
  if (!answer) return MHD_NO;
  add_headers(answer, response->content_type, server->options.is_framed);
  MHD_add_response_header(answer, "Vary", "Accept-Encoding");
  if (is_compressed) MHD_add_response_header(answer, "Content-Encoding", "gzip");
  if (sets_cookie) {
    snprintf(cookie, sizeof cookie, "leat_board=%s; HttpOnly; SameSite=Strict; Path=%s/",
             server->options.token, server->options.path_prefix);
    MHD_add_response_header(answer, "Set-Cookie", cookie);
  }
  enum MHD_Result result = MHD_queue_response(connection, (unsigned)response->code, answer);
  MHD_destroy_response(answer);
  return result;
}

// Fills the request of what the URL says; the path is that behind the prefix, and without data
// where it lies elsewhere.
static leat_status_t read_url(const board_http_t* server, exchange_t* exchange) {
  leat_string_view_t prefix = leat_string_view_from(server->options.path_prefix);
  leat_string_view_t path = exchange->url, query = leat_string_view_make("", 0);
  board_request_t* request = &exchange->request;
  size_t mark = leat_string_view_find(path, '?');
  request->arena = &exchange->arena;
  if (mark < path.size) {
    query = leat_string_view_from_index(path, mark + 1);
    path.size = mark;
  }
  LEAT_RETURN_IF_ERROR(board_query_parse(query, &exchange->arena, &request->query));
  LEAT_RETURN_IF_ERROR(board_query_decode(path, false, &exchange->arena, &path));
  if (leat_string_view_starts_with(path, prefix)) {
    request->path = leat_string_view_from_index(path, prefix.size);
  }
  return leat_ok_status();
}

// The headers are there, and nothing of a body. Whoever may not ask is refused here, so that
// nothing that a stranger sends is kept.
static enum MHD_Result begin_answer(board_http_t* server, struct MHD_Connection* connection,
                                    exchange_t* exchange, const char* method) {
  bool is_post = !strcmp(method, MHD_HTTP_METHOD_POST);
  leat_status_t status = read_url(server, exchange);
  if (status) return send_no_memory(connection, status);
  if (!may_ask(server, connection, &exchange->request.query, &exchange->sets_cookie)) {
    return server->options.token
               ? send_text(connection, MHD_HTTP_UNAUTHORIZED, "a token is needed\n")
               : send_text(connection, MHD_HTTP_FORBIDDEN, "the host is not this machine's\n");
  }
  if (!is_post && strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
    return send_text(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "the method is not allowed\n");
  }
  exchange->request.is_post = is_post;
  exchange->request.is_of_page =
      MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "X-Leat-Board") != NULL;
  if (is_post) exchange->post = MHD_create_post_processor(connection, 4096, take_piece, exchange);
  exchange->is_form = exchange->post != NULL;
  return MHD_YES;
}

static void end_form(exchange_t* exchange) {
  if (exchange->post) MHD_destroy_post_processor(exchange->post);
  exchange->post = NULL;
}

static enum MHD_Result take_body(exchange_t* exchange, const char* bytes, size_t* size) {
  exchange->received += *size;
  if (exchange->received > POST_BYTES) return MHD_NO;
  if (exchange->post && MHD_post_process(exchange->post, bytes, *size) != MHD_YES) {
    end_form(exchange);  // a broken one is read and passed over
  }
  if (!exchange->is_form) {
    leat_string_builder_append(&exchange->value, leat_string_view_make(bytes, *size));
  }
  *size = 0;
  return MHD_YES;
}

static enum MHD_Result answer(board_http_t* server, struct MHD_Connection* connection,
                              exchange_t* exchange) {
  board_response_t response = {.code = 200, .content_type = "application/json"};
  end_form(exchange);
  leat_status_t status = exchange->is_form ? end_field(exchange) : take_whole_body(exchange);
  if (status) return send_no_memory(connection, status);
  leat_string_builder_initialize(leat_allocator_system(), &response.body);
  server->options.handler(server->options.data, &exchange->request, &response);
  enum MHD_Result result = send_response(server, connection, &response, exchange->sets_cookie);
  leat_string_builder_deinitialize(&response.body);
  return result;
}

// libmicrohttpd calls this when the headers are there, for each piece of the body, and at the end.
static enum MHD_Result handle(void* data, struct MHD_Connection* connection, const char* url,
                              const char* method, const char* version, const char* upload,
                              size_t* upload_size, void** state) {
  board_http_t* server = data;
  exchange_t* exchange = *state;
  (void)url;
  (void)version;
  if (!exchange || !exchange->url.data) return MHD_NO;
  if (!exchange->has_begun) {
    exchange->has_begun = true;
    return begin_answer(server, connection, exchange, method);
  }
  if (*upload_size) return take_body(exchange, upload, upload_size);
  return answer(server, connection, exchange);
}

// ---- The server ---------------------------------------------------------------------------------
// libmicrohttpd says on its own what clients did wrong; nobody needs to read that.
static void say_nothing(void* data, const char* format, va_list arguments) {
  (void)data;
  (void)format;
  (void)arguments;
}

// The address of |host|, whose size is returned; 0 where it is none.
static socklen_t parse_address(const char* host, uint16_t port, struct sockaddr_storage* out) {
  struct sockaddr_in* v4 = (struct sockaddr_in*)out;
  struct sockaddr_in6* v6 = (struct sockaddr_in6*)out;
  *out = (struct sockaddr_storage){0};
  if (!strcmp(host, "localhost")) host = "127.0.0.1";
  if (inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    return sizeof *v4;
  }
  if (inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    return sizeof *v6;
  }
  return 0;
}

leat_status_t board_http_start(const board_http_options_t* options, board_http_t** out_server) {
  struct sockaddr_storage address;
  board_http_t* server = NULL;
  *out_server = NULL;
  socklen_t address_size = parse_address(options->host, options->port, &address);
  if (!address_size) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Listening failed: host is '%s', must be 'localhost' or an address",
                            options->host);
  }
  if (!options->token && !board_http_is_loopback(options->host)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Listening failed: host is '%s', must be this machine's unless a "
                            "token is given", options->host);
  }
  LEAT_RETURN_IF_ERROR(LEAT_ALLOCATE(leat_allocator_system(), 1, &server));
  server->options = *options;
  leat_mutex_initialize(&server->lock);
  unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
  if (address.ss_family == AF_INET6) flags |= MHD_USE_IPv6;
  server->daemon = MHD_start_daemon(
      flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, say_nothing, NULL,
      MHD_OPTION_SOCK_ADDR, &address, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, NULL,
      MHD_OPTION_NOTIFY_COMPLETED, end_exchange, NULL, MHD_OPTION_THREAD_POOL_SIZE,
      (unsigned)THREADS, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
      MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
      MHD_OPTION_END);
  if (!server->daemon) {
    leat_status_t status = leat_make_status(
        LEAT_UNAVAILABLE, "Listening failed: port %u of %s cannot be had (another program may "
        "have it)", options->port, options->host);
    board_http_stop(server);
    return status;
  }
  const union MHD_DaemonInfo* info = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT);
  server->port = info && info->port ? info->port : options->port;
  *out_server = server;
  return leat_ok_status();
}

uint16_t board_http_port(const board_http_t* server) { return server->port; }

void board_http_stop(board_http_t* server) {
  if (!server) return;
  leat_mutex_lock(&server->lock);
  server->is_ending = true;
  for (stream_t* stream = server->streams; stream; stream = stream->next) wake_locked(stream);
  leat_mutex_unlock(&server->lock);
  if (server->daemon) MHD_stop_daemon(server->daemon);
  leat_mutex_deinitialize(&server->lock);
  leat_allocator_free(leat_allocator_system(), server);
}
