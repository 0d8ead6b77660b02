// The client of http2_client.h. Numbers of frames, flags and settings are RFC 9113's. Headers are
// sent as literals without a table (RFC 7541), so that nothing has to be compressed. Of the headers
// that come, only "grpc-status" and "grpc-message" matter. The C core writes their names out where
// they come first on a connection, which they do here, since there is one stream; so they are
// looked for as bytes.
#include "cluster/http2_client.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/test.h"

enum { DATA, HEADERS, RST_STREAM = 3, SETTINGS, PING = 6, GOAWAY, WINDOW_UPDATE };
enum { END_STREAM = 1, ACK = 1, END_HEADERS = 4 };
enum { INITIAL_WINDOW_SIZE = 4, DEFAULT_WINDOW = 65535, CANCEL = 8 };
enum { STREAM = 1, MOST_FRAME = 16384, FRAME_HEADER = 9, MESSAGE_HEADER = 5 };
enum { PATIENCE_MS = 60000 };

static uint32_t read_u32(const char* at) {
  uint32_t value;
  memcpy(&value, at, sizeof value);
  return ntohl(value);
}

static void write_u32(char* at, uint32_t value) {
  value = htonl(value);
  memcpy(at, &value, sizeof value);
}

// A peer that is gone takes no more bytes, which is no mistake of the client's.
static void send_all(const http2_client_t* client, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(client->socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return;
    bytes += sent;
    size -= (size_t)sent;
  }
}

static void send_frame(const http2_client_t* client, int type, int flags, uint32_t stream,
                       const char* payload, size_t size) {
  char header[FRAME_HEADER];
  write_u32(header, (uint32_t)size << 8 | (uint32_t)type);
  header[4] = (char)flags;
  write_u32(header + 5, stream);
  send_all(client, header, sizeof header);
  send_all(client, payload, size);
}

// ---- Frames that come ---------------------------------------------------------------------------

// false where the connection has ended.
static bool receive_all(http2_client_t* client, char* out_bytes, size_t size) {
  while (size > 0) {
    struct pollfd poll_fd = {.fd = client->socket, .events = POLLIN};
    assert_int_equal(poll(&poll_fd, 1, PATIENCE_MS), 1);
    const ssize_t received = recv(client->socket, out_bytes, size, 0);
    if (received <= 0) return false;
    out_bytes += received;
    size -= (size_t)received;
  }
  return true;
}

// The value of the header |name|, which is written out in |block|.
static bool find_header(const char* block, size_t size, const char* name, char* out_value,
                        size_t room) {
  const size_t name_size = strlen(name);
  for (size_t i = 0; i + name_size < size; ++i) {
    if (memcmp(block + i, name, name_size)) continue;
    size_t at = i + name_size, value_size = (uint8_t)block[at++] & 0x7f;
    // A longer length goes on in bytes of seven bits, the lowest first.
    for (int shift = 0; value_size >= 0x7f && at < size; shift += 7) {
      value_size += (size_t)((uint8_t)block[at] & 0x7f) << shift;
      if (!((uint8_t)block[at++] & 0x80)) break;
    }
    if (value_size > size - at) return false;
    value_size = LEAT_MIN(value_size, room - 1);
    memcpy(out_value, block + at, value_size);
    out_value[value_size] = '\0';
    return true;
  }
  return false;
}

static void take_headers(http2_client_t* client, const char* block, size_t size, bool ends) {
  char code[8];
  if (!ends) return;
  if (find_header(block, size, "grpc-status", code, sizeof code)) client->code = atoi(code);
  find_header(block, size, "grpc-message", client->message, sizeof client->message);
  client->has_ended = true;
}

static void take_settings(http2_client_t* client, const char* payload, size_t size, int flags) {
  if (flags & ACK) return;
  for (size_t i = 0; i + 6 <= size; i += 6) {
    const int id = (uint8_t)payload[i] << 8 | (uint8_t)payload[i + 1];
    if (id == INITIAL_WINDOW_SIZE) {
      client->stream_window += (int64_t)read_u32(payload + i + 2) - DEFAULT_WINDOW;
    }
  }
  send_frame(client, SETTINGS, ACK, 0, NULL, 0);
}

// Takes the next frame. false where the stream, or the connection, has ended.
static bool take_frame(http2_client_t* client) {
  char header[FRAME_HEADER];
  if (client->has_ended) return false;
  if (!receive_all(client, header, sizeof header)) {
    client->has_ended = true;
    return false;
  }
  const size_t size = read_u32(header) >> 8;
  const int type = header[3], flags = header[4];
  const uint32_t stream = read_u32(header + 5);
  char* payload = malloc(size + 1);
  client->has_ended = !receive_all(client, payload, size);
  if (client->has_ended) {
    // What came of the frame is of no use.
  } else if (type == DATA) {
    client->received = realloc(client->received, client->received_size + size + 1);
    memcpy(client->received + client->received_size, payload, size);
    client->received_size += size;
  } else if (type == HEADERS) {
    take_headers(client, payload, size, flags & END_STREAM);
  } else if (type == SETTINGS) {
    take_settings(client, payload, size, flags);
  } else if (type == WINDOW_UPDATE) {
    *(stream ? &client->stream_window : &client->connection_window) += read_u32(payload);
  } else if (type == PING && !(flags & ACK)) {
    send_frame(client, PING, ACK, 0, payload, size);
  } else if (type == RST_STREAM) {
    client->has_ended = true;
  }
  free(payload);
  return !client->has_ended;
}

