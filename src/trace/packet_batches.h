// Reads a file of packets on several threads. The file is cut into batches of whole packets; any
// thread decodes a batch, and the results are put where they belong in the order of the file, by
// one thread at a time:
//
//   thread 1   fill 0 | decode 0      | put 0 | fill 2 | decode 2      | put 1 ...
//   thread 2          | fill 1 | decode 1     | fill 3     | decode 3       ...
//
// The caller is one of the threads; the others end before the call returns. A packet is a tag and a
// length in front of its bytes, as a repeated message field of protocol buffers is.
#ifndef LEAT_TRACE_PACKET_BATCHES_H_
#define LEAT_TRACE_PACKET_BATCHES_H_

#include "base/file_system.h"

#define LEAT_PACKET_MAX_BYTES ((size_t)1 << 16)
#define LEAT_PACKET_MAX_THREADS 4

typedef struct leat_packet_batch_s {
  char* bytes;      // whole packets
  size_t size;
  uint64_t offset;  // of the first of them in the file
  bool is_broken;   // behind them comes what is no packet
  bool is_cut;      // behind them the file ends within a packet
  uint32_t thread;  // that decodes it, from 0 on
  void* decoded;    // the user's, of this batch and those after it that lie at its place
} leat_packet_batch_t;

typedef struct leat_packet_user_s {
  void* data;
  size_t decoded_bytes;  // of what |decoded| points to, which is zeroed before its first use
  // Decodes a batch; batches of one thread come in the order of the file.
  leat_status_t (*decode)(void* data, leat_packet_batch_t* batch);
  // Takes what was decoded, in the order of the file.
  leat_status_t (*put)(void* data, const leat_packet_batch_t* batch);
  void (*free)(void* data, void* decoded);  // what |decoded| owns
} leat_packet_user_t;

// Reads |file| from its beginning. The first error ends it: one of the file system's or of the
// user's, or RESOURCE_EXHAUSTED.
LEAT_MUST_USE leat_status_t leat_packet_batches_read(leat_file_t* file,
                                                     const leat_packet_user_t* user);
// The packet at |*inout_at| of a batch, whose field has the number |*out_number|; false at its end.
bool leat_packet_batch_next(const leat_packet_batch_t* batch, size_t* inout_at,
                            uint32_t* out_number, leat_string_view_t* out_packet);

#endif  // LEAT_TRACE_PACKET_BATCHES_H_
