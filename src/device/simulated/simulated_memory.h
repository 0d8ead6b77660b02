// The memory of a simulated device: an address space of its own with a limit. Every byte has two
// addresses. The host knows the device's address, whose pages are forbidden, so that touching it
// faults and a test sees it; the device's own threads compute with the inner address.
//
//   device address   what tensors on edges of the graph carry; its pages are forbidden
//        │ + distance
//        ▼
//   inner address    what kernels see on the device's streams
//
// Every buffer knows the work that is enqueued over it: who writes it, and the last use by each
// stream. Whoever enqueues work asks the buffers of its tensors what to wait for, and notes the
// work there. A buffer that is freed goes back at once with the uses that are still to end; its
// next owner's writers wait for these. So freeing is ordered by the streams and not by the host, as
// in the caching allocators of GPU runtimes. Fresh memory shows a pattern, unless work of its
// former owner is still to end. The memory lives as long as its owner or a buffer in it. All
// functions are thread-safe and none waits for work.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_

#include "base/sync.h"
#include "tensor/tensor.h"

#define LEAT_SIMULATED_STREAMS_MAX 9

// A point in the streams' progress: the first numbers[i] pieces of work of each stream i have
// ended.
typedef struct leat_simulated_events_s {
  uint64_t numbers[LEAT_SIMULATED_STREAMS_MAX];
} leat_simulated_events_t;
// Makes |events| include work |number| of |stream|.
void leat_simulated_events_add(leat_simulated_events_t* events, int stream, uint64_t number);

// A piece of work as the buffers that it writes remember it. |number| is set before any reader can
// see the writer.
typedef struct leat_simulated_writer_s {
  leat_reference_count_t references;
  int stream;
  uint64_t number;
  leat_status_t status;  // how the work ended; to be read only after it has ended
} leat_simulated_writer_t;
// Creates a writer with one reference.
LEAT_MUST_USE leat_status_t leat_simulated_writer_create(int stream,
                                                         leat_simulated_writer_t** out_writer);
void leat_simulated_writer_release(leat_simulated_writer_t* writer);  // NULL is allowed

typedef struct leat_simulated_memory_s leat_simulated_memory_t;
// Creates a memory of |limit_bytes|, rounded up to pages; the caller has one reference.
LEAT_MUST_USE leat_status_t leat_simulated_memory_create(size_t limit_bytes,
                                                         leat_allocator_t* allocator,
                                                         leat_simulated_memory_t** out_memory);
void leat_simulated_memory_release(leat_simulated_memory_t* memory);  // NULL is allowed
// The source from which the host allocates buffers, with device addresses, for work that it
// enqueues afterwards. RESOURCE_EXHAUSTED beyond the limit.
leat_buffer_source_t* leat_simulated_memory_outer(leat_simulated_memory_t* memory);
// The source from which running work allocates buffers, with inner addresses. It gives only memory
// that no other work uses any more, since running work cannot wait. Its buffers are lasting.
leat_buffer_source_t* leat_simulated_memory_inner(leat_simulated_memory_t* memory);
// Change the tensor's address to the inner one (enter) or to the device's (leave). A tensor in
// other memory stays as it is.
void leat_simulated_memory_enter(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
void leat_simulated_memory_leave(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
// The bytes in use.
size_t leat_simulated_memory_used(leat_simulated_memory_t* memory);

// ---- Enqueued work. Tensors of other memory are ignored. ----------------------------------------

// Adds to |events| what a reader of |tensor| must wait for. Returns the work that writes the
// tensor, retained, or NULL.
leat_simulated_writer_t* leat_simulated_memory_await_value(leat_simulated_memory_t* memory,
                                                           const leat_tensor_t* tensor,
                                                           leat_simulated_events_t* events);
// Adds to |events| what a writer of |tensor| must wait for: all its uses.
void leat_simulated_memory_await_uses(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_events_t* events);
// Note enqueued work that reads |tensor|, or writes it.
void leat_simulated_memory_note_read(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                     int stream, uint64_t number);
void leat_simulated_memory_note_write(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_writer_t* writer);
// Makes work that reads the buffer hold a reference until it has ended. A variable's buffer needs
// this, since its owner asks by the count whether he may overwrite it. |is_given|: the buffer is
// given to the caller's work and nobody else reads it; it then shows its inner address, as buffers
// of the inner source do.
void leat_simulated_memory_make_lasting(leat_simulated_memory_t* memory,
                                        const leat_tensor_t* tensor, bool is_given);
// Returns |tensor| for enqueued work to keep. The buffer is retained if it is lasting; any other
// buffer is protected by the uses that are noted with the work. Ended by leat_tensor_release.
leat_tensor_t leat_simulated_memory_hold(leat_simulated_memory_t* memory,
                                         const leat_tensor_t* tensor);
// Notes that the first |number| pieces of work of |stream| have ended. Called by the stream alone.
void leat_simulated_memory_advance(leat_simulated_memory_t* memory, int stream, uint64_t number);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