// ---- The stream ---------------------------------------------------------------------------------

static size_t add_header(char* at, const char* name, const char* value) {
  const size_t name_size = strlen(name), value_size = strlen(value);
  assert_true(name_size < 127 && value_size < 127);
  at[0] = 0;  // a literal that enters no table
  at[1] = (char)name_size;
  memcpy(at + 2, name, name_size);
  at[2 + name_size] = (char)value_size;
  memcpy(at + 3 + name_size, value, value_size);
  return 3 + name_size + value_size;
}

void http2_open(http2_client_t* client, int port, const char* path, uint32_t window) {
  static const char kPreface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)},
                                .sin_port = htons((uint16_t)port)};
  char settings[6] = {0, INITIAL_WINDOW_SIZE}, block[1024];
  size_t size = 0;
  *client = (http2_client_t){.socket = socket(AF_INET, SOCK_STREAM, 0),
                             .connection_window = DEFAULT_WINDOW,
                             .stream_window = DEFAULT_WINDOW,
                             .code = -1};
  assert_int_equal(connect(client->socket, (struct sockaddr*)&address, sizeof address), 0);
  send_all(client, kPreface, sizeof kPreface - 1);
  write_u32(settings + 2, window);
  send_frame(client, SETTINGS, 0, 0, settings, sizeof settings);
  char most[4];
  write_u32(most, INT32_MAX - DEFAULT_WINDOW);
  send_frame(client, WINDOW_UPDATE, 0, 0, most, sizeof most);
  size += add_header(block + size, ":method", "POST");
  size += add_header(block + size, ":scheme", "http");
  size += add_header(block + size, ":path", path);
  size += add_header(block + size, ":authority", "localhost");
  size += add_header(block + size, "te", "trailers");
  size += add_header(block + size, "content-type", "application/grpc");
  send_frame(client, HEADERS, END_HEADERS, STREAM, block, size);
}

void http2_widen(http2_client_t* client, uint32_t bytes) {
  char payload[4];
  write_u32(payload, bytes);
  send_frame(client, WINDOW_UPDATE, 0, STREAM, payload, sizeof payload);
}

// Sends bytes of messages in frames, each as long as the windows allow.
static void send_data(http2_client_t* client, const char* bytes, size_t size) {
  while (size > 0) {
    int64_t part = LEAT_MIN(client->connection_window, client->stream_window);
    part = LEAT_MIN(part, (int64_t)LEAT_MIN(size, (size_t)MOST_FRAME));
    if (part <= 0) {
      if (!take_frame(client)) return;
      continue;
    }
    send_frame(client, DATA, 0, STREAM, bytes, (size_t)part);
    client->connection_window -= part;
    client->stream_window -= part;
    bytes += part;
    size -= (size_t)part;
  }
}

void http2_send_beginning(http2_client_t* client, size_t size) {
  char header[MESSAGE_HEADER] = {0};  // it is not compressed
  write_u32(header + 1, (uint32_t)size);
  send_data(client, header, sizeof header);
}

void http2_send(http2_client_t* client, const char* message, size_t size) {
  http2_send_beginning(client, size);
  send_data(client, message, size);
}

void http2_half_close(http2_client_t* client) {
  send_frame(client, DATA, END_STREAM, STREAM, NULL, 0);
}

void http2_reset(http2_client_t* client) {
  char payload[4];
  write_u32(payload, CANCEL);
  send_frame(client, RST_STREAM, 0, STREAM, payload, sizeof payload);
}

char* http2_receive(http2_client_t* client, size_t* out_size) {
  size_t size = 0;
  for (;;) {
    const bool has_size = client->received_size >= MESSAGE_HEADER;
    if (has_size) size = read_u32(client->received + 1);
    if (has_size && client->received_size >= MESSAGE_HEADER + size) break;
    if (!take_frame(client)) return NULL;
  }
  char* message = malloc(size + 1);
  memcpy(message, client->received + MESSAGE_HEADER, size);
  message[size] = '\0';
  client->received_size -= MESSAGE_HEADER + size;
  memmove(client->received, client->received + MESSAGE_HEADER + size, client->received_size);
  *out_size = size;
  return message;
}

void http2_close(http2_client_t* client) {
  close(client->socket);
  free(client->received);
  client->received = NULL;
}
