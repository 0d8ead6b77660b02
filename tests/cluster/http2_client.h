// A client of one stream of gRPC, by bytes: HTTP/2 and gRPC's framing as far as tests need them,
// over a socket of its own. Leat has no client of streams. This one also does what a well-behaved
// client never does: it takes no answers, stops in the middle of a message, or is gone without a
// word. Whatever goes wrong on its side fails the test.
//
//   http2_open ─▶ http2_send ... ─▶ http2_half_close, http2_reset or nothing ─▶ http2_close
//                 http2_receive ... until it says that the stream has ended
#ifndef LEAT_TESTS_CLUSTER_HTTP2_CLIENT_H_
#define LEAT_TESTS_CLUSTER_HTTP2_CLIENT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http2_client_s {
  int socket;
  int64_t connection_window, stream_window;  // how many bytes the server takes from now on
  char* received;                            // of answers that were not handed out yet
  size_t received_size;
  // The end of the stream.
  bool has_ended;   // whatever the server sent is here
  int code;         // the status; -1: the server sent none
  char message[512];
} http2_client_t;

// Opens a stream of the method |path| ("/test/StreamEcho"). The server may send |window| bytes of
// answers before the client has widened that.
void http2_open(http2_client_t* client, int port, const char* path, uint32_t window);
// Sends a message, as far as the server's windows allow; waits for them where they do not.
void http2_send(http2_client_t* client, const char* message, size_t size);
// Begins a message of |size| bytes, and sends no more of it.
void http2_send_beginning(http2_client_t* client, size_t size);
void http2_half_close(http2_client_t* client);  // there are no more messages
void http2_reset(http2_client_t* client);       // the client cancels the stream
void http2_widen(http2_client_t* client, uint32_t bytes);
// Waits for the next answer, which the caller frees; it has a NUL behind it. NULL: the stream has
// ended, with |code| and |message|.
char* http2_receive(http2_client_t* client, size_t* out_size);
// Closes the connection, and frees what is left.
void http2_close(http2_client_t* client);

#endif  // LEAT_TESTS_CLUSTER_HTTP2_CLIENT_H_
