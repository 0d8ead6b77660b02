// Memory of a simulated device: an address space of its own with a limit. Every byte has two
// addresses: the device's, which the host cannot touch (a fault, so that a test sees it), and the
// one that the device's own threads compute with.
//
//   device address   what tensors on edges carry; its pages are forbidden
//        │ + distance
//        ▼
//   inner address    what kernels see on the device's streams
//
// Every buffer knows the work that is enqueued over it (who writes it, and the last uses by each
// stream), as a caching allocator's does: whoever holds a tensor can find out what its own work
// must wait for. A buffer that is freed goes back at once, with the uses that are still to end; its
// next owner's writers wait for these, so that freeing is ordered by the streams and not by the
// host. Fresh memory shows a pattern, unless work of its former owner is still to end. The memory
// lives as long as its owner or a buffer in it.
#ifndef LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
#define LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_

#include "base/sync.h"
#include "tensor/tensor.h"

#define LEAT_SIMULATED_STREAMS_MAX 9

// How far the streams must have come: the first numbers[i] pieces of work of stream i have ended.
typedef struct leat_simulated_events_s {
  uint64_t numbers[LEAT_SIMULATED_STREAMS_MAX];
} leat_simulated_events_t;
void leat_simulated_events_add(leat_simulated_events_t* events, int stream, uint64_t number);

// A piece of work as what it writes remembers it. |number| is set before a reader can see it.
typedef struct leat_simulated_writer_s {
  leat_reference_count_t references;
  int stream;
  uint64_t number;
  leat_status_t status;  // how it ended: to be read when it has
} leat_simulated_writer_t;
LEAT_MUST_USE leat_status_t leat_simulated_writer_create(int stream,
                                                         leat_simulated_writer_t** out_writer);
void leat_simulated_writer_release(leat_simulated_writer_t* writer);  // NULL is allowed

typedef struct leat_simulated_memory_s leat_simulated_memory_t;
LEAT_MUST_USE leat_status_t leat_simulated_memory_create(size_t limit_bytes,
                                                         leat_allocator_t* allocator,
                                                         leat_simulated_memory_t** out_memory);
void leat_simulated_memory_release(leat_simulated_memory_t* memory);  // NULL is allowed
// Where the host takes buffers, with device addresses, for work that it enqueues afterwards.
// RESOURCE_EXHAUSTED beyond the limit.
leat_buffer_source_t* leat_simulated_memory_outer(leat_simulated_memory_t* memory);
// Where work that runs takes buffers, with inner addresses: of memory that no other work uses any
// more, for it cannot wait. They are lasting ones.
leat_buffer_source_t* leat_simulated_memory_inner(leat_simulated_memory_t* memory);
// The tensor's address as the other side sees it; one of other memory stays as it is.
void leat_simulated_memory_enter(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
void leat_simulated_memory_leave(const leat_simulated_memory_t* memory, leat_tensor_t* tensor);
size_t leat_simulated_memory_used(leat_simulated_memory_t* memory);

// ---- Enqueued work; tensors of other memory are passed over -------------------------------------

// Adds what a reader of |tensor| waits for; returns the work that writes it (retained), or NULL.
leat_simulated_writer_t* leat_simulated_memory_await_value(leat_simulated_memory_t* memory,
                                                           const leat_tensor_t* tensor,
                                                           leat_simulated_events_t* events);
// Adds what a writer of |tensor| waits for.
void leat_simulated_memory_await_uses(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_events_t* events);
// Work has been enqueued that reads |tensor|, or writes it.
void leat_simulated_memory_note_read(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                     int stream, uint64_t number);
void leat_simulated_memory_note_write(leat_simulated_memory_t* memory, const leat_tensor_t* tensor,
                                      leat_simulated_writer_t* writer);
// From now on work that reads the buffer keeps a reference until it has ended, because somebody may
// ask by the count whether he may overwrite it: a variable's. |is_given|: to the caller's work, and
// nobody else reads it; then the buffer says its inner address, as those of the inner source do.
void leat_simulated_memory_make_lasting(leat_simulated_memory_t* memory,
                                        const leat_tensor_t* tensor, bool is_given);
// |tensor| for work that is enqueued: shared, but for a buffer that is not lasting, which the uses
// that are noted with it protect. Ends with leat_tensor_release.
leat_tensor_t leat_simulated_memory_hold(leat_simulated_memory_t* memory,
                                         const leat_tensor_t* tensor);
// The first |number| pieces of work of |stream| have ended.
void leat_simulated_memory_advance(leat_simulated_memory_t* memory, int stream, uint64_t number);

#endif  // LEAT_DEVICE_SIMULATED_SIMULATED_MEMORY_H_
